#!/usr/bin/env bash
# Tests which lines check-traps.sh refuses, and which it accepts.
#
# usage: test-check-traps.sh
set -euo pipefail

cd "$(dirname "$0")/.."
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

# Makes a file of the given lines, and prints whether check-traps.sh refuses it.
outcome() {
    printf '%s\n' "$@" > "$directory/a.swift"
    if scripts/check-traps.sh "$directory" > "$directory/said"; then echo "passes"; else echo "is refused"; fi
}

expect() {
    local wanted=$1 found
    shift
    found=$(outcome "$@")
    [ "$found" = "$wanted" ] && return
    printf 'check-traps.sh: this %s:\n' "$found"
    printf '    %s\n' "$@"
    exit 1
}

for line in 'precondition(a, "b")' '} else { preconditionFailure("a") }' 'fatalError()' 'assertionFailure("a")' \
    'let a = try! b()' 'let a = b as! C' 'a!.b()' 'a[1]! + b' 'f()!' 'let a = b!' 'a { b }!' 'text("// Trap: no")!' \
    'Dictionary(uniqueKeysWithValues: a)' 'if a! == b { }' 'f("\"", a!)'; do
    expect 'is refused' "$line"
    expect 'is refused' '// Because.' "$line"
    expect 'is refused' '// Trap: it cannot.' 'other()' "$line"
    expect 'is refused' '// Trap:' "$line"
    expect 'passes' '// Trap: it cannot.' "$line"
    expect 'passes' '    // Trap: it cannot,' '    // and nor can that.' "    $line"
    expect 'passes' "$line  // Trap: it cannot."
    expect 'passes' "// $line"
    expect 'passes' 'let text = """' "    $line" '    """'
done
for line in 'guard !a, a != b, a !== b else { return }' 'let text = "Stop! precondition(a)"' 'f(!a)' '#if !os(Linux)' \
    '/// - Precondition: it fits.' 'let a = "b" + (!c ? "!" : "")' 'let a: Bool = !b'; do
    expect 'passes' "$line"
done
expect 'is refused' 'let text = """' '    a' '    """' 'a!.b()'
grep -q '^.*a.swift:4: ' "$directory/said"
echo "check-traps.sh: its tests passed"
