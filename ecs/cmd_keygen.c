// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "base/log.h"
#include "ecs/commands.h"
#include "mdr/link.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: bezel keygen [--role ROLE]... [--dir DIR] [--force] NAME\n"
    "\n"
    "Makes a pair of keys: NAME.key, the secret one, which stays with its owner and which nobody else may read, and\n"
    "NAME.pub, the public one, which goes into the folder of keys of all that are to know it. What its holder may do\n"
    "there stands in NAME.pub, and may be changed there.\n"
    "\n"
    "  --role observe   may send packets to a collector (the default)\n"
    "  --role control   may command a daemon\n"
    "  --role launch    may have programs started\n"
    "  --dir DIR        folder of the two files; made, for its owner alone, where it is missing (default: this one)\n"
    "  --force          replace a pair of that name, whose secret is then lost\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 made, 1 failed, 2 usage.\n";

struct wish {
    const char *name, *dir;
    unsigned roles;
    bool replace;
};

/* Returns -1 to go on, or the exit code. */
static int read_options(int argc, char **argv, struct wish *w)
{
    static const struct option options[] = {{"role", required_argument, NULL, 'r'},
                                            {"dir", required_argument, NULL, 'd'},
                                            {"force", no_argument, NULL, 'f'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    *w = (struct wish){.dir = "."};
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (c == 'h')
            return command_help(help);
        if (c == 'd')
            w->dir = optarg;
        else if (c == 'f')
            w->replace = true;
        else if (c != 'r')
            return command_misuse("keygen", "an option is wrong");
        else if (key_role(optarg, strlen(optarg)) == 0)
            return command_misuse("keygen", "'%s' is no role: observe, control and launch are", optarg);
        else
            w->roles |= key_role(optarg, strlen(optarg));
    }
    if (optind != argc - 1)
        return command_misuse("keygen", "exactly one NAME is wanted");
    w->name = argv[optind];
    if (!key_name_ok(w->name))
        return command_misuse("keygen",
                              "'%s' names no key: 1 to %d letters, digits, '_', '-' or '.', opening with "
                              "neither '.' nor '-'",
                              w->name, KEY_NAME_MAX);
    if (!w->roles)
        w->roles = KEY_OBSERVE;
    return -1;
}

static int write_pair(const struct wish *w, const struct key_secret *secret)
{
    char path[PATH_MAX] = "";
    struct key_public public = {.roles = w->roles};
    int err = link_key_public(secret, public.bytes);
    if (!err && file_make_dirs(w->dir, 0700) != 0) {
        log_error("BEZEL-KEYGEN", "cannot make folder %s: %s", w->dir, strerror(errno));
        return BEZEL_ESYS;
    }
    if (!err)
        err = key_write_pair(w->dir, w->name, secret, &public, w->replace, path, sizeof path);
    if (err == BEZEL_EBUSY)
        log_error("BEZEL-KEYGEN", "%s is there already: take another name, or --force, which gives the old key up",
                  path);
    else if (err)
        log_error("BEZEL-KEYGEN", "%s: %s", path[0] ? path : w->name, strerror(errno));
    return err;
}

int cmd_keygen(int argc, char **argv)
{
    struct wish w;
    struct key_secret secret;
    char roles[KEY_ROLES_TEXT];
    int code = read_options(argc, argv, &w);
    if (code >= 0)
        return code;
    if (!link_has_keys()) {
        log_error("BEZEL-LINK-CURVE", "this libzmq was built without CURVE: install one that has it, as Debian's has");
        return EXIT_FAILED;
    }
    int err = link_key_new(&secret);
    if (err)
        log_error("BEZEL-KEYGEN", "cannot make a key: %s", strerror(errno));
    else
        err = write_pair(&w, &secret);
    key_forget(&secret);
    if (err)
        return EXIT_FAILED;
    printf("%s/%s.key  secret: stays on the machine that uses it\n", w.dir, w.name);
    printf("%s/%s.pub  public, roles %s: goes into the folders of keys of those that are to know it\n", w.dir, w.name,
           key_roles_text(w.roles, roles));
    return command_end(EXIT_HELD);
}
