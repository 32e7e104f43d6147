// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Mirrors of runs that grow, end, are damaged, or expire, through kills and cuts. */
#include "collector/remote/mirror.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/folder_lock.h"
#include "mdr/link/link.h"
#include "run/store/cover.h"
#include "run/store/mirror_state.h"
#include "run/store/trace_reader.h"
#include "run/store/watermarks.h"
#include "run/verify/verify.h"
#include "tests/lib/key_pair.h"
#include "tests/lib/namespaces.h"
#include "tests/lib/patience.h"
#include "tests/lib/proxy.h"
#include "tests/lib/scratch.h"
#include "tests/lib/serve_process.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint8_t run_id[16] = "a run's identity";
static char run[SCRATCH_PATH + 8], copy[SCRATCH_PATH + 8], keys[SCRATCH_PATH + 8], said[SCRATCH_PATH + 8];

/* ---- a run, its server, and a mirror ----------------------------------------------------------------------------- */

struct served {
    struct fake_sensor *sensor;
    struct stored_run stored;
    struct serve_process server;
    int lock; /* of the run, as a collector has it; -1: none */
};

static void serve(struct served *s, const char *listen, const char *const *more)
{
    assert_true(serve_process_start(&s->server, run, listen, more));
}

/* Cuts `packets` packets of each of three streams, and stores them. */
static void grow(struct served *s, unsigned packets)
{
    for (unsigned i = 0; i < 3 * packets; i++)
        fake_cut(s->sensor, i % 3 / 2, i % 3 % 2, 40);
    assert_int_equal(stored_grow(&s->stored), 0);
}

/* A run of two processes that goes on. */
static struct served begin_run(struct store_keep keep)
{
    struct served s = {.stored.keep_to = keep};
    (void)!file_remove_tree(run);
    (void)!file_remove_tree(copy);
    assert_int_equal(file_make_dirs(run, 0700), 0);
    s.sensor = fake_new("desk", run_id, 1);
    fake_add_process(s.sensor, "client", 101, ROLE_SUT);
    fake_add_process(s.sensor, "monitor", 102, ROLE_DAEMON);
    assert_int_equal(stored_start(&s.stored, run, s.sensor, STORE_SYNC_NEVER), 0);
    char path[sizeof run + 32];
    snprintf(path, sizeof path, "%s/experiment.yaml", run);
    assert_int_equal(file_replace(path, "experiment: mirrored\n", 21), 0);
    s.lock = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(s.lock, LOCK_EX), 0);
    grow(&s, 20);
    return s;
}

/* As a collector ends. */
static void end_run(struct served *s)
{
    stored_end(&s->stored);
    assert_int_equal(stored_stop(&s->stored), 0);
    close(s->lock);
    s->lock = -1;
}

static void stop(struct served *s)
{
    if (s->server.pid)
        assert_int_equal(serve_process_end(&s->server, SIGTERM), 0);
    fake_free(s->sensor);
}

static bool (*on_disk)(void); /* called in the process of a mirror, before it becomes one */
static int64_t started;       /* the last mirror, CLOCK_REALTIME */

