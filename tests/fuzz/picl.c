// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * PICL: whatever a file holds, its import ends, and what it makes is a run that is not damaged and whose books are
 * those of the importer. The file is in memory.
 */
#include "import/picl.h"
#include "base/file.h"
#include "base/log.h"
#include "run/verify/verify.h"
#include "tests/fuzz/fuzz.h"
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char run[] = "/dev/shm/bezel-fuzz-picl-XXXXXX";

static void clean_up(void)
{
    (void)!file_remove_tree(run);
}

static void begin(void)
{
    static bool begun;
    if (begun)
        (void)!file_remove_tree(run);
    fuzz_must(begun ? mkdir(run, 0700) == 0 : mkdtemp(run) != NULL);
    if (!begun)
        atexit(clean_up), log_mute();
    begun = true;
}

static void on_finding(const struct verify_report *f, void *context)
{
    (void)context;
    if (f->is == VERIFY_DAMAGED)
        fprintf(stderr, "%s: %s\n", f->code, f->text);
}

static void verify(const struct fill_totals *t)
{
    struct verify v = {.report = on_finding};
    fuzz_must(verify_run(&v, run) == 0);
    fuzz_must(v.totals.damaged == 0);
    fuzz_must(v.totals.records == t->records && v.totals.lost == t->lost);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("picl", MFD_CLOEXEC);
    fuzz_must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    begin();
    struct picl_import p = {.in = fill_new(run, "00000000-0000-4000-8000-000000000000")};
    fuzz_must(p.in);
    (void)picl_is(path);
    int err = picl_read(&p, path);
    fuzz_must(err == 0 || err == BEZEL_EMALFORMED);
    bool empty = fill_totals(p.in)->begin > fill_totals(p.in)->end;
    if (!empty) {
        fuzz_must(fill_finish(p.in, "picl", "trace", "PICL") == 0);
        verify(fill_totals(p.in));
    }
    fill_free(p.in);
    close(fd);
    return 0;
}
