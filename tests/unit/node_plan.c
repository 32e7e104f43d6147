// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What `bezel node` is to do on a machine, by the traits of that machine. */
#include "ecs/cli/node_plan.h"

#include "ecs/cli/node_remote.h"
#include "tests/lib/test.h"

#include <string.h>

static const char *const usual[] = {
    "user ada",  "uid 1000",         "home /home/ada",   "host desk1", "release debian 12", "architecture amd64",
    "root sudo", "apt yes",          "package none",     "candidate ", "systemd yes",       "units ",
    "linger no", "space-usr 999999", "space-tmp 999999", "shm 999999", "time 1000",
};

static const struct node_offer offered = {"0.2.0", "/packages", "amd64", "debian 12", 4 << 20, 1000, false};

struct row {
    const char *traits[4]; /* that differ from the usual ones */
    const char *refused;   /* a part of the sentence; NULL: it is not refused */
    enum node_install install;
    bool service, launcher;
    const char *note; /* a part of a note; NULL: there is none */
};

static const struct row rows[] = {
    {{NULL}, NULL, NODE_BY_COPY, true, true, NULL},
    {{"candidate 0.2.0-1"}, NULL, NODE_BY_APT, true, true, NULL},
    {{"candidate 0.1.9-1"}, NULL, NODE_BY_COPY, true, true, NULL},
    {{"version 0.2.0", "package whole", "units yes"}, NULL, NODE_HAS_IT, true, true, NULL},
    {{"version 0.2.0", "package broken", "bezel /usr/bin/bezel"}, NULL, NODE_BY_COPY, true, true, NULL},
    {{"version 0.1.0", "package whole", "bezel /usr/bin/bezel"}, NULL, NODE_BY_COPY, true, true, NULL},
    {{"version 0.1.0", "bezel /usr/local/bin/bezel"}, "/usr/local/bin/bezel there is version 0.1.0", 0, 0, 0, NULL},
    {{"version 0.10.0", "bezel /usr/bin/bezel"}, "newer", 0, 0, 0, NULL},
    {{"root password"}, "asks ada for a password", 0, 0, 0, NULL},
    {{"root none", "space-home 99999"},
     NULL,
     NODE_BY_COPY,
     false,
     true,
     "installed in /home/ada/.local, for ada alone"},
    {{"root none", "space-home 999"}, "about 20.0 MiB in /home/ada", 0, 0, 0, NULL},
    {{"root none", "candidate 0.2.0-1"}, NULL, NODE_BY_APT, false, true, "are no services"},
    {{"root none", "apt ", "release alpine 3.20"}, "no apt", 0, 0, 0, NULL},
    {{"version 0.1.0", "bezel /home/ada/.local/bin/bezel", "own yes", "candidate 0.2.0-1"},
     NULL,
     NODE_BY_APT,
     true,
     true,
     NULL},
    {{"apt ", "release alpine 3.20"}, "no apt", 0, 0, 0, NULL},
    {{"architecture arm64"}, "are for amd64, and that machine is arm64", 0, 0, 0, NULL},
    {{"architecture arm64", "candidate 0.2.0-1"}, NULL, NODE_BY_APT, true, true, NULL},
    {{"release debian 13"}, "made for debian 12, and that machine has debian 13", 0, 0, 0, NULL},
    {{"space-usr 1000"}, "too little space", 0, 0, 0, NULL},
    {{"space-tmp 1000"}, "too little space", 0, 0, 0, NULL},
    {{"home /home/a da"}, "services take no such path", 0, 0, 0, NULL},
    {{"uid 0", "user root", "root self"}, NULL, NODE_BY_COPY, true, false, "starts no programs"},
    {{"systemd ", "root sudo"}, NULL, NODE_BY_COPY, false, true, "systemd does not run there"},
    {{"version 0.2.0", "units "}, NULL, NODE_HAS_IT, false, true, "no services of the system"},
    {{"version 0.2.0", "units yes", "root none"}, NULL, NODE_HAS_IT, false, true, "loginctl enable-linger ada"},
    {{"version 0.2.0", "units yes", "root password", "linger yes"}, NULL, NODE_HAS_IT, false, true, "without root"},
    {{"time 900"}, NULL, NODE_BY_COPY, true, true, "100 s behind"},
    {{"time 1002"}, NULL, NODE_BY_COPY, true, true, NULL},
    {{"shm 100"}, NULL, NODE_BY_COPY, true, true, "shared memory"},
};

