// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Declaring aspects: each gets an entry in the dictionary, an id and an enable word.
 *
 * Declarations run under the lock of internal.h. The write path takes no lock, and the reader in bezeld is another
 * process, so both see a declaration only by what it publishes, in this order: the enable word of the id; the entry in
 * the dictionary, by `dict_used` (D0); the aspect's id (L0); the aspect's pointer to its enable word (E0), which lets
 * records pass. So each record in a ring has an id that the dictionary explains. A kill in between leaves an entry
 * without records. The dictionary only grows, and no entry changes.
 *
 * Before, the aspect points to bezel_enable_unset, which sends its first record here. Attempts until then are counted
 * in the aspect (`early`). The declaring thread and one that counts may both move that count to the segment: each takes
 * it by an exchange with 0, so it is moved once.
 *
 * An aspect that cannot be declared points to sensor_enable_undeclared for good: its attempts count under
 * bezel_undeclared, for which an id and room in the dictionary are reserved. If there can be no segment, it points to
 * sensor_enable_never.
 *
 * The loader has a lock too, and may call us while it holds it. So the functions that take it (sensor_pin()) are called
 * before our lock is taken.
 */
#include "mdr/dict.h"
#include "sensor/internal/internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- Counting without a ring ------------------------------------------------------------------------------------- */

static void count_unringed(uint32_t id, uint32_t n)
{
    struct segment *s = sensor_process.own.segment;
    id &= ~SENSOR_UNDECLARED;
    if (s && id < RING_ASPECTS)
        atomic_fetch_add_explicit(&s->unringed[id].lost, n,
                                  memory_order_relaxed); /* relaxed: a counter, nothing hangs on it */
}

/* Counts for `a`. Another thread may declare `a` meanwhile: the second of the two to change `early` moves its count. */
static void count_early(struct bezel_aspect *a, uint32_t n)
{
    __atomic_fetch_add(&a->early, n, __ATOMIC_ACQ_REL);      /* L2 acq_rel: pairs L2, publishes id and segment */
    uint32_t id = __atomic_load_n(&a->id, __ATOMIC_ACQUIRE); /* L1 acquire: pairs L0 */
    if (id)
        count_unringed(id, __atomic_exchange_n(&a->early, 0, __ATOMIC_RELAXED)); /* relaxed: a counter */
}

void sensor_count_unringed(struct bezel_aspect *aspect)
{
    uint32_t id = __atomic_load_n(&aspect->id, __ATOMIC_ACQUIRE); /* L1 acquire: pairs L0 */
    sigset_t mask;
    if (id) {
        count_unringed(id, 1);
        return;
    }
    sensor_block(&mask); /* a handler that jumps out would lose the count that was being moved */
    count_early(aspect, 1);
    sensor_unblock(&mask);
}

/* ---- Declaring --------------------------------------------------------------------------------------------------- */

enum { DECLARE_KEPT_BYTES = 64 }; /* of the dictionary, reserved for bezel_undeclared */

/* Stands for all aspects that cannot be declared. Programs must not use its name. */
static const struct bezel_aspect stands_for = {.enable = &bezel_enable_unset, .name = "bezel_undeclared"};

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_fields(const struct bezel_aspect *a, const struct bezel_aspect *b)
{
    if (a->field_count != b->field_count || a->kind != b->kind)
        return false;
    for (uint32_t i = 0; i < a->field_count; i++) {
        const struct bezel_field *f = &a->fields[i], *g = &b->fields[i];
        if (f->type != g->type || strcmp(f->name, g->name) != 0 || !same_text(f->unit, g->unit) ||
            !same_text(f->labels, g->labels))
            return false;
    }
    return true;
}

void sensor_publish_dict(uint32_t used)
{
    sensor_process.dict_used = used;
    atomic_store_explicit(&sensor_process.own.segment->dict_used, used,
                          memory_order_release); /* D0 release: pairs D1, publishes the entry */
    sensor_wake_if_idle();                       /* so that rules soon apply to the new entry */
}

static int append_to_dict(const struct bezel_aspect *a, uint32_t id, uint32_t capacity)
{
    struct dict_aspect entry = {.id = id, .kind = a->kind, .name = a->name, .field_count = a->field_count};
    for (uint32_t i = 0; i < a->field_count; i++) {
        const struct bezel_field *f = &a->fields[i];
        entry.fields[i] = (struct dict_field){(enum dict_type)f->type, f->name, f->unit, f->labels ? f->labels : ""};
    }
    int n = dict_append_aspect(sensor_process.own.segment->dict, sensor_process.dict_used, capacity, &entry);
    if (n > 0)
        sensor_publish_dict((uint32_t)n);
    return n;
}

static void enable_from(struct bezel_aspect *a, uint32_t id, const uint32_t *enable)
{
    __atomic_store_n(&a->id, id, __ATOMIC_RELEASE);         /* L0 release: pairs L1, publishes the segment */
    __atomic_store_n(&a->enable, enable, __ATOMIC_RELEASE); /* E0 release: pairs E1, publishes all of the aspect */
    count_early(a, 0);
}

