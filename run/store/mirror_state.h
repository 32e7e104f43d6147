// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What is known of a run directory that is a mirror: the file `mirror` in it, which `bezel mirror` writes and all who
 * read the run look at. A directory without that file is no mirror. The file may be hostile. Thread-safe.
 */
#ifndef BEZEL_RUN_STORE_MIRROR_STATE_H
#define BEZEL_RUN_STORE_MIRROR_STATE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MIRROR_STATE_FILE "mirror"

enum { MIRROR_STATE_LACKS = 8, MIRROR_STATE_SENTENCE = 1536 };

enum mirror_state_is {
    MIRROR_BEGUN,     /* the server has not answered yet */
    MIRROR_CONNECTED, /* it is being filled */
    MIRROR_CUT,       /* the link is cut, and tried again */
    MIRROR_STORED,    /* it has what was stored when it was asked for, and is not filled any more */
    MIRROR_COMPLETE,  /* the run is over, and all of it is here but for `lacks` */
};

struct mirror_state {
    enum mirror_state_is is;
    char endpoint[256], run[64]; /* the server's; the run's id, "": not known yet */
    int64_t since;               /* CLOCK_REALTIME, ns: when `is` became so */
    uint64_t behind;             /* bytes that are stored there, and not here, as far as is known */
    bool grows;                  /* the run goes on there, likewise */
    bool temporary;              /* it is removed when the command ends that made it */
    uint64_t lacking;            /* files of which something cannot be had; the first of them: */
    char lacks[MIRROR_STATE_LACKS][512];
};

/** Reads that of run directory `run`. Returns 1; 0: it is no mirror; or an error: its file cannot be understood. */
int mirror_state_read(const char *run, struct mirror_state *s) BEZEL_MUST_CHECK;

/** Writes it, in one step. Returns 0 or an error with errno. */
int mirror_state_write(const char *run, const struct mirror_state *s) BEZEL_MUST_CHECK;

/** Removes it: the directory is no mirror any more. Returns 0 or an error with errno. */
int mirror_state_remove(const char *run) BEZEL_MUST_CHECK;

/** Notes a file of which something cannot be had. */
void mirror_state_lack(struct mirror_state *s, const char *name, const char *why);

/** The same as often as it takes until `count` are lacking, which a peer says and may be any number. */
void mirror_state_lack_up_to(struct mirror_state *s, uint64_t count, const char *name, const char *why);

#define MIRROR_STATE_OWNER ".run" /* in the private folder of a run that goes on: a link to the run's own folder */

/** Whether the run's own folder is there, as `private` says, its private folder, and `run` is another one: a copy. */
bool mirror_state_is_copy(const char *private, const char *run);

/**
 * What readers of a run directory are to know of it as a mirror, or as a copy of a run that goes on, as by cp -r. All
 * zeros: it is neither, or all of the run is there.
 */
struct mirror_look {
    bool partial;                     /* it is one, and not complete: what else the run has stored is unknown */
    bool copy;                        /* likewise, and no mirror */
    bool grows;                       /* likewise, and the run goes on there, as far as is known */
    bool stale;                       /* likewise, and nobody fills it, or the link is cut */
    char endpoint[256];               /* of a temporary mirror: the server of the run; else "" */
    char text[MIRROR_STATE_SENTENCE]; /* what it lacks, in sentences, each with its point; "": nothing */
};

void mirror_state_look(const char *run, struct mirror_look *look);

#endif
