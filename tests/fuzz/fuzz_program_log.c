/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: what a predicted program printed, of which `predict` quotes lines, or a server, whose figures `serve`
 * reads.
 */
#include "dryrun/program_failure.h"
#include "dryrun/sglang_budget.h"
#include "dryrun/unknown_branches.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

#include <string.h>

static void read_server(const char *text, size_t n)
{
    struct server_log log;
    server_log_read(text, n, SERVER_UNTOLD, &log);
    struct server_budget budget = server_budget_of(&log);
    FUZZ_EXPECT(memchr(log.error, '\0', sizeof log.error) != NULL && log.cards >= 1);
    if (log.kind != SERVER_SGLANG)
        return;
    sglang_budget_add_peak(&log, 0, true, &budget);
    FUZZ_EXPECT(budget.most_utilization < 1 && budget.least_utilization < 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct program_failure failure;
    struct unknown_branches branches;
    struct words said = { .n = 0 };
    const char *path = input_file_write(data, n);
    if (path == NULL)
        return 0;
    program_failure_read(path, &failure);
    FUZZ_EXPECT(memchr(failure.line, '\0', sizeof failure.line) != NULL && strchr(failure.line, '\n') == NULL);
    FUZZ_EXPECT(unknown_branches_read(path, &branches, NULL) == ERR_OK);
    unknown_branches_say(&said, &branches);
    FUZZ_EXPECT((said.n > 0) == (branches.places.n > 0) && said.n < sizeof said.text);
    read_server((const char *)data, n);
    input_file_remove();
    return 0;
}
