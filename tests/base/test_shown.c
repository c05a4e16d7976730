/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Cleaning of foreign text: what a terminal or an editor would obey is left out, and nothing else is. */
#include "base/err.h"
#include "base/shown.h"
#include "report/rows/csv.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct { const char *from, *to; } texts[] = {
    { "plain text, with Größe and 日本", "plain text, with Größe and 日本" },
    { "\x1b]0;title\a\x1b[2J", "?]0;title??[2J" },          /* sets a title, empties the screen */
    { "del\x7f", "del?" },
    { "c1 \xc2\x9b" "2J", "c1 ?2J" },                       /* U+009B does what ESC [ does */
    { "bidi \xe2\x80\xae" "cba", "bidi ?cba" },             /* U+202E */
    { "isolate \xe2\x81\xa6.\xe2\x81\xa9", "isolate ?.?" },
    { "lines \xe2\x80\xa8\xe2\x80\xa9", "lines ??" },
    { "broken \xff\xc3(\xe2\x82", "broken ?" "?(?" "?" },
    { "overlong \xc0\x9b", "overlong ?" "?" },
    { "tab\there", "tab here" },
    { "\xef\xbb\xbfmark", "?mark" },
    { "", "" },
};

Test(shown, leaves_out_what_is_obeyed)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[128];
        strcpy(text, texts[i].from);
        shown_clean(text, true);
        cr_expect_str_eq(text, texts[i].to, "text %zu", i);
    }
}

Test(shown, lines_are_kept_or_joined)
{
    char kept[] = "a\nb\r\n", joined[] = "a\nb\r\n";
    shown_clean(kept, true);
    shown_clean(joined, false);
    cr_expect_str_eq(kept, "a\nb?\n");
    cr_expect_str_eq(joined, "a b? ");
}

Test(shown, errors_are_clean)
{
    struct err_detail err;
    cr_assert_eq(err_set(&err, ERR_FORMAT, 0, "%s", "file\x1b[2J: bad"), ERR_FORMAT);
    cr_expect_str_eq(err.text, "file?[2J: bad");
    cr_assert_eq(err_set(&err, ERR_FORMAT, 0, "%s: bad", "file\nreplay: all is well"), ERR_FORMAT);
    cr_expect_str_eq(err.text, "file?replay: all is well: bad");
}

/* A letter may come in any pieces. */
Test(shown, streams_are_clean_whatever_the_pieces)
{
    static const char text[] = "a\xe2\x82\xac" "b\x1b[m\xe2\x80\xae" "c\xf0\x9f\x98\x80 \xe2\x82\n";
    static const char want[] = "a\xe2\x82\xac" "b?[m?" "c\xf0\x9f\x98\x80 ??\n";
    for (size_t piece = 1; piece < sizeof text; piece++) {
        char name[] = "/tmp/shown-XXXXXX", got[64] = "";
        const int fd = mkstemp(name);
        cr_assert(fd >= 0);
        fflush(stdout);
        const int before = dup(STDOUT_FILENO);
        cr_assert(dup2(fd, STDOUT_FILENO) >= 0);
        FILE *const old_out = stdout, *const old_err = stderr;
        cr_assert(shown_clean_streams());
        for (size_t at = 0; at + 1 < sizeof text; at += piece) {
            fwrite(text + at, 1, piece < sizeof text - 1 - at ? piece : sizeof text - 1 - at, stdout);
            fflush(stdout);
        }
        fclose(stdout);
        fclose(stderr);
        stdout = old_out;
        stderr = old_err;
        dup2(before, STDOUT_FILENO);
        close(before);
        lseek(fd, 0, SEEK_SET);
        cr_expect(read(fd, got, sizeof got - 1) > 0);
        cr_expect_str_eq(got, want, "pieces of %zu", piece);
        close(fd);
        unlink(name);
    }
}

static char *csv_cell(const char *text)
{
    char *cell = NULL;
    size_t n;
    FILE *out = open_memstream(&cell, &n);
    csv_text(out, text);
    fclose(out);
    return cell;
}

Test(shown, csv_holds_no_formula)
{
    static const struct { const char *from, *to; } cells[] = {
        { "=1+1.zst", "'=1+1.zst" }, { "@SUM(A1)", "'@SUM(A1)" }, { "+1", "'+1" }, { "-1", "'-1" },
        { "=HYPERLINK(\"x\",\"y\")", "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\"" },
        { "a=b", "a=b" }, { "\x1b[2J", "?[2J" }, { "two\nlines", "\"two?lines\"" }, { "\t=1", "\"?=1\"" },
        { " =1", "' =1" }, { "\n=1", "\"'?=1\"" }, { "\xe2\x80\x8b=1", "'\xe2\x80\x8b=1" },
        { "\xc2\xa0 @A", "'\xc2\xa0 @A" }, { "\xef\xbc\x9d" "1", "'\xef\xbc\x9d" "1" },
        { "\xef\xbc\x8b", "'\xef\xbc\x8b" }, { "\xef\xbc\x8d", "'\xef\xbc\x8d" },
        { "\xef\xbc\xa0", "'\xef\xbc\xa0" }, { "a;=1", "\"a;=1\"" }, { " ", " " }, { "", "" }, { "\xff=", "?=" },
    };
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        char *cell = csv_cell(cells[i].from);
        cr_expect_str_eq(cell, cells[i].to, "cell %zu", i);
        free(cell);
    }
}
