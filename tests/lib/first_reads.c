// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* A library that does not need libbezel: its constructor, which may run before that of libbezel, reads 13 bytes,
 * thrice. */
#include <unistd.h>

__attribute__((constructor)) static void read_first(void)
{
    int ends[2];
    char text[] = "thirteen byte";
    if (pipe(ends) != 0)
        return;
    for (int i = 0; i < 3; i++)
        if (write(ends[1], text, sizeof text - 1) > 0)
            (void)!read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    close(ends[1]);
}
