// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Clients that take what they like, when they like: of each channel they get records in order, the newest one in the
 * end, however busy the others are; and what each was sent and what it missed are all that came since it subscribed.
 */
#include "mediators/foxglove/foxglove_clients.h"
#include "base/err.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

enum { CHANNELS = 6, CLIENTS = 4, STEPS = 4000, ROUNDS = 30 };

static struct {
    bool on, had;             /* subscribed; a record since then */
    uint64_t came, got, last; /* records that came since it subscribed, and that it got; the last one's number */
    uint64_t newest_before;   /* number of the newest one when it subscribed; 0: none */
} model[CLIENTS + 1][CHANNELS];

static uint64_t seed, number, clock_told[CLIENTS + 1];
static size_t room[CLIENTS + 1]; /* frames that its queue takes now */
static size_t said;              /* warnings */

int __wrap_web_send(struct web *w, uint32_t page, const void *bytes, size_t n, bool text);
bool __wrap_web_has_room(struct web *w, uint32_t page);

static uint64_t number_in(const uint8_t *bytes, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)bytes[i] << 8 * i;
    return v;
}

static void take_record(uint32_t page, const uint8_t *bytes, size_t n)
{
    uint64_t channel = number_in(bytes + 1, 4) - 100, at = number_in(bytes + 5, 8), is = number_in(bytes + 13, 8);
    assert_int_equal(n, 21);
    assert_true(channel < CHANNELS && model[page][channel].on);
    assert_true(clock_told[page] >= at); /* it shows the record no earlier than it was */
    assert_true(is > model[page][channel].last);
    model[page][channel].last = is;
    model[page][channel].got += is > model[page][channel].newest_before;
}

int __wrap_web_send(struct web *w, uint32_t page, const void *bytes, size_t n, bool text)
{
    const uint8_t *b = bytes;
    (void)w;
    if (room[page] == 0)
        return BEZEL_EAGAIN;
    room[page]--;
    said += text && memmem(bytes, n, "dropped", 7);
    if (!text && b[0] == 2) {
        assert_true(number_in(b + 1, 8) > clock_told[page]);
        clock_told[page] = number_in(b + 1, 8);
    } else if (!text)
        take_record(page, b, n);
    return 0;
}

bool __wrap_web_has_room(struct web *w, uint32_t page)
{
    (void)w;
    return room[page] > 4;
}

static void tell(struct foxglove_clients *c, enum web_event_kind kind, uint32_t page, const char *text)
{
    foxglove_clients_take(c, &(struct web_event){kind, page, text ? strdup(text) : NULL, text ? strlen(text) : 0});
}

static void subscribe(struct foxglove_clients *c, uint32_t page, size_t channel)
{
    char text[128];
    snprintf(text, sizeof text, "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":%zu,\"channelId\":%zu}]}",
             channel + 100, channel);
    tell(c, WEB_TEXT, page, text);
    memset(&model[page][channel], 0, sizeof model[page][channel]);
    model[page][channel].on = true;
    const struct grow_bytes *newest = &c->channels->list[channel].newest;
    model[page][channel].newest_before = newest->n ? number_in(newest->at + 13, 8) : 0;
}

static void give(struct foxglove_clients *c, size_t channel)
{
    struct foxglove_channel *of = &c->channels->list[channel];
    of->newest.n = 0;
    of->time = (int64_t)(1000 + number - seed_next(&seed) % 3); /* a record may come late */
    mcap_uint(&of->newest, 1, 5);
    mcap_uint(&of->newest, (uint64_t)of->time, 8);
    mcap_uint(&of->newest, ++number, 8);
    for (uint32_t page = 1; page <= CLIENTS; page++)
        model[page][channel].came += model[page][channel].on;
    foxglove_clients_give(c, channel, false);
}

static void step(struct foxglove_clients *c)
{
    uint32_t page = 1 + (uint32_t)(seed_next(&seed) % CLIENTS);
    size_t channel = seed_next(&seed) % CHANNELS;
    room[page] += seed_next(&seed) % (2 * page); /* the last one takes most */
    if (seed_next(&seed) % 64 == 0 && !model[page][channel].on)
        subscribe(c, page, channel);
    if (seed_next(&seed) % 4 == 0)
        (void)foxglove_clients_serve(c);
    give(c, seed_next(&seed) % 8 ? 0 : seed_next(&seed) % CHANNELS); /* one of them is busy */
}

static void check_end(struct foxglove_clients *c)
{
    for (uint32_t page = 1; page <= CLIENTS; page++)
        room[page] = 1000;
    assert_false(foxglove_clients_serve(c));
    for (uint32_t page = 1; page <= CLIENTS; page++) {
        uint64_t came = 0, got = 0;
        for (size_t i = 0; i < CHANNELS; i++) {
            const struct grow_bytes *newest = &c->channels->list[i].newest;
            came += model[page][i].came;
            got += model[page][i].got;
            if (model[page][i].on && newest->n)
                assert_int_equal(model[page][i].last, number_in(newest->at + 13, 8));
        }
        assert_int_equal(got + c->list[page - 1].missed, came);
    }
}

static struct foxglove_channel list[CHANNELS];
static struct foxglove_channels channels = {.list = list, .count = CHANNELS};
static struct foxglove_clients clients = {.channels = &channels, .name = "n", .session = "s"};

static void begin(void)
{
    memset(model, 0, sizeof model);
    memset(clock_told, 0, sizeof clock_told);
    number = clients.missed = 0;
    for (uint32_t page = 1; page <= CLIENTS; page++) {
        room[page] = 10;
        tell(&clients, WEB_OPENED, page, NULL);
    }
    assert_false(foxglove_clients_serve(&clients));
}

static void end(void)
{
    foxglove_clients_fini(&clients);
    for (size_t i = 0; i < CHANNELS; i++) {
        free(list[i].newest.at);
        list[i].newest = (struct grow_bytes){.at = NULL};
    }
}

TEST(clients_get_the_newest_of_each_channel_and_every_miss_is_counted)
{
    uint64_t missed = 0;
    seed = seed_start();
    for (int round = 0; round < ROUNDS; round++) {
        begin();
        for (int i = 0; i < STEPS; i++)
            step(&clients);
        check_end(&clients);
        missed += clients.missed;
        end();
    }
    assert_true(missed > 0 && said > 0); /* else nothing was tried */
}

/* All channels are busy, and there is room for one record at a time: each has its turn. */
TEST(no_channel_waits_for_others_for_ever)
{
    uint64_t got[CHANNELS] = {0};
    begin();
    for (size_t i = 0; i < CHANNELS; i++)
        subscribe(&clients, 1, i);
    for (int turn = 0; turn < 10 * CHANNELS; turn++) {
        room[1] = 0;
        for (size_t i = 0; i < CHANNELS; i++)
            give(&clients, i);
        room[1] = 3; /* what it missed, the time, and a record */
        assert_true(foxglove_clients_serve(&clients));
        if (turn % CHANNELS == CHANNELS - 1)
            for (size_t i = 0; i < CHANNELS; i++) {
                assert_true(model[1][i].got > got[i]);
                got[i] = model[1][i].got;
            }
    }
    end();
}
