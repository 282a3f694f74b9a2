#!/usr/bin/env bash
# Prints the version of the program. It is defined in one place, from which the output of `transfer --version` is compiled.
#
#   scripts/version.sh           prints the version
#   scripts/version.sh --epoch   prints SOURCE_DATE_EPOCH, or else the time of the last change of the sources, in seconds since 1970
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
