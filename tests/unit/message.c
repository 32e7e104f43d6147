// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Messages: bounds, versions, and what other XDR decoders let through. The property test compares whole messages. */
#include "mdr/message.h"

#include "base/bytes.h"
#include "tests/lib/test.h"

#include <string.h>

static struct message m, back;
static uint8_t bytes[MESSAGE_MAX_BYTES + 8];

static size_t encoded(void)
{
    int n = message_encode(&m, bytes, sizeof bytes);
    assert_true(n > 0);
    assert_int_equal(n % 4, 0);
    return (size_t)n;
}

static void assert_spoilt(size_t n, size_t at, uint32_t v)
{
    uint32_t good = bytes_get_u32(bytes + at);
    bytes_put_u32(bytes + at, v);
    assert_int_equal(message_decode(bytes, n, &back), BEZEL_EMALFORMED);
    bytes_put_u32(bytes + at, good);
    assert_int_equal(message_decode(bytes, n, &back), 0);
}

TEST(a_constant_message_is_encoded)
{
    static const struct message hello = {
        .type = MESSAGE_HELLO,
        .hello = {.node = "desk1", .realtime_offset = -5, .pid = 7, .attempt = UINT64_C(1) << 40}};
    int n = message_encode(&hello, bytes, sizeof bytes);
    assert_int_equal(n, 4 + 4 + 4 + 3 * 16 + 4 + 8 + 8 + 4 + 8);
    assert_int_equal(message_decode(bytes, (size_t)n, &back), 0);
    assert_int_equal(back.type, MESSAGE_HELLO);
    assert_string_equal(back.hello.node, "desk1");
    assert_int_equal(back.hello.realtime_offset, -5);
    assert_int_equal(back.hello.pid, 7);
    assert_int_equal(back.hello.attempt, UINT64_C(1) << 40);
}

TEST(any_alignment_is_decoded)
{
    m = (struct message){.type = MESSAGE_NEED_PROCESS, .need_process.instance = UINT64_C(0x0102030405060708)};
    size_t n = encoded();
    for (size_t shift = 1; shift < 8; shift++) {
        memmove(bytes + shift, bytes + shift - 1, n);
        assert_int_equal(message_decode(bytes + shift, n, &back), 0);
        assert_true(back.need_process.instance == m.need_process.instance);
    }
}

TEST(the_longest_message_fits_and_is_process)
{
    m = (struct message){.type = MESSAGE_PROCESS, .process.dictionary_bytes = MESSAGE_DICT_MAX};
    memset(m.process.name, 'n', MESSAGE_NAME_MAX);
    memset(m.process.program, 'p', MESSAGE_TEXT_MAX);
    memset(m.process.dictionary, 0xAA, MESSAGE_DICT_MAX);
    size_t n = encoded();
    assert_true(n <= MESSAGE_MAX_BYTES);
    assert_int_equal(message_decode(bytes, n, &back), 0);
    assert_memory_equal(back.process.dictionary, m.process.dictionary, MESSAGE_DICT_MAX);
    m = (struct message){.type = MESSAGE_WELCOME, .welcome.stream_count = MESSAGE_ROWS_MAX};
    assert_true(encoded() < n);
}

TEST(too_small_a_buffer_says_so)
{
    m = (struct message){.type = MESSAGE_REPLY,
                         .reply = {.id = 1, .state = DAEMON_ACTIVE, .text = "hello", .answer = ANSWER_NODE}};
    size_t n = encoded();
    for (size_t capacity = 0; capacity < n; capacity++)
        assert_int_equal(message_encode(&m, bytes, capacity), BEZEL_EFULL);
}

