// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The run in memory: nodes, processes and streams are found as they were added, in all lists, until they are dropped.
 */
#include "run/model/run_model.h"
#include "mdr/parts.h"

#include "mdr/builtin.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static uint64_t seed;

static struct message_hello hello_of(const char *node, uint8_t id)
{
    struct message_hello hello = {.realtime_offset = 1000 + id};
    snprintf(hello.node, sizeof hello.node, "%s", node);
    memset(hello.uuid, id, sizeof hello.uuid);
    memset(hello.clock, 100 + id, sizeof hello.clock);
    return hello;
}

TEST(nodes_are_added_found_and_dropped)
{
    struct model *m = model_new("a run");
    struct model_node *nodes[5];
    static const char *const names[] = {"desk", "desk", "studio", "desk", "desk.2"}, *const dirs[] = {
                                                                                         "desk", "desk.2", "studio",
                                                                                         "desk.3", "desk.2.1"};
    assert_string_equal(m->run, "a run");
    for (uint8_t i = 0; i < 5; i++) {
        struct message_hello hello = hello_of(names[i], i);
        if (i == 2)
            memcpy(hello.clock, m->clock, sizeof hello.clock);
        nodes[i] = model_add_node(m, &hello);
        assert_non_null(nodes[i]);
        assert_string_equal(nodes[i]->name, names[i]);
        assert_string_equal(nodes[i]->dir, dirs[i]);
        assert_memory_equal(nodes[i]->uuid, hello.uuid, sizeof hello.uuid);
        assert_memory_equal(nodes[i]->clock, hello.clock, sizeof hello.clock);
        assert_int_equal(nodes[i]->realtime_offset, 1000 + i);
        assert_int_equal(nodes[i]->local, i == 2);
        assert_ptr_equal(nodes[i]->model, m);
        assert_ptr_equal(model_find_node(m, hello.uuid), nodes[i]);
    }
    assert_int_equal(m->totals.nodes, 5);
    assert_true(model_has_dir(m, "desk.3"));
    assert_false(model_has_dir(m, "desk.4"));
    struct message_hello unknown = hello_of("desk", 9);
    assert_null(model_find_node(m, unknown.uuid));
    model_drop_node(nodes[4]); /* the last, one between, the first */
    model_drop_node(nodes[1]);
    model_drop_node(nodes[0]);
    assert_int_equal(m->totals.nodes, 2);
    assert_ptr_equal(m->nodes, nodes[2]);
    assert_ptr_equal(nodes[2]->next, nodes[3]);
    assert_null(nodes[3]->next);
    struct model_node *last = model_add_node(m, &unknown);
    assert_ptr_equal(nodes[3]->next, last);
    assert_string_equal(last->dir, "desk");
    model_free(m);
}

/* ---- Processes, against a list ----------------------------------------------------------------------------------- */

enum { PROCESSES = 400, PIDS = 50, STEPS = 4000 };

static struct model_process *there[PROCESSES]; /* by instance - 1; NULL: not there */

static uint32_t pid_of(unsigned i)
{
    return 1 + i % PIDS * 1024; /* of a few buckets */
}

static void add(struct model_node *node, unsigned i)
{
    static struct message_process said;
    said = (struct message_process){.instance = i + 1,
                                    .stream_id = 5000 + i,
                                    .pid = pid_of(i),
                                    .role = i % 7 == 0 ? ROLE_DAEMON : ROLE_SUT,
                                    .overwrites = i % 3 == 0,
                                    .started = 7000 + i};
    snprintf(said.name, sizeof said.name, "p%u", i % 2);
    snprintf(said.program, sizeof said.program, "/bin/p%u", i);
    there[i] = model_add_process(node, &said);
    assert_non_null(there[i]);
    there[i]->row = (int64_t)i;
}

static void check_one(const struct model_node *node, unsigned i)
{
    const struct model_process *p = model_find_process(node, i + 1);
    char text[64];
    assert_ptr_equal(p, there[i]);
    if (!p)
        return;
    assert_ptr_equal(p->node, node);
    assert_int_equal(p->instance, i + 1);
    assert_int_equal(p->stream_id, 5000 + i);
    assert_int_equal(p->pid, pid_of(i));
    assert_int_equal(p->role, i % 7 == 0 ? ROLE_DAEMON : ROLE_SUT);
    assert_int_equal(p->overwrites, i % 3 == 0);
    assert_int_equal(p->started, 7000 + i);
    assert_true(p->active);
    snprintf(text, sizeof text, "p%u", i % 2);
    assert_string_equal(p->name, text);
    snprintf(text, sizeof text, "/bin/p%u", i);
    assert_string_equal(p->program, text);
    for (unsigned k = 0; k < PROCESSES; k++)
        if (k != i && there[k])
            assert_string_not_equal(there[k]->base, p->base);
}

