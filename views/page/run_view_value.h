// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A value of a record as JSON, and the key of a record. Pure. */
#ifndef BEZEL_VIEWS_PAGE_RUN_VIEW_VALUE_H
#define BEZEL_VIEWS_PAGE_RUN_VIEW_VALUE_H

#include "base/json.h"
#include "mdr/dict.h"
#include "mdr/packet.h"

/** A record's key: its first field, or where the first two are strings, both of them (page_request.h). */
int64_t run_view_key(const struct dict_aspect *a, const struct packet_record *r);

/** Writes a field: labels and strings as texts; integers that a double does not hold as text. */
void run_view_put_value(struct json *j, const char *key, const struct dict *d, const struct packet_record *r,
                        uint32_t i);

#endif
