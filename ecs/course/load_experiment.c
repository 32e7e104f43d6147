// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/load_experiment.h"

#include "base/file.h"
#include "base/log.h"
#include "base/program.h"
#include "base/ulimit.h"
#include "base/utf8.h"
#include "ecs/course/inventory_file.h"
#include "mdr/link/keyring.h"
#include "mdr/link/link.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

/* $PATH of its environment; NULL: that of this process. */
static const char *search_path(const struct experiment_process *p)
{
    for (char **v = p->environment; v && *v; v++)
        if (strncmp(*v, "PATH=", 5) == 0)
            return *v + 5;
    return NULL;
}

int load_find_command(const struct experiment_process *p, char *path, size_t size, const char **why, bool *of_directory)
{
    char here[PATH_MAX], directory[PATH_MAX];
    struct stat st;
    *of_directory = true;
    if (!getcwd(here, sizeof here))
        return *why = strerror(errno), err_from_errno(errno);
    if (!program_join(here, p->directory ? p->directory : ".", directory, sizeof directory))
        return *why = strerror(ENAMETOOLONG), BEZEL_EINVAL;
    if (stat(directory, &st) != 0)
        return *why = strerror(errno), err_from_errno(errno);
    if (!S_ISDIR(st.st_mode))
        return *why = strerror(ENOTDIR), BEZEL_ENOENT;
    *of_directory = false;
    const char *name = p->argv[0];
    int error = ENOENT;
    if (strchr(name, '/'))
        error = program_join(directory, name, path, size) ? program_check(path) : ENAMETOOLONG;
    else if (*name)
        error = program_find(search_path(p), directory, name, path, size);
    *why = strerror(error);
    return error ? err_from_errno(error) : 0;
}

static int check_commands(const struct experiment *e, struct experiment_diagnostics *found)
{
    for (uint32_t i = 0; i < e->process_count; i++) {
        const struct experiment_process *p = &e->processes[i];
        char path[PATH_MAX], key[64];
        const char *why;
        bool of_directory;
        if (!p->argv || experiment_is_remote(&e->nodes[p->node]) ||
            load_find_command(p, path, sizeof path, &why, &of_directory) == 0)
            continue;
        snprintf(key, sizeof key, "processes[%u].%s", i, of_directory ? "directory" : "command");
        int err;
        if (of_directory)
            err = experiment_report(found, false, p->at, key, "cannot enter '%.256s': %s",
                                    p->directory ? p->directory : ".", why);
        else
            err = experiment_report(found, false, p->at, key, "cannot execute '%.256s'%s: %s", p->argv[0],
                                    strchr(p->argv[0], '/') ? "" : " from PATH", why);
        if (err)
            return err;
    }
    return 0;
}

/* A trigger fires on any node: where none is on this machine, the command is looked for there alone. */
static int check_trigger_commands(const struct experiment *e, struct experiment_diagnostics *found)
{
    bool here = false;
    for (uint32_t i = 0; i < e->node_count; i++)
        here |= !experiment_is_remote(&e->nodes[i]);
    for (uint32_t i = 0; i < e->trigger_count && here; i++) {
        const struct experiment_action *a = experiment_trigger_action(&e->triggers[i], ACT_COMMAND);
        const struct experiment_process p = {.argv = a ? a->argv : NULL};
        char path[PATH_MAX], key[64];
        const char *why;
        bool of_directory;
        if (!a || load_find_command(&p, path, sizeof path, &why, &of_directory) == 0)
            continue;
        snprintf(key, sizeof key, "triggers[%u].do[%u].command", i, (unsigned)(a - e->triggers[i].actions));
        int err = experiment_report(found, false, a->at, key, "cannot execute '%.256s'%s: %s", a->argv[0],
                                    strchr(a->argv[0], '/') ? "" : " from PATH", why);
        if (err)
            return err;
    }
    return 0;
}

/* ---- Folders of nodes -------------------------------------------------------------------------------------------- */

/* Resolves all links of `path`; its last component need not exist yet. False: it cannot be resolved. */
static bool resolve(const char *path, char real[PATH_MAX])
{
    char parent[PATH_MAX];
    if (realpath(path, real))
        return true;
    const char *slash = strrchr(path, '/');
    snprintf(parent, sizeof parent, "%.*s", (int)(slash - path) + 1, path);
    if (errno != ENOENT || strcmp(slash, "/..") == 0 || !realpath(parent, real))
        return false;
    size_t n = strlen(real);
    return snprintf(real + n, PATH_MAX - n, "%s", n == 1 ? slash + 1 : slash) < (int)(PATH_MAX - n);
}

