// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Who has a folder: a process of this machine, one of another machine, which the lock of a file stands for, or one that
 * is killed. */
#include "base/folder_lock.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int lock(struct folder_lock *l)
{
    int fd = open(scratch_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = folder_lock(fd, l);
    close(fd);
    return err;
}

TEST_WITH(scratch_begin, scratch_end, a_folder_has_one_holder)
{
    struct folder_lock first, second;
    assert_false(folder_is_held(scratch_dir));
    assert_int_equal(lock(&first), 0);
    assert_true(first.file < first.folder); /* the kernel closes the files of a killed process in this order */
    assert_int_equal(folder_holder(scratch_dir), FOLDER_HELD);
    assert_int_equal(lock(&second), BEZEL_EBUSY);
    folder_unlock(&second);
    assert_int_equal(folder_holder(scratch_dir), FOLDER_HELD);
    folder_unlock(&first);
    assert_int_equal(folder_holder(scratch_dir), FOLDER_FREE);
    assert_int_equal(lock(&second), 0);
    folder_unlock(&second);
}

TEST_WITH(scratch_begin, scratch_end, a_lock_of_the_file_alone_is_another_machines)
{
    struct folder_lock l;
    int fd = openat(scratch_folder.fd, FOLDER_LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &(struct flock){.l_type = F_WRLCK}), 0);
    assert_int_equal(folder_holder(scratch_dir), FOLDER_HELD_ELSEWHERE);
    assert_int_equal(lock(&l), BEZEL_EBUSY);
    folder_unlock(&l);
    close(fd);
    assert_int_equal(folder_holder(scratch_dir), FOLDER_FREE);
}

TEST_WITH(scratch_begin, scratch_end, a_folder_without_its_file_is_held_on_this_machine)
{
    struct folder_lock l;
    assert_int_equal(mkdirat(scratch_folder.fd, FOLDER_LOCK_FILE, 0700), 0);
    assert_int_equal(lock(&l), 0);
    assert_int_equal(folder_holder(scratch_dir), FOLDER_HELD);
    folder_unlock(&l);
    assert_int_equal(folder_holder(scratch_dir), FOLDER_FREE);
}
