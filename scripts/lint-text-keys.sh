#!/bin/sh
# Refuses strings as keys, and hashes that stand for something, where paths and names are dealt with: equal strings can be
# two names (é as one code point and as two). PathKey, RelativePath and PathDigest go by bytes. Where no path or name is
# meant, a comment on the line or the one above says so, beginning with "// Text:".
set -eu
cd "$(dirname "$0")/.."
# shellcheck disable=SC2016  # These are awk's own variables.
find Sources/TransferServer Sources/TransferClient Sources/TransferStore -name '*.swift' | sort | xargs awk '
    FNR == 1 { above = "" }
    /Set<(String|Substring)>|\[(String|Substring)\??:|\.hashValue/ && !/\/\/ Text:/ && above !~ /\/\/ Text:/ {
        print FILENAME ":" FNR ": a string or a hash as a key; use PathKey, or say why with // Text:"
        failed = 1
    }
    { above = $0 }
    END { exit failed }'
