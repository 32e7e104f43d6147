// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Which folders of shared memory are trusted, row by row, and which of their files. Those of other users take root, who
 * is an unlikely user for a while.
 */
#include "base/folder.h"
#include "base/file.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GROUP = 1904242, ALIEN_GROUP = 1904243 };

static uid_t user, alien; /* nobody's: tests run beside each other */

static void be(uid_t who)
{
    gid_t groups[] = {GROUP};
    if (who != 0)
        assert_int_equal(setgroups(1, groups), 0);
    assert_int_equal(seteuid(who), 0);
}

static void be_root(void)
{
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setgroups(0, NULL), 0);
}

static void need_root(void)
{
    if (geteuid() == 0 && setgroups(0, NULL) == 0)
        return;
    print_message("skipped: only root can be two users\n");
    skip();
}

/* What is said of `path`; "": it is trusted. */
static const char *said_of(const char *path)
{
    static struct folder f;
    errno = 0;
    int err = folder_open(path, &f);
    assert_int_equal(err, f.why[0] ? BEZEL_EPERM : 0);
    assert_int_equal(f.fd >= 0, err == 0);
    folder_close(&f);
    folder_close(&f); /* once is enough, twice is no harm */
    return f.why;
}

static void expect(const char *path, const char *sentence)
{
    const char *said = said_of(path);
    if (*sentence ? !strstr(said, sentence) : *said)
        fail_msg("%s: '%s' and not '%s'", path, said, sentence);
}

/* ---- A folder that somebody names -------------------------------------------------------------------------------- */

