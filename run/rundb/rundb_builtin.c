// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The tables of run.db for records of built-in aspects. The table in mdr/builtin.h has their names and columns. */
#include "base/file.h"
#include "mdr/builtin.h"

#include "run/rundb/rundb_live.h"
#include "run/rundb/rundb_sqlite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Their statements -------------------------------------------------------------------------------------------- */

static void write_schema(FILE *out, enum builtin b)
{
    static const char *const types[] = {[DICT_INT64] = "INTEGER NOT NULL",
                                        [DICT_FLOAT64] = "REAL",
                                        [DICT_ENUM] = "INTEGER NOT NULL",
                                        [DICT_STRING] = "TEXT NOT NULL"};
    const struct builtin_layout *l = builtin_layout(b);
    const struct dict_aspect *a = &builtin_aspects[b];
    fprintf(out, "CREATE TABLE %s(%s INTEGER NOT NULL REFERENCES %s, at INTEGER NOT NULL", l->table, l->owner,
            strcmp(l->owner, "node") == 0 ? "nodes" : "processes");
    for (uint32_t i = 0; i < a->field_count; i++)
        fprintf(out, ", \"%s\" %s", a->fields[i].name, types[a->fields[i].type]);
    fputs(", section INTEGER NOT NULL", out);
    if (l->latest)
        fprintf(out, ", UNIQUE(%s", l->owner);
    for (uint32_t i = 0; l->latest && i < a->field_count; i++)
        if (l->keys[i])
            fprintf(out, ", \"%s\"", a->fields[i].name);
    fputs(l->latest ? "))" : ")", out);
}

/* Writes time and all fields, as columns or as parameters, as a row value to compare: a NULL is the least. */
static void write_row(FILE *out, const struct dict_aspect *a, bool parameters)
{
    fputs(parameters ? "(?2" : "(at", out);
    for (uint32_t i = 0; i < a->field_count; i++) {
        bool real = a->fields[i].type == DICT_FLOAT64;
        fputs(real ? ", ifnull(" : ", ", out);
        if (parameters)
            fprintf(out, "?%" PRIu32, i + 3);
        else
            fprintf(out, "\"%s\"", a->fields[i].name);
        fputs(real ? ", -9e999)" : "", out);
    }
    fputs(")", out);
}

/*
 * Of rows that replace each other the latest stays, and of those with the same time the greatest. So the rows follow
 * from the trace alone, whatever the order in which packets of several rings arrived.
 */
static void write_insert(FILE *out, enum builtin b)
{
    const struct builtin_layout *l = builtin_layout(b);
    const struct dict_aspect *a = &builtin_aspects[b];
    fprintf(out, "INSERT OR REPLACE INTO %s SELECT ?1", l->table);
    for (uint32_t i = 0; i <= a->field_count + 1; i++)
        fprintf(out, ", ?%" PRIu32, i + 2);
    if (!l->latest)
        return;
    fprintf(out, " WHERE NOT EXISTS (SELECT 1 FROM %s WHERE %s = ?1", l->table, l->owner);
    for (uint32_t i = 0; i < a->field_count; i++)
        if (l->keys[i])
            fprintf(out, " AND \"%s\" = ?%" PRIu32, a->fields[i].name, i + 3);
    fputs(" AND ", out);
    write_row(out, a, false);
    fputs(" > ", out);
    write_row(out, a, true);
    fputs(")", out);
}

/* Returns the text that `write` writes for `b`, for free(); NULL without memory. */
static char *text_of(void (*write)(FILE *out, enum builtin b), enum builtin b)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out)
        write(out, b);
    return file_text_end(out, &text) == 0 ? text : NULL;
}

static int exec_each(sqlite3 *db, void (*write)(FILE *out, enum builtin b))
{
    int err = 0;
    for (enum builtin b = 0; b < BUILTIN_COUNT && !err; b++) {
        char *text = text_of(write, b);
        err = text ? rundb_error(db, sqlite3_exec(db, text, NULL, NULL, NULL)) : BEZEL_ENOMEM;
        free(text);
    }
    return err;
}

int rundb_make_builtins(sqlite3 *db)
{
    return exec_each(db, write_schema);
}

enum builtin rundb_first_lacking(int64_t version)
{
    return (enum builtin)(BUILTIN_COUNT - (RUNDB_VERSION - version));
}

