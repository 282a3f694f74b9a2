#!/usr/bin/env bash
# Runs all tests again and again beside load on every core, and once on one core alone: a test whose outcome depends on how fast
# the machine is fails sooner or later. Prints a line for each run; the output of those that failed stays.
#
# usage: repeat-tests.sh [RUNS]    beside load (10); 0 for the one core alone
#
# LOGS: a directory for the output of what failed (.build/repeat-tests). TRANSFER_SUITES: as in run-tests.sh.
# PINNED=0 leaves out the run on one core.
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

# As much as every core can do, at the priority of the tests. Each loop ends with this script, however that ends.
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
