// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "ecs/commands.h"
#include "ecs/find_run.h"
#include "ecs/json.h"
#include "ecs/reach.h"
#include "ecs/table.h"
#include "mdr/dict.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: bezel knob [--process PROCESS] [--node NODE] [--json] [--runs DIR] [RUN] [NAME[=VALUE]]\n"
    "\n"
    "Tells the knobs of a run's processes, or turns one: a number that a program declared with BEZEL_KNOB, and reads\n"
    "where a change suits it. It stays turned until the run ends. RUN is a run directory or its name below the folder\n"
    "of runs; without RUN, the newest one, which needs NAME=VALUE to turn a knob.\n"
    "\n"
    "  NAME               tells this knob alone\n"
    "  NAME=VALUE         turns it: a number in its range, or 'initial'\n"
    "  --process PROCESS  of this process alone, as the experiment names it, not of all that have it\n"
    "  --node NODE        on this node alone\n"
    "  --json             tells them as JSON\n"
    "  --runs DIR         the folder of runs (default: $BEZEL_RUNS, else runs)\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 done, 1 refused, failed, or there is no such knob, 2 usage, 4 the run does not go on, or a node "
    "did\n"
    "not answer.\n";

/* What a node tells of a knob. */
struct row {
    const char *node;
    char process[MESSAGE_NAME_MAX + 1], name[MESSAGE_NAME_MAX + 1], unit[MESSAGE_NAME_MAX + 1];
    int64_t value, min, max, initial, pid;
    uint64_t instance;
};

struct knobs_told {
    size_t count;
    struct row *rows;
    bool more; /* the last answer told of one, the next may too */
    uint32_t next;
};

struct arguments {
    const char *node, *runs, *run, *process;
    bool json;
    char name[MESSAGE_NAME_MAX + 1]; /* empty: all */
    struct message_knob order;       /* KNOB_ASK: nothing is turned */
};

/* ---- The command line -------------------------------------------------------------------------------------------- */

static int read_value(const char *text, struct message_knob *order)
{
    char *end;
    if (strcmp(text, "initial") == 0) {
        order->order = KNOB_RESET;
        return EXIT_HELD;
    }
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0')
        return command_misuse("knob", "'%s' is no value of a knob: a whole number, or initial", text);
    if (errno != 0 || value < INT32_MIN || value > INT32_MAX)
        return command_misuse("knob", "'%s' is out of range; allowed: %d .. %d", text, INT32_MIN, INT32_MAX);
    order->order = KNOB_SET;
    order->value = (int32_t)value;
    return EXIT_HELD;
}

static int read_knob(const char *word, struct arguments *a)
{
    size_t n = strcspn(word, "=");
    snprintf(a->name, sizeof a->name, "%.*s", (int)n, word);
    if (n > MESSAGE_NAME_MAX || !dict_name_ok(a->name))
        return command_misuse("knob", "'%.*s' is no name of a knob", (int)n, word);
    if (word[n] == '\0')
        return EXIT_HELD;
    snprintf(a->order.name, sizeof a->order.name, "%s", a->name);
    snprintf(a->order.process, sizeof a->order.process, "%s", a->process ? a->process : "");
    return read_value(word + n + 1, &a->order);
}

/* Returns an exit code; EXIT_HELD: go on. */
static int read_words(int count, char **words, struct arguments *a)
{
    if (count > 2)
        return command_misuse("knob", "more than a RUN and a NAME");
    if (a->process && strlen(a->process) > MESSAGE_NAME_MAX)
        return command_misuse("knob", "'%s' is no name of a process", a->process);
    if (count == 1 && strchr(words[0], '='))
        return read_knob(words[0], a);
    a->run = count > 0 ? words[0] : NULL;
    return count > 1 ? read_knob(words[1], a) : EXIT_HELD;
}

/* ---- Telling ----------------------------------------------------------------------------------------------------- */

/* Takes "PROCESS NAME UNIT" apart: names hold no blank, a unit may. */
static void cut_apart(const char *text, struct row *r)
{
    int process = (int)strcspn(text, " ");
    const char *at = text + process + (text[process] != '\0');
    int name = (int)strcspn(at, " ");
    snprintf(r->process, sizeof r->process, "%.*s", process, text);
    snprintf(r->name, sizeof r->name, "%.*s", name, at);
    snprintf(r->unit, sizeof r->unit, "%s", at + name + (at[name] != '\0'));
}

static bool take_knob(void *context, const char *node, const struct message_reply *reply)
{
    struct knobs_told *told = context;
    int64_t at = message_reply_get(reply, "knob_at", -1);
    told->more = at >= told->next && at < UINT32_MAX;
    if (!told->more)
        return true;
    told->next = (uint32_t)at + 1;
    struct row *rows = realloc(told->rows, (told->count + 1) * sizeof *rows);
    if (!rows) {
        log_error("BEZEL-KNOB", "out of memory");
        return told->more = false;
    }
    told->rows = rows;
    rows[told->count++] = (struct row){.node = node,
                                       .value = message_reply_get(reply, "knob_value", 0),
                                       .min = message_reply_get(reply, "knob_min", 0),
                                       .max = message_reply_get(reply, "knob_max", 0),
                                       .initial = message_reply_get(reply, "knob_initial", 0),
                                       .pid = message_reply_get(reply, "knob_pid", 0),
                                       .instance = (uint64_t)message_reply_get(reply, "knob_instance", 0)};
    cut_apart(reply->text, &rows[told->count - 1]);
    return true;
}

