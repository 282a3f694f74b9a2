#!/usr/bin/env bash
# Tries HTTP with what others wrote. What is not there is left out, and said so. Packages for Python go to .build/http-venv.
#
# usage: test-http.sh [TEST...]    tests are named like the files in Tests/web/peers; without any, all of them
#
# TRANSFER_BINARY: the program to try, instead of the release binary.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly environment=.build/http-venv
readonly packages=(tuspy aiotus resumable-upload)

export TRANSFER_BINARY=${TRANSFER_BINARY:-.build/release/transfer}
export PATH="$PATH:/usr/sbin"

if [[ ! -x $environment/bin/python ]]; then python3 -m venv "$environment"; fi
for package in "${packages[@]}"; do
    "$environment/bin/pip" install --quiet --disable-pip-version-check "$package" ||
        echo "The package $package cannot be installed: the tests with it are left out."
done

if (($# == 0)); then
    "$environment/bin/python" -m unittest discover --verbose -s Tests/web/tests -t Tests
    "$environment/bin/python" -m unittest discover --verbose -s Tests/web/peers -t Tests
else
    cd Tests
    TRANSFER_BINARY=$(cd .. && realpath "$TRANSFER_BINARY") \
        "../$environment/bin/python" -m unittest --verbose "${@/#/web.peers.}"
fi
