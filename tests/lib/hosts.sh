# shellcheck shell=sh
# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# Hosts that are network namespaces on one switch, itself a namespace with a bridge: host N has the addresses 192.0.2.N
# and 2001:db8::N. For scripts that source it.

# Makes hosts 1 to $1. False, with the reason in $hosts_why, where that is not permitted; nothing is left then.
hosts_make() {
    hosts_count=$1
    hosts_why=$( (
        set -e
        ip netns add "$(hosts_name 0)"
        ip -n "$(hosts_name 0)" link add bridge type bridge
        ip -n "$(hosts_name 0)" link set bridge up
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

hosts_add() {
    ip netns add "$(hosts_name "$1")"
    ip link add "port$1" netns "$(hosts_name 0)" type veth peer name eth0 netns "$(hosts_name "$1")"
    ip -n "$(hosts_name 0)" link set "port$1" master bridge up
    ip -n "$(hosts_name "$1")" addr add "192.0.2.$1/24" dev eth0
    ip -n "$(hosts_name "$1")" addr add "2001:db8::$1/64" dev eth0 nodad
    ip -n "$(hosts_name "$1")" link set eth0 up
    ip -n "$(hosts_name "$1")" link set lo up
}

# The words before a command that is executed on host $1.
on() { echo "ip netns exec $(hosts_name "$1")"; }

# Takes the cable of host $1 out of the switch, and puts it in again.
hosts_cut() { ip -n "$(hosts_name 0)" link set "port$1" down; }
hosts_mend() { ip -n "$(hosts_name 0)" link set "port$1" up; }

hosts_end() {
    host=0
    while [ "$host" -le "$hosts_count" ]; do
        ip netns del "$(hosts_name "$host")" 2>/dev/null || true
        host=$((host + 1))
    done
}
