// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/session.h"

#include "base/address.h"
#include "base/file.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "base/units.h"
#include "mdr/message.h"
#include "mdr/uplink/sender.h"
#include "sensor/external/external.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLOSE_TURN CLOCK_MS

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* Prints what is wrong with the file on stderr, and its first line into `why`. */
static void report_diagnostics(const struct experiment_diagnostics *found, const char *file, char *why)
{
    char *text = NULL;
    size_t n = 0;
    experiment_print_diagnostics(found, file, stderr);
    FILE *lines = open_memstream(&text, &n);
    if (lines)
        experiment_print_diagnostics(found, file, lines);
    if (file_text_end(lines, &text) == 0)
        snprintf(why, SESSION_WHY_MAX, "%.*s", (int)strcspn(text, "\n"), text);
    free(text);
}

static int read_experiment(struct session *s, const struct session_request *w, char *why)
{
    struct experiment_diagnostics found = {0};
    int err = experiment_read(w->text, w->text_bytes, &s->experiment, &found);
    if (err == BEZEL_EMALFORMED)
        report_diagnostics(&found, w->file, why);
    experiment_diagnostics_free(&found);
    return err;
}

static int find_node(const struct session *s, uint32_t *node)
{
    const struct experiment *e = s->experiment;
    for (*node = 0; *node < e->node_count; ++*node)
        if (strcmp(e->nodes[*node].name, s->name) == 0)
            return 0;
    log_error("BEZEL-NODE", "the experiment has no node %s", s->name);
    return BEZEL_EMALFORMED;
}

/* The name of the run's folder among those of its user; `bezel run` names it likewise. */
static void name_of_run(const uint8_t run[16], char name[16])
{
    snprintf(name, 16, "run-%02x%02x%02x%02x", run[0], run[1], run[2], run[3]);
}

static int choose_folder(const struct experiment *e, const struct session_request *w, char folder[PATH_MAX])
{
    char base[PATH_MAX], own[16];
    uint32_t node = 0;
    while (node < e->node_count && strcmp(e->nodes[node].name, w->node) != 0)
        node++;
    file_bezel_dir(base, sizeof base);
    name_of_run(w->run, own);
    int n = experiment_attaches_on(e, node) ? snprintf(folder, PATH_MAX, "%s", base)
                                            : snprintf(folder, PATH_MAX, "%s/%s/%s", base, own, w->node);
    return n < PATH_MAX ? 0 : BEZEL_EINVAL;
}

int session_find_folder(const struct session_request *w, char folder[PATH_MAX])
{
    struct experiment *e = NULL;
    struct experiment_diagnostics found = {0};
    int err = experiment_read(w->text, w->text_bytes, &e, &found);
    if (!err)
        err = choose_folder(e, w, folder);
    experiment_diagnostics_free(&found);
    experiment_free(e);
    return err;
}

enum { COLLECTORS_MAX = SENDER_ENDPOINTS_MAX * LINK_ENDPOINT_MAX };

/*
 * The collectors as this machine sees them, separated by blanks: one that listens at all addresses is where the request
 * came from.
 */
static int find_collectors(const char *text, const struct command_request *from, char endpoints[COLLECTORS_MAX])
{
    char list[MESSAGE_TEXT_MAX + 1], *rest = NULL;
    int n = 0;
    snprintf(list, sizeof list, "%s", text);
    endpoints[0] = '\0';
    for (const char *one = strtok_r(list, " ", &rest); one && n < COLLECTORS_MAX; one = strtok_r(NULL, " ", &rest)) {
        struct address address;
        const char *why, *blank = n ? " " : "";
        bool any = address_read(one, &address, &why) == 0 && address.kind == ADDRESS_ANY;
        size_t left = (size_t)(COLLECTORS_MAX - n);
        n += any ? snprintf(endpoints + n, left, "%stcp://%s:%u", blank, from->host[0] ? from->host : "127.0.0.1",
                            address.port)
                 : snprintf(endpoints + n, left, "%s%s", blank, one);
    }
    return n < COLLECTORS_MAX ? 0 : BEZEL_EINVAL;
}

