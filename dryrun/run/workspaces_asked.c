/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Workspaces of libraries, in words and as JSON. */
#include "dryrun/run/workspaces_asked.h"

#include "base/units.h"

static const struct { const char *name, *workspaces; } libraries[WORKSPACE_LIBRARIES] = {
    [WORKSPACES_OF_CUDNN] = {"cuDNN", "cuDNN's convolutions"},
    [WORKSPACES_OF_CUFFT] = {"cuFFT", "cuFFT's transforms"},
    [WORKSPACES_OF_CUSOLVER] = {"cuSOLVER", "cuSOLVER's factorisations"},
    [WORKSPACES_OF_CUSPARSE] = {"cuSPARSE", "cuSPARSE's products"},
};
static const char *const answers[] = {[WORKSPACES_LIKELY] = "likely", [WORKSPACES_MOST] = "most",
                                      [WORKSPACES_FIXED] = "fixed"};

void workspaces_asked_take(struct workspaces_asked *w, const struct call_record *r)
{
    w->of[r->addr < WORKSPACE_LIBRARIES ? r->addr : WORKSPACES_OF_CUDNN] = true;
    w->answer = r->other < WORKSPACES_FIXED ? (enum device_workspaces)r->other : WORKSPACES_FIXED;
    w->bytes = r->bytes;
}

bool workspaces_asked_any(const struct workspaces_asked *w)
{
    bool is_any = false;
    for (int i = 0; i < WORKSPACE_LIBRARIES; i++)
        is_any = is_any || w->of[i];
    return is_any;
}

/* "Workspaces of A, B and C: ". */
static void say_whose(struct words *out, const struct workspaces_asked *w)
{
    int n = 0, said = 0;
    for (int i = 0; i < WORKSPACE_LIBRARIES; i++)
        n += w->of[i];
    words_add(out, "Workspaces of ");
    for (int i = 0; i < WORKSPACE_LIBRARIES; i++)
        if (w->of[i]) {
            words_add(out, "%s%s", said == 0 ? "" : said == n - 1 ? " and " : ", ", libraries[i].workspaces);
            said++;
        }
    words_add(out, ": ");
}

static void say_likely(struct words *out, const struct workspaces_asked *w)
{
    words_add(out, "those that are likely for their shapes, because NVIDIA does not document them.");
    if (w->of[WORKSPACES_OF_CUFFT])
        words_add(out, " cuFFT's are read off public reports; no card was asked.");
    if (w->of[WORKSPACES_OF_CUSPARSE])
        words_add(out, " An H200 took none for a sparse matrix times a dense one; of sparse times sparse there is one "
                  "public report.");
    if (w->of[WORKSPACES_OF_CUDNN] || w->of[WORKSPACES_OF_CUSOLVER])
        words_add(out, " An H200 was asked about some of %s.",
                  !w->of[WORKSPACES_OF_CUSOLVER] ? "cuDNN's" : !w->of[WORKSPACES_OF_CUDNN] ? "cuSOLVER's"
                                                                                          : "cuDNN's and cuSOLVER's");
}

void workspaces_asked_say(struct words *out, const struct workspaces_asked *w)
{
    char bytes[UNITS_TEXT];
    if (!workspaces_asked_any(w))
        return;
    say_whose(out, w);
    if (w->answer == WORKSPACES_LIKELY)
        say_likely(out, w);
    else if (w->answer == WORKSPACES_MOST)
        words_add(out, "the largest that are likely for their shapes (workspaces=most). Most take less on a card.");
    else if (w->bytes > 0)
        words_add(out, "%s for each convolution, none for others (workspaces=).", units_format_bytes(w->bytes, bytes));
    else
        words_add(out, "none (workspaces=none).");
}

void workspaces_json(struct json_writer *json, const struct workspaces_asked *w)
{
#define ANSWER_TABLE "answers/workspaces.def"
#include "answers/as_json.def"
}
