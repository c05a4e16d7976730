/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The settings text: what each release accepts, what it makes of it, and the words it refuses with. */
#include "base/units.h"
#include "policies/pytorch/pytorch_conf.h"
#include "tests/json_file.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define INTERNAL "RuntimeError: *"      /* an internal error of PyTorch: our own words */

static const struct {
    enum torch_release release;
    enum conf_time       when;
    const char          *text;
    const char          *refusal;       /* NULL: accepted */
    size_t               offset;        /* of the offending word */
} cases[] = {
    {TORCH_2_15, CONF_AT_START, "", NULL, 0},
    {TORCH_2_15, CONF_AT_START, "max_split_size_mb:64,", NULL, 0},
    {TORCH_2_15, CONF_AT_START, " max_split_size_mb : 6\t4 ", NULL, 0},
    {TORCH_2_15, CONF_AT_START, "max_split_size_mb,64", NULL, 0},
    {TORCH_2_15, CONF_AT_START, "max_split_size_mb:64:expandable_segments:True", NULL, 0},
    {TORCH_2_15, CONF_AT_START, "max_split_size_mb:19",
     "ValueError: CachingAllocator option max_split_size_mb too small, must be >= 20", 18},
    {TORCH_2_15, CONF_AT_START, "max_split_size_mb:63, large_segment_size_mb:64",
     "ValueError: CachingAllocator option max_split_size_mb too small, must be >= 64", 18},
    {TORCH_2_10, CONF_AT_RUN_TIME, "large_segment_size_mb:64",
     "ValueError: Unrecognized key 'large_segment_size_mb' in Accelerator allocator config.", 0},
    {TORCH_2_15, CONF_AT_START, "large_segment_size_mb:10",
     "ValueError: CachingAllocator option large_segment_size_mb must be > 10 MB", 22},
    {TORCH_2_15, CONF_AT_START, "max_split_size_mb:abc", "RuntimeError: stoull", 18},
    {TORCH_2_15, CONF_AT_RUN_TIME, "max_split_size_mb:abc", "ValueError: stoull", 18},
    {TORCH_2_15, CONF_AT_START, "max_split_size_mb:99999999999999999999999", "IndexError: stoull", 18},
    {TORCH_2_15, CONF_AT_START, "max_split_size_mb:64, foo:1",
     "ValueError: Unrecognized key 'foo' in CUDA allocator config.", 22},
    {TORCH_2_15, CONF_AT_RUN_TIME, "max_split_size_mb:64, foo:1",
     "ValueError: Unrecognized key 'foo' in Accelerator allocator config.", 22},
    {TORCH_2_15, CONF_AT_START, "max_split_size_mb", INTERNAL, 17},
    {TORCH_2_15, CONF_AT_RUN_TIME, "a:b:c", "ValueError: Unrecognized key 'a' in Accelerator allocator config.", 0},
    {TORCH_2_15, CONF_AT_START, "a:b:c", INTERNAL, 5},
    {TORCH_2_15, CONF_AT_START, "garbage_collection_threshold:1",
     "ValueError: garbage_collect_threshold is invalid, set it in (0.0, 1.0)", 29},
    {TORCH_2_15, CONF_AT_START, "garbage_collection_threshold:nan",
     "ValueError: garbage_collect_threshold is invalid, set it in (0.0, 1.0)", 29},
    {TORCH_2_15, CONF_AT_START, "expandable_segments:true",
     "ValueError: Expected 'True' or 'False' at index 2 in ConfigTokenizer but got 'true'", 20},
    {TORCH_2_15, CONF_AT_START, "roundup_power2_divisions:-4",
     "ValueError: For roundups, the divisions has to be power of 2 ", 25},
    {TORCH_2_15, CONF_AT_START, "roundup_power2_divisions:[64:3]",
     "ValueError: For roundups, the divisions has to be power of 2 or 0 to disable roundup ", 29},
    {TORCH_2_15, CONF_AT_START, "roundup_power2_divisions:[3:8]",
     "ValueError: For roundups, the intervals have to be power of 2 ", 26},
    {TORCH_2_15, CONF_AT_START, "roundup_power2_divisions:[64:8", INTERNAL, 30},
    {TORCH_2_15, CONF_AT_START, "roundup_power2_divisions:[", INTERNAL, 26},
    {TORCH_2_15, CONF_AT_START, "backend:foo",
     "ValueError: Unknown allocator backend, options are native and cudaMallocAsync", 8},
    {TORCH_2_15, CONF_AT_START, "backend:cudaMallocAsync", NULL, 0},
    {TORCH_2_15, CONF_AT_RUN_TIME, "backend:cudaMallocAsync", INTERNAL, 8},
    {TORCH_2_15, CONF_AT_START, "per_process_memory_fraction:1.1",
     "ValueError: per_process_memory_fraction is invalid, set it in [0.0, 1.0]", 28},
    {TORCH_2_15, CONF_AT_START, "expandable_segments_reserve:x", NULL, 0},
    {TORCH_2_14, CONF_AT_START, "expandable_segments_reserve:1G",
     "ValueError: Unrecognized key 'expandable_segments_reserve' in CUDA allocator config.", 0},
    {TORCH_2_15, CONF_AT_START, "expandable_segments_reserve_by_class:0.5", INTERNAL, 37},
    {TORCH_2_15, CONF_AT_START, "pinned_num_register_threads:256",
     "ValueError: Number of register threads should be less than or equal to 128, got 256", 28},
    {TORCH_2_9, CONF_AT_START, "max_split_size_mb:20",
     "RuntimeError: CachingAllocator option max_split_size_mb too small, must be > 20", 18},
    {TORCH_2_9, CONF_AT_START, "max_split_size_mb:21,", NULL, 0},
    {TORCH_2_9, CONF_AT_START, "max_split_size_mb=64",
     "RuntimeError: Unrecognized CachingAllocator option: max_split_size_mb=64", 0},
    {TORCH_2_9, CONF_AT_START, "max_split_size_mb,64",
     "RuntimeError: Error parsing CachingAllocator settings, expected :", 17},
    {TORCH_2_9, CONF_AT_START, "max_split_size_mb:64:expandable_segments:True",
     "RuntimeError: Error parsing CachingAllocator settings, expected ,", 20},
    {TORCH_2_4, CONF_AT_START, "max_split_size_mb:", "RuntimeError: Error, expecting max_split_size_mb value", 18},
    {TORCH_2_4, CONF_AT_RUN_TIME, "roundup_power2_divisions:x", "RuntimeError: stoi", 25},
    {TORCH_2_4, CONF_AT_START, "max_split_size_mb:4294967296", "IndexError: stoi", 18},
    {TORCH_2_4, CONF_AT_START, "garbage_collection_threshold:-0.1",
     "RuntimeError: garbage_collect_threshold too small, set it 0.0~1.0", 29},
    {TORCH_2_4, CONF_AT_START, "max_non_split_rounding_mb:64",
     "RuntimeError: Unrecognized CachingAllocator option: max_non_split_rounding_mb", 0},
    {TORCH_2_5, CONF_AT_START, "max_non_split_rounding_mb:64",
     "RuntimeError: Unrecognized CachingAllocator option: max_non_split_rounding_mb", 0},
    {TORCH_2_8, CONF_AT_START, "graph_capture_record_stream_reuse:True",
     "RuntimeError: Unrecognized CachingAllocator option: graph_capture_record_stream_reuse", 0},
    {TORCH_2_4, CONF_AT_START, "roundup_power2_divisions:[64:0]", NULL, 0},
    {TORCH_2_3, CONF_AT_START, "roundup_power2_divisions:[64:0]",
     "RuntimeError: For roundups, the divisons has to be power of 2 ", 29},
    {TORCH_2_2, CONF_AT_START, "pinned_num_register_threads:8", NULL, 0},
    {TORCH_2_1, CONF_AT_START, "pinned_num_register_threads:8",
     "RuntimeError: Unrecognized CachingAllocator option: pinned_num_register_threads", 0},
    {TORCH_2_1, CONF_AT_START, "expandable_segments:True", NULL, 0},
    {TORCH_2_0, CONF_AT_START, "roundup_power2_divisions:[64:0]",
     "RuntimeError: For roundups, the divisons has to be power of 2 ", 29},
    {TORCH_2_0, CONF_AT_START, "expandable_segments:True",
     "RuntimeError: Unrecognized CachingAllocator option: expandable_segments", 0},
};

