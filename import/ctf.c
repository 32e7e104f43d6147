// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "base/log.h"
#include "base/plain.h"
#include "import/ctf_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/*
 * A graph of the library for each trace: source.ctf.fs, which has a port for each stream; a muxer, which gives the
 * messages of all in order of time; a sink, which is ours. So records of a thread that went from CPU to CPU come in
 * order, and a trace with another clock, or a damaged one, does not keep another from being read.
 *
 * A record belongs to the process and thread that its contexts name. Losses belong to a stream of the source, which may
 * have records of many processes: they go to a stream of their own, of the process that the trace as a whole is
 * (by `vpid` in its environment), or that stands for the trace.
 */

bool ctf_is_here(void)
{
    return true;
}

bool ctf_reads_2(void)
{
    return bt_version_get_major() > 2 || (bt_version_get_major() == 2 && bt_version_get_minor() > 0);
}

/* ---- what a trace says of itself --------------------------------------------------------------------------------- */

static const char *environment_text(const bt_trace *t, const char *name)
{
    const bt_value *v = bt_trace_borrow_environment_entry_value_by_name_const(t, name);
    return v && bt_value_is_string(v) ? bt_value_string_get(v) : "";
}

static int64_t environment_number(const bt_trace *t, const char *name)
{
    const bt_value *v = bt_trace_borrow_environment_entry_value_by_name_const(t, name);
    return v && bt_value_is_signed_integer(v) ? bt_value_integer_signed_get(v) : -1;
}

/* The trace is held, so that its classes stay until it was read. */
static void take_trace(struct reading *r, const bt_trace *t)
{
    const char *host = environment_text(t, "hostname"), *domain = environment_text(t, "domain");
    const char *name = environment_text(t, "procname"), *tracer = environment_text(t, "tracer_name");
    if (r->trace)
        return;
    bt_trace_get_ref(t);
    r->trace = t;
    r->pid = environment_number(t, "vpid");
    r->is_bezel = strcmp(tracer, "bezel") == 0;
    snprintf(r->host, sizeof r->host, "%s", *host ? host : file_name(r->folder));
    snprintf(r->domain, sizeof r->domain, "%s", *domain ? domain : file_name(r->folder));
    snprintf(r->name, sizeof r->name, "%s", *name ? name : r->domain);
    if (!r->c->source[0])
        snprintf(r->c->source, sizeof r->c->source, "%.40s%s%.40s", tracer, *tracer && *domain ? ", " : "", domain);
}

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

static void note_clock(const struct reading *r, const bt_clock_class *class, struct fill_node *node, int64_t offset)
{
    if (node != fill_first_node(r->c->in))
        fill_note(node, FILL_CLOCK,
                  "its clock is not that of the first node: both are compared by what the traces say of them, and "
                  "how far that is wrong is unknown");
    if (!bt_clock_class_origin_is_unix_epoch(class))
        fill_note(node, FILL_CLOCK,
                  "the clock of %.120s says not where its time begins: its times compare with no other clock's",
                  r->folder);
    else if (offset != fill_offset(node))
        fill_note(node, FILL_CLOCK,
                  "%.120s says that its clock is %" PRId64 " ns ahead of what the first trace of the clock says: "
                  "that one counts",
                  r->folder, offset - fill_offset(node));
}

/* The node of a clock; NULL after an error, or where there are too many. */
static struct fill_node *node_of(struct reading *r, const bt_clock_class *class, int64_t *offset)
{
    uint8_t id[16];
    for (size_t i = 0; i < r->clock_count; i++)
        if (r->clocks[i].class == class)
            return *offset = r->clocks[i].offset, r->clocks[i].node;
    bt_uuid uuid = bt_clock_class_get_uuid(class);
    if (uuid)
        memcpy(id, uuid, sizeof id);
    else if (getrandom(id, sizeof id, 0) != sizeof id)
        return NULL;
    if (bt_clock_class_cycles_to_ns_from_origin(class, 0, offset) != 0)
        *offset = 0; /* its times are beyond what 64 bits hold: bt_clock_snapshot_get_ns_from_origin() says so */
    struct fill_node *node = fill_node(r->c->in, r->host, id, *offset);
    if (node)
        note_clock(r, class, node, *offset);
    if (node && r->clock_count < CLOCKS_MAX) {
        r->clocks[r->clock_count].class = class;
        r->clocks[r->clock_count].node = node;
        r->clocks[r->clock_count++].offset = *offset;
    }
    return node;
}

