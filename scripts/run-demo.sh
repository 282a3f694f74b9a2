#!/usr/bin/env bash
# Starts a server on a free port of this machine, pushes a picture, a text and a small directory to it, and compares
# every stored file with its source. Then a program that speaks an older wire format sends the picture, if Python is
# installed to run it. At the end alice sends the picture to bob, who is away, and bob fetches it. The demo can be
# repeated: the second time the server has everything already.
#
# TRANSFER and STORAGE name another binary and another directory to store in.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

transfer=${TRANSFER:-.build/release/transfer}
storage=${STORAGE:-storage}
picture=$PWD/docs/images/demo.png
text="Hello from Transfer! 你好 👋"

# Tenths of a second to wait for the server to start, and to stop.
readonly patience=100

fail() {
    printf 'run-demo: %s\n' "$*" >&2
    exit 1
}

work=$(mktemp -d)
# The demo neither reads nor changes the user's own key and list of known servers. Server and client belong to one user,
# so they know each other.
export XDG_CONFIG_HOME=$work/config
log=$work/server.log
server=

is_alive() { kill -0 "$server" 2>/dev/null; }

clean_up() {
    local status=$?
    if [[ -n $server ]]; then
        kill -KILL "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    if ((status != 0)) && [[ -s $log ]]; then
        printf 'run-demo: the last lines of the server log:\n' >&2
        tail -n 20 "$log" >&2
    fi
    rm -rf "$work"
    exit "$status"
}
trap clean_up EXIT

# Prints a command as a user could type it.
show() {
    local word
    printf '$ transfer'
    for word in "$@"; do
        [[ $word =~ [^A-Za-z0-9_./:=-] ]] && word=${word@Q}
        printf ' %s' "$word"
    done
    printf '\n'
}

make_sources() {
    mkdir -p "$work/sources/holiday/day one/海边"
    cd "$work/sources"
    cp "$picture" demo.png
    printf '%s' "$text" >hello.txt
    printf 'Bring water, a hat and the map.\n' >holiday/notes.txt
    printf 'A name with spaces.\n' >"holiday/day one/packing list.txt"
    printf '照片和文字。\n' >"holiday/day one/海边/说明.txt"
    printf 'A name with an emoji.\n' >"holiday/🌅 sunrise.txt"
    seq 1 200000 >holiday/numbers.txt
    : >holiday/empty
}

# Sets `address` to the address in the server's log.
start_server() {
    local port tenths
    mkdir -p "$storage"
    storage=$(realpath "$storage")
    show serve --dir "$storage" --listen 127.0.0.1:0 --classic sized=127.0.0.1:0,folder=phone
    : >"$log"
    "$transfer" serve --dir "$storage" --listen 127.0.0.1:0 --classic sized=127.0.0.1:0,folder=phone >>"$log" 2>&1 &
    server=$!
    for ((tenths = 0; tenths < patience; tenths++)); do
        port=$(sed -n 's/.*listening on 127\.0\.0\.1:\([0-9][0-9]*\)$/\1/p' "$log" | head -n 1)
        phones=$(sed -n 's/.*listening on 127\.0\.0\.1:\([0-9][0-9]*\) for clients.*/\1/p' "$log" | head -n 1)
        if [[ -n $port && -n $phones ]]; then
            address=127.0.0.1:$port
            printf 'The server listens on %s.\n' "$address"
            return
        fi
        if ! is_alive; then
            local status=0
            wait "$server" || status=$?
            server=
            fail "the server ended before it listened, with status $status"
        fi
        sleep 0.1
    done
    fail "the server did not say within $((patience / 10)) seconds where it listens"
}

push() {
    echo
    show push "$@" --to "$address"
    "$transfer" push "$@" --to "$address" || fail "the push failed with status $?"
}

# Prints the value of a text field in one line of JSON. Fails if the line has no such field.
json_text() {
    local pattern="\"$1\" ?: ?\"((\\\\.|[^\"\\\\])*)\""
    [[ $2 =~ $pattern ]] || return 1
    printf '%s' "${BASH_REMATCH[1]//\\\//\/}"
}

