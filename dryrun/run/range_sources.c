/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The names of what makes a peak a range, and which of them a program has. */
#include "dryrun/run/range_sources.h"

#include "dryrun/run/journal_folder.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *const range_source_names[RANGE_SOURCES] = {
    [RANGE_ADDRESSES] = "the order of addresses", [RANGE_WORKSPACES] = "workspaces of libraries",
    [RANGE_SIZES] = "sizes that depend on values", [RANGE_WAITS] = "when other streams are done",
    [RANGE_LOOPS] = "how often loops turn", [RANGE_BRANCHES] = "branches on values",
    [RANGE_CUT] = "the cache that cut loops leave",
    [RANGE_UNSEEN] = "what follows the steps", [RANGE_SEARCH] = "the search of cudnn.benchmark",
};
const char *const range_source_keys[RANGE_SOURCES] = {
    [RANGE_ADDRESSES] = "addresses", [RANGE_WORKSPACES] = "workspaces", [RANGE_SIZES] = "sizes",
    [RANGE_WAITS] = "waits", [RANGE_LOOPS] = "loops", [RANGE_BRANCHES] = "branches", [RANGE_CUT] = "cut",
    [RANGE_UNSEEN] = "unseen", [RANGE_SEARCH] = "search",
};

void range_sources_read(const char *journals, bool is_open[static RANGE_SOURCES])
{
    char path[PATH_MAX], line[64];
    if ((size_t)snprintf(path, sizeof path, "%s/open-sources", journals) >= sizeof path)
        return;
    FILE *f = journal_folder_text(path);
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        for (int i = 0; i < RANGE_SOURCES; i++)
            is_open[i] = is_open[i] || strcmp(line, range_source_keys[i]) == 0;
    }
    if (f != NULL)
        fclose(f);
    unlink(path);
}
