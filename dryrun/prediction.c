/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Runs a program for each class of card and each value that the search asks for, and replays the recordings. */
#include "dryrun/prediction.h"

#include "base/array.h"
#include "base/progress.h"
#include "base/temporary_file.h"
#include "base/terminal.h"
#include "base/units.h"
#include "cudasim/core/device_text.h"
#include "dryrun/lasting_setting.h"
#include "dryrun/program_failure.h"
#include "replay/plan/bounds.h"
#include "replay/recording/recorded_release.h"
#include "replay/recording/recorded_settings.h"
#include "report/text/text.h"
#include "sim/card_context.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The memory of an enlarged card. */
#define ENLARGED "16TiB"

/* So many named cards are tried before none is named. One of so many parts of memory is the host's. */
enum { CARDS_TRIED = 3, SHARED_PARTS = 4,
       OTHER_WITHIN_S = 120 };       /* for a run with other numbers: a loop on one of them may be long */

/* ---- the request ---- */

static enum err read_range(struct prediction *p, const char *text, struct err_detail *err)
{
    const enum err e = named_range_read(text, p->name, &p->range, err);
    if (e != ERR_OK)
        return e;
    p->range.step = p->range.step == 0 ? 1 : p->range.step;
    p->has_range = true;
    for (size_t i = 0; i < p->asked.n_words; i++) {
        const char *at = strchr(p->asked.program[i], '{');
        if (at != NULL && strncmp(at + 1, p->name, strlen(p->name)) == 0 && at[1 + strlen(p->name)] == '}')
            return ERR_OK;
    }
    return err_set(err, ERR_USAGE, 0, "--range: {%s} stands nowhere in the program's arguments; write it where the "
                   "value goes, as in --batch {%s}", p->name, p->name);
}

/* As large as the largest named card: where nobody names one, the program should find all the memory that it may
 * want. */
static void choose_default_card(struct prediction *p)
{
    const struct device_model *m;
    uint64_t bytes = 0;
    for (size_t i = 0; (m = device_model_at(i)) != NULL; i++)
        bytes = m->total_bytes > bytes ? m->total_bytes : bytes;
    snprintf(p->default_card, sizeof p->default_card, "%" PRIu64 "GiB", bytes / GIB);
}

/* One of the cards that a text names: "24GiB,count=2" is two of "24GiB". Returns how many; 0: the number is wrong, or
 * the text is too long. */
static int card_alone(const char *card, char out[static CARD_BYTES])
{
    const bool is_short = strlen(card) < CARD_BYTES / 2;
    snprintf(out, CARD_BYTES, "%.*s", CARD_BYTES - 1, card);
    return is_short ? cudasim_take_count(out) : 0;
}

/* A card as typed, with its memory. */
static enum err check_card(const char *card, struct err_detail *err)
{
    struct device_config cfg;
    const struct device_ops *ops;
    bool has_total;
    char alone[CARD_BYTES];
    if (card_alone(card, alone) == 0)
        return err_set(err, ERR_USAGE, 0, "--device '%s': count= is a number from 1 to %d", card, CUDASIM_COUNT_MAX);
    const enum err e = device_parse(alone, &cfg, &ops, &has_total, err);
    if (e == ERR_OK && (!has_total || cfg.total_bytes == DEVICE_UNLIMITED))
        return err_set(err, ERR_USAGE, 0, "--device '%s': name a card with its memory, as 24GiB or h100-80g", card);
    return e;
}

static enum err make_rows(struct prediction *p, struct err_detail *err)
{
    const struct prediction_request *r = &p->asked;
    const size_t n_cards = r->n_cards > 0 ? r->n_cards : 1, n_policies = r->n_policies > 0 ? r->n_policies : 1;
    choose_default_card(p);
    p->rows = calloc(n_cards * n_policies + 1, sizeof *p->rows);       /* and one that is found */
    p->devices = calloc(n_cards, sizeof *p->devices);
    if (p->rows == NULL || p->devices == NULL)
        return err_no_memory(err);
    for (size_t c = 0; c < n_cards; c++) {
        struct predicted_row row = { .card = r->n_cards > 0 ? r->cards[c] : p->default_card,
                                     .device = p->devices[c] };
        row.sold = r->n_cards > 0 ? card_meant(row.card, p->devices[c]) : NULL;
        if (r->n_cards == 0)
            snprintf(p->devices[c], CARD_BYTES, "%s", row.card);
        const bool is_short = strlen(row.card) < CARD_BYTES / 2;         /* a name may take more than a size */
        const enum err e = check_card(is_short ? row.device : row.card, err);
        if (e != ERR_OK)
            return e;
        for (size_t i = 0; i < n_policies; i++) {
            row.policy = r->n_policies > 0 ? r->policies[i] : NULL;
            p->rows[p->n_rows++] = row;
        }
    }
    return ERR_OK;
}

/* A setting that cannot be read is refused before the program runs. */
static enum err check_policies(const struct prediction *p, struct err_detail *err)
{
    struct policy_spec spec;
    for (size_t i = 0; i < p->asked.n_policies; i++) {
        const enum err e = policy_spec_parse(p->asked.policies[i], &spec, err);
        if (e != ERR_OK)
            return e;
        policy_spec_close(&spec);
    }
    return ERR_OK;
}

static enum err make_folder(struct prediction *p, struct err_detail *err)
{
    const int reason = scratch_folder_make(temporary_place(), "replay-predict", &p->folder);
    return reason == 0 ? ERR_OK : err_at(err, ERR_IO, 0, temporary_place(), "no folder can be made in it: %s",
                                         strerror(reason));
}

enum err prediction_open(const struct prediction_request *request, struct prediction *p, struct err_detail *err)
{
    *p = (struct prediction){ .asked = *request, .range = { .step = 1 } };
    enum err e = request->range != NULL ? read_range(p, request->range, err) : ERR_OK;
    if (e == ERR_OK)
        e = make_rows(p, err);
    if (e == ERR_OK)
        e = check_policies(p, err);
    if (e == ERR_OK)
        e = overlay_open(request->program, request->without_overlay, &p->overlay, err);
    return e == ERR_OK ? make_folder(p, err) : e;
}

void prediction_close(struct prediction *p)
{
    scratch_folder_remove(&p->folder, "predict");
    overlay_close(&p->overlay);
    predicted_categories_close(p->categories);
    if (p->has_tune)
        tune_close(&p->tune);
    free(p->runs);
    free(p->rows);
    free(p->devices);
}

