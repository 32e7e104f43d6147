// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Keys: their text, their files, the folder of those that are known, and what ZeroMQ is told about them. */
#include "mdr/link/key.h"

#include "base/clock.h"
#include "base/file.h"
#include "mdr/link/keyring.h"
#include "mdr/link/link.h"
#include "mdr/link/zap.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

static char dir[32];

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/bezel-key-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return file_remove_tree(dir);
}

static const char *in_dir(const char *file)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    return path;
}

static void put(const char *file, const char *text, mode_t mode)
{
    assert_int_equal(file_replace(in_dir(file), text, strlen(text)), 0);
    assert_int_equal(chmod(in_dir(file), mode), 0);
}

/* A public key of 32 bytes `fill`. */
static struct key_public sample(uint8_t fill, unsigned roles)
{
    struct key_public key = {.roles = roles};
    memset(key.bytes, fill, KEY_BYTES);
    return key;
}

static void put_key(const char *file, uint8_t fill, unsigned roles)
{
    char text[KEY_FILE_MAX];
    struct key_public key = sample(fill, roles);
    key_print_public(&key, text);
    put(file, text, 0644);
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

TEST_WITH(make_dir, remove_dir, z85_is_zeromqs)
{
    for (int i = 0; i < 100; i++) {
        struct key_secret secret, back;
        char ours[KEY_Z85 + 1], theirs[KEY_Z85 + 1];
        assert_int_equal(link_key_new(&secret), 0);
        key_to_z85(secret.bytes, ours);
        assert_non_null(zmq_z85_encode(theirs, secret.bytes, KEY_BYTES));
        assert_string_equal(ours, theirs);
        assert_int_equal(key_from_z85(ours, back.bytes), 0);
        assert_memory_equal(&back, &secret, sizeof back);
    }
}

TEST_WITH(make_dir, remove_dir, z85_of_more_than_32_bits_is_none)
{
    uint8_t bytes[KEY_BYTES];
    char text[KEY_Z85 + 1] = "%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0"; /* 8 x UINT32_MAX */
    assert_int_equal(key_from_z85(text, bytes), 0);
    assert_int_equal(bytes[0], 0xff);
    assert_int_equal(bytes[KEY_BYTES - 1], 0xff);
    text[4] = '1';
    assert_int_equal(key_from_z85(text, bytes), BEZEL_EMALFORMED);
    memset(text, '#', KEY_Z85);
    assert_int_equal(key_from_z85(text, bytes), BEZEL_EMALFORMED);
    memset(text, '0', KEY_Z85);
    text[7] = '~';
    assert_int_equal(key_from_z85(text, bytes), BEZEL_EMALFORMED);
    text[7] = '\0';
    assert_int_equal(key_from_z85(text, bytes), BEZEL_EMALFORMED);
}

TEST_WITH(make_dir, remove_dir, what_is_printed_is_read_again)
{
    char text[KEY_FILE_MAX];
    const char *why;
    struct key_secret secret, secret_again;
    assert_int_equal(link_key_new(&secret), 0);
    int n = key_print_secret(&secret, text);
    assert_int_equal(key_parse_secret(text, (size_t)n, &secret_again, &why), 0);
    assert_memory_equal(&secret, &secret_again, sizeof secret);
    for (unsigned roles = 1; roles <= KEY_ALL_ROLES; roles++) {
        struct key_public key = sample((uint8_t)roles, roles), again;
        n = key_print_public(&key, text);
        assert_int_equal(key_parse_public(text, (size_t)n, &again, &why), 0);
        assert_memory_equal(&key, &again, sizeof key);
    }
}

#define Z "0000000000000000000000000000000000000000"

TEST_WITH(make_dir, remove_dir, what_is_no_key_is_told_why)
{
    static const struct {
        const char *text, *why;
        int err;
    } bad[] = {
        {"", "not a public key", BEZEL_EMALFORMED},
        {"bezel-public-key 2\n", "version", BEZEL_EVERSION},
        {"bezel-public-key 11\npublic: " Z "\nroles: observe\n", "version", BEZEL_EVERSION},
        {"bezel-secret-key 1\nsecret: " Z "\n", "not a public key", BEZEL_EMALFORMED},
        {"bezel-public-key 1\n", "not a public key", BEZEL_EMALFORMED},
        {"bezel-public-key 1\npublic: " Z "\n", "not a public key", BEZEL_EMALFORMED},
        {"bezel-public-key 1\npublic: " Z "0\nroles: observe\n", "not a public key", BEZEL_EMALFORMED},
        {"bezel-public-key 1\npublic: " Z "\nroles:\n", "empty", BEZEL_EMALFORMED},
        {"bezel-public-key 1\npublic: " Z "\nroles: observer\n", "an unknown role", BEZEL_EMALFORMED},
        {"bezel-public-key 1\npublic: " Z "\nroles: observe,control\n", "an unknown role", BEZEL_EMALFORMED},
        {"bezel-public-key 1\npublic: " Z "\nroles: observe\nroles: control\n", "not a public", BEZEL_EMALFORMED},
        {"bezel-public-key 1\npublic: " Z "\nroles: observe\nnodes: \n", "'nodes:' takes", BEZEL_EMALFORMED},
        {"bezel-public-key 1\npublic: " Z "\nroles: observe\nnodes: a/b\n", "'nodes:' takes", BEZEL_EMALFORMED},
        {"bezel-public-key 1\npublic: " Z "\nroles: observe\nnodes: a\nx", "", BEZEL_EMALFORMED},
        {"bezel-public-key 1\r\r\npublic: " Z "\nroles: observe\n", "version", BEZEL_EVERSION},
    };
    struct key_public key = sample(9, KEY_OBSERVE), untouched = key;
    const char *why;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(key_parse_public(bad[i].text, strlen(bad[i].text), &key, &why), bad[i].err);
        assert_non_null(strstr(why, bad[i].why));
        assert_memory_equal(&key, &untouched, sizeof key);
    }
    static const char good[] = "bezel-public-key 1\npublic: " Z "\nroles:  launch observe launch ";
    assert_int_equal(key_parse_public(good, sizeof good - 1, &key, &why), 0);
    assert_int_equal(key.roles, KEY_OBSERVE | KEY_LAUNCH);
}

