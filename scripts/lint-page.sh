#!/usr/bin/env bash
# Checks the scripts of the page: types, style and form by deno (PyPI: deno), and their tests by node. What is not installed is left
# out with a sentence.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export DENO_DIR=$PWD/.build/deno
if command -v deno >/dev/null; then
    (cd Sources/CPage && deno check --quiet --config deno.json assets/*.js && deno lint --quiet --config deno.json assets ../../Tests/page &&
        deno fmt --quiet --check --config deno.json assets/*.js assets/*.ts ../../Tests/page/*.js)
else
    echo "deno is not there; the scripts of the page were not checked."
fi
if command -v node >/dev/null && [[ $(node --version) =~ ^v(1[89]|[2-9][0-9])\. ]]; then
    node --test Tests/page/ >/dev/null || node --test Tests/page/
else
    echo "node 18 is not there; the scripts of the page were not tested."
fi