/* ---- cards ---- */

/* A card's text without "sim:". */
static const char *card_text(const char *card)
{
    return strncmp(card, "sim:", 4) == 0 ? card + 4 : card;
}

/* Zero if the text is no card. */
static struct device_config card_config(const char *card)
{
    struct device_config cfg = { .total_bytes = 0 };
    char alone[CARD_BYTES];
    const struct device_ops *ops;
    struct err_detail err;
    bool has_total;
    card_alone(card, alone);
    return device_parse(alone, &cfg, &ops, &has_total, &err) == ERR_OK ? cfg
                                                                       : (struct device_config){ .total_bytes = 0 };
}

static uint64_t card_bytes(const char *card)
{
    return card_config(card).total_bytes;
}

/* Plain sizes with the same options are of one class; every named card is one of its own. */
static bool is_of_class(const char *a, const char *b)
{
    const char *x = card_text(a), *y = card_text(b);
    const bool are_sizes = card_config(a).model == NULL && card_config(b).model == NULL;
    return are_sizes ? strcmp(x + strcspn(x, ","), y + strcspn(y, ",")) == 0 : strcmp(x, y) == 0;
}

/* Of the cards named, the largest of a class. */
static const char *largest_of_class(const struct prediction *p, const char *card)
{
    const char *largest = card;
    for (size_t i = 0; i < p->n_rows; i++)
        if (is_of_class(p->rows[i].device, card) && card_bytes(p->rows[i].device) > card_bytes(largest))
            largest = p->rows[i].device;
    return largest;
}

/* The card that the program finds, with what context and libraries take of it. An enlarged card stays of its class. */
static void run_device(const struct prediction_run *r, char text[static PATH_MAX])
{
    const char *card = r->device;
    const char *rest = card_text(card);
    const size_t n = strcspn(rest, ",");
    const struct device_config cfg = card_config(card);
    const struct device_model found = device_found(&cfg);
    char alone[CARD_BYTES], class[CAPABILITY_TEXT];
    card_alone(card, alone);
    const struct card_context *context = strstr(card, "context=") == NULL ? card_context_in(alone) : NULL;
    int n_text = snprintf(text, PATH_MAX, "sim:%s", rest);
    if (r->is_enlarged)
        n_text = snprintf(text, PATH_MAX, "sim:%s%s,capability=%s,multiprocessors=%u", r->enlarged_to, rest + n,
                          capability_text(found.capability, class), found.multiprocessors);
    if (context != NULL && n_text > 0 && n_text < PATH_MAX)
        snprintf(text + n_text, PATH_MAX - (size_t)n_text, ",context=%" PRIu64, context->bytes);
}

/* ---- runs ---- */

/* The argument with the value in the place of {NAME}; the caller free()s it. NULL: no memory. */
static char *fill_in(const struct prediction *p, const char *argument, uint64_t value)
{
    char mark[80], number[24];
    snprintf(mark, sizeof mark, "{%s}", p->name);
    snprintf(number, sizeof number, "%" PRIu64, value);
    char *out = calloc(strlen(argument) * sizeof number + 1, 1), *end = out;
    for (const char *at = argument; out != NULL && *at != '\0';)
        if (p->has_range && strncmp(at, mark, strlen(mark)) == 0) {
            strcpy(end, number);
            end += strlen(number);
            at += strlen(mark);
        } else {
            *end++ = *at++;
        }
    return out;
}

static void free_program(char **program, size_t n)
{
    for (size_t i = 0; program != NULL && i < n; i++)
        free(program[i]);
    free(program);
}

static enum err make_program(const struct prediction *p, uint64_t value, char ***out, struct err_detail *err)
{
    const size_t n = p->asked.n_words;
    char **program = calloc(n + 1, sizeof *program);
    for (size_t i = 0; program != NULL && i < n; i++)
        if ((program[i] = fill_in(p, p->asked.program[i], value)) == NULL) {
            free_program(program, n);
            program = NULL;
        }
    *out = program;
    return program != NULL ? ERR_OK : err_no_memory(err);
}

static enum err start_run(struct prediction *p, struct prediction_run *r, struct err_detail *err)
{
    char device[PATH_MAX], title[128];
    char **program;
    run_device(r, device);
    if (p->has_range)
        snprintf(title, sizeof title, "run %zu, %s=%" PRIu64, p->n_runs, p->name, r->value);
    else
        snprintf(title, sizeof title, "run %zu", p->n_runs);
    enum err e = make_program(p, r->value, &program, err);
    if (e != ERR_OK)
        return e;
    const bool are_typed = strstr(device, "workspaces=") != NULL;
    const char *const levels[RUN_LEVELS] = { [RUN_EXPECTED] = "", [RUN_LEAST] = ",workspaces=none",
                                             [RUN_MOST] = ",workspaces=most", [RUN_OTHER] = "",
                                             [RUN_SEARCH] = ",workspaces=most", [RUN_DONATED] = "" };
    if (!are_typed && strlen(device) + strlen(levels[r->level]) < sizeof device)
        strcat(device, levels[r->level]);
    const struct run_request request = {
        .of = p->asked.of,
        .card = { .command = "predict", .program = program[0], .device = device, .torch_libs = p->asked.torch_libs,
                  .values = p->asked.values },
        .program = (const char *const *)program, .title = title, .overlay = &p->overlay, .steps = p->asked.steps,
        .within_s = r->level == RUN_OTHER && p->asked.within_s > OTHER_WITHIN_S ? OTHER_WITHIN_S : p->asked.within_s,
        .level = r->level, .donates = p->jax_donation.program, .are_workspaces_typed = are_typed,
        .interrupted = p->asked.interrupted,
    };
    e = p->n_runs > 1 ? overlay_clear(&p->overlay, err) : ERR_OK;
    if (e == ERR_OK)
        e = predicted_run_make(&request, p->folder.path, &r->made, err);
    free_program(program, p->asked.n_words);
    return e;
}

/* A notebook is text that Python may read without a word, and without effect. */
static bool is_notebook_for_python(const struct prediction *p)
{
    const char *first = p->asked.program[0], *slash = strrchr(first, '/');
    const char *script = p->asked.n_words > 1 ? p->asked.program[1] : "";
    const size_t n = strlen(script), k = strlen(".ipynb");
    return strncmp(slash == NULL ? first : slash + 1, "python", strlen("python")) == 0 && n > k &&
           strcmp(script + n - k, ".ipynb") == 0;
}

