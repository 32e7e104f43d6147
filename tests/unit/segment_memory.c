// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Memory of a segment is reserved by one way after the other, as the file system and the kernel have them. */
#include "sensor/shm/segment_create.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* How the ways of reserving memory fail, in their order; 0: not at all. `asked` counts what was tried. */
static struct {
    bool on;
    int allocate, populate, read, write; /* errno values */
    int interrupted;                     /* so often before */
    bool takes_any_advice;
    int allocations, populations, bytes; /* tried; bytes: written over themselves */
} ways;

int __wrap_fallocate64(int fd, int mode, off_t offset, off_t bytes);
int __real_fallocate64(int fd, int mode, off_t offset, off_t bytes);
int __wrap_madvise(void *at, size_t bytes, int advice);
int __real_madvise(void *at, size_t bytes, int advice);
ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t at);
ssize_t __real_pread64(int fd, void *to, size_t n, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *from, size_t n, off_t at);
ssize_t __real_pwrite64(int fd, const void *from, size_t n, off_t at);

static int fails(int error)
{
    if (ways.interrupted > 0 && ways.interrupted-- > 0)
        error = EINTR;
    errno = error;
    return error ? -1 : 0;
}

int __wrap_fallocate64(int fd, int mode, off_t offset, off_t bytes)
{
    if (!ways.on)
        return __real_fallocate64(fd, mode, offset, bytes);
    ways.allocations++;
    return fails(ways.allocate);
}

int __wrap_madvise(void *at, size_t bytes, int advice)
{
    if (!ways.on)
        return __real_madvise(at, bytes, advice);
    if (advice != 23) { /* MADV_POPULATE_WRITE; the other one is invalid */
        errno = EINVAL;
        return ways.takes_any_advice ? 0 : -1;
    }
    ways.populations++;
    return fails(ways.populate);
}

ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t at)
{
    return ways.on && fails(ways.read) ? -1 : __real_pread64(fd, to, n, at);
}

ssize_t __wrap_pwrite64(int fd, const void *from, size_t n, off_t at)
{
    if (ways.on && fails(ways.write))
        return -1;
    size_t some = ways.on && n > 100 ? 100 : n; /* in parts */
    ways.bytes += (int)some;
    return __real_pwrite64(fd, from, some, at);
}

/* One way after the other is tried, but none after one that found no room. */
TEST_WITH(scratch_begin, scratch_end, memory_is_reserved_by_the_first_way_that_works)
{
    enum { OFFSET = 5000, BYTES = 1300 };
    static const struct {
        int allocate, populate, read, write, interrupted;
        bool takes_any_advice;
        int err, allocations, populations, bytes;
    } cases[] = {
        {.allocations = 1},
        {.interrupted = 10, .allocations = 11},
        {.interrupted = 1000000,
         .populate = EINTR,
         .write = EIO,
         .err = BEZEL_ESYS,
         .allocations = 64,
         .populations = 1},
        {.allocate = ENOSPC, .err = BEZEL_ENOSPC, .allocations = 1},
        {.allocate = EDQUOT, .err = BEZEL_ENOSPC, .allocations = 1},
        {.allocate = ENOMEM, .err = BEZEL_ENOMEM, .allocations = 1},
        {.allocate = EOPNOTSUPP, .allocations = 1, .populations = 1},
        {.allocate = EOPNOTSUPP, .populate = EFAULT, .err = BEZEL_ENOSPC, .allocations = 1, .populations = 1},
        {.allocate = EOPNOTSUPP, .populate = ENOMEM, .err = BEZEL_ENOMEM, .allocations = 1, .populations = 1},
        {.allocate = EOPNOTSUPP, .populate = EINVAL, .allocations = 1, .populations = 1, .bytes = BYTES},
        {.allocate = EOPNOTSUPP, .takes_any_advice = true, .allocations = 1, .bytes = BYTES},
        {.allocate = EOPNOTSUPP,
         .populate = EINVAL,
         .read = EIO,
         .err = BEZEL_ESYS,
         .allocations = 1,
         .populations = 1},
        {.allocate = EOPNOTSUPP,
         .populate = EINVAL,
         .write = ENOSPC,
         .err = BEZEL_ENOSPC,
         .allocations = 1,
         .populations = 1},
    };
    struct segment_owned own = {.fd = -1};
    char before[BYTES + 2], after[BYTES + 2];
    assert_true(segment_create(&own, scratch_dir));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(before, (char *)own.segment + OFFSET - 1, sizeof before);
        ways.on = true;
        ways.allocate = cases[i].allocate, ways.populate = cases[i].populate;
        ways.read = cases[i].read, ways.write = cases[i].write;
        ways.interrupted = cases[i].interrupted, ways.takes_any_advice = cases[i].takes_any_advice;
        ways.allocations = ways.populations = ways.bytes = 0;
        if (cases[i].interrupted > 64)
            ways.interrupted = 64;
        errno = EXDEV;
        int err = segment_reserve(&own, OFFSET, BYTES);
        ways.on = false;
        assert_int_equal(errno, EXDEV);
        if (err != cases[i].err || ways.allocations != cases[i].allocations ||
            ways.populations != cases[i].populations || ways.bytes != cases[i].bytes)
            fail_msg("case %zu: %d after %d, %d and %d bytes", i, err, ways.allocations, ways.populations, ways.bytes);
        memcpy(after, (char *)own.segment + OFFSET - 1, sizeof after);
        assert_memory_equal(before, after, sizeof before);
    }
    unlink(own.path);
    segment_forget(&own);
}
