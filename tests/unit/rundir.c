// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/rundir.h"

#include "base/file.h"
#include "base/log.h"
#include "base/uuid.h"
#include "run/store/mirror_state.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/bezel-rundir-XXXXXX";
static char runs[64], dir[64];

static bool exists(const char *directory, const char *name)
{
    char path[8192];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return lstat(path, &st) == 0;
}

TEST(a_run_directory_holds_what_its_readme_says)
{
    struct rundir run;
    char path[8192], *text;
    size_t n;
    assert_int_equal(rundir_init(&run), 0);
    assert_int_equal(rundir_make(runs, "video", "experiment: video\n", 18, &run), 0);
    assert_int_equal(run.path[0], '/');
    static const char *const names[] = {"README", "versions.txt", "log", "output", "trace"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(exists(run.path, names[i]));
    snprintf(path, sizeof path, "%s/experiment.yaml", run.path);
    assert_int_equal(file_read(path, 100, &text, &n), 0);
    assert_string_equal(text, "experiment: video\n");
    free(text);
    assert_int_equal(strlen(run.uuid), 36);
    assert_int_equal(run.uuid[14], '4');
    rundir_close(&run);
    assert_true(exists(run.path, "README"));
}

TEST(runs_of_the_same_second_get_names_of_their_own_and_latest_is_the_newest)
{
    struct rundir run[3];
    char path[PATH_MAX], real[PATH_MAX];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rundir_init(&run[i]), 0);
        assert_int_equal(rundir_make(runs, "same", "", 0, &run[i]), 0);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(run[i].path, run[k].path);
            assert_string_not_equal(run[i].uuid, run[k].uuid);
        }
        int found = rundir_find(NULL, runs, path, sizeof path); /* not yet: it does not run */
        assert_true(found == BEZEL_ENOENT || (realpath(path, real) && strcmp(real, run[i].path) != 0));
        rundir_mark_running(&run[i]);
        assert_int_equal(rundir_point_latest(&run[i]), 0);
        assert_int_equal(rundir_find(NULL, runs, path, sizeof path), 0);
        assert_non_null(realpath(path, real));
        assert_string_equal(real, run[i].path);
    }
    assert_int_equal(rundir_find(run[0].path, runs, path, sizeof path), 0);
    assert_string_equal(path, run[0].path);
    assert_int_equal(rundir_find("/nonexistent", runs, path, sizeof path), BEZEL_ENOENT);
    char database[PATH_MAX + 8];
    snprintf(database, sizeof database, "%s/run.db", run[1].path);
    assert_int_equal(file_replace(database, "", 0), 0);
    assert_int_equal(file_remove_tree(run[2].path), 0);
    assert_int_equal(rundir_find(NULL, runs, path, sizeof path), 0);
    assert_non_null(realpath(path, real));
    assert_string_equal(real, run[1].path);
    assert_int_equal(file_remove_tree(run[1].path), 0);
    assert_int_equal(rundir_find(NULL, runs, path, sizeof path), BEZEL_ENOENT); /* the other one has not begun */
    snprintf(path, sizeof path, "%s/latest", runs);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0); /* somebody else's: no run fails for it */
    assert_int_equal(rundir_point_latest(&run[2]), 0);
    assert_int_equal(rmdir(path), 0);
    for (int i = 0; i < 3; i++)
        rundir_close(&run[i]);
}

TEST(the_private_folder_is_private_and_goes_with_the_run)
{
    struct rundir run[2];
    struct stat st;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rundir_init(&run[i]), 0);
        assert_int_equal(rundir_make(runs, "private", "", 0, &run[i]), 0);
        assert_int_equal(rundir_make_private(&run[i]), 0);
    }
    assert_string_not_equal(run[0].private, run[1].private);
    assert_int_equal(stat(run[0].private, &st), 0); /* the second run left the first one's alone */
    assert_int_equal(st.st_mode & 07777, 0700);
    for (int i = 0; i < 2; i++) {
        rundir_close(&run[i]);
        rundir_close(&run[i]);
        assert_false(exists(dir, strrchr(run[i].path, '/') + 1));
    }
    assert_int_equal(rmdir(dir), 0); /* nothing is left in it */
}

