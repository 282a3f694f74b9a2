#!/usr/bin/env bash
# Builds and runs the tests: the tests of all Swift targets, each target in a separate process; the tests in Python; and
# recorded cases and new seeds of the simulator. The tests of one process share as many threads as there are cores, and
# many tests wait for sockets and child processes, so several suites run at once.
#
# usage: run-tests.sh [OPTION...]    options of `swift build`; with an option, only the Swift targets are tested
#
# TRANSFER_WIRE_SESSIONS: number of pushes over a faulty wire. TRANSFER_WIRE_SEED: seed of the first push.
# TRANSFER_WIRE_AT_ONCE: number of such pushes at a time. TRANSFER_SUITES_AT_ONCE: number of suites at a time.
# TRANSFER_SUITES: names of the only suites to run. TRANSFER_BUILT=1: the tests are built already.
set -euo pipefail

cd "$(dirname "$0")/.."
swift=$(scripts/swift-path.sh)

# The files of these tests are in memory if there is room: the tests examine whole servers and clients, and on a slow disk
# they would mostly wait for the disk. The files of the store, of the program and of torture are on the disk.
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

# Three suites more than there are cores: while some suites wait for sockets and child processes, others compute.
at_once=${TRANSFER_SUITES_AT_ONCE:-$(($(nproc) + 3))}

# Runs a suite, and prints its output in one piece when the suite has ended. The failures are printed again at the end of
# this script, where a reader looks first, and which a truncated log still contains.
run() {
    local name=$1
    shift
    if ! "$@" >"$logs/$name" 2>&1; then touch "$logs/$name.failed"; fi
    {
        flock 9
        echo "== $name"
        cat "$logs/$name"
    } 9>"$logs/lock"
}

begin() {
    if [[ ${TRANSFER_SUITES:-} && " $TRANSFER_SUITES " != *" $1 "* ]]; then return; fi
    while (($(jobs -rp | wc -l) >= at_once)); do wait -n || true; done
    run "$@" &
}

# Seconds of processor time for the simulator, so that a busy machine plays as many seeds as an idle one. With the store in
# memory or with a cluster, a second is enough for more seeds.
readonly simulated_seconds=20 simulated_seconds_in_memory=5 simulated_seconds_of_clusters=8

# Plays the recorded cases first: each shows a mistake that the project once had. Plays new seeds even if a case fails.
simulate() {
    local status=0
    scripts/simulate.sh --cases Tests/Simulation/cases || status=1
    .build/simulation/release/transfer-simulate --cpu-seconds "$simulated_seconds" || status=1
    .build/simulation/release/transfer-simulate --store memory --cpu-seconds "$simulated_seconds_in_memory" || status=1
    .build/simulation/release/transfer-simulate --store cluster --cpu-seconds "$simulated_seconds_of_clusters" || status=1
    return "$status"
}

# Runs a command with a separate folder for its files, and fails if the command leaves a file in the folder. The path of
# the folder is short, because paths of sockets must be short.
leaving_nothing() {
    local parent=$1 folder left status=0
    shift
    folder=$(mktemp -d "$parent/t.XXXXXX")
    # Some tests do a part of their work as another user, who needs access to the folder.
    chmod 1777 "$folder"
    env TMPDIR="$folder" "$@" || status=$?
    left=$(find "$folder" -mindepth 1 -maxdepth 3 -printf '%M %s %P\n')
    rm -rf "$folder"
    [[ $left ]] || return "$status"
    sed 's/^/✘ The tests have left behind: /' <<<"$left"
    return 1
}

# Runs the test program directly, because `swift test` would first plan the whole build each time.
begin_swift() {
    local name=$1
    shift
    begin "$name" leaving_nothing "$(tmpdir_for "${name%%:*}")" "$tests" --testing-library swift-testing "$@"
}

begin_python() { begin "$1" env TRANSFER_BINARY="$program" python3 -m unittest discover -s "$2/tests" -t "$3"; }

# The simulator is a separate build, with small blocks. It is built and run during the build of the tests, which does not
# always use all cores. Each run plays other seeds, and prints the first seed.
if (($# == 0)); then begin simulator simulate; fi
if [[ ${TRANSFER_BUILT:-} != 1 ]] && ! "$swift" build --build-tests "$@"; then
    wait
    exit 1
fi
bin=$("$swift" build --show-bin-path "$@")
tests=$bin/transferPackageTests.xctest
program=${TRANSFER_BINARY:-$bin/transfer}

has_python=
if (($# == 0)) && command -v python3 >/dev/null; then has_python=1; fi

# Suites that mostly wait, and those that take longest, begin first, so that none of them runs alone at the end.
if [[ $has_python ]]; then
    begin_python dialects Tests/dialects Tests
    begin torture env PYTHONPATH=Tests python3 -m torture --rounds 10 --transfer "$program"
    begin_python torture-scripts Tests/torture Tests
elif (($# == 0)); then
    echo "python3 is not there; the tests of the benchmarks, of the mutants, of the proofs, of the dialects, of HTTP and of the engines, and the short torture, were not run."
fi
if [[ $has_python ]] && ! { command -v chromium && command -v chromedriver; } >/dev/null; then
    echo "chromium and chromedriver are not both there; the walk through the page was not run."
fi
# In one process, the tests with a running server run one after the other, so two processes share them.
over_http='^TransferServerTests\.ServerTests/[A-Za-z]*HTTP'
begin_swift TransferServerTests:http --filter "$over_http"
begin_swift TransferServerTests --filter '^TransferServerTests\.' --skip "$over_http"
TRANSFER_WIRE_SESSIONS=${TRANSFER_WIRE_SESSIONS:-1000} \
    begin_swift TransferClientTests:wire-sessions --filter '^TransferClientTests\.FaultyWireTests'
unset TRANSFER_WIRE_SESSIONS
for target in CLI Client Store Simulation; do begin_swift "Transfer${target}Tests" --filter "^Transfer${target}Tests\\."; done
if [[ $has_python ]]; then
    begin_python web Tests/web Tests
    begin_python cluster-scripts Tests/cluster Tests
    begin_python benchmarks-scripts Benchmarks Benchmarks
    begin_python mutants-scripts Tests/mutants Tests
    begin_python proofs-scripts Tests/proofs Tests
fi
if (($# == 0)); then begin package env DEB_COMPRESSION=none scripts/test-deb.sh "$program"; fi
for target in $(find Tests -type d -name 'Transfer*Tests' -printf '%f\n' | sort); do
    case $target in
        TransferServerTests | TransferCLITests | TransferClientTests | TransferStoreTests | TransferSimulationTests) ;;
        *) begin_swift "$target" --filter "^$target\\." ;;
    esac
done
wait
failed=$(find "$logs" -name '*.failed' -printf '%f ' | sed 's/\.failed / /g')
if [[ $failed ]]; then
    echo "== failed: $failed"
    for name in $failed; do grep -aE '✘|^# seed ' "$logs/$name" || tail -n 20 "$logs/$name"; done
    exit 1
fi