/* ns of the node's clock; -1: beyond what is possible. */
static int64_t time_of(const struct ctf_stream *s, const bt_clock_snapshot *at)
{
    int64_t ns, own;
    if (!at || bt_clock_snapshot_get_ns_from_origin(at, &ns) != 0 || __builtin_sub_overflow(ns, s->offset, &own))
        return -1;
    return own;
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

static int member(const bt_field_class *structure, const char *const *names, bt_field_class_type type)
{
    uint64_t count = structure ? bt_field_class_structure_get_member_count(structure) : 0;
    for (; *names; names++)
        for (uint64_t i = 0; i < count; i++) {
            const bt_field_class_structure_member *m =
                bt_field_class_structure_borrow_member_by_index_const(structure, i);
            const bt_field_class *class = bt_field_class_structure_member_borrow_field_class_const(m);
            if (strcmp(bt_field_class_structure_member_get_name(m), *names) == 0 &&
                bt_field_class_type_is(bt_field_class_get_type(class), type))
                return (int)i;
        }
    return NO_FIELD;
}

static struct whose find_whose(const struct reading *r, const bt_stream_class *class)
{
    static const char *const pids[] = {"vpid", "pid", NULL}, *const tids[] = {"vtid", "tid", "thread", NULL},
                             *const names[] = {"procname", "process", NULL}, *const cpus[] = {"cpu_id", NULL},
                             *const instances[] = {"instance", NULL}, *const threads[] = {"thread", NULL},
                             *const kinds[] = {"kind", NULL}, *const rings[] = {"ring", NULL};
    const bt_field_class *event = bt_stream_class_borrow_event_common_context_field_class_const(class);
    const bt_field_class *packet = bt_stream_class_borrow_packet_context_field_class_const(class);
    return (struct whose){.pid = member(event, pids, BT_FIELD_CLASS_TYPE_INTEGER),
                          .tid = member(event, tids, BT_FIELD_CLASS_TYPE_INTEGER),
                          .name = member(event, names, BT_FIELD_CLASS_TYPE_STRING),
                          .of_instance = r->is_bezel ? member(event, instances, BT_FIELD_CLASS_TYPE_INTEGER) : NO_FIELD,
                          .of_ring = r->is_bezel ? member(event, rings, BT_FIELD_CLASS_TYPE_INTEGER) : NO_FIELD,
                          .cpu = member(packet, cpus, BT_FIELD_CLASS_TYPE_INTEGER),
                          .instance = r->is_bezel ? member(packet, instances, BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION)
                                                  : NO_FIELD,
                          .thread = r->is_bezel ? member(packet, threads, BT_FIELD_CLASS_TYPE_INTEGER) : NO_FIELD,
                          .kind = r->is_bezel ? member(packet, kinds, BT_FIELD_CLASS_TYPE_INTEGER) : NO_FIELD};
}

/* Whether a stream has the monitor's own records: then it has all of them. */
static bool has_own(const bt_stream_class *class)
{
    bool own = false;
    for (uint64_t i = 0; i < bt_stream_class_get_event_class_count(class); i++)
        own = own || ctf_is_own(bt_stream_class_borrow_event_class_by_index_const(class, i));
    return own;
}

static struct ctf_stream *add_stream(struct reading *r, const bt_stream *stream)
{
    const bt_stream_class *class = bt_stream_borrow_class_const(stream);
    const bt_clock_class *clock = bt_stream_class_borrow_default_clock_class_const(class);
    struct ctf_stream *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    take_trace(r, bt_stream_borrow_trace_const(stream));
    s->stream = stream;
    s->whose = find_whose(r, class);
    s->node = clock ? node_of(r, clock, &s->offset) : NULL;
    s->number = s->cpu = r->stream_count++;
    s->counts_losses = bt_stream_class_supports_discarded_events(class);
    s->numbers_packets = bt_stream_class_supports_discarded_packets(class);
    s->is_own = s->whose.instance != NO_FIELD && has_own(class);
    s->last_pid = s->last_tid = INT64_MIN;
    s->next = r->streams;
    return r->streams = s;
}

/* NULL where memory is short. */
static struct ctf_stream *stream_of(struct reading *r, const bt_stream *stream)
{
    struct ctf_stream *s = r->recent;
    if (s && s->stream == stream)
        return s;
    s = r->streams;
    while (s && s->stream != stream)
        s = s->next;
    return r->recent = s ? s : add_stream(r, stream);
}

static int64_t integer_of(const bt_field *structure, int index, int64_t otherwise)
{
    const bt_field *f = structure && index != NO_FIELD
                            ? bt_field_structure_borrow_member_field_by_index_const(structure, (uint64_t)index)
                            : NULL;
    return f ? ctf_integer(f) : otherwise;
}

/* The process that stands for what names none. */
static struct fill_process *process_of_trace(const struct reading *r, const struct ctf_stream *s)
{
    return fill_process(s->node, r->domain, r->pid, r->name, ROLE_SUT, s->from);
}

/* ---- packets ----------------------------------------------------------------------------------------------------- */

/* Of a trace of Bezel's: the label of the instance is "name (pid)". */
static struct fill_process *process_of_packet(const struct ctf_stream *s, const bt_field *context, int64_t at)
{
    const bt_field *f = bt_field_structure_borrow_member_field_by_index_const(context, (uint64_t)s->whose.instance);
    bt_field_class_enumeration_mapping_label_array labels;
    uint64_t count = 0;
    char name[128] = "";
    if (bt_field_enumeration_unsigned_get_mapping_labels(f, &labels, &count) == 0 && count > 0)
        snprintf(name, sizeof name, "%s", labels[0]);
    char *pid = strrchr(name, '(');
    if (pid && pid > name)
        pid[-1] = '\0';
    /* Two processes of one pid differ by their instance. */
    char domain[32];
    snprintf(domain, sizeof domain, "%016" PRIx64, bt_field_integer_unsigned_get_value(f));
    return fill_process(s->node, domain, pid ? strtoll(pid + 1, NULL, 10) : 0, name,
                        strcmp(name, "bezeld") == 0 ? ROLE_DAEMON : ROLE_SUT, at);
}

/* Of a trace of Bezel's it is known whose records were lost: they stand among those of their thread. */
static int store_held(struct reading *r, struct ctf_stream *s)
{
    uint64_t lost = s->held;
    s->held = 0;
    s->from = s->from < 0 ? s->seen : s->from;
    if (lost == 0 || !s->node || s->reduces || s->is_own)
        return 0;
    struct fill_process *p = s->of_packet ? s->of_packet : process_of_trace(r, s);
    uint64_t key = s->of_packet ? s->thread : FILL_OF_LOSSES | s->number;
    r->lost_of_any += s->of_packet ? 0 : lost;
    return fill_loss(r->c->in, p ? fill_ring(p, key, r->c->trace, s->from) : NULL, s->from, s->until, lost);
}

static int take_packet(struct reading *r, const bt_message *m)
{
    enum { REDUCED = 5, THINNED = 6 }; /* enum packet_kind, as the metadata has it */
    const bt_packet *packet = bt_message_packet_beginning_borrow_packet_const(m);
    struct ctf_stream *s = stream_of(r, bt_packet_borrow_stream_const(packet));
    const bt_field *context = bt_packet_borrow_context_field_const(packet);
    if (!s || !s->node)
        return s ? 0 : BEZEL_ENOMEM;
    s->cpu = (uint32_t)integer_of(context, s->whose.cpu, s->number);
    if (context && s->whose.instance != NO_FIELD && !s->is_own) {
        int64_t kind = integer_of(context, s->whose.kind, 0);
        bool timed =
            bt_stream_class_packets_have_beginning_default_clock_snapshot(bt_stream_borrow_class_const(s->stream));
        int64_t at = timed ? time_of(s, bt_message_packet_beginning_borrow_default_clock_snapshot_const(m)) : s->seen;
        s->of_packet = process_of_packet(s, context, at);
        s->thread = (uint32_t)integer_of(context, s->whose.thread, 0);
        s->reduces = kind == REDUCED || kind == THINNED;
        s->last_ring = NULL;
    }
    return store_held(r, s);
}

/* A packet follows whose context says more of them. */
static int take_discarded(struct reading *r, const bt_message *m)
{
    struct ctf_stream *s = stream_of(r, bt_message_discarded_events_borrow_stream_const(m));
    uint64_t count = 0;
    int err = s ? store_held(r, s) : BEZEL_ENOMEM;
    if (err || !s->node)
        return err;
    s->from = s->until = s->seen;
    if (bt_stream_class_discarded_events_have_default_clock_snapshots(bt_stream_borrow_class_const(s->stream))) {
        s->from = time_of(s, bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(m));
        s->until = time_of(s, bt_message_discarded_events_borrow_end_default_clock_snapshot_const(m));
    }
    pairs_lose(&r->pairs, s->until);
    if (bt_message_discarded_events_get_count(m, &count) != BT_PROPERTY_AVAILABILITY_AVAILABLE) {
        s->lost_unknown++;
    } else if (count > INT64_MAX) { /* the source's counter went back, by as much as is lacking to 2^64 */
        s->behind += 0 - count;
    } else { /* LTTng writes packets with 0 in between */
        uint64_t again = count < s->behind ? count : s->behind;
        s->behind -= again;
        s->held = count - again;
    }
    return 0;
}

static int take_discarded_packets(struct reading *r, const bt_message *m)
{
    struct ctf_stream *s = stream_of(r, bt_message_discarded_packets_borrow_stream_const(m));
    uint64_t count = 1;
    if (!s || !s->node)
        return s ? 0 : BEZEL_ENOMEM;
    (void)bt_message_discarded_packets_get_count(m, &count);
    if (bt_stream_class_discarded_packets_have_default_clock_snapshots(bt_stream_borrow_class_const(s->stream))) {
        int64_t from = time_of(s, bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const(m));
        s->lost_from = s->lost_packets ? s->lost_from : from;
        s->lost_until = time_of(s, bt_message_discarded_packets_borrow_end_default_clock_snapshot_const(m));
    }
    pairs_lose(&r->pairs, s->lost_until > s->seen ? s->lost_until : s->seen);
    s->lost_packets += count;
    return 0;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* Sets s->last_process to the process of an event; NULL where there is no room for it. */
static void find_process(const struct reading *r, struct ctf_stream *s, const bt_field *common)
{
    int64_t pid = integer_of(common, s->whose.pid, r->pid);
    if (s->last_process && s->last_pid == pid)
        return;
    const char *name = r->name;
    if (common && s->whose.name != NO_FIELD && pid != r->pid)
        name = bt_field_string_get_value(
            bt_field_structure_borrow_member_field_by_index_const(common, (uint64_t)s->whose.name));
    bool monitor = r->is_bezel && strcmp(name, "bezeld") == 0;
    s->last_process = fill_process(s->node, r->domain, pid, name, monitor ? ROLE_DAEMON : ROLE_SUT, s->seen);
    s->last_pid = pid;
    s->last_ring = NULL;
}

/* The ring of an event, and its thread: what says none has the CPU or the number of its stream. */
static struct fill_ring *find_ring(const struct reading *r, struct ctf_stream *s, const bt_field *common, int64_t time,
                                   uint32_t *thread)
{
    int64_t tid = s->of_packet ? s->thread : integer_of(common, s->whose.tid, -1);
    uint64_t key = tid >= 0 ? (uint64_t)tid & UINT32_MAX : FILL_OF_STREAM | s->number;
    *thread = tid >= 0 ? (uint32_t)tid : s->cpu;
    if (s->last_ring && s->last_tid == tid)
        return s->last_ring;
    s->last_ring = s->last_process ? fill_ring(s->last_process, key, r->c->trace, time) : NULL;
    s->last_tid = tid;
    return s->last_ring;
}

/* Of an event that begins or ends a span. Values of an end begin with its duration. Returns how many there are of that.
 */
static uint32_t take_pair(struct reading *r, const struct event_plan *plan, const struct fill_ring *ring,
                          uint32_t thread, int64_t time, uint64_t values[])
{
    const int64_t key[PAIRS_KEYS] = {(int64_t)(uintptr_t)plan->entry, (int64_t)(uintptr_t)ring, thread};
    if (plan->exit)
        values[0] = (uint64_t)pairs_leave(&r->pairs, key, time);
    else if (plan->entry)
        (void)pairs_enter(&r->pairs, key, time);
    return plan->exit;
}

static int take_event(struct reading *r, const bt_message *m)
{
    const bt_event *e = bt_message_event_borrow_event_const(m);
    struct ctf_stream *s = stream_of(r, bt_event_borrow_stream_const(e));
    const bt_field *common = bt_event_borrow_common_context_field_const(e);
    uint64_t values[DICT_FIELDS_MAX];
    uint32_t thread;
    if (!s || !s->node)
        return s ? r->timeless++, 0 : BEZEL_ENOMEM;
    if (s->is_own)
        return r->c->own++, 0;
    int64_t time = time_of(s, bt_message_event_borrow_default_clock_snapshot_const(m));
    if (time < 0)
        return fill_leave_out(r->c->in), 0;
    s->seen = time;
    const struct event_plan *plan = ctf_plan(r, s, bt_event_borrow_class_const(e));
    if (!plan || plan->own)
        return plan ? r->c->own++, 0 : BEZEL_ENOMEM;
    if (s->of_packet)
        s->last_process = s->of_packet;
    else
        find_process(r, s, common);
    struct fill_ring *ring = find_ring(r, s, common, time, &thread);
    uint32_t aspect = ring ? fill_aspect(s->last_process, plan->shape) : 0;
    uint32_t more = ring ? take_pair(r, plan, ring, thread, time, values) : 0;
    if (aspect)
        ctf_values(r, s->last_process, plan, e, values + more);
    return fill_record(r->c->in, ring, thread, aspect, time, values, more + plan->count);
}

static int take_message(struct reading *r, const bt_message *m)
{
    switch (bt_message_get_type(m)) {
    case BT_MESSAGE_TYPE_STREAM_BEGINNING:
        return stream_of(r, bt_message_stream_beginning_borrow_stream_const(m)) ? 0 : BEZEL_ENOMEM;
    case BT_MESSAGE_TYPE_PACKET_BEGINNING:
        return take_packet(r, m);
    case BT_MESSAGE_TYPE_EVENT:
        return take_event(r, m);
    case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
        return take_discarded(r, m);
    case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
        return take_discarded_packets(r, m);
    default:
        return 0;
    }
}

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *i, void *reading)
{
    struct reading *r = reading;
    bt_message_array_const messages;
    uint64_t count;
    bt_message_iterator_next_status status = bt_message_iterator_next(i, &messages, &count);
    if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK) /* both have one set of numbers */
        return (bt_graph_simple_sink_component_consume_func_status)(int)status;
    for (uint64_t k = 0; k < count; k++) {
        r->err = r->err ? r->err : take_message(r, messages[k]);
        bt_message_put_ref(messages[k]);
    }
    return r->err ? BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR
                  : BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

/* Adds source and muxer, connected with our sink. Returns false after an error of the library. */
static bool build(bt_graph *graph, const bt_plugin *ctf, const bt_plugin *utils, struct reading *r)
{
    const bt_component_class_source *source_class = bt_plugin_borrow_source_component_class_by_name_const(ctf, "fs");
    const bt_component_class_filter *muxer_class =
        bt_plugin_borrow_filter_component_class_by_name_const(utils, "muxer");
    const bt_component_source *source;
    const bt_component_filter *muxer;
    const bt_component_sink *sink;
    bt_value *params = bt_value_map_create(), *inputs = NULL;
    bool ok =
        source_class && muxer_class && params &&
        bt_value_map_insert_empty_array_entry(params, "inputs", &inputs) == 0 &&
        bt_value_array_append_string_element(inputs, r->folder) == 0 &&
        bt_graph_add_source_component(graph, source_class, "source", params, BT_LOGGING_LEVEL_NONE, &source) == 0 &&
        bt_graph_add_filter_component(graph, muxer_class, "muxer", NULL, BT_LOGGING_LEVEL_NONE, &muxer) == 0 &&
        bt_graph_add_simple_sink_component(graph, "sink", NULL, consume, NULL, r, &sink) == 0;
    uint64_t ports = ok ? bt_component_source_get_output_port_count(source) : 0;
    for (uint64_t i = 0; ok && i < ports; i++)
        ok = bt_graph_connect_ports(graph, bt_component_source_borrow_output_port_by_index_const(source, i),
                                    bt_component_filter_borrow_input_port_by_index_const(muxer, i), NULL) == 0;
    if (ok)
        ok = bt_graph_connect_ports(graph, bt_component_filter_borrow_output_port_by_index_const(muxer, 0),
                                    bt_component_sink_borrow_input_port_by_index_const(sink, 0), NULL) == 0;
    bt_value_put_ref(params);
    return ok;
}

/* Prints the first cause of the library's error, and notes it in the run, if there is one. */
static int report_damage(struct reading *r)
{
    const bt_error *error = bt_current_thread_take_error();
    char text[200] = "no cause is known";
    if (error && bt_error_get_cause_count(error) > 0)
        snprintf(text, sizeof text, "%s", bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0)));
    if (error)
        bt_error_release(error);
    text[strcspn(text, "\n")] = '\0';
    plain_text(text);
    log_error("BEZEL-IMPORT-DAMAGED", "%s cannot be read%s: %s", r->folder,
              r->streams ? " to its end, and what comes behind is missing" : "", text);
    if (r->streams && r->streams->node)
        fill_note(r->streams->node, FILL_DAMAGED, "%.80s could not be read to its end: %.120s", r->folder, text);
    return BEZEL_EMALFORMED;
}

