// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Who we are to a peer is what the kernel tells it, whatever stands in for geteuid() (--wrap, as fakeroot(1) does). */
#include "base/peer.h"
#include "tests/lib/test.h"

#include <sys/socket.h>
#include <unistd.h>

uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void)
{
    return 4711;
}

TEST(this_process_is_of_the_user_that_its_peers_are_told)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(peer_user(ends[1]), getuid());
    assert_int_equal(peer_self(), getuid());
    close(ends[0]);
    close(ends[1]);
    assert_true(peer_user(ends[0]) == (uid_t)-1);
}

int main(void)
{
    return test_run(NULL, NULL);
}
