/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/oom_answer.h"

#include "base/torch_sizes.h"
#include "base/units.h"
#include "replay/why/card_tools.h"
#include "sim/card_context.h"

#include <inttypes.h>
#include <string.h>

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* ---- what stands around the program ---- */

/* Whether the log is of a framework around PyTorch that is in the list, which NULL ends. */
static bool is_within(const struct log_facts *facts, const char *const *names)
{
    while (*names != NULL && (facts == NULL || facts->within == NULL || strcmp(facts->within, *names) != 0))
        names++;
    return *names != NULL;
}

/* Frameworks whose own options make live data smaller, which a batch, a loss or an optimizer of one's own does not. */
static bool has_own_options(const struct log_facts *facts)
{
    static const char *const names[] = { "vllm", "sglang", "tensorrt-llm", "ollama", "llama.cpp", "comfyui", "forge",
                                         "stable-diffusion-webui", "invokeai", "diffusers", "kohya", "musubi-tuner",
                                         "text-generation-webui", NULL };
    return is_within(facts, names);
}

/* Whether the text is of one process of several that need their cards together. */
static bool is_of_several(const struct oom_text *t, const struct log_facts *facts)
{
    static const char *const spread[] = { "vllm", "sglang", "tensorrt-llm", "deepspeed", NULL };
    const bool is_spread = is_within(facts, spread);
    return t->rank >= 0 || t->n_ranks > 1 || (is_spread && (t->gpu > 0 || facts->is_of_several));
}

/* Frameworks that turn expandable segments on themselves, unless the environment says something else. Sources:
 * axolotl/utils/__init__.py; unsloth and unsloth_zoo at their import; torchtune at its import. */
static const char *sets_segments(const struct log_facts *facts)
{
    static const char *const names[] = { "axolotl", "torchtune", "unsloth", NULL };
    return is_within(facts, names) ? facts->within : NULL;
}

/* Engines whose ranks show their memory to each other by handles that expandable segments do not have: with several
 * cards the server ends while it captures its graphs. Sources: vllm-project/vllm#42609, sgl-project/sglang#27593. */
static bool is_ended_by_segments(const struct oom_text *t, const struct log_facts *facts)
{
    static const char *const engines[] = { "vllm", "sglang", NULL };
    return is_within(facts, engines) && is_of_several(t, facts);
}

/* Programs that hold such an engine, on one card or asleep: vLLM's sleep mode refused expandable segments until
 * vllm-project/vllm#40812. */
static bool holds_engine(const struct log_facts *facts)
{
    static const char *const names[] = { "vllm", "sglang", "verl", "openrlhf", NULL };
    return is_within(facts, names) || (facts != NULL && facts->has_sleep);
}

/* It was asked for by a name that only newer releases read. */
static bool is_not_read(const struct oom_text *t, const struct log_facts *facts)
{
    return facts != NULL && t->is_before_general && facts->is_expandable_asked && !facts->is_asked_by_own;
}

static bool is_expandable_on(const struct oom_text *t, const struct log_facts *facts, enum platform p)
{
    const char *why;
    if (t->is_expandable || facts == NULL)
        return t->is_expandable;
    if (facts->is_not_in_force || is_not_read(t, facts))
        return false;
    return facts->is_expandable_asked ||
           (sets_segments(facts) != NULL && platform_has_setting(p, "expandable_segments", &why));
}

/* A Grace CPU's card has memory of its own beside the host's. */
static bool is_grace(const char *machine)
{
    return strncmp(machine, "GH", 2) == 0 || strncmp(machine, "GB2", 3) == 0 || strncmp(machine, "GB3", 3) == 0;
}

/* A machine that has one memory only, which the host's programs and its page cache fill, too. */
static bool has_one_memory(const struct log_facts *facts)
{
    return facts != NULL && facts->shared != NULL && !is_grace(facts->shared);
}

/* ---- the account ---- */

/* What other processes hold: those that the text lists, or all that is neither free nor this process. A text that names
 * no process tells only what is outside of PyTorch, of which a context is the program's own. */
static uint64_t find_others(const struct oom_text *t)
{
    const uint64_t outside = oom_text_outside(t);
    if (t->process != OOM_TEXT_UNKNOWN && add_capped(t->process, oom_text_rounding(t->process)) >= t->reserved) {
        const uint64_t known = add_capped(t->free, t->process);
        const uint64_t unlisted = minus(t->total, known);
        return unlisted > add_capped(t->others, CARD_CONTEXT_MOST_BYTES) ? unlisted : t->others;
    }
    if (t->lists_processes || t->lacks_free || outside == OOM_TEXT_UNKNOWN)
        return t->others;
    return minus(outside, CARD_CONTEXT_MOST_BYTES);
}

/* Of a machine with one memory, what no process is named for is the host's: it is the story only if it is more than the
 * program's own. */
static uint64_t find_rest(const struct oom_text *t, const struct log_facts *facts)
{
    const uint64_t others = find_others(t);
    return t->others == 0 && has_one_memory(facts) && others < t->reserved ? 0 : others;
}

