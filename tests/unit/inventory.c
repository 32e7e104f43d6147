// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The inventory of nodes as a file, and what it writes into experiment files. */
#include "config/inventory.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

static const char known[] =
    "workstation: {key: ada.desk-5f3a}\n"
    "nodes:\n"
    "  desk1: {ssh: ada@desk1, address: \"tcp://192.0.2.11:7767\", key: desk1-90c1, version: 0.1.0}\n"
    "  b: {ssh: b, address: \"tcp://b:1\", key: k}\n";

static void read_known(struct inventory *inventory)
{
    struct experiment_diagnostics found;
    assert_int_equal(inventory_read(known, strlen(known), inventory, &found), 0);
    experiment_diagnostics_free(&found);
}

/* ---- The file ---------------------------------------------------------------------------------------------------- */

TEST(what_is_printed_is_read_again)
{
    struct inventory one, two;
    struct experiment_diagnostics found;
    char *text, *again;
    size_t n, m;
    read_known(&one);
    assert_int_equal(one.count, 2);
    assert_string_equal(one.key, "ada.desk-5f3a");
    assert_string_equal(inventory_find(&one, "desk1")->ssh, "ada@desk1");
    assert_string_equal(inventory_find(&one, "desk1")->version, "0.1.0");
    assert_null(inventory_find(&one, "b")->version);
    assert_null(inventory_find(&one, "c"));
    for (int round = 0; round < 2; round++) {
        FILE *out = open_memstream(&text, &n);
        inventory_print(&one, out);
        assert_int_equal(fclose(out), 0);
        assert_int_equal(inventory_read(text, n, &two, &found), 0);
        out = open_memstream(&again, &m);
        inventory_print(&two, out);
        assert_int_equal(fclose(out), 0);
        assert_string_equal(text, again);
        free(text);
        free(again);
        inventory_free(&two);
        inventory_remove(&one, "desk1");
        inventory_remove(&one, round ? "nobody" : "b");
    }
    assert_int_equal(one.count, 0);
    inventory_free(&one);
}

TEST(a_node_is_put_in_the_place_of_its_name)
{
    struct inventory all;
    struct inventory_node node = {
        .name = (char *)"b", .ssh = (char *)"x@b", .address = (char *)"tcp://b:2", .key = (char *)"l"};
    read_known(&all);
    assert_int_equal(inventory_put(&all, &node), 0);
    assert_int_equal(all.count, 2);
    assert_string_equal(inventory_find(&all, "b")->address, "tcp://b:2");
    node.name = (char *)"c";
    assert_int_equal(inventory_put(&all, &node), 0);
    assert_int_equal(all.count, 3);
    assert_string_equal(inventory_find(&all, "c")->key, "l");
    inventory_free(&all);
}

TEST(a_wrong_file_is_refused)
{
    static const char *const wrong[] = {
        "nodes: {a: {address: \"tcp://a:1\", key: k}}",                        /* no ssh */
        "nodes: {a: {ssh: -oProxyCommand=x, address: \"tcp://a:1\", key: k}}", /* an option of ssh's */
        "nodes: {a: {ssh: 'a b', address: \"tcp://a:1\", key: k}}",
        "nodes: {a: {ssh: a, address: \"tcp://*:1\", key: k}}",
        "nodes: {a: {ssh: a, address: \"tcp://a:*\", key: k}}",
        "nodes: {a: {ssh: a, address: \"ipc:///a\", key: k}}",
        "nodes: {a: {ssh: a, address: local, key: k}}",
        "nodes: {a: {ssh: a, address: \"tcp://a:1\", key: ../k}}",
        "nodes: {a: , b: {ssh: a, address: \"tcp://a:1\", key: k}}",
        "nodes: {a: {}}",
        "nodes: [a]",
        "others: 1",
        "nodes: {a: {ssh: a, address: \"tcp://a:1\", key: k}, a: {ssh: a, address: \"tcp://a:1\", key: k}}",
        "{",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct inventory all;
        struct experiment_diagnostics found;
        assert_int_equal(inventory_read(wrong[i], strlen(wrong[i]), &all, &found), BEZEL_EMALFORMED);
        assert_true(found.errors > 0);
        experiment_diagnostics_free(&found);
        inventory_free(&all);
    }
}

