// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/faults/bed.h"

#include "base/file.h"
#include "tests/faults/remote.h"
#include "tests/lib/free_port.h"
#include "tests/lib/namespaces.h"
#include "tests/lib/patience.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RESTARTS = 5 };              /* that `bezel run` grants a daemon ... */
#define RESTART_SPAN (13 * CLOCK_S) /* ... in this time, as it sees it on a busy machine */

/* ---- small things ------------------------------------------------------------------------------------------------ */

uint64_t bed_draw(struct bed *b, uint64_t n)
{
    return seed_next(&b->seed) % n;
}

void bed_sleep(int64_t ns)
{
    clock_sleep_until(clock_now() + ns);
}

void bed_nap(struct bed *b, uint64_t most_ms)
{
    bed_sleep((int64_t)bed_draw(b, most_ms * 1000) * CLOCK_US);
}

static void show_end(const char *path)
{
    char *text;
    size_t n;
    if (file_read(path, 16 << 20, &text, &n) != 0)
        return;
    if (n > 0)
        fprintf(stderr, "--- %s\n%s%s", path, n > 3000 ? text + n - 3000 : text, text[n - 1] == '\n' ? "" : "\n");
    free(text);
}

static void show_logs(struct bed *b)
{
    char path[PATH_MAX];
    struct dirent **logs;
    snprintf(path, sizeof path, "%s/err", b->dir);
    show_end(path);
    snprintf(path, sizeof path, "%s/remote.log", b->dir);
    show_end(path);
    snprintf(path, sizeof path, "%s/runs/latest/log", b->dir);
    int n = scandir(path, &logs, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/runs/latest/log/%s", b->dir, logs[i]->d_name);
        if (logs[i]->d_name[0] != '.')
            show_end(path);
        free(logs[i]);
    }
    if (n >= 0)
        free(logs);
}

/* Ends what the bed has started. The daemons end with their parent pipes, the SUT with the launcher socket. */
static void put_away(struct bed *b)
{
    if (b->run > 0) {
        for (int part = 0; part < BED_PARTS; part++)
            bed_signal(b, (enum bed_part)part, SIGCONT);
        kill(b->run, SIGKILL);
        waitpid(b->run, NULL, 0);
        b->run = 0;
    }
    proxy_stop(&b->proxy);
    remote_end(b);
}

_Noreturn void bed_fail(struct bed *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", b->options.name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    show_logs(b);
    if (getenv("BEZEL_FAULTS_KEEP")) {
        fprintf(stderr, "kept: %s\n", b->dir);
        _exit(1);
    }
    put_away(b);
    exit(1);
}

void bed_await(struct bed *b, bool (*holds)(struct bed *), const char *what)
{
    for (int64_t end = clock_now() + PATIENCE; !holds(b); bed_sleep(2 * CLOCK_MS))
        if (clock_now() > end)
            bed_fail(b, "after %d s still not: %s", (int)(PATIENCE / CLOCK_S), what);
}

bool bed_said(struct bed *b, const char *text)
{
    char path[PATH_MAX], *said;
    size_t n;
    snprintf(path, sizeof path, "%s/err", b->dir);
    if (file_read(path, 16 << 20, &said, &n) != 0)
        return false;
    bool found = strstr(said, text) != NULL;
    free(said);
    return found;
}

void bed_network(struct bed *b, struct proxy_mode mode)
{
    if (!proxy_set(&b->proxy, &mode))
        bed_fail(b, "the proxy does not answer");
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

bool bed_describe(pid_t pid, pid_t *parent, char name[64])
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    char *open_ = strchr(text, '('), *shut = strrchr(text, ')'), state;
    int ppid;
    if (!open_ || !shut || sscanf(shut + 1, " %c %d", &state, &ppid) != 2 || state == 'Z')
        return false;
    snprintf(name, 64, "%.*s", (int)(shut - open_ - 1), open_ + 1);
    *parent = ppid;
    return true;
}

/* Whether `text` is in its command line. */
static bool is_told(pid_t pid, const char *text)
{
    char path[64], line[4096];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, line, sizeof line) : -1;
    if (fd >= 0)
        close(fd);
    return n > 0 && memmem(line, (size_t)n, text, strlen(text)) != NULL;
}

/* The child called `name` whose command line has `text`. */
static pid_t child_of(pid_t parent, const char *name, const char *text)
{
    DIR *d = opendir("/proc");
    pid_t found = 0;
    for (const struct dirent *e; d && !found && (e = readdir(d));) {
        char its[64];
        pid_t its_parent, pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid > 0 && bed_describe(pid, &its_parent, its) && its_parent == parent && strcmp(its, name) == 0 &&
            is_told(pid, text))
            found = pid;
    }
    if (d)
        closedir(d);
    return found;
}