static enum err out_of_jax(const struct prediction_run *r, struct err_detail *err)
{
    char peak[UNITS_TEXT], limit[UNITS_TEXT];
    const struct jax_held *held = &r->made.jax;
    return err_set(err, ERR_DEVICE_OOM, 0, "does not fit on %.60s: JAX's allocator ran out of memory, with at most %s "
                   "in use of the %s that it may take there", r->device, units_format_bytes(held->peak_bytes, peak),
                   units_format_bytes(held->limit_bytes, limit));
}

/* A program that ends by itself with an error has shown nothing, unless memory was refused or whole steps went
 * before. */
static enum err check_run(struct prediction *p, const struct prediction_run *r, struct err_detail *err)
{
    const struct predicted_run *run = &r->made;
    char at[96] = "";
    const bool has_shown = run->status == 0 || run->is_refused || run->whole_steps > 0;
    if (run->trace[0] != '\0' && (run->end != RUN_ENDED || has_shown))
        return ERR_OK;
    p->showed_nothing = true;
    program_failure_read(run->log, &p->last_words);
    if (predicted_run_is_out_of_jax(run))
        return out_of_jax(r, err);
    if (run->end == RUN_TOO_LONG)
        return err_set(err, ERR_INPUT, 0, "the program asked for no device memory in %" PRIu64 " s; give it longer: "
                       "--within SECONDS", p->asked.within_s);
    if (p->has_range)
        snprintf(at, sizeof at, " with %s=%" PRIu64, p->name, r->value);
    if (is_notebook_for_python(p))
        return err_set(err, ERR_INPUT, 0, "a notebook is no script: jupyter nbconvert --to script makes one of it");
    if (run->status == 0)
        return err_set(err, ERR_INPUT, 0, "the program asked for no device memory%s; nothing can be predicted", at);
    return err_set(err, ERR_INPUT, 0, "the program ended with status %d%s before its memory was known", run->status,
                   at);
}

/* The run that is looked for. */
struct run_wanted {
    const char *card;
    uint64_t value;
    enum run_level level;
};

/* What a program did that adapts to the card holds for that card alone. An enlarged card is made for one on which it
 * was refused before it could look at the memory there. */
static bool is_run_for(const struct prediction_run *r, const struct run_wanted *w)
{
    const bool is_for_one = predicted_run_adapts(&r->made) && !r->is_enlarged;
    const bool is_for = is_for_one ? strcmp(r->device, w->card) == 0 : is_of_class(r->device, w->card);
    return r->value == w->value && is_for && predicted_run_is_at(&r->made, r->level, w->level);
}

/* The run that there is for a card and a value, of its class; NULL: none that will do. On a larger card a program that
 * looks at the free memory would ask for more: where it was refused, there is no whole one. */
static struct prediction_run *find_run(const struct prediction *p, const struct run_wanted *w, bool is_whole)
{
    for (size_t i = 0; i < p->n_runs; i++) {
        struct prediction_run *r = &p->runs[i];
        const bool is_cut = r->made.is_refused && !r->is_enlarged && r->made.branches.looked_at_memory[0] == '\0';
        if (is_run_for(r, w) && r->made.trace[0] != '\0' && !(is_whole && is_cut))
            return r;
    }
    return NULL;
}

/* Whether the program adapts to cards of this class. */
static bool is_adapting(const struct prediction *p, const char *card, uint64_t value)
{
    bool is_adapting = false;
    for (size_t i = 0; i < p->n_runs; i++)
        is_adapting = is_adapting || (p->runs[i].value == value && is_of_class(p->runs[i].device, card) &&
                                      predicted_run_adapts(&p->runs[i].made));
    return is_adapting;
}

/* The card to run on for an answer about `card`. */
static const char *card_to_run(const struct prediction *p, const char *card, uint64_t value)
{
    return is_adapting(p, card, value) ? card : largest_of_class(p, card);
}

/* Makes the run that is asked for. ERR_INTERRUPTED if the person wants the answer so far. */
static enum err make_run(struct prediction *p, const struct prediction_run *asked, struct err_detail *err)
{
    p->showed_nothing = false;
    if (*p->asked.interrupted != 0)
        return err_set(err, ERR_INTERRUPTED, 0, "interrupted");
    struct prediction_run *runs = array_grow(p->runs, p->n_runs, &p->room_runs, sizeof *runs);
    if (runs == NULL)
        return err_no_memory(err);
    p->runs = runs;
    struct prediction_run *r = &p->runs[p->n_runs++];
    *r = *asked;
    const enum err e = start_run(p, r, err);
    if (e == ERR_OK && r->made.end == RUN_INTERRUPTED)
        return err_set(err, ERR_INTERRUPTED, 0, "interrupted");
    return e == ERR_OK ? check_run(p, r, err) : e;
}

/* JAX's allocator keeps a table of what it takes at its start, 3 % of it, on the host: an enlarged card is no larger
 * than the largest that there is. */
static const char *enlarged_to(const struct prediction *p)
{
    for (size_t i = 0; i < p->n_runs; i++)
        if (p->runs[i].made.jax.is_there)
            return p->default_card;
    return ENLARGED;
}

static enum err add_run(struct prediction *p, const char *card, const struct run_wanted *w, bool is_enlarged,
                        struct err_detail *err)
{
    const struct prediction_run asked = { .device = card, .value = w->value, .level = w->level,
                                          .is_enlarged = is_enlarged, .enlarged_to = enlarged_to(p) };
    return make_run(p, &asked, err);
}

/* The recording of a value on a card's class. is_whole: one that is not cut short by a refused request. */
static enum err need_run(struct prediction *p, const struct run_wanted *w, bool is_whole, struct prediction_run **out,
                         struct err_detail *err)
{
    enum err e = ERR_OK;
    *out = find_run(p, w, is_whole);
    if (*out == NULL && find_run(p, w, false) == NULL)
        e = add_run(p, card_to_run(p, w->card, w->value), w, false, err);
    if (e == ERR_OK && find_run(p, w, false) == NULL)
        e = add_run(p, w->card, w, false, err);              /* the first one told that it adapts */
    if (e == ERR_OK && (*out = find_run(p, w, is_whole)) == NULL)
        e = add_run(p, largest_of_class(p, w->card), w, true, err);
    if (e == ERR_OK && *out == NULL)
        *out = find_run(p, w, is_whole);
    assert(e != ERR_OK || *out != NULL);
    return e;
}

