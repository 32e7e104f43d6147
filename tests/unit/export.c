// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "export/export.h"
#include "base/clock.h"
#include "base/file.h"
#include "collector/receive/receiver_packet.h"
#include "export/record_writer.h"
#include "mdr/parts.h"
#include "run/history/summary.h"
#include "run/rundb/rundb_live.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The writer is the collector's own store, driven directly: nodes, processes, dictionaries that grow, streams that
 * appear, and, beside what a collector does, tails that stay torn for a while.
 */
enum { RUN_MAX = 128 };

struct writer {
    char run[RUN_MAX];
    struct rundb *rundb;
    struct store *store;
    struct model *model;
    uint8_t dictionary[DICT_MAX_BYTES];
    int dictionary_bytes;
    uint64_t clock;
};

static char runs[] = "/tmp/bezel-export-XXXXXX";

static int readable = -1; /* entries of folders that can still be read; negative: all */

struct dirent *__wrap_readdir64(DIR *dir);
struct dirent *__real_readdir64(DIR *dir);

struct dirent *__wrap_readdir64(DIR *dir)
{
    if (readable == 0)
        return errno = EIO, NULL;
    readable -= readable > 0;
    return __real_readdir64(dir);
}

static void add_aspect(struct writer *w, uint32_t id, const char *name)
{
    struct dict_aspect a = {.id = id, .name = name, .field_count = 4};
    a.fields[0] = (struct dict_field){DICT_INT64, "frame", "1", ""};
    a.fields[1] = (struct dict_field){DICT_FLOAT64, "pid", "ms", ""}; /* named like a column of every record */
    a.fields[2] = (struct dict_field){DICT_ENUM, "kind", "", "key|a, \"b\""};
    a.fields[3] = (struct dict_field){DICT_STRING, "codec", "", ""};
    w->dictionary_bytes = dict_append_aspect(w->dictionary, (size_t)w->dictionary_bytes, sizeof w->dictionary, &a);
    assert_true(w->dictionary_bytes > 0);
}

static void writer_open(struct writer *w, const char *name)
{
    memset(w, 0, sizeof *w);
    snprintf(w->run, sizeof w->run, "%s/%s", runs, name);
    assert_int_equal(file_make_dirs(w->run, 0777), 0);
    assert_int_equal(rundb_open(w->run, &w->rundb), 0);
    assert_int_equal(store_open(w->run, STORE_SYNC_NEVER, &w->store), 0);
    w->model = model_new("");
    w->clock = CLOCK_S;
    add_aspect(w, 1, "shown");
    w->dictionary_bytes =
        dict_append_string(w->dictionary, (size_t)w->dictionary_bytes, sizeof w->dictionary, 1, "mpeg,4");
    assert_true(w->dictionary_bytes > 0);
}

static void writer_close(struct writer *w)
{
    store_close(w->store);
    model_free(w->model);
    assert_int_equal(rundb_close(w->rundb), 0);
}

static struct model_node *add_node(struct writer *w, const char *name, uint8_t number)
{
    struct message_hello hello = {
        .uuid = {number}, .clock = {strcmp(name, "far") == 0 ? 2 : 1}, .realtime_offset = 1700000000 * CLOCK_S};
    snprintf(hello.node, sizeof hello.node, "%s", name);
    struct model_node *node = model_add_node(w->model, &hello);
    assert_non_null(node);
    assert_int_equal(rundb_add_node(w->rundb, node), 0);
    return node;
}

static void give_dictionary(struct writer *w, struct model_process *p)
{
    struct dict *d;
    assert_int_equal(dict_parse(w->dictionary, (size_t)w->dictionary_bytes, &d), 0);
    bool first = p->dict == NULL;
    model_set_dictionary(p, d);
    if (first)
        assert_int_equal(rundb_add_process(w->rundb, p, w->dictionary, (size_t)w->dictionary_bytes), 0);
    else
        assert_int_equal(rundb_set_dictionary(w->rundb, p, w->dictionary, (size_t)w->dictionary_bytes), 0);
}

static struct model_process *add_process_as(struct writer *w, struct model_node *node, uint32_t number,
                                            enum message_role role, const char *name)
{
    static struct message_process said;
    said = (struct message_process){.instance = 1000 + number, .stream_id = number, .pid = 100 + number, .role = role};
    snprintf(said.name, sizeof said.name, "%s", name);
    struct model_process *p = model_add_process(node, &said);
    assert_non_null(p);
    give_dictionary(w, p);
    return p;
}