static int run_graph(struct reading *r)
{
    const bt_plugin *ctf = NULL, *utils = NULL;
    bt_graph *graph = bt_graph_create(0);
    bool ok = graph && bt_plugin_find("ctf", 1, 1, 1, 1, 0, &ctf) == 0 &&
              bt_plugin_find("utils", 1, 1, 1, 1, 0, &utils) == 0 && build(graph, ctf, utils, r);
    if (ok)
        ok = bt_graph_run(graph) == BT_GRAPH_RUN_STATUS_OK;
    int err = r->err;
    if (!err && !ok)
        err = report_damage(r);
    bt_current_thread_clear_error();
    bt_graph_put_ref(graph);
    bt_plugin_put_ref(ctf);
    bt_plugin_put_ref(utils);
    return err;
}

/* ---- what is missing --------------------------------------------------------------------------------------------- */

static double seconds_of(const struct ctf_stream *s, int64_t at)
{
    return (double)(at + s->offset) / 1e9;
}

static void note_losses(const struct reading *r, const struct ctf_stream *s)
{
    const char *name = bt_stream_get_name(s->stream);
    name = name ? file_name(name) : "?";
    if (s->lost_packets)
        fill_note(s->node, FILL_LOST,
                  "stream %.60s of %.60s lost %" PRIu64 " packets between %.6f s and %.6f s: how many records they "
                  "had is unknown",
                  name, file_name(r->folder), s->lost_packets, seconds_of(s, s->lost_from),
                  seconds_of(s, s->lost_until));
    if (s->lost_unknown)
        fill_note(s->node, FILL_LOST, "stream %.60s of %.60s lost events %" PRIu64 " times, and does not say how many",
                  name, file_name(r->folder), s->lost_unknown);
    if (s->behind)
        fill_note(s->node, FILL_LOST,
                  "the counter of lost events of stream %.60s of %.60s went back by %" PRIu64
                  ": how many were lost since is unknown",
                  name, file_name(r->folder), s->behind);
}

