// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "import/fill.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "base/utf8.h"
#include "import/fill_internal.h"
#include "mdr/parts.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

/* ---- errors ------------------------------------------------------------------------------------------------------ */

int fill_fail(struct fill *in, int err, const char *what)
{
    if (!in->err) {
        in->err = err;
        snprintf(in->why, sizeof in->why, "%s cannot be stored: %s", what, ulimit_reason(err));
    }
    return in->err;
}

const char *fill_why(const struct fill *in)
{
    return in->err ? in->why : NULL;
}

const struct fill_totals *fill_totals(const struct fill *in)
{
    return &in->totals;
}

struct fill_node *fill_first_node(const struct fill *in)
{
    return in->nodes;
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

struct fill *fill_new(const char *run, const char *id)
{
    struct fill *in = calloc(1, sizeof *in);
    if (!in)
        return NULL;
    in->run = run;
    in->id = id;
    in->last_node = &in->nodes;
    in->totals.begin = INT64_MAX;
    in->totals.end = INT64_MIN;
    return in;
}

static void free_process(struct fill_process *p)
{
    for (uint32_t i = 0; i < p->ring_count; i++) {
        free(p->numbered[i]->bytes);
        free(p->numbered[i]);
    }
    for (uint32_t i = 0; i < p->aspect_count; i++)
        free(p->names[i]);
    free(p->of_shape);
    free(p->dictionary);
    free(p->texts);
    free(p);
}

void fill_free(struct fill *in)
{
    if (!in)
        return;
    while (in->processes) {
        struct fill_process *p = in->processes;
        in->processes = p->next;
        free_process(p);
    }
    while (in->nodes) {
        struct fill_node *n = in->nodes;
        in->nodes = n->next;
        free(n);
    }
    fill_free_shapes(in);
    if (rundb_close(in->rundb) != 0)
        log_error("BEZEL-IMPORT", "%s/run.db cannot be closed: %s", in->run, strerror(errno));
    store_close(in->store);
    model_free(in->model);
    free(in);
}

/* Makes database, store and model, with the clock of the first node as that of the run. */
static int begin(struct fill *in, const uint8_t clock[16], int64_t offset)
{
    char identity[MODEL_UUID_TEXT];
    int err = rundb_open(in->run, &in->rundb);
    if (err) {
        snprintf(in->why, sizeof in->why, "run.db: %s", rundb_why(err));
        return in->err = err;
    }
    in->model = model_new(in->id);
    err = in->model ? store_open(in->run, STORE_SYNC_NEVER, &in->store) : BEZEL_ENOMEM;
    if (err)
        return fill_fail(in, err, "the trace");
    memcpy(in->model->run_clock, clock, sizeof in->model->run_clock);
    in->model->ahead = offset;
    model_uuid_text(clock, identity);
    err = rundb_put(in->rundb, "run", in->id);
    if (!err)
        err = rundb_put(in->rundb, RUNDB_CLOCK, identity);
    if (!err)
        err = rundb_put_int(in->rundb, RUNDB_CLOCK_AHEAD, offset);
    return err ? fill_fail(in, err, "run.db") : 0;
}

/* ---- nodes and processes ----------------------------------------------------------------------------------------- */

/* Copies `name` as the file of an experiment takes it. */
static void clean_name(const char *name, char clean[MESSAGE_NAME_MAX + 1])
{
    size_t n = 0;
    for (; *name && n < MESSAGE_NAME_MAX; name++) {
        bool ok = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || (*name >= '0' && *name <= '9') ||
                  *name == '_' || (n > 0 && (*name == '.' || *name == '-'));
        clean[n++] = ok ? *name : '_';
    }
    snprintf(clean + n, MESSAGE_NAME_MAX + 1 - n, "%s", n ? "" : "_");
}

static struct fill_node *add_node(struct fill *in, const struct message_hello *hello)
{
    struct fill_node *n = calloc(1, sizeof *n);
    struct model_node *node = n ? model_add_node(in->model, hello) : NULL;
    int err = node ? rundb_add_node(in->rundb, node) : BEZEL_ENOMEM;
    if (err) {
        free(n);
        (void)!fill_fail(in, err, "a node");
        return NULL;
    }
    *n = (struct fill_node){.in = in, .node = node};
    in->totals.nodes++;
    *in->last_node = n;
    in->last_node = &n->next;
    return n;
}

struct fill_node *fill_node(struct fill *in, const char *name, const uint8_t clock[16], int64_t offset)
{
    struct message_hello hello = {.realtime_offset = offset};
    clean_name(name, hello.node);
    memcpy(hello.clock, clock, sizeof hello.clock);
    for (struct fill_node *n = in->nodes; n; n = n->next)
        if (strcmp(n->node->name, hello.node) == 0 && memcmp(n->node->clock, clock, sizeof n->node->clock) == 0)
            return n;
    if (in->err || in->totals.nodes == FILL_NODES_MAX || (!in->rundb && begin(in, clock, offset) != 0))
        return NULL;
    if (getrandom(hello.uuid, sizeof hello.uuid, 0) != sizeof hello.uuid) {
        (void)!fill_fail(in, BEZEL_ESYS, "a node's id");
        return NULL;
    }
    return add_node(in, &hello);
}

int64_t fill_offset(const struct fill_node *node)
{
    return node->node->realtime_offset;
}

static size_t slot_of(const struct fill_node *node, int64_t pid)
{
    uint64_t h = hash_fnv64(HASH_FNV64_START, &pid, sizeof pid);
    return hash_fnv64(h, node->node->uuid, sizeof node->node->uuid) % FILL_BUCKETS;
}

static struct fill_process *add_process(struct fill_node *node, const char *domain, int64_t pid, const char *name,
                                        enum message_role role, int64_t at)
{
    static struct message_process said;
    struct fill *in = node->in;
    said = (struct message_process){.instance = in->totals.processes + 1,
                                    .stream_id = node->node->highest_stream_id + 1,
                                    .pid = pid > 0 && pid <= UINT32_MAX ? (uint32_t)pid : 0,
                                    .role = role,
                                    .started = at > 0 ? (uint64_t)at : 0};
    (void)utf8_escape_name(said.name, MESSAGE_NAME_MAX, *name ? name : "_");
    struct fill_process *p = calloc(1, sizeof *p);
    struct model_process *process = p ? model_add_process(node->node, &said) : NULL;
    if (!process) {
        free(p);
        (void)!fill_fail(in, BEZEL_ENOMEM, "a process");
        return NULL;
    }
    p->in = in;
    p->process = process;
    p->pid = pid;
    snprintf(p->domain, sizeof p->domain, "%s", domain);
    struct fill_process **slot = &in->buckets[slot_of(node, pid)];
    p->next_bucket = *slot;
    *slot = p;
    p->next = in->processes;
    in->totals.processes++;
    in->processes = p;
    return fill_publish(p) == 0 ? p : NULL; /* the metadata of its node is of all that there are */
}

struct fill_process *fill_process(struct fill_node *node, const char *domain, int64_t pid, const char *name,
                                  enum message_role role, int64_t at)
{
    struct fill *in = node->in;
    for (struct fill_process *p = in->buckets[slot_of(node, pid)]; p; p = p->next_bucket)
        if (p->pid == pid && p->process->node == node->node && strncmp(p->domain, domain, sizeof p->domain - 1) == 0)
            return p;
    return in->err || in->totals.processes == FILL_PROCESSES_MAX ? NULL
                                                                 : add_process(node, domain, pid, name, role, at);
}

void fill_note(struct fill_node *node, const char *code, const char *format, ...)
{
    struct message_note note = {.at = node->in->totals.end > 0 ? (uint64_t)node->in->totals.end : 0};
    note.at -= note.at > (uint64_t)fill_offset(node) ? (uint64_t)fill_offset(node) : note.at;
    va_list args;
    va_start(args, format);
    vsnprintf(note.text, sizeof note.text, format, args);
    va_end(args);
    snprintf(note.code, sizeof note.code, "%s", code);
    int err = node->in->err ? 0 : rundb_add_note(node->in->rundb, node->node, &note);
    if (err)
        (void)!fill_fail(node->in, err, "run.db");
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* The books count what is stored, and what the source counted as lost, whose aspects nobody knows. */
static void balance(struct model_process *p)
{
    uint64_t lost = 0;
    for (uint32_t i = 0; i < p->ring_count; i++)
        lost += p->streams[i] ? p->streams[i]->at.discarded : 0;
    for (uint32_t i = 0; i <= DICT_ASPECTS_MAX; i++)
        p->counts[i].attempts = p->counts[i].stored;
    p->counts[0].attempts = p->counts[0].full = lost;
    p->state = PROCESS_ENDED;
    p->dirty = true;
}

static int close_all(struct fill *in)
{
    int err = in->err;
    for (struct fill_process *p = in->processes; p && !err; p = p->next) {
        for (uint32_t i = 0; i < p->ring_count && !err; i++)
            err = fill_close_ring(p->numbered[i]);
        balance(p->process);
    }
    for (struct model_node *node = in->model->nodes; node; node = node->next)
        node->left = node->dirty = true;
    return err;
}

static bool is_named_before(const struct fill *in, const struct fill_node *node)
{
    const struct fill_node *n = in->nodes;
    while (n != node && strcasecmp(n->node->name, node->node->name) != 0)
        n = n->next;
    return n != node;
}

/* Writes a text in single quotes, as YAML takes it. */
static void put_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            fputc('\'', out);
        fputc((unsigned char)*text < ' ' || *text == 127 ? '?' : *text, out);
    }
    fputc('\'', out);
}