TEST(what_a_killed_run_left_is_removed_but_not_while_somebody_holds_it)
{
    struct rundir killed, held, next;
    assert_int_equal(rundir_init(&killed), 0);
    assert_int_equal(rundir_make(runs, "a", "", 0, &killed), 0);
    assert_int_equal(rundir_make_private(&killed), 0);
    assert_int_equal(rundir_init(&held), 0);
    assert_int_equal(rundir_make(runs, "b", "", 0, &held), 0);
    assert_int_equal(rundir_make_private(&held), 0);
    close(killed.lock);           /* as the kernel does for it */
    int daemons = dup(held.lock); /* as a daemon that outlives its run a little */
    close(held.lock);
    assert_int_equal(rundir_init(&next), 0);
    assert_int_equal(rundir_make(runs, "c", "", 0, &next), 0);
    assert_int_equal(rundir_make_private(&next), 0);
    assert_int_not_equal(access(killed.private, F_OK), 0);
    assert_int_equal(access(held.private, F_OK), 0);
    rundir_close(&next);
    held.lock = daemons;
    rundir_close(&held);
}

/* It is no run that was aborted while the run goes on. */
static void expect_look_at_copy(struct rundir *run, const char *copy)
{
    struct mirror_look look;
    mirror_state_look(copy, &look);
    assert_false(look.partial || look.text[0]); /* then the run was aborted itself */
    rundir_mark_running(run);
    mirror_state_look(run->path, &look);
    assert_false(look.partial || look.text[0]);
    mirror_state_look(copy, &look);
    assert_true(look.partial && look.copy && look.grows && look.stale);
    assert_non_null(strstr(look.text, run->path));
    close(run->running);
    run->running = -1;
}

/* Whoever attaches to it is not told to end what the run has started. */
static void expect_no_private_folder_of_a_copy(const struct rundir *run, const char *copy)
{
    struct rundir taken;
    char file[PATH_MAX + 32];
    snprintf(file, sizeof file, "%s/experiment.yaml", copy);
    assert_int_equal(file_replace(file, "", 0), 0);
    assert_int_equal(rundir_take_over(copy, run->uuid, &taken), 0);
    assert_int_equal(rundir_take_private(&taken, 0), BEZEL_EBUSY);
    assert_non_null(strstr(log_last_error(), "is a copy of a run that goes on"));
    rundir_leave(&taken);
    rundir_close(&taken);
    assert_int_equal(unlink(file), 0);
}

/* Nor is it refused to the run itself, which was moved. */
static void expect_no_control_of_a_copy(struct rundir *run)
{
    uint8_t uuid[16];
    char copy[PATH_MAX + 16], link[PATH_MAX + 32], found[RUNDIR_PRIVATE_MAX];
    snprintf(copy, sizeof copy, "%s-copy", run->path);
    snprintf(link, sizeof link, "%s/control", copy);
    assert_int_equal(mkdir(copy, 0700), 0);
    assert_int_equal(symlink(run->private, link), 0);
    assert_int_equal(rundir_control(copy, found, uuid), BEZEL_EBUSY);
    expect_look_at_copy(run, copy);
    expect_no_private_folder_of_a_copy(run, copy);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(rmdir(copy), 0);
    assert_int_equal(rename(run->path, copy), 0);
    assert_int_equal(rundir_control(copy, found, uuid), 0);
    assert_int_equal(rename(copy, run->path), 0);
}

TEST(the_private_folder_is_found_by_its_run_while_that_lives)
{
    uint8_t uuid[16], own[16];
    struct rundir run;
    char found[RUNDIR_PRIVATE_MAX];
    assert_int_equal(rundir_init(&run), 0);
    assert_int_equal(rundir_make_private(&run), 0);
    assert_int_equal(rundir_make(runs, "found", "", 0, &run), 0);
    assert_int_equal(rundir_control(run.path, found, uuid), BEZEL_EUNREACH); /* not yet */
    assert_int_equal(rundir_publish(&run), 0);
    assert_int_equal(rundir_control(run.path, found, uuid), 0);
    assert_string_equal(found, run.private);
    assert_true(uuid_read(run.uuid, own));
    assert_memory_equal(uuid, own, sizeof own);
    expect_no_control_of_a_copy(&run);
    assert_int_equal(chmod(run.private, 0750), 0); /* where others may have put sockets nobody is trusted */
    assert_int_equal(rundir_control(run.path, found, uuid), BEZEL_EPERM);
    assert_int_equal(chmod(run.private, 0700), 0);
    assert_int_equal(close(run.lock), 0); /* as the kernel does for a killed run */
    assert_int_equal(rundir_control(run.path, found, uuid), BEZEL_EUNREACH);
    run.lock = -1;
    rundir_close(&run);
    assert_false(exists(run.path, "control"));
    assert_int_equal(rundir_control(run.path, found, uuid), BEZEL_EUNREACH);
    assert_int_equal(rundir_control("/nonexistent", found, uuid), BEZEL_EUNREACH);
}

