// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/link/endpoint.h"

#include "base/address.h"
#include "base/folder.h"
#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char *after_prefix(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

const char *endpoint_path(const char *endpoint)
{
    return after_prefix(endpoint, "ipc://");
}

int endpoint_check(const char *endpoint)
{
    const char *path = endpoint_path(endpoint), *why;
    struct address address;
    if (strlen(endpoint) >= ENDPOINT_MAX)
        return BEZEL_EINVAL;
    if (!path)
        return address_read(endpoint, &address, &why);
    size_t limit = sizeof((struct sockaddr_un *)0)->sun_path - 1;
    if (strlen(path) > limit) {
        log_error("BEZEL-LINK-PATH",
                  "%s has %zu bytes, but the path of a socket may have only %zu: use a shorter directory", path,
                  strlen(path), limit);
        return BEZEL_EINVAL;
    }
    /* ZeroMQ chooses a path for "*", and makes a socket without permissions for "@": both are refused. */
    return path[0] == '\0' || path[0] == '*' || path[0] == '@' ? BEZEL_EINVAL : 0;
}

bool endpoint_is_loopback(const char *endpoint)
{
    struct address address;
    const char *why;
    return address_read(endpoint, &address, &why) == 0 && address_is_loopback(&address);
}

/* Connects to a socket's path and closes: 0, BEZEL_EUNREACH where no process listens there, or another error. */
static int try_path(const char *path)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_from_errno(errno);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path));
    int err = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 || errno == EAGAIN ? 0
              : errno == ECONNREFUSED                                                          ? BEZEL_EUNREACH
                                                                                               : err_from_errno(errno);
    close(fd);
    return err;
}

/*
 * ZeroMQ unlinks any file at an ipc path before it binds, even the socket of a running server. So try the path first: a
 * socket that refuses a connection was left by a dead process, and may be replaced. (Two servers that start at the same
 * instant can both pass; but folders of runs and nodes belong to one daemon each.)
 */
static int check_path(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? 0 : err_from_errno(errno);
    if (!S_ISSOCK(st.st_mode)) {
        log_error("BEZEL-LINK-PATH", "%s exists and is not a socket: remove it, or name another path", path);
        return BEZEL_EBUSY;
    }
    return try_path(path) == BEZEL_EUNREACH ? 0 : BEZEL_EBUSY;
}

int endpoint_try(const char *endpoint)
{
    const char *path = endpoint_path(endpoint);
    int err = endpoint_check(endpoint);
    return err || !path ? err : try_path(path);
}

/* A name may be one of an interface; ZeroMQ listens at its address. Names of hosts are not looked up. */
static int check_interface(const char *endpoint)
{
    struct address address;
    const char *why;
    if (address_read(endpoint, &address, &why) != 0)
        return BEZEL_EINVAL;
    if (address.kind != ADDRESS_NAME || if_nametoindex(address.host) != 0)
        return 0;
    log_error("BEZEL-LINK-INTERFACE",
              "%s: this machine has no interface %s: listen at a number, an interface (`ip -br address`), or `*`",
              endpoint, address.host);
    return BEZEL_EINVAL;
}

int endpoint_check_bind(const char *endpoint, bool keys)
{
    const char *path = endpoint_path(endpoint);
    if (path)
        return check_path(path);
    if (keys || endpoint_is_loopback(endpoint))
        return check_interface(endpoint);
    log_error("BEZEL-LINK-KEYS",
              "%s is refused: without keys a daemon listens only on tcp://127.0.0.1 and ipc://; make keys with `bezel "
              "keygen`, and name their folder (`store: {keys: DIR}`, or --keys DIR --key FILE)",
              endpoint);
    return BEZEL_EPERM;
}

int endpoint_check_connect(const char *endpoint, bool keys)
{
    struct address address;
    const char *why;
    if (address_read(endpoint, &address, &why) == 0 && (address.kind == ADDRESS_ANY || address.port == 0)) {
        log_error("BEZEL-LINK-ADDRESS", "%s is where a daemon may listen: to connect, give a host and a port",
                  endpoint);
        return BEZEL_EINVAL;
    }
    if (keys || endpoint_path(endpoint) || endpoint_is_loopback(endpoint))
        return 0;
    log_error("BEZEL-LINK-KEYS",
              "%s is refused: without keys nothing is encrypted, so only tcp://127.0.0.1 and ipc:// are allowed; make "
              "keys with `bezel keygen`, and give --key FILE --collector-key FILE",
              endpoint);
    return BEZEL_EPERM;
}

const char *endpoint_check_listen(const char *listen, bool keys)
{
    if (endpoint_check(listen) != 0)
        return "not an endpoint: tcp://ADDRESS:PORT or ipc:///PATH";
    if (!keys && !endpoint_path(listen) && !endpoint_is_loopback(listen))
        return "without keys only ipc:// and tcp:// on loopback (tcp://127.0.0.1:PORT) are allowed: make keys with "
               "`bezel keygen`, and give --keys DIR --key FILE";
    return NULL;
}

const char *endpoint_check_control(const char *control, bool keys)
{
    char dir[PATH_MAX];
    struct stat st;
    if (keys && after_prefix(control, "tcp://"))
        return NULL;
    if (!after_prefix(control, "ipc:///") || snprintf(dir, sizeof dir, "%s", control + 6) >= (int)sizeof dir)
        return "control is served on ipc:///PATH, or with keys (--keys, --key) on tcp://";
    *strrchr(dir, '/') = '\0';
    if (stat(*dir ? dir : "/", &st) != 0)
        return "the folder of the control socket does not exist";
    if (!folder_is_private(&st))
        return "the folder of the control socket must be yours alone (chmod 700): anyone who can command a daemon can "
               "run code";
    return NULL;
}
