/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* PyTorch's own sentences, letter by letter, double spaces and spelling included; only the numbers are filled in. */
#include "policies/pytorch/pytorch_text.h"

#include "base/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 32 };

/* PyTorch's format_size: a unit begins above its value, not at it, and GiB is the largest. */
static const char *text_bytes(uint64_t bytes, char buf[TEXT_BYTES])
{
    if (bytes <= KIB)
        snprintf(buf, TEXT_BYTES, "%llu bytes", (unsigned long long)bytes);
    else if (bytes <= MIB)
        snprintf(buf, TEXT_BYTES, "%.2f KiB", (double)bytes / (double)KIB);
    else if (bytes <= GIB)
        snprintf(buf, TEXT_BYTES, "%.2f MiB", (double)bytes / (double)MIB);
    else
        snprintf(buf, TEXT_BYTES, "%.2f GiB", (double)bytes / (double)GIB);
    return buf;
}

static void text_add(struct refusal *out, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void text_add(struct refusal *out, const char *fmt, ...)
{
    const size_t used = strlen(out->text);
    va_list args;
    va_start(args, fmt);
    vsnprintf(out->text + used, sizeof out->text - used, fmt, args);
    va_end(args);
}

/* The wording of 2.0. */
static void text_oom_early(const struct pytorch_oom *oom, struct refusal *out)
{
    char a[TEXT_BYTES], b[TEXT_BYTES], c[TEXT_BYTES], d[TEXT_BYTES];
    text_add(out, "CUDA out of memory. Tried to allocate %s (GPU %u; %s total capacity; %s already allocated; "
             "%s free; ",
             text_bytes(oom->segment_bytes, a), (unsigned)oom->device, text_bytes(oom->total_bytes, b),
             text_bytes(oom->allocated_bytes, c), text_bytes(oom->free_bytes, d));
    if (oom->limit_bytes != UINT64_MAX)
        text_add(out, "%s allowed; ", text_bytes(oom->limit_bytes, a));
    text_add(out, "%s reserved in total by PyTorch) If reserved memory is >> allocated memory try setting "
             "max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and "
             "PYTORCH_CUDA_ALLOC_CONF", text_bytes(oom->reserved_bytes, a));
}

/* What a program with expandable segments may do about their reserve. */
static void text_hint_reserve(const struct pytorch_oom *oom, struct refusal *out)
{
    char a[TEXT_BYTES], b[TEXT_BYTES];
    if (oom->has_reserve && oom->rounded_bytes > oom->reserve_bytes)
        text_add(out, " This allocation exceeds the expandable-segment reserve of %s for this stream, and a single "
                 "allocation cannot span expandable segments. Raise PYTORCH_CUDA_ALLOC_CONF "
                 "expandable_segments_reserve or expandable_segments_reserve_by_class (or unset it) so that a "
                 "segment is at least %s.", text_bytes(oom->reserve_bytes, a), text_bytes(oom->rounded_bytes, b));
    else
        text_add(out, " expandable_segments is enabled. If instead the process is running out of virtual address "
                 "space (VSZ), expandable segments may be over-reserving VA (each segment reserves ~9/8 of device "
                 "memory, times the number of streams); reduce it via PYTORCH_CUDA_ALLOC_CONF "
                 "expandable_segments_reserve / expandable_segments_reserve_by_class.");
}

/* The recommendation at the end of the sentence. */
static void text_hint(const struct pytorch_rules *rules, const struct pytorch_oom *oom, struct refusal *out)
{
    if (oom->is_expandable && rules->hints_by_setting) {
        if (rules->hints_at_reserve)
            text_hint_reserve(oom, out);
        return;
    }
    if (rules->hints_at_max_split) {
        text_add(out, " If reserved but unallocated memory is large try setting max_split_size_mb to avoid "
                 "fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF");
        return;
    }
    text_add(out, " If reserved but unallocated memory is large try setting %s=expandable_segments:True to avoid "
             "fragmentation.  See documentation for Memory Management  (%s)",
             rules->hints_at_general_name ? "PYTORCH_ALLOC_CONF" : "PYTORCH_CUDA_ALLOC_CONF",
             rules->hints_at_old_page
                 ? "https://pytorch.org/docs/stable/notes/cuda.html#environment-variables"
                 : "https://docs.pytorch.org/docs/stable/notes/cuda.html"
                   "#optimizing-memory-usage-with-pytorch-cuda-alloc-conf");
}

void pytorch_text_oom(const struct pytorch_rules *rules, const struct pytorch_oom *oom, struct refusal *out)
{
    const uint64_t private_free = rules->says_private_free ? oom->private_free_bytes : 0;
    char a[TEXT_BYTES], b[TEXT_BYTES], c[TEXT_BYTES];
    *out = (struct refusal){.type = "OutOfMemoryError"};
    if (rules->says_gpu_total) {
        text_oom_early(oom, out);
        return;
    }
    text_add(out, "CUDA out of memory. Tried to allocate %s. GPU ", text_bytes(oom->segment_bytes, a));
    if (rules->says_device_as_char && oom->device == 0)
        return;
    text_add(out, rules->says_device_as_char ? "%c" : "%d", (int)oom->device);
    text_add(out, " has a total %s of %s of which %s is free. ", rules->says_capacty ? "capacty" : "capacity",
             text_bytes(oom->total_bytes, b), text_bytes(oom->free_bytes, c));
    text_add(out, "Including non-PyTorch memory, this process has %s memory in use. ",
             text_bytes(oom->process_bytes, a));
    if (oom->limit_bytes != UINT64_MAX && rules->says_allowed)
        text_add(out, "%s allowed; ", text_bytes(oom->limit_bytes, a));
    text_add(out, "Of the allocated memory %s is allocated by PyTorch, ",
             text_bytes(oom->allocated_bytes + private_free, a));
    if (private_free > 0)
        text_add(out, "with %s allocated in private pools (e.g., CUDA Graphs), ", text_bytes(private_free, a));
    text_add(out, "and %s is reserved by PyTorch but unallocated.",
             text_bytes(oom->reserved_bytes - oom->allocated_bytes - private_free, a));
    text_hint(rules, oom, out);
}

void pytorch_text_rejection(uint64_t requested_bytes, struct refusal *out)
{
    char a[TEXT_BYTES];
    *out = (struct refusal){.type = "OutOfMemoryError"};
    text_add(out, "CUDA out of memory. Allocation was preemptively rejected because it would exceed "
             "per_process_memory_fraction limit. Requested size: %s", text_bytes(requested_bytes, a));
}

void pytorch_text_device_error(const struct pytorch_rules *rules, struct refusal *out)
{
    *out = (struct refusal){.type = rules->says_accelerator_error ? "AcceleratorError" : "RuntimeError"};
    text_add(out, "CUDA error: out of memory\n");
    if (rules->says_where_to_search)
        text_add(out, "Search for `cudaErrorMemoryAllocation' in https://docs.nvidia.com/cuda/cuda-runtime-api/"
                 "group__CUDART__TYPES.html for more information.\n");
    if (rules->says_log_file)
        text_add(out, "For more detailed error information, run with CUDA_LOG_FILE=stderr\n");
    if (rules->says_asynchronous)
        text_add(out, "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace "
                 "below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1%s\n"
                 "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n",
                 rules->says_blocking_dot ? "." : "");
}

void pytorch_text_too_large(struct refusal *out)
{
    *out = (struct refusal){
        .type = "OutOfMemoryError",
        .text = "CUDA out of memory. Tried to allocate more than 1EB memory.",
    };
}
