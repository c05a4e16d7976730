/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Reinforcement learning on one card: rounds of generating answers with a cache and training on them. The two phases
 * ask for quite different sizes, which is what fragments the memory of such programs.
 */
#include "loads/kinds.h"

#include "loads/transformer.h"

enum reinforcement_option {
    ROUNDS, PROMPT, ANSWER, BATCH, TRAINED, STEPS, FLUSH, LAYERS, WIDTH, HEADS, HIDDEN, VOCABULARY, PRECISION,
    OPTIMIZER, CHECKPOINTING, CARD
};

static const struct load_option reinforcement_options[] = {
    [ROUNDS] = {"rounds", LOAD_NUMBER, 1, 100000, "3", NULL, "rounds of generating and training"},
    [PROMPT] = {"prompt", LOAD_NUMBER, 1, 1 << 20, "128", NULL, "tokens of a prompt"},
    [ANSWER] = {"answer", LOAD_NUMBER, 1, 1 << 20, "256", NULL, "tokens of an answer"},
    [BATCH] = {"batch", LOAD_NUMBER, 1, 1 << 20, "32", NULL, "answers that are generated at once"},
    [TRAINED] = {"trained", LOAD_NUMBER, 1, 1 << 20, "8", NULL, "of them in a batch of the training"},
    [STEPS] = {"steps", LOAD_NUMBER, 1, 100000, "4", NULL, "steps of the optimizer in a round"},
    [FLUSH] = {"flush", LOAD_WORD, 0, 0, "no", "no|yes", "torch.cuda.empty_cache() between the phases"},
    [LAYERS] = {"layers", LOAD_NUMBER, 1, 1000, "12", NULL, "blocks of attention and feed-forward"},
    [WIDTH] = {"width", LOAD_NUMBER, 8, 1 << 16, "768", NULL, "elements of a token's vector"},
    [HEADS] = {"heads", LOAD_NUMBER, 1, 1024, "12", NULL, "heads of attention; they divide the width"},
    [HIDDEN] = {"hidden", LOAD_NUMBER, 0, 1 << 20, "0", NULL,
                "width of the feed-forward layer; 0: four times the width"},
    [VOCABULARY] = {"vocabulary", LOAD_NUMBER, 2, 1 << 22, "50257", NULL, "tokens that there are"},
    [PRECISION] = {"precision", LOAD_WORD, 0, 0, "bf16", "fp32|bf16", "of parameters, states and activations"},
    [OPTIMIZER] = {"optimizer", LOAD_WORD, 0, 0, "adamw", TRAINING_OPTIMIZERS, "as in torch.optim"},
    [CHECKPOINTING] = {"checkpointing", LOAD_WORD, 0, 0, "no", "no|yes", "keep a block's input only, and run it again"},
    [CARD] = {"card", LOAD_TEXT, 0, 0, "a100-40g", NULL, "the libraries' workspaces follow it"},
    {.name = NULL},
};

static void phase_begin(struct transformer *m, const struct load_value *v, const char *label)
{
    if (v[FLUSH].number == 1)
        tape_flush(m->training.layers.tape);
    tape_mark(m->training.layers.tape, label);
}

static void reinforcement_run(struct transformer *m, const struct load_value *v)
{
    struct training_batch batch = TRAINING_NO_BATCH;
    for (uint64_t round = 0; round < v[ROUNDS].number; round++) {
        phase_begin(m, v, "rollout");
        m->heads.batch = v[BATCH].number;
        transformer_generate(m, v[PROMPT].number, v[ANSWER].number);
        phase_begin(m, v, "training");
        m->heads.batch = v[TRAINED].number;
        for (uint64_t step = 0; step < v[STEPS].number; step++) {
            transformer_train(m, &batch);
            training_step(&m->training);
        }
    }
}

static enum err reinforcement_make(const struct load_request *r, struct trace_writer *w, struct err_detail *err)
{
    const struct load_value *v = r->values;
    const uint64_t length = v[PROMPT].number + v[ANSWER].number;
    if (v[WIDTH].number % v[HEADS].number != 0)
        return err_set(err, ERR_USAGE, 0, "rl: heads divide the width");
    struct transformer m = {
        .is_first = true, .is_last = true, .n_data = 1, .n_tensor = 1,
        .n_blocks = v[LAYERS].number, .width = v[WIDTH].number, .vocabulary = v[VOCABULARY].number,
        .hidden = v[HIDDEN].number > 0 ? v[HIDDEN].number : 4 * v[WIDTH].number,
        .n_rows = v[TRAINED].number * length, .is_checkpointed = v[CHECKPOINTING].number == 1,
        .heads = {.batch = v[TRAINED].number, .length = length, .n = v[HEADS].number,
                  .width = v[WIDTH].number / v[HEADS].number},
    };
    const enum err e = transformer_open(&m, w, v[CARD].text, v[PRECISION].number == 0 ? 4 : 2,
                                        (enum training_optimizer)v[OPTIMIZER].number, err);
    if (e == ERR_OK)
        reinforcement_run(&m, v);
    const enum err closing = transformer_close(&m);
    return e == ERR_OK ? closing : e;
}

const struct load_kind load_reinforcement = {
    .name = "rl",
    .typed = "rl:...",
    .summary = "reinforcement learning on one card: rounds of generating answers and training on them",
    .options = reinforcement_options,
    .make = reinforcement_make,
};
