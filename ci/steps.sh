# Sourced by the scripts beside it: where the tree is, which modules it has, how a step reports, how a pinned tool runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
export CGO_ENABLED=0

# modules prints the folders of the workspace's modules.
modules() { go list -m -f '{{.Dir}}'; }

# step NAME COMMAND…: runs the command, says how long it took, and keeps going so that one run shows everything that is wrong.
failed=()
step() {
	local name=$1 start=$SECONDS
	shift
	echo "== $name"
	if "$@"; then
		echo "-- $name: $((SECONDS - start)) s"
	else
		echo "-- $name: failed after $((SECONDS - start)) s"
		failed+=("$name")
	fi
}

# finish ends a script of steps: exit code 1 and the names when any failed.
finish() {
	if ((${#failed[@]})); then
		echo "failed: ${failed[*]}"
		exit 1
	fi
}

# tool NAME ARGUMENT…: a Go tool at the version that ci/tools/go.mod pins, in the current folder.
tool() { "$(GOWORK=off go -C "$root/ci/tools" tool -n "$1")" "${@:2}"; }

# need_npm sees to node and npm, from Debian where the machine has none.
need_npm() {
	command -v npm >/dev/null && return
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || {
		echo "npm is missing: install Node.js 20 or later" >&2
		return 1
	}
	apt-get update -qq && apt-get install -y -qq nodejs npm
}

# npm_packages FOLDER: the packages its lock file names, fetched once per lock file.
npm_packages() {
	local stamp=$1/node_modules/.package-lock.json
	[ "$stamp" -nt "$1/package-lock.json" ] && return
	need_npm && npm --prefix "$1" ci --no-fund --no-audit --loglevel=error
}

# buf runs the pinned buf: a prebuilt binary from npm, as building it costs two minutes.
buf() { npm_packages ci/tools && "$root/ci/tools/node_modules/.bin/buf" "$@"; }