static int copy_texts(struct session *s, const struct session_request *w)
{
    char folder[PATH_MAX], collectors[COLLECTORS_MAX];
    s->own_folder = w->dir[0] == '\0';
    int err = find_collectors(w->collector, w->from, collectors);
    if (!err && s->own_folder)
        err = choose_folder(s->experiment, w, folder);
    if (err)
        return err;
    s->dir = strdup(s->own_folder ? folder : w->dir);
    s->collector = strdup(collectors);
    return s->dir && s->collector ? 0 : BEZEL_ENOMEM;
}

/* Who reads the folder, for somebody else who wants to. */
static void describe(const struct session *s, const struct command_request *from, char text[EXTERNAL_READER_MAX + 1])
{
    char own[16];
    name_of_run(s->run, own);
    snprintf(text, EXTERNAL_READER_MAX + 1, "session %s of %s (bezeld %d, begun %s%s%s%s)", s->label, own,
             (int)getpid(), from->host[0] ? "from " : "on this machine", from->host, from->key[0] ? " by key " : "",
             from->key);
}

/* Opens the keys that the experiment names, from this bezeld's folder of keys. */
static int open_keys(struct session *s, const struct session_request *w, uint32_t node)
{
    char own[PATH_MAX + EXPERIMENT_NAME_MAX + 8], collector[sizeof own], why[SESSION_WHY_MAX];
    const char *name = s->experiment->nodes[node].key, *server = s->experiment->store.key;
    if (!w->keys) {
        log_error(
            "BEZEL-SESSION-KEYS",
            "the experiment uses keys, and this bezeld has none: start it with --keys DIR, a folder with %s.key and "
            "%s.pub",
            name, server);
        return BEZEL_EPERM;
    }
    snprintf(own, sizeof own, "%s/%s.key", w->keys, name);
    snprintf(collector, sizeof collector, "%s/%s.pub", w->keys, server);
    int err = link_keys_open(own, NULL, collector, &s->keys);
    if (!err)
        return 0;
    snprintf(why, sizeof why, "%s", log_last_error());
    log_error("BEZEL-SESSION-KEYS", "%s: the experiment needs %s.key and %s.pub there", why, name, server);
    return err;
}

static int open_node(struct session *s, const struct session_request *w)
{
    bool keyed = s->experiment->store.keys != NULL;
    char reader[EXTERNAL_READER_MAX + 1];
    describe(s, w->from, reader);
    struct node_options options = {.experiment = s->experiment,
                                   .dir = s->dir,
                                   .reader = reader,
                                   .collector = s->collector,
                                   .control = w->control,
                                   .data_keys = keyed ? &s->keys : NULL};
    memcpy(options.run, s->run, sizeof options.run);
    int err = find_node(s, &options.node);
    if (!err && keyed)
        err = open_keys(s, w, options.node);
    return err ? err : node_open(&options, &s->node);
}

/* Connects to the launcher, if that is to start programs of the node. `why` is the reason where it cannot. */
static int open_programs(struct session *s, const struct session_request *w, char why[SESSION_WHY_MAX])
{
    struct programs_options options = {.launcher = w->launcher,
                                       .experiment = s->experiment,
                                       .dir = s->dir,
                                       .control = w->control,
                                       .silence = s->idle_timeout,
                                       .of = &s->node};
    memcpy(options.run, s->run, sizeof options.run);
    int err = find_node(s, &options.node);
    if (err || !programs_are_ours(s->experiment, options.node))
        return err;
    if (!w->from->may_launch) {
        snprintf(why, SESSION_WHY_MAX,
                 "your key does not have the role launch here, and the node has programs to start: add `launch` to the "
                 "roles in %s.pub in the bezeld's folder of keys",
                 w->from->key);
        return BEZEL_EPERM;
    }
    return programs_open(&options, &s->programs, why);
}