/* Starts `bezel mirror`; its stderr goes into file `said`. */
static pid_t mirror(const char *endpoint, const char *const *more)
{
    started = clock_now() + clock_realtime_offset();
    const char *args[16] = {"bezel", "mirror", endpoint, copy};
    for (size_t n = 4; more && *more; n++)
        args[n] = *more++;
    pid_t pid = fork();
    if (pid == 0) {
        if (on_disk && !on_disk())
            _exit(126);
        int fd = open(said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        dup2(fd, 2);
        execv(BEZEL, (char *const *)(uintptr_t)args);
        _exit(127);
    }
    return pid;
}

/* Its exit code, once it has ended. */
static int wait_for(pid_t pid)
{
    int status = -1;
    int64_t deadline = clock_now() + PATIENCE;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (clock_now() > deadline) {
            kill(pid, SIGKILL);
            fail_msg("the mirror does not end");
        }
        clock_sleep_until(clock_now() + 5 * CLOCK_MS);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int end(pid_t pid, int signal)
{
    kill(pid, signal);
    return wait_for(pid);
}

static void assert_said(const char *text)
{
    char *all;
    size_t n;
    assert_int_equal(file_read(said, 1 << 20, &all, &n), 0);
    if (!strstr(all, text))
        fail_msg("no '%s' in: %s", text, all);
    free(all);
}

static void fail_late(const struct mirror_state *state)
{
    char *all;
    size_t n;
    assert_int_equal(file_read(said, 1 << 20, &all, &n), 0);
    fail_msg("state %d, %d: %s", (int)state->is, (int)state->behind, all);
}

/* Waits until the mirror is so. MIRROR_CONNECTED: with `bytes` of stream files, which are all that are stored. */
static void await(enum mirror_state_is is, uint64_t bytes)
{
    struct mirror_state state = {.is = MIRROR_BEGUN};
    int64_t deadline = clock_now() + PATIENCE;
    while (mirror_state_read(copy, &state) != 1 || state.is != is || state.since < started ||
           (is == MIRROR_CONNECTED && trace_reader_trace_bytes(copy) != bytes)) {
        if (clock_now() > deadline)
            fail_late(&state);
        clock_sleep_until(clock_now() + 5 * CLOCK_MS);
    }
}

static void await_caught_up(void)
{
    await(MIRROR_CONNECTED, trace_reader_trace_bytes(run));
}

/* ---- what is in it ----------------------------------------------------------------------------------------------- */

static int assert_same_file(const char *path, void *context)
{
    char other[SCRATCH_PATH + 300], *a, *b;
    size_t n, m;
    (void)context;
    snprintf(other, sizeof other, "%s%s", copy, path + strlen(run));
    assert_int_equal(file_read(path, 64 << 20, &a, &n), 0);
    if (file_read(other, 64 << 20, &b, &m) != 0)
        fail_msg("%s is missing", other);
    if (n != m || memcmp(a, b, n) != 0)
        fail_msg("%s differs", other);
    free(a);
    free(b);
    return 0;
}

static void print_finding(const struct verify_report *f, void *context)
{
    (void)context;
    fprintf(stderr, "%s: %s: %s\n", f->code, f->file, f->text);
}

static enum verify_is verify(const char *dir)
{
    struct verify v = {.report = print_finding};
    assert_int_equal(verify_run(&v, dir), 0);
    return verify_is(&v);
}

/* The mirror is the run, byte by byte. */
static void assert_complete(void)
{
    char path[sizeof run + 32];
    struct mirror_look look;
    struct mirror_state state;
    snprintf(path, sizeof path, "%s/trace/desk", run);
    assert_int_equal(trace_reader_list(path, assert_same_file, NULL), 0);
    snprintf(path, sizeof path, "%s/trace/desk/metadata", run);
    (void)assert_same_file(path, NULL);
    snprintf(path, sizeof path, "%s/experiment.yaml", run);
    (void)assert_same_file(path, NULL);
    assert_int_equal(trace_reader_trace_bytes(copy), trace_reader_trace_bytes(run));
    assert_int_equal(verify(copy), VERIFY_COMPLETE);
    assert_int_equal(mirror_state_read(copy, &state), 1);
    assert_int_equal(state.is, MIRROR_COMPLETE);
    mirror_state_look(copy, &look);
    assert_false(look.partial || look.grows || look.stale || look.text[0]);
    assert_false(folder_is_held(copy));
}

/* ---- runs that grow and end -------------------------------------------------------------------------------------- */

TEST(a_run_that_grows_is_followed_to_its_end)
{
    struct served s = begin_run((struct store_keep){0});
    struct mirror_look look;
    serve(&s, "tcp://127.0.0.1:*", NULL);
    pid_t pid = mirror(s.server.endpoint, NULL);
    await_caught_up();
    assert_true(folder_is_held(copy));
    mirror_state_look(copy, &look);
    assert_true(look.partial && look.grows && !look.stale);
    assert_non_null(strstr(look.text, "This is a mirror of tcp://127.0.0.1:"));
    assert_int_equal(verify(copy), VERIFY_INCOMPLETE); /* no finding is damage */
    fake_add_aspect(s.sensor, 0, "late_aspect");       /* a longer dictionary */
    fake_cut_one(s.sensor, 0, 0, 3, NULL);
    fake_add_process(s.sensor, "latecomer", 103, ROLE_SUT);
    fake_cut(s.sensor, 2, 0, 7);
    grow(&s, 10);
    await_caught_up();
    assert_int_equal(verify(copy), VERIFY_INCOMPLETE);
    grow(&s, 1); /* what it gets at the very end */
    end_run(&s);
    assert_int_equal(wait_for(pid), EXIT_OK);
    assert_said("the run is over, and all of it is here");
    assert_complete();
    assert_int_equal(wait_for(mirror(s.server.endpoint, NULL)), EXIT_OK); /* once more */
    assert_complete();
    stop(&s);
}

static void note_complete(void *complete)
{
    struct mirror_look look;
    mirror_state_look(copy, &look);
    *(bool *)complete = !look.partial && !folder_is_held(copy);
}

/* What reads the mirror from then on, such as `bezel top`, takes the run for one that has ended. */
TEST(a_mirror_of_an_ended_run_has_caught_up_when_it_is_complete)
{
    struct served s = begin_run((struct store_keep){0});
    end_run(&s);
    serve(&s, "tcp://127.0.0.1:*", NULL);
    pid_t pid = fork(); /* for ZeroMQ's threads */
    if (pid == 0) {
        bool complete = false;
        struct mirror_options o = {.place.endpoint = s.server.endpoint,
                                   .dir = copy,
                                   .temporary = true,
                                   .caught_up = note_complete,
                                   .context = &complete};
        _exit(mirror_run(&o) == 0 && complete ? 0 : 1);
    }
    assert_int_equal(wait_for(pid), 0);
    assert_complete();
    stop(&s);
}

TEST(what_is_stored_by_now_is_no_complete_mirror)
{
    static const char *const once[] = {"--once", NULL};
    struct served s = begin_run((struct store_keep){0});
    struct mirror_look look;
    serve(&s, "tcp://127.0.0.1:*", NULL);
    assert_int_equal(wait_for(mirror(s.server.endpoint, once)), EXIT_OK);
    assert_int_equal(trace_reader_trace_bytes(copy), trace_reader_trace_bytes(run));
    mirror_state_look(copy, &look);
    assert_true(look.partial && look.grows && !look.stale);
    assert_non_null(strstr(look.text, "it has what was stored there at "));
    assert_int_equal(verify(copy), VERIFY_INCOMPLETE);
    grow(&s, 3);
    end_run(&s);
    assert_int_equal(wait_for(mirror(s.server.endpoint, once)), EXIT_OK); /* the run is over: nothing is missing */
    assert_complete();
    stop(&s);
}

/* Drops the end of a stream, and a stream. */
static void spoil(const struct served *s)
{
    char path[sizeof copy + 64];
    snprintf(path, sizeof path, "%s/trace/desk/client-101-0", copy);
    assert_int_equal(truncate(path, (off_t)s->sensor->processes[0]->rings[0].starts[5]), 0);
    snprintf(path, sizeof path, "%s/trace/desk/client-101-1", copy);
    assert_int_equal(unlink(path), 0);
}

/* Bytes that are still to come are no damage; where a collector has finished they are. Nor is a mirror of it complete.
 */
TEST(what_a_mirror_lacks_is_damage_only_where_it_had_all)
{
    static const char *const once[] = {"--once", NULL};
    struct served s = begin_run((struct store_keep){0});
    struct mirror_state is;
    char first[sizeof copy];
    serve(&s, "tcp://127.0.0.1:*", NULL);
    assert_int_equal(wait_for(mirror(s.server.endpoint, once)), EXIT_OK);
    spoil(&s);
    assert_int_equal(verify(copy), VERIFY_INCOMPLETE);
    end_run(&s);
    assert_int_equal(serve_process_end(&s.server, SIGTERM), 0);
    memcpy(first, copy, sizeof first);
    assert_true(serve_process_start(&s.server, first, "tcp://127.0.0.1:*", NULL));
    snprintf(copy, sizeof copy, "%s/second", scratch_dir);
    (void)!file_remove_tree(copy);
    assert_int_equal(wait_for(mirror(s.server.endpoint, once)), EXIT_OK);
    assert_int_equal(mirror_state_read(copy, &is), 1);
    assert_int_equal(is.is, MIRROR_STORED);
    assert_int_equal(verify(copy), VERIFY_INCOMPLETE);
    memcpy(copy, first, sizeof first);
    assert_int_equal(serve_process_end(&s.server, SIGTERM), 0);
    serve(&s, "tcp://127.0.0.1:*", NULL);
    assert_int_equal(wait_for(mirror(s.server.endpoint, NULL)), EXIT_OK);
    assert_complete();
    spoil(&s);
    assert_int_equal(verify(copy), VERIFY_DAMAGED);
    assert_int_equal(mirror_state_read(copy, &is), 1);
    is.is = MIRROR_CONNECTED; /* as after a kill before that was written */
    assert_int_equal(mirror_state_write(copy, &is), 0);
    assert_int_equal(verify(copy), VERIFY_DAMAGED);
    assert_int_equal(wait_for(mirror(s.server.endpoint, NULL)), EXIT_OK); /* which mends it */
    assert_complete();
    stop(&s);
}

TEST(a_server_that_ends_before_the_run_leaves_no_complete_mirror)
{
    struct served s = begin_run((struct store_keep){0});
    struct mirror_look look;
    char endpoint[sizeof s.server.endpoint];
    serve(&s, "tcp://127.0.0.1:*", NULL);
    memcpy(endpoint, s.server.endpoint, sizeof endpoint);
    pid_t pid = mirror(endpoint, NULL);
    await_caught_up();
    assert_int_equal(serve_process_end(&s.server, SIGTERM), 0);
    await(MIRROR_CUT, 0);
    mirror_state_look(copy, &look);
    assert_true(look.partial && look.stale);
    assert_non_null(strstr(look.text, "the link is cut since "));
    grow(&s, 3);
    serve(&s, endpoint, NULL);
    await_caught_up();
    assert_said("the server ends, and the run goes on; what is here stays");
    assert_int_equal(end(pid, SIGTERM), EXIT_OK); /* whoever stops it has what was stored */
    mirror_state_look(copy, &look);
    assert_true(look.partial);
    end_run(&s);
    stop(&s);
}

/* The watermark that the mirror has, once it has one of at least `least`; others on the way keep what they promise. */
static int64_t await_low(int64_t least, const uint64_t *stored)
{
    int64_t deadline = clock_now() + PATIENCE, now;
    struct watermark mark;
    do {
        assert_true((now = clock_now()) < deadline);
        size_t n = watermarks_read(copy, &mark, 1);
        uint64_t here = trace_reader_trace_bytes(copy);
        assert_true(n == 0 || here >= stored[mark.low]);
        assert_true(n == 0 || mark.at <= now);
        assert_true(n == 0 || memcmp(mark.uuid, run_id, sizeof run_id) == 0);
        if (n == 0)
            mark.low = -1;
    } while (mark.low < least);
    return mark.low;
}

/* A watermark says which bytes are there: no mirror has it before them. */
TEST(watermarks_come_when_all_is_there_that_they_promise)
{
    enum { ROUNDS = 40 };
    static const char *const once[] = {"--once", NULL};
    struct served s = begin_run((struct store_keep){0});
    struct watermarks *w;
    struct watermark mark = {.low = 0};
    uint64_t stored[ROUNDS + 1];
    char path[sizeof copy + 16];
    assert_int_equal(watermarks_open(run, &w), 0);
    int place = watermarks_add(w);
    memcpy(mark.uuid, run_id, sizeof run_id);
    serve(&s, "tcp://127.0.0.1:*", NULL);
    pid_t pid = mirror(s.server.endpoint, NULL);
    for (int i = 0; i <= ROUNDS; i++) {
        grow(&s, 20);
        stored[i] = trace_reader_trace_bytes(run);
        mark.low = i;
        mark.at = clock_now();
        watermarks_put(w, place, &mark);
        (void)await_low(i % 10 == 0 ? i - 1 : -1, stored);
    }
    mark.low = WATERMARK_LEFT;
    assert_int_equal(await_low(ROUNDS, stored), ROUNDS);
    watermarks_put(w, place, &mark);
    struct watermark got = {.low = 0};
    int64_t deadline = clock_now() + PATIENCE;
    while (watermarks_read(copy, &got, 1) != 1 || got.low != WATERMARK_LEFT)
        assert_true(clock_now() < deadline);
    watermarks_close(w);
    end_run(&s);
    assert_int_equal(wait_for(pid), EXIT_OK);
    snprintf(path, sizeof path, "%s/watermarks", copy);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(wait_for(mirror(s.server.endpoint, once)), EXIT_OK);
    assert_complete();
    stop(&s);
}

/* ---- kills and cuts ---------------------------------------------------------------------------------------------- */

TEST(kills_of_either_side_cost_nothing)
{
    struct served s = begin_run((struct store_keep){0});
    char endpoint[sizeof s.server.endpoint];
    struct mirror_look look;
    serve(&s, "tcp://127.0.0.1:*", NULL);
    memcpy(endpoint, s.server.endpoint, sizeof endpoint);
    for (unsigned i = 0; i < 4; i++) {
        pid_t pid = mirror(endpoint, NULL);
        grow(&s, 10);
        if (i > 0) /* the first one is killed wherever it is */
            await_caught_up();
        assert_int_equal(end(pid, SIGKILL), -SIGKILL);
        mirror_state_look(copy, &look);
        assert_true(i == 0 || (look.partial && look.stale));
        (void)verify(copy);
    }
    pid_t pid = mirror(endpoint, NULL);
    await_caught_up();
    (void)serve_process_end(&s.server, SIGKILL);
    grow(&s, 10);
    serve(&s, endpoint, NULL);
    await_caught_up();
    end_run(&s);
    assert_int_equal(wait_for(pid), EXIT_OK);
    assert_complete();
    stop(&s);
}

TEST(a_link_that_is_cut_is_mended)
{
    struct proxy proxy;
    char endpoint[64];
    assert_true(proxy_start(&proxy, "127.0.0.1", 1, false, 1)); /* before the lock, which it would hold, too */
    struct served s = begin_run((struct store_keep){0});
    serve(&s, "tcp://127.0.0.1:*", NULL);
    assert_true(proxy_lead(&proxy, (uint16_t)atoi(strrchr(s.server.endpoint, ':') + 1)));
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%u", proxy.port);
    pid_t pid = mirror(endpoint, NULL);
    for (unsigned i = 0; i < 5; i++) {
        grow(&s, 20);
        if (i % 2 == 0) /* else it is cut wherever it is */
            await_caught_up();
        assert_true(proxy_cut(&proxy));
    }
    end_run(&s);
    assert_int_equal(wait_for(pid), EXIT_OK);
    assert_complete();
    proxy_stop(&proxy);
    stop(&s);
}

/* A collector that was killed has left a torn packet; the next one cuts it off, and goes on. */
TEST(a_killed_collector_s_run_is_mirrored_as_it_is_recovered)
{
    struct served s = begin_run((struct store_keep){0});
    char path[sizeof run + 64];
    serve(&s, "tcp://127.0.0.1:*", NULL);
    pid_t pid = mirror(s.server.endpoint, NULL);
    await_caught_up();
    stored_drop(&s.stored);
    snprintf(path, sizeof path, "%s/trace/desk/client-101-0", run);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(write(fd, "\xc1\xfc\x1f\xc1 torn", 9), 9);
    close(fd);
    s.stored = (struct stored_run){.sensor = NULL};
    assert_int_equal(stored_start(&s.stored, run, s.sensor, STORE_SYNC_NEVER), 0);
    grow(&s, 5);
    await_caught_up();
    end_run(&s);
    assert_int_equal(wait_for(pid), EXIT_OK);
    assert_complete();
    stop(&s);
}

/* A disk of a few pages, for this process and those that it becomes. */
static bool mount_small_disk(void)
{
    return namespaces_enter() && mount("tmpfs", copy, "tmpfs", 0, "size=512k") == 0;
}

/* Whether a process can mount the disk: in a chroot, "/" is no mount that could be made private. */
static bool has_small_disk(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(!mount_small_disk());
    return wait_for(child) == 0;
}

/* Gives the disk of process `pid` more room. */
static bool enlarge_disk(pid_t pid)
{
    char path[64];
    pid_t child = fork();
    if (child == 0) {
        snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        bool done =
            fd >= 0 && setns(fd, CLONE_NEWNS) == 0 && mount("tmpfs", copy, "tmpfs", MS_REMOUNT, "size=64m") == 0;
        _exit(!done);
    }
    return wait_for(child) == 0;
}

static bool has_said(const char *text)
{
    char *all;
    size_t n;
    bool has = file_read(said, 1 << 20, &all, &n) == 0 && strstr(all, text);
    free(all);
    return has;
}

TEST(a_full_disk_is_waited_for)
{
    struct served s = begin_run((struct store_keep){0});
    int64_t deadline = clock_now() + PATIENCE;
    int status;
    for (int i = 0; i < 20; i++)
        grow(&s, 20);
    end_run(&s);
    assert_int_equal(file_make_dirs(copy, 0700), 0);
    if (geteuid() != 0 || !has_small_disk()) { /* who has other rights in a namespace cannot enter it from here */
        print_message("skipped: not root, or no disk can be mounted here\n");
        stop(&s);
        return;
    }
    serve(&s, "tcp://127.0.0.1:*", NULL);
    on_disk = mount_small_disk;
    pid_t pid = mirror(s.server.endpoint, NULL);
    on_disk = NULL;
    while (!has_said("BEZEL-MIRROR-FULL") && waitpid(pid, &status, WNOHANG) == 0) {
        assert_true(clock_now() < deadline);
        clock_sleep_until(clock_now() + 5 * CLOCK_MS);
    }
    assert_said("BEZEL-MIRROR-FULL");
    assert_true(enlarge_disk(pid));
    assert_int_equal(wait_for(pid), EXIT_OK);
    assert_said("the run is over, and all of it is here");
    stop(&s);
}

/* ---- damage, and what expires ------------------------------------------------------------------------------------ */

TEST(a_damaged_stream_is_there_up_to_the_damage_and_said_so)
{
    struct served s = begin_run((struct store_keep){0});
    struct mirror_look look;
    struct mirror_state is;
    char path[sizeof run + 64];
    end_run(&s);
    snprintf(path, sizeof path, "%s/trace/desk/client-101-1", run);
    size_t at = s.sensor->processes[0]->rings[1].starts[7];
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "damage", 6, (off_t)at), 6);
    close(fd);
    serve(&s, "tcp://127.0.0.1:*", NULL);
    assert_int_equal(wait_for(mirror(s.server.endpoint, NULL)), EXIT_OK);
    assert_said("client-101-1");
    assert_int_equal(mirror_state_read(copy, &is), 1);
    assert_int_equal(is.is, MIRROR_COMPLETE);
    assert_int_equal(is.lacking, 1);
    mirror_state_look(copy, &look);
    assert_non_null(strstr(look.text, "lacks a part of 1 file"));
    assert_int_equal(verify(copy), VERIFY_DAMAGED);
    struct stat st;
    snprintf(path, sizeof path, "%s/trace/desk/client-101-1", copy);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, at);
    stop(&s);
}