/* "*" at the end of `expected` matches anything but nothing. */
static bool words_match(const char *expected, const char *got)
{
    const size_t n = strlen(expected);
    if (n > 0 && expected[n - 1] == '*')
        return strncmp(expected, got, n - 1) == 0 && strlen(got) > n;
    return strcmp(expected, got) == 0;
}

Test(pytorch_conf, each_release_refuses_in_its_own_words_and_names_the_place)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct pytorch_rules rules = pytorch_rules_of(cases[i].release);
        struct pytorch_settings s = pytorch_settings_default();
        struct err_detail err = {0};
        const enum err e = pytorch_conf_apply(&rules, cases[i].when, cases[i].text, &s, &err);
        if (cases[i].refusal == NULL) {
            cr_expect_eq(e, ERR_OK, "'%s': %s", cases[i].text, err.text);
            continue;
        }
        cr_expect_eq(e, ERR_USAGE, "'%s' was accepted", cases[i].text);
        cr_expect(words_match(cases[i].refusal, err.text), "'%s': %s", cases[i].text, err.text);
        cr_expect_eq(err.offset, cases[i].offset, "'%s': at %llu", cases[i].text, (unsigned long long)err.offset);
    }
}

static struct pytorch_settings settings_of(enum torch_release release, const char *text)
{
    const struct pytorch_rules rules = pytorch_rules_of(release);
    struct pytorch_settings s = pytorch_settings_default();
    struct err_detail err = {0};
    cr_assert_eq(pytorch_conf_apply(&rules, CONF_AT_START, text, &s, &err), ERR_OK, "%s", err.text);
    return s;
}