/* ---- answers ---- */

/* The share of its card that JAX may take in a run. */
static double jax_share(const struct prediction_run *run)
{
    char device[PATH_MAX];
    run_device(run, device);
    return jax_held_share(&run->made.jax, card_bytes(device));
}

/* JAX's allocator on a row's card: as it was in the run if that was on this very card. */
static void policy_of_jax(const struct predicted_row *row, const struct prediction_run *run,
                          char out[static JAX_POLICY_TEXT])
{
    const bool is_same = !run->is_enlarged && strcmp(run->device, row->device) == 0;
    const double limit = jax_share(run) * (double)card_bytes(row->device);
    jax_held_policy(&run->made.jax, is_same ? run->made.jax.limit_bytes : (uint64_t)limit, out);
}

/* A row's setting as a policy. The trace must outlive it. A program without PyTorch or JAX has no allocator but the
 * driver, and the driver's pools. */
static enum err row_spec(const struct predicted_row *row, const struct prediction_run *run, struct trace_reader *trace,
                         struct policy_spec *out, struct err_detail *err)
{
    char of_jax[JAX_POLICY_TEXT];
    const char *of_driver = run->made.is_pooled ? "cuda-async" : "none", *release;
    policy_of_jax(row, run, of_jax);
    const char *typed = row->policy != NULL ? row->policy : run->made.is_of_pytorch ? NULL
                        : run->made.is_of_jax ? of_jax : of_driver;
    enum err e = recorded_release(trace, &release, err);
    if (e == ERR_OK)
        e = typed != NULL ? policy_spec_parse(typed, out, err) : recorded_policy(trace, out, err);
    if (e == ERR_OK)
        recorded_take_release(release, out);
    return e;
}

static enum err read_release(struct prediction *p, struct trace_reader *trace, struct err_detail *err)
{
    const char *release;
    const enum err e = recorded_release(trace, &release, err);
    if (e == ERR_OK && release != NULL)
        snprintf(p->release, sizeof p->release, "%s", release);
    return e;
}

/* What PyTorch's own allocator did in the run, on this very card and with the program's own settings, counts before a
 * replay that says otherwise: a recording does not hold a memory fraction, for one. */
static void answer_take_record(const struct predicted_row *row, const struct prediction_run *r,
                               struct card_answer *answer, struct card_bounds *bounds)
{
    const uint64_t reserved = r->made.reserved_bytes, replayed = answer->peak_reserved_bytes;
    if (row->policy != NULL || r->is_enlarged || strcmp(r->device, row->device) != 0 || reserved == 0 ||
        reserved == replayed)
        return;
    const uint64_t below = answer->card_peak_bytes - bounds->least_bytes;
    const uint64_t above = bounds->most_bytes - answer->card_peak_bytes;
    answer->card_peak_bytes = answer->card_peak_bytes - replayed + reserved;
    answer->peak_reserved_bytes = reserved;
    bounds->least_bytes = answer->card_peak_bytes - (below < answer->card_peak_bytes ? below : 0);
    bounds->most_bytes = answer->card_peak_bytes + above;
    answer->fits = bounds->fits_always = bounds->fits_ever = true;
}

/* bounds: of the same in other orders of addresses. */
static enum err row_answer(const struct prediction *p, const struct predicted_row *row, const struct prediction_run *r,
                           struct card_answer *out, struct card_bounds *bounds, struct err_detail *err)
{
    const struct replay_config cfg = { .threads = p->asked.threads, .on_oom = OOM_AS_RECORDED };
    struct trace_reader *trace;
    struct policy_spec spec;
    char card[CARD_BYTES];
    card_alone(row->device, card);
    enum err e = trace_open(r->made.trace, &trace, err);
    if (e != ERR_OK)
        return e;
    e = row_spec(row, r, trace, &spec, err);
    if (e == ERR_OK) {
        e = card_answer_find(trace, &spec, card, &r->made.others, &cfg, out, err);
        if (e == ERR_OK)
            e = card_answer_bound(trace, &spec, out, &cfg, bounds, err);
        policy_spec_close(&spec);
    }
    trace_close(trace);
    if (e == ERR_OK)
        answer_take_record(row, r, out, bounds);
    if (e == ERR_OK && r->made.is_refused)
        out->fits = bounds->fits_always = bounds->fits_ever = false;
    return e;
}

/* Whether nothing was refused, where that is asked for: of the values of a range the largest is one that is served. */
static bool is_served(const struct prediction *p, const struct prediction_run *run)
{
    return !p->has_range || run->made.survived == 0;
}

/* Whether so much of a card is certain to be there. Of memory that is the host's too, the host's programs, its page
 * cache and a carve-out have a part that is not known. */
static bool is_left_by_host(const struct card_answer *answer, uint64_t bytes)
{
    const struct device_config *card = &answer->device.config;
    const bool is_shared = card->model != NULL && device_shares_host(card->model->name);
    return !is_shared || bytes <= card->total_bytes / SHARED_PARTS * (SHARED_PARTS - 1);
}

struct row_search {
    struct prediction *p;
    struct predicted_row *row;
};

/* What JAX's allocator refused before it had a request is no error of the search. */
static bool is_refused_by_jax(const struct prediction *p, enum err e)
{
    return e == ERR_DEVICE_OOM && p->showed_nothing;
}

static enum err row_fits(void *arg, uint64_t value, bool *fits, struct err_detail *err)
{
    const struct row_search *s = arg;
    const struct run_wanted wanted = { .card = s->row->device, .value = value, .level = RUN_MOST };
    struct card_answer answer;
    struct card_bounds bounds;
    struct prediction_run *run;
    enum err e = need_run(s->p, &wanted, s->row->policy != NULL, &run, err);
    *fits = false;
    if (e == ERR_OK && !run->made.is_refused) {
        e = row_answer(s->p, s->row, run, &answer, &bounds, err);
        *fits = e == ERR_OK && bounds.fits_always && is_served(s->p, run) &&
                is_left_by_host(&answer, bounds.most_bytes);
    }
    return is_refused_by_jax(s->p, e) ? ERR_OK : e;
}

/* A run that a row's figures are from. */
static struct run_wanted row_wants(const struct predicted_row *row, enum run_level level)
{
    return (struct run_wanted){ .card = row->device, .value = row->value, .level = level };
}

