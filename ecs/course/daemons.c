// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/daemons.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/log.h"
#include "base/program.h"
#include "base/ulimit.h"
#include "base/uuid.h"
#include "mdr/message.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Makes the folder of a node, which the experiment file may name. If it does not, a node that attaches to processes has
 * the default folder, which they use; another node has one of the run's own, so that runs do not collide. Names of
 * nodes do not begin with a dot, those of sockets do. The folder of a remote node is made by its bezeld.
 */
static char *make_node_dir(const struct experiment *e, uint32_t node, const struct rundir *run)
{
    char path[PATH_MAX];
    if (experiment_is_remote(&e->nodes[node]))
        return strdup(e->nodes[node].dir ? e->nodes[node].dir : "");
    if (e->nodes[node].dir)
        snprintf(path, sizeof path, "%s", e->nodes[node].dir);
    else if (experiment_attaches_on(e, node))
        file_bezel_dir(path, sizeof path);
    else
        snprintf(path, sizeof path, "%s/%s", run->private, e->nodes[node].name);
    struct folder f;
    int err = folder_make(path, &f);
    folder_close(&f);
    char *real = err ? NULL : realpath(path, NULL);
    if (err && f.why[0])
        log_error("BEZEL-RUN-NODE", "folder of node %s: %s %s", e->nodes[node].name, path, f.why);
    else if (!real)
        log_error("BEZEL-RUN-NODE", "cannot make folder %s of node %s: %s", path, e->nodes[node].name, strerror(errno));
    return real;
}

static int find_program(const char *name, char *path, size_t size)
{
    int err = program_find_own(name, path, size) == 0 ? 0 : BEZEL_ENOENT;
    if (err)
        log_error("BEZEL-RUN-PROGRAM",
                  "%s is neither beside this program nor in PATH: is the installation of Bezel complete?", name);
    return err;
}

/*
 * Makes the paths of the keys absolute, for daemons, which check the files, and with a link in the private folder for
 * the operator's commands.
 */
static int find_keys(const struct experiment *e, const struct rundir *run, struct daemons *f)
{
    char link[PATH_MAX];
    snprintf(link, sizeof link, "%s/" RUNDIR_KEYS, run->private);
    unlink(link); /* of a run that was taken over */
    if (!realpath(e->store.keys, f->keys) || symlink(f->keys, link) != 0) {
        int err = err_from_errno(errno);
        log_error("BEZEL-KEYS", "%s: %s", e->store.keys, strerror(errno));
        return err;
    }
    snprintf(f->collector_key, sizeof f->collector_key, "%s/%s.key", f->keys, e->store.key);
    snprintf(f->collector_public, sizeof f->collector_public, "%s/%s.pub", f->keys, e->store.key);
    if (e->control_key)
        snprintf(f->operator_key, sizeof f->operator_key, "%s/%s.key", f->keys, e->control_key);
    return 0;
}

#define ARG(text) ((char *)(text)) /* posix_spawn() takes argv without const, and does not write to it */

static void describe_collector(struct daemons *f, const struct experiment *e, const struct rundir *run)
{
    struct daemon *d = &f->daemons[0].process;
    snprintf(d->name, sizeof d->name, "bezel-collector");
    d->program = f->collector_program;
    snprintf(d->log, sizeof d->log, "%.*s/log/collector.log", PATH_MAX - 32, run->path);
    snprintf(d->control, sizeof d->control, "ipc://%s/.collector", run->private);
    if (e->store.listen)
        snprintf(f->data, sizeof f->data, "%s", e->store.listen);
    else
        snprintf(f->data, sizeof f->data, "ipc://%s/.data", run->private);
    launch_collector_print(e, &f->texts);
    d->args[0] = ARG("bezel-collector");
    launch_collector_argument(d->args, "--run", run->path);
    launch_collector_argument(d->args, "--listen", f->data);
    launch_collector_argument(d->args, "--control", d->control);
    launch_collector_append(e, &f->texts, d->args);
    launch_collector_argument(d->args, "--keys", f->keys);
    launch_collector_argument(d->args, "--key", f->collector_key);
}

