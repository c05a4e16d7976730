/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Read off the phases; what is held is looked at only if the first step is cut. */
#include "replay/recording/first_step.h"

#include "base/units.h"
#include "replay/recording/categories.h"
#include "replay/recording/larger_input.h"
#include "replay/recording/loaded_file.h"
#include "report/text/json_writer.h"

/* So many activations that are held are a graph; a pass without gradients holds fewer at its end. */
enum { GRAPH_LEAST = 4 };

struct peak_before { uint64_t live, most, moment; };

static void visit_before(void *arg, const struct event *ev, uint64_t number)
{
    struct peak_before *p = arg;
    if (number >= p->moment)
        return;
    if (ev->kind == EVENT_ALLOC)
        p->live += ev->bytes;
    else if (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED)
        p->live -= ev->bytes;
    p->most = p->live > p->most ? p->live : p->most;
}

/* The states beside what was live at most before the optimizer's first step. */
static enum err find_next(struct trace_reader *trace, const struct phases *phases, const struct holdings *h,
                          struct first_step *out, struct err_detail *err)
{
    const uint64_t start = steps_start_live_bytes(trace), states = holdings_of(h, CATEGORY_OPTIMIZER, NULL);
    struct peak_before p = { .live = start, .most = start, .moment = phases->starts[PHASE_OPTIMIZER].at[0] };
    const enum err e = trace_each_event(trace, visit_before, &p, err);
    out->next_bytes = states > 0 ? add_capped(p.most, states) : 0;
    return e;
}

/* Whether a recording without a refusal at its end stops in the first step. `graph`: activations that are held. */
static bool stops_early(const struct trace_reader *trace, const struct coverage *c, const struct first_step *f,
                        size_t graph)
{
    if (f->reached == REACHED_OPTIMIZER)
        return f->next_bytes > trace_info(trace)->peak_requested_bytes;
    if (c->begins == BEGINS_EMPTY)
        return reached_is_before_a_step(f->reached);
    return f->reached == REACHED_BACKWARD || (f->reached == REACHED_FORWARD && graph >= GRAPH_LEAST);
}

/* What is held when it ends, and what that tells. */
static enum err read_held(struct trace_reader *trace, const struct coverage *c, const struct phases *phases,
                          struct holdings *h, struct first_step *out, struct err_detail *err)
{
    struct loaded_file loaded = { .bytes = 0 };
    struct category_facts facts;
    size_t graph = 0;
    enum err e = categories_tell(trace, phases, h, &facts, err);
    if (e == ERR_OK)
        e = loaded_file_find(trace, h, &loaded, err);
    if (e == ERR_OK)
        e = to_come_find(trace, phases, h->moment, h, &out->to_come, err);
    if (e == ERR_OK && out->reached == REACHED_OPTIMIZER && !out->is_refused)
        e = find_next(trace, phases, h, out, err);
    (void)holdings_of(h, CATEGORY_ACTIVATIONS, &graph);
    out->is_cut = out->is_refused || stops_early(trace, c, out, graph);
    to_come_keep(&out->to_come, out->reached, loaded.bytes);
    out->to_come.is_told = out->to_come.is_told && out->is_cut &&
                           (out->is_refused || out->reached != REACHED_FORWARD || graph >= GRAPH_LEAST);
    loaded_file_close(&loaded);
    return e;
}

static enum err read_reached(struct trace_reader *trace, const struct coverage *c, const struct phases *phases,
                             struct first_step *out, struct err_detail *err)
{
    struct larger_input input;
    struct holdings h = { .n = 0 };
    const uint64_t moment = out->is_refused ? c->first_of_end : trace_info(trace)->events;
    enum err e = larger_input_find(trace, phases, moment, out->is_refused ? c->refused_bytes : 0, &input, err);
    if (e != ERR_OK)
        return e;
    out->reached = reached_at(c, phases, moment, input.turns_before);
    out->learns = phase_has_begun(phases, PHASE_BACKWARD, moment) || phase_has_begun(phases, PHASE_OPTIMIZER, moment);
    if (!reached_is_before_a_step(out->reached))
        return ERR_OK;
    e = holdings_read(trace, MOMENT_EVENT, moment, &h, err);
    if (e == ERR_OK)
        e = read_held(trace, c, phases, &h, out, err);
    holdings_close(&h);
    return e;
}

enum err first_step_read(struct trace_reader *trace, const struct coverage *c, struct first_step *out,
                         struct err_detail *err)
{
    struct phases phases;
    *out = (struct first_step){ .is_refused = c->ends == ENDS_REFUSED };
    if (c->ends == ENDS_EXIT || trace_info(trace)->n_stacks == 0)
        return ERR_OK;
    enum err e = phases_read(trace, &phases, err);
    if (e == ERR_OK && phases.has_python)
        e = read_reached(trace, c, &phases, out, err);
    phases_close(&phases);
    return e;
}

void first_step_say(struct words *w, const struct first_step *f)
{
    char next[TEXT_NUMBER];
    if (!f->is_cut)
        return;
    if (f->is_refused)
        words_add(w, "The program died %s, so how much more it needs is not known.", reached_phrase(f->reached));
    else if (f->reached == REACHED_OPTIMIZER)
        words_add(w, "The recording ends with the first optimizer step: if the program goes on, the optimizer's states "
                     "lie beside the next pass, with about %s live at once, and figures are lower bounds.",
                  text_mib(f->next_bytes, next));
    else
        words_add(w, "The recording ends %s, or after it: if the program goes on, it may need more, and figures are "
                     "lower bounds.", reached_phrase(f->reached));
    words_add(w, f->to_come.is_told ? " " : "");
    to_come_say(w, &f->to_come, f->learns);
}

void first_step_print(FILE *out, const struct first_step *f)
{
    struct words w = { .n = 0 };
    first_step_say(&w, f);
    if (w.n == 0)
        return;
    words_print_screen(out, &w);
    fputc('\n', out);
}

void first_step_json(struct json_writer *json, const struct first_step *f)
{
#define ANSWER_TABLE "answers/first_step.def"
#include "answers/as_json.def"
}