static pid_t draw_child(struct bed *b)
{
    pid_t living[TRUTH_CHILDREN], parent;
    char name[64];
    unsigned n = 0;
    for (int i = 0; i < TRUTH_CHILDREN; i++) /* who was killed stands there until the supervisor sees it */
        if ((living[n] = atomic_load(&b->truth->children[i])) > 0 && bed_describe(living[n], &parent, name))
            n++;
    return n ? living[bed_draw(b, n)] : 0;
}

pid_t bed_pid(struct bed *b, enum bed_part part)
{
    static const struct {
        const char *name, *text;
    } parts[BED_PARTS] = {[BED_COLLECTOR] = {"bezel-collector", "--run"},
                          [BED_BEZELD] = {"bezeld", ""},
                          [BED_LAUNCHER] = {"bezel-launcher", ""},
                          [BED_LOWER] = {"bezel-collector", "/.inner0"},
                          [BED_UPPER] = {"bezel-collector", "/.inner1"}};
    return part == BED_SUT ? draw_child(b) : child_of(b->run, parts[part].name, parts[part].text);
}

void bed_spare(struct bed *b, enum bed_part part)
{
    int64_t *oldest = &b->restarts[part][b->restart_count[part]++ % RESTARTS];
    if (*oldest && clock_now() - *oldest < RESTART_SPAN)
        clock_sleep_until(*oldest + RESTART_SPAN);
    *oldest = clock_now();
}

bool bed_kill(struct bed *b, enum bed_part part)
{
    if (part <= BED_BEZELD || part > BED_SUT)
        bed_spare(b, part);
    pid_t pid = bed_pid(b, part);
    if (pid <= 0 || kill(pid, SIGKILL) != 0)
        return false;
    b->result.tried++;
    return true;
}

void bed_signal(struct bed *b, enum bed_part part, int signal)
{
    pid_t pid = part == BED_SUT ? 0 : bed_pid(b, part);
    if (pid > 0)
        kill(pid, signal);
    for (int i = 0; part == BED_SUT && i < TRUTH_CHILDREN; i++)
        if ((pid = atomic_load(&b->truth->children[i])) > 0)
            kill(pid, signal);
    if (part == BED_SUT && (pid = atomic_load(&b->truth->supervisor)) > 0)
        kill(pid, signal);
}

/* ---- the store --------------------------------------------------------------------------------------------------- */

static uint64_t bytes_below(const char *dir)
{
    uint64_t sum = 0;
    DIR *d = opendir(dir);
    for (const struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        if (strncmp(e->d_name, "sut-", 4) == 0 && fstatat(dirfd(d), e->d_name, &st, 0) == 0)
            sum += (uint64_t)st.st_size;
    }
    if (d)
        closedir(d);
    return sum;
}

uint64_t bed_stored_bytes(struct bed *b)
{
    char path[PATH_MAX];
    uint64_t sum = 0;
    snprintf(path, sizeof path, "%s/runs/latest/trace", b->dir);
    DIR *d = opendir(path);
    for (const struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/runs/latest/trace/%s", b->dir, e->d_name);
        if (e->d_name[0] != '.')
            sum += bytes_below(path);
    }
    if (d)
        closedir(d);
    return sum;
}

void bed_await_progress(struct bed *b, uint64_t bytes)
{
    bed_await_stored(b, bed_stored_bytes(b) + bytes);
}

void bed_await_stored(struct bed *b, uint64_t enough)
{
    for (int64_t end = clock_now() + PATIENCE; bed_stored_bytes(b) < enough; bed_sleep(2 * CLOCK_MS))
        if (clock_now() > end)
            bed_fail(b, "nothing more is stored, for %d s", (int)(PATIENCE / CLOCK_S));
}

static uint64_t count_done(const struct bed *b)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < TRUTH_LINES; i++)
        for (int a = 0; a < TRUTH_ASPECTS; a++)
            sum += atomic_load(&b->truth->line[i].done[a]);
    return sum;
}

void bed_await_records(struct bed *b, uint64_t records)
{
    uint64_t enough = count_done(b) + records;
    for (int64_t end = clock_now() + PATIENCE; count_done(b) < enough; bed_sleep(2 * CLOCK_MS))
        if (clock_now() > end)
            bed_fail(b, "not so many records are produced, for %d s", (int)(PATIENCE / CLOCK_S));
}

static bool has_begun(struct bed *b)
{
    if (waitpid(b->run, NULL, WNOHANG) == b->run) {
        b->run = 0;
        bed_fail(b, "the run ended before anything was stored");
    }
    return b->options.recorder ? count_done(b) > 1000 : bed_stored_bytes(b) > 1000;
}

