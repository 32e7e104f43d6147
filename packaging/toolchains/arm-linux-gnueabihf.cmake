# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# 32-bit Arm, version 7, hard float.
set(triple arm-linux-gnueabihf)
set(processor armv7)
set(emulator qemu-arm)
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
