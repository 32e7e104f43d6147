// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "ecs/node_impl.h"
#include "ecs/self.h"

#include <stdio.h>

/* With others on this thread, and no limit that is lower, a poll of all that waits comes in slices. */
static bool comes_in_slices(const struct node *n)
{
    const struct message_poll *p = &n->polling.now;
    return n->slice != 0 && p->forward == POLL_FORWARD_BATCH && p->batch == 0;
}

bool node_poll(struct node *n, int64_t now)
{
    uint32_t done = external_poll(n->external, now);
    n->polled += done;
    if (comes_in_slices(n) && done >= n->slice) {
        n->poll_due = now; /* the others first */
        return true;
    }
    n->polls++;
    pace_poll(&n->pace, now);
    if (n->busy_wait)
        return done > 0; /* due again at once */
    int64_t period = n->policy.period;
    n->poll_due += period;
    if (n->poll_due <= now) /* polls that were missed are not made up for; the next is where it would have been */
        n->poll_due += ((now - n->poll_due) / period + 1) * period;
    return done > 0;
}

/* ---- What an operator changes ------------------------------------------------------------------------------------ */

static void limit_polls(struct node *n)
{
    const struct message_poll *p = &n->polling.now;
    bool low = p->batch != 0 && (n->slice == 0 || p->batch < n->slice);
    external_batch(n->external, p->forward == POLL_FORWARD_BATCH, low ? p->batch : n->slice);
}

void node_share(struct node *n, uint32_t slice)
{
    if (n->slice == slice)
        return;
    n->slice = slice;
    limit_polls(n);
}

static void carry_out(struct node *n, enum self_polling cause)
{
    const struct message_poll *now = &n->polling.now;
    n->busy_wait = now->mode == POLL_MODE_BUSY_WAIT;
    limit_polls(n);
    self_record_polling(n->self, cause, n->policy.period, now);
}

void node_poll_start(struct node *n)
{
    carry_out(n, n->polling.now.given ? SELF_POLLING_KEPT : SELF_POLLING_START);
}

/* What waits in the rings stays there: nothing is missed. */
static void change(struct node *n, const struct message_poll *order, int64_t now)
{
    if (order->given & POLL_GIVES_PERIOD) {
        n->policy.period = (int64_t)order->period_ns;
        agent_set_period(n->agent, n->policy.period);
        node_manager_overtake(n, now);
    }
    carry_out(n, SELF_POLLING_OPERATOR);
    if (n->busy_wait)
        n->poll_due = now;
    else if (n->poll_due > now + n->policy.period)
        n->poll_due = now + n->policy.period;
    pace_restart(&n->pace);
    node_stretch(n, now);
}

void node_poll_answer(struct node *n, const struct message_command *command, int64_t now, struct message_reply *reply)
{
    const struct message_poll *in_force = &n->polling.now;
    if (command->verb == VERB_POLL && command->poll.given) {
        if (polling_change(&n->polling, &command->poll, reply->text))
            change(n, &command->poll, now);
        else
            message_reply_add(reply, "refused", 1);
    }
    message_reply_add(reply, "poll_on", n->policy.on);
    message_reply_add(reply, "poll_period_ns", n->policy.period);
    message_reply_add(reply, "poll_mode", in_force->mode);
    message_reply_add(reply, "poll_forward", in_force->forward);
    message_reply_add(reply, "poll_batch", in_force->batch);
    message_reply_add(reply, "effective_ns", n->pace.mean);
    message_reply_add(reply, "effective_worst_ns", n->pace.worst);
}
