/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Braces and ranges: which texts a typed text stands for. */
#include "replay/sweep/expand.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* The expanded texts, joined with blanks, or "!" and the reason of a refusal. */
static const char *expanded(const char *text)
{
    static char joined[4096];
    struct expansion x = { .at = NULL };
    struct err_detail err = { .text = "" };
    joined[0] = '\0';
    if (expand(text, &x, &err) != ERR_OK) {
        snprintf(joined, sizeof joined, "!%s", err.text);
        cr_expect_eq(x.n, 0, "a refused text leaves nothing behind");
    }
    for (size_t i = 0; i < x.n; i++)
        snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s", i > 0 ? " " : "", x.at[i]);
    expansion_close(&x);
    return joined;
}

Test(expand, a_text_without_braces_is_itself)
{
    cr_expect_str_eq(expanded("pytorch:max-split=128MiB,roundup=[256:1,>:8]"),
                     "pytorch:max-split=128MiB,roundup=[256:1,>:8]");
    cr_expect_str_eq(expanded("max_split_size_mb:128"), "max_split_size_mb:128");
}

Test(expand, several_braces_span_the_cross_product)
{
    cr_expect_str_eq(expanded("a={1,2},b={x,y}"), "a=1,b=x a=1,b=y a=2,b=x a=2,b=y");
}

Test(expand, a_unit_after_braces_belongs_to_the_numbers)
{
    cr_expect_str_eq(expanded("m={none,32,1.5}MiB"), "m=none m=32MiB m=1.5MiB");
    cr_expect_str_eq(expanded("{16GiB,24}GiB"), "16GiB 24GiB");
    cr_expect_str_eq(expanded("{a,b}c"), "ac bc");
}

Test(expand, a_range_stands_with_and_without_braces)
{
    cr_expect_str_eq(expanded("sim:16..40:8GiB"), "sim:16GiB sim:24GiB sim:32GiB sim:40GiB");
    cr_expect_str_eq(expanded("sim:{16..40:12,80}GiB"), "sim:16GiB sim:28GiB sim:40GiB sim:80GiB");
    cr_expect_str_eq(expanded("{1..3MiB}"), "1MiB 2MiB 3MiB");
    cr_expect_str_eq(expanded("gc={0.5..0.8:0.1}"), "gc=0.5 gc=0.6 gc=0.7 gc=0.8");
}

Test(expand, brackets_and_braces_nest)
{
    cr_expect_str_eq(expanded("roundup={4,[256:1,>:8]}"), "roundup=4 roundup=[256:1,>:8]");
    cr_expect_str_eq(expanded("{a,{b,c}d}e"), "ae bde cde");
    cr_expect_str_eq(expanded("p{,:x}"), "p p:x");
}

Test(expand, no_text_comes_twice)
{
    cr_expect_str_eq(expanded("{a,b,a}"), "a b");
}

Test(expand, what_does_not_match_is_refused)
{
    const char *const wrong[] = { "{a", "a}", "{a,{b}", "{5..1}", "{1..9:0}", "{1..99999}" };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        cr_expect_eq(expanded(wrong[i])[0], '!', "%s", wrong[i]);
}

Test(expand, work_is_bounded_even_where_all_texts_are_equal)
{
    cr_expect_eq(expanded("{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}")[0], '!');
}

Test(expand, what_a_refused_text_stood_for_may_come_again)
{
    struct expansion x = { .at = NULL };
    cr_assert_eq(expand("a", &x, NULL), ERR_OK);
    cr_assert_eq(expand("{b,c}{5..1}", &x, NULL), ERR_USAGE);
    cr_assert_eq(expand("{b,a,c", &x, NULL), ERR_USAGE);
    cr_assert_eq(expand("{c,b,a}", &x, NULL), ERR_OK);
    cr_assert_eq(x.n, 3);
    cr_expect_str_eq(x.at[1], "c");
    cr_expect_str_eq(x.at[2], "b");
    expansion_close(&x);
}
