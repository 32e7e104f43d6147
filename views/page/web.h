// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The web server of `bezel view` and `bezel serve --metrics`: files by HTTP, and a WebSocket for each page, or each
 * tool that shows the run. libwebsockets runs in a thread of its own, since Debian's build has no external poll; the
 * program's thread sees events, sends frames and publishes texts. All is bounded: WEB_PAGES pages, WEB_EVENTS events in
 * all that wait (nothing is read from a page while there is no room for its next one), frames and WEB_BYTES for each
 * page; and who does not read an answer for WEB_PATIENCE_S is disconnected. All functions but web_port() and
 * web_counts() belong to one thread.
 */
#ifndef BEZEL_VIEWS_PAGE_WEB_H
#define BEZEL_VIEWS_PAGE_WEB_H

#include "views/page/gate.h"

#include <stdint.h>

enum {
    WEB_PAGES = 32,
    WEB_CONNECTIONS = 96, /* descriptors of the service: pages, and those that only ask */
    WEB_SILENT = 32, /* of these that ask for nothing; where there are more, the oldest is disconnected, as refused */
    WEB_EVENTS = 256,
    WEB_FRAMES = 16,
    WEB_BYTES = 16 << 20,
    WEB_PATIENCE_S = 5,
};

struct web_file {
    const char *path, *type; /* "/view.js", "text/javascript" */
    const char *text;        /* NULL: what web_publish() gave last */
};

/** Who may have a WebSocket, of those that name this machine. */
enum web_sockets {
    WEB_SOCKETS_PAGES, /* pages of this server, with the gate's cookie */
    WEB_SOCKETS_TOKEN, /* whoever has the gate's token in the address, "/?token=TOKEN"; the token stays what it is */
    WEB_SOCKETS_ALL,   /* programs, and pages of this server or the gate's allowed origin */
};

struct web_options {
    const char *interface;        /* its name or address; NULL: 127.0.0.1; "": all of them */
    uint16_t port;                /* 0: a free one */
    const struct gate *gate;      /* copied; NULL: everybody may read the files, by any name where `interface` is not
                                     NULL, and there are no pages */
    const struct web_file *files; /* the last one has no path; borrowed. The first one is the page */
    enum web_sockets sockets;     /* all but pages: everybody may read the files, as without a gate */
    const char *protocols[2];     /* of WebSockets; none: "bezel-view" */
    size_t frames;                /* that wait for each page; 0: WEB_FRAMES */
    size_t message;               /* bytes of what a page sends; a longer one ends it. 0: PAGE_REQUEST_MAX */
};

enum web_event_kind {
    WEB_OPENED,
    WEB_TEXT,
    WEB_CLOSED,
    WEB_TOKEN_TAKEN, /* a browser was admitted: `text` is the next token */
};

struct web_event {
    enum web_event_kind kind;
    uint32_t page; /* a number that no other page of this program has or had */
    char *text;    /* for free(); a NUL is behind its `length` bytes */
    size_t length;
};

struct web;

/** Starts to serve. Returns 0 with *w for web_stop(); BEZEL_EBUSY: the port is taken; or another error. */
int web_start(const struct web_options *o, struct web **w) BEZEL_MUST_CHECK;
void web_stop(struct web *w);

/** The port, and a secret that the gate drew. */
uint16_t web_port(const struct web *w);

/** Waits for an event for up to `timeout_ns`, less when a signal arrives. Returns whether there is one. */
bool web_next(struct web *w, int64_t timeout_ns, struct web_event *e) BEZEL_MUST_CHECK;

/**
 * Sends `n` bytes, copied, as one frame: of text, or binary. Returns 0; BEZEL_EAGAIN: the page has not taken what it
 * was sent before, and gets nothing; BEZEL_ENOENT: it is gone; BEZEL_ENOMEM.
 */
int web_send(struct web *w, uint32_t page, const void *bytes, size_t n, bool text) BEZEL_MUST_CHECK;

/** Whether less than half of what may wait for the page does; true if it is gone. */
bool web_has_room(struct web *w, uint32_t page);

/** Makes a copy of `text` of `n` bytes what files without a text have from now on. Returns 0 or BEZEL_ENOMEM. */
int web_publish(struct web *w, const char *text, size_t n) BEZEL_MUST_CHECK;

/** How many requests got what they asked for so far, were not read to their end, or were refused. */
struct web_counts {
    uint64_t answered, cut, refused;
};
struct web_counts web_counts(struct web *w);

#endif
