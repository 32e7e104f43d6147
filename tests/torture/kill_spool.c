// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A spool whose owner is killed at and within any of its writes, many lives in a row: what was appended is there,
 * whole, once and in order, and what was freed is gone. Bytes that change on the disk cost what stands from there on,
 * and never bring anything back that was not written.
 */
#include "mdr/uplink/spool.h"
#include "mdr/uplink/window.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"
#include "tests/lib/told_packet.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PACKET_MOST = 3000 };

static const uint8_t run[16] = "this run", uuid[16] = "this trace", other[16] = "another";
static uint64_t seed;

/* ---- Writes that end in the middle ------------------------------------------------------------------------------- */

static uint64_t writes_left;             /* 0: no end */
static uint64_t last_bytes = UINT64_MAX; /* that the last one does; UINT64_MAX: it is drawn */

ssize_t __real_pwritev64(int fd, const struct iovec *parts, int count, off64_t at);
ssize_t __wrap_pwritev64(int fd, const struct iovec *parts, int count, off64_t at);

/* The last write of a life does some of its work, from the front. */
ssize_t __wrap_pwritev64(int fd, const struct iovec *parts, int count, off64_t at)
{
    if (writes_left == 0 || --writes_left > 0)
        return __real_pwritev64(fd, parts, count, at);
    size_t whole = 0;
    for (int i = 0; i < count; i++)
        whole += parts[i].iov_len;
    size_t left = last_bytes == UINT64_MAX ? seed_next(&seed) % (whole + 1) : last_bytes < whole ? last_bytes : whole;
    for (int i = 0; left > 0; i++) {
        struct iovec part = {parts[i].iov_base, left < parts[i].iov_len ? left : parts[i].iov_len};
        (void)!__real_pwritev64(fd, &part, 1, at);
        at += (off64_t)part.iov_len;
        left -= part.iov_len;
    }
    _exit(0);
}

/* ---- Packets that can be told ------------------------------------------------------------------------------------ */

/* What the spool holds: numbers, into `list`. Every packet is whole. */
static uint64_t list_all(struct spool *s, uint64_t *list, uint64_t max)
{
    static uint8_t packet[WINDOW_PACKET_BYTES], expected[WINDOW_PACKET_BYTES];
    uint64_t count = 0, at = spool_oldest(s), peeked = at, first = 0;
    int n;
    while ((n = spool_read(s, &at, packet, sizeof packet)) > 0) {
        assert_true(count < max);
        memcpy(&list[count], packet, 8);
        assert_int_equal(n, told_packet(list[count], PACKET_MOST, expected));
        assert_memory_equal(packet, expected, (size_t)n);
        assert_int_equal(spool_peek(s, &peeked, &first, 8), 8);
        assert_int_equal(first, list[count++]);
        assert_int_equal(peeked, at);
    }
    assert_int_equal(n, 0);
    return count;
}

static struct spool *open_spool(struct spool_found *found)
{
    struct spool *s;
    assert_int_equal(spool_open(scratch_dir, run, uuid, SPOOL_BYTES_MIN, &s, found), 0);
    return s;
}

/* ---- Kills ------------------------------------------------------------------------------------------------------- */

/* What the victim says that it is about to do, and has done: packets appended, and freed. */
static struct notes {
    uint64_t append_begun, append_done, free_begun, free_done;
} * notes;

static void live(uint64_t writes)
{
    static uint8_t packet[WINDOW_PACKET_BYTES];
    struct spool_found found;
    struct spool *s;
    uint64_t next = notes->append_done, first = notes->free_done;
    writes_left = writes;
    if (spool_open(scratch_dir, run, uuid, SPOOL_BYTES_MIN, &s, &found) != 0)
        _exit(1);
    for (;;) {
        bool appends = seed_next(&seed) % 3 != 0;
        if (appends) {
            uint32_t n = told_packet(next, PACKET_MOST, packet);
            notes->append_begun = next + 1;
            int err = spool_append(s, packet, n);
            if (err == 0)
                notes->append_done = ++next;
            else
                notes->append_begun = next;
            if (err != 0 && err != BEZEL_EFULL)
                _exit(2);
            appends = err == 0;
        }
        if (!appends && next > first) {
            uint64_t at = spool_oldest(s), count = 1 + seed_next(&seed) % (next - first), more = count;
            while (more > 0 && spool_peek(s, &at, packet, 8) > 0)
                more--;
            notes->free_begun = first + count;
            if (more > 0 || spool_free(s, at) != 0)
                _exit(3);
            notes->free_done = first += count;
        }
    }
}

