#!/usr/bin/env bash
# Prints the path of a Swift compiler that is new enough: $SWIFT if it is set, or else the first one found on PATH or where
# toolchains are usually unpacked. If there is no such compiler, prints on standard error what is needed.
set -euo pipefail

readonly needed_major=6 needed_minor=2

# Prints the version of a Swift compiler. Other programs are called swift as well; for these it prints an empty text.
version_of() {
    "$1" --version 2>/dev/null </dev/null | sed -n 's/.*Swift version \([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p' | head -n 1
}

is_new_enough() {
    local major=${1%%.*} minor=${1#*.}
    ((major > needed_major || (major == needed_major && minor >= needed_minor)))
}

if [[ -n ${SWIFT:-} ]]; then
    candidates=("$SWIFT")
else
    mapfile -t candidates < <(type -ap swift || true)
    candidates+=(
        "/opt/swift/usr/bin/swift"
        "${SWIFTLY_BIN_DIR:-${HOME:-}/.local/share/swiftly/bin}/swift"
    )
fi

seen=()
for candidate in "${candidates[@]}"; do
    path=$(command -v -- "$candidate" || true)
    [[ -n $path && -x $path ]] || continue
    version=$(version_of "$path" || true)
    if [[ -n $version ]] && is_new_enough "$version"; then
        printf '%s\n' "$path"
        exit 0
    fi
    seen+=("$path is ${version:+Swift }${version:-not a Swift compiler}")
done

{
    echo "Swift $needed_major.$needed_minor or newer is needed and was not found. Install it as swift.org/install says,"
    echo "then put it on PATH or set SWIFT=/path/to/swift."
    for line in "${seen[@]}"; do echo "  seen: $line"; done
} >&2
exit 1
