// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/grow.h"
#include "base/json.h"
#include "base/log.h"
#include "base/near.h"
#include "base/table.h"
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"
#include "ecs/course/control_client.h"
#include "mdr/dict.h"
#include "mdr/message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char about[] =
    "Lists the knobs of a run's processes, or sets one. A knob is a number that a program declares with "
    "BEZEL_KNOB and reads where it can take a change. The value stays until the run ends. " COMMAND_RUN_OR_FILE "\n"
    "\n"
    "  NAME        list only this knob; needs RUN\n"
    "  NAME=VALUE  set it, in all processes that have it, to a number in its range or to 'initial'\n";
static const char footer[] =
    "Exit codes: 0 done, 1 failed, or there is no such knob, 2 usage, a value out of range, or no such run, 4 "
    "the run is not running, or a node did not answer.\n";

/* A knob that a node listed. */
struct row {
    const char *node;
    struct message_knob_state knob;
};

struct listed {
    size_t count;
    struct row *rows;
    uint32_t next; /* where the rest of the node's list begins; 0: it is complete */
};

struct arguments {
    const char *run, *process;
    bool json;
    char name[MESSAGE_NAME_MAX + 1]; /* empty: all */
    struct message_knob command;     /* without a name nothing is set */
};

/* ---- The command line -------------------------------------------------------------------------------------------- */

static int read_value(const char *text, struct message_knob *command)
{
    char *end;
    if (strcmp(text, "initial") == 0) {
        command->action = KNOB_RESET;
        return OPTIONS_GO_ON;
    }
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0')
        return options_misuse("'%s' is not a value of a knob: use a whole number, or initial", text);
    if (errno != 0 || value < INT32_MIN || value > INT32_MAX)
        return options_misuse("'%s' is out of range; allowed: %d .. %d", text, INT32_MIN, INT32_MAX);
    command->action = KNOB_SET;
    command->value = (int32_t)value;
    return OPTIONS_GO_ON;
}

static int read_knob(const char *word, struct arguments *a)
{
    size_t n = strcspn(word, "=");
    snprintf(a->name, sizeof a->name, "%.*s", (int)n, word);
    if (n > MESSAGE_NAME_MAX || !dict_name_ok(a->name))
        return options_misuse("'%.*s' is not a name of a knob", (int)n, word);
    if (word[n] == '\0')
        return OPTIONS_GO_ON;
    snprintf(a->command.name, sizeof a->command.name, "%s", a->name);
    snprintf(a->command.process, sizeof a->command.process, "%s", a->process ? a->process : "");
    return read_value(word + n + 1, &a->command);
}

static int read_words(unsigned count, char **words, struct arguments *a)
{
    if (a->process && strlen(a->process) > MESSAGE_NAME_MAX)
        return options_misuse("'%s' is not a name of a process", a->process);
    if (count == 1 && strchr(words[0], '='))
        return read_knob(words[0], a);
    a->run = count > 0 ? words[0] : NULL;
    return count > 1 ? read_knob(words[1], a) : OPTIONS_GO_ON;
}

/* ---- Listing ----------------------------------------------------------------------------------------------------- */

static bool take_knobs(void *context, const char *node, const struct message *answer)
{
    struct listed *all = context;
    const struct message_knob_list *list = &answer->knobs;
    if (!grow_to(&all->rows, all->count + list->count + 1, sizeof *all->rows)) {
        log_error("BEZEL-KNOB", "out of memory");
        return false;
    }
    for (uint32_t i = 0; i < list->count; i++)
        all->rows[all->count++] = (struct row){.node = node, .knob = list->knobs[i]};
    all->next = list->next;
    return true;
}

/* Lists the knobs of all nodes, node by node. A long list takes several messages. */
static int list_all(struct control_client *r, struct listed *all)
{
    int code = EXIT_OK;
    for (uint32_t i = 0; i < r->count && code != EXIT_FAILED; i++) {
        struct control_client one = {.count = 1, .nodes = &r->nodes[i]};
        uint32_t from = 0;
        do {
            struct message_command command = {.verb = VERB_QUERY, .subject = SUBJECT_KNOBS, .from = from};
            all->next = 0;
            int answered = control_client_ask(&one, &command, ANSWER_KNOBS, take_knobs, all);
            code = answered != EXIT_OK ? answered : code;
        } while (all->next > from && (from = all->next));
    }
    return code;
}

static bool is_wanted(const struct arguments *a, const struct row *r)
{
    return (!a->name[0] || strcmp(a->name, r->knob.name) == 0) &&
           (!a->process || strcmp(a->process, r->knob.process) == 0);
}