static struct memory_account account_of(const struct oom_text *t, const struct log_facts *facts)
{
    const uint64_t cached = t->reserved - t->allocated;
    const uint64_t pools = t->private_pools == OOM_TEXT_UNKNOWN ? 0 : t->private_pools;
    return (struct memory_account){
        .asked = t->asked,
        .least_asked = oom_text_least_asked(t),
        .total = t->total,
        .free = t->free,
        .allowed = t->allowed,
        .others = find_rest(t, facts),
        .are_others_named = t->lists_processes || t->process != OOM_TEXT_UNKNOWN,
        .allocated = t->allocated,
        .cached = cached,
        .pools = pools,
        .rounding = oom_text_rounding(t->free) + oom_text_rounding(cached) + oom_text_rounding(pools),
        .asked_rounding = oom_text_rounding(t->asked),
    };
}

/* ---- verdict and setting ---- */

static enum verdict_kind verdict_of(enum memory_giver giver)
{
    static const enum verdict_kind verdicts[] = {
        [GIVER_HOST] = VERDICT_HOST_LENT,      [GIVER_LIMIT] = VERDICT_LIMITED,
        [GIVER_ROOM] = VERDICT_CARD_HAD_ROOM,  [GIVER_REQUEST] = VERDICT_ONE_TENSOR,
        [GIVER_OTHERS] = VERDICT_SOMEBODY_ELSE, [GIVER_CACHE] = VERDICT_FRAGMENTED,
        [GIVER_CACHE_OR_LIVE] = VERDICT_FULL_OR_FRAGMENTED, [GIVER_LIVE] = VERDICT_FULL,
    };
    return verdicts[giver];
}

/* PyTorch lists processes where it finds NVIDIA's driver, which a build for Windows never does: from 2.1 on a text of
 * CUDA without them is most likely of Windows. */
static enum platform platform_of(const struct oom_text *t, const struct log_facts *facts)
{
    if (facts != NULL && facts->platform != PLATFORM_UNKNOWN)
        return facts->platform;
    return t->lists_processes ? PLATFORM_LINUX : t->is_early ? PLATFORM_UNKNOWN : PLATFORM_WINDOWS;
}

static bool may_set(const struct oom_answer *a, const struct log_facts *facts, const char *setting, bool is_set)
{
    const char *why;
    return !is_set && platform_has_setting(a->platform, setting, &why) && (facts == NULL || facts->shared == NULL);
}

/* A setting helps if it may put what is free and what is cached together. PyTorch has expandable segments from 2.1 on;
 * before, it has max_split_size_mb if its text says so. What is set already is no advice. */
static const char *find_setting(const struct oom_text *t, const struct log_facts *facts, const struct oom_answer *a)
{
    const uint64_t there = a->judgement.room + a->account.cached;
    const bool is_limited = a->verdict == VERDICT_LIMITED;
    const bool may_lie_in_pieces = is_limited || a->verdict == VERDICT_FRAGMENTED ||
                                   a->verdict == VERDICT_FULL_OR_FRAGMENTED;
    const bool is_on = is_expandable_on(t, facts, a->platform);
    const bool is_refused = facts != NULL && facts->is_not_in_force;
    if (t->is_foreign)
        return NULL;                                 /* which settings its allocator has is not known here */
    if (is_limited && there <= a->account.allowed / MEMORY_GAIN_SHARE)
        return NULL;                                 /* a scrap serves one request, and raising the limit serves all */
    if (!may_lie_in_pieces || there < (is_limited ? a->account.asked : a->account.least_asked) || is_on)
        return NULL;
    if (is_ended_by_segments(t, facts))
        return NULL;                                 /* it would end the engine at its next start */
    if (!t->is_early && may_set(a, facts, "expandable_segments", is_refused))
        return "expandable_segments:True";
    return (!t->is_early || t->names_max_split) &&
           may_set(a, facts, "max_split_size_mb", facts != NULL && facts->is_split_asked) ? "max_split_size_mb:128" :
                   NULL;
}

/* Whether the request would fit only if nearly all that is free and cached were put together, which no setting does for
 * sure: pages that are used in part stay. */
static bool takes_nearly_all(const struct oom_answer *a)
{
    const uint64_t gain = add_capped(a->judgement.room, add_capped(a->account.cached, a->account.pools));
    return a->account.asked > gain - gain / MEMORY_GAIN_SHARE;
}

/* Whether the request would fit only with some of what was free, which the text does not tell. */
static bool needs_what_is_free(const struct oom_text *t, const struct memory_account *a)
{
    const uint64_t needed = add_capped(a->asked, add_capped(a->rounding, a->asked_rounding));
    return t->lacks_free && add_capped(a->cached, a->pools) < needed;
}

/* PyTorch itself says that a segment cannot grow so far, and the card had room for it. */
static bool is_over_reserve(const struct oom_text *t, const struct oom_answer *a)
{
    return a->verdict == VERDICT_CARD_HAD_ROOM && t->expandable_reserve != OOM_TEXT_UNKNOWN;
}