TEST(a_run_directory_that_is_moved_is_followed)
{
    struct rundir run;
    char moved[PATH_MAX + 16];
    assert_int_equal(rundir_init(&run), 0);
    assert_int_equal(rundir_make(runs, "moved", "", 0, &run), 0);
    rundir_mark_running(&run);
    assert_int_equal(rundir_follow(&run), 0);
    snprintf(moved, sizeof moved, "%s-elsewhere", run.path);
    assert_int_equal(rename(run.path, moved), 0);
    assert_int_equal(rundir_follow(&run), 1);
    assert_string_equal(run.path, moved);
    assert_int_equal(rundir_follow(&run), 0);
    assert_int_equal(file_remove_tree(moved), 0);
    assert_int_equal(rundir_follow(&run), BEZEL_ENOENT);
    rundir_close(&run);
}

TEST(a_run_is_taken_over_once_its_bezel_run_and_its_daemons_are_gone)
{
    struct rundir run, next, third;
    char file[PATH_MAX + 16];
    assert_int_equal(rundir_init(&run), 0);
    assert_int_equal(rundir_make_private(&run), 0);
    assert_int_equal(rundir_make(runs, "taken", "", 0, &run), 0);
    assert_int_equal(rundir_publish(&run), 0);
    rundir_mark_running(&run);
    assert_int_equal(rundir_take_over(run.path, run.uuid, &next), BEZEL_EBUSY);
    close(run.running); /* as the kernel does for a killed one; its daemons still hold the folder */
    assert_int_equal(rundir_take_over(run.path, run.uuid, &next), 0);
    assert_int_equal(rundir_take_over(run.path, run.uuid, &third), BEZEL_EBUSY);
    assert_true(rundir_is_running(run.path));
    assert_int_equal(rundir_take_private(&next, 0), BEZEL_EBUSY);
    snprintf(file, sizeof file, "%s/window", run.private);
    assert_int_equal(file_replace(file, "", 0), 0);
    close(run.lock);
    assert_int_equal(rundir_take_private(&next, 0), 0);
    assert_string_equal(next.private, run.private);
    assert_true(exists(next.private, "window")); /* what the daemons have left is there for the next ones */
    assert_int_equal(rundir_publish(&next), 0);
    assert_int_equal(file_remove_tree(next.private), 0); /* another run may have removed it meanwhile */
    close(next.lock);
    assert_int_equal(rundir_take_private(&next, 0), 0);
    assert_false(exists(next.private, "window"));
    rundir_leave(&next); /* a third one has taken the run over elsewhere */
    rundir_close(&next);
    assert_true(exists(run.path, "control"));
    assert_false(rundir_is_running(run.path));
    assert_int_equal(rundir_take_over("/proc/0", run.uuid, &next), BEZEL_ENOENT);
}

/* A child of `bezel run` that is killed, as that itself may be; its own children do not keep the lock. */
TEST(a_run_is_running_as_long_as_the_process_lives_that_runs_it)
{
    struct rundir run;
    int up[2], down[2];
    char byte = 0;
    assert_int_equal(rundir_init(&run), 0);
    assert_int_equal(rundir_make(runs, "lives", "", 0, &run), 0);
    assert_false(rundir_is_running(run.path));
    assert_int_equal(pipe(up) | pipe(down), 0);
    pid_t child = fork();
    if (child == 0) {
        rundir_mark_running(&run);
        _exit(write(up[1], "", 1) == 1 && read(down[0], &byte, 1) == 1);
    }
    assert_true(child > 0);
    assert_int_equal(read(up[0], &byte, 1), 1);
    assert_true(rundir_is_running(run.path));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(rundir_is_running(run.path));
    rundir_mark_running(&run);
    assert_true(rundir_is_running(run.path));
    rundir_close(&run);
    assert_false(rundir_is_running(run.path));
    assert_false(rundir_is_running("/proc/0"));
    for (int i = 0; i < 2; i++)
        close(up[i]), close(down[i]);
}

