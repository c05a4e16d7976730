/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The text comes first, then the JSON; answers/tune.def has its keys. */
#include "replay/advise/tune_answer.h"

#include "policies/pytorch/pytorch_conf.h"
#include "replay/advise/settings_paste.h"
#include "replay/recording/recorded_engine.h"
#include "replay/recording/recorded_settings.h"
#include "replay/results/fresh_start.h"
#include "replay/results/result.h"
#include "report/text/json_writer.h"
#include "report/text/terminal_table.h"
#include "report/text/text.h"

#include <assert.h>
#include <inttypes.h>

enum { SHOWN_ENTRIES = 10 };

/* The number of an event in the source; -1 if it lies before the first event, or if the source cannot be read. */
static int64_t source_event(const struct tune_answer *s, int64_t event)
{
    int64_t number = event;
    struct err_detail ignored;
    return trace_event_number(s->trace, event, &number, &ignored) == ERR_OK ? number : -1;
}

static const char *event_text(const struct tune_answer *s, int64_t event, char buf[TEXT_NUMBER])
{
    return text_event(trace_event_word(s->trace), source_event(s, event), buf);
}

static const char *conf_of(const struct tune *t, const struct settings *settings, char buf[SETTINGS_TEXT])
{
    return settings_text(settings, &t->rules, false, buf);
}

static const char *baseline_name(const struct tune *t)
{
    return t->is_baseline_recorded ? "recorded" : "default";
}

/* "expandable_segments:True" or "the defaults", and the call that goes with it if there is one. */
static void words_add_settings(struct words *w, const struct tune *t, const struct settings *settings)
{
    char text[SETTINGS_TEXT];
    conf_of(t, settings, text);
    words_add(w, "%s", text[0] == '\0' ? "the defaults" : text);
    const unsigned fraction = settings_fraction_call(settings, &t->rules);
    if (fraction > 0)
        words_add(w, " and set_per_process_memory_fraction(0.%02u)", fraction);
}

/* Named with its settings if they are not printed to be pasted. */
static void words_add_winner(struct words *w, const struct tune *t)
{
    words_add(w, "%s", tune_recommends(t) ? "the recommended setting" : "the best found");
    if (t->advice != TUNE_NOTHING)
        return;
    words_add(w, " (");
    words_add_settings(w, t, &t->entries[t->winner].settings);
    words_add(w, ")");
}

/* ---- text ---- */

static void print_lines_to_paste(FILE *out, const struct tune *t)
{
    settings_put_paste(out, &t->entries[t->winner].settings, &t->rules, t->platform, "  ");
    fprintf(out, "\n\n");
}

static const struct text_column trial_columns[] = {
    { .title = "setting", .is_left = true },  { .title = "peak reserved" },
    { .title = "retries", .leaves = 1 },      { .title = "driver calls", .leaves = 2 },
    { .title = "driver time", .leaves = 3 },  { .title = "smallest card", .leaves = 4 },
    { .title = "runs", .is_left = true },
};
enum { TRIAL_COLUMNS = sizeof trial_columns / sizeof trial_columns[0] };

/* `f`: what is known of its smallest card; NULL: nothing. */
static void add_trial(struct terminal_table *rows, const struct tune_answer *s, const char *what,
                      const struct trial *t, const struct tune_finalist *f)
{
    char reserved[TEXT_NUMBER], calls[TEXT_NUMBER], time[TEXT_NUMBER], where[TEXT_NUMBER], bytes[TEXT_NUMBER];
    char retries[TEXT_NUMBER], runs[TABLE_CELL] = "yes", card[TEXT_NUMBER + 2] = "-";
    if (f != NULL && f->smallest_bytes > 0)
        snprintf(card, sizeof card, "%s%s", tune_is_lower_bound(s->tune) ? ">=" : "",
                 text_card(f->smallest_bytes, bytes));
    if (!t->fits)
        snprintf(runs, sizeof runs, "no: stops at %s", event_text(s, t->stopped_at, where));
    terminal_table_add(rows, (const char *const[TRIAL_COLUMNS]){
                                 what, text_mib(t->peak_reserved_bytes, reserved), text_count(t->retries, retries),
                                 text_count(t->device_calls, calls), text_time(t->device_time_ns, time), card, runs });
}