/* ---- Experiment files -------------------------------------------------------------------------------------------- */

#define DESK  "address: \"tcp://192.0.2.11:7767\", key: desk1-90c1"
#define OWN   "key: ada.desk-5f3a"
#define STORE "store: {keys: /k, key: ada.desk-5f3a}"

static const struct {
    const char *file, *resolved; /* NULL: it stays as it is */
} files[] = {
    {"nodes: {desk1: {}}\n", STORE "\ncontrol: {" OWN "}\nnodes: {desk1: {" DESK "}}\n"},
    {"{nodes: {desk1: {}}}", "{" STORE ", control: {" OWN "}, nodes: {desk1: {" DESK "}}}"},
    {"nodes:\n  desk1:\n  here: {}\nstore: {keys: mine}\n",
     "nodes:\n  desk1: {address: \"tcp://192.0.2.11:7767\"}\n  here: {}\nstore: {keys: mine}\n"},
    {"store:\n  sync: never\ncontrol: {key: x}\nnodes:\n  here:\n  there: {address: local}\n  desk1: # mine\n    dir: "
     "/d\n",
     "store:\n  keys: /k\n  key: ada.desk-5f3a\n  sync: never\ncontrol: {key: x}\nnodes:\n  here: {" OWN
     "}\n  there: {" OWN
     ", address: local}\n  desk1: # mine\n    address: \"tcp://192.0.2.11:7767\"\n    key: desk1-90c1\n    "
     "dir: /d\n"},
    {"nodes: {desk1, b: , c: {address: \"tcp://c:1\"}}\nstore: {}\ncontrol:\n",
     "nodes: {desk1: {" DESK
     "}, b:  {address: \"tcp://b:1\", key: k}, c: {address: \"tcp://c:1\"}}\nstore: {keys: /k, " OWN "}\ncontrol: {" OWN
     "}\n"},
    {"\xef\xbb\xbfnodes: {\"desk1\": {key: z}}\nstore: {keys: m}",
     "\xef\xbb\xbfnodes: {\"desk1\": {address: \"tcp://192.0.2.11:7767\", key: z}}\nstore: {keys: m}"},
    {"# \xc3\xa4\nexperiment: \xc3\xa4\nnodes: {\xc3\xa4: {}, desk1: {}}\nstore: {keys: m}",
     "# \xc3\xa4\nexperiment: \xc3\xa4\nnodes: {\xc3\xa4: {}, desk1: {address: \"tcp://192.0.2.11:7767\"}}\nstore: "
     "{keys: m}"},
    {"nodes: {desk1: {address: local}}\n", NULL},
    {"nodes: {desk1: {address: \"tcp://x:1\"}}\n", NULL},
    {"nodes: {desk1: text}\n", NULL},
    {"nodes: {other: {}}\n", NULL},
    {"nodes: [desk1]\n", NULL},
    {"nodes: desk1\n", NULL},
    {"processes: []\n", NULL},
    {"nodes: {desk1: {}\n", NULL},
    {"", NULL},
};

TEST(a_file_gets_what_the_inventory_knows)
{
    struct inventory all;
    read_known(&all);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct inventory_resolved resolved;
        struct experiment_diagnostics found;
        assert_int_equal(inventory_resolve(&all, "/k", files[i].file, strlen(files[i].file), &resolved, &found), 0);
        if (!files[i].resolved) {
            assert_null(resolved.text);
        } else {
            assert_string_equal(resolved.text, files[i].resolved);
            assert_int_equal(resolved.n, strlen(resolved.text));
        }
        experiment_diagnostics_free(&found);
        inventory_resolved_free(&resolved);
    }
    inventory_free(&all);
}

/* The place of the byte at `offset`: there are no multi-byte characters. */
static struct experiment_place place_of(const char *text, size_t offset)
{
    struct experiment_place at = {1, 1};
    for (size_t i = 0; i < offset; i++)
        at = text[i] == '\n' ? (struct experiment_place){at.line + 1, 1}
                             : (struct experiment_place){at.line, at.column + 1};
    return at;
}

