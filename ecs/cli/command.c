// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/command.h"

#include "base/log.h"
#include "base/program.h"
#include "ecs/course/control_client.h"
#include "ecs/course/run_journal.h"
#include "ecs/course/rundir.h"
#include "mdr/message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where link `run` leads now, such as `latest`: that may lead elsewhere before the command ends. */
static void follow_link(char run[PATH_MAX])
{
    char target[PATH_MAX], path[2 * PATH_MAX];
    for (size_t end = strlen(run); end > 1 && run[end - 1] == '/'; end--)
        run[end - 1] = '\0'; /* a path with a slash behind it is that of the directory, not of the link */
    ssize_t n = readlink(run, target, sizeof target - 1);
    const char *slash = strrchr(run, '/');
    if (n <= 0)
        return;
    target[n] = '\0';
    int folder = *target == '/' || !slash ? 0 : (int)(slash + 1 - run);
    if (snprintf(path, sizeof path, "%.*s%s", folder, run, target) < PATH_MAX)
        memcpy(run, path, strlen(path) + 1);
}

int command_find_run(const struct command_target *t, const char *word, char run[PATH_MAX])
{
    char below[PATH_MAX];
    const char *folder = rundir_runs(t->runs);
    int err = rundir_find(word, folder, run, PATH_MAX);
    if (err && word && *word && !strchr(word, '/') &&
        snprintf(below, sizeof below, "%s/%s", folder, word) < (int)sizeof below) {
        int there = rundir_find(below, folder, run, PATH_MAX);
        err = there == BEZEL_ENOENT ? err : there;
    }
    if (err == 0) {
        follow_link(run);
        if (access(run, X_OK) == 0)
            return OPTIONS_GO_ON;
        log_error("BEZEL-RUN-UNREADABLE", "cannot read %s: %s", run, strerror(errno));
        return EXIT_FAILED;
    }
    if (err == BEZEL_EINVAL)
        log_error("BEZEL-RUN-UNKNOWN",
                  "%s is not a run directory: it has neither experiment.yaml, nor run.db, nor trace",
                  word ? word : run);
    else if (word)
        log_error("BEZEL-RUN-UNKNOWN", "there is no run '%s', neither as a directory nor in %s", word, folder);
    else
        log_error("BEZEL-RUN-UNKNOWN", "there is no run in %s yet: 'bezel run' makes one", folder);
    return EXIT_USAGE;
}

int command_open_run(const struct command_target *t, const char *word, char run[PATH_MAX])
{
    char place[2 * PATH_MAX];
    int code = command_find_run(t, word, run);
    if (code != OPTIONS_GO_ON)
        return code;
    if (!rundir_is_away(run, place, sizeof place))
        return OPTIONS_GO_ON;
    if (rundir_is_running(run))
        log_error(
            "BEZEL-RUN-AWAY",
            "%s: the run goes on, and lies %s; it comes here at its end; with `store: {serve: ...}` in its file it "
            "can be seen from here meanwhile",
            run, place);
    else if (run_journal_is(run))
        log_error("BEZEL-RUN-AWAY",
                  "%s: its `bezel run` was killed, and the run, which lies %s, may go on; bezel attach %s brings it to "
                  "its end, and here; so does, once its programs there have ended: bezel fetch %s",
                  run, place, run, run);
    else
        log_error("BEZEL-RUN-AWAY", "%s: the run is not here, it lies %s; fetch it with: bezel fetch %s", run, place,
                  run);
    return EXIT_UNREACHABLE;
}

int command_open_real(const struct command_target *t, const char *word, char run[PATH_MAX])
{
    int code = command_open_run(t, word, run);
    char *real = code == OPTIONS_GO_ON ? realpath(run, NULL) : NULL;
    if (real)
        snprintf(run, PATH_MAX, "%s", real);
    free(real);
    return code;
}

bool command_is_file(const char *word)
{
    struct stat st;
    return word && stat(word, &st) == 0 && S_ISREG(st.st_mode);
}

int command_become(const char *const *args)
{
    char program[PATH_MAX];
    if (program_find_own(args[0], program, sizeof program) != 0) {
        log_error("BEZEL-PROGRAM", "%s is neither beside this program nor in $PATH: install it", args[0]);
        return EXIT_FAILED;
    }
    execv(program, (char **)(uintptr_t)args);
    log_error("BEZEL-PROGRAM", "cannot start %s: %s", program, strerror(errno));
    return EXIT_FAILED;
}

int command_reach(const struct command_target *t, const char *word, struct control_client *r)
{
    char run[PATH_MAX];
    int code = OPTIONS_GO_ON;
    bool file = command_is_file(word);
    if (!file)
        code = command_find_run(t, word, run);
    if (code != OPTIONS_GO_ON)
        return code;
    code = file ? control_client_open_file(word, t->whom, t->node, r) : control_client_open(run, t->whom, t->node, r);
    return code == EXIT_OK ? OPTIONS_GO_ON : code;
}

int command_ask(const struct command_target *t, const char *word, const struct message_command *command,
                enum message_answer wanted, bool (*take)(void *context, const char *node, const struct message *answer),
                void *context)
{
    struct control_client r;
    int code = command_reach(t, word, &r);
    if (code != OPTIONS_GO_ON)
        return code;
    code = control_client_ask(&r, command, wanted, take, context);
    control_client_close(&r);
    return options_end(code);
}

const char *command_state(enum message_daemon_state state)
{
    static const char *const words[] = {
        [DAEMON_STARTING] = "starting", [DAEMON_ACTIVE] = "active", [DAEMON_DRAINING] = "draining",
        [DAEMON_DRAINED] = "drained",   [DAEMON_FAILED] = "failed", [DAEMON_PAUSED] = "paused"};
    return words[state];
}