/* A collector on a node is commanded over tcp. */
static int describe_remote_collector(struct daemons *f, const struct experiment *e)
{
    struct daemon *d = &f->daemons[0].process;
    snprintf(d->name, sizeof d->name, "bezel-collector on node %s", e->collector.node);
    int err = remote_collector_init(&f->place, e, EXPERIMENT_ROOT, d->run, f->keys, d->log);
    d->place = &f->place;
    d->access = remote_collector_access(&f->place);
    snprintf(d->control, sizeof d->control, "%s", f->place.control);
    return err;
}

/* Prepares the session request of a node. An experiment file that is too long for a message is sent as a path,
 * which a bezeld on another machine could not read. */
static int describe_session(struct daemons *f, const struct experiment *e, uint32_t node)
{
    struct daemons_member *it = &f->daemons[1 + node];
    struct daemon *d = &it->process;
    struct message_configure *request = it->request = calloc(1, sizeof *request);
    char *text = NULL;
    size_t n;
    int err = request ? experiment_part_text(e, node, &text, &n) : BEZEL_ENOMEM;
    bool fits = !err && n <= MESSAGE_EXPERIMENT_MAX;
    if (!err && (strlen(f->node_dirs[node]) > MESSAGE_TEXT_MAX || (!fits && experiment_is_remote(&e->nodes[node]))))
        err = BEZEL_EFULL;
    if (!err) {
        snprintf(request->experiment, sizeof request->experiment, "%s", fits ? text : f->experiment);
        snprintf(request->folder, sizeof request->folder, "%s", f->node_dirs[node]);
        snprintf(d->node, sizeof d->node, "%s", e->nodes[node].name);
        d->session = (struct remote_session){.request = request};
    } else
        log_error("BEZEL-RUN-SESSION", "cannot request a session for node %s (%s, %s): %s", e->nodes[node].name,
                  f->experiment, f->node_dirs[node], ulimit_reason(err));
    free(text);
    return err;
}

static void describe_child(struct daemons *f, const struct experiment *e, uint32_t node, const struct rundir *run)
{
    struct daemon *d = &f->daemons[1 + node].process;
    char *name = e->nodes[node].name;
    snprintf(d->name, sizeof d->name, "bezeld of node %s", name);
    d->program = f->node_program;
    snprintf(d->log, sizeof d->log, "%.*s/log/bezeld-%s.log", PATH_MAX - 96, run->path, name);
    snprintf(d->control, sizeof d->control, "ipc://%s/.b%u/control", run->private, node);
    d->session.address = d->control;
    d->session.child = true;
    d->args[0] = ARG("bezeld");
    launch_collector_argument(d->args, "--control", d->control);
    launch_collector_argument(d->args, "--keys", f->keys);
}

static int describe_node(struct daemons *f, const struct experiment *e, uint32_t node, const struct rundir *run)
{
    struct daemons_member *it = &f->daemons[1 + node];
    struct daemon *d = &it->process;
    int err = describe_session(f, e, node);
    if (!err && e->nodes[node].address) {
        snprintf(d->name, sizeof d->name, "the persistent bezeld of node %s", e->nodes[node].name);
        d->session.address = e->nodes[node].address;
        snprintf(it->key, sizeof it->key, "%s/%s.pub", f->keys, e->nodes[node].key ? e->nodes[node].key : "");
        experiment_proxies(e, e->nodes[node].address, it->proxies);
        if (experiment_is_remote(&e->nodes[node]))
            d->access = (struct command_caller_access){f->operator_key, it->key, it->proxies};
    } else if (!err)
        describe_child(f, e, node, run);
    return err;
}