struct oom_answer oom_answer_of(const struct oom_text *t, const struct log_facts *facts)
{
    struct oom_answer a = { .account = account_of(t, facts), .platform = platform_of(t, facts) };
    a.judgement = memory_judge(&a.account);
    if (a.judgement.giver == GIVER_CACHE && (takes_nearly_all(&a) || needs_what_is_free(t, &a.account)))
        a.judgement.giver = GIVER_CACHE_OR_LIVE;
    a.verdict = verdict_of(a.judgement.giver);
    a.verdict = is_over_reserve(t, &a) ? VERDICT_LIMITED : a.verdict;
    a.setting = find_setting(t, facts, &a);
    if ((facts != NULL && facts->is_not_in_force) || (is_not_read(t, facts) && a.setting != NULL))
        a.verdict = VERDICT_NOT_IN_FORCE;
    return a;
}

/* ---- the first line ---- */

/* "58 MiB were free on the card, and 211.14 MiB are reserved but unallocated." */
static void add_room(struct words *w, const struct oom_text *t, const struct oom_answer *a)
{
    char b[UNITS_TEXT], c[UNITS_TEXT];
    words_add(w, " %s%s were %s, and %s are reserved but unallocated", t->lacks_free ? "At most " : "",
              units_format_bytes(a->judgement.room, b),
              a->judgement.is_limit_nearer ? "left of the limit" : "free on the card",
              units_format_bytes(a->account.cached, c));
    if (t->private_pools != OOM_TEXT_UNKNOWN)
        words_add(w, "; %s are free in private pools", units_format_bytes(t->private_pools, b));
    words_add(w, ".");
}

/* "a segment of 20 MiB for a request of 1 to 10 MiB, or of 18 to 20 MiB" */
static void add_segment(struct words *w, const struct oom_text *t, const struct oom_answer *a)
{
    char b[UNITS_TEXT], c[UNITS_TEXT];
    words_add(w, "a segment of %s for a request of ", units_format_bytes(t->asked, b));
    if (t->asked == TORCH_SMALL_SEGMENT)
        words_add(w, "up to 1 MiB");
    else if (t->asked == TORCH_LARGE_SEGMENT)
        words_add(w, "1 to 10 MiB, or of 18 to 20 MiB");
    else
        words_add(w, "%s to %s", units_format_bytes(a->account.least_asked - 1, c), b);
}

static void add_full(struct words *w, const struct oom_answer *a)
{
    char b[UNITS_TEXT], c[UNITS_TEXT];
    const uint64_t gain = add_capped(a->judgement.room, add_capped(a->account.cached, a->account.pools));
    if (a->judgement.shortfall > 0)
        words_add(w, "Really full: short by at least %s. No allocator setting makes live data smaller.",
                  units_format_bytes(a->judgement.shortfall, b));
    else if (gain >= a->account.asked)
        words_add(w, "Really full, though this request would have fitted in one piece: what is free or cached, %s, is "
                     "a scrap of the card's %s, so the next would not. A setting gains no more than that.",
                  units_format_bytes(gain, b), units_format_bytes(a->account.total, c));
    else
        words_add(w, "Really full: what is free or cached, %s, is a scrap of the card's %s. A setting gains no more "
                     "than that.", units_format_bytes(gain, b), units_format_bytes(a->account.total, c));
}

static void add_others(struct words *w, const struct oom_text *t, const struct oom_answer *a, bool is_host)
{
    char b[UNITS_TEXT], c[UNITS_TEXT];
    words_add(w, "Somebody else has the memory: %s hold %s%s of the %s%s",
              is_host ? "the host's programs, its page cache and other processes" : "other processes",
              t->lists_processes && !is_host ? "" : "about ", units_format_bytes(a->account.others, b),
              is_host ? "machine's " : "card's ", units_format_bytes(t->total, c));
    if (t->is_of_ranks)
        words_add(w, ", and they are probably other ranks of this run");
    else if (t->other_id > 0)
        words_add(w, ", process %" PRIu64 " has %s of it", t->other_id, units_format_bytes(t->other_bytes, b));
    words_add(w, ".");
}

