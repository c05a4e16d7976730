/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The sentences of refusals, letter by letter: some written out here, and all that the real allocator was recorded to
 * say. */
#include "base/units.h"
#include "policies/pytorch/pytorch_text.h"
#include "tests/json_file.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ADVICE                                                                                                         \
    " If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to "    \
    "avoid fragmentation.  See documentation for Memory Management  "                                                  \
    "(https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)"

static void expect_oom(enum torch_release release, const struct pytorch_oom *oom, const char *expected)
{
    const struct pytorch_rules rules = pytorch_rules_of(release);
    struct refusal said;
    pytorch_text_oom(&rules, oom, &said);
    cr_expect_str_eq(said.text, expected);
    cr_expect_str_eq(said.type, "OutOfMemoryError");
}

static const struct pytorch_oom typical = {
    .segment_bytes = 734003200, .rounded_bytes = 734003200, .total_bytes = 3678 * MIB, .free_bytes = 598 * MIB,
    .process_bytes = 3080 * MIB, .limit_bytes = UINT64_MAX, .allocated_bytes = 3221227520,
    .reserved_bytes = 3223322624, .reserve_bytes = 1 * GIB,
};

Test(pytorch_text, the_newest_release_names_the_process_and_gives_advice)
{
    expect_oom(TORCH_2_15, &typical,
               "CUDA out of memory. Tried to allocate 700.00 MiB. GPU 0 has a total capacity of 3.59 GiB of which "
               "598.00 MiB is free. Including non-PyTorch memory, this process has 3.01 GiB memory in use. Of the "
               "allocated memory 3.00 GiB is allocated by PyTorch, and 2.00 MiB is reserved by PyTorch but "
               "unallocated." ADVICE);
}

Test(pytorch_text, a_limit_and_private_pools_are_mentioned_where_there_are_any)
{
    struct pytorch_oom oom = typical;
    oom.limit_bytes = 2 * GIB;
    oom.device = 1;
    oom.private_free_bytes = 1 * MIB;
    expect_oom(TORCH_2_13, &oom,
               "CUDA out of memory. Tried to allocate 700.00 MiB. GPU 1 has a total capacity of 3.59 GiB of which "
               "598.00 MiB is free. Including non-PyTorch memory, this process has 3.01 GiB memory in use. 2.00 GiB "
               "allowed; Of the allocated memory 3.00 GiB is allocated by PyTorch, with 1024.00 KiB allocated in "
               "private pools (e.g., CUDA Graphs), and 1022.00 KiB is reserved by PyTorch but unallocated." ADVICE);
}

Test(pytorch_text, the_oldest_release_counts_in_brackets)
{
    struct pytorch_oom oom = typical;
    oom.limit_bytes = 2 * GIB;
    expect_oom(TORCH_2_0, &oom,
               "CUDA out of memory. Tried to allocate 700.00 MiB (GPU 0; 3.59 GiB total capacity; 3.00 GiB already "
               "allocated; 598.00 MiB free; 2.00 GiB allowed; 3.00 GiB reserved in total by PyTorch) If reserved "
               "memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See "
               "documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF");
}

/* What 2.3 said on a second device after a capture had left 30 MiB in its pool. */
Test(pytorch_text, one_release_takes_the_device_for_a_character_and_ends_at_the_first)
{
    struct pytorch_oom oom = {
        .segment_bytes = 16 * GIB, .total_bytes = 1 * GIB, .free_bytes = 992 * MIB, .process_bytes = 32 * MIB,
        .limit_bytes = UINT64_MAX, .allocated_bytes = 1024, .private_free_bytes = 30 * MIB, .reserved_bytes = 32 * MIB,
    };
    expect_oom(TORCH_2_3, &oom, "CUDA out of memory. Tried to allocate 16.00 GiB. GPU ");
    oom.device = 1;
    expect_oom(TORCH_2_3, &oom,
               "CUDA out of memory. Tried to allocate 16.00 GiB. GPU \x01 has a total capacity of 1024.00 MiB of which "
               "992.00 MiB is free. Including non-PyTorch memory, this process has 32.00 MiB memory in use. Of the "
               "allocated memory 1024 bytes is allocated by PyTorch, and 32.00 MiB is reserved by PyTorch but "
               "unallocated. If reserved but unallocated memory is large try setting "
               "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
               "Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)");
}

