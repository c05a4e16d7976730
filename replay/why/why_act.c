/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What to do where no setting cures it, in one line for a page: the reasons tell more. */
#include "replay/why/why.h"

#include "replay/why/card_tools.h"
#include "report/text/text.h"

#include <string.h>

/* What is full gets smaller by its largest part. */
static void add_smaller(struct words *w, const struct why *y)
{
    const char *most = y->named_bytes > 0 && y->categories.n > 0 ? holder_name(&y->categories, 0) : "";
    char a[TEXT_NUMBER];
    if (strcmp(most, "activations") == 0 || strcmp(most, "inputs") == 0)
        words_add(w, "Take a smaller batch, or checkpoint activations");
    else if (strcmp(most, "optimizer state") == 0)
        words_add(w, "Take an optimizer with smaller states");
    else if (strcmp(most, "parameters") == 0 || strcmp(most, "gradients") == 0)
        words_add(w, "Keep fewer weights on this card, or a smaller type of them");
    else
        words_add(w, "Keep less at once");
    if (most[0] != '\0')
        words_add(w, ": %s of what is live are %s", text_mib(y->categories.at[0].bytes, a), most);
    words_add(w, ". Or take a larger card.");
}

static void add_leak(struct words *w, const struct why *y)
{
    if (y->growth.lines.n > 0)
        words_add(w, "See what %s keeps.", holder_name(&y->growth.lines, 0));
    words_add(w, y->growth.phases & 1U << PHASE_FORWARD && !y->growth.keeps_one_result
                     ? " Usually it is a loss or an output with its graph: keep loss.item() or out.detach() instead."
                     : " Usually a list, dict, cache or attribute only gets longer: drop what it keeps, or move it to "
                       "the host with .cpu().");
}

static void add_untold(struct words *w, const struct why *y)
{
    words_add(w, y->is_state ? "Record its history: torch.cuda.memory._record_memory_history() at the program's start."
                             : "Ask again about the card that it ran on, with --device, or give replay why the log.");
}

static void add_others(struct words *w, const struct why *y)
{
    words_add(w, "Free the card: %s shows which other processes are on it.", card_tools_shows(y->tune.platform));
}

static void add_one_tensor(struct words *w, const struct why *y)
{
    words_add(w, "Make that tensor smaller, or compute it in pieces%s%s.", y->asked_line[0] != '\0' ? ", at " : "",
              y->asked_line);
}

/* A recording does not show where record_stream is called. */
void why_add_walls_act(struct words *w, const struct why *y)
{
    if (y->walls.kind != WALLS_LATE_USES)
        words_add(w, "make the tensors on one stream, before `with torch.cuda.stream(...)`, and let the others only "
                     "compute with them; or use fewer streams.");
    if (y->walls.kind != WALLS_STREAMS)
        words_add(w, "%s`x.record_stream(s)` keep x until torch.cuda.current_stream().wait_stream(s), and drop it "
                     "then: it is free at once. Or keep fewer batches under way.",
                  y->walls.kind == WALLS_BOTH ? " Instead of " : "instead of ");
}

static void add_streams(struct words *w, const struct why *y)
{
    words_add(w, "In the program: ");
    why_add_walls_act(w, y);
}

/* What needs no figure of the recording's. */
static const char *const sentences[VERDICT_RECORDING_ENDS + 1] = {
    [VERDICT_NOT_IN_FORCE] = "Mend how the setting is asked for, then look again.",
    [VERDICT_LIMITED] = "Raise the limit: set_per_process_memory_fraction, a MIG slice's, or the container's.",
    [VERDICT_LARGER_INPUT] = "Cut or split the largest inputs, or take a smaller batch for them.",
    [VERDICT_FRAGMENTED] = "No setting that was tried cures it: replay fit finds a card that is large enough.",
    [VERDICT_CACHE] = "Nothing needs to be done. To run it on a smaller card, ask replay tune for a setting.",
};

void why_add_act(struct words *w, const struct why *y)
{
    static void (*const says[VERDICT_RECORDING_ENDS + 1])(struct words *, const struct why *) = {
        [VERDICT_SOMEBODY_ELSE] = add_others, [VERDICT_ONE_TENSOR] = add_one_tensor, [VERDICT_LEAK] = add_leak,
        [VERDICT_FULL] = add_smaller,         [VERDICT_RECORDING_ENDS] = add_untold,
        [VERDICT_STREAMS] = add_streams,
    };
    if (y->cure != CURE_NONE)
        return;
    if (sentences[y->verdict] != NULL)
        words_add(w, "%s", sentences[y->verdict]);
    else
        says[y->verdict](w, y);
}
