# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC1091,SC2015,SC2016 # files of the node; what stands behind || is for either failure; for later
#
# What `bezel node` does on a node. It is sent to `sh` there, on standard input: lines that set the variables written in
# capitals here, then this, then a last line with the action; so a line that is cut does nothing. Answers are lines
# "bezel-node KEY VALUE" on standard output; other lines there, as of a shell's own files, mean nothing. A secret key is made
# here and stays here.
set -u
umask 077
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin:$HOME/.local/bin"
user=$(id -un)
folder=$HOME/.config/bezel/node                  # keys, and how the daemons are started
state=$HOME/.local/state/bezel-node              # of daemons that no service manager starts
defaults=/etc/default/bezeld-$user
mark='# Made by `bezel node add`; the last `bezel node remove` removes it.'
own=$HOME/.local/lib/bezel                       # the packages' files, where they are installed without root
packages='bezel bezeld bezel-collector libbezel0'

say() { printf 'bezel-node %s\n' "$*"; }
fail() { say failed "$*" && exit 1; }

root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

# How the daemons of this node are started, as it was decided when it was added.
recall() {
    # shellcheck disable=SC1091 # set_up writes it
    [ ! -r "$folder/how" ] || . "$folder/how"
    SERVICE=${SERVICE:-no} LAUNCHER=${LAUNCHER:-no}
}

# One `bezel node` at a time, of all workstations.
take_turn() {
    recall
    mkdir -p "$folder" "$state" || fail "cannot make the folders $folder and $state"
    exec 9>"$folder/lock"
    flock -n 9 || fail "another \`bezel node\` is under way there, of another workstation: try again later"
}

# ---- Traits -----------------------------------------------------------------------------------------------------------------

package_state() {
    local_state=none
    for package in $packages; do
        case $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null) in
        '' | un* | rc* | in*) ;;
        ii*) [ $local_state = broken ] || local_state=whole ;;
        *) local_state=broken ;;
        esac
    done
    echo $local_state
}

free_space() { df -Pk "$1" 2>/dev/null | awk 'NR == 2 { print $4 }'; }

traits() {
    say user "$user"
    say uid "$(id -u)"
    say home "$HOME"
    say host "$(uname -n)"
    say kernel "$(uname -r)"
    say release "$( (. /etc/os-release && echo "${ID:-?} ${VERSION_ID:-}") 2>/dev/null)"
    say architecture "$(dpkg --print-architecture 2>/dev/null || uname -m)"
    if [ "$(id -u)" = 0 ]; then
        say root self
    elif ! command -v sudo >/dev/null; then
        say root none
    elif sudo -n true 2>/dev/null; then
        say root sudo
    else
        say root password
    fi
    command -v apt-get >/dev/null && say apt yes
    if bezel=$(command -v bezel); then
        say bezel "$bezel"
        say version "$("$bezel" --version 2>/dev/null | cut -d ' ' -f 2)"
        [ "$bezel" != "$HOME/.local/bin/bezel" ] || [ ! -d "$own" ] || say own yes
    fi
    say package "$(package_state)"
    say candidate "$(apt-cache policy bezel 2>/dev/null | sed -n 's/^ *Candidate: //p' | grep -v -F '(none)')"
    if [ -d /run/systemd/system ]; then
        say systemd yes
        systemctl cat bezeld@.service bezel-launcher@.service >/dev/null 2>&1 && say units yes
    fi
    if [ -e "/var/lib/systemd/linger/$user" ]; then say linger yes; else say linger no; fi
    say space-usr "$(free_space /usr)"
    say space-home "$(free_space "$HOME")"
    say space-tmp "$(free_space "${TMPDIR:-/tmp}")"
    say shm "$(free_space /dev/shm)"
    recall
    if is_active; then say active yes; fi
    say time "$(date +%s)"
}

# ---- Packages --------------------------------------------------------------------------------------------------------------

stage() {
    made=$(mktemp -d "${TMPDIR:-/tmp}/bezel-node.XXXXXX" 2>&1) || fail "there is no folder for packages: $made"
    say stage "$made"
}

