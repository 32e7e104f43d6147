// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* `bezel node`: the order of what is done for a node, here and there. ecs/cli/node_plan.h decides, node.sh does what is
 * done there. The inventory is written last, so that a node in it can be used. */
#include "base/address.h"
#include "base/json.h"
#include "base/log.h"
#include "base/table.h"
#include "base/ulimit.h"
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"
#include "ecs/cli/node_keys.h"
#include "ecs/cli/node_packages.h"
#include "ecs/cli/node_remote.h"
#include "ecs/course/inventory_file.h"
#include "mdr/link/link.h"
#include "mdr/message.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char about[] =
    "Makes other machines nodes of this workstation, over the system's ssh, which must get there without a question:\n"
    "  add [USER@]HOST          installs Bezel there where it is missing, makes keys, starts the\n"
    "                           daemons, runs the doctor there, and adds it to the inventory\n"
    "  ls                       lists the nodes of the inventory\n"
    "  doctor [NODE]...         runs `bezel doctor` there\n"
    "  upgrade [NODE]...        brings the version of this workstation there\n"
    "  keys --rotate [NODE]...  gives nodes new keys; with --workstation, this machine\n"
    "  remove NODE...           takes this workstation's rights back, and ends the daemons unless\n"
    "                           other workstations use the node\n"
    "Without NODE all nodes are meant. A node that serves a run is neither upgraded nor removed, and keeps its key. An "
    "experiment file names nodes of the inventory without an address: `nodes: {desk1: {}}`.\n";
static const char footer[] =
    "The inventory is the file `nodes` of $XDG_CONFIG_HOME/bezel, or ~/.config/bezel; `keys` beside it has the keys "
    "with which its nodes are reached. BEZEL_SSH names another command than ssh, with its arguments.\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 4 a node does not answer.\n";

enum { PORT_MAX = 65535, TEXT_MAX = 256 };

struct work {
    struct inventory inventory;
    struct node_keys keys;
    const char *name, *address, *packages;
    uint64_t port; /* 0: not given */
    bool json, rotate, own, forget, home;
};

/* ---- ls ---------------------------------------------------------------------------------------------------------- */

static void list_text(const struct inventory *inventory)
{
    static const char *const heads[] = {"node", "ssh", "address", "version", "key"};
    struct table *t = table_with_heads("lllll", heads);
    for (const struct inventory_node *node = inventory->nodes; node < inventory->nodes + inventory->count; node++) {
        table_cell(t, "%s", node->name);
        table_cell(t, "%s", node->ssh);
        table_cell(t, "%s", node->address);
        table_cell(t, "%s", node->version ? node->version : "-");
        table_cell(t, "%s", node->key);
    }
    table_print(t, 0, stdout);
}

static void list_json(const struct inventory *inventory)
{
    struct json j = {.out = stdout};
    json_object(&j, NULL);
    json_int(&j, "format", 1);
    json_text(&j, "workstation", inventory->key);
    json_array(&j, "nodes");
    for (const struct inventory_node *node = inventory->nodes; node < inventory->nodes + inventory->count; node++) {
        json_object(&j, NULL);
        json_text(&j, "name", node->name);
        json_text(&j, "ssh", node->ssh);
        json_text(&j, "address", node->address);
        json_text(&j, "version", node->version);
        json_text(&j, "key", node->key);
        json_object_end(&j);
    }
    json_array_end(&j);
    json_object_end(&j);
}

static int list(struct work *w)
{
    if (w->json)
        list_json(&w->inventory);
    else
        list_text(&w->inventory);
    return EXIT_OK;
}

/* ---- Its sessions ------------------------------------------------------------------------------------------------ */

struct sessions {
    unsigned count;
    char first[TEXT_MAX];
};

static bool take_sessions(void *context, const char *name, const struct message *answer)
{
    struct sessions *s = context;
    (void)name;
    if (answer->sessions.count > 0 && s->count == 0)
        snprintf(s->first, sizeof s->first, "'%.64s' (node %.64s)", answer->sessions.sessions[0].experiment,
                 answer->sessions.sessions[0].node);
    s->count += answer->sessions.count;
    return true;
}

