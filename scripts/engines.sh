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

# shellcheck source=scripts/engines/processes.sh
source "$project/scripts/engines/processes.sh"
# shellcheck source=scripts/engines/postgres.sh
source "$project/scripts/engines/postgres.sh"
# shellcheck source=scripts/engines/s3.sh
source "$project/scripts/engines/s3.sh"
# shellcheck source=scripts/engines/ceph.sh
source "$project/scripts/engines/ceph.sh"

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
