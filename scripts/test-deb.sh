#!/usr/bin/env bash
# Tests the Debian package: makes it twice, installs it, starts the server as the user of the package, pushes, requests the
# status, and purges the package. This happens in a temporary copy of this system: an overlay in memory, in a mount
# namespace. If such a copy is impossible, prints the reason and tests nothing.
#
#   scripts/test-deb.sh BINARY
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

skip() {
    echo "The package was not tested: $1."
    exit 0
}

fail() {
    echo "test-deb: $1" >&2
    exit 1
}

# Performs the test inside the copy. The argument is the package.
inside() {
    export LC_ALL=C HOME=/tmp/home PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive
    unset NOTIFY_SOCKET XDG_CONFIG_HOME
    local storage=/var/lib/transfer package=$1 key
    # The home in the copy is that of this system, so the keys of the test are in another directory.
    mkdir -m 0700 $HOME
    install_package "$package"
    [[ $(stat -c '%U:%G %a' $storage) == "transfer:transfer 750" ]] || fail "$storage is not the user's"
    for file in /usr/bin/transfer /usr/share/man/man1/transfer-serve.1.gz /etc/transfer/config.toml \
        /usr/share/bash-completion/completions/transfer /usr/share/zsh/vendor-completions/_transfer \
        /usr/share/fish/vendor_completions.d/transfer.fish /usr/lib/systemd/system/transfer.service \
        /usr/lib/systemd/system/transfer.socket; do
        [[ -s $file ]] || fail "$file is missing"
    done
    (cd / && md5sum --quiet -c /var/lib/dpkg/info/transfer.md5sums) || fail "files are not as they were packed"

    key=$(transfer key)
    runuser -u transfer -- transfer access add --dir $storage --name tester "$key" >/dev/null
    serve
    echo "from the package" >/tmp/note
    transfer push /tmp/note --to "$address" --trust-new || fail "the push failed"
    cmp /tmp/note $storage/note || fail "what is stored is something else"
    [[ $(stat -c %U $storage/note) == transfer ]] || fail "what is stored is not the user's"
    transfer status --dir $storage | grep -q "^stored *1 upload" || fail "the status does not show the upload"
    kill -SEGV "$(cat "/proc/$server/task/$server/children")"
    transfer push /tmp/note --to "$address" --name again >/dev/null || fail "a push after a crash failed"
    transfer status --dir $storage | grep -q "^crashes .*SIGSEGV" || fail "the status does not show the crash"
    rm $storage/again
    stop

    dpkg --purge transfer 2>/tmp/purged
    grep -q "$storage was kept" /tmp/purged || fail "purging does not say that the uploads stay"
    cmp /tmp/note $storage/note || fail "purging has taken an upload"
    [[ ! -e /usr/bin/transfer && ! -e /etc/transfer ]] || fail "purging has left something"

    install_package "$package"
    rm $storage/note
    dpkg --purge transfer
    [[ ! -e $storage ]] || fail "purging has left an empty directory"
}

install_package() {
    dpkg --install "$1" >/tmp/installed 2>&1 || { cat /tmp/installed >&2; fail "it cannot be installed"; }
}

# Starts the server with the command of the systemd unit, but on a free port. Sets `server` and `address`.
serve() {
    local command
    # shellcheck disable=SC2016 # systemd expands this variable.
    command=$(sed -n 's/^ExecStart=\(.*\) \$TRANSFER_FLAGS$/\1/p' /usr/lib/systemd/system/transfer.service)
    : >/tmp/log
    # shellcheck disable=SC2086 # The command has several words.
    (cd $storage && exec setpriv --reuid transfer --regid transfer --init-groups env -u HOME $command \
        --listen 127.0.0.1:0) 2>/tmp/log &
    server=$!
    # Whatever fails from here on, the server does not outlive this script.
    trap 'kill -KILL "$server" 2>/dev/null || true' EXIT
    for _ in {1..600}; do
        address=$(sed -n 's/.* listening on //p' /tmp/log)
        if [[ -n $address ]]; then return; fi
        kill -0 $server 2>/dev/null || break
        sleep 0.1
    done
    cat /tmp/log >&2
    fail "the server does not start"
}

stop() {
    kill $server
    wait $server || fail "the server did not end well"
    trap - EXIT
}

# Makes the copy of this system, and continues inside it.
isolated() {
    local scratch=$1 package=$2
    mount -t tmpfs -o size=2g transfer-test "$scratch"
    mkdir "$scratch/upper" "$scratch/work" "$scratch/system"
    mount -t overlay -o "lowerdir=/,upperdir=$scratch/upper,workdir=$scratch/work" overlay "$scratch/system"
    [[ -e $scratch/system/var/lib/dpkg/status ]] || fail "the copy of this system lacks parts"
    mount --rbind /proc "$scratch/system/proc"
    mount --rbind /dev "$scratch/system/dev"
    mount -t tmpfs tmpfs "$scratch/system/tmp"
    cp "$package" "$scratch/system/tmp/transfer.deb"
    cp scripts/test-deb.sh "$scratch/system/tmp/test-deb.sh"
    exec chroot "$scratch/system" /bin/bash /tmp/test-deb.sh --inside /tmp/transfer.deb
}

case ${1-} in
--inside)
    inside "$2"
    exit 0
    ;;
--isolated)
    isolated "$2" "$3"
    ;;
'' | -*)
    echo "usage: scripts/test-deb.sh BINARY" >&2
    exit 2
    ;;
esac

if [[ $(id -u) -ne 0 ]]; then skip "only root can install packages"; fi
for tool in dpkg dpkg-deb dpkg-shlibdeps unshare chroot setpriv runuser; do
    command -v "$tool" >/dev/null || skip "$tool is missing"
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/system" "$scratch/a" "$scratch/b"
# shellcheck disable=SC2016 # The other shell expands these variables.
unshare --mount bash -c 'cd "$1" && mount -t tmpfs t system && mkdir system/{u,w,m} &&
    mount -t overlay -o lowerdir=/,upperdir=system/u,workdir=system/w o system/m &&
    [[ -e system/m/var/lib/dpkg/status ]]' probe "$scratch" 2>/dev/null || skip "no overlay of this system can be mounted"

configuration=${XDG_CONFIG_HOME:-$HOME/.config}
kept() { ls -lAR --full-time "$configuration/transfer" 2>/dev/null || true; }
before=$(kept)
for copy in a b; do scripts/make-deb.sh "$1" "$scratch/$copy/transfer.deb" >/dev/null; done
cmp "$scratch/a/transfer.deb" "$scratch/b/transfer.deb" || fail "two packages of one binary differ"
dpkg-deb --field "$scratch/a/transfer.deb" Depends | grep -q "libc6 (>= " || fail "it depends on no C library"
unshare --mount --propagation private bash scripts/test-deb.sh --isolated "$scratch/system" "$scratch/a/transfer.deb"
[[ $(kept) == "$before" ]] || fail "the test has left something in $configuration/transfer"
echo "The package was installed, used and purged."