static void add_verdict(struct words *w, const struct oom_text *t, const struct oom_answer *a, bool is_host)
{
    char b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT];
    switch (verdict_of(a->judgement.giver)) {
    case VERDICT_SOMEBODY_ELSE:
        add_others(w, t, a, is_host && t->others == 0);
        break;
    case VERDICT_ONE_TENSOR:
        words_add(w, "One tensor: %s were asked for at once, on a card of %s. No allocator setting serves that.",
                  units_format_bytes(t->asked, b), units_format_bytes(t->total, c));
        break;
    case VERDICT_HOST_LENT:
        words_add(w, "The card was full long before: %s are allocated on a card of %s. The system lends memory of the "
                     "host, which is slow and also runs out.", units_format_bytes(t->allocated, b),
                  units_format_bytes(t->total, c));
        break;
    case VERDICT_LIMITED:
        if (a->judgement.giver == GIVER_ROOM)
            words_add(w, "A limit refused it: the reserve of expandable segments is %s, and %s were asked for at once.",
                      units_format_bytes(t->expandable_reserve, b), units_format_bytes(t->asked, c));
        else
            words_add(w, "A memory fraction refused it: %s are allowed, %s of them were reserved, and %s were asked "
                         "for.", units_format_bytes(t->allowed, b), units_format_bytes(t->reserved, c),
                      units_format_bytes(t->asked, d));
        break;
    case VERDICT_CARD_HAD_ROOM:
        if (t->lacks_free)
            words_add(w, "The card may have had room, the text does not tell: PyTorch had reserved %s of its %s, and "
                         "%s were asked for.", units_format_bytes(t->reserved, b), units_format_bytes(t->total, c),
                      units_format_bytes(t->asked, d));
        else
            words_add(w, "The card had room: %s were free, and %s were asked for. The text does not tell why that "
                         "was refused.", units_format_bytes(t->free, b), units_format_bytes(t->asked, c));
        break;
    case VERDICT_FRAGMENTED:
        words_add(w, "Fragmented: %s were asked for.", units_format_bytes(t->asked, b));
        add_room(w, t, a);
        break;
    case VERDICT_FULL_OR_FRAGMENTED:
        words_add(w, "Full or fragmented, the text does not tell: ");
        if (needs_what_is_free(t, &a->account)) {
            words_add(w, "it lacks how much was free. %s were asked for.", units_format_bytes(t->asked, b));
        } else {
            words_add(w, "PyTorch asked for ");
            add_segment(w, t, a);
            words_add(w, ".");
        }
        add_room(w, t, a);
        break;
    default:
        add_full(w, a);
        break;
    }
}

/* ---- reasons ---- */

static const char *first_words(const struct oom_text *t)
{
    return t->first == OOM_FIRST_BY_LAUNCHER ? "torchrun names it as the first to fail"
           : t->first == OOM_SHORT           ? "no setting cures that one, whichever was the first to end"
           : t->first == OOM_FIRST_BY_TIME   ? "by the times of the lines the first to end"
           : t->rank >= 0                    ? "the first rank to end, if the log keeps the order"
                                             : "the first process to end, if the log keeps the order";
}

/* A rank whose peer died may be refused memory, or be killed, after that. */
static void print_root_missing(FILE *out, const struct oom_text *t)
{
    struct words w = { .n = 0 };
    words_add(&w, "- torchrun names rank %" PRId64 " as the first to fail, and no error of memory in this log is of "
                  "that rank. What is answered here may be a consequence: read the log of rank %" PRId64 " first.",
              t->root_rank, t->root_rank);
    words_print_screen(out, &w);
}

/* Of several errors, which one the answer is about. */
static void print_which(FILE *out, const struct oom_text *t)
{
    struct words w = { .n = 0 };
    if (t->is_root_missing)
        print_root_missing(out, t);
    if (t->n_errors < 2)
        return;
    words_add(&w, "- The log holds %" PRIu64 " such errors. This is about ", t->n_errors);
    if (t->n_ranks == 1)
        words_add(&w, "the last one, in line %" PRIu64 ".", t->line);
    else if (t->rank >= 0)
        words_add(&w, "the one in line %" PRIu64 ", of rank %" PRId64 ": %s.", t->line, t->rank, first_words(t));
    else
        words_add(&w, "the one in line %" PRIu64 ": %s.", t->line, first_words(t));
    words_print_screen(out, &w);
}

/* What is outside of PyTorch may be the program's own up to a context; without a list of processes that is all one
 * knows, and `others` is the rest. */
static void add_outside(struct words *w, uint64_t outside, bool is_rest, bool is_host)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    units_format_bytes(outside < MIB ? outside : outside / MIB * MIB, a);
    if (is_rest)
        words_add(w, "; outside of it %s of the card were taken, of which up to %s may be the program's own context "
                     "and libraries", a, units_format_bytes(CARD_CONTEXT_MOST_BYTES, b));
    else
        words_add(w, "; contexts, libraries and %s had about %s",
                  is_host ? "the host's programs and page cache" : "other processes", a);
}

static void print_held(FILE *out, const struct oom_text *t, const struct oom_answer *answer, bool is_host)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    const uint64_t outside = oom_text_outside(t);
    struct words w = { .n = 0 };
    words_add(&w, "- On GPU %u PyTorch had %s reserved, of it %s allocated", t->gpu,
              units_format_bytes(t->reserved, a), units_format_bytes(t->allocated, b));
    if (outside > 0 && outside != OOM_TEXT_UNKNOWN)
        add_outside(&w, outside, answer->account.others > 0 && !t->lists_processes, is_host);
    words_add(&w, ".");
    words_print_screen(out, &w);
}

/* A run of several processes takes as many cards as it has; one process takes another. */
static void add_choice(struct words *w, enum platform p, bool is_several)
{
    if (card_tools_chooses(p) == NULL)
        return;
    if (is_several)
        words_add(w, " Or give the run other cards, one for each of its processes: %s=LIST before it starts.",
                  card_tools_chooses(p));
    else
        words_add(w, " Or choose another card: %s=NUMBER before the program starts.", card_tools_chooses(p));
}

