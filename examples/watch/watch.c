// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Watches a run: watch RUN [CONDITION]. Prints a line for each record that meets the condition, as it is stored, until
 * the run ends, and how many there were. Build it with: cc watch.c $(pkg-config --cflags --libs bezel-consumer)
 */
#include <bezel/consumer.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "1" is the unit of a plain number. */
static const char *unit_of(const struct bezel_consumer_field *f)
{
    return strcmp(f->unit, "1") == 0 ? "" : f->unit;
}

static void print_fields(struct bezel_consumer *c, uint32_t count)
{
    struct bezel_consumer_field f = {.size = sizeof f};
    for (uint32_t i = 0; i < count && bezel_consumer_get(c, i, &f) == 0; i++)
        if (f.text)
            printf(" %s=%s", f.name, f.text);
        else if (f.type == BEZEL_CONSUMER_FLOAT64)
            printf(" %s=%g%s", f.name, f.real, unit_of(&f));
        else
            printf(" %s=%" PRId64 "%s", f.name, f.integer, unit_of(&f));
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: watch RUN [CONDITION]\n", stderr);
        return 2;
    }
    struct bezel_consumer_options options = {.size = sizeof options, .where = argc > 2 ? argv[2] : NULL, .follow = 1};
    struct bezel_consumer_item item = {.size = sizeof item};
    struct bezel_consumer_totals totals = {.size = sizeof totals};
    struct bezel_consumer *c;
    int got = bezel_consumer_open(argv[1], &options, &c);
    while (got >= 0 && (got = bezel_consumer_next(c, &item, -1)) > 0) {
        printf("%" PRId64 " %s %s", item.run_time_ns, item.node, item.process);
        if (item.kind == BEZEL_CONSUMER_LOSS) {
            printf(": %" PRIu64 " records lost\n", item.lost);
            continue;
        }
        printf(" %s", item.aspect);
        print_fields(c, item.fields);
        putchar('\n');
    }
    if (got < 0)
        fprintf(stderr, "watch: %s\n", bezel_consumer_reason());
    else if (bezel_consumer_totals(c, &totals) == 0)
        printf("%" PRIu64 " records, %" PRIu64 " lost\n", totals.records, totals.lost);
    bezel_consumer_close(c);
    return got < 0;
}