Test(pytorch_conf, numbers_follow_the_rules_of_the_c_library)
{
    cr_expect_eq(settings_of(TORCH_2_15, "max_split_size_mb:64abc").max_split_size, 64 * MIB);
    cr_expect_eq(settings_of(TORCH_2_15, "max_split_size_mb:6 4").max_split_size, 64 * MIB);
    cr_expect_eq(settings_of(TORCH_2_15, "max_split_size_mb:-1").max_split_size, UINT64_MAX / MIB * MIB);
    cr_expect_eq(settings_of(TORCH_2_4, "max_split_size_mb:-5").max_split_size, UINT64_MAX / MIB * MIB);
    cr_expect_eq(settings_of(TORCH_2_15, "garbage_collection_threshold:1e-3").garbage_collection_threshold, 0.001);
    cr_expect_eq(settings_of(TORCH_2_15, "max_split_size_mb:64,max_split_size_mb:128").max_split_size, 128 * MIB);
}

static void expect_divisions(enum torch_release release, const char *text, const uint64_t *expected)
{
    const struct pytorch_settings s = settings_of(release, text);
    for (size_t i = 0; i < PYTORCH_ROUNDUP_INTERVALS; i++)
        cr_expect_eq(s.roundup_divisions[i], expected[i], "%s, entry %zu: %llu", text, i,
                     (unsigned long long)s.roundup_divisions[i]);
}

Test(pytorch_conf, a_list_of_divisions_fills_the_intervals_as_the_release_does)
{
    static const char *const list = "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]";
    expect_divisions(TORCH_2_15, list, (const uint64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8});
    expect_divisions(TORCH_2_9, list, (const uint64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 8, 8, 8, 8, 8, 8});
    expect_divisions(TORCH_2_15, "roundup_power2_divisions:[256:4,64:8]",
                     (const uint64_t[]){4, 4, 4, 4, 4, 4, 8, 4, 4, 0, 0, 0, 0, 0, 0, 0});
    expect_divisions(TORCH_2_15, "roundup_power2_divisions:[64:8,>:2,256:4]",
                     (const uint64_t[]){8, 8, 8, 8, 8, 8, 8, 2, 4, 2, 2, 2, 2, 2, 2, 2});
    expect_divisions(TORCH_2_15, "roundup_power2_divisions:[>:4]",
                     (const uint64_t[]){0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4});
    expect_divisions(TORCH_2_15, "roundup_power2_divisions:[131072:4]",
                     (const uint64_t[]){4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4});
}