static void print_ranks_on_one(FILE *out, const struct oom_text *t, enum platform p)
{
    struct words w = { .n = 0 };
    words_add(&w, "- Rank %" PRId64 " asked on GPU %u, beside others. Each rank must choose its card before it uses "
                  "one: %s.set_device(local_rank), or a device with its number wherever one is named. If the "
                  "run shows each rank one card only, they are other programs: %s tells.", t->rank, t->gpu,
              card_tools_module(p), card_tools_shows(p));
    words_print_screen(out, &w);
}

static void print_others(FILE *out, const struct oom_text *t, enum platform p, const struct log_facts *facts)
{
    struct words w = { .n = 0 };
    if (t->is_of_ranks) {
        print_ranks_on_one(out, t, p);
        return;
    }
    if (has_one_memory(facts) && t->others == 0) {
        text_print_screen(out, "- End programs of the host that are not needed. Its page cache, which the system does "
                               "not always give back to the card, is dropped by `sync; echo 3 > "
                               "/proc/sys/vm/drop_caches` as root.");
        return;
    }
    words_add(&w, "- ");
    if (t->other_id > 0)
        words_add(&w, "End process %" PRIu64 " if it is yours and not needed; ", t->other_id);
    else
        words_add(&w, "End what is yours and not needed; ");
    if (t->is_foreign)
        words_add(&w, "the tool of the card's maker shows what runs there.");
    else
        words_add(&w, "%s shows what runs on the card.", card_tools_shows(p));
    if (!t->is_foreign && !has_one_memory(facts))
        add_choice(&w, p, is_of_several(t, facts));
    words_add(&w, " Often it is an earlier run that did not end.");
    words_print_screen(out, &w);
}

/* An APU takes the host's memory through the kernel's TTM, whose limit is half of it unless somebody raised it.
 * Sources: ROCm's "AMD RDNA3.5 system optimization"; amd-debug-tools; ROCm/ROCm#5444 (kernels before 6.16.9). */
static void print_apu(FILE *out, const char *machine, enum platform p)
{
    if (strstr(machine, "APU") == NULL && strstr(machine, "Strix") == NULL)
        return;
    if (p == PLATFORM_ROCM)
        text_print_screen(out, "- By default Linux gives an APU at most half of the host's memory beside what the "
                               "firmware set aside. `amd-ttm --set GB` (of amd-debug-tools) raises that from the next "
                               "start on, as ttm.pages_limit on the kernel's command line does; amdgpu.gttsize is "
                               "the older way. Kernels before 6.16.9 show ROCm about 15.5 GiB on gfx1151, whatever "
                               "is set.");
    else if (p == PLATFORM_ROCM_WINDOWS)
        text_print_screen(out, "- Where the driver offers it, Variable Graphics Memory in AMD's software, or the "
                               "firmware's setup, sets more memory aside for the APU.");
}

void oom_answer_print_shared(FILE *out, const char *machine, enum platform p)
{
    struct words w = { .n = 0 };
    words_add(&w, "- %s%s shares the host's memory, so what fits is not known from these figures: programs of the host "
                  "and its page cache take from the same memory, and a capacity may be what firmware or driver set "
                  "aside, not what the machine has.%s `free -h` shows the host's side; no setting is recommended "
                  "there.", machine[0] == 'a' ? "A" : "", machine[0] == 'a' ? machine + 1 : machine,
              is_grace(machine) ? "" : " What a program gets more of, the host has less of.");
    words_print_screen(out, &w);
    print_apu(out, machine, p);
}

void oom_answer_print_guess(FILE *out)
{
    text_print_screen(out, "- Nothing in the text names the system. It is UTF-16, as PowerShell writes it, so this is "
                           "probably Windows; --system names another.");
}

static void print_one_tensor(FILE *out, const struct log_facts *facts, const char *line)
{
    struct words w = { .n = 0 };
    if (line != NULL) {
        words_add(&w, "- It was asked for at %s", line);
        words_print_screen(out, &w);
    }
    if (!has_own_options(facts))
        text_print_screen(out, "- Make this tensor smaller: a smaller batch or a shorter sequence, the loss in "
                               "pieces, attention that does not keep all scores (scaled_dot_product_attention), no "
                               "sum over an outer product that was not meant.");
}

/* `record` and `predict` know CUDA on Linux, which a text that names no platform may be of. */
static bool is_simulated(enum platform p)
{
    return p == PLATFORM_UNKNOWN || p == PLATFORM_LINUX || p == PLATFORM_WSL || p == PLATFORM_JETSON;
}

