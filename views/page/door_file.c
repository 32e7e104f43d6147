// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/page/door_file.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char folder_name[] = "bezel-view-XXXXXX";

int door_file_init(struct door_file *f, const char *path, uint16_t port)
{
    const char *runtime = file_runtime_dir(), *tmp = getenv("TMPDIR");
    const char *where = runtime ? runtime : tmp && *tmp ? tmp : "/tmp";
    int n;
    *f = (struct door_file){.port = port};
    if (path) {
        n = snprintf(f->path, sizeof f->path, "%s", path);
        return n < (int)sizeof f->path ? 0 : (errno = ENAMETOOLONG, BEZEL_ESYS);
    }
    char folder[PATH_MAX];
    snprintf(f->path, sizeof f->path, "%s", where); /* what an error is about */
    n = snprintf(folder, sizeof folder, "%s/%s", where, folder_name);
    if (n >= (int)sizeof folder)
        return errno = ENAMETOOLONG, BEZEL_ESYS;
    if (!mkdtemp(folder))
        return BEZEL_ESYS;
    n = snprintf(f->path, sizeof f->path, "%s/view.html", folder);
    return n < (int)sizeof f->path ? 0 : (errno = ENAMETOOLONG, BEZEL_ESYS);
}

int door_file_write(const struct door_file *f, const char *token)
{
    char text[512], made[PATH_MAX + 8];
    int n = snprintf(text, sizeof text,
                     "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>bezel view</title>\n"
                     "<meta name=\"referrer\" content=\"no-referrer\">\n"
                     "<meta http-equiv=\"refresh\" content=\"0;url=http://127.0.0.1:%u/?token=%s\">\n",
                     f->port, token);
    snprintf(made, sizeof made, "%s.new", f->path);
    if (unlink(made) != 0 && errno != ENOENT)
        return BEZEL_ESYS;
    int fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return BEZEL_ESYS;
    int err = fchmod(fd, 0600) != 0 ? BEZEL_ESYS : 0;
    struct stat st; /* of a file system without rights, such as FAT, everybody's */
    if (!err && (fstat(fd, &st) != 0 || (st.st_mode & 077) != 0))
        err = (errno = EPERM, BEZEL_ESYS);
    if (!err)
        err = file_write_all(fd, text, (size_t)n);
    if (close(fd) != 0 || err || rename(made, f->path) != 0) {
        int sys = errno;
        unlink(made);
        errno = sys;
        return BEZEL_ESYS;
    }
    return 0;
}

void door_file_remove(const struct door_file *f)
{
    char folder[PATH_MAX];
    unlink(f->path);
    snprintf(folder, sizeof folder, "%s", f->path);
    char *name = strrchr(folder, '/');
    if (!name || name - folder < (int)sizeof folder_name)
        return;
    *name = '\0';
    if (strncmp(name - (sizeof folder_name - 1), folder_name, sizeof folder_name - 1 - 6) == 0)
        rmdir(folder);
}
