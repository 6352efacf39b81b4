package definition

import "github.com/orrery-dev/orrery/shared/expr"

// The rules that a document can break: Problem.Rule is one of these. The list
// is closed; clients may branch on it.
const (
	// RuleSyntax: the text is neither JSON nor YAML, or uses a part of YAML that
	// JSON has no counterpart for.
	RuleSyntax = "syntax"
	// RuleDuplicate: a member name stands twice in one object.
	RuleDuplicate = "duplicate"
	// RuleTooLarge: the text, its nesting, the number of its states or the work
	// of an expression is beyond a limit.
	RuleTooLarge = expr.RuleTooLarge
	// RuleMoreProblems: there are more problems than are listed.
	RuleMoreProblems = "more-problems"

	// RuleRequired: a field is missing.
	RuleRequired = expr.RuleRequired
	// RuleUnknown: a field that the language does not have.
	RuleUnknown = "unknown-field"
	// RuleMisplaced: a field that the language has, but not here: in states of
	// another type, or at another level.
	RuleMisplaced = "misplaced-field"
	// RuleType: a field has a value of the wrong JSON type.
	RuleType = expr.RuleType
	// RuleRange: a number is outside its bounds, or a text too long.
	RuleRange = expr.RuleRange
	// RuleValue: a text is not one of the words that the field may have.
	RuleValue = "value"
	// RuleEmpty: an array, object or text that must hold something is empty.
	RuleEmpty = "empty"
	// RuleExclusive: of the fields that exclude each other there is more than
	// one.
	RuleExclusive = expr.RuleExclusive

	// RuleName: a state name is empty or longer than MaxStateName characters, or
	// a name of OnSignal is none that a signal can have.
	RuleName = "name"
	// RuleNameTaken: two states of the document have the same name.
	RuleNameTaken = "name-taken"
	// RuleTarget: StartAt, Next or Default names no state of the same States.
	RuleTarget = "target"
	// RuleUnreachable: no path leads from StartAt to the state. A warning, and
	// an error in strict mode.
	RuleUnreachable = "unreachable"
	// RuleNoDefault: a Choice has no Default, so an input that matches no rule
	// fails. A warning.
	RuleNoDefault = "no-default"
	// RuleUnresolvable: a path or variable that finds nothing, whatever the execution does. A warning.
	RuleUnresolvable = "unresolvable"
	// RuleRequest: a Task asks the server for something in fields that it refuses. A warning.
	RuleRequest = "request"
	// RuleResource: a Resource that cannot be read or that nobody can serve.
	RuleResource = "resource"
	// RuleHeartbeat: HeartbeatSeconds is not smaller than TimeoutSeconds.
	RuleHeartbeat = "heartbeat"
	// RuleErrorName: States.ALL is not alone and last. Also a warning for names
	// beginning with "States." that the language does not have.
	RuleErrorName = "error-name"

	// RulePath: text that is not a path.
	RulePath = expr.RulePath
	// RuleReference: a path where only a reference path may stand.
	RuleReference = expr.RuleReference
	// RuleIntrinsic: text that is not a call of an intrinsic function.
	RuleIntrinsic = expr.RuleIntrinsic
	// RuleTimestamp: text that is not an RFC 3339 timestamp.
	RuleTimestamp = expr.RuleTimestamp
	// RuleVariable: a name that no variable can have, or that must not be
	// assigned here.
	RuleVariable = expr.RuleVariable
	// RuleCondition: a comparison that does not exist or lacks a part.
	RuleCondition = expr.RuleCondition
	// RuleLanguage: an unknown query language, a mix that is not allowed, or a
	// field of another query language.
	RuleLanguage = expr.RuleLanguage

	// RuleSchema: Input or Output is no JSON Schema, or refers to something else.
	RuleSchema = "schema"

	// RuleAddition: an addition to Amazon States Language in strict mode.
	RuleAddition = "addition"
	// RuleOff: a task of a kind that the settings of the server have off.
	RuleOff = "off"
	// RuleNotBuilt: a part of the language that this version does not run.
	RuleNotBuilt = "not-built"
)