static struct model_process *add_process(struct writer *w, struct model_node *node, uint32_t number)
{
    return add_process_as(w, node, number, ROLE_SUT, "client");
}

/* The next packet of a stream into `packet`: the opening one, else one with `records` records of aspect `aspect`. */
static size_t next_packet(struct writer *w, struct model_process *p, uint32_t ring, uint32_t aspect, uint32_t records,
                          uint8_t *packet)
{
    struct model_stream *s = model_stream(p, ring);
    struct packet_header h = {.stream_id = p->stream_id,
                              .seq = s->at.next_seq,
                              .kind = s->at.next_seq ? PACKET_DATA : PACKET_OPEN,
                              .instance = p->instance,
                              .ring = ring,
                              .thread = 7,
                              .dictionary = p->dict->hash,
                              .first_ordinal = s->at.next_ordinal,
                              .timestamp_begin = w->clock};
    memcpy(h.uuid, p->node->uuid, sizeof h.uuid);
    h.records = h.kind == PACKET_DATA ? records : 0;
    uint8_t *at = packet + PACKET_HEADER_BYTES;
    for (uint32_t i = 0; i < h.records; i++) {
        const uint64_t half = UINT64_C(0x3fe0000000000000), negative_nan = UINT64_C(0xfff8000000000000);
        const uint64_t values[] = {h.first_ordinal + i, i % 3 == 2 ? negative_nan : half, i % 3, i % 2};
        at = packet_put_record(at, aspect, w->clock += 1000);
        for (size_t v = 0; v < 4; v++, at += 8)
            bytes_put_u64(at, values[v]);
    }
    h.timestamp_end = w->clock;
    h.size_bytes = (uint64_t)(at - packet);
    packet_put_header(packet, &h);
    return h.size_bytes;
}

/* Leaves the first `n` bytes of a packet behind the committed ones, as a write that was cut short. */
static void tear(struct writer *w, struct model_stream *s, const uint8_t *packet, size_t n)
{
    char path[PATH_MAX];
    if (s->bytes == 0)
        return;
    assert_int_equal(store_path(w->store, s->process->node, s, path, sizeof path), 0);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, packet, n, (off_t)s->bytes), n);
    close(fd);
}

static void append(struct writer *w, struct model_process *p, uint32_t ring, uint32_t aspect, uint32_t records)
{
    static uint8_t packet[PACKET_MAX_BYTES];
    struct received a;
    size_t n = next_packet(w, p, ring, aspect, records, packet);
    tear(w, model_stream(p, ring), packet, n / 2);
    receiver_take_packet(p->node, w->store, NULL, packet, n, &a);
    assert_int_equal(a.what, RECEIVED_STORED);
}

/* ---- babeltrace2 ---- */

static bool has_babeltrace2(void)
{
    return system("command -v babeltrace2 >/dev/null") == 0;
}

/* Events that babeltrace2 reads below `dir`; it must be content. */
static long count_events(const char *dir)
{
    char command[PATH_MAX + 64], line[256];
    snprintf(command, sizeof command, "babeltrace2 --no-delta '%s' 2>'%s/errors'", dir, runs);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    long events = 0;
    while (fgets(line, sizeof line, pipe))
        events += strchr(line, '\n') != NULL;
    int status = pclose(pipe);
    char path[PATH_MAX], *errors;
    size_t n;
    snprintf(path, sizeof path, "%s/errors", runs);
    assert_int_equal(file_read(path, 1 << 20, &errors, &n), 0);
    if (status != 0 || n != 0)
        fail_msg("babeltrace2 ended with status %d and said: %s", status, errors);
    free(errors);
    return events;
}

/* ---- tests ---- */