/* What follows "unallocated." */
static void expect_hint(enum torch_release release, struct pytorch_oom oom, const char *expected)
{
    const struct pytorch_rules rules = pytorch_rules_of(release);
    struct refusal said;
    pytorch_text_oom(&rules, &oom, &said);
    const char *end = strstr(said.text, "unallocated.");
    cr_assert_not_null(end);
    cr_expect_eq(strncmp(end + strlen("unallocated."), expected, strlen(expected)), 0, "%s", end);
    cr_expect(expected[0] != '\0' || end[strlen("unallocated.")] == '\0', "%s", end);
}

Test(pytorch_text, the_advice_follows_the_release_and_what_is_set_already)
{
    struct pytorch_oom oom = typical;
    expect_hint(TORCH_2_10, oom, " If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=");
    oom.is_expandable = true;
    expect_hint(TORCH_2_13, oom, " If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=");
    expect_hint(TORCH_2_14, oom, "");
    expect_hint(TORCH_2_15, oom, " expandable_segments is enabled.");
    oom.has_reserve = true;
    expect_hint(TORCH_2_15, oom, " expandable_segments is enabled.");
    oom.rounded_bytes = 1 * GIB + 512;
    expect_hint(TORCH_2_15, oom, " This allocation exceeds the expandable-segment reserve of 1024.00 MiB for this");
}

Test(pytorch_text, sizes_change_their_unit_above_its_value)
{
    static const struct { uint64_t bytes; const char *text; } sizes[] = {
        {0, "0 bytes"}, {1024, "1024 bytes"}, {1025, "1.00 KiB"}, {1 * MIB, "1024.00 KiB"}, {1 * MIB + 1, "1.00 MiB"},
        {1 * GIB, "1024.00 MiB"}, {1 * GIB + 1, "1.00 GiB"}, {UINT64_C(1) << 60, "1073741824.00 GiB"},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct refusal said;
        char expected[256];
        pytorch_text_rejection(sizes[i].bytes, &said);
        snprintf(expected, sizeof expected, "CUDA out of memory. Allocation was preemptively rejected because it would "
                 "exceed per_process_memory_fraction limit. Requested size: %s", sizes[i].text);
        cr_expect_str_eq(said.text, expected);
    }
}

/* A recorded sentence, and the place after the part read last. */
struct heard {
    const char *text, *at;
};

/* The size after the next `before`, as a number of bytes that prints the same; false if there is none. */
static bool heard_bytes(struct heard *h, const char *before, uint64_t *out)
{
    static const struct { const char *unit; double bytes; } units[] = {
        {"bytes", 1.0}, {"KiB", (double)KIB}, {"MiB", (double)MIB}, {"GiB", (double)GIB},
    };
    const char *found = strstr(h->at, before);
    double value;
    char unit[8];
    if (found == NULL || sscanf(found + strlen(before), "%lf %7[A-Za-z]", &value, unit) != 2)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(units[i].unit, unit) == 0) {
            *out = (uint64_t)llround(value * units[i].bytes);
            h->at = found + strlen(before);
            return true;
        }
    return false;
}

/* Reads the numbers of a sentence of 2.1 or later. The sentence rounds them, but equal text only needs equal words. */
static struct pytorch_oom heard_oom(const char *text)
{
    struct heard h = {text, text};
    struct pytorch_oom oom = {.limit_bytes = UINT64_MAX};
    uint64_t used = 0, rest = 0;
    (void)heard_bytes(&h, "allocate ", &oom.segment_bytes);
    sscanf(h.at, "%*[^G]GPU %u", &oom.device);
    if (!heard_bytes(&h, "capacity of ", &oom.total_bytes))
        (void)heard_bytes(&h, "capacty of ", &oom.total_bytes);        /* as 2.1 spells it */
    (void)heard_bytes(&h, "of which ", &oom.free_bytes);
    (void)heard_bytes(&h, "this process has ", &oom.process_bytes);
    if (strstr(h.at, " allowed; ") != NULL)
        (void)heard_bytes(&h, "in use. ", &oom.limit_bytes);
    (void)heard_bytes(&h, "allocated memory ", &used);
    (void)heard_bytes(&h, ", with ", &oom.private_free_bytes);
    (void)heard_bytes(&h, ", and ", &rest);
    oom.allocated_bytes = used - oom.private_free_bytes;
    oom.reserved_bytes = rest + used;
    oom.is_expandable = strstr(h.at, " try setting ") == NULL;
    oom.has_reserve = heard_bytes(&h, "reserve of ", &oom.reserve_bytes);
    (void)heard_bytes(&h, "at least ", &oom.rounded_bytes);
    return oom;
}