/* Asks the bezeld of `node` what it serves. Returns an exit code, EXIT_OK with *s; otherwise it was said why not. */
static int ask(const struct work *w, const struct inventory_node *node, struct sessions *s)
{
    const struct message_command command = {.verb = VERB_QUERY, .subject = SUBJECT_SESSIONS};
    char own[NODE_KEYS_PATH], server[NODE_KEYS_PATH], name[EXPERIMENT_NAME_MAX + sizeof "bezeld of "];
    struct control_client bezeld;
    *s = (struct sessions){0};
    snprintf(name, sizeof name, "bezeld of %s", node->name);
    node_keys_path(&w->keys, w->inventory.key, ".key", own);
    node_keys_path(&w->keys, node->key, ".pub", server);
    int code =
        control_client_open_bezeld(node->address, (struct command_caller_access){own, server, NULL}, name, &bezeld);
    if (code != EXIT_OK)
        return code;
    code = control_client_ask(&bezeld, &command, ANSWER_SESSIONS, take_sessions, s);
    control_client_close(&bezeld);
    return code;
}

/* Whether what the command does would cut a run: EXIT_OK if no run is there, and no bezeld that could have one. */
static int refuse_in_run(const struct work *w, const struct inventory_node *node, const char *what)
{
    struct sessions s;
    struct node_traits traits = {0};
    if (ask(w, node, &s) == EXIT_OK) {
        if (s.count == 0)
            return EXIT_OK;
        log_error("BEZEL-NODE", "it serves a run, of experiment %s%s: it is not %s before that has ended", s.first,
                  s.count > 1 ? ", and others" : "", what);
        return EXIT_FAILED;
    }
    if (node_remote_do(node->ssh, "look", NULL, &traits) != 0)
        return EXIT_UNREACHABLE;
    if (strcmp(node_trait(&traits, "active"), "no") == 0)
        return EXIT_OK;
    log_error("BEZEL-NODE",
              "its bezeld runs, and does not answer at %s, so it is not known whether it serves a run: it is not %s",
              node->address, what);
    return EXIT_UNREACHABLE;
}

/* ---- What is there ----------------------------------------------------------------------------------------------- */

/* The traits of machine `ssh`, and the plan. Returns EXIT_OK, or it was said what refuses it. */
static int survey(const struct work *w, const char *ssh, struct node_traits *traits, struct node_packages *packages,
                  struct node_plan *plan)
{
    *traits = (struct node_traits){0};
    int err = node_remote_do(ssh, "traits", NULL, traits);
    if (err)
        return err == BEZEL_EUNREACH ? EXIT_UNREACHABLE : EXIT_FAILED;
    node_packages_find(w->packages, node_trait(traits, "architecture"), packages);
    packages->offer.now = time(NULL);
    packages->offer.home = w->home;
    node_plan_make(traits, &packages->offer, plan);
    for (unsigned i = 0; i < plan->notes && !plan->refused[0]; i++)
        log_warn("BEZEL-NODE", "%s", plan->note[i]);
    if (plan->refused[0])
        log_error("BEZEL-NODE", "%s", plan->refused);
    return plan->refused[0] ? EXIT_FAILED : EXIT_OK;
}

static int copy_packages(const char *ssh, const struct node_packages *packages, const char *action)
{
    struct node_request q = {0};
    struct node_traits traits = {0};
    char *sums = NULL;
    int err = node_packages_sums(packages, &sums);
    if (!err)
        err = node_remote_do(ssh, "stage", NULL, &traits);
    const char *stage = node_trait(&traits, "stage");
    if (!err)
        err = node_remote_copy(ssh, packages->folder, packages->names, stage);
    if (*stage) {
        node_remote_set(&q, "STAGE", stage);
        node_remote_set(&q, "SUMS", sums ? sums : "");
        int last = node_remote_do(ssh, err ? "drop_stage" : action, &q, &traits);
        err = err ? err : last;
    }
    node_remote_forget(&q);
    free(sums);
    return err;
}

