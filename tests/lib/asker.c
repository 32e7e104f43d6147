// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Asks a bezeld for a session until it serves: asker CONTROL FILE NODE FOLDER UUID COLLECTOR [KEY SERVER] then prints
 * CONTROL. KEY is the file of its own secret key, SERVER of the bezeld's public one.
 */
#include "base/clock.h"
#include "base/file.h"
#include "tests/lib/begin.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static struct begin b;
    char *text;
    size_t n;
    if (argc != 7 && argc != 9)
        return 2;
    if (file_read(argv[2], MESSAGE_EXPERIMENT_MAX, &text, &n) != 0 ||
        !begin_fill(&b, text, argv[3], argv[4], argv[5], argv[6]))
        return 2;
    free(text);
    struct command_caller_access access = {argc == 9 ? argv[7] : NULL, argc == 9 ? argv[8] : NULL, NULL};
    bool serves = begin_ask(&b, argv[1], access) && begin_await(&b, 3600 * CLOCK_S);
    fprintf(serves ? stdout : stderr, "%s\n", serves ? argv[1] : b.message.reply.text);
    begin_close(&b);
    return serves ? 0 : 1;
}