Test(pytorch_conf, a_reserve_is_bytes_or_a_share_or_ignored)
{
    const struct pytorch_settings bytes = settings_of(TORCH_2_15, "expandable_segments_reserve:1.5g");
    cr_expect_eq(bytes.reserve_kind, RESERVE_BYTES);
    cr_expect_eq(bytes.reserve_bytes, 3 * GIB / 2);
    const struct pytorch_settings share = settings_of(TORCH_2_15, "expandable_segments_reserve:0.5");
    cr_expect_eq(share.reserve_kind, RESERVE_SHARE);
    cr_expect_eq(share.reserve_share, 0.5);
    cr_expect_eq(settings_of(TORCH_2_15, "expandable_segments_reserve:1e20G").reserve_bytes, UINT64_MAX);
    static const char *const ignored[] = {"0", "-1", "x", "4Gx", "inf"};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "expandable_segments_reserve:%s", ignored[i]);
        cr_expect_eq(settings_of(TORCH_2_15, text).reserve_kind, RESERVE_DEFAULT, "%s", text);
    }
}

Test(pytorch_conf, a_text_resets_four_options_and_keeps_the_rest)
{
    const struct pytorch_rules rules = pytorch_rules_of(TORCH_2_15);
    struct pytorch_settings s = settings_of(TORCH_2_15,
        "large_segment_size_mb:32,max_split_size_mb:64,max_non_split_rounding_mb:48,garbage_collection_threshold:0.6,"
        "roundup_power2_divisions:4,expandable_segments:True,per_process_memory_fraction:0.5,"
        "release_lock_on_cudamalloc:True,throw_on_cudamalloc_oom:True");
    cr_assert_eq(pytorch_conf_apply(&rules, CONF_AT_RUN_TIME, "", &s, NULL), ERR_OK);
    cr_expect_eq(s.max_split_size, PYTORCH_UNLIMITED);
    cr_expect_eq(s.max_non_split_rounding, 32 * MIB);
    cr_expect_eq(s.garbage_collection_threshold, 0.0);
    cr_expect_eq(s.roundup_divisions[3], 0);
    cr_expect_eq(s.large_segment_size, 32 * MIB);
    cr_expect(s.expandable_segments && s.release_lock_on_cudamalloc && s.throw_on_cudamalloc_oom);
    cr_expect_eq(s.fraction, 0.5);
}

Test(pytorch_conf, a_refused_text_changes_nothing_at_start_and_its_beginning_counts_at_run_time)
{
    const struct pytorch_rules rules = pytorch_rules_of(TORCH_2_15);
    static const char *const text = "max_split_size_mb:64,expandable_segments:maybe,large_segment_size_mb:32";
    struct pytorch_settings s = pytorch_settings_default();
    cr_expect_eq(pytorch_conf_apply(&rules, CONF_AT_START, text, &s, NULL), ERR_USAGE);
    cr_expect_eq(s.max_split_size, PYTORCH_UNLIMITED);
    cr_expect_eq(s.large_segment_size, 20 * MIB);
    cr_expect_eq(pytorch_conf_apply(&rules, CONF_AT_RUN_TIME, text, &s, NULL), ERR_USAGE);
    cr_expect_eq(s.max_split_size, 64 * MIB);
    cr_expect_eq(s.large_segment_size, 32 * MIB);
}

static void collect(void *arg, const struct conf_option *o)
{
    char line[256];
    snprintf(line, sizeof line, "%s [%zu, %zu)%s%s%s\n", o->key, o->from, o->to, o->is_known ? "" : " unknown",
             o->inert == NULL ? "" : ": ", o->inert == NULL ? "" : o->inert);
    strcat(arg, line);
}

