// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Interned strings: their entries in the dictionary of this process. Everything here is under the lock. */
#include "base/bytes.h"
#include "base/utf8.h"
#include "mdr/dict.h"
#include "sensor/internal/internal.h"

#include <string.h>
#include <sys/mman.h>

static struct {
    uint32_t count;
    uint16_t at[DICT_STRINGS_MAX];
    uint8_t *inherited; /* after a fork: the parent's dictionary, with `at`; NULL: nothing is inherited */
    size_t inherited_bytes;
    uint32_t inherited_count;
} strings;

/* A string's entry is its kind, id, length and text (mdr.x); `at` has the entries' offsets in 4-byte words. */
enum {
    STRING_ENTRY_LENGTH = 8,
    STRING_ENTRY_TEXT = 12,
    STRING_ROOM_BYTES = SEGMENT_DICT_BYTES - 16384, /* the rest is for aspects of libraries that come later */
};

/* The id of `text` among the strings of the dictionary, or 0. */
static uint32_t find_string(const char *text)
{
    size_t length = strlen(text);
    for (uint32_t i = 0; i < strings.count; i++) {
        const uint8_t *entry = sensor_process.own.segment->dict + 4u * strings.at[i];
        if (bytes_get_u32(entry + STRING_ENTRY_LENGTH) == length &&
            memcmp(entry + STRING_ENTRY_TEXT, text, length) == 0)
            return i + 1;
    }
    return 0;
}

static uint32_t add_string(const char *text)
{
    uint32_t used = sensor_process.dict_used, id = strings.count + 1;
    int n = id > DICT_STRINGS_MAX
                ? BEZEL_EFULL
                : dict_append_string(sensor_process.own.segment->dict, used, STRING_ROOM_BYTES, id, text);
    if (n < 0) {
        sensor_notice(sensor_process.own.segment, "BEZEL-STRING-NO-ROOM", "no room for string \"%s\": its id is 0",
                      text);
        return 0;
    }
    strings.at[strings.count++] = (uint16_t)(used / 4);
    sensor_publish_dict((uint32_t)n);
    return id;
}

/* ---- Fork -------------------------------------------------------------------------------------------------------- */

void sensor_strings_bequeath(void)
{
    uint32_t used = sensor_process.dict_used, count = strings.count;
    strings.count = 0;
    if (count == 0)
        return;
    void *copy = mmap(NULL, used, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return;
    memcpy(copy, sensor_process.own.segment->dict, used);
    strings.inherited = copy;
    strings.inherited_bytes = used;
    strings.inherited_count = count;
}

/* The child's strings keep their ids, because the program may have stored them. */
void sensor_strings_inherit(void)
{
    for (uint32_t i = 0; i < strings.inherited_count; i++) {
        char text[DICT_TEXT_MAX + 1];
        const uint8_t *entry = strings.inherited + 4u * strings.at[i];
        uint32_t length = bytes_get_u32(entry + STRING_ENTRY_LENGTH);
        size_t room = strings.inherited_bytes - 4u * strings.at[i] - STRING_ENTRY_TEXT;
        if (length > DICT_TEXT_MAX || length > room) /* another process overwrote it */
            length = 0;
        memcpy(text, entry + STRING_ENTRY_TEXT, length);
        text[length] = '\0';
        add_string(text); /* moves at[i] to its new place */
    }
    if (strings.inherited)
        munmap(strings.inherited, strings.inherited_bytes);
    strings.inherited = NULL;
    strings.inherited_count = 0;
}

/* ---- Interning --------------------------------------------------------------------------------------------------- */

bezel_string bezel_intern(const char *text)
{
    char cut[DICT_TEXT_MAX + 1];
    bezel_string string = {0};
    sigset_t mask;
    if (sensor_thread.inside)
        return string;
    utf8_escape(cut, DICT_TEXT_MAX, text ? text : "(null)");
    sensor_lock(&mask);
    if (sensor_declare_all()) { /* aspects first: strings may take all the room there is */
        string.id = find_string(cut);
        if (!string.id)
            string.id = add_string(cut);
    }
    sensor_unlock(&mask);
    return string;
}
