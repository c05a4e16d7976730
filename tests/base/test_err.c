/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Every error has a name and a sentence; a long detail is cut. */
#include "base/err.h"

#include <criterion/criterion.h>
#include <string.h>

Test(err, each_has_its_own_name_and_a_sentence)
{
    for (int a = 0; a < ERR_COUNT; a++) {
        cr_expect_gt(strlen(err_text((enum err)a)), 3, "%d", a);
        for (int b = 0; b < a; b++)
            cr_expect_str_neq(err_name((enum err)a), err_name((enum err)b));
    }
    cr_expect_str_eq(err_name(ERR_OK), "OK");
    cr_expect_str_eq(err_name(ERR_DEVICE_OOM), "DEVICE_OOM");
}

Test(err, a_value_that_is_none_is_said_to_be_unknown)
{
    cr_expect_str_eq(err_name((enum err)ERR_COUNT), "?");
    cr_expect_str_eq(err_name((enum err)-1), "?");
    cr_expect_str_eq(err_text((enum err)1000), "unknown error");
}

Test(err, setting_a_detail_hands_the_error_through)
{
    struct err_detail why;
    cr_expect_eq(err_set(&why, ERR_FORMAT, 42, "event %d goes back in time", 7), ERR_FORMAT);
    cr_expect_eq(why.offset, 42);
    cr_expect_str_eq(why.text, "event 7 goes back in time");
}

Test(err, the_detail_may_be_left_out)
{
    cr_expect_eq(err_set(NULL, ERR_IO, 1, "%s", "nobody listens"), ERR_IO);
}

Test(err, a_long_text_is_cut_and_terminated)
{
    char text[4 * sizeof ((struct err_detail *)0)->text];
    struct err_detail why;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    cr_expect_eq(err_set(&why, ERR_USAGE, 0, "%s", text), ERR_USAGE);
    cr_expect_eq(strlen(why.text), sizeof why.text - 1);
}