/* All knobs of all nodes: node by node, and of each one after the other. */
static int ask_all(struct reach *r, struct knobs_told *told)
{
    int code = EXIT_HELD;
    for (uint32_t i = 0; i < r->count && code != EXIT_FAILED; i++) {
        struct reach one = {.count = 1, .nodes = &r->nodes[i], .commands = r->commands};
        told->more = true;
        told->next = 0;
        while (told->more) {
            struct message_command command = {.verb = VERB_KNOB, .knob = {.order = KNOB_ASK, .from = told->next}};
            told->more = false;
            int answered = reach_ask(&one, &command, take_knob, told);
            code = answered != EXIT_HELD ? answered : code;
        }
    }
    return code;
}

static bool is_wanted(const struct arguments *a, const struct row *r)
{
    return (!a->name[0] || strcmp(a->name, r->name) == 0) && (!a->process || strcmp(a->process, r->process) == 0);
}

static void print_rows(const struct row *rows, size_t count)
{
    static const char *const heads[] = {"node", "process", "pid", "knob", "value", "unit", "range", "initial"};
    struct table *t = table_with_heads("llrlrllr", heads);
    for (const struct row *r = rows; r < rows + count; r++) {
        table_cell(t, "%s", r->node);
        table_cell(t, "%s", r->process);
        table_cell(t, "%" PRId64, r->pid);
        table_cell(t, "%s", r->name);
        table_cell(t, "%" PRId64, r->value);
        table_cell(t, "%s", r->unit);
        table_cell(t, "%" PRId64 " .. %" PRId64, r->min, r->max);
        table_cell(t, "%" PRId64, r->initial);
    }
    table_print(t, 0, stdout);
}

static void print_json(const struct row *rows, size_t count)
{
    struct json j = {.out = stdout};
    json_object(&j, NULL);
    json_array(&j, "knobs");
    for (const struct row *r = rows; r < rows + count; r++) {
        json_object(&j, NULL);
        json_text(&j, "node", r->node);
        json_text(&j, "process", r->process);
        json_uint_text(&j, "instance", r->instance);
        json_int(&j, "pid", r->pid);
        json_text(&j, "knob", r->name);
        json_int(&j, "value", r->value);
        json_text(&j, "unit", r->unit);
        json_int(&j, "min", r->min);
        json_int(&j, "max", r->max);
        json_int(&j, "initial", r->initial);
        json_object_end(&j);
    }
    json_array_end(&j);
    json_object_end(&j);
    fputc('\n', stdout);
}

static int no_such_knob(const struct arguments *a)
{
    if (a->process)
        log_error("BEZEL-KNOB", "process %s has no knob '%s'", a->process, a->name);
    else
        log_error("BEZEL-KNOB", "no process of the run has a knob '%s'", a->name);
    return EXIT_FAILED;
}

static int tell(struct reach *r, const struct arguments *a)
{
    struct knobs_told told = {0};
    int code = ask_all(r, &told);
    size_t kept = 0;
    for (size_t i = 0; i < told.count; i++)
        if (is_wanted(a, &told.rows[i]))
            told.rows[kept++] = told.rows[i];
    if (a->json)
        print_json(told.rows, kept);
    else if (kept > 0)
        print_rows(told.rows, kept);
    if (kept == 0 && a->name[0] && code == EXIT_HELD)
        code = no_such_knob(a);
    else if (kept == 0 && code == EXIT_HELD)
        log_warn("BEZEL-KNOB", "no process has a knob that can be turned now");
    free(told.rows);
    return code;
}

/* ---- Turning ----------------------------------------------------------------------------------------------------- */

static bool take_turned(void *context, const char *node, const struct message_reply *reply)
{
    int64_t set = message_reply_get(reply, "knob_set", 0), *sum = context;
    if (message_reply_get(reply, "refused", 0)) {
        log_error("BEZEL-KNOB", "%s: %s", node, reply->text);
        return false;
    }
    if (set > 0)
        printf("%s: turned in %" PRId64 " process%s\n", node, set, set == 1 ? "" : "es");
    *sum += set;
    return true;
}

static int turn(struct reach *r, const struct arguments *a)
{
    int64_t sum = 0;
    struct message_command command = {.verb = VERB_KNOB, .knob = a->order};
    int code = reach_ask(r, &command, take_turned, &sum);
    return code == EXIT_HELD && sum == 0 ? no_such_knob(a) : code;
}

static int ask(const struct arguments *a)
{
    char run[PATH_MAX];
    struct reach r;
    if (find_run(a->run, a->runs, run, sizeof run) != 0)
        return EXIT_USAGE;
    int code = reach_open(run, a->node, &r);
    if (code != EXIT_HELD)
        return code;
    code = a->order.order == KNOB_ASK ? tell(&r, a) : turn(&r, a);
    reach_close(&r);
    return command_end(code);
}

int cmd_knob(int argc, char **argv)
{
    static const struct option options[] = {
        {"process", required_argument, NULL, 'p'}, {"node", required_argument, NULL, 'n'},
        {"json", no_argument, NULL, 'j'},          {"runs", required_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},          {0}};
    struct arguments a = {0};
    for (int o; (o = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (o == 'h')
            return command_help(help);
        if (o == 'p')
            a.process = optarg;
        else if (o == 'n')
            a.node = optarg;
        else if (o == 'j')
            a.json = true;
        else if (o == 'r')
            a.runs = optarg;
        else
            return command_misuse("knob", "an option is wrong");
    }
    int code = read_words(argc - optind, argv + optind, &a);
    return code == EXIT_HELD ? ask(&a) : code;
}