/* The folder of node `i`, as far as it is known before the run; false: one of the run's own, or unknown. */
static bool find_folder(const struct experiment *e, uint32_t i, char real[PATH_MAX])
{
    char path[PATH_MAX] = "";
    if (experiment_is_remote(&e->nodes[i]))
        return false;
    if (e->nodes[i].dir)
        return resolve(e->nodes[i].dir, real);
    if (experiment_attaches_on(e, i))
        file_bezel_dir(path, sizeof path);
    return path[0] == '/' && resolve(path, real);
}

/* Two nodes may have the same folder by a link, or as the default. One of their bezelds would then not start. */
static int check_folders(const struct experiment *e, struct experiment_diagnostics *found)
{
    int err = 0;
    for (uint32_t i = 1; i < e->node_count && !err; i++) {
        char mine[PATH_MAX], others[PATH_MAX], key[EXPERIMENT_NAME_MAX + 16];
        if (!find_folder(e, i, mine))
            continue;
        snprintf(key, sizeof key, "nodes.%s.dir", e->nodes[i].name);
        for (uint32_t j = 0; j < i && !err; j++)
            if (find_folder(e, j, others) && strcmp(mine, others) == 0)
                err = experiment_report(found, false, e->nodes[i].at, key,
                                        "two nodes share no folder: it leads to %.256s, and so does that of node '%s'",
                                        mine, e->nodes[j].name);
    }
    return err;
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

struct finder {
    struct experiment_diagnostics *found;
    const struct experiment *e;
    int err;
};

static void report(struct finder *f, bool warning, const char *path, const char *what, const char *why)
{
    if (!f->err)
        f->err = experiment_report(f->found, warning, f->e->store.keys_at, path, "%s: %s", what, why);
}

static void report_wrong_file(void *context, const char *file, const char *why)
{
    struct finder *f = context;
    char name[KEY_NAME_MAX + 8];
    snprintf(name, sizeof name, "%s.pub", file);
    report(f, file[0] != '\0', "store.keys", file[0] ? name : f->e->store.keys, why);
}

static void check_roles(struct finder *f, const struct key_public *key, unsigned roles, const char *file,
                        const char *path)
{
    char text[KEY_ROLES_TEXT + 64], needed[KEY_ROLES_TEXT];
    if ((key->roles & roles) == roles)
        return;
    snprintf(text, sizeof text, "lacks the role %s, which a node needs at a collector", key_roles_text(roles, needed));
    report(f, false, path, file, text);
}

/* Checks the key of a node: what it may do at a collector, and that it is this node's. */
static void check_speaker(struct finder *f, const struct key_public *key, const char *name, const char *node,
                          const char *file, const char *path)
{
    char text[EXPERIMENT_NAME_MAX + 80];
    check_roles(f, key, KEY_OBSERVE, file, path);
    if (key_speaks_for(key, name, node))
        return;
    snprintf(text, sizeof text, "does not speak for node %s: add the line 'nodes: %s' to it", node, node);
    report(f, false, path, file, text);
}

/* Checks the public key of a collector that runs elsewhere, or by `node` of a persistent bezeld: their secret keys are
 * there. */
static void check_public(struct finder *f, const char *name, const char *node, const char *path)
{
    char file[PATH_MAX];
    struct key_public public;
    const char *why;
    snprintf(file, sizeof file, "%s/%s.pub", f->e->store.keys, name);
    if (key_read_public(file, &public, &why) != 0)
        report(f, false, path, file, why);
    else if (node)
        check_speaker(f, &public, name, node, file, path);
}

/* Checks the operator's key, whose public part is on the machines that are commanded. */
static void check_secret(struct finder *f, const char *name, const char *path)
{
    char file[PATH_MAX];
    struct key_secret secret;
    const char *why;
    snprintf(file, sizeof file, "%s/%s.key", f->e->store.keys, name);
    if (key_read_secret(file, &secret, &why) != 0)
        report(f, false, path, file, why);
    key_forget(&secret);
}

/* Checks both files of key `name`; it is that of `node`, NULL: of the collector. */
static void check_pair(struct finder *f, const char *name, const char *node, const char *path)
{
    char file[PATH_MAX];
    struct key_secret secret;
    struct key_public public;
    uint8_t derived[KEY_BYTES];
    const char *why;
    snprintf(file, sizeof file, "%s/%s.key", f->e->store.keys, name);
    int err = key_read_secret(file, &secret, &why);
    if (!err) {
        snprintf(file, sizeof file, "%s/%s.pub", f->e->store.keys, name);
        err = key_read_public(file, &public, &why);
    }
    if (err) {
        report(f, false, path, file, why);
        return;
    }
    bool pair = link_key_public(&secret, derived) == 0 && memcmp(derived, public.bytes, KEY_BYTES) == 0;
    key_forget(&secret);
    if (!pair)
        report(f, false, path, file, "is not the public part of the .key beside it: the files belong to two key pairs");
    if (node)
        check_speaker(f, &public, name, node, file, path);
}

/* Whether an inner collector runs on this machine: it needs the secret key, as the one that stores. */
static bool has_inner_here(const struct experiment *e)
{
    for (uint32_t i = 0; i < e->inner_count; i++)
        if (!e->inner[i].node)
            return true;
    return false;
}

/* Whether inner collector `inner` may pass on to collector `parent`. */
static bool takes_on(const struct experiment *e, uint32_t inner, int parent)
{
    const struct experiment_parents *parents = &e->inner[inner].parents;
    bool is_parent = parents->count == 0 && parent == EXPERIMENT_ROOT;
    for (uint32_t i = 0; i < parents->count; i++)
        is_parent |= parents->of[i] == parent;
    return is_parent;
}

/* Inner collectors have the collector's key, which has to speak for the nodes below them at parents of this machine. */
static void check_passing_on(struct finder *f)
{
    const struct experiment *e = f->e;
    char file[PATH_MAX];
    struct key_public public;
    const char *why;
    uint64_t passes = 0; /* inner collectors whose parents are here */
    for (uint32_t i = 0; i < e->inner_count; i++)
        for (int parent = EXPERIMENT_ROOT; parent < (int)e->inner_count; parent++) {
            bool here = parent == EXPERIMENT_ROOT ? !e->collector.node : !e->inner[parent].node;
            passes |= here && takes_on(e, i, parent) ? UINT64_C(1) << i : 0;
        }
    snprintf(file, sizeof file, "%s/%s.pub", e->store.keys, e->store.key);
    if (!passes || key_read_public(file, &public, &why) != 0)
        return; /* that was reported */
    check_roles(f, &public, KEY_OBSERVE, file, "store.key");
    for (uint32_t i = 0; i < e->node_count; i++) {
        char text[EXPERIMENT_NAME_MAX + 160];
        if (!(experiment_node_above(e, i) & passes) || key_speaks_for(&public, e->store.key, e->nodes[i].name))
            continue;
        snprintf(
            text, sizeof text,
            "does not speak for node %s, whose packets inner collectors pass on with this key: add the node to its "
            "line 'nodes:'",
            e->nodes[i].name);
        report(f, false, "store.key", file, text);
    }
}

static int check_keys(const struct experiment *e, struct experiment_diagnostics *found)
{
    struct finder f = {.found = found, .e = e};
    char path[EXPERIMENT_NAME_MAX + 16];
    if (!e->store.keys)
        return 0;
    if (!link_has_keys())
        report(&f, false, "store.keys", e->store.keys,
               "this libzmq was built without CURVE: install one with CURVE, such as Debian's");
    else if (keyring_examine(e->store.keys, report_wrong_file, &f) >= 0) {
        if (e->collector.node && !has_inner_here(e))
            check_public(&f, e->store.key, NULL, "store.key");
        else
            check_pair(&f, e->store.key, NULL, "store.key");
        if (e->control_key)
            check_secret(&f, e->control_key, "control.key");
        for (uint32_t i = 0; i < e->node_count; i++) {
            snprintf(path, sizeof path, "nodes.%s.key", e->nodes[i].name);
            if (e->nodes[i].address)
                check_public(&f, e->nodes[i].key, e->nodes[i].name, path);
            else
                check_pair(&f, e->nodes[i].key, e->nodes[i].name, path);
        }
        check_passing_on(&f);
    }
    return f.err;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static int check_machine(const struct experiment *e, struct experiment_diagnostics *found)
{
    int err = check_commands(e, found);
    if (!err)
        err = check_trigger_commands(e, found);
    if (!err)
        err = check_folders(e, found);
    return err ? err : experiment_check_cpus(e, (uint32_t)sysconf(_SC_NPROCESSORS_CONF), found);
}

static int load_checked(const char *text, size_t n, const char *file, bool again,
                        const struct inventory_resolved *resolved, struct experiment **e)
{
    struct experiment_diagnostics found = {0};
    int err = experiment_read(text, n, e, &found);
    if (!err) {
        err = again ? 0 : check_machine(*e, &found);
        if (!err)
            err = check_keys(*e, &found);
        if (!err && found.errors > 0)
            err = BEZEL_EMALFORMED;
        if (err) {
            experiment_free(*e);
            *e = NULL;
        }
    }
    for (size_t i = 0; resolved && i < found.count; i++)
        found.list[i].at = inventory_place(resolved, found.list[i].at);
    experiment_print_diagnostics(&found, file, stderr);
    experiment_diagnostics_free(&found);
    if (err == BEZEL_ENOMEM)
        log_error("BEZEL-FILE", "%s: %s", file, ulimit_reason(err));
    return err;
}

int load_text(const char *text, size_t n, const char *file, struct experiment **e)
{
    return load_checked(text, n, file, false, NULL, e);
}

int load_again(const char *text, size_t n, const char *file, struct experiment **e)
{
    return load_checked(text, n, file, true, NULL, e);
}

/*
 * The descriptor of this process that `file` names, or -1. The caller of `bezel` opened it, for example the shell a
 * pipe. It is read to its end.
 */
static int own_descriptor(const char *file)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(file, "-") == 0 || strcmp(file, "/dev/stdin") == 0)
        return STDIN_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t n = strlen(folders[i]);
        if (strncmp(file, folders[i], n) == 0 && file[n] && file[n + strspn(file + n, "0123456789")] == '\0')
            return (int)strtol(file + n, NULL, 10);
    }
    return -1;
}

