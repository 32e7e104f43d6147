// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* What `bezel run` shows while it runs: the line of progress, events, and the end of a log. */
#include "ecs/course/progress.h"

#include "base/clock.h"
#include "ecs/course/console.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const struct progress_view view = {.phase = "running",
                                          .left = 9500 * CLOCK_MS,
                                          .elapsed = 500 * CLOCK_MS,
                                          .records = 12345,
                                          .lost = 7,
                                          .periods = "desk1 polls every 4.00 ms"};

TEST(a_line_shows_time_records_rate_losses_and_adapted_periods)
{
    char line[256];
    progress_format(&view, 24690, false, line, sizeof line);
    assert_string_equal(line,
                        "running, 9.5 s left: 12,345 records stored, 24,690/s, 7 lost, desk1 polls every 4.00 ms");
    struct progress_view endless = view;
    endless.left = -1;
    endless.lost = 0;
    endless.periods = "";
    progress_format(&endless, 0, false, line, sizeof line);
    assert_string_equal(line, "running for 0.5 s: 12,345 records stored, 0/s, 0 lost");
}

TEST(losses_are_red_only_where_colour_is_wanted)
{
    char line[256];
    progress_format(&view, 0, true, line, sizeof line);
    assert_non_null(strstr(line, "\033[31m7 lost\033[0m"));
    struct progress_view clean = view;
    clean.lost = 0;
    progress_format(&clean, 0, true, line, sizeof line);
    assert_null(strchr(line, '\033'));
}

/* Shows three views, half a second apart, on a file. */
static char *shown(bool quiet)
{
    char *text;
    size_t n;
    FILE *file = tmpfile();
    struct progress p;
    assert_non_null(file);
    progress_init(&p, file, quiet, false);
    struct progress_view v = view;
    for (int i = 0; i < 3; i++, v.records += 100)
        progress_show(&p, &v, 100 * CLOCK_S + i * 500 * CLOCK_MS);
    progress_clear(&p);
    n = (size_t)ftell(file);
    rewind(file);
    text = calloc(1, n + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, n, file), n);
    fclose(file);
    return text;
}

TEST(without_a_terminal_there_is_a_plain_line_each_second)
{
    char *text = shown(false);
    assert_string_equal(text, "running, 9.5 s left: 12,345 records stored, 0/s, 7 lost, desk1 polls every 4.00 ms\n"
                              "running, 9.5 s left: 12,545 records stored, 200/s, 7 lost, desk1 polls every 4.00 ms\n");
    free(text);
}

TEST(quiet_shows_nothing)
{
    char *text = shown(true);
    assert_string_equal(text, "");
    free(text);
}

/* ---- On a terminal ----------------------------------------------------------------------------------------------- */

/* What a terminal of `columns` (0: it does not say) gets of two lines, half a second apart, and the clearing. */
static void on_terminal(unsigned short columns, bool shared, char *text, size_t size)
{
    struct winsize window = {.ws_row = 24, .ws_col = columns};
    struct progress p;
    int above = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(above >= 0 && grantpt(above) == 0 && unlockpt(above) == 0);
    FILE *terminal = fopen(ptsname(above), "w");
    assert_non_null(terminal);
    assert_int_equal(ioctl(above, TIOCSWINSZ, &window), 0);
    progress_init(&p, terminal, false, shared);
    assert_true(p.terminal);
    struct progress_view v = view;
    v.periods = "";
    progress_show(&p, &v, 100 * CLOCK_S);
    progress_show(&p, &v, 100 * CLOCK_S + 500 * CLOCK_MS - 1); /* too early */
    v.records += 50;
    progress_show(&p, &v, 100 * CLOCK_S + 500 * CLOCK_MS);
    progress_clear(&p);
    progress_clear(&p);                /* there is nothing to clear any more */
    static const char end[] = "<end>"; /* what a terminal is sent arrives in pieces */
    fputs(end, terminal);
    fflush(terminal);
    char *found = NULL;
    for (size_t n = 0; !found; found = strstr(text, end)) {
        struct pollfd readable = {.fd = above, .events = POLLIN};
        assert_int_equal(poll(&readable, 1, (int)(PATIENCE / CLOCK_MS)), 1);
        ssize_t more = read(above, text + n, size - 1 - n);
        assert_true(more > 0);
        n += (size_t)more;
        text[n] = '\0';
    }
    *found = '\0';
    assert_int_equal(fclose(terminal), 0);
    close(above);
}

