package definition

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/orrery-dev/orrery/shared/history"
)

const (
	// MaxName is the length in characters of the names of contracts, signals and
	// workflows.
	MaxName = 80
	// MaxVersion is the highest version of a contract.
	MaxVersion = 1<<31 - 1
)

// forbiddenInNames are the printable characters that names must not have. White
// space and control characters are forbidden as well.
const forbiddenInNames = "<>{}[]?*\"#%\\^|~`$&,;:/"

// CheckName tells what is wrong with the name of a workflow, execution,
// contract or signal; nil where it is right.
func CheckName(name string) error {
	if n := utf8.RuneCountInString(name); n < 1 || n > MaxName {
		return fmt.Errorf("a name has 1 to %d characters, this one has %d", MaxName, n)
	}
	for _, c := range name {
		if c == utf8.RuneError || unicode.IsSpace(c) || unicode.IsControl(c) || strings.ContainsRune(forbiddenInNames, c) {
			return fmt.Errorf("the character %q is not allowed in a name", c)
		}
	}
	return nil
}

var (
	activityARN = regexp.MustCompile(`^arn:aws[a-z-]*:states:[a-z0-9-]+:[0-9]{12}:activity:(.+)$`)
	machineARN  = regexp.MustCompile(`^arn:aws[a-z-]*:states:[a-z0-9-]+:[0-9]{12}:stateMachine:([^:]+)(?::([^:]+))?$`)
	functionARN = regexp.MustCompile(`^arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_-]+(:[A-Za-z0-9$_-]+)?$`)
	serviceARN  = regexp.MustCompile(`^arn:aws[a-z-]*:states:[a-z0-9-]*:[0-9]*:([a-z0-9-]+:[A-Za-z0-9:]+?)(\.sync|\.sync:2|\.waitForTaskToken)?$`)
	languages   = regexp.MustCompile(`^[a-z0-9][a-z0-9+#._-]{0,39}$`)
	versions    = regexp.MustCompile(`^[1-9][0-9]*$`)
	digits      = regexp.MustCompile(`^[0-9]+$`)
)

