#!/usr/bin/env bash
# Finds code that makes a test depend on the speed of the machine, or by which a child process inherits more than it should
# ("Tests and the machine's speed" in docs/TESTING.md). Prints each place with the reason; exits with 1 if there is one.
set -euo pipefail

cd "$(dirname "$0")/.."
found=0

refuse() {
    local why=$1 pattern=$2
    shift 2
    if grep -rnE "$pattern" "$@"; then
        echo "^ $why" >&2
        found=1
    fi
}

swift=(--include='*.swift' Tests)
python=(--include='*.py' Tests)
refuse 'A child is started by ChildLaunch, which gives it nothing by chance.' \
    '\b(posix_spawnp?\(&|Glibc\.system\(|vfork\()' --exclude-dir=Children "${swift[@]}" Benchmarks/Micro
refuse 'A test waits for what happens, and does not sleep.' \
    '\b(usleep|nanosleep|Task\.sleep|Thread\.sleep)\(' "${swift[@]}"
refuse 'A test waits for what happens, and does not sleep.' '\btime\.sleep\(' "${python[@]}"
refuse 'How long something takes says how fast the machine is.' '\b(ContinuousClock|SuspendingClock)\(' "${swift[@]}"
refuse 'A limit of time only ends what hangs: at least ten minutes.' 'timeLimit\(\.minutes\([0-9]\)\)' "${swift[@]}"
exit $found
