// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "ecs/course/load_experiment.h"
#include "ecs/course/sut_processes.h"
#include "sensor/shm/segment.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT(literal) ((char[]){literal})

static char folder[] = "/tmp/bezel-load-XXXXXX";

TEST(a_command_becomes_an_experiment_that_runs_just_that)
{
    char *const argv[] = {TEXT("/bin/echo"),
                          TEXT(""),
                          TEXT("a \"b\" \\c 'd' #e: {f} [g] &h *i !j %k @l `m | > - ? ~"),
                          TEXT("line\nbreak\ttab\x01\x7f"),
                          TEXT("gr\xc3\xbc\xc3\x9f \xe2\x80\xa8 \xc2\x85 \xef\xbb\xbf \xf0\x9f\x94\xad"),
                          TEXT("--option"),
                          TEXT("010"),
                          TEXT("null"),
                          NULL};
    char *text;
    size_t n;
    struct experiment *e;
    assert_int_equal(load_command(argv, NULL, NULL, &text, &n), 0);
    assert_int_equal(load_text(text, n, "test", &e), 0);
    assert_string_equal(e->name, "echo");
    assert_true(e->duration == 0);
    assert_int_equal(e->process_count, 1);
    assert_int_equal(e->processes[0].output, OUTPUT_TERMINAL);
    for (int i = 0; argv[i]; i++)
        assert_string_equal(e->processes[0].argv[i], argv[i]);
    assert_null(e->processes[0].argv[8]);
    experiment_free(e);
    free(text);
}

TEST(name_and_duration_of_a_command_can_be_chosen)
{
    char *const argv[] = {TEXT("/bin/true"), NULL};
    char *text;
    size_t n;
    struct experiment *e;
    assert_int_equal(load_command(argv, "night-run", "2 min", &text, &n), 0);
    assert_int_equal(load_text(text, n, "test", &e), 0);
    assert_string_equal(e->name, "night-run");
    assert_true(e->duration == INT64_C(120000000000));
    experiment_free(e);
    free(text);
}

TEST(an_argument_that_is_not_utf8_is_refused)
{
    static const char *const bad[] = {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xc3", "\x80"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *const argv[] = {TEXT("true"), (char *)bad[i], NULL};
        char *text;
        size_t n;
        assert_int_equal(load_command(argv, NULL, NULL, &text, &n), BEZEL_EINVAL);
    }
}