static const char *why_unread(int err)
{
    if (err == BEZEL_ENOMEM)
        return ulimit_reason(err);
    if (errno == EINVAL)
        return "it is not a regular file; give a pipe as standard input: '-'";
    if (errno == EAGAIN)
        return "it has no end and no data at present; give a regular file";
    if (errno == EFBIG)
        return "it is longer than 1 MiB, the limit of an experiment file";
    return err == BEZEL_EINVAL ? strerror(errno) : ulimit_reason(err);
}

int load_file(const char *file, char **text, size_t *n, struct experiment **e)
{
    int fd = own_descriptor(file);
    int err =
        fd < 0 ? file_read(file, EXPERIMENT_FILE_MAX, text, n) : file_read_stream(fd, EXPERIMENT_FILE_MAX, text, n);
    if (err) {
        log_error("BEZEL-FILE", "cannot read %s: %s", file, why_unread(err));
        return err;
    }
    const char *name = strcmp(file, "-") == 0 ? "stdin" : file;
    struct inventory_resolved resolved;
    err = inventory_file_resolve(name, text, n, &resolved);
    if (!err)
        err = load_checked(*text, *n, name, false, &resolved, e);
    inventory_resolved_free(&resolved);
    if (err) {
        free(*text);
        *text = NULL;
    }
    return err;
}