drop_stage() {
    case $STAGE in /*/bezel-node.*) rm -rf "$STAGE" ;; esac
}

apt_get() {
    root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=60 \
        --no-install-recommends "$@" </dev/null 2>&1
}

why_apt() { printf '%s\n' "$1" | grep -E '^(E:|dpkg|[^ ]* depends on|.*: Depends:)|No space' | head -n 2 | tr '\n' ' '; }

# Installs "$@", packages or files, all or none of what is new.
install_packages() {
    said=$(apt_get -s install "$@") || fail "apt there cannot install it, and nothing was done: $(why_apt "$said")"
    new=
    for package in $packages; do
        dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || new="$new $package"
    done
    said=$(apt_get install "$@") && { drop_home && return; }
    # shellcheck disable=SC2086 # names
    [ -z "$new" ] || root dpkg --purge --force-depends $new >/dev/null 2>&1
    if [ "$(package_state)" = broken ]; then
        fail "apt there broke off: $(why_apt "$said"): remove the cause, and try again, which completes it"
    fi
    fail "apt there broke off, and what it had begun was removed again: $(why_apt "$said")"
}

install_apt() {
    take_turn
    wanted=
    for package in $packages; do wanted="$wanted $package=$CANDIDATE"; done
    # shellcheck disable=SC2086 # words
    install_packages $wanted
    say installed "$CANDIDATE"
}

check_copies() {
    trap drop_stage EXIT
    take_turn
    wrong=$(cd "$STAGE" && printf '%s\n' "$SUMS" | sha256sum -c --strict --quiet 2>&1) ||
        fail "the packages did not arrive as they were sent ($(printf '%s\n' "$wrong" | head -n 1)), and nothing was installed: try again"
    chmod 755 "$STAGE" && chmod 644 "$STAGE"/*.deb
}

install_copies() {
    check_copies
    install_packages "$STAGE"/*.deb
    say installed copies
}

# ---- Packages in the user's home ---------------------------------------------------------------------------------------------

# Downloads into $STAGE what the packages "$@", names or files, need and this machine lacks, and those of them that are names.
fetch_lacking() {
    said=$(apt_get_plainly -s install "$@") ||
        fail "apt there does not have what the packages need, and nothing was done: $(why_apt "$said")"
    lacking=$(printf '%s\n' "$said" | awk '$1 == "Inst" { print $2 }')
    for package in $lacking; do
        set -- "$STAGE/${package%%:*}"_*.deb
        [ ! -e "$1" ] || continue
        said=$(cd "$STAGE" && apt_get_plainly download "${package}${CANDIDATE:+$(version_of "$package")}") ||
            fail "package $package, which Bezel needs there, cannot be fetched, and nothing was installed: $(why_apt "$said")"
    done
}
version_of() { case " $packages " in *" $1 "*) echo "=$CANDIDATE" ;; esac; }
apt_get_plainly() { apt-get -q -y -o Debug::NoLocking=1 --no-install-recommends "$@" </dev/null 2>&1; }

# Unpacks the packages in $STAGE beside what is there, sees that the programs start, and puts them into its place. A program
# is called by a script, which says where those libraries are that the machine lacks.
unpack_home() {
    rm -rf "$own.new"
    mkdir -p "$own.new" "$HOME/.local/bin" || fail "cannot make the folders $own and $HOME/.local/bin"
    for file in "$STAGE"/*.deb; do
        said=$(dpkg-deb -x "$file" "$own.new" 2>&1) || break
        said=
    done
    libraries=
    for path in "$own.new"/usr/lib/*-linux-gnu* "$own.new"/lib/*-linux-gnu*; do
        [ ! -d "$path" ] || libraries=$libraries${libraries:+:}$path
    done
    for program in bezel bezeld bezel-launcher bezel-collector; do
        [ -z "$said" ] || break
        said=$(LD_LIBRARY_PATH=$libraries "$own.new/usr/bin/$program" --version 2>&1) && said=
    done
    if [ -n "$said" ]; then
        rm -rf "$own.new"
        fail "the programs do not start there, and nothing was installed: $(printf '%s\n' "$said" | head -n 1)"
    fi
    rm -rf "$own.old"
    [ ! -e "$own" ] || mv "$own" "$own.old"
    mv "$own.new" "$own" && rm -rf "$own.old"
    libraries=$(printf '%s' "$libraries" | sed "s|${own}.new/|$own/|g")
    for program in "$own"/usr/bin/*; do
        name=${program##*/}
        printf '#!/bin/sh\nLD_LIBRARY_PATH=%s${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec %s "$@"\n' "$libraries" "$program" \
            >"$HOME/.local/bin/$name.new" && chmod 755 "$HOME/.local/bin/$name.new" &&
            mv "$HOME/.local/bin/$name.new" "$HOME/.local/bin/$name" || fail "cannot write $HOME/.local/bin/$name"
    done
}

