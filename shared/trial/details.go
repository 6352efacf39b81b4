package trial

import (
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/history"
)

// detail is a detail of an event as JSON; nil where there is none.
func detail(v history.View, name string) []byte {
	for _, d := range v.Details {
		if d.Name == name {
			return d.Value
		}
	}
	return nil
}

// textDetail is a detail that is a string; empty where there is none.
func textDetail(v history.View, name string) string {
	value, _ := expr.Parse(detail(v, name))
	text, _ := value.(string)
	return text
}

// numberDetail is a detail that is a whole number; 0 where there is none.
func numberDetail(v history.View, name string) int64 {
	value, _ := expr.Parse(detail(v, name))
	number, _ := value.(expr.Number)
	n, _ := number.Int64()
	return n
}