TEST(on_a_terminal_a_line_takes_the_place_of_the_one_before)
{
    char text[1024];
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "1", 1);
    on_terminal(200, false, text, sizeof text);
    assert_string_equal(text, "\rrunning, 9.5 s left: 12,345 records stored, 0/s, 7 lost\033[K"
                              "\rrunning, 9.5 s left: 12,395 records stored, 100/s, 7 lost\033[K\r\033[K");
    on_terminal(200, true, text, sizeof text);
    assert_string_equal(text, "\rrunning, 9.5 s left: 12,345 records stored, 0/s, 7 lost\033[K\r"
                              "\rrunning, 9.5 s left: 12,395 records stored, 100/s, 7 lost\033[K\r\r\033[K");
}

TEST(a_line_is_shorter_than_the_terminal_is_wide)
{
    char text[1024];
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "1", 1);
    on_terminal(10, false, text, sizeof text);
    assert_string_equal(text, "\rrunning, \033[K\rrunning, \033[K\r\033[K");
    on_terminal(0, false, text, sizeof text); /* 80 */
    assert_non_null(strstr(text, "12,395 records stored, 100/s, 7 lost\033[K"));
    setenv("NO_COLOR", "", 1);
    on_terminal(58, false, text, sizeof text); /* a column more than the second line has; colours take none */
    assert_non_null(strstr(text, "100/s, \033[31m7 lost\033[0m\033[0m\033[K"));
    on_terminal(57, false, text, sizeof text);
    assert_non_null(strstr(text, "100/s, \033[31m7 los\033[0m\033[K"));
    unsetenv("NO_COLOR");
    on_terminal(58, false, text, sizeof text);
    assert_non_null(strstr(text, "\033[31m7 lost"));
    setenv("TERM", "dumb", 1);
    struct progress p;
    int above = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(above >= 0 && grantpt(above) == 0 && unlockpt(above) == 0);
    FILE *terminal = fopen(ptsname(above), "w");
    progress_init(&p, terminal, false, false);
    assert_false(p.terminal || p.color);
    assert_int_equal(fclose(terminal), 0);
    close(above);
}

/* ---- The console ------------------------------------------------------------------------------------------------- */

static FILE *said; /* stderr, read back */
static int stderr_before;

static void listen_to_stderr(void)
{
    said = tmpfile();
    assert_non_null(said);
    fflush(stderr);
    stderr_before = dup(2);
    dup2(fileno(said), 2);
}

static void stop_listening(char *text, size_t size)
{
    fflush(stderr);
    ssize_t n = pread(fileno(said), text, size - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    dup2(stderr_before, 2);
    close(stderr_before);
    fclose(said);
}

TEST(the_end_of_a_file_is_shown_by_its_last_five_lines)
{
    static const struct {
        const char *file, *shown;
    } cases[] = {{"", NULL},
                 {"\n\n", NULL},
                 {"one", "  | one\n"},
                 {"one\ntwo\n\n", "  | one\n  | two\n"},
                 {"1\n2\n3\n4\n5", "  | 1\n  | 2\n  | 3\n  | 4\n  | 5\n"},
                 {"0\n1\n2\n3\n4\n5\n", "  | 1\n  | 2\n  | 3\n  | 4\n  | 5\n"}};
    struct console c;
    char path[] = "/tmp/bezel-progress-XXXXXX", text[4096];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = strlen(cases[i].file);
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, cases[i].file, n, 0), n);
        listen_to_stderr();
        console_init(&c, true, false);
        bool shown = console_show_tail(&c, path);
        console_free(&c);
        stop_listening(text, sizeof text);
        assert_int_equal(shown, cases[i].shown != NULL);
        assert_string_equal(text, cases[i].shown ? cases[i].shown : "");
    }
    close(fd);
    unlink(path);
    console_init(&c, true, false);
    assert_false(console_show_tail(&c, path));
    console_free(&c);
}

TEST(more_events_than_are_kept_are_counted)
{
    struct console c;
    static char text[1 << 16];
    listen_to_stderr();
    console_init(&c, true, false);
    console_note(&c, "not while quiet");
    for (int i = 0; i < CONSOLE_EVENTS_MAX + 3; i++)
        if (i % 2)
            console_error(&c, "BEZEL-ODD", "event %d", i);
        else
            console_event(&c, "BEZEL-EVEN", "event %d", i);
    stop_listening(text, sizeof text);
    assert_int_equal(c.count, CONSOLE_EVENTS_MAX);
    assert_int_equal(c.dropped, 3);
    for (int i = 0; i < CONSOLE_EVENTS_MAX; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "event %d", i);
        assert_string_equal(c.events[i].text, expected);
        assert_int_equal(c.events[i].error, i % 2);
        assert_true(i == 0 || c.events[i].at >= c.events[i - 1].at);
    }
    assert_non_null(strstr(text, "error: BEZEL-ODD: event 1\n"));
    assert_non_null(strstr(text, "warning: BEZEL-EVEN: event 0\n"));
    assert_null(strstr(text, "not while quiet"));
    console_free(&c);
}
