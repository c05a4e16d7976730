/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay bench-pools LOAD...`: kinds of pools for a server's KV cache, on loads of requests. */
#include "replay/program/cli.h"
#include "replay/pools/pool_contest.h"

#include "base/terminal.h"

struct pools_session {
    struct pool_contest contest;
    bool is_wide;
};

static enum err pools_read(void *session, const struct options *o, struct err_detail *err)
{
    const struct pool_contest_request asked = { .loads = o->inputs, .n_loads = o->n_inputs, .kinds = o->policies,
                                                .n_kinds = o->n_policies, .seed = o->seed };
    struct pools_session *s = session;
    s->is_wide = o->is_wide;
    return pool_contest_run(&asked, &s->contest, err);
}

static enum err pools_write_json(const void *session, FILE *out, struct err_detail *err)
{
    (void)err;
    pool_contest_write_json(out, &((const struct pools_session *)session)->contest);
    return ERR_OK;
}

static enum err pools_print(const void *session, struct err_detail *err)
{
    (void)err;
    const struct pools_session *s = session;
    return pool_contest_print(stdout, &s->contest, s->is_wide ? TERMINAL_ANY : terminal_columns(stdout));
}

static void pools_close(void *session)
{
    pool_contest_close(&((struct pools_session *)session)->contest);
}

static const struct flag_use bench_pools_flags[] = {
    TAKES_AS(POLICY, "a pool to compare: contiguous, unshared, paged, mapped, kvcached, jenga or sleep (default: all); "
                     "may be given several times"),
    TAKES(SEED), TAKES(JSON), TAKES(WIDE), TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_bench_pools = {
    .name = "bench-pools",
    .synopsis = "bench-pools [LOAD...]",
    .summary = "compare pools for the KV cache of a server: what each makes of one memory",
    .text = "A load is a file of a published request trace (Azure, BurstGPT, Mooncake, by their columns), or requests "
            "that are made up, with the shape of a model and the size of the pool; replay --help pools lists what may "
            "be said. Without one, five made-up loads are played.\n"
            "\n"
            "Each is played against each pool, scheduled as vLLM schedules: PagedAttention's blocks, with and without "
            "prompts that share their beginnings, room for the longest request, vAttention's and kvcached's mapped "
            "pages, Jenga's pages for layers of two kinds, and, of several models on a card, vLLM's sleep mode. They "
            "are modelled from descriptions; doc/zoo.md has the rules. The table says how many tokens a GiB holds, "
            "what the rest of the memory is, and how many requests were preempted.\n"
            "\n"
            "  replay bench-pools\n"
            "  replay bench-pools azure.csv,memory=40GiB,layers=80,kv_heads=8,head=128\n"
            "  replay bench-pools mooncake.jsonl,memory=40GiB,longest=131072 \\\n"
            "      --policy paged --policy unshared\n",
    .flags = bench_pools_flags,
    .n_inputs_min = 0,
    .n_inputs_max = SIZE_MAX,
    .answer = { .session_bytes = sizeof(struct pools_session), .read = pools_read, .write_json = pools_write_json,
                .print = pools_print, .close = pools_close },
};
