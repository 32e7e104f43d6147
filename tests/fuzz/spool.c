// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A spool's file: whatever stands in it, reading it back ends, gives nothing that was not under a right checksum, and
 * leaves a spool that can be used. The first byte of an input says what is made right that no mutation would: bit 0 the
 * head, bit 1 the marks' sums, bit 2 the sums of entries; bit 3: with the capacity that the head says. The file
 * follows.
 */
#include "mdr/uplink/spool.h"
#include "base/checksum.h"
#include "mdr/uplink/window.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* As in mdr/uplink/spool_internal.h, whose file is nobody else's business. */
enum { HEAD = 24 + 32, MARK = 32, ENTRY = 24, MARKS = 512, DATA = 4096, FILE_MAX = 1 << 17, ALIGN = 32 };

static const uint8_t run[16], uuid[16];
static char dir[] = "/dev/shm/bezel-test-fuzz-XXXXXX", path[96];
static uint8_t file[FILE_MAX];

static void put_u64(size_t at, uint64_t v)
{
    memcpy(file + at, &v, 8);
}

static uint32_t get_u32(size_t at)
{
    uint32_t v;
    memcpy(&v, file + at, 4);
    return v;
}

static void put_sums(uint8_t what, size_t size)
{
    if (what & 1) {
        uint64_t capacity;
        memcpy(&capacity, file + 16, 8);
        memset(file, 0, HEAD);
        put_u64(0, UINT64_C(0x42455a454c535031));
        put_u64(8, 1);
        put_u64(16, what & 8 ? capacity : SPOOL_BYTES_MIN);
        put_u64(HEAD, checksum_add(CHECKSUM_START, file, HEAD));
    }
    for (size_t at = MARKS; what & 2 && at <= 2 * MARKS; at += MARKS)
        put_u64(at + MARK, checksum_add(CHECKSUM_START, file + at, MARK));
    for (size_t at = DATA; what & 4 && at + ALIGN <= size;) {
        uint32_t bytes = get_u32(at + 16);
        if (bytes > size - at - ALIGN)
            return;
        uint64_t sum = checksum_add(CHECKSUM_START, file + at, ENTRY);
        put_u64(at + ENTRY, bytes ? checksum_add(sum, file + at + ALIGN, bytes) : sum);
        at += (ALIGN + (size_t)bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
}

static void write_file(size_t size)
{
    unlink(path);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    fuzz_must(fd >= 0 && write(fd, file, size) == (ssize_t)size);
    close(fd);
}

static void end(void)
{
    unlink(path);
    rmdir(dir);
}

static void begin(void)
{
    fuzz_must(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/bezel-%032d.spool", dir, 0);
    atexit(end);
}

/* Reads all; returns how many there are. */
static uint64_t read_all(struct spool *s)
{
    static uint8_t packet[WINDOW_PACKET_BYTES];
    uint64_t count = 0, at = spool_oldest(s), before = at;
    int n;
    while ((n = spool_read(s, &at, packet, sizeof packet)) > 0) {
        fuzz_must(at > before && at <= spool_written(s) && n <= WINDOW_PACKET_BYTES);
        before = at;
        count++;
    }
    fuzz_must(n == 0); /* what was read back at the start is whole */
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct spool *s;
    struct spool_found found;
    if (path[0] == '\0')
        begin();
    if (size < 1 || size - 1 > FILE_MAX)
        return 0;
    memset(file, 0, DATA);
    memcpy(file, data + 1, size - 1);
    size_t bytes = size - 1 < DATA ? DATA : size - 1;
    put_sums(data[0], bytes);
    write_file(bytes);
    fuzz_must(spool_open(dir, run, uuid, SPOOL_BYTES_MIN, &s, &found) == 0);
    uint64_t count = read_all(s);
    fuzz_must(count == found.packets);
    fuzz_must(spool_append(s, "packet", 7) == 0 || spool_written(s) - spool_oldest(s) > SPOOL_BYTES_MIN / 2);
    fuzz_must(read_all(s) >= count);
    spool_truncate(s, spool_oldest(s) + 1);
    spool_close(s);
    fuzz_must(spool_open(dir, run, uuid, SPOOL_BYTES_MIN, &s, &found) == 0);
    fuzz_must(spool_free(s, spool_written(s)) == 0);
    spool_close(s);
    return 0;
}
