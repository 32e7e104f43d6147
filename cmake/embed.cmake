# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# Writes C file TO, which defines file FROM as the text NAME.
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${TO} "extern const char ${NAME}[];\nconst char ${NAME}[] = {\n${bytes}0};\n")
