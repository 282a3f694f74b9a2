#!/usr/bin/env bash
# Copies inputs that the fuzzer has found to Fuzz/corpus: as few and as short ones as reach all the code that the seeds
# do not reach.
#
# usage: keep-fuzz-corpus.sh [CORPUS] [PROGRAM]    by default .build/fuzz/corpus, and the program that `make fuzz` built
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly corpus=${1:-.build/fuzz/corpus} program=${2:-.build/fuzz/release/transfer-fuzz}

# The largest number of bytes in an input that is kept.
readonly longest=256

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

keep() {
    local target=$1 all=$scratch/$1/all learnt=$scratch/$1/learnt kept=Fuzz/corpus/$1
    mkdir -p "$all" "$learnt"
    cp Fuzz/seeds/"$target"/* "$all"
    find "$corpus/$target" -type f -size "-$((longest + 1))c" -exec cp -t "$learnt" {} +
    # Counts only which edges are reached, and not how often: that would keep several times as many inputs.
    TRANSFER_FUZZ_TARGET=$target SWIFT_BACKTRACE=enable=no "$program" -set_cover_merge=1 -use_counters=0 \
        -max_len=65536 "$all" "$learnt" >"$scratch/log" 2>&1 || { tail -n 20 "$scratch/log" && return 1; }
    rm -rf "$kept"
    mkdir -p "$kept"
    for input in "$all"/*; do
        [[ -f Fuzz/seeds/$target/${input##*/} ]] || mv "$input" "$kept"
    done
    echo "$target: $(find "$kept" -type f | wc -l) inputs, $(cat "$kept"/* | wc -c) bytes"
}

for directory in "$corpus"/*; do keep "${directory##*/}"; done
