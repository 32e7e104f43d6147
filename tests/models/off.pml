// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Takes a label away from the model: the one whose number is in OFF of the environment when a search begins. */
c_decl {
    \#include <stdlib.h>
}

byte off; /* 0: none */

inline read_off() {
    c_code {
        now.off = getenv("OFF") ? atoi(getenv("OFF")) : 0;
    }
}
