#!/usr/bin/env bash
# Makes a Debian package of a built binary. The same files give the same package, byte for byte. Needs dpkg-deb, and
# dpkg-shlibdeps (dpkg-dev).
#
#   scripts/make-deb.sh BINARY FILE.deb
#
# DEB_COMPRESSION is the compression of the package, by default xz; SOURCE_DATE_EPOCH is the time of all files in it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ $# -ne 2 ]]; then
    echo "usage: scripts/make-deb.sh BINARY FILE.deb" >&2
    exit 2
fi
for tool in dpkg-deb dpkg-shlibdeps; do
    if ! command -v "$tool" >/dev/null; then
        echo "$tool is missing; it is in the packages dpkg and dpkg-dev." >&2
        exit 1
    fi
done
binary=$(realpath "$1")
package=$(realpath -m "$2")
version=$(scripts/version.sh)
if [[ $("$binary" --version) != "transfer $version" ]]; then
    echo "$1 is of another version than $version; build it anew." >&2
    exit 1
fi
SOURCE_DATE_EPOCH=$(scripts/version.sh --epoch)
export SOURCE_DATE_EPOCH LC_ALL=C
umask 022
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
root=$scratch/root
architecture=$(dpkg --print-architecture)

# Prints the packages with the shared libraries that the binary uses, each with the oldest version that is new enough.
dependencies() {
    mkdir -p "$scratch/source/debian"
    printf 'Source: transfer\n\nPackage: transfer\nArchitecture: any\n' >"$scratch/source/debian/control"
    # A library that belongs to no package has no version that the dependency could state.
    (cd "$scratch/source" && dpkg-shlibdeps -O --ignore-missing-info "$root/usr/bin/transfer" 2>/dev/null) |
        sed -n 's/^shlibs:Depends=//p'
}

# Prints the packages of the optional libraries that the program opens at run time.
recommendations() {
    local libraries="libqrencode4, libxxhash0"
    if [[ $architecture == amd64 ]]; then libraries+=", libisal2, libipsec-mb1"; fi
    echo "$libraries"
}

# Debian keeps the zsh completions of packages in another directory than zsh does.
make --no-print-directory -s install install-service DESTDIR="$root" PREFIX=/usr binary="$binary" \
    zsh="$root/usr/share/zsh/vendor-completions"
if [[ -z ${DEB_KEEP_SYMBOLS-} ]]; then strip --strip-unneeded "$root/usr/bin/transfer"; fi
gzip -9n "$root"/usr/share/man/man1/*.1
install -D -m 0644 packaging/deb/copyright "$root/usr/share/doc/transfer/copyright"
install -D -m 0644 -t "$root/usr/share/doc/transfer/examples" packaging/monitoring/alerts.yml packaging/monitoring/dashboard.json
gzip -9nc CHANGELOG.md >"$root/usr/share/doc/transfer/changelog.gz"

install -d "$root/DEBIAN"
install -m 0755 packaging/deb/postinst packaging/deb/prerm packaging/deb/postrm "$root/DEBIAN"
echo /etc/transfer/config.toml >"$root/DEBIAN/conffiles"
needed=$(dependencies)
if [[ -z $needed ]]; then
    echo "dpkg-shlibdeps cannot say what $1 depends on." >&2
    exit 1
fi
size=$(find "$root" -path "$root/DEBIAN" -prune -o -type f -printf '%s\n' |
    awk '{ sum += int(($1 + 1023) / 1024) } END { print sum }')
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SIZE@/$size/" \
    -e "s/@DEPENDS@/$needed/" -e "s/@RECOMMENDS@/$(recommendations)/" packaging/deb/control.in >"$root/DEBIAN/control"
(cd "$root" && find usr etc -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
find "$root" -depth -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
mkdir -p "$(dirname "$package")"
dpkg-deb --root-owner-group -Z"${DEB_COMPRESSION:-xz}" --build "$root" "$package" >/dev/null
echo "$2: transfer $version for $architecture"
