#!/bin/bash
# Rebuilds zoneinfo.zip and version from the time zone database in one file:
#
#	shared/schedule/zoneinfo/update.sh /usr/share/zoneinfo/tzdata.zi
#
# The file comes with Debian's package tzdata, and with every release on
# iana.org/time-zones. It needs zic (Debian: libc-bin) and zip. The result
# depends on the file alone, and on the format that this zic writes.
#
# The tests of the package pin the version and the transitions that they lean
# on: after an update, run them, read what failed, and change them knowingly.
set -euo pipefail
zi=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

zic -b slim -d "$work/zones" "$zi"
cd "$work/zones"
find . -type f -exec touch -d '2000-01-01 00:00:00 UTC' {} +
find . -type f | sed 's|^\./||' | LC_ALL=C sort | TZ=UTC zip -X -9 -q "$work/zoneinfo.zip" -@
mv "$work/zoneinfo.zip" "$here/zoneinfo.zip"
head -n 1 "$zi" >"$here/version"
