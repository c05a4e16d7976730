/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The table of cards: what a file adds, what it may not say, and that each source is of a kind that the table explains.
 */
#include "base/units.h"
#include "sim/card_table.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct card_table made;

static enum err read_text(const char *text, struct err_detail *err)
{
    return card_table_read(&made, "own.csv", text, strlen(text), err);
}

Test(card_table, rows_are_sorted_by_memory_and_a_name_stands_once)
{
    struct err_detail err;
    cr_assert_eq(read_text("# mine\r\n\n"
                           "card,large,Large,48GiB,49152MiB,8.9,142,98304,384,2490,9001,\"a log, \"\"mine\"\"\"\r\n"
                           "often, small , Small card ,4GiB,,7.5,1,2,3,4,5,s\n"
                           "card,large,Larger,64GiB,,9.0,1,1,1,1,1,another", &err), ERR_OK, "%s", err.text);
    cr_assert_eq(made.n_cards, 2);
    cr_expect_str_eq(made.cards[0].name, "small");
    cr_expect_str_eq(made.cards[0].title, "Small card");
    cr_expect(made.cards[0].is_often && !made.cards[1].is_often);
    cr_expect_eq(made.cards[0].smi_bytes, 4 * GIB);
    cr_expect_eq(made.cards[0].l2_bytes, 2048);
    cr_expect_eq(made.cards[0].clock_khz, 4000);
    cr_expect_str_eq(made.cards[1].title, "Larger");
    cr_expect_eq(made.cards[1].capability, 90);
}

Test(card_table, a_context_is_of_a_card_or_of_a_capability)
{
    struct err_detail err;
    cr_assert_eq(read_text("card,a,A,4GiB,,8.6,1,1,1,1,1,s\ncontext,a,1MiB,2MiB,\"x, y\"\ncontext,8.6,3MiB,3MiB,z\n"
                           "context,a,5MiB,6MiB,later\n", &err), ERR_OK, "%s", err.text);
    cr_assert_eq(made.n_contexts, 2);
    cr_expect_eq(made.contexts[0].bytes, 5 * MIB);
    cr_expect_str_eq(made.contexts[0].source, "later");
    cr_expect_null(made.contexts[1].card);
    cr_expect_eq(made.contexts[1].capability, 86);
}

Test(card_table, what_is_wrong_is_said_with_file_and_line)
{
    static const struct { const char *line, *said; } cases[] = {
        { "card,x", "a card has 12 fields" },
        { "chip,x", "not with 'chip'" },
        { "card,x,T,4,,8.9,1,1,1,1,1,s", "not the memory of a card: '4'" },
        { "card,x,T,9000PiB,,8.9,1,1,1,1,1,s", "not the memory of a card: '9000PiB'" },
        { "card,x,T,4GiB,,8.9,1,1,1,1,0,s", "whole numbers" },
        { "card,x,T,4GiB,3GiB,8.9,1,1,1,1,1,s", "not '3GiB'" },
        { "card,x,T,4GiB,,1.9,1,1,1,1,1,s", "'1.9'" },
        { "card,x,,4GiB,,8.9,1,1,1,1,1,s", "a title and a source" },
        { "card,4GiB,T,4GiB,,8.9,1,1,1,1,1,s", "'4GiB'" },
        { "card,a:b,T,4GiB,,8.9,1,1,1,1,1,s", "'a:b'" },
        { "context,x,1MiB,2MiB,s", "neither a card" },
        { "context,8.6,3MiB,2MiB,s", "the larger one last" },
        { "card,\"x,T", "quotes that do not end" },
        { "card,\"x\"y,T", "a comma is missing" },
        { "a,b,c,d,e,f,g,h,i,j,k,l,m", "too many fields" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err_detail err;
        char text[256];
        snprintf(text, sizeof text, "# first\n%s\n", cases[i].line);
        cr_expect_eq(read_text(text, &err), ERR_FORMAT, "%s", cases[i].line);
        cr_expect_eq(err.offset, 2);
        cr_expect(strncmp(err.text, "own.csv:2: ", 11) == 0 && strstr(err.text, cases[i].said) != NULL, "%s: %s",
                  cases[i].line, err.text);
    }
    cr_expect_eq(made.n_cards + made.n_contexts, 0);
}

Test(card_table, more_rows_than_there_is_room_for_are_refused)
{
    struct err_detail err;
    char line[128];
    enum err e = ERR_OK;
    for (unsigned i = 0; e == ERR_OK && i <= CARDS_MOST; i++) {
        snprintf(line, sizeof line, "card,x%u,T,%uGiB,,8.9,1,1,1,1,1,s", i, 1 + i % 7);
        e = read_text(line, &err);
    }
    cr_expect_eq(e, ERR_FORMAT);
    cr_expect_eq(made.n_cards, CARDS_MOST);
    for (size_t i = 1; i < made.n_cards; i++)
        cr_expect_leq(made.cards[i - 1].total_bytes, made.cards[i].total_bytes);
}

/* The kinds of sources are the lines "#   kind   what it is" of cards.csv. */
Test(card_table, each_source_is_of_a_kind_that_the_table_explains)
{
    char kinds[16][32], line[512];
    size_t n_kinds = 0;
    FILE *f = fopen(TEST_DATA "/../../sim/cards.csv", "r");
    cr_assert_not_null(f);
    while (fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "#   ", 4) == 0 && line[4] != ' ') {
            cr_assert(n_kinds < 16);
            snprintf(kinds[n_kinds], sizeof kinds[0], "%.*s", (int)(strstr(line + 4, "  ") - line - 4), line + 4);
            n_kinds++;
        }
    fclose(f);
    cr_expect_geq(n_kinds, 5);
    const struct device_model *m;
    for (size_t i = 0; (m = card_at(i)) != NULL; i++) {
        size_t k = 0;
        while (k < n_kinds && strncmp(m->source, kinds[k], strlen(kinds[k])) != 0)
            k++;
        cr_expect(k < n_kinds, "%s: '%s' is of no kind that sim/cards.csv explains", m->name, m->source);
    }
}

Test(card_table, the_file_of_the_environment_is_added_to_the_table)
{
    char path[] = "/tmp/replay-test-XXXXXX";
    struct err_detail err;
    const struct device_model *card;
    const int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    cr_assert_not_null(f);
    fputs("card,lab-300g,Lab,300GiB,,9.0,1,1,1,1,1,ours\ncontext,lab-300g,1GiB,1GiB,ours\n", f);
    fclose(f);
    setenv(CARDS_ENV, path, 1);
    cr_assert_eq(cards_add_own(&err), ERR_OK, "%s", err.text);
    cr_assert_eq(cards_find("lab-300g", strlen("lab-300g"), &card, 1), 1);
    cr_expect_eq(card->total_bytes, 300 * GIB);
    cr_expect_eq(card_context_in("sim:lab-300g")->bytes, GIB);
    unlink(path);
    cr_expect_eq(cards_add_own(&err), ERR_INPUT);
    cr_expect_not_null(strstr(err.text, path));
    setenv(CARDS_ENV, "", 1);
    cr_expect_eq(cards_add_own(&err), ERR_OK);
}
