package definition

// This file is tables: who may have which field, which fields are additions to
// Amazon States Language, and what of the language is not built.

var (
	allTypes = []StateType{Task, Pass, Wait, Choice, Parallel, Map, Succeed, Fail}
	onward   = []StateType{Task, Pass, Wait, Parallel, Map}
	working  = []StateType{Task, Parallel, Map}
)

// stateFields are the fields of states that every query language has, with the
// types of states that have them. The others are those that the state's language
// owns.
var stateFields = map[string][]StateType{
	"Type":          allTypes,
	"Comment":       allTypes,
	"QueryLanguage": allTypes,
	"Next":          onward,
	"End":           onward,
	"Retry":         working,
	"Catch":         working,

	"Resource":         {Task},
	"TimeoutSeconds":   {Task},
	"HeartbeatSeconds": {Task},
	"Credentials":      {Task},

	"Seconds":   {Wait},
	"Timestamp": {Wait},

	"Choices": {Choice},
	"Default": {Choice},

	"Branches": {Parallel},

	"ItemProcessor":              {Map},
	"Iterator":                   {Map},
	"MaxConcurrency":             {Map},
	"ToleratedFailureCount":      {Map},
	"ToleratedFailurePercentage": {Map},
	"Label":                      {Map},
	"ItemReader":                 {Map},
	"ItemBatcher":                {Map},
	"ResultWriter":               {Map},

	"Error": {Fail},
	"Cause": {Fail},

	"QueueTimeoutSeconds": {Task},
	"Priority":            {Task},
	"IdempotencyKey":      {Task},
	"MaxRedeliveries":     {Task},
	"WhenUncertain":       {Task},
	"Compensate":          {Task},
}

// languageFields are the fields of states, rules and catchers that belong to a
// query language, for messages about fields that are in the wrong place.
var languageFields = []string{
	"InputPath", "OutputPath", "Parameters", "ResultSelector", "ResultPath", "Result", "Assign", "ItemsPath", "ItemSelector",
	"TimeoutSecondsPath", "HeartbeatSecondsPath", "SecondsPath", "TimestampPath", "MaxConcurrencyPath",
	"ToleratedFailureCountPath", "ToleratedFailurePercentagePath", "MaxItemsPath", "MaxItemsPerBatchPath", "MaxInputBytesPerBatchPath", "ErrorPath", "CausePath",
	"Arguments", "Output", "Items", "Condition",
}

// The fields of the other objects of a document.
var (
	machineFields    = []string{"Comment", "StartAt", "States"}
	processorFields  = append([]string{"ProcessorConfig"}, machineFields...)
	documentFields   = append([]string{"Version", "TimeoutSeconds", "QueryLanguage", "OnSignal", "Cleanup", "Limits", "Input", "Output", "Attributes"}, machineFields...)
	configFields     = []string{"Mode", "ExecutionType"}
	retrierFields    = []string{"Comment", "ErrorEquals", "IntervalSeconds", "MaxAttempts", "BackoffRate", "MaxDelaySeconds", "JitterStrategy"}
	catcherFields    = []string{"Comment", "ErrorEquals", "Next", "Compensate"}
	limitFields      = []string{"Events", "FanOut", "PayloadBytes"}
	readerFields     = []string{"Resource", "ReaderConfig"}
	configOfReader   = []string{"InputType", "MaxItems", "CSVHeaderLocation", "CSVHeaders", "CSVDelimiter", "ItemsPointer", "Transformation", "ManifestType"}
	writerFields     = []string{"Resource", "WriterConfig"}
	configOfWriter   = []string{"Transformation", "OutputType"}
	batcherFields    = []string{"MaxItemsPerBatch", "MaxInputBytesPerBatch", "BatchInput"}
	compensateFields = []string{"Comment", "Resource", "TimeoutSeconds", "HeartbeatSeconds", "QueueTimeoutSeconds", "Priority",
		"MaxRedeliveries", "WhenUncertain", "Retry"}
)

// additions are the fields that Amazon States Language does not have, by the
// object that has them.
var additions = map[string][]string{
	"document": {"OnSignal", "Cleanup", "Limits", "Input", "Output", "Attributes"},
	"state":    {"QueueTimeoutSeconds", "Priority", "MaxRedeliveries", "WhenUncertain", "Compensate", "IdempotencyKey"},
	"catcher":  {"Compensate"},
}

// A feature is a part of the language.
type feature string

// notBuilt is what the language has and this version does not run: a document
// that uses it is refused, never half run. What is built is deleted here.
var notBuilt = map[feature]string{
	"JSONata":     "the query language JSONata",
	"Credentials": "credentials for tasks that the server does",
}

// fieldFeatures are the features that a field uses by being there, by the
// object that has it.
var fieldFeatures = map[string]map[string]feature{
	"state": {
		"Credentials": "Credentials",
	},
}
