#!/usr/bin/env bash
# Keeps what runs of the fuzzer have learnt: the fewest short inputs that reach what the seeds do not, in Fuzz/corpus.
#
# usage: keep-fuzz-corpus.sh [CORPUS] [PROGRAM]    .build/fuzz/corpus and what `make fuzz` built by default
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly corpus=${1:-.build/fuzz/corpus} program=${2:-.build/fuzz/release/transfer-fuzz}

# Bytes of an input that is kept.
readonly longest=256

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

keep() {
    local target=$1 all=$scratch/$1/all learnt=$scratch/$1/learnt kept=Fuzz/corpus/$1
    mkdir -p "$all" "$learnt"
    cp Fuzz/seeds/"$target"/* "$all"
    find "$corpus/$target" -type f -size "-$((longest + 1))c" -exec cp -t "$learnt" {} +
    # Edges alone, not how often each is taken: that would keep several times as many.
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
