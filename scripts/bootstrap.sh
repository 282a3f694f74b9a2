#!/usr/bin/env bash
# Sees to it that a build finds what it needs: Swift, a C++ toolchain to link with, and the C libraries with their
# static archives. Asks the compiler rather than the package manager, so that a library from anywhere counts, and
# leaves the package manager alone when nothing is missing. ISA-L makes compression faster and nothing needs it: where
# it cannot be had, a line says so.
#
#   scripts/bootstrap.sh           installs what is missing (Debian and its relatives) or says what to install
#   scripts/bootstrap.sh --check   says what is missing, installs nothing; exit status 1 when something needed is
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    echo "usage: scripts/bootstrap.sh [--check]"
}

# Sets `compiler` to the C++ compiler that Swift links with, which chooses the linker too; the system's own otherwise.
find_compiler() {
    local directory
    compiler=c++
    if ! $swift_found; then return; fi
    for directory in "$(dirname "$swift")" "$(dirname "$(readlink -f "$swift")")"; do
        if [[ -x $directory/clang++ ]]; then
            compiler=$directory/clang++
            return
        fi
    done
}

# Compiles and links a C++ program from standard input; the arguments are libraries.
links() {
    "$compiler" -x c++ - -o "$scratch/probe" "$@" >/dev/null 2>&1
}

toolchain_source='#include <string>
int main(int, char **argv) { return std::string(argv[0]).empty(); }'

zlib_source='#include <zlib.h>
int main() { return crc32(0, nullptr, 0) != 0; }'

# XXH3 is stable from 0.8.0 on.
xxhash_source='#include <xxhash.h>
#if XXH_VERSION_NUMBER < 800
#error too old
#endif
int main() { return XXH3_createState() == nullptr; }'

openssl_source='#include <openssl/ssl.h>
#if OPENSSL_VERSION_NUMBER < 0x30000000L
#error too old
#endif
int main() { return TLS_method() == nullptr; }'

# ON CONFLICT DO UPDATE came with 3.24.
sqlite_source='#include <sqlite3.h>
#if SQLITE_VERSION_NUMBER < 3024000
#error too old
#endif
int main() { return sqlite3_libversion_number() == 0; }'

# The header is all that a build takes. The sources use it on x86-64 only.
isal_source='#include <isa-l/igzip_lib.h>
int main() { return sizeof(isal_zstream) == 0; }'

has_toolchain() { links <<<"$toolchain_source"; }
has_zlib() { links -l:libz.a <<<"$zlib_source"; }
has_xxhash() { links -l:libxxhash.a <<<"$xxhash_source"; }
has_openssl() { links -l:libssl.a -l:libcrypto.a -ldl -lpthread <<<"$openssl_source"; }
has_sqlite() { links -l:libsqlite3.a -lm -ldl -lpthread <<<"$sqlite_source"; }

# The header is all that a build takes; without it there are no QR codes.
qrencode_source='#include <qrencode.h>
int main() { return sizeof(QRcode) == 0; }'

is_qrencode_missing() { ! links <<<"$qrencode_source"; }

is_isal_missing() { [[ $(uname -m) == x86_64 ]] && ! links <<<"$isal_source"; }

# Sets `missing` to the names of what is not there. Without a toolchain no probe can tell anything, so all are named.
find_missing() {
    missing=()
    local name
    if has_toolchain; then
        for name in zlib xxhash openssl sqlite; do
            "has_$name" || missing+=("$name")
        done
    else
        missing=(toolchain zlib xxhash openssl sqlite)
    fi
}

describe() {
    case $1 in
        toolchain) echo "a C++ toolchain to link with: libc and libstdc++ with headers, and ld.gold" ;;
        zlib) echo "zlib: zlib.h and libz.a" ;;
        xxhash) echo "xxHash 0.8 or newer: xxhash.h and libxxhash.a" ;;
        openssl) echo "OpenSSL 3.0 or newer: openssl/ssl.h, libssl.a and libcrypto.a" ;;
        sqlite) echo "SQLite 3.24 or newer: sqlite3.h and libsqlite3.a" ;;
    esac
}

