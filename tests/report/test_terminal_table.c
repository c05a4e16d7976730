/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Tables for a terminal: widths from the content, and columns that leave in their order. */
#include "base/terminal.h"
#include "report/text/terminal_table.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const struct text_column columns[] = {
    { .title = "policy", .is_left = true },
    { .title = "a", .group = "sizes (M)", .leaves = 2 },
    { .title = "b", .group = "sizes (M)", .leaves = 1 },
    { .title = "empty", .leaves = 3 },
    { .title = "OOMs" },
};
enum { N_COLUMNS = sizeof columns / sizeof columns[0] };

/* The table of two rows within so many letters. Freed by the caller. */
static char *printed(size_t width)
{
    struct terminal_table t = { .columns = columns, .n_columns = N_COLUMNS, .bold_row = 0 };
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    terminal_table_add(&t, (const char *const[]){ "best-fit", "1,234.5", "6", "", "0" });
    terminal_table_add(&t, (const char *const[]){ "none", "7", "8", "", "2 at 9" });
    cr_assert_eq(terminal_table_print(f, &t, width), ERR_OK);
    fclose(f);
    return text;
}

static void expect(size_t width, const char *expected)
{
    char *text = printed(width);
    cr_expect_str_eq(text, expected, "at %zu letters:\n%s", width, text);
    free(text);
}

Test(terminal_table, all_columns_stay_where_there_is_room)
{
    expect(TERMINAL_ANY, "          sizes (M)\n"
                         "policy          a  b    OOMs\n"
                         "best-fit  1,234.5  6       0\n"
                         "none            7  8  2 at 9\n");
}

Test(terminal_table, columns_leave_in_their_order_and_are_named)
{
    expect(27, "          sizes (M)\n"
               "policy            a    OOMs\n"
               "best-fit    1,234.5       0\n"
               "none              7  2 at 9\n"
               "Left out here: sizes: b (--wide shows all).\n");
}

Test(terminal_table, those_that_never_leave_stay_on_any_terminal)
{
    expect(5, "policy      OOMs\n"
              "best-fit       0\n"
              "none      2 at 9\n"
              "Left out here: sizes: a, b (--wide shows all).\n");
}

Test(terminal, a_file_has_any_width_and_is_never_bold)
{
    FILE *f = tmpfile();
    setenv("COLUMNS", "50", 1);
    cr_assert_not_null(f);
    cr_expect_eq(terminal_columns(f), TERMINAL_ANY);
    cr_expect_eq(terminal_rows(f), 0);
    cr_expect(!terminal_has_bold(f));
    cr_expect_eq(terminal_columns(stdout), 50);
    setenv("COLUMNS", "3", 1);
    cr_expect_eq(terminal_columns(stdout), 40, "below 40 letters nothing can be read");
    fclose(f);
}
