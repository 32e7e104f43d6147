// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A run is fetched from a server of files that keeps to nothing: whatever it answers, that ends with one sentence, and
 * nothing leaves the run directory. A disk here that is full ends it too, and it goes on when there is room.
 */
#include "ecs/course/fetch.h"

#include "base/file.h"
#include "base/uuid.h"
#include "bezeld/launch/launch_collector.h"
#include "ecs/course/rundir.h"
#include "mdr/command/command_server.h"
#include "mdr/run_file.h"
#include "run/rundb/rundb.h"
#include "run/rundb/rundb_live.h"
#include "tests/lib/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const uint8_t id[16] = {0xb0, 0xe1, [15] = 0xef};
static const char text[] = "experiment: away\n"
                           "nodes: {here: {}, store: {address: 'tcp://store.example:7767', key: box}}\n"
                           "processes: [{name: nav, node: here, command: nav}]\n"
                           "store: {keys: keys}\n"
                           "collector: {node: store}\n";

/* ---- a clock that can be moved, and a disk that can be full ------------------------------------------------------ */

static atomic_llong ahead;     /* ns */
static size_t room = SIZE_MAX; /* bytes that can still be written */
static size_t written;

int64_t __wrap_clock_now(void);
int64_t __real_clock_now(void);

int64_t __wrap_clock_now(void)
{
    return __real_clock_now() + atomic_load(&ahead);
}

ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t n, off_t offset);
ssize_t __real_pwrite64(int fd, const void *bytes, size_t n, off_t offset);

ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t n, off_t offset)
{
    if (room == 0)
        return errno = ENOSPC, -1;
    ssize_t wrote = __real_pwrite64(fd, bytes, n < room ? n : room, offset);
    room -= room < SIZE_MAX && wrote > 0 ? (size_t)wrote : 0;
    written += wrote > 0 ? (size_t)wrote : 0;
    return wrote;
}

/* ---- the machine of the collector -------------------------------------------------------------------------------- */

enum { FILES = 4, ROWS = 2 /* in one answer */ };

static struct {
    char name[MESSAGE_TEXT_MAX + 1];
    uint8_t *bytes;
    size_t size;
} there[FILES] = {
    {.name = "trace/store/far-1"}, {.name = "trace/store/far-2"}, {.name = "trace/store/metadata"}, {.name = "run.db"}};

/* What becomes of an honest answer; `from` is the file that is asked for. NULL: nothing. */
typedef void spoil(struct command_request *to, struct message *m, struct message_reply *reply, uint64_t from);

static spoil *_Atomic spoil_list, *_Atomic spoil_part;
static atomic_uint lists; /* that some of these have seen */
static struct command_server *bezeld, *server;
static pthread_t thread;
static atomic_bool over, mute;
static atomic_uint discards;

static uint64_t sum_of(size_t file)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < there[file].size; i += RUN_FILE_PIECE)
        sum = run_file_sum(sum, there[file].bytes + i,
                           there[file].size - i < RUN_FILE_PIECE ? there[file].size - i : RUN_FILE_PIECE);
    return sum;
}

static void list_from(struct message_file_list *list, uint32_t from)
{
    *list = (struct message_file_list){.total = FILES, .first = from};
    for (uint32_t i = from; i < FILES && list->count < ROWS; i++) {
        struct message_file *row = &list->files[list->count++];
        *row = (struct message_file){.size = there[i].size, .summed = true, .sum = sum_of(i)};
        snprintf(row->name, sizeof row->name, "%s", there[i].name);
    }
}

static void answer_list(struct command_request *to, uint32_t from, bool asked_for)
{
    struct message *m = command_server_message(server);
    struct message_reply reply = {.state = atomic_load(&discards) ? DAEMON_DRAINING : DAEMON_ACTIVE,
                                  .answer = ANSWER_FILES};
    list_from(&m->files, from);
    if (spoil_list && asked_for)
        spoil_list(to, m, &reply, from);
    command_server_reply(server, to, NULL, &reply);
}

