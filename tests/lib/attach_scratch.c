// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/attach_scratch.h"

#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <string.h>

struct attached *attach_scratch(void)
{
    struct attached *a = NULL;
    DIR *d = opendir(scratch_dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL && !a;)
        if (strstr(e->d_name, SEGMENT_SUFFIX))
            assert_int_equal(segment_attach(&scratch_folder, e->d_name, &a), 0);
    closedir(d);
    assert_non_null(a);
    return a;
}