/* Whether a recording that the interrupt cut off may speak for a row: the answer so far. */
static struct prediction_run *run_so_far(const struct prediction *p, const struct predicted_row *row)
{
    const struct run_wanted wanted = row_wants(row, RUN_EXPECTED);
    struct prediction_run *r = find_run(p, &wanted, true);
    return r != NULL ? r : find_run(p, &wanted, false);
}

/* JAX takes its share before its program begins, and of the program itself the driver sees nothing. */
static bool is_jax_unseen(const struct prediction_run *run)
{
    return run->made.jax.is_there && run->made.end != RUN_ENDED;
}

/* What follows loops that were cut short finds another cache than it would: how well its requests fit into that is not
 * known, and no more than what was live or reserved before is certain. */
static void row_widen_by_cut(struct predicted_row *row, const struct predicted_run *run)
{
    const uint64_t reserved = row->answer.peak_reserved_bytes;
    const uint64_t known = run->live_bytes > run->cut_reserved_bytes ? run->live_bytes : run->cut_reserved_bytes;
    if (!run->ran_to_end || run->cut_reserved_bytes == 0 || known >= reserved)
        return;
    struct card_answer least = row->answer;
    least.card_peak_bytes -= reserved - known;
    const struct card_bounds bounds = { .least_bytes = least.card_peak_bytes, .most_bytes = least.card_peak_bytes };
    peak_range_widen(&row->range, RANGE_CUT, &least, &bounds);
    row->may_fit = !row->fits && (row->may_fit || least.card_peak_bytes <= row->answer.device.config.total_bytes);
}

/* Fills in a row from a run, with the range that addresses alone make. */
static enum err row_take(const struct prediction *p, struct predicted_row *row, const struct prediction_run *run,
                         struct err_detail *err)
{
    struct card_bounds bounds;
    const enum err e = row_answer(p, row, run, &row->answer, &bounds, err);
    row->answer.trial.spec = NULL;
    row->is_known = e == ERR_OK;
    row->fits = row->is_known && bounds.fits_always && is_served(p, run) && !is_jax_unseen(run);
    row->may_fit = row->is_known && bounds.fits_ever && !row->fits && is_served(p, run);
    row->run = (size_t)(run - p->runs);
    if (row->is_known) {
        row->range = peak_range_of(&row->answer, &bounds);
        row->range.is_endless = predicted_run_is_unseen(&run->made);
        row_widen_by_cut(row, &run->made);
    }
    return e;
}

/* Widens a row's range by the run at another level, if there is one. A program that fails then says nothing. */
static enum err row_widen(struct prediction *p, struct predicted_row *row, enum run_level level,
                          struct err_detail *err)
{
    const struct prediction_run *shown = &p->runs[row->run];
    const bool is_of_sizes = level == RUN_LEAST && shown->made.branches.sizes.n > 0;
    const bool is_of_loops = level == RUN_LEAST && shown->made.branches.loops.n > 0;
    const enum range_source source = level == RUN_OTHER                    ? RANGE_BRANCHES
                                     : is_of_sizes                         ? RANGE_SIZES
                                     : is_of_loops                         ? RANGE_LOOPS
                                     : shown->made.are_workspaces_open ? RANGE_WORKSPACES
                                                                       : RANGE_WAITS;
    const struct run_wanted wanted = row_wants(row, level);
    struct prediction_run *run;
    struct card_answer other;
    struct card_bounds bounds;
    if (predicted_run_grows(&shown->made) || predicted_run_is_at(&shown->made, shown->level, level))
        return ERR_OK;
    enum err e = need_run(p, &wanted, true, &run, err);
    if (e == ERR_OK)
        e = row_answer(p, row, run, &other, &bounds, err);
    if (e == ERR_INTERRUPTED && row->fits) {
        row->fits = false;                           /* as far as is known */
        row->may_fit = true;
    }
    if (e != ERR_OK)
        return p->showed_nothing || e == ERR_INTERRUPTED ? ERR_OK : e;
    peak_range_widen(&row->range, source, &other, &bounds);
    if (level != RUN_OTHER)                      /* one other way of many, for a short time */
        row->range.is_endless = row->range.is_endless || predicted_run_is_unseen(&run->made);
    const bool may_fit = row->fits || row->may_fit || bounds.fits_ever;
    row->fits = row->fits && bounds.fits_always && is_served(p, run);
    row->may_fit = may_fit && !row->fits && is_served(p, run);
    return ERR_OK;
}

/* Widens it by what a search of algorithms takes: as much as is free, and never more. It gives that back, so it decides
 * nothing about what fits. */
static enum err row_widen_search(struct prediction *p, struct predicted_row *row, struct err_detail *err)
{
    const struct run_wanted wanted = row_wants(row, RUN_SEARCH);
    const struct prediction_run *shown = &p->runs[row->run];
    struct prediction_run *run;
    struct card_answer other;
    struct card_bounds bounds;
    if (!shown->made.has_search || predicted_run_is_at(&shown->made, shown->level, RUN_SEARCH))
        return ERR_OK;
    enum err e = need_run(p, &wanted, true, &run, err);
    if (e == ERR_OK)
        e = row_answer(p, row, run, &other, &bounds, err);
    if (e != ERR_OK)
        return p->showed_nothing || e == ERR_INTERRUPTED ? ERR_OK : e;
    const uint64_t has = row->answer.device.config.total_bytes, least = row->range.high_bytes;
    const uint64_t most = bounds.most_bytes < has ? bounds.most_bytes : has > least ? has : least;
    other.card_peak_bytes = bounds.most_bytes = most;
    peak_range_widen(&row->range, RANGE_SEARCH, &other, &bounds);
    return ERR_OK;
}

static enum err row_widen_all(struct prediction *p, struct predicted_row *row, struct err_detail *err)
{
    static const enum run_level levels[] = { RUN_MOST, RUN_LEAST, RUN_OTHER };
    enum err e = ERR_OK;
    if (!row->is_known)                                  /* an interrupt came first: there is no run to widen */
        return ERR_OK;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0] && e == ERR_OK; i++)
        e = row_widen(p, row, levels[i], err);
    if (e == ERR_OK)
        e = row_widen_search(p, row, err);
    if (row->fits && !is_left_by_host(&row->answer, row->range.high_bytes)) {
        row->fits = false;
        row->may_fit = true;
    }
    return e;
}

