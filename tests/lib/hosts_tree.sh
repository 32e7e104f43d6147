# shellcheck shell=sh disable=SC2015,SC2046,SC2154
# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# A scene of tests/hosts, which sources it: a tree of collectors over four hosts.

# Prints the experiment: desk1 reaches the workstation through lift and gate. $1 is the command of its program, $2 of the
# one here.
tree() {
    cat <<END
experiment: tree
grace: 500 ms
silence: 30 s
nodes:
  here: {}
  gate: {address: "tcp://gate:7767", parents: [upper, root]}
  lift: {address: "tcp://lift:7767", parents: [upper, root]}
  desk1: {address: "tcp://desk1:7767", parents: [lower, upper]}
collectors:
  upper: {node: gate}
  lower: {node: lift, parents: [upper, root]}
sensing: {ring: {records: 262144}} # for as long as desk1 has no way
processes:
  - {name: near, node: here, command: $2}
  - {name: far, node: desk1, command: $1}
store: {keys: $keys}
END
}

# Starts the daemons of host $1, which is node $2, with clocks that drift by $3 ppm to and fro.
start_drifting() {
    set_drift "$1" monotonic "$3" 15
    start_launcher "$1" $drifting
    start_bezeld "$1" "$2" $drifting
}
drifting="env LD_PRELOAD=/usr/local/bin/libfaults_clock.so FAULTS_MONOTONIC=/etc/monotonic"

# Begins to follow the run, from its beginning: by a command, and by a program that knows docs/WIRE.md alone.
follow() {
    await test -S "$dir/serve"
    "$bezel" tail -f -n all --all --format jsonl --runs "$dir/runs" latest >"$dir/tail.jsonl" 2>"$dir/tail.err" &
    tail=$!
    $python "$top/examples/watch/watch.py" "ipc://$dir/serve" "" "$keys" >"$dir/watch.jsonl" 2>"$dir/watch.err" &
    watch=$!
    pids="$pids $tail $watch"
}

