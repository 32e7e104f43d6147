// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/inventory_file.h"

#include "base/file.h"
#include "base/log.h"
#include "base/ulimit.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *inventory_file_path(const char *name, char path[PATH_MAX])
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const struct passwd *user = home && *home ? NULL : getpwuid(geteuid());
    if (config && *config == '/')
        snprintf(path, PATH_MAX, "%s/bezel/%s", config, name);
    else
        snprintf(path, PATH_MAX, "%s/.config/bezel/%s", user ? user->pw_dir : home ? home : "", name);
    return path;
}

int inventory_file_read(struct inventory *inventory)
{
    struct experiment_diagnostics found = {0};
    char path[PATH_MAX], *text = NULL;
    size_t n;
    *inventory = (struct inventory){0};
    int err = file_read(inventory_file_path("nodes", path), INVENTORY_FILE_MAX, &text, &n);
    if (err && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (err && errno == EACCES) { /* $HOME is that of another user */
        log_warn("BEZEL-INVENTORY",
                 "cannot read the inventory of nodes, %s: %s; nodes without an address are on this machine", path,
                 strerror(errno));
        return 0;
    }
    if (err)
        log_error("BEZEL-INVENTORY", "cannot read the inventory of nodes, %s: %s", path, strerror(errno));
    else
        err = inventory_read(text, n, inventory, &found);
    if (err == BEZEL_EMALFORMED)
        experiment_print_diagnostics(&found, path, stderr);
    experiment_diagnostics_free(&found);
    free(text);
    if (err)
        inventory_free(inventory);
    return err;
}

int inventory_file_lock(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[PATH_MAX];
    inventory_file_path("", path);
    if (file_make_dirs(path, 0700) != 0) {
        log_error("BEZEL-INVENTORY", "cannot make folder %s: %s", path, strerror(errno));
        return BEZEL_ESYS;
    }
    int fd = open(inventory_file_path("nodes.lock", path), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return fd;
    bool busy = fd >= 0 && (errno == EAGAIN || errno == EACCES);
    if (busy)
        log_error("BEZEL-INVENTORY", "another `bezel node` is under way (it has locked %s): wait for its end", path);
    else
        log_error("BEZEL-INVENTORY", "cannot lock %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return busy ? BEZEL_EBUSY : BEZEL_ESYS;
}

int inventory_file_write(const struct inventory *inventory)
{
    char path[PATH_MAX], *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (out)
        inventory_print(inventory, out);
    int err = file_text_end(out, &text);
    if (!err)
        err = file_replace_lasting(inventory_file_path("nodes", path), text, n);
    if (err)
        log_error("BEZEL-INVENTORY", "cannot write the inventory of nodes, %s: %s%s", path, ulimit_reason(err),
                  err == BEZEL_ENOMEM ? "" : file_room(path, errno));
    free(text);
    return err;
}

/* ---- Experiment files -------------------------------------------------------------------------------------------- */

int inventory_file_resolve(const char *file, char **text, size_t *n, struct inventory_resolved *resolved)
{
    struct experiment_diagnostics found = {0};
    struct inventory inventory = {0};
    char keys[PATH_MAX];
    *resolved = (struct inventory_resolved){0};
    int err = memmem(*text, *n, "nodes", strlen("nodes")) ? inventory_file_read(&inventory) : 0;
    if (err)
        return err;
    err = inventory_resolve(&inventory, inventory_file_path("keys", keys), *text, *n, resolved, &found);
    if (err == BEZEL_EMALFORMED)
        experiment_print_diagnostics(&found, file, stderr);
    else if (err)
        log_error("BEZEL-FILE", "%s: %s", file, ulimit_reason(err));
    experiment_diagnostics_free(&found);
    inventory_free(&inventory);
    if (resolved->text) {
        free(*text);
        *text = resolved->text;
        *n = resolved->n;
        resolved->text = NULL;
    }
    return err;
}

void inventory_file_print_use(const struct experiment *e, FILE *out)
{
    struct inventory inventory;
    if (inventory_file_read(&inventory) != 0)
        return;
    for (uint32_t i = 0; i < e->node_count; i++) {
        const struct experiment_node *node = &e->nodes[i];
        const struct inventory_node *known = inventory_find(&inventory, node->name);
        if (!known)
            continue;
        if (!node->address)
            fprintf(out, "node %s: on this machine, as the file says; the inventory's is at %s\n", node->name,
                    known->address);
        else if (strcmp(node->address, known->address) == 0)
            fprintf(out, "node %s: the inventory's, %s (%s)\n", node->name, known->address, known->ssh);
        else
            fprintf(out, "node %s: at %s, as the file says; the inventory's is at %s\n", node->name, node->address,
                    known->address);
    }
    inventory_free(&inventory);
}