/* A source that has no counter may have lost anything: one note for each trace. */
static void note_uncounted(const struct reading *r, const struct ctf_stream *s)
{
    fill_note(s->node, FILL_LOST, "%.120s has streams without %s: whether records were lost is unknown",
              file_name(r->folder), s->counts_losses ? "numbers of packets" : "a counter of lost events");
}

static void finish_streams(struct reading *r)
{
    const struct ctf_stream *uncounted = NULL;
    for (struct ctf_stream *s = r->streams; s; s = s->next) {
        int err = store_held(r, s);
        r->err = r->err ? r->err : err;
        if (!s->node || s->is_own)
            continue;
        note_losses(r, s);
        if (!s->counts_losses || (!s->numbers_packets && !uncounted))
            uncounted = s;
    }
    if (uncounted)
        note_uncounted(r, uncounted);
    if (r->lost_of_any)
        fill_note(fill_first_node(r->c->in), FILL_FIELDS,
                  "whose the lost records of %.80s were is not known (%" PRIu64
                  "): a time between two records may be one of a loss",
                  file_name(r->folder), r->lost_of_any);
    for (const struct ctf_stream *s = r->streams; s && r->timeless; s = s->next)
        if (s->node) {
            fill_note(s->node, FILL_LEFT_OUT, "%" PRIu64 " records of %.120s have no time: they were left out",
                      r->timeless, file_name(r->folder));
            break;
        }
}

static void free_reading(struct reading *r)
{
    while (r->streams) {
        struct ctf_stream *s = r->streams;
        r->streams = s->next;
        free(s);
    }
    ctf_free_plans(r);
    pairs_free(&r->pairs);
    bt_trace_put_ref(r->trace);
    free(r);
}

int ctf_read(struct ctf_import *c, const char *folder)
{
    struct reading *r = calloc(1, sizeof *r);
    if (!r)
        return BEZEL_ENOMEM;
    r->c = c;
    r->folder = folder;
    r->pid = -1;
    bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
    int err = run_graph(r);
    finish_streams(r);
    err = err ? err : r->err;
    if (r->timeless)
        log_warn("BEZEL-IMPORT-LEFT-OUT",
                 "%s: %" PRIu64 " records are of streams without a clock: they have no time, and "
                 "were left out",
                 folder, r->timeless);
    c->trace++;
    free_reading(r);
    return err;
}
