// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Linked into a daemon with --wrap, makes it one of a later version, whose messages name that version. As every
 * version, it reads no message of another one but REFUSE. With SILENT in the environment it drops them without an
 * answer, as version 1 did.
 */
#include "base/bytes.h"
#include "mdr/message.h"

#include <stdlib.h>
#include <string.h>

enum { OTHER_VERSION = MESSAGE_VERSION + 1 };

int __real_message_encode(const struct message *m, uint8_t *out, size_t capacity);
int __real_message_decode(const void *in, size_t n, struct message *m);
int __wrap_message_encode(const struct message *m, uint8_t *out, size_t capacity);
int __wrap_message_decode(const void *in, size_t n, struct message *m);

int __wrap_message_encode(const struct message *m, uint8_t *out, size_t capacity)
{
    int size = __real_message_encode(m, out, capacity);
    if (size > 4)
        bytes_put_u32(out + 4, OTHER_VERSION);
    return size;
}

int __wrap_message_decode(const void *in, size_t n, struct message *m)
{
    static uint8_t copy[MESSAGE_MAX_BYTES];
    if (n < 8 || n > sizeof copy)
        return BEZEL_EMALFORMED;
    memcpy(copy, in, n);
    bool own = bytes_get_u32(copy + 4) == OTHER_VERSION;
    bytes_put_u32(copy + 4, own ? MESSAGE_VERSION : OTHER_VERSION);
    int err = __real_message_decode(copy, n, m);
    if (err == BEZEL_EVERSION && getenv("SILENT"))
        return BEZEL_EMALFORMED;
    if (err == BEZEL_EVERSION)
        strcpy(m->refuse.reason, "messages of version 2 were sent to a part of Bezel that reads version 3: install the "
                                 "same version of Bezel on both sides");
    return err;
}