static enum err print_trials(FILE *out, const struct tune_answer *s)
{
    const struct tune *t = s->tune;
    struct terminal_table rows = { .columns = trial_columns, .n_columns = TRIAL_COLUMNS,
                                   .bold_row = tune_recommends(t) ? 1 : 0 };
    add_trial(&rows, s, t->is_baseline_recorded ? "recorded" : "defaults", &t->baseline.trial,
              t->n_finalists > 0 ? &t->finalists[t->n_finalists] : NULL);
    if (t->advice != TUNE_NOTHING)
        add_trial(&rows, s, tune_recommends(t) ? "recommended" : "best found", &t->entries[t->winner].trial,
                  tune_finalist_of(t, t->winner));
    const enum err e = terminal_table_print(out, &rows, s->columns);
    if (t->n_finalists > 0) {
        char text[256];
        device_say_smallest(s->device, text, sizeof text);
        text_put_line(out, text, 2);
    }
    fprintf(out, "\n");
    return e;
}

static void words_add_holes(struct words *w, const struct holes *h)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    for (size_t i = 0; i < h->n_kinds && i < 3; i++) {
        const struct hole_kind *k = &h->kinds[i];
        words_add(w, "%s%" PRIu64 " hole%s of %s next to %s of %s", i == 0 ? ": " : ", ", k->n, k->n == 1 ? "" : "s",
                  text_mib(k->hole_bytes, a), k->n == 1 ? "a live block" : "live blocks", text_mib(k->pin_bytes, b));
    }
    words_add(w, "%s. ", h->n_kinds > 3 ? ", and smaller ones" : "");
}

/* How each of the settings works. Source: PyTorch, docs/source/notes/cuda.md, and c10/cuda/CUDACachingAllocator.cpp. */
static void words_add_mechanism(struct words *w, const struct settings *s)
{
    if (s->expandable)
        words_add(w, "expandable_segments keeps blocks in ranges that grow by pages, so neighbouring holes join and "
                     "whole free pages can be given back. ");
    if (s->max_split_mib > 0)
        words_add(w, "max_split_size_mb leaves blocks of %" PRIu32 " MiB and more whole: smaller requests go to other "
                     "segments. ", s->max_split_mib);
    if (s->non_split_mib > 0)
        words_add(w, "max_non_split_rounding_mb lets a whole block serve requests up to %" PRIu32 " MiB smaller. ",
                  s->non_split_mib);
    if (s->roundup[0] != '\0')
        words_add(w, "roundup_power2_divisions rounds sizes, so that a freed block fits a later request of nearly the "
                     "same size. ");
    if (s->large_segment_mib > 0)
        words_add(w, "large_segment_size_mb puts requests of 1 to 10 MiB together in segments of %" PRIu32 " MiB. ",
                  s->large_segment_mib);
    if (s->gc_percent > 0)
        words_add(w, "garbage_collection_threshold gives the oldest cached segments back above %u%% of a limit of %u%% "
                     "of the card. ", s->gc_percent, s->fraction_percent);
}

/* The winner as a finalist. */
static const struct tune_finalist *winner_on_copies(const struct tune *t)
{
    const struct tune_finalist *f = tune_finalist_of(t, t->winner);
    assert(f != NULL);
    return f;
}

