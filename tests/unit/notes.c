// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * What goes wrong inside a process comes out at the external sensor, as notes: once each, bounded, and also where the
 * process has ended, or the sensor began anew.
 */
#include "sensor/external/notes.h"
#include "base/clock.h"
#include "bezel/sensor.h"
#include "mdr/note.h"
#include "mdr/parts.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

BEZEL_ASPECT(plain, (int64, number, "1"));

static uint32_t count_notes(const struct fixture *f, const char *code)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < external_note_count(f->external); i++)
        n += strcmp(external_note(f->external, i)->code, code) == 0;
    return n;
}

static const struct message_note *note_of(const struct fixture *f, const char *code)
{
    for (uint32_t i = 0; i < external_note_count(f->external); i++)
        if (strcmp(external_note(f->external, i)->code, code) == 0)
            return external_note(f->external, i);
    fail_msg("nothing is said under %s", code);
    return NULL;
}

static void run(struct fixture *f, void (*body)(void *context))
{
    assert_int_equal(fixture_wait(fixture_spawn(body, f)), 0);
}

static const struct bezel_field number[] = {{BEZEL_TYPE_int64, "number", "1", NULL}};
static const struct bezel_field others[] = {{BEZEL_TYPE_int64, "another", "1", NULL}};

static void declare_twice_and_badly(void *unused)
{
    (void)unused;
    static struct bezel_aspect all[3];
    const char *const names[] = {"doubled", "doubled", "no name"};
    uint64_t values[BEZEL_FIELDS_MAX] = {0};
    for (int i = 0; i < 3; i++) {
        all[i] = (struct bezel_aspect){
            .enable = &bezel_enable_unset, .name = names[i], .field_count = 1, .fields = i == 1 ? others : number};
        bezel_aspect_register(&all[i]);
    }
    for (int i = 0; i < 3; i++)
        bezel_emit(&all[i], values);
}

TEST(aspects_that_cannot_be_are_reported)
{
    struct fixture f = {0};
    fixture_open(&f);
    pid_t pid = fixture_spawn(declare_twice_and_badly, NULL);
    assert_int_equal(fixture_wait(pid), 0);
    fixture_finish(&f);
    const struct message_note *twice = note_of(&f, "BEZEL-ASPECT-TWICE"), *bad = note_of(&f, "BEZEL-ASPECT-REFUSED");
    assert_int_equal(twice->pid, pid);
    assert_int_not_equal(twice->instance, 0);
    assert_int_equal(twice->instance, bad->instance);
    assert_non_null(strstr(twice->text, "doubled"));
    assert_non_null(strstr(bad->text, "no name"));
    assert_int_equal(external_note_count(f.external), 2);
    fixture_close(&f);
}

static void declare_a_long_unit(void *unused)
{
    (void)unused;
    static char unit[65];
    static struct bezel_field field = {.name = "length", .unit = unit};
    static struct bezel_aspect wrong = {
        .enable = &bezel_enable_unset, .name = "wrong", .field_count = 1, .fields = &field};
    const uint64_t value = 1;
    memset(unit, 'm', 64);
    bezel_aspect_register(&wrong);
    bezel_emit(&wrong, &value);
}

TEST(what_may_be_wrong_with_an_aspect_is_named)
{
    struct fixture f = {0};
    fixture_observe(&f, declare_a_long_unit);
    assert_non_null(strstr(note_of(&f, "BEZEL-ASPECT-REFUSED")->text, "a name, unit or label of it is not allowed"));
    fixture_close(&f);
}

static void intern_too_much(void *unused)
{
    (void)unused;
    bezel_record(plain, 1);
    for (int i = 0; i < 9000; i++) {
        char text[32];
        snprintf(text, sizeof text, "text number %d", i);
        (void)bezel_intern(text);
    }
}

TEST(strings_without_room_are_reported_but_not_each)
{
    struct fixture f = {0};
    fixture_open(&f);
    run(&f, intern_too_much);
    fixture_finish(&f);
    assert_in_range(count_notes(&f, "BEZEL-STRING-NO-ROOM"), 1, SEGMENT_NOTICES_A_CODE);
    fixture_close(&f);
}

enum { MANY = SEGMENT_RINGS_DEFAULT + 20 };
static pthread_barrier_t all_have_recorded;

static void *record_beside_others(void *unused)
{
    (void)unused;
    bezel_record(plain, 1);
    pthread_barrier_wait(&all_have_recorded);
    return NULL;
}