static void nothing_stored_is_an_empty_trace(void **state)
{
    (void)state;
    if (!has_babeltrace2()) {
        puts("babeltrace2 is not installed");
        skip();
    }
    struct writer w;
    writer_open(&w, "empty");
    char target[PATH_MAX];
    snprintf(target, sizeof target, "%s/export", w.run);
    mode_t mask = umask(027);
    assert_int_equal(export_trace(w.run, target, false), 0);
    assert_int_equal(umask(mask), 027);
    struct stat st;
    assert_int_equal(stat(target, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0750); /* whom the user lets read it can */
    assert_int_equal(count_events(target), 0);
    add_process(&w, add_node(&w, "studio", 1), 1);
    assert_int_equal(export_trace(w.run, target, false), 0);
    assert_int_equal(count_events(target), 0);
    writer_close(&w);
}

static void what_is_no_run_is_refused_and_nothing_is_left(void **state)
{
    (void)state;
    char run[RUN_MAX], target[PATH_MAX];
    snprintf(run, sizeof run, "%s/none", runs);
    snprintf(target, sizeof target, "%s/export", run);
    assert_int_equal(export_trace(run, target, false), BEZEL_ENOENT);
    assert_int_equal(mkdir(run, 0777), 0);
    assert_int_equal(export_trace(run, target, false), 0); /* without trace/ the export is empty */
    assert_int_equal(file_remove_tree(run), 0);
}

static void a_torn_tail_is_cut(void **state)
{
    (void)state;
    if (!has_babeltrace2()) {
        puts("babeltrace2 is not installed");
        skip();
    }
    struct writer w;
    writer_open(&w, "torn");
    struct model_process *p = add_process(&w, add_node(&w, "studio", 1), 1);
    append(&w, p, 0, 1, 0);
    append(&w, p, 0, 1, 5);
    static uint8_t packet[PACKET_MAX_BYTES];
    size_t n = next_packet(&w, p, 0, 1, 9, packet);
    char path[PATH_MAX], target[PATH_MAX];
    assert_int_equal(store_path(w.store, p->node, model_stream(p, 0), path, sizeof path), 0);
    snprintf(target, sizeof target, "%s/export", w.run);
    for (size_t torn = 1; torn < n; torn += 41) {
        tear(&w, model_stream(p, 0), packet, torn);
        assert_int_equal(export_trace(w.run, target, false), 0);
        struct stat st;
        char copy[PATH_MAX + 32];
        snprintf(copy, sizeof copy, "%s/studio/%s", target, strrchr(path, '/') + 1);
        assert_int_equal(stat(copy, &st), 0);
        assert_int_equal(st.st_size, model_stream(p, 0)->bytes);
    }
    assert_int_equal(count_events(target), 5);
    writer_close(&w);
}

static void only_exports_and_empty_directories_are_replaced(void **state)
{
    (void)state;
    struct writer w;
    writer_open(&w, "replaced");
    struct model_process *p = add_process(&w, add_node(&w, "studio", 1), 1);
    append(&w, p, 0, 1, 0);
    char target[PATH_MAX / 2], precious[PATH_MAX];
    snprintf(target, sizeof target, "%s/mine", w.run);
    snprintf(precious, sizeof precious, "%s/precious", target);
    assert_int_equal(mkdir(target, 0777), 0);
    assert_int_equal(export_trace(w.run, target, false), 0); /* empty */
    assert_int_equal(export_trace(w.run, target, false), 0); /* an export */
    assert_int_equal(file_remove_tree(target), 0);
    assert_int_equal(mkdir(target, 0777), 0);
    assert_int_equal(file_replace(precious, "", 0), 0);
    assert_int_equal(export_trace(w.run, target, false), BEZEL_EBUSY);
    assert_int_equal(access(precious, F_OK), 0);
    assert_int_equal(export_trace(w.run, precious, false), BEZEL_EBUSY); /* a file */
    writer_close(&w);
}

/* What of a folder was not read may be anything: it is neither nothing, nor the end. */
static void what_cannot_be_read_to_its_end_is_neither_replaced_nor_exported_in_part(void **state)
{
    (void)state;
    struct writer w;
    writer_open(&w, "unreadable");
    struct model_process *p = add_process(&w, add_node(&w, "studio", 1), 1);
    append(&w, p, 0, 1, 0);
    char target[PATH_MAX / 2], precious[PATH_MAX];
    snprintf(target, sizeof target, "%s/mine", w.run);
    snprintf(precious, sizeof precious, "%s/precious", target);
    assert_int_equal(mkdir(target, 0777), 0);
    assert_int_equal(file_replace(precious, "", 0), 0);
    for (int entries = 0; entries < 3; entries++) {
        readable = entries;
        assert_int_equal(export_trace(w.run, target, false), BEZEL_EBUSY);
        assert_int_equal(access(precious, F_OK), 0);
    }
    snprintf(target, sizeof target, "%s/new", w.run);
    for (int entries = 0; entries < 3; entries++) /* of the trace: itself, its parent, the node */
        for (int merged = 0; merged < 2; merged++) {
            readable = entries;
            assert_int_equal(export_trace(w.run, target, merged), BEZEL_ESYS);
            assert_int_not_equal(access(target, F_OK), 0);
        }
    readable = -1;
    assert_int_equal(export_trace(w.run, target, false), 0);
    writer_close(&w);
}

enum { ROUNDS = 400, NODES = 2, ASPECTS = 200, NEW_PROCESS_AT = 200, NEW_RING_AT = 300 };

/* What a collector does in a lively run, as fast as it can; every record is counted by the parent in the end. */
static void write_run(const char *name, const char *count_path)
{
    struct writer w;
    writer_open(&w, name);
    struct model_process *p[NODES + 1];
    for (uint8_t n = 0; n < NODES; n++)
        p[n] = add_process(&w, add_node(&w, n ? "desk" : "studio", (uint8_t)(n + 1)), 1);
    p[NODES] = p[0];
    uint32_t aspects = 1;
    long records = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (i % 2 == 0 && aspects < ASPECTS) { /* a packet that needs the newest metadata, again and again */
            char aspect[DICT_NAME_MAX];
            snprintf(aspect, sizeof aspect, "dropped_%u", i);
            add_aspect(&w, ++aspects, aspect);
            give_dictionary(&w, p[1]);
        }
        if (i == NEW_PROCESS_AT) {
            p[NODES] = add_process(&w, p[0]->node, 2);
        }
        for (unsigned n = 0; n <= NODES; n++) {
            uint32_t ring = i >= NEW_RING_AT ? i % 2 : 0, count = 1 + i % 50;
            bool opens = model_stream(p[n], ring)->at.next_seq == 0;
            append(&w, p[n], ring, n == 1 ? aspects : 1, count);
            records += opens ? 0 : count;
        }
        usleep(500);
    }
    writer_close(&w);
    char text[32];
    snprintf(text, sizeof text, "%ld", records);
    assert_int_equal(file_replace(count_path, text, strlen(text)), 0);
}