/* Whether both files of a stream begin with the same cover. */
static bool has_same_cover(const char *name)
{
    char path[sizeof run + 64];
    struct cover there, here;
    uint8_t header[2][PACKET_HEADER_BYTES] = {{0}, {0}};
    snprintf(path, sizeof path, "%s/%s", run, name);
    assert_int_equal(cover_check(path, &there), 1);
    snprintf(path, sizeof path, "%s/%s", copy, name);
    if (cover_check(path, &here) != 1)
        return false;
    packet_put_cover(header[0], &there.header, there.records);
    packet_put_cover(header[1], &here.header, here.records);
    return memcmp(header[0], header[1], sizeof header[0]) == 0;
}

TEST(what_expires_there_becomes_the_same_hole_here)
{
    struct served s = begin_run((struct store_keep){.bytes = 256 << 10});
    serve(&s, "tcp://127.0.0.1:*", NULL);
    pid_t pid = mirror(s.server.endpoint, NULL);
    for (unsigned i = 0; i < 40; i++)
        grow(&s, 20);
    end_run(&s);
    assert_int_equal(wait_for(pid), EXIT_OK);
    assert_true(has_same_cover("trace/desk/client-101-0"));
    assert_int_equal(verify(copy), VERIFY_COMPLETE);
    (void)!file_remove_tree(copy);
    assert_int_equal(wait_for(mirror(s.server.endpoint, NULL)), EXIT_OK); /* one that comes later */
    assert_int_equal(verify(copy), VERIFY_COMPLETE);
    stop(&s);
}