static int write_experiment(const struct fill *in, const char *name, const char *trace)
{
    char path[PATH_MAX], clean[MESSAGE_NAME_MAX + 1], *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out || snprintf(path, sizeof path, "%s/experiment.yaml", in->run) >= (int)sizeof path)
        return out ? fclose(out), free(text), BEZEL_EINVAL : BEZEL_ENOMEM;
    clean_name(name, clean);
    fprintf(out,
            "# `bezel import` made this run out of a trace of another tool: nothing was run here.\n"
            "experiment: %s\nnodes:\n",
            clean);
    for (const struct fill_node *node = in->nodes; node; node = node->next)
        if (!is_named_before(in, node))
            fprintf(out, "  %s: {}\n", node->node->name);
    fprintf(out, "processes:\n- name: import\n  node: %s\n  command: [bezel, import, ", in->nodes->node->name);
    put_quoted(out, trace);
    fputs("]\n", out);
    bool bad = fclose(out) != 0;
    int err = bad ? BEZEL_ENOMEM : file_replace(path, text, n);
    free(text);
    return err;
}

static int put_properties(struct fill *in, const char *source)
{
    int err = rundb_put(in->rundb, RUNDB_IMPORTED, source);
    if (!err && in->totals.begin <= in->totals.end)
        err = rundb_put_int(in->rundb, RUNDB_STARTED, in->totals.begin);
    if (!err && in->totals.begin <= in->totals.end)
        err = rundb_put_int(in->rundb, RUNDB_ENDED, in->totals.end);
    return err ? err : rundb_put(in->rundb, "ended_by", "import");
}

/* As a collector does that ends. */
static int save(struct fill *in)
{
    int err = 0;
    store_tidy(in->store, in->model, true);
    do
        err = rundb_save(in->rundb, in->model);
    while (!err && in->model->unsaved);
    if (err)
        return err;
    store_tidy_last(in->store, in->model);
    return rundb_finish(in->rundb, in->model);
}

int fill_finish(struct fill *in, const char *name, const char *trace, const char *source)
{
    int err = close_all(in);
    if (err)
        return err;
    err = write_experiment(in, name, trace);
    if (err)
        return fill_fail(in, err, "experiment.yaml");
    err = put_properties(in, source);
    if (!err)
        err = save(in);
    if (!err && rundb_lacks(in->rundb))
        err = BEZEL_ESYS;
    return err ? fill_fail(in, err, "run.db") : 0;
}