TEST_WITH(make_dir, remove_dir, the_ends_of_lines_may_be_those_of_windows)
{
    static const char public[] = "bezel-public-key 1\r\npublic: " Z "\r\nroles: observe control\r\nnodes: desk*\r\n";
    static const char secret[] = "bezel-secret-key 1\r\nsecret: " Z "\r\n";
    struct key_public key;
    struct key_secret hidden;
    const char *why;
    assert_int_equal(key_parse_public(public, sizeof public - 1, &key, &why), 0);
    assert_int_equal(key.roles, KEY_OBSERVE | KEY_CONTROL);
    assert_string_equal(key.nodes, "desk*");
    assert_int_equal(key_parse_secret(secret, sizeof secret - 1, &hidden, &why), 0);
}

TEST_WITH(make_dir, remove_dir, a_key_speaks_for_its_nodes)
{
    static const struct {
        const char *nodes, *node;
        bool speaks;
    } cases[] = {
        {"", "desk1", true},        {"", "desk2", false},         {"desk2", "desk1", false},
        {"a desk2", "desk2", true}, {"desk*", "desk2", true},     {"desk*", "adesk2", false},
        {"*", "whoever", true},     {"desk[1-3]", "desk3", true}, {"desk[1-3]", "desk4", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct key_public key = sample(9, KEY_OBSERVE), read;
        char text[KEY_FILE_MAX];
        const char *why;
        snprintf(key.nodes, sizeof key.nodes, "%s", cases[i].nodes);
        int n = key_print_public(&key, text);
        assert_int_equal(key_parse_public(text, (size_t)n, &read, &why), 0);
        assert_string_equal(read.nodes, cases[i].nodes);
        assert_int_equal(key_speaks_for(&read, "desk1", cases[i].node), cases[i].speaks);
    }
}

TEST_WITH(make_dir, remove_dir, names_of_keys_name_files_of_the_folder)
{
    static const char *const bad[] = {"", ".", "..", ".a", "-a", "a/b", "a b", "\xc3\xa4", "a\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(key_name_ok(bad[i]));
    char longest[KEY_NAME_MAX + 2];
    memset(longest, 'k', sizeof longest);
    longest[KEY_NAME_MAX] = '\0';
    assert_true(key_name_ok(longest));
    longest[KEY_NAME_MAX] = 'k';
    longest[KEY_NAME_MAX + 1] = '\0';
    assert_false(key_name_ok(longest));
    assert_true(key_name_ok("desk-1.studio_A"));
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

TEST_WITH(make_dir, remove_dir, a_pair_is_written_once)
{
    struct key_secret secret, other, read;
    struct key_public public = {.roles = KEY_OBSERVE}, read_public;
    struct stat st;
    char path[PATH_MAX];
    const char *why;
    assert_int_equal(link_key_new(&secret), 0);
    assert_int_equal(link_key_new(&other), 0);
    assert_int_equal(link_key_public(&secret, public.bytes), 0);
    assert_int_equal(key_write_pair(dir, "desk1", &secret, &public, false, path, sizeof path), 0);
    assert_int_equal(stat(in_dir("desk1.key"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(key_write_pair(dir, "desk1", &other, &public, false, path, sizeof path), BEZEL_EBUSY);
    assert_int_equal(key_read_secret(in_dir("desk1.key"), &read, &why), 0);
    assert_memory_equal(&read, &secret, sizeof read);
    assert_int_equal(key_read_public(in_dir("desk1.pub"), &read_public, &why), 0);
    assert_memory_equal(&read_public, &public, sizeof public);
    /* Half a pair is a pair: its secret may be in use elsewhere. */
    assert_int_equal(unlink(in_dir("desk1.key")), 0);
    assert_int_equal(key_write_pair(dir, "desk1", &other, &public, false, path, sizeof path), BEZEL_EBUSY);
    assert_string_equal(path, in_dir("desk1.pub"));
    assert_int_equal(access(in_dir("desk1.key"), F_OK), -1);
    assert_int_equal(key_write_pair(dir, "desk1", &other, &public, true, path, sizeof path), 0);
    assert_int_equal(key_read_secret(in_dir("desk1.key"), &read, &why), 0);
    assert_memory_equal(&read, &other, sizeof read);
}

/* A name that leaves no room for what is written beside the file. */
TEST_WITH(make_dir, remove_dir, a_pair_with_too_long_a_name_is_refused_and_leaves_nothing)
{
    struct key_secret secret;
    struct key_public public = {.roles = KEY_OBSERVE};
    char path[PATH_MAX], deep[PATH_MAX + 8], one[] = "desk1";
    size_t room = sizeof deep - 8, n = (size_t)snprintf(deep, sizeof deep, "%s", dir);
    assert_int_equal(link_key_new(&secret), 0);
    for (size_t length = room - 16; length <= room; length++) {
        while (n < length)
            n += (size_t)snprintf(deep + n, sizeof deep - n, "/");
        errno = 0;
        int err = key_write_pair(deep, one, &secret, &public, false, path, sizeof path);
        if (err) {
            assert_int_equal(err, BEZEL_EINVAL);
            assert_int_equal(errno, ENAMETOOLONG);
        }
        assert_int_equal(access(in_dir("desk1.key"), F_OK) == 0, err == 0);
        assert_int_equal(access(in_dir("desk1.pub"), F_OK) == 0, err == 0);
        unlink(in_dir("desk1.key"));
        unlink(in_dir("desk1.pub"));
        assert_true(length < room || err);
    }
}

TEST_WITH(make_dir, remove_dir, a_key_that_others_can_read_is_refused)
{
    struct key_secret secret;
    const char *why;
    put("k.key", "bezel-secret-key 1\nsecret: " Z "\n", 0600);
    assert_int_equal(key_read_secret(in_dir("k.key"), &secret, &why), 0);
    static const mode_t open_modes[] = {0640, 0604, 0660, 0601, 0620};
    for (size_t i = 0; i < sizeof open_modes / sizeof *open_modes; i++) {
        assert_int_equal(chmod(in_dir("k.key"), open_modes[i]), 0);
        assert_int_equal(key_read_secret(in_dir("k.key"), &secret, &why), BEZEL_EPERM);
        assert_non_null(strstr(why, "chmod 600"));
    }
}

TEST_WITH(make_dir, remove_dir, what_is_no_small_file_is_no_key)
{
    struct key_public key;
    const char *why;
    char large[KEY_FILE_MAX + 1];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    put("large.pub", large, 0644);
    assert_int_equal(key_read_public(in_dir("large.pub"), &key, &why), BEZEL_EMALFORMED);
    assert_int_equal(mkfifo(in_dir("fifo.pub"), 0600), 0);
    assert_int_equal(key_read_public(in_dir("fifo.pub"), &key, &why), BEZEL_EMALFORMED);
    assert_int_equal(mkdir(in_dir("folder.pub"), 0700), 0);
    assert_int_equal(key_read_public(in_dir("folder.pub"), &key, &why), BEZEL_EMALFORMED);
    assert_int_equal(key_read_public(in_dir("none.pub"), &key, &why), BEZEL_ENOENT);
    put_key("open.pub", 1, KEY_OBSERVE);
    assert_int_equal(chmod(in_dir("open.pub"), 0666), 0);
    assert_int_equal(key_read_public(in_dir("open.pub"), &key, &why), BEZEL_EPERM);
}

/* ---- the folder -------------------------------------------------------------------------------------------------- */

static int find(struct keyring *ring, uint8_t fill, int64_t now, struct keyring_key *found)
{
    struct key_public key = sample(fill, 0);
    keyring_look(ring, now);
    return keyring_find(ring, key.bytes, found);
}

TEST_WITH(make_dir, remove_dir, a_changed_folder_takes_effect_within_a_second)
{
    struct keyring *ring;
    struct keyring_key found;
    put_key("a.pub", 1, KEY_OBSERVE);
    put_key("b.pub", 2, KEY_CONTROL | KEY_LAUNCH);
    put_key(".hidden.pub", 3, KEY_OBSERVE);
    put_key("c.public", 3, KEY_OBSERVE);
    assert_int_equal(keyring_open(dir, &ring), 0);
    int64_t now = clock_now();
    assert_int_equal(find(ring, 1, now, &found), 0);
    assert_string_equal(found.name, "a");
    assert_int_equal(found.key.roles, KEY_OBSERVE);
    assert_int_equal(find(ring, 2, now, &found), 0);
    assert_int_equal(found.key.roles, KEY_CONTROL | KEY_LAUNCH);
    assert_int_equal(find(ring, 3, now, &found), BEZEL_ENOENT);

    put_key("c.pub", 3, KEY_OBSERVE);
    assert_int_equal(unlink(in_dir("a.pub")), 0);
    assert_int_equal(find(ring, 3, now + KEYRING_LOOK / 2, &found), BEZEL_ENOENT); /* not looked at that often */
    now += 2 * KEYRING_LOOK;
    assert_int_equal(find(ring, 3, now, &found), 0);
    assert_int_equal(find(ring, 1, now, &found), BEZEL_ENOENT);

    /* A file that is written in place leaves the folder's own time as it was. */
    FILE *f = fopen(in_dir("b.pub"), "r+");
    assert_non_null(f);
    assert_int_equal(fseek(f, -15, SEEK_END), 0);
    fputs("observe        ", f);
    fclose(f);
    now += 2 * KEYRING_LOOK;
    assert_int_equal(find(ring, 2, now, &found), 0);
    assert_int_equal(found.key.roles, KEY_OBSERVE);

    /* Who can write the folder can admit himself: then nobody is known. */
    assert_int_equal(chmod(dir, 0770), 0);
    now += 2 * KEYRING_LOOK;
    assert_int_equal(find(ring, 2, now, &found), BEZEL_ENOENT);
    assert_int_equal(chmod(dir, 0700), 0);
    now += 2 * KEYRING_LOOK;
    assert_int_equal(find(ring, 2, now, &found), 0);
    assert_int_equal(file_remove_tree(dir), 0);
    now += 2 * KEYRING_LOOK;
    assert_int_equal(find(ring, 2, now, &found), BEZEL_ENOENT);
    assert_int_equal(mkdir(dir, 0700), 0);
    keyring_free(ring);
    assert_int_equal(file_remove_tree(dir), 0);
    assert_int_equal(keyring_open(dir, &ring), BEZEL_ENOENT);
    assert_int_equal(mkdir(dir, 0700), 0);
}

/* Connections may use up all descriptors of a daemon: that takes no key from those that are served. */
TEST_WITH(make_dir, remove_dir, without_a_descriptor_the_keys_stay_as_they_are)
{
    struct rlimit limit, none;
    struct keyring *ring;
    struct keyring_key found;
    put_key("a.pub", 1, KEY_OBSERVE);
    assert_int_equal(keyring_open(dir, &ring), 0);
    int64_t now = clock_now() + 2 * KEYRING_LOOK;
    put_key("b.pub", 2, KEY_OBSERVE);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int next = dup(0);
    close(next);
    for (int more = 0; more < 2; more++, now += 2 * KEYRING_LOOK) { /* none for the folder, none for its files */
        none = (struct rlimit){.rlim_cur = (rlim_t)(next + more), .rlim_max = limit.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        int a = find(ring, 1, now, &found), b = find(ring, 2, now, &found);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_int_equal(a, 0);
        assert_int_equal(b, BEZEL_ENOENT);
    }
    assert_int_equal(find(ring, 1, now, &found), 0);
    assert_int_equal(find(ring, 2, now, &found), 0);
    keyring_free(ring);
}

static void count_complaint(void *context, const char *file, const char *why)
{
    (void)why;
    strcat(strcat(context, file), " ");
}

TEST_WITH(make_dir, remove_dir, what_is_wrong_is_left_out_and_told)
{
    char told[256] = "";
    struct keyring *ring;
    struct keyring_key found;
    put_key("good.pub", 1, KEY_OBSERVE);
    put("bad.pub", "hello", 0644);
    put_key("twin1.pub", 5, KEY_OBSERVE);
    put_key("twin2.pub", 5, KEY_CONTROL);
    assert_int_equal(keyring_examine(dir, count_complaint, told), 1);
    assert_string_equal(told, "bad twin1 twin2 ");
    assert_int_equal(keyring_open(dir, &ring), 0);
    assert_int_equal(find(ring, 1, clock_now(), &found), 0);
    assert_int_equal(find(ring, 5, clock_now(), &found), BEZEL_ENOENT);
    keyring_free(ring);
}

/* ---- ZAP --------------------------------------------------------------------------------------------------------- */

static struct zap_part part(const char *text)
{
    return (struct zap_part){text, strlen(text)};
}

TEST_WITH(make_dir, remove_dir, zap_admits_known_keys_alone)
{
    struct keyring *ring;
    uint8_t read[KEY_BYTES];
    struct key_public known = sample(1, 0), stranger = sample(2, 0);
    put_key("desk1.pub", 1, KEY_OBSERVE | KEY_CONTROL);
    assert_int_equal(keyring_open(dir, &ring), 0);
    struct zap_part parts[] = {
        part("1.0"), part("7"), part("12"), part("192.0.2.1"), part(""), part("CURVE"), {known.bytes, KEY_BYTES}};
    struct zap_request request;
    struct zap_answer answer;
    assert_int_equal(zap_read(parts, ZAP_PARTS, &request), 0);
    assert_string_equal(request.address, "192.0.2.1");
    zap_decide(&request, ring, clock_now(), &answer);
    assert_string_equal(answer.status, "200");
    assert_int_equal(zap_key(answer.user, read), 0);
    assert_memory_equal(read, known.bytes, sizeof read);
    zap_decide(&request, NULL, clock_now(), &answer); /* a domain that is gone */
    assert_string_equal(answer.status, "400");

    parts[6].data = stranger.bytes;
    assert_int_equal(zap_read(parts, ZAP_PARTS, &request), 0);
    zap_decide(&request, ring, clock_now(), &answer);
    assert_string_equal(answer.status, "400");
    assert_string_equal(answer.user, "");
    parts[6] = (struct zap_part){known.bytes, KEY_BYTES - 1};
    assert_int_equal(zap_read(parts, ZAP_PARTS, &request), 0);
    zap_decide(&request, ring, clock_now(), &answer);
    assert_string_equal(answer.status, "400");
    parts[5] = part("PLAIN");
    parts[6] = (struct zap_part){known.bytes, KEY_BYTES};
    assert_int_equal(zap_read(parts, ZAP_PARTS, &request), 0);
    zap_decide(&request, ring, clock_now(), &answer);
    assert_string_equal(answer.status, "400");
    assert_int_equal(zap_read(parts, 5, &request), BEZEL_EMALFORMED);
    parts[0] = part("2.0");
    assert_int_equal(zap_read(parts, ZAP_PARTS, &request), BEZEL_EMALFORMED);
    keyring_free(ring);
}

TEST_WITH(make_dir, remove_dir, a_user_id_that_is_not_ours_is_no_key)
{
    uint8_t key[KEY_BYTES];
    static const char *const bad[] = {NULL, "", "desk1", Z "0", "~" Z};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(zap_key(bad[i], key), BEZEL_EMALFORMED);
}
