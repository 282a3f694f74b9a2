#!/usr/bin/env bash
# Fuzzes one target after the other. Stops at the first finding, keeps its input, and prints how to make a test of it.
#
# usage: fuzz.sh SECONDS [TARGET...]    targets are named like the directories in Fuzz/seeds; without targets, all of them
#
# The inputs that the fuzzer has found stay in .build/fuzz/corpus, and the next run begins with them. keep-fuzz-corpus.sh
# copies the best ones to the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly seconds=${1:?usage: fuzz.sh SECONDS [TARGET...]}
shift

# The largest number of bytes in an input: twice the longest path. Longer inputs are slower and find no more faults.
readonly longest=8192

# Seconds that one input may take. An input takes milliseconds, but the time for which a machine is suspended counts, too.
readonly patience=300

# MiB of memory that the process may use. The address sanitizer uses most of it, because it delays the reuse of memory.
readonly memory=2048

if (($# > 0)); then
    targets=("$@")
else
    mapfile -t targets < <(cd Fuzz/seeds && printf '%s\n' *)
fi

# The build is optimized, because a fast fuzzer finds more; traps and checks for overflow stay. The package manager needs
# `--sanitize=fuzzer` because libFuzzer provides `main`. The compiler obeys only the last list of sanitizers.
swift=$(scripts/swift-path.sh)
TRANSFER_FUZZ=1 "$swift" build -c release --scratch-path .build/fuzz --sanitize=fuzzer -Xswiftc -sanitize=address,fuzzer \
    --product transfer-fuzz

# A directory for the small files that inputs make. They are removed with it even if the program crashes.
memory_directory=/dev/shm
[[ -w $memory_directory ]] || memory_directory=${TMPDIR:-/tmp}
scratch=$(mktemp -d "$memory_directory/transfer-fuzz-XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# Fuzzes one target. Swift's crash reports do not work with the address sanitizer, so they are switched off.
fuzz() {
    local target=$1 corpus=.build/fuzz/corpus/$1 findings=.build/fuzz/findings/$1
    mkdir -p "$corpus" "$findings"
    echo "== $target, $seconds s"
    local kept=("Fuzz/seeds/$target") directory
    for directory in Fuzz/{corpus,crashes}/"$target"; do
        [[ ! -d $directory ]] || kept+=("$directory")
    done
    if TRANSFER_FUZZ_TARGET=$target TMPDIR=$scratch SWIFT_BACKTRACE=enable=no .build/fuzz/release/transfer-fuzz \
        -max_total_time="$seconds" -max_len="$longest" -timeout="$patience" -rss_limit_mb="$memory" \
        -artifact_prefix="$findings/" -print_final_stats=1 "$corpus" "${kept[@]}" >"$scratch/log" 2>&1; then
        grep -E 'DONE|number_of_executed_units|peak_rss_mb' "$scratch/log"
        return
    fi
    tail -n 60 "$scratch/log"
    echo
    echo "A finding. Its input is the newest file in $findings. To see it again, and to make a test of it:"
    echo "    TRANSFER_FUZZ_TARGET=$target .build/fuzz/release/transfer-fuzz $findings/FILE"
    echo "    mkdir -p Fuzz/crashes/$target && cp $findings/FILE Fuzz/crashes/$target/WHAT-IT-SHOWS"
    echo "    swift test --filter CorpusTests    # fails until it is mended"
    return 1
}

for target in "${targets[@]}"; do fuzz "$target"; done
