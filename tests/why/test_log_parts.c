/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Parts of reading a log: phrases across line breaks, XLA's lists, words that no form knows. */
#include "replay/why/log_letters.h"
#include "replay/why/log_loose.h"
#include "replay/why/log_phrases.h"
#include "replay/why/log_xla.h"

#include "base/units.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the phrase stands where its first letter first does. */
static bool is_there(const char *text, const char *phrase)
{
    return log_phrase_is(text, strlen(text), (size_t)(strchr(text, phrase[0]) - text), phrase);
}

Test(log_parts, a_phrase_is_found_across_a_line_that_a_console_or_a_logger_broke)
{
    static const char phrase[] = "KV cache is needed";
    cr_expect(is_there("a line of a console that is wide enough to be one, 80 letters, KV cach\ne is needed", phrase));
    cr_expect(is_there("(pid=9) E 10:00:01 KV\n(pid=9) E 10:00:02 cache is needed", phrase));
    cr_expect_not(is_there("narrow: KV cach\ne is needed", phrase));
    cr_expect_not(is_there("(pid=9) E 10:00:01 KV\n(pid=9) E 10:00:02 store is needed", phrase));
}

Test(log_parts, a_phrase_ends_with_the_text)
{
    static const char text[] = "a line of a console that is wide enough to be one, 80 letters long, or more: Kil\nled";
    const char *at = strstr(text, "Kil\n");
    for (size_t n = 0; n < strlen(text); n++)
        cr_expect_not(n >= (size_t)(at - text) && log_phrase_is(text, n, (size_t)(at - text), "Killed"));
    cr_expect(log_phrase_is(text, strlen(text), (size_t)(at - text), "Killed"));
}

static const char of_card[] =
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 20 bytes.\n"
    "BufferAssignment stats:\n"
    "             parameter allocation:    6.25GiB\n"
    "        maybe_live_out allocation:    4.00GiB\n"
    "     preallocated temp allocation:   20.00GiB\n"
    "                 total allocation:   26.25GiB\n"
    "Peak buffers:\n"
    "\tBuffer 1:\n"
    "\t\tSize: 8.00GiB\n"
    "\t\tOperator: op_name=\"jit(f)/attention/dot_general[dims=(1)]\" source_file=\"/a/b/model.py\" source_line=88\n"
    "\t\tShape: f32[16,32]{1,0}\n"
    "\tBuffer 2:\n"
    "\t\tSize: 512.0MiB\n"
    "\t\tEntry Parameter Subshape: f32[32768,4096]\n";

Test(log_parts, the_list_of_buffer_assignment_is_read)
{
    struct log_xla x;
    log_xla_read(of_card, sizeof of_card - 1, 0, &x);
    cr_assert(x.is_found && x.n == 2);
    cr_expect(x.arguments == 25 * GIB / 4 && x.results == 4 * GIB && x.temporaries == 20 * GIB);
    cr_expect_eq(x.total, 105 * GIB / 4);
    cr_expect(x.at[0].bytes == 8 * GIB && !x.at[0].is_argument);
    cr_expect_str_eq(x.at[0].operation, "jit(f)/attention/dot_general");
    cr_expect_str_eq(x.at[0].line, "model.py:88");
    cr_expect_str_eq(x.at[0].shape, "f32[16,32]");
    cr_expect(x.at[1].is_argument && x.at[1].bytes == 512 * MIB);
}

static void expect_said(const char *text, const char *error, const char *said, const char *unsaid)
{
    struct log_xla x;
    char *out = NULL;
    size_t n;
    log_xla_read(text, strlen(text), (size_t)(strstr(text, error) - text), &x);
    FILE *f = open_memstream(&out, &n);
    log_xla_print(f, &x);
    fclose(f);
    for (char *at = out; (at = strchr(at, '\n')) != NULL && at[1] == ' '; at++)
        memmove(at + 1, at + 3, strlen(at + 3) + 1);
    for (char *at = out; (at = strchr(at, '\n')) != NULL;)
        *at = ' ';
    cr_expect_not_null(strstr(out, said), "%s", out);
    cr_expect_null(strstr(out, unsaid), "%s", out);
    free(out);
}

Test(log_parts, a_function_that_takes_little_is_not_what_to_change)
{
    static const char little[] = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8 bytes.\n"
                                 "BufferAssignment stats:\n             parameter allocation:    8.00MiB\n"
                                 "        maybe_live_out allocation:    8.00MiB\n"
                                 "     preallocated temp allocation:         0B\n"
                                 "                 total allocation:   16.00MiB\n";
    expect_said(little, "RESOURCE", "is not what to change", "donate");
    expect_said(of_card, "RESOURCE", "Temporaries are the larger part", "is not what to change");
}

