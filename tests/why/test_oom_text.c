/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The text of PyTorch's OutOfMemoryError is read as it was written, in every release, wherever it stands. */
#include "replay/why/oom_text.h"

#include "base/units.h"
#include "policies/pytorch/pytorch_rules.h"
#include "policies/pytorch/pytorch_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct pytorch_oom typical = {
    .segment_bytes = 700 * MIB, .rounded_bytes = 700 * MIB, .total_bytes = 24 * GIB, .free_bytes = 500 * MIB,
    .process_bytes = 22 * GIB, .limit_bytes = UINT64_MAX, .allocated_bytes = 18 * GIB,
    .reserved_bytes = 21 * GIB, .reserve_bytes = 1 * GIB,
};

/* Two decimals: half a hundredth of the unit, and a little for doubles. */
static bool is_near(uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) <= GIB / 100;
}

static struct oom_text read_back(const char *text)
{
    struct oom_text t;
    cr_assert(oom_text_find(text, strlen(text), &t), "%s", text);
    return t;
}

Test(oom_text, each_release_is_read_as_it_wrote)
{
    size_t n = 0;
    for (int r = 0; r < TORCH_RELEASES; r++) {
        const struct pytorch_rules rules = pytorch_rules_of((enum torch_release)r);
        struct refusal said;
        struct pytorch_oom oom = typical;
        oom.device = 1;              /* 2.3 ends its text at device 0 */
        pytorch_text_oom(&rules, &oom, &said);
        const struct oom_text t = read_back(said.text);
        cr_expect(is_near(t.asked, 700 * MIB) && is_near(t.total, 24 * GIB) && is_near(t.free, 500 * MIB), "%s",
                  said.text);
        cr_expect(is_near(t.allocated, 18 * GIB) && is_near(t.reserved, 21 * GIB), "%s", said.text);
        cr_expect(is_near(oom_text_outside(&t), 3 * GIB - 500 * MIB), "%s", said.text);
        cr_expect_eq(t.allowed, OOM_TEXT_UNKNOWN);
        cr_expect_eq(t.gpu, 1, "%s", said.text);
        n++;
    }
    cr_expect_eq(n, TORCH_RELEASES);
}

Test(oom_text, a_limit_private_pools_and_other_processes_are_read)
{
    const struct oom_text t = read_back(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 "
        "GiB of which 1.50 GiB is free. Process 19239 has 14.25 GiB memory in use. Process 7 has 512.00 MiB memory in "
        "use. Including non-PyTorch memory, this process has 62.50 GiB memory in use. 70.00 GiB allowed; Of the "
        "allocated memory 50.00 GiB is allocated by PyTorch, with 3.00 GiB allocated in private pools (e.g., CUDA "
        "Graphs), and 10.00 GiB is reserved by PyTorch but unallocated.");
    cr_expect_eq(t.gpu, 3);
    cr_expect_eq(t.others, 14 * GIB + 256 * MIB + 512 * MIB);
    cr_expect_eq(t.private_pools, 3 * GIB);
    cr_expect_eq(t.allowed, 70 * GIB);
    cr_expect_eq(t.reserved, 60 * GIB);
}

static const char whole[] =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB. GPU 3 has a total capacity of 79.10 GiB "
    "of which 512.38 MiB is free. Process 42 has 1.25 GiB memory in use. Including non-PyTorch memory, this process "
    "has 78.58 GiB memory in use. Of the allocated memory 75.91 GiB is allocated by PyTorch, and 1.21 GiB is reserved "
    "by PyTorch but unallocated. If reserved but unallocated";

/* `between` stands before the text, and again at one place within it. */
static void expect_same_with(const char *before, const char *between, size_t at)
{
    char text[1024];
    const struct oom_text want = read_back(whole);
    snprintf(text, sizeof text, "%s%.*s%s%s", before, (int)at, whole, between, whole + at);
    const struct oom_text t = read_back(text);
    cr_expect(t.asked == want.asked && t.total == want.total && t.free == want.free && t.process == want.process &&
              t.others == want.others && t.allocated == want.allocated && t.reserved == want.reserved && t.gpu == 3,
              "%s", text);
}

Test(oom_text, a_line_break_or_a_colour_changes_nothing_wherever_it_stands)
{
    for (size_t at = 0; at < strlen(whole); at++) {
        expect_same_with("", "\n", at);
        expect_same_with("", "\r\n  ", at);
        expect_same_with("\x1b[1;31m", "\x1b[0m", at);
    }
}

Test(oom_text, a_prefix_of_each_line_changes_nothing)
{
    const size_t figures = (size_t)(strstr(whole, "1.25") - whole);
    for (size_t at = figures; at < strlen(whole); at++) {
        expect_same_with("[rank3]: ", "\n[rank3]: ", at);
        expect_same_with("2025-03-02T10:11:59.999Z node07 trainer[99]: ERROR    ",
                         "\n2025-03-02T10:12:00.1Z node07 trainer[100]: ERROR    ", at);
        expect_same_with("7: ", "\n7: ", at);
        expect_same_with("7 ", "\n", at);            /* a number alone is no prefix: the next line may begin with one */
    }
}

