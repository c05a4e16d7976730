/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: what a predicted program printed, of which `predict` quotes lines.
 */
#include "dryrun/program_failure.h"
#include "dryrun/unknown_branches.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

#include <string.h>

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
    input_file_remove();
    return 0;
}
