/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What the text of an error supports is said, and no more: its sizes are rounded, and it does not name the request. */
#include "answers/fixed_words.h"
#include "replay/why/card_tools.h"
#include "replay/why/oom_answer.h"

#include "base/units.h"
#include "policies/pytorch/pytorch_text.h"
#include "report/text/json_writer.h"

#include <criterion/criterion.h>
#include <string.h>

/* The text that a release writes on such a card. */
static struct oom_text text_of(enum torch_release release, const struct pytorch_oom *oom)
{
    struct refusal said;
    struct oom_text t;
    const struct pytorch_rules rules = pytorch_rules_of(release);
    pytorch_text_oom(&rules, oom, &said);
    cr_assert(oom_text_find(said.text, strlen(said.text), &t), "%s", said.text);
    return t;
}

/* On a card that PyTorch has alone; all in bytes. */
static struct pytorch_oom refused_on(uint64_t total, uint64_t segment, uint64_t free, uint64_t cached)
{
    return (struct pytorch_oom){
        .segment_bytes = segment, .rounded_bytes = segment, .total_bytes = total, .free_bytes = free,
        .process_bytes = total - free, .reserved_bytes = total - free,
        .allocated_bytes = total - free - cached, .limit_bytes = UINT64_MAX,
    };
}

static struct pytorch_oom refused(uint64_t segment, uint64_t free, uint64_t cached)
{
    return refused_on(1000 * MIB, segment, free, cached);
}

static struct oom_answer answer_to(const struct pytorch_oom *oom)
{
    const struct oom_text t = text_of(TORCH_2_9, oom);
    return oom_answer_of(&t, NULL);
}

/* The segment of a request under PyTorch's default settings. */
static uint64_t segment_of(uint64_t request)
{
    const uint64_t rounded = align_up(request, 512);
    return rounded <= MIB ? 2 * MIB : rounded < 10 * MIB ? 20 * MIB : align_up(rounded, 2 * MIB);
}

Test(verdicts, the_schema_lists_each_word)
{
    for (int v = 0; v < VERDICT_KINDS; v++)
        cr_expect(json_is_one_of(why_word((enum verdict_kind)v), VERDICT_WORDS), "%s", why_word((enum verdict_kind)v));
    cr_expect_not(json_is_one_of("fragment", VERDICT_WORDS));
    cr_expect_not(json_is_one_of("", VERDICT_WORDS));
}

Test(oom_answer, the_request_is_never_below_the_least_that_the_text_stands_for)
{
    const uint64_t requests[] = {
        1, 512, MIB, MIB + 1, 8 * MIB, 10 * MIB - 512, 10 * MIB - 511, 10 * MIB, 10 * MIB + 1, 12 * MIB, 18 * MIB,
        18 * MIB + 1, 20 * MIB, 20 * MIB + 1, 999 * MIB, GIB, GIB + 1, 3 * GIB + 77 * MIB, 79 * GIB + 3,
    };
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        const struct pytorch_oom oom = refused(segment_of(requests[i]), 0, 0);
        const struct oom_answer a = answer_to(&oom);
        const bool is_largest = segment_of(requests[i]) > 1000 * MIB;
        cr_expect_leq(a.account.least_asked, requests[i]);
        cr_expect_eq(a.verdict, is_largest ? VERDICT_ONE_TENSOR : VERDICT_FULL);
        cr_expect_leq(a.judgement.shortfall, requests[i]);
    }
}

