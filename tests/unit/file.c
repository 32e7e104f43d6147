// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Files and folders: what is made, read, replaced and removed, and what is refused and left as it was. */
#include "base/file.h"

#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Path of `name` in the scratch folder; of two calls, each has its own. */
static const char *at(const char *name)
{
    static char paths[2][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 2];
    snprintf(path, sizeof paths[0], "%s/%s", scratch_dir, name);
    return path;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static void assert_holds(const char *path, const char *text)
{
    char *data = NULL;
    size_t n = 0;
    assert_int_equal(file_read(path, 1000, &data, &n), 0);
    assert_int_equal(n, strlen(text));
    assert_string_equal(data, text);
    free(data);
}

TEST_WITH(scratch_begin, scratch_end, folders_are_made_with_their_parents)
{
    struct stat st;
    umask(0);
    assert_int_equal(file_make_dirs(at("a/b/c"), 0750), 0);
    assert_int_equal(stat(at("a/b"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0750);
    assert_true(is_folder(at("a/b/c")));
    assert_int_equal(file_make_dirs(at("a/b/c"), 0700), 0);
    assert_int_equal(stat(at("a/b/c"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0750); /* as it was */
    assert_int_equal(file_make_dirs(at("a//d/"), 0700), 0);
    assert_true(is_folder(at("a/d")));
}

TEST_WITH(scratch_begin, scratch_end, where_a_file_is_no_folder_can_be)
{
    char longest[PATH_MAX + 1];
    assert_int_equal(file_replace(at("file"), "x", 1), 0);
    assert_int_equal(file_make_dirs(at("file"), 0700), BEZEL_ESYS);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(file_make_dirs(at("file/a/b"), 0700), err_from_errno(ENOTDIR));
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(symlink("nowhere", at("dangling")), 0);
    assert_int_equal(file_make_dirs(at("dangling"), 0700), err_from_errno(ENOENT));
    memset(longest, 'x', PATH_MAX);
    longest[PATH_MAX] = '\0';
    assert_int_equal(file_make_dirs(longest, 0700), BEZEL_EINVAL);
    assert_int_equal(errno, ENAMETOOLONG);
}

TEST_WITH(scratch_begin, scratch_end, a_file_is_read_up_to_its_bound)
{
    char *data;
    size_t n;
    assert_int_equal(file_replace(at("ten"), "0123456789", 10), 0);
    assert_int_equal(file_read(at("ten"), 10, &data, &n), 0);
    assert_int_equal(n, 10);
    assert_string_equal(data, "0123456789");
    free(data);
    assert_int_equal(file_read(at("ten"), 9, &data, &n), BEZEL_EINVAL);
    assert_int_equal(file_read(at("none"), 9, &data, &n), BEZEL_ENOENT);
    assert_int_equal(file_read(scratch_dir, 9, &data, &n), BEZEL_EINVAL);
    int fd = open(at("ten"), O_RDONLY | O_CLOEXEC);
    assert_int_equal(lseek(fd, 4, SEEK_SET), 4);
    assert_int_equal(file_read_stream(fd, 6, &data, &n), 0);
    assert_string_equal(data, "456789");
    free(data);
    assert_int_equal(lseek(fd, 3, SEEK_SET), 3);
    assert_int_equal(file_read_stream(fd, 6, &data, &n), BEZEL_EINVAL);
    assert_int_equal(close(fd), 0);
}

TEST_WITH(scratch_begin, scratch_end, what_could_block_is_refused_at_once)
{
    char *data;
    size_t n;
    assert_int_equal(mkfifo(at("pipe"), 0600), 0);
    assert_int_equal(file_read(at("pipe"), 9, &data, &n), BEZEL_EINVAL);
    assert_int_equal(file_open_plain(at("pipe"), 0, false), BEZEL_EINVAL);
    assert_int_equal(file_open_plain("/dev/zero", 0, false), BEZEL_EINVAL);
    assert_int_equal(file_open_plain(scratch_dir, 0, false), BEZEL_EINVAL);
    assert_int_equal(file_replace(at("plain"), "x", 1), 0);
    assert_null(file_open_dir(at("plain"), 0));
}

TEST_WITH(scratch_begin, scratch_end, links_among_the_last_names_are_refused)
{
    char *data;
    size_t n;
    assert_int_equal(file_make_dirs(at("real/deep"), 0700), 0);
    assert_int_equal(file_replace(at("real/deep/file"), "inside", 6), 0);
    assert_int_equal(symlink("real", at("link")), 0);
    assert_int_equal(symlink("deep/file", at("real/shortcut")), 0);
    static const struct {
        const char *path;
        unsigned plain;
        bool good;
    } cases[] = {{"real/deep/file", 3, true}, {"link/deep/file", 0, true},        {"link/deep/file", 1, true},
                 {"link/deep/file", 2, true}, {"link/deep/file", 3, false},       {"real/shortcut", 0, true},
                 {"real/shortcut", 1, false}, {"link/../real/deep/file", 3, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int err = file_read_plain(at(cases[i].path), cases[i].plain, 100, &data, &n);
        if ((err == 0) != cases[i].good)
            fail_msg("%s, %u: %d", cases[i].path, cases[i].plain, err);
        if (err)
            assert_int_equal(errno, ELOOP);
        else {
            assert_string_equal(data, "inside");
            free(data);
        }
    }
    DIR *dir = file_open_dir(at("link"), 0);
    assert_non_null(dir);
    closedir(dir);
    assert_null(file_open_dir(at("link"), 1));
}

TEST_WITH(scratch_begin, scratch_end, a_file_is_replaced_as_a_whole_or_not_at_all)
{
    int (*const ways[])(const char *, const void *, size_t) = {file_replace, file_replace_lasting};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(ways[i](at("new"), "first", 5), 0);
        assert_holds(at("new"), "first");
        assert_int_equal(symlink("target", at(".new.tmp")), 0); /* another one's, or left by a kill */
        assert_int_equal(ways[i](at("new"), "second", 6), 0);
        assert_holds(at("new"), "second");
        assert_false(exists(at("target")));
        assert_false(exists(at(".new.tmp")));
        assert_int_equal(file_make_dirs(at("full/x"), 0700), 0);
        assert_true(ways[i](at("full"), "y", 1) < 0);
        assert_true(errno == EISDIR || errno == EEXIST || errno == ENOTEMPTY);
        assert_false(exists(at(".full.tmp")));
        assert_int_equal(ways[i](at("no/such/folder"), "y", 1), BEZEL_ENOENT);
    }
}

TEST_WITH(scratch_begin, scratch_end, a_shared_file_has_what_its_folder_grants_the_group)
{
    struct stat st;
    static const mode_t folders[] = {0700, 0770, 0750, 02770}, files[] = {0600, 0660, 0640, 0660};
    umask(077);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        assert_int_equal(file_make_dirs(at("shared"), 0700), 0);
        assert_int_equal(chmod(at("shared"), folders[i]), 0);
        int folder = file_open_plain(at("shared"), 0, true);
        assert_true(folder >= 0);
        assert_int_equal(file_replace_shared(folder, "file", "text", 4), 0);
        assert_int_equal(stat(at("shared/file"), &st), 0);
        assert_int_equal(st.st_mode & 0777, files[i]);
        assert_holds(at("shared/file"), "text");
        assert_int_equal(close(folder), 0);
    }
}

TEST_WITH(scratch_begin, scratch_end, all_bytes_are_written_or_the_error_is_told)
{
    int pipe[2], full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    char got[8] = "";
    assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
    assert_int_equal(file_write_all(pipe[1], "seven!!", 7), 0);
    assert_int_equal(read(pipe[0], got, sizeof got), 7);
    assert_string_equal(got, "seven!!");
    assert_int_equal(file_write_all(full, "x", 1), BEZEL_ENOSPC);
    assert_int_equal(file_write_all(full, "", 0), 0);
    close(full), close(pipe[0]), close(pipe[1]);
}

TEST_WITH(scratch_begin, scratch_end, a_tree_is_removed_and_nothing_that_it_links_to)
{
    assert_int_equal(file_make_dirs(at("tree/a/b"), 0700), 0);
    assert_int_equal(file_make_dirs(at("other"), 0700), 0);
    assert_int_equal(file_replace(at("other/file"), "stays", 5), 0);
    assert_int_equal(file_replace(at("tree/a/file"), "goes", 4), 0);
    assert_int_equal(symlink("../../other", at("tree/a/link")), 0);
    assert_int_equal(file_remove_tree(at("tree")), 0);
    assert_false(exists(at("tree")));
    assert_holds(at("other/file"), "stays");
    assert_int_equal(file_remove_tree(at("tree")), 0);
    assert_int_equal(file_remove_tree(at("other/file")), 0);
    assert_false(exists(at("other/file")));
}

TEST(the_name_of_a_path_is_what_stands_behind_its_last_slash)
{
    assert_string_equal(file_name("runs/latest"), "latest");
    assert_string_equal(file_name("/latest"), "latest");
    assert_string_equal(file_name("latest"), "latest");
    assert_string_equal(file_name("runs/"), "runs/");
    assert_string_equal(file_name(""), "");
}

TEST(the_folder_is_the_environments_or_the_users)
{
    char path[64], standard[FILE_DEFAULT_DIR_BYTES], expected[64];
    snprintf(expected, sizeof expected, "/dev/shm/bezel-%u", (unsigned)geteuid());
    file_default_dir(standard);
    assert_string_equal(standard, expected);
    assert_int_equal(setenv("BEZEL_DIR", "/some/where", 1), 0);
    file_bezel_dir(path, sizeof path);
    assert_string_equal(path, "/some/where");
    assert_int_equal(setenv("BEZEL_DIR", "", 1), 0);
    file_bezel_dir(path, sizeof path);
    assert_string_equal(path, expected);
    assert_int_equal(unsetenv("BEZEL_DIR"), 0);
    file_bezel_dir(path, sizeof path);
    assert_string_equal(path, expected);
}

/* sudo keeps the name of another user's folder, and a container that of one that is not there. */
TEST_WITH(scratch_begin, scratch_end, the_folder_of_a_session_is_the_users_own)
{
    assert_int_equal(setenv("XDG_RUNTIME_DIR", at(""), 1), 0);
    assert_string_equal(file_runtime_dir(), at(""));
    assert_int_equal(chmod(at(""), 0770), 0);
    assert_null(file_runtime_dir());
    assert_int_equal(chmod(at(""), 0700), 0);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", at("missing"), 1), 0);
    assert_null(file_runtime_dir());
    if (geteuid() == 0) {
        assert_int_equal(setenv("XDG_RUNTIME_DIR", at(""), 1), 0);
        assert_int_equal(chown(at(""), 65534, 65534), 0);
        assert_null(file_runtime_dir());
        assert_int_equal(chown(at(""), 0, 0), 0);
    }
    assert_int_equal(setenv("XDG_RUNTIME_DIR", ".", 1), 0);
    assert_null(file_runtime_dir());
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
    assert_null(file_runtime_dir());
}