static unsigned length_of_lists(const struct model_node *node)
{
    unsigned all = 0, active = 0, buckets = 0, pids = 0;
    for (const struct model_process *p = node->processes; p; p = p->next)
        all++;
    for (const struct model_process *p = node->active; p; p = p->next_active)
        active++;
    for (unsigned b = 0; b < MODEL_BUCKETS; b++) {
        for (const struct model_process *p = node->buckets[b]; p; p = p->next_bucket)
            buckets++;
        for (const struct model_process *p = node->pids[b]; p; p = p->next_pid)
            pids++;
    }
    assert_int_equal(active, all);
    assert_int_equal(buckets, all);
    assert_int_equal(pids, all);
    return all;
}

TEST(processes_come_and_go_and_are_in_every_list_once)
{
    struct model *m = model_new("");
    struct message_hello hello = hello_of("desk", 1);
    struct model_node *node = model_add_node(m, &hello);
    unsigned count = 0;
    memset(there, 0, sizeof there);
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned i = (unsigned)(seed_next(&seed) % PROCESSES);
        if (there[i]) {
            model_drop_process(there[i]);
            there[i] = NULL;
            count--;
        } else {
            add(node, i);
            count++;
            assert_ptr_equal(*node->last_process, NULL);
        }
        assert_int_equal(m->totals.processes, count);
        if (step % 16 == 0) {
            assert_int_equal(length_of_lists(node), count);
            check_one(node, i);
            check_one(node, (unsigned)(seed_next(&seed) % PROCESSES));
        }
    }
    model_activate(node->processes); /* it is active already */
    assert_int_equal(length_of_lists(node), count);
    model_free(m);
}

TEST(names_of_files_are_safe_and_differ)
{
    static const struct {
        const char *name, *base;
    } cases[] = {{"server", "server-77"},   {"", "_-77"},
                 {".hidden", "_hidden-77"}, {"a b/c", "a_b_c-77"},
                 {"\x7f\x1f~", "__~-77"},   {"gr\xc3\xbc", "gr__-77"}};
    struct model *m = model_new("");
    struct message_hello hello = hello_of("desk", 1);
    struct model_node *node = model_add_node(m, &hello);
    static struct message_process said = {.pid = 77};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        said.instance = 1 + i;
        snprintf(said.name, sizeof said.name, "%s", cases[i].name);
        assert_string_equal(model_add_process(node, &said)->base, cases[i].base);
    }
    assert_true(model_name_ok("Az09_-.x"));
    assert_false(model_name_ok(""));
    assert_false(model_name_ok("."));
    assert_false(model_name_ok(".a"));
    assert_false(model_name_ok("a/b"));
    assert_false(model_name_ok("a b"));
    model_free(m);
}

/* ---- The rest ---------------------------------------------------------------------------------------------------- */

TEST(who_is_refused_often_is_untaken_for_good)
{
    struct model *m = model_new("");
    struct message_hello hello = hello_of("desk", 1);
    struct model_node *node = model_add_node(m, &hello);
    for (uint32_t k = 1; k < MODEL_REFUSALS; k++) {
        assert_int_equal(model_leave_out(node, 5), k);
        assert_false(model_is_untaken(node, 5));
    }
    assert_int_equal(model_leave_out(node, 5), MODEL_REFUSALS);
    assert_true(model_is_untaken(node, 5));
    assert_false(model_is_untaken(node, 6));
    assert_false(model_is_untaken(node, 0));
    for (uint32_t k = 0; k + 1 < MODEL_UNTAKEN_MAX; k++) /* each twice: they have the other places */
        assert_int_equal(model_leave_out(node, 100 + k) + model_leave_out(node, 100 + k), 3);
    assert_int_equal(model_leave_out(node, 50), 1); /* in place of one that was refused least */
    assert_int_equal(model_leave_out(node, 51), 1); /* in place of that one */
    assert_int_equal(model_leave_out(node, 50), 1);
    assert_true(model_is_untaken(node, 5)); /* which keeps its place */
    for (uint32_t k = 0; k < MODEL_UNTAKEN_MAX; k++)
        while (node->untaken[k].refusals < MODEL_REFUSALS)
            (void)model_leave_out(node, node->untaken[k].instance);
    assert_int_equal(model_leave_out(node, 52), 0); /* no room */
    m->full = true;
    assert_true(model_is_untaken(node, 52));
    model_free(m);
}

