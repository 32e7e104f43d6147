// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/table.h"
#include "base/units.h"
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"
#include "mdr/message.h"
#include "run/verdict/names.h"

#include <stdio.h>

static const char about[] =
    "Shows what the parts of a run do now: of each node its state, the records that it has read and lost, the "
    "packets that wait for the collector, living processes, how it polls, and whether its packets pass directly, out "
    "of memory that it shares with the collector, or by the link; of collectors what they have "
    "stored or passed on; of the resource manager its decisions. " COMMAND_RUN_OR_FILE "\n";
static const char footer[] =
    "Exit codes: 0 shown, 1 failed, 2 usage, or no such run, 4 the run is not running, or a part did not answer.\n";

static bool take_node(void *context, const char *name, const struct message *answer)
{
    static const char *const ways[] = {"nowhere", "by the link", "directly"};
    struct table *t = context;
    const struct message_node_status *n = &answer->reply.node;
    uint64_t lost = n->lost_full + n->lost_off + n->lost_no_ring + n->lost_window + n->lost_spool + n->lost_reducer;
    table_cell(t, "%s", name);
    table_cell(t, "%s", command_state(answer->reply.state));
    table_cell(t, "%s", units_count(n->records).s);
    table_cell(t, "%s", units_count(lost).s);
    table_cell(t, "%s", units_bytes(n->window_bytes + n->spool_bytes).s);
    table_cell(t, "%u of %s", n->processes, units_count(n->processes_seen).s);
    table_cell(t, "%s%s", n->period_ns ? "every " : "off", n->period_ns ? units_duration((int64_t)n->period_ns).s : "");
    table_cell(t, "%s", ways[n->way]);
    table_cell(t, "%s", answer->reply.text);
    return true;
}

static bool take_collector(void *context, const char *name, const struct message *answer)
{
    const struct message_collector_status *c = &answer->reply.collector;
    (void)context;
    printf("%s: %s, %s records stored, and %s of the monitor's own, in %s packets of %s, %u node%s connected\n", name,
           command_state(answer->reply.state), units_count(c->records).s, units_count(c->own_records).s,
           units_count(c->packets).s, units_bytes(c->bytes).s, c->peers, c->peers == 1 ? "" : "s");
    if (c->expired)
        printf("%s: of all these, %s records in %s packets of %s have expired from the store (store.keep)\n", name,
               units_count(c->expired_records).s, units_count(c->expired).s, units_bytes(c->expired_bytes).s);
    if (answer->reply.text[0])
        printf("%s: %s\n", name, answer->reply.text);
    return true;
}

static bool take_inner(void *context, const char *name, const struct message *answer)
{
    const struct message_collector_status *c = &answer->reply.collector;
    (void)context;
    printf("inner collector %s: %s, %s frames of %s passed on, %u node%s connected\n", name,
           command_state(answer->reply.state), units_count(c->packets).s, units_bytes(c->bytes).s, c->peers,
           c->peers == 1 ? "" : "s");
    if (answer->reply.text[0])
        printf("inner collector %s: %s\n", name, answer->reply.text);
    return true;
}

static bool take_manager(void *context, const char *name, const struct message *answer)
{
    const struct message_manager_status *m = &answer->reply.manager;
    (void)context;
    printf("%s: %s, %s decisions, %u nodes reached\n", name, command_state(answer->reply.state),
           units_count(m->decisions).s, m->reached);
    return true;
}

static int show_nodes(struct control_client *r)
{
    static const char *const heads[] = {"node",      "state", "records",    "lost", "waiting",
                                        "processes", "polls", "packets go", ""};
    struct table *t = table_with_heads("llrrrrlll", heads);
    int code = control_client_ask(r, &(struct message_command){.verb = VERB_QUERY}, ANSWER_NODE, take_node, t);
    table_sort(t); /* answers come in any order */
    table_print(t, 0, stdout);
    return code;
}

/* Shows collectors and resource manager, which are where `bezel run` is, or known there. */
static int show_others(struct command_target *t, const char *word, bool managed, bool tree)
{
    static const struct {
        enum control_client_whom whom;
        enum message_answer wanted;
        bool (*take)(void *context, const char *name, const struct message *answer);
    } others[] = {{CONTROL_CLIENT_COLLECTOR, ANSWER_COLLECTOR, take_collector},
                  {CONTROL_CLIENT_INNER, ANSWER_COLLECTOR, take_inner},
                  {CONTROL_CLIENT_MANAGER, ANSWER_MANAGER, take_manager}};
    int code = EXIT_OK;
    for (int i = 0; i < 3; i++) {
        if ((others[i].whom == CONTROL_CLIENT_INNER && !tree) || (others[i].whom == CONTROL_CLIENT_MANAGER && !managed))
            continue;
        t->whom = others[i].whom;
        struct message_command command = {.verb = VERB_QUERY};
        int answered = command_ask(t, word, &command, others[i].wanted, others[i].take, NULL);
        code = answered != EXIT_OK ? answered : code;
    }
    return code;
}

static void take_name(void *context, const char *what, const struct names_found *found)
{
    (void)context;
    printf("%s: %s\n", what, found->text);
}

/* Shows the names of the file that nothing in the run has; the run lies here. */
static void show_names(const struct command_target *t, const char *word, const struct experiment *e)
{
    char run[PATH_MAX];
    struct summary *s;
    if (command_find_run(t, word, run) != OPTIONS_GO_ON || summary_load_books(run, &s) != 0)
        return; /* that was said, or nothing is stored here */
    names_each(s, e, true, take_name, NULL);
    summary_free(s);
}

int cmd_status(int argc, char **argv)
{
    struct command_target t = {0};
    struct options o = {
        .program = "bezel status", .usage = "[OPTIONS] [RUN]", .about = about, .footer = footer, .most = 1};
    const struct options_entry entries[] = {
        COMMAND_NODE(&t),
        COMMAND_RUNS(&t),
        {0},
    };
    struct control_client r;
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON)
        code = command_reach(&t, o.words[0], &r);
    if (code != OPTIONS_GO_ON)
        return code;
    bool managed = experiment_has_manager(r.experiment), tree = r.experiment->inner_count > 0;
    code = show_nodes(&r);
    if (!command_is_file(o.words[0]))
        show_names(&t, o.words[0], r.experiment);
    control_client_close(&r);
    int others = command_is_file(o.words[0]) || t.node ? EXIT_OK : show_others(&t, o.words[0], managed, tree);
    return options_end(code != EXIT_OK ? code : others);
}