static void kill_once(uint64_t writes)
{
    pid_t pid = fork();
    if (pid == 0)
        live(writes);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Closing removes an empty one: it is put back, for it is what an empty one looks like. */
static void end_life(struct spool *s, bool empty)
{
    char path[128], kept[128];
    snprintf(path, sizeof path, "%s", spool_path(s));
    snprintf(kept, sizeof kept, "%s/kept", scratch_dir);
    assert_int_equal(link(path, kept), 0);
    spool_close(s);
    if (empty)
        assert_int_equal(rename(kept, path), 0); /* which does nothing where both are there */
    unlink(kept);
}

TEST_WITH(scratch_begin, scratch_end, whatever_write_it_is_killed_in_nothing_is_lost_or_doubled)
{
    static uint64_t list[SPOOL_BYTES_MIN / 32];
    uint64_t torn = 0;
    int restarts = getenv("BEZEL_TEST_LIGHT") ? 40 : 600;
    notes = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < restarts; i++) {
        uint64_t writes = 1 + seed_next(&seed) % (i % 10 ? 30 : 3000);
        kill_once(writes);
        struct spool_found found;
        struct spool *s = open_spool(&found);
        uint64_t count = list_all(s, list, SPOOL_BYTES_MIN / 32);
        assert_int_equal(found.damaged, 0);
        assert_int_equal(found.of_others, 0);
        assert_false(spool_is_doubtful(s));
        torn += found.torn;
        uint64_t first = count ? list[0] : notes->append_done;
        for (uint64_t n = 0; n < count; n++)
            assert_int_equal(list[n], first + n);
        if (count > 0) {
            assert_true(first == notes->free_done || first == notes->free_begun);
            assert_true(first + count == notes->append_done || first + count == notes->append_begun);
        } else {
            assert_true(notes->free_begun == notes->append_done || notes->append_done == 0);
            assert_int_equal(spool_written(s), spool_oldest(s)); /* nobody waits for what nobody gives back */
        }
        notes->append_begun = notes->append_done = first + count;
        notes->free_begun = notes->free_done = first;
        end_life(s, count == 0);
    }
    printf("%d lives, %llu torn entries, %llu packets\n", restarts, (unsigned long long)torn,
           (unsigned long long)notes->append_done);
    assert_true(torn > 0);
    munmap(notes, sizeof *notes);
}

/*
 * Where the last packet that was freed stood near the end of the file, the next one's write is two: what fills up the
 * end, and the packet. In between, the spool holds nothing.
 */
TEST_WITH(scratch_begin, scratch_end, one_that_holds_only_what_fills_up_its_end_is_empty)
{
    static uint8_t packet[WINDOW_PACKET_BYTES];
    struct spool_found found;
    struct spool *s;
    for (int writes = 1; writes <= 3; writes++) {
        pid_t pid = fork();
        if (pid == 0) {
            if (spool_open(scratch_dir, run, uuid, SPOOL_BYTES_MIN, &s, &found) != 0)
                _exit(1);
            while (spool_append(s, packet, 5000) == 0)
                ;
            if (spool_free(s, spool_written(s)) != 0)
                _exit(2);
            writes_left = (uint64_t)writes;
            memset(packet, 1, sizeof packet); /* a part of it and of what stood there before make no whole */
            (void)!spool_append(s, packet, 5000);
            _exit(writes == 3 ? 0 : 3);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        s = open_spool(&found);
        assert_int_equal(found.damaged, 0);
        uint64_t at = spool_oldest(s);
        int n = spool_read(s, &at, packet, sizeof packet);
        assert_true(n == 5000 || (n == 0 && writes < 3));
        assert_int_equal(found.packets, n > 0);
        if (n == 0)
            assert_int_equal(spool_written(s), spool_oldest(s));
        assert_int_equal(spool_append(s, packet, 5000), 0); /* it goes on from there */
        assert_int_equal(spool_read(s, &at, packet, sizeof packet), 5000);
        assert_int_equal(spool_free(s, at), 0);
        char path[128];
        snprintf(path, sizeof path, "%s", spool_path(s));
        spool_close(s);
        assert_int_equal(access(path, F_OK), -1);
    }
}

/* Opens it as `id`, and is killed in write number `write`, after `bytes` bytes of it. False: it was not that long. */
static bool open_and_die(const uint8_t id[16], uint64_t write, uint64_t bytes)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct spool_found found;
        struct spool *s;
        writes_left = write;
        last_bytes = bytes;
        (void)!spool_open(scratch_dir, id, uuid, SPOOL_BYTES_MIN, &s, &found);
        _exit(3);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 0;
}

