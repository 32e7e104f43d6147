// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "base/log.h"
#include "base/program.h"
#include "base/ulimit.h"
#include "config/experiment.h"
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"
#include "ecs/cli/program_aspects.h"
#include "ecs/course/load_experiment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char about[] = "Writes an experiment file to begin with: the least that runs, and in comments what is "
                            "added most often. With --from "
                            "it is about PROGRAM, and names the aspects and knobs that PROGRAM declares.\n";
static const char footer[] =
    "`bezel check FILE` checks the file, `bezel run FILE` runs it.\n"
    "Exit codes: 0 written, 1 failed, or there is a FILE already, 2 wrong usage, or no such PROGRAM.\n";

/* ---- The text ---------------------------------------------------------------------------------------------------- */

/* Names the schema that is installed with this program, or built beside it, for editors. */
static void put_schema(FILE *out)
{
    static const char *const schemas[] = {"../share/bezel/experiment.schema.json", "experiment.schema.json"};
    char self[PATH_MAX], path[PATH_MAX], real[PATH_MAX];
    bool known = program_folder(self);
    for (size_t i = 0; known && i < sizeof schemas / sizeof *schemas; i++)
        if (program_join(self, schemas[i], path, sizeof path) && realpath(path, real)) {
            fprintf(out, "# yaml-language-server: $schema=%s\n", real);
            return;
        }
}

static void put_list(FILE *out, const char *what, const char (*names)[PROGRAM_ASPECTS_NAME], size_t count)
{
    if (count > 0)
        fprintf(out, "\n# The program declares these %s:\n", what);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "#   %s\n", names[i]);
}

static void put_examples(FILE *out, bool known, const struct program_aspects *found)
{
    const char *aspect = found->aspect_count ? found->aspects[0] : "frame_shown";
    const char *knob = found->knob_count ? found->knobs[0] : NULL;
    if (known && found->aspect_count == 0)
        fputs("\n# No aspects are in the program's symbols. Its libraries may have some: after a run,\n"
              "# `bezel report --all` lists what was recorded.\n",
              out);
    put_list(out, "aspects", (const char(*)[PROGRAM_ASPECTS_NAME])found->aspects, found->aspect_count);
    put_list(out, "knobs", (const char(*)[PROGRAM_ASPECTS_NAME])found->knobs, found->knob_count);
    fprintf(out,
            "\n# How long it lasts; without it, until its programs have ended.\n"
            "# duration: 10 s\n"
            "\n# Numbers that are computed from records while the experiment runs, each with a name of yours.\n"
            "# metrics:\n"
            "#   often: {rate: %s, window: 1 s}\n",
            aspect);
    fprintf(out,
            "\n# What must hold. The monitor adapts to keep `hold`; by `expect` the run is only judged. sensor_cpu is\n"
            "# what the monitor itself costs.\n"
            "# limits:\n"
            "#   - {%s: often >= 1 /s}\n"
            "#   - {hold: sensor_cpu <= 5 %%}\n",
            knob ? "hold" : "expect");
    if (knob)
        fprintf(out,
                "\n# Knobs that are turned to keep a limit; `bezel knob` lists their ranges during a run.\n"
                "# adapt: {knobs: [{knob: %s, serves: often, helps: less, range: 1 .. 100, step: 10}]}\n",
                knob);
}

/* Writes the file about `program` (NULL: none yet) to `out`. Returns 0, BEZEL_EINVAL or BEZEL_ENOMEM. */
static int put_file(FILE *out, char *program, const char *name, const struct program_aspects *found)
{
    char *argv[] = {program ? program : (char *)"./program", NULL}, *text = NULL;
    size_t n;
    int err = load_command(argv, name, NULL, &text, &n);
    if (err)
        return err;
    put_schema(out);
    fputs("# An experiment, made by `bezel new`. docs/EXPERIMENT.md explains every key; `bezel check` checks this "
          "file.\n",
          out);
    const char *body = strchr(text, '\n'); /* behind the comment that says who made it */
    fputs(body ? body + 1 : text, out);
    if (!program)
        fputs("      # Put your program in its place, and its arguments below it, as - --option\n", out);
    put_examples(out, program, found);
    free(text);
    return ferror(out) ? BEZEL_ENOMEM : 0;
}

/* ---- The command ------------------------------------------------------------------------------------------------- */

struct arguments {
    const char *program, *file;
};

static int read_arguments(int argc, char **argv, struct arguments *a)
{
    struct options o = {
        .program = "bezel new", .usage = "[OPTIONS] FILE", .about = about, .footer = footer, .least = 1, .most = 1};
    const struct options_entry entries[] = {
        {"from", 0, "PROGRAM", "the program that the experiment starts: a path, or a name in PATH",
         .value = &a->program},
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON)
        a->file = o.words[0];
    return code;
}

/* Names the experiment after the program, or the file. */
static void name_it(const struct arguments *a, char name[EXPERIMENT_NAME_MAX + 1])
{
    char *copy = strdup(a->program ? a->program : a->file);
    char *end = copy && !a->program ? strstr(copy, ".yaml") : NULL;
    char *argv[] = {copy, NULL};
    if (end)
        *end = '\0';
    experiment_name_of_command(argv, name);
    free(copy);
}

static int find_aspects(const struct arguments *a, struct program_aspects *found)
{
    char path[PATH_MAX];
    *found = (struct program_aspects){0};
    if (!a->program)
        return OPTIONS_GO_ON;
    snprintf(path, sizeof path, "%s", a->program);
    int error = strchr(a->program, '/') ? program_check(path) : program_find(NULL, ".", a->program, path, sizeof path);
    if (error)
        return options_misuse("--from '%s': no such program: %s", a->program, strerror(error));
    if (program_aspects_read(path, found) != 0)
        log_warn("BEZEL-NEW", "the aspects of %s are left out: it cannot be read: %s", path, strerror(errno));
    return OPTIONS_GO_ON;
}

static int write_new(const char *file, const char *text, size_t n)
{
    if (strcmp(file, "-") == 0) {
        fwrite(text, 1, n, stdout);
        return options_end(EXIT_OK);
    }
    int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int err = fd < 0 ? -1 : file_write_all(fd, text, n), sys = errno;
    if (fd >= 0 && close(fd) != 0 && !err) {
        err = -1;
        sys = errno;
    }
    if (err && fd >= 0)
        unlink(file);
    if (err)
        log_error("BEZEL-NEW", "%s: %s", file,
                  sys == EEXIST ? "there is such a file already, and it stays as it is: name another one"
                                : strerror(sys));
    else
        printf("%s is written: bezel run %s\n", file, file);
    return options_end(err ? EXIT_FAILED : EXIT_OK);
}

int cmd_new(int argc, char **argv)
{
    struct arguments a = {0};
    struct program_aspects found;
    char name[EXPERIMENT_NAME_MAX + 1], *text = NULL;
    size_t n = 0;
    int code = read_arguments(argc, argv, &a);
    if (code == OPTIONS_GO_ON)
        code = find_aspects(&a, &found);
    if (code != OPTIONS_GO_ON)
        return code;
    name_it(&a, name);
    FILE *out = open_memstream(&text, &n);
    int err = out ? put_file(out, (char *)a.program, name, &found) : 0;
    int end = file_text_end(out, &text);
    err = err ? err : end;
    if (err)
        log_error("BEZEL-NEW", "%s",
                  err == BEZEL_EINVAL ? "the name of the program is not UTF-8, as experiment files are"
                                      : ulimit_reason(err));
    code = err ? EXIT_FAILED : write_new(a.file, text, n);
    free(text);
    return code;
}
