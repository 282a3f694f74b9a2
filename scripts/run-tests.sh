#!/usr/bin/env bash
# Runs the tests of all targets, each in a process of its own. Many of them wait for sockets and child processes, and the tests of
# one process share as many threads as there are cores.
#
# usage: run-tests.sh [OPTION...]    options are those of `swift build`
#
# TRANSFER_WIRE_SESSIONS: how many pushes over a faulty wire; TRANSFER_WIRE_SEED: the first one's seed; TRANSFER_WIRE_AT_ONCE:
# how many at a time. TRANSFER_SUITES_AT_ONCE: how many targets at a time.
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

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# Suites that run at the same time: while one waits for sockets and child processes another one computes.
at_once=${TRANSFER_SUITES_AT_ONCE:-2}

# Each says what it says in one piece, when it has ended. What failed is said again at the end, where it is looked for first, and
# where it is when a log is cut off.
# The program is run by itself: `swift test` plans the whole build first, each time.
run() {
    local name=$1 filter=$2
    if ! "$tests" --testing-library swift-testing --filter "$filter" >"$logs/$name" 2>&1; then
        touch "$logs/$name.failed"
    fi
    {
        flock 9
        echo "== $name"
        cat "$logs/$name"
    } 9>"$logs/lock"
}

begin() {
    while (($(jobs -rp | wc -l) >= at_once)); do wait -n || true; done
    run "$@" &
}

"$swift" build --build-tests "$@"
tests=$("$swift" build --show-bin-path "$@")/transferPackageTests.xctest
# Those that take longest first, so that none of them is left alone at the end.
for target in $(find Tests -type d -name 'Transfer*Tests' -printf '%f\n' | sort); do
    case $target in
        TransferCLITests | TransferServerTests | TransferClientTests | TransferStoreTests) echo "0 $target" ;;
        *) echo "1 $target" ;;
    esac
done | sort >"$logs/targets"
sessions=${TRANSFER_WIRE_SESSIONS:-1000}
unset TRANSFER_WIRE_SESSIONS
TRANSFER_WIRE_SESSIONS=$sessions TMPDIR=$(tmpdir_for TransferClientTests) \
    begin "wire-sessions-$sessions" '^TransferClientTests\.FaultyWireTests'
while read -r _ target; do
    TMPDIR=$(tmpdir_for "$target") begin "$target" "^$target\\."
done <"$logs/targets"
wait
failed=$(find "$logs" -name '*.failed' -printf '%f ' | sed 's/\.failed / /g')
if [[ $failed ]]; then
    echo "== failed: $failed"
    for name in $failed; do grep -a '✘' "$logs/$name" || tail -n 20 "$logs/$name"; done
    exit 1
fi