// ParseResource reads the Resource of a Task. The error says what is wrong in
// words that follow "Resource: ".
func ParseResource(text string) (*Resource, error) {
	r := &Resource{Text: text}
	scheme, rest, _ := strings.Cut(text, ":")
	var err error
	switch {
	case scheme == "task":
		r.Kind = ResourceWorker
		err = r.task(rest)
	case scheme == "signal":
		r.Kind, r.Signal = ResourceSignal, rest
		err = CheckName(rest)
	case scheme == "workflow":
		r.Kind = ResourceChild
		r.Workflow, err = parseWorkflow(rest)
	case text == "http":
		r.Kind, r.Contract = ResourceHTTP, HTTPContract
	case scheme == "arn":
		err = r.arn()
	default:
		err = fmt.Errorf("%q is no resource: write task:NAME@VERSION, signal:NAME or an ARN", cut(text, maxQuoted))
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// The contracts of what the server does itself. No document and no worker can name them: a name has no colon.
var (
	// HTTPContract is a request: the input is what the Task gives as Arguments or Parameters.
	HTTPContract = history.Contract{Task: "orrery:http", Version: 1}
	// LambdaContract invokes a function and gives its answer with a description of the call.
	LambdaContract = history.Contract{Task: "orrery:lambda", Version: 1}
	// FunctionContract invokes a function, with FunctionName and Payload in its input, and gives the bare answer.
	FunctionContract = history.Contract{Task: "orrery:function", Version: 1}
	// ResultsContract writes the results of a Map to S3, or describes its executions.
	ResultsContract = history.Contract{Task: "orrery:results", Version: 1}
	// ItemsContract reads the items of a Map from S3.
	ItemsContract = history.Contract{Task: "orrery:items", Version: 1}
)

// Claimed tells whether the task is one that is claimed from the queue: by a worker, or by the server as its own worker.
func (k ResourceKind) Claimed() bool { return k == ResourceWorker || k.ByServer() }

// ByServer tells whether the server does the task itself.
func (k ResourceKind) ByServer() bool { return k == ResourceHTTP || k == ResourceLambda }

// byToken ends the name of a task that is over when its token is reported.
const byToken = ".waitForTaskToken"

// task reads NAME, NAME@VERSION, NAME@VERSION.waitForTaskToken or one of them with ?language=LANGUAGE.
func (r *Resource) task(text string) error {
	contract, query, hasQuery := strings.Cut(text, "?")
	contract, r.Token = strings.CutSuffix(contract, byToken)
	var err error
	if r.Contract, err = parseContract(contract); err != nil || !hasQuery {
		return err
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("the text after '?' cannot be read: %w", err)
	}
	for name := range values {
		if name != "language" {
			return fmt.Errorf("after '?' only language=NAME may stand, not %q", cut(name, maxQuoted))
		}
	}
	r.Language = strings.ToLower(values.Get("language"))
	if len(values["language"]) != 1 || !languages.MatchString(r.Language) {
		return fmt.Errorf("language must be one name such as python")
	}
	return nil
}

// parseContract reads NAME or NAME@VERSION; the version is 1 by default.
func parseContract(text string) (history.Contract, error) {
	name, version, hasVersion := strings.Cut(text, "@")
	c := history.Contract{Task: name, Version: 1}
	if err := CheckName(name); err != nil || !hasVersion {
		return c, err
	}
	n, err := strconv.ParseInt(version, 10, 64)
	if !versions.MatchString(version) || err != nil || n > MaxVersion {
		return c, fmt.Errorf("the version %q is not a whole number from 1 to %d", cut(version, maxQuoted), MaxVersion)
	}
	c.Version = int(n)
	return c, nil
}

// CheckAlias tells what is wrong with the name of an alias; nil where it is right. A number would be taken for a version.
func CheckAlias(name string) error {
	if digits.MatchString(name) {
		return fmt.Errorf("an alias is no number")
	}
	return CheckName(name)
}

// parseWorkflow reads NAME, NAME@VERSION or NAME:ALIAS; the first is the newest version.
func parseWorkflow(text string) (history.WorkflowRef, error) {
	if name, alias, ok := strings.Cut(text, ":"); ok {
		return history.WorkflowRef{Name: name, Alias: alias}, cmp.Or(CheckName(name), CheckAlias(alias))
	}
	c, err := parseContract(text)
	if !strings.Contains(text, "@") {
		c.Version = 0
	}
	return history.WorkflowRef{Name: c.Task, Version: c.Version}, err
}

// ParseWorkflow reads how the Arguments or Parameters of a Task name what a child runs: NAME, NAME@VERSION or NAME:ALIAS, or the
// ARN of a state machine, with a version, with an alias or with neither.
func ParseWorkflow(text string) (history.WorkflowRef, error) {
	m := machineARN.FindStringSubmatch(text)
	if m == nil {
		return parseWorkflow(text)
	}
	switch {
	case m[2] == "":
		return parseWorkflow(m[1])
	case digits.MatchString(m[2]):
		return parseWorkflow(m[1] + "@" + m[2])
	}
	return parseWorkflow(m[1] + ":" + m[2])
}

// arn reads the forms that AWS tools accept.
func (r *Resource) arn() error {
	if m := activityARN.FindStringSubmatch(r.Text); m != nil {
		r.Kind = ResourceWorker
		var err error
		r.Contract, err = parseContract(m[1])
		return err
	}
	if functionARN.MatchString(r.Text) {
		r.Kind, r.Target, r.Contract = ResourceLambda, r.Text, FunctionContract
		return nil
	}
	m := serviceARN.FindStringSubmatch(r.Text)
	if m == nil {
		return fmt.Errorf("%q is not the ARN of an activity, a Lambda function or a service integration", cut(r.Text, maxQuoted))
	}
	return r.service(m[1], m[2])
}

// service reads a service integration and its pattern.
func (r *Resource) service(name, pattern string) error {
	sync := map[string]int{".sync": 1, ".sync:2": 2}[pattern]
	r.Sync, r.Token = sync, pattern == byToken
	switch name {
	case "lambda:invoke":
		r.Kind, r.Contract = ResourceLambda, LambdaContract
		if sync == 0 {
			return nil
		}
	case "http:invoke":
		r.Kind, r.Contract = ResourceHTTP, HTTPContract
		if pattern == "" {
			return nil
		}
	case "states:startExecution":
		r.Kind = ResourceChild
		return nil
	default:
		return fmt.Errorf("the service integration %q is not supported", cut(name, maxQuoted))
	}
	return fmt.Errorf("%s does not support the integration pattern %q", name, pattern)
}
