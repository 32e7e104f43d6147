// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The label whose number the environment's OFF has when a search begins is taken away from the model. */
c_decl {
    \#include <stdlib.h>
}

byte off; /* 0: none */

inline read_off() {
    c_code {
        now.off = getenv("OFF") ? atoi(getenv("OFF")) : 0;
    }
}
