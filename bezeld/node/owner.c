// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/node/owner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum owner_claim owner_judge(struct message_leadership owner, struct message_leadership claim)
{
    if (claim.epoch == 0)
        return OWNER_OTHER;
    if (claim.epoch != owner.epoch)
        return claim.epoch > owner.epoch ? OWNER_NEWER : OWNER_FORMER;
    if (claim.holder != owner.holder)
        return claim.holder > owner.holder ? OWNER_NEWER : OWNER_FORMER;
    return OWNER_SAME;
}

void owner_file_init(struct state_file *f, const char *dir, const uint8_t run[16])
{
    state_file_init(f, dir, "owner", run, "which `bezel run` commands it");
}

void owner_save(const struct state_file *f, struct message_leadership owner)
{
    char text[64];
    snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 "\n", owner.epoch, owner.holder);
    state_file_write(f, text);
}

struct message_leadership owner_read(const struct state_file *f)
{
    struct message_leadership owner = {0};
    char *text = state_file_read(f);
    if (text && sscanf(text, "%" SCNu64 " %" SCNu64, &owner.epoch, &owner.holder) != 2)
        owner = (struct message_leadership){0};
    free(text);
    return owner;
}