# Packages of the system's take its place.
drop_home() {
    [ -d "$own" ] || return 0
    for program in "$HOME"/.local/bin/*; do ! grep -q -s -F "exec $own/usr/bin/" "$program" || rm -f "$program"; done
    rm -rf "$own"
}

install_home_apt() {
    take_turn
    stage
    STAGE=$made
    trap drop_stage EXIT
    wanted=
    for package in $packages; do wanted="$wanted $package=$CANDIDATE"; done
    # shellcheck disable=SC2086 # words
    fetch_lacking $wanted
    unpack_home
    say installed "$CANDIDATE"
}

install_home_copies() {
    check_copies
    CANDIDATE=
    fetch_lacking "$STAGE"/*.deb
    unpack_home
    say installed copies
}

# ---- Keys ------------------------------------------------------------------------------------------------------------------

current_key() {
    key=$(cat "$folder/name" 2>/dev/null) && [ -f "$folder/$key.key" ] && [ -f "$folder/$key.pub" ]
}

make_key() { # NAME
    said=$(bezel keygen --dir "$folder" "$1" 2>&1) || fail "no key can be made there: $said"
}

use_key() { # NAME
    key=$1
    echo "$key" >"$folder/name.new" && mv "$folder/name.new" "$folder/name" || fail "cannot write $folder/name"
}

say_key() { # NAME
    say key "$1"
    say public "$(sed -n 's/^public: //p' "$folder/$1.pub")"
}

# Admits the workstation WORKSTATION, whose public key file is PUBLIC.
admit() {
    file=$folder/$WORKSTATION.pub
    if [ -f "$file" ] && [ "$(sed -n 's/^public: //p' "$file")" != "$(printf '%s\n' "$PUBLIC" | sed -n 's/^public: //p')" ]; then
        fail "another key is called $WORKSTATION there: remove $file, if it is an old one of this workstation"
    fi
    [ "$(cat "$file" 2>/dev/null)" != "$(printf '%s' "$PUBLIC")" ] || return 0
    printf '%s' "$PUBLIC" >"$file.new" && mv "$file.new" "$file" || fail "cannot write $file"
    ! is_active || sleep 2 # a daemon that runs looks for keys each second
}

# The same for another key of a workstation that has this node already, and the end of its former one.
let_in() {
    take_turn
    current_key || fail "there is no key in $folder: \`bezel node add\` it again"
    admit
}
dismiss() {
    take_turn
    rm -f "$folder/$WORKSTATION.pub"
}

# The other workstations that may command this node.
others() {
    for file in "$folder"/*.pub; do
        name=${file##*/}
        [ "$name" = "$WORKSTATION.pub" ] || ! grep -q '^roles:.* control' "$file" || printf '%s ' "${name%.pub}"
    done 2>/dev/null
}

# ---- Daemons ---------------------------------------------------------------------------------------------------------------

arguments() { # of bezeld
    printf '%s' "--control tcp://*:$port --keys $folder --key $folder/$key.key"
    if [ "$LAUNCHER" != yes ]; then
        :
    elif [ "$SERVICE" = yes ]; then
        printf ' --launcher /var/lib/bezel-launcher/%s' "$user"
    else
        printf ' --launcher %s' "$HOME/.local/state/bezel-launcher"
    fi
}

