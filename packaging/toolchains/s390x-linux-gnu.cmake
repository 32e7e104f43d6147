# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# IBM Z: big-endian.
set(triple s390x-linux-gnu)
set(processor s390x)
set(emulator qemu-s390x)
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
