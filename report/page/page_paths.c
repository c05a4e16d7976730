/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* No text of a page names a folder of the machine that it is from. */
#include "report/page/page.h"

#include "report/text/short_paths.h"

#include <stdlib.h>

static bool shorten(char **text, const char *folder, bool all)
{
    char *copy = *text == NULL ? NULL : short_paths_copy(*text, folder, all);
    if (copy == NULL)
        return *text == NULL;
    free(*text);
    *text = copy;
    return true;
}

/* Of a page about one trace the program's own folder is known. */
static const char *folder_of(const struct page *p, size_t trace)
{
    return trace < p->n_traces ? p->traces[trace].folder : NULL;
}

static bool shorten_answer(struct page *p)
{
    struct page_answer *a = &p->answer;
    char **const texts[] = { &a->verdict, &a->when, &a->act, &a->range, &a->replayed, &a->promise, &a->card,
                             &a->reasons, &a->blame.help };
    bool is_done = true;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        is_done = shorten(texts[i], folder_of(p, 0), false) && is_done;
    return is_done;
}

enum err page_shorten_paths(struct page *p)
{
    bool is_done = shorten_answer(p);
    for (size_t i = 0; i < p->n_runs; i++) {
        is_done = shorten(&p->runs[i].explanation, folder_of(p, p->runs[i].trace), false) && is_done;
        is_done = shorten(&p->runs[i].why_not, NULL, true) && is_done;
    }
    for (size_t i = 0; i < p->n_notes; i++)
        is_done = shorten(&p->notes[i], NULL, true) && is_done;
    return is_done ? ERR_OK : ERR_HOST_NOMEM;
}
