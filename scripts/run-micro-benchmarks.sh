#!/usr/bin/env bash
# Runs the micro-benchmarks that `make bench-micro` has built, in a temporary directory that is removed at the end.
#
# usage: run-micro-benchmarks.sh [--update]    --update writes the thresholds instead of comparing the results with them
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TMPDIR=$work .build/release/MicroBenchmarks Benchmarks/allocations.txt "$@"