static void describe_manager(struct daemons *f, const struct rundir *run)
{
    struct daemon *d = &f->daemons[f->manager].process;
    snprintf(d->name, sizeof d->name, "bezel-resmgr");
    d->program = f->manager_program;
    snprintf(d->log, sizeof d->log, "%.*s/log/resmgr.log", PATH_MAX - 32, run->path);
    snprintf(d->control, sizeof d->control, "ipc://%s/.manager", run->private);
    snprintf(f->epoch_text, sizeof f->epoch_text, "%" PRIu64, f->epoch); /* another one at each start */
    d->args[0] = ARG("bezel-resmgr");
    launch_collector_argument(d->args, "--experiment", f->experiment);
    launch_collector_argument(d->args, "--run", run->uuid);
    launch_collector_argument(d->args, "--sockets", run->private);
    launch_collector_argument(d->args, "--control", d->control);
    launch_collector_argument(d->args, "--epoch", f->epoch_text);
    launch_collector_argument(d->args, "--keys", f->operator_key[0] ? f->keys : NULL);
    launch_collector_argument(d->args, "--key", f->operator_key);
}

int daemons_find(const struct experiment *e, struct daemons *f)
{
    bool managed = experiment_has_manager(e);
    *f = (struct daemons){.count = 1 + e->node_count + e->inner_count + managed,
                          .nodes = e->node_count,
                          .inner_count = e->inner_count,
                          .experiment_of = e,
                          .inner = calloc(e->inner_count + 1, sizeof *f->inner),
                          .manager = managed ? 1 + e->node_count + e->inner_count : 0,
                          .node_dirs = calloc(e->node_count, sizeof *f->node_dirs)};
    f->daemons = calloc(f->count, sizeof *f->daemons);
    int err = f->daemons && f->node_dirs && f->inner ? 0 : BEZEL_ENOMEM;
    if (err)
        log_error("BEZEL-RUN-MEMORY", "%s", err_text(err));
    if (!err)
        err = find_program("bezel-collector", f->collector_program, sizeof f->collector_program);
    if (!err)
        err = find_program("bezeld", f->node_program, sizeof f->node_program);
    if (!err && managed)
        err = find_program("bezel-resmgr", f->manager_program, sizeof f->manager_program);
    if (err)
        daemons_free(f);
    return err;
}

int daemons_make(const struct experiment *e, const struct rundir *run, struct daemons *f)
{
    snprintf(f->experiment, sizeof f->experiment, "%.*s/experiment.yaml", PATH_MAX - 32, run->path);
    for (uint32_t i = 0; i < e->node_count; i++)
        if (!(f->node_dirs[i] = make_node_dir(e, i, run)))
            return BEZEL_ESYS;
    int err = e->store.keys ? find_keys(e, run, f) : 0;
    if (err)
        return err;
    describe_collector(f, e, run);
    for (uint32_t i = 0; i < f->count; i++) {
        f->daemons[i].process.ready = f->daemons[i].process.parent_pipe = -1;
        f->daemons[i].process.keep = run->lock;
        f->daemons[i].process.owner = f->owner;
        if (!uuid_read(run->uuid, f->daemons[i].process.run))
            return BEZEL_EINVAL; /* cannot happen: rundir_init() made it */
    }
    for (uint32_t i = 0; i < e->node_count && !err; i++)
        err = describe_node(f, e, i, run);
    if (!err && e->collector.node)
        err = describe_remote_collector(f, e);
    if (!err)
        err = daemons_inner_make(f, run);
    if (f->manager)
        describe_manager(f, run);
    return err;
}

void daemons_free(struct daemons *f)
{
    for (uint32_t i = 0; f->daemons && i < f->count; i++) {
        struct daemon *d = &f->daemons[i].process;
        if (d->program || daemon_is_session(d) || d->place)
            daemon_close(d);
        free(f->daemons[i].request);
    }
    for (uint32_t i = 0; f->node_dirs && i < f->nodes; i++)
        free(f->node_dirs[i]);
    remote_collector_free(&f->place);
    daemons_inner_free(f);
    free(f->daemons);
    free(f->node_dirs);
    *f = (struct daemons){0};
}

