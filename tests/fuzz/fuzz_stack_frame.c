/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: texts of stack frames, one per line, as a recording may have them.
 */
#include "tests/fuzz/fuzz.h"
#include "traces/stack_frame.h"

#include <stdlib.h>
#include <string.h>

/* Name and file lie within the text, the file after the name. */
static void try_stack_frame(const char *text)
{
    const struct stack_frame f = stack_frame_parse(text);
    const size_t n = strlen(text);
    FUZZ_EXPECT(f.name == text && f.n_name <= n);
    FUZZ_EXPECT(f.file >= text && f.n_file <= n - (size_t)(f.file - text));
    FUZZ_EXPECT(f.n_name == 0 || f.file == text + f.n_name + 1);
    FUZZ_EXPECT(memchr(f.file, ' ', f.n_file) == NULL);
    if (stack_frame_is_program(&f))
        FUZZ_EXPECT(f.n_file > 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = strndup((const char *)data, n), *line, *at;
    const char *frames[64];
    size_t n_frames = 0;
    if (text == NULL)
        return 0;
    for (line = strtok_r(text, "\n", &at); line != NULL && n_frames < 64; line = strtok_r(NULL, "\n", &at)) {
        try_stack_frame(line);
        frames[n_frames++] = line;
    }
    const char *found = stack_frame_of_program(frames, n_frames);
    FUZZ_EXPECT((found == NULL) == (n_frames == 0));
    free(text);
    return 0;
}
