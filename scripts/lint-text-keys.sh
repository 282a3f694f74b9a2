#!/bin/sh
# Refuses strings as keys, and hashes as identities, in code that handles paths and names: two different names can be
# equal strings (é as one code point and as two). PathKey, RelativePath and PathDigest compare bytes. If a string is
# neither a path nor a name, a comment that begins with "// Text:", on the line or the line above, says so.
set -eu
cd "$(dirname "$0")/.."
# shellcheck disable=SC2016  # awk expands these variables, not the shell.
find Sources/TransferServer Sources/TransferClient Sources/TransferStore -name '*.swift' | sort | xargs awk '
    FNR == 1 { above = "" }
    /Set<(String|Substring)>|\[(String|Substring)\??:|\.hashValue/ && !/\/\/ Text:/ && above !~ /\/\/ Text:/ {
        print FILENAME ":" FNR ": a string or a hash as a key; use PathKey, or say why with // Text:"
        failed = 1
    }
    { above = $0 }
    END { exit failed }'