is_debian() {
    command -v dpkg >/dev/null && command -v apt-get >/dev/null
}

debian_packages() {
    local name
    for name in "${missing[@]}"; do
        case $name in
            toolchain)
                echo g++
                # Newer releases pack this linker apart from binutils.
                if ! command -v ld.gold >/dev/null && apt-cache show binutils-gold >/dev/null 2>&1; then
                    echo binutils-gold
                fi
                ;;
            zlib) echo zlib1g-dev ;;
            xxhash) echo libxxhash-dev ;;
            openssl) echo libssl-dev ;;
            sqlite) echo libsqlite3-dev ;;
        esac
    done
}

explain() {
    local name packages
    {
        echo "Missing:"
        for name in "${missing[@]}"; do echo "  - $(describe "$name")"; done
        if is_debian; then
            mapfile -t packages < <(debian_packages)
            echo "Install with: apt-get install ${packages[*]}"
        else
            echo "Packages that bring them:"
            echo "  Fedora     gcc-c++ binutils-gold zlib-devel zlib-static xxhash-devel openssl-devel sqlite-devel"
            echo "  Arch       gcc binutils zlib xxhash openssl sqlite"
            echo "  openSUSE   gcc-c++ binutils-gold zlib-devel-static xxhash-devel libopenssl-devel sqlite3-devel"
            echo "  Alpine     not supported: its C library is musl, and this needs glibc"
            echo "Not every distribution packages all static archives (libz.a, libxxhash.a, libssl.a, libcrypto.a,"
            echo "libsqlite3.a). Where one is missing still, build that library from its source and install it below /usr/local."
        fi
    } >&2
}

# Not every release and relative of Debian has the package.
is_isal_packaged() { apt-cache show libisal-dev >/dev/null 2>&1; }

install_debian() {
    local as_root=() packages
    if ((EUID != 0)); then
        if ! command -v sudo >/dev/null; then
            explain
            echo "Not root, and there is no sudo: run this as root once." >&2
            exit 1
        fi
        as_root=(sudo)
    fi
    "${as_root[@]}" apt-get update
    mapfile -t packages < <(debian_packages)
    if is_isal_missing && is_isal_packaged; then packages+=(libisal-dev); fi
    if is_qrencode_missing; then packages+=(libqrencode-dev); fi
    echo "Installing: ${packages[*]}" >&2
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${packages[@]}"
}

# Installs ISA-L when it is all that is missing: as root, without asking anybody for a password.
install_isal() {
    ((EUID == 0)) || return 1
    is_isal_packaged || apt-get update >&2 || return 1
    is_isal_packaged || return 1
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends libisal-dev >&2
}

warn_of_isal() {
    {
        echo "Not there, and not needed: ISA-L 2.30 or newer (isa-l/igzip_lib.h and libisal.so.2), for faster compression."
        if is_debian && is_isal_packaged; then echo "Install with: apt-get install libisal-dev"; fi
    } >&2
}

check_only=false
case ${1:-} in
    "") ;;
    --check) check_only=true ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        usage >&2
        exit 2
        ;;
esac

swift_found=true
swift=$(scripts/swift-path.sh) || swift_found=false

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Nothing is installed for a build that cannot be: Swift comes first.
if ! $swift_found && ! $check_only; then exit 1; fi

find_compiler
find_missing
if ((${#missing[@]} > 0)) && ! $check_only && is_debian; then
    install_debian
    find_missing
fi
if ((${#missing[@]} > 0)); then explain; fi
if ! $swift_found || ((${#missing[@]} > 0)); then exit 1; fi
if is_isal_missing; then
    if $check_only || ! is_debian || ! install_isal; then warn_of_isal; fi
fi
if is_qrencode_missing; then
    echo "Not there, and not needed: libqrencode (qrencode.h and libqrencode.so.4), for pairing links as QR codes." >&2
fi
if $check_only; then echo "Nothing is missing."; fi