static void record_in_many_threads(void *unused)
{
    (void)unused;
    pthread_t threads[MANY];
    pthread_barrier_init(&all_have_recorded, NULL, MANY);
    for (int i = 0; i < MANY; i++)
        if (pthread_create(&threads[i], NULL, record_beside_others, NULL) != 0)
            _exit(1);
    for (int i = 0; i < MANY; i++)
        pthread_join(threads[i], NULL);
}

TEST(threads_without_rings_are_reported_once)
{
    struct fixture f = {0};
    fixture_open(&f);
    setenv("BEZEL_RING_RECORDS", "64", 1);
    run(&f, record_in_many_threads);
    unsetenv("BEZEL_RING_RECORDS");
    external_poll(f.external, clock_now());
    external_housekeep(f.external, clock_now());
    assert_int_equal(count_notes(&f, "BEZEL-RINGS-TAKEN"), 1);
    external_close(f.external, true); /* more streams than the fixture reads */
}

static void record_without_room(void *unused)
{
    (void)unused;
    struct rlimit small = {4096, 4096};
    if (setrlimit(RLIMIT_FSIZE, &small) != 0)
        _exit(1);
    setenv("BEZEL_PROCESS", "roomless", 1);
    bezel_record(plain, 1);
}

TEST(a_process_without_a_segment_is_reported_also_after_a_restart)
{
    struct fixture f = {0};
    fixture_open(&f);
    pid_t pid = fixture_spawn(record_without_room, NULL);
    assert_int_equal(fixture_wait(pid), 0);
    external_close(f.external, false); /* crashed before it looked */
    fixture_reopen(&f);
    for (int i = 0; i < 3; i++)
        fixture_turn(&f);
    const struct message_note *n = note_of(&f, "BEZEL-NO-SEGMENT");
    assert_int_equal(n->pid, pid);
    assert_int_equal(n->instance, 0);
    assert_string_equal(n->name, "roomless");
    assert_non_null(strstr(n->text, "File too large"));
    assert_int_equal(external_note_count(f.external), 1);
    fixture_close(&f);
}

static void be_without_room_often(void *context)
{
    for (int i = 0; i < 2 * DOORBELL_REFUSALS; i++)
        if (fixture_wait(fixture_spawn(record_without_room, context)) != 0)
            _exit(1);
}

TEST(of_many_without_a_segment_some_are_reported)
{
    struct fixture f = {0};
    fixture_open(&f);
    run(&f, be_without_room_often);
    for (int i = 0; i < 3; i++)
        fixture_turn(&f);
    assert_int_equal(count_notes(&f, "BEZEL-NO-SEGMENT"), DOORBELL_REFUSALS + 1);
    const struct message_note *last = external_note(f.external, external_note_count(f.external) - 1);
    assert_string_equal(last->name, "");
    assert_non_null(strstr(last->text, "counted in the books, without a note"));
    fixture_close(&f);
}

static void say_what_the_monitor_says(void *unused)
{
    static const char *const codes[] = {"BEZEL-CLOCK-GAP", "BEZEL-IMPORT-LOST", "BEZEL-OPEN-SPANS"};
    (void)unused;
    bezel_record(plain, 1);
    struct segment *s = fixture_own_segment();
    for (int i = 0; i < 3; i++) {
        snprintf(s->notices[i].code, sizeof s->notices[i].code, "%s", codes[i]);
        snprintf(s->notices[i].text, sizeof s->notices[i].text, "for 3 s");
        atomic_store(&s->notices[i].ready, 1);
    }
    atomic_store(&s->notice_count, 3);
}

/* Report and verify would name the monitor's cause for it. */
TEST(a_program_says_nothing_in_the_name_of_the_monitor)
{
    struct fixture f = {0};
    fixture_open(&f);
    run(&f, say_what_the_monitor_says);
    fixture_finish(&f);
    assert_string_equal(note_of(&f, "BEZEL-PROGRAM")->text, "BEZEL-CLOCK-GAP: for 3 s");
    assert_int_equal(count_notes(&f, "BEZEL-PROGRAM"), 2);
    assert_string_equal(note_of(&f, "BEZEL-OPEN-SPANS")->text, "for 3 s");
    assert_int_equal(external_note_count(f.external), 3);
    fixture_close(&f);
}

/* Else a new code would be a program's. */
TEST(what_libbezel_writes_is_in_the_list_of_its_codes)
{
    char code[SEGMENT_CODE_BYTES + 2];
    int n = 0;
    FILE *codes = popen("grep -rhoE '\"BEZEL-[A-Z-]+\"' " BEZEL_SOURCE_DIR "/sensor/internal " BEZEL_SOURCE_DIR
                        "/sensor/shm | tr -d '\"'",
                        "r");
    for (; codes && fscanf(codes, "%29s", code) == 1; n++)
        if (!note_is_libbezels(code))
            fail_msg("mdr/note.c lacks %s", code);
    assert_int_equal(pclose(codes), 0);
    assert_true(n > 12);
}

