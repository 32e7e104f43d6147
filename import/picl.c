// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "import/picl.h"

#include "base/clock_units.h"
#include "base/file.h"
#include "base/log.h"
#include "import/pairs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

/*
 * A line is: type of the record, type of the event, seconds, processor, process, number of data; then, if there are
 * some, what they are (a number for all of them, or a format in quotes for each group), and the data.
 */

enum { LINE_MAX_BYTES = 1 << 16, WORDS_MAX = 64, LABELS_MAX = 4096 };
enum { CHANNELS_MAX = 1 << 20, CHANNEL_BUCKETS = 1 << 16 };
enum { RECORD_MARK = -2, RECORD_ENTRY = -3, RECORD_EXIT = -4, RECORD_LABEL = -5 };
enum { EVENT_SEND_FIRST = -21, EVENT_SEND_LAST = -27, EVENT_RECEIVE_FIRST = -51, EVENT_RECEIVE_LAST = -52 };
enum { EVENT_TRACING = -901, EVENT_FULL = -913, EVENT_OVERWRITTEN = -914 };

struct line {
    int64_t record, event, processor, process, time; /* time: ns */
    uint32_t count;                                  /* of data */
    enum dict_type types[WORDS_MAX];
    char *words[WORDS_MAX];
};

/* Messages of one tag from one processor to another, which arrive in the order in which they were sent. */
struct channel {
    int64_t source, destination, tag;
    uint64_t sent, received;
    struct channel *next;
};

struct picl_reading {
    struct picl_import *p;
    struct fill_node *node;
    char *labels[LABELS_MAX];
    struct pairs open;
    struct channel *channels[CHANNEL_BUCKETS];
    uint64_t channel_count, unnumbered; /* unnumbered: messages for whose channel there was no room */
    bool loss_unknown;
};

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static bool read_number(char **at, int64_t *n)
{
    char *end;
    errno = 0;
    *n = strtoll(*at, &end, 10);
    bool ok = end != *at && (*end == ' ' || *end == '\0') && errno == 0;
    *at = end + strspn(end, " ");
    return ok;
}

/* Decimal seconds, which a double would not have to the ns. */
static bool read_time(char **at, int64_t *ns)
{
    char *end;
    int64_t seconds = strtoll(*at, &end, 10), scale = CLOCK_S / 10;
    double real = strtod(*at, NULL);
    if (end == *at || !(real >= 0 && real < (double)(INT64_MAX / CLOCK_S)))
        return false;
    *ns = seconds * CLOCK_S;
    if (*end == '.')
        for (end++; *end >= '0' && *end <= '9'; end++, scale /= 10)
            *ns += (*end - '0') * scale;
    if (*end == 'e' || *end == 'E') {
        (void)strtod(*at, &end);
        *ns = (int64_t)(real * 1e9);
    }
    bool ok = *end == ' ' || *end == '\0';
    *at = end + strspn(end, " ");
    return ok;
}

/* The types of a group: `what` is one number, or a format in quotes. Returns how many there are; 0: malformed. */
static uint32_t read_types(const char *what, enum dict_type types[WORDS_MAX])
{
    uint32_t n = 0;
    if (*what >= '0' && *what <= '5' && !what[1]) {
        types[0] = *what <= '1' ? DICT_STRING : *what <= '3' ? DICT_INT64 : DICT_FLOAT64;
        return 1;
    }
    for (what = strchr(what, '%'); what && n < WORDS_MAX; what = strchr(what, '%')) {
        what += 1 + strspn(what + 1, "0123456789.hl");
        types[n++] = *what && strchr("feg", *what)   ? DICT_FLOAT64
                     : *what && strchr("diu", *what) ? DICT_INT64
                                                     : DICT_STRING;
    }
    return n;
}

/* Whether a word is a number of its type, and one that such a type has. */
static bool is_of_type(enum dict_type type, const char *word)
{
    char *end = NULL;
    errno = 0;
    bool too_large = type == DICT_INT64 ? (strtoll(word, &end, 10), errno) : isinf(strtod(word, &end)) && errno;
    return type == DICT_STRING || (*word && !*end && !too_large);
}

/* Takes the data of a line; those beyond WORDS_MAX are counted. False: there are not as many as it says, or of another
 * type. */
