#!/bin/bash
# Runs every fuzz target of the module for the time given, two targets at a
# time, each on one core:
#
#	local/fuzz.sh 5s
#
# It ends with an error when a target failed; the input that failed is in the
# package's testdata/fuzz then, where go test finds it from then on.
set -euo pipefail
time=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# late OUTPUT: did go take the end of the time for a failure of the target?
# Go before 1.27 does now and then on a busy machine (go.dev/issue/75804). A
# target that fails shows the input.
late() {
	grep -qx '    context deadline exceeded' <<<"$1" && ! grep -q 'Failing input\|failure while testing' <<<"$1"
}

# fuzz BINARY PACKAGE TARGET
fuzz() {
	local output
	if output=$(cd "$2" && "$1" -test.run '^$' -test.fuzz "^$3\$" -test.fuzztime "$time" -test.parallel 1 \
		-test.fuzzcachedir "$cache/${2#./}" 2>&1); then
		echo "fuzz $2 $3: $(grep '^fuzz:' <<<"$output" | tail -n 1)"
	elif late "$output"; then
		echo "fuzz $2 $3: ok, ended late"
	else
		printf '%s\n' "$output" "fuzz $2 $3: failed"
		return 1
	fi
}

export time folder
cache=$(go env GOCACHE)/fuzz/$(go list -m)
export cache
export -f fuzz late

# Each package is built once, with the instructions that tell the fuzzer what
# an input has reached.
grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r dirname | sort -u | while read -r package; do
	binary=$folder/$(tr / _ <<<"${package#./}")
	go test -c -vet=off -fuzz . -o "$binary" "$package" >&2
	grep -ho '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | while read -r _ target; do
		printf '%s\0%s\0%s\0' "$binary" "$package" "$target"
	done
done >"$folder/targets"
xargs -0 -n 3 -P 2 bash -c 'fuzz "$@"' fuzz <"$folder/targets"
