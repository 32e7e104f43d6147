// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/table.h"
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"
#include "mdr/message.h"
#include "sensor/shm/segment_list.h"

#include <errno.h>
#include <glob.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char about[] =
    "Lists the sessions that bezelds serve (a session is one node of one run), and the processes that record, "
    "read by a run or not. Without ENDPOINT it asks the bezelds of this user on this machine: those that runs "
    "have started, and the persistent ones of systemd; and it looks for processes in this user's folder and in "
    "those of its runs. ENDPOINT is where a bezeld takes commands, as in `bezeld --control ENDPOINT`; over tcp "
    "it takes keys. Its processes are those in its default folder and in the folders of its sessions.\n";
static const char footer[] = "Exit codes: 0 listed, 1 failed, 2 usage, 4 a bezeld did not answer.\n";

enum { LS_ANSWERS = 1024 }; /* parts of the list of processes that a bezeld is asked for */

struct arguments {
    const char *keys, *key, *server;
    struct table *sessions, *processes;
};

/* What is asked of a bezeld, and how far its list of processes has come. */
struct listing {
    struct table *processes;
    char folder[MESSAGE_TEXT_MAX + 1]; /* "": complete */
    uint64_t after;
};

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

static void add_process(struct table *t, const struct message_segment *s, const char *folder, const char *where)
{
    static const uint8_t nobody[16];
    time_t since = time(NULL) - (time_t)(s->age_ns / CLOCK_S);
    struct tm local;
    char text[32];
    if (!localtime_r(&since, &local) || strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local) == 0)
        snprintf(text, sizeof text, "-");
    table_cell(t, "%s", s->name);
    if (s->pid)
        table_cell(t, "%u", s->pid);
    else
        table_cell(t, "-");
    table_cell(t, "%s", text);
    table_cell(t, "%s", units_count(s->records).s);
    if (memcmp(s->run, nobody, sizeof nobody) == 0)
        table_cell(t, "nobody");
    else
        table_cell(t, "%02x%02x%02x%02x", s->run[0], s->run[1], s->run[2], s->run[3]);
    table_cell(t, "%s", folder);
    table_cell(t, "%s", where);
}

static bool take_sessions(void *context, const char *name, const struct message *answer)
{
    struct table *t = context;
    const struct message_session_list *list = &answer->sessions;
    for (const struct message_session *s = list->sessions; s < list->sessions + list->count; s++) {
        table_cell(t, "%02x%02x%02x%02x", s->run[0], s->run[1], s->run[2], s->run[3]);
        table_cell(t, "%s", s->experiment);
        table_cell(t, "%s", s->node);
        table_cell(t, "%s", command_state(s->state));
        table_cell(t, "%u", s->processes);
        table_cell(t, "%s%s%s", s->host[0] ? s->host : "this machine", s->key[0] ? ", key " : "", s->key);
        table_cell(t, "%s", name);
    }
    return true;
}

