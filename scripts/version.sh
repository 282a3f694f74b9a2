#!/usr/bin/env bash
# Prints the version of the program, which stands in one place: what `transfer --version` prints is compiled from it.
#
#   scripts/version.sh           the version
#   scripts/version.sh --epoch   SOURCE_DATE_EPOCH, or when the sources were last changed: seconds since 1970
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source=Sources/TransferCLI/TransferVersion.swift

case ${1-} in
'')
    version=$(sed -n 's/^let transferVersion = "\([0-9A-Za-z.+~-]*\)"$/\1/p' "$source")
    [[ -n $version ]] || { echo "There is no version in $source." >&2; exit 1; }
    echo "$version"
    ;;
--epoch)
    if [[ -n ${SOURCE_DATE_EPOCH-} ]]; then
        echo "$SOURCE_DATE_EPOCH"
    elif ! git log -1 --format=%ct 2>/dev/null; then
        stat -c %Y CHANGELOG.md
    fi
    ;;
*)
    echo "usage: scripts/version.sh [--epoch]" >&2
    exit 2
    ;;
esac
