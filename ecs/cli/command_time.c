// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/command_time.h"

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/options.h"
#include "base/saturate.h"
#include "base/units.h"
#include "run/history/summary.h"
#include "run/read/run_reader.h"
#include "run/rundb/rundb.h"
#include <string.h>
#include <time.h>

/* Reads the point behind a second at *p and its digits, and moves *p behind them. False: a point without digits. */
static bool read_fraction(const char **p, int64_t *ns)
{
    int64_t digit = CLOCK_S / 10;
    if (**p != '.')
        return true;
    const char *digits = ++*p;
    for (; **p >= '0' && **p <= '9'; ++*p, digit /= 10)
        *ns += (**p - '0') * digit;
    return *p > digits;
}

static bool is_same(const struct tm *a, const struct tm *b)
{
    return a->tm_year == b->tm_year && a->tm_mon == b->tm_mon && a->tm_mday == b->tm_mday && a->tm_hour == b->tm_hour &&
           a->tm_min == b->tm_min && a->tm_sec == b->tm_sec;
}

/*
 * The time `tm`, and `fraction` ns; a time beyond the range is the end of the range. Returns how many such times there
 * are: no day has 25 hours, the clock on the wall leaves an hour out in spring, and shows one twice in autumn.
 */
static int take_clock(const struct tm *tm, bool utc, int64_t fraction, int64_t *ns)
{
    int count = 0;
    int64_t seconds = 0, whole;
    for (int summer = utc ? 0 : 1; summer >= 0; summer--) {
        struct tm read = *tm, shown;
        read.tm_isdst = summer;
        time_t at = utc ? timegm(&read) : mktime(&read);
        if (!(utc ? gmtime_r(&at, &shown) : localtime_r(&at, &shown)) || !is_same(&shown, tm) ||
            (count > 0 && at == seconds))
            continue;
        seconds = at;
        count++;
    }
    bool beyond = __builtin_mul_overflow(seconds, CLOCK_S, &whole);
    *ns = beyond ? seconds < 0 ? INT64_MIN : INT64_MAX : saturate_add(whole, fraction);
    return count;
}

/*
 * Reads a time of the clock on the wall: local time, or UTC where it says so, as reports and pages do. Without a date
 * it is of the day of `near`, ns since 1970. Returns how many such times there are.
 */
static int read_clock(const char *text, int64_t near, int64_t *ns)
{
    const char *zone = strpbrk(text, "UZ");
    bool utc = zone && (strcmp(zone, "UTC") == 0 || strcmp(zone, "Z") == 0);
    time_t seconds = near > INT64_MIN ? (time_t)(near / CLOCK_S) : time(NULL);
    struct tm day;
    if (!(utc ? gmtime_r(&seconds, &day) : localtime_r(&seconds, &day)))
        return 0;
    struct tm tm = day;
    const char *rest = strptime(text, "%Y-%m-%d", &tm);
    if (rest && *rest != 'T' && *rest != ' ')
        return 0;
    if (rest)
        text = rest + 1;
    else
        tm = day;
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    int64_t fraction = 0;
    bool ends = true;
    if ((rest = strptime(text, "%H:%M:%S", &tm)))
        ends = read_fraction(&rest, &fraction);
    else if ((rest = strptime(text, "%H:%M", &tm)))
        tm.tm_sec = 0;
    else
        return 0;
    ends = ends && (*rest == '\0' || (utc && rest + strspn(rest, " ") == zone));
    return ends ? take_clock(&tm, utc, fraction, ns) : 0;
}

/* CLOCK_REALTIME of the run's start; 0: it has none, or none yet. */
static int64_t started_at(const char *run)
{
    struct summary *s;
    if (!run || summary_load_books(run, &s) != 0)
        return 0;
    int64_t at = summary_is_unstarted(s) && run_reader_goes_on(run) ? 0 : summary_start(s);
    summary_free(s);
    return at;
}

/* Reads a time after the run's start, as reports have it. */
static int read_relative(const char *option, const char *text, const char *run, int64_t after, int64_t *ns)
{
    int64_t started = started_at(run);
    if (started == 0)
        return options_misuse(
            run ? "%s '%s': no program of the run has been started yet: use a time of the clock"
                : "%s '%s': the start of a run that is read over the network is not known here: use a time of the "
                  "clock; 'bezel report ENDPOINT' says when the run started",
            option, text);
    *ns = saturate_add(started, after);
    return OPTIONS_GO_ON;
}

static int read_time(const char *option, const char *text, const char *run, int64_t near, int64_t *ns)
{
    uint64_t count;
    int64_t after;
    const char *why;
    if (!text)
        return OPTIONS_GO_ON;
    if (units_read_count(text, &count, &why) == 0 && count <= INT64_MAX) {
        *ns = (int64_t)count;
        return OPTIONS_GO_ON;
    }
    bool before = text[0] == '-'; /* as reports have it of a window that begins before the run */
    if (units_read_duration(text + before, &after, &why) == 0)
        return read_relative(option, text, run, before ? -after : after, ns);
    int shown = read_clock(text, near, ns);
    if (shown == 1)
        return OPTIONS_GO_ON;
    if (shown > 1)
        return options_misuse(
            "%s: the clock shows '%s' twice, as summer time ends: say it in UTC, with ' UTC' behind it", option, text);
    return options_misuse("%s: '%s' is not a time: use " COMMAND_TIMES, option, text);
}

int command_read_where(const char *text, struct condition *c)
{
    const char *why;
    return text && condition_read(text, c, &why) != 0 ? options_misuse("--where '%s': %s", text, why) : OPTIONS_GO_ON;
}

int command_read_times(const char *from, const char *until, const char *run, struct record_filter *f)
{
    int64_t newest = INT64_MIN;
    int err = run && (from || until) ? run_reader_newest(run, f, &newest) : 0;
    if (err) {
        log_error("BEZEL-RUN-DATABASE", "cannot read %s/run.db: %s", run, rundb_why(err));
        return EXIT_FAILED;
    }
    int code = read_time("--from", from, run, newest, &f->from);
    if (code == OPTIONS_GO_ON)
        code = read_time("--until", until, run, newest, &f->until);
    if (code == OPTIONS_GO_ON && from && until && f->from > f->until)
        return options_misuse("--from '%s' is behind --until '%s'", from, until);
    return code;
}
