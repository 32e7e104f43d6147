// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/link/zap.h"

#include "base/log.h"

#include <string.h>

enum { PART_VERSION, PART_ID, PART_DOMAIN, PART_ADDRESS, PART_IDENTITY, PART_MECHANISM, PART_KEY };

static bool equals(const struct zap_part *part, const char *text)
{
    return part->size == strlen(text) && memcmp(part->data, text, part->size) == 0;
}

int zap_read(const struct zap_part *parts, size_t count, struct zap_request *r)
{
    if (count < PART_MECHANISM + 1 || !equals(&parts[PART_VERSION], "1.0"))
        return BEZEL_EMALFORMED;
    *r = (struct zap_request){.version = parts[PART_VERSION], .id = parts[PART_ID], .domain = parts[PART_DOMAIN]};
    const struct zap_part *address = &parts[PART_ADDRESS];
    size_t n = address->size < sizeof r->address ? address->size : sizeof r->address - 1;
    memcpy(r->address, address->data, n);
    r->curve = equals(&parts[PART_MECHANISM], "CURVE") && count == ZAP_PARTS && parts[PART_KEY].size == KEY_BYTES;
    if (r->curve)
        memcpy(r->key, parts[PART_KEY].data, KEY_BYTES);
    return 0;
}

void zap_decide(const struct zap_request *request, struct keyring *ring, int64_t now, struct zap_answer *answer)
{
    struct keyring_key known;
    char code[KEY_Z85 + 1];
    _Static_assert(sizeof code <= sizeof answer->user, "a user id is a key");
    *answer = (struct zap_answer){.status = "400", .text = "not a known key"};
    if (!request->curve || !ring)
        return;
    keyring_look(ring, now);
    key_to_z85(request->key, code);
    if (keyring_find(ring, request->key, &known) != 0) {
        log_warn("BEZEL-KEY-UNKNOWN", "a peer at %s was not admitted: its public key %s is not in the folder of keys",
                 request->address, code);
        return;
    }
    answer->status = "200";
    answer->text = "OK";
    memcpy(answer->user, code, sizeof code);
}

int zap_key(const char *user, uint8_t key[KEY_BYTES])
{
    return user && strlen(user) == KEY_Z85 ? key_from_z85(user, key) : BEZEL_EMALFORMED;
}
