#!/usr/bin/env bash
# Runs all tests repeatedly while other processes load every core, and then once on a single core: a test that depends on
# the speed of the machine fails sooner or later. Prints a line for each run, and keeps the output of failed runs.
#
# usage: repeat-tests.sh [RUNS]    RUNS: number of runs under load, by default 10; 0 for only the run on a single core
#
# LOGS: directory for the output of failed runs, by default .build/repeat-tests. TRANSFER_SUITES: as in run-tests.sh.
# PINNED=0: without the run on a single core.
set -euo pipefail

cd "$(dirname "$0")/.."
runs=${1:-10}
if ! [[ $runs =~ ^[0-9]+$ ]]; then
    echo "usage: scripts/repeat-tests.sh [RUNS]" >&2
    exit 2
fi
logs=${LOGS:-.build/repeat-tests}
mkdir -p "$logs"
rm -f "$logs"/*.log

swift=$(scripts/swift-path.sh)
"$swift" build --build-tests
export TRANSFER_BUILT=1

# Loads every core with a loop at the priority of the tests. Each loop ends when this script ends, in whatever way.
loops=()
begin_load() {
    local core
    for ((core = 0; core < $(nproc); core++)); do
        while [[ -d /proc/$$ ]]; do for ((step = 0; step < 100000; step++)); do :; done; done &
        loops+=($!)
    done
}

end_load() {
    if ((${#loops[@]} == 0)); then return; fi
    kill "${loops[@]}" 2>/dev/null || true
    wait "${loops[@]}" 2>/dev/null || true
    loops=()
}
trap end_load EXIT

red=0
play() {
    local what=$1 log=$logs/$2.log begin=$SECONDS failed
    shift 2
    if "$@" scripts/run-tests.sh >"$log" 2>&1; then
        echo "$what: green, $((SECONDS - begin)) s"
        rm "$log"
        return
    fi
    failed=$(sed -n 's/^== failed: *//p' "$log")
    echo "$what: red, $((SECONDS - begin)) s, failed: ${failed:-before any suite} ($log)"
    # The next call of this script deletes the log.
    sed -n '/^== failed:/,$p' "$log"
    red=$((red + 1))
}

for ((run = 1; run <= runs; run++)); do
    begin_load
    play "run $run of $runs beside load" "load-$run"
    end_load
done
if [[ ${PINNED:-1} != 0 ]]; then play "run on one core" pinned taskset -c "$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')"; fi
if ((red > 0)); then
    echo "$red red"
    exit 1
fi
