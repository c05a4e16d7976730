/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Knows the errors by their words, and says what they mean. */
#include "replay/why/library_refusal.h"

#include "report/text/text.h"

#include <string.h>

/* Words of the libraries' own headers, but for two: PyTorch's of a convolution (aten/src/ATen/native/cudnn/Conv_v8.cpp,
 * where a refused workspace is taken for a plan that does not work), and NCCL's of a failed call. */
static const struct library_refusal refusals[] = {
    { "CUBLAS_STATUS_ALLOC_FAILED", "cuBLAS", "memory of its own, mostly for its handle", false },
    { "CUDNN_STATUS_ALLOC_FAILED", "cuDNN", "memory of its own", false },
    { "CUSOLVER_STATUS_ALLOC_FAILED", "cuSOLVER", "memory of its own", false },
    { "CUSPARSE_STATUS_ALLOC_FAILED", "cuSPARSE", "memory of its own", false },
    { "CUFFT_ALLOC_FAILED", "cuFFT", "memory of its own, for a plan", false },
    { "CUDA error: out of memory", "the driver",
      "memory for the context, a kernel's code or a graph, or page-locked memory of the host", false },
    { "Cuda failure 2 'out of memory'", "NCCL", "its buffers", false },
    { "Cuda failure 'out of memory'", "NCCL", "its buffers", false },
    { "unable to find an engine to execute this computation", "cuDNN", "the workspace of a convolution", true },
};

enum { N_REFUSALS = sizeof refusals / sizeof refusals[0] };

const struct library_refusal *library_refusal_find(const char *text, size_t n)
{
    for (size_t at = n; at-- > 0;)
        for (size_t i = 0; i < N_REFUSALS; i++) {
            const struct library_refusal *r = &refusals[i];
            const size_t length = strlen(r->phrase);
            if (text[at] == r->phrase[0] && n - at >= length && memcmp(text + at, r->phrase, length) == 0)
                return r;
        }
    return NULL;
}

static void print_room(FILE *out, const struct library_refusal *r)
{
    struct words verdict = { .n = 0 };
    words_add(&verdict, "The card was full outside PyTorch: %s was refused %s.", r->library, r->refused);
    words_print_screen(out, &verdict);
    text_print_screen(out, "The line to put at the program's start, before it uses the card:");
    fprintf(out, "\n  torch.cuda.set_per_process_memory_fraction(0.9)\n\n");
    text_print_screen(out, "- PyTorch keeps freed memory for itself. It gives it back when one of its own requests "
                           "is refused, not when a library's is. With the line it leaves a tenth of the card to "
                           "others, and gives back before it takes more. torch.cuda.empty_cache() before that call "
                           "gives back once.");
}

static void print_workspace(FILE *out)
{
    text_print_screen(out, "Probably really full: PyTorch was refused the workspace of a convolution, and says it in "
                           "these words. The line to paste keeps workspaces small (in MiB):");
    fprintf(out, "\n  export CUDNN_CONV_WSCAP_DBG=256\n\n");
    text_print_screen(out, "- If nvidia-smi shows room on the card, the cause is another: cuDNN's libraries do not "
                           "fit together, or it cannot compute this type or shape.");
}

void library_refusal_print(FILE *out, const struct library_refusal *r)
{
    if (r->is_workspace)
        print_workspace(out);
    else
        print_room(out, r);
    text_print_screen(out, "- The text has no figures. A recording tells how much of the card PyTorch held, and "
                           "which setting needs less: replay record --torch -o trace.zst -- python YOUR_PROGRAM, "
                           "then replay why.");
}

void library_refusal_json(struct json_writer *j, const struct library_refusal *r)
{
    json_put_text(j, "verdict", r->is_workspace ? "workspace-refused" : "library-refused");
    json_put_object(j, "library");
    json_put_text(j, "name", r->library);
    json_put_text(j, "phrase", r->phrase);
    json_end_object(j);
}