static void answer_part(struct command_request *to, uint32_t file, uint64_t offset)
{
    struct message *m = command_server_message(server);
    struct message_reply reply = {.state = DAEMON_ACTIVE, .answer = ANSWER_OUTPUT};
    size_t left = there[file].size - offset;
    m->output.offset = offset;
    m->output.count = left < MESSAGE_OUTPUT_MAX ? (uint32_t)left : MESSAGE_OUTPUT_MAX;
    m->output.last = m->output.count == left;
    memcpy(m->output.bytes, there[file].bytes + offset, m->output.count);
    if (spoil_part)
        spoil_part(to, m, &reply, offset);
    command_server_reply(server, to, NULL, &reply);
}

static void answer(struct command_request *to)
{
    const struct message_command c = command_server_message(server)->command;
    if (c.verb == VERB_DISCARD)
        atomic_fetch_add(&discards, 1);
    if (c.verb == VERB_QUERY && c.subject == SUBJECT_FILE)
        answer_part(to, c.from, c.offset);
    else
        answer_list(to, c.subject == SUBJECT_FILES ? c.from : 0, c.subject == SUBJECT_FILES);
}

/* The bezeld there: the server of files was started at once, and runs. */
static void answer_as_bezeld(const struct command_request *to)
{
    struct message *m = command_server_message(bezeld);
    enum message_verb verb = m->command.verb;
    struct message_reply reply = {.state = DAEMON_ACTIVE, .answer = ANSWER_BEZELD};
    if (verb == VERB_CONFIGURE)
        reply.answer = ANSWER_SESSION;
    if (verb == VERB_QUERY && m->command.subject == SUBJECT_PROCESSES) {
        reply.answer = ANSWER_PROCESSES;
        m->launched = (struct message_launched_list){.count = 1};
        m->launched.rows[0] =
            (struct message_launched){.of = {.process = LAUNCH_COLLECTOR_FILES, .incarnation = 1}, .pid = 4711};
    }
    command_server_reply(bezeld, to, NULL, &reply);
}

static void *serve(void *unused)
{
    struct link *links[] = {command_server_link(bezeld), command_server_link(server)};
    struct command_request from;
    while (!atomic_load(&over)) {
        (void)link_wait(links, 2, NULL, 0, 20 * CLOCK_MS);
        for (int budget = 64; command_server_receive(bezeld, &budget, &from);)
            answer_as_bezeld(&from);
        for (int budget = 64; command_server_receive(server, &budget, &from);)
            if (atomic_load(&mute))
                atomic_fetch_add(&ahead, CLOCK_S);
            else
                answer(&from);
    }
    return unused;
}

/* ---- the run directory here -------------------------------------------------------------------------------------- */

static char home[SCRATCH_PATH], away[SCRATCH_PATH], endpoint[LINK_ENDPOINT_MAX];
static struct experiment *experiment;
static struct remote_collector place;
static char why[FETCH_WHY_MAX];

static void make_database(const char *run, const char *key, const char *value)
{
    struct rundb *f;
    assert_int_equal(rundb_open(run, &f), 0);
    assert_int_equal(rundb_put(f, key, value), 0);
    assert_int_equal(rundb_close(f), 0);
}

static void make_files(void)
{
    char path[SCRATCH_PATH + 8], uuid[37];
    size_t size;
    make_database(away, "run", uuid_print(id, uuid));
    make_database(home, "name", "survey");
    snprintf(path, sizeof path, "%s/run.db", away);
    assert_int_equal(file_read_plain(path, 1, 1 << 24, (char **)&there[3].bytes, &size), 0);
    there[3].size = size;
    there[0].size = (3 << 20) + 5000;
    there[1].size = 2 * MESSAGE_OUTPUT_MAX;
    for (size_t i = 0; i < 3; i++) {
        there[i].bytes = calloc(1, there[i].size + 1);
        assert_non_null(there[i].bytes);
        for (size_t n = 0; n < there[i].size; n++)
            there[i].bytes[n] = (uint8_t)(n * 31 + n / 4096 + i);
    }
}