int session_open(const struct session_request *w, struct session **out, char *why)
{
    why[0] = '\0';
    struct session *s = calloc(1, sizeof *s);
    int err = s ? read_experiment(s, w, why) : BEZEL_ENOMEM;
    if (!err)
        err = copy_texts(s, w);
    if (!err) {
        memcpy(s->run, w->run, sizeof s->run);
        snprintf(s->name, sizeof s->name, "%s", w->node);
        snprintf(s->label, sizeof s->label, "%s/%s", s->experiment->name, s->name);
        s->idle_timeout = w->idle_timeout > 0 && s->experiment->silence > 0 ? s->experiment->silence : w->idle_timeout;
        s->control = w->control;
        log_about(s->label);
        log_forget_error();
        err = open_programs(s, w, why);
        if (!err)
            err = open_node(s, w);
        log_about(NULL);
    }
    if (err) {
        if (!why[0])
            snprintf(why, SESSION_WHY_MAX, "%s", log_last_error()[0] ? log_last_error() : ulimit_reason(err));
        session_free(s);
        return err;
    }
    *out = s;
    return 0;
}

/* The run's private folder, which contains the node's folder. Returns false if the node's folder is not in one. */
static bool folder_of_run(const struct session *s, char parent[static PATH_MAX])
{
    char own[16];
    name_of_run(s->run, own);
    const char *slash = s->dir ? strrchr(s->dir, '/') : NULL;
    if (!slash || snprintf(parent, PATH_MAX, "%.*s", (int)(slash - s->dir), s->dir) >= PATH_MAX)
        return false;
    const char *name = strrchr(parent, '/');
    return name && strcmp(name + 1, own) == 0;
}

/*
 * `bezel run` removes its private folder. But if the run was gone before this bezeld received its request, this bezeld
 * has made the folder again: then it has no lock, and nobody will continue with what is in it.
 */
static bool is_for_nobody(const struct session *s)
{
    char parent[PATH_MAX], lock[PATH_MAX + 8];
    if (s->deserted || s->own_folder || !folder_of_run(s, parent))
        return s->deserted;
    snprintf(lock, sizeof lock, "%s/.lock", parent);
    return access(lock, F_OK) != 0;
}

static void shut(struct session *s)
{
    bool for_nobody = is_for_nobody(s);
    if (for_nobody)
        node_drain(s->node); /* external_finish() lets our own segment be removed */
    node_shut(s->node, for_nobody);
}

/* Removes the folders if they are empty. A process of the node that still lives has its segment there. */
static void leave_folder(const struct session *s)
{
    char parent[PATH_MAX];
    if (folder_of_run(s, parent) && rmdir(s->dir) == 0)
        rmdir(parent);
}

void session_free(struct session *s)
{
    if (!s)
        return;
    if (s->node && s->phase < SESSION_CLOSES)
        shut(s);
    if (s->node && node_idle(s->node)) /* else ZeroMQ still reads the window, so the memory is not freed */
        node_close(s->node);
    programs_close(s->programs, s->stopped);
    leave_folder(s);
    link_keys_close(&s->keys);
    experiment_free(s->experiment);
    free(s->dir);
    free(s->collector);
    free(s);
}

/* ---- Turns ------------------------------------------------------------------------------------------------------- */

/*
 * Whether programs of the node may live that the run has started: those of which no segment was seen may just be making
 * their first record. What the run attached to goes on.
 */
static bool has_programs(struct session *s)
{
    struct message_session now;
    const struct experiment *e = s->experiment;
    uint64_t started = 0;
    uint32_t node;
    if (find_node(s, &node) != 0)
        return false;
    for (uint32_t i = 0; i < e->process_count; i++)
        started += e->processes[i].node == node && e->processes[i].argv ? e->processes[i].instances : 0;
    node_describe(s->node, &now);
    return started > 0 && (now.processes > 0 || node_seen(s->node) < started);
}

/* Whether programs are to end before the session does. */
static bool must_wait(struct session *s, int64_t now)
{
    if (!s->deserted)
        return false;
    if (s->wait_until == 0)
        s->wait_until = now + SESSION_LAST_WAIT;
    return now < s->wait_until && has_programs(s);
}