TEST(what_breaks_a_bound_is_not_encoded)
{
    m = (struct message){.type = MESSAGE_ACK, .ack.stream_count = MESSAGE_ROWS_MAX + 1};
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    m = (struct message){.type = MESSAGE_REFUSE};
    memset(m.refuse.reason, 'x', sizeof m.refuse.reason); /* no NUL */
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    memcpy(m.refuse.reason, "\xFF", 2);
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    m = (struct message){.type = MESSAGE_COMMAND, .command.verb = (enum message_verb)(VERB_DISCARD + 1)};
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    m.command = (struct message_command){
        .verb = VERB_SET, .subject = SUBJECT_ASPECTS, .mode = (enum message_aspect_mode)(ASPECT_OFF + 1)};
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    m.command.mode = ASPECT_OFF;
    memset(m.command.patterns, 'x', sizeof m.command.patterns); /* no NUL */
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    m.command = (struct message_command){.verb = VERB_SET, .subject = SUBJECT_POLL, .poll = {.given = 16}};
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    m.command.poll = (struct message_poll){.given = POLL_GIVES_MODE, .mode = (enum message_poll_mode)2};
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    m.command.poll = (struct message_poll){.given = POLL_GIVES_MODE, .period_ns = 1}; /* said, and not given */
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    m.command = (struct message_command){.verb = VERB_SET, .subject = SUBJECT_KNOBS}; /* which */
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    m.command.knob = (struct message_knob){.action = KNOB_RESET, .name = "quality", .value = 1};
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    m.command = (struct message_command){.verb = VERB_SET, .subject = SUBJECT_STATE};
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    m.command = (struct message_command){.verb = VERB_SET, .subject = SUBJECT_POLL}; /* nothing is given */
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    m.command = (struct message_command){.verb = VERB_QUERY, .subject = SUBJECT_ASPECTS};
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    m.command = (struct message_command){.verb = VERB_SAVE, .save = {.number = 1}}; /* where */
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    m.command.save = (struct message_save){.node = "desk1"}; /* which */
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    m.command = (struct message_command){.verb = VERB_CONFIGURE};
    memset(m.configure.experiment, 'x', sizeof m.configure.experiment); /* no NUL */
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    m.configure.experiment[MESSAGE_EXPERIMENT_MAX] =
        '\0'; /* the longest there is, with all else as long as it may be */
    memset(m.envelope.node, 'x', MESSAGE_NAME_MAX);
    memset(m.configure.folder, 'x', MESSAGE_TEXT_MAX);
    memset(m.configure.collector, 'x', MESSAGE_TEXT_MAX);
    assert_true(message_encode(&m, bytes, sizeof bytes) > 0);
    m = (struct message){.type = MESSAGE_NOTE};
    memset(m.note.code, 'x', sizeof m.note.code); /* no NUL */
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    m = (struct message){.type = (enum message_type)14};
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
    m = (struct message){.type = (enum message_type)0};
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
}

static void assert_refused(const struct message *of)
{
    m = *of;
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
}

#define ASSERT_REFUSED(...)                                                                                            \
    do {                                                                                                               \
        static const struct message of = {__VA_ARGS__};                                                                \
        assert_refused(&of);                                                                                           \
    } while (0)

/* What one field says, another one must not deny. */
TEST(what_contradicts_itself_is_not_encoded)
{
    ASSERT_REFUSED(.type = MESSAGE_SETPOINT, .setpoint = {.needed = 1});
    ASSERT_REFUSED(.type = MESSAGE_SETPOINT, .setpoint = {.budget = 1});
    ASSERT_REFUSED(.type = MESSAGE_PARTIALS, .partials = {.count = 1, .list = {{.over = 1}}});
    ASSERT_REFUSED(.type = MESSAGE_PARTIALS, .partials = {.count = 1, .list = {{.state = PARTIAL_NONE, .buckets = 1}}});
    ASSERT_REFUSED(.type = MESSAGE_VALUES, .values = {.count = 1, .list = {{.state = PARTIAL_NONE, .age = 1}}});
    ASSERT_REFUSED(.type = MESSAGE_VALUES, .values = {.count = 1, .list = {{.state = PARTIAL_UNKNOWN, .high = 1}}});
    ASSERT_REFUSED(.type = MESSAGE_COMMAND, .command = {.verb = VERB_START, .start = {.process = "p"}});
    ASSERT_REFUSED(.type = MESSAGE_COMMAND, .command = {.verb = VERB_START, .start = {.incarnation = 1}});
    ASSERT_REFUSED(.type = MESSAGE_COMMAND, .command = {.verb = VERB_QUERY, .subject = SUBJECT_OUTPUT}); /* of which */
    ASSERT_REFUSED(.type = MESSAGE_LAUNCH, .launch = {.of = {.process = "p", .incarnation = 1}, .text_bytes = 3});
    ASSERT_REFUSED(.type = MESSAGE_LAUNCH,
                   .launch = {.of = {.process = "p", .incarnation = 1}, .arguments = 1, .text_bytes = 3});
}

/* An enum takes its last value, and no greater one. */
static void assert_last(const struct message *of, size_t at, uint32_t last)
{
    for (uint32_t above = 0; above < 2; above++) {
        const uint32_t value = last + above;
        m = *of;
        memcpy((uint8_t *)&m + at, &value, sizeof value);
        int n = message_encode(&m, bytes, sizeof bytes);
        if (above ? n != BEZEL_EINVAL : n <= 0)
            fail_msg("type %d: value %u of the enum at byte %zu comes to %d", (int)of->type, value, at, n);
    }
}