/* ---- An experiment around a command ------------------------------------------------------------------------------ */

/* Decodes the UTF-8 character at `p`, which is well-formed. Returns its length. */
static int utf8_decode(const unsigned char *p, uint32_t *c)
{
    int n = *p < 0x80 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
    *c = n == 1 ? *p : *p & (0x7fu >> n);
    for (int i = 1; i < n; i++)
        *c = *c << 6 | (p[i] & 0x3fu);
    return n;
}

/* Whether YAML requires an escape: the character is not printable, or breaks lines. */
static bool needs_escape(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff || (c & 0xfffe) == 0xfffe;
}

/* Writes `s` as a double-quoted scalar; false if it is not UTF-8. */
static bool put_quoted(FILE *out, const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    uint32_t c;
    if (s[utf8_fit(s, SIZE_MAX)] != '\0')
        return false;
    fputc('"', out);
    for (int n; *p; p += n) {
        n = utf8_decode(p, &c);
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", (int)c);
        else if (needs_escape(c))
            fprintf(out, "\\U%08x", c);
        else
            fwrite(p, 1, (size_t)n, out);
    }
    fputc('"', out);
    return true;
}

int load_command(char *const *argv, const char *name, const char *duration, char **text, size_t *n)
{
    char own[EXPERIMENT_NAME_MAX + 1];
    experiment_name_of_command(argv, own);
    FILE *out = open_memstream(text, n);
    if (!out)
        return BEZEL_ENOMEM;
    bool utf8 = true;
    fputs("# Made by 'bezel run --'.\nexperiment: ", out);
    utf8 &= put_quoted(out, name ? name : own);
    if (duration) {
        fputs("\nduration: ", out);
        utf8 &= put_quoted(out, duration);
    }
    fprintf(out, "\nprocesses:\n  - name: \"%s\"\n    output: terminal\n    command:\n", own);
    for (char *const *a = argv; *a; a++) {
        fputs("      - ", out);
        utf8 &= put_quoted(out, *a);
        fputc('\n', out);
    }
    int err = file_text_end(out, text);
    if (utf8)
        return err;
    free(*text);
    *text = NULL;
    return BEZEL_EINVAL;
}
