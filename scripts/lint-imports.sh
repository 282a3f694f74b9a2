#!/usr/bin/env bash
# Compares the table of targets in docs/ARCHITECTURE.md with the imports of the sources. The third column has the imported
# targets of this project without their prefix, in the order of the table, and the imported C modules.
#
#   scripts/lint-imports.sh           prints the rows that are wrong; exits with 1 if there is one
#   scripts/lint-imports.sh --write   writes the third column
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
table=docs/ARCHITECTURE.md

rows() {
    sed -n 's/^| `\(Transfer[A-Za-z]*\)` |.*/\1/p' "$table"
}

# Prints the imports of a target as a cell of the table.
imports() {
    local found target cell=""
    found=$(find "Sources/$1" -name '*.swift' -exec sed -nE \
        's/^(@[A-Za-z_]+ )*((public|package|internal|private|fileprivate) )?import ((Transfer|C)[A-Za-z]+)$/\4/p' {} + | sort -u)
    for target in $(rows); do
        if grep -qx "$target" <<<"$found"; then cell+="${target#Transfer}, "; fi
    done
    for target in $(grep -E '^C' <<<"$found"); do cell+="\`$target\`, "; done
    echo "${cell%, }"
}

failed=0
for target in Sources/Transfer*; do
    target=${target#Sources/}
    cell=$(imports "$target")
    if grep -qF "| $cell |" < <(grep "^| \`$target\` |" "$table"); then continue; fi
    if [[ ${1:-} == --write ]]; then
        sed -i "s#^\(| \`$target\` | [^|]* |\).*#\1 $cell |#" "$table"
    else
        echo "$table: the row of $target has to say: $cell" >&2
        failed=1
    fi
done
# The only files of the server and the intake that may name a storage instead of a port: the first two assemble the
# server, alone or in a cluster, and the others repair a catalog. The folder with the access lists is a storage, too, although its module also
# contains the port.
of_storage="
    Sources/TransferServer/Cluster/ClusterNode.swift
    Sources/TransferServer/Core/ServerFoundations.swift
    Sources/TransferServer/Scrub/CatalogRepair.swift
    Sources/TransferServer/Scrub/Scrub.swift
"
while read -r file; do
    if grep -qF "    $file" <<<"$of_storage"; then continue; fi
    echo "$file: names a storage. What it does there has to be asked of a port (docs/design/ports.md)." >&2
    failed=2
done < <(grep -rlE '^(package )?import (Transfer(Catalog|Database|Ledger|Store)|CSQLite)$|\<AccessFolder\>' \
    Sources/TransferIntake Sources/TransferServer)

if ((failed)); then
    if ((failed == 1)); then echo "scripts/lint-imports.sh --write writes them." >&2; fi
    exit 1
fi