/* A file system's clock goes in ticks: what expires in that of the last record leaves time and size as they were. */
TEST(what_expires_in_one_tick_with_a_record_does_too)
{
    struct served s = begin_run((struct store_keep){.bytes = 8 << 20});
    static const char name[] = "trace/desk/client-101-0";
    char path[sizeof run + 64];
    struct stat st;
    serve(&s, "tcp://127.0.0.1:*", NULL);
    pid_t pid = mirror(s.server.endpoint, NULL);
    snprintf(path, sizeof path, "%s/%s", run, name);
    for (unsigned i = 0; i < 40; i++)
        grow(&s, 20);
    await_caught_up();
    kill(s.server.pid, SIGSTOP);
    assert_int_equal(stat(path, &st), 0);
    s.stored.keep.to.bytes = 256 << 10;
    s.stored.keep.due_bytes = 0;
    stored_keep(&s.stored);
    end_run(&s);
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){st.st_atim, st.st_mtim}, 0), 0);
    kill(s.server.pid, SIGCONT);
    assert_int_equal(wait_for(pid), EXIT_OK);
    assert_true(has_same_cover(name));
    assert_int_equal(verify(copy), VERIFY_COMPLETE);
    stop(&s);
}

/* ---- who is refused ---------------------------------------------------------------------------------------------- */

