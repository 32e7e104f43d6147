// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * What a mirror makes of the files of a hostile server: messages one after the other, 2 bytes of a length, then so many
 * of a message. Nothing is written but below trace/ and the three files that a run has beside it, and nothing behind a
 * link.
 */
#include "base/file.h"
#include "collector/remote/mirror_files.h"
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

static char dir[] = "/dev/shm/bezel-fuzz-mirror-XXXXXX", run[64], outside[64];

static void clean_up(void)
{
    (void)!file_remove_tree(dir);
}

/* A run directory with a link to a folder, and one to a file, outside. */
static void make_run(void)
{
    char path[96];
    (void)!file_remove_tree(run);
    snprintf(path, sizeof path, "%s/trace/desk1", run);
    fuzz_must(file_make_dirs(path, 0700) == 0 && file_replace(outside, "canary", 6) == 0);
    snprintf(path, sizeof path, "%s/trace/link", run);
    fuzz_must(symlink("../..", path) == 0);
    snprintf(path, sizeof path, "%s/trace/desk1/link", run);
    fuzz_must(symlink(outside, path) == 0);
}

static void begin(void)
{
    fuzz_must(mkdtemp(dir));
    atexit(clean_up);
    snprintf(run, sizeof run, "%s/run", dir);
    snprintf(outside, sizeof outside, "%s/outside", dir);
}

static void check_names(const char *folder, const char *const *allowed)
{
    DIR *d = opendir(folder);
    fuzz_must(d);
    for (const struct dirent *e; (e = readdir(d));) {
        bool is = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
        for (size_t i = 0; allowed[i]; i++)
            is = is || strcmp(e->d_name, allowed[i]) == 0;
        fuzz_must(is);
    }
    closedir(d);
}

static void check(void)
{
    static const char *const of_run[] = {"trace", "experiment.yaml", "versions.txt", "README", ".mirrored", NULL};
    static const char *const of_dir[] = {"run", "outside", NULL};
    char *text;
    size_t n;
    fuzz_must(file_read(outside, 64, &text, &n) == 0 && n == 6 && memcmp(text, "canary", 6) == 0);
    free(text);
    check_names(run, of_run);
    check_names(dir, of_dir);
}

static int take(struct mirror_files *f, const struct read_message *m)
{
    struct read_have have;
    if (m->type == READ_FILE) {
        int more = mirror_files_take(f, &m->file, &have);
        fuzz_must(more != 1 || have.number == m->file.number);
        return more;
    }
    return m->type == READ_BYTES ? mirror_files_write(f, &m->bytes) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mirror_files f = {.folder = -1};
    struct read_message m;
    if (!run[0])
        begin();
    make_run();
    f.folder = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fuzz_must(f.folder >= 0);
    for (size_t at = 0; size - at > 2;) {
        size_t n = (size_t)data[at] << 8 | data[at + 1];
        at += 2;
        n = n < size - at ? n : size - at;
        if (read_message_decode(data + at, n, &m) == 0 && take(&f, &m) < 0)
            break;
        at += n;
    }
    mirror_files_forget(&f);
    close(f.folder);
    check();
    return 0;
}
