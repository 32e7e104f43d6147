// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The launcher: a separate process that owns the processes of the SUT. It has one thread, no ZeroMQ and no shared
 * memory with the monitor, so that a failure of the monitor cannot end it. It takes LAUNCH, ENDING, QUERY and SHUTDOWN
 * (mdr/control.x), one message in each packet of its socket, and reports what becomes of each program.
 *
 * `bezel run` forks one for the programs of this machine. It ends with its owner: when the other end of its socket
 * closes, it ends the process tree of all that it started, and exits. A LAUNCH that it reads after its asker has hung
 * up is not carried out: a program starts only as long as somebody observes it. A persistent bezeld has one started for
 * each session by the service bezel-launcher (bezeld/launch/main.c). That one outlives the bezeld, and knows what it
 * has started: an incarnation of a program is never started twice.
 *
 * The launcher is a subreaper: it inherits every descendant whose parent ended, daemons included, and so ends the
 * complete tree. It sends SIGTERM first, and SIGKILL after the grace, until no process is left.
 *
 * The process that forks the launcher is a subreaper too. If the launcher is killed, it inherits the tree, and
 * launcher_finish() ends it. If both are killed at once, the processes that the launcher started itself get SIGKILL
 * (PR_SET_PDEATHSIG); their own children are then left running.
 *
 * A process of this machine starts as it would from the shell in which `bezel run` was started
 * (bezeld/launch/launch_environment.h): default signals and mask, the shell's scheduling, no descriptors but those that
 * `bezel run` itself got.
 */
#ifndef BEZEL_BEZELD_LAUNCH_LAUNCHER_H
#define BEZEL_BEZELD_LAUNCH_LAUNCHER_H

#include "bezeld/launch/launch.h"
#include "bezeld/launch/launcher_serve.h"

#include <stddef.h>
#include <sys/types.h>

struct message;

/** The socket of the service in its folder, and of the launcher of a session in the session's folder there. */
#define LAUNCHER_SOCKET "socket"

struct launcher {
    pid_t pid; /* of our child; 0: none */
    int fd;    /* readable when there is a message, or the launcher has ended; -1: none */
    int64_t grace;
    uint32_t id; /* of the last message */
};

/**
 * Forks a launcher that ends with this process. The process must have one thread and no ZeroMQ context. `grace` in ns.
 * Returns 0 or an error with errno set.
 */
int launcher_fork(int64_t grace, struct launcher *l) BEZEL_MUST_CHECK;

/**
 * Connects to the launcher of session `name` in the service's folder `dir`, or else has the service start it. Returns 0
 * with *l for launcher_close(); BEZEL_ENOENT or BEZEL_EUNREACH if there is no service, with errno; BEZEL_EAGAIN
 * where it is being started: call again soon. Does not block.
 */
int launcher_connect(const char *dir, const char *name, struct launcher *l) BEZEL_MUST_CHECK;

/** The name of the session of `run` and `node` in the folder of the service. */
enum { LAUNCHER_NAME_MAX = MESSAGE_NAME_MAX + 16 };
void launcher_session_name(const uint8_t run[16], const char *node, char name[LAUNCHER_NAME_MAX]);

/** Has a program started; ends all. Returns 0; BEZEL_EAGAIN if the launcher does not take it now; BEZEL_EUNREACH if it
 * is gone; BEZEL_EFULL if the program's texts are too long. Does not block. */
int launcher_start(struct launcher *l, const struct launch *launch) BEZEL_MUST_CHECK;
int launcher_end(struct launcher *l, enum message_ending how) BEZEL_MUST_CHECK;

/** Sends message `m`, a COMMAND or LAUNCH with an id. Returns as above. */
int launcher_send(struct launcher *l, const struct message *m) BEZEL_MUST_CHECK;

/**
 * Takes the next message, a REPLY or a REFUSE. Returns 0, BEZEL_EAGAIN if there is none, BEZEL_EUNREACH if the launcher
 * is gone; BEZEL_EVERSION if *m is a REFUSE because its version is another one. Does not block.
 */
int launcher_receive(struct launcher *l, struct message *m) BEZEL_MUST_CHECK;

/**
 * Closes the launcher socket; waits until our child has ended its tree and exited; sends it SIGCONT, in case it was
 * stopped. Returns false if it had to be killed, LAUNCHER_FINISH after the grace; then call launcher_finish().
 * Idempotent.
 */
bool launcher_close(struct launcher *l);

/** Kills our child at once, and waits until it is gone: from then on it starts nothing. Then call launcher_finish(). */
void launcher_kill(struct launcher *l);

/**
 * After a launcher was killed: kills all descendants of the calling process, except the `spare_count` processes of
 * `spare` and their descendants. Returns false if some were still alive after LAUNCHER_FINISH. Leaves zombies.
 */
bool launcher_finish(const pid_t *spare, size_t spare_count);

#endif
