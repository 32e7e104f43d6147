// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/perf_rights.h"

#include <stdio.h>

bool perf_rights_suffice(int enough)
{
    FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    int paranoid, got = f ? fscanf(f, "%d", &paranoid) : 0;
    if (f)
        fclose(f);
    return got == 1 && paranoid <= enough;
}
