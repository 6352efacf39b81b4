#!/bin/bash
# Runs every fuzz target of the module in turn, each for the time given:
#
#	local/fuzz.sh 5s
#
# It stops at the first target that fails; go leaves the input that failed
# in the package's testdata/fuzz, where go test finds it from then on.
set -euo pipefail
time=$1

# late OUTPUT: did go take the end of the time for a failure of the target?
# Go before 1.27 does now and then on a busy machine (go.dev/issue/75804). A
# target that fails shows the input.
late() {
	grep -qx '    context deadline exceeded' <<<"$1" && ! grep -q 'Failing input\|failure while testing' <<<"$1"
}

# fuzz FOLDER TARGET
fuzz() {
	local output
	if output=$(go test -run '^$' -fuzz "^$2\$" -fuzztime "$time" "$1" 2>&1); then
		tail -n 1 <<<"$output"
	elif late "$output"; then
		echo "ok, ended late"
	else
		printf '%s\n' "$output"
		return 1
	fi
}

# The files are searched first, as go test -list builds every test that it
# is asked about.
mapfile -t folders < <(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r dirname | sort -u)
for folder in "${folders[@]}"; do
	list=$(go test -list '^Fuzz' "$folder")
	for target in $(grep '^Fuzz' <<<"$list"); do
		echo "fuzz $folder $target"
		fuzz "$folder" "$target"
	done
done