static void every_export_of_a_run_that_is_being_written_can_be_read(void **state)
{
    (void)state;
    if (!has_babeltrace2()) {
        puts("babeltrace2 is not installed");
        skip();
    }
    char run[RUN_MAX], target[PATH_MAX], path[PATH_MAX], trace[PATH_MAX];
    snprintf(run, sizeof run, "%s/live", runs);
    snprintf(trace, sizeof trace, "%s/trace", run);
    snprintf(target, sizeof target, "%s/export", run);
    snprintf(path, sizeof path, "%s/count", runs);
    assert_int_equal(mkdir(run, 0777), 0);
    pid_t writer = fork();
    assert_int_not_equal(writer, -1);
    if (writer == 0) {
        execl("/proc/self/exe", "export", runs, path, (char *)NULL);
        _exit(127);
    }
    int status, exports = 0;
    long before = 0;
    for (bool done = false; !done;) {
        done = waitpid(writer, &status, WNOHANG) == writer; /* the last export comes after the last packet */
        if (access(trace, F_OK) != 0 && !done)
            continue;
        assert_int_equal(export_trace(run, target, false), 0);
        long events = count_events(target);
        assert_true(events >= before);
        before = events;
        exports++;
    }
    assert_int_equal(status, 0);
    char *count;
    size_t n;
    assert_int_equal(file_read(path, 64, &count, &n), 0);
    assert_int_equal(before, strtol(count, NULL, 10));
    free(count);
    printf("%d exports\n", exports);
}

static char *records_of(const char *run, enum export_format format, int expected)
{
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    assert_int_equal(export_records(run, format, false, &RECORD_FILTER_ALL, out), expected);
    fclose(out);
    return text;
}

static void csv_has_each_column_once(void **state)
{
    struct writer w;
    struct dict_aspect a = {.id = 2, .name = "odd", .field_count = 3};
    (void)state;
    a.fields[0] = a.fields[1] = a.fields[2] = (struct dict_field){DICT_INT64, "field.pid", "", ""};
    a.fields[1].name = "field.pid_2";
    a.fields[2].name = "field.node";
    writer_open(&w, "once");
    w.dictionary_bytes = dict_append_aspect(w.dictionary, (size_t)w.dictionary_bytes, sizeof w.dictionary, &a);
    add_process(&w, add_node(&w, "studio", 1), 1);
    char *csv = records_of(w.run, EXPORT_CSV, 0);
    assert_non_null(strstr(csv, ",frame,field.pid,kind,codec,field.pid_2,field.pid_2_2,field.node\n"));
    free(csv);
    writer_close(&w);
}

