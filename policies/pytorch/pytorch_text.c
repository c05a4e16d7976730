/* The sentences are PyTorch's own, letter by letter, double spaces included; only the numbers are filled in. */
#include "policies/pytorch/pytorch_text.h"

#include "base/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 32 };

/* format_size: the unit changes above its value, not at it, and GiB is the largest. */
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

/* 2.0. */
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

/* The advice at the end; only the newest releases look at what is set already. */
static void text_hint(enum pytorch_release release, const struct pytorch_oom *oom, struct refusal *out)
{
    char a[TEXT_BYTES], b[TEXT_BYTES];
    if (oom->is_expandable && release == PYTORCH_2_14)
        return;
    if (oom->is_expandable && release > PYTORCH_2_14) {
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
        return;
    }
    if (release == PYTORCH_2_1) {
        text_add(out, " If reserved but unallocated memory is large try setting max_split_size_mb to avoid "
                 "fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF");
        return;
    }
    text_add(out, " If reserved but unallocated memory is large try setting %s=expandable_segments:True to avoid "
             "fragmentation.  See documentation for Memory Management  (%s)",
             release == PYTORCH_2_10 ? "PYTORCH_ALLOC_CONF" : "PYTORCH_CUDA_ALLOC_CONF",
             release < PYTORCH_2_11
                 ? "https://pytorch.org/docs/stable/notes/cuda.html#environment-variables"
                 : "https://docs.pytorch.org/docs/stable/notes/cuda.html"
                   "#optimizing-memory-usage-with-pytorch-cuda-alloc-conf");
}

void pytorch_text_oom(const struct pytorch_rules *rules, const struct pytorch_oom *oom, struct refusal *out)
{
    const enum pytorch_release release = rules->release;
    const uint64_t private_free = release >= PYTORCH_2_4 ? oom->private_free_bytes : 0;
    char a[TEXT_BYTES], b[TEXT_BYTES], c[TEXT_BYTES];
    *out = (struct refusal){.type = "OutOfMemoryError"};
    if (release == PYTORCH_2_0) {
        text_oom_early(oom, out);
        return;
    }
    text_add(out, "CUDA out of memory. Tried to allocate %s. GPU ", text_bytes(oom->segment_bytes, a));
    if (release == PYTORCH_2_3 && oom->device == 0)
        return;                      /* 2.3 takes the number for a character, and 0 ends a text */
    text_add(out, release == PYTORCH_2_3 ? "%c" : "%d", (int)oom->device);
    text_add(out, " has a total %s of %s of which %s is free. ", release == PYTORCH_2_1 ? "capacty" : "capacity",
             text_bytes(oom->total_bytes, b), text_bytes(oom->free_bytes, c));
    text_add(out, "Including non-PyTorch memory, this process has %s memory in use. ",
             text_bytes(oom->process_bytes, a));
    if (oom->limit_bytes != UINT64_MAX && release >= PYTORCH_2_5)
        text_add(out, "%s allowed; ", text_bytes(oom->limit_bytes, a));
    text_add(out, "Of the allocated memory %s is allocated by PyTorch, ",
             text_bytes(oom->allocated_bytes + private_free, a));
    if (private_free > 0)
        text_add(out, "with %s allocated in private pools (e.g., CUDA Graphs), ", text_bytes(private_free, a));
    text_add(out, "and %s is reserved by PyTorch but unallocated.",
             text_bytes(oom->reserved_bytes - oom->allocated_bytes - private_free, a));
    text_hint(release, oom, out);
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
    const enum pytorch_release release = rules->release;
    *out = (struct refusal){.type = release >= PYTORCH_2_8 ? "AcceleratorError" : "RuntimeError"};
    text_add(out, "CUDA error: out of memory\n");
    if (release >= PYTORCH_2_9)
        text_add(out, "Search for `cudaErrorMemoryAllocation' in https://docs.nvidia.com/cuda/cuda-runtime-api/"
                 "group__CUDART__TYPES.html for more information.\n");
    if (release == PYTORCH_2_13)
        text_add(out, "For more detailed error information, run with CUDA_LOG_FILE=stderr\n");
    if (release <= PYTORCH_2_12)
        text_add(out, "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace "
                 "below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1%s\n"
                 "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n",
                 release <= PYTORCH_2_3 ? "." : "");
}

void pytorch_text_too_large(struct refusal *out)
{
    *out = (struct refusal){
        .type = "OutOfMemoryError",
        .text = "CUDA out of memory. Tried to allocate more than 1EB memory.",
    };
}
