// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Rules on aspects: which one counts, and that the enable words of processes follow them. */
#include "sensor/external/aspect_rules.h"
#include "bezel/sensor.h"
#include "mdr/parts.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

BEZEL_ASPECT(frame_sent, (int64, number, "1"));
BEZEL_ASPECT(frame_shown, (int64, number, "1"));
BEZEL_ASPECT(debug, (int64, number, "1"));

static struct aspect_rules rules;

/* ---- Rules ------------------------------------------------------------------------------------------------------- */

static void add(const char *pattern, enum segment_enable mode)
{
    assert_int_equal(aspect_rules_add(&rules, pattern, mode), 0);
}

static void without_a_rule_everything_is_recorded(void **state)
{
    (void)state;
    rules.count = 0;
    assert_int_equal(aspect_rules_mode(&rules, "frame_shown"), SEGMENT_RECORD);
}

static void what_was_said_last_counts(void **state)
{
    (void)state;
    rules.count = 0;
    add("frame_*", SEGMENT_DISABLED);
    add("*_shown", SEGMENT_COUNT);
    assert_int_equal(aspect_rules_mode(&rules, "frame_sent"), SEGMENT_DISABLED);
    assert_int_equal(aspect_rules_mode(&rules, "frame_shown"), SEGMENT_COUNT);
    assert_int_equal(aspect_rules_mode(&rules, "debug"), SEGMENT_RECORD);
    add("frame_*", SEGMENT_RECORD);
    assert_int_equal(aspect_rules_mode(&rules, "frame_shown"), SEGMENT_RECORD);
    assert_int_equal(rules.count, 2); /* in the place of the first */
    add("*", SEGMENT_COUNT);
    assert_int_equal(rules.count, 1);
    assert_int_equal(aspect_rules_mode(&rules, "frame_shown"), SEGMENT_COUNT);
}

static void rules_are_bounded_and_what_is_none_changes_nothing(void **state)
{
    char pattern[MESSAGE_NAME_MAX + 2];
    (void)state;
    rules.count = 0;
    for (int i = 0; i < ASPECT_RULES_MAX; i++) {
        snprintf(pattern, sizeof pattern, "a%d", i);
        add(pattern, SEGMENT_COUNT);
    }
    assert_int_equal(aspect_rules_add(&rules, "b", SEGMENT_DISABLED), BEZEL_EFULL);
    assert_int_equal(aspect_rules_mode(&rules, "b"), SEGMENT_RECORD);
    add("a7", SEGMENT_DISABLED); /* in the place of another */
    assert_int_equal(aspect_rules_mode(&rules, "a7"), SEGMENT_DISABLED);
    add("*", SEGMENT_RECORD);
    assert_int_equal(aspect_rules_mode(&rules, "a7"), SEGMENT_RECORD);
    assert_int_equal(aspect_rules_add(&rules, "", SEGMENT_DISABLED), BEZEL_EINVAL);
    memset(pattern, 'a', sizeof pattern);
    pattern[MESSAGE_NAME_MAX + 1] = '\0';
    assert_int_equal(aspect_rules_add(&rules, pattern, SEGMENT_DISABLED), BEZEL_EINVAL);
    pattern[MESSAGE_NAME_MAX] = '\0';
    add(pattern, SEGMENT_DISABLED);
    assert_int_equal(aspect_rules_mode(&rules, pattern), SEGMENT_DISABLED);
    assert_int_equal(rules.count, 2);
}

/* Against all that was ever said, looked through from its end. */
static void any_order_of_rules_is_that_of_saying(void **state)
{
    enum { ROUNDS = 300, SAID = 40 };
    static const char *const patterns[] = {"*", "a*", "*b", "a?b", "ab", "[a-c]*", "[!a]*", "??", "*a*b*", "x"};
    static const char *const names[] = {"a", "b", "ab", "aab", "abb", "x", "ba", "cab", "y_z"};
    uint64_t *seed = *state;
    for (int round = 0; round < ROUNDS; round++) {
        struct {
            const char *pattern;
            enum segment_enable mode;
        } said[SAID];
        rules.count = 0;
        for (int n = 0; n < SAID; n++) {
            said[n].pattern = patterns[seed_next(seed) % (sizeof patterns / sizeof *patterns)];
            said[n].mode = (enum segment_enable)(seed_next(seed) % 3);
            add(said[n].pattern, said[n].mode);
            for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                enum segment_enable expected = SEGMENT_RECORD;
                for (int k = 0; k <= n; k++)
                    if (fnmatch(said[k].pattern, names[i], 0) == 0)
                        expected = said[k].mode;
                assert_int_equal(aspect_rules_mode(&rules, names[i]), expected);
            }
        }
        assert_true(rules.count <= sizeof patterns / sizeof *patterns);
    }
}

