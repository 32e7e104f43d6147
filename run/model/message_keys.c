// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/model/message_keys.h"

#include "base/hash.h"

#include <string.h>

/* The name of the other process, or of the channel; NULL: the record has none, or is not of `kind`. */
static const char *peer_of(const struct dict *d, const struct packet_record *r, enum dict_kind kind)
{
    if (!r || r->aspect == 0 || r->aspect > d->aspect_count || d->aspects[r->aspect - 1].kind != kind ||
        r->value_count < 2)
        return NULL;
    uint64_t id = packet_value(r, 0);
    return id && id <= d->string_count ? d->strings[id - 1] : NULL;
}

/*
 * Stands for message `tag` from process `from` to process `to`, or through channel `to` with `from` "". Messages are
 * often counted: up to 4,096 tags in a row have keys in a row, so that a table of them is read along memory.
 */
static uint64_t key_of(const char *from, const char *to, uint64_t tag)
{
    uint64_t h = hash_fnv64(HASH_FNV64_START, from, strlen(from) + 1), block = tag >> 12;
    h = hash_fnv64(h, to, strlen(to) + 1);
    h = hash_fnv64(h, &block, sizeof block) + (tag & 4095);
    return h ? h : 1;
}

int message_keys(const struct model_process *p, const struct packet_record *r, enum dict_kind kind, uint64_t keys[2])
{
    const char *peer = peer_of(p->dict, r, kind);
    if (!peer)
        return 0;
    uint64_t tag = packet_value(r, 1);
    keys[0] = kind == DICT_SENT ? key_of(p->name, peer, tag) : key_of(peer, p->name, tag);
    if (model_has_name(p->node->model, peer))
        return 1;
    keys[1] = key_of("", peer, tag);
    return 2;
}