static int install(const char *ssh, const struct node_traits *traits, const struct node_packages *packages,
                   const struct node_plan *plan)
{
    struct node_request q = {0};
    struct node_traits said = {0};
    int err = 0;
    if (plan->install == NODE_HAS_IT)
        return 0;
    printf("installing %s, %s ...\n", packages->offer.version,
           plan->install == NODE_BY_APT ? "by its apt" : "from packages that are copied");
    (void)fflush(stdout);
    if (plan->install == NODE_BY_APT) {
        node_remote_set(&q, "CANDIDATE", node_trait(traits, "candidate"));
        err = node_remote_do(ssh, plan->home ? "install_home_apt" : "install_apt", &q, &said);
    } else {
        err = copy_packages(ssh, packages, plan->home ? "install_home_copies" : "install_copies");
    }
    node_remote_forget(&q);
    return err;
}

/* Prints what the doctor finds there. Returns an exit code: EXIT_FAILED where there is a problem. */
static int examine(const char *ssh)
{
    struct node_traits traits = {0};
    int err = node_remote_do(ssh, "examine", NULL, &traits);
    if (err)
        return err == BEZEL_EUNREACH ? EXIT_UNREACHABLE : EXIT_FAILED;
    if (*node_trait(&traits, "locked"))
        printf("bezeld there may lock %s%s of memory, and has real-time priorities up to %s\n",
               node_trait(&traits, "locked"), strcmp(node_trait(&traits, "locked"), "unlimited") == 0 ? "" : " bytes",
               node_trait(&traits, "priority"));
    return strcmp(node_trait(&traits, "problems"), "yes") == 0 ? EXIT_FAILED : EXIT_OK;
}

/* ---- add --------------------------------------------------------------------------------------------------------- */

/* The name of the new node: --name, or the first part of the host's name; a number is none. */
static int name_node(const struct work *w, const char *ssh, const char *host, char name[EXPERIMENT_NAME_MAX + 1])
{
    const char *at = strrchr(ssh, '@'), *from = w->name ? w->name : at ? at + 1 : ssh;
    bool number = !w->name && from[strspn(from, "0123456789.")] == '\0';
    if (number || (!w->name && strchr(from, ':')))
        from = host;
    snprintf(name, EXPERIMENT_NAME_MAX + 1, "%.*s", w->name ? EXPERIMENT_NAME_MAX : (int)strcspn(from, "."), from);
    if (experiment_name_ok(name))
        return EXIT_OK;
    log_error("BEZEL-NODE", "'%s' is no name for a node: give it one with --name", name);
    return EXIT_USAGE;
}

/* One machine has one name in an inventory, and one name one machine. */
static int check_name(const struct work *w, const char *ssh, const char *name)
{
    const struct inventory_node *same = inventory_find(&w->inventory, name);
    if (same && strcmp(same->ssh, ssh) != 0) {
        log_error("BEZEL-NODE",
                  "node %s is in the inventory already, as %s: give this one another name with --name, or first remove "
                  "that one",
                  name, same->ssh);
        return EXIT_USAGE;
    }
    for (uint32_t i = 0; i < w->inventory.count; i++)
        if (strcmp(w->inventory.nodes[i].ssh, ssh) == 0 && strcmp(w->inventory.nodes[i].name, name) != 0) {
            log_error("BEZEL-NODE", "%s is in the inventory already, as node %s: to call it %s, first remove that one",
                      ssh, w->inventory.nodes[i].name, name);
            return EXIT_USAGE;
        }
    return EXIT_OK;
}

static int set_up(const struct work *w, const char *ssh, const char *public, const struct node_plan *plan,
                  struct node_traits *traits)
{
    struct node_request q = {0};
    char key[KEY_NAME_MAX + 1], port[8] = "";
    node_keys_name(node_trait(traits, "host"), key);
    if (w->port)
        snprintf(port, sizeof port, "%u", (unsigned)w->port);
    node_remote_set(&q, "KEY", key);
    node_remote_set(&q, "WORKSTATION", w->inventory.key);
    node_remote_set(&q, "PUBLIC", public);
    node_remote_set(&q, "PORT", port);
    node_remote_set(&q, "SERVICE", plan->service ? "yes" : "no");
    node_remote_set(&q, "LAUNCHER", plan->launcher ? "yes" : "no");
    int err = node_remote_do(ssh, "set_up", &q, traits);
    node_remote_forget(&q);
    return err;
}