static void record_at_odd_times(void *unused)
{
    (void)unused;
    static struct bezel_aspect odd;
    odd = (struct bezel_aspect){.enable = &bezel_enable_unset, .name = "odd", .field_count = 1, .fields = number};
    uint64_t values[BEZEL_FIELDS_MAX] = {0}, now = bezel_ticks();
    bezel_aspect_register(&odd);
    bezel_emit_at(&odd, now, values);
    bezel_emit_at(&odd, now / 2, values); /* before its predecessor */
    bezel_emit_at(&odd, 2 * now, values); /* of the future */
}

TEST(times_that_cannot_be_are_reported)
{
    struct fixture f = {.options = {.batch = true}};
    fixture_open(&f);
    run(&f, record_at_odd_times);
    fixture_finish(&f);
    assert_int_equal(f.records, 3);
    assert_non_null(strstr(note_of(&f, "BEZEL-TIME")->text, "records were moved"));
    fixture_close(&f);
}

TEST(a_segment_that_another_reads_is_reported_once)
{
    struct fixture f = {0};
    fixture_open(&f);
    char from[128], to[128];
    struct stat st;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SEGMENT_LOCK_READER, .l_len = 1};
    snprintf(from, sizeof from, "%s/other", f.dir);
    snprintf(to, sizeof to, "%s/0000000000000001.seg", f.dir);
    int fd = open(from, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
    assert_int_equal(rename(from, to), 0);
    for (int i = 0; i < 5; i++)
        external_housekeep(f.external, clock_now() + i * 2 * CLOCK_S);
    const struct message_note *n = note_of(&f, "BEZEL-SEGMENT");
    assert_non_null(strstr(n->text, "0000000000000001.seg is not read: another bezeld reads it"));
    assert_string_equal(n->name, "");
    assert_int_equal(external_note_count(f.external), 1);
    close(fd);
    unlink(to);
    fixture_close(&f);
}

TEST(a_flood_is_bounded_and_says_so)
{
    struct fixture f = {0};
    fixture_open(&f);
    for (int i = 0; i < NOTES_MAX - 1; i++)
        notes_record(f.external, NULL, 7, "BEZEL-TEST", "number %d", i);
    assert_int_equal(external_note_count(f.external), NOTES_MAX - 1); /* one too many is enough to say so */
    for (int i = 0; i < 3 * NOTES_MAX; i++)
        for (int twice = 0; twice < 2; twice++)
            notes_record(f.external, NULL, 7, "BEZEL-TEST", "number %d", i);
    assert_int_equal(external_note_count(f.external), NOTES_MAX - 1);
    assert_string_equal(external_note(f.external, NOTES_MAX - 3)->text, "number 253");
    assert_string_equal(external_note(f.external, NOTES_MAX - 2)->code, "BEZEL-NOTES");
    for (int i = 0; i < 2; i++) /* this has its place, too */
        notes_record(f.external, NULL, 7, "BEZEL-SAME-NAME", "number %d", i);
    assert_int_equal(external_note_count(f.external), NOTES_MAX);
    assert_string_equal(external_note(f.external, NOTES_MAX - 1)->code, "BEZEL-NOTES-MORE");
    fixture_close(&f);
}

/* Such as of 1,000 commands of a shell that a preloaded library observes. */
TEST(notes_that_tell_of_no_missing_records_leave_room_for_those_that_do)
{
    struct fixture f = {0};
    fixture_open(&f);
    for (int i = 0; i < 1000; i++)
        notes_record(f.external, NULL, 7, "BEZEL-SAME-NAME", "number %d", i);
    assert_int_equal(external_note_count(f.external), NOTES_OF_A_CODE + 1);
    assert_string_equal(external_note(f.external, NOTES_OF_A_CODE - 1)->text, "number 63");
    assert_string_equal(external_note(f.external, NOTES_OF_A_CODE)->code, "BEZEL-NOTES-MORE");
    assert_non_null(strstr(external_note(f.external, NOTES_OF_A_CODE)->text, "BEZEL-SAME-NAME"));
    assert_true(notes_record(f.external, NULL, 7, "BEZEL-SEGMENT", "is not read"));
    assert_string_equal(external_note(f.external, NOTES_OF_A_CODE + 1)->code, "BEZEL-SEGMENT");
    fixture_close(&f);
}
