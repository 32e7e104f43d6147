// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/lifetime.h"
#include "base/log.h"
#include "base/units.h"
#include "ecs/cli/command_mirror.h"
#include "ecs/cli/command_time.h"
#include "ecs/cli/commands.h"
#include "ecs/course/rundir.h"
#include "mdr/message.h"
#include "run/read/run_missing.h"
#include "run/read/run_reader.h"
#include "views/report/report.h"
#include "views/report/report_deepen.h"
#include "views/why/why.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char about[] =
    "Says why work of a run was slow: where the slow instances of it spent more time than the usual ones, by what "
    "threads did (ran, were ready while others had the CPU, waited for a message, whose sender is followed in turn), "
    "and the course of the slowest one. What is not known is said, with what would make it known. Without --aspect it "
    "takes the limits that were violated. " COMMAND_RUN COMMAND_ENDPOINT "\n";
static const char footer[] = "Exit codes: 0 explained, or every limit held; 1 failed, or more than half of an answer "
                             "is unknown, or a search found nothing and cannot say that there is nothing, or a "
                             "violated limit is not about how long something took, or one could not be judged, or a "
                             "change is not predicted; 2 wrong usage, or no such run; 4 the server is not reached.\n";

static int read_share(const char *text, double *share)
{
    const char *why;
    double percent;
    if (!text)
        return OPTIONS_GO_ON;
    if (units_read_percent(text, &percent, &why) != 0)
        return options_misuse("--slowest: '%s' is not a percentage: %s", text, why);
    if (percent <= 0 || percent > 100)
        return options_misuse("--slowest: '%s' is not above 0 %% and up to 100 %%", text);
    *share = percent / 100;
    return OPTIONS_GO_ON;
}

static int read_deepen(const char *text, const struct why_asked *asked, int64_t *ns)
{
    const char *why;
    if (!asked->search)
        return options_misuse("--deepen goes with --search");
    if (units_read_duration(text, ns, &why) != 0)
        return options_misuse("--deepen: '%s' is not a duration: %s", text, why);
    return OPTIONS_GO_ON;
}

/* The arguments, with WHY_BEST behind a --what-if that is the last one. They stay until the program ends. */
static char **add_best(int *argc, char **argv)
{
    if (*argc < 2 || strcmp(argv[*argc - 1], "--what-if") != 0)
        return argv;
    char **more = calloc((size_t)*argc + 2, sizeof *more);
    if (!more)
        return NULL;
    memcpy(more, argv, (size_t)*argc * sizeof *more);
    more[(*argc)++] = (char *)(uintptr_t)WHY_BEST;
    return more;
}

/* ---- --deepen ---------------------------------------------------------------------------------------------------- */

static bool take(void *context, const char *node, const struct message *answer)
{
    (void)context;
    (void)node;
    (void)answer;
    return true;
}

static int turn(const char *run, struct control_client *nodes, const char *aspect, bool on)
{
    struct message_command c = {.verb = VERB_SET, .subject = SUBJECT_ASPECTS, .mode = on ? ASPECT_ON : ASPECT_COUNT};
    snprintf(c.patterns, sizeof c.patterns, "%s", aspect);
    int code = control_client_ask(nodes, &c, ANSWER_ASPECTS, take, NULL);
    if (code != EXIT_OK && !on && rundir_is_running(run))
        log_warn("BEZEL-WHY-DEEPEN", "%s is still recorded: `bezel aspects count %s` ends that", aspect, aspect);
    return code;
}

/* What is recorded for the search alone is counted again. */
static void undo(const char *run, struct control_client *nodes, struct report_deepen *d)
{
    const char *aspect;
    while (rundir_is_running(run) && (aspect = report_deepen_undo(d)) != NULL)
        (void)turn(run, nodes, aspect, false);
}