static void a_rule_never_allows_more_than_collection_does(void **state)
{
    static const enum segment_enable table[3][3] = {
        /* wanted:            DISABLED          RECORD            COUNT */
        [SEGMENT_DISABLED] = {SEGMENT_DISABLED, SEGMENT_DISABLED, SEGMENT_DISABLED},
        [SEGMENT_RECORD] = {SEGMENT_DISABLED, SEGMENT_RECORD, SEGMENT_COUNT},
        [SEGMENT_COUNT] = {SEGMENT_DISABLED, SEGMENT_COUNT, SEGMENT_COUNT},
    };
    (void)state;
    for (int allowed = 0; allowed < 3; allowed++)
        for (int wanted = 0; wanted < 3; wanted++)
            assert_int_equal(aspect_rules_combine((enum segment_enable)allowed, (enum segment_enable)wanted),
                             table[allowed][wanted]);
}

/* ---- Processes --------------------------------------------------------------------------------------------------- */

static const char *const aspects[] = {"frame_sent", "frame_shown", "debug"};
enum { ASPECTS = sizeof aspects / sizeof *aspects };

static uint64_t read_records[ASPECTS];

static void count_record(struct fixture *f, const struct packet_header *h, const struct packet_record *r,
                         const char *aspect)
{
    (void)f, (void)h, (void)r;
    for (int i = 0; i < ASPECTS; i++)
        read_records[i] += strcmp(aspect, aspects[i]) == 0;
}

/* Records all three aspects, each as often as a byte comes over the pipe says times ten, and says so. */
static void record_when_told(void *pipes)
{
    int *fds = pipes;
    unsigned char times;
    bezel_thread_init(0);
    while (read(fds[0], &times, 1) == 1 && times > 0) {
        for (int i = 0; i < times * 10; i++) {
            bezel_record(frame_sent, i);
            bezel_record(frame_shown, i);
            bezel_record(debug, i);
        }
        if (write(fds[1], &times, 1) != 1)
            return;
    }
}

struct writer {
    int to[2], from[2];
    pid_t pid;
};

static void start_writer(struct writer *w)
{
    assert_int_equal(pipe(w->to), 0);
    assert_int_equal(pipe(w->from), 0);
    int *fds = (int[]){w->to[0], w->from[1]};
    w->pid = fixture_spawn(record_when_told, fds);
}

static void let_write(struct writer *w, unsigned char times)
{
    unsigned char done = 0;
    assert_int_equal(write(w->to[1], &times, 1), 1);
    if (times > 0)
        assert_int_equal(read(w->from[0], &done, 1), 1);
    assert_int_equal(done, times);
}

static void end_writer(struct writer *w)
{
    let_write(w, 0);
    assert_int_equal(fixture_wait(w->pid), 0);
    for (int i = 0; i < 2; i++) {
        close(w->to[i]);
        close(w->from[i]);
    }
}

static bool is_known(struct fixture *f)
{
    const struct external_process *p = external_process_count(f->external) ? external_process(f->external, 0) : NULL;
    return p && p->at->dict && p->at->dict->aspect_count >= ASPECTS;
}

static uint64_t lost_off(struct fixture *f, const char *aspect, uint64_t *attempts)
{
    struct attached *a = external_process(f->external, 0)->at;
    for (uint32_t id = 1; id <= a->dict->aspect_count; id++)
        if (strcmp(a->dict->aspects[id - 1].name, aspect) == 0) {
            struct message_books_row row = segment_tally(a, id);
            *attempts = row.attempts;
            return row.off;
        }
    fail_msg("no aspect %s", aspect);
    return 0;
}

static bool all_is_read(struct fixture *f)
{
    uint64_t expected = 0;
    for (int i = 0; i < ASPECTS; i++) {
        uint64_t attempts = 0, off = lost_off(f, aspects[i], &attempts);
        expected += attempts - off;
    }
    return f->records == expected;
}

static void assert_aspect(struct fixture *f, int i, uint64_t attempts, uint64_t off)
{
    uint64_t had, lost = lost_off(f, aspects[i], &had);
    assert_int_equal(had, attempts);
    assert_int_equal(lost, off);
    assert_int_equal(read_records[i], attempts - off);
}

