#!/bin/sh
# Builds the simulator with small blocks and runs it: scripts/simulate.sh [--jobs N] [OPTION...]. Several jobs divide the
# seeds among themselves. If a job fails, the other jobs are ended, unless --keep-going is given.
# Tests/Simulation/TransferSimulate/Main.swift has the options.
set -eu
cd "$(dirname "$0")/.."
jobs=1 seed= goes_on=
for argument; do
    shift
    case "${option:-}" in
    --jobs) jobs=$argument ;;
    --seed) seed=$argument ;;
    *)
        case $argument in --jobs | --seed) ;; *) set -- "$@" "$argument" ;; esac
        [ "$argument" != --keep-going ] || goes_on=1
        ;;
    esac
    option=$argument
done
swift="$(scripts/swift-path.sh)"
export TRANSFER_SIMULATION=1
"$swift" build -c release --scratch-path .build/simulation --product transfer-simulate
seed=${seed:-$(date +%s)000000}
simulate=.build/simulation/release/transfer-simulate
[ "$jobs" -gt 1 ] || exec "$simulate" --seed "$seed" "$@"

pids=
stop() {
    # A job that has ended already cannot be killed, which is no error.
    for pid in $pids; do kill "$pid" 2>/dev/null || :; done
}
trap 'stop; exit 130' INT TERM
number=0
while [ "$number" -lt "$jobs" ]; do
    "$simulate" --seed $((seed + number)) --step "$jobs" "$@" &
    pids="$pids $!"
    number=$((number + 1))
done
status=0
for pid in $pids; do
    wait "$pid" || { status=1; [ "$goes_on" ] || stop; }
done
exit "$status"