# Pushes once more, as JSON, and compares the stored files with their sources. The server has everything already and
# reports the paths. Arguments: the expected number of uploads, the source file (if empty, the one that the line names),
# then the push's arguments.
compare() {
    local expected=$1 named_source=$2 lines line result source stored
    shift 2
    lines=$("$transfer" push "$@" --json --to "$address") || fail "the second push failed with status $?"
    local count=0
    while IFS= read -r line; do
        result=$(json_text result "$line") || fail "no result in: $line"
        stored=$(json_text storedPath "$line") || fail "no storedPath in: $line"
        source=${named_source:-$(json_text source "$line")} || fail "no source in: $line"
        [[ $result == alreadyStored ]] || fail "$source: expected alreadyStored, got $result"
        cmp -- "$source" "$storage/$stored" || fail "$source and $stored differ"
        printf '  identical  %s\n' "$stored"
        count=$((count + 1))
    done <<<"$lines"
    ((count == expected)) || fail "$expected uploads were expected, $count were acknowledged"
}

# Sends the picture like an old program: the bytes of the old wire format, and the answer (docs/reference/dialects.md).
push_from_an_old_program() {
    local stored
    printf '\nAn old program, which speaks the wire "sized", sends demo.png:\n'
    python3 - "$phones" demo.png <<'PYTHON' || fail "the old program was not answered with 'stored'"
import socket, struct, sys

content, picture = open(sys.argv[2], "rb").read(), 3
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=30) as server:
    server.sendall(struct.pack("<ii", 8 + len(content), picture) + content)
    answer = server.makefile("rb").read(12)
print(f"  sent       {len(content)} bytes\n  answered   {answer.hex(' ', 4)}")
sys.exit(answer != struct.pack("<iii", 12, picture, 1))
PYTHON
    stored=$(find "$storage/phone" -name 'picture-*.png' -newer demo.png | sort | tail -n 1)
    cmp -- demo.png "$stored" || fail "demo.png and $stored differ"
    printf '  identical  %s\n' "${stored#"$storage"/}"
}

# Runs a command as a user with a separate key. Arguments: the user, then the command's arguments.
as() {
    local who=$1
    shift
    XDG_CONFIG_HOME=$work/$who "$transfer" "$@"
}

# Alice sends the picture to bob, who is away. Bob returns, fetches the picture and signs a receipt; alice sees that he
# has it.
send_to_somebody_who_is_away() {
    local who
    printf '\nalice and bob are let in, each with a key:\n'
    for who in alice bob; do
        mkdir -p "$work/$who/transfer"
        cp "$XDG_CONFIG_HOME/transfer/known_servers" "$work/$who/transfer/"
        as "$who" access add --dir "$storage" "$(as "$who" key | sed "s/^\\(ed25519 [^ ]*\\).*/\\1 $who/")" ||
            fail "$who was not let in"
    done
    printf '\nalice sends demo.png to bob, who is away:\n'
    show push demo.png --for bob
    as alice push demo.png --for bob --to "$address" || fail "nothing was taken for bob: status $?"
    printf '\nbob comes:\n'
    show receive received
    as bob receive received --to "$address" || fail "bob has not received it: status $?"
    cmp -- demo.png received/demo.png || fail "demo.png and what bob has differ"
    printf '  identical  received/demo.png\n\nalice sees that he has it:\n'
    show sent
    as alice sent --to "$address" || fail "alice cannot see what became of it: status $?"
    as alice sent --json --to "$address" | grep -q '"state":"delivered"' || fail "it is not delivered"
}

stop_server() {
    local tenths status=0
    kill -TERM "$server"
    for ((tenths = 0; tenths < patience; tenths++)); do
        if ! is_alive; then break; fi
        sleep 0.1
    done
    if is_alive; then fail "the server did not stop within $((patience / 10)) seconds"; fi
    wait "$server" || status=$?
    server=
    ((status == 0)) || fail "the server stopped with status $status"
}

[[ -x $transfer ]] || fail "$transfer is not there; run 'make build' first"
transfer=$(realpath "$transfer")
start_server
make_sources

push demo.png
push --text "$text" --name hello.txt
push holiday

printf '\nThe same again, compared with what is stored:\n'
compare 1 demo.png demo.png
compare 1 hello.txt --text "$text" --name hello.txt
compare "$(find holiday -type f -printf x | wc -c)" "" holiday

if command -v python3 >/dev/null; then push_from_an_old_program; fi
send_to_somebody_who_is_away

stop_server
printf '\nall identical\n'
