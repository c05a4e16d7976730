/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* base/load_json: jansson neither ends the program nor takes more memory than it may. */
#include "base/load_json.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 1 << 20 };

/* `before`, MANY times `c`, `after`; free() it. */
static char *long_json(const char *before, char c, const char *after, size_t *n)
{
    const size_t n_before = strlen(before), n_after = strlen(after);
    char *text = malloc(n_before + MANY + n_after + 1);
    cr_assert_not_null(text);
    memcpy(text, before, n_before);
    memset(text + n_before, c, MANY);
    memcpy(text + n_before + MANY, after, n_after + 1);
    *n = n_before + MANY + n_after;
    return text;
}

static void expect_fault(const char *before, char c, const char *after, uint64_t most_memory, const char *reason)
{
    struct err_detail err = {0};
    json_t *root = NULL;
    size_t n;
    char *text = long_json(before, c, after, &n);
    cr_expect_eq(load_json(text, n, 0, most_memory, "a.json", &root, &err), ERR_FORMAT, "%s", reason);
    cr_expect(strstr(err.text, "a.json") != NULL && strstr(err.text, reason) != NULL, "%s: %s", reason, err.text);
    free(text);
}

Test(load_json, a_number_or_word_without_end_is_no_json)
{
    expect_fault("{\"a\":", '9', "}", UINT64_MAX, "at byte 1005: a number or word of more than 1,000 characters");
    expect_fault("{\"a\":", '9', "}", MANY / 4, "at byte 1005: a number or word of more than 1,000 characters");
    expect_fault("[", 't', "]", MANY / 4, "at byte 1001: a number or word of more than 1,000 characters");
    expect_fault("[\"", 't', "\n\"]", UINT64_MAX, "at byte 1048578: a control character within a text");
    expect_fault("[\"", 't', "\n\"]", MANY / 4, "takes more memory");
}

/* Wherever the limit lies, also amid a number: it is said, and the program goes on. */
Test(load_json, any_limit_of_memory_is_survived)
{
    static const char text[] = "[{\"name\": [1, {}]}, \"text\", true, 1234567890123456789012345678901234567890.5, []]";
    uint64_t most = 0;
    enum err e = ERR_FORMAT;
    for (; e != ERR_OK && most < 100000; most++) {
        struct err_detail err = {0};
        json_t *root = NULL;
        e = load_json(text, strlen(text), 0, most, "a.json", &root, &err);
        cr_assert(e == ERR_OK || (e == ERR_FORMAT && strstr(err.text, "takes more memory") != NULL), "%llu: %s",
                  (unsigned long long)most, err.text);
        json_decref(root);
    }
    cr_expect_eq(e, ERR_OK);
    cr_expect_gt(most, 500u);
}

Test(load_json, a_fault_before_the_long_number_is_named_first)
{
    struct err_detail err = {0};
    json_t *root = NULL;
    static const char text[] = "{\"a\" \"b\":\"x\ny\"}";
    cr_expect_eq(load_json(text, strlen(text), 0, UINT64_MAX, "a.json", &root, &err), ERR_FORMAT);
    cr_expect(strstr(err.text, "at byte 8: ':' expected") != NULL, "%s", err.text);
}

Test(load_json, what_is_json_is_read)
{
    static const char text[] = "{\"a\": [-1.5e+300, 12, true, null], \"q\\\"\\\\\": \"\\n9999\"}";
    struct err_detail err = {0};
    json_t *root = NULL;
    cr_assert_eq(load_json(text, strlen(text), 0, UINT64_MAX, "a.json", &root, &err), ERR_OK, "%s", err.text);
    cr_expect_str_eq(json_string_value(json_object_get(root, "q\"\\")), "\n9999");
    cr_expect_eq(json_array_size(json_object_get(root, "a")), 4u);
    json_decref(root);
    size_t n;
    char *long_text = long_json("[\"", '9', "\"]", &n);
    cr_assert_eq(load_json(long_text, n, 0, UINT64_MAX, "a.json", &root, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(json_string_length(json_array_get(root, 0)), (size_t)MANY);
    json_decref(root);
    free(long_text);
}