Test(pytorch_conf, each_option_is_told_with_its_place_and_why_it_has_no_effect)
{
    const struct pytorch_rules rules = pytorch_rules_of(TORCH_2_15);
    char said[2048] = "";
    cr_assert(pytorch_conf_each(&rules,
                       "pinned_use_cuda_host_register:True,max_split_size_mb:64,"
                       "expandable_segments_reserve_by_class:[a:1],expandable_segments_reserve:x,unknown:1",
                       collect, said) == ERR_OK);
    cr_expect_str_eq(said,
        "pinned_use_cuda_host_register [0, 34): it concerns host memory only\n"
        "max_split_size_mb [35, 55)\n"
        "expandable_segments_reserve_by_class [56, 98): its classes of streams are not published: taken as not given\n"
        "expandable_segments_reserve [99, 128): PyTorch ignores a value that is neither a share nor GiB such as 4G\n"
        "unknown [129, 138) unknown\n");
}

/* No text may cause a read or write out of bounds: every prefix of a long one, in every release, at both times. */
Test(pytorch_conf, every_truncation_is_read_or_refused)
{
    static const char *const text =
        "roundup_power2_divisions:[64:8,256:4,>:2],expandable_segments_reserve_by_class:[a:1],backend:native,"
        "garbage_collection_threshold:0.5,pinned_num_register_threads:8";
    const size_t len = strlen(text);
    size_t refused = 0;
    for (unsigned r = 0; r < TORCH_RELEASES; r++) {
        const struct pytorch_rules rules = pytorch_rules_of((enum torch_release)r);
        for (size_t n = 0; n <= 2 * len; n++) {
            char cut[256];
            const size_t shown = n <= len ? n : n - len;
            snprintf(cut, sizeof cut, "%.*s", (int)shown, n <= len ? text : text + len - shown);
            struct pytorch_settings s = pytorch_settings_default();
            struct err_detail err = {0};
            const enum conf_time when = n % 2 == 0 ? CONF_AT_START : CONF_AT_RUN_TIME;
            if (pytorch_conf_apply(&rules, when, cut, &s, &err) == ERR_OK)
                continue;
            cr_expect(strstr(err.text, "Error: ") != NULL && err.offset <= shown, "'%s': %s", cut, err.text);
            refused++;
        }
    }
    cr_expect_gt(refused, 0);
}

static bool is_equal_or_default(const json_t *given, const json_t *fallback, double got)
{
    const json_t *expected = given != NULL ? given : fallback;
    if (expected == NULL)
        return true;
    if (json_is_boolean(expected))
        return json_is_true(expected) == (got != 0.0);
    return fabs(json_number_value(expected) - got) < 1e-12;
}

/* The record lists what differs from the default. */
static void expect_settings(const char *text, const json_t *diff, const json_t *fallback,
                            const struct pytorch_settings *s)
{
    const struct { const char *name; double got; } members[] = {
        {"max_split_size", (double)(int64_t)s->max_split_size},
        {"garbage_collection_threshold", s->garbage_collection_threshold},
        {"expandable_segments", s->expandable_segments},
        {"release_lock_on_cudamalloc", s->release_lock_on_cudamalloc},
        {"graph_capture_record_stream_reuse", s->graph_capture_record_stream_reuse},
    };
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        const char *name = members[i].name;
        cr_expect(is_equal_or_default(json_object_get(diff, name), json_object_get(fallback, name), members[i].got),
                  "'%s': %s is %g", text, name, members[i].got);
    }
    const json_t *divisions = json_object_get(diff, "roundup_power2_divisions");
    for (unsigned i = 0; i < PYTORCH_ROUNDUP_INTERVALS; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", 1u << i);
        cr_expect_eq((json_int_t)s->roundup_divisions[i], json_integer_value(json_object_get(divisions, name)),
                     "'%s': divisions %s", text, name);
    }
}

