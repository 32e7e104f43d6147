// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/ports.h"

#include <stdio.h>
#include <string.h>

enum { LISTENS = 0x0A /* TCP_LISTEN */, BOUND = 0x07 /* of UDP, TCP_CLOSE: not connected */ };

/* Lines are "  0: 0100007F:1F90 00000000:0000 0A ...". */
static void read_file(struct ports *p, const char *path, unsigned wanted)
{
    FILE *in = fopen(path, "re");
    char line[512];
    if (!in)
        return;
    while (fgets(line, sizeof line, in)) {
        unsigned port, state;
        if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%4x %*[0-9A-Fa-f]:%*4x %2x", &port, &state) == 2 && state == wanted)
            p->bits[port / 8] |= (uint8_t)(1 << port % 8);
    }
    fclose(in);
}

void ports_read(struct ports *p)
{
    memset(p, 0, sizeof *p);
    read_file(p, "/proc/net/tcp", LISTENS);
    read_file(p, "/proc/net/tcp6", LISTENS);
    read_file(p, "/proc/net/udp", BOUND);
    read_file(p, "/proc/net/udp6", BOUND);
}

bool ports_has(const struct ports *p, uint32_t port)
{
    return port < 65536 && p->bits[port / 8] >> port % 8 & 1;
}