static void processes_follow_the_rules_as_they_change(void **state)
{
    (void)state;
    struct fixture f = {.options = {.batch = true, .take_all = true, .rules = &rules}, .record = count_record};
    struct writer w;
    memset(read_records, 0, sizeof read_records);
    rules.count = 0;
    add("frame_shown", SEGMENT_COUNT);
    add("debug", SEGMENT_DISABLED);
    fixture_open(&f);
    start_writer(&w);
    let_write(&w, 1); /* it may record some before it is seen */
    fixture_until(&f, is_known);
    fixture_until(&f, all_is_read);
    uint64_t before[ASPECTS], off_before[ASPECTS];
    for (int i = 0; i < ASPECTS; i++)
        off_before[i] = lost_off(&f, aspects[i], &before[i]);
    let_write(&w, 2);
    fixture_until(&f, all_is_read);
    assert_aspect(&f, 0, before[0] + 20, off_before[0]);
    assert_aspect(&f, 1, before[1] + 20, off_before[1] + 20);
    assert_aspect(&f, 2, before[2], off_before[2]);

    external_collect(f.external, false); /* off is off, and the rest is counted */
    let_write(&w, 3);
    assert_aspect(&f, 0, before[0] + 50, off_before[0] + 30);
    assert_aspect(&f, 1, before[1] + 50, off_before[1] + 50);
    assert_aspect(&f, 2, before[2], off_before[2]);

    external_collect(f.external, true);
    add("*", SEGMENT_RECORD);
    add("frame_sent", SEGMENT_DISABLED);
    external_set_rules(f.external);
    let_write(&w, 1);
    fixture_until(&f, all_is_read);
    assert_aspect(&f, 0, before[0] + 50, off_before[0] + 30);
    assert_aspect(&f, 1, before[1] + 60, off_before[1] + 50);
    assert_aspect(&f, 2, before[2] + 10, off_before[2]);
    end_writer(&w);
    fixture_end(&f);
}

enum { LATER = 100 };

/* The aspects of libraries that are loaded later, say. */
static void declare_later(void *pipes)
{
    static struct bezel_aspect later[LATER];
    static char names[LATER][20];
    int *fds = pipes;
    unsigned char byte;
    bezel_record(frame_sent, 1);
    for (int i = 0; read(fds[0], &byte, 1) == 1 && byte && i < LATER; i++) {
        snprintf(names[i], sizeof names[i], "debug_%d", i);
        later[i] = (struct bezel_aspect){.enable = &bezel_enable_unset, .name = names[i]};
        bezel_aspect_register(&later[i]);
        if (write(fds[1], &byte, 1) != 1)
            return;
    }
}

static uint32_t wanted_count;

static bool has_as_many(struct fixture *f)
{
    const struct external_process *p = external_process_count(f->external) ? external_process(f->external, 0) : NULL;
    return p && p->at->dict && p->at->dict->aspect_count >= wanted_count;
}

static void aspects_that_come_later_follow_too(void **state)
{
    (void)state;
    struct fixture f = {.options = {.batch = true, .take_all = true, .rules = &rules}};
    struct writer w;
    rules.count = 0;
    add("debug_*", SEGMENT_DISABLED);
    fixture_open(&f);
    assert_int_equal(pipe(w.to), 0);
    assert_int_equal(pipe(w.from), 0);
    w.pid = fixture_spawn(declare_later, (int[]){w.to[0], w.from[1]});
    for (uint32_t i = 0; i < LATER; i++) {
        let_write(&w, 1);
        wanted_count = ASPECTS + 1 + i;
        fixture_until(&f, has_as_many);
        const struct attached *a = external_process(f.external, 0)->at;
        for (uint32_t id = 1; id <= a->dict->aspect_count; id++) {
            bool ruled = strncmp(a->dict->aspects[id - 1].name, "debug_", 6) == 0;
            uint32_t word = *(volatile uint32_t *)&a->segment->enable[id] & ~(uint32_t)BEZEL_WAKE; /* it may rest */
            if (word != (ruled ? SEGMENT_DISABLED : SEGMENT_RECORD))
                fail_msg("after %u: %s does %u", i, a->dict->aspects[id - 1].name, word);
        }
    }
    end_writer(&w);
    fixture_end(&f);
}

static void record_as_bezeld(void *pipes)
{
    setenv("BEZEL_PROCESS", "bezeld", 1);
    record_when_told(pipes);
}

static void the_daemon_s_own_aspects_are_never_switched_off(void **state)
{
    (void)state;
    struct fixture f = {.options = {.batch = true, .take_all = true, .rules = &rules}, .record = count_record};
    struct writer w;
    memset(read_records, 0, sizeof read_records);
    rules.count = 0;
    add("*", SEGMENT_DISABLED);
    fixture_open(&f);
    assert_int_equal(pipe(w.to), 0);
    assert_int_equal(pipe(w.from), 0);
    w.pid = fixture_spawn(record_as_bezeld, (int[]){w.to[0], w.from[1]});
    let_write(&w, 1);
    fixture_until(&f, is_known);
    assert_int_equal(external_process(f.external, 0)->role, ROLE_DAEMON);
    let_write(&w, 1);
    fixture_until(&f, all_is_read);
    for (int i = 0; i < ASPECTS; i++)
        assert_aspect(&f, i, 20, 0);
    end_writer(&w);
    fixture_end(&f);
}

