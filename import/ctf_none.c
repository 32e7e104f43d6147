// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* In place of ctf.c where libbabeltrace2 is not there. */
#include "import/ctf.h"

bool ctf_is_here(void)
{
    return false;
}

bool ctf_reads_2(void)
{
    return false;
}

int ctf_read(struct ctf_import *c, const char *folder)
{
    (void)c, (void)folder;
    return BEZEL_EINVAL;
}