static struct pytorch_oom heard_oom_early(const char *text)
{
    struct heard h = {text, text};
    struct pytorch_oom oom = {.limit_bytes = UINT64_MAX};
    (void)heard_bytes(&h, "allocate ", &oom.segment_bytes);
    sscanf(h.at, "%*[^G]GPU %u", &oom.device);
    (void)heard_bytes(&h, "; ", &oom.total_bytes);
    (void)heard_bytes(&h, "; ", &oom.allocated_bytes);
    (void)heard_bytes(&h, "; ", &oom.free_bytes);
    if (strstr(h.at, " allowed; ") != NULL)
        (void)heard_bytes(&h, "; ", &oom.limit_bytes);
    (void)heard_bytes(&h, "; ", &oom.reserved_bytes);
    return oom;
}

static struct refusal repeat(const struct pytorch_rules *rules, const char *text)
{
    struct refusal said;
    struct heard h = {text, text};
    uint64_t bytes = 0;
    if (strstr(text, "more than 1EB") != NULL) {
        pytorch_text_too_large(&said);
    } else if (heard_bytes(&h, "Requested size: ", &bytes)) {
        pytorch_text_rejection(bytes, &said);
    } else {
        const bool is_early = rules->release == TORCH_2_0;
        const struct pytorch_oom oom = is_early ? heard_oom_early(text) : heard_oom(text);
        pytorch_text_oom(rules, &oom, &said);
    }
    return said;
}

/* One result of a case: ["oom", text] or ["error", type, text]. */
static size_t expect_result(const struct pytorch_rules *rules, const json_t *answer, const char *file)
{
    const char *kind = json_string_value(json_array_get(answer, 0));
    if (kind != NULL && strcmp(kind, "oom") == 0) {
        const char *text = json_string_value(json_array_get(answer, 1));
        const struct refusal said = repeat(rules, text);
        cr_expect_str_eq(said.text, text, "%s", file);
        return 1;
    }
    const char *text = json_string_value(json_array_get(answer, 2));
    if (kind != NULL && strcmp(kind, "error") == 0 && strncmp(text, "CUDA error: out", 15) == 0) {
        struct refusal said;
        pytorch_text_device_error(rules, &said);
        cr_expect_str_eq(said.text, text, "%s", file);
        cr_expect_str_eq(said.type, json_string_value(json_array_get(answer, 1)), "%s", file);
        return 1;
    }
    return 0;
}

static size_t expect_case(const char *path)
{
    json_t *root = json_file_load(path);
    cr_assert_not_null(root, "%s", path);
    enum torch_release release;
    cr_assert(torch_release_find(json_string_value(json_object_get(root, "torch")), &release), "%s", path);
    const struct pytorch_rules rules = pytorch_rules_of(release);
    size_t n = 0, i;
    json_t *result;
    json_array_foreach(json_object_get(root, "results"), i, result)
        n += expect_result(&rules, json_array_get(result, 0), path);
    json_decref(root);
    return n;
}

Test(pytorch_text, every_recorded_sentence_is_repeated)
{
    static const char *const patterns[] = {"rule-*", "oom-*", "[!r]*-*oom*", "throw-*", "nocache-s*"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        char pattern[512];
        glob_t files = {0};
        snprintf(pattern, sizeof pattern, "%s/pytorch*/%s", GOLDEN_DIR, patterns[i]);
        if (glob(pattern, 0, NULL, &files) == 0)
            for (size_t k = 0; k < files.gl_pathc; k++)
                n += expect_case(files.gl_pathv[k]);
        globfree(&files);
    }
    cr_log_info("%zu sentences compared", n);
    cr_expect_gt(n, 0);
}