# Both end with the run, and agree with what is exported.
agree() {
    for reader in "$tail tail" "$watch watch"; do
        wait "${reader% *}" || fail "${reader#* }: exit code $?: $(cat "$dir/${reader#* }.err")"
        forget "${reader% *}"
        ! grep -v BEZEL-TAIL-LATE "$dir/${reader#* }.err" || fail "${reader#* } complains"
    done
    "$build_dir/bezel" export --all --merge --format jsonl "$dir/runs/latest" >"$dir/export.jsonl" || fail "no export"
    python3 "$top/tests/lib/same_records.py" "$dir/export.jsonl" "$dir/tail.jsonl" "$dir/watch.jsonl" || fail "they differ"
}

# Ends the run: all is stored once, and nothing is left on any host.
finish_tree() {
    kill -INT "$run"
    end_run 0
    reports '.books.balanced'
    reports '[.books.processes[] | select(.role == "sut") | .stored > 0, .rest == 0, .stored == .produced] | length == 6 and all'
    verifies
    for host in 2 3 4; do
        await is_idle $host ticker
        ! $(on $host) pgrep -x bezel-collector || fail "a collector is left on host $host"
    done
}

# Takes the way from host $1 to host $2, or gives it back.
hosts_block() { for at in 192.0.2.$2/32 2001:db8::$2/128; do hosts_ip "$1" route add blackhole "$at"; done; }
hosts_unblock() { for at in 192.0.2.$2/32 2001:db8::$2/128; do hosts_ip "$1" route del blackhole "$at"; done; }

# `bezel` with the arguments behind $1 prints a line that matches $1.
prints() {
    line=$1
    shift
    "$bezel" "$@" >"$dir/printed" 2>&1 && grep -q -e "$line" "$dir/printed"
}

# Lift is reached from gate alone, and desk1 from lift alone: commands pass through the proxies of upper and lower.
commands_go_where_data_go() {
    begin commands_go_where_data_go
    for way in "1 3" "3 1" "1 4" "4 1" "2 4" "4 2"; do hosts_block $way; done
    sed 's/\[upper, root\]/[upper]/; s/\[lower, upper\]/[lower]/' "$dir/tree.yaml" >"$dir/deep.yaml"
    start_run 0 "$dir/deep.yaml"
    await has_both
    await prints "^desk1 *active .* 1 of 1 *every" status --runs "$dir/runs"
    await prints "^gate .* directly" status --runs "$dir/runs" # upper, on the same host, reads its window
    await prints "^desk1 .* by the link" status --runs "$dir/runs"
    await prints "^desk1: polling every 3 ms" poll --runs "$dir/runs" --node desk1 --period "3 ms"
    await prints "^desk1 *active .* 1 of 1 *every 3" status "$dir/deep.yaml" # without the run's directory
    await prints . pause "$dir/deep.yaml" --node desk1
    await prints . resume --runs "$dir/runs" --node desk1
    await_more far
    $(on 2) pkill -KILL -x bezel-collector
    await grep -q "inner collector upper on node gate (pid [0-9]*) was killed by signal 9.*, and is started again" "$err"
    await_more far
    await prints "^desk1: polling every 4 ms" poll --runs "$dir/runs" --node desk1 --period "4 ms"
    await prints "the run is being stopped" stop "$dir/deep.yaml"
    end_run 0
    reports '.books.balanced and .books.sut.rest == 0 and .books.sut.stored > 0'
    verifies
    for way in "1 3" "3 1" "1 4" "4 1" "2 4" "4 2"; do hosts_unblock $way; done
}

four_hosts() {
    begin four_hosts
    hosts_make 4 || skip "$hosts_why"
    trap 'finish; hosts_end' EXIT
    python=$(for python in python3 /usr/bin/python3; do $python -c "import zmq" 2>/dev/null && echo $python && break; done) ||
        skip "python3-zmq is not installed"
    hosts_install "$build_dir" / ticker pinger libfaults_clock.so || fail "$hosts_why"
    hosts_call workstation gate lift desk1
    boot_workstation 0
    make_operator
    "$build_dir/bezel" keygen --force --dir "$keys" --node '*' collector >"$out"
    "$build_dir/bezel" keygen --dir "$keys" --role read reader >"$out"
    "$build_dir/bezel" keygen --dir "$keys" here >"$out"
    boot_node 2 gate 86400
    boot_node 3 lift $((10 * year))
    boot_node 4 desk1 $((100 * year))
    for host in 2 3; do cp "$keys"/*.pub "$keys/collector.key" "$(hosts_files $host)/etc/bezel"; done
    start_drifting 2 gate 100
    start_drifting 3 lift -200
    start_drifting 4 desk1 300

    begin a_conversation_through_three_levels_is_in_order
    hosts_delay 4 5 0 0 # ms each way
    tree "[pinger, any, '7700']" "[pinger, desk1, '7700', '40', '20000']" >"$dir/talk.yaml"
    start_run 0 "$dir/talk.yaml"
    await has_both
    await has_talked
    finish_tree
    is_in_order '.error_ns > 5000000, .error_ns < 100000000'
    hosts_repair 4

    begin inner_collectors_die_stop_and_lose_their_line
    tree "[ticker, '0', '1000']" "[ticker, '0', '1000']" >"$dir/tree.yaml"
    sed "s#^store: {#&serve: \"ipc://$dir/serve\", #" "$dir/tree.yaml" >"$dir/served.yaml"
    start_run 0 "$dir/served.yaml"
    follow
    await has_both
    $(on 3) pkill -KILL -x bezel-collector
    await grep -q "inner collector lower on node lift (pid [0-9]*) was killed by signal 9.*, and is started again" "$err"
    await_more far
    $(on 2) pkill -STOP -x bezel-collector # for longer than all time-outs: lower goes to the root
    await grep -q "BEZEL-RUN-UNRESPONSIVE: inner collector upper on node gate has not answered" "$err"
    await_more far
    $(on 2) pkill -CONT -x bezel-collector
    await_more far
    hosts_cut 3 # desk1 goes to upper
    await_more far
    await grep -q "BEZEL-RUN-UNRESPONSIVE: inner collector lower on node lift has not answered" "$err"
    hosts_mend 3
    await_more far
    await_more near
    finish_tree
    agree

    commands_go_where_data_go

    begin another_workstation_takes_the_run_over
    sed '/here/d' "$dir/tree.yaml" >"$dir/far.yaml"
    start_run 0 "$dir/far.yaml"
    await has_stored far
    hosts_power_off 1
    wait "$run" || true
    forget "$run"
    hosts_count=5
    hosts_boot 5 other 0 "$dir" || fail "$hosts_why"
    printf '#!/bin/sh\nexec %s bezel "$@"\n' "$(on 5)" >"$bezel"
    "$bezel" attach --quiet --json "$dir/runs/latest" >"$out" 2>"$err" </dev/null &
    run=$!
    pids="$pids $run"
    # Those that run are replaced by others, which know the new root.
    for host in 2 3; do await $(on $host) pgrep -f "^bezel-collector .*--parent tcp://192.0.2.5:"; done
    await_more far
    kill -INT "$run"
    end_run 0
    reports '.books.balanced and .books.sut.stored == .books.sut.produced'
    verifies
}
