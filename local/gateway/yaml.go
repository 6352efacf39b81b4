package gateway

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// A template is read into values of these types: string for every scalar (as written, so that 010 stays what it is), nil
// for null, []any, object, and call for what CloudFormation computes.
type (
	object map[string]any
	call   struct {
		name string // Ref, Condition, or Fn::...
		of   any
	}
)

// maxDepth bounds how deep values may lie in each other, and calls in calls.
const maxDepth = 64

// parseTemplate reads the YAML. Calls are written as tags (!Ref X) or as objects of one key ({Ref: X}).
func parseTemplate(text []byte) (object, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, err
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, errors.New("it is not one document")
	}
	r := reader{anchors: map[string]any{}}
	v, err := r.value(file.Docs[0].Body, 0)
	if err != nil {
		return nil, err
	}
	root, ok := v.(object)
	if !ok {
		return nil, errors.New("it is not a mapping")
	}
	return root, nil
}

type reader struct {
	anchors map[string]any
}

func (r *reader) value(node ast.Node, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("line %d: more than %d levels deep", line(node), maxDepth)
	}
	switch n := node.(type) {
	case *ast.MappingNode:
		return r.mapping(n.Values, depth)
	case *ast.MappingValueNode:
		return r.mapping([]*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		list := make([]any, len(n.Values))
		for i, item := range n.Values {
			var err error
			if list[i], err = r.value(item, depth+1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case *ast.TagNode:
		return r.tagged(n, depth)
	case *ast.AnchorNode:
		v, err := r.value(n.Value, depth+1)
		r.anchors[n.Name.GetToken().Value] = v
		return v, err
	case *ast.AliasNode:
		v, ok := r.anchors[n.Value.GetToken().Value]
		if !ok {
			return nil, fmt.Errorf("line %d: an alias of nothing", line(node))
		}
		return v, nil
	case *ast.NullNode:
		return nil, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case ast.ScalarNode:
		return n.GetToken().Value, nil
	}
	return nil, fmt.Errorf("line %d: a %s is not expected here", line(node), node.Type())
}

func (r *reader) mapping(entries []*ast.MappingValueNode, depth int) (any, error) {
	o := object{}
	for _, e := range entries {
		v, err := r.value(e.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if _, isMerge := e.Key.(*ast.MergeKeyNode); isMerge {
			base, _ := v.(object)
			for name, v := range base {
				if _, own := o[name]; !own {
					o[name] = v
				}
			}
			continue
		}
		o[e.Key.GetToken().Value] = v
	}
	if len(o) == 1 {
		for name, v := range o {
			if name == "Ref" || name == "Condition" || strings.HasPrefix(name, "Fn::") {
				return call{name, v}, nil
			}
		}
	}
	return o, nil
}

// tagged reads a value under a tag: a call, or one of YAML's own (!!str), which say nothing here.
func (r *reader) tagged(n *ast.TagNode, depth int) (any, error) {
	v, err := r.value(n.Value, depth+1)
	if err != nil {
		return nil, err
	}
	switch name := strings.TrimPrefix(n.Start.Value, "!"); {
	case strings.HasPrefix(name, "!"):
		return v, nil
	case name == "Ref" || name == "Condition":
		return call{name, v}, nil
	default:
		return call{"Fn::" + name, v}, nil
	}
}

func line(node ast.Node) int { return node.GetToken().Position.Line }
