// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A client and its server, which record what they do: `replier asker FOLDER COUNT [TROUBLE US]` sends COUNT questions
 * through two fifos in FOLDER, each when the answer to the one before has come; `replier answerer FOLDER [LONG [TROUBLE
 * US]]` answers them. Most answers take 0.1 ms of CPU time, every 20th 30 ms, or LONG us, in span `encode`. At every
 * 20th question the one that has a TROUBLE has it for US:
 *
 * render: it works, in span `render`. touch: the same in span `touch`, on new memory. rest: it sleeps, which it says.
 * lock: it waits for a lock, in which its thread `holder` works, in span `hold`. stopped: process `stopper` stops it.
 * stolen: process `culprit` works on its CPU. Both processes have a higher priority, which needs the right to that.
 *
 * `replier wire FOLDER US` passes questions on, every 20th US later, to an answerer that reads them `wired` (TROUBLE).
 */
#include <bezel/sensor.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

BEZEL_SENT(question);
BEZEL_RECEIVED(questioned);
BEZEL_SENT(answer);
BEZEL_RECEIVED(answered);
BEZEL_SPAN(request, (int64, number, "1"));
BEZEL_SPAN(encode, (int64, number, "1"));
BEZEL_SPAN(render);
BEZEL_SPAN(touch);
BEZEL_SPAN(hold);
BEZEL_WAIT(rest, timer);
BEZEL_WAIT(free_again, lock);

enum { EVERY = 20 };

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

static void pause_for(int64_t ns)
{
    nanosleep(&(struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}, NULL);
}

/* ---- troubles ---------------------------------------------------------------------------------------------------- */

static int64_t trouble_ns;

static void be_busy(void)
{
    bezel_span s = bezel_begin(render);
    work(trouble_ns);
    bezel_end(render, s);
}

static void touch_memory(void)
{
    enum { SIZE = 1 << 20 };
    bezel_span s = bezel_begin(touch);
    for (int64_t until = cpu_time() + trouble_ns; cpu_time() < until;) {
        volatile char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (long i = 0; memory != MAP_FAILED && i < SIZE && cpu_time() < until; i += 4096)
            memory[i] = 1;
        munmap((void *)memory, SIZE);
    }
    bezel_end(touch, s);
}

static void have_a_rest(void)
{
    bezel_span s = bezel_begin(rest);
    pause_for(trouble_ns);
    bezel_end(rest, s);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t wanted, held;

static void *hold_lock(void *unused)
{
    prctl(PR_SET_NAME, "holder");
    (void)bezel_thread_init(0); /* what a thread did is known from its first record on, or from here */
    while (sem_wait(&wanted) == 0) {
        pthread_mutex_lock(&lock);
        sem_post(&held);
        bezel_span s = bezel_begin(hold);
        work(trouble_ns);
        bezel_end(hold, s);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void wait_for_lock(void)
{
    sem_post(&wanted);
    sem_wait(&held);
    bezel_span s = bezel_begin(free_again);
    pthread_mutex_lock(&lock);
    bezel_end(free_again, s);
    pthread_mutex_unlock(&lock);
}

static int other[2]; /* a pipe to the process that makes the trouble */

static void ask_other(void)
{
    if (write(other[1], "", 1) != 1)
        exit(4);
}

static void be_stopper(void)
{
    pause_for(500000); /* the one that asked goes on meanwhile */
    kill(getppid(), SIGSTOP);
    pause_for(trouble_ns);
    kill(getppid(), SIGCONT);
}

static void be_culprit(void)
{
    work(trouble_ns);
}

/* It works until it has been stopped. */
static void be_stopped(void)
{
    ask_other();
    work(1000000);
}

static const struct trouble {
    const char *name;
    void (*have)(void);
    const char *other; /* a process that makes it; NULL: none does */
    void (*make)(void);
} troubles[] = {{"render", be_busy, NULL, NULL},
                {"touch", touch_memory, NULL, NULL},
                {"rest", have_a_rest, NULL, NULL},
                {"lock", wait_for_lock, NULL, NULL},
                {"stopped", be_stopped, "stopper", be_stopper},
                {"stolen", ask_other, "culprit", be_culprit}};

static const struct trouble *has;

static void start_other(const struct trouble *t)
{
    pid_t self = getpid();
    char c;
    if (pipe(other) != 0)
        exit(4);
    if (fork() != 0)
        return;
    prctl(PR_SET_NAME, t->other);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 60}) != 0)
        _exit(4);
    close(other[1]);
    while (getppid() == self && read(other[0], &c, 1) == 1)
        t->make();
    _exit(0);
}

static void look_for_trouble(const char *name, const char *us)
{
    pthread_t holder;
    for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++)
        if (strcmp(troubles[i].name, name) == 0)
            has = &troubles[i];
    trouble_ns = 1000 * strtoll(us, NULL, 10);
    has = trouble_ns > 0 ? has : NULL;
    if (has && has->have == wait_for_lock && pthread_create(&holder, NULL, hold_lock, NULL) != 0)
        exit(4);
    if (has && has->other)
        start_other(has);
}

static void have_trouble(int64_t number)
{
    if (has && number % EVERY == 0)
        has->have();
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static int open_fifo(const char *folder, const char *name, int flags)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)mkfifo(path, 0600);
    return open(path, flags);
}

static void ask(int to, int from, long count)
{
    bezel_string peer = bezel_intern("answerer");
    for (int64_t number = 1, back; number <= count; number++, pause_for(1000000)) {
        bezel_span s = bezel_begin(request);
        bezel_sent(question, peer, number);
        if (write(to, &number, sizeof number) != sizeof number || read(from, &back, sizeof back) != sizeof back)
            return;
        bezel_received(answered, peer, back);
        have_trouble(number);
        bezel_end(request, s, number);
    }
}

static void answer_all(int from, int to, int64_t longest)
{
    bezel_string peer = bezel_intern("asker");
    for (int64_t number; read(from, &number, sizeof number) == sizeof number;) {
        bezel_received(questioned, peer, number);
        bezel_span s = bezel_begin(encode);
        work(number % EVERY == 0 ? longest : 100000);
        bezel_end(encode, s, number);
        have_trouble(number);
        bezel_sent(answer, peer, number);
        if (write(to, &number, sizeof number) != sizeof number)
            return;
    }
}

static void pass_on(int from, int to, int64_t late)
{
    for (int64_t number; read(from, &number, sizeof number) == sizeof number;) {
        if (number % EVERY == 0)
            pause_for(late);
        if (write(to, &number, sizeof number) != sizeof number)
            return;
    }
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    bool asks = strcmp(argv[1], "asker") == 0, passes = strcmp(argv[1], "wire") == 0;
    if (argc > 5)
        look_for_trouble(argv[4], argv[5]);
    const char *in = argc > 4 && strcmp(argv[4], "wired") == 0 ? "wired" : "questions";
    int64_t number = argc > 3 ? strtol(argv[3], NULL, 10) : asks ? 100 : 30000;
    int questions = open_fifo(argv[2], in, asks ? O_WRONLY : O_RDONLY);
    int answers = open_fifo(argv[2], passes ? "wired" : "answers", asks ? O_RDONLY : O_WRONLY);
    if (questions < 0 || answers < 0)
        return 3;
    if (asks)
        ask(questions, answers, number);
    else if (passes)
        pass_on(questions, answers, 1000 * number);
    else
        answer_all(questions, answers, 1000 * number);
    return 0;
}
