#!/usr/bin/env bash
# Starts and stops the engines of a cluster for development and tests: PostgreSQL, and servers that speak S3. Uses neither
# docker nor systemd. All that an engine writes is in one directory, its ports are free ones, and every process listens to
# this machine only. `usage` below has the commands.
set -euo pipefail
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly project

usage() {
    cat <<'END'
usage: scripts/engines.sh start [ENGINE...] [--standby]
       scripts/engines.sh stop [ENGINE...] [--keep]
       scripts/engines.sh status [ENGINE...] [--env]
       scripts/engines.sh promote
       scripts/engines.sh available

  start      starts engines, waits until they answer, and makes a database or a bucket. Without names: postgres and
             seaweedfs. An engine that runs already stays as it is; one that was killed starts again with its data.
  stop       ends engines, by default all, and removes their data. --keep keeps the data and the ports.
  status     prints engines with their addresses; exits with 1 if one of them does not run.
  promote    kills PostgreSQL, as the loss of its machine would, and makes the standby the new server.
  available  prints the engines whose programs are installed (scripts/bootstrap.sh --engines [--ceph]).

  --standby  starts a synchronous standby of PostgreSQL as well.
  --env      prints what programs need, a KEY=VALUE on each line, for engines that run.

Engines: postgres, seaweedfs (syncs before it answers), rclone (verifies little), moto (verifies nothing, keeps
everything in memory), ceph (only as root).

ENGINES_DIR   directory with the state of the engines, .build/engines by default. Each directory has separate engines.
ENGINES_VENV  virtual environment with the programs in Python packages, .build/engines-venv by default.
END
}

readonly all_engines=(postgres seaweedfs rclone moto ceph)
directory=$(realpath -m "${ENGINES_DIR:-$project/.build/engines}")
venv=$(realpath -m -s "${ENGINES_VENV:-$project/.build/engines-venv}")
readonly directory venv

# Seconds in which an engine has to answer after its start. Ceph takes 16 s on two idle cores, and a machine may be busy.
readonly patience=300
# Seconds in which a process has to end by itself, before it is killed.
readonly grace=20
# Name of the bucket, of the database, and of the role that owns the database.
readonly bucket=transfer database=transfer

# Programs of PostgreSQL would take their options from these variables.
# shellcheck disable=SC2086
unset ${!PG*}

fail() {
    echo "engines.sh: $*" >&2
    exit 1
}

# Waits for other runs of this script on this directory. The lock is on the directory itself, which the last `stop`
# removes; then this run makes it again.
lock() {
    while true; do
        mkdir -p "$directory"
        exec 9<"$directory"
        flock 9
        if [[ /proc/self/fd/9 -ef $directory ]]; then return 0; fi
    done
}

# Processes. `ENGINE/processes` has a line for each: its name, its number, and its start time in ticks since the boot, so
# that another process which got the same number later is not taken for it.