static bool read_data(struct picl_reading *r, char *at, int64_t count, struct line *l)
{
    enum dict_type types[WORDS_MAX];
    l->count = 0;
    if (count == 0)
        return true;
    char *what = at, *end = *at == '"' ? strchr(at + 1, '"') : at + strcspn(at, " ") - 1;
    if (!end || !*at || !end[0])
        return false;
    at = end + 1 + (end[1] != '\0');
    end[1] = '\0';
    uint32_t group = read_types(what, types);
    for (int64_t i = 0; group && i < count * group; i++) {
        at += strspn(at, " ");
        if (!*at)
            return false;
        char *word = at;
        at += strcspn(at, " ");
        if (*at)
            *at++ = '\0';
        if (!is_of_type(types[i % group], word))
            return false;
        if (l->count < WORDS_MAX) {
            l->types[l->count] = types[i % group];
            l->words[l->count++] = word;
        } else {
            r->p->data++;
        }
    }
    return group > 0;
}

static bool read_line(struct picl_reading *r, char *at, struct line *l)
{
    int64_t count;
    at += strspn(at, " ");
    return read_number(&at, &l->record) && read_number(&at, &l->event) && read_time(&at, &l->time) &&
           read_number(&at, &l->processor) && read_number(&at, &l->process) && l->process <= UINT32_MAX &&
           read_number(&at, &count) && count >= 0 && count <= LINE_MAX_BYTES && read_data(r, at, count, l);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct picl_reading *r, int64_t event, char name[32])
{
    static const struct {
        int64_t event;
        const char *name;
    } known[] = {
        {-11, "open"},      {-12, "close"},      {-402, "barrier"},   {-601, "idle"},   {-602, "system_overhead"},
        {-603, "overhead"}, {-782, "allreduce"}, {-785, "broadcast"}, {-790, "reduce"}, {-912, "flush"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].event == event)
            return known[i].name;
    if (event >= 0 && event < LABELS_MAX && r->labels[event])
        return r->labels[event];
    snprintf(name, 32, event < 0 ? "system_%" PRIu64 : "event_%" PRIu64,
             event < 0 ? -(uint64_t)event : (uint64_t)event);
    return name;
}

static struct fill_process *process_of(const struct picl_reading *r, const struct line *l)
{
    char name[32];
    snprintf(name, sizeof name, "p%" PRId64, l->processor);
    return fill_process(r->node, "picl", l->processor, name, ROLE_SUT, l->time);
}

static uint32_t thread_of(const struct line *l)
{
    return l->process >= 0 ? (uint32_t)l->process : 0;
}

