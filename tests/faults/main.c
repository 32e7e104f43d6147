// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Tries faults and prints the table: see `faults --help`. Each fault is a process of its own with a seed of its own,
 * made of the printed one and its name: it can be repeated alone.
 */
#include "base/hash.h"
#include "run/rundb/rundb.h"
#include "tests/faults/faults.h"
#include "tests/lib/patience.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
    "Usage: faults [--long] [--rounds N] [--jobs N] [--group NAME] [--both] [--list] [PATTERN...]\n"
    "\n"
    "Tries the faults whose names match a PATTERN (of the shell; default: all) and prints what became of the records.\n"
    "\n"
    "  --long       many rounds of each fault, not few\n"
    "  --rounds N   so many of each\n"
    "  --jobs N     faults at the same time; default 4\n"
    "  --group NAME only those of a group: kill, stop, storm, link, loss, machine, hostile, netem, hosts;\n"
    "               `asked`, tried only so, are those that disturb the machine: they set its clock\n"
    "  --both       each twice: packets pass directly, and take the link; else one of these is drawn for each\n"
    "  --list       only the names\n"
    "\n"
    "BEZEL_SEED repeats a run with the seed that it printed; BEZEL_TEST_LIGHT=1 tries each fault once;\n"
    "BEZEL_FAULTS_KEEP=1 keeps the files of what failed. Exit code 0: all books balance; 77: nothing that\n"
    "was to be tried is available here.\n";

enum { FAULTS_MAX = 256, JOBS_MAX = 16, PATIENCE_S = 240 /* for a round of a fault */ };

struct job {
    const struct fault *fault;
    bool by_link;
    struct bed_result result;
    pid_t pid;
    int pipe;
    int64_t give_up;
    char log[64];
    bool done, failed;
};

struct plan {
    struct job jobs[FAULTS_MAX];
    size_t count, next, running, most;
    bool many, light, both;
    unsigned rounds;
    uint64_t seed;
};

static unsigned rounds_of(const struct plan *p, const struct fault *f)
{
    return p->rounds ? p->rounds : p->light ? 1 : p->many ? f->many : f->few;
}

static uint64_t seed_of(const struct plan *p, const struct fault *f)
{
    return hash_fnv64(p->seed, f->name, strlen(f->name));
}

/* ---- one fault --------------------------------------------------------------------------------------------------- */