Test(oom_answer, each_verdict_has_its_figures)
{
    const struct { uint64_t segment, free, cached; enum verdict_kind verdict; bool has_setting; } cases[] = {
        { 20, 17, 0, VERDICT_FULL_OR_FRAGMENTED, true },     /* for 8 MiB, expandable segments ran */
        { 20, 2, 10, VERDICT_FULL_OR_FRAGMENTED, true },
        { 20, 0, 0, VERDICT_FULL, false },
        { 20, 19, 10, VERDICT_FRAGMENTED, true },
        { 2, 1, 0, VERDICT_FULL, false },                    /* a scrap of the card: what comes next is refused, too */
        { 20, 2, 7, VERDICT_FULL, false },
        { 2, 1, 100, VERDICT_FRAGMENTED, true },
        { 32, 24, 7, VERDICT_FULL_OR_FRAGMENTED, true },
        { 32, 20, 9, VERDICT_FULL, false },
        { 32, 22, 20, VERDICT_FRAGMENTED, true },
        { 100, 150, 0, VERDICT_CARD_HAD_ROOM, false },
        { 300, 20, 20, VERDICT_ONE_TENSOR, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct pytorch_oom oom = refused_on(200 * MIB, cases[i].segment * MIB, cases[i].free * MIB,
                                                  cases[i].cached * MIB);
        const struct oom_answer a = answer_to(&oom);
        cr_expect_eq(a.verdict, cases[i].verdict, "case %zu: %s", i, why_word(a.verdict));
        cr_expect_eq(a.setting != NULL, cases[i].has_setting, "case %zu", i);
    }
}

Test(oom_answer, what_is_free_in_private_pools_counts_but_no_setting_is_promised_for_it)
{
    struct pytorch_oom oom = refused_on(200 * MIB, 32 * MIB, 20 * MIB, 49 * MIB);
    oom.private_free_bytes = 43 * MIB;
    struct oom_answer a = answer_to(&oom);
    cr_expect(a.verdict == VERDICT_FRAGMENTED && a.account.cached == 6 * MIB && a.setting == NULL);
    oom.private_free_bytes = 30 * MIB;
    a = answer_to(&oom);
    cr_expect(a.verdict == VERDICT_FRAGMENTED && a.account.cached == 19 * MIB && a.setting != NULL);
}

Test(oom_answer, a_limit_is_blamed_only_if_it_is_what_refused_the_request)
{
    struct pytorch_oom oom = refused(100 * MIB, 300 * MIB, 0);
    oom.limit_bytes = 750 * MIB;                     /* 50 MiB are left of it */
    struct oom_answer a = answer_to(&oom);
    cr_expect(a.verdict == VERDICT_LIMITED && a.judgement.room == 50 * MIB && a.setting == NULL);
    oom.allocated_bytes -= 60 * MIB;                 /* under the limit it is fragmented */
    a = answer_to(&oom);
    cr_expect(a.verdict == VERDICT_LIMITED && a.setting != NULL);
    oom.limit_bytes = 850 * MIB;
    a = answer_to(&oom);
    cr_expect_eq(a.verdict, VERDICT_CARD_HAD_ROOM);
    oom = refused(100 * MIB, 80 * MIB, 0);
    oom.limit_bytes = 930 * MIB;                     /* the card could not have served it either */
    a = answer_to(&oom);
    cr_expect(a.verdict == VERDICT_FULL && a.judgement.room == 10 * MIB);
}

Test(oom_answer, what_is_below_the_rounding_of_the_figures_is_nothing)
{
    struct pytorch_oom oom = refused(20 * MIB, 2 * MIB, 10 * MIB + 9999);
    struct oom_text t = text_of(TORCH_2_9, &oom);
    cr_expect_eq(oom_text_outside(&t), 0);
    oom.total_bytes += MIB;
    t = text_of(TORCH_2_9, &oom);
    cr_expect(oom_text_outside(&t) > MIB - 40 * KIB && oom_text_outside(&t) < MIB + 40 * KIB);
    oom.total_bytes = 500 * MIB;                     /* the figures contradict each other */
    t = text_of(TORCH_2_9, &oom);
    cr_expect_eq(oom_text_outside(&t), OOM_TEXT_UNKNOWN);
}

static bool has_option(const struct pytorch_rules *rules, const char *setting)
{
    const char *const end = strchr(setting, ':');
    const size_t n = (size_t)(end - setting);
    return strncmp(setting, "expandable_segments", n) == 0 ? rules->has_expandable
                                                           : strncmp(setting, "max_split_size_mb", n) == 0;
}

Test(oom_answer, a_setting_is_one_that_the_release_has_and_reads)
{
    for (int r = 0; r < TORCH_RELEASES; r++) {
        const struct pytorch_rules rules = pytorch_rules_of((enum torch_release)r);
        struct pytorch_oom oom = refused(32 * MIB, 22 * MIB, 120 * MIB);
        oom.device = 1;                              /* 2.3 ends its text at device 0 */
        const struct oom_text t = text_of((enum torch_release)r, &oom);
        const struct oom_answer a = oom_answer_of(&t, NULL);
        cr_expect_eq(a.verdict, VERDICT_FRAGMENTED);
        cr_assert_not_null(a.setting);
        cr_expect(has_option(&rules, a.setting), "2.%d: %s", r, a.setting);
        cr_expect(strcmp(t.variable, "PYTORCH_CUDA_ALLOC_CONF") == 0 || rules.reads_general_name, "2.%d", r);
    }
}

Test(oom_answer, expandable_segments_are_not_recommended_to_who_has_them)
{
    struct pytorch_oom oom = refused(32 * MIB, 22 * MIB, 120 * MIB);
    oom.is_expandable = true;
    struct oom_text t = text_of(TORCH_2_15, &oom);
    cr_expect(t.is_expandable && oom_answer_of(&t, NULL).setting == NULL);
    oom.has_reserve = true;
    oom.reserve_bytes = 16 * MIB;
    t = text_of(TORCH_2_15, &oom);
    cr_expect(t.expandable_reserve == 16 * MIB && oom_answer_of(&t, NULL).setting == NULL);
}

/* A text of 2.1 and newer on a card of 40 GiB; sizes in GiB. */
static struct oom_answer answer_with(const char *processes, double asked, double allocated, double cached,
                                     const struct log_facts *facts)
{
    char text[1024];
    struct oom_text t;
    snprintf(text, sizeof text, "CUDA out of memory. Tried to allocate %.2f GiB. GPU 0 has a total capacity of "
                                "40.00 GiB of "
             "which 1.00 GiB is free. %sOf the allocated memory %.2f GiB is allocated by PyTorch, and %.2f GiB is "
             "reserved "
             "by PyTorch but unallocated.", asked, processes, allocated, cached);
    cr_assert(oom_text_find(text, strlen(text), &t), "%s", text);
    return oom_answer_of(&t, facts);
}

Test(oom_answer, the_verdict_follows_the_largest_share)
{
    const struct { const char *processes; double asked, allocated, cached; enum verdict_kind verdict; } cases[] = {
        { "Process 9 has 30.00 GiB memory in use. this process has 9.00 GiB memory in use. ", 2, 6, 2.5,
          VERDICT_SOMEBODY_ELSE },                           /* the cache would serve it, and the next is refused */
        { "Process 9 has 0.50 GiB memory in use. this process has 38.50 GiB memory in use. ", 2, 37.6, 0.5,
          VERDICT_FULL },                                    /* a display's share is no verdict */
        { "Process 9 has 6.00 GiB memory in use. this process has 33.00 GiB memory in use. ", 4, 32, 0.5,
          VERDICT_SOMEBODY_ELSE },
        { "Process 9 has 6.00 GiB memory in use. this process has 33.00 GiB memory in use. ", 12, 32, 0.5,
          VERDICT_FULL },                                    /* nor would it fit without the other */
        { "Process 9 has 30.00 GiB memory in use. Process 8 has 9.00 GiB memory in use. ", 2, 8, 0.5,
          VERDICT_SOMEBODY_ELSE },                           /* 8 is the program: its figure fits */
        { "Process 8 has 39.00 GiB memory in use. ", 15, 20, 18.5, VERDICT_FRAGMENTED },
        { "this process has 39.00 GiB memory in use. ", 35, 20, 18.5, VERDICT_ONE_TENSOR },
        { "", 2, 60, 0.1, VERDICT_HOST_LENT },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct oom_answer a = answer_with(cases[i].processes, cases[i].asked, cases[i].allocated,
                                                cases[i].cached, NULL);
        cr_expect_eq(a.verdict, cases[i].verdict, "case %zu: %s", i, why_word(a.verdict));
    }
}

Test(oom_answer, the_listed_process_whose_figure_fits_is_the_program)
{
    const struct oom_answer a = answer_with("Process 9 has 30.00 GiB memory in use. Process 8 has 9.00 GiB memory "
                                            "in use. ",
                                            2, 8, 0.5, NULL);
    cr_expect_eq(a.account.others, 30 * GIB);
}

Test(oom_answer, no_setting_is_recommended_where_it_does_not_exist_or_is_set)
{
    static const char this[] = "this process has 39.00 GiB memory in use. ";
    struct log_facts facts = { .platform = PLATFORM_LINUX };
    cr_expect_str_eq(answer_with(this, 5, 20, 18, &facts).setting, "expandable_segments:True");
    cr_expect_str_eq(answer_with("", 5, 20, 18, NULL).setting, "max_split_size_mb:128", "most likely Windows");
    for (int p = 0; p < PLATFORMS; p++) {
        const char *reason, *setting;
        facts = (struct log_facts){ .platform = (enum platform)p };
        setting = answer_with(this, 5, 20, 18, &facts).setting;
        cr_expect(setting == NULL || p == PLATFORM_UNKNOWN || platform_has_setting((enum platform)p, setting, &reason));
    }
    facts = (struct log_facts){ .platform = PLATFORM_LINUX, .is_expandable_asked = true };
    cr_expect_null(answer_with(this, 5, 20, 18, &facts).setting);
    facts = (struct log_facts){ .platform = PLATFORM_LINUX, .shared = "GB10" };
    cr_expect_null(answer_with(this, 5, 20, 18, &facts).setting);
    facts = (struct log_facts){ .platform = PLATFORM_WINDOWS, .is_not_in_force = true };
    cr_expect_eq(answer_with("", 5, 20, 18, &facts).verdict, VERDICT_NOT_IN_FORCE);
}

Test(oom_answer, expandable_segments_are_not_recommended_where_they_end_an_engine_or_are_on)
{
    static const char this[] = "this process has 39.00 GiB memory in use. ";
    const struct log_facts one = { .platform = PLATFORM_LINUX, .within = "vllm" };
    const struct log_facts several = { .platform = PLATFORM_LINUX, .within = "vllm", .is_of_several = true };
    const struct log_facts own = { .platform = PLATFORM_LINUX, .within = "axolotl" };
    cr_expect_str_eq(answer_with(this, 5, 20, 18, &one).setting, "expandable_segments:True");
    cr_expect_null(answer_with(this, 5, 20, 18, &several).setting);
    cr_expect_null(answer_with(this, 5, 20, 18, &own).setting);
}

Test(oom_answer, a_variable_that_the_release_does_not_read_sets_nothing)
{
    static const enum torch_release releases[] = { TORCH_2_1, TORCH_2_9, TORCH_2_10, TORCH_2_13 };
    const struct log_facts general = { .platform = PLATFORM_LINUX, .is_expandable_asked = true };
    const struct log_facts own = { .platform = PLATFORM_LINUX, .is_expandable_asked = true, .is_asked_by_own = true };
    const struct pytorch_oom oom = refused(100 * MIB, 50 * MIB, 200 * MIB);
    for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++) {
        const struct oom_text t = text_of(releases[i], &oom);
        const bool is_read = releases[i] >= TORCH_2_10;
        const enum verdict_kind expected = is_read ? VERDICT_FRAGMENTED : VERDICT_NOT_IN_FORCE;
        cr_expect_eq(oom_answer_of(&t, &general).verdict, expected, "release %zu", i);
        cr_expect_eq(oom_answer_of(&t, &general).setting == NULL, is_read, "release %zu", i);
        cr_expect_null(oom_answer_of(&t, &own).setting);
    }
}

