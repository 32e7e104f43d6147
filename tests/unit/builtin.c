// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The table of built-in aspects: what others define in it, and what a dictionary must take. */
#include "mdr/builtin.h"

#include "mdr/parts.h"
#include "resmgr/policies/policy.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static const struct dict_field *field_of(enum builtin b, const char *name)
{
    const struct dict_aspect *a = &builtin_aspects[b];
    for (uint32_t i = 0; i < a->field_count; i++)
        if (strcmp(a->fields[i].name, name) == 0)
            return &a->fields[i];
    fail_msg("%s has no field %s", a->name, name);
    return NULL;
}

/* Adds a label to `text`, of `size` bytes. */
static void add_label(char *text, size_t size, const char *label)
{
    size_t n = strlen(text);
    snprintf(text + n, size - n, "%s%s", n ? "|" : "", label);
}

TEST(labels_are_those_of_the_enums_that_others_define)
{
    char actions[128] = "";
    for (int i = POLICY_KEEP; i <= POLICY_RESUME; i++)
        add_label(actions, sizeof actions, policy_action_name((enum policy_action)i));
    assert_string_equal(field_of(BUILTIN_DECISION, "action")->labels, actions);
    assert_true(LIMIT_UNKNOWN == 0 && LIMIT_HELD == 1 && LIMIT_VIOLATED == 2);
    assert_string_equal(field_of(BUILTIN_LIMIT, "state")->labels, "unknown|held|violated");
    assert_string_equal(field_of(BUILTIN_OBSERVATION, "state")->labels, "unknown|held|violated");
    assert_true(POLL_MODE_POLLING == 0 && POLL_MODE_BUSY_WAIT == 1);
    assert_string_equal(field_of(BUILTIN_POLLING, "mode")->labels, "polling|busy-wait");
    assert_true(POLL_FORWARD_BATCH == 0 && POLL_FORWARD_COLLECT == 1);
    assert_string_equal(field_of(BUILTIN_POLLING, "forward")->labels, "batch|collect");
    assert_string_equal(field_of(BUILTIN_DECISION, "by")->labels, "agent|manager");
}

TEST(names_of_values_are_their_labels)
{
    assert_string_equal(builtin_conclusion_name(CONCLUSION_INFEASIBLE), "infeasible");
    assert_string_equal(builtin_conclusion_name(CONCLUSION_SATURATED), "saturated");
    assert_string_equal(builtin_conclusion_name(CONCLUSION_SATURATED + 1), "?");
    assert_string_equal(builtin_conclusion_name(-1), "?");
    assert_string_equal(builtin_setter_name(SET_BY_END), "end");
    assert_string_equal(builtin_setter_name(SET_BY_TRIGGER + 1), "?");
    assert_string_equal(builtin_setter_name(-1), "?");
}

/* Readers and writers find `node` and `at` in the same place of each struct, and fields of the size of their type. */
TEST(each_aspect_can_be_declared_and_has_its_fields_in_its_struct)
{
    static uint8_t dictionary[DICT_MAX_BYTES];
    int used = 0;
    for (enum builtin b = 0; b < BUILTIN_COUNT; b++) {
        struct dict_aspect a = builtin_aspects[b];
        const struct builtin_layout *l = builtin_layout(b);
        a.id = b + 1;
        used = dict_append_aspect(dictionary, (size_t)used, sizeof dictionary, &a);
        assert_true(used > 0);
        size_t end = offsetof(struct builtin_usage, at) + sizeof(int64_t);
        for (uint32_t i = 0; i < a.field_count; i++) {
            static const size_t sizes[] = {[DICT_INT64] = sizeof(int64_t),
                                           [DICT_FLOAT64] = sizeof(double),
                                           [DICT_ENUM] = sizeof(int),
                                           [DICT_STRING] = sizeof(char *)};
            assert_true(l->offsets[i] >= end);
            end = l->offsets[i] + sizes[a.fields[i].type];
            assert_true(!l->keys[i] || (l->latest && a.fields[i].type != DICT_FLOAT64)); /* a NULL equals nothing */
        }
        assert_true(end <= l->size);
    }
    struct dict *d;
    assert_int_equal(dict_parse(dictionary, (size_t)used, &d), 0);
    dict_free(d);
}
