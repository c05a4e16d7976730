/* `replay fit TRACE`: the smallest card for each policy. */
#include "replay/program/cli.h"

#include "replay/advise/fit.h"
#include "replay/plan/bounds.h"
#include "replay/results/fresh_start.h"
#include "replay/verify/recorded_settings.h"
#include "report/json_writer.h"
#include "report/text.h"

#include <stdlib.h>

/* Everything the command holds; zero is a valid beginning and end. */
struct fit_session {
    const struct options *options;
    struct trace_reader  *trace;
    struct device_choice  device;
    struct bounds         bounds;
    struct policy_spec   *specs;
    struct fit           *fits;
    size_t                n;
    struct output        *json;
    bool                  is_stdout_taken;
};

static void session_close(struct fit_session *s)
{
    output_abandon(s->json);
    for (size_t i = 0; i < s->n; i++)
        policy_spec_close(&s->specs[i]);
    free(s->specs);
    free(s->fits);
    trace_close(s->trace);
}

/* The policies that were typed; without any, the recorded settings. */
static enum err session_parse(struct fit_session *s, struct err_detail *why)
{
    const struct options *o = s->options;
    const size_t n = o->n_policies > 0 ? o->n_policies : 1;
    s->specs = calloc(n, sizeof *s->specs);
    s->fits = calloc(n, sizeof *s->fits);
    if (s->specs == NULL || s->fits == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "no memory for %zu policies", n);
    const char *release;
    enum err e = recorded_release(s->trace, &release, why);
    while (s->n < n && e == ERR_OK) {
        e = o->n_policies > 0 ? policy_spec_parse(o->policies[s->n], &s->specs[s->n], why)
                              : recorded_policy(s->trace, &s->specs[s->n], why);
        if (e == ERR_OK)
            recorded_take_release(release, &s->specs[s->n++]);
    }
    return e;
}

static enum err session_run(struct fit_session *s, struct err_detail *why)
{
    struct progress progress = progress_start("replaying");
    const struct replay_config cfg = { .threads = s->options->threads, .progress = progress_report,
                                       .progress_arg = &progress };
    enum err e = bounds_find(s->trace, &s->bounds, why);
    for (size_t i = 0; i < s->n && e == ERR_OK; i++)
        e = fit_find(s->trace, &s->specs[i], &s->device, s->bounds.live_bytes, &cfg, &s->fits[i], why);
    progress_clear(&progress);
    return e;
}

/* ---- text ---- */

static void print_row(const struct fit_session *s, size_t i)
{
    const struct fit *f = &s->fits[i];
    const uint64_t total = s->device.config.total_bytes;
    char size[TEXT_NUMBER] = "none found", held[TEXT_NUMBER] = "-", margin[TEXT_NUMBER] = "", calls[TEXT_NUMBER] = "-";
    const char *sign = "";
    if (f->smallest_bytes > 0) {
        text_mib(f->smallest_bytes, size);
        text_mib(f->trial.peak_reserved_bytes, held);
        text_count(f->trial.device_calls, calls);
    }
    if (s->device.has_total && total != DEVICE_UNLIMITED && f->smallest_bytes > 0) {
        const bool is_over = f->smallest_bytes > total;
        sign = is_over ? "-" : "+";
        text_mib(is_over ? f->smallest_bytes - total : total - f->smallest_bytes, margin);
    }
    printf("%-32s %13s %13s %7s %10s   %1s%-11s %s\n", s->specs[i].typed, size, held, calls,
           f->smallest_bytes == 0 ? "-" : f->is_monotone ? "yes" : "no", sign, margin,
           f->card != NULL ? f->card->name : "none");
}

static void print_remarks(const struct fit_session *s)
{
    char size[TEXT_NUMBER], larger[TEXT_NUMBER];
    struct words w = { .n = 0 };
    words_add_possible(&w, s->bounds.live_bytes, trace_info(s->trace)->peak_requested_bytes, s->bounds.plan_bytes, NULL,
                       0);
    words_print(stdout, &w, 0, 2);
    for (size_t i = 0; i < s->n; i++) {
        const struct fit *f = &s->fits[i];
        struct words note = { .n = 0 };
        if (f->smallest_bytes == 0)
            words_add(&note, "%s: ran out of memory on each of %zu cards tried, the largest of many times its need.",
                      s->specs[i].typed, f->n_tried);
        else if (!f->is_monotone)
            words_add(&note, "%s is not monotone: it runs on %s, but runs out of memory on the larger card of %s.",
                      s->specs[i].typed, text_mib(f->smallest_bytes, size),
                      text_mib(f->larger_failing_bytes, larger));
        if (note.n > 0)
            words_print(stdout, &note, 0, 2);
    }
}

