#!/bin/bash
# Installs what is missing of the Debian packages that the targets of the
# Makefile need:
#
#	local/setup.sh postgresql python3
#
# It is silent when nothing is missing. Whoever is not root, or not on
# Debian, is told what to install instead; the exit code is 2 then.
set -euo pipefail

# present PACKAGE: is what we use of the package there, wherever it came from?
present() {
	case $1 in
	postgresql) [ -n "${PG_BIN:-}" ] || command -v initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' ;;
	pgbouncer) command -v pgbouncer || [ -x /usr/sbin/pgbouncer ] ;;
	nodejs) command -v node ;;
	libc6-dev) [ -e /usr/include/stdlib.h ] ;;
	ca-certificates) [ -e /etc/ssl/certs/ca-certificates.crt ] ;;
	*) command -v "$1" ;;
	esac >/dev/null
}

# quietly COMMAND...: runs it, once more after a failure, since mirrors fail
# now and then. Only what the last failure printed is shown.
quietly() {
	local output
	output=$("$@" 2>&1 </dev/null) && return
	sleep 5
	output=$("$@" 2>&1 </dev/null) && return
	printf '%s\n' "$output" >&2
	return 1
}

missing=()
for package in "$@"; do
	present "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "Missing here: ${missing[*]}. On Debian or Ubuntu install it with:" >&2
	echo "    sudo apt-get install ${missing[*]}" >&2
	exit 2
fi

# We start our own servers. Debian would make another one with the package,
# start it and keep it running.
if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
	mkdir -p /etc/postgresql-common/createcluster.d
	echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.d/orrery.conf
fi

echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
quietly apt-get -qq update
quietly apt-get -qq --no-install-recommends install "${missing[@]}"