/* Records of the run what the search lacks, until `until`, or as long as that says more. */
static void deepen(const char *run, struct control_client *nodes, struct report_deepen *d, int64_t until)
{
    int code = EXIT_OK;
    bool done = false, on;
    const char *aspect;
    while (!done && code == EXIT_OK && !lifetime_stop && clock_now() < until && rundir_is_running(run)) {
        if (report_deepen_look(d) != 0)
            return;
        done = report_deepen_is_done(d);
        while (code == EXIT_OK && (aspect = report_deepen_next(d, &on)) != NULL)
            code = turn(run, nodes, aspect, on);
        int64_t next = clock_now() + 2 * CLOCK_S;
        if (!done)
            clock_sleep_until(next < until ? next : until);
    }
}

/* Returns OPTIONS_GO_ON with *d for report_deepen_free(), or an exit code, after a message. */
static int deepen_search(const char *run, int64_t ns, struct report_deepen **d)
{
    struct control_client nodes;
    if (!rundir_is_running(run))
        return options_misuse("--deepen: the run has ended, and nothing more can be recorded of it");
    int err = report_deepen_new(run, d);
    if (err == BEZEL_ENOENT)
        return options_misuse("--deepen: the experiment has no limit within which more may be recorded, such as "
                              "limits: [{hold: sensor_cpu <= 5 %%}]");
    int code = err ? EXIT_FAILED : control_client_open(run, CONTROL_CLIENT_NODES, NULL, &nodes);
    if (code != EXIT_OK)
        return code;
    lifetime_catch(SA_RESTART);
    deepen(run, &nodes, *d, clock_now() + ns);
    undo(run, &nodes, *d);
    control_client_close(&nodes);
    return OPTIONS_GO_ON;
}

