// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "base/log.h"
#include "ecs/cli/commands.h"
#include "ecs/cli/options.h"
#include "ecs/report/table.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: bezel ls [--keys DIR --key NAME --server NAME] [ENDPOINT]...\n"
    "\n"
    "Lists the sessions that bezelds serve: a session is one node of one run. Without ENDPOINT it asks the bezelds of\n"
    "this user on this machine: those that runs have started, and the persistent one of systemd. ENDPOINT is where a\n"
    "bezeld takes commands, as in `bezeld --control ENDPOINT`; over tcp it takes keys.\n"
    "\n"
    "  --keys DIR     folder of keys\n"
    "  --key NAME     the secret key there that asks, which has the role control at the bezeld\n"
    "  --server NAME  the public key there that the bezeld has\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 listed, 1 failed, 2 usage, 4 a bezeld did not answer.\n";

struct arguments {
    const char *keys, *key, *server;
    struct table *table;
};

static bool take(void *context, const char *name, const struct message *answer)
{
    struct table *t = context;
    const struct message_session_list *list = &answer->sessions;
    for (const struct message_session *s = list->sessions; s < list->sessions + list->count; s++) {
        table_cell(t, "%02x%02x%02x%02x", s->run[0], s->run[1], s->run[2], s->run[3]);
        table_cell(t, "%s", s->experiment);
        table_cell(t, "%s", s->node);
        table_cell(t, "%s", options_state(s->state));
        table_cell(t, "%u", s->processes);
        table_cell(t, "%s%s%s", s->host[0] ? s->host : "this machine", s->key[0] ? ", key " : "", s->key);
        table_cell(t, "%s", name);
    }
    return true;
}

static int ask(const struct arguments *a, const char *endpoint)
{
    char own[PATH_MAX], server[PATH_MAX];
    struct control_client bezeld;
    struct message_command command = {.verb = VERB_QUERY, .subject = SUBJECT_SESSIONS};
    snprintf(own, sizeof own, "%s/%s.key", a->keys ? a->keys : "", a->key ? a->key : "");
    snprintf(server, sizeof server, "%s/%s.pub", a->keys ? a->keys : "", a->server ? a->server : "");
    int code = control_client_open_bezeld(endpoint, (struct command_caller_keys){a->keys ? own : NULL, server},
                                          endpoint, &bezeld);
    if (code != EXIT_OK)
        return code;
    code = control_client_ask(&bezeld, &command, ANSWER_SESSIONS, take, a->table);
    control_client_close(&bezeld);
    return code;
}

/* Asks each bezeld of this user whose socket is where runs and systemd put it. One that has just ended is no error. */
static void ask_own(const struct arguments *a)
{
    char base[PATH_MAX], pattern[PATH_MAX + 32];
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    glob_t found;
    file_bezel_dir(base, sizeof base);
    snprintf(pattern, sizeof pattern, "%s/run-*/.b*/control", base);
    int err = glob(pattern, 0, NULL, &found);
    if (runtime && *runtime) {
        snprintf(pattern, sizeof pattern, "%s/bezel/control", runtime);
        err = glob(pattern, err ? 0 : GLOB_APPEND, NULL, &found) ? err : 0;
    }
    for (size_t i = 0; !err && i < found.gl_pathc; i++) {
        char endpoint[LINK_ENDPOINT_MAX];
        if (snprintf(endpoint, sizeof endpoint, "ipc://%s", found.gl_pathv[i]) < (int)sizeof endpoint &&
            endpoint_try(endpoint) == 0)
            (void)!ask(a, endpoint);
    }
    globfree(&found);
}

int cmd_ls(int argc, char **argv)
{
    static const char *const heads[] = {"run", "experiment", "node", "state", "processes", "requested from", "bezeld"};
    struct arguments a = {.keys = NULL};
    struct options o = {.command = "ls", .help = help, .most = 1024, .wanted = "give at most 1024 endpoints"};
    const struct options_entry entries[] = {
        {"keys", .value = &a.keys}, {"key", .value = &a.key}, {"server", .value = &a.server}, {0}};
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    if (!a.keys != !a.key || !a.keys != !a.server)
        return command_misuse("ls", "--keys, --key and --server go together");
    for (unsigned i = 0; i < o.count; i++)
        if (endpoint_check(o.words[i]) != 0)
            return command_misuse("ls", "'%s' is not an endpoint: use ipc:///PATH or tcp://HOST:PORT", o.words[i]);
    a.table = table_with_heads("llllrll", heads);
    if (o.count == 0)
        ask_own(&a);
    code = EXIT_OK;
    for (unsigned i = 0; i < o.count; i++) {
        int answered = ask(&a, o.words[i]);
        code = answered != EXIT_OK ? answered : code;
    }
    table_print(a.table, 0, stdout);
    return command_end(code);
}