/* Of a loop that was ended for the program nobody knows how often it turns: what does not fit may fit. */
static void row_hedge_loops(const struct prediction *p, struct predicted_row *row)
{
    if (row->is_known && !row->fits && prediction_row_cuts_loop(p, row))
        row->may_fit = true;
}

/* Whether the next value is expected to fit, although its range does not. */
static enum err row_try_next(struct prediction *p, struct predicted_row *row, struct err_detail *err)
{
    const struct run_wanted wanted = { .card = row->device, .value = row->largest.fails, .level = RUN_EXPECTED };
    struct prediction_run *run;
    struct card_answer answer;
    struct card_bounds bounds;
    if (!row->largest.has_failed || !row->fits || !p->runs[row->run].made.are_workspaces_open)
        return ERR_OK;
    enum err e = need_run(p, &wanted, true, &run, err);
    if (e == ERR_OK)
        e = row_answer(p, row, run, &answer, &bounds, err);
    if (e != ERR_OK)
        return p->showed_nothing || e == ERR_INTERRUPTED ? ERR_OK : e;
    row->next_may_fit = answer.fits && is_served(p, run);
    return ERR_OK;
}

/* Whether a row does not fit, as told by a run on a larger card that refused nothing. */
static bool row_may_adapt(const struct prediction *p, const struct predicted_row *row)
{
    const struct prediction_run *run = &p->runs[row->run];
    return row->is_known && !row->answer.fits && row->policy == NULL && !run->is_enlarged && !run->made.is_refused &&
           strcmp(run->device, row->device) != 0;
}

/* Runs the program on the row's own card. If it goes on there after a refused request, that is the row's answer. */
static enum err row_try_itself(struct prediction *p, struct predicted_row *row, struct err_detail *err)
{
    const size_t n = p->n_runs;
    const struct run_wanted wanted = row_wants(row, RUN_EXPECTED);
    const enum err e = add_run(p, row->device, &wanted, false, err);
    if (e != ERR_OK)
        return p->showed_nothing || e == ERR_INTERRUPTED ? ERR_OK : e;
    return p->runs[n].made.survived > 0 ? row_take(p, row, &p->runs[n], err) : ERR_OK;
}

static enum err row_finish(struct prediction *p, struct predicted_row *row, struct err_detail *err)
{
    struct prediction_run *run = NULL;
    row->value = row->largest.is_any ? row->largest.fits : p->range.low;
    const struct run_wanted wanted = row_wants(row, RUN_EXPECTED);
    enum err e = *p->asked.interrupted == 0 ? need_run(p, &wanted, true, &run, err) : ERR_INTERRUPTED;
    if (e == ERR_INTERRUPTED)
        run = run_so_far(p, row);
    else if (e != ERR_OK)
        return e;
    e = run == NULL ? ERR_OK : row_take(p, row, run, err);
    if (e == ERR_OK && row_may_adapt(p, row))
        e = row_try_itself(p, row, err);
    if (e == ERR_OK && !p->asked.peak_only)
        e = row_widen_all(p, row, err);
    row_hedge_loops(p, row);
    return e == ERR_OK ? row_try_next(p, row, err) : e;
}

static enum err find_largest(struct prediction *p, struct predicted_row *row, struct err_detail *err)
{
    struct row_search s = { .p = p, .row = row };
    const struct value_trial trial = { .fits = row_fits, .arg = &s };
    enum err e = p->asked.peak_only ? ERR_OK : largest_value_find(&p->range, &trial, &row->largest, err);
    if (e == ERR_INTERRUPTED)
        e = ERR_OK;
    return e == ERR_OK ? row_finish(p, row, err) : e;
}

/* ---- what is said once ---- */

static enum err find_smallest(struct prediction *p, const struct prediction_run *run, struct trace_reader *trace,
                              const struct replay_config *cfg, struct err_detail *err)
{
    struct policy_spec spec;
    struct bounds bounds;
    struct fit found = { .smallest_bytes = 0 };
    enum err e = row_spec(&p->rows[0], run, trace, &spec, err);
    if (e != ERR_OK)
        return e;
    e = read_release(p, trace, err);
    if (e == ERR_OK)
        e = bounds_find(trace, 0, false, &bounds, err);
    if (e == ERR_OK)
        e = fit_find(trace, &spec, &p->rows[0].answer.device, bounds.live_bytes, cfg, &found, err);
    policy_spec_close(&spec);
    found.trial.spec = NULL;
    if (e == ERR_OK && found.smallest_bytes > p->smallest.smallest_bytes)
        p->smallest = found;
    p->has_smallest = p->smallest.smallest_bytes > 0;
    return e;
}

/* The smallest of the named cards that are larger; NULL: none is. */
static const struct device_model *larger_card(uint64_t bytes)
{
    const struct device_model *larger = NULL, *m;
    for (size_t i = 0; (m = device_model_at(i)) != NULL; i++)
        if (m->total_bytes > bytes && (larger == NULL || m->total_bytes < larger->total_bytes))
            larger = m;
    return larger;
}

/* What the requests of a JAX program need, and the cards that have it as the share that JAX takes. */
static enum err find_need_of_jax(struct prediction *p, const struct prediction_run *run, struct trace_reader *trace,
                                 const struct replay_config *cfg, struct err_detail *err)
{
    (void)cfg;
    const double share = jax_share(run);
    const struct device_config *device = &p->rows[0].answer.device.config;
    enum err e = jax_need_find(trace, device, &p->jax_need, err);
    if (e == ERR_OK)
        e = jax_donation_find(trace, device, &p->jax_donation, err);
    if (e != ERR_OK || p->jax_need.region_bytes == 0)
        return e;
    p->jax_share = share;
    p->smallest = (struct fit){ .smallest_bytes = jax_need_card(&p->jax_need, share), .is_monotone = true };
    p->smallest.card = larger_card(p->smallest.smallest_bytes - 1);
    p->has_smallest = true;
    return ERR_OK;
}

/* Runs the program on a named card, as many as the first row has of them, with its setting. *row becomes its row. */
static enum err try_card(struct prediction *p, const char *card, struct predicted_row *row, struct err_detail *err)
{
    struct prediction_run *run;
    char alone[CARD_BYTES];
    const int count = card_alone(p->rows[0].device, alone);
    snprintf(p->named_card, sizeof p->named_card, count > 1 ? "%s,count=%d" : "%s", card, count);
    *row = p->rows[0];
    row->card = row->device = p->named_card;
    row->sold = NULL;
    row->value = p->range.low;
    const struct run_wanted wanted = row_wants(row, RUN_EXPECTED);
    enum err e = need_run(p, &wanted, true, &run, err);
    if (e == ERR_OK)
        e = row_take(p, row, run, err);
    return e == ERR_OK ? row_widen_all(p, row, err) : e;
}