static int begin(void **state)
{
    struct experiment_diagnostics found;
    char control[LINK_ENDPOINT_MAX];
    (void)state;
    scratch_make(home);
    scratch_make(away);
    make_files();
    atomic_store(&ahead, 0);
    atomic_store(&over, false);
    atomic_store(&mute, false);
    atomic_store(&discards, 0);
    atomic_store(&lists, 0);
    written = 0;
    spoil_list = spoil_part = NULL;
    room = SIZE_MAX;
    snprintf(control, sizeof control, "ipc://%s/bezeld", away);
    snprintf(endpoint, sizeof endpoint, "ipc://%s/files", away);
    assert_int_equal(command_server_open(control, NULL, &bezeld), 0);
    assert_int_equal(command_server_open(endpoint, NULL, &server), 0);
    assert_int_equal(experiment_read(text, strlen(text), &experiment, &found), 0);
    experiment_diagnostics_free(&found);
    free(experiment->nodes[1].address);
    experiment->nodes[1].address = strdup(control);
    assert_int_equal(rundir_note_away(home, "it lies on node store"), 0);
    return pthread_create(&thread, NULL, serve, NULL);
}

static int end(void **state)
{
    (void)state;
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    command_server_close(server, 0);
    command_server_close(bezeld, 0);
    experiment_free(experiment);
    for (size_t i = 0; i < FILES; i++)
        free(there[i].bytes);
    scratch_remove(home);
    scratch_remove(away);
    return 0;
}

/* With nodes of this machine, no keys are needed. */
static int fetch(void)
{
    why[0] = '\0';
    assert_int_equal(remote_collector_init(&place, experiment, EXPERIMENT_ROOT, id, "keys", ""), 0);
    snprintf(place.control, sizeof place.control, "%s", endpoint);
    int err = fetch_run(&(struct fetch_options){.run = home, .place = &place}, why);
    remote_collector_free(&place);
    return err;
}

static bool is_away(void)
{
    char where[64];
    return rundir_is_away(home, where, sizeof where);
}

static void assert_home(void)
{
    char path[SCRATCH_PATH + sizeof there], *bytes, value[64];
    struct rundb *f;
    size_t n;
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", home, there[i].name);
        assert_int_equal(file_read_plain(path, 1, 1 << 24, &bytes, &n), 0);
        assert_int_equal(n, there[i].size);
        assert_memory_equal(bytes, there[i].bytes, n);
        free(bytes);
    }
    assert_int_equal(rundb_open(home, &f), 0);
    assert_int_equal(rundb_get(f, "run", value, sizeof value), 0);
    assert_string_equal(value, "b0e10000-0000-0000-0000-0000000000ef");
    assert_int_equal(rundb_get(f, "name", value, sizeof value), 0);
    assert_string_equal(value, "survey");
    assert_int_equal(rundb_close(f), 0);
    assert_false(is_away());
    assert_int_equal(atomic_load(&discards), 1);
}

/* ---- what it does to lists --------------------------------------------------------------------------------------- */

#define SPOIL(name)                                                                                                    \
    static void name(struct command_request *to, struct message *m, struct message_reply *reply, uint64_t from)

#define UNUSED ((void)to, (void)m, (void)reply, (void)from)

SPOIL(no_file)
{
    UNUSED;
    m->files.total = m->files.count = 0;
}

SPOIL(too_many_files)
{
    UNUSED;
    m->files.total = UINT32_MAX;
}

SPOIL(no_rows)
{
    UNUSED;
    m->files.count = 0;
}

/* The first two rows again and again. */
SPOIL(the_same_rows)
{
    UNUSED;
    list_from(&m->files, 0);
}

SPOIL(rows_that_were_not_asked_for)
{
    UNUSED;
    m->files.first = 3;
}

SPOIL(rows_of_the_last_number)
{
    UNUSED;
    m->files.first = UINT32_MAX;
}