/* A mark and a head. What they do not make a spool yet held nothing, so nothing of it can be lost. */
TEST_WITH(scratch_begin, scratch_end, killed_at_any_byte_while_it_is_made_it_is_a_new_one)
{
    static uint8_t packet[WINDOW_PACKET_BYTES];
    uint64_t write = 1;
    for (; open_and_die(run, write, 0); write++)
        for (uint64_t bytes = 0; bytes <= 80; bytes++) {
            struct spool_found found;
            assert_true(open_and_die(run, write, bytes));
            struct spool *s = open_spool(&found);
            assert_int_equal(found.packets + found.torn + found.damaged + found.of_others, 0);
            assert_false(spool_is_doubtful(s));
            assert_int_equal(spool_append(s, packet, 5000), 0);
            spool_discard(s);
        }
    assert_true(write > 2);
}

/* ---- Damage ------------------------------------------------------------------------------------------------------ */

static void append_numbers(struct spool *s, uint64_t from, uint64_t to)
{
    static uint8_t packet[WINDOW_PACKET_BYTES];
    for (uint64_t n = from; n < to; n++) {
        uint32_t bytes = told_packet(n, PACKET_MOST, packet);
        assert_int_equal(spool_append(s, packet, bytes), 0);
    }
}

TEST_WITH(scratch_begin, scratch_end, changed_bytes_cost_what_follows_and_bring_nothing_back)
{
    static uint64_t list[SPOOL_BYTES_MIN / 32];
    enum { FIRST = 40, SECOND = 1000000 };
    uint64_t told = 0;
    int rounds = getenv("BEZEL_TEST_LIGHT") ? 16 : 200;
    for (int i = 0; i < rounds; i++) {
        struct spool_found found;
        struct spool *s = open_spool(&found);
        append_numbers(s, 0, FIRST);
        uint64_t bytes = spool_written(s);
        char path[128];
        snprintf(path, sizeof path, "%s", spool_path(s));
        spool_close(s);
        int fd = open(path, O_RDWR);
        off_t at = 4096 + (off_t)(seed_next(&seed) % bytes);
        uint8_t was, flip = (uint8_t)(1 + seed_next(&seed) % 255);
        assert_int_equal(pread(fd, &was, 1, at), 1);
        was ^= flip;
        assert_int_equal(pwrite(fd, &was, 1, at), 1);
        close(fd);
        s = open_spool(&found);
        uint64_t left = list_all(s, list, SPOOL_BYTES_MIN / 32);
        assert_true(left <= FIRST); /* the padding behind an entry is nothing */
        for (uint64_t n = 0; n < left; n++)
            assert_int_equal(list[n], n);
        assert_true(left + 1 >= FIRST || found.damaged > 0);
        told += found.damaged > 0;
        bool doubtful = spool_is_doubtful(s);
        assert_int_equal(doubtful, found.damaged > 0);
        append_numbers(s, SECOND, SECOND + 5);
        spool_close(s);
        s = open_spool(&found);
        assert_int_equal(found.damaged, 0);
        assert_int_equal(spool_is_doubtful(s), doubtful); /* the one before may not have told anybody */
        assert_int_equal(list_all(s, list, SPOOL_BYTES_MIN / 32), left + 5);
        for (uint64_t n = 0; n < 5; n++)
            assert_int_equal(list[left + n], SECOND + n);
        assert_int_equal(spool_free(s, spool_written(s)), 0);
        spool_close(s);
        assert_int_equal(access(path, F_OK), doubtful ? 0 : -1);
        unlink(path);
    }
    assert_true(told > (uint64_t)rounds / 2);
}

/* A spool with packets, whose head the disk changes: nobody knows any more what is in it. */
static void leave_without_head(void)
{
    struct spool_found found;
    struct spool *s = open_spool(&found);
    append_numbers(s, 0, 40);
    uint8_t was;
    int fd = open(spool_path(s), O_RDWR);
    spool_close(s);
    assert_int_equal(pread(fd, &was, 1, 9), 1);
    was ^= 1;
    assert_int_equal(pwrite(fd, &was, 1, 9), 1);
    close(fd);
}