# Whether daemon $1 of ours lives, as $pid.
lives() {
    pid=$(cat "$state/$1.pid" 2>/dev/null) && grep -q bezel-node-serve "/proc/$pid/cmdline" 2>/dev/null
}

# Starts daemon $1 with the arguments behind it; it starts anew where it fails, and ends with the process in its .pid.
start_plain() {
    ! lives "$1" || return 0
    name=$1
    # shellcheck disable=SC2016 # it is for the other shell
    setsid sh -c '
        trap "ended=1; kill \$child" TERM
        ended=
        while :; do
            "$@" &
            child=$!
            wait $child
            code=$?
            [ -z "$ended" ] || { wait $child; exit 0; }
            [ $code != 0 ] && [ $code != 2 ] || exit 0
            sleep 1
        done' bezel-node-serve "$@" </dev/null >>"$state/$name.log" 2>&1 9>&- &
    echo $! >"$state/$name.pid"
}

stop_plain() { # NAME
    lives "$1" || return 0
    kill "$pid"
    for _ in $(seq 100); do
        lives "$1" || break
        sleep 0.1
    done
    rm -f "$state/$1.pid"
}

is_active() {
    if [ "$SERVICE" = yes ]; then
        systemctl is-active --quiet "bezeld@$user"
    else
        lives bezeld
    fi
}

last_words() {
    if [ "$SERVICE" = yes ]; then
        root journalctl -q -u "bezeld@$user" -n 3 -o cat 2>/dev/null
    else
        tail -n 3 "$state/bezeld.log" 2>/dev/null
    fi | tr '\n' ' '
}

write_arguments() {
    arguments >"$folder/arguments.new" && mv "$folder/arguments.new" "$folder/arguments" || fail "cannot write $folder/arguments"
    [ "$SERVICE" = yes ] || return 0
    printf '%s\nARGUMENTS="%s"\n' "$mark" "$(arguments)" | root tee "$defaults" >/dev/null && root chmod 644 "$defaults" ||
        fail "cannot write $defaults"
}

start_bezeld() {
    if [ "$SERVICE" = yes ]; then
        root systemctl enable -q "bezeld@$user" && root systemctl restart "bezeld@$user" || fail "bezeld does not start there: $(last_words)"
    else
        # shellcheck disable=SC2046 # words
        set -f && start_plain bezeld $(arguments) && set +f
    fi
}

start_launcher() {
    if [ "$LAUNCHER" != yes ]; then
        :
    elif [ "$SERVICE" = yes ]; then
        root systemctl enable -q --now "bezel-launcher@$user" || fail "bezel-launcher does not start there"
    else
        start_plain bezel-launcher --dir "$HOME/.local/state/bezel-launcher"
    fi
}

linger() {
    [ "$SERVICE" = yes ] && [ ! -e "/var/lib/systemd/linger/$user" ] || return 0
    if root loginctl enable-linger "$user" 2>/dev/null; then
        : >"$folder/lingers"
    else
        say note "lingering cannot be permitted there: systemd removes the shared memory of $user at the last logout"
    fi
}

# Keys, and daemons that run; what runs already is not touched, so that no run is cut.
set_up() {
    decided="SERVICE=$SERVICE LAUNCHER=$LAUNCHER"
    take_turn
    is_active || eval "$decided" # it is started otherwise than before
    port=$(sed -n 's|.*--control tcp://\*:\([0-9]*\) .*|\1|p' "$folder/arguments" 2>/dev/null)
    [ -z "$port" ] || [ -z "$PORT" ] || [ "$port" = "$PORT" ] ||
        fail "bezeld there takes commands at port $port already, of other workstations too: leave --port out"
    port=${port:-${PORT:-7767}}
    [ "$SERVICE" != yes ] || [ ! -e "$defaults" ] || head -n 1 "$defaults" | grep -q -x -F "$mark" ||
        fail "$defaults was not made by \`bezel node\`, and stays: remove it there, then try again"
    [ "$SERVICE" != yes ] || [ -e "$defaults" ] || ! systemctl is-active --quiet "bezeld@$user" ||
        fail "bezeld@$user runs there already, set up by hand: end it (systemctl disable --now bezeld@$user), then try again"
    if ! current_key; then
        make_key "$KEY"
        use_key "$KEY"
    fi
    admit
    printf 'SERVICE=%s LAUNCHER=%s\n' "$SERVICE" "$LAUNCHER" >"$folder/how" || fail "cannot write $folder/how"
    start_launcher
    if ! is_active; then
        write_arguments
        start_bezeld
    fi
    linger
    say_key "$key"
    say port "$port"
}

