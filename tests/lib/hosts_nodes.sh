# shellcheck shell=sh disable=SC2015,SC2046,SC2154
# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# A scene of tests/hosts, which sources it: bare Debian machines become nodes as a user makes them, by packages and `bezel node`
# over a real sshd. The workstation and host a have the packages in a repository, host b takes copies of them, and on host c
# the user is nobody's root. A second version of the packages has another number, and nothing else.

bare=$top/build/hosts/debian-12-bare
packages=$top/build/hosts/packages
older=$top/build/hosts/older

# Builds the packages of this source into $packages/new, and into $packages/old those of version 0.0.9.
make_packages() {
    version=$("$build_dir/bezel" --version | cut -d ' ' -f 2)
    mkdir -p "$older"
    rm -rf "$packages"
    "$top/packaging/packages" "$packages/new" >"$packages.log" 2>&1 || skip "packaging/packages fails, as $packages.log says"
    (cd "$top" && tar -c --exclude=./build --exclude=./.git --exclude=./runs .) | tar -x -C "$older"
    header=sensor/include/bezel/sensor.h
    sed -i '/BEZEL_VERSION_MINOR/s/[0-9]*$/0/; /BEZEL_VERSION_PATCH/s/[0-9]*$/9/' "$older/$header"
    touch -r "$top/$header" "$older/$header"
    "$older/packaging/packages" "$packages/old" >>"$packages.log" 2>&1 || skip "packaging/packages fails, as $packages.log says"
    for folder in "$packages/new" "$packages/old"; do index "$folder" 2>>"$packages.log"; done
}