static bool take_processes(void *context, const char *name, const struct message *answer)
{
    struct listing *l = context;
    const struct message_segment_list *list = &answer->segments;
    int order = strcmp(list->folder, l->folder);
    bool on = order > 0 || (order == 0 && l->after != UINT64_MAX && (list->next == 0 || list->next > l->after));
    if (answer->reply.text[0])
        log_warn("BEZEL-LS", "%s: %s", name, answer->reply.text);
    for (uint32_t i = 0; i < list->count; i++)
        add_process(l->processes, &list->rows[i], list->folder, name);
    l->after = list->next ? list->next : UINT64_MAX;
    snprintf(l->folder, sizeof l->folder, "%s", on ? list->folder : "");
    return true;
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

/* The list comes in parts: folder by folder, and of a folder instance by instance. */
static int ask_processes(struct control_client *bezeld, const char *endpoint, struct table *processes)
{
    struct listing l = {.processes = processes};
    int code = EXIT_OK;
    for (unsigned i = 0; code == EXIT_OK && i < LS_ANSWERS; i++) {
        struct message_command command = {.verb = VERB_QUERY, .subject = SUBJECT_SEGMENTS, .after = l.after};
        snprintf(command.folder, sizeof command.folder, "%s", l.folder);
        code = control_client_ask(bezeld, &command, ANSWER_SEGMENTS, take_processes, &l);
        if (!l.folder[0])
            return code;
    }
    if (code == EXIT_OK)
        log_warn("BEZEL-LS", "%s has more processes than are listed", endpoint);
    return code;
}

/* Of this machine, `with_processes` is false: they are looked for without a bezeld. */
static int ask(const struct arguments *a, const char *endpoint, bool with_processes)
{
    char own[PATH_MAX], server[PATH_MAX];
    struct control_client bezeld;
    struct message_command command = {.verb = VERB_QUERY, .subject = SUBJECT_SESSIONS};
    snprintf(own, sizeof own, "%s/%s.key", a->keys ? a->keys : "", a->key ? a->key : "");
    snprintf(server, sizeof server, "%s/%s.pub", a->keys ? a->keys : "", a->server ? a->server : "");
    int code = control_client_open_bezeld(endpoint, (struct command_caller_access){a->keys ? own : NULL, server, NULL},
                                          endpoint, &bezeld);
    if (code != EXIT_OK)
        return code;
    code = control_client_ask(&bezeld, &command, ANSWER_SESSIONS, take_sessions, a->sessions);
    if (code == EXIT_OK && with_processes)
        code = ask_processes(&bezeld, endpoint, a->processes);
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
    const struct passwd *user = getpwuid(geteuid());
    if (user) { /* bezeld@USER */
        snprintf(pattern, sizeof pattern, "/run/bezel/%s/control", user->pw_name);
        err = glob(pattern, err ? 0 : GLOB_APPEND, NULL, &found) ? err : 0;
    }
    if (runtime && *runtime) {
        snprintf(pattern, sizeof pattern, "%s/bezel/control", runtime);
        err = glob(pattern, err ? 0 : GLOB_APPEND, NULL, &found) ? err : 0;
    }
    for (size_t i = 0; !err && i < found.gl_pathc; i++) {
        char endpoint[LINK_ENDPOINT_MAX];
        if (snprintf(endpoint, sizeof endpoint, "ipc://%s", found.gl_pathv[i]) < (int)sizeof endpoint &&
            endpoint_try(endpoint) == 0)
            (void)!ask(a, endpoint, false);
    }
    globfree(&found);
}

static void list_folder(const char *path, struct table *processes)
{
    struct segment_listed rows[SEGMENT_LIST_MAX];
    struct folder folder;
    uint64_t after = 0;
    int n = folder_open(path, &folder);
    if (n == 0)
        do {
            n = segment_list(&folder, after, rows, &after);
            for (int i = 0; i < n; i++) {
                struct message_segment row = {.pid = rows[i].pid, .age_ns = rows[i].age_ns, .records = rows[i].records};
                memcpy(row.run, rows[i].run, sizeof row.run);
                snprintf(row.name, sizeof row.name, "%s", rows[i].name);
                add_process(processes, &row, path, "this machine");
            }
        } while (n >= 0 && after != 0);
    if (n < 0 && n != BEZEL_ENOENT)
        log_warn("BEZEL-LS", "cannot list the processes in %s: %s", path, folder.why[0] ? folder.why : strerror(errno));
    folder_close(&folder);
}

/* Lists the processes in this user's folder, and in those of its runs: run-RUN/NODE, or run-RUN of a session. */
static void list_own(struct table *processes)
{
    static const char *const below[] = {"", "/run-*", "/run-*/*"};
    char base[PATH_MAX], pattern[PATH_MAX + 16];
    glob_t found = {.gl_pathc = 0};
    file_bezel_dir(base, sizeof base);
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        snprintf(pattern, sizeof pattern, "%s%s", base, below[i]);
        (void)glob(pattern, GLOB_ONLYDIR | (i ? GLOB_APPEND : 0), NULL, &found);
    }
    for (size_t i = 0; i < found.gl_pathc; i++)
        list_folder(found.gl_pathv[i], processes);
    globfree(&found);
}

int cmd_ls(int argc, char **argv)
{
    static const char *const heads[] = {"run", "experiment", "node", "state", "processes", "requested from", "bezeld"};
    static const char *const process_heads[] = {"process", "pid", "since", "records", "read by", "folder", "of"};
    struct arguments a = {.keys = NULL};
    struct options o = {
        .program = "bezel ls", .usage = "[OPTIONS] [ENDPOINT]...", .about = about, .footer = footer, .most = 1024};
    const struct options_entry entries[] = {
        {"keys", 0, "DIR", "the folder of keys", .value = &a.keys},
        {"key", 0, "NAME", "the secret key there that asks, which has the role control at the bezeld", .value = &a.key},
        {"server", 0, "NAME", "the public key there that the bezeld has", .value = &a.server},
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    if (!a.keys != !a.key || !a.keys != !a.server)
        return options_misuse("--keys, --key and --server go together");
    for (unsigned i = 0; i < o.count; i++)
        if (endpoint_check(o.words[i]) != 0)
            return options_misuse("'%s' is not an endpoint: use ipc:///PATH or tcp://HOST:PORT", o.words[i]);
    a.sessions = table_with_heads("llllrll", heads);
    a.processes = table_with_heads("lrlrlll", process_heads);
    if (o.count == 0) {
        ask_own(&a);
        list_own(a.processes);
    }
    code = EXIT_OK;
    for (unsigned i = 0; i < o.count; i++) {
        int answered = ask(&a, o.words[i], true);
        code = answered != EXIT_OK ? answered : code;
    }
    table_print(a.sessions, 0, stdout);
    fputc('\n', stdout);
    table_print(a.processes, 0, stdout);
    return options_end(code);
}