look() {
    recall
    if is_active; then say active yes; else say active no; fi
    say words "$(last_words)"
}

examine() {
    recall
    said=$(bezel doctor --keys "$folder" 2>&1) && say problems no || say problems yes
    printf '%s\n' "$said" | sed 's/^/bezel-node print /'
    if [ "$SERVICE" = yes ]; then
        daemon=$(systemctl show -p MainPID --value "bezeld@$user")
    elif lives bezeld; then
        daemon=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null)
    fi
    for one in ${daemon:-}; do
        sed -n 's/^Max locked memory *\([^ ]*\).*/locked \1/p; s/^Max realtime priority *\([^ ]*\).*/priority \1/p' "/proc/$one/limits"
    done | while read -r what value; do say "$what" "$value"; done
}

# Whether bezel-launcher has programs, or it is not known.
has_programs() {
    if [ "$SERVICE" = yes ]; then
        launcher=$(systemctl show -p MainPID --value "bezel-launcher@$user")
    elif lives bezel-launcher; then
        launcher=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null)
    else
        return 1
    fi
    for one in $launcher; do
        [ "$one" = 0 ] && continue
        [ -r "/proc/$one/task/$one/children" ] && [ -z "$(cat "/proc/$one"/task/*/children)" ] || return 0
    done
    return 1
}

# Has the daemons take what was installed. bezeld ends first, so that no session begins meanwhile; a launcher with programs
# goes on, as does the run whose they are.
renew() {
    take_turn
    current_key || fail "there is no key in $folder: \`bezel node add\` it again"
    port=$(sed -n 's|.*--control tcp://\*:\([0-9]*\) .*|\1|p' "$folder/arguments" 2>/dev/null)
    port=${port:-7767}
    if [ "$SERVICE" = yes ]; then
        root systemctl stop "bezeld@$user"
    else
        stop_plain bezeld
    fi
    if has_programs; then
        say note "bezel-launcher has programs, and goes on as it is: it is renewed when it is started again"
    elif [ "$SERVICE" = yes ]; then
        [ "$LAUNCHER" != yes ] || root systemctl restart "bezel-launcher@$user"
    else
        stop_plain bezel-launcher
    fi
    start_launcher
    write_arguments
    start_bezeld
    say port "$port"
}

# ---- Another key -----------------------------------------------------------------------------------------------------------

new_key() {
    take_turn
    make_key "$KEY"
    say_key "$KEY"
    say others "$(others)"
}

other_key() {
    (take_turn && use_key "$KEY") || exit 1
    renew
}

# Removes all secret keys but the one in use.
drop_keys() {
    take_turn
    current_key || fail "there is no key in $folder"
    for file in "$folder"/*.key; do
        [ "$file" = "$folder/$key.key" ] || rm -f "$file" "${file%.key}.pub"
    done
}

# ---- The end ---------------------------------------------------------------------------------------------------------------

# Takes this workstation's right back; with the last workstation go the daemons and the keys.
remove() {
    take_turn
    rm -f "$folder/$WORKSTATION.pub"
    left=$(others)
    say others "$left"
    [ -z "$left" ] || return 0
    if [ -e "$defaults" ] && head -n 1 "$defaults" | grep -q -x -F "$mark"; then
        root systemctl disable -q --now "bezeld@$user" "bezel-launcher@$user" || fail "the services cannot be ended there"
        root rm -f "$defaults"
    fi
    [ ! -e "$folder/lingers" ] || root loginctl disable-linger "$user"
    stop_plain bezeld
    stop_plain bezel-launcher
    rm -rf "$folder" "$state"
}
