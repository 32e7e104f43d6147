// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "export/export_internal.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <sqlite3.h>

static struct model_node node = {.name = "studio"};
static struct model_process first = {.node = &node, .name = "first", .pid = 1};
static struct model_process second = {.node = &node, .name = "second", .pid = 2};

/* A dictionary with an aspect of two fields and a string. */
static struct dict *declare(const char *aspect, struct dict_field a, struct dict_field b)
{
    static uint8_t bytes[DICT_MAX_BYTES];
    struct dict_aspect declared = {.id = 1, .name = aspect, .field_count = 2, .fields = {a, b}};
    struct dict *d;
    int n = dict_append_aspect(bytes, 0, sizeof bytes, &declared);
    n = dict_append_string(bytes, (size_t)n, sizeof bytes, 1, "h264");
    assert_true(n > 0);
    assert_int_equal(dict_parse(bytes, (size_t)n, &d), 0);
    return d;
}

static void put(struct export_database *x, const struct model_process *p, uint64_t a, uint64_t b)
{
    uint8_t values[16];
    struct packet_header h = {.thread = 7};
    struct packet_record r = {.aspect = 1, .timestamp = 5, .value_count = 2, .values = values};
    struct record_item item = {.process = p, .packet = &h, .r = &r, .aspect = &p->dict->aspects[0]};
    bytes_put_u64(values, a);
    bytes_put_u64(values + 8, b);
    assert_int_equal(export_database_sink.put(x, &item), 0);
}

static void has(const char *query, const char *wanted)
{
    sqlite3 *db;
    sqlite3_stmt *s;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/records.db", scratch_dir);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, query, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    assert_string_equal(sqlite3_column_text(s, 0), wanted);
    sqlite3_finalize(s);
    sqlite3_close(db);
}

/* Two programs may declare a field of one name with two types, and names that SQLite takes for one: each has a column.
 */
TEST(what_programs_declare_otherwise_has_columns_of_its_own)
{
    struct export_database *x = export_database_open(scratch_dir);
    assert_non_null(x);
    first.dict = declare("shown", (struct dict_field){DICT_INT64, "pid", "1", ""},
                         (struct dict_field){DICT_STRING, "codec", "1", ""});
    second.dict = declare("shown", (struct dict_field){DICT_STRING, "pid", "1", ""},
                          (struct dict_field){DICT_STRING, "Codec", "1", ""});
    put(x, &first, 40, 1);
    put(x, &second, 1, 1);
    put(x, &first, 41, 2); /* there is no such string */
    assert_int_equal(export_database_sink.left_out(x), 0);
    assert_int_equal(export_database_close(x), 0);
    has("SELECT group_concat(name) FROM pragma_table_info('shown') WHERE cid > 8",
        "field.pid,codec,field.pid_2,Codec_2");
    has("SELECT group_concat(pid || ':' || ifnull(\"field.pid\", '') || ':' || ifnull(codec, '') || ':' || "
        "ifnull(\"field.pid_2\", '') || ':' || ifnull(Codec_2, '')) FROM (SELECT * FROM shown ORDER BY rowid)",
        "1:40:h264::,2:::h264:h264,1:41:::");
    dict_free(first.dict);
    dict_free(second.dict);
}

TEST(without_its_folder_there_is_none)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/absent", scratch_dir);
    assert_null(export_database_open(path));
    assert_int_equal(export_database_close(NULL), 0);
}

int main(void)
{
    return test_run(scratch_begin, scratch_end);
}
