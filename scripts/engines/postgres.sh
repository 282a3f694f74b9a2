#!/usr/bin/env bash
# Part of scripts/engines.sh, which reads it; not to be run.
# shellcheck disable=SC2154

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
    echo "ENGINES_POSTGRES=$(postgres_url "$database" "$password" "$database" "${hosts[@]}")"
    echo "ENGINES_POSTGRES_ADMIN=$(postgres_url postgres "$(setting postgres ADMIN_PASSWORD)" "$database" "${hosts[@]}")"
    echo "ENGINES_POSTGRES_SOCKET=$(setting postgres PLACE)"
    echo "ENGINES_POSTGRES_PID=$(process_id postgres server)"
    if [[ $(setting postgres STANDBY) ]]; then
        hosts+=("$(postgres_host STANDBY)")
        echo "ENGINES_POSTGRES_STANDBY=$(postgres_url "$database" "$password" "$database" "${hosts[1]}")"
        echo "ENGINES_POSTGRES_STANDBY_PID=$(process_id postgres standby)"
    elif [[ $(setting postgres FORMER) ]]; then
        hosts=("127.0.0.1:$(setting postgres "PORT_$(setting postgres FORMER)")" "${hosts[@]}")
    fi
    # All servers that a program has to know, so that it finds the one that takes changes after a promotion.
    echo "ENGINES_POSTGRES_ALL=$(postgres_url "$database" "$password" "$database" "${hosts[@]}")?target_session_attrs=read-write"
}