SPOIL(a_list_that_grows)
{
    static atomic_uint total;
    UNUSED;
    m->files.total += atomic_fetch_add(&total, 1);
}

static const char *_Atomic name;

SPOIL(another_name)
{
    UNUSED;
    if (from == 0)
        snprintf(m->files.files[1].name, sizeof m->files.files[1].name, "%s", name);
}

SPOIL(a_name_twice)
{
    UNUSED;
    if (from == 2)
        snprintf(m->files.files[0].name, sizeof m->files.files[0].name, "%s", there[0].name);
}

SPOIL(a_size_beyond_all)
{
    UNUSED;
    m->files.files[0].size = RUN_FILE_SIZE_MAX + 1;
}

SPOIL(sizes_beyond_all)
{
    UNUSED;
    m->files.files[0].size = m->files.files[1].size = RUN_FILE_SIZE_MAX;
}

SPOIL(a_size_beyond_the_disk)
{
    UNUSED;
    m->files.files[0].size = from ? there[from].size : RUN_FILE_SIZE_MAX / 2;
}

SPOIL(no_checksum_yet)
{
    UNUSED;
    for (uint32_t i = 0; i < m->files.count; i++)
        m->files.files[i].summed = false, m->files.files[i].sum = 0;
}

SPOIL(never_a_checksum)
{
    no_checksum_yet(to, m, reply, from);
    if (atomic_fetch_add(&lists, 1) >= 2)
        atomic_fetch_add(&ahead, CLOCK_S);
}

/* Of the second file, while that of the first one is still waited for. */
SPOIL(a_checksum_that_changes)
{
    UNUSED;
    m->files.files[0].summed = false;
    m->files.files[0].sum = 0;
    m->files.files[1].sum += atomic_fetch_add(&lists, 1);
}

/* With the third list, the files being known, something else is true. */
SPOIL(a_size_that_changes)
{
    no_checksum_yet(to, m, reply, from);
    if (atomic_fetch_add(&lists, 1) >= 2)
        m->files.files[0].size++;
}

SPOIL(a_wrong_checksum)
{
    UNUSED;
    m->files.files[0].sum ^= 1;
}

/* ---- to parts, and to both --------------------------------------------------------------------------------------- */

SPOIL(the_part_before)
{
    UNUSED;
    m->output.offset = from ? from - MESSAGE_OUTPUT_MAX : MESSAGE_OUTPUT_MAX;
}

SPOIL(the_first_part)
{
    UNUSED;
    m->output.offset = 0;
}

SPOIL(an_empty_part)
{
    UNUSED;
    m->output.count = 0;
}

SPOIL(the_last_offset)
{
    UNUSED;
    m->output.offset = UINT64_MAX;
}

SPOIL(more_than_there_is)
{
    UNUSED;
    m->output.count = MESSAGE_OUTPUT_MAX;
}

SPOIL(other_bytes)
{
    UNUSED;
    m->output.bytes[0] ^= from == 0;
}

SPOIL(no_file_of_this_name)
{
    UNUSED;
    reply->answer = ANSWER_REFUSED;
    snprintf(reply->text, sizeof reply->text, "there is no such file");
}

SPOIL(as_if_it_were_stale)
{
    UNUSED;
    reply->answer = ANSWER_STALE;
}

SPOIL(as_a_bezeld_would)
{
    UNUSED;
    reply->answer = ANSWER_BEZELD;
}

SPOIL(a_part_in_place_of_a_list)
{
    UNUSED;
    m->output = (struct message_output){.count = 1};
    reply->answer = ANSWER_OUTPUT;
}

SPOIL(a_list_in_place_of_a_part)
{
    UNUSED;
    m->files = (struct message_file_list){.total = FILES};
    reply->answer = ANSWER_FILES;
}

