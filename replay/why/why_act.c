/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What to do where no setting cures it: the answer's second line, and the page's. */
#include "replay/why/why.h"

#include "replay/why/card_tools.h"
#include "report/text/text.h"

#include <inttypes.h>
#include <string.h>

/* A checkpoint is needed until it is copied. */
static void add_what_lies_twice(struct words *w, const struct why *y)
{
    const char *line = y->loaded.lines.n > 0 ? holder_name(&y->loaded.lines, 0) : "";
    char a[TEXT_NUMBER];
    if (y->loaded.bytes > 0)
        words_add(w, "If that is a checkpoint to go on from, load it into the host's memory: torch.load(..., "
                     "map_location=\"cpu\", mmap=True) at %s, and `del` it after load_state_dict. That gives back "
                     "at least %s. If that is not enough: ", line, text_mib(y->loaded.twin_bytes, a));
}

/* An optimizer's step that needs less. */
static void add_step(struct words *w, const struct why *y)
{
    if (why_fits_by_weight(y))
        words_add(w, "Give the optimizer %sforeach=False. If that is not enough: ",
                  y->step.has_fused ? "fused=True, or " : "");
}

/* The one that `tune` finds: it costs nothing to try. */
static void add_setting(struct words *w, const struct why *y)
{
    const struct tune *t = &y->tune;
    char a[TEXT_NUMBER], setting[SETTINGS_TEXT];
    if (!why_names_setting(y))
        return;
    words_add(w, "Try the setting %s first, which `replay tune` gives to paste: it serves this request out of %s that "
                 "were free in pieces. Whether the program goes on to its end with it is not known. If it does not: ",
              settings_text(&t->entries[t->winner].settings, &t->rules, false, setting),
              text_mib(why_unusable(y), a));
}

/* What is full gets smaller by its largest part, if that is no guess. */
static void add_smaller(struct words *w, const struct why *y)
{
    const bool is_known = y->named_bytes > 0 && y->categories.n > 0 && !holder_is_guess(&y->categories.at[0]);
    const char *most = is_known ? holder_name(&y->categories, 0) : "";
    char a[TEXT_NUMBER];
    if (why_is_survived(y))
        words_add(w, "Nothing needs to be done if the program may go on as it did. If not: ");
    add_setting(w, y);
    add_what_lies_twice(w, y);
    add_step(w, y);
    if (y->thaw.all > 0)
        words_add(w, "Unfreeze fewer layers, or take a smaller batch from then on");
    else if (strcmp(most, "activations") == 0 || strcmp(most, "inputs") == 0)
        words_add(w, why_may_checkpoint(y) ? "Take a smaller batch, or checkpoint activations"
                                           : "Take a smaller batch");
    else if (strcmp(most, "optimizer state") == 0)
        words_add(w, "Take an optimizer with smaller states");
    else if (strcmp(most, "parameters") == 0 || strcmp(most, "gradients") == 0)
        words_add(w, "Keep fewer weights on this card, or a smaller type of them");
    else
        words_add(w, "Keep less at once");
    if (most[0] != '\0' && y->thaw.all == 0)
        words_add(w, " (%s of %s are live)", text_mib(y->categories.at[0].bytes, a), most);
    words_add(w, ". Or take a larger card.");
}

/* What usually holds what a forward pass requested. */
static const char *forward_holds(const struct growth *g)
{
    if (g->is_one_request)
        return "one tensor that is replaced by a larger one again and again, as by torch.cat. Keep only its last part, "
               "or put the parts together on the host: .cpu().";
    if (g->keeps_one_result)
        return "a list, dict, cache, hook or exception that keeps results. Of each pass one request is held and "
               "nothing beside it, so .detach() would free nothing. Keep results on the host (.cpu()), or only what "
               "is needed of them (x[0].clone(): a slice keeps the whole), or drop them.";
    return "a loss or an output that is kept with its graph. Keep loss.item() or out.detach(), and run evaluation "
           "under torch.no_grad(). If it is detached already, move it to the host (.cpu()), or drop it.";
}

/* What usually holds what grows, by where it was made. */
static const char *what_holds(const struct growth *g)
{
    if (g->of_evaluation)
        return "a list of outputs, or torch.cat. Move each to the host (.cpu()), keep only what the metric needs "
               "(argmax, sums), and run it under torch.no_grad(). With Hugging Face's Trainer: "
               "eval_accumulation_steps=1, or preprocess_logits_for_metrics.";
    if (g->of_refusal)
        return "the exception: it holds its traceback, that the frames of the calls, and those their tensors. Try "
               "again after the `except` block, not inside it, and keep str(error), not the error.";
    if (g->phases & 1U << PHASE_FORWARD)
        return forward_holds(g);
    if (g->phases & 1U << PHASE_OPTIMIZER)
        return "an optimizer, or its state, that is made anew while the old one is kept.";
    if (g->phases & (1U << PHASE_SETUP | 1U << PHASE_BUFFER))
        return "models that are made or copied again while the old ones are kept.";
    if (g->phases & 1U << PHASE_BACKWARD && !(g->phases & 1U << PHASE_OWN))
        return "gradients that a hook, retain_graph or create_graph keeps.";
    return "a list, dict, cache or attribute that only gets longer, a callback, or an exception that is kept. Drop "
           "them with `del`, limit them, or keep them on the host: .cpu().";
}