/* Has the node taken back what set_up() did, so that a second try begins as the first. */
static void undo(const struct work *w, const char *ssh, const struct node_traits *traits)
{
    struct node_request q = {0};
    struct node_traits said = {0};
    node_remote_set(&q, "WORKSTATION", w->inventory.key);
    if (node_remote_do(ssh, "remove", &q, &said) == 0)
        log_info("BEZEL-NODE", "what was begun is taken back%s; what is installed there stays",
                 *node_trait(&said, "others") ? ", and other workstations use it as before" : "");
    node_remote_forget(&q);
    node_keys_forget(&w->keys, node_trait(traits, "key"));
}

static void set_address(const struct work *w, const char *ssh, const char *port, char address[ADDRESS_TEXT_MAX])
{
    char host[TEXT_MAX];
    if (w->address)
        snprintf(host, sizeof host, "%s", w->address);
    else
        node_remote_host(ssh, host, sizeof host);
    bool bare = strchr(host, ':') && host[0] != '[';
    snprintf(address, ADDRESS_TEXT_MAX, bare ? "tcp://[%.*s]:%s" : "tcp://%.*s:%s", ADDRESS_HOST_MAX, host, port);
}

/* Whether the node can be used from here, and what it serves. */
static int reach(const struct work *w, const struct inventory_node *node, struct sessions *s)
{
    struct address address;
    struct node_traits traits = {0};
    const char *why = "";
    if (address_read(node->address, &address, &why) != 0) {
        log_error("BEZEL-NODE", "%s is no address: %s: name one with --address", node->address, why);
        return EXIT_FAILED;
    }
    if (ask(w, node, s) == EXIT_OK)
        return EXIT_OK;
    bool known = node_remote_do(node->ssh, "look", NULL, &traits) == 0;
    if (known && strcmp(node_trait(&traits, "active"), "yes") == 0)
        log_error(
            "BEZEL-NODE",
            "bezeld runs there, but cannot be reached from here at %s: a firewall may be between, or the machine has "
            "another address here: name it with --address",
            node->address);
    else if (known)
        log_error("BEZEL-NODE", "bezeld does not run there; its last words: %s", node_trait(&traits, "words"));
    return EXIT_UNREACHABLE;
}

/* From keys to the inventory. */
static int join(struct work *w, const char *ssh, const char *name, const char *public, struct node_traits *traits,
                const struct node_plan *plan)
{
    char address[ADDRESS_TEXT_MAX];
    struct sessions s;
    bool again = inventory_find(&w->inventory, name);
    if (set_up(w, ssh, public, plan, traits) != 0) {
        if (!again)
            undo(w, ssh, traits);
        return EXIT_FAILED;
    }
    set_address(w, ssh, node_trait(traits, "port"), address);
    const struct inventory_node node = {.name = (char *)name,
                                        .ssh = (char *)ssh,
                                        .address = address,
                                        .key = (char *)node_trait(traits, "key"),
                                        .version = (char *)BEZEL_VERSION};
    int code = node_keys_admit(&w->keys, name, traits) == 0 ? reach(w, &node, &s) : EXIT_FAILED;
    if (code == EXIT_OK && examine(ssh) == EXIT_UNREACHABLE)
        code = EXIT_UNREACHABLE;
    if (code == EXIT_OK && (inventory_put(&w->inventory, &node) != 0 || inventory_file_write(&w->inventory) != 0))
        code = EXIT_FAILED;
    if (code != EXIT_OK && !again)
        undo(w, ssh, traits);
    if (code == EXIT_OK)
        printf("\n%s is a node, at %s: nodes: {%s: {}}\n", name, address, name);
    return code;
}

