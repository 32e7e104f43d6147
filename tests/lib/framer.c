// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Programs that pass frames on, and record it. `framer from COUNT PAUSE_US FIFO...` captures COUNT frames and sends
 * each through all FIFOs; every seventh it keeps, and records it all the same. `framer to FIFO` receives and shows
 * them. `framer took COUNT NS...` records, of each pair, COUNT frames that took so long from captured to shown,
 * whatever the machine does: its BEZEL_CLOCK is monotonic.
 */
#include <bezel/sensor.h>

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

BEZEL_ASPECT(captured, (int64, frame, "1"));
BEZEL_ASPECT(sent, (int64, frame, "1"));
BEZEL_ASPECT(received, (int64, bytes, "B"), (int64, frame, "1"));
BEZEL_ASPECT(shown, (int64, frame, "1"));

enum { FIFOS_MAX = 8 };

static int send_all(long count, long pause_us, char *const *paths, int n)
{
    const struct timespec pause = {.tv_sec = pause_us / 1000000, .tv_nsec = pause_us % 1000000 * 1000};
    int fds[FIFOS_MAX];
    for (int i = 0; i < n; i++)
        if ((fds[i] = open(paths[i], O_WRONLY)) < 0)
            return 1;
    for (int64_t frame = 1; frame <= count; frame++, nanosleep(&pause, NULL)) {
        bezel_record(captured, frame);
        if (frame % 7 == 0)
            continue;
        bezel_record(sent, frame);
        for (int i = 0; i < n; i++)
            if (write(fds[i], &frame, sizeof frame) != (ssize_t)sizeof frame)
                return 1;
    }
    return 0;
}

static int show_all(const char *path)
{
    int64_t frame;
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return 1;
    while (read(fd, &frame, sizeof frame) == (ssize_t)sizeof frame) {
        bezel_record(received, (int64_t)sizeof frame, frame);
        bezel_record(shown, frame);
    }
    return 0;
}

static int record_taken(int pairs, char *const *pair)
{
    const struct timespec before = {.tv_nsec = 600000000};
    int64_t frame = 0;
    nanosleep(&before, NULL);
    for (int i = 0; i < pairs; i++)
        for (long left = strtol(pair[2 * i], NULL, 10), took = strtol(pair[2 * i + 1], NULL, 10); left > 0; left--) {
            const struct timespec pause = {.tv_nsec = took + 1000000};
            nanosleep(&pause, NULL); /* so that times do not go back */
            uint64_t now = bezel_ticks(), number = (uint64_t)++frame;
            bezel_emit_at(&bezel_aspect_captured, now - (uint64_t)took, &number);
            bezel_emit_at(&bezel_aspect_shown, now, &number);
        }
    return 0;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc > 4 && argc <= 4 + FIFOS_MAX && strcmp(argv[1], "from") == 0)
        return send_all(strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10), argv + 4, argc - 4);
    if (argc > 3 && strcmp(argv[1], "took") == 0)
        return record_taken((argc - 2) / 2, argv + 2);
    return argc == 3 && strcmp(argv[1], "to") == 0 ? show_all(argv[2]) : 2;
}
