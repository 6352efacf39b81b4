// Package definition turns the text of a document into a machine that can be
// decided on, or into the list of everything that is wrong with it.
//
// A document is Amazon States Language with a few additions, as JSON or as
// YAML. The package is pure and knows no query language: what a document gives
// as an expression is made by package expr and held by its interfaces.
//
//	text --read--> expr.Value --check and build--> Machine
//	  |              |                               |
//	  |              +--> Normalised, Hash           +--> Contracts
//	  |
//	  +-- JSON: the text begins with '{'
//	  +-- YAML: everything else; anchors are filled in, comments dropped
//
//	Document
//	  Machine            StartAt, States
//	    State            one of eight types
//	      Branches       of a Parallel: machines
//	      Processor      of a Map: a machine
//
// # What holds
//
//   - A Document has no error left in it: whoever decides on it checks nothing
//     that the text alone can tell.
//   - Parse reports all problems at once, each with its place and with a rule
//     out of a closed list (see the Rule constants), in an order that depends
//     on the text alone.
//   - Parse never panics, and its time and memory are bounded by the size of
//     the text (Options.MaxBytes): nesting, states, problems and what the
//     anchors of YAML expand to are all limited.
//   - Normalised is the document as compact JSON. It parses to an equal
//     document with the same Hash.
//   - Hash depends on the content alone: not on the order of members, on white
//     space, on comments, or on the text being JSON or YAML. An execution is
//     pinned to it.
//   - What the language has and this version does not run is refused, with
//     RuleNotBuilt. The list is one table, notBuilt.
package definition