/* A card that was asked about, and on which the program fits, is named before a larger one. */
static void prefer_known_card(struct prediction *p)
{
    for (size_t i = 0; i < p->n_rows; i++) {
        const struct predicted_row *row = &p->rows[i];
        const struct device_model *m = card_config(row->device).model;
        const bool fits = row->is_known && row->fits && prediction_is_whole(p);
        if (fits && m != NULL && (p->smallest.card == NULL || m->total_bytes < p->smallest.card->total_bytes))
            p->smallest.card = m;
    }
}

/* XLA compiles for the card that it finds, so the size that was reckoned is only said after a run on it. Of a named
 * card none is tried: it would be of another kind. */
static enum err confirm_size_of_jax(struct prediction *p, struct err_detail *err)
{
    const size_t n = p->n_runs;
    snprintf(p->sized_card, sizeof p->sized_card, "%" PRIu64 "MiB", p->smallest.smallest_bytes / MIB);
    const struct run_wanted wanted = { .card = p->sized_card, .value = p->range.low, .level = RUN_EXPECTED };
    p->is_size_open = true;
    p->has_smallest = p->smallest.card != NULL;
    if (card_config(p->rows[0].device).model != NULL)
        return ERR_OK;
    const enum err e = add_run(p, p->sized_card, &wanted, false, err);
    const struct predicted_run *run = e == ERR_OK ? &p->runs[n].made : NULL;
    p->is_size_open = run == NULL || run->is_refused || run->has_failed || run->end != RUN_ENDED;
    p->has_smallest = p->has_smallest || !p->is_size_open;
    return e == ERR_OK || p->showed_nothing ? ERR_OK : e;
}

/* What libraries take depends on the card (its compute capability), so that a named card is only named after the
 * program has run on it. A program that fails there gets none. */
static enum err confirm_card(struct prediction *p, struct err_detail *err)
{
    struct predicted_row row = { .fits = false };
    const struct device_model *card = prediction_is_whole(p) ? p->smallest.card : NULL;
    enum err e = ERR_OK;
    p->smallest.card = NULL;
    for (size_t i = 0; card != NULL && i < CARDS_TRIED && e == ERR_OK; i++) {
        e = try_card(p, card->name, &row, err);
        if (row.fits)
            break;
        const uint64_t has = card->total_bytes, peak = row.range.high_bytes;
        card = larger_card(peak > has ? peak : has);
    }
    if (e != ERR_OK || !row.fits)
        return p->showed_nothing ? ERR_OK : e;
    p->smallest.card = card;
    if (p->asked.n_cards == 0 && !p->has_range)
        p->rows[p->n_rows++] = row;
    return ERR_OK;
}

static enum err with_trace(struct prediction *p, const struct prediction_run *run,
                           enum err (*study)(struct prediction *, const struct prediction_run *, struct trace_reader *,
                                             const struct replay_config *, struct err_detail *),
                           struct err_detail *err)
{
    struct progress progress = progress_start("replaying", PROGRESS_EVENTS);
    const struct replay_config cfg = { .threads = p->asked.threads, .progress = progress_report,
                                       .progress_arg = &progress };
    struct trace_reader *trace;
    enum err e = trace_open(run->made.trace, &trace, err);
    if (e != ERR_OK)
        return e;
    e = study(p, run, trace, &cfg, err);
    progress_clear(&progress);
    trace_close(trace);
    return e;
}

/* What the requests of the run with donated arguments need. */
static enum err find_need_if_donated(struct prediction *p, const struct prediction_run *run, struct trace_reader *trace,
                                     const struct replay_config *cfg, struct err_detail *err)
{
    (void)run;
    (void)cfg;
    return jax_need_find(trace, &p->rows[0].answer.device.config, &p->jax_donation.tried, err);
}

/* Replayed, donation is a guess of what XLA would compile. So the program runs with it, if it may gain. */
static enum err try_donation(struct prediction *p, struct err_detail *err)
{
    struct jax_donation *d = &p->jax_donation;
    const struct run_wanted now = { .card = p->rows[0].device, .value = p->range.low, .level = RUN_MOST };
    const struct run_wanted wanted = { .card = now.card, .value = now.value, .level = RUN_DONATED };
    const size_t n = p->n_runs;
    struct prediction_run *without = NULL;
    if (!jax_donation_may_gain(d, &p->jax_need))
        return ERR_OK;
    enum err e = need_run(p, &now, true, &without, err);
    if (e == ERR_OK)
        e = add_run(p, without->device, &wanted, without->is_enlarged, err);
    const struct predicted_run *run = p->n_runs > n ? &p->runs[n].made : NULL;
    const bool has_ended = e == ERR_OK && run->is_of_jax && run->status == 0 && run->end == RUN_ENDED;
    if (has_ended)
        e = with_trace(p, &p->runs[n], find_need_if_donated, err);
    if (run != NULL)
        jax_donation_take_run(d, run->log, has_ended);
    return p->showed_nothing ? ERR_OK : e;
}

static enum err check_setting(struct prediction *p, const struct prediction_run *run, struct trace_reader *trace,
                              const struct device_choice *device, const struct replay_config *cfg,
                              struct err_detail *err)
{
    struct policy_spec spec;
    enum err e = row_spec(&p->rows[0], run, trace, &spec, err);
    if (e != ERR_OK)
        return e;
    e = lasting_setting_check(trace, &p->tune, &spec, device, cfg, &p->setting_lasts, err);
    policy_spec_close(&spec);
    return e;
}

static enum err find_setting(struct prediction *p, const struct prediction_run *run, struct trace_reader *trace,
                             const struct replay_config *cfg, struct err_detail *err)
{
    const struct tune_request asked = { .price_bytes_per_ms = p->asked.price_bytes_per_ms };
    struct device_choice device = p->rows[0].answer.device;
    if (p->asked.n_cards == 0)              /* a gain is measured against the need, not against a card of ours */
        device.config.total_bytes = p->smallest.smallest_bytes;
    p->has_tune = true;
    const enum err e = tune_run(trace, &device, &asked, cfg, &p->tune, err);
    return e == ERR_OK && tune_recommends(&p->tune) ? check_setting(p, run, trace, &device, cfg, err) : e;
}