/* What a finalist gains over another on the recording: a smaller card, or driver time on the smallest. */
static void words_add_gain(struct words *w, const struct tune *t, const struct tune_finalist *now,
                           const struct tune_finalist *was)
{
    const char *at_least = tune_is_lower_bound(t) ? "at least " : "";
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    if (was->smallest_bytes == 0)
        words_add(w, "runs on a card of %s%s, and the other on none that was tried", at_least,
                  text_card(now->smallest_bytes, a));
    else if (now->smallest_bytes != was->smallest_bytes)
        words_add(w, "runs on a card of %s%s instead of %s", at_least, text_card(now->smallest_bytes, a),
                  text_card(was->smallest_bytes, b));
    else
        words_add(w, "takes %s of driver time on its smallest card instead of %s", text_time(now->time_ns, a),
                  text_time(was->time_ns, b));
}

/* The moment that the reason is of: where the baseline is refused a request, or else its peak. */
static void words_add_moment(struct words *w, const struct tune_answer *s)
{
    const struct tune *t = s->tune;
    const struct trial *b = &t->baseline.trial;
    char a[TEXT_NUMBER], c[TEXT_NUMBER], d[TEXT_NUMBER], where[TEXT_NUMBER];
    if (b->fits)
        words_add(w, "at its peak (%s reserved, %s) the %s setting has ", text_mib(b->peak_reserved_bytes, a),
                  event_text(s, (int64_t)t->holes_event - 1, where), baseline_name(t));
    else
        words_add(w, "at %s the %s setting refuses %s, with %s reserved and %s free on the card. It then has ",
                  event_text(s, b->stopped_at, where), baseline_name(t), text_mib(b->refused_bytes, a),
                  text_mib(b->refused_reserved_bytes, c), text_mib(b->refused_free_bytes, d));
}

/* Only if fewer bytes are pinned with the winner. */
static void words_add_pinned(struct words *w, const struct tune_answer *s)
{
    const struct tune *t = s->tune;
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    words_add_moment(w, s);
    words_add(w, "%s of free memory in segments that cannot be given back, because live blocks lie in them",
              text_mib(t->holes_before.pinned_bytes, a));
    words_add_holes(w, &t->holes_before);
    words_add(w, "With the recommended setting %s of %s reserved are pinned in this way at the same moment",
              text_mib(t->holes_after.pinned_bytes, a), text_mib(t->holes_after.reserved_bytes, b));
    words_add_holes(w, &t->holes_after);
}

static bool needs_less(const struct tune_finalist *a, const struct tune_finalist *b)
{
    if (a->smallest_bytes != b->smallest_bytes)
        return a->smallest_bytes > 0 && (b->smallest_bytes == 0 || a->smallest_bytes < b->smallest_bytes);
    return a->time_ns < b->time_ns;
}

/* The first reason in which the winner improves on the baseline. */
static void print_why(FILE *out, const struct tune_answer *s)
{
    const struct tune *t = s->tune;
    const struct tune_finalist *now = winner_on_copies(t), *was = &t->finalists[t->n_finalists];
    struct words w = { .n = 0 };
    words_add(&w, "Why: ");
    if (t->holes_after.pinned_bytes < t->holes_before.pinned_bytes) {
        words_add_pinned(&w, s);
    } else if (needs_less(now, was)) {
        words_add(&w, "it ");
        words_add_gain(&w, t, now, was);
        words_add(&w, ". ");
    } else if (now->runs > was->runs) {
        words_add(&w, "it runs in %u of %zu changed copies, and the %s setting in %u. ", now->runs, t->n_copies,
                  baseline_name(t), was->runs);
    }
    words_add_mechanism(&w, &t->entries[t->winner].settings);
    words_print(out, &w, 0, 2);
}

/* What has a lower peak than the winner on the recording, and what came of it. */
static void words_add_first(struct words *w, const struct tune *t)
{
    const struct tune_entry *first = &t->entries[0];
    const struct tune_finalist *f = &t->finalists[0];
    char reserved[TEXT_NUMBER], card[TEXT_NUMBER];
    const uint64_t peak = t->entries[t->winner].trial.peak_reserved_bytes;
    if (add_capped(first->trial.peak_reserved_bytes, t->least_gain_bytes) >= peak)
        return;
    words_add(w, " By its peak on this card alone, ");
    words_add_settings(w, t, &first->settings);
    words_add(w, " would come first, with %s; ", text_mib(first->trial.peak_reserved_bytes, reserved));
    if (f->smallest_bytes > winner_on_copies(t)->smallest_bytes)
        words_add(w, "but its smallest card is %s; ", text_card(f->smallest_bytes, card));
    words_add(w, "of the copies it runs in %u and is better than the %s setting in %u.", f->runs, baseline_name(t),
              f->beats);
}

