#!/usr/bin/env bash
# Fuzzes one target after the other. Stops at the first finding, keeps its input and says how to make a test of it.
#
# usage: fuzz.sh SECONDS [TARGET...]    targets are named like the directories in Fuzz/seeds; without any, all of them
#
# What was learnt stays in .build/fuzz/corpus, and the next run goes on from there. keep-fuzz-corpus.sh keeps it for good.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly seconds=${1:?usage: fuzz.sh SECONDS [TARGET...]}
shift

# Bytes of an input: longer ones are slower and say no more. Two times the longest path.
readonly longest=8192

# Seconds that one input may take: inputs take milliseconds, but a machine that was suspended meanwhile takes time too.
readonly patience=300

# MiB of memory that the process may take, most of which the address sanitizer holds back.
readonly memory=2048

if (($# > 0)); then
    targets=("$@")
else
    mapfile -t targets < <(cd Fuzz/seeds && printf '%s\n' *)
fi

# Optimized, because a fuzzer lives on speed; traps and checks for overflow stay. The package manager has to know that
# libFuzzer brings `main`; the compiler heeds only its last list of sanitizers.
swift=$(scripts/swift-path.sh)
TRANSFER_FUZZ=1 "$swift" build -c release --scratch-path .build/fuzz --sanitize=fuzzer -Xswiftc -sanitize=address,fuzzer \
    --product transfer-fuzz

# Files that the inputs make are small, and removed with this directory even if the program crashes.
memory_directory=/dev/shm
[[ -w $memory_directory ]] || memory_directory=${TMPDIR:-/tmp}
scratch=$(mktemp -d "$memory_directory/transfer-fuzz-XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# Swift's own reports of crashes trip over the address sanitizer, so they are turned off.
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
