/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The training of a residual network for images, from its shape.
 *
 * The program is tests/against-torch/load_programs.py: a stem, stages that halve the image and double the channels, the
 * mean, a linear layer.
 */
#include "loads/kinds.h"

#include "loads/training.h"

enum cnn_option { STAGES, WIDTH, IMAGE, CLASSES, BATCH, STEPS, OPTIMIZER, CARD };
enum { STAGES_MAX = 8, IMAGE_CHANNELS = 3, KERNEL = 9 };

static const struct load_option cnn_options[] = {
    [STAGES] = {"stages", LOAD_NUMBER, 1, STAGES_MAX, "4", NULL,
                "stages, each with half the image and twice the channels"},
    [WIDTH] = {"width", LOAD_NUMBER, 1, 4096, "64", NULL, "channels before the first stage"},
    [IMAGE] = {"image", LOAD_NUMBER, 1, 8192, "224", NULL, "rows and columns of an image"},
    [CLASSES] = {"classes", LOAD_NUMBER, 2, 1 << 20, "1000", NULL, "classes to tell apart"},
    [BATCH] = {"batch", LOAD_NUMBER, 1, 1 << 16, "32", NULL, "images in a batch"},
    [STEPS] = {"steps", LOAD_NUMBER, 1, 1000000, "3", NULL, "steps of the optimizer"},
    [OPTIMIZER] = {"optimizer", LOAD_WORD, 0, 0, "sgd", TRAINING_OPTIMIZERS, "as in torch.optim"},
    [CARD] = {"card", LOAD_TEXT, 0, 0, "a100-40g", NULL, "cuBLAS's workspace follows it"},
    {.name = NULL},
};

/* A convolution without bias and its batch norm. */
struct filter { struct value weight, norm[2]; uint64_t n_out; };
struct stage { struct filter first, second, shortcut; uint64_t side; };

struct cnn {
    struct training training;
    struct filter stem;
    struct stage  stages[STAGES_MAX];
    struct value  head[2];
    uint64_t n_stages, width, image, n_classes, batch;
};

static struct filter filter_make(struct tape *t, uint64_t n_in, uint64_t n_out, uint64_t kernel)
{
    enum { COUNTER_BYTES = 8, STATISTIC_BYTES = 4 };
    struct filter f = {.weight = tape_parameter(t, n_in * n_out * kernel, true), .n_out = n_out};
    f.norm[0] = tape_parameter(t, n_out, true);
    f.norm[1] = tape_parameter(t, n_out, true);
    tape_buffer(t, n_out * STATISTIC_BYTES);
    tape_buffer(t, n_out * STATISTIC_BYTES);
    tape_buffer(t, COUNTER_BYTES);
    return f;
}

static void cnn_place(struct cnn *m)
{
    struct tape *t = m->training.layers.tape;
    m->stem = filter_make(t, IMAGE_CHANNELS, m->width, KERNEL);
    uint64_t side = m->image;
    for (uint64_t i = 0; i < m->n_stages; i++) {
        const uint64_t n_in = m->width << i, n_out = 2 * n_in;
        side = (side + 1) / 2;
        m->stages[i] = (struct stage){.first = filter_make(t, n_in, n_out, KERNEL),
                                      .second = filter_make(t, n_out, n_out, KERNEL),
                                      .shortcut = filter_make(t, n_in, n_out, 1), .side = side};
    }
    const uint64_t n_features = m->width << m->n_stages;
    m->head[0] = tape_parameter(t, n_features * m->n_classes, true);
    m->head[1] = tape_parameter(t, m->n_classes, true);
    tape_place_parameters(t);
}

static struct value filter_run(struct cnn *m, const struct filter *f, struct value x, uint64_t side)
{
    struct layers *l = &m->training.layers;
    const struct value y = layers_convolution(l, x, f->weight, m->batch * f->n_out * side * side);
    const struct value out = layers_batch_norm(l, y, f->norm[0], f->norm[1]);
    tape_drop(l->tape, y.storage);
    return out;
}

static struct value relu_run(struct cnn *m, struct value x)
{
    const struct value out = layers_relu(&m->training.layers, x);
    tape_drop(m->training.layers.tape, x.storage);
    return out;
}

static struct value stage_run(struct cnn *m, const struct stage *s, struct value x)
{
    struct layers *l = &m->training.layers;
    const struct value first = relu_run(m, filter_run(m, &s->first, x, s->side));
    const struct value second = filter_run(m, &s->second, first, s->side);
    tape_drop(l->tape, first.storage);
    const struct value shortcut = filter_run(m, &s->shortcut, x, s->side);
    const struct value sum = layers_add(l, second, shortcut);
    tape_drop(l->tape, shortcut.storage);
    const struct value out = relu_run(m, sum);
    tape_drop(l->tape, second.storage);
    return out;
}

static struct value cnn_run(struct cnn *m, uint32_t images)
{
    struct layers *l = &m->training.layers;
    const struct value input = {.storage = images, .node = TAPE_NONE, .element_bytes = 4,
                                .count = m->batch * IMAGE_CHANNELS * m->image * m->image};
    struct value x = relu_run(m, filter_run(m, &m->stem, input, m->image));
    for (uint64_t i = 0; i < m->n_stages; i++) {
        const struct value next = stage_run(m, &m->stages[i], x);
        tape_drop(l->tape, x.storage);
        x = next;
    }
    const struct value mean = layers_mean(l, x, m->batch * (m->width << m->n_stages));
    const struct value logits = layers_linear(l, mean, m->head[0], m->head[1], m->batch, m->n_classes);
    tape_drop(l->tape, mean.storage);
    tape_drop(l->tape, x.storage);
    return layers_cross_entropy(l, logits);
}

static void cnn_train(struct cnn *m, uint64_t steps)
{
    struct tape *t = m->training.layers.tape;
    struct training_batch batch = TRAINING_NO_BATCH;
    for (uint64_t step = 0; step < steps; step++) {
        training_mark(&m->training, step);
        training_load(&m->training, &batch, m->batch * IMAGE_CHANNELS * m->image * m->image * tape_element_bytes(t),
                      m->batch * LAYERS_INDEX_BYTES);
        training_backward(&m->training, &batch, cnn_run(m, batch.inputs));
        training_step(&m->training);
    }
}

static enum err cnn_make(const struct load_request *r, struct trace_writer *w, struct err_detail *err)
{
    const struct load_value *v = r->values;
    struct cnn m = {.n_stages = v[STAGES].number, .width = v[WIDTH].number, .image = v[IMAGE].number,
                    .n_classes = v[CLASSES].number, .batch = v[BATCH].number};
    const enum err e = training_open(&m.training, w, v[CARD].text, 4, (enum training_optimizer)v[OPTIMIZER].number,
                                     err);
    if (e != ERR_OK)
        return e;
    cnn_place(&m);
    cnn_train(&m, v[STEPS].number);
    return training_close(&m.training);
}

const struct load_kind load_cnn = {
    .name = "cnn",
    .typed = "cnn:...",
    .summary = "the training of a residual network for images, as PyTorch 2.9 makes its requests",
    .options = cnn_options,
    .make = cnn_make,
};
