/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What each release makes of a settings text, option by option. */
#include "replay/recording/conf_review.h"
#include "replay/recording/settings_facts.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The answers of 2.0 to 2.15 for the n-th option, a letter each: the first of the fate's word, in upper case if the
 * release stops at the text. */
static void answers(const char *text, size_t option, char out[TORCH_RELEASES + 1])
{
    for (unsigned r = 0; r < TORCH_RELEASES; r++) {
        const struct pytorch_rules rules = pytorch_rules_of((enum torch_release)r);
        struct conf_review review;
        struct err_detail err;
        cr_assert_eq(conf_review_read(&rules, text, &review, &err), ERR_OK);
        cr_assert_lt(option, review.n, "%s has %zu options", text, review.n);
        const char letter = conf_fate_word(review.answers[option].fate)[0];
        out[r] = review.is_taken ? letter : (char)(letter - 'a' + 'A');
        conf_review_close(&review);
    }
    out[TORCH_RELEASES] = '\0';
}

static void expect(const char *text, size_t option, const char *expected)
{
    char got[TORCH_RELEASES + 1];
    answers(text, option, got);
    cr_expect_str_eq(got, expected, "%s, option %zu: %s, not %s", text, option, got, expected);
}

Test(conf, an_option_is_unknown_before_its_release_and_honoured_from_it_on)
{
    expect("expandable_segments:True", 0, "Uhhhhhhhhhhhhhhh");
    expect("large_segment_size_mb:64", 0, "UUUUUUUUUUUhhhhh");
    expect("max_split_size_mb:64", 0, "hhhhhhhhhhhhhhhh");
}

Test(conf, a_value_out_of_range_is_refused_by_the_releases_that_refuse_it)
{
    expect("max_split_size_mb:20", 0, "RRRRRRRRRRhhhhhh");
    expect("garbage_collection_threshold:1.5", 0, "RRRRRRRRRRRRRRRR");
}

Test(conf, an_option_beside_a_refused_one_keeps_its_own_answer)
{
    expect("max_split_size_mb:64,large_segment_size_mb:64", 0, "HHHHHHHHHHHhhhhh");
    expect("max_split_size_mb:64,large_segment_size_mb:64", 1, "UUUUUUUUUUUhhhhh");
}

Test(conf, what_says_the_default_changes_nothing)
{
    expect("expandable_segments:False", 0, "Uddddddddddddddd");
    expect("backend:native", 0, "dddddddddddddddd");
}

Test(conf, host_options_and_options_of_another_backend_have_no_effect)
{
    expect("pinned_use_background_threads:True", 0, "UUUUUUiiiiiiiiii");
    expect("backend:cudaMallocAsync,max_split_size_mb:64", 1, "iiiiiiiiiiiiiiii");
}

Test(conf, garbage_collection_needs_a_memory_fraction)
{
    expect("garbage_collection_threshold:0.8", 0, "cccccccccccccccc");
    expect("garbage_collection_threshold:0.8,per_process_memory_fraction:0.5", 0, "CCCCCCCCCChhhhhh");
    expect("max_split_size_mb:64,max_non_split_rounding_mb:64", 1, "UUUUUUhhhhhhhhhh");
}

Test(conf, each_answer_names_its_place_in_the_text)
{
    static const char text[] = "roundup_power2_divisions:[256:1,>:8] ,max_split_size_mb:64";
    const struct pytorch_rules rules = pytorch_rules_of(TORCH_2_9);
    struct conf_review review;
    struct err_detail err;
    cr_assert_eq(conf_review_read(&rules, text, &review, &err), ERR_OK);
    cr_assert_eq(review.n, 2);
    cr_expect(strncmp(text + review.answers[0].from, "roundup_power2_divisions:[256:1,>:8]", 36) == 0);
    cr_expect(strncmp(text + review.answers[1].from, "max_split_size_mb:64", 20) == 0);
    cr_expect_eq(review.answers[1].to, strlen(text));
    conf_review_close(&review);
}