/* As if it were the answer to the question before. */
SPOIL(an_answer_to_another_question)
{
    UNUSED;
    to->id--;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* On a slow machine 100 answers need longer than 10 s, after which the fetch ends with another sentence. */
static bool says(const char *sentence)
{
    return strstr(why, sentence) ||
           (strncmp(sentence, "100 times", strlen("100 times")) == 0 && strstr(why, "answers, but has not sent"));
}

static void assert_fails(int err, const char *sentence)
{
    struct stat st;
    char path[SCRATCH_PATH + 16];
    int got = fetch();
    if (got != err || !says(sentence))
        fail_msg("%d, '%s' is not %d, '%s'", got, why, err, sentence);
    assert_true(is_away());
    assert_int_equal(atomic_load(&discards), 0);
    snprintf(path, sizeof path, "%s/../evil", home);
    assert_int_equal(stat(path, &st), -1);
}

static void an_honest_server_is_copied_from_and_told_to_discard_its_copy(void **state)
{
    (void)state;
    int err = fetch();
    assert_string_equal(why, "");
    assert_int_equal(err, 0);
    assert_home();
}

/* Of the third list too, which is the first of which they could be used. */
SPOIL(late_checksums)
{
    if (atomic_fetch_add(&lists, 1) < 5)
        no_checksum_yet(to, m, reply, from);
}

static void a_checksum_that_comes_late_is_waited_for(void **state)
{
    (void)state;
    spoil_list = late_checksums;
    assert_int_equal(fetch(), 0);
    assert_home();
}

struct hostile {
    spoil *list, *part;
    int err;
    const char *says;
};

static void assert_each_fails(const struct hostile *h, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        end(NULL);
        assert_int_equal(begin(NULL), 0);
        spoil_list = h[i].list;
        spoil_part = h[i].part;
        assert_fails(h[i].err, h[i].says);
    }
}

static void a_list_that_cannot_be_true_ends_it(void **state)
{
    (void)state;
    static const struct hostile hostiles[] = {
        {no_file, NULL, BEZEL_EMALFORMED, "lists 0 files, and a run has 1 to"},
        {too_many_files, NULL, BEZEL_EMALFORMED, "lists 4294967295 files, and a run has 1 to"},
        {no_rows, NULL, BEZEL_EMALFORMED,
         "100 times in place of its list of files from number 0 on: is a disk damaged"},
        {the_same_rows, NULL, BEZEL_EMALFORMED, "100 times in place of its list of files from number 2 on"},
        {rows_that_were_not_asked_for, NULL, BEZEL_EMALFORMED, "100 times in place of its list of files from number 0"},
        {rows_of_the_last_number, NULL, BEZEL_EMALFORMED, "100 times in place of its list of files from number 0 on"},
        {a_list_that_grows, NULL, BEZEL_EMALFORMED, "100 times in place of its list of files from number 2 on"},
        {a_name_twice, NULL, BEZEL_EMALFORMED, "lists trace/store/far-1 twice"},
        {a_size_beyond_all, NULL, BEZEL_EMALFORMED, "lists a file that no run has: 'trace/store/far-1', "},
        {sizes_beyond_all, NULL, BEZEL_EMALFORMED, "lists a file that no run has: 'trace/store/far-2', "},
        {a_size_beyond_the_disk, NULL, BEZEL_ENOSPC, "make room there"},
        {a_size_that_changes, NULL, BEZEL_EMALFORMED, "trace/store/far-1 has changed there"},
    };
    assert_each_fails(hostiles, sizeof hostiles / sizeof *hostiles);
}

static void a_name_that_leaves_the_run_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"trace/../../evil", "/tmp/evil", "trace/store/ev\033il", "away", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        name = names[i];
        assert_each_fails(&(struct hostile){another_name, NULL, BEZEL_EMALFORMED, "lists a file that no run has: '"},
                          1);
        assert_non_null(strstr(why, name));
    }
}