/* ---- making a bed ------------------------------------------------------------------------------------------------ */

static void *map_new(struct bed *b, const char *name, size_t bytes)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", b->dir, name);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *at = fd < 0 || ftruncate(fd, (off_t)bytes) != 0
                   ? MAP_FAILED
                   : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        bed_fail(b, "%s: %s", path, strerror(errno));
    close(fd);
    return at;
}

static void make_folders(struct bed *b)
{
    char path[PATH_MAX], size[32];
    scratch_make(b->node);
    snprintf(b->dir, sizeof b->dir, "/tmp/bezel-faults-XXXXXX");
    if (!mkdtemp(b->dir))
        bed_fail(b, "%s: %s", b->dir, strerror(errno));
    if (!getenv("BEZEL_FAULTS_KEEP"))
        scratch_add(b->dir);
    snprintf(path, sizeof path, "%s/runs", b->dir);
    snprintf(size, sizeof size, "size=%um", b->options.store_mib);
    if (mkdir(path, 0700) != 0 || (b->options.store_mib && mount("tmpfs", path, "tmpfs", 0, size) != 0))
        bed_fail(b, "%s: %s", path, strerror(errno));
    b->truth = map_new(b, "truth", sizeof *b->truth);
    b->wall = map_new(b, "wall", sizeof *b->wall);
}

static void write_experiment(const struct bed *b, char path[PATH_MAX])
{
    const struct bed_options *o = &b->options;
    snprintf(path, PATH_MAX, "%s/fault.yaml", b->dir);
    FILE *out = fopen(path, "w");
    if (!out)
        return;
    fprintf(out,
            "experiment: fault\n"
            "processes:\n"
            "  - {name: sut, command: [%s/faults_sut, %s/truth, \"%u\", \"%u\", \"%u\"]}\n"
            "%s%s%s%s%s"
            "sensing:\n"
            "  ring: {records: %u, when-full: %s}\n"
            "  poll: {period: 1 ms}\n"
            "  window: %u MiB\n",
            FAULTS_BUILD, b->dir, o->processes, o->threads, o->pause_us,
            o->evil ? "  - {name: evil, command: [" FAULTS_BUILD "/faults_sut, " : "", o->evil ? b->dir : "",
            o->evil ? "/truth, " : "", o->evil ? o->evil : "", o->evil ? ", \"0\", \"0\"]}\n" : "", o->ring_records,
            o->recorder ? "overwrite" : "discard", o->window_mib);
    if (o->spool_mib)
        fprintf(out, "  spool: {size: %u MiB, dir: %s}\n", o->spool_mib, b->dir);
    if (o->reduces)
        fprintf(out, "  keep: {echo: reduced}\n%s",
                o->at_root ? "metrics: {lag: {interval: [beat, echo], match: number, max: yes}}\n"
                             "limits: [{expect: lag <= 1 h, tolerance: 100 %}]\n"
                           : "metrics: {halves: {max: half, of: echo}}\n");
    if (o->tree)
        fputs("nodes: {local: {parents: [lower, upper]}}\ncollectors: {lower: {parents: [upper]}, upper: {}}\n", out);
    if (o->remote)
        fprintf(out,
                "grace: 1 s\nsilence: %u s\nnodes: {remote: {address: \"" REMOTE_ADDRESS "\", on-loss: stop}}\n"
                "store: {keys: %s/keys}\n",
                o->silence_s, b->dir);
    if (o->over_network)
        fprintf(out, "store: {listen: \"tcp://%s:%u\"", b->address, b->port);
    if (o->over_network && o->keys)
        fprintf(out, ", keys: %s/keys", b->dir);
    if (o->over_network)
        fputs("}\n", out);
    fclose(out);
}

static void set_environment(struct bed *b)
{
    char text[PATH_MAX];
    setenv("BEZEL_DIR", b->node, 1);
    unsetenv("BEZEL_RUNS");
    unsetenv("BEZEL_PROCESS");
    setenv("FAULTS_PROGRAMS", FAULTS_BUILD, 1);
    if (b->options.over_network && b->proxy.apart) {
        snprintf(text, sizeof text, "/proc/%d/ns/net", (int)b->proxy.pid);
        setenv("FAULTS_NETWORK", text, 1);
    } else if (b->options.over_network) {
        snprintf(text, sizeof text, "tcp://%s:%u", b->address, b->proxy.port);
        setenv("FAULTS_COLLECTOR", text, 1);
    }
    if (b->options.shifted_clock) {
        snprintf(text, sizeof text, "%s/wall", b->dir);
        setenv("FAULTS_WALL", text, 1);
        setenv("LD_PRELOAD", FAULTS_BUILD "/libfaults_clock.so", 1);
        snprintf(text, sizeof text, "%s:verify_asan_link_order=0",
                 getenv("ASAN_OPTIONS") ? getenv("ASAN_OPTIONS") : "");
        setenv("ASAN_OPTIONS", text, 1);
    }
}