/* Why a simple setting that `fit` prefers is not the winner. */
static void words_add_rival(struct words *w, const struct tune *t)
{
    const struct tune_finalist *winner = winner_on_copies(t);
    if (t->rival == SIZE_MAX)
        return;
    const struct tune_finalist *f = &t->finalists[t->rival];
    words_add(w, " Of this recording alone ");
    words_add_settings(w, t, &t->entries[f->entry].settings);
    words_add(w, " ");
    words_add_gain(w, t, f, winner);
    if (f->runs_filled < winner->runs_filled)
        words_add(w, ", but runs out of memory if the cut step goes on.");
    else if (f->runs < winner->runs)
        words_add(w, ", but runs out of memory in %zu of the copies.", t->n_copies - f->runs);
    else
        words_add(w, ", but is better than the %s setting in only %u of the copies.", baseline_name(t), f->beats);
}

/* On how many copies the winner runs, is better than the baseline, and is best. */
static void print_copies(FILE *out, const struct tune *t)
{
    const struct tune_finalist *winner = winner_on_copies(t);
    unsigned wins = 0, repeated = 0;
    struct words w = { .n = 0 };
    assert(t->n_copies > 0 && winner->runs <= t->n_copies && winner->beats <= winner->runs);
    for (size_t i = 0; i < t->n_copies; i++) {
        wins += t->copies[i].wins;
        repeated += t->copies[i].rounds > 1;
    }
    words_add(&w, "Tried on %zu changed copies of the trace (sizes +-%d%%, equal ones alike, %u of them twice in a "
                  "row; seeds %" PRIu64 " to %" PRIu64 "): ", t->n_copies, TUNE_PERCENT, repeated, t->copies[0].seed,
              t->copies[t->n_copies - 1].seed);
    words_add_winner(&w, t);
    words_add(&w, " runs in %u and is better than the %s setting in %u", winner->runs, baseline_name(t), winner->beats);
    if (wins > 0)
        words_add(&w, ", in %u the best of all %zu finalists", wins, t->n_finalists);
    words_add(&w, ".");
    words_add_first(&w, t);
    words_add_rival(&w, t);
    words_print(out, &w, 0, 2);
}

static void print_bounds(FILE *out, const struct tune_answer *s)
{
    const struct tune *t = s->tune;
    const struct trial *best = &t->entries[t->winner].trial;
    const bool is_compared = best->fits && best->peak_reserved_bytes >= t->bounds.live_bytes;
    struct words name = { .n = 0 }, w = { .n = 0 };
    words_add_winner(&name, t);
    words_add_possible(&w, t->bounds.live_bytes, trace_info(s->trace)->peak_requested_bytes, t->bounds.plan_bytes,
                       is_compared ? name.text : NULL, best->peak_reserved_bytes);
    words_print(out, &w, 0, 2);
}

static void print_smallest_cards(FILE *out, const struct tune_answer *s)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    const struct tune *t = s->tune;
    const char *at_least = tune_is_lower_bound(t) ? "at least " : "";
    for (size_t i = 0; i < t->n_fits; i++) {
        const struct fit *f = &t->fits[i];
        struct words line = { .n = 0 };
        const uint64_t total = s->device->config.total_bytes;
        words_add(&line, "- ");
        words_add_settings(&line, t, &t->entries[t->fit_entries[i]].settings);
        if (f->smallest_bytes == 0)
            words_add(&line, ": none found");
        else if (f->smallest_bytes > total)
            words_add(&line, ": %s%s, %s more", at_least, text_card(f->smallest_bytes, a),
                      text_mib(f->smallest_bytes - total, b));
        else
            words_add(&line, ": %s, although not on this larger one", text_card(f->smallest_bytes, a));
        words_print(out, &line, 0, 2);
    }
}