Test(oom_text, of_one_rank_the_last_error_counts)
{
    const struct oom_text t = read_back(
        "step 3\nCUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 4.00 GiB total capacity; 2.00 GiB already\n"
        "allocated; 0 bytes free; 3.00 GiB reserved in total by PyTorch)\r\n  retry\n"
        "CUDA out of memory. Tried to allocate 86.00 MiB (GPU 0; 24.00 GiB total capacity; 22.99 GiB already\n"
        "allocated; 0 bytes free; 23.20 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory\n");
    cr_expect_eq(t.asked, 86 * MIB);
    cr_expect_eq(t.free, 0);
    cr_expect(is_near(t.reserved, (uint64_t)(23.2 * (double)GIB)));
    cr_expect(t.line == 5 && t.n_errors == 2 && t.rank == -1);
}

/* A line of a log: the rank asks for so many MiB; rank -1: the line does not name it. */
static void add_error(char *log, size_t size, int rank, unsigned gpu, unsigned mib)
{
    size_t n = strlen(log);
    if (rank >= 0)
        n += (size_t)snprintf(log + n, size - n, "[rank%d]: ", rank);
    snprintf(log + n, size - n, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %u.00 MiB. GPU %u has a "
             "total capacity of 8.00 GiB of which 1.00 MiB is free. Of the allocated memory 7.00 GiB is allocated by "
             "PyTorch, and 1.00 MiB is reserved by PyTorch but unallocated.\n", mib, gpu);
}

Test(oom_text, of_several_ranks_the_first_that_died_counts)
{
    static const struct { int rank; unsigned gpu; unsigned mib; } errors[] = {
        { 1, 0, 10 }, { 0, 0, 20 }, { 0, 0, 30 }, { 1, 0, 40 }, { -1, 5, 50 }, { 1, 1, 60 },
    };
    char log[4096] = "";
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        add_error(log, sizeof log, errors[i].rank, errors[i].gpu, errors[i].mib);
    const struct oom_text t = read_back(log);
    cr_expect(t.asked == 30 * MIB && t.rank == 0 && t.gpu == 0 && t.line == 3 && t.n_errors == 6);
}

Test(oom_text, more_ranks_than_are_told_apart_are_counted)
{
    char *log = calloc(1, 200000);
    for (int rank = 0; rank < 300; rank++)
        add_error(log, 200000, rank, 0, 100);
    const struct oom_text t = read_back(log);
    cr_expect(t.rank == 0 && t.line == 1 && t.n_errors == 300);
    free(log);
}

/* On a card of 40 GiB of which 4 GiB are free; PyTorch has 30 GiB reserved. */
static struct oom_text with_processes(const char *processes)
{
    char text[1024];
    snprintf(text, sizeof text, "CUDA out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of 40.00 "
             "GiB of which 4.00 GiB is free. %s Of the allocated memory 29.00 GiB is allocated by PyTorch, and 1.00 "
             "GiB is reserved by PyTorch but unallocated.", processes);
    return read_back(text);
}

Test(oom_text, a_process_that_must_be_the_program_itself_is_none_of_the_others)
{
    static const struct { const char *processes; uint64_t others_mib; bool is_listed; } cases[] = {
        { "", 0, false },
        { "Process 9 has 30.50 GiB memory in use.", 0, true },
        { "Process 9 has 30.50 GiB memory in use. Process 8 has 5.50 GiB memory in use.", 5632, true },
        { "Process 8 has 5.50 GiB memory in use. Process 9 has 30.50 GiB memory in use.", 5632, true },
        { "Process 8 has 5.50 GiB memory in use.", 5632, false },       /* there is room for both */
        { "Process 8 has 6.02 GiB memory in use.", 6164, false },       /* by the rounding of the figures */
        { "Process 8 has 5.50 GiB memory in use. Including non-PyTorch memory, this process has 30.50 GiB memory in "
          "use.", 5632, false },
        { "Process 8 has 17179869184.00 GiB memory in use. Including non-PyTorch memory, this process has "
          "17179869184.00 GiB memory in use.", 0, false },              /* the driver does not say */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct oom_text t = with_processes(cases[i].processes);
        cr_expect(t.others / MIB == cases[i].others_mib && t.is_listed == cases[i].is_listed, "case %zu: %lu", i,
                  (unsigned long)(t.others / MIB));
    }
}

Test(oom_text, what_is_something_else_is_none)
{
    struct oom_text t;
    static const char *const texts[] = {
        "", "out of memory", "CUDA out of memory. Tried to alloc", "RuntimeError: CUDA error: out of memory",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        t.line = 9;
        cr_expect_not(oom_text_find(texts[i], strlen(texts[i]), &t), "%s", texts[i]);
        cr_expect_eq(t.line, 0, "%s", texts[i]);
    }
}

/* Cut anywhere, a text is whole or lacks something that comes after the cut. */
Test(oom_text, what_is_cut_off_lacks_what_follows)
{
    static const char *const parts[] = { "what was asked for", "the card's capacity", "what is free",
                                         "what is allocated", "what is reserved" };
    size_t part = 0;
    for (size_t n = (size_t)(strstr(whole, "1.25") - whole); n < strlen(whole); n++) {
        struct oom_text t;
        const bool is_whole = oom_text_find(whole, n, &t);
        cr_assert(t.line == 1 && is_whole == (oom_text_lacks(&t) == NULL));
        while (part < 5 && (is_whole || strcmp(parts[part], oom_text_lacks(&t)) != 0))
            part++;
        cr_assert_eq(is_whole, part == 5, "%.*s", (int)n, whole);
    }
    cr_expect_eq(part, 5);
}