const char *oom_answer_recorder(enum platform p, enum shell_kind shell, bool is_early)
{
    if (is_simulated(p) && shell != SHELL_NOTEBOOK)
        return "replay record --torch -o trace.zst -- python YOUR_PROGRAM, then replay why.";
    if (p == PLATFORM_XPU || p == PLATFORM_MPS || p == PLATFORM_NPU)
        return NULL;
    if (is_early)
        return "at the start of the program torch.cuda.memory._record_memory_history(True, "
               "trace_alloc_max_entries=100000, trace_alloc_record_context=True), and where the error is caught "
               "pickle.dump(torch.cuda.memory._snapshot(), open(\"snapshot.pickle\", \"wb\")), then replay why "
               "snapshot.pickle. Releases before 1.13 have no such record.";
    return "at the start of the program torch.cuda.memory._record_memory_history(stacks=\"python\"), and where the "
           "error is caught torch.cuda.memory._dump_snapshot(\"snapshot.pickle\"), then replay why snapshot.pickle.";
}

static void print_full(FILE *out, const struct oom_text *t, const struct oom_answer *a, const struct log_facts *facts,
                       const char *line)
{
    const bool is_loading = facts != NULL && facts->is_loading;
    struct words w = { .n = 0 }, less = { .n = 0 }, cells = { .n = 0 };
    if (line != NULL && a->account.asked > a->account.total / 10) {
        words_add(&w, "- The refused request is a large one, asked for at %s", line);
        words_print_screen(out, &w);
    }
    if (is_loading)
        words_add(&less, "- A model's weights were on their way to the card, so a smaller batch changes nothing. They "
                         "need less in a smaller type (torch.bfloat16, 8 or 4 bits), or if a part stays with the host "
                         "or on other cards (Accelerate's device_map=\"auto\").");
    else
        words_add(&less, "- What makes live data smaller: a smaller batch (with accumulation), checkpointing, a "
                         "smaller type, an optimizer with less state.");
    if (!is_loading && is_simulated(a->platform) && !t->is_foreign)
        words_add(&less, " `replay predict -- python YOUR_PROGRAM` finds without a card which batch fits.");
    if (!has_own_options(facts))                     /* they follow */
        words_print_screen(out, &less);
    if (facts != NULL && facts->is_slice)
        text_print_screen(out, "- The card is a slice (MIG), and the capacity is the slice's. A larger slice holds "
                               "more: nvidia-smi -L lists them, CUDA_VISIBLE_DEVICES=MIG-... chooses one.");
    if (facts != NULL && facts->shell == SHELL_NOTEBOOK)
        words_add(&cells, "- In a notebook, models of earlier cells and the last error's traceback keep their memory. "
                          "Restart the kernel, or: del model; import gc, sys; sys.last_traceback = sys.last_value = "
                          "sys.last_exc = None; get_ipython().InteractiveTB.tb = None; gc.collect(); "
                          "%s.empty_cache()", card_tools_module(a->platform));
    if (cells.n > 0 && !t->is_foreign)
        words_print_screen(out, &cells);
}

/* Intel's first cards (Arc A) have no buffer of 4 GiB or more; with two cards of the next, PyTorch 2.10 was refused its
 * first tensor. Sources: intel/intel-extension-for-pytorch#325, intel/llm-scaler#305. */
static bool print_room_of_xpu(FILE *out, const struct oom_text *t)
{
    const bool is_large = t->asked + oom_text_rounding(t->asked) >= 4 * GIB, is_first = t->allocated < MIB;
    if (is_large)
        text_print_screen(out, "- On Intel's Arc A cards the driver gives no buffer of 4 GiB or more, however much is "
                               "free. Cut the tensor: a smaller batch, or slices. "
                               "UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1 lets the driver try, and not every kernel "
                               "computes right with such buffers there.");
    else if (is_first)
        text_print_screen(out, "- PyTorch held nothing yet, so the driver probably refused for another reason than "
                               "memory. With several cards, show the program one: ZE_AFFINITY_MASK=0 before it "
                               "starts. A newer driver or PyTorch is the other cure.");
    return is_large || is_first;
}

static void print_room(FILE *out, const struct oom_text *t, enum platform p)
{
    if (p == PLATFORM_XPU && print_room_of_xpu(out, t))
        return;
    if (t->lacks_free)
        text_print_screen(out, "- What was free is not in the text. Another process may have what PyTorch had not "
                               "reserved, or the driver gives no block that large.");
    else if (t->expandable_reserve == OOM_TEXT_UNKNOWN)
        text_print_screen(out, "- It may be a limit that the text does not name: a memory fraction in PyTorch 2.1 to "
                               "2.4, or one of the system, as on a shared GPU, MIG or vGPU. On Windows the host's "
                               "paging file may be too small. Or another process gave memory back just then.");
}

/* Where no setting joins the pieces. */
static void print_pieces_of_xpu(FILE *out)
{
    text_print_screen(out, "- torch.xpu.empty_cache() between phases, such as training and validation, gives cached "
                           "memory back. Inputs padded to few lengths leave fewer pieces, and a smaller batch needs "
                           "less.");
}