static int add(struct work *w, const char *ssh)
{
    struct node_traits traits;
    struct node_packages packages;
    struct node_plan plan;
    char name[EXPERIMENT_NAME_MAX + 1], public[KEY_FILE_MAX];
    log_about(ssh);
    int code = w->name ? check_name(w, ssh, w->name) : EXIT_OK;
    if (code != EXIT_OK)
        return code;
    if (node_keys_own(&w->keys, public) != 0)
        return EXIT_FAILED;
    code = survey(w, ssh, &traits, &packages, &plan);
    if (code == EXIT_OK)
        code = name_node(w, ssh, node_trait(&traits, "host"), name);
    if (code == EXIT_OK)
        code = check_name(w, ssh, name);
    if (code != EXIT_OK)
        return code;
    if (plan.install != NODE_HAS_IT && strcmp(node_trait(&traits, "active"), "yes") == 0) {
        log_error(
            "BEZEL-NODE",
            "it is a node already, with version %s: first `bezel node upgrade` it, from the workstation that has it",
            node_trait(&traits, "version"));
        return EXIT_FAILED;
    }
    if (install(ssh, &traits, &packages, &plan) != 0)
        return EXIT_FAILED;
    return join(w, ssh, name, public, &traits, &plan);
}

/* ---- What is done with nodes of the inventory -------------------------------------------------------------------- */

static int doctor(struct work *w, const struct inventory_node *node)
{
    (void)w;
    printf("%s (%s)\n", node->name, node->ssh);
    (void)fflush(stdout);
    return examine(node->ssh);
}

/* Writes the inventory with a copy of `node`, or without it. */
static int write_without(struct work *w, const char *name)
{
    inventory_remove(&w->inventory, name);
    return inventory_file_write(&w->inventory) == 0 ? EXIT_OK : EXIT_FAILED;
}

static int take_leave(struct work *w, const struct inventory_node *node)
{
    struct node_request q = {0};
    struct node_traits traits = {0};
    int code = refuse_in_run(w, node, "removed");
    if (code == EXIT_UNREACHABLE)
        log_error("BEZEL-NODE", "to take it off the inventory all the same: bezel node remove --forget %s", node->name);
    if (code != EXIT_OK)
        return code;
    node_remote_set(&q, "WORKSTATION", w->inventory.key);
    int err = node_remote_do(node->ssh, "remove", &q, &traits);
    node_remote_forget(&q);
    if (err)
        return err == BEZEL_EUNREACH ? EXIT_UNREACHABLE : EXIT_FAILED;
    if (*node_trait(&traits, "others"))
        printf("%s: its daemons go on, for other workstations: %s\n", node->name, node_trait(&traits, "others"));
    else
        printf("%s: its daemons were ended, and their keys removed; what is installed there stays\n", node->name);
    return EXIT_OK;
}

static int drop(struct work *w, const struct inventory_node *node)
{
    int code = w->forget ? EXIT_OK : take_leave(w, node);
    if (code != EXIT_OK)
        return code;
    if (w->forget)
        printf("%s: is forgotten here; this workstation's key is still admitted there\n", node->name);
    node_keys_forget(&w->keys, node->key);
    return write_without(w, node->name);
}

/* Has its daemons start again, with what is installed, and with key `key` (NULL: the one that it has). */
static int renew(const char *ssh, const char *key)
{
    struct node_request q = {0};
    struct node_traits traits = {0};
    if (key)
        node_remote_set(&q, "KEY", key);
    int err = node_remote_do(ssh, key ? "other_key" : "renew", &q, &traits);
    node_remote_forget(&q);
    return err == 0 ? EXIT_OK : err == BEZEL_EUNREACH ? EXIT_UNREACHABLE : EXIT_FAILED;
}

/* Writes the inventory with another key or version of `node`. */
static int write_changed(struct work *w, const struct inventory_node *node, const char *key, const char *version)
{
    struct inventory_node changed = *node;
    changed.key = (char *)key;
    changed.version = (char *)version;
    bool put = inventory_put(&w->inventory, &changed) == 0;
    return put && inventory_file_write(&w->inventory) == 0 ? EXIT_OK : EXIT_FAILED;
}