static void print_nothing_helps(FILE *out, const struct tune_answer *s)
{
    const struct tune *t = s->tune;
    const struct tune_entry *best = &t->entries[0];
    char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER], d[TEXT_NUMBER], where[TEXT_NUMBER];
    struct words w = { .n = 0 };
    if (t->bounds.live_bytes > t->usable_bytes) {
        words_add(&w, "Live data alone peaks at %s (%s), %s more than the %s that the card has for it: no allocator "
                      "setting can fix this.", text_mib(t->bounds.live_bytes, a),
                  event_text(s, t->bounds.live_event, where), text_mib(t->bounds.live_bytes - t->usable_bytes, b),
                  text_mib(t->usable_bytes, c));
        words_print(out, &w, 0, 2);
        return;
    }
    words_add(&w, "Nothing found: all %zu settings tried run out of memory on this card. The one that gets farthest, ",
              t->n_entries);
    words_add_settings(&w, t, &best->settings);
    words_add(&w, ", stops at %s: it refuses %s with %s reserved and %s free on the card. Live data alone would fit "
                  "with %s to spare; the rest is lost to fragmentation. Smallest cards:",
              event_text(s, best->trial.stopped_at, where), text_mib(best->trial.refused_bytes, a),
              text_mib(best->trial.refused_reserved_bytes, b), text_mib(best->trial.refused_free_bytes, c),
              text_mib(t->usable_bytes - t->bounds.live_bytes, d));
    words_print(out, &w, 0, 2);
    print_smallest_cards(out, s);
}

/* If the copies refute the winner: what it gains on this recording, and that it cannot be relied on. */
static void print_best_here(FILE *out, const struct tune *t)
{
    struct words w = { .n = 0 };
    words_add(&w, "No setting tried would also help another run. The best one helps this recording only: ");
    words_add_settings(&w, t, &t->entries[t->winner].settings);
    words_add(&w, ". It ");
    words_add_gain(&w, t, winner_on_copies(t), &t->finalists[t->n_finalists]);
    words_add(&w, ", but is better than the %s setting in only %u of %zu changed copies.", baseline_name(t),
              winner_on_copies(t)->beats, t->n_copies);
    words_print(out, &w, 0, 2);
}

static void words_add_caution(struct words *w, const struct tune *t)
{
    words_add(w, "it saves this recording, but runs out of memory in %zu of %zu changed copies of it. Another run may "
                 "run out of memory too. A larger card, or a program that needs less, is safer.",
              t->n_copies - winner_on_copies(t)->runs, t->n_copies);
}

static void print_caution(FILE *out, const struct tune *t)
{
    struct words w = { .n = 0 };
    words_add(&w, "Caution: ");
    words_add_caution(&w, t);
    words_print(out, &w, 0, 2);
}

static void print_nothing(FILE *out, const struct tune *t)
{
    char gain[TEXT_NUMBER];
    struct words w = { .n = 0 };
    if (t->first.is_cut || (!t->is_judged && !coverage_has_whole_step(&t->coverage)))
        words_add(&w, "No setting is recommended, because no whole step is on record.");
    else if (!t->is_judged)
        words_add(&w, "No setting is recommended, because the step that was cut is unlike the whole ones before it.");
    else if (!winner_on_copies(t)->runs_filled)
        words_add(&w, "No setting is recommended, because the step that was cut runs out of memory under each of them "
                      "if it goes on.");
    else
        words_add(&w, "Leave it as it is: no setting tried is better than the %s one by %d%% of %s (%s).",
                  baseline_name(t), 100 / WINNER_MARGIN_SHARE,
                  t->usable_bytes == DEVICE_UNLIMITED ? "what it takes" : "the card",
                  text_mib(t->least_gain_bytes, gain));
    words_print(out, &w, 0, 2);
}

