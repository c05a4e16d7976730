/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay generate transformer:...`: the training loop. */
#include "loads/kinds.h"

#include "loads/pipeline.h"

enum transformer_option {
    LAYERS, WIDTH, HEADS, HIDDEN, VOCABULARY, BATCH, LENGTH, STEPS, PRECISION, OPTIMIZER, CHECKPOINTING, ACCUMULATE,
    DROPOUT, DATA, ZERO, TENSOR, STAGES, STAGE, LORA, EXPERTS, CHOSEN, SKEW, CARD
};
enum { FP32, BF16, AUTOCAST };
enum { ZERO_NO, ZERO_STATES, ZERO_ALL };

static const struct load_option transformer_options[] = {
    [LAYERS] = {"layers", LOAD_NUMBER, 1, 1000, "12", NULL, "blocks of attention and feed-forward"},
    [WIDTH] = {"width", LOAD_NUMBER, 8, 1 << 16, "768", NULL, "elements of a token's vector"},
    [HEADS] = {"heads", LOAD_NUMBER, 1, 1024, "12", NULL, "heads of attention; they divide the width"},
    [HIDDEN] = {"hidden", LOAD_NUMBER, 0, 1 << 20, "0", NULL,
                "width of the feed-forward layer; 0: four times the width"},
    [VOCABULARY] = {"vocabulary", LOAD_NUMBER, 2, 1 << 22, "50257", NULL, "tokens that there are"},
    [BATCH] = {"batch", LOAD_NUMBER, 1, 1 << 20, "8", NULL, "sequences in a batch"},
    [LENGTH] = {"length", LOAD_NUMBER, 1, 1 << 22, "1024", NULL, "tokens in a sequence"},
    [STEPS] = {"steps", LOAD_NUMBER, 1, 1000000, "3", NULL, "steps of the optimizer"},
    [PRECISION] = {"precision", LOAD_WORD, 0, 0, "fp32", "fp32|bf16|autocast",
                   "of parameters, states and activations; autocast: fp32, and bf16 in products"},
    [OPTIMIZER] = {"optimizer", LOAD_WORD, 0, 0, "adamw", TRAINING_OPTIMIZERS, "as in torch.optim"},
    [CHECKPOINTING] = {"checkpointing", LOAD_WORD, 0, 0, "no", "no|yes", "keep a block's input only, and run it again"},
    [ACCUMULATE] = {"accumulate", LOAD_NUMBER, 1, 4096, "1", NULL, "batches for each step of the optimizer"},
    [DROPOUT] = {"dropout", LOAD_WORD, 0, 0, "no", "no|yes", "drop some of what the embedding, attention and "
                 "feed-forward give"},
    [DATA] = {"data", LOAD_NUMBER, 1, 1 << 16, "1", NULL, "ranks with a batch each (DistributedDataParallel)"},
    [ZERO] = {"zero", LOAD_WORD, 0, 0, "no", "no|states|all",
              "what the ranks of data= share: the optimizer's states, or all (fully_shard)"},
    [TENSOR] = {"tensor", LOAD_NUMBER, 1, 1 << 10, "1", NULL, "ranks that share each layer (as Megatron-LM does)"},
    [STAGES] = {"stages", LOAD_NUMBER, 1, 1000, "1", NULL, "cards of a pipeline; accumulate= are the batches in it"},
    [STAGE] = {"stage", LOAD_NUMBER, 0, 999, "0", NULL, "which of them this is, from 0"},
    [LORA] = {"lora", LOAD_NUMBER, 0, 1 << 16, "0", NULL, "rank of trained corrections to frozen layers; 0: train all"},
    [EXPERTS] = {"experts", LOAD_NUMBER, 0, EXPERTS_MAX, "0", NULL, "feed-forward layers of a mixture; 0: one for all"},
    [CHOSEN] = {"chosen", LOAD_NUMBER, 1, EXPERTS_MAX, "2", NULL, "experts that a token is sent to"},
    [SKEW] = {"skew", LOAD_NUMBER, 1, 1000, "4", NULL,
              "times as many tokens for the most popular expert as for the least"},
    [CARD] = {"card", LOAD_TEXT, 0, 0, "a100-40g", NULL, "the libraries' workspaces follow it"},
    {.name = NULL},
};

static uint64_t hidden_of(const struct load_value *v)
{
    return v[HIDDEN].number > 0 ? v[HIDDEN].number : 4 * v[WIDTH].number;
}

static enum err ranks_check(const struct load_value *v, struct err_detail *err)
{
    if (v[HEADS].number % v[TENSOR].number != 0 || hidden_of(v) % v[TENSOR].number != 0)
        return err_set(err, ERR_USAGE, 0, "transformer: tensor=%llu does not divide the heads and the hidden width",
                       (unsigned long long)v[TENSOR].number);
    if (v[TENSOR].number > 1 && (v[LORA].number > 0 || v[EXPERTS].number > 0))
        return err_set(err, ERR_USAGE, 0, "transformer: tensor= is not with lora= or experts= here");
    if (v[STAGE].number >= v[STAGES].number || v[LAYERS].number % v[STAGES].number != 0)
        return err_set(err, ERR_USAGE, 0, "transformer: stage= is one of stages=, which divides the layers");
    if (v[STAGES].number > 1 && (v[DATA].number > 1 || v[TENSOR].number > 1))
        return err_set(err, ERR_USAGE, 0, "transformer: stages= is not with data= or tensor= here");
    if (v[ZERO].number != ZERO_NO && v[DATA].number == 1)
        return err_set(err, ERR_USAGE, 0, "transformer: zero= needs data=...: the ranks that share");
    if (v[ZERO].number == ZERO_ALL && (v[CHECKPOINTING].number > 0 || v[ACCUMULATE].number > 1 || v[LORA].number > 0 ||
                                       v[PRECISION].number == AUTOCAST))
        return err_set(err, ERR_USAGE, 0, "transformer: zero=all is not with checkpointing, accumulate, lora or "
                       "autocast here");
    return ERR_OK;
}

static enum err transformer_check(const struct load_value *v, struct err_detail *err)
{
    if (v[WIDTH].number % v[HEADS].number != 0)
        return err_set(err, ERR_USAGE, 0, "transformer: %llu heads do not divide a width of %llu",
                       (unsigned long long)v[HEADS].number, (unsigned long long)v[WIDTH].number);
    if (v[EXPERTS].number > 0 && v[LORA].number > 0)
        return err_set(err, ERR_USAGE, 0, "transformer: experts have no lora here");
    if (v[EXPERTS].number > 0 && v[CHOSEN].number > v[EXPERTS].number)
        return err_set(err, ERR_USAGE, 0, "transformer: chosen is more than there are experts");
    if (v[BATCH].number * v[LENGTH].number > UINT64_C(1) << 32)
        return err_set(err, ERR_USAGE, 0, "transformer: a batch of more than 2^32 tokens");
    return ranks_check(v, err);
}

static enum err transformer_make(const struct load_request *r, struct trace_writer *w, struct err_detail *err)
{
    const struct load_value *v = r->values;
    enum err e = transformer_check(v, err);
    if (e != ERR_OK)
        return e;
    struct transformer m = {
        .n_blocks = v[LAYERS].number / v[STAGES].number, .width = v[WIDTH].number, .vocabulary = v[VOCABULARY].number,
        .hidden = hidden_of(v), .rank = v[LORA].number,
        .n_data = v[DATA].number, .is_sharded = v[ZERO].number == ZERO_ALL, .n_tensor = v[TENSOR].number,
        .n_rows = v[BATCH].number * v[LENGTH].number, .is_checkpointed = v[CHECKPOINTING].number == 1,
        .is_autocast = v[PRECISION].number == AUTOCAST, .has_dropout = v[DROPOUT].number == 1,
        .is_first = v[STAGE].number == 0, .is_last = v[STAGE].number + 1 == v[STAGES].number,
        .heads = {.batch = v[BATCH].number, .length = v[LENGTH].number, .n = v[HEADS].number / v[TENSOR].number,
                  .width = v[WIDTH].number / v[HEADS].number, .has_dropout = v[DROPOUT].number == 1},
        .experts = {.n = v[EXPERTS].number, .chosen = v[CHOSEN].number, .skew = v[SKEW].number,
                    .width = v[WIDTH].number, .hidden = hidden_of(v)},
    };
    e = transformer_open(&m, w, v[CARD].text, v[PRECISION].number == BF16 ? 2 : 4,
                         (enum training_optimizer)v[OPTIMIZER].number, err);
    if (v[ZERO].number == ZERO_STATES)
        m.training.n_sharers = v[DATA].number;
    struct training_batch batch = TRAINING_NO_BATCH;
    for (uint64_t step = 0; step < v[STEPS].number && e == ERR_OK; step++) {
        training_mark(&m.training, step);
        if (v[STAGES].number > 1)
            pipeline_batches(&m, v[STAGE].number, v[STAGES].number, v[ACCUMULATE].number);
        for (uint64_t i = 0; i < v[ACCUMULATE].number && v[STAGES].number == 1; i++)
            transformer_train(&m, &batch);
        training_step(&m.training);
    }
    const enum err closing = transformer_close(&m);
    return e == ERR_OK ? closing : e;
}

const struct load_kind load_transformer = {
    .name = "transformer",
    .typed = "transformer:...",
    .summary = "the training of a transformer, request by request as PyTorch 2.9 makes them",
    .options = transformer_options,
    .make = transformer_make,
};