static void a_checksum_that_cannot_be_true_ends_it(void **state)
{
    (void)state;
    static const struct hostile hostiles[] = {
        {a_wrong_checksum, NULL, BEZEL_EMALFORMED, "trace/store/far-1 differs from the one there after 3 copies"},
        {NULL, other_bytes, BEZEL_EMALFORMED, "trace/store/far-1 differs from the one there after 3 copies"},
        {a_checksum_that_changes, NULL, BEZEL_EMALFORMED, "trace/store/far-2 has changed there"},
        {never_a_checksum, NULL, BEZEL_EMALFORMED,
         "answers, but has not sent the checksum of trace/store/far-1 for 13 s: is a disk damaged there"},
    };
    assert_each_fails(hostiles, sizeof hostiles / sizeof *hostiles);
}

static void a_part_that_was_not_asked_for_ends_it(void **state)
{
    (void)state;
    static const struct hostile hostiles[] = {
        {NULL, the_part_before, BEZEL_EMALFORMED, "100 times in place of trace/store/far-1 from byte 0 on"},
        {NULL, the_first_part, BEZEL_EMALFORMED, "100 times in place of trace/store/far-1 from byte 32768 on"},
        {NULL, the_last_offset, BEZEL_EMALFORMED, "100 times in place of trace/store/far-1 from byte 0 on"},
        {NULL, an_empty_part, BEZEL_EMALFORMED, "100 times in place of trace/store/far-1 from byte 0 on"},
        {NULL, more_than_there_is, BEZEL_EMALFORMED, "100 times in place of trace/store/far-1 from byte 3145728 on"},
    };
    assert_each_fails(hostiles, sizeof hostiles / sizeof *hostiles);
}

static void an_answer_of_another_kind_ends_it(void **state)
{
    (void)state;
    static const struct hostile hostiles[] = {
        {no_file_of_this_name, NULL, BEZEL_ESYS, "there is no such file"},
        {NULL, no_file_of_this_name, BEZEL_ESYS, "there is no such file"},
        {as_if_it_were_stale, NULL, BEZEL_EMALFORMED, "100 times in place of its list of files from number 0 on"},
        {NULL, as_if_it_were_stale, BEZEL_EMALFORMED, "100 times in place of trace/store/far-1 from byte 0 on"},
        {as_a_bezeld_would, NULL, BEZEL_EMALFORMED, "100 times in place of its list of files from number 0 on"},
        {a_part_in_place_of_a_list, NULL, BEZEL_EMALFORMED, "100 times in place of its list of files from number 0 on"},
        {NULL, a_list_in_place_of_a_part, BEZEL_EMALFORMED, "100 times in place of trace/store/far-1 from byte 0 on"},
        {NULL, an_answer_to_another_question, BEZEL_EMALFORMED, "100 times in place of trace/store/far-1 from byte "},
    };
    assert_each_fails(hostiles, sizeof hostiles / sizeof *hostiles);
}

SPOIL(nothing_more)
{
    UNUSED;
    atomic_store(&mute, true);
}

static void a_server_that_falls_silent_ends_it(void **state)
{
    (void)state;
    assert_each_fails(&(struct hostile){NULL, nothing_more, BEZEL_EUNREACH, "nothing comes any more from ipc://"}, 1);
}

static void a_full_disk_here_ends_it_and_it_goes_on_when_there_is_room(void **state)
{
    (void)state;
    room = 3 * MESSAGE_OUTPUT_MAX + 100;
    assert_fails(BEZEL_ENOSPC, "trace/store/far-1: No space left on device: make room there");
    room = SIZE_MAX;
    assert_int_equal(fetch(), 0);
    assert_home();
    assert_int_equal(written, there[0].size + there[1].size + there[3].size); /* none twice */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_honest_server_is_copied_from_and_told_to_discard_its_copy),
        TEST(a_checksum_that_comes_late_is_waited_for),
        TEST(a_list_that_cannot_be_true_ends_it),
        TEST(a_name_that_leaves_the_run_is_refused),
        TEST(a_checksum_that_cannot_be_true_ends_it),
        TEST(a_part_that_was_not_asked_for_ends_it),
        TEST(an_answer_of_another_kind_ends_it),
        TEST(a_server_that_falls_silent_ends_it),
        TEST(a_full_disk_here_ends_it_and_it_goes_on_when_there_is_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
