// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A client and its server, which record what they do: `replier asker FOLDER COUNT` sends COUNT questions through two
 * fifos in FOLDER, each when the answer to the one before has come; `replier answerer FOLDER [LONG]` answers them.
 * Most answers take 0.1 ms of CPU time, every 20th 30 ms, or LONG us, in span `encode`.
 */
#include <bezel/sensor.h>

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

BEZEL_SENT(question);
BEZEL_RECEIVED(questioned);
BEZEL_SENT(answer);
BEZEL_RECEIVED(answered);
BEZEL_SPAN(request, (int64, number, "1"));
BEZEL_SPAN(encode, (int64, number, "1"));

static int64_t cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void work(int64_t ns)
{
    for (int64_t until = cpu_time() + ns; cpu_time() < until;)
        ;
}

static int open_fifo(const char *folder, const char *name, int flags)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)mkfifo(path, 0600);
    return open(path, flags);
}

static void ask(int to, int from, long count)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    bezel_string peer = bezel_intern("answerer");
    for (int64_t number = 1, back; number <= count; number++, nanosleep(&pause, NULL)) {
        bezel_span s = bezel_begin(request);
        bezel_sent(question, peer, number);
        if (write(to, &number, sizeof number) != sizeof number || read(from, &back, sizeof back) != sizeof back)
            return;
        bezel_received(answered, peer, back);
        bezel_end(request, s, number);
    }
}

static void answer_all(int from, int to, int64_t longest)
{
    bezel_string peer = bezel_intern("asker");
    for (int64_t number; read(from, &number, sizeof number) == sizeof number;) {
        bezel_received(questioned, peer, number);
        bezel_span s = bezel_begin(encode);
        work(number % 20 == 0 ? longest : 100000);
        bezel_end(encode, s, number);
        bezel_sent(answer, peer, number);
        if (write(to, &number, sizeof number) != sizeof number)
            return;
    }
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int asks = strcmp(argv[1], "asker") == 0;
    int questions = open_fifo(argv[2], "questions", asks ? O_WRONLY : O_RDONLY);
    int answers = open_fifo(argv[2], "answers", asks ? O_RDONLY : O_WRONLY);
    if (questions < 0 || answers < 0)
        return 3;
    if (asks)
        ask(questions, answers, argc > 3 ? strtol(argv[3], NULL, 10) : 100);
    else
        answer_all(questions, answers, 1000 * (argc > 3 ? strtol(argv[3], NULL, 10) : 30000));
    return 0;
}