static void print_rows(const struct row *rows, size_t count)
{
    static const char *const heads[] = {"node", "process", "pid", "knob", "value", "unit", "range", "initial"};
    struct table *t = table_with_heads("llrlrllr", heads);
    for (const struct row *r = rows; r < rows + count; r++) {
        const struct message_knob_state *k = &r->knob;
        table_cell(t, "%s", r->node);
        table_cell(t, "%s", k->process);
        table_cell(t, "%" PRIu32, k->pid);
        table_cell(t, "%s", k->name);
        table_cell(t, "%" PRId32, k->value);
        table_cell(t, "%s", k->unit);
        table_cell(t, "%" PRId32 " .. %" PRId32, k->min, k->max);
        table_cell(t, "%" PRId32, k->initial);
    }
    table_print(t, 0, stdout);
}

static void print_json(const struct row *rows, size_t count)
{
    struct json j = {.out = stdout};
    json_object(&j, NULL);
    json_array(&j, "knobs");
    for (const struct row *r = rows; r < rows + count; r++) {
        const struct message_knob_state *k = &r->knob;
        json_object(&j, NULL);
        json_text(&j, "node", r->node);
        json_text(&j, "process", k->process);
        json_uint_text(&j, "instance", k->instance);
        json_int(&j, "pid", k->pid);
        json_text(&j, "knob", k->name);
        json_int(&j, "value", k->value);
        json_text(&j, "unit", k->unit);
        json_int(&j, "min", k->min);
        json_int(&j, "max", k->max);
        json_int(&j, "initial", k->initial);
        json_object_end(&j);
    }
    json_array_end(&j);
    json_object_end(&j);
    fputc('\n', stdout);
}

static int no_such_knob(struct control_client *r, const struct arguments *a)
{
    struct near_names near = near_names(a->name);
    char subject[MESSAGE_NAME_MAX + 32] = "no process of the run has a knob", text[512];
    struct listed all = {0};
    int code = list_all(r, &all);
    for (const struct row *row = all.rows; row < all.rows + all.count; row++)
        if (!a->process || strcmp(a->process, row->knob.process) == 0)
            near_names_consider(&near, false, row->knob.name, row->knob.process);
    if (a->process)
        snprintf(subject, sizeof subject, "process %s has no knob", a->process);
    near_names_write(&near, subject, text, sizeof text);
    log_error("BEZEL-KNOB", "%s", text);
    free(all.rows);
    return code == EXIT_OK ? EXIT_FAILED : code;
}

static int show(struct control_client *r, const struct arguments *a)
{
    struct listed all = {0};
    int code = list_all(r, &all);
    size_t kept = 0;
    for (size_t i = 0; i < all.count; i++)
        if (is_wanted(a, &all.rows[i]))
            all.rows[kept++] = all.rows[i];
    if (a->json)
        print_json(all.rows, kept);
    else if (kept > 0)
        print_rows(all.rows, kept);
    if (kept == 0 && a->name[0] && code == EXIT_OK)
        code = no_such_knob(r, a);
    else if (kept == 0 && code == EXIT_OK)
        log_warn("BEZEL-KNOB", "no process has a knob that can be set now");
    free(all.rows);
    return code;
}

/* ---- Setting ----------------------------------------------------------------------------------------------------- */

static bool take_set(void *context, const char *node, const struct message *answer)
{
    uint32_t set = answer->reply.knob_set;
    if (set > 0)
        printf("%s: set in %" PRIu32 " process%s\n", node, set, set == 1 ? "" : "es");
    *(uint64_t *)context += set;
    return true;
}

static int set(struct control_client *r, const struct arguments *a)
{
    uint64_t processes = 0;
    struct message_command command = {.verb = VERB_SET, .subject = SUBJECT_KNOBS, .knob = a->command};
    int code = control_client_ask(r, &command, ANSWER_KNOB_SET, take_set, &processes);
    return code == EXIT_OK && processes == 0 ? no_such_knob(r, a) : code;
}

int cmd_knob(int argc, char **argv)
{
    struct arguments a = {0};
    struct control_client r;
    struct command_target t = {0};
    struct options o = {.program = "bezel knob",
                        .usage = "[OPTIONS] [RUN] [NAME[=VALUE]]",
                        .about = about,
                        .footer = footer,
                        .most = 2};
    const struct options_entry entries[] = {
        {"process", 0, "PROCESS", "only of this process, named as in the experiment", .value = &a.process},
        COMMAND_NODE(&t),
        {"json", 'j', NULL, "list them as JSON", .flag = &a.json},
        COMMAND_RUNS(&t),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON)
        code = read_words(o.count, o.words, &a);
    if (code == OPTIONS_GO_ON)
        code = command_reach(&t, a.run, &r);
    if (code == EXIT_USAGE && o.count == 1 && dict_name_ok(o.words[0]))
        log_info("BEZEL-KNOB", "if %s is a knob, name the run before it: bezel knob latest %s", o.words[0], o.words[0]);
    if (code != OPTIONS_GO_ON)
        return code;
    code = a.command.name[0] == '\0' ? show(&r, &a) : set(&r, &a);
    control_client_close(&r);
    return options_end(code);
}
