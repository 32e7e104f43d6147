// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "base/log.h"
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"
#include "mdr/link/link.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char about[] =
    "Makes a pair of keys, for links beyond this machine. NAME.key, the secret key, stays with its owner; nobody else "
    "may read it. NAME.pub, the public key, is to be copied into the folder of keys of everybody who accepts it. It "
    "lists the roles of its holder and the nodes that it may speak for, and they may be changed there.\n";
static const char footer[] = "Exit codes: 0 made, 1 failed, 2 wrong usage.\n";

struct request {
    const char *name, *dir;
    unsigned roles;
    char nodes[KEY_NODES_MAX + 1];
    bool replace;
};

static int read_role(const char *word, void *context)
{
    unsigned role = key_role(word, strlen(word));
    if (role == 0)
        return options_misuse("'%s' is not a role: use observe, control, launch or read", word);
    ((struct request *)context)->roles |= role;
    return OPTIONS_GO_ON;
}

static int read_node(const char *word, void *context)
{
    struct request *q = context;
    size_t n = strlen(q->nodes);
    if (!key_pattern_ok(word))
        return options_misuse("'%s' is not a node: use the name of one, or a pattern such as 'desk*'", word);
    if (snprintf(q->nodes + n, sizeof q->nodes - n, "%s%s", n ? " " : "", word) >= (int)(sizeof q->nodes - n))
        return options_misuse("the nodes have more than %d bytes: use a pattern, such as 'desk*'", KEY_NODES_MAX);
    return OPTIONS_GO_ON;
}

static int read_options(int argc, char **argv, struct request *q)
{
    *q = (struct request){.dir = "."};
    struct options o = {.program = "bezel keygen",
                        .usage = "[OPTIONS] NAME",
                        .about = about,
                        .footer = footer,
                        .least = 1,
                        .most = 1,
                        .context = q};
    const struct options_entry entries[] = {
        {"role", 0, "ROLE",
         "what its holder may do; may be given several times: observe (send packets to a collector; the default), "
         "control (command a daemon), launch (have programs started), read (read the records of a run from its server)",
         .read = read_role},
        {"node", 0, "NODE",
         "a node in whose name its holder may send packets, or a pattern of such names, such as 'desk*'; may be given "
         "several times (default: the node called NAME)",
         .read = read_node},
        {"dir", 0, "DIR", "folder of the two files, created with mode 0700 if it is missing (default: the current one)",
         .value = &q->dir},
        {"force", 0, NULL, "replace an existing pair of that name; its secret key is lost", .flag = &q->replace},
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    q->name = o.words[0];
    if (!key_name_ok(q->name))
        return options_misuse(
            "'%s' is not a name for a key: use 1 to %d letters, digits, '_', '-' or '.', and begin with "
            "neither '.' nor '-'",
            q->name, KEY_NAME_MAX);
    if (!q->roles)
        q->roles = KEY_OBSERVE;
    return OPTIONS_GO_ON;
}

static int write_pair(const struct request *q)
{
    char path[PATH_MAX];
    struct key_secret secret;
    struct key_public public = {.roles = q->roles};
    memcpy(public.nodes, q->nodes, sizeof public.nodes);
    if (file_make_dirs(q->dir, 0700) != 0) {
        log_error("BEZEL-KEYGEN", "cannot make folder %s: %s", q->dir, strerror(errno));
        return BEZEL_ESYS;
    }
    int err = link_key_write_pair(q->dir, q->name, q->replace, &secret, &public, path, sizeof path);
    key_forget(&secret);
    if (err == BEZEL_EBUSY)
        log_error("BEZEL-KEYGEN", "%s exists already: use another name, or --force to replace the old key", path);
    else if (err)
        log_error("BEZEL-KEYGEN", "%s: %s%s", path[0] ? path : "cannot make a key", strerror(errno),
                  err == BEZEL_EPERM
                      ? ": its file system may be one that cannot keep keys from other users: name a folder "
                        "elsewhere (--dir)"
                      : "");
    return err;
}

int cmd_keygen(int argc, char **argv)
{
    struct request q;
    char roles[KEY_ROLES_TEXT];
    int code = read_options(argc, argv, &q);
    if (code != OPTIONS_GO_ON)
        return code;
    if (!link_has_keys()) {
        log_error("BEZEL-LINK-CURVE",
                  "cannot make keys: this libzmq was built without CURVE; install one with it, such as Debian's");
        return EXIT_FAILED;
    }
    if (write_pair(&q) != 0)
        return EXIT_FAILED;
    printf("%s/%s.key  secret: keep it on the machine that uses it\n", q.dir, q.name);
    printf("%s/%s.pub  public, roles %s: copy it into the folder of keys of everybody who is to accept it\n", q.dir,
           q.name, key_roles_text(q.roles, roles));
    return options_end(EXIT_OK);
}
