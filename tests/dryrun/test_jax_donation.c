/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What donated arguments would save: results take the place of what is freed right after a run, and of nothing else. */
#include "dryrun/jax_donation.h"

#include "base/units.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAID = sizeof ((struct words *)NULL)->text };

struct writing {
    struct trace_writer *w;
    uint64_t time_ns;
    struct err_detail err;
};

static void put(struct writing *t, enum event_kind kind, uint64_t ptr, uint64_t bytes,
                const char *frame)
{
    struct trace_record r = { .kind = kind, .time_ns = t->time_ns++, .ptr = ptr, .bytes = bytes,
                              .record = TRACE_NO_RECORD, .stack = TRACE_NO_STACK };
    if (frame != NULL)
        cr_assert_eq(trace_put_stack(t->w, &frame, 1, &r.stack, &t->err), ERR_OK);
    cr_assert_eq(trace_put(t->w, &r, &t->err), ERR_OK, "%s", t->err.text);
}

/* Weights of 4 MiB, and two steps that make new ones: between a step and the free of the old ones something asks for
 * `between` bytes first; 0: nothing does. */
static struct trace_reader *steps(const char *donatable, uint64_t between)
{
    struct writing t = { .time_ns = 0 };
    struct trace_reader *out;
    cr_assert_eq(trace_create(NULL, &t.w, &t.err), ERR_OK);
    if (donatable != NULL)
        cr_assert_eq(trace_put_meta(t.w, TRACE_META_DONATABLE, donatable, &t.err), ERR_OK);
    put(&t, EVENT_ALLOC, 1, 4 * MIB, "jit_ones result train.py:1");
    for (uint64_t i = 1; i <= 2; i++) {
        put(&t, EVENT_ALLOC, i + 1, 4 * MIB, "jit_step result train.py:2");
        put(&t, EVENT_ALLOC, 100, 8 * MIB, "jit_step temporaries train.py:2");
        put(&t, EVENT_FREE, 100, 0, NULL);
        if (between > 0) {
            put(&t, EVENT_ALLOC, 200, between, "jit_loss result train.py:3");
            put(&t, EVENT_FREE, 200, 0, NULL);
        }
        put(&t, EVENT_FREE, i, 0, NULL);
    }
    cr_assert_eq(trace_finish_open(t.w, "steps", &out, &t.err), ERR_OK, "%s", t.err.text);
    return out;
}

