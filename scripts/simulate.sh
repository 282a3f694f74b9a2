#!/bin/sh
# Builds the simulator with small blocks and runs it: scripts/simulate.sh [--seconds N] [--seed N] [--only SEED]
set -eu
cd "$(dirname "$0")/.."
swift="$(scripts/swift-path.sh)"
export TRANSFER_SIMULATION=1
"$swift" build -c release --scratch-path .build/simulation --product transfer-simulate
exec .build/simulation/release/transfer-simulate "$@"