static int upgrade(struct work *w, const struct inventory_node *node)
{
    struct node_traits traits;
    struct node_packages packages;
    struct node_plan plan;
    struct sessions s;
    int code = survey(w, node->ssh, &traits, &packages, &plan);
    if (code == EXIT_OK && plan.install == NODE_HAS_IT) {
        printf("%s: has version %s already\n", node->name, node_trait(&traits, "version"));
        return write_changed(w, node, node->key, node_trait(&traits, "version"));
    }
    if (code == EXIT_OK)
        code = refuse_in_run(w, node, "upgraded");
    if (code == EXIT_OK && install(node->ssh, &traits, &packages, &plan) != 0)
        code = EXIT_FAILED;
    if (code == EXIT_OK)
        code = renew(node->ssh, NULL);
    if (code == EXIT_OK)
        code = reach(w, node, &s);
    if (code == EXIT_OK)
        code = write_changed(w, node, node->key, BEZEL_VERSION);
    if (code == EXIT_OK)
        printf("%s: has version %s now\n", node->name, BEZEL_VERSION);
    return code;
}

/* Makes a key there, and has its public part here. */
static int make_key(const struct work *w, const struct inventory_node *node, struct node_traits *traits)
{
    struct node_request q = {0};
    char key[KEY_NAME_MAX + 1], of[KEY_NAME_MAX + 1];
    snprintf(of, sizeof of, "%.*s",
             (int)(strrchr(node->key, '-') ? strrchr(node->key, '-') - node->key : (ptrdiff_t)strlen(node->key)),
             node->key);
    node_keys_name(of, key);
    node_remote_set(&q, "KEY", key);
    node_remote_set(&q, "WORKSTATION", w->inventory.key);
    int err = node_remote_do(node->ssh, "new_key", &q, traits);
    node_remote_forget(&q);
    if (!err)
        err = node_keys_admit(&w->keys, node->name, traits);
    return err == 0 ? EXIT_OK : err == BEZEL_EUNREACH ? EXIT_UNREACHABLE : EXIT_FAILED;
}

/* Removes what is left of former keys, unless a run has begun with the last one meanwhile. */
static void drop_key(const struct work *w, const char *ssh, const char *old, const struct sessions *s)
{
    struct node_traits said = {0};
    if (s->count > 0)
        log_warn("BEZEL-NODE", "a run has begun meanwhile, of experiment %s: its former key stays, for that run",
                 s->first);
    else if (node_remote_do(ssh, "drop_keys", NULL, &said) == 0)
        node_keys_forget(&w->keys, old);
}

/* Both keys are there until the new one works and is in the inventory. */
static int rotate(struct work *w, const struct inventory_node *node)
{
    struct node_traits traits = {0};
    struct sessions s = {0};
    char old[KEY_NAME_MAX + 1], ssh[TEXT_MAX];
    snprintf(old, sizeof old, "%s", node->key);
    snprintf(ssh, sizeof ssh, "%s", node->ssh);
    int code = refuse_in_run(w, node, "given another key");
    if (code == EXIT_OK)
        code = make_key(w, node, &traits);
    if (code != EXIT_OK)
        return code;
    struct inventory_node changed = *node;
    changed.key = (char *)node_trait(&traits, "key");
    code = renew(ssh, changed.key);
    if (code == EXIT_OK)
        code = reach(w, &changed, &s);
    if (code == EXIT_OK)
        code = write_changed(w, node, changed.key, node->version);
    if (code != EXIT_OK) {
        log_error("BEZEL-NODE", "which of its keys it has now is not known: `bezel node add %s` asks it", ssh);
        return code;
    }
    drop_key(w, ssh, old, &s);
    printf("%s: has key %s now\n", w->name, changed.key);
    if (*node_trait(&traits, "others"))
        log_warn("BEZEL-NODE", "other workstations know its former key, and have to `bezel node add` it again: %s",
                 node_trait(&traits, "others"));
    return code;
}

/* ---- Another key of this workstation ----------------------------------------------------------------------------- */

/* Has `action` of node.sh done at each node, with this workstation's key `key` and what nodes have of it (NULL:
 * nothing). The first code that is no success is returned; `all`: the others are tried all the same. */
static int at_each(struct work *w, const char *action, const char *key, const char *text, bool all)
{
    int code = EXIT_OK;
    for (uint32_t i = 0; i < w->inventory.count && (all || code == EXIT_OK); i++) {
        struct node_request q = {0};
        struct node_traits traits = {0};
        log_about(w->inventory.nodes[i].name);
        node_remote_set(&q, "WORKSTATION", key);
        node_remote_set(&q, "PUBLIC", text ? text : "");
        int err = node_remote_do(w->inventory.nodes[i].ssh, action, &q, &traits);
        node_remote_forget(&q);
        if (err && code == EXIT_OK)
            code = err == BEZEL_EUNREACH ? EXIT_UNREACHABLE : EXIT_FAILED;
    }
    log_about(NULL);
    return code;
}

