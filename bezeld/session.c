// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/session.h"

#include "base/limit.h"
#include "base/log.h"
#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLOSE_TURN CLOCK_MS

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* Tells what is wrong with the file, the first of it in `why`. */
static void tell_findings(const struct experiment_diagnostics *found, const char *file, char *why)
{
    char *text = NULL;
    size_t n = 0;
    experiment_print_diagnostics(found, file, stderr);
    FILE *lines = open_memstream(&text, &n);
    if (lines) {
        experiment_print_diagnostics(found, file, lines);
        if (fclose(lines) == 0)
            snprintf(why, SESSION_WHY_MAX, "%.*s", (int)strcspn(text, "\n"), text);
    }
    free(text);
}

static int read_experiment(struct session *s, const struct session_wish *w, char *why)
{
    struct experiment_diagnostics found = {0};
    int err = experiment_read(w->text, w->text_bytes, &s->experiment, &found);
    if (err == BEZEL_EMALFORMED)
        tell_findings(&found, w->file, why);
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

static int copy_texts(struct session *s, const struct session_wish *w)
{
    s->dir = strdup(w->dir);
    s->collector = strdup(w->collector);
    s->control = strdup(w->control);
    return s->dir && s->collector && s->control ? 0 : BEZEL_ENOMEM;
}

/* The keys that the experiment names: this bezeld, which stands, has a folder of its own where they are. */
static int open_named_keys(struct session *s, const struct session_wish *w, uint32_t node)
{
    char own[PATH_MAX + EXPERIMENT_NAME_MAX + 8], collector[sizeof own], why[SESSION_WHY_MAX];
    const char *name = s->experiment->nodes[node].key, *server = s->experiment->store.key;
    if (!w->named_keys) {
        log_error("BEZEL-SESSION-KEYS",
                  "the experiment has keys, and this bezeld none: start it with --keys DIR, a folder with %s.key and "
                  "%s.pub",
                  name, server);
        return BEZEL_EPERM;
    }
    snprintf(own, sizeof own, "%s/%s.key", w->named_keys, name);
    snprintf(collector, sizeof collector, "%s/%s.pub", w->named_keys, server);
    int err = link_keys_open(own, NULL, collector, &s->keys);
    if (!err)
        return 0;
    snprintf(why, sizeof why, "%s", log_last_error());
    log_error("BEZEL-SESSION-KEYS", "%s: it takes %s.key and %s.pub there", why, name, server);
    return err;
}

static int open_keys(struct session *s, const struct session_wish *w, uint32_t node)
{
    if (w->key)
        return link_keys_open(w->key, w->keys, w->collector_key, &s->keys);
    return w->lease && s->experiment->store.keys ? open_named_keys(s, w, node) : 0;
}

static int open_node(struct session *s, const struct session_wish *w)
{
    bool named = w->lease && s->experiment->store.keys;
    struct node_options options = {.experiment = s->experiment,
                                   .dir = s->dir,
                                   .collector = s->collector,
                                   .control = s->control,
                                   .data_keys = w->collector_key || named ? &s->keys : NULL,
                                   .control_keys = w->keys && !endpoint_path(w->control) ? &s->keys : NULL};
    memcpy(options.run, s->run, sizeof options.run);
    int err = find_node(s, &options.node);
    if (!err)
        err = open_keys(s, w, options.node);
    return err ? err : node_open(&options, &s->node);
}

int session_open(const struct session_wish *w, struct session **out, char *why)
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
        s->lease = w->lease;
        log_about(w->lease ? s->label : NULL);
        log_forget_error();
        err = open_node(s, w);
        log_about(NULL);
    }
    if (err) {
        if (!why[0])
            snprintf(why, SESSION_WHY_MAX, "%s", log_last_error()[0] ? log_last_error() : limit_reason(err));
        session_free(s);
        return err;
    }
    *out = s;
    return 0;
}

