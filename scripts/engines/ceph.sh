#!/usr/bin/env bash
# Part of scripts/engines.sh, which reads it; not to be run.
# shellcheck disable=SC2154

# Ceph: a monitor, an OSD with its blocks in a sparse file, and the gateway. It needs no manager. Without authentication
# between them, since all listen to this machine only.

start_ceph() {
    local home=$directory/ceph ports=(MONITOR PORT)
    ((EUID == 0)) || fail "ceph runs only as root"
    if $1; then
        choose_key ceph
        set_setting ceph FSID "$(cat /proc/sys/kernel/random/uuid)"
    fi
    set_ports ceph "${ports[@]}"
    configure_ceph
    if $1; then make_ceph || return; fi
    launch ceph monitor ceph-mon -f -c "$home/ceph.conf" -i a
    launch ceph osd ceph-osd -f -c "$home/ceph.conf" -i 0
    if $1; then await ceph make_ceph_user || return; fi
    launch ceph server radosgw -f -c "$home/ceph.conf" -n client.gateway
    await ceph answers_s3 ceph
}

# Without `ms mon client mode`, the gateway asks the monitor for encryption, for which both would need keys.
# Without `tcp_nodelay`, each answer with a body takes 44 ms (Nagle's algorithm and delayed acknowledgements).
configure_ceph() {
    local home=$directory/ceph
    cat >"$home/ceph.conf" <<END
[global]
fsid = $(setting ceph FSID)
mon host = [v2:127.0.0.1:$(setting ceph MONITOR)/0]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
run dir = $home/run
admin socket = $home/run/\$name.sock
log file = $home/\$name.log
pid file =
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
mon data avail crit = 1
mon data = $home/mon
osd data = $home/osd
osd objectstore = bluestore
bluestore block size = 21474836480
bluestore cache autotune = false
osd memory target = 939524096
[client.gateway]
ms mon client mode = crc
rgw frontends = beast endpoint=127.0.0.1:$(setting ceph PORT) tcp_nodelay=1
END
}

make_ceph() {
    local home=$directory/ceph
    mkdir "$home/run" "$home/mon" "$home/osd"
    {
        monmaptool --create --fsid "$(setting ceph FSID)" --addv a "[v2:127.0.0.1:$(setting ceph MONITOR)]" "$home/monmap"
        ceph-mon -c "$home/ceph.conf" --mkfs -i a --monmap "$home/monmap"
    } >"$home/make.log" 2>&1 || return
    launch ceph monitor ceph-mon -f -c "$home/ceph.conf" -i a
    await ceph ceph_command osd new "$(cat /proc/sys/kernel/random/uuid | tee "$home/osd.uuid")" 0 || return
    ceph-osd -c "$home/ceph.conf" -i 0 --mkfs --osd-uuid "$(<"$home/osd.uuid")" >>"$home/make.log" 2>&1 || return
    end_processes ceph TERM
}

ceph_command() { timeout 30 ceph -c "$directory/ceph/ceph.conf" "$@"; }

make_ceph_user() {
    timeout 60 radosgw-admin -c "$directory/ceph/ceph.conf" -n client.gateway user create --uid=transfer \
        --display-name=transfer --access-key="$(setting ceph KEY)" --secret="$(setting ceph SECRET)"
}