TEST_WITH(scratch_begin, scratch_end, ones_own_folder_is_trusted_unless_everybody_may_write_there)
{
    static const struct {
        mode_t mode;
        const char *said;
    } rows[] = {{0700, ""},
                {0750, ""},
                {0755, ""},
                {02770, ""},
                {0777, "may be written by all users (mode 0777): chmod o-w"},
                {0702, "may be written by all users (mode 0702)"},
                {01777, "may be written by all users (mode 1777)"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(chmod(scratch_dir, rows[i].mode), 0);
        expect(scratch_dir, rows[i].said);
    }
}

TEST_WITH(scratch_begin, scratch_end, a_symbolic_link_is_not_followed_but_those_before_it_are)
{
    char link[SCRATCH_PATH + 16], below[SCRATCH_PATH + 32], file[SCRATCH_PATH + 16];
    snprintf(link, sizeof link, "%s/link", scratch_dir);
    snprintf(below, sizeof below, "%s/folder", link);
    snprintf(file, sizeof file, "%s/file", scratch_dir);
    assert_int_equal(symlink(scratch_dir, link), 0);
    assert_int_equal(mkdir(below, 0700), 0);
    expect(link, "is a symbolic link: remove it, or name the folder itself");
    expect(below, "");
    snprintf(link, sizeof link, "%s/link/", scratch_dir); /* which the kernel would follow */
    expect(link, "is a symbolic link");
    snprintf(link, sizeof link, "%s/link/./", scratch_dir);
    expect(link, "is a symbolic link");
    assert_int_equal(file_replace(file, "", 0), 0);
    expect(file, "is not a directory");
}

TEST_WITH(scratch_begin, scratch_end, what_is_missing_is_made_for_oneself)
{
    char path[SCRATCH_PATH + 16], dangling[SCRATCH_PATH + 16];
    struct folder f;
    struct stat st;
    snprintf(path, sizeof path, "%s/a/b", scratch_dir);
    snprintf(dangling, sizeof dangling, "%s/dangling", scratch_dir);
    assert_int_equal(folder_open(path, &f), BEZEL_ENOENT);
    assert_string_equal(f.why, "");
    assert_int_equal(folder_make(path, &f), 0);
    assert_int_equal(fstat(f.fd, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_false(f.shared);
    folder_close(&f);
    assert_int_equal(symlink("nowhere", dangling), 0);
    assert_int_equal(folder_make(dangling, &f), BEZEL_EPERM);
    assert_non_null(strstr(f.why, "is a symbolic link"));
}

TEST_WITH(scratch_begin, scratch_end, anothers_folder_is_trusted_where_it_is_of_a_group_of_ours)
{
    static const struct {
        bool of_root;
        gid_t group;
        mode_t mode;
        const char *said;
    } rows[] = {{false, GROUP, 02770, ""},
                {false, GROUP, 0700, "and no group of user"},
                {false, GROUP, 02750, "and no group of user"},
                {false, GROUP, 02777, "may be written by all users"},
                {false, ALIEN_GROUP, 02770, "and no group of user"}, /* as an access control list would show */
                {true, GROUP, 02770, ""},
                {true, 0, 0755, ""}};
    need_root();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(chown(scratch_dir, rows[i].of_root ? 0 : alien, rows[i].group), 0);
        assert_int_equal(chmod(scratch_dir, rows[i].mode), 0);
        be(user);
        expect(scratch_dir, rows[i].said);
        be_root();
    }
}

/* ---- The default folder ------------------------------------------------------------------------------------------ */

TEST_WITH(scratch_begin, scratch_end, the_default_folder_is_ones_own_alone)
{
    static const struct {
        bool own;
        mode_t mode;
        const char *said;
    } rows[] = {{true, 0700, ""},
                {true, 0770, "may be written by its group (mode 0770): chmod g-w"},
                {true, 0777, "may be written by all users"},
                {false, 0700, "have it removed, or set BEZEL_DIR to a folder of your own"},
                {false, 02770, "have it removed, or set BEZEL_DIR to a folder of your own"},
                {false, 02777, "have it removed, or set BEZEL_DIR to a folder of your own"}};
    char path[FILE_DEFAULT_DIR_BYTES], found[PATH_MAX];
    need_root();
    unsetenv("BEZEL_DIR");
    be(user);
    file_default_dir(path);
    file_bezel_dir(found, sizeof found);
    assert_string_equal(found, path); /* that of the effective user */
    be_root();
    scratch_add(path);
    assert_int_equal(mkdir(path, 0700), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(chown(path, rows[i].own ? user : alien, GROUP), 0);
        assert_int_equal(chmod(path, rows[i].mode), 0);
        be(user);
        expect(path, rows[i].said);
        be_root();
    }
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(chmod(scratch_dir, 0711), 0);
    assert_int_equal(symlink(scratch_dir, path), 0);
    be(user);
    expect(path, "is a symbolic link");
    be_root();
    assert_int_equal(unlink(path), 0);
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static int opens(const char *name, int flags)
{
    int fd = folder_open_file(&scratch_folder, name, flags);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? errno : 0;
}

TEST_WITH(scratch_begin, scratch_end, only_regular_files_of_one_name_are_opened_and_nobody_is_waited_for)
{
    int at = scratch_folder.fd;
    assert_int_equal(opens("file", O_RDWR), ENOENT);
    assert_int_equal(opens("file", O_RDWR | O_CREAT), 0);
    assert_int_equal(opens("file", O_RDWR | O_CREAT | O_EXCL), EEXIST);
    assert_int_equal(opens("file", O_RDWR), 0);
    assert_int_equal(linkat(at, "file", at, "second", 0), 0);
    assert_int_equal(opens("second", O_RDWR), 0);
    assert_int_equal(opens("second", O_RDWR | O_CREAT), EPERM);
    assert_int_equal(symlinkat("file", at, "link"), 0);
    assert_int_equal(opens("link", O_RDWR), ELOOP);
    assert_int_equal(opens("link", O_RDWR | O_CREAT), ELOOP);
    assert_int_equal(mkfifoat(at, "fifo", 0600), 0);
    assert_int_equal(opens("fifo", O_RDONLY), EPERM);
    assert_int_equal(opens("fifo", O_RDWR | O_CREAT), EPERM);
    assert_int_equal(mkdirat(at, "folder", 0700), 0);
    assert_int_equal(opens("folder", O_RDONLY), EPERM);
}

TEST_WITH(scratch_begin, scratch_end, what_somebody_else_made_counts_in_a_groups_folder_only)
{
    struct folder f;
    need_root();
    assert_int_equal(opens("file", O_RDWR | O_CREAT), 0);
    assert_int_equal(fchownat(scratch_folder.fd, "file", alien, (gid_t)-1, 0), 0);
    assert_int_equal(opens("file", O_RDWR), EPERM); /* from a time when others could write here */
    assert_int_equal(chmod(scratch_dir, 02770), 0);
    assert_int_equal(folder_open(scratch_dir, &f), 0);
    assert_true(f.shared);
    int fd = folder_open_file(&f, "file", O_RDWR);
    assert_true(fd >= 0);
    close(fd);
    folder_close(&f);
}

TEST_WITH(scratch_begin, scratch_end, a_replaced_file_is_not_written_through_a_link)
{
    char aim[SCRATCH_PATH + 16], path[SCRATCH_PATH + 16], *text;
    size_t n;
    snprintf(aim, sizeof aim, "%s/aim", scratch_dir);
    snprintf(path, sizeof path, "%s/state", scratch_dir);
    assert_int_equal(file_replace(aim, "precious", 8), 0);
    for (int shared = 0; shared < 2; shared++) {
        assert_int_equal(symlinkat("aim", scratch_folder.fd, ".state.tmp"), 0);
        assert_int_equal(
            shared ? file_replace_shared(scratch_folder.fd, "state", "new", 3) : file_replace(path, "new", 3), 0);
        assert_int_equal(file_read(aim, 100, &text, &n), 0);
        assert_string_equal(text, "precious");
        free(text);
        assert_int_equal(file_read(path, 100, &text, &n), 0);
        assert_string_equal(text, "new");
        free(text);
    }
}

int main(void)
{
    user = 1900000000 + 2 * (uid_t)getpid();
    alien = user + 1;
    return test_run(NULL, NULL);
}
