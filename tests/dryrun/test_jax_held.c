/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What JAX's allocator said of itself: the lines that are read, and what is made of them. */
#include "dryrun/run/jax_held.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct jax_held read_lines(const char *lines)
{
    char folder[] = "/tmp/replay-test-XXXXXX", path[64];
    struct jax_held h;
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/jax-held", folder);
    FILE *f = lines == NULL ? NULL : fopen(path, "w");
    if (f != NULL) {
        fputs(lines, f);
        fclose(f);
    }
    jax_held_read(folder, &h);
    cr_expect_neq(access(path, F_OK), 0, "the file goes with its reading");
    cr_expect_eq(rmdir(folder), 0);
    return h;
}

Test(jax_held, a_program_without_jax_has_nothing_to_say)
{
    struct words w = { .n = 0 };
    const struct jax_held none = read_lines(NULL), bad = read_lines("\nx 1 2 3\n1 2\n");
    cr_expect(!none.is_there && !bad.is_there);
    jax_held_say(&w, &none);
    cr_expect_str_eq(w.text, "");
}

Test(jax_held, the_device_that_held_most_counts_by_its_last_line)
{
    const struct jax_held h = read_lines("100 900 1000 0\n700 1000 1000 1\n600 1000 1000 1\n700 800 1000 0\n");
    cr_expect(h.is_there && !h.preallocates);
    cr_expect_eq(h.peak_bytes, 700);
    cr_expect_eq(h.pool_bytes, 800);
    cr_expect_eq(h.limit_bytes, 1000);
}

Test(jax_held, parts_of_different_releases_are_named_and_nothing_but_names_is_taken)
{
    const struct { const char *line, *mixed; } cases[] = {
        { "jaxlib 0.10.2, jax-cuda13-pjrt 0.12.0", "jaxlib 0.10.2, jax-cuda13-pjrt 0.12.0" },
        { "jaxlib 1\n\033[2J", "jaxlib 1" },
        { "\033[2J", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char folder[] = "/tmp/replay-test-XXXXXX", path[64];
        struct words w = { .n = 0 };
        struct jax_held h;
        cr_assert_not_null(mkdtemp(folder));
        snprintf(path, sizeof path, "%s/jax-mixed", folder);
        FILE *f = fopen(path, "w");
        cr_assert_not_null(f);
        fputs(cases[i].line, f);
        fclose(f);
        jax_held_read(folder, &h);
        cr_expect_str_eq(h.mixed, cases[i].mixed);
        cr_expect_not(h.is_there);
        cr_expect_eq(rmdir(folder), 0, "the file goes with its reading");
        jax_held_say(&w, &h);
        cr_expect_eq(strstr(w.text, "different releases") != NULL, h.mixed[0] != '\0');
    }
}

Test(jax_held, the_words_name_the_setting_that_the_program_has_not)
{
    struct words taken = { .n = 0 }, grown = { .n = 0 };
    jax_held_say(&taken, &(struct jax_held){ .is_there = true, .peak_bytes = 5, .pool_bytes = 9,
                                               .preallocates = true });
    jax_held_say(&grown, &(struct jax_held){ .is_there = true, .peak_bytes = 5, .pool_bytes = 9 });
    cr_expect_not_null(strstr(taken.text, "XLA_PYTHON_CLIENT_PREALLOCATE=false"));
    cr_expect_null(strstr(grown.text, "PREALLOCATE"));
    cr_expect_not_null(strstr(grown.text, "5 bytes"));
}

Test(jax_held, without_regions_it_is_the_drivers_pool)
{
    struct words pooled = { .n = 0 };
    jax_held_say(&pooled, &(struct jax_held){ .is_there = true, .peak_bytes = 5, .limit_bytes = 6 });
    cr_expect_not_null(strstr(pooled.text, "ALLOCATOR=cuda_async"), "%s", pooled.text);
    cr_expect_null(strstr(pooled.text, "It took 0 B"), "%s", pooled.text);
}