static void make_traits(const struct row *row, struct node_traits *traits)
{
    *traits = (struct node_traits){0};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        node_traits_add(traits, usual[i]);
    for (size_t i = 0; i < 4 && row->traits[i]; i++)
        node_traits_add(traits, row->traits[i]);
}

TEST(traits_become_a_plan)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct node_traits traits;
        struct node_plan plan;
        make_traits(&rows[i], &traits);
        node_plan_make(&traits, &offered, &plan);
        if (rows[i].refused) {
            assert_non_null(strstr(plan.refused, rows[i].refused));
            continue;
        }
        assert_string_equal(plan.refused, "");
        assert_int_equal(plan.install, rows[i].install);
        assert_int_equal(plan.service, rows[i].service);
        assert_int_equal(plan.launcher, rows[i].launcher);
        bool noted = false;
        for (unsigned k = 0; k < plan.notes; k++)
            noted = noted || (rows[i].note && strstr(plan.note[k], rows[i].note));
        assert_int_equal(noted, rows[i].note != NULL);
        if (!rows[i].note)
            assert_int_equal(plan.notes, 0);
    }
}

TEST(without_packages_nothing_is_copied)
{
    struct node_offer none = offered;
    struct node_traits traits;
    struct node_plan plan;
    none.folder = NULL;
    make_traits(&rows[0], &traits);
    node_plan_make(&traits, &none, &plan);
    assert_non_null(strstr(plan.refused, "--packages"));
    make_traits(&rows[1], &traits);
    node_plan_make(&traits, &none, &plan);
    assert_string_equal(plan.refused, "");
}

TEST(traits_are_bounded)
{
    struct node_traits traits = {0};
    char line[2000];
    for (unsigned i = 0; i < 2 * NODE_FACTS_MAX; i++) {
        snprintf(line, sizeof line, "key%u value%u", i, i);
        node_traits_add(&traits, line);
    }
    assert_int_equal(traits.count, NODE_FACTS_MAX);
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\0';
    node_traits_add(&traits, line);
    line[4] = ' ';
    memcpy(line, "key1", 4);
    node_traits_add(&traits, line);
    assert_int_equal(strlen(node_trait(&traits, "key1")), NODE_VALUE_MAX - 1);
    assert_string_equal(node_trait(&traits, "key2"), "value2");
    assert_string_equal(node_trait(&traits, "nothing"), "");
}

TEST(versions_are_compared_by_numbers)
{
    assert_int_equal(node_version_compare("0.1.0", "0.1.0-1"), 0);
    assert_int_equal(node_version_compare("0.1", "0.1.0"), 0);
    assert_true(node_version_compare("0.9.0", "0.10.0") < 0);
    assert_true(node_version_compare("1.0.0-1", "0.99.9-2") > 0);
    assert_true(node_version_compare("", "0.0.1") < 0);
}

TEST(what_ssh_says_becomes_a_sentence)
{
    static const char *const said[][2] = {
        {"@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.\n", "another host key"},
        {"No ED25519 host key is known for a and you have requested strict checking.\nHost key verification failed.\n",
         "not known yet"},
        {"ada@a: Permission denied (publickey,password).\n", "ssh-copy-id"},
        {"ssh: Could not resolve hostname a: Name or service not known\n", "no machine called so"},
        {"ssh: connect to host a port 22: Connection refused\n", "takes no ssh connections"},
        {"ssh: connect to host a port 22: Connection timed out\n", "does not answer"},
        {"banner\nsomething else\n\n", "ssh does not get there: something else"},
        {"", "ssh does not get there: "},
    };
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        char sentence[NODE_SENTENCE_MAX];
        node_remote_reason(said[i][0], sentence);
        assert_non_null(strstr(sentence, said[i][1]));
    }
}