static void add_leak(struct words *w, const struct why *y)
{
    if (y->growth.may_be_meant) {
        words_add(w, "It is replaced by a larger one each time. A generation's cache grows with its answer: limit the "
                     "length, or generate fewer answers at once. Results that torch.cat puts together fit on the "
                     "host.");
        return;
    }
    words_add(w, "Find what keeps the tensors %s. Usually it is %s",
              y->is_by_size ? "of that size" : "that this line makes", what_holds(&y->growth));
    if (y->is_by_size)
        words_add(w, " For the line, record with torch.cuda.memory._record_memory_history(stacks=\"python\").");
}

static void add_untold(struct words *w, const struct why *y)
{
    if (y->is_state)
        words_add(w, "Record how it came to that: torch.cuda.memory._record_memory_history() at the program's start, "
                     "or run it under replay record --torch.");
    else
        words_add(w, "Record the whole run: torch.cuda.memory._record_memory_history(stacks=\"python\") before the "
                     "first tensor%s. Or give replay why the log.",
                  y->coverage.begins == BEGINS_CUT ? ", without max_entries: older records were dropped" : "");
}

/* A cache that counts may run on a smaller card; one that was emptied was in the way. */
static void add_nothing(struct words *w, const struct why *y)
{
    if (y->stalls.seldom > 0) {
        words_add(w, "The driver refused PyTorch memory %" PRIu64 " time%s; it emptied its cache and went on, which is "
                     "slow: `replay tune` looks for a setting.", y->stalls.seldom, y->stalls.seldom == 1 ? "" : "s");
        return;
    }
    words_add(w, why_end_is_unseen(y) ? "As far as was recorded, nothing needs to be done."
                                      : "Nothing needs to be done.");
    if (y->reserved >= y->live + y->live / TUNE_GAIN_SHARE)
        words_add(w, " `replay tune` tells whether a setting lets it run on a smaller card.");
}

static void add_others(struct words *w, const struct why *y)
{
    if (y->shared_sentence[0] != '\0')
        words_add(w, "Free the machine's memory: other programs of the host and its page cache take from it, too.");
    else
        words_add(w, "Free the card: %s shows which other processes are on it.", card_tools_shows(y->tune.platform));
}

/* A recording does not show where record_stream is called. */
void why_add_walls_act(struct words *w, enum walls_kind kind)
{
    if (kind != WALLS_LATE_USES)
        words_add(w, "make the tensors on one stream, before `with torch.cuda.stream(...)`, and let the others only "
                     "compute with them; or use fewer streams.");
    if (kind != WALLS_STREAMS)
        words_add(w, "%s`x.record_stream(s)` let the stream that x was made on wait for s (`made_on.wait_stream(s)`), "
                     "and drop x then: it is free at once. Or keep fewer batches under way.",
                  kind == WALLS_BOTH ? " Instead of " : "instead of ");
}

static void add_streams(struct words *w, const struct why *y)
{
    words_add(w, "In the program, ");
    why_add_walls_act(w, y->walls.kind);
}

static void add_retries(struct words *w, const struct why *y)
{
    const bool may_be_late = y->stalls.replayed == 0 && y->has_late_uses;
    char a[TEXT_NUMBER];
    if (y->stalls.walls != WALLS_NONE || may_be_late) {
        words_add(w, "In the program, ");
        why_add_walls_act(w, may_be_late ? WALLS_LATE_USES : y->stalls.walls);
        return;
    }
    words_add(w, "Keep less at once, such as a smaller batch, or take a card that has %s for PyTorch.%s",
              text_mib(y->stalls.room_bytes, a), y->stalls.replayed > 0 ? " No setting that helps was found." : "");
}

/* What needs no figure of the recording's. */
static const char *const sentences[VERDICT_RECORDING_ENDS + 1] = {
    [VERDICT_NOT_IN_FORCE] = "Mend how the setting is asked for, then look again.",
    [VERDICT_LIMITED] = "Raise the limit: set_per_process_memory_fraction, a MIG slice's, or the container's.",
    [VERDICT_ONE_TENSOR] = "Make that tensor smaller, or compute it in pieces.",
    [VERDICT_LARGER_INPUT] = "Make this batch as small as the others (drop_last, a merged batch), or, if lengths vary, "
                             "limit the length or put inputs of like length into one batch (bucketing).",
    [VERDICT_FRAGMENTED] = "No setting that was tried cures it: replay fit finds a card that is large enough.",
};

void why_add_act(struct words *w, const struct why *y)
{
    static void (*const says[VERDICT_RECORDING_ENDS + 1])(struct words *, const struct why *) = {
        [VERDICT_SOMEBODY_ELSE] = add_others, [VERDICT_LEAK] = add_leak,
        [VERDICT_FULL] = add_smaller,         [VERDICT_RECORDING_ENDS] = add_untold,
        [VERDICT_STREAMS] = add_streams,      [VERDICT_CACHE] = add_nothing,
        [VERDICT_RETRIES] = add_retries,
    };
    if (y->is_of_xla)
        own_settings_add_act(w, &y->own);
    else if (y->library != PLATFORM_UNKNOWN && y->has_refusal)
        words_add(w, "Give replay why what the program printed: %s says there what was in use.",
                  platform_words(y->library));
    if (y->is_of_xla || y->cure != CURE_NONE || w->n > 0)
        return;
    if (sentences[y->verdict] != NULL)
        words_add(w, "%s", sentences[y->verdict]);
    else
        says[y->verdict](w, y);
}
