#!/usr/bin/env bash
# Refuses code that can trap, unless a comment explains why no input from outside can cause the trap: a trap ends the
# process and with it every upload.
#
# usage: check-traps.sh [DIRECTORY...]    without arguments, checks Sources
#
# Code that can trap is precondition, preconditionFailure, fatalError, assertionFailure, try!, as!, forced unwrapping and
# uniqueKeysWithValues. The comment begins with "// Trap:" and is directly above the line, or at its end.
set -euo pipefail

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- Sources

# shellcheck disable=SC2016  # awk expands these variables, not the shell.
find "$@" -name '*.swift' -print0 | sort -z | xargs -0 awk '
    # A "!" that negates has a space or an opening bracket before it; a "!" that can trap has an operand before it.
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