static void record_with_wishes(void *pipes)
{
    setenv("BEZEL_ASPECTS", " off:* count:frame_* never:debug  on:[d]* off:frame_sent frame_shown on:", 1);
    record_when_told(pipes);
}

static bool has_note(struct fixture *f, const char *code, const char *part)
{
    for (uint32_t i = 0; i < external_note_count(f->external); i++)
        if (strcmp(external_note(f->external, i)->code, code) == 0 && strstr(external_note(f->external, i)->text, part))
            return true;
    return false;
}

static bool wishes_are_told(struct fixture *f)
{
    return has_note(f, "BEZEL-ASPECTS", "never:debug") && has_note(f, "BEZEL-ASPECTS", "frame_shown is ignored");
}

static void a_process_does_at_first_what_its_environment_says(void **state)
{
    (void)state;
    struct fixture f = {.options = {.batch = true, .take_all = true}, .record = count_record};
    struct writer w;
    memset(read_records, 0, sizeof read_records);
    fixture_open(&f);
    assert_int_equal(pipe(w.to), 0);
    assert_int_equal(pipe(w.from), 0);
    w.pid = fixture_spawn(record_with_wishes, (int[]){w.to[0], w.from[1]});
    let_write(&w, 1); /* nobody has looked at it yet */
    fixture_until(&f, is_known);
    fixture_until(&f, all_is_read);
    assert_aspect(&f, 0, 0, 0);
    assert_aspect(&f, 1, 10, 10);
    assert_aspect(&f, 2, 10, 0);
    fixture_until(&f, wishes_are_told);
    let_write(&w, 1); /* without rules everything is recorded */
    fixture_until(&f, all_is_read);
    assert_aspect(&f, 0, 10, 0);
    assert_aspect(&f, 1, 20, 10);
    assert_aspect(&f, 2, 20, 0);
    end_writer(&w);
    fixture_end(&f);
}

/* The writer has set the word of its next aspect, and is about to publish the aspect. */
static void the_first_mode_of_an_aspect_that_is_being_declared_stays(void **state)
{
    (void)state;
    struct fixture f = {.options = {.batch = true, .take_all = true, .rules = &rules}, .record = count_record};
    struct writer w;
    rules.count = 0;
    fixture_open(&f);
    start_writer(&w);
    let_write(&w, 1);
    fixture_until(&f, is_known);
    const struct attached *a = external_process(f.external, 0)->at;
    volatile uint32_t *words = (volatile uint32_t *)a->segment->enable;
    words[a->dict->aspect_count + 1] = SEGMENT_COUNT;
    external_set_rules(f.external);
    assert_int_equal(words[a->dict->aspect_count + 1], SEGMENT_COUNT);
    end_writer(&w);
    fixture_end(&f);
}

static bool sheds_debug(const void *context, const char *name)
{
    (*(int *)(uintptr_t)context)++;
    return strncmp(name, "debug", 5) == 0;
}

static void what_is_shed_is_counted_where_the_rules_would_have_it_recorded(void **state)
{
    (void)state;
    int asked = 0;
    static struct aspect_rules s;
    s = (struct aspect_rules){.sheds = sheds_debug, .context = &asked};
    assert_int_equal(aspect_rules_add(&s, "debug_off", SEGMENT_DISABLED), 0);
    assert_int_equal(aspect_rules_wanted(&s, "debug_x"), SEGMENT_COUNT);
    assert_int_equal(aspect_rules_wanted(&s, "frame"), SEGMENT_RECORD);
    assert_int_equal(asked, 2);
    assert_int_equal(aspect_rules_wanted(&s, "debug_off"), SEGMENT_DISABLED);
    assert_int_equal(asked, 2);
    assert_int_equal(aspect_rules_mode(&s, "debug_x"), SEGMENT_RECORD);
}

int main(void)
{
    uint64_t seed = seed_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_shed_is_counted_where_the_rules_would_have_it_recorded),
        cmocka_unit_test(without_a_rule_everything_is_recorded),
        cmocka_unit_test(what_was_said_last_counts),
        cmocka_unit_test(rules_are_bounded_and_what_is_none_changes_nothing),
        cmocka_unit_test_prestate(any_order_of_rules_is_that_of_saying, &seed),
        cmocka_unit_test(a_rule_never_allows_more_than_collection_does),
        cmocka_unit_test(processes_follow_the_rules_as_they_change),
        cmocka_unit_test(aspects_that_come_later_follow_too),
        cmocka_unit_test(the_daemon_s_own_aspects_are_never_switched_off),
        cmocka_unit_test(a_process_does_at_first_what_its_environment_says),
        cmocka_unit_test(the_first_mode_of_an_aspect_that_is_being_declared_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
