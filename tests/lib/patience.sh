# shellcheck shell=sh
# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# Deadlines of scripts, which source it: they are longer by BEZEL_TEST_SCALE on a slow or busy machine (tests/lib/machine).

# Prints $1 seconds as a deadline: so many, or more.
scaled() {
    echo $(($1 * ${BEZEL_TEST_SCALE:-1}))
}

# Waits until the command holds, for $1 seconds, scaled; fails if it does not hold then. What takes long is asked less often.
holds_within() {
    give_up=$(($(date +%s) + $(scaled "$1")))
    shift
    asked=0
    until "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt $give_up ] || return 1
        asked=$((asked + 1))
        sleep 0.$((asked < 10 ? 1 : asked < 20 ? 2 : 4))
    done
}
