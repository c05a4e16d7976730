/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Chooses the settings and the release to compare with: as recorded, or by trial if the record leaves them open.
 *
 *     for each release that shares the recording's layout          verify_versions, until one is equal in all
 *         following, running free                                  verify_once
 *         memory limits, if garbage collection was set             verify_with_limits, by bisection
 *     card sizes, if expandable segments differ                    verify_with_totals
 *     Ascend's port, if something still differs                    verify_profiles
 */
#include "replay/recording/verify.h"

#include "base/units.h"
#include "policies/pytorch/pytorch_rules.h"
#include "replay/recording/recorded_settings.h"
#include "replay/recording/verify_scene.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool verify_is_equal(const struct verify_report *r)
{
    return !r->following.has_difference && !r->free_running.has_difference;
}

/* How many decisions are as recorded: to choose among releases. */
static uint64_t report_score(const struct verify_report *r)
{
    return r->following.placements.equal + r->following.segments.equal + r->free_running.placements.equal +
           r->free_running.segments.equal;
}

static void report_infer(struct verify_report *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Adds to what was inferred. */
static void report_infer(struct verify_report *r, const char *fmt, ...)
{
    const size_t n = strlen(r->inferred);
    va_list args;
    snprintf(r->inferred + n, sizeof r->inferred - n, n > 0 ? "; " : "");
    va_start(args, fmt);
    vsnprintf(r->inferred + strlen(r->inferred), sizeof r->inferred - strlen(r->inferred), fmt, args);
    va_end(args);
}

/* Searches the memory limit of a recording with garbage collection, by bisection. No record holds that limit. It lies
 * between the recorded peak and the peak divided by the threshold: above that, garbage collection would never have
 * acted. If the policy frees a segment that the record kept, the limit on trial is too low; any other difference means
 * too high. Keeps the first pass without a difference, if there is one. */
static enum err verify_with_limits(const struct scene *s, const struct setting *t, struct verify_report *out,
                                   struct err_detail *err)
{
    const char *text = trace_meta(s->trace, "garbage_collection_threshold");
    const double threshold = text == NULL ? 0 : strtod(text, NULL);
    if (!(threshold > 0 && threshold < 1) || t->is_total_given)
        return ERR_OK;
    uint64_t low = s->info->recorded_peak_reserved_bytes, high = (uint64_t)((double)low / threshold) + 1;
    struct setting trial = *t;
    while (low < high) {                         /* at most 64 times; some 35 for a card's memory */
        struct verify_pass pass = {.first_unknowable = out->following.first_unknowable};
        bool collected_too_much;
        trial.limit_bytes = low + (high - low) / 2;
        const enum err e = verify_running_free(s, &trial, &pass, &collected_too_much, err);
        if (e != ERR_OK)
            return e;
        if (!pass.has_difference) {
            char limit[UNITS_TEXT];
            out->free_running = pass;
            out->limit_bytes = trial.limit_bytes;
            report_infer(out, "a memory limit of about %s: garbage collection then acts when it did in the recording",
                         units_format_bytes(trial.limit_bytes, limit));
            return ERR_OK;
        }
        if (collected_too_much)
            low = trial.limit_bytes + 1;
        else
            high = trial.limit_bytes;
    }
    return ERR_OK;
}

/* Runs both passes with one release and one card size. */
static enum err verify_once(const struct scene *s, const struct setting *t, struct verify_report *out,
                            struct err_detail *err)
{
    *out = (struct verify_report){0};
    snprintf(out->version, sizeof out->version, "%s", t->version);
    snprintf(out->settings, sizeof out->settings, "%s", t->policy->typed);
    bool collected_too_much;
    out->following.first_unknowable = UINT64_MAX;
    enum err e = verify_following(s, t, &out->following, err);
    out->free_running.first_unknowable = out->following.first_unknowable;
    if (e == ERR_OK)
        e = verify_running_free(s, t, &out->free_running, &collected_too_much, err);
    return e == ERR_OK && out->free_running.has_difference ? verify_with_limits(s, t, out, err) : e;
}

/* Whether the record shows expandable segments, which reserve address ranges by the size of the card. */
static bool scene_has_ranges(const struct scene *s)
{
    for (size_t i = 0; i < s->n_segments; i++)
        if (s->segments[i].kind == TRACE_SEGMENT_MAP)
            return true;
    return false;
}

/* The i-th card size to try: from 1 GiB to the largest card's in steps of 1 GiB, then the named cards; 0 after the
 * last. */
static uint64_t total_to_try(size_t i)
{
    uint64_t largest = 0;
    const struct device_model *card;
    for (size_t k = 0; (card = card_at(k)) != NULL; k++)
        largest = card->total_bytes;                 /* they ascend */
    const size_t n_whole = (size_t)(align_up(largest, GIB) / GIB);
    card = i < n_whole ? NULL : device_model_at(i - n_whole);
    return i < n_whole ? (i + 1) * GIB : card == NULL ? 0 : card->total_bytes;
}

/* If expandable segments differ and the size of the card is unknown, tries sizes until one gives no difference. */
static enum err verify_with_totals(struct scene *s, const struct setting *t, struct verify_report *out,
                                   struct err_detail *err)
{
    struct setting trial = *t;
    if (t->total_bytes != 0 || verify_is_equal(out) || !scene_has_ranges(s))
        return ERR_OK;
    trial.version = out->version;
    for (size_t i = 0; (trial.total_bytes = total_to_try(i)) != 0; i++) {
        struct verify_report r;
        char total[UNITS_TEXT];
        if (trial.total_bytes < s->room_bytes)
            continue;
        enum err e = scene_mark_reservations(s, trial.total_bytes);
        if (e == ERR_OK)
            e = verify_once(s, &trial, &r, err);
        if (e != ERR_OK)
            return e;
        if (!verify_is_equal(&r))
            continue;
        *out = r;
        report_infer(out, "a card of %s, by which expandable segments reserve addresses",
                     units_format_bytes(trial.total_bytes, total));
        return ERR_OK;
    }
    return scene_mark_reservations(s, t->total_bytes);
}

/* Lists the releases to try, the newest first: the one that was asked for; or those that share the recording's layout;
 * or all, if the layout is unknown. Returns how many. */
static size_t versions_to_try(const struct scene *s, const struct policy_spec *policy, const char **out)
{
    const struct option_value *version = &policy->values[verify_option_index(policy->ops, "version")];
    const char *layout = version->is_given ? version->text : trace_meta(s->trace, TRACE_META_RELEASE);
    struct pytorch_rules profile;
    size_t n = 0;
    if (layout == NULL || !pytorch_rules_find(layout, &profile)) {
        for (int r = TORCH_RELEASES; r-- > 0;)
            out[n++] = torch_release_name((enum torch_release)r);
        return n;
    }
    out[n++] = pytorch_rules_name(&profile);
    const unsigned first = torch_release_first_alike(profile.release);
    for (unsigned r = profile.release; !version->is_given && r > first; r--)
        out[n++] = torch_release_name((enum torch_release)(r - 1));
    return n;
}

/* Whether no other release can agree with more of the record. */
static bool report_is_best(const struct verify_report *r)
{
    return verify_is_equal(r) && r->following.is_done && r->free_running.is_done &&
           r->following.placements.unknowable == 0 && r->free_running.placements.unknowable == 0;
}

/* Tries releases and keeps the report of the one that agrees with most of the record. A release that does not know a
 * recorded setting did not make the record. */
static enum err verify_versions(const struct scene *s, struct setting *t, const char *const *versions, size_t n,
                                struct verify_report *out, struct err_detail *err)
{
    for (size_t i = 0; i < n && !(i > 0 && report_is_best(out)); i++) {
        struct verify_report r;
        struct err_detail reason = {.text = ""};
        t->version = versions[i];
        const enum err e = verify_once(s, t, &r, &reason);
        if (e == ERR_USAGE && i > 0)
            continue;
        if (e != ERR_OK) {
            *err = reason;
            return e;
        }
        if (out->version[0] == '\0' || report_score(&r) > report_score(out))
            *out = r;
    }
    return ERR_OK;
}

/* Verifies with the releases of the recording's layout. If something differs with all of them, tries Ascend's port of
 * PyTorch, which has the same layout. */
static enum err verify_profiles(struct scene *s, const struct verify_options *o, const struct policy_spec *policy,
                                struct verify_report *out, struct err_detail *err)
{
    static const char *const other[] = {"npu"};
    const char *versions[TORCH_RELEASES];
    const size_t n = versions_to_try(s, policy, versions);
    const bool is_given = policy->values[verify_option_index(policy->ops, "version")].is_given;
    struct setting t = {.policy = policy, .total_bytes = s->total_bytes, .is_total_given = o->total_bytes != 0};
    *out = (struct verify_report){0};
    enum err e = verify_versions(s, &t, versions, n, out, err);
    if (e == ERR_OK && n > 1)
        report_infer(out, "the release, among %zu whose recordings look alike: %s matches %s of the record",
                     n, out->version, verify_is_equal(out) ? "all" : "most");
    if (e == ERR_OK)
        e = verify_with_totals(s, &t, out, err);
    if (e == ERR_OK && !is_given && !verify_is_equal(out) && strcmp(out->version, other[0]) != 0) {
        struct err_detail refused;       /* a port that does not know a recorded setting did not make the record */
        e = verify_versions(s, &t, other, 1, out, &refused);
        e = e == ERR_USAGE ? ERR_OK : e;
        if (e == ERR_OK && strcmp(out->version, other[0]) == 0)
            report_infer(out, "the rules of npu, which match more of the record than PyTorch's own");
    }
    return e;
}

enum err verify_trace(struct trace_reader *in, const struct verify_options *o, struct verify_report *out,
                      struct err_detail *err)
{
    struct scene s = {0};
    struct policy_spec recorded = {0};
    enum err e = o->policy == NULL ? recorded_policy(in, &recorded, err) : ERR_OK;
    const struct policy_spec *policy = o->policy == NULL ? &recorded : o->policy;
    if (e == ERR_OK && recorded_from_driver(in))
        e = err_set(err, ERR_USAGE, 0, "the recording holds calls to the driver, not what PyTorch's allocator decided; "
                    "one by record --torch, run-sim -o or PyTorch itself does");
    if (e == ERR_OK && policy->ops != policy_find("pytorch"))
        e = err_set(err, ERR_USAGE, 0, "only the policy pytorch can be verified, not %s", policy->ops->name);
    if (e == ERR_OK)
        e = scene_open(in, o->total_bytes, &s, err);
    if (e == ERR_OK)
        e = verify_profiles(&s, o, policy, out, err);
    scene_close(&s);
    policy_spec_close(&recorded);
    return e;
}

enum err verify_choose_release(struct trace_reader *in, const char **out, struct err_detail *err)
{
    struct scene s = {0};
    struct policy_spec policy = {0};
    const char *versions[TORCH_RELEASES];
    enum err e = recorded_policy(in, &policy, err);
    if (e == ERR_OK)
        e = scene_open(in, 0, &s, err);
    const size_t n = e == ERR_OK ? versions_to_try(&s, &policy, versions) : 0;
    struct setting t = {.policy = &policy, .total_bytes = s.total_bytes};
    struct verify_report best = {0};
    if (e == ERR_OK && n > 1)
        e = verify_versions(&s, &t, versions, n, &best, err);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        if (strcmp(best.version, versions[i]) == 0)
            *out = versions[i];
    scene_close(&s);
    policy_spec_close(&policy);
    return e;
}