void daemons_leave(struct daemons *f)
{
    for (uint32_t d = 0; d < f->count; d++)
        if (daemon_is_session(&f->daemons[d].process))
            remote_session_stopped(&f->daemons[d].process.session, 0);
    f->place.phase = REMOTE_COLLECTOR_NONE;
    for (uint32_t i = 0; i < f->inner_count; i++)
        f->inner[i].place.phase = REMOTE_COLLECTOR_NONE;
}

uint32_t daemons_of_inner(const struct daemons *f, uint32_t i)
{
    return 1 + f->nodes + i;
}

static bool is_inner(const struct daemons *f, uint32_t d)
{
    return d >= daemons_of_inner(f, 0) && d < daemons_of_inner(f, f->inner_count);
}

int daemons_start(struct daemons *f, uint32_t d)
{
    struct daemons_member *it = &f->daemons[d];
    it->status = (struct daemons_status){.period = -1};
    int err = 0;
    if (it->request) /* the collectors have reported their endpoints by now */
        err = daemons_list_parents(f, &f->experiment_of->nodes[d - 1].parents, false, it->request->collector,
                                   sizeof it->request->collector);
    else if (is_inner(f, d))
        err = daemons_inner_prepare(f, d - daemons_of_inner(f, 0));
    if (err)
        return errno = ENAMETOOLONG, err;
    if (f->manager && d == f->manager)
        snprintf(f->epoch_text, sizeof f->epoch_text, "%" PRIu64, ++f->epoch);
    return daemon_start(&it->process);
}

int daemons_serves(struct daemons *f, uint32_t d)
{
    char line[LINK_ENDPOINT_MAX];
    int serves = daemon_serves(&f->daemons[d].process, line, sizeof line);
    /* With the port that was chosen: nodes connect to it, and a restarted collector binds it again. */
    if (serves == 1)
        f->daemons[d].status.answered = clock_now();
    if (serves == 1 && d == 0 && line[0])
        memcpy(f->data, line, sizeof line);
    if (serves == 1 && is_inner(f, d) && line[0])
        memcpy(f->inner[d - daemons_of_inner(f, 0)].data, line, sizeof line);
    return serves;
}

static void take_node(struct daemons_status *s, const struct message_node_status *n)
{
    s->records = n->records;
    s->lost = n->lost_full + n->lost_off + n->lost_no_ring + n->lost_window + n->lost_spool + n->lost_reducer;
    s->waiting = n->window_bytes + n->spool_bytes;
    s->living = n->processes;
    s->seen = n->processes_seen;
    s->period = (int64_t)n->period_ns;
    s->firing_count = n->firing_count;
    memcpy(s->firings, n->firings, sizeof s->firings);
    s->stop_wanted = n->stop_wanted;
}

int daemons_listen(struct daemons *f, uint32_t d)
{
    static struct message m; /* one thread; too large for a stack */
    struct daemons_status *s = &f->daemons[d].status;
    int n = 0;
    for (; daemon_answer(&f->daemons[d].process, &m) == 0; n++) {
        const struct message_reply *r = &m.reply;
        s->unresponsive_reported = false;
        s->answered = clock_now();
        if (f->launched && f->launched(f->of, d, &m))
            continue;
        s->known = true;
        s->state = r->state;
        memcpy(s->text, r->text, sizeof s->text);
        if (r->answer == ANSWER_NODE)
            take_node(s, &r->node);
        if (r->answer == ANSWER_COLLECTOR) {
            s->records = r->collector.records;
            s->store_errno = r->collector.store_errno;
        }
    }
    return n;
}

void daemons_ask(struct daemons *f, uint32_t d, enum message_verb verb)
{
    int err = daemon_ask(&f->daemons[d].process, verb);
    if (!err && verb == VERB_STOP)
        f->daemons[d].status.drain_sent = true;
    if (err && verb == VERB_SHUTDOWN)
        daemon_signal(&f->daemons[d].process, SIGTERM);
}