void session_end(struct session *s)
{
    if (s->phase != SESSION_SERVES || must_wait(s, clock_now()))
        return;
    s->phase = SESSION_ENDS;
    s->give_up = clock_now() + SESSION_LAST_DRAIN;
    node_drain(s->node);
}

void session_abort(struct session *s)
{
    if (s->phase >= SESSION_CLOSES)
        return;
    s->complete = s->phase == SESSION_ENDS && node_drained(s->node);
    shut(s);
    s->phase = SESSION_CLOSES;
}

static void watch_idle(struct session *s, int64_t now)
{
    if (s->idle_timeout == 0 || now - node_last_received(s->node) < s->idle_timeout)
        return;
    log_warn("BEZEL-IDLE-TIMEOUT", "no command from `bezel run` for %s: sending what is left, then ending",
             units_duration(s->idle_timeout).s);
    s->deserted = true;
    programs_end(s->programs, END_TERM);
    session_end(s);
}

void session_take_over(struct session *s, struct message_leadership owner, const char *collector,
                       const struct command_request *from)
{
    char endpoints[COLLECTORS_MAX];
    char *moved = NULL;
    node_set_owner(s->node, owner);
    if (find_collectors(collector, from, endpoints) == 0 && strcmp(endpoints, s->collector) != 0)
        moved = strdup(endpoints);
    if (!moved)
        return;
    node_set_collector(s->node, moved);
    free(s->collector);
    s->collector = moved;
}

void session_receive(struct session *s, const struct command_request *from)
{
    const struct message *m = command_server_message(s->control);
    bool ending = m->type == MESSAGE_COMMAND && m->command.verb == VERB_ENDING;
    if (s->programs && programs_take(m)) {
        programs_receive(s->programs, from);
        return;
    }
    if (ending)
        programs_end(s->programs, m->command.ending);
    node_receive(s->node, from);
    if (node_ends(s->node))
        programs_fence(s->programs);
}

/* Whether the session is to be closed now. */
static bool is_through(struct session *s, int64_t now)
{
    s->stopped = node_stopped(s->node);
    return s->stopped || (s->phase == SESSION_ENDS && (node_drained(s->node) || now > s->give_up));
}

static void close_step(struct session *s)
{
    if (!node_idle(s->node))
        return;
    node_close(s->node);
    s->node = NULL;
    s->phase = SESSION_OVER;
}

/* What follows a jump of a clock is in a trace of its own. Returns whether the session lives. */
static bool part_at_jump(struct session *s)
{
    if (node_wants_new_trace(s->node))
        node_part(s->node);
    if (node_parted(s->node) && node_go_on(&s->node) != 0) {
        log_error("BEZEL-SESSION", "cannot begin a new trace after a jump of a clock: the session is over");
        s->phase = SESSION_OVER;
    }
    return s->phase != SESSION_OVER;
}

static void serve_step(struct session *s, bool attend)
{
    if (attend)
        node_attend(s->node);
    else
        node_turn(s->node);
    int64_t now = clock_now();
    if (s->phase == SESSION_SERVES && !part_at_jump(s))
        return;
    if (s->phase == SESSION_SERVES && s->wait_until)
        session_end(s);
    else if (s->phase == SESSION_SERVES)
        watch_idle(s, now);
    if (is_through(s, now))
        session_abort(s);
}

bool session_polls(struct session *s, int64_t now)
{
    if (s->phase != SESSION_SERVES)
        return false;
    log_about(s->label);
    bool done = node_polls(s->node, now);
    log_about(NULL);
    return done;
}

void session_turn(struct session *s, bool attend)
{
    s->turned = clock_now();
    if (!attend && session_polls(s, s->turned))
        return;
    log_about(s->label);
    if (s->phase == SESSION_CLOSES)
        close_step(s);
    else if (s->phase != SESSION_OVER)
        serve_step(s, attend);
    log_about(NULL);
}

int64_t session_due(const struct session *s)
{
    if (s->phase == SESSION_OVER)
        return INT64_MAX;
    return s->phase == SESSION_CLOSES ? s->turned + CLOSE_TURN : node_due(s->node);
}