/* Each byte of a file is found in the resolved text, in order; its place there leads back to its place in the file. */
TEST(each_place_leads_back_to_the_file)
{
    struct inventory all;
    read_known(&all);
    for (size_t i = 0; i < 5; i++) {
        struct inventory_resolved r;
        struct experiment_diagnostics found;
        const char *file = files[i].file;
        assert_int_equal(inventory_resolve(&all, "/k", file, strlen(file), &r, &found), 0);
        const char *sought[] = {
            "nodes", "here", "there", "desk1", "dir", "b:", "c:", "sync", "mine", "control: {key: x", "store: {k"};
        for (size_t k = 0; k < sizeof sought / sizeof *sought; k++) {
            const char *old = strstr(file, sought[k]), *now = strstr(r.text, sought[k]);
            if (!old)
                continue;
            assert_non_null(now);
            struct experiment_place at = inventory_place(&r, place_of(r.text, (size_t)(now - r.text)));
            struct experiment_place expected = place_of(file, (size_t)(old - file));
            assert_int_equal(at.line, expected.line);
            assert_int_equal(at.column, expected.column);
        }
        experiment_diagnostics_free(&found);
        inventory_resolved_free(&r);
    }
    inventory_free(&all);
}

TEST(what_cannot_be_written_is_an_error)
{
    static const char file[] = "nodes:\n  ? desk1\n  ? b\nstore: {keys: k}\n";
    struct inventory all;
    struct inventory_resolved r;
    struct experiment_diagnostics found;
    read_known(&all);
    int err = inventory_resolve(&all, "/k", file, strlen(file), &r, &found);
    assert_int_equal(err, BEZEL_EMALFORMED);
    assert_null(r.text);
    assert_non_null(strstr(found.list[0].sentence, "'desk1: {}'"));
    experiment_diagnostics_free(&found);
    inventory_free(&all);
}

TEST(a_resolved_file_is_an_experiment)
{
    static const char file[] = "experiment: t\nnodes: {desk1: {}, here: {}, b: {address: local}}\nprocesses: [{name: "
                               "p, node: desk1, command: x}]\n";
    struct inventory all;
    struct inventory_resolved r;
    struct experiment *e;
    struct experiment_diagnostics found;
    read_known(&all);
    assert_int_equal(inventory_resolve(&all, "/k", file, strlen(file), &r, &found), 0);
    experiment_diagnostics_free(&found);
    assert_int_equal(experiment_read(r.text, r.n, &e, &found), 0);
    assert_string_equal(e->nodes[0].address, "tcp://192.0.2.11:7767");
    assert_string_equal(e->nodes[0].key, "desk1-90c1");
    assert_null(e->nodes[1].address);
    assert_null(e->nodes[2].address);
    assert_string_equal(e->nodes[2].key, "ada.desk-5f3a");
    assert_string_equal(e->store.keys, "/k");
    assert_string_equal(e->store.key, "ada.desk-5f3a");
    assert_string_equal(e->control_key, "ada.desk-5f3a");
    experiment_free(e);
    experiment_diagnostics_free(&found);
    inventory_resolved_free(&r);
    inventory_free(&all);
}

/* What `bezel check --print` prints of a file means the same nodes, read with the inventory again. */
TEST(a_printed_file_means_the_same_nodes)
{
    static const char file[] =
        "experiment: t\nnodes: {desk1: {address: local}}\nprocesses: [{name: p, node: desk1, command: x}]\n";
    struct inventory all;
    struct inventory_resolved r;
    struct experiment *e;
    struct experiment_diagnostics found;
    char *text = NULL;
    size_t n = 0;
    read_known(&all);
    assert_int_equal(experiment_read(file, strlen(file), &e, &found), 0);
    experiment_diagnostics_free(&found);
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    assert_int_equal(experiment_print(e, out), 0);
    assert_int_equal(fclose(out), 0);
    experiment_free(e);
    assert_int_equal(inventory_resolve(&all, "/k", text, n, &r, &found), 0);
    experiment_diagnostics_free(&found);
    assert_null(r.text); /* nothing of the inventory's */
    inventory_resolved_free(&r);
    inventory_free(&all);
    free(text);
}