Test(oom_answer, a_machine_with_one_memory_blames_the_host_only_for_more_than_the_programs_own)
{
    static const char small[] = "this process has 15.00 GiB memory in use. ";
    static const char large[] = "this process has 30.00 GiB memory in use. ";
    const struct log_facts one = { .platform = PLATFORM_LINUX, .shared = "GB10" };
    const struct log_facts beside = { .platform = PLATFORM_LINUX, .shared = "GH200" };
    cr_expect_eq(answer_with(small, 5, 14, 0, &one).verdict, VERDICT_SOMEBODY_ELSE);
    cr_expect_eq(answer_with(large, 5, 29, 0, &one).verdict, VERDICT_FULL);
    cr_expect_eq(answer_with(large, 5, 29, 0, &beside).verdict, VERDICT_SOMEBODY_ELSE, "its card has its own");
}

/* Of a device that a package adds, most of whose memory is free in pieces: the same figures of CUDA get a setting. */
static struct oom_answer answer_of_device(const char *device, struct oom_text *t)
{
    char text[400];
    snprintf(text, sizeof text, "RuntimeError: %s out of memory. Tried to allocate 5.00 GiB (%s 0; 40.00 GiB total "
             "capacity; 20.00 GiB already allocated; 1.00 GiB free; 38.00 GiB reserved in total by PyTorch) If "
             "reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.", device,
             device);
    cr_assert(oom_text_find(text, strlen(text), t));
    return oom_answer_of(t, NULL);
}

