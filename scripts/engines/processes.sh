#!/usr/bin/env bash
# Part of scripts/engines.sh, which reads it; not to be run.
# shellcheck disable=SC2154

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