# Makes the root of bare machines, once: sshd, sudo, user ada, and in /srv/debian what the packages need and it lacks.
make_bare() {
    needs=$(for package in "$packages"/new/*.deb; do dpkg-deb -f "$package" Depends; done | grep -v -e '^bezel' | sort -u)
    [ "$(cat "$bare/made" 2>/dev/null)" != "$needs" ] || return 0
    command -v debootstrap >/dev/null || skip "debootstrap is not installed: packaging/install-deps hosts"
    echo "makes $bare"
    rm -rf "$bare"
    mkdir -p "$bare"
    {
        debootstrap --variant=minbase --include=openssh-server,sudo bookworm "$bare" &&
            chroot "$bare" useradd -m -s /bin/sh -p '*' ada &&
            cp "$packages"/new/bezel_* "$packages"/new/bezeld_* "$packages"/new/bezel-collector_* "$packages"/new/libbezel* "$bare/tmp" &&
            chroot "$bare" sh -c 'apt-get -q update && apt-get -q -y -d --no-install-recommends install /tmp/*.deb' &&
            mkdir "$bare/srv/debian" && mv "$bare"/var/cache/apt/archives/*.deb "$bare/srv/debian" &&
            rm -rf "$bare"/tmp/*.deb "$bare"/var/lib/apt/lists/* && index "$bare/srv/debian" &&
            echo 'deb [trusted=yes] file:/srv/debian ./' >"$bare/etc/apt/sources.list" && chroot "$bare" apt-get -q update
    } >"$bare.log" 2>&1 || skip "there is no root of a bare machine, as $bare.log says: $(tail -n 1 "$bare.log")"
    echo "$needs" >"$bare/made"
}

# Makes a repository of folder $1.
index() { (cd "$1" && dpkg-scanpackages -m . >Packages); }

# Gives host $1 a repository of the packages, of version $2 beside those that it has.
give_packages() {
    at=$(hosts_files "$1")/srv/bezel
    mkdir -p "$at"
    cp "$packages/$2"/*.deb "$at"
    cat "$packages/$2/Packages" >>"$at/Packages"
    echo 'deb [trusted=yes] file:/srv/bezel ./' >"$(hosts_files "$1")/etc/apt/sources.list.d/bezel.list"
    $(on "$1") apt-get -q update >"$out" 2>&1 || fail "apt-get update"
}

# Boots bare host $1, called $2, whom ada of the workstation may enter.
boot_bare() {
    hosts_boot "$1" "$2" 0 || skip "$hosts_why"
    at=$(hosts_files "$1")
    rm -f "$at"/etc/ssh/ssh_host_*
    ssh-keygen -q -A -f "$at"
    mkdir -m 755 "$at/run/sshd"
    mkdir -p "$at/home/ada/.ssh"
    cp "$dir/id.pub" "$at/home/ada/.ssh/authorized_keys"
    chown -R 1000:1000 "$at/home/ada/.ssh"
    $(on "$1") /usr/sbin/sshd -D -e 2>"$dir/sshd-$2.log" &
    pids="$pids $!"
    echo "$2,192.0.2.$1 $(cut -d ' ' -f 1,2 "$at/etc/ssh/ssh_host_ed25519_key.pub")" >>"$dir/known_hosts"
}

# A command of the user's, on the workstation; $commands counts them.
user_does() {
    commands=$((commands + 1))
    "$@" >"$out" 2>"$err" </dev/null || fail "exit code $?: $*"
}
on_workstation() { $(on 1) env DEBIAN_FRONTEND=noninteractive "$@"; }

has_daemons() { [ "$(cat "$(hosts_files "$1")"/proc/[0-9]*/comm 2>/dev/null | grep -c '^bezel')" = "$2" ]; }
shows() { grep -q -e "$1" "$out" || fail "stdout does not say: $1"; }
key_of() { "$bezel" node ls --json | jq -r ".nodes[] | select(.name == \"$1\").key"; }
run_over_nodes() { # NODE...
    names=$*
    {
        printf 'experiment: nodes\nnodes: {%s}\nprocesses:\n' "$(echo "$names" | sed 's/\([a-c]\)/\1: {}/g; s/ \([a-c]\)/, \1/g')"
        for node in $names; do printf "  - {name: on-%s, node: %s, command: [ticker, '%s', '1000']}\n" "$node" "$node" "$ticks"; done
    } >"$dir/nodes.yaml"
    start_run 0 "$dir/nodes.yaml"
}
holds_over() {
    ticks=300 && run_over_nodes "$@"
    end_run 0
    reports ".books.balanced and .books.sut.processes == $# and .books.sut.stored == $((300 * $#))"
}

three_nodes() {
    begin three_nodes
    make_packages
    make_bare
    hosts_make 4 || skip "$hosts_why"
    trap 'finish; hosts_end' EXIT
    hosts_install "$build_dir" "$bare" || fail "$hosts_why"
    rm -r "${hosts_installed:?}/usr/local"
    mkdir -p "$hosts_installed/usr/local/bin"
    cp "$ticker" "$hosts_installed/usr/local/bin" # what is to be observed
    hosts_call workstation a b c
    ssh-keygen -q -t ed25519 -N '' -f "$dir/id"
    hosts_boot 1 workstation 0 "$dir" || skip "$hosts_why"
    for host in "2 a" "3 b" "4 c"; do
        # shellcheck disable=SC2086 # words
        boot_bare $host
    done
    for host in 2 3; do echo 'ada ALL=(ALL) NOPASSWD: ALL' >"$(hosts_files $host)/etc/sudoers.d/ada"; done
    rm "$(hosts_files 4)/usr/bin/sudo"
    home=$(hosts_files 1)/home/ada
    mkdir -p "$home/.ssh" "$dir/runs"
    cp "$dir/id" "$dir/known_hosts" "$home/.ssh"
    mv "$home/.ssh/id" "$home/.ssh/id_ed25519"
    chown -R 1000:1000 "$home/.ssh" "$dir/runs"
    chmod 755 "$dir"
    bezel=$dir/bezel
    printf '#!/bin/sh\nexec %s setpriv --reuid ada --regid ada --init-groups env HOME=/home/ada bezel "$@"\n' "$(on 1)" >"$bezel"
    chmod 755 "$bezel"
    for host in 1 2; do give_packages $host old; done
    installed_files >"$dir/files.before"

    begin one_command_each
    commands=0 began=$(date +%s)
    user_does on_workstation apt-get -q -y install bezel
    user_does "$bezel" node add a
    shows "installing 0.0.9, by its apt"
    user_does "$bezel" node add b --packages /srv/bezel
    shows "installing 0.0.9, from packages that are copied"
    says "systemd does not run there"
    user_does "$bezel" node add c --packages /srv/bezel
    says "without root Bezel is installed in /home/ada/.local, for ada alone"
    commands=$((commands + 1)) && holds_over a b c
    echo "an experiment over three bare machines: $commands commands, $(($(date +%s) - began)) s"
    [ ! -e "$(hosts_files 4)/usr/bin/bezel" ] || fail "c has it in /usr"

    begin upgraded
    for host in 1 2; do give_packages $host new; done
    on_workstation apt-get -q -y install bezel >"$out" 2>&1 || fail "the workstation is not upgraded"
    ticks=0 && run_over_nodes b c
    await has_stored on-b
    code=0
    "$bezel" node upgrade b --packages /srv/bezel >"$out" 2>"$dir/refused" </dev/null || code=$?
    [ $code = 1 ] && grep -q "serves a run, of experiment 'nodes'" "$dir/refused" || fail "upgraded in a run, or $code: $(cat "$dir/refused")"
    await_more on-b
    kill -INT "$run"
    end_run 0
    user_does "$bezel" node upgrade a
    shows "a: has version $version now"
    holds_over a b c # of two versions
    user_does "$bezel" node upgrade --packages /srv/bezel
    shows "a: has version $version already"
    shows "c: has version $version now"
    holds_over a b c

    begin other_keys
    keys="$(key_of a) $(key_of b) $(key_of c)"
    user_does "$bezel" node keys --rotate
    for node in a b c; do case " $keys " in *" $(key_of $node) "*) fail "$node has its former key" ;; esac; done
    holds_over a b c

    begin removed
    user_does "$bezel" node remove c
    [ "$("$bezel" node ls --json | jq -r '[.nodes[].name] | join(" ")')" = "a b" ] || fail "not removed: $("$bezel" node ls)"
    has_daemons 4 0 && has_daemons 3 2 || fail "the daemons of c go on, or those of b do not"
    holds_over a b
    user_does "$bezel" node add c
    holds_over a b c
    user_does "$bezel" node remove a b c
    for host in 2 3 4; do has_daemons $host 0 || fail "daemons go on, on host $host"; done

    begin downgraded_and_purged
    all="bezel bezeld bezel-collector libbezel0 libbezel-consumer0 libbezel-dev"
    # shellcheck disable=SC2086 # words
    on_workstation apt-get -q -y install $all >"$out" 2>&1 || fail "not all of them are installed"
    # shellcheck disable=SC2086 # words
    on_workstation apt-get -q -y --allow-downgrades install $(printf '%s=0.0.9-1 ' $all) >"$out" 2>&1 || fail "no downgrade"
    [ "$(on_workstation bezel --version)" = "bezel 0.0.9" ] || fail "it is still version $(on_workstation bezel --version)"
    # shellcheck disable=SC2086 # words
    on_workstation apt-get -q -y --autoremove purge $all >"$out" 2>&1 || fail "not purged"
    installed_files | diff "$dir/files.before" - >"$err" || fail "something is left, or gone"
}

# The files of the workstation outside of apt's and dpkg's own folders.
installed_files() { $(on 1) find /usr /etc /var /opt -xdev ! -path '/var/lib/apt/*' ! -path '/var/lib/dpkg/*' ! -path '/var/log/*' ! -path '/var/cache/*' | sort; }
