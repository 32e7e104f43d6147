// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** UUIDs as text: 36 characters, lower-case hexadecimal digits with '-' between them. */
#ifndef BEZEL_BASE_UUID_H
#define BEZEL_BASE_UUID_H

#include <stdbool.h>
#include <stdint.h>

/** Reads a UUID; false if `text` is none. Pure. */
bool uuid_read(const char *text, uint8_t id[16]);

/** Writes it. Returns `text`. Pure. */
char *uuid_print(const uint8_t id[16], char text[37]);

#endif
