/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* why: what is promised of a setting, in words. */
#include "replay/why/why.h"

#include <criterion/criterion.h>
#include <string.h>

enum { WHOLE_MOST = 2 };

/* What is promised of a setting that runs all of a program with so many whole steps. */
static void promise(struct words *w, uint64_t whole, enum tune_advice advice)
{
    static struct why y;
    y = (struct why){ .cure = CURE_RECOMMENDED, .coverage = { .ends = ENDS_EXIT, .steps.whole = whole },
                      .tune = { .advice = advice, .n_copies = TUNE_COPIES, .n_finalists = 1,
                                .finalists[0] = { .runs = 3 } } };
    *w = (struct words){ .n = 0 };
    why_add_promise(w, &y);
}

Test(why_text, steps_are_counted_only_if_there_are_some)
{
    static const char *const expected[WHOLE_MOST + 1] = {
        "With this setting all that was recorded runs on this card.",
        "With this setting all that was recorded runs on this card, 1 whole step of it.",
        "With this setting all that was recorded runs on this card, 2 whole steps of it.",
    };
    for (uint64_t whole = 0; whole <= WHOLE_MOST; whole++) {
        struct words w;
        promise(&w, whole, TUNE_RECOMMENDED);
        cr_expect_str_eq(w.text, expected[whole]);
    }
}

Test(why_text, a_caution_of_tune_is_repeated)
{
    struct words w;
    promise(&w, 1, TUNE_WITH_CAUTION);
    cr_expect(strstr(w.text, " But it runs out of memory in 5 of 8 changed copies: another run may, too.") != NULL,
              "%s", w.text);
}

/* Of a program that was stopped a recording tells what happened until then, and no more. */
Test(why_text, what_an_open_end_hides_is_said)
{
    static const enum verdict_kind all[] = { VERDICT_CACHE, VERDICT_RETRIES };
    for (enum coverage_end end = ENDS_OPEN; end <= ENDS_CUT; end++)
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
            static struct why y;
            struct words said = { .n = 0 }, act = { .n = 0 };
            const bool is_unseen = end == ENDS_OPEN || end == ENDS_INTERRUPTED || end == ENDS_CUT;
            y = (struct why){ .verdict = all[i], .cure = CURE_NONE, .coverage.ends = end };
            why_add_verdict(&said, &y);
            why_add_act(&act, &y);
            cr_expect_eq(strstr(said.text, "The program was interrupted: ") != NULL, end == ENDS_INTERRUPTED);
            cr_expect_eq(strstr(said.text, "only what happened until then") != NULL, is_unseen, "%s", said.text);
            if (all[i] == VERDICT_CACHE)
                cr_expect_eq(strncmp(act.text, "As far as was recorded, ", 24) == 0, is_unseen, "%s", act.text);
        }
}

/* Each other verdict that holds is named by its own words, whatever the first is. */
Test(why_text, what_holds_as_well_is_named_by_its_own_words)
{
    static const char *const own[VERDICT_CACHE] = {
        [VERDICT_NOT_IN_FORCE] = "not in force",  [VERDICT_SOMEBODY_ELSE] = "somebody else",
        [VERDICT_LIMITED]      = "a limit",       [VERDICT_ONE_TENSOR]    = "one tensor",
        [VERDICT_LEAK]         = "memory grows",  [VERDICT_LARGER_INPUT]  = "last input is larger",
        [VERDICT_STREAMS]      = "streams keep",
        [VERDICT_FULL]         = "really full",   [VERDICT_FRAGMENTED]    = "fragmented",
    };
    for (int first = 0; first <= VERDICT_CACHE; first++)
        for (int other = 0; other < VERDICT_FULL; other++) {
            static struct why y;
            struct words w = { .n = 0 };
            y = (struct why){ .verdict = (enum verdict_kind)first };
            y.holds[other] = true;
            why_add_also(&w, &y);
            const bool is_own = strncmp(w.text, "Also: ", 6) == 0 && strstr(w.text, own[other]) != NULL;
            cr_expect(other == first ? w.n == 0 : is_own, "%d beside %d: %s", other, first, w.text);
        }
}
