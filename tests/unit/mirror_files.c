// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The files of a mirror whose server lies, and the file that says how a mirror stands. */
#include "collector/remote/mirror_files.h"

#include "base/clock.h"
#include "base/file.h"
#include "run/store/mirror_state.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- a server that lies ------------------------------------------------------------------------------------------ */

static int take(struct mirror_files *f, uint32_t number, const char *name, bool stream)
{
    struct read_file m = {.number = number, .stream = stream, .bytes = 4};
    struct read_have have;
    snprintf(m.name, sizeof m.name, "%s", name);
    return mirror_files_take(f, &m, &have);
}

static int put(struct mirror_files *f, uint32_t number, uint64_t offset, uint32_t count)
{
    static const uint8_t bytes[READ_BYTES_MAX];
    const struct read_bytes m = {.number = number, .offset = offset, .count = count, .bytes = bytes};
    return mirror_files_write(f, &m);
}

TEST(names_that_no_run_has_are_refused)
{
    static const char *const names[] = {
        "run.db",     "../run",     "trace/../../x/y", "/etc/passwd",       "trace/x",
        "trace/.x/y", "trace/x/.y", "trace/x/y/z",     "trace//y",          "log/bezeld.log",
        "mirror",     "control",    "trace/x/y\n",     "experiment.yaml/x", "",
        "away"};
    struct mirror_files f = {.folder = scratch_folder.fd};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(take(&f, 0, names[i], true), BEZEL_EMALFORMED);
        assert_int_equal(take(&f, 0, names[i], false), BEZEL_EMALFORMED);
    }
    assert_int_equal(take(&f, 0, "experiment.yaml", true), BEZEL_EMALFORMED); /* it is no stream */
    assert_int_equal(take(&f, UINT32_MAX, "trace/x/y", true), BEZEL_EMALFORMED);
    mirror_files_forget(&f);
}

TEST(bytes_belong_where_the_file_ends_or_before)
{
    struct mirror_files f = {.folder = scratch_folder.fd};
    assert_int_equal(put(&f, 0, 0, 1), BEZEL_EMALFORMED); /* no such file */
    assert_int_equal(take(&f, 3, "trace/node/a", true), 1);
    assert_int_equal(put(&f, 3, 1, 1), BEZEL_EMALFORMED); /* a gap */
    assert_int_equal(put(&f, 3, 0, 100), 0);
    assert_int_equal(put(&f, 3, 50, 10), 0); /* it begins anew there */
    assert_int_equal(put(&f, 3, 100, 1), BEZEL_EMALFORMED);
    assert_int_equal(put(&f, 2, 0, 1), BEZEL_EMALFORMED);
    assert_int_equal(take(&f, 3, "trace/node/b", true), BEZEL_EMALFORMED); /* another name */
    assert_int_equal(take(&f, 4, "trace/node/metadata", false), 0);
    assert_int_equal(put(&f, 4, 0, 5), BEZEL_EMALFORMED); /* more than it said */
    assert_int_equal(put(&f, 4, 1, 1), BEZEL_EMALFORMED);
    assert_int_equal(take(&f, 5, "README", false), BEZEL_EMALFORMED); /* two at once */
    mirror_files_forget(&f);
    assert_int_equal(take(&f, 4, "trace/node/metadata", false), 0);
    assert_int_equal(put(&f, 4, 0, 2), 0);
    assert_int_equal(faccessat(scratch_folder.fd, "trace/node/metadata", F_OK, 0), -1); /* not before it is whole */
    assert_int_equal(put(&f, 4, 2, 2), 0);
    assert_int_equal(faccessat(scratch_folder.fd, "trace/node/metadata", F_OK, 0), 0);
    mirror_files_forget(&f);
}