TEST_WITH(scratch_begin, scratch_end, killed_at_any_byte_while_it_is_made_from_a_lost_one_it_is_doubtful)
{
    enum { LONG = 4096 };
    const uint8_t *const ids[] = {run, other}; /* of that one, head and marks are whole */
    for (int i = 0; i < 2; i++) {
        uint64_t write = 1;
        for (bool more = true; more; write++)
            for (uint64_t bytes = 0; bytes <= LONG && more; bytes += bytes < 80 ? 1 : 251) {
                struct spool_found found;
                struct spool *s;
                if (i == 0) {
                    leave_without_head();
                } else {
                    s = open_spool(&found);
                    append_numbers(s, 0, 40);
                    spool_close(s);
                }
                more = open_and_die(ids[i], write, bytes);
                for (int life = 0; life < 2; life++) {
                    assert_int_equal(spool_open(scratch_dir, ids[i], uuid, SPOOL_BYTES_MIN, &s, &found), 0);
                    assert_int_equal(found.packets + found.torn + found.damaged, 0);
                    assert_true(spool_is_doubtful(s));
                    if (life == 0)
                        spool_close(s);
                }
                spool_discard(s);
            }
        assert_true(write > 4);
    }
}

/* ---- Bounds ------------------------------------------------------------------------------------------------------ */

TEST_WITH(scratch_begin, scratch_end, a_full_one_takes_nothing_more_and_takes_it_again_when_some_is_freed)
{
    static uint8_t packet[WINDOW_PACKET_BYTES];
    struct spool_found found;
    struct spool *s = open_spool(&found);
    uint64_t count = 0, at = 0;
    for (; spool_append(s, packet, 5000) == 0; count++)
        ;
    assert_int_equal(spool_append(s, packet, 5000), BEZEL_EFULL);
    assert_in_range(count * 5056, SPOOL_BYTES_MIN - 2 * 5056, SPOOL_BYTES_MIN);
    struct stat st;
    assert_int_equal(stat(spool_path(s), &st), 0);
    assert_true(st.st_size <= SPOOL_BYTES_MIN + 4096);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(spool_peek(s, &at, packet, 1), 1);
        assert_int_equal(spool_free(s, at), 0);
        (void)!spool_append(s, packet, 5000);
    }
    assert_int_equal(stat(spool_path(s), &st), 0);
    assert_true(st.st_size <= SPOOL_BYTES_MIN + 4096);
    at = spool_oldest(s);
    assert_int_equal(spool_read(s, &at, packet, 4999), BEZEL_EFULL);
    assert_int_equal(at, spool_oldest(s));
    assert_int_equal(spool_append(s, packet, 0), BEZEL_EINVAL);
    assert_int_equal(spool_append(s, packet, WINDOW_PACKET_BYTES + 1), BEZEL_EINVAL);
    assert_int_equal(spool_free(s, spool_written(s) + 1), 0); /* not ours to give */
    assert_int_equal(spool_free(s, spool_written(s)), 0);
    spool_close(s);
}

TEST_WITH(scratch_begin, scratch_end, a_full_disk_loses_nothing)
{
    static uint8_t packet[WINDOW_PACKET_BYTES];
    static uint64_t list[100];
    struct rlimit before, small = {.rlim_cur = 4096 + 50000};
    struct spool_found found;
    struct spool *s = open_spool(&found);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    append_numbers(s, 0, 3);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 0; i < 5; i++)
        assert_true(spool_append(s, packet, WINDOW_PACKET_BYTES) < 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(list_all(s, list, 100), 3);
    append_numbers(s, 3, 6);
    assert_int_equal(list_all(s, list, 100), 6);
    assert_int_equal(spool_free(s, spool_written(s)), 0);
    spool_close(s);
}