/* Whether each node is without a run (`what`: what it otherwise is not), or, without `what`, can be used. */
static int check_each(const struct work *w, const char *what)
{
    struct sessions s;
    int code = EXIT_OK;
    for (uint32_t i = 0; i < w->inventory.count && code == EXIT_OK; i++) {
        log_about(w->inventory.nodes[i].name);
        code = what ? refuse_in_run(w, &w->inventory.nodes[i], what) : reach(w, &w->inventory.nodes[i], &s);
    }
    log_about(NULL);
    return code;
}

/* Has key `key` at all nodes, and uses it. */
static int try_own(struct work *w, const char *key)
{
    char text[KEY_FILE_MAX];
    if (node_keys_print(&w->keys, key, text) != 0)
        return EXIT_FAILED;
    int code = at_each(w, "let_in", key, text, false);
    if (code == EXIT_OK && node_keys_use(&w->keys, key) != 0)
        code = EXIT_FAILED;
    return code == EXIT_OK ? check_each(w, NULL) : code;
}

/* Each node admits both keys until the new one has worked at all of them. */
static int rotate_own(struct work *w)
{
    char old[KEY_NAME_MAX + 1], key[KEY_NAME_MAX + 1];
    snprintf(old, sizeof old, "%s", w->inventory.key ? w->inventory.key : "");
    if (!*old) {
        log_error("BEZEL-NODE", "this workstation has no key: the first `bezel node add` makes one");
        return EXIT_FAILED;
    }
    int code = check_each(w, "told another key of this workstation");
    if (code != EXIT_OK)
        return code;
    if (node_keys_make(&w->keys, key) != 0)
        return EXIT_FAILED;
    code = try_own(w, key);
    bool has_old = code != EXIT_OK && (strcmp(w->inventory.key, old) == 0 || node_keys_use(&w->keys, old) == 0);
    if (code != EXIT_OK && !has_old) { /* the inventory cannot be written */
        log_error("BEZEL-NODE", "this workstation has key %s now; its nodes admit the former one, %s, too", key, old);
        return code;
    }
    const char *other = has_old ? key : old; /* the key that nobody is to have any more */
    if (at_each(w, "dismiss", other, NULL, true) != EXIT_OK)
        log_warn("BEZEL-NODE", "these nodes still admit key %s, which is removed here", other);
    node_keys_forget(&w->keys, other);
    printf("this workstation has key %s %s\n", w->inventory.key, has_old ? "as before" : "now");
    return code;
}

/* ---- The command ------------------------------------------------------------------------------------------------- */

static const struct action {
    const char *word;
    int (*all)(struct work *w);
    int (*new_node)(struct work *w, const char *ssh);
    int (*each)(struct work *w, const struct inventory_node *node);
    bool reads, named; /* changes nothing; takes at least one node */
} actions[] = {
    {"add", .new_node = add, .named = true},
    {"ls", .all = list, .reads = true},
    {"doctor", .each = doctor, .reads = true},
    {"remove", .each = drop, .named = true},
    {"upgrade", .each = upgrade},
    {"keys", .each = rotate},
};

static const struct action *find_action(const char *word)
{
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].word, word) == 0)
            return &actions[i];
    return NULL;
}

/* Calls the action for the nodes called `words`, or all. The first code that is no success is the last word. */
static int for_each(struct work *w, const struct action *a, char *const *words, unsigned count)
{
    int code = EXIT_OK;
    uint32_t all = count ? 0 : w->inventory.count;
    char **names = calloc(all + 1, sizeof *names);
    for (uint32_t i = 0; names && i < all; i++) /* a copy, since nodes are replaced */
        names[i] = strdup(w->inventory.nodes[i].name);
    if (!names)
        return EXIT_FAILED;
    for (unsigned i = 0; i < (count ? count : all); i++) {
        w->name = count ? words[i] : names[i];
        const struct inventory_node *node = w->name ? inventory_find(&w->inventory, w->name) : NULL;
        log_about(w->name);
        int one = node ? a->each(w, node) : EXIT_FAILED;
        (void)fflush(stdout);
        code = code == EXIT_OK ? one : code;
    }
    log_about(NULL);
    for (uint32_t i = 0; i < all; i++)
        free(names[i]);
    free(names);
    return code;
}

