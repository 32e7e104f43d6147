// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Misspelt keys: which word is suggested, and when none is. */
#include "base/near.h"
#include "tests/lib/test.h"

#include <string.h>

static const char *nearest(const char *wanted, const char *const *candidates)
{
    struct near near = {.wanted = wanted};
    for (; *candidates; candidates++)
        near_consider(&near, *candidates);
    return near.best;
}

TEST(the_nearest_is_suggested_wherever_it_stands)
{
    static const struct {
        const char *wanted, *best, *candidates[4];
    } cases[] = {
        {"perod", "period", {"parode", "period", "batch"}},
        {"perod", "period", {"period", "parode", "batch"}},
        {"perod", "period", {"batch", "parode", "period"}},
        {"mode", "mode", {"node", "mode", "modes"}},
        {"moed", "mode", {"mode"}},         /* two letters that changed places are one step */
        {"abcd", "abce", {"abce", "abcf"}}, /* the first of two that are as near */
        {"windw", "window", {"winter", "window"}},
        {"cpu", NULL, {"gpio", "xyz", "batch"}},
        {"", NULL, {"a", "batch"}},
        {"ab", "aa", {"aa"}},
        {"ab", NULL, {"cc"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *best = nearest(cases[i].wanted, cases[i].candidates);
        if ((best == NULL) != (cases[i].best == NULL) || (best && strcmp(best, cases[i].best) != 0))
            fail_msg("%s: %s, not %s", cases[i].wanted, best ? best : "none", cases[i].best ? cases[i].best : "none");
    }
}