TEST(a_program_with_an_odd_name_gets_a_name_that_experiments_allow)
{
    static const char *const names[][2] = {
        {"/opt/my app (2)", "my_app__2_"}, {"./.hidden", "_hidden"}, {"./-option", "_option"},
        {"a/b.c-d_e", "b.c-d_e"},          {"dir/", "dir_"},         {"", "command"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *const argv[] = {(char *)names[i][0], NULL};
        char *text, expected[64];
        size_t n;
        assert_int_equal(load_command(argv, NULL, NULL, &text, &n), 0);
        snprintf(expected, sizeof expected, "experiment: \"%s\"\n", names[i][1]);
        assert_non_null(strstr(text, expected));
        free(text);
    }
}

static int find(const char *command, const char *directory, char **environment, char *path, bool *of_directory)
{
    char *argv[] = {(char *)command, NULL};
    struct experiment_process p = {.argv = argv, .directory = (char *)directory, .environment = environment};
    const char *why = NULL;
    int err = load_find_command(&p, path, 4096, &why, of_directory);
    assert_true(err == 0 || why != NULL);
    return err;
}

TEST(finds_commands_as_the_process_itself_would)
{
    char path[4096], expected[256], *in_folder[] = {NULL, NULL};
    char variable[128];
    bool of_directory;
    setenv("PATH", "/usr/bin:/bin", 1); /* the tester's may have folders that this user may not enter */
    snprintf(variable, sizeof variable, "PATH=/nonexistent:%s", folder);
    in_folder[0] = variable;
    snprintf(expected, sizeof expected, "%s/program", folder);
    assert_int_equal(find("sh", NULL, NULL, path, &of_directory), 0);
    assert_int_equal(access(path, X_OK), 0);
    assert_int_equal(find("program", NULL, NULL, path, &of_directory), BEZEL_ENOENT);
    assert_int_equal(find("program", NULL, in_folder, path, &of_directory), 0);
    assert_string_equal(path, expected);
    snprintf(expected, sizeof expected, "%s/./program", folder);
    assert_int_equal(find("./program", folder, NULL, path, &of_directory), 0);
    assert_string_equal(path, expected);
    in_folder[0] = TEXT("PATH=/nonexistent::/bin"); /* the empty one is the process's own directory */
    assert_int_equal(find("program", folder, in_folder, path, &of_directory), 0);
    assert_string_equal(path, expected);
    assert_int_equal(find("", NULL, NULL, path, &of_directory), BEZEL_ENOENT);
    assert_int_equal(find(folder, NULL, NULL, path, &of_directory), BEZEL_ESYS); /* a directory */
    assert_false(of_directory);
    assert_int_equal(find("sh", "/nonexistent", NULL, path, &of_directory), BEZEL_ENOENT);
    assert_true(of_directory);
    assert_int_not_equal(find("sh", "/etc/passwd", NULL, path, &of_directory), 0);
    assert_true(of_directory);
}

TEST(a_file_that_is_not_executable_is_found_out_before_it_is_started)
{
    char path[4096];
    bool of_directory;
    assert_int_equal(find("./data", folder, NULL, path, &of_directory), BEZEL_EPERM);
    assert_false(of_directory);
}

TEST(each_instance_gets_its_name_output_and_environment)
{
    static const char text[] = "experiment: x\n"
                               "sensing:\n"
                               "  ring: {threads: 300, when-full: overwrite}\n"
                               "  aspects: {count: ['a*', b], off: ['[a-c]?']}\n"
                               "processes:\n"
                               "  - {name: one, command: [sh], output: none}\n"
                               "  - {name: many, command: [sh, -c, 'exit'], instances: 2, environment: {A: b}}\n";
    struct experiment *e;
    struct sut_processes sut;
    char *const dirs[] = {TEXT("/dir")};
    assert_int_equal(load_text(text, sizeof text - 1, "test", &e), 0);
    assert_int_equal(sut_processes_make(e, "/run", dirs, false, false, false, &sut), 0);
    assert_int_equal(sut.count, 3);
    assert_string_equal(sut.processes[0].program.launch.of.process, "one");
    assert_string_equal(sut.processes[0].program.launch.file, "/dev/null");
    assert_string_equal(sut.processes[2].program.launch.of.process, "many.2");
    assert_string_equal(sut.processes[2].program.launch.file, "/run/output/many.2.txt");
    static const char *const environment[] = {"BEZEL_DIR=/dir",
                                              "BEZEL_PROCESS=many.2",
                                              "BEZEL_RING_RECORDS=4096",
                                              "BEZEL_RING_THREADS=300",
                                              "BEZEL_WHEN_FULL=overwrite",
                                              "BEZEL_ASPECTS=count:a* count:b off:[a-c]? ",
                                              "A=b"};
    for (int i = 0; i < 7; i++)
        assert_string_equal(sut.processes[2].program.launch.environment[i], environment[i]);
    assert_null(sut.processes[2].program.launch.environment[7]);
    assert_int_equal(EXPERIMENT_RING_THREADS_MAX, SEGMENT_RINGS_MAX); /* libbezel takes what the file may say */
    assert_string_equal(sut.processes[2].program.launch.argv[1], "-c");
    sut_processes_free(&sut);
    experiment_free(e);
}

/* By a link, by a link above it, or by being what processes use that are attached to; neither has to be there yet. */
#define LONGEST "a-name-of-sixty-three-bytes-which-is-the-longest-one-of-a-node."

TEST(two_nodes_in_one_folder_are_found_out_through_links)
{
    _Static_assert(sizeof LONGEST == EXPERIMENT_NAME_MAX + 1, "the longest name");
    FILE *said = tmpfile();
    char link_path[64], at[128];
    snprintf(link_path, sizeof link_path, "%s/link", folder);
    snprintf(at, sizeof at, "%s/default", folder);
    assert_int_equal(symlink(".", link_path), 0);
    assert_int_equal(setenv("BEZEL_DIR", at, 1), 0);
    static const struct {
        const char *a, *b;
        bool good;
    } cases[] = {{"{dir: DIR/link}", "{dir: DIR}", false},    {"{dir: DIR/new}", "{dir: DIR/link/new}", false},
                 {"{}", "{dir: DIR/link/default}", false},    {"{dir: DIR/default}", "{}", true},
                 {"{dir: DIR/link/a}", "{dir: DIR/b}", true}, {"{dir: DIR/no/a}", "{dir: DIR/link/no/a}", true},
                 {"{dir: DIR/link/../x}", "{dir: DIR}", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512] = "", *out = text;
        const char *parts[] = {"experiment: x\nnodes: {a: ", cases[i].a, ", " LONGEST ": ", cases[i].b,
                               "}\nprocesses: [{name: p, node: a, attach: p}]\n"};
        for (size_t k = 0; k < 5; k++)
            for (const char *p = parts[k]; *p; p++) {
                bool is_dir = strncmp(p, "DIR", 3) == 0;
                out += is_dir ? sprintf(out, "%s", folder) : sprintf(out, "%c", *p);
                p += is_dir ? 2 : 0;
            }
        struct experiment *e = NULL;
        fflush(stderr);
        assert_true(ftruncate(fileno(said), 0) == 0 && lseek(fileno(said), 0, SEEK_SET) == 0);
        int before = dup(2);
        dup2(fileno(said), 2);
        int err = load_text(text, strlen(text), "test", &e);
        dup2(before, 2);
        close(before);
        if (err != (cases[i].good ? 0 : BEZEL_EMALFORMED))
            fail_msg("%d: %s", err, text);
        char line[1024] = "";
        ssize_t n = pread(fileno(said), line, sizeof line - 1, 0);
        if (!cases[i].good && (n <= 0 || !strstr(line, ": nodes." LONGEST ".dir: two nodes share no folder: ") ||
                               !strstr(line, ", and so does that of node 'a'")))
            fail_msg("%s: %s", text, line);
        experiment_free(e);
    }
    fclose(said);
    assert_int_equal(unsetenv("BEZEL_DIR"), 0);
}

TEST(the_end_of_a_process_is_described)
{
    char text[128];
    sut_processes_describe_end(SIGSEGV, text, sizeof text);
    assert_string_equal(text, "was killed by signal 11 (Segmentation fault)");
    sut_processes_describe_end(3 << 8, text, sizeof text);
    assert_string_equal(text, "ended with exit code 3");
}

static int make_folder(void **state)
{
    (void)state;
    char path[128];
    if (!mkdtemp(folder))
        return -1;
    static const char *const names[] = {"program", "data"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        FILE *f = fopen(path, "w");
        if (!f || fclose(f) != 0 || chmod(path, i == 0 ? 0755 : 0644) != 0)
            return -1;
    }
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return file_remove_tree(folder);
}

TEST(a_command_is_named_after_the_program_that_it_is_about)
{
    static const struct {
        const char *name;
        const char *words[8];
    } commands[] = {
        {"app", {"app"}},
        {"app", {"./bin/app", "-v", "2"}},
        {"app", {"taskset", "-c", "2", "./app"}},
        {"app", {"/usr/bin/taskset", "0x3", "app", "-x"}},
        {"app", {"chrt", "-f", "10", "taskset", "1", "app"}},
        {"app", {"nice", "-n", "5", "app"}},
        {"app", {"nice", "-5", "app"}},
        {"app", {"env", "-u", "HOME", "A=b", "C=d", "app"}},
        {"app", {"timeout", "-s", "KILL", "--foreground", "5", "app"}},
        {"app", {"ionice", "-c3", "nohup", "app"}},
        {"taskset", {"taskset", "-p", "1"}},
        {"env", {"env"}},
        {"_x_y", {"-x y"}},
        {"sh", {"sh", "-c", "taskset 1 app"}},
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char *argv[9] = {NULL}, name[EXPERIMENT_NAME_MAX + 1];
        for (size_t w = 0; w < 8 && commands[i].words[w]; w++)
            argv[w] = (char *)commands[i].words[w];
        experiment_name_of_command(argv, name);
        assert_string_equal(name, commands[i].name);
    }
}

int main(void)
{
    return test_run(make_folder, remove_folder);
}