# Prints the start time of a process that has not ended (field 22 of proc(5)).
start_time() {
    local line
    { line=$(<"/proc/$1/stat"); } 2>/dev/null || return 1
    # shellcheck disable=SC2086
    set -- ${line##*) }
    [[ $1 != [ZX] ]] && echo "${20}"
}

is_alive() { [[ $2 && $(start_time "$1") == "$2" ]]; }

# Starts a process of an engine, in the engine's folder and in a new session. `as` has the words before the
# command that change the user.
as=()
launch() {
    local engine=$1 name=$2 pid
    local home=$directory/$engine folder=$directory/$engine
    shift 2
    # Another user may be unable to reach the engine's folder.
    if ((${#as[@]} > 0)); then folder=/; fi
    (cd "$folder" && exec setsid "${as[@]}" "$@") </dev/null >>"$home/$name.log" 2>&1 9<&- &
    pid=$!
    disown "$pid"
    echo "$name $pid $(start_time "$pid")" >>"$home/processes"
}

processes() { cat "$directory/$1/processes" 2>/dev/null || true; }

process_id() { processes "$1" | sed -n "s/^$2 \([0-9]*\) .*/\1/p"; }

# Prints `running`, `stopped`, or `crashed` if a process has ended by itself.
state() {
    local name pid started result=stopped
    while read -r name pid started; do
        if ! is_alive "$pid" "$started"; then echo crashed && return; fi
        result=running
    done < <(processes "$1")
    echo "$result"
}

# Waits up to so many seconds for the end of a process.
await_end() {
    local tries=$(($1 * 20))
    while is_alive "$2" "$3"; do
        if ((tries-- == 0)); then return 1; fi
        sleep 0.05
    done
}

# Ends a process. The signal asks it to end; kills it if it does not.
end_process() {
    local signal=$1 pid=$2 started=$3
    if ! is_alive "$pid" "$started"; then return 0; fi
    kill -s "$signal" "$pid" 2>/dev/null || true
    # A process that was stopped receives the signal only when it continues.
    kill -s CONT "$pid" 2>/dev/null || true
    if await_end "$grace" "$pid" "$started"; then return 0; fi
    kill -s KILL "$pid" 2>/dev/null || true
    await_end "$grace" "$pid" "$started" || fail "process $pid does not end"
}

# Ends the processes of an engine, the last one first.
end_processes() {
    local name pid started
    while read -r name pid started; do end_process "$2" "$pid" "$started"; done < <(processes "$1" | tac)
    rm -f "$directory/$1/processes"
}

# Settings: `ENGINE/settings` has a KEY=VALUE on each line. They are chosen at the first start and kept.

setting() { sed -n "s/^$2=//p" "$directory/$1/settings" 2>/dev/null | tail -n 1; }

set_setting() { echo "$2=$3" >>"$directory/$1/settings"; }

random_word() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

# Prints a port that no socket uses, below those that Linux gives to clients (ip(7)).
free_port() {
    local port tables=(/proc/net/tcp)
    if [[ -r /proc/net/tcp6 ]]; then tables+=(/proc/net/tcp6); fi
    while true; do
        port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
        if grep -qsE "=$port\$" "$directory"/*/settings; then continue; fi
        if ! grep -q "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$port") " "${tables[@]}"; then break; fi
    done
    echo "$port"
}

# Sets each of these keys to a free port, unless the engine has one that is free still.
set_ports() {
    local engine=$1 key port
    for key in "${@:2}"; do
        port=$(setting "$engine" "$key")
        if [[ $port ]] && ! grep -q ":$(printf %04X "$port") [0-9A-F:]* 0A" /proc/net/tcp; then continue; fi
        set_setting "$engine" "$key" "$(free_port)"
    done
}

# Runs a command again until it succeeds. Fails if the engine has crashed or the time is over.
await() {
    local engine=$1 deadline=$((SECONDS + patience))
    shift
    until "$@" >"$directory/$engine/readiness.log" 2>&1; do
        if [[ $(state "$engine") != running ]]; then return 1; fi
        if ((SECONDS > deadline)); then return 1; fi
        sleep 0.2
    done
}

# PostgreSQL. `PLACE` has the data of both servers, `data-1` and `data-2`, and their sockets. `SERVER` and `STANDBY` say which
# number is which; a promotion makes the standby the server. What the tools write before the first start is not synced.

postgres_programs() {
    local program
    program=$(compgen -G '/usr/lib/postgresql/*/bin/postgres' | sort -V | tail -n 1)
    if [[ ! $program ]]; then program=$(command -v postgres) || return 1; fi
    dirname "$(readlink -f "$program")"
}

# PostgreSQL refuses to run as root.
become_postgres() {
    if ((EUID == 0)); then as=(setpriv --reuid=postgres --regid=postgres --init-groups --); fi
}

# Decides where the data is: in the directory of the engines, or in /var/tmp if the user `postgres` cannot reach that or if
# the path of the socket would be too long (107 bytes, unix(7)).
choose_place() {
    local place=$directory/postgres/data
    mkdir -m 700 "$place"
    if ((EUID == 0)); then chown postgres:postgres "$place"; fi
    if ((${#place} > 80)) || ! "${as[@]}" test -x "$place" 2>/dev/null; then
        rmdir "$place"
        place=$(mktemp -d /var/tmp/transfer-postgres.XXXXXX)
        if ((EUID == 0)); then chown postgres:postgres "$place"; fi
    fi
    set_setting postgres PLACE "$place"
}

# Prints the address of a database. Words: user, password, database, and host:port of each server.
postgres_url() {
    local user=$1 password=$2 name=$3 IFS=,
    shift 3
    echo "postgres://$user:$password@$*/$name"
}

postgres_host() { echo "127.0.0.1:$(setting postgres "PORT_$(setting postgres "$1")")"; }

# Runs a statement as the superuser on the server or the standby.
sql() {
    local url
    url=$(postgres_url postgres "$(setting postgres ADMIN_PASSWORD)" postgres "$(postgres_host "$1")")
    PGCONNECT_TIMEOUT=5 "$(postgres_programs)/psql" -XAtq -v ON_ERROR_STOP=1 -d "$url" -c "$2"
}

make_database() {
    local data=$1 programs place
    programs=$(postgres_programs)
    place=$(setting postgres PLACE)
    set_setting postgres ADMIN_PASSWORD "$(random_word)"
    set_setting postgres PASSWORD "$(random_word)"
    setting postgres ADMIN_PASSWORD | "${as[@]}" tee "$place/password" >/dev/null
    "${as[@]}" "$programs/initdb" -D "$data" -U postgres -A scram-sha-256 --no-locale -E UTF8 --no-sync \
        --pwfile="$place/password" >"$directory/postgres/initdb.log" 2>&1 || return
    rm "$place/password"
    # With `mmap`, a killed server leaves no segment in /dev/shm.
    "${as[@]}" tee -a "$data/postgresql.conf" >/dev/null <<END
listen_addresses = '127.0.0.1'
unix_socket_directories = '$place'
dynamic_shared_memory_type = mmap
fsync = on
max_connections = 200
max_prepared_transactions = 20
END
}

# Removes what a killed server leaves: processes that still work on its data, a segment of shared memory, the file that names
# both, and the lock of the socket. A postmaster does not start beside them; it takes one that no parent has waited for yet for
# a running one.
clean_after_crash() {
    local data=$1 exe id pid process
    if [[ ! -e $data/postmaster.pid ]]; then return 0; fi
    exe=$(readlink -f "$(postgres_programs)/postgres")
    for process in /proc/[0-9]*; do
        if [[ $(readlink "$process/cwd") == "$data" && $(readlink "$process/exe") == "$exe" ]]; then
            pid=${process#/proc/}
            end_process KILL "$pid" "$(start_time "$pid")"
        fi
    done 2>/dev/null
    pid=$(sed -n 1p "$data/postmaster.pid")
    id=$(sed -n '7s/.* //p' "$data/postmaster.pid")
    if awk -v id="$id" -v pid="$pid" '$2 == id && $5 == pid && $7 == 0 { found = 1 } END { exit !found }' \
        /proc/sysvipc/shm; then
        ipcrm -m "$id" || true
    fi
    rm -f "$data/postmaster.pid" "$(dirname "$data")/.s.PGSQL.$(setting postgres "PORT_${data##*-}")"{,.lock}
}

launch_postgres() {
    local role=$1 name=$2 number data
    number=$(setting postgres "$role")
    data=$(setting postgres PLACE)/data-$number
    set_ports postgres "PORT_$number"
    clean_after_crash "$data"
    launch postgres "$name" "$(postgres_programs)/postgres" -D "$data" -p "$(setting postgres "PORT_$number")"
}

start_postgres() {
    local fresh=$1
    become_postgres
    if $fresh; then
        choose_place || return
        set_setting postgres SERVER 1
        make_database "$(setting postgres PLACE)/data-1" || return
    fi
    launch_postgres SERVER server
    await postgres sql SERVER 'SELECT 1' || return
    if $fresh; then
        sql SERVER "CREATE ROLE $database LOGIN PASSWORD '$(setting postgres PASSWORD)'" || return
        sql SERVER "CREATE DATABASE $database OWNER $database" || return
    fi
    if [[ $(setting postgres STANDBY) ]]; then launch_standby || return; fi
}

launch_standby() {
    launch_postgres STANDBY standby
    await postgres sql STANDBY 'SELECT 1' || return
    await postgres is_synchronous
}

is_synchronous() { [[ $(sql SERVER "SELECT sync_state FROM pg_stat_replication WHERE application_name = 'standby'") == sync ]]; }

# Copies the server for a standby. The server waits for it at each commit from then on.
add_standby() {
    local place programs url number
    if [[ $(setting postgres STANDBY) ]]; then return 0; fi
    become_postgres
    place=$(setting postgres PLACE)
    programs=$(postgres_programs)
    number=$((3 - $(setting postgres SERVER)))
    url=$(postgres_url postgres "$(setting postgres ADMIN_PASSWORD)" postgres "$(postgres_host SERVER)")
    rm -rf "${place:?}/data-$number"
    "${as[@]}" "$programs/pg_basebackup" -d "$url?application_name=standby" -D "$place/data-$number" -X stream -R -c fast --no-sync \
        >"$directory/postgres/basebackup.log" 2>&1 || return
    set_setting postgres STANDBY "$number"
    # The copy starts without this setting, so that it does not wait for itself after a promotion.
    sql SERVER "ALTER SYSTEM SET synchronous_standby_names = 'standby'" || return
    sql SERVER 'SELECT pg_reload_conf()' >/dev/null || return
    launch_standby
}

promote() {
    local name pid started place number
    if [[ ! $(setting postgres STANDBY) || $(state postgres) == stopped ]]; then
        fail "no standby runs; scripts/engines.sh start postgres --standby starts one"
    fi
    become_postgres
    place=$(setting postgres PLACE)
    number=$(setting postgres SERVER)
    while read -r name pid started; do
        if [[ $name == server ]]; then end_process KILL "$pid" "$started"; fi
    done < <(processes postgres)
    clean_after_crash "$place/data-$number"
    sed -i '/^server /d; s/^standby /server /' "$directory/postgres/processes"
    set_setting postgres SERVER "$(setting postgres STANDBY)"
    set_setting postgres STANDBY ""
    set_setting postgres FORMER "$number"
    rm -rf "${place:?}/data-$number"
    await postgres sql SERVER 'SELECT pg_promote()' || fail "the standby was not promoted, see $directory/postgres/server.log"
    await postgres is_writable || fail "the standby was not promoted, see $directory/postgres/server.log"
}

is_writable() { [[ $(sql SERVER 'SELECT pg_is_in_recovery()') == f ]]; }

stop_postgres() {
    local place number keep=$1
    become_postgres
    place=$(setting postgres PLACE)
    # A fast shutdown waits for the standby and not for clients; an immediate one waits for nothing.
    if $keep; then end_processes postgres INT; else end_processes postgres QUIT; fi
    for number in 1 2; do
        if [[ $place ]]; then clean_after_crash "$place/data-$number"; fi
    done
    if ! $keep && [[ $place ]]; then rm -rf "$place"; fi
}

environment_postgres() {
    local password hosts=()
    password=$(setting postgres PASSWORD)
    hosts=("$(postgres_host SERVER)")
    echo "ENGINES_POSTGRES=$(postgres_url $database "$password" $database "${hosts[@]}")"
    echo "ENGINES_POSTGRES_ADMIN=$(postgres_url postgres "$(setting postgres ADMIN_PASSWORD)" $database "${hosts[@]}")"
    echo "ENGINES_POSTGRES_SOCKET=$(setting postgres PLACE)"
    echo "ENGINES_POSTGRES_PID=$(process_id postgres server)"
    if [[ $(setting postgres STANDBY) ]]; then
        hosts+=("$(postgres_host STANDBY)")
        echo "ENGINES_POSTGRES_STANDBY=$(postgres_url $database "$password" $database "${hosts[1]}")"
        echo "ENGINES_POSTGRES_STANDBY_PID=$(process_id postgres standby)"
    elif [[ $(setting postgres FORMER) ]]; then
        hosts=("127.0.0.1:$(setting postgres "PORT_$(setting postgres FORMER)")" "${hosts[@]}")
    fi
    # All servers that a program has to know, so that it finds the one that takes changes after a promotion.
    echo "ENGINES_POSTGRES_ALL=$(postgres_url $database "$password" $database "${hosts[@]}")?target_session_attrs=read-write"
}

# Servers that speak S3.

# Chooses the bucket's key and secret. Words: engine.
choose_key() {
    set_setting "$1" KEY "engines-$(random_word)"
    set_setting "$1" SECRET "$(random_word)"
}

s3_url() { echo "http://127.0.0.1:$(setting "$1" PORT)"; }

# Makes the bucket, puts an object into it, reads it and removes it.
answers_s3() {
    PYTHONPATH=$project/Tests python3 -B -m cluster.ready \
        "$(s3_url "$1")" "$(setting "$1" KEY)" "$(setting "$1" SECRET)" $bucket
}

environment_s3() {
    local engine=$1 prefix=ENGINES_${1^^}
    echo "$prefix=$(s3_url "$engine")"
    echo "${prefix}_KEY=$(setting "$engine" KEY)"
    echo "${prefix}_SECRET=$(setting "$engine" SECRET)"
    echo "${prefix}_BUCKET=$bucket"
    echo "${prefix}_PID=$(process_id "$engine" server)"
}

# Runs the command with a home that programs cannot write their files to.
launch_s3() { launch "$1" server env HOME=/nonexistent TMPDIR="$directory/$1" "${@:2}"; }

start_seaweedfs() {
    local fresh=$1 port ports=(MASTER MASTER_GRPC VOLUME VOLUME_GRPC FILER FILER_GRPC PORT S3_GRPC)
    local home=$directory/seaweedfs
    if $fresh; then
        choose_key seaweedfs
        mkdir "$home/data"
        (umask 077 && cat >"$home/identities.json") <<END
{"identities": [{"name": "transfer", "actions": ["Admin", "Read", "Write", "List"],
  "credentials": [{"accessKey": "$(setting seaweedfs KEY)", "secretKey": "$(setting seaweedfs SECRET)"}]}]}
END
    fi
    set_ports seaweedfs "${ports[@]}"
    for port in "${ports[@]}"; do local "$port=$(setting seaweedfs "$port")"; done
    # shellcheck disable=SC2153
    launch_s3 seaweedfs "$venv/bin/weed" -logtostderr server -dir=data -ip=127.0.0.1 -ip.bind=127.0.0.1 \
        -master.port="$MASTER" -master.port.grpc="$MASTER_GRPC" -master.volumeSizeLimitMB=1024 -master.telemetry=false \
        -volume.port="$VOLUME" -volume.port.grpc="$VOLUME_GRPC" -volume.max=0 -volume.preStopSeconds=0 \
        -filer -filer.port="$FILER" -filer.port.grpc="$FILER_GRPC" -filer.localSocket="$home/filer.sock" \
        -s3 -s3.port="$PORT" -s3.port.grpc="$S3_GRPC" -s3.localSocket="$home/s3.sock" -s3.config=identities.json \
        -s3.port.iceberg=0 -s3.port.lance=0
    await seaweedfs answers_s3 seaweedfs || return
    if $fresh; then await seaweedfs sync_seaweedfs "$MASTER.$MASTER_GRPC" "$FILER.$FILER_GRPC"; fi
}

# Lets SeaweedFS sync objects of the bucket before it answers, which it does not do by itself.
sync_seaweedfs() {
    HOME=/nonexistent timeout 30 "$venv/bin/weed" shell -master="127.0.0.1:$1" -filer="127.0.0.1:$2" \
        <<<"fs.configure -locationPrefix=/buckets/$bucket -fsync -apply" | grep '"fsync": *true'
}

# SeaweedFS makes sockets in /tmp, whatever TMPDIR says, and leaves them when it is killed.
clean_seaweedfs() {
    local part
    for part in MASTER VOLUME FILER S3; do
        rm -f "/tmp/seaweedfs-${part,,}-grpc-$(setting seaweedfs "${part}_GRPC").sock"
    done
}

start_rclone() {
    local home=$directory/rclone
    if $1; then
        choose_key rclone
        mkdir "$home/data"
        touch "$home/rclone.conf"
    fi
    set_ports rclone PORT
    launch_s3 rclone "$venv/bin/rclone" --config "$home/rclone.conf" --cache-dir "$home/cache" \
        serve s3 --addr "127.0.0.1:$(setting rclone PORT)" --auth-key "$(setting rclone KEY),$(setting rclone SECRET)" data
    await rclone answers_s3 rclone
}

start_moto() {
    if $1; then choose_key moto; fi
    set_ports moto PORT
    launch_s3 moto "$venv/bin/python" "$venv/bin/moto_server" -H 127.0.0.1 -p "$(setting moto PORT)"
    await moto answers_s3 moto
}

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

# All engines

is_available() {
    case $1 in
        postgres) postgres_programs >/dev/null && { ((EUID != 0)) || id -u postgres >/dev/null 2>&1; } ;;
        seaweedfs) [[ -x $venv/bin/weed ]] ;;
        rclone) [[ -x $venv/bin/rclone ]] ;;
        moto) [[ -x $venv/bin/moto_server && -x $venv/bin/python ]] ;;
        ceph) ((EUID == 0)) && command -v ceph-mon ceph-osd radosgw ceph >/dev/null ;;
    esac
}

install_command() {
    if [[ $1 == ceph ]]; then echo "scripts/bootstrap.sh --engines --ceph, and runs only as root"; else echo "scripts/bootstrap.sh --engines"; fi
}

# The engine that is being started, and whether its data are kept if that fails.
starting='' starting_keeps=true
clean_failed_start() {
    trap '' INT TERM HUP
    if [[ ! $starting ]]; then return 0; fi
    end "$starting" "$starting_keeps"
    rmdir "$directory" 2>/dev/null || true
}
trap clean_failed_start EXIT
trap 'exit 130' INT TERM HUP

start() {
    local engine=$1 fresh=true try
    if [[ $(state "$engine") == running ]]; then return 0; fi
    is_available "$engine" || fail "$engine is not installed; $(install_command "$engine") installs it"
    if [[ -e $directory/$engine/settings ]]; then fresh=false; fi
    end "$engine" true
    starting_keeps=$($fresh && echo false || echo true)
    starting=$engine
    # Another program may have taken a port between the choice and the start, so a second try chooses other ones.
    for try in 1 2; do
        mkdir -p "$directory/$engine"
        (umask 077 && touch "$directory/$engine/settings")
        as=()
        if "start_$engine" "$fresh"; then
            starting=
            return 0
        fi
        if ((try == 2)) || [[ $(state "$engine") == running ]]; then break; fi
        end "$engine" "$starting_keeps"
    done
    explain "$engine"
    exit 1
}

# Prints the ends of an engine's logs, since a failed start removes them.
explain() {
    local log
    echo "engines.sh: $1 does not start; its logs end with" >&2
    for log in "$directory/$1"/*.log; do
        if [[ -s $log ]]; then
            echo "== $(basename "$log")"
            tail -n 15 "$log"
        fi
    done >&2
}

# Ends an engine, and removes its data unless they are to be kept.
end() {
    local engine=$1 keep=$2
    if [[ ! -e $directory/$engine ]]; then return 0; fi
    as=()
    case $engine in
        postgres) stop_postgres "$keep" ;;
        *) end_processes "$engine" "$($keep && echo TERM || echo KILL)" ;;
    esac
    if [[ $engine == seaweedfs ]]; then clean_seaweedfs; fi
    if ! $keep; then rm -rf "${directory:?}/$engine"; fi
}

status() {
    local engine address state result=0
    for engine in "$@"; do
        state=$(state "$engine")
        if [[ $state != running ]]; then result=1; fi
        if $environment; then
            if [[ $state != running ]]; then continue; fi
            if [[ $engine == postgres ]]; then environment_postgres; else environment_s3 "$engine"; fi
        else
            address=
            if [[ $state == running && $engine == postgres ]]; then address=$(postgres_host SERVER); fi
            if [[ $state == running && $engine != postgres ]]; then address=$(s3_url "$engine"); fi
            if [[ $state == stopped && -e $directory/$engine ]]; then address="its data is kept"; fi
            printf '%-10s %-8s %s\n' "$engine" "$state" "$address"
        fi
    done
    return $result
}

# Sets `named` to the engines that have a folder here.
find_known() {
    local engine
    named=()
    for engine in "${all_engines[@]}"; do
        if [[ -e $directory/$engine ]]; then named+=("$engine"); fi
    done
}

command=
named=()
standby=false keep=false environment=false
for word in "$@"; do
    case $word in
        --standby) standby=true ;;
        --keep) keep=true ;;
        --env) environment=true ;;
        -h | --help)
            usage
            exit 0
            ;;
        *)
            if [[ ! $command ]]; then
                command=$word
            elif [[ " ${all_engines[*]} " == *" $word "* ]]; then
                named+=("$word")
            else
                echo "engines.sh: $word is neither an engine nor an option" >&2
                usage >&2
                exit 2
            fi
            ;;
    esac
done

case $command in
    start)
        if ((${#named[@]} == 0)); then named=(postgres seaweedfs); fi
        lock
        for engine in "${named[@]}"; do start "$engine"; done
        if $standby; then
            if [[ $(state postgres) != running ]]; then fail "--standby needs postgres"; fi
            add_standby || { explain postgres && exit 1; }
        fi
        ;;
    stop)
        if [[ ! -d $directory ]]; then exit 0; fi
        lock
        if ((${#named[@]} == 0)); then find_known; fi
        for engine in "${named[@]}"; do end "$engine" "$keep"; done
        rmdir "$directory" 2>/dev/null || true
        ;;
    status)
        if ((${#named[@]} == 0)); then find_known; fi
        status "${named[@]}"
        ;;
    promote)
        lock
        promote
        ;;
    available)
        for engine in "${all_engines[@]}"; do
            if is_available "$engine"; then echo "$engine"; fi
        done
        ;;
    *)
        usage >&2
        exit 2
        ;;
esac