TEST_WITH(scratch_begin, scratch_end, a_spool_is_one_owners_and_one_traces)
{
    struct spool_found found;
    struct spool *s = open_spool(&found), *second;
    assert_int_equal(spool_open(scratch_dir, run, uuid, SPOOL_BYTES_MIN, &second, &found), BEZEL_EBUSY);
    append_numbers(s, 0, 3);
    char path[128], target[128];
    snprintf(path, sizeof path, "%s", spool_path(s));
    spool_close(s);
    assert_int_equal(spool_open(scratch_dir, other, uuid, SPOOL_BYTES_MIN, &s, &found), 0);
    assert_int_equal(found.of_others, 1);
    assert_int_equal(found.packets, 0);
    spool_discard(s);
    snprintf(target, sizeof target, "%s/target", scratch_dir);
    assert_int_equal(symlink(target, path), 0);
    assert_true(spool_open(scratch_dir, run, uuid, SPOOL_BYTES_MIN, &s, &found) < 0);
    assert_int_equal(access(target, F_OK), -1);
    assert_int_equal(unlink(path), 0);
    int fd = open(target, O_CREAT | O_RDWR, 0600);
    assert_true(fd >= 0 && link(target, path) == 0);
    close(fd);
    assert_int_equal(spool_open(scratch_dir, run, uuid, SPOOL_BYTES_MIN, &s, &found),
                     BEZEL_EPERM); /* it has another name too */
    unlink(path);
    unlink(target);
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* Makes the file look as if it had been written to `hours` ago. */
static void age(const char *path, int hours)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - hours * 3600 - 60}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A spool of trace `trace` in which three packets wait, with its home in `folder`; its bezeld was killed. */
static void leave(const uint8_t trace[16], const char *folder, char *path)
{
    struct spool_found found;
    struct spool *s;
    assert_int_equal(spool_open(scratch_dir, run, trace, SPOOL_BYTES_MIN, &s, &found), 0);
    assert_int_equal(spool_settle(s, folder), 0);
    append_numbers(s, 0, 3);
    snprintf(path, 128, "%s", spool_path(s));
    spool_close(s);
    assert_true(is_there(path));
}

TEST_WITH(scratch_begin, scratch_end, a_spool_goes_when_nobody_can_come_back_for_it)
{
    char folder[128], path[128], alien[160];
    uint64_t left;
    uint8_t trace[16];
    struct folder home;
    struct window *w;
    struct spool *s;
    struct spool_found found;
    snprintf(folder, sizeof folder, "%s/home", scratch_dir);
    snprintf(alien, sizeof alien, "%s/bezel-something.spool", scratch_dir);
    assert_int_equal(folder_make(folder, &home), 0);
    assert_int_equal(window_open(&home, run, uuid, WINDOW_BYTES_MIN, &w, &left), 0);
    memcpy(trace, uuid, sizeof trace);
    window_trace(w, 5, trace);
    close(open(alien, O_CREAT | O_WRONLY, 0600));
    age(alien, 100);

    leave(trace, folder, path); /* its window is there */
    age(path, 100);
    assert_int_equal(spool_clear(scratch_dir), 0);
    window_close(w, false);
    assert_int_equal(spool_clear(scratch_dir), 0);

    assert_int_equal(window_open(&home, run, uuid, WINDOW_BYTES_MIN, &w, &left), 0);
    window_close(w, true); /* now it is not */
    age(path, 0);
    utimensat(AT_FDCWD, path, NULL, 0);
    assert_int_equal(spool_clear(scratch_dir), 0); /* and was just now */
    age(path, 1);
    assert_int_equal(spool_open(scratch_dir, run, trace, SPOOL_BYTES_MIN, &s, &found), 0);
    age(path, 1);
    assert_int_equal(spool_clear(scratch_dir), 0); /* somebody has it */
    spool_close(s);
    age(path, 1);
    assert_int_equal(spool_clear(scratch_dir), 1);
    assert_false(is_there(path));

    leave(other, folder, path); /* another trace's window stands in its place */
    assert_int_equal(window_open(&home, run, uuid, WINDOW_BYTES_MIN, &w, &left), 0);
    age(path, 1);
    assert_int_equal(spool_clear(scratch_dir), 1);
    window_close(w, true);
    folder_close(&home);
    assert_true(is_there(alien)); /* what is no spool is nobody's to remove */
    assert_int_equal(unlink(alien), 0);
}

TEST_WITH(scratch_begin, scratch_end, a_spool_that_is_given_up_goes_with_all_in_it)
{
    struct spool_found found;
    struct spool *s = open_spool(&found);
    char path[128];
    append_numbers(s, 0, 3);
    snprintf(path, sizeof path, "%s", spool_path(s));
    spool_discard(s);
    assert_false(is_there(path));
    spool_discard(NULL);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