Test(conf, a_text_that_ends_too_early_is_answered_as_far_as_it_goes)
{
    const struct pytorch_rules rules = pytorch_rules_of(TORCH_2_15);
    static const char *const texts[] = { "", "garbage", "max_split_size_mb", "max_split_size_mb:", "a:[b", ",,,",
                                         ":::" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct conf_review review;
        struct err_detail err;
        cr_expect_eq(conf_review_read(&rules, texts[i], &review, &err), ERR_OK);
        cr_expect_eq(review.is_taken, i == 0, "'%s'", texts[i]);
        conf_review_close(&review);
    }
}

/* ---- of a recording ---- */

/* What a recording of 2.9 with these facts says; "" for a fact that is missing. */
static void facts_of(const char *conf, const char *split, const char *expandable, const char *divisions,
                     char in_force[SETTINGS_FACTS_TEXT], char lost[SETTINGS_FACTS_SENTENCE])
{
    const char *const facts[][2] = { { TRACE_META_RELEASE, "2.9" }, { "conf", conf }, { "max_split_size", split },
                                     { "expandable_segments", expandable }, { "roundup_power2_divisions", divisions } };
    struct err_detail err;
    struct trace_writer *w;
    struct trace_reader *trace;
    struct settings_facts s;
    void *bytes;
    size_t n;
    cr_assert_eq(trace_create(NULL, &w, &err), ERR_OK);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (facts[i][1][0] != '\0')
            cr_assert_eq(trace_put_meta(w, facts[i][0], facts[i][1], &err), ERR_OK);
    cr_assert_eq(trace_finish_bytes(w, &bytes, &n, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(trace_open_bytes(bytes, n, &trace, &err), ERR_OK, "%s", err.text);
    cr_assert(settings_facts_find(trace, &s));
    strcpy(in_force, s.in_force);
    strcpy(lost, s.lost);
    trace_close(trace);
    free(bytes);
}

Test(conf, a_setting_that_is_not_in_force_is_told)
{
    char in_force[SETTINGS_FACTS_TEXT], lost[SETTINGS_FACTS_SENTENCE];
    facts_of("expandable_segments:True", "-1", "False", "1:0,2:0", in_force, lost);
    cr_expect_str_eq(in_force, "");
    cr_expect_str_eq(lost, "'expandable_segments:True' was asked for; expandable_segments is not as asked: in force is "
                           "the default");
    facts_of("max_split_size_mb:64", "33554432", "False", "", in_force, lost);
    cr_expect_str_eq(in_force, "max_split_size_mb:32");
    cr_expect_not_null(strstr(lost, "max_split_size_mb is not as asked: in force is 'max_split_size_mb:32'"), "%s",
                       lost);
    facts_of("max_split_size_mb:3", "-1", "False", "", in_force, lost);
    cr_expect_not_null(strstr(lost, "PyTorch 2.9 refuses 'max_split_size_mb:3'"), "%s", lost);
}

Test(conf, a_setting_that_is_in_force_is_not_told)
{
    char in_force[SETTINGS_FACTS_TEXT], lost[SETTINGS_FACTS_SENTENCE];
    facts_of("roundup_power2_divisions:4", "-1", "False", "1:4,2:4,4:4,8:4,16:4,32:4,64:4,128:4,256:4,512:4,1024:4,"
             "2048:4,4096:4,8192:4,16384:4,32768:4", in_force, lost);
    cr_expect_str_eq(in_force, "roundup_power2_divisions:4");
    cr_expect_str_eq(lost, "");
    facts_of("roundup_power2_divisions:[16:4,>:1]", "-1", "True", "1:4,2:4,4:4,8:4,16:4,32:1,64:1,128:1,256:1,512:1,"
             "1024:1,2048:1,4096:1,8192:1,16384:1,32768:1", in_force, lost);
    cr_expect_eq(strncmp(in_force, "expandable_segments:True,roundup_power2_divisions:[1:4,2:4,", 58), 0, "%s",
                 in_force);
    cr_expect_not_null(strstr(lost, "expandable_segments is not as asked"), "asked: off, in force: on: %s", lost);
    facts_of("", "-1", "False", "", in_force, lost);
    cr_expect_str_eq(lost, "");
    facts_of("max_split_size_mb:64", "", "", "", in_force, lost);
    cr_expect_str_eq(lost, "", "what is in force was not recorded: %s", lost);
}
