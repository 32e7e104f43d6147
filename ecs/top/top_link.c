// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/top/top_link.h"

void top_link_send(const struct top_state *s)
{
    (void)s;
}

bool top_link_receive(struct top_state *s)
{
    (void)s;
    return false;
}