TEST(a_directory_has_one_mirror_of_one_run)
{
    struct served s = begin_run((struct store_keep){0});
    char path[sizeof copy + 16];
    assert_int_equal(rundb_put(s.stored.rundb, "run", "6f1c0d3e-2b1a-4c5d-8e7f-0123456789ab"), 0);
    assert_int_equal(rundb_commit(s.stored.rundb), 0);
    serve(&s, "tcp://127.0.0.1:*", NULL);
    assert_int_equal(file_make_dirs(copy, 0700), 0);
    snprintf(path, sizeof path, "%s/run.db", copy);
    assert_int_equal(file_replace(path, "mine", 4), 0);
    assert_int_equal(wait_for(mirror(s.server.endpoint, NULL)), EXIT_USAGE);
    assert_said("is no mirror, and holds something else");
    assert_int_equal(unlink(path), 0);
    pid_t pid = mirror(s.server.endpoint, NULL);
    await_caught_up();
    assert_int_equal(wait_for(mirror(s.server.endpoint, NULL)), EXIT_USAGE);
    assert_said("another 'bezel mirror' fills this directory");
    assert_int_equal(end(pid, SIGINT), EXIT_OK);
    assert_int_equal(rundb_put(s.stored.rundb, "run", "00000000-2b1a-4c5d-8e7f-0123456789ab"), 0);
    assert_int_equal(rundb_commit(s.stored.rundb), 0);
    assert_int_equal(wait_for(mirror(s.server.endpoint, NULL)), EXIT_USAGE);
    assert_said("is a mirror of run 6f1c0d3e");
    end_run(&s);
    stop(&s);
}