#define TEN(letters) letters letters letters letters letters letters letters letters letters letters
#define MAP(letters) "W bfc_allocator.cc:512] " TEN(letters) "\n"

Test(log_parts, the_map_of_bfc_tells_how_full_it_was)
{
    static const char empty[] = MAP("**********") MAP("*_________") "RESOURCE_EXHAUSTED: Out of memory";
    static const char full[] = MAP("*********_") "RESOURCE_EXHAUSTED: Out of memory\n" MAP("__________");
    static const char none[] = "W " TEN("*********") "\nRESOURCE_EXHAUSTED: Out of memory while";
    struct log_xla x;
    expect_said(empty, "RESOURCE", "had 10% of its memory in use. So it is not", "100%");
    expect_said(full, "RESOURCE", "had 90% of its memory in use.", "So it is not");
    log_xla_read(none, sizeof none - 1, (size_t)(strstr(none, "RESOURCE") - none), &x);
    cr_expect_not(x.has_map, "nothing else of asterisks is a map");
}

Test(log_parts, of_a_text_that_is_not_xlas_nothing_is_said)
{
    const struct log_xla unread = { .n = 0 };
    char *out = NULL;
    size_t n;
    FILE *f = open_memstream(&out, &n);
    log_xla_print(f, &unread);
    fclose(f);
    cr_expect_str_empty(out);
    free(out);
}

Test(log_parts, the_list_of_a_tpu_is_read)
{
    static const char text[] = "Ran out of memory in memory space hbm. Used 21.50G of 15.75G hbm. Exceeded by 5.75G.\n"
                               "Total hbm usage >= 22.00G:\n    reserved  512.00M\n    arguments   8.00G\n"
                               "Output size 8.00G; shares 6.00G with arguments.\n    HLO temp   13.50G (97.4%)\n"
                               "  1. Size: 4.00G\n     Shape: bf16[8,4]{1,0:T(8,128)}\n";
    struct log_xla x;
    log_xla_read(text, sizeof text - 1, 0, &x);
    cr_expect(x.used == 43 * GIB / 2 && x.capacity == 63 * GIB / 4);
    cr_expect(x.total == 22 * GIB && x.arguments == 8 * GIB && x.results == 2 * GIB && x.temporaries == 27 * GIB / 2);
    cr_expect(x.n == 1 && x.at[0].bytes == 4 * GIB);
    cr_expect_str_eq(x.at[0].shape, "bf16[8,4]");
}

Test(log_parts, a_list_that_is_cut_anywhere_is_read_as_far_as_it_goes)
{
    for (size_t n = 0; n < sizeof of_card; n++) {
        struct log_xla x;
        log_xla_read(of_card, n, 0, &x);
        cr_expect(x.n <= 2 && (x.is_found || x.n == 0), "%zu", n);
    }
}

static enum log_loose_whose loosely(const char *text)
{
    size_t at;
    return log_loose_find(text, strlen(text), &at);
}

Test(log_parts, words_that_no_form_knows_are_of_memory_if_they_name_a_shortage_and_an_error)
{
    cr_expect_eq(loosely("Error: not enough VRAM to render"), LOOSE_CARD);
    cr_expect_eq(loosely("ArrowError: malloc of size 4294967360 failed"), LOOSE_HOST);
    cr_expect_eq(loosely("Error: solver ran out of memory"), LOOSE_UNTOLD);
    cr_expect_eq(loosely("tool died due to signal 9"), LOOSE_HOST);
    cr_expect_eq(loosely("VkResult: ERROR_OUT_OF_HOST_MEMORY"), LOOSE_HOST);
    cr_expect_eq(loosely("an illegal memory access was encountered: error"), LOOSE_NONE);
    cr_expect_eq(loosely("ImportError: cannot allocate memory in static TLS block"), LOOSE_NONE);
    cr_expect_eq(loosely("we have not enough memory for a picnic"), LOOSE_NONE);
}

static uint64_t size_of(const char *text)
{
    uint64_t bytes = 0;
    const char *end;
    return letters_read_size(text, &bytes, &end) ? bytes : UINT64_MAX;
}

Test(log_parts, a_size_that_numpy_writes_with_a_bare_point_has_its_unit)
{
    cr_expect_eq(size_of("206.GiB"), 206 * GIB);
    cr_expect_eq(size_of("2.06GiB"), (uint64_t)(2.06 * (double)GIB));
    cr_expect_eq(size_of("1.5PiB"), 1536 * 1024 * GIB);
    cr_expect_eq(size_of("206.Gigantic"), UINT64_MAX);
    cr_expect_eq(size_of("206.Both"), UINT64_MAX);
    cr_expect_eq(size_of("206."), UINT64_MAX);
}
