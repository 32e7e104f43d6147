# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# What the toolchain files beside it share: each sets `triple` and `processor` as Debian's cross compilers call them, and
# `emulator`, and includes this. For a toolchain elsewhere, see docs/CROSS.md.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${processor})
set(CMAKE_C_COMPILER ${triple}-gcc)
set(CMAKE_CXX_COMPILER ${triple}-g++)
# qemu-user 7.2 deadlocks in the child of a program with threads: its translator allocates by GLib's slices, whose lock
# another thread may have held at the fork. malloc() is safe there.
set(CMAKE_CROSSCOMPILING_EMULATOR env G_SLICE=always-malloc ${emulator} -L /usr/${triple})

# Programs are the host's, everything else is the target's; packaging/cross-sysroot puts there what the tests need. With
# CMAKE_SYSROOT, as packaging/packages --arch gives it, the target has a root of its own.
get_filename_component(sysroot ${CMAKE_CURRENT_LIST_DIR}/../../build/sysroot/${triple} ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH ${sysroot} /usr/${triple})
set(ENV{PKG_CONFIG_LIBDIR} ${sysroot}/lib/pkgconfig)
if(CMAKE_SYSROOT)
    set(CMAKE_CROSSCOMPILING_EMULATOR env G_SLICE=always-malloc ${emulator} -L ${CMAKE_SYSROOT})
    set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT})
    # Before the cross compiler's own libc, which is another one than that of the root's libraries.
    foreach(folder usr/include/${triple} usr/include)
        add_compile_options("$<$<COMPILE_LANGUAGE:C>:SHELL:-isystem ${CMAKE_SYSROOT}/${folder}>")
    endforeach()
    add_link_options(-B${CMAKE_SYSROOT}/usr/lib/${triple})
    set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
    set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/${triple}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
