// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * In every program under ThreadSanitizer: libzmq is not built with it, so its lock-free queues look like races. What Bezel's
 * own threads do to one another is still seen.
 */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
    return "race:libzmq.so\n";
}
