// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Why limits were violated: the answers of `bezel why`, in three sentences each. The records are read for it, so that
 * is left to `bezel why` itself where a run has too many.
 */
#include "views/report/report_causes.h"

#include <stdlib.h>

#define RECORDS_MOST UINT64_C(2000000) /* stored ones of a run that has ended ... */
#define RECORDS_LIVE UINT64_C(200000)  /* ... or goes on: its report is made again and again */
#define MEMORY       (64 << 20)

static const char *read_cause(const char *run, const struct why_question *q, struct why_answer *a)
{
    int err = why_read(run, q, a);
    return err == 0              ? NULL
           : err == BEZEL_ENOMEM ? "there is too much in the slow instances to look for their cause here"
                                 : "the records cannot be read";
}

struct report_causes *report_causes_find(const char *run, bool running, const struct report *r)
{
    const struct verdict *v = r->verdict;
    struct report_causes *c = v->is >= VERDICT_VIOLATED ? calloc(1, sizeof *c) : NULL;
    bool many = v->sut.stored + v->daemons.stored > (running ? RECORDS_LIVE : RECORDS_MOST);
    if (!c || report_why_open(r->summary, &c->asked) != 0) {
        free(c);
        return NULL;
    }
    report_why_ask(v, r->summary, r->experiment, WHY_SLOWEST, &c->asked);
    c->page = report_why_page(r->run, running, r->summary);
    for (size_t i = 0; i < c->asked.question_count && i < REPORT_CAUSES; i++) {
        c->asked.questions[i].memory = MEMORY;
        c->unread[i] = many ? "the run has too many records to look for the cause here"
                            : read_cause(run, &c->asked.questions[i], &c->answers[i]);
    }
    return c;
}

void report_causes_free(struct report_causes *c)
{
    for (size_t i = 0; c && i < REPORT_CAUSES; i++)
        why_free(&c->answers[i]);
    if (c) {
        free(c->asked.open);
        free(c->asked.windows);
    }
    free(c);
}

/* Why there is no answer to question `i`; NULL: there is one. */
static const char *unread(const struct report_causes *c, size_t i)
{
    return i < REPORT_CAUSES ? c->unread[i] : "a report looks for the causes of three limits";
}

static void print_line(void *out, const char *text)
{
    fprintf(out, "  %s\n", text);
}

static void print_causes(const struct report *r, FILE *out)
{
    const struct report_causes *c = r->causes;
    for (size_t i = 0; c && i < c->asked.question_count; i++)
        if (unread(c, i))
            fprintf(out, "  %s: %s.\n", c->asked.questions[i].limit, unread(c, i));
        else
            why_cause(&c->page, &c->answers[i], print_line, out);
    for (size_t i = 0; c && i < c->asked.refusal_count; i++)
        fprintf(out, "  %s: no path answers it: %s.\n", c->asked.refusals[i].limit, c->asked.refusals[i].why);
    if (c && c->asked.question_count)
        fprintf(out, "  `bezel why %s` says more.\n", report_word(r->run).s);
}

static void put_text(void *json, const char *text)
{
    json_text(json, NULL, text);
}

static void put_none(struct json *j, const char *limit, const char *verdict, const char *why)
{
    json_object(j, NULL);
    json_text(j, "limit", limit);
    json_text(j, "verdict", verdict);
    json_array(j, "text");
    json_text(j, NULL, why);
    json_array_end(j);
    json_object_end(j);
}

static void put_causes(const struct report *r, struct json *j)
{
    const struct report_causes *c = r->causes;
    json_array(j, "causes");
    for (size_t i = 0; c && i < c->asked.question_count; i++) {
        if (unread(c, i)) {
            put_none(j, c->asked.questions[i].limit, "unread", unread(c, i));
            continue;
        }
        json_object(j, NULL);
        why_json_cause(&c->page, &c->answers[i], j);
        json_array(j, "text");
        why_cause(&c->page, &c->answers[i], put_text, j);
        json_array_end(j);
        json_object_end(j);
    }
    for (size_t i = 0; c && i < c->asked.refusal_count; i++)
        put_none(j, c->asked.refusals[i].limit, "unanswered", c->asked.refusals[i].why);
    json_array_end(j);
}

const struct rows_section report_cause = {.title = "Causes", .text = print_causes, .json = put_causes};
