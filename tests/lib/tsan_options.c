// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * In programs under ThreadSanitizer that receive packets: what libzmq's threads read from a socket counts as handed over. Else
 * every byte of a packet is a race that is found, looked up and suppressed, a hundred times slower than the test's patience.
 */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);

const char *__tsan_default_options(void)
{
    return "ignore_noninstrumented_modules=1";
}
