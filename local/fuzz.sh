#!/bin/bash
# Runs every fuzz target of the module in turn, each for the time given:
#
#	local/fuzz.sh 5s
#
# It stops at the first target that fails; go leaves the input that failed
# in the package's testdata/fuzz, where go test finds it from then on.
set -euo pipefail
time=$1

# The files are searched first, as go test -list builds every test that it
# is asked about.
mapfile -t folders < <(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r dirname | sort -u)
for folder in "${folders[@]}"; do
	list=$(go test -list '^Fuzz' "$folder")
	for target in $(grep '^Fuzz' <<<"$list"); do
		echo "fuzz $folder $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$folder"
	done
done