/* The command that runs the program with the setting, or to its end, without a GPU. */
static void print_how_to_find_out(FILE *out, const struct tune *t)
{
    if (tune_may_serve(t))
        fprintf(out, "To find out:\n\n  replay run-sim --device sim:%" PRIu64 "MiB -- python YOUR_PROGRAM\n",
                t->usable_bytes >> 20);
    else
        fprintf(out, "What it needs in all, without a GPU:\n\n  replay predict --device %" PRIu64
                     "MiB -- python YOUR_PROGRAM\n", t->usable_bytes >> 20);
}

/* For how long the winner lasts. */
static void print_lasting(FILE *out, const struct tune *t)
{
    struct words w = { .n = 0 };
    if (t->pattern.turns == 0)
        return;
    pattern_say(&w, &t->pattern, winner_on_copies(t)->lasted);
    words_print(out, &w, 0, 2);
    fprintf(out, "\n");
}

/* A setting that serves the refused request, and why it is not recommended all the same. */
static void print_not_recommended(FILE *out, const struct tune *t, const char *why, const char *then)
{
    struct words w = { .n = 0 };
    words_add(&w, "No setting is recommended, because %s. ", why);
    words_add_settings(&w, t, &t->entries[t->winner].settings);
    words_add(&w, " serves the refused request%s", then);
    words_print(out, &w, 0, 2);
}

static void print_served(FILE *out, const struct tune *t)
{
    if (!tune_may_serve(t)) {
        print_not_recommended(out, t, "the first step was cut",
                              ". Whether the program gets through a step with it is not known.");
        return;
    }
    fprintf(out, TUNE_SERVED_WORDS ":\n\n");
    print_lines_to_paste(out, t);
    print_lasting(out, t);
}

/* The answer: what to set for the next run, if anything. It comes before the figures. */
static void print_advice(FILE *out, const struct tune *t)
{
    switch (t->advice) {
    case TUNE_NOTHING:
        print_nothing(out, t);
        break;
    case TUNE_SERVES_REFUSED:
        print_served(out, t);
        print_how_to_find_out(out, t);
        break;
    case TUNE_DELAYS_LEAK:
        print_not_recommended(out, t, "none cures a leak", ", which only delays the end.");    /* it is told before */
        break;
    case TUNE_HERE_ONLY:
        print_best_here(out, t);
        break;
    case TUNE_WITH_CAUTION:
        fprintf(out, "Recommended, with caution:\n\n");
        print_lines_to_paste(out, t);
        print_lasting(out, t);
        print_caution(out, t);
        break;
    case TUNE_RECOMMENDED:
        fprintf(out, "Recommended:\n\n");
        print_lines_to_paste(out, t);
        print_lasting(out, t);
        return;
    }
    fprintf(out, "\n");
}

/* What of the card the context takes. */
static void print_context(FILE *out, const struct device_choice *d)
{
    char text[320];
    device_say_context(d, text, sizeof text);
    if (text[0] != '\0')
        text_put_line(out, text, 2);
    device_say_shared(d->has_total && d->config.model != NULL ? d->config.model->name : NULL, text, sizeof text);
    if (text[0] != '\0') {
        struct words w = { .n = 0 };
        words_add(&w, "%s", text);
        words_print(out, &w, 0, 2);
    }
}

/* The answer that is filled in stands by itself: none of it was recorded. */
static void print_filled(FILE *out, const struct tune *t)
{
    char name[TEXT_NUMBER];
    const char *const whose = name;
    struct words w = { .n = 0 }, setting = { .n = 0 };
    if (!t->filled.is_known)
        return;
    snprintf(name, sizeof name, "the %s setting", baseline_name(t));
    words_add_winner(&setting, t);
    filled_step_say(&w, &t->filled, &whose, 1, steps_leak(&t->coverage.steps),
                    t->filled.has_setting ? setting.text : NULL);
    words_print(out, &w, 0, 2);
}

