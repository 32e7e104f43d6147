// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * In every program under ThreadSanitizer: libzmq is not built with it, so its lock-free queues look like races, nor is
 * libsodium, which decrypts into its frames. What Bezel's own threads do to one another is still seen. What its threads
 * read from a socket is not looked at either: else every byte of a packet is a race that is found, looked up and
 * suppressed, a hundred times slower than the tests' patience. And a receiver asks whether a descriptor of ZeroMQ is
 * still its connection (mdr/link/unidentified_peers.c), when that may be closed already, and its number that of a
 * folder of keys which another thread reads: it sees then that this is no socket.
 */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
    return "race:libzmq.so\ncalled_from_lib:libzmq.so\nrace:libsodium.so\ncalled_from_lib:libsodium.so\n"
           "race:folder_print\nrace:read_folder\n";
}
