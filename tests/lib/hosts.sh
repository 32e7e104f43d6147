# shellcheck shell=sh disable=SC2034 # what it gives is used by those that source it
# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# Hosts on one switch, for scripts that source it. The switch is a network namespace with a bridge; host N is a network
# namespace with the addresses 192.0.2.N and 2001:db8::N. That suffices where only the network matters: a host shares
# all else with the machine. hosts_boot makes a full host of it, with a disk, processes, a name and clocks of its own.

# Makes hosts 1 to $1. False, with the reason in $hosts_why, where that is not permitted; nothing is left then.
hosts_make() {
    hosts_count=$1 hosts_dir=
    hosts_why=$( (
        set -e
        ip netns add "$(hosts_name 0)"
        hosts_ip 0 link add bridge type bridge
        hosts_ip 0 link set bridge up
        host=1
        while [ "$host" -le "$hosts_count" ]; do
            hosts_add "$host"
            host=$((host + 1))
        done
    ) 2>&1) && return 0
    hosts_end
    return 1
}

hosts_name() { echo "bezel-$$-$1"; }

# `ip` on host $1. `ip -n` and `ip netns exec` would want / to be a mount point, which it is not in each chroot.
hosts_ip() {
    hosts_at=$1
    shift
    nsenter --net="/run/netns/$(hosts_name "$hosts_at")" ip "$@"
}

# Its address on the wire stays when the host is made again: the others remember it.
hosts_add() {
    ip netns add "$(hosts_name "$1")"
    ip link add "port$1" netns "$(hosts_name 0)" type veth peer name eth0 address "02:00:00:00:00:$(printf %02x "$1")" netns "$(hosts_name "$1")"
    hosts_ip 0 link set "port$1" master bridge up
    hosts_ip "$1" addr add "192.0.2.$1/24" dev eth0
    hosts_ip "$1" addr add "2001:db8::$1/64" dev eth0 nodad
    hosts_ip "$1" link set eth0 up
    hosts_ip "$1" link set lo up
}

# The words before a command that is executed on host $1. The process that is started with them is the command, or passes
# signals on to it and ends with it.
on() {
    if hosts_is_on "$1"; then
        echo "env -u BEZEL_DIR PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin $hosts_dir/enter $(cat "$hosts_dir/$1/init")"
    else
        echo "nsenter --net=/run/netns/$(hosts_name "$1")"
    fi
}

# Takes the cable of host $1 out of the switch, and puts it in again.
hosts_cut() { hosts_ip 0 link set "port$1" down; }
hosts_mend() { hosts_ip 0 link set "port$1" up; }

# ---- Full hosts --------------------------------------------------------------------------------------------------------

# What full hosts have on their disks: below all else the files of folder $2 (/: of this machine), above them what
# `cmake --install` installs from build folder $1, and the programs of the build folder that are named after that.
# Call it after hosts_make. False, with the reason in $hosts_why, where that is not possible.
hosts_install() {
    hosts_dir=$(mktemp -d /dev/shm/bezel-hosts-XXXXXX) # what is written lies outside of what it covers
    hosts_root=$2 hosts_why=
    cp "$1/enter" "$1/cable" "$hosts_dir"
    hosts_installed=$hosts_dir/installed
    build=$1
    hosts_why=$(DESTDIR=$hosts_installed cmake --install "$build" --prefix /usr/local 2>&1 >/dev/null) || return 1
    shift 2
    for program in "$@"; do cp "$build/$program" "$hosts_installed/usr/local/bin"; done
    mkdir -p "$hosts_installed/etc"
    printf '127.0.0.1 localhost\n' >"$hosts_installed/etc/hosts"
}

# Gives the hosts from 1 on names, which each knows from its /etc/hosts; for hosts that have not been booted.
hosts_call() {
    host=0
    for name in "$@"; do
        host=$((host + 1))
        printf '192.0.2.%s %s\n' "$host" "$name" >>"$hosts_installed/etc/hosts"
    done
}