/* ["ok", settings] or [stage, type, text, settings]; a refusal in the allocation itself is no matter of the text. */
static void expect_answer(const struct pytorch_rules *rules, enum conf_time when, const char *text,
                          const json_t *answer, const json_t *fallback, struct pytorch_settings *s)
{
    const char *stage = json_string_value(json_array_get(answer, 0));
    const char *type = json_string_value(json_array_get(answer, 1));
    const char *message = json_string_value(json_array_get(answer, 2));
    const bool is_accepted = strcmp(stage, "ok") == 0 || strcmp(stage, "alloc") == 0;
    struct err_detail err = {0};
    const enum err e = pytorch_conf_apply(rules, when, text, s, &err);
    cr_expect_eq(e, is_accepted ? ERR_OK : ERR_USAGE, "'%s': %s", text, err.text);
    if (!is_accepted && strstr(message, "INTERNAL ASSERT") == NULL) {
        char expected[512];
        snprintf(expected, sizeof expected, "%s: %s", type, message);
        cr_expect_str_eq(err.text, expected, "'%s'", text);
    }
    const json_t *diff = json_array_get(answer, json_array_size(answer) - 1);
    if (json_is_object(diff) && strcmp(stage, "alloc") != 0)
        expect_settings(text, diff, fallback, s);
}

static size_t expect_file(const char *path, enum torch_release release)
{
    json_t *root = json_file_load(path);
    if (root == NULL)
        return 0;
    const struct pytorch_rules rules = pytorch_rules_of(release);
    const json_t *fallback = json_object_get(root, "default_settings");
    struct pytorch_settings carried = pytorch_settings_default();
    const char *text;
    json_t *answers;
    size_t n = 0;
    json_object_foreach(json_object_get(root, "strings"), text, answers) {
        const json_t *start = json_object_get(answers, "startup"), *run = json_object_get(answers, "runtime");
        if (json_is_array(start)) {
            struct pytorch_settings s = pytorch_settings_default();
            expect_answer(&rules, CONF_AT_START, text, start, fallback, &s);
            n++;
        }
        if (json_is_array(run)) {
            expect_answer(&rules, CONF_AT_RUN_TIME, text, run, fallback, &carried);
            n++;
        }
    }
    json_decref(root);
    return n;
}

Test(pytorch_conf, a_text_is_plain_if_every_word_of_it_is_an_option_or_what_an_option_takes)
{
    static const char *const plain[] = {
        "", "expandable_segments:True", "max_split_size_mb:64,garbage_collection_threshold:0.8", "backend:native",
        "roundup_power2_divisions:[256:1,>:4]", "expandable_segments : True", "expandable_segments_reserve:4G",
        "per_process_memory_fraction:0.5,throw_on_cudamalloc_oom:True",
    };
    static const char *const naming[] = {
        "alice", "backend:alice_secret", "backend:native,alice:secret", "expandable_segments:True,owner:Alice Smith",
        "expandable_segments:True,ip:10.1.2.3", "max_split_size_mb:10.1.2.3", "max_split_size_mb:64alice",
        "max_split_size_mb:alice", "roundup_power2_divisions:[256:1,alice:2]", "expandable_segments_reserve:alice",
        "expandable_segments_reserve_by_class:[alice:1]", "graph_capture_record_stream_reuse:alice",
        "expandable_segments:True,10:1", "max_split_size_mb:000000000000000000000000000000064",
        "expandable_segments:True,True", "expandable_segments:True,\x01:1",
    };
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        cr_expect(pytorch_conf_is_plain(plain[i]), "'%s'", plain[i]);
    for (size_t i = 0; i < sizeof naming / sizeof naming[0]; i++)
        cr_expect_not(pytorch_conf_is_plain(naming[i]), "'%s'", naming[i]);
}

Test(pytorch_conf, every_recorded_answer_of_the_real_reader_is_given)
{
    static const struct { const char *name; enum torch_release release; } files[] = {
        {"conf-keys.json", TORCH_2_15}, {"conf-keys-2.12.1.json", TORCH_2_12},
        {"conf-keys-2.4.1.json", TORCH_2_4}, {"conf-keys-2.0.1.json", TORCH_2_0},
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/conf-keys/%s", GOLDEN_DIR, files[i].name);
        n += expect_file(path, files[i].release);
    }
    cr_log_info("%zu answers compared", n);
    cr_expect_gt(n, 0);
}