TEST(links_are_not_followed)
{
    struct mirror_files f = {.folder = scratch_folder.fd};
    (void)!unlinkat(scratch_folder.fd, "trace/node/link", 0);
    assert_int_equal(take(&f, 0, "trace/node/a", true), 1);
    assert_int_equal(symlinkat("/etc/passwd", scratch_folder.fd, "trace/node/link"), 0);
    assert_int_equal(symlinkat("/tmp", scratch_folder.fd, "trace/away"), 0);
    assert_true(take(&f, 1, "trace/node/link", true) < 0);
    assert_true(take(&f, 2, "trace/away/file", true) < 0);
    assert_int_equal(linkat(scratch_folder.fd, "trace/node/a", scratch_folder.fd, "trace/node/twin", 0), 0);
    mirror_files_forget(&f);
    assert_true(take(&f, 3, "trace/node/twin", true) < 0); /* it is another file, too */
    mirror_files_forget(&f);
}

TEST(a_cover_that_is_none_is_refused)
{
    static const uint8_t nonsense[PACKET_HEADER_BYTES] = "nonsense";
    struct mirror_files f = {.folder = scratch_folder.fd};
    struct read_file m = {.name = "trace/node/c", .stream = true, .cover = nonsense, .cover_bytes = 60};
    struct read_have have;
    assert_int_equal(mirror_files_take(&f, &m, &have), BEZEL_EMALFORMED);
    m.cover_bytes = sizeof nonsense;
    assert_int_equal(mirror_files_take(&f, &m, &have), BEZEL_EMALFORMED);
    mirror_files_forget(&f);
}

TEST(a_home_keeps_its_own_files)
{
    struct mirror_files f = {.folder = scratch_folder.fd, .home = true};
    assert_int_equal(take(&f, 0, "experiment.yaml", false), BEZEL_EMALFORMED);
    assert_int_equal(take(&f, 0, "versions.txt", false), BEZEL_EMALFORMED);
    assert_int_equal(take(&f, 0, "trace/node/d", true), 1);
    mirror_files_forget(&f);
}

/* ---- the file that says how it stands ---------------------------------------------------------------------------- */

TEST(the_state_is_read_as_it_was_written_and_nonsense_is_no_complete_mirror)
{
    static const char *const nonsense[] = {"x", "is: great\n", "is: complete\nlacking: 3\n", "lacks: a\n",
                                           "key: value\n"};
    struct mirror_state s = {.is = MIRROR_CUT,
                             .endpoint = "tcp://desk:7770",
                             .run = "a run",
                             .since = CLOCK_S,
                             .behind = 4711,
                             .grows = true},
                        t;
    struct mirror_look look;
    char path[SCRATCH_PATH + 16];
    for (unsigned i = 0; i < MIRROR_STATE_LACKS + 3; i++)
        mirror_state_lack(&s, "trace/desk/client-1-0", "bytes that\nare no packet");
    mirror_state_lack_up_to(&s, UINT64_MAX, "trace", "a server may say any number");
    assert_int_equal(mirror_state_write(scratch_dir, &s), 0);
    assert_int_equal(mirror_state_read(scratch_dir, &t), 1);
    assert_true(s.lacking == UINT64_MAX);
    assert_int_equal(t.is, s.is);
    assert_string_equal(t.endpoint, s.endpoint);
    assert_string_equal(t.run, s.run);
    assert_int_equal(t.since, s.since);
    assert_int_equal(t.behind, s.behind);
    assert_true(t.grows);
    assert_int_equal(t.lacking, s.lacking);
    assert_string_equal(t.lacks[0], "trace/desk/client-1-0: bytes that?are no packet");
    mirror_state_look(scratch_dir, &look);
    assert_true(look.partial && look.stale && look.grows);
    assert_string_equal(look.endpoint, "");
    s.temporary = true;
    assert_int_equal(mirror_state_write(scratch_dir, &s), 0);
    mirror_state_look(scratch_dir, &look);
    assert_string_equal(look.endpoint, "tcp://desk:7770");
    snprintf(path, sizeof path, "%s/mirror", scratch_dir);
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        assert_int_equal(file_replace(path, nonsense[i], strlen(nonsense[i])), 0);
        mirror_state_look(scratch_dir, &look);
        assert_true(look.partial && look.text[0]);
    }
    assert_int_equal(unlink(path), 0);
    mirror_state_look(scratch_dir, &look);
    assert_false(look.partial || look.text[0]);
}

int main(void)
{
    return test_run(scratch_begin, scratch_end);
}
