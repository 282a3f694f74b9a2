#!/usr/bin/env bash
# Refuses what ends the process where no comment says why nothing from outside can reach it: a trap ends every upload.
#
# usage: check-traps.sh [DIRECTORY...]    Sources without any
#
# Looked for are precondition, preconditionFailure, fatalError, assertionFailure, try!, as!, forced unwrapping and
# uniqueKeysWithValues. The comment begins with "// Trap:" and stands in the lines directly above, or behind, on the line.
set -euo pipefail

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- Sources

# shellcheck disable=SC2016  # These are awk's own variables.
find "$@" -name '*.swift' -print0 | sort -z | xargs -0 awk '
    # A "!" in front of what it negates has a space or an opening bracket before it.
    function isTrap(code) {
        sub(/\/\/.*/, "", code)
        return code ~ /(^|[^A-Za-z0-9_])(precondition|preconditionFailure|fatalError|assertionFailure)\(/ ||
            code ~ /uniqueKeysWithValues/ || code ~ /[]A-Za-z0-9_)}"`]!([^=]|==|$)/
    }
    FNR == 1 { isExcused = isQuoted = 0 }
    {
        marks = gsub(/"""/, "&")
        if (isQuoted) { isQuoted = marks % 2 == 0; next }
        isQuoted = marks % 2
    }
    /^[ \t]*\/\// { if ($0 ~ /\/\/ Trap: [^ ]/) isExcused = 1; next }
    {
        code = $0
        gsub(/"([^"\\]|\\.)*"/, "\"\"", code)
        if (!isExcused && code !~ /\/\/ Trap: [^ ]/ && isTrap(code)) {
            print FILENAME ":" FNR ": a trap without a comment \"// Trap: …\" that says why nothing from outside reaches it:" $0
            found = 1
        }
        isExcused = 0
    }
    END { exit found }
'