#define ASSERT_LAST(member, last, ...)                                                                                 \
    do {                                                                                                               \
        static const struct message of = {__VA_ARGS__};                                                                \
        assert_last(&of, offsetof(struct message, member), (last));                                                    \
    } while (0)
#define COMMAND(...) .type = MESSAGE_COMMAND, .command = {__VA_ARGS__}
#define REPLY(is)    .type = MESSAGE_REPLY, .reply = {.answer = (is)}

TEST(every_enum_ends_with_its_last_value)
{
    ASSERT_LAST(process.role, ROLE_DAEMON, .type = MESSAGE_PROCESS);
    ASSERT_LAST(books.state, PROCESS_LEFT, .type = MESSAGE_BOOKS);
    ASSERT_LAST(command.verb, VERB_DISCARD, COMMAND(.verb = VERB_STOP));
    ASSERT_LAST(command.subject, SUBJECT_SEGMENTS, COMMAND(.verb = VERB_QUERY));
    ASSERT_LAST(command.ending, END_KILL, COMMAND(.verb = VERB_ENDING));
    ASSERT_LAST(command.mode, ASPECT_OFF, COMMAND(.verb = VERB_SET, .subject = SUBJECT_ASPECTS));
    ASSERT_LAST(command.knob.action, KNOB_RESET,
                COMMAND(.verb = VERB_SET, .subject = SUBJECT_KNOBS, .knob = {.name = "k"}));
    ASSERT_LAST(command.poll.given, POLL_GIVES_ALL, COMMAND(.verb = VERB_SET, .subject = SUBJECT_POLL));
    ASSERT_LAST(command.poll.mode, POLL_MODE_BUSY_WAIT,
                COMMAND(.verb = VERB_SET, .subject = SUBJECT_POLL, .poll = {.given = POLL_GIVES_ALL}));
    ASSERT_LAST(command.poll.forward, POLL_FORWARD_COLLECT,
                COMMAND(.verb = VERB_SET, .subject = SUBJECT_POLL, .poll = {.given = POLL_GIVES_ALL}));
    ASSERT_LAST(reply.state, DAEMON_PAUSED, REPLY(ANSWER_REFUSED));
    ASSERT_LAST(reply.answer, ANSWER_SEGMENTS, REPLY(ANSWER_REFUSED));
    ASSERT_LAST(reply.polling.mode, POLL_MODE_BUSY_WAIT, REPLY(ANSWER_POLL));
    ASSERT_LAST(reply.polling.forward, POLL_FORWARD_COLLECT, REPLY(ANSWER_POLL));
    ASSERT_LAST(sessions.sessions[0].state, DAEMON_PAUSED, REPLY(ANSWER_SESSIONS), .sessions = {.count = 1});
    ASSERT_LAST(launched.rows[0].state, LAUNCHED_LOST, REPLY(ANSWER_PROCESSES),
                .launched = {.count = 1, .rows = {{.of = {.process = "p", .incarnation = 1}}}});
    ASSERT_LAST(observation.limits[0].state, MESSAGE_LIMIT_VIOLATED, .type = MESSAGE_OBSERVATION,
                .observation = {.limit_count = 1});
    ASSERT_LAST(setpoint.infeasible, MESSAGE_INFEASIBLE_GLOBAL, .type = MESSAGE_SETPOINT);
    ASSERT_LAST(partials.list[0].state, PARTIAL_WENT_ON, .type = MESSAGE_PARTIALS, .partials = {.count = 1});
    ASSERT_LAST(values.list[0].state, PARTIAL_KNOWN, .type = MESSAGE_VALUES, .values = {.count = 1});
    ASSERT_LAST(values.list[0].lack, LACK_LOST, .type = MESSAGE_VALUES, .values = {.count = 1});
    ASSERT_LAST(loop.lacking[0].lack, LACK_LOST, .type = MESSAGE_LOOP, .loop = {.count = 1});
    ASSERT_LAST(judgement.list[0].state, MESSAGE_LIMIT_OPEN, .type = MESSAGE_JUDGEMENT, .judgement = {.count = 1});
    ASSERT_LAST(launch.output, LAUNCH_OUTPUT_STDERR, .type = MESSAGE_LAUNCH,
                .launch = {.of = {.process = "p", .incarnation = 1}, .arguments = 1, .text_bytes = 4});
}