static uint64_t value_of(struct fill_process *p, enum dict_type type, const char *word)
{
    uint64_t bits;
    double real = strtod(word, NULL);
    if (type == DICT_STRING)
        return fill_text(p, word);
    if (type == DICT_INT64)
        return (uint64_t)strtoll(word, NULL, 10);
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

/* Adds a record with the fields of `a`, whose values are there, and with the data of the line behind them. */
static int add_record(struct picl_reading *r, const struct line *l, struct dict_aspect *a, uint64_t *values,
                      struct fill_process *p)
{
    char names[DICT_FIELDS_MAX][16];
    for (uint32_t i = 0; i < l->count; i++) {
        uint32_t n = a->field_count;
        if (n == DICT_FIELDS_MAX) {
            r->p->data++;
            continue;
        }
        snprintf(names[n], sizeof names[n], "data_%u", i + 1);
        a->fields[n] = (struct dict_field){.type = l->types[i], .name = names[n]};
        values[n] = p ? value_of(p, l->types[i], l->words[i]) : 0;
        a->field_count++;
    }
    const struct fill_shape *shape = fill_shape(r->p->in, a);
    if (!shape)
        return BEZEL_ENOMEM;
    struct fill_ring *ring = p ? fill_ring(p, thread_of(l), 0, l->time) : NULL;
    return fill_record(r->p->in, ring, thread_of(l), ring ? fill_aspect(p, shape) : 0, l->time, values, a->field_count);
}

static int add_mark(struct picl_reading *r, const struct line *l)
{
    char name[32];
    uint64_t values[DICT_FIELDS_MAX];
    struct dict_aspect a = {.name = name_of(r, l->event, name)};
    return add_record(r, l, &a, values, process_of(r, l));
}

/* `duration`: -1: unknown. */
static int add_span(struct picl_reading *r, const struct line *l, int64_t duration)
{
    char name[32];
    uint64_t values[DICT_FIELDS_MAX] = {(uint64_t)duration};
    struct dict_aspect a = {.kind = DICT_SPAN, .name = name_of(r, l->event, name), .field_count = 1};
    a.fields[0] = (struct dict_field){DICT_INT64, "duration", "ns", ""};
    return add_record(r, l, &a, values, process_of(r, l));
}

/* NULL: there is no room. */
static struct channel *channel_of(struct picl_reading *r, int64_t source, int64_t destination, int64_t tag)
{
    uint64_t h = (uint64_t)source * 31 + (uint64_t)destination * 1009 + (uint64_t)tag;
    struct channel **first = &r->channels[h % CHANNEL_BUCKETS], *c = *first;
    while (c && (c->source != source || c->destination != destination || c->tag != tag))
        c = c->next;
    if (c || r->channel_count == CHANNELS_MAX || !(c = calloc(1, sizeof *c)))
        return c;
    *c = (struct channel){source, destination, tag, 0, 0, *first};
    r->channel_count++;
    return *first = c;
}

/* Programs use a tag again and again: behind the first message its number is above the tag. */
static uint64_t unique_tag(struct picl_reading *r, const struct line *l, enum dict_kind kind, int64_t tag,
                           int64_t other)
{
    bool sent = kind == DICT_SENT;
    struct channel *c = channel_of(r, sent ? l->processor : other, sent ? other : l->processor, tag);
    if (!c)
        return r->unnumbered++, (uint64_t)tag;
    return (uint64_t)tag + ((sent ? c->sent++ : c->received++) << 32);
}

/* Data of a message: length, tag, and the processor of its peer. */
static int add_message(struct picl_reading *r, const struct line *l, enum dict_kind kind)
{
    char peer[32] = "";
    struct fill_process *p = process_of(r, l);
    int64_t other = strtoll(l->words[2], NULL, 10);
    if (other >= 0)
        snprintf(peer, sizeof peer, "p%" PRId64, other);
    uint64_t values[DICT_FIELDS_MAX] = {p ? fill_text(p, peer) : 0,
                                        unique_tag(r, l, kind, strtoll(l->words[1], NULL, 10), other),
                                        (uint64_t)strtoll(l->words[0], NULL, 10)};
    struct dict_aspect a = {.kind = kind, .name = kind == DICT_SENT ? "sent" : "received", .field_count = 3};
    a.fields[0] = (struct dict_field){DICT_STRING, "peer", "", ""};
    a.fields[1] = (struct dict_field){DICT_INT64, "tag", "1", ""};
    a.fields[2] = (struct dict_field){DICT_INT64, "bytes", "B", ""};
    struct line bare = *l;
    bare.count = 0;
    return add_record(r, &bare, &a, values, p);
}

static int add_loss(struct picl_reading *r, const struct line *l)
{
    struct fill_process *p = process_of(r, l);
    int64_t lost = l->count > 0 && l->types[0] == DICT_INT64 ? strtoll(l->words[0], NULL, 10) : 0;
    pairs_lose(&r->open, l->time);
    if (lost <= 0)
        return r->loss_unknown = true, 0;
    struct fill_ring *ring = p ? fill_ring(p, FILL_OF_LOSSES | thread_of(l), 0, l->time) : NULL;
    return fill_loss(r->p->in, ring, l->time, l->time, (uint64_t)lost);
}

/* ---- entries and exits ------------------------------------------------------------------------------------------- */

/* Events of one number of a process nest. */
static int take_span(struct picl_reading *r, const struct line *l)
{
    const int64_t key[PAIRS_KEYS] = {l->event, l->processor, l->process};
    if (l->record == RECORD_EXIT)
        return add_span(r, l, pairs_leave(&r->open, key, l->time));
    r->p->unmatched += !pairs_enter(&r->open, key, l->time);
    return 0;
}

static bool is_send(const struct line *l)
{
    return l->event <= EVENT_SEND_FIRST && l->event >= EVENT_SEND_LAST;
}

static bool is_receive(const struct line *l)
{
    return l->event <= EVENT_RECEIVE_FIRST && l->event >= EVENT_RECEIVE_LAST;
}

/* Sends have their data at the entry, receives at the exit: the other line says no more. */
static int take_pair(struct picl_reading *r, const struct line *l)
{
    bool entry = l->record == RECORD_ENTRY, whole = l->count >= 3;
    if (!is_send(l) && !is_receive(l))
        return take_span(r, l);
    if (entry != is_send(l))
        return 0;
    for (uint32_t i = 0; i < 3 && whole; i++)
        whole = l->types[i] == DICT_INT64;
    if (!whole)
        return r->p->skipped++, 0;
    return add_message(r, l, entry ? DICT_SENT : DICT_RECEIVED);
}

static int take_line(struct picl_reading *r, const struct line *l)
{
    if (l->event == EVENT_TRACING)
        return 0;
    if (l->event == EVENT_FULL || l->event == EVENT_OVERWRITTEN)
        return add_loss(r, l);
    if (l->record == RECORD_LABEL && l->event >= 0 && l->event < LABELS_MAX && l->count > 0) {
        free(r->labels[l->event]);
        r->labels[l->event] = strdup(l->words[0]);
        return 0;
    }
    if (l->record == RECORD_MARK || l->record >= 0)
        return add_mark(r, l);
    if (l->record == RECORD_ENTRY || l->record == RECORD_EXIT)
        return take_pair(r, l);
    r->p->skipped++;
    return 0;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

bool picl_is(const char *path)
{
    struct picl_reading *r = calloc(1, sizeof *r);
    struct picl_import none = {0};
    struct line l;
    struct stat st;
    char text[512];
    FILE *in = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
    bool is = r && in && fgets(text, sizeof text, in);
    if (is) {
        r->p = &none;
        text[strcspn(text, "\r\n")] = '\0';
        is = read_line(r, text, &l);
    }
    if (in)
        fclose(in);
    free(r);
    return is;
}

static int report_damage(const struct picl_reading *r, const char *path, uint64_t number)
{
    log_error("BEZEL-IMPORT-DAMAGED",
              "%s:%" PRIu64 ": this is no line of PICL, or a number in it is none, or too large: what comes behind "
              "is missing: correct it, and import again",
              path, number);
    fill_note(r->node, FILL_DAMAGED,
              "%.120s has a line that is none of PICL, line %" PRIu64 ", and was not read further", path, number);
    return BEZEL_EMALFORMED;
}

static int read_lines(struct picl_reading *r, const char *path, FILE *in)
{
    static char text[LINE_MAX_BYTES];
    struct line l;
    off_t taken = 0; /* bytes, but for those behind a NUL */
    int err = 0;
    for (uint64_t number = 1; !err && fgets(text, sizeof text, in); number++) {
        size_t n = strcspn(text, "\r\n"), end = n + (text[n] == '\r');
        taken += (off_t)strlen(text);
        bool whole = strcmp(text + end, "\n") == 0 || (text[end] == '\0' && feof(in) && ftello(in) == taken);
        text[n] = '\0';
        if (whole && text[strspn(text, " \t")] == '\0')
            continue;
        err = whole && read_line(r, text, &l) ? take_line(r, &l) : report_damage(r, path, number);
    }
    return err ? err : ferror(in) ? BEZEL_ESYS : 0;
}

/* PICL has no counter, and no clock's beginning. */
static void note_limits(const struct picl_reading *r, const char *path)
{
    const char *name = file_name(path);
    fill_note(r->node, FILL_CLOCK, "PICL says not where the time of %.120s begins: it compares with no other", name);
    fill_note(r->node, FILL_LOST, "PICL counts no losses%s: whether records of %.120s were lost is unknown",
              r->loss_unknown ? ", and a buffer was full" : "", name);
    if (r->unnumbered)
        fill_note(r->node, FILL_FIELDS, "messages whose tag may be that of others, for lack of room: %" PRIu64,
                  r->unnumbered);
    if (r->p->unmatched)
        fill_note(r->node, FILL_LEFT_OUT, "entries without an exit, which were left out: %" PRIu64, r->p->unmatched);
}

static void free_reading(struct picl_reading *r)
{
    for (size_t i = 0; i < LABELS_MAX; i++)
        free(r->labels[i]);
    pairs_free(&r->open);
    for (size_t i = 0; i < CHANNEL_BUCKETS; i++)
        while (r->channels[i]) {
            struct channel *c = r->channels[i];
            r->channels[i] = c->next;
            free(c);
        }
    free(r);
}

int picl_read(struct picl_import *p, const char *path)
{
    struct picl_reading *r = calloc(1, sizeof *r);
    uint8_t clock[16];
    FILE *in = r ? fopen(path, "re") : NULL;
    int err = !r ? BEZEL_ENOMEM : !in || getrandom(clock, sizeof clock, 0) != sizeof clock ? BEZEL_ESYS : 0;
    if (!err) {
        r->p = p;
        r->node = fill_node(p->in, "picl", clock, 0);
        err = r->node ? read_lines(r, path, in) : BEZEL_ENOMEM;
    }
    if (r && r->node) {
        p->unmatched += r->open.count;
        note_limits(r, path);
    }
    if (in)
        fclose(in);
    if (r)
        free_reading(r);
    return err;
}
