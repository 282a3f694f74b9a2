#!/usr/bin/env bash
# Tests HTTP with programs of other projects. Tests whose program is not installed are skipped with a message. Packages for
# Python are installed in .build/http-venv.
#
# usage: test-http.sh [TEST...]    tests are named like the files in Tests/web/peers; without tests, all of them
#
# TRANSFER_BINARY: the program to test, instead of the release binary.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly environment=.build/http-venv
readonly packages=(tuspy aiotus resumable-upload)
# It has the script of axe, and depends on a driver of browsers that is not needed.
readonly packages_alone=(axe-playwright-python)

export TRANSFER_BINARY=${TRANSFER_BINARY:-.build/release/transfer}
export PATH="$PATH:/usr/sbin"

if [[ ! -x $environment/bin/python ]]; then python3 -m venv "$environment"; fi
install() {
    "$environment/bin/pip" install --quiet --disable-pip-version-check "$@" ||
        echo "The package ${*: -1} cannot be installed: the tests with it are left out."
}
for package in "${packages[@]}"; do install "$package"; done
for package in "${packages_alone[@]}"; do install --no-deps "$package"; done

if (($# == 0)); then
    "$environment/bin/python" -m unittest discover --verbose -s Tests/web/tests -t Tests
    "$environment/bin/python" -m unittest discover --verbose -s Tests/web/peers -t Tests
else
    cd Tests
    TRANSFER_BINARY=$(cd .. && realpath "$TRANSFER_BINARY") \
        "../$environment/bin/python" -m unittest --verbose "${@/#/web.peers.}"
fi
