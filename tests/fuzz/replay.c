// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A fuzzer's main() without libFuzzer: replay FOLDER feeds it every file of the folder, each also cut short at every
 * byte and with every byte spoilt, so that seeds are an ordinary test with any compiler. A failing input is named
 * before it is fed. It may have few files open, so one that leaves some open fails. With REPLAY_STEP n it is every n-th
 * byte, for a fuzzer whose runs take milliseconds. On a busy machine, where that takes longer than three times the
 * PATIENCE, what is left is fed whole alone.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/lib/patience.h"

#include <dirent.h>
#include <limits.h>
#include <sys/resource.h>
#include <time.h>

#ifndef REPLAY_STEP
#define REPLAY_STEP 1
#endif

enum { INPUT_MAX = 1 << 17, THOROUGH_MAX = 4096, FILES_MAX = 64 };

static uint8_t input[INPUT_MAX];
static time_t until;

/* One run on memory of exactly `n` bytes. */
static void feed(size_t n)
{
    uint8_t *data = fuzz_memory(n);
    memcpy(data, input, n);
    LLVMFuzzerTestOneInput(data, n);
    free(data);
}

static void replay(const char *path)
{
    FILE *f = fopen(path, "rb");
    fuzz_must(f);
    size_t n = fread(input, 1, sizeof input, f);
    fclose(f);
    printf("%s: %zu bytes\n", path, n);
    fflush(stdout);
    feed(n);
    if (n > THOROUGH_MAX)
        return;
    size_t i = 0;
    for (; i < n && time(NULL) < until; i += REPLAY_STEP) {
        feed(i);
        input[i] ^= 0xFF;
        feed(n);
        input[i] ^= 0xFE;
        feed(n);
        input[i] ^= 0x01;
    }
    if (i < n)
        printf("machine busy: spoilt up to byte %zu\n", i);
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    int files = 0;
    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    until = time(NULL) + (time_t)(3 * PATIENCE / CLOCK_S);
    fuzz_must(setrlimit(RLIMIT_NOFILE, &(struct rlimit){FILES_MAX, FILES_MAX}) == 0);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[PATH_MAX];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        replay(path);
        files++;
    }
    closedir(folder);
    if (files == 0)
        fprintf(stderr, "%s holds no seeds\n", argv[1]);
    return files == 0;
}
