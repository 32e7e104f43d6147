# shellcheck shell=sh disable=SC2015,SC2154
# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# A scene of tests/hosts, which sources it: the packages for another machine, $arch, in a root of that machine by debootstrap,
# whose programs qemu-user executes. The kernel finds qemu by binfmt_misc in a user namespace: this machine's stays as it is.

# What begins a program of $arch, as binfmt_misc takes it; $emulator, and $triple, which is the cross compiler's.
find_machine() {
    suite=bookworm
    case $arch in
    arm64) class=02 machine=b7 emulator=qemu-aarch64-static ;;
    armhf) class=01 machine=28 emulator=qemu-arm-static ;;
    riscv64) class=02 machine=f3 emulator=qemu-riscv64-static suite=trixie ;;
    *) usage >&2 && exit 2 ;;
    esac
    zeros='\x00\x00\x00\x00\x00\x00\x00\x00\x00'
    magic="\\x7fELF\\x$class\\x01\\x01$zeros\\x02\\x00\\x$machine\\x00"
    mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
    for tool in debootstrap $emulator; do
        command -v "$tool" >/dev/null || skip "$tool is not installed: packaging/install-deps hosts"
    done
    triple=$(dpkg-architecture -a "$arch" -qDEB_HOST_GNU_TYPE 2>"$out") || skip "dpkg-dev is not installed"
    foreign=$top/build/hosts/debian-$arch
}

# Executes a command in root $foreign, in user and mount namespaces in which all users are themselves.
in_foreign() {
    rm -f "$dir/go" && mkfifo "$dir/go"
    # shellcheck disable=SC2016 # the inner shell's
    unshare --user --mount sh -c 'read -r _ <"$1" && mount -t binfmt_misc none /proc/sys/fs/binfmt_misc &&
        printf "%s" "$2" >/proc/sys/fs/binfmt_misc/register && cd "$3" && BEZEL_DIR=$4 && mount --rbind /proc proc && mount --rbind /dev dev &&
        shift 4 && exec env -i container=lxc BEZEL_DIR="$BEZEL_DIR" PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
            G_SLICE=always-malloc chroot . "$@"' \
        sh "$dir/go" ":bezel-$arch:M::$magic:$mask:$(command -v "$emulator"):F" "$foreign" "$BEZEL_DIR" "$@" &
    inside=$!
    pids="$pids $inside"
    await in_another_namespace $inside
    echo "0 0 4294967295" >"/proc/$inside/uid_map" && echo "0 0 4294967295" >"/proc/$inside/gid_map" && echo go >"$dir/go" ||
        skip "no user namespace with all users"
    code=0
    wait $inside || code=$?
    forget $inside
    return $code
}
in_another_namespace() { [ "$(readlink "/proc/$1/ns/user")" != "$(readlink /proc/self/ns/user)" ]; }

make_foreign() {
    [ ! -e "$foreign/made" ] || return 0
    echo "makes $foreign"
    rm -rf "$foreign" && mkdir -p "$foreign"
    debootstrap --foreign --arch="$arch" --variant=minbase "$suite" "$foreign" >"$foreign.log" 2>&1 &&
        in_foreign /debootstrap/debootstrap --second-stage >>"$foreign.log" 2>&1 && cp /etc/resolv.conf "$foreign/etc" ||
        skip "there is no root for $arch, as $foreign.log says: $(tail -n 1 "$foreign.log")"
    touch "$foreign/made"
}

foreign_machine() {
    begin foreign_machine
    [ "$(id -u)" = 0 ] || skip "a root needs root"
    find_machine
    rm -rf "$foreign.packages"
    "$top/packaging/packages" --arch "$arch" "$foreign.packages" >"$foreign.packages.log" 2>&1 ||
        skip "packaging/packages --arch $arch fails, as $foreign.packages.log says"
    make_foreign
    rm -rf "$foreign/root/packages" "$foreign/root/runs" && cp -r "$foreign.packages" "$foreign/root/packages"
    sysroot=$top/build/sysroot/$triple.debian
    "$triple-gcc" --sysroot="$sysroot" -isystem "$sysroot/usr/include/$triple" -isystem "$sysroot/usr/include" -B"$sysroot/usr/lib/$triple" \
        -I"$top/sensor/include" "$top/examples/hello/hello.c" -o "$foreign/root/hello" -L"$top/build/packages-$arch" -lbezel -lm ||
        fail "hello is not built"
    in_foreign sh -c 'apt-get -q update && apt-get -q -y --reinstall --no-install-recommends install /root/packages/*.deb' >"$out" 2>"$err" ||
        fail "the packages cannot be installed"
    in_foreign bezel run --runs /root/runs -- /root/hello >"$out" 2>"$err" || fail "exit code $code"
    grep -q "600 records of 1 process stored, none lost" "$out" || fail "not all of hello's records"
    "$build_dir/bezel" verify "$foreign/root/runs/latest" >"$out" || fail "it is not complete here"
    grep "^complete: 600 records" "$out"
}
