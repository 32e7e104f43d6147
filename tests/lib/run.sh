# shellcheck shell=sh disable=SC2034 # what it gives is used by those that source it
# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# For tests of `bezel run`, which source it: $1 is the build directory. Gives $bezel, $ticker, $status and an empty $dir for
# files, with $dir/runs for runs and $BEZEL_DIR for segments; both are gone at the end, and so are the processes that
# the test left.
set -eu
. "${hosts_lib:-$(dirname "$0")/../lib}/patience.sh"
for tool in jq pgrep; do
    command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
bezel=$1/bezel ticker=$1/ticker status=$1/status asker=$1/asker
dir=$(mktemp -d)
BEZEL_DIR=$(mktemp -d /dev/shm/bezel-test-XXXXXX)
export BEZEL_DIR
unset BEZEL_RUNS BEZEL_PROCESS
pids=
quiet=--quiet

finish() {
    for pid in $pids; do kill -KILL "$pid" 2>/dev/null || true; done
    for pid in $(pgrep -f "$BEZEL_DIR"); do kill -KILL "$pid" 2>/dev/null || true; done
    rm -rf "$dir" "$BEZEL_DIR"
}
trap finish EXIT
trap 'exit 141' PIPE # as with `test | head`: a shell that the signal ends would not finish

fail() {
    echo "$scene: $*" >&2
    for file in "$err" "$dir"/runs/latest/log/* "$out"; do
        [ ! -s "$file" ] || { echo "--- $file"; head -c 4000 "$file"; } >&2
    done
    echo "--- of the test's, in shared memory and running" >&2
    find "$BEZEL_DIR" | head -n 30 >&2
    pgrep -af "$BEZEL_DIR" >&2 || true
    exit 1
}

# Begins scene $1: its output goes to $out and $err.
begin() {
    scene=$1 out=$dir/$1.out err=$dir/$1.err
    echo "$scene"
}

# Runs `bezel run` with the arguments, and wants exit code $1.
run() {
    start_run "$@"
    end_run "$1"
}

# The same in two steps, with $run the process in between. The first argument is not looked at, to be like run().
start_run() {
    shift
    latest_before=$(readlink "$dir/runs/latest" || true)
    # shellcheck disable=SC2086 # it may be nothing
    "$bezel" run $quiet --json --runs "$dir/runs" "$@" >"$out" 2>"$err" </dev/null &
    run=$!
    pids="$pids $run"
}

end_run() {
    code=0
    wait "$run" || code=$?
    forget "$run"
    [ "$code" = "$1" ] || fail "exit code $code, not $1"
}

# Process $1 has ended: its number may be another's soon.
forget() {
    left=
    for pid in $pids; do [ "$pid" = "$1" ] || left="$left $pid"; done
    pids=$left
}

# Behind `command && fail "it succeeds" ||`: whether the command failed by itself, and no signal ended it.
ended_itself() {
    ended=$?
    [ $ended -lt 128 ] || fail "signal $((ended - 128)) ended it"
}

# Prints $1 ports at which nobody listens, outside the range from which the system takes ports of clients: none of these
# has one while its server is away.
free_ports() {
    python3 -c 'import random, socket, sys
first = int(open("/proc/sys/net/ipv4/ip_local_port_range").read().split()[0])
def is_free(port):
    try:
        for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
            with socket.socket(socket.AF_INET, kind) as s: s.bind(("", port))
    except OSError: return False
    return True
last = first - 1 if 2048 < first else 32767
print(*[p for p in random.sample(range(1024, last), min(500, last - 1024)) if is_free(p)][:int(sys.argv[1])])' "$1"
}

# Waits until the command holds.
await() {
    holds_within 60 "$@" || fail "after $(scaled 60) s still not: $*"
}

# Whether the run that was started last has a directory: until then, latest is the run before.
has_begun() {
    [ "$(readlink "$dir/runs/latest")" != "$latest_before" ]
}

# Whether the run that was started last has stored records of process $1.
has_stored() {
    has_begun || return 1
    for file in "$dir"/runs/latest/trace/*/"$1"-*; do
        [ ! -s "$file" ] || return 0
    done
    return 1
}

# The bytes of process $1 that the run that was started last has stored.
stored_bytes() {
    cat "$dir"/runs/latest/trace/*/"$1"-* | wc -c
}

has_stored_more() {
    [ "$(stored_bytes "$1")" -gt "$2" ]
}

# Waits until more of process $1 is stored than there is now.
await_more() {
    await has_stored_more "$1" "$(stored_bytes "$1")"
}

# Whether the nodes of that run answer with $2 or more as the sum of their values of $1; $status is the program that asks.
counts() {
    [ "$("$status" "$dir/runs/latest" "$1")" -ge "$2" ]
}

# The child of the run with name $1.
child() {
    pgrep -P "$run" -x "$1"
}

# The process under test of the run whose command line is $1: other tests run the same programs.
sut() {
    pgrep -P "$(child bezel-launcher)" -x -f "$1"
}

# Stops process $1 for $2 s, of a scene whose subject that time is.
stand_still() {
    pids="$pids $1"
    kill -STOP "$1"
    sleep "$2"
    kill -CONT "$1"
    forget "$1"
}

# The bezeld of the run's node with number $1 in the file, from 0.
bezeld_of() {
    pgrep -P "$run" -f "^[^ ]*bezeld --control [^ ]*/[.]b$1/control "
}

# Whether nothing is left of a run: no process, and nothing in the folder of segments.
is_gone() {
    ! pgrep -f "$BEZEL_DIR" >/dev/null && [ -z "$(ls -A "$BEZEL_DIR")" ]
}

says() {
    grep -q -e "$1" "$err" || fail "stderr does not say: $1"
}

# jq 1.6 takes it for true (-e) if there is nothing to read; here it is false, as from 1.7 on.
jq() {
    case " $* " in
    *" -e "*) ;;
    *) command jq "$@" && return || return ;;
    esac
    jq_said=$(command jq "$@") || return
    [ -n "$jq_said" ] || return 4
    printf '%s\n' "$jq_said"
}

# Holds jq expression $1 of the report?
reports() {
    jq -e "$1" "$out" >/dev/null || fail "not so in the report: $1"
}

# The run is complete: every record that was made is stored, or lost with its cause.
verifies() {
    "$bezel" verify "$dir/runs/latest" >"$dir/verify.txt" || fail "$(cat "$dir/verify.txt")"
}

# All that process $1 ticked is stored, once: in the report, and in the trace.
stored_all_of() {
    ticked=$(sed -n 's/^ticked //p' "$dir/runs/latest/output/$1.txt")
    [ "$ticked" -gt 0 ] || fail "$1 did not tick"
    reports "[.books.processes[] | select(.process == \"$1\") | .produced, .stored] == [$ticked, $ticked]"
    reports "[.books.processes[].rest] | all(. == 0)"
    verifies
    command -v babeltrace2 >/dev/null || return 0
    babeltrace2 "$dir/runs/latest/trace" >"$dir/trace.txt" 2>"$dir/babeltrace2.err" || fail "babeltrace2 cannot read it"
    read=$(grep ' tick: ' "$dir/trace.txt" | sed 's/.* number = \([0-9]*\).*/\1/' | sort -n | uniq | wc -l)
    all=$(grep -c ' tick: ' "$dir/trace.txt")
    [ "$read,$all" = "$ticked,$ticked" ] || fail "babeltrace2 reads $all ticks, $read different, of $ticked"
}
