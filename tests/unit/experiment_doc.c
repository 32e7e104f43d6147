// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * docs/EXPERIMENT.md is exact: it has a row for each key of the tables in config/ and for no other, with its type,
 * default and range; and its examples are read without a finding.
 */
#include "base/file.h"
#include "base/units.h"
#include "config/schema.h"
#include "tests/lib/experiments.h"
#include "tests/lib/test.h"

enum { KEYS_MAX = 192, PATH_LENGTH = 128, ROW_LENGTH = 512 };

static char *document;
static char keys[KEYS_MAX][PATH_LENGTH];
static int key_count, complaints;

static void complain(const char *path, const char *what)
{
    printf("docs/EXPERIMENT.md: %s: %s\n", path, what);
    complaints++;
}

/* Copies the row of `path`: the line that begins with "| `path` |". False unless there is exactly one. */
static bool find_row(const char *path, char *row)
{
    char opening[PATH_LENGTH + 8];
    snprintf(opening, sizeof opening, "\n| `%s` |", path);
    const char *at = strstr(document, opening);
    if (!at)
        return false;
    snprintf(row, ROW_LENGTH, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
    return strstr(at + 1, opening) == NULL;
}

static void require(const char *path, const char *row, const char *part)
{
    if (!strstr(row, part)) {
        complain(path, "the row does not hold:");
        printf("    %s\n", part);
    }
}

static struct units_text number(uint64_t n)
{
    struct units_text t;
    snprintf(t.s, sizeof t.s, "%llu", (unsigned long long)n);
    return t;
}

/* The row of a quantity must have "| type | `default` | `min` .. `max`". */
static void require_quantity(const char *path, const char *row, const char *type, struct units_text value,
                             struct units_text min, struct units_text max)
{
    char part[ROW_LENGTH];
    bool none = strcmp(value.s, units_exact_size(EXPERIMENT_NO_SIZE).s) == 0 ||
                strcmp(value.s, number(EXPERIMENT_NO_COUNT).s) == 0;
    const char *tick = none ? "" : "`";
    snprintf(part, sizeof part, "| %s | %s%s%s | `%s` .. `%s`", type, tick, none ? "unlimited" : value.s, tick, min.s,
             max.s);
    require(path, row, part);
}

static void require_range(const char *path, const char *row, const struct schema_field *f, const int64_t *ends)
{
    char part[ROW_LENGTH];
    snprintf(part, sizeof part, "| range | `%s .. %s` | `%s` .. `%s`", units_exact_duration(ends[0]).s,
             units_exact_duration(ends[1]).s, units_exact_duration(f->min).s, units_exact_duration(f->max).s);
    require(path, row, part);
}

static void require_share(const char *path, const char *row, double share)
{
    char part[ROW_LENGTH];
    snprintf(part, sizeof part, "| percentage | `%s %%` | `0 %%` .. `100 %%`", units_exact_number(share * 100).s);
    require(path, row, part);
}

static void require_words(const char *path, const char *row, const struct schema_field *f, int value)
{
    char list[ROW_LENGTH] = "", part[ROW_LENGTH + 8];
    for (const struct schema_word *w = f->words; w->word; w++)
        if (!w->given_up)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s`%s`", list[0] ? ", " : "", w->word);
    snprintf(part, sizeof part, "| %s |", list);
    require(path, row, part);
    require(path, row, "| word |");
    snprintf(part, sizeof part, strcmp(path, "adapt.policy") == 0 ? "else `%s` |" : "| word | `%s` |",
             schema_word(f->words, value));
    if (!f->required)
        require(path, row, part);
}

static void check_row(const char *path, const struct schema_field *f, const void *defaults)
{
    char row[ROW_LENGTH];
    const void *value = (const char *)defaults + f->offset;
    if (!find_row(path, row)) {
        complain(path, "there is not one row for this key");
        return;
    }
    if (f->kind == SCHEMA_DURATION && !f->required)
        require_quantity(path, row, "duration", units_exact_duration(*(const int64_t *)value),
                         units_exact_duration(f->min), units_exact_duration(f->max));
    else if (f->kind == SCHEMA_DURATION_RANGE)
        require_range(path, row, f, value);
    else if (f->kind == SCHEMA_SIZE)
        require_quantity(path, row, "size", units_exact_size(*(const uint64_t *)value),
                         units_exact_size((uint64_t)f->min), units_exact_size((uint64_t)f->max));
    else if (f->kind == SCHEMA_COUNT)
        require_quantity(path, row, "count", number(*(const uint32_t *)value), number((uint64_t)f->min),
                         number((uint64_t)f->max));
    else if (f->kind == SCHEMA_SHARE)
        require_share(path, row, *(const double *)value);
    else if (f->kind == SCHEMA_WORD)
        require_words(path, row, f, *(const int *)value);
    else if (f->kind == SCHEMA_FLAG)
        require_words(path, row, f, *(const bool *)value);
    if (f->required)
        require(path, row, "| required |");
}

static void check_keys(const char *prefix, const struct schema_field *fields, const void *defaults)
{
    for (const struct schema_field *f = fields; f->key; f++) {
        char path[PATH_LENGTH];
        if (f->kind == SCHEMA_GIVEN_UP)
            continue;
        snprintf(path, sizeof path, "%s%s", prefix, f->key);
        if (f->kind != SCHEMA_MAP && f->kind != SCHEMA_TABLE) {
            check_row(path, f, defaults);
            assert_true(key_count < KEYS_MAX);
            strcpy(keys[key_count++], path);
            if (f->kind == SCHEMA_OWN && f->fields)
                check_keys(strcat(path, "."), f->fields, (const char *)defaults + f->offset);
            continue;
        }
        char heading[PATH_LENGTH + 8];
        snprintf(heading, sizeof heading, "\n## `%s`\n", path);
        if (!strchr(path, '.') && !strstr(document, heading))
            complain(path, "has no section");
        strcat(path, f->kind == SCHEMA_MAP ? "." : f->table->named ? ".NAME." : "[].");
        if (f->kind == SCHEMA_MAP)
            check_keys(path, f->fields, defaults);
        else
            check_keys(path, f->table->fields, f->table->defaults);
    }
}

TEST(every_key_is_in_the_document)
{
    complaints = 0;
    check_keys("", schema_experiment, &schema_defaults);
    assert_true(key_count > 30);
    assert_int_equal(complaints, 0);
}

TEST(every_row_is_about_a_key)
{
    complaints = 0;
    for (const char *row = document; (row = strstr(row, "\n| `")) != NULL; row++) {
        char path[PATH_LENGTH];
        int i = 0;
        snprintf(path, sizeof path, "%.*s", (int)strcspn(row + 4, "`"), row + 4);
        while (i < key_count && strcmp(keys[i], path) != 0)
            i++;
        if (i == key_count)
            complain(path, "the reader has no such key");
    }
    assert_int_equal(complaints, 0);
}

/* Reads one example; the other sections that a file needs are added to it. */
static void read_example(const char *yaml, int n)
{
    char text[4096];
    struct experiment *e = NULL;
    struct experiment_diagnostics found;
    snprintf(text, sizeof text, "\n%.*s", n, yaml);
    bool is_whole = strstr(text, "\nexperiment:") != NULL;
    bool has_command = strstr(text, "\ncommand:") || strstr(text, "\nprocesses:");
    bool has_nodes = strstr(text, "\nnodes:") && !is_whole;
    snprintf(text, sizeof text, "%s%s%.*s", is_whole ? "" : "experiment: example\n",
             has_command ? ""
             : has_nodes ? "processes: [{name: a, node: desk, command: a}]\n"
                         : "command: ./a\n",
             n, yaml);
    if (experiment_read(text, strlen(text), &e, &found) != 0 || found.count > 0) {
        experiment_print_diagnostics(&found, "example", stdout);
        printf("%s", text);
        complaints++;
    }
    experiment_free(e);
    experiment_diagnostics_free(&found);
}

TEST(every_example_is_right)
{
    int examples = 0;
    complaints = 0;
    for (const char *at = document; (at = strstr(at, "\n```yaml\n")) != NULL; examples++) {
        at += strlen("\n```yaml\n");
        const char *end = strstr(at, "\n```");
        assert_non_null(end);
        read_example(at, (int)(end - at) + 1);
        at = end;
    }
    assert_true(examples > 8);
    assert_int_equal(complaints, 0);
}

int main(void)
{
    size_t n;
    if (file_read("docs/EXPERIMENT.md", 1 << 20, &document, &n) != 0)
        return fprintf(stderr, "docs/EXPERIMENT.md cannot be read\n"), 1;
    int failed = test_run(NULL, NULL);
    free(document);
    return failed;
}