TEST(each_ring_has_its_place)
{
    struct model *m = model_new("");
    struct message_hello hello = hello_of("desk", 1);
    memset(there, 0, sizeof there);
    add(model_add_node(m, &hello), 0);
    for (uint32_t ring = 0; ring < PACKET_RINGS_MAX; ring++) {
        assert_null(model_find_stream(there[0], ring));
        struct model_stream *s = model_stream(there[0], ring);
        assert_non_null(s);
        assert_ptr_equal(model_find_stream(there[0], ring), s);
        assert_ptr_equal(model_find_stream(there[0], ring / 2), model_stream(there[0], ring / 2));
        assert_int_equal(s->at.ring, ring);
    }
    assert_null(model_find_stream(there[0], PACKET_RINGS_MAX));
    model_free(m);
}

TEST(streams_are_made_once_and_taken_from_the_list_once)
{
    struct model *m = model_new("");
    struct message_hello hello = hello_of("desk", 1);
    struct model_node *node = model_add_node(m, &hello);
    memset(there, 0, sizeof there);
    add(node, 0);
    struct model_stream *first = model_stream(there[0], 0), *last = model_stream(there[0], PACKET_RINGS_MAX - 1);
    assert_ptr_equal(model_stream(there[0], 0), first);
    assert_ptr_not_equal(first, last);
    assert_ptr_equal(last->process, there[0]);
    assert_int_equal(last->at.instance, 1);
    assert_int_equal(last->at.ring, PACKET_RINGS_MAX - 1);
    assert_int_equal(last->fd, -1);
    assert_null(model_next_touched(node));
    model_touch(first);
    model_touch(last);
    model_touch(first);
    struct model_stream *taken[] = {model_next_touched(node), model_next_touched(node)};
    assert_true((taken[0] == first && taken[1] == last) || (taken[0] == last && taken[1] == first));
    assert_false(first->touched || last->touched);
    assert_null(model_next_touched(node));
    model_touch(last);
    assert_ptr_equal(model_next_touched(node), last);
    model_free(m);
}

static struct dict *dictionary(const struct dict_aspect *a, uint32_t count)
{
    static uint8_t bytes[MESSAGE_DICT_MAX];
    struct dict *dict;
    int n = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct dict_aspect one = a[i];
        one.id = i + 1;
        n = dict_append_aspect(bytes, (size_t)n, sizeof bytes, &one);
        assert_true(n > 0);
    }
    assert_int_equal(dict_parse(bytes, (size_t)n, &dict), 0);
    return dict;
}

TEST(built_in_aspects_are_known_by_name_and_types_and_of_daemons_alone)
{
    struct model *m = model_new("");
    struct message_hello hello = hello_of("desk", 1);
    struct model_node *node = model_add_node(m, &hello);
    struct dict_aspect a[4] = {builtin_aspects[3], builtin_aspects[0], builtin_aspects[1], builtin_aspects[2]};
    assert_true(a[2].field_count > 0 && a[3].field_count > 1);
    a[2].fields[a[2].field_count - 1].type =
        a[2].fields[a[2].field_count - 1].type == DICT_INT64 ? DICT_FLOAT64 : DICT_INT64; /* another type, the last */
    a[3].field_count--;                                                                   /* a field less */
    memset(there, 0, sizeof there);
    add(node, 0); /* a daemon */
    add(node, 1);
    for (unsigned i = 0; i < 2; i++) {
        there[i]->metadata_stale = false;
        model_set_dictionary(there[i], dictionary(a, 4));
        assert_true(there[i]->metadata_stale);
        assert_int_equal(there[i]->builtins[3], i == 0 ? 1 : 0);
        assert_int_equal(there[i]->builtins[0], i == 0 ? 2 : 0);
        assert_int_equal(there[i]->builtins[1], 0);
        assert_int_equal(there[i]->builtins[2], 0);
        assert_false(model_is_evicted(there[i]));
        model_strip_process(there[i]);
        assert_true(model_is_evicted(there[i]));
    }
    model_free(m);
}

TEST(a_uuid_is_written_in_its_five_groups)
{
    char text[MODEL_UUID_TEXT];
    static const uint8_t uuid[16] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
                                     0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10};
    model_uuid_text(uuid, text);
    assert_string_equal(text, "01234567-89ab-cdef-fedc-ba9876543210");
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