/* `verb`: run or attach, with what it takes. */
static void start_bezel(struct bed *b, const char *verb, const char *of)
{
    char runs[PATH_MAX], path[PATH_MAX];
    snprintf(runs, sizeof runs, "%s/runs", b->dir);
    fflush(NULL);
    b->run = fork();
    if (b->run != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    set_environment(b);
    snprintf(path, sizeof path, "%s/out", b->dir);
    dup2(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    snprintf(path, sizeof path, "%s/err", b->dir);
    dup2(open(path, O_WRONLY | O_CREAT | O_APPEND, 0600), STDERR_FILENO);
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    execl(FAULTS_BUILD "/faults.d/bezel", "bezel", verb, "--quiet", "--json", "--runs", runs, of, (char *)NULL);
    _exit(127);
}

static void start_run(struct bed *b)
{
    char experiment[PATH_MAX];
    write_experiment(b, experiment);
    start_bezel(b, "run", experiment);
}

void bed_attach(struct bed *b)
{
    waitpid(b->run, NULL, 0);
    start_bezel(b, "attach", NULL);
}

void bed_make_key(struct bed *b, const char *folder, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", b->dir, folder);
    if (bed_program(b, "keygen", (const char *const[]){FAULTS_BUILD "/bezel", "keygen", "--dir", path, name, NULL}) !=
        0)
        bed_fail(b, "no keys of %s in %s", name, path);
}

static void make_network(struct bed *b, bool spaces)
{
    bool apart = spaces && namespaces_new_network();
    b->address = apart && b->options.keys ? NAMESPACES_ADDRESS : "127.0.0.1";
    b->port = free_port();
    if (!proxy_start(&b->proxy, b->address, b->port, apart, seed_next(&b->seed)))
        bed_fail(b, "no proxy on port %u: %s", b->port, strerror(errno));
    if (!b->proxy.apart)
        printf("%s: no network namespaces here: both hosts are this one\n", b->options.name);
}

void bed_make(struct bed *b, const struct bed_options *options)
{
    *b = (struct bed){.options = *options, .seed = options->seed};
    struct bed_options *o = &b->options;
    o->processes = o->processes ? o->processes : 2;
    o->pause_us = o->pause_us ? o->pause_us : 500;
    o->threads = o->threads ? o->threads : 2;
    o->window_mib = o->window_mib ? o->window_mib : 16;
    o->ring_records = o->ring_records ? o->ring_records : 65536;
    o->rounds = o->rounds ? o->rounds : 1;
    if (o->over_network || o->by_link) /* where the network is disturbed, the way that it can disturb */
        setenv("BEZEL_BY_LINK", "1", 1);
    bool spaces = (o->over_network || o->remote || o->store_mib) && namespaces_enter();
    if (o->store_mib && !spaces) {
        b->result.absent = true;
        return;
    }
    make_folders(b);
    if (o->over_network)
        make_network(b, spaces);
    if (o->keys) {
        bed_make_key(b, "keys", "collector");
        bed_make_key(b, "keys", "local"); /* the one node */
    }
    if (o->remote && (!spaces || !remote_make(b))) {
        b->result.absent = true;
        put_away(b);
        return;
    }
    start_run(b);
    if (o->meanwhile)
        o->meanwhile(b);
    bed_await(b, has_begun, "something is stored");
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static int await_end(struct bed *b)
{
    int status;
    for (int64_t end = clock_now() + PATIENCE; waitpid(b->run, &status, WNOHANG) != b->run; bed_sleep(2 * CLOCK_MS))
        if (clock_now() > end)
            bed_fail(b, "the run does not end");
    b->run = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void bed_end_killed(struct bed *b)
{
    if (await_end(b) != 128 + SIGKILL)
        bed_fail(b, "the run was not killed");
    bed_check(b);
    if (b->result.failed)
        show_logs(b);
    put_away(b);
}

void bed_end_alone(struct bed *b, const char *codes)
{
    int code = await_end(b);
    bed_check(b);
    if (b->result.failed)
        show_logs(b);
    bool unjudged = b->options.at_root && code == 1; /* its limit, as nobody evaluated it for too long: books balance */
    if (code > 9 || (!strchr(codes, '0' + code) && !unjudged))
        bed_fail(b, "exit code %d, not one of %s", code, codes);
    put_away(b);
}

void bed_end(struct bed *b, const char *codes)
{
    kill(b->run, SIGINT);
    bed_end_alone(b, codes);
}