static void print_why_so(FILE *out, const struct oom_text *t, const struct oom_answer *a,
                         const struct log_facts *facts, const char *line)
{
    static const char *const engines[] = { "vllm", "sglang", "tensorrt-llm", NULL };     /* capture by themselves */
    const enum verdict_kind verdict = verdict_of(a->judgement.giver);
    struct words limit = { .n = 0 }, pools = { .n = 0 };
    words_add(&limit, "- The card had room. Raise the fraction where the program sets it: with "
                      "%s.set_per_process_memory_fraction, or as per_process_memory_fraction in the allocator's "
                      "settings.", t->is_foreign ? "its module" : card_tools_module(a->platform));
    if (verdict == VERDICT_LIMITED)
        words_print_screen(out, &limit);
    else if (verdict == VERDICT_CARD_HAD_ROOM)
        print_room(out, t, a->platform);
    else if (verdict == VERDICT_ONE_TENSOR)
        print_one_tensor(out, facts, line);
    else if (verdict == VERDICT_SOMEBODY_ELSE)
        print_others(out, t, a->platform, facts);
    else if (verdict == VERDICT_FULL || verdict == VERDICT_HOST_LENT)
        print_full(out, t, a, facts, line);
    else if ((verdict == VERDICT_FRAGMENTED || verdict == VERDICT_FULL_OR_FRAGMENTED) && a->platform == PLATFORM_XPU)
        print_pieces_of_xpu(out);
    if (t->is_listed)
        text_print_screen(out, "- One of the processes that the text lists must be the program itself: with what "
                               "PyTorch had reserved they exceed what was in use. It is the one whose figure fits. "
                               "In a container PyTorch does not recognise its own.");
    if (t->private_pools != OOM_TEXT_UNKNOWN)
        words_add(&pools, "- What is free in private pools counts as allocated, and other requests cannot use it.%s",
                  is_within(facts, engines) ? ""
                                            : " CUDA graphs may share a pool, torch.cuda.graph(g, pool=...), if they "
                                              "are always replayed in the order of their capture.");
    if (pools.n > 0)
        words_print_screen(out, &pools);
}

/* What is free in private pools is more than what is cached, so that it comes first. */
static bool is_pools_first(const struct oom_answer *a)
{
    return a->account.pools > a->account.cached;
}

static void add_absent(struct words *w, enum platform p, const struct log_facts *facts, const char *why)
{
    const bool is_guess = facts == NULL || facts->platform == PLATFORM_UNKNOWN || facts->is_guess;
    const unsigned rocm = p == PLATFORM_ROCM && facts != NULL ? facts->rocm : 0;
    words_add(w, "- expandable_segments:True, which PyTorch's text may name, is no advice here ");
    if (rocm >= 7)
        words_add(w, "(ROCm %u): of the builds for it only some have it, and the others warn and ignore it. If PyTorch "
                     "does not warn that it is not supported, it is worth a try.", rocm);
    else if (rocm > 0)
        words_add(w, "(ROCm %u): it takes ROCm 7.0 or newer.", rocm);
    else
        words_add(w, "(%s%s): %s.", is_guess ? "probably " : "", platform_words(p), why);
}

/* What the release or the platform that wrote the text lacks, or has on already. */
static void print_release(FILE *out, const struct oom_text *t, const struct oom_answer *a,
                          const struct log_facts *facts)
{
    char b[UNITS_TEXT];
    struct words w = { .n = 0 };
    const char *why;
    const bool is_in_pieces = a->setting != NULL || verdict_of(a->judgement.giver) == VERDICT_FRAGMENTED;
    const bool is_own = !t->is_expandable && facts != NULL && !facts->is_expandable_asked;
    const bool is_on = is_expandable_on(t, facts, a->platform);
    if (t->is_foreign)
        words_add(&w, "- This text is of a device that a package adds to PyTorch. Its maker tells which settings its "
                      "allocator has, and what shows who is on the card; none is recommended here.");
    else if (t->is_early && is_in_pieces && a->platform != PLATFORM_NPU && a->platform != PLATFORM_XPU)
        words_add(&w, "- This text is of PyTorch 2.0 or older, which has no expandable_segments. In 2.1 or newer, on "
                      "Linux, expandable_segments:True is the setting to try first.");
    else if (t->expandable_reserve != OOM_TEXT_UNKNOWN)
        words_add(&w, "- The request exceeds the reserve of expandable segments, %s. Raise "
                      "expandable_segments_reserve, or leave it out.", units_format_bytes(t->expandable_reserve, b));
    else if (is_on)
        words_add(&w, "- expandable_segments is on already%s%s%s. What is cached then lies in other streams' or pools' "
                      "segments, or in pages that are used in part.", is_own ? ": " : "",
                  is_own ? sets_segments(facts) : "",
                  is_own ? " sets it, unless the environment has another setting" : "");
    else if (is_in_pieces && is_ended_by_segments(t, facts))
        words_add(&w, "- expandable_segments:True, which PyTorch's text may name, is no advice here: with several "
                      "cards the engine's own all-reduce cannot share such memory, and most releases end while they "
                      "capture graphs. If it must be, with --disable-custom-all-reduce beside it.");
    else if (is_in_pieces && !platform_has_setting(a->platform, "expandable_segments", &why))
        add_absent(&w, a->platform, facts, why);
    if (w.n > 0)
        words_print_screen(out, &w);
}

