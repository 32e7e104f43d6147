# shellcheck shell=sh disable=SC2015,SC2046,SC2154
# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# A scene of tests/hosts, which sources it behind hosts_tree.sh: a video conference, from the camera to the screen.

# Whether of the limit, as the database has it now, jq expression $1 holds.
limit_is() {
    "$build_dir/bezel" report --json "$dir/runs/latest" >"$dir/now.json" 2>"$dir/now.err" || true
    [ -s "$dir/now.json" ] && jq -e ".limits[0].nodes | length > 0 and (.[-1] | $1)" "$dir/now.json"
}

details_are_on() {
    "$build_dir/bezel" tail --aspect encode_end "$dir/runs/latest" >"$dir/details.txt" 2>&1 && grep -q " encode_end " "$dir/details.txt"
}

scale_is() {
    "$bezel" knob --json --runs "$dir/runs" >"$dir/knobs.json" 2>"$dir/knobs.err" &&
        jq -e "[.. | objects | select(.name? == \"frame_scale\" or .knob? == \"frame_scale\") | .value] | .[0] | numbers $1" "$dir/knobs.json"
}

# The network gets less room for the pictures, which the manager makes smaller; the inner collector dies meanwhile; and each
# value is what another program computes from the stored records.
conference() {
    begin conference
    for program in server client; do
        [ -x "$build_dir/videoconf-$program" ] || skip "the example is not built"
    done
    command -v python3 >/dev/null || skip "python3 is not installed"
    [ -c /dev/net/tun ] || skip "there is no /dev/net/tun"
    hosts_make 4 || skip "$hosts_why"
    trap 'finish; hosts_end' EXIT
    hosts_install "$build_dir" / videoconf-server videoconf-client libfaults_clock.so || fail "$hosts_why"
    hosts_call workstation studio gate desk
    boot_workstation 0
    make_operator
    "$build_dir/bezel" keygen --force --dir "$keys" --node '*' collector >"$out"
    boot_node 2 studio 86400
    boot_node 3 gate $((10 * year))
    boot_node 4 desk $((100 * year))
    cp "$keys"/*.pub "$keys/collector.key" "$(hosts_files 3)/etc/bezel"
    drifting="$drifting BEZEL_CLOCK=monotonic" # programs too
    start_drifting 2 studio 100
    start_drifting 3 gate -200
    start_drifting 4 desk 300

    # With margins that a busy machine keeps: on the way a picture takes 100 ms, and of full size 100 ms more. On a slow one all
    # of that is slower. Clocks are known better than half of that, as their machines' wall clocks are kept.
    slow=$(scaled 1)
    [ "$slow" -le 2 ] || slow=2 # the manager needs some windows for each step
    sed "s#67\"#&${kept}#; s#{keys: keys}#{keys: $keys}#; s#^duration.*#duration: $((5 * slow)) min#; s#videoconf-server, #&--fps, '$((5 / slow))', #
        s#80 ms#$((200 * slow + 5)) ms#; s#500 ms#$((2 * slow)) s#" "$top/examples/videoconf/videoconf-e2e.yaml" >"$dir/e2e.yaml"
    echo "collector: {${kept#, }}" >>"$dir/e2e.yaml"
    start_run 0 "$dir/e2e.yaml"
    await has_stored client
    await limit_is '.state == "held"'
    hosts_delay 2 $((100 * slow)) 0 0 $((130 / slow))
    await limit_is '.violated_ns > 0'
    await scale_is "< 100" # how far down it goes depends on how many pictures a busy machine makes
    await details_are_on
    $(on 3) pkill -KILL -x bezel-collector
    await grep -q "inner collector relay on node gate (pid [0-9]*) was killed by signal 9.*, and is started again" "$err"
    await_more client
    await limit_is '.state == "held"'
    kill -INT "$run"
    code=0
    wait "$run" || code=$?
    forget "$run"
    # By how long it was in violation, and nobody judged while the collector was away, it held, was violated, or is not known.
    case $code in 0 | 3) ;; 1) reports '.verdict.is == "unknown" and .limits[0].unjudged_ns > 0' ;; *) fail "exit code $code" ;; esac
    hosts_repair 2
    reports '.books.balanced and ([.firings[] | select(.node == "studio" and .undone == false)] | length > 0)'
    reports '[.books.processes[].aspects[] | select(.aspect == "encode_end" and .produced > 0)][0] | .stored > 0'
    reports '[.books.processes[].aspects[] | select(.aspect == "frame_multicast" and .produced > 0)][0] | .reduced > 0 and .stored == 0'
    verifies
    "$build_dir/bezel" export --all --merge --format jsonl "$dir/runs/latest" >"$dir/e2e.jsonl" || fail "no export"
    python3 "$top/tests/lib/interval_oracle.py" "$dir/e2e.jsonl" "$out" $((2 * slow))000000000 || fail "values are not those of the records"
}