static int drop_made(sqlite3 *db)
{
    int err = 0;
    for (enum builtin b = rundb_first_lacking(RUNDB_VERSION_READ); b < BUILTIN_COUNT && !err; b++) {
        char text[128];
        snprintf(text, sizeof text, "DROP TABLE IF EXISTS temp.%s", builtin_layout(b)->table);
        err = rundb_error(db, sqlite3_exec(db, text, NULL, NULL, NULL));
    }
    return err ? err : rundb_error(db, sqlite3_exec(db, "DROP VIEW IF EXISTS temp.programs", NULL, NULL, NULL));
}

/* When programs were started. SQLite adds the column to the text of the table as this version writes it. */
static int make_launched(sqlite3 *db, bool lasting)
{
    const char *text = lasting ? "ALTER TABLE programs ADD COLUMN " RUNDB_LAUNCHED
                               : "CREATE TEMP VIEW programs AS SELECT *, 0 AS started FROM main.programs";
    return rundb_error(db, sqlite3_exec(db, text, NULL, NULL, NULL));
}

static int make_lacking(sqlite3 *db, enum builtin b, bool lasting)
{
    char *made = text_of(write_schema, b), *text = NULL;
    if (made)
        text = sqlite3_mprintf(lasting ? "CREATE %s" : "CREATE TEMP %s", made + strlen("CREATE "));
    int err = text ? rundb_error(db, sqlite3_exec(db, text, NULL, NULL, NULL)) : BEZEL_ENOMEM;
    sqlite3_free(text);
    free(made);
    return err;
}

int rundb_renew(sqlite3 *db, bool lasting)
{
    int64_t version = 0;
    char text[64];
    int err = rundb_number(db, "PRAGMA user_version", &version);
    if (!err && !lasting)
        err = drop_made(db);
    for (enum builtin b = rundb_first_lacking(version); b < BUILTIN_COUNT && !err; b++)
        err = make_lacking(db, b, lasting);
    if (!err && version < RUNDB_VERSION_LAUNCHED)
        err = make_launched(db, lasting);
    if (err || version == RUNDB_VERSION || !lasting)
        return err;
    snprintf(text, sizeof text, "PRAGMA user_version = %d", RUNDB_VERSION);
    return rundb_error(db, sqlite3_exec(db, text, NULL, NULL, NULL));
}

static void write_delete(FILE *out, enum builtin b)
{
    fprintf(out, "DELETE FROM %s WHERE section >= (SELECT ifnull(min(number), 0) FROM sections)",
            builtin_layout(b)->table);
}

static void write_join(FILE *out, enum builtin b)
{
    fprintf(out, "UPDATE %s SET section = min(section, (SELECT min(number) FROM sections))", builtin_layout(b)->table);
}

int rundb_join_builtins(sqlite3 *db)
{
    return exec_each(db, write_join);
}

int rundb_clear_builtins(sqlite3 *db)
{
    return exec_each(db, write_delete);
}

int rundb_prepare_builtins(struct rundb *f)
{
    int err = 0;
    for (enum builtin b = 0; b < BUILTIN_COUNT && !err; b++) {
        char *text = text_of(write_insert, b);
        err = text ? rundb_error(f->db, sqlite3_prepare_v2(f->db, text, -1, &f->statements[RUNDB_BUILTIN + b], NULL))
                   : BEZEL_ENOMEM;
        free(text);
    }
    return err;
}

/* ---- Their rows -------------------------------------------------------------------------------------------------- */

/* The value of a field. A string is looked up in the dictionary; "" for an id that it lacks. */
static struct rundb_value value_of(const struct dict *d, enum dict_type type, uint64_t value)
{
    double real;
    memcpy(&real, &value, sizeof real);
    if (type == DICT_FLOAT64)
        return RUNDB_REAL(real);
    if (type == DICT_STRING)
        return RUNDB_TEXT(value && value <= d->string_count ? d->strings[value - 1] : "");
    return RUNDB_INT(value);
}

int rundb_add_builtin(struct rundb *f, const struct model_process *process, const struct packet_record *r)
{
    enum builtin b = 0;
    while (b < BUILTIN_COUNT && process->builtins[b] != r->aspect)
        b++;
    if (b == BUILTIN_COUNT)
        return 0;
    bool is_node = strcmp(builtin_layout(b)->owner, "node") == 0;
    struct rundb_value row[3 + DICT_FIELDS_MAX] = {RUNDB_INT(is_node ? process->node->row : process->row),
                                                   RUNDB_INT(r->timestamp)};
    for (uint32_t i = 0; i < r->value_count; i++)
        row[i + 2] = value_of(process->dict, builtin_aspects[b].fields[i].type, packet_value(r, i));
    row[r->value_count + 2] = RUNDB_INT(f->section);
    return rundb_write_row(f, RUNDB_BUILTIN + (int)b, row, r->value_count + 3);
}
