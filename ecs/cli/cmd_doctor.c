// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/grow.h"
#include "base/json.h"
#include "base/table.h"
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"
#include "ecs/cli/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char about[] =
    "Checks this machine's clock, shared memory, privileges, samplers and tools, and suggests fixes. Changes "
    "nothing.\n";
static const char footer[] = "Exit codes: 0 no problem (there may be warnings), 1 a problem, 2 wrong usage.\n";

static const char *const levels[] = {"ok", "warning", "problem"};

void doctor_add(struct doctor *d, enum doctor_level level, const char *area, const char *name, const char *remedy,
                const char *format, ...)
{
    if (!grow_list(&d->list, &d->capacity, d->count, sizeof *d->list))
        return;
    struct doctor_check f = {.level = level, .area = area, .name = name};
    va_list args;
    va_start(args, format);
    if (vasprintf(&f.text, format, args) < 0)
        f.text = NULL;
    va_end(args);
    f.remedy = remedy && level != DOCTOR_OK ? strdup(remedy) : NULL;
    d->list[d->count++] = f;
}

void doctor_free(struct doctor *d)
{
    for (size_t i = 0; i < d->count; i++) {
        free(d->list[i].text);
        free(d->list[i].remedy);
    }
    free(d->list);
}

static void print_text(const struct doctor *d, FILE *out)
{
    static const char *const colors[] = {"\033[32m", "\033[33m", "\033[1;31m"};
    const char *area = "";
    bool color = table_wants_color(out);
    for (size_t i = 0; i < d->count; i++) {
        const struct doctor_check *f = &d->list[i];
        if (strcmp(f->area, area) != 0)
            fprintf(out, "%s%s\n", i ? "\n" : "", area = f->area);
        fprintf(out, "  %s%-7s%s  %s: %s\n", color ? colors[f->level] : "", levels[f->level], color ? "\033[0m" : "",
                f->name, f->text ? f->text : "");
        if (f->remedy)
            fprintf(out, "           remedy: %s\n", f->remedy);
    }
}

static void print_json(const struct doctor *d, size_t problems, FILE *out)
{
    struct json j = {.out = out};
    json_object(&j, NULL);
    json_int(&j, "format", 2);
    json_uint(&j, "problems", problems);
    json_array(&j, "checks");
    for (size_t i = 0; i < d->count; i++) {
        json_object(&j, NULL);
        json_text(&j, "area", d->list[i].area);
        json_text(&j, "name", d->list[i].name);
        json_text(&j, "level", levels[d->list[i].level]);
        json_text(&j, "text", d->list[i].text);
        json_text(&j, "remedy", d->list[i].remedy);
        json_object_end(&j);
    }
    json_array_end(&j);
    json_object_end(&j);
}

static int examine(bool json, const char *keys)
{
    struct doctor d = {0};
    doctor_clock(&d);
    doctor_memory(&d);
    doctor_privileges(&d);
    doctor_samplers(&d);
    doctor_tools(&d);
    doctor_keys(&d, keys);
    size_t problems = 0;
    for (size_t i = 0; i < d.count; i++)
        problems += d.list[i].level == DOCTOR_PROBLEM;
    if (json)
        print_json(&d, problems, stdout);
    else
        print_text(&d, stdout);
    doctor_free(&d);
    return options_end(problems ? EXIT_FAILED : EXIT_OK);
}

int cmd_doctor(int argc, char **argv)
{
    const char *keys = NULL;
    bool json = false;
    struct options o = {.program = "bezel doctor", .usage = "[OPTIONS]", .about = about, .footer = footer};
    const struct options_entry entries[] = {
        {"json", 'j', NULL, "print the checks as JSON", .flag = &json},
        {"keys", 0, "DIR", "check the keys in this folder, too", .value = &keys},
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    return code == OPTIONS_GO_ON ? examine(json, keys) : code;
}
