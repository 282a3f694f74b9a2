#!/usr/bin/env bash
# Runs the tests of one target after the other, each in a process of its own. Many of them wait for sockets and child
# processes, and the tests of one process share as many threads as there are cores.
#
# usage: run-tests.sh [OPTION...]    options are those of `swift build` and `swift test`
#
# TRANSFER_WIRE_SESSIONS: how many pushes over a faulty wire; TRANSFER_WIRE_SEED: the first one's seed; TRANSFER_WIRE_AT_ONCE:
# how many at a time.
set -euo pipefail

cd "$(dirname "$0")/.."
swift=$(scripts/swift-path.sh)

# Files of these tests lie in memory where there is room: they are about what a whole server and client do, and on a slow
# disk they would mostly wait for it. Those of the store, of the program and of torture lie on the disk.
in_memory='TransferServerTests TransferClientTests'
memory=/dev/shm
least_memory=$((2 << 20)) # KiB

tmpdir_for() {
    local free
    free=$(df --output=avail "$memory" 2>/dev/null | tail -n 1)
    if [[ -z ${TMPDIR:-} && " $in_memory " == *" $1 "* && -w $memory && ${free:-0} -ge $least_memory ]]; then
        echo "$memory"
    else
        echo "${TMPDIR:-/tmp}"
    fi
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# What failed is said again at the end, where it is looked for first, and where it is when a log is cut off.
run() {
    local filter=$1
    shift
    "$swift" test --skip-build "$@" --filter "$filter" 2>&1 | tee "$log" && return
    echo "== failed:"
    grep -a '✘' "$log" || tail -n 20 "$log"
    exit 1
}

"$swift" build --build-tests "$@"
for target in $(find Tests -type d -name 'Transfer*Tests' -printf '%f\n' | sort); do
    echo "== $target"
    TMPDIR=$(tmpdir_for "$target") run "^$target\\." "$@"
done

export TRANSFER_WIRE_SESSIONS=${TRANSFER_WIRE_SESSIONS:-1000}
echo "== $TRANSFER_WIRE_SESSIONS sessions over a faulty wire"
TMPDIR=$(tmpdir_for TransferClientTests) run '^TransferClientTests\.FaultyWireTests' "$@"