static int check_words(const struct work *w, const struct action *a, char *const *words, unsigned count)
{
    if (!a->each && !a->new_node && count > 0)
        return options_misuse("%s lists all nodes, and takes no name", a->word);
    if (a->named && count == 0)
        return options_misuse("%s takes %s", a->word, a->new_node ? "[USER@]HOST, as ssh does" : "the name of a node");
    if (a->new_node && (count > 1 || words[0][0] == '-' || words[0][0] == '\0' || strpbrk(words[0], " \t\n")))
        return options_misuse("add takes one [USER@]HOST, as ssh does");
    if (w->own && (a->each != rotate || count > 0))
        return options_misuse(
            "--workstation goes with keys --rotate, and takes no node: all of them are told the new key");
    if (a->each == rotate && !w->rotate)
        return options_misuse("keys takes --rotate: `bezel node ls` shows which key a node has");
    for (unsigned i = 0; a->each && i < count; i++)
        if (!inventory_find(&w->inventory, words[i]))
            return options_misuse("there is no node '%s' in the inventory: `bezel node ls` lists them", words[i]);
    return EXIT_OK;
}

static int act(struct work *w, const struct action *a, char *const *words, unsigned count)
{
    int lock = -1, code = EXIT_FAILED;
    if (!a->reads && (lock = inventory_file_lock()) < 0)
        return EXIT_FAILED;
    if (inventory_file_read(&w->inventory) == 0)
        code = check_words(w, a, words, count);
    if (code == EXIT_OK)
        code = w->own        ? rotate_own(w)
               : a->all      ? a->all(w)
               : a->new_node ? a->new_node(w, words[0])
                             : for_each(w, a, words, count);
    inventory_free(&w->inventory);
    if (lock >= 0)
        close(lock);
    return options_end(code);
}

int cmd_node(int argc, char **argv)
{
    struct work w = {.port = 0};
    struct options o = {.program = "bezel node",
                        .usage = "add|ls|doctor|remove|upgrade|keys [OPTIONS] [NODE]...",
                        .about = about,
                        .footer = footer,
                        .least = 1,
                        .most = 1024};
    const struct options_entry entries[] = {
        {"name", 0, "NAME", "add: the node's name in experiments (default: the first part of the host's)",
         .value = &w.name},
        {"packages", 0, "DIR",
         "add, upgrade: the folder of the packages that are copied where apt there does not have them (default: where "
         "packaging/packages puts them, or share/bezel/packages)",
         .value = &w.packages},
        {"port", 0, "N", "add: where bezeld there takes commands over TCP, with keys (default: 7767)", .count = &w.port,
         .least = 1, .most = PORT_MAX},
        {"address", 0, "HOST", "add: the name or number by which it is reached from here (default: ssh's)",
         .value = &w.address},
        {"home", 0, NULL, "add: where sudo asks for a password, install in the user's home there, without root",
         .flag = &w.home},
        {"rotate", 0, NULL, "keys: make new keys there, and remove the former ones", .flag = &w.rotate},
        {"workstation", 0, NULL, "keys --rotate: make a new key for this workstation, not for its nodes",
         .flag = &w.own},
        {"forget", 0, NULL, "remove: only here; for a machine that is gone", .flag = &w.forget},
        {"json", 'j', NULL, "ls: print JSON", .flag = &w.json},
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    const struct action *a = find_action(o.words[0]);
    if (!a)
        return options_misuse("'%s' is nothing to do with nodes: use add, ls, doctor, remove, upgrade or keys",
                              o.words[0]);
    w.keys.inventory = &w.inventory;
    inventory_file_path("keys", w.keys.folder);
    return act(&w, a, o.words + 1, o.count - 1);
}