static void print_text(const struct fit_session *s)
{
    fresh_start_print(stdout, s->trace);
    printf("%-32s %13s %13s %7s %10s   %-12s %s\n", "policy", "smallest card", "held at peak", "calls", "monotone",
           "margin", "named card");
    for (size_t i = 0; i < s->n; i++)
        print_row(s, i);
    printf("\n");
    print_remarks(s);
}

/* ---- JSON ---- */

static void json_number_or_null(struct json_writer *w, const char *key, bool is_known, uint64_t number)
{
    if (is_known)
        json_put_number(w, key, number);
    else
        json_put_null(w, key);
}

static void json_fit(struct json_writer *w, const struct fit_session *s, size_t i)
{
    const struct fit *f = &s->fits[i];
    const uint64_t total = s->device.config.total_bytes;
    const bool is_found = f->smallest_bytes > 0;
    json_put_object(w, NULL);
    json_put_text(w, "policy", s->specs[i].typed);
    json_number_or_null(w, "smallest_card_bytes", is_found, f->smallest_bytes);
    json_number_or_null(w, "peak_reserved_bytes", is_found, f->trial.peak_reserved_bytes);
    json_number_or_null(w, "device_calls", is_found, f->trial.device_calls);
    json_put_bool(w, "is_monotone", f->is_monotone);
    json_number_or_null(w, "larger_failing_card_bytes", !f->is_monotone, f->larger_failing_bytes);
    if (is_found && s->device.has_total && total != DEVICE_UNLIMITED)
        json_put_integer(w, "margin_bytes", (int64_t)(total - f->smallest_bytes));
    else
        json_put_null(w, "margin_bytes");
    json_put_text(w, "named_card", f->card != NULL ? f->card->name : NULL);
    json_put_number(w, "tried", f->n_tried);
    json_end_object(w);
}

static void write_json(FILE *out, const struct fit_session *s)
{
    struct json_writer w = json_writer(out);
    json_put_object(&w, NULL);
    json_put_text(&w, "schema", "replay-fit/1");
    json_put_text(&w, "path", s->options->inputs[0]);
    fresh_start_json(&w, s->trace);
    json_put_number(&w, "granule_bytes", FIT_GRANULE_BYTES);
    json_put_number(&w, "live_peak_bytes", s->bounds.live_bytes);
    json_put_number_unless(&w, "offline_plan_bytes", s->bounds.plan_bytes, 0);
    json_put_array(&w, "fits");
    for (size_t i = 0; i < s->n; i++)
        json_fit(&w, s, i);
    json_end_array(&w);
    json_end_object(&w);
}

static enum exit_status fit_main(const struct options *o)
{
    struct fit_session s = { .options = o };
    struct err_detail why = { .text = "" };
    enum err e = cli_open_output(o, o->json, &s.is_stdout_taken, &s.json, &why);
    if (e == ERR_OK)
        e = cli_open_trace_without_stacks(o, 0, &s.trace, &why);
    if (e == ERR_OK)
        e = session_parse(&s, &why);
    if (e == ERR_OK)
        e = device_choose(o->device, s.trace, &s.device, &why);
    if (e == ERR_OK)
        e = session_run(&s, &why);
    if (e == ERR_OK && s.json != NULL) {
        write_json(output_file(s.json), &s);
        e = output_commit(&s.json, &why);
    }
    if (e == ERR_OK && !s.is_stdout_taken)
        print_text(&s);
    const enum exit_status status = e != ERR_OK ? cli_fail(e, &why) : cli_finish_stdout(STATUS_DONE);
    session_close(&s);
    return status;
}

static const struct flag_use fit_flags[] = {
    TAKES_AS(POLICY, "a policy to find a card for (replay --list shows them); may be given several times (default: the "
                     "recorded settings)"),
    TAKES_AS(DEVICE, "the card that you have, such as 24GiB or h100-80g: the margin against it is shown"),
    TAKES(JSON), TAKES(THREADS), TAKES_INPUT, TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_fit = {
    .name = "fit",
    .synopsis = "fit FILE",
    .summary = "find the smallest card on which each policy runs",
    .text = "The answer is the smallest card, to 2 MiB, on which no request is refused, and the smallest named card of at "
            "least that size. The size is found by bisection. Larger sizes are tried as well, and if one of them fails, "
            "the answer says so. A trace that was recorded in mid-run starts with its live requests placed anew.\n",
    .flags = fit_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .run = fit_main,
};
