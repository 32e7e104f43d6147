// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/launched.h"
#include "bezeld/launch/ports.h"
#include "mdr/parts.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static struct message_launched_list list;

static struct message_start start_of(unsigned i, uint32_t incarnation)
{
    struct message_start of = {.incarnation = incarnation};
    snprintf(of.process, sizeof of.process, "program.%u", i);
    return of;
}

static struct job *begin(struct launched *all, unsigned i, uint32_t incarnation, pid_t pid)
{
    struct message_start of = start_of(i, incarnation);
    struct job *job = launched_add(all, &of);
    assert_non_null(job);
    launched_begin(all, job, &(struct spawned){.pid = pid}, 0, 5);
    return job;
}

/* Who asks for what has changed since the last answer hears of every change, of each program its last state, and then
 * of nothing. */
TEST(changes_are_listed_once_and_in_order)
{
    enum { PROGRAMS = 3 * MESSAGE_LAUNCHED_MAX / 2 };
    struct launched all;
    struct rusage usage = {.ru_utime = {1, 500000}, .ru_stime = {0, 250000}, .ru_maxrss = 3};
    assert_int_equal(launched_init(&all, -1), 0);
    for (unsigned i = 0; i < PROGRAMS; i++)
        begin(&all, i, 1, (pid_t)(1000 + i));
    launched_list(&all, 0, &list);
    assert_int_equal(list.count, MESSAGE_LAUNCHED_MAX);
    assert_true(list.more && !list.empty);
    assert_string_equal(list.rows[7].of.process, "program.7");
    uint64_t since = list.change;
    launched_end(&all, 1007, 0x300, &usage, 9); /* one of those that were listed */
    launched_end(&all, 1, 0, &usage, 9);        /* none of them */
    launched_list(&all, since, &list);
    assert_int_equal(list.count, PROGRAMS - MESSAGE_LAUNCHED_MAX + 1);
    assert_false(list.more);
    const struct message_launched *last = &list.rows[list.count - 1];
    assert_string_equal(last->of.process, "program.7");
    assert_int_equal(last->state, LAUNCHED_ENDED);
    assert_int_equal(last->status, 0x300);
    assert_int_equal(last->user_ns, 1500000000);
    assert_int_equal(last->system_ns, 250000000);
    assert_int_equal(last->memory, 3072);
    assert_int_equal(last->ended - last->started, 4);
    launched_list(&all, list.change, &list);
    assert_int_equal(list.count, 0);
    launched_note_silence(&all);
    launched_end(&all, 1008, 0, &usage, 9);
    launched_list(&all, list.change, &list);
    assert_string_equal(list.rows[0].stage, MESSAGE_STAGE_SILENCE);
    assert_string_equal(launched_find(&all, &(struct message_start){"program.7", 1})->row.stage, "");
    launched_note_left(&all, 3);
    launched_note_empty(&all);
    since = list.change;
    launched_list(&all, since, &list);
    assert_true(list.empty && list.change > since);
    assert_int_equal(list.left, 3);
    assert_int_equal(list.count, 0);
    launched_free(&all);
}

TEST(an_incarnation_is_started_once_and_after_the_one_before)
{
    struct launched all;
    struct rusage usage = {.ru_maxrss = 1};
    struct message_start first = start_of(0, 1), second = start_of(0, 2), other = start_of(1, 1);
    assert_int_equal(launched_init(&all, -1), 0);
    assert_null(launched_forbids(&all, &first));
    struct job *job = begin(&all, 0, 1, 77);
    assert_ptr_equal(launched_find(&all, &first), job);
    assert_null(launched_find(&all, &second));
    assert_non_null(strstr(launched_forbids(&all, &second), "still runs"));
    assert_null(launched_forbids(&all, &other));
    assert_true(launched_runs(&all));
    launched_end(&all, 77, 0, &usage, 1);
    assert_false(launched_runs(&all));
    assert_null(launched_forbids(&all, &second));
    begin(&all, 0, 3, 78);
    launched_end(&all, 78, 0, &usage, 1);
    assert_non_null(strstr(launched_forbids(&all, &second), "later"));
    launched_free(&all);
}

/* What a killed launcher left says what it had started. Other files say nothing. */
TEST(what_an_earlier_launcher_started_is_known)
{
    static const char *const names[] = {"a.b.12.out", "x.1.out", "lock",     ".1.out",
                                        "x.0.out",    "x.y.out", "x.1.outx", "x.99999999999.out"};
    char path[SCRATCH_PATH + 64];
    struct launched all;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", scratch_dir, names[i]);
        int fd = open(path, O_WRONLY | O_CREAT, 0600);
        assert_int_equal(write(fd, "hello\n", 6), 6);
        close(fd);
    }
    snprintf(path, sizeof path, "%s/dir.1.out", scratch_dir);
    assert_int_equal(mkdir(path, 0700), 0);
    int folder = open(scratch_dir, O_RDONLY | O_DIRECTORY);
    assert_int_equal(launched_init(&all, -1), 0);
    for (unsigned i = 0; i < 100; i++)
        begin(&all, i, 1, (pid_t)(1000 + i));
    uint64_t told = all.change;
    launched_free(&all);
    assert_int_equal(launched_init(&all, folder), 0);
    struct message_start of = {"a.b", 12}, x = {"x", 1};
    const struct job *job = launched_find(&all, &of);
    assert_non_null(job);
    assert_int_equal(job->row.state, LAUNCHED_LOST);
    assert_int_equal(job->row.output, 6);
    assert_non_null(launched_find(&all, &x));
    launched_list(&all, told, &list); /* to whom the killed one has told all */
    assert_in_range(list.count, 2, 3);
    launched_list(&all, UINT64_MAX, &list); /* the same, before the last boot */
    assert_in_range(list.count, 2, 3);
    assert_in_range(all.count, 2, 3); /* with the folder */
    launched_free(&all);
    close(folder);
}

/* Opens a socket of `type` at a port that the kernel chooses. */
static int listen_at(int family, int type, uint32_t *port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(family, type, 0);
    int bound = family == AF_INET ? bind(fd, (struct sockaddr *)&four, sizeof four)
                                  : bind(fd, (struct sockaddr *)&six, sizeof six);
    if (fd < 0 || bound != 0)
        return close(fd), -1; /* a machine without IPv6 */
    socklen_t n = sizeof six;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&six, &n), 0);
    *port = ntohs(six.sin6_port); /* at the same place as sin_port */
    return fd;
}

TEST(ports_are_those_at_which_somebody_listens)
{
    static struct ports ports;
    static const int families[] = {AF_INET, AF_INET6}, types[] = {SOCK_STREAM, SOCK_DGRAM};
    for (int f = 0; f < 2; f++)
        for (int t = 0; t < 2; t++) {
            uint32_t port = 0;
            int fd = listen_at(families[f], types[t], &port);
            if (fd < 0)
                continue;
            ports_read(&ports);
            assert_int_equal(ports_has(&ports, port), types[t] == SOCK_DGRAM); /* bound, and not listening yet */
            if (types[t] == SOCK_STREAM)
                assert_int_equal(listen(fd, 1), 0);
            ports_read(&ports);
            assert_true(ports_has(&ports, port));
            close(fd);
        }
    assert_false(ports_has(&ports, 65536));
}

int main(void)
{
    return test_run(scratch_begin, scratch_end);
}