TEST(where_the_rest_of_a_run_lies_is_noted_and_forgotten)
{
    struct rundir run;
    char place[64] = "untouched", text[5000], path[PATH_MAX + 8];
    struct stat st;
    assert_int_equal(rundir_init(&run), 0);
    assert_int_equal(rundir_make(runs, "video", "experiment: video\n", 18, &run), 0);
    assert_false(rundir_is_away(run.path, place, sizeof place));
    assert_string_equal(place, "untouched");
    assert_int_equal(rundir_note_away(run.path, "store in /var/runs/1"), 0);
    assert_true(rundir_is_away(run.path, place, sizeof place));
    assert_string_equal(place, "store in /var/runs/1");
    assert_int_equal(rundir_note_away(run.path, "desk"), 0); /* in its place */
    assert_true(rundir_is_away(run.path, place, 4));
    assert_string_equal(place, "des");
    for (int times = 0; times < 2; times++) { /* twice is once */
        assert_int_equal(rundir_note_away(run.path, NULL), 0);
        assert_false(rundir_is_away(run.path, place, sizeof place));
    }
    memset(text, 'x', sizeof text - 1); /* more than a place is: none of ours */
    text[sizeof text - 1] = '\0';
    assert_int_equal(rundir_note_away(run.path, text), 0);
    assert_false(rundir_is_away(run.path, place, sizeof place));
    assert_int_equal(rundir_note_away(run.path, NULL), 0);
    snprintf(path, sizeof path, "%s/away", run.path); /* a folder is no note, and is not removed */
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_not_equal(rundir_note_away(run.path, NULL), 0);
    assert_false(rundir_is_away(run.path, place, sizeof place));
    assert_int_equal(stat(path, &st), 0);
    rundir_close(&run);
    assert_int_equal(rundir_note_away("/proc/0", NULL), 0);
    assert_int_equal(rundir_note_away("/proc/0", "desk"), BEZEL_ENOENT);
}

TEST(a_folder_that_others_can_write_is_refused)
{
    struct rundir run;
    char open_to_all[128];
    snprintf(open_to_all, sizeof open_to_all, "%s/open", folder);
    assert_int_equal(mkdir(open_to_all, 0700), 0);
    assert_int_equal(chmod(open_to_all, 0777), 0);
    assert_int_equal(rundir_init(&run), 0);
    assert_int_equal(rundir_make(runs, "open", "", 0, &run), 0);
    setenv("BEZEL_DIR", open_to_all, 1);
    int err = rundir_make_private(&run);
    setenv("BEZEL_DIR", dir, 1);
    assert_int_equal(err, BEZEL_EPERM);
    rundir_close(&run);
}

TEST(a_folder_whose_sockets_would_have_too_long_paths_is_refused)
{
    struct rundir run;
    char deep[256];
    snprintf(deep, sizeof deep, "%s/%0100d", folder, 0);
    assert_int_equal(rundir_init(&run), 0);
    assert_int_equal(rundir_make(runs, "deep", "", 0, &run), 0);
    setenv("BEZEL_DIR", deep, 1);
    int err = rundir_make_private(&run);
    setenv("BEZEL_DIR", dir, 1);
    assert_int_equal(err, BEZEL_EINVAL);
    rundir_close(&run);
}

TEST(the_folder_of_runs_is_the_option_or_the_variable_or_runs)
{
    setenv("BEZEL_RUNS", "/somewhere", 1);
    assert_string_equal(rundir_runs("/option"), "/option");
    assert_string_equal(rundir_runs(NULL), "/somewhere");
    unsetenv("BEZEL_RUNS");
    assert_string_equal(rundir_runs(NULL), "runs");
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(runs, sizeof runs, "%s/some/runs", folder);
    snprintf(dir, sizeof dir, "%s/dir", folder);
    return setenv("BEZEL_DIR", dir, 1);
}

static int remove_folder(void **state)
{
    (void)state;
    return file_remove_tree(folder);
}

int main(void)
{
    return test_run(make_folder, remove_folder);
}
