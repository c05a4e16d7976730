/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The text of PyTorch's OutOfMemoryError is read as it was written, in every release, wherever it stands. */
#include "replay/why/oom_text.h"

#include "base/units.h"
#include "policies/pytorch/pytorch_rules.h"
#include "policies/pytorch/pytorch_text.h"

#include <criterion/criterion.h>
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

Test(oom_text, line_breaks_and_a_log_around_it_do_not_matter_and_the_last_one_counts)
{
    const struct oom_text t = read_back(
        "step 3\nCUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 4.00 GiB total capacity; 2.00 GiB already\n"
        "allocated; 0 bytes free; 3.00 GiB reserved in total by PyTorch)\r\n  retry\n"
        "CUDA out of memory. Tried to allocate 86.00 MiB (GPU 0; 24.00 GiB total capacity; 22.99 GiB already\n"
        "allocated; 0 bytes free; 23.20 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory\n");
    cr_expect_eq(t.asked, 86 * MIB);
    cr_expect_eq(t.free, 0);
    cr_expect(is_near(t.reserved, (uint64_t)(23.2 * (double)GIB)));
}

Test(oom_text, what_is_cut_off_or_something_else_is_none)
{
    struct oom_text t;
    static const char *const texts[] = {
        "", "out of memory", "CUDA out of memory. Tried to allocate",
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU ", "CUDA out of memory. Tried to allocate x MiB (GPU 0;",
        "RuntimeError: CUDA error: out of memory",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        cr_expect_not(oom_text_find(texts[i], strlen(texts[i]), &t), "%s", texts[i]);
}
