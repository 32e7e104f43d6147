// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What `bezel node` has done on other machines: each call is one of the system's `ssh`, or of the command in
 * $BEZEL_SSH, which takes the same arguments. It never asks for anything. Messages go to stderr, behind log_about().
 * One thread.
 */
#ifndef BEZEL_ECS_CLI_NODE_REMOTE_H
#define BEZEL_ECS_CLI_NODE_REMOTE_H

#include "base/err.h"
#include "ecs/cli/node_plan.h"

#include <limits.h>
#include <stdio.h>

/** What node.sh takes: variables, written by node_remote_set(). Start with {0}, end with node_remote_forget(). */
struct node_request {
    FILE *out;
    char *text;
    size_t n;
};

void node_remote_set(struct node_request *q, const char *variable, const char *value);
void node_remote_forget(struct node_request *q);

/**
 * Has `action` of node.sh done at `ssh`, [USER@]HOST, with the variables of `q` (NULL: none). Its answers go to
 * *traits, beside what is there; what it prints, to stdout. Returns 0, or an error, printed: BEZEL_EUNREACH where ssh
 * did not get there, BEZEL_ESYS where it could not be done.
 */
int node_remote_do(const char *ssh, const char *action, struct node_request *q,
                   struct node_traits *traits) BEZEL_MUST_CHECK;

/** Copies the files `names`, separated by blanks, of `folder` into folder `to` there. Returns as above. */
int node_remote_copy(const char *ssh, const char *folder, const char *names, const char *to) BEZEL_MUST_CHECK;

/** The name or number of the machine that ssh connects to for `ssh`, by its configuration. Returns `host`. */
const char *node_remote_host(const char *ssh, char *host, size_t size);

/** Runs `argv` with standard input from `input` (NULL: none). Returns its exit code, or a negative error, with what it
 * wrote on its standard output and error in *out and *err, to be freed. */
int node_remote_run(char *const argv[], const char *input, char **out, char **err) BEZEL_MUST_CHECK;

/** Writes why ssh, which wrote `text` on its standard error, did not get there, and what to do. Pure. */
void node_remote_reason(const char *text, char sentence[NODE_SENTENCE_MAX]);

#endif