TEST(every_torn_or_longer_form_is_refused)
{
    m = (struct message){.type = MESSAGE_BOOKS, .books = {.instance = 3, .state = PROCESS_ENDED, .row_count = 2}};
    size_t n = encoded();
    memset(bytes + n, 0, 8);
    for (size_t cut = 0; cut <= n + 8; cut++)
        assert_int_equal(message_decode(bytes, cut, &back), cut == n ? 0 : BEZEL_EMALFORMED);
    assert_int_equal(message_decode(bytes, (size_t)MESSAGE_MAX_BYTES + 1, &back), BEZEL_EMALFORMED);
}

TEST(another_version_is_told_from_nonsense)
{
    m = (struct message){.type = MESSAGE_BYE};
    size_t n = encoded();
    assert_int_equal(n, 12);
    assert_spoilt(n, 0, 0xC1FC1FC1);
    bytes_put_u32(bytes + 4, 3);
    assert_int_equal(message_decode(bytes, n, &back), BEZEL_EVERSION);
    assert_int_equal(message_decode(bytes, 8, &back), BEZEL_EVERSION); /* whatever its body is */
    assert_int_equal(back.type, MESSAGE_REFUSE);
    assert_string_equal(back.refuse.reason, "messages of version 3 were sent to a part of Bezel that reads version 2: "
                                            "install the same version of Bezel on both sides");
    bytes_put_u32(bytes + 4, UINT32_MAX);
    assert_int_equal(message_decode(bytes, n, &back), BEZEL_EVERSION);
    assert_non_null(strstr(back.refuse.reason, "version 4294967295 were"));
}

/* Or the refused side could not say why. */
TEST(a_refusal_is_read_whatever_its_version_is)
{
    m = (struct message){.type = MESSAGE_REFUSE, .refuse.reason = "install the same version"};
    size_t n = encoded();
    for (uint32_t version = 0; version < 5; version++) {
        bytes_put_u32(bytes + 4, version);
        assert_int_equal(message_decode(bytes, n, &back), version == MESSAGE_VERSION ? 0 : BEZEL_EVERSION);
        assert_int_equal(back.type, MESSAGE_REFUSE);
        assert_string_equal(back.refuse.reason, m.refuse.reason);
    }
    assert_int_equal(message_decode(bytes, n - 4, &back),
                     BEZEL_EVERSION); /* torn: the sender's version is what counts */
    assert_non_null(strstr(back.refuse.reason, "messages of version 4 were sent"));
}