static void print_engine(FILE *out, const struct trace_reader *trace)
{
    struct words w = { .n = 0 };
    const char *engine = recorded_spread_engine(trace);
    if (engine != NULL)
        words_add(&w, "expandable_segments:True is left out for %s: %s.", engine, SPREAD_ENGINE_WHY);
    if (w.n > 0)
        words_print(out, &w, 0, 2);
}

static void print_driver(FILE *out, const struct trace_reader *trace)
{
    struct words w = { .n = 0 };
    if (!recorded_from_driver(trace))
        return;
    words_add(&w, RECORDED_DRIVER_WORDS);
    words_print(out, &w, 0, 2);
    fprintf(out, "\n");
}

enum err tune_answer_print(FILE *out, const struct tune_answer *s)
{
    char device[HEADLINE_TEXT + sizeof "Device: "], release[PYTORCH_RULES_TITLE];
    const struct tune *t = s->tune;
    assert(t->n_entries > 0 && t->winner < t->n_entries);
    const bool runs = t->entries[0].trial.fits;
    snprintf(device, sizeof device, "Device: %s", s->device->headline);
    text_put_line(out, device, 8);
    print_context(out, s->device);
    fprintf(out, "Settings of %s; %zu tried.\n\n", pytorch_rules_title(&t->rules, release), t->n_entries);
    print_engine(out, s->trace);
    print_driver(out, s->trace);
    coverage_print(out, &t->coverage);
    fresh_start_print(out, s->trace);
    first_step_print(out, &t->first);
    growth_warning_print(out, &t->leak);
    if (runs) {
        print_advice(out, t);
    } else {
        print_nothing_helps(out, s);
        fprintf(out, "\n");
    }
    const enum err e = print_trials(out, s);
    if (tune_recommends(t))
        print_why(out, s);
    print_filled(out, t);
    print_bounds(out, s);
    if (runs)
        print_copies(out, t);
    return e;
}

/* ---- JSON ---- */

/* A setting with what it is shown by. */
struct tried {
    const struct tune_answer *answer;
    const struct trial       *trial;
};

struct shown_setting {
    const struct tune_answer *answer;
    const struct tune_entry  *entry;
    bool has_card;                           /* its smallest card is shown: */
    const struct tune_finalist *finalist;    /* NULL: it was not looked for */
};

/* 0: it was not looked for or not found. */
static uint64_t smallest_card(const struct tune_finalist *f)
{
    return f != NULL ? f->smallest_bytes : 0;
}

static const struct tune_finalist *baseline_finalist(const struct tune *t)
{
    return t->n_finalists > 0 ? &t->finalists[t->n_finalists] : NULL;
}

static const struct shown_setting *winner_shown(const struct tune_answer *s, struct shown_setting *out)
{
    const struct tune *t = s->tune;
    *out = (struct shown_setting){ s, &t->entries[t->winner], true, winner_on_copies(t) };
    return out;
}

/* NULL: there is none. */
static const char *caution_text(const struct tune *t, struct words *w)
{
    if (t->advice == TUNE_WITH_CAUTION)
        words_add_caution(w, t);
    return w->n > 0 ? w->text : NULL;
}

static void trial_json(struct json_writer *json, const struct tried *t)
{
#define ANSWER_TABLE "answers/trial.def"
#include "answers/as_json.def"
}

static void setting_json(struct json_writer *json, const struct shown_setting *e)
{
#define ANSWER_TABLE "answers/setting.def"
#include "answers/as_json.def"
}

static void pinned_json(struct json_writer *json, const struct holes *h)
{
#define ANSWER_TABLE "answers/pinned.def"
#include "answers/as_json.def"
}

void tune_answer_write_json(FILE *out, const struct tune_answer *s)
{
    const struct tune *t = s->tune;
#define ANSWER_TABLE "answers/tune.def"
#include "answers/as_json.def"
}
