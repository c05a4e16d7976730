/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Every error has a name and a sentence; a long place is shortened, never the sentence. */
#include "base/err.h"

#include <criterion/criterion.h>
#include <string.h>
#include <stdio.h>
#include <stdlib.h>

Test(status, each_has_its_own_name_and_a_sentence)
{
    for (int a = 0; a < ERR_COUNT; a++) {
        cr_expect_gt(strlen(err_text((enum err)a)), 3, "%d", a);
        for (int b = 0; b < a; b++)
            cr_expect_str_neq(err_name((enum err)a), err_name((enum err)b));
    }
    cr_expect_str_eq(err_name(ERR_OK), "OK");
    cr_expect_str_eq(err_name(ERR_DEVICE_OOM), "DEVICE_OOM");
}

Test(status, a_value_that_is_none_is_said_to_be_unknown)
{
    cr_expect_str_eq(err_name((enum err)ERR_COUNT), "?");
    cr_expect_str_eq(err_name((enum err)-1), "?");
    cr_expect_str_eq(err_text((enum err)1000), "unknown error");
}

Test(status, setting_a_detail_hands_the_error_through)
{
    struct err_detail err;
    cr_expect_eq(err_set(&err, ERR_FORMAT, 42, "event %d goes back in time", 7), ERR_FORMAT);
    cr_expect_eq(err.offset, 42);
    cr_expect_str_eq(err.text, "event 7 goes back in time");
}

Test(status, the_detail_may_be_left_out)
{
    cr_expect_eq(err_set(NULL, ERR_IO, 1, "%s", "nobody listens"), ERR_IO);
}

static char *repeated(const char *piece, size_t n)
{
    char *text = calloc(n, strlen(piece) + 1);
    cr_assert_not_null(text);
    for (size_t i = 0; i < n; i++)
        strcat(text, piece);
    return text;
}

/* Whatever the path is (letters, spaces, no ASCII): its beginning and end are there, and the whole sentence. */
Test(status, a_long_place_loses_its_middle_and_never_the_sentence)
{
    static const char sentence[] = "line 3: size 'zzz' is no number; expected a whole number of bytes, such as 512";
    static const char *const pieces[] = { "x", "a b/", "\xc3\xbc", "\xe2\x82\xac/" };
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        struct err_detail err;
        char *middle = repeated(pieces[i], 900), place[4096];
        snprintf(place, sizeof place, "/begin/%s/end.csv", middle);
        cr_expect_eq(err_at(&err, ERR_FORMAT, 3, place, "%s", sentence), ERR_FORMAT);
        char *found = strstr(err.text, sentence);
        cr_assert(found != NULL && found[strlen(sentence)] == '\0', "%s", err.text);
        cr_expect(strncmp(err.text, "/begin/", 7) == 0 && strstr(err.text, "/end.csv: line 3") != NULL, "%s", err.text);
        cr_expect(strstr(err.text, "...") != NULL && strchr(err.text, '?') == NULL, "%s", err.text);
        cr_expect_leq((size_t)(found - err.text), ERR_PLACE + strlen(": "));
        free(middle);
    }
}

Test(status, a_short_place_stands_whole)
{
    struct err_detail err;
    cr_expect_eq(err_at(&err, ERR_INPUT, 0, "a.csv", "is a %s", "directory"), ERR_INPUT);
    cr_expect_str_eq(err.text, "a.csv: is a directory");
}

Test(status, long_words_lose_their_middle_until_the_text_fits)
{
    struct err_detail err;
    char *word = repeated("y", 1500);
    cr_expect_eq(err_set(&err, ERR_USAGE, 0, "'%s' and '%s' are not known; --help lists all", word, word), ERR_USAGE);
    cr_expect(strstr(err.text, "y' are not known; --help lists all") != NULL, "%s", err.text);
    cr_expect(strncmp(err.text, "'yyyyyyyy", 9) == 0 && strstr(err.text, "y' and 'y") != NULL, "%s", err.text);
    free(word);
}

/* Short words are not shortened: such a text ends where the room does. */
Test(status, a_text_of_short_words_is_cut_and_terminated)
{
    struct err_detail err;
    char *words = repeated("of ", 1000);
    cr_expect_eq(err_set(&err, ERR_USAGE, 0, "%s", words), ERR_USAGE);
    cr_expect_eq(strlen(err.text), sizeof err.text - 1);
    free(words);
}

Test(status, no_memory_has_one_sentence)
{
    struct err_detail err = { .offset = 7 };
    cr_expect_eq(err_no_memory(&err), ERR_HOST_NOMEM);
    cr_expect_str_eq(err.text, err_text(ERR_HOST_NOMEM));
    cr_expect_eq(err_no_memory(NULL), ERR_HOST_NOMEM);
}
