// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/store_fixture.h"

#include "base/file.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>

static const uint8_t run_id[16] = "a run's identity";

int store_fixture_begin(void **state)
{
    struct store_fixture *t = calloc(1, sizeof *t);
    assert_non_null(t);
    snprintf(t->dir, sizeof t->dir, "/tmp/bezel-store-XXXXXX");
    t->sensor = fake_new("desk", run_id, 42);
    t->model = model_new("");
    t->node = model_add_node(t->model, &t->sensor->hello);
    *state = t;
    return mkdtemp(t->dir) && store_open(t->dir, STORE_SYNC_NEVER, &t->store) == 0 ? 0 : -1;
}

int store_fixture_end(void **state)
{
    struct store_fixture *t = *state;
    store_close(t->store);
    model_free(t->model);
    fake_free(t->sensor);
    int err = file_remove_tree(t->dir);
    free(t);
    return err;
}

struct model_process *store_fixture_know(struct store_fixture *t, uint32_t i)
{
    const struct message_process *said = &t->sensor->processes[i]->said;
    struct dict *dict;
    struct model_process *p = model_find_process(t->node, said->instance);
    if (!p)
        p = model_add_process(t->node, said);
    assert_int_equal(dict_parse(said->dictionary, said->dictionary_bytes, &dict), 0);
    model_set_dictionary(p, dict);
    return p;
}
