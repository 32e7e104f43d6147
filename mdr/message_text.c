// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Apart from the codec of messages, which needs libtirpc: the external sensor uses it without one. */
#include "base/utf8.h"
#include "mdr/parts.h"

void message_text(char *to, size_t max, const char *from)
{
    utf8_repair(to, max, from);
}