static enum err find_categories(struct prediction *p, const struct prediction_run *run, struct trace_reader *trace,
                                const struct replay_config *cfg, struct err_detail *err)
{
    (void)run, (void)cfg;
    return predicted_categories_find(trace, &p->categories, err);
}

/* The smallest card of the least value at this level, if it is larger than what was found before. Of a program that
 * still grows, or adapts to its card, neither another card nor a setting is named. */
static enum err find_smallest_at(struct prediction *p, enum run_level level, struct err_detail *err)
{
    const struct run_wanted wanted = { .card = p->rows[0].device, .value = p->range.low, .level = level };
    struct prediction_run *run = NULL;
    const enum err e = need_run(p, &wanted, true, &run, err);
    if (e == ERR_OK && run->made.is_of_jax && run->made.end == RUN_ENDED)
        return with_trace(p, run, find_need_of_jax, err);
    if (e != ERR_OK || predicted_run_grows(&run->made) || predicted_run_adapts(&run->made))
        return e;
    return with_trace(p, run, find_smallest, err);
}

/* Whether a row's run is one of that level, too. */
static bool row_run_is(const struct prediction *p, const struct predicted_row *row, enum run_level level)
{
    const struct prediction_run *run = &p->runs[row->run];
    return predicted_run_is_at(&run->made, run->level, level);
}

/* Larger workspaces may leave fewer holes, so the likely ones may want the larger card. */
static enum err say_once(struct prediction *p, struct err_detail *err)
{
    const struct predicted_row *row = &p->rows[0];
    enum err e = find_smallest_at(p, RUN_MOST, err);
    if (e == ERR_OK && p->has_smallest && !p->has_range && !row_run_is(p, row, RUN_MOST))
        e = find_smallest_at(p, RUN_EXPECTED, err);
    if (e == ERR_OK && p->has_smallest && p->runs[row->run].made.branches.places.n > 0)
        e = find_smallest_at(p, RUN_OTHER, err);
    e = e == ERR_INPUT && p->has_smallest && p->showed_nothing ? ERR_OK : e;     /* the other way showed nothing */
    if (e == ERR_OK && p->has_smallest)
        e = confirm_card(p, err);                /* may move p->runs */
    if (e == ERR_OK && p->has_smallest)
        prefer_known_card(p);
    if (e == ERR_OK && p->has_smallest && p->jax_need.region_bytes > 0)
        e = confirm_size_of_jax(p, err);
    if (e == ERR_OK)
        e = try_donation(p, err);
    const struct prediction_run *run = &p->runs[row->run];
    if (e == ERR_OK && run->made.is_of_pytorch)
        e = with_trace(p, run, find_categories, err);
    if (e == ERR_OK && row->policy == NULL && run->made.is_of_pytorch && p->has_smallest)
        e = with_trace(p, run, find_setting, err);
    return e == ERR_INTERRUPTED ? ERR_OK : e;
}

/* What the program printed last, for an error that is told: an answer may do without one of the runs. */
static void print_last_words(const struct prediction *p)
{
    if (p->last_words.line[0] != '\0')
        fprintf(stderr, "replay predict: the program's last words: %s\n", p->last_words.line);
    if (p->last_words.advice != NULL)
        text_print_within(stderr, p->last_words.advice, TERMINAL_USUAL, 0, 0);
}

enum err prediction_make(struct prediction *p, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < p->n_rows && e == ERR_OK; i++)
        e = find_largest(p, &p->rows[i], err);
    if (e == ERR_OK && *p->asked.interrupted == 0 && !p->asked.peak_only && !p->asked.range_only)
        e = say_once(p, err);
    if ((e == ERR_INPUT || e == ERR_DEVICE_OOM) && p->showed_nothing && !p->asked.peak_only)
        print_last_words(p);
    return e;
}

bool prediction_is_whole(const struct prediction *p)
{
    bool is_whole = *p->asked.interrupted == 0;
    for (size_t i = 0; i < p->n_rows; i++) {
        const struct predicted_run *run = p->rows[i].is_known ? &p->runs[p->rows[i].run].made : NULL;
        is_whole = is_whole && run != NULL && !predicted_run_grows(run) && !run->has_failed &&
                   run->branches.n_nothing == 0 &&
                   (run->end == RUN_ENDED || run->whole_steps > 0);
    }
    return is_whole;
}

bool prediction_row_fits(const struct predicted_row *row)
{
    return row->fits && !row->range.is_endless;
}

bool prediction_row_may_fit(const struct predicted_row *row)
{
    return row->may_fit || (row->fits && row->range.is_endless);
}

bool prediction_fits(const struct prediction *p)
{
    bool fits = prediction_is_whole(p);
    for (size_t i = 0; i < p->n_rows; i++)
        fits = fits && prediction_row_fits(&p->rows[i]);
    return fits;
}

bool prediction_is_open(const struct prediction *p)
{
    bool is_open = prediction_is_whole(p) && !prediction_fits(p);
    for (size_t i = 0; i < p->n_rows; i++)
        is_open = is_open && (prediction_row_fits(&p->rows[i]) || prediction_row_may_fit(&p->rows[i]));
    return is_open;
}

bool prediction_row_adapts(const struct prediction *p, const struct predicted_row *row)
{
    return row->is_known && row->fits && predicted_run_adapts(&p->runs[row->run].made);
}

bool prediction_row_cuts_loop(const struct prediction *p, const struct predicted_row *row)
{
    return row->is_known && unknown_branches_grow(&p->runs[row->run].made.branches);
}

uint64_t prediction_row_lasts(const struct prediction *p, const struct predicted_row *row)
{
    const struct predicted_run *run = &p->runs[row->run].made;
    const uint64_t has = row->answer.device.config.total_bytes, peak = row->answer.card_peak_bytes;
    const uint64_t more = has > peak ? (has - peak) / run->growth.bytes_per_step : 0;
    const uint64_t less = has < peak ? divide_up(peak - has, run->growth.bytes_per_step) : 0;
    return run->whole_steps + more - (less < run->whole_steps ? less : run->whole_steps);
}

const struct prediction_run *prediction_run_shown(const struct prediction *p)
{
    return p->rows[0].is_known ? &p->runs[p->rows[0].run] : NULL;
}
