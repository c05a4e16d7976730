/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay conform POLICY --as ALLOCATOR`: in how many recorded cases does a policy do what the real allocator did? */
#include "replay/program/cli.h"

#include "base/installed_file.h"
#include "replay/conform/conform.h"
#include "report/text/json_writer.h"
#include "report/text/text.h"

#include <limits.h>

/* Everything the command holds. Zero is valid: conform_end accepts it. */
struct session {
    const struct options *options;
    struct conform        result;
};

static void conform_end(void *session)
{
    struct session *s = session;
    conform_close(&s->result);
}

static enum err conform_read(void *session, const struct options *o, struct err_detail *err)
{
    struct session *s = session;
    char folder[PATH_MAX];
    s->options = o;
    if (o->as == NULL)
        return err_set(err, ERR_USAGE, 0, "say which allocator the policy stands for: --as rmm-pool");
    const enum err e = installed_file_find("tests/data/zoo", folder, err);
    return e == ERR_OK ? conform_run(folder, o->as, o->inputs[0], &s->result, err) : e;
}

static enum err conform_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct session *s = session;
    const struct conform *c = &s->result;
    struct words answer = { .n = 0 };
    words_add(&answer, "%s does what %s %s did in %zu of %zu recorded cases (%.1f %%): the same placements, refusals, "
              "device calls, block sizes and counters.", s->options->inputs[0], s->options->as, c->version, c->n_equal,
              c->n, 100.0 * (double)c->n_equal / (double)c->n);
    words_print_within(stdout, &answer, HELP_WIDTH, 0, 0);
    if (c->n_refused_options > 0) {
        struct words note = { .n = 0 };
        words_add(&note, "%zu of the cases have options that it does not take: it has to declare those of "
                  "`replay --help %s`.", c->n_refused_options, s->options->as);
        printf("\n");
        words_print_within(stdout, &note, HELP_WIDTH, 0, 0);
    }
    if (c->n_equal < c->n)
        printf("\nThe first difference of each case that is not equal:\n");
    for (size_t i = 0; i < c->n; i++) {
        struct words w = { .n = 0 };
        if (c->cases[i].difference == NULL)
            continue;
        words_add(&w, "%s: %s", c->cases[i].name, c->cases[i].difference);
        words_print_within(stdout, &w, HELP_WIDTH, 0, 4);
    }
    return ERR_OK;
}

static enum err conform_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    const struct session *s = session;
    const struct conform *c = &s->result;
#define ANSWER_TABLE "answers/conform.def"
#include "answers/as_json.def"
    return ERR_OK;
}

static enum exit_status conform_status(const void *session)
{
    const struct conform *c = &((const struct session *)session)->result;
    return c->n_equal == c->n ? STATUS_DONE : STATUS_FAILED;
}

static const struct flag_use conform_flags[] = { TAKES(AS), TAKES(JSON), TAKES(HELP), FLAGS_END };

const struct subcommand cmd_conform = {
    .name = "conform",
    .synopsis = "conform POLICY --as ALLOCATOR",
    .summary = "in how many recorded cases a policy does what the real allocator did",
    .text = "The cases were recorded from released libraries on a simulated device, of these allocators: "
            CONFORM_ALLOCATORS ". The policy may be a plugin. It gets the options of each case under the names that "
            "our policy for that allocator has (replay --help rmm-pool), so it has to declare them.\n"
            "\n"
            "Examples:\n"
            "  replay conform ./mine.so --as rmm-pool\n"
            "  replay conform best-fit --as cupy --json score.json\n",
    .failed = "a recorded case is not equal",
    .flags = conform_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct session), .read = conform_read, .write_json = conform_write_json,
                .print = conform_print, .status = conform_status, .close = conform_end },
};
