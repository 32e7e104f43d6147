// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/owner.h"

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