# Boots host $1, with name $2, as a full host: mount, PID, UTS, IPC and time namespaces. Its monotonic clock shows $3
# seconds, 0 unless given. Its disk is what it was when it was powered off; /tmp, /run and /dev/shm are empty, and the
# boot ID is a new one (the kernel has one for all hosts, so a file is mounted over it). Folder $4, if given, is shared
# with the machine. False, with the reason in $hosts_why, where that is not permitted.
hosts_boot() {
    [ -e "/run/netns/$(hosts_name "$1")" ] || hosts_add "$1"
    at=$hosts_dir/$1
    mkdir -p "$at/disk" "$at/work" "$at/root"
    shift_s=$(awk -v wanted="${3:-0}" '{printf "%d", wanted - int($1)}' /proc/uptime)
    nsenter --net="/run/netns/$(hosts_name "$1")" unshare --mount --pid --fork --kill-child --uts --ipc --time \
        --monotonic "$shift_s" --boottime "$shift_s" \
        sh "$(hosts_script)" "$at" "$hosts_installed:$hosts_root" "$2" "${4:-}" 2>"$at/said" &
    echo $! >"$at/unshare"
    tries=0
    until hosts_is_booted "$1"; do
        tries=$((tries + 1))
        if [ $tries -gt "$(scaled 1200)" ] || ! kill -0 "$(cat "$at/unshare")" 2>/dev/null; then
            hosts_why="no full host: $(cat "$at/said")"
            return 1
        fi
        sleep 0.05
    done
    pgrep -P "$(cat "$at/unshare")" >"$at/init"
}
hosts_script() { echo "${hosts_lib:-$(dirname "$0")/../lib}/host_init"; }
hosts_is_booted() { init=$(pgrep -P "$(cat "$hosts_dir/$1/unshare")") && [ -e "/proc/$init/root/run/booted" ]; }
hosts_is_on() { [ -n "${hosts_dir:-}" ] && [ -s "$hosts_dir/$1/init" ]; }

# Where the files of host $1 are seen from the machine.
hosts_files() { echo "/proc/$(cat "$hosts_dir/$1/init")/root"; }

# Powers host $1 off: nobody hears from it any more, not even that its connections are closed.
hosts_power_off() {
    hosts_ip 0 link del "port$1"
    kill -KILL "$(cat "$hosts_dir/$1/init")"
    wait "$(cat "$hosts_dir/$1/unshare")" 2>/dev/null || true
    ip netns del "$(hosts_name "$1")"
    rm "$hosts_dir/$1/init"
}

# Replaces the cable of host $1: a frame takes $2 ms, and up to $3 ms more, either way; one in $4 is lost (0: none). With $5,
# each way takes so many bytes in a millisecond.
hosts_delay() {
    hosts_repair "$1"
    hosts_ip 0 link set "port$1" nomaster
    # shellcheck disable=SC2086 # it may be nothing
    nsenter --net="/run/netns/$(hosts_name 0)" "$hosts_dir/cable" "port$1" "far$1" "$2" "$3" "$4" "${BEZEL_SEED:-$$}" ${5:-} >"$hosts_dir/cable-$1" &
    echo $! >"$hosts_dir/cable-$1.pid"
    until [ -s "$hosts_dir/cable-$1" ]; do
        kill -0 "$(cat "$hosts_dir/cable-$1.pid")" || return 1
        sleep 0.02
    done
    hosts_ip 0 link set "far$1" master bridge up
}

# Puts a good cable into its place again.
hosts_repair() {
    [ -e "$hosts_dir/cable-$1.pid" ] || return 0
    kill "$(cat "$hosts_dir/cable-$1.pid")"
    wait "$(cat "$hosts_dir/cable-$1.pid")" 2>/dev/null || true
    rm -f "$hosts_dir/cable-$1.pid" "$hosts_dir/cable-$1"
    hosts_ip 0 link set "port$1" master bridge
}

# Ends all hosts, and what runs on them; their disks are gone.
hosts_end() {
    host=0
    while [ "$host" -le "$hosts_count" ]; do
        if hosts_is_on "$host"; then kill -KILL "$(cat "$hosts_dir/$host/init")" 2>/dev/null || true; fi
        if [ -n "$hosts_dir" ] && [ -e "$hosts_dir/cable-$host.pid" ]; then kill "$(cat "$hosts_dir/cable-$host.pid")" || true; fi
        ip netns del "$(hosts_name "$host")" 2>/dev/null || true
        host=$((host + 1))
    done
    [ -z "$hosts_dir" ] || rm -rf "$hosts_dir"
}
