# shellcheck shell=sh disable=SC2034,SC2154 # what it gives is used by those that source it
# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# Servers of NATS, for scripts that source it after run.sh. With words in $nats_on, such as those of `on 1`, they run there.
nats_on=

# Why there is no server, or no bezel-engine in build folder $1 for it; true: nothing is missing.
nats_is_missing() {
    command -v nats-server >/dev/null || { echo "nats-server is not installed"; return 1; }
    [ -x "$1/bezel-engine" ] || { echo "this build is without libnats or librdkafka"; return 1; }
}

# Starts server $1 of files in $dir/$1; its process is in $dir/$1.pid.
start_server() {
    $nats_on nats-server -c "$dir/$1.conf" -P "$dir/$1.pid" >>"$dir/$1.log" 2>&1 &
    pids="$pids $!"
}

kill_server() {
    pid=$(cat "$dir/$1.pid")
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null || true
    forget "$pid"
}

is_open() {
    $nats_on python3 -c 'import socket, sys
socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1)' "$1"
}

# Whether run directory $2 holds the run of $1: the same files, and the same rows.
is_same() {
    for part in trace experiment.yaml; do diff -rq "$1/$part" "$2/$part" >&2 || return 1; done
    for run in "$1" "$2"; do sqlite3 "$run/run.db" .dump | sort >"$dir/rows.$(basename "$run")"; done
    diff "$dir/rows.$(basename "$1")" "$dir/rows.$(basename "$2")" >&2
}

# Makes a cluster of three servers, s1 to s3: their ports are $1 to $3, $4 to $6 those between them. Its URL is $url then.
make_cluster() {
    for i in 1 2 3; do
        eval "port=\$$i route=\$$((i + 3))"
        cat >"$dir/s$i.conf" <<END
server_name: s$i
host: 127.0.0.1
port: $port
jetstream { store_dir: $dir/s$i }
cluster { name: c, host: 127.0.0.1, port: $route, routes: [nats://127.0.0.1:$4, nats://127.0.0.1:$5, nats://127.0.0.1:$6] }
END
        start_server "s$i"
    done
    url=nats://127.0.0.1:$1,nats://127.0.0.1:$2,nats://127.0.0.1:$3
    await grep -q 'Self is new JetStream cluster metadata leader' "$dir/s1.log" "$dir/s2.log" "$dir/s3.log"
}

# Makes the last run again, from the engine at $url, in folder $1, and compares.
wants_again() {
    last=$dir/runs/$(readlink "$dir/runs/latest")
    "$bezel" export "$url/$(basename "$last")" "$dir/$1" >"$out" 2>"$err" || fail "the run is not exported"
    [ ! -s "$err" ] || fail "the engine has not all of it"
    is_same "$last" "$dir/$1" || fail "what the engine has is not the run"
    "$bezel" verify "$dir/$1" >"$out" || fail "what the engine has is not verified"
    "$bezel" report --json "$dir/$1" | sed "s|$dir/$1\b|RUN|" >"$dir/$1.json" || true
    "$bezel" report --json "$last" | sed "s|$last\b|RUN|" >"$dir/last.json" || true
    diff "$dir/$1.json" "$dir/last.json" >&2 || fail "the reports differ"
}