/* CSV has no escapes: what a terminal would carry out becomes '?'; JSON lines have it. */
static void csv_has_nothing_that_a_terminal_carries_out(void **state)
{
    static const struct {
        const char *text, *csv;
    } cases[] = {{"a\x1b[31mb", "a?[31mb"},
                 {"\x1b,\x07\x7f", "\"?,??\""},
                 {"\xc2\x9b"
                  "31m",
                  "??31m"},
                 {"\xc2\xa9 \tx", "\xc2\xa9 \tx"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct writer w;
        char name[16];
        snprintf(name, sizeof name, "control-%zu", i);
        writer_open(&w, name);
        w.dictionary_bytes = 0;
        add_aspect(&w, 1, "shown");
        w.dictionary_bytes =
            dict_append_string(w.dictionary, (size_t)w.dictionary_bytes, sizeof w.dictionary, 1, cases[i].text);
        assert_true(w.dictionary_bytes > 0);
        struct model_process *p = add_process(&w, add_node(&w, "studio", 1), 1);
        append(&w, p, 0, 1, 0);
        append(&w, p, 0, 1, 3);
        char *csv = records_of(w.run, EXPORT_CSV, 0);
        assert_non_null(strstr(csv, cases[i].csv));
        assert_null(strpbrk(csv, "\x1b\x07\x7f"));
        free(csv);
        writer_close(&w);
    }
}

/* Thread 7 of process `p` has a name at all times, or from `at` on another one. */
static void name_thread(const struct writer *w, const struct model_process *p, int64_t at, const char *name)
{
    char path[PATH_MAX], insert[256];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/run.db", w->run);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    snprintf(insert, sizeof insert, "INSERT INTO threads VALUES(%lld, %lld, 'client', %lld, 7, '%s', 0)",
             (long long)p->node->row, (long long)at, (long long)p->instance, name);
    assert_int_equal(sqlite3_exec(db, insert, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void records_are_written_with_their_names_and_labels(void **state)
{
    (void)state;
    struct writer w;
    writer_open(&w, "records");
    struct model_process *p = add_process(&w, add_node(&w, "studio", 1), 1);
    append(&w, p, 0, 1, 0);
    append(&w, p, 0, 1, 3);
    name_thread(&w, p, 1000003000, "later, b");
    name_thread(&w, p, 1000001500, "early");
    char *csv = records_of(w.run, EXPORT_CSV, 0), *jsonl = records_of(w.run, EXPORT_JSONL, 0);
    assert_string_equal(
        csv, "node,process,pid,ring,thread,time_ns,aspect,run_time_ns,error_ns,thread_name,frame,field.pid,kind,codec\n"
             "studio,client,101,0,7,1000001000,shown,1700000001000001000,,early,0,0.5,key,\n"
             "studio,client,101,0,7,1000002000,shown,1700000001000002000,,early,1,0.5,\"a, \"\"b\"\"\",\"mpeg,4\"\n"
             "studio,client,101,0,7,1000003000,shown,1700000001000003000,,\"later, b\",2,nan,2,\n");
    assert_non_null(strstr(
        jsonl,
        "{\"node\":\"studio\",\"process\":\"client\",\"pid\":101,\"ring\":0,\"thread\":7,"
        "\"thread_name\":\"early\",\"time_ns\":1000002000,\"aspect\":\"shown\",\"run_time_ns\":1700000001000002000,"
        "\"error_ns\":null,\"fields\":{\"frame\":1,\"pid\":0.5,"
        "\"kind\":\"a, \\\"b\\\"\",\"codec\":\"mpeg,4\"}}\n"));
    assert_non_null(strstr(jsonl, "\"pid\":null,\"kind\":2,\"codec\":null}}\n"));
    free(csv);
    free(jsonl);
    writer_close(&w);
}

/* A record of a process as people see it: an escape sequence, as one byte of Latin-1 too, moves no cursor. */
static void text_for_people_has_no_control_characters(void **state)
{
    (void)state;
    struct model_node node = {.name = "studio"};
    struct model_process p = {.name = "a\x1b[2Jb\xc2\x9b"
                                      "2J\xc3\x9b",
                              .node = &node};
    const struct packet_header packet = {.ring = 3};
    const struct record_item loss = {.process = &p, .packet = &packet, .lost = 5};
    struct record_writer *w;
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    assert_int_equal(record_writer_open(out, RECORD_WRITER_TEXT, NULL, NULL, false, &w), 0);
    record_writer_put(w, &loss);
    record_writer_close(w);
    fclose(out);
    assert_non_null(strstr(text, " studio a?[2Jb??2J\xc3\x9b[0] -- 5 records"));
    free(text);
}

/* From now on processes declare one aspect of the id and some of the names that the others have, in another order. */
static void change_dictionary(struct writer *w)
{
    struct dict_aspect a = {.id = 1, .name = "said", .field_count = 4};
    a.fields[0] = (struct dict_field){DICT_INT64, "late", "", ""};
    a.fields[1] = (struct dict_field){DICT_INT64, "frame", "", ""};
    a.fields[2] = (struct dict_field){DICT_STRING, "codec", "", ""};
    a.fields[3] = (struct dict_field){DICT_ENUM, "kind", "", "one|two"};
    w->dictionary_bytes = dict_append_aspect(w->dictionary, 0, sizeof w->dictionary, &a);
    assert_true(w->dictionary_bytes > 0);
    w->dictionary_bytes =
        dict_append_string(w->dictionary, (size_t)w->dictionary_bytes, sizeof w->dictionary, 1, "h264");
    assert_true(w->dictionary_bytes > 0);
}

static void each_process_has_its_fields_in_the_columns_of_their_names(void **state)
{
    (void)state;
    struct writer w;
    writer_open(&w, "columns");
    struct model_node *node = add_node(&w, "studio", 1);
    struct model_process *first = add_process(&w, node, 1);
    change_dictionary(&w);
    struct model_process *second = add_process(&w, node, 2);
    append(&w, first, 0, 1, 0);
    append(&w, first, 0, 1, 1);
    append(&w, second, 3, 1, 0);
    append(&w, second, 3, 1, 2);
    append(&w, second, 3, 1, 3);
    append(&w, first, 4, 1, 0);
    append(&w, first, 4, 1, 1);
    char *csv = records_of(w.run, EXPORT_CSV, 0);
    assert_string_equal(
        csv,
        "node,process,pid,ring,thread,time_ns,aspect,run_time_ns,error_ns,thread_name,frame,field.pid,kind,codec,late\n"
        "studio,client,101,0,7,1000001000,shown,1700000001000001000,,,0,0.5,key,,\n"
        "studio,client,101,4,7,1000007000,shown,1700000001000007000,,,0,0.5,key,,\n"
        "studio,client,102,3,7,1000002000,said,1700000001000002000,,,4602678819172646912,,one,,0\n"
        "studio,client,102,3,7,1000003000,said,1700000001000003000,,,4602678819172646912,,two,h264,1\n"
        "studio,client,102,3,7,1000004000,said,1700000001000004000,,,4602678819172646912,,one,,2\n"
        "studio,client,102,3,7,1000005000,said,1700000001000005000,,,4602678819172646912,,two,h264,3\n"
        "studio,client,102,3,7,1000006000,said,1700000001000006000,,,-2251799813685248,,one,,4\n");
    free(csv);
    writer_close(&w);
}

/* The other node's clock is 500 s ahead of the run's, as exchanges of 100 us show. */
static void tell_clocks(struct writer *w, const struct model_node *other)
{
    static const uint8_t clock[16] = {1};
    char identity[MODEL_UUID_TEXT], insert[256];
    sqlite3 *db;
    model_uuid_text(clock, identity);
    assert_int_equal(rundb_put(w->rundb, RUNDB_CLOCK, identity), 0);
    assert_int_equal(rundb_put_int(w->rundb, RUNDB_CLOCK_AHEAD, 1700000000 * CLOCK_S), 0);
    int64_t row = other->row;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/run.db", w->run);
    writer_close(w);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    for (int64_t i = 0; i < 40; i++) {
        int64_t sent = 500 * CLOCK_S + i * CLOCK_S / 10, there = sent - 500 * CLOCK_S + 50 * CLOCK_US;
        snprintf(insert, sizeof insert,
                 "INSERT INTO exchanges VALUES(%lld, 0, %lld, %lld, %lld, %lld, %lld, 0, -1, 0, -1, 0)", (long long)row,
                 (long long)clock_identity_short(clock), (long long)sent, (long long)there, (long long)there,
                 (long long)sent + 100000);
        assert_int_equal(sqlite3_exec(db, insert, NULL, NULL, NULL), SQLITE_OK);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* What follows is certain only where the times are apart by more than the error. */
static void the_programs_records_come_before_the_monitors(void **state)
{
    (void)state;
    struct writer w;
    char names[64] = "", *line;
    writer_open(&w, "roles");
    struct model_node *studio = add_node(&w, "studio", 1), *far = add_node(&w, "far", 2);
    struct model_process *all[] = {add_process_as(&w, studio, 1, ROLE_DAEMON, "bezeld"), add_process(&w, studio, 2),
                                   add_process_as(&w, far, 1, ROLE_DAEMON, "bezeld"), add_process(&w, far, 2)};
    for (int i = 0; i < 4; i++) {
        append(&w, all[i], 0, 1, 0);
        append(&w, all[i], 0, 1, 1);
    }
    char *csv = records_of(w.run, EXPORT_CSV, 0);
    strtok_r(csv, "\n", &line);
    for (const char *l; (l = strtok_r(NULL, "\n", &line));) {
        char pair[16];
        assert_int_equal(sscanf(l, "%15[^,],", pair), 1);
        strcat(strcat(names, pair), strstr(l, ",bezeld,") ? "* " : " ");
    }
    assert_string_equal(names, "studio far studio* far* ");
    free(csv);
    writer_close(&w);
}

static void all_nodes_come_in_one_order_and_it_is_told_whether_that_is_proven(void **state)
{
    (void)state;
    struct writer w;
    char *csv, *line, order[64] = "", *text;
    size_t n;
    writer_open(&w, "order");
    struct model_node *studio = add_node(&w, "studio", 1), *other = add_node(&w, "far", 2);
    struct model_process *here = add_process(&w, studio, 1), *there = add_process(&w, other, 1);
    assert_int_equal(rundb_put(w.rundb, "run", "00000000-0000-0000-0000-000000000000"), 0);
    append(&w, here, 0, 1, 0);
    append(&w, here, 0, 1, 2); /* at 1.000001 and 1.000002 s */
    w.clock = 501 * CLOCK_S + 500;
    append(&w, there, 0, 1, 0);
    append(&w, there, 0, 1, 1); /* at 1.0000015 s, give or take 50 us */
    w.clock += CLOCK_MS;
    append(&w, there, 0, 1, 1); /* a millisecond later */
    w.clock = CLOCK_S + 2 * CLOCK_MS;
    append(&w, here, 0, 1, 1);
    tell_clocks(&w, other);
    struct summary *s;
    assert_int_equal(summary_load(w.run, &s), 0);
    assert_int_equal(s->nodes[0].run_clock.kind, RUN_CLOCK_SAME);
    assert_int_equal(s->nodes[0].ahead, 1700000000 * CLOCK_S);
    assert_int_equal(s->nodes[1].run_clock.exchanges, 40);
    assert_in_range(s->nodes[1].ahead, 1699999500 * CLOCK_S - 1000, 1699999500 * CLOCK_S + 1000);
    summary_free(s);
    FILE *out = open_memstream(&text, &n);
    assert_int_equal(export_records(w.run, EXPORT_CSV, true, &RECORD_FILTER_ALL, out), 0);
    fclose(out);
    csv = text;
    assert_int_equal(
        strncmp(csv,
                "node,process,pid,ring,thread,time_ns,aspect,run_time_ns,error_ns,thread_name,order,logical_ns,frame,",
                100),
        0);
    strtok_r(csv, "\n", &line);
    for (char *l; (l = strtok_r(NULL, "\n", &line));) {
        strcat(order, l[0] == 's' ? "s" : "f");
        strcat(order, strstr(l, ",proven,") ? "! " : strstr(l, ",unknown,") ? "? " : "  ");
    }
    assert_string_equal(order, "s! f? s? f! s! ");
    free(csv);
}

static void records_of_a_run_without_a_database_are_refused_and_none_is_made(void **state)
{
    (void)state;
    char run[RUN_MAX], db[PATH_MAX];
    snprintf(run, sizeof run, "%s/nothing", runs);
    snprintf(db, sizeof db, "%s/run.db", run);
    assert_int_equal(mkdir(run, 0777), 0);
    free(records_of(run, EXPORT_CSV, BEZEL_ENOENT));
    assert_int_not_equal(access(db, F_OK), 0);
}

/* Exports `run` as a trace or, `target` NULL, as records, with result `expected`; returns what that says on stderr.
 * Caller frees. */
static char *what_export_says(const char *run, const char *target, int expected)
{
    char path[PATH_MAX], *said;
    size_t n;
    snprintf(path, sizeof path, "%s/said", runs);
    int before = dup(2), to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    FILE *nowhere = fopen("/dev/null", "w");
    dup2(to, 2);
    int err =
        target ? export_trace(run, target, false) : export_records(run, EXPORT_CSV, false, &RECORD_FILTER_ALL, nowhere);
    dup2(before, 2);
    close(before);
    close(to);
    fclose(nowhere);
    assert_int_equal(err, expected);
    assert_int_equal(file_read(path, 1 << 16, &said, &n), 0);
    return said;
}

static void assert_says(const char *run, const char *target, const char *what)
{
    char *said = what_export_says(run, target, 0);
    if (!strstr(said, what))
        fail_msg("said: %s; not: %s", said, what);
    free(said);
}

static void what_cannot_be_exported_is_logged_and_never_waited_for(void **state)
{
    (void)state;
    struct writer w;
    char path[PATH_MAX], target[PATH_MAX];
    struct stat st;
    writer_open(&w, "told");
    struct model_process *p = add_process(&w, add_node(&w, "studio", 1), 1);
    for (int i = 0; i < 3; i++)
        append(&w, p, 0, 1, 5);
    assert_int_equal(rundb_save_process(w.rundb, p, RUNDB_ALL), 0);
    assert_int_equal(store_path(w.store, p->node, model_stream(p, 0), path, sizeof path), 0);
    snprintf(target, sizeof target, "%s/export", w.run);
    writer_close(&w);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size - 1), 0);
    assert_says(w.run, target, "BEZEL-EXPORT-TORN");
    assert_says(w.run, NULL, "BEZEL-EXPORT-TORN");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_says(w.run, target, "BEZEL-EXPORT-FOREIGN");
    assert_says(w.run, NULL, "BEZEL-EXPORT-FOREIGN");
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/trace/stray", w.run);
    assert_int_equal(file_replace(path, "", 0), 0);
    assert_says(w.run, target, "trace/stray: it is not a folder");
}

static void a_target_whose_folder_is_missing_is_told_and_nothing_is_made(void **state)
{
    (void)state;
    char run[RUN_MAX], target[PATH_MAX], missing[RUN_MAX], sentence[2 * PATH_MAX], *said;
    snprintf(run, sizeof run, "%s/empty", runs);
    snprintf(missing, sizeof missing, "%s/missing", runs);
    snprintf(target, sizeof target, "%s/mine", missing);
    assert_int_equal(mkdir(run, 0777), 0);
    said = what_export_says(run, target, BEZEL_ENOENT);
    snprintf(sentence, sizeof sentence,
             "BEZEL-EXPORT-TARGET: cannot make a directory beside %s: No such file or directory\n", target);
    if (!strstr(said, sentence) || strchr(said, '\n') != said + strlen(said) - 1)
        fail_msg("said: %s; expected: %s", said, sentence);
    free(said);
    assert_int_not_equal(access(missing, F_OK), 0);
    assert_int_equal(file_remove_tree(run), 0);
}

static int make_runs(void **state)
{
    (void)state;
    return mkdtemp(runs) ? 0 : -1;
}

static int remove_runs(void **state)
{
    (void)state;
    return file_remove_tree(runs);
}

/* With a folder of runs and a path: be the writer. */
int main(int argc, char **argv)
{
    if (argc == 3) {
        snprintf(runs, sizeof runs, "%s", argv[1]);
        write_run("live", argv[2]);
        return 0;
    }

    const struct CMUnitTest tests[] = {
        /* First: a log withholds warnings of an id that had many within a second. */
        cmocka_unit_test(what_cannot_be_exported_is_logged_and_never_waited_for),
        cmocka_unit_test(a_target_whose_folder_is_missing_is_told_and_nothing_is_made),
        cmocka_unit_test(nothing_stored_is_an_empty_trace),
        cmocka_unit_test(what_is_no_run_is_refused_and_nothing_is_left),
        cmocka_unit_test(a_torn_tail_is_cut),
        cmocka_unit_test(only_exports_and_empty_directories_are_replaced),
        cmocka_unit_test(what_cannot_be_read_to_its_end_is_neither_replaced_nor_exported_in_part),
        cmocka_unit_test(every_export_of_a_run_that_is_being_written_can_be_read),
        cmocka_unit_test(text_for_people_has_no_control_characters),
        cmocka_unit_test(csv_has_each_column_once),
        cmocka_unit_test(csv_has_nothing_that_a_terminal_carries_out),
        cmocka_unit_test(records_are_written_with_their_names_and_labels),
        cmocka_unit_test(each_process_has_its_fields_in_the_columns_of_their_names),
        cmocka_unit_test(the_programs_records_come_before_the_monitors),
        cmocka_unit_test(all_nodes_come_in_one_order_and_it_is_told_whether_that_is_proven),
        cmocka_unit_test(records_of_a_run_without_a_database_are_refused_and_none_is_made),
    };
    return cmocka_run_group_tests(tests, make_runs, remove_runs);
}