TEST(of_a_server_that_has_never_answered_it_is_said)
{
    struct mirror_look look;
    (void)!file_remove_tree(copy);
    pid_t pid = mirror("ipc:///dev/null/nobody", NULL);
    await(MIRROR_BEGUN, 0);
    mirror_state_look(copy, &look);
    assert_non_null(strstr(look.text, "the server has not answered since 20"));
    int code = end(pid, SIGHUP);
    assert_true(code == EXIT_OK || code == EXIT_UNREACHABLE); /* where it had given up by itself */
    mirror_state_look(copy, &look);
    assert_non_null(strstr(look.text, "nothing fills it any more, and its server had not answered since 20"));
}

TEST(a_mirror_needs_the_role_read_or_control)
{
    struct served s = begin_run((struct store_keep){0});
    char key[sizeof keys + 16];
    const char *const with[] = {"--keys", keys, "--key", key, NULL};
    const char *args[] = {"--keys", keys, "--key", "reader", NULL};
    key_pair_new(keys, "collector", KEY_OBSERVE);
    key_pair_new(keys, "reader", KEY_READ);
    key_pair_new(keys, "operator", KEY_CONTROL);
    key_pair_new(keys, "desk1", KEY_OBSERVE);
    snprintf(key, sizeof key, "%s/collector.key", keys);
    serve(&s, "tcp://127.0.0.1:*", with);
    end_run(&s);
    args[3] = "desk1";
    assert_int_equal(wait_for(mirror(s.server.endpoint, args)), EXIT_FAILED);
    assert_said("your key does not have the role read here");
    args[3] = "reader";
    assert_int_equal(wait_for(mirror(s.server.endpoint, args)), EXIT_OK);
    assert_complete();
    (void)!file_remove_tree(copy);
    args[3] = "operator";
    assert_int_equal(wait_for(mirror(s.server.endpoint, args)), EXIT_OK);
    assert_complete();
    stop(&s);
}

static int begin(void **state)
{
    int err = scratch_begin(state);
    snprintf(run, sizeof run, "%s/run", scratch_dir);
    snprintf(copy, sizeof copy, "%s/copy", scratch_dir);
    snprintf(keys, sizeof keys, "%s/keys", scratch_dir);
    snprintf(said, sizeof said, "%s/said", scratch_dir);
    return err ? err : file_make_dirs(keys, 0700);
}

int main(void)
{
    if (!link_has_keys()) {
        puts("skipped: this libzmq has no CURVE");
        return 77;
    }
    return test_run(begin, scratch_end);
}