static _Noreturn void try_fault(const struct plan *p, const struct job *j, int out)
{
    static struct bed bed;
    const struct fault *f = j->fault;
    int log = open(j->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    f->try(&bed,
           &(struct bed_options){.name = f->name,
                                 .seed = seed_of(p, f),
                                 .by_link = j->by_link,
                                 .light = p->light,
                                 .rounds = rounds_of(p, f)},
           f->of);
    if (write(out, &bed.result, sizeof bed.result) != (ssize_t)sizeof bed.result)
        _exit(1);
    exit(0);
}

static void start_job(struct plan *p, struct job *j)
{
    int ends[2];
    snprintf(j->log, sizeof j->log, "/tmp/bezel-fault-%d-%zu", (int)getpid(), (size_t)(j - p->jobs));
    fflush(NULL);
    if (pipe2(ends, O_CLOEXEC) != 0 || (j->pid = fork()) < 0) {
        perror("faults");
        exit(1);
    }
    if (j->pid == 0)
        try_fault(p, j, ends[1]);
    close(ends[1]);
    j->pipe = ends[0];
    j->give_up = clock_now() + (int64_t)(PATIENCE_S + 15 * rounds_of(p, j->fault)) * CLOCK_S * test_scale();
    p->running++;
}

static void show_log(const struct job *j)
{
    char line[1024];
    FILE *in = fopen(j->log, "r");
    while (in && fgets(line, sizeof line, in))
        fprintf(stderr, "    %s", line);
    if (in)
        fclose(in);
}

static void end_job(struct plan *p, struct job *j)
{
    int status;
    if (waitpid(j->pid, &status, clock_now() > j->give_up ? (kill(j->pid, SIGKILL), 0) : WNOHANG) != j->pid)
        return;
    bool told = read(j->pipe, &j->result, sizeof j->result) == (ssize_t)sizeof j->result;
    close(j->pipe);
    j->done = true;
    j->failed = !told || j->result.failed || (j->result.tried == 0 && !j->result.absent) || status != 0;
    if (j->failed) {
        fprintf(stderr, "FAILED %s: %s\n", j->fault->name,
                !told              ? "it did not come to its end"
                : !j->result.tried ? "it was not tried"
                                   : "the books do not balance");
        show_log(j);
    }
    unlink(j->log);
    p->running--;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void print_row(const char *name, const struct bed_result *r)
{
    static const char *const ways[] = {"", [RUNDB_WAY_LINK] = "link", [RUNDB_WAY_DIRECT] = "direct",
                                       [RUNDB_WAY_LINK | RUNDB_WAY_DIRECT] = "both"};
    if (r->absent) {
        printf("| %s | not available here |", name);
        for (int i = 0; i < BED_CAUSES + 7; i++)
            printf(" |");
        putchar('\n');
        return;
    }
    printf("| %s | %u | %llu | %llu | %llu |", name, r->tried, (unsigned long long)r->produced,
           (unsigned long long)r->stored, (unsigned long long)r->reduced);
    for (int i = 0; i < BED_CAUSES; i++)
        printf(" %llu |", (unsigned long long)r->lost[i]);
    printf(" %llu | %llu | %llu | %s |\n", (unsigned long long)r->doubled, (unsigned long long)r->wrong,
           (unsigned long long)r->unknown, ways[r->ways]);
}

static void add(struct bed_result *sum, const struct bed_result *r)
{
    if (r->absent)
        return;
    sum->tried += r->tried;
    sum->ways |= r->ways;
    sum->produced += r->produced;
    sum->stored += r->stored;
    sum->reduced += r->reduced;
    for (int i = 0; i < BED_CAUSES; i++)
        sum->lost[i] += r->lost[i];
    sum->doubled += r->doubled;
    sum->unknown += r->unknown;
    sum->wrong += r->wrong;
}

/* The last line, for who reads no table. */
static void print_sum(const struct bed_result *r, size_t faults, size_t absent)
{
    uint64_t lost = 0;
    for (int i = 0; i < BED_CAUSES; i++)
        lost += r->lost[i];
    printf("%zu faults, tried %u times: %llu records produced, %llu stored, %llu reduced, %llu lost, %llu doubled, "
           "%llu wrong, %llu unknown",
           faults - absent, r->tried, (unsigned long long)r->produced, (unsigned long long)r->stored,
           (unsigned long long)r->reduced, (unsigned long long)lost, (unsigned long long)r->doubled,
           (unsigned long long)r->wrong, (unsigned long long)r->unknown);
    if (absent)
        printf("; %zu not available here", absent);
    putchar('\n');
}

/* Returns the exit code. */
static int print_table(const struct plan *p)
{
    struct bed_result sum = {0};
    size_t faults = 0, failed = 0, absent = 0;
    puts("| fault | tried | produced | stored | reduced | lost: ring full | window full | spool full | off | "
         "overwritten | "
         "no ring | reducer | unfinished | unstored | doubled | wrong | unknown | way |\n"
         "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|");
    for (size_t i = 0; i < p->count; faults++) {
        const struct job *j = &p->jobs[i];
        struct bed_result row = j->result;
        for (; i < p->count && p->jobs[i].fault == j->fault; i++) {
            failed += p->jobs[i].failed;
            if (&p->jobs[i] != j)
                add(&row, &p->jobs[i].result);
        }
        print_row(j->fault->name, &row);
        add(&sum, &row);
        absent += row.absent;
    }
    print_row("**all**", &sum);
    print_sum(&sum, faults, absent);
    return failed > 0 ? 1 : absent == faults ? 77 : 0;
}

/* ---- what to try ------------------------------------------------------------------------------------------------- */

static bool wanted(const char *name, char **patterns)
{
    if (!*patterns)
        return true;
    for (; *patterns; patterns++)
        if (fnmatch(*patterns, name, 0) == 0)
            return true;
    return false;
}

static void add_jobs(struct plan *p, const struct fault *f)
{
    if (p->both)
        p->jobs[p->count++] = (struct job){.fault = f};
    p->jobs[p->count++] = (struct job){.fault = f, .by_link = p->both || seed_of(p, f) & 1};
}

static void choose(struct plan *p, const char *group, char **patterns)
{
    static const struct {
        const char *name;
        const struct fault *list;
    } groups[] = {{"kill", faults_kill},       {"stop", faults_stop},   {"storm", faults_storm},
                  {"link", faults_link},       {"loss", faults_loss},   {"machine", faults_machine},
                  {"hostile", faults_hostile}, {"netem", faults_netem}, {"hosts", faults_hosts},
                  {"asked", faults_asked}};
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (const struct fault *f = groups[g].list; f->name && p->count + 1 < FAULTS_MAX; f++)
            if (strcmp(group                            ? group
                       : groups[g].list == faults_asked ? ""
                                                        : groups[g].name,
                       groups[g].name) == 0 &&
                wanted(f->name, patterns))
                add_jobs(p, f);
}

static void run(struct plan *p)
{
    while (p->next < p->count || p->running) {
        while (p->next < p->count && p->running < p->most)
            start_job(p, &p->jobs[p->next++]);
        for (size_t i = 0; i < p->next; i++)
            if (!p->jobs[i].done)
                end_job(p, &p->jobs[i]);
        bed_sleep(10 * CLOCK_MS);
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"long", no_argument, NULL, 'l'},       {"rounds", required_argument, NULL, 'r'},
        {"jobs", required_argument, NULL, 'j'}, {"group", required_argument, NULL, 'g'},
        {"both", no_argument, NULL, 'b'},       {"list", no_argument, NULL, 'n'},
        {"help", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0},
    };
    static struct plan p = {.most = 4};
    const char *group = NULL;
    bool list = false;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'h')
            return fputs(help, stdout) < 0;
        if (c == '?')
            return 2;
        p.many |= c == 'l';
        p.both |= c == 'b';
        list |= c == 'n';
        if (c == 'g')
            group = optarg;
        if (c == 'r')
            p.rounds = (unsigned)strtoul(optarg, NULL, 10);
        if (c == 'j' && strtoul(optarg, NULL, 10) > 0)
            p.most = strtoul(optarg, NULL, 10);
    }
    p.seed = list ? 0 : seed_start();
    choose(&p, group, argv + optind);
    for (size_t i = 0; list && i < p.count; i++)
        puts(p.jobs[i].fault->name);
    if (list || p.count == 0)
        return list ? 0 : 2;
    p.light = getenv("BEZEL_TEST_LIGHT") && *getenv("BEZEL_TEST_LIGHT");
    run(&p);
    return print_table(&p);
}