/* The folder of the run's own that the node's folder is in. Returns whether it is in one. */
static bool folder_of_run(const struct session *s, char parent[static PATH_MAX])
{
    char own[16];
    snprintf(own, sizeof own, "/run-%02x%02x%02x%02x", s->run[0], s->run[1], s->run[2], s->run[3]);
    const char *slash = s->dir ? strrchr(s->dir, '/') : NULL;
    if (!s->lease || !slash || snprintf(parent, PATH_MAX, "%.*s", (int)(slash - s->dir), s->dir) >= PATH_MAX)
        return false;
    const char *name = strrchr(parent, '/');
    return name && strcmp(name, own) == 0;
}

/*
 * A folder of the run's own goes with its run, unless we made it anew for one that was gone before we heard of it: then
 * its lock is not there, and nobody takes up what is in it.
 */
static bool is_for_nobody(const struct session *s)
{
    char parent[PATH_MAX], lock[PATH_MAX + 8];
    if (s->deserted || !folder_of_run(s, parent))
        return s->deserted;
    snprintf(lock, sizeof lock, "%s/.lock", parent);
    return access(lock, F_OK) != 0;
}

static void shut(struct session *s)
{
    bool for_nobody = is_for_nobody(s);
    if (for_nobody)
        node_drain(s->node); /* our own segment goes where there was a finish */
    node_shut(s->node, for_nobody);
}

/* What is empty by now is nobody's. While somebody of the node's lives his segment stands there. */
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
    if (s->node && node_quiet(s->node)) /* else ZeroMQ still reads there: the memory stays */
        node_close(s->node);
    leave_folder(s);
    link_keys_close(&s->keys);
    experiment_free(s->experiment);
    free(s->dir);
    free(s->collector);
    free(s->control);
    free(s);
}

/* ---- Turns ------------------------------------------------------------------------------------------------------- */

void session_end(struct session *s)
{
    if (s->phase != SESSION_SERVES)
        return;
    s->phase = SESSION_ENDS;
    s->give_up = clock_now() + SESSION_LAST_DRAIN;
    node_drain(s->node);
}

void session_cut(struct session *s)
{
    if (s->phase >= SESSION_CLOSES)
        return;
    s->complete = s->phase == SESSION_ENDS && node_drained(s->node);
    shut(s);
    s->phase = SESSION_CLOSES;
}

static void watch_lease(struct session *s, int64_t now)
{
    if (s->lease == 0 || now - node_heard(s->node) < s->lease)
        return;
    log_warn("BEZEL-LEASE", "`bezel run` has not been heard of for %s: handing on what there is, then ending",
             units_duration(s->lease).s);
    s->deserted = true;
    session_end(s);
}

/* Whether the session is to be closed now. */
static bool is_through(struct session *s, int64_t now)
{
    if (node_refused(s->node) && s->lease == 0) { /* else whoever asks is told, and stops it */
        log_error("BEZEL-REFUSED", "the collector refused this node: %s", node_refused(s->node));
        return s->failed = true;
    }
    if (node_stopped(s->node))
        return true;
    return s->phase == SESSION_ENDS && (node_drained(s->node) || now > s->give_up);
}

static void close_step(struct session *s)
{
    if (!node_quiet(s->node))
        return;
    node_close(s->node);
    s->node = NULL;
    s->phase = SESSION_OVER;
}

static void serve_step(struct session *s, bool attend)
{
    if (attend)
        node_attend(s->node);
    else
        node_turn(s->node);
    int64_t now = clock_now();
    if (s->phase == SESSION_SERVES)
        watch_lease(s, now);
    if (is_through(s, now))
        session_cut(s);
}

void session_turn(struct session *s, bool attend)
{
    s->turned = clock_now();
    if (s->lease) /* one of several */
        log_about(s->label);
    if (s->phase == SESSION_CLOSES)
        close_step(s);
    else if (s->phase != SESSION_OVER)
        serve_step(s, attend);
    if (s->lease)
        log_about(NULL);
}

int64_t session_due(const struct session *s)
{
    if (s->phase == SESSION_OVER)
        return INT64_MAX;
    return s->phase == SESSION_CLOSES ? s->turned + CLOSE_TURN : node_due(s->node);
}