TEST(what_libtirpc_lets_through_is_refused)
{
    m = (struct message){.type = MESSAGE_WELCOME, .welcome = {.credit_bytes = 1, .more = true}};
    size_t n = encoded();
    assert_spoilt(n, 8, 12); /* type */
    assert_spoilt(n, 8, UINT32_MAX);
    assert_spoilt(n, 20, 7); /* bool */
    assert_spoilt(n, 44, MESSAGE_ROWS_MAX + 1);
    assert_spoilt(n, 44, UINT32_MAX);
    m = (struct message){.type = MESSAGE_REFUSE, .refuse.reason = "a"};
    n = encoded();
    assert_spoilt(n, 16, 0x61000001); /* padding */
    assert_spoilt(n, 12, 2);          /* NUL in a text */
    assert_spoilt(n, 12, 5);
    assert_spoilt(n, 16, 0xC3000000); /* half a character */
    m = (struct message){.type = MESSAGE_PROCESS, .process.role = ROLE_DAEMON};
    n = encoded();
    assert_spoilt(n, 28, ROLE_DAEMON + 1);
    assert_spoilt(n, 32, 2); /* bool */
    assert_spoilt(n, n - 4, MESSAGE_DICT_MAX + 1);
    enum {
        ENVELOPE = 12,
        COMMAND = ENVELOPE + 16 + 16 + 4 + 8,
        STATE = COMMAND + 4 + 8,
        VERB = STATE + 16,
        BODY = VERB + 4
    };
    m = (struct message){.type = MESSAGE_COMMAND, .command = {.verb = VERB_SET, .subject = SUBJECT_ASPECTS}};
    n = encoded();
    assert_int_equal(n, BODY + 3 * 4);
    assert_spoilt(n, ENVELOPE + 32, MESSAGE_NAME_MAX + 1);
    assert_spoilt(n, VERB, VERB_DISCARD + 1);
    assert_spoilt(n, VERB, VERB_SHUTDOWN); /* what only SET has is too much for another */
    assert_spoilt(n, BODY, SUBJECT_POLL);  /* too little behind it */
    assert_spoilt(n, BODY, SUBJECT_STATE); /* it cannot be set */
    assert_spoilt(n, BODY, SUBJECT_KNOBS + 1);
    assert_spoilt(n, BODY + 4, ASPECT_OFF + 1);
    assert_spoilt(n, n - 4, MESSAGE_PATTERNS_MAX + 1);
    m = (struct message){.type = MESSAGE_COMMAND, .command = {.verb = VERB_SHUTDOWN, .patterns = "not sent"}};
    n = encoded();
    assert_int_equal(n, BODY);
    assert_spoilt(n, VERB, VERB_SET); /* nothing behind it */
    m = (struct message){.type = MESSAGE_COMMAND, .command = {.verb = VERB_QUERY, .subject = SUBJECT_KNOBS}};
    n = encoded();
    assert_int_equal(n, BODY + 8);
    assert_spoilt(n, BODY, SUBJECT_POLL); /* its `from` is too much */
    assert_spoilt(n, BODY, SUBJECT_ASPECTS);
    m = (struct message){.type = MESSAGE_COMMAND,
                         .command = {.verb = VERB_SET, .subject = SUBJECT_POLL, .poll.given = 15}};
    n = encoded();
    assert_int_equal(n, BODY + 4 + 24);
    assert_spoilt(n, BODY, SUBJECT_ASPECTS);
    assert_spoilt(n, BODY + 4, 0);
    assert_spoilt(n, BODY + 4, 16);
    assert_spoilt(n, BODY + 16, POLL_MODE_BUSY_WAIT + 1);
    assert_spoilt(n, BODY + 20, POLL_FORWARD_COLLECT + 1);
    for (uint32_t given = 1; given <= POLL_GIVES_BATCH; given *= 2) { /* what is not given, but said */
        m.command.poll = (struct message_poll){.given = given};
        n = encoded();
        for (size_t at = BODY + 12; at < n; at += 4) {
            static const uint32_t says[] = {POLL_GIVES_PERIOD, POLL_GIVES_MODE, POLL_GIVES_FORWARD, POLL_GIVES_BATCH};
            if (given != says[(at - BODY - 12) / 4])
                assert_spoilt(n, at, 1);
        }
    }
    m = (struct message){
        .type = MESSAGE_COMMAND,
        .command = {.verb = VERB_SET, .subject = SUBJECT_KNOBS, .knob = {.name = "quality", .value = -1}}};
    n = encoded();
    assert_int_equal(n, BODY + 4 + 24);
    assert_spoilt(n, BODY + 4, KNOB_RESET); /* with a value */
    assert_spoilt(n, BODY + 4, KNOB_RESET + 1);
    assert_spoilt(n, BODY + 12, 0); /* no name: what follows is too much */
    m = (struct message){.type = MESSAGE_COMMAND,
                         .command = {.verb = VERB_SAVE, .save = {.number = 1, .node = "desk"}}};
    n = encoded();
    assert_int_equal(n, BODY + 40);
    assert_spoilt(n, BODY, 0);             /* no number */
    assert_spoilt(n, BODY + 8, 0);         /* no node: what follows is too much */
    assert_spoilt(n, VERB, VERB_SHUTDOWN); /* likewise */
    m = (struct message){.type = MESSAGE_COMMAND, .command.verb = VERB_CONFIGURE};
    n = encoded();
    assert_int_equal(n, BODY + 3 * 4);
    assert_spoilt(n, VERB, VERB_SHUTDOWN);
    assert_spoilt(n, n - 4, MESSAGE_EXPERIMENT_MAX + 1);
    assert_spoilt(n, n - 8, MESSAGE_TEXT_MAX + 1);
    assert_spoilt(n, n - 12, MESSAGE_TEXT_MAX + 1);
    m = (struct message){.type = MESSAGE_BOOKS, .books.state = PROCESS_LEFT};
    n = encoded();
    assert_spoilt(n, 20, PROCESS_LEFT + 1);
    assert_spoilt(n, n - 4, MESSAGE_BOOKS_MAX + 1);
    m = (struct message){.type = MESSAGE_NOTE};
    n = encoded();
    assert_spoilt(n, 24, MESSAGE_NAME_MAX + 1);
    assert_spoilt(n, 36, MESSAGE_NAME_MAX + 1);
    assert_spoilt(n, n - 4, MESSAGE_TEXT_MAX + 1);
    m = (struct message){.type = MESSAGE_REPLY, .reply.state = DAEMON_FAILED};
    n = encoded();
    assert_spoilt(n, STATE, DAEMON_PAUSED + 1);
    assert_spoilt(n, n - 4, ANSWER_SEGMENTS + 1);
    assert_spoilt(n, n - 4, ANSWER_KNOB_SET); /* nothing behind it */
    m.reply.answer = ANSWER_KNOB_SET;
    n = encoded();
    assert_int_equal(n, STATE + 4 + 12);
    assert_spoilt(n, n - 8, ANSWER_REFUSED); /* what is behind it is too much */
    m = (struct message){.type = MESSAGE_REPLY, .reply.answer = ANSWER_KNOBS};
    n = encoded();
    assert_spoilt(n, n - 4, MESSAGE_LISTED_MAX + 1);
    m = (struct message){.type = MESSAGE_REPLY, .reply.answer = ANSWER_POLL};
    n = encoded();
    assert_int_equal(n, STATE + 4 + 8 + 4 + 8 + 3 * 4 + 2 * 8);
    assert_spoilt(n, STATE + 4 + 8, 2); /* bool */
    assert_spoilt(n, STATE + 4 + 20, POLL_MODE_BUSY_WAIT + 1);
    assert_spoilt(n, STATE + 4 + 24, POLL_FORWARD_COLLECT + 1);
}