static struct jax_donation donation_in(const char *donatable, uint64_t between, char said[static SAID])
{
    const struct device_config device = { .total_bytes = DEVICE_UNLIMITED };
    struct jax_donation d;
    struct jax_need now;
    struct err_detail err;
    struct words w = { .n = 0 };
    struct trace_reader *trace = steps(donatable, between);
    cr_assert_eq(jax_need_find(trace, &device, &now, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(jax_donation_find(trace, &device, &d, &err), ERR_OK, "%s", err.text);
    trace_close(trace);
    jax_donation_say(&w, &d, &now);
    snprintf(said, SAID, "%s", w.text);
    return d;
}

Test(jax_donation, a_result_takes_the_place_of_what_is_freed_right_after_the_run)
{
    char said[SAID];
    const struct jax_donation d = donation_in("4194304 1 1 jit_step", 0, said);
    cr_expect_str_eq(d.program, "jit_step");
    cr_expect_eq(d.arguments, 1);
    cr_expect_eq(d.bytes, 4 * MIB);
    cr_expect_eq(d.need.region_bytes, 12 * MIB, "%llu", (unsigned long long)d.need.region_bytes);
    cr_expect_not_null(strstr(said, "a region of 12 MiB would be needed, or more"), "%s", said);
}

Test(jax_donation, a_buffer_that_is_there_when_something_else_asks_is_no_argument)
{
    char said[SAID];
    const struct jax_donation d = donation_in("4194304 1 1 jit_step", MIB, said);
    cr_expect(d.has_candidates);
    cr_expect_eq(d.arguments, 0);
    cr_expect_eq(d.need.region_bytes, 0);
    cr_expect_not_null(strstr(said, "was not found out"), "%s", said);
}

Test(jax_donation, a_scalar_that_is_asked_for_before_the_arguments_are_freed_is_passed_over)
{
    char said[SAID];
    const struct jax_donation d = donation_in("4194304 1 1 jit_step", 256, said);
    cr_expect_eq(d.arguments, 1);
    cr_expect_eq(d.bytes, 4 * MIB);
}

Test(jax_donation, a_region_that_is_smaller_by_packing_alone_is_no_gain)
{
    struct words w = { .n = 0 };
    const struct jax_need now = { .region_bytes = 153 * MIB };
    const struct jax_donation d = { .has_candidates = true, .program = "jit_step", .arguments = 18, .bytes = 72 * MIB,
                                    .need.region_bytes = 150 * MIB };
    jax_donation_say(&w, &d, &now);
    cr_expect_not_null(strstr(w.text, "no less is live at the peak"), "%s", w.text);
    cr_expect_null(strstr(w.text, "150 MiB"), "%s", w.text);
}

Test(jax_donation, without_arguments_of_the_shape_of_a_result_there_is_nothing_to_save)
{
    char said[SAID];
    cr_expect(!donation_in(NULL, 0, said).has_candidates);
    cr_expect_not_null(strstr(said, "nothing to save"), "%s", said);
    cr_expect(!donation_in("no fact\n1 2\n", 0, said).has_candidates);
    cr_expect_eq(donation_in("8388608 1 1 jit_step", 0, said).arguments, 0, "of another size");
    cr_expect_eq(donation_in("4194304 1 1 jit_other", 0, said).arguments, 0, "of another program");
}

/* ---- the program run once more, with the arguments donated ---- */

static const struct jax_need now = { .region_bytes = 16 * MIB };

/* A run that printed this. */
static struct jax_donation after_run(const char *printed, bool has_ended, char said[static SAID])
{
    char log[] = "/tmp/test-jax-donation.XXXXXX";
    const int fd = mkstemp(log);
    struct words w = { .n = 0 };
    struct jax_donation d = { .has_candidates = true, .program = "jit_step", .arguments = 1, .bytes = 4 * MIB,
                              .need = { .region_bytes = 8 * MIB, .grown_bytes = 9 * MIB }, .has_lower_peak = true };
    cr_assert_eq(write(fd, printed, strlen(printed)), (ssize_t)strlen(printed));
    close(fd);
    jax_donation_take_run(&d, log, has_ended);
    unlink(log);
    d.tried = (struct jax_need){ .region_bytes = 12 * MIB, .grown_bytes = 14 * MIB };
    jax_donation_say(&w, &d, &now);
    snprintf(said, SAID, "%s", w.text);
    return d;
}

Test(jax_donation, what_the_run_took_stands_before_what_the_replay_reckons)
{
    char said[SAID];
    const struct jax_donation d = after_run("a\nreplay donate: step donates 0,1\nb\n", true, said);
    cr_expect_eq(d.trial, DONATION_TRIED);
    cr_expect_eq(jax_donation_need(&d)->region_bytes, 12 * MIB);
    cr_expect_not_null(strstr(said, "jax.jit(step, donate_argnums=(0,1))"), "%s", said);
    cr_expect_not_null(strstr(said, "a region of 12 MiB is then enough, instead of 16 MiB"), "%s", said);
    cr_expect_null(strstr(said, "8 MiB"), "%s", said);
}

Test(jax_donation, a_program_that_reads_what_it_donated_says_so_in_its_own_words)
{
    char said[SAID];
    const struct jax_donation d = after_run("replay donate: step donates 0\nRuntimeError: Array has been deleted.\n",
                                            false, said);
    cr_expect_eq(d.trial, DONATION_FAILED);
    cr_expect_eq(jax_donation_need(&d)->region_bytes, 8 * MIB);
    cr_expect_not_null(strstr(said, "donate_argnums=(0,))"), "%s", said);
    cr_expect_not_null(strstr(said, "Array has been deleted"), "%s", said);
}

Test(jax_donation, an_array_that_is_passed_twice_is_said_in_plain_words)
{
    char said[SAID];
    const struct jax_donation d = after_run("replay donate: step donates 1 shares 0,2\n", true, said);
    cr_expect_str_eq(d.donated, "1");
    cr_expect_str_eq(d.shared, "0,2");
    cr_expect_not_null(strstr(said, "donate_argnums=(1,))"), "%s", said);
    cr_expect_not_null(strstr(said, "Arguments 0,2 of step were not donated in a run"), "%s", said);
    cr_expect_eq(after_run("replay donate: step donates nothing shares 0\n", true, said).trial, DONATION_NOT_TRIED);
    cr_expect_not_null(strstr(said, "Argument 0 of step was not donated in a run"), "%s", said);
    (void)after_run("replay donate: step donates 0,1\n"
                    "ValueError: Attempt to donate the same buffer twice in Execute()\n", false, said);
    cr_expect_not_null(strstr(said, "passed one array in two places"), "%s", said);
    cr_expect_null(strstr(said, "Execute()"), "%s", said);
}

Test(jax_donation, a_run_in_which_nothing_was_donated_tells_nothing)
{
    char said[SAID];
    cr_expect_eq(after_run("replay donate: step donates nothing\n", true, said).trial, DONATION_NOT_TRIED);
    cr_expect_eq(after_run("", true, said).trial, DONATION_NOT_TRIED);
    cr_expect_not_null(strstr(said, "a region of 8 MiB would be needed, or more"), "%s", said);
}

Test(jax_donation, a_run_is_made_if_it_may_tell_more)
{
    struct jax_donation d = { .has_candidates = true, .program = "jit_step" };
    cr_expect(jax_donation_may_gain(&d, &now), "which buffers they are was not found");
    d.arguments = 1;
    d.need.region_bytes = 8 * MIB;
    cr_expect_not(jax_donation_may_gain(&d, &now), "no less is live");
    d.has_lower_peak = true;
    cr_expect(jax_donation_may_gain(&d, &now));
    d.need.region_bytes = now.region_bytes;
    cr_expect_not(jax_donation_may_gain(&d, &now), "as large as without");
    d.need.region_bytes = now.region_bytes - now.region_bytes / 100;
    cr_expect_not(jax_donation_may_gain(&d, &now), "too little for another run");
    d.program[0] = 'p';
    cr_expect_not(jax_donation_may_gain(&d, &now), "no jitted function");
}