int cmd_why(int argc, char **argv)
{
    struct why_asked asked = {
        .question = {.share = WHY_SLOWEST, .from = INT64_MIN, .until = INT64_MAX, .excused = INT64_MAX}};
    struct why_question *q = &asked.question;
    struct command_mirror m = {.dir = NULL};
    bool gaps = false, path = false;
    char run[PATH_MAX], misuse[512];
    struct report_deepen *deepened = NULL;
    int64_t deepen_ns = 0;
    const char *slowest = NULL, *deepen_for = NULL, *phases = NULL, *from = NULL, *until = NULL;
    struct options o = {.program = "bezel why",
                        .usage = "[OPTIONS] [RUN]\n[OPTIONS] ENDPOINT",
                        .about = about,
                        .footer = footer,
                        .most = 1};
    const struct options_entry entries[] = {
        {"aspect", 0, "NAME",
         "of the records of this aspect: a span by its duration, another one by its field with a unit of time",
         .value = &q->aspect, .once = true},
        {"field", 0, "FIELD", "of --aspect: by this field, in ns unless it has a unit of time", .value = &q->field},
        {"gaps", 0, NULL, "of --aspect: the times between two records of a thread", .flag = &gaps},
        {"path", 0, NULL,
         "of all that the run did, or did from --from to --until: the path to what was last, by class and place",
         .flag = &path},
        {"phases", 0, "BY",
         "of --path, --aspect or --search: one answer for each phase, 8 at most: found (what the run did changed "
         "steeply), squares (the same by least squares), knobs, decisions, violations",
         .value = &phases},
        {"search", 0, NULL,
         "what the limits that were violated, the run and its phases spend their time on, and where: hypotheses (runs, "
         "ready, the monitor, waits), looked at more closely where they are true",
         .flag = &asked.search},
        {"deepen", 0, "TIME",
         "of --search, while the run goes on, for so long at most: aspects that are only counted are recorded where "
         "that may say more, as many as its limit on sensor_cpu permits, and then counted again",
         .value = &deepen_for},
        {"slowest", 0, "PERCENT",
         "so many of all are slow (default: those that broke the limit, else \"1 %\"); at most 1,000 are compared",
         .value = &slowest},
        {"where", 0, "CONDITION", "of --aspect: only records with a field for which it holds, as `bezel tail` has it",
         .value = &q->where, .once = true},
        {"node", 0, "GLOB", "only work that ends on nodes of this name", .value = &q->node, .once = true},
        {"process", 0, "GLOB", "only work that ends in processes of this name", .value = &q->process, .once = true},
        {"from", 0, "TIME", "only what ended from this time on: " COMMAND_TIMES, .value = &from},
        {"until", 0, "TIME", "only what ended before this time", .value = &until},
        {"what-if", 0, "CHANGE",
         "what the slow ones would take if that were so: \"encode = 0\" (a span, a process, lock, io, sleep, network; "
         "times this factor), \"network: 10x\", \"move client to studio\" (docs/WHY.md); as the last word, without a "
         "CHANGE: which single change helps most (\"best\")",
         .value = &q->change},
        {"json", 'j', NULL, "print it as JSON, with all pieces (docs/WHY.md)", .flag = &asked.json},
        COMMAND_MIRROR(&m),
        {0},
    };
    struct condition condition;
    struct record_filter times = RECORD_FILTER_ALL;
    struct whatif_change change;
    const char *why;
    char **with_best = add_best(&argc, argv);
    int code = with_best ? options_read(&o, entries, argc, with_best) : EXIT_FAILED;
    if (code == OPTIONS_GO_ON)
        code = read_share(slowest, &q->share);
    if (code == OPTIONS_GO_ON && !q->aspect && (q->field || gaps || q->where))
        code = options_misuse("--field, --gaps and --where go with --aspect");
    if (code == OPTIONS_GO_ON && path && (q->aspect || slowest || q->node || q->process || q->change))
        code = options_misuse("--path goes with --from and --until alone");
    if (code == OPTIONS_GO_ON && asked.search && (path || q->aspect || slowest || q->node || q->process || q->change))
        code = options_misuse("--search goes with --phases, --from and --until alone");
    if (code == OPTIONS_GO_ON && deepen_for)
        code = read_deepen(deepen_for, &asked, &deepen_ns);
    if (code == OPTIONS_GO_ON && phases && !path && !q->aspect && !asked.search)
        code = options_misuse("--phases goes with --path, --aspect or --search");
    if (code == OPTIONS_GO_ON && phases && why_phases_by(phases, &asked.phases) != 0)
        code = options_misuse("--phases: '%s' is none of found, squares, knobs, decisions, violations", phases);
    if (code == OPTIONS_GO_ON && gaps && q->field)
        code = options_misuse("--gaps and --field exclude each other");
    if (code == OPTIONS_GO_ON)
        code = command_read_where(q->where, &condition);
    if (code == OPTIONS_GO_ON && q->change && strcmp(q->change, WHY_BEST) != 0 &&
        whatif_read(q->change, &change, &why) != 0)
        code = options_misuse("--what-if '%s': %s", q->change, why);
    if (code == OPTIONS_GO_ON)
        code = command_open_mirrored(&m, o.words[0], COMMAND_NOW, run);
    if (code == OPTIONS_GO_ON)
        code = command_read_times(from, until, run, &times);
    if (code != OPTIONS_GO_ON)
        return code;
    if (!run_reader_goes_on(run))
        (void)run_missing(run, &RECORD_FILTER_ALL, RUN_MISSING_MOST, true); /* which warns */
    q->from = times.from;
    q->until = times.until;
    if (deepen_for && (code = deepen_search(run, deepen_ns, &deepened)) != OPTIONS_GO_ON) {
        report_deepen_free(deepened);
        return code;
    }
    if (deepened) {
        asked.turns = report_deepen_turns(deepened);
        if (asked.turns->from > INT64_MIN && !from && !until) {
            q->from = asked.turns->from;
            q->until = asked.turns->until;
        }
    }
    asked.slowest = slowest != NULL;
    q->of = path ? WHY_PATH : gaps ? WHY_GAP : WHY_FIELD;
    code = report_why_print(run, rundir_is_running(run), &asked, misuse, sizeof misuse, stdout);
    report_deepen_free(deepened);
    return code < 0 ? options_misuse("%s", misuse) : code;
}