TEST(a_violation_that_there_is_not_has_no_details)
{
    enum {
        WAY = 4,  /* of packets, at the end */
        NAME = 4, /* an empty text */
    };
    m = (struct message){.type = MESSAGE_REPLY, .reply.answer = ANSWER_NODE};
    size_t n = encoded();
    assert_spoilt(n, n - WAY, MESSAGE_WAY_DIRECT + 1);
    assert_spoilt(n, n - WAY - 4, MESSAGE_FIRINGS_MAX + 1);
    m.reply.node.firing_count = 1;
    m.reply.node.firings[0] = (struct message_firing){.trigger = 2, .count = 1, .at = -3, .age = 4, .value = 0.5};
    n = encoded();
    assert_spoilt(n, n - WAY - NAME - 16, 0x80000000); /* younger than now */
    assert_spoilt(n, n - WAY - NAME - 28, 0);          /* it never fired */
    assert_int_equal(message_decode(bytes, n, &back), 0);
    assert_int_equal(back.reply.node.firings[0].at, -3);
    assert_true(back.reply.node.firings[0].value == 0.5);
    m.reply.node.firings[0].age = -1;
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
}

TEST(the_longest_list_of_knobs_fits)
{
    m = (struct message){.type = MESSAGE_REPLY, .reply.answer = ANSWER_KNOBS};
    memset(m.reply.text, 't', MESSAGE_TEXT_MAX);
    m.knobs.count = MESSAGE_LISTED_MAX;
    for (struct message_knob_state *k = m.knobs.knobs; k < m.knobs.knobs + MESSAGE_LISTED_MAX; k++) {
        memset(k->process, 'p', MESSAGE_NAME_MAX);
        memset(k->name, 'n', MESSAGE_NAME_MAX);
        memset(k->unit, 'u', MESSAGE_NAME_MAX);
    }
    size_t n = encoded();
    assert_int_equal(message_decode(bytes, n, &back), 0);
    assert_int_equal(back.knobs.count, MESSAGE_LISTED_MAX);
    assert_string_equal(back.knobs.knobs[MESSAGE_LISTED_MAX - 1].unit, m.knobs.knobs[0].unit);
    m.knobs.count++;
    assert_int_equal(message_encode(&m, bytes, sizeof bytes), BEZEL_EINVAL);
}

TEST(texts_from_outside_become_texts)
{
    char to[16];
    message_text(to, 7, "abc");
    assert_string_equal(to, "abc");
    message_text(to, 12,
                 "a\xFF\xC3"
                 "b");
    assert_string_equal(to, "a\\xFF\\xC3b");
    message_text(to, 12, "a\\xFF\\xC3b"); /* a text that came through here before */
    assert_string_equal(to, "a\\xFF\\xC3b");
    message_text(to, 7, "12345678");
    assert_string_equal(to, "1234567");
    message_text(to, 7, "123456\xC3\xA4");
    assert_string_equal(to, "123456");
    message_text(to, 4, "\xC3");
    assert_string_equal(to, "\\xC3");
    message_text(to, 3, "\xC3");
    assert_string_equal(to, "");
    message_text(to, 0, "x");
    assert_string_equal(to, "");
}