Test(oom_answer, a_device_that_a_package_adds_gets_no_setting_of_cuda)
{
    static const char *const foreign[] = { "MUSA", "MLU", "GCU", "HPU" };
    struct oom_text t;
    cr_expect_str_eq(answer_of_device("CUDA", &t).setting, "max_split_size_mb:128");
    cr_expect_not(t.is_foreign);
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        const struct oom_answer a = answer_of_device(foreign[i], &t);
        cr_expect(t.is_foreign && a.setting == NULL && a.verdict == VERDICT_FRAGMENTED, "%s", foreign[i]);
    }
}

/* What is said of a machine whose card shares the host's memory. */
static bool says_of_shared(const char *machine, enum platform p, const char *words)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    cr_assert_not_null(out);
    oom_answer_print_shared(out, machine, p);
    fclose(out);
    const bool is_said = strstr(text, words) != NULL;
    free(text);
    return is_said;
}

Test(oom_answer, only_an_apu_is_told_how_to_give_it_more_of_the_host)
{
    cr_expect(says_of_shared("an APU (gfx1151)", PLATFORM_ROCM, "amd-ttm"));
    cr_expect(says_of_shared("Strix Halo", PLATFORM_ROCM, "amd-ttm"));
    cr_expect_not(says_of_shared("GB10", PLATFORM_LINUX, "amd-ttm"));
    cr_expect_not(says_of_shared("an APU (gfx1151)", PLATFORM_ROCM_WINDOWS, "amd-ttm"));
    cr_expect(says_of_shared("an APU (gfx1151)", PLATFORM_ROCM_WINDOWS, "Variable Graphics Memory"));
}

Test(oom_answer, each_kind_of_card_has_its_own_module)
{
    cr_expect_str_eq(card_tools_module(PLATFORM_XPU), "torch.xpu");
    cr_expect_str_eq(card_tools_module(PLATFORM_NPU), "torch.npu");
    cr_expect_str_eq(card_tools_module(PLATFORM_ROCM), "torch.cuda");
    cr_expect_str_eq(card_tools_module(PLATFORM_LINUX), "torch.cuda");
}