bool oom_answer_print_recording(FILE *out, const struct log_facts *facts)
{
    struct words w = { .n = 0 };
    if (facts == NULL || facts->recording[0] == '\0')
        return false;
    words_add(&w, "- The log names a recording of this run, which tells more than the text: replay why %s",
              facts->recording);
    words_print_screen(out, &w);
    return true;
}

static void print_next(FILE *out, const struct oom_text *t, const struct oom_answer *a, const struct log_facts *facts)
{
    struct words w = { .n = 0 };
    if (facts != NULL && facts->recording[0] != '\0' && a->setting != NULL)
        text_print_screen(out, "- By the error's text alone the setting is worth a try, not certain.");
    if (oom_answer_print_recording(out, facts))
        return;
    const enum shell_kind shell = facts != NULL ? facts->shell : SHELL_POSIX;
    const char *recorder = t->is_foreign ? NULL : oom_answer_recorder(a->platform, shell, t->is_early);
    if (a->verdict == VERDICT_SOMEBODY_ELSE || recorder == NULL)
        return;
    words_add(&w, "- This is all that the error's text tells%s. A recording tells ",
              a->setting != NULL ? ", so the setting is worth a try, not certain" : "");
    if (a->verdict == VERDICT_FRAGMENTED || a->verdict == VERDICT_FULL_OR_FRAGMENTED)
        words_add(&w, "which setting cures it, and ");
    words_add(&w, "whose lines hold the memory: %s", recorder);
    words_print_screen(out, &w);
}

/* The variable as the text names it, if the platform reads that one. */
const char *oom_answer_variable(const struct oom_text *t, const struct oom_answer *a)
{
    const char *own = platform_variable(a->platform);
    const bool is_general = strcmp(t->variable, "PYTORCH_ALLOC_CONF") == 0;
    return is_general || own == NULL ? t->variable : own;
}

static void print_setting(FILE *out, const struct oom_text *t, const struct oom_answer *a,
                          const struct log_facts *facts)
{
    const enum shell_kind shell = facts != NULL && facts->shell == SHELL_NOTEBOOK ? SHELL_NOTEBOOK
                                  : facts != NULL && facts->shell == SHELL_WINDOWS ? SHELL_WINDOWS
                                                                                   : platform_shell(a->platform);
    fputc('\n', out);
    platform_put_setting(out, shell, oom_answer_variable(t, a), a->setting, "  ");
    if (shell == SHELL_POSIX && facts != NULL && facts->is_container)
        fprintf(out, "\n  ENV %s=%s  # in a Dockerfile", oom_answer_variable(t, a), a->setting);
    fputc('\n', out);
}

/* What comes before a setting that is the second cure; NULL: it is the first. */
static const char *lead_of(const struct oom_answer *a, const struct log_facts *facts)
{
    if (a->verdict == VERDICT_LIMITED)
        return "- If it must stay, less of what is allowed may lie idle with:";
    if (is_pools_first(a))
        return "- What is cached outside of such pools may be put together with:";
    return holds_engine(facts) ? "- What is cached may be put together with the line below, if options of the engine "
                                 "are not enough. Older releases of vLLM refuse it in sleep mode, and where the "
                                 "engine spreads a model over several cards, it takes --disable-custom-all-reduce "
                                 "beside it."
                                   : NULL;
}

void oom_answer_print(FILE *out, const struct oom_text *t, const struct log_facts *facts, const char *line)
{
    const struct oom_answer a = oom_answer_of(t, facts);
    struct words first = { .n = 0 };
    if (a.verdict == VERDICT_NOT_IN_FORCE && !facts->is_not_in_force)
        words_add(&first, "Not in force: expandable_segments was asked for in PYTORCH_ALLOC_CONF, which PyTorch reads "
                          "from 2.10 on, and this text is of an older release. Without it: ");
    else if (a.verdict == VERDICT_NOT_IN_FORCE)
        words_add(&first, "Not in force: expandable_segments was asked for, and PyTorch says in the log that this "
                          "platform does not support it. Without it: ");
    add_verdict(&first, t, &a, has_one_memory(facts));
    words_print_screen(out, &first);
    const char *const lead = lead_of(&a, facts);
    if (a.setting != NULL && lead == NULL)
        print_setting(out, t, &a, facts);
    fputc('\n', out);
    if (facts != NULL && facts->shared != NULL)
        oom_answer_print_shared(out, facts->shared, a.platform);
    print_why_so(out, t, &a, facts, line);
    if (facts != NULL)
        card_tools_print_advice(out, a.platform, facts->within_advice);
    if (a.setting != NULL && lead != NULL) {
        text_print_screen(out, lead);
        print_setting(out, t, &a, facts);
        fputc('\n', out);
    }
    print_release(out, t, &a, facts);
    if (facts != NULL && facts->is_guess)
        oom_answer_print_guess(out);
    print_which(out, t);
    print_held(out, t, &a, has_one_memory(facts));
    print_next(out, t, &a, facts);
}