/* ---- First state of aspects -------------------------------------------------------------------------------------- */

/* The mode named by the `n` bytes at `word`; negative: none. */
static int named_mode(const char *word, size_t n)
{
    if (n == 2 && memcmp(word, "on", n) == 0)
        return SEGMENT_RECORD;
    if (n == 5 && memcmp(word, "count", n) == 0)
        return SEGMENT_COUNT;
    return n == 3 && memcmp(word, "off", n) == 0 ? SEGMENT_DISABLED : -1;
}

/*
 * A copy for good of the words of BEZEL_ASPECTS, which a program may overwrite; NULL: there are none, or no memory. Not
 * by malloc(): a first record may be made in a signal handler that has interrupted it, or by malloc() itself.
 */
static char *copy_words(void)
{
    const char *set = secure_getenv("BEZEL_ASPECTS");
    size_t n = set ? strlen(set) : 0;
    char *words = n == 0 ? MAP_FAILED : mmap(NULL, n + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return words == MAP_FAILED ? NULL : memcpy(words, set, n);
}

/* The mode of the last word MODE:PATTERN of BEZEL_ASPECTS that matches `name`. Read once. Under the lock. */
static uint32_t wanted_mode(const char *name)
{
    static char *words;
    static bool read_once;
    uint32_t wanted = SEGMENT_RECORD;
    if (!read_once)
        words = copy_words();
    read_once = true;
    for (char *at = words; at && *(at += strspn(at, " "));) {
        char *end = at + strcspn(at, " "), kept = *end;
        *end = '\0';
        char *pattern = strchr(at, ':');
        int mode = pattern ? named_mode(at, (size_t)(pattern - at)) : -1;
        if (mode < 0)
            sensor_notice(sensor_process.own.segment, "BEZEL-ASPECTS",
                          "BEZEL_ASPECTS: %s is ignored: write on:PATTERN, count:PATTERN or off:PATTERN", at);
        else if (fnmatch(pattern + 1, name, 0) == 0)
            wanted = (uint32_t)mode;
        *end = kept;
        at = end;
    }
    return wanted;
}

/* Mode of aspect `name` until the external sensor sets one: the lower of the segment's and that of BEZEL_ASPECTS. */
static uint32_t first_mode(const char *name)
{
    const struct segment *s = sensor_process.own.segment;
    uint32_t allowed = atomic_load_explicit(&s->mode, memory_order_relaxed), /* relaxed: a word of its own */
        wanted = wanted_mode(name);
    bool left = atomic_load_explicit(&s->counter_left, memory_order_relaxed); /* relaxed: likewise */
    uint32_t mode = allowed == SEGMENT_RECORD || wanted == SEGMENT_DISABLED ? wanted : allowed;
    return left && mode != SEGMENT_DISABLED ? mode | BEZEL_LEAVE_COUNTER : mode;
}

/* ---- The dictionary ---------------------------------------------------------------------------------------------- */

/* Adds `a` to the dictionary; `kept_ids` and `kept_bytes` stay reserved. Returns its id, or an error. */
static int declare_next(const struct bezel_aspect *a, uint32_t kept_ids, uint32_t kept_bytes)
{
    uint32_t id = sensor_process.aspect_count + 1;
    if (id + kept_ids >= RING_ASPECTS)
        return BEZEL_EFULL;
    atomic_store_explicit(&sensor_process.own.segment->enable[id], first_mode(a->name),
                          memory_order_relaxed); /* relaxed: before D0; after it the reader writes this word */
    int n = append_to_dict(a, id, SEGMENT_DICT_BYTES - kept_bytes);
    if (n < 0)
        return n;
    sensor_process.aspect_count = id;
    return (int)id;
}

/*
 * Records of an aspect that cannot be declared are counted as lost, with the cause no-ring, under bezel_undeclared. An
 * id and some room in the dictionary are reserved for that.
 */
static void declare_undeclared(struct bezel_aspect *a)
{
    if (!sensor_process.undeclared) {
        int id = declare_next(&stands_for, 0, 0);
        if (id < 0) {
            enable_from(a, 0, &sensor_enable_never);
            return;
        }
        sensor_process.undeclared = (uint32_t)id;
    }
    enable_from(a, SENSOR_UNDECLARED | sensor_process.undeclared, &sensor_enable_undeclared);
}

static void refuse(struct bezel_aspect *a, const char *why)
{
    sensor_notice(sensor_process.own.segment, "BEZEL-ASPECT-REFUSED",
                  "aspect %s cannot be declared: %s: its records are lost", a->name ? a->name : "(NULL)", why);
    declare_undeclared(a);
}

/* Why the fields of `a`, which may be filled by hand, must not be read; NULL: dict_append_aspect() checks the rest. */
static const char *why_refused(const struct bezel_aspect *a)
{
    if (!a->name)
        return "it has no name";
    if (strcmp(a->name, stands_for.name) == 0)
        return "libbezel itself uses this name";
    if (a->field_count > BEZEL_FIELDS_MAX)
        return "it has too many fields";
    for (uint32_t i = 0; i < a->field_count; i++)
        if (!a->fields || !a->fields[i].name)
            return "a field has no name";
    return NULL;
}

static void declare_one(struct bezel_aspect *a)
{
    const char *why = why_refused(a);
    if (why) {
        refuse(a, why);
        return;
    }
    for (struct bezel_aspect *b = sensor_process.aspects; b; b = b->next) {
        if (b == a || b->id == 0 || b->id & SENSOR_UNDECLARED || strcmp(a->name, b->name) != 0)
            continue;
        if (same_fields(a, b)) {
            enable_from(a, b->id, b->enable);
        } else {
            sensor_notice(sensor_process.own.segment, "BEZEL-ASPECT-TWICE",
                          "aspect %s is declared twice with different fields: records of the later one are lost",
                          a->name);
            declare_undeclared(a);
        }
        return;
    }
    bool keep = !sensor_process.undeclared;
    int id = declare_next(a, keep, keep ? DECLARE_KEPT_BYTES : 0);
    if (id < 0) {
        refuse(a,
               id == BEZEL_EINVAL ? "a name, unit or label of it is not allowed, see bezel_record(3)" : err_text(id));
        return;
    }
    enable_from(a, (uint32_t)id, (const uint32_t *)&sensor_process.own.segment->enable[id]);
}

bool sensor_declare_all(void)
{
    int before = errno; /* the program's; an allocation may change it though it succeeds */
    bool open = sensor_open();
    for (struct bezel_aspect *a = sensor_process.aspects; open && a; a = a->next)
        if (a->enable == &bezel_enable_unset)
            declare_one(a);
    if (open)
        sensor_knobs_declare();
    errno = before;
    return open;
}

/* A record is to be made, and there is no segment: disables all aspects, unless their process may make one later. */
static void give_up(void)
{
    sensor_unobserved_report();
    for (struct bezel_aspect *a = sensor_process.aspects; a && sensor_process.failed; a = a->next)
        if (a->enable == &bezel_enable_unset)
            enable_from(a, 0, &sensor_enable_never);
}

/*
 * Puts `a` into the list of aspects, where it is not yet. A record may come before the aspect's constructor, which
 * registers it: from a constructor that the linker placed earlier.
 */
static void list_aspect(struct bezel_aspect *a)
{
    for (const struct bezel_aspect *b = sensor_process.aspects; b; b = b->next)
        if (b == a)
            return;
    if (!sensor_process.aspects_end)
        sensor_process.aspects_end = &sensor_process.aspects;
    a->next = NULL;
    *sensor_process.aspects_end = a;
    sensor_process.aspects_end = &a->next;
    (void)sensor_hook(); /* if not now, then when the segment is made */
    sensor_unobserved_prepare();
}

/* Under the lock. */
static void note_loaded(void)
{
    if (atomic_load_explicit(&sensor_process.loaded, memory_order_relaxed)) /* relaxed: written under the lock alone */
        return;
    sensor_find_home();
    atomic_store_explicit(&sensor_process.loaded, true,
                          memory_order_relaxed); /* relaxed: who reads it takes the lock */
}

/* Whatever became of the environment. */
__attribute__((constructor(101))) static void construct(void)
{
    sigset_t mask;
    sensor_lock(&mask);
    note_loaded();
    sensor_unlock(&mask);
}

/*
 * Before libc has an environment it is not ready for us, nor is there thread-local storage yet. Only functions in a
 * program's .preinit_array, and those that choose the implementation of another (ifunc), run so early. Their records
 * are counted, and the constructor of their aspect declares it. Constructors of libraries that do not need libbezel may
 * run before ours, and call functions of a program, or of a preloaded library, that record.
 */
static bool is_ready(void)
{
    return atomic_load_explicit(&sensor_process.loaded, memory_order_relaxed) || environ; /* relaxed: as above */
}

void sensor_declare(struct bezel_aspect *aspect)
{
    sigset_t mask;
    if (!is_ready() || sensor_thread.inside)
        return;
    sensor_lock(&mask);
    note_loaded();
    if (aspect)
        list_aspect(aspect); /* not pinned: that takes the loader's lock. Its constructor will do so */
    if (!sensor_declare_all() && aspect)
        give_up();
    sensor_unlock(&mask);
}

void sensor_pin(const void *object)
{
    Dl_info info;
    void *map = NULL;
    if (!dladdr1(object, &info, &map, RTLD_DL_LINKMAP) || !map)
        return;
    const char *name = ((const struct link_map *)map)->l_name;
    if (*name) /* empty: the program itself */
        (void)dlopen(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void bezel_aspect_register(struct bezel_aspect *aspect)
{
    sigset_t mask;
    sensor_pin(aspect); /* before our lock, because the loader has a lock too, and may call us */
    sensor_lock(&mask);
    list_aspect(aspect);
    bool lost = __atomic_load_n(&aspect->early, __ATOMIC_RELAXED) > 0; /* relaxed: a counter */
    if ((sensor_process.own.segment || lost) && !sensor_declare_all())
        give_up();
    sensor_unlock(&mask);
}
