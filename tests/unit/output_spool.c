// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/output_spool.h"
#include "mdr/parts.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static int folder;
static struct message_output part;

/* The byte at `offset` of what the program writes. */
static uint8_t byte_at(uint64_t offset)
{
    return (uint8_t)(offset * 31 ^ offset >> 9);
}

static void write_some(struct output_spool *s, int input, uint64_t from, uint64_t n)
{
    static uint8_t bytes[1 << 16];
    for (uint64_t done = 0; done < n;) {
        size_t piece = n - done < sizeof bytes ? (size_t)(n - done) : sizeof bytes;
        for (size_t i = 0; i < piece; i++)
            bytes[i] = byte_at(from + done + i);
        assert_int_equal(write(input, bytes, piece), piece);
        output_spool_take(s);
        done += piece;
    }
}

static int open_folder(void **state)
{
    scratch_begin(state);
    folder = open(scratch_dir, O_RDONLY | O_DIRECTORY);
    return folder < 0;
}

static int close_folder(void **state)
{
    close(folder);
    return scratch_end(state);
}

/* Reads all from `from` on, compares it with what was written, and returns how much there was. */
static uint64_t read_all(const struct output_spool *s, uint64_t from, bool *last)
{
    uint64_t at = from;
    do {
        output_spool_read(s, at, &part);
        assert_int_equal(part.offset, at);
        for (uint32_t i = 0; i < part.count; i++)
            assert_int_equal(part.bytes[i], byte_at(at + i));
        at += part.count;
        *last = part.last;
    } while (part.count > 0);
    return at - from;
}

TEST(what_is_written_is_read_from_any_byte_on)
{
    struct output_spool s;
    int input;
    bool last;
    assert_int_equal(output_spool_open(&s, folder, "a.1.out", 4 * MIB, &input), 0);
    assert_int_equal(read_all(&s, 0, &last), 0);
    assert_false(last);
    write_some(&s, input, 0, 100001);
    assert_int_equal(read_all(&s, 0, &last), 100001);
    assert_int_equal(read_all(&s, 77777, &last), 100001 - 77777);
    assert_false(last);
    output_spool_read(&s, 200000, &part); /* beyond its end */
    assert_int_equal(part.offset, 100001);
    close(input);
    output_spool_take(&s);
    assert_int_equal(s.pipe, -1);
    assert_int_equal(read_all(&s, 100000, &last), 1);
    assert_true(last);
    output_spool_close(&s);
}

TEST(an_incarnation_has_one_file)
{
    struct output_spool s;
    int input;
    assert_int_equal(output_spool_open(&s, folder, "once.1.out", MIB, &input), 0);
    write_some(&s, input, 0, 10);
    close(input);
    output_spool_close(&s);
    assert_true(output_spool_open(&s, folder, "once.1.out", MIB, &input) < 0);
    assert_int_equal(errno, EEXIST);
    bool last;
    assert_int_equal(output_spool_take_up(&s, folder, "once.1.out"), 0);
    assert_int_equal(read_all(&s, 0, &last), 10);
    assert_true(last);
    output_spool_close(&s);
    assert_int_equal(output_spool_take_up(&s, folder, "none.1.out"), BEZEL_ENOENT);
}

/* The file keeps the last bytes at their offsets, and no more of the disk than these, whatever it is asked for. */
TEST(the_last_bytes_are_kept)
{
    struct output_spool s;
    struct stat file;
    int input;
    bool last;
    assert_int_equal(output_spool_open(&s, folder, "long.1.out", 2 * MIB, &input), 0);
    write_some(&s, input, 0, 20 * MIB + 123);
    output_spool_read(&s, 0, &part);
    if (part.offset == 0) {
        print_message("skipped: this file system makes no holes\n");
        skip();
    }
    uint64_t kept = part.offset;
    assert_in_range(kept, 17 * MIB, 18 * MIB + 123);
    assert_int_equal(read_all(&s, kept, &last), 20 * MIB + 123 - kept);
    assert_int_equal(fstat(s.file, &file), 0);
    assert_in_range(file.st_blocks * 512, 2 * MIB, 4 * MIB);
    close(input);
    output_spool_close(&s);
    assert_int_equal(output_spool_take_up(&s, folder, "long.1.out"), 0);
    output_spool_read(&s, 0, &part);
    assert_true(part.offset > 0 && part.offset <= kept);
    output_spool_close(&s);
}

/* Without space the program goes on, and what is dropped is counted. */
TEST(what_finds_no_space_is_counted)
{
    struct output_spool s;
    struct rlimit before, limit;
    int input;
    bool last;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(output_spool_open(&s, folder, "full.1.out", 8 * MIB, &input), 0);
    limit = before;
    limit.rlim_cur = MIB;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    write_some(&s, input, 0, 3 * MIB);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(s.size, MIB);
    assert_int_equal(s.dropped, 2 * MIB);
    assert_int_equal(read_all(&s, 0, &last), MIB);
    close(input);
    output_spool_close(&s);
}

int main(void)
{
    return test_run(open_folder, close_folder);
}
