/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The command line as rows: what is typed, what it becomes, and that a job file says the same. */
#include "base/exit_status.h"
#include "replay/program/job.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct flag_use taken[] = {
    TAKES(POLICY), TAKES_AS(DEVICES, "here it means something else"), TAKES(OUT), TAKES(ON_OOM), TAKES(THREADS),
    TAKES(SEED), TAKES(SHARD), TAKES(SAMPLE_EVERY), TAKES(EXPLAIN), TAKES(FAIL_IF), TAKES(RESUME), TAKES(AUDIT),
    TAKES_INPUT, TAKES(TORCH), TAKES(HELP), FLAGS_END,
};

enum { WORDS_MAX = 64 };

/* Parses words that blanks separate, as `taken` allows; the texts live in `room`. */
static enum err parse(const char *words, char room[1024], struct options *out, struct err_detail *err)
{
    char *argv[WORDS_MAX];
    int argc = 0;
    snprintf(room, 1024, "%s", words);
    for (char *word = strtok(room, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    return options_parse(argc, argv, taken, out, err);
}

static void refused(const char *words, const char *sentence)
{
    char room[1024];
    struct options o;
    struct err_detail err = { .text = "" };
    cr_expect_eq(parse(words, room, &o, &err), ERR_USAGE, "'%s' was taken", words);
    cr_expect(strstr(err.text, sentence) != NULL, "'%s': no '%s' in: %s", words, sentence, err.text);
}

Test(options, every_row_says_what_it_is)
{
    for (unsigned i = 0; i < N_FLAGS; i++) {
        const struct flag_use use = { .id = (enum flag_id)i };
        const char *name = flag_name(use.id), *help = flag_help(&use);
        cr_expect(name != NULL && name[0] != '\0' && name[strspn(name, "abcdefghijklmnopqrstuvwxyz-")] == '\0');
        cr_expect(help != NULL && help[0] != '\0' && help[strlen(help) - 1] != '.', "--%s: %s", name, help);
    }
}

Test(options, values_go_where_their_rows_say)
{
    char room[1024];
    struct options o;
    struct err_detail err = { .text = "" };
    cr_assert_eq(parse("a.zst --policy best-fit -o out.db --policy=none --device sim:1GiB --device cuda --threads 3 "
                       "--gpu 7 --on-oom skip --given-back allocator --sample-every 1.5ms --shard 2/8 --explain end "
                       "--audit --resume --torch 2.6 - -- --policy", room, &o, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(o.n_inputs, 3);
    cr_expect_str_eq(o.inputs[1], "-", "a dash alone is standard input");
    cr_expect_str_eq(o.inputs[2], "--policy", "after -- nothing is an option");
    cr_expect_eq(o.n_policies, 2);
    cr_expect_str_eq(o.policies[1], "none");
    cr_expect_eq(o.n_devices, 2);
    cr_expect_null(o.device, "a list is not the single device");
    cr_expect_str_eq(o.out, "out.db");
    cr_expect_eq(o.threads, 3);
    cr_expect_eq(o.import.gpu, 7);
    cr_expect_eq(o.import.segment_frees, SEGMENT_FREES_ALLOCATOR);
    cr_expect_eq(o.on_oom, OOM_SKIP);
    cr_expect_eq(o.sample_every_ns, 1500000);
    cr_expect(o.shard == 2 && o.n_shards == 8);
    cr_expect(o.audit && o.is_given[FLAG_RESUME] && !o.is_given[FLAG_SEED]);
    cr_expect_str_eq(o.torch, "2.6");
    cr_expect_not(o.is_given[FLAG_TORCH_HISTORY], "the same word is another option here");
    options_close(&o);
}

Test(options, what_is_not_typed_has_its_default)
{
    char room[1024];
    struct options o;
    struct err_detail err = { .text = "" };
    cr_assert_eq(parse("", room, &o, &err), ERR_OK);
    cr_expect_eq(o.import.gpu, -1);
    cr_expect(o.n_inputs == 0 && o.n_policies == 0 && o.seed == 0 && o.on_oom == OOM_STOP && o.start == START_FRESH);
    options_close(&o);
}

Test(options, a_wrong_value_is_refused_with_what_was_expected)
{
    refused("--threads 0", "a whole number from 1 to 1024");
    refused("--threads 1x", "a whole number");
    refused("--seed 18446744073709551616", "a whole number");
    refused("--on-oom go", "expected stop or skip");
    refused("--releases go", "expected auto, program or allocator");           /* its former name */
    refused("--given-back go", "expected auto, program or allocator");
    refused("--shard 9/8", "a part such as 2/8");
    refused("--sample-every 18446744073709551615s", "a number of events or a time");
    refused("--explain soon", "a whole number or 'end'");
    refused("--audit=yes", "takes no value");
    refused("--policy", "needs a value: P");
    refused("-o a --out b", "--out is given twice");
    refused("--polcy a", "did you mean '--policy'?");
    refused("--something-else", "--help lists its options");
    refused("--stacks", "unknown option");
    refused("-x", "unknown option '-x'");
}

Test(options, a_list_has_an_end)
{
    char words[1024] = "", room[1024];
    struct options o;
    struct err_detail err = { .text = "" };
    for (int i = 0; i < FAIL_IF_MAX; i++)
        strcat(words, "--fail-if a>1 ");
    cr_assert_eq(parse(words, room, &o, &err), ERR_OK);
    cr_expect_eq(o.n_fail_if, FAIL_IF_MAX);
    options_close(&o);
    strcat(words, "--fail-if a>1");
    refused(words, "more than 16 times");
}

Test(options, a_command_may_give_an_option_another_help)
{
    cr_expect_str_eq(flag_help(&taken[1]), "here it means something else");
    cr_expect_str_neq(flag_help(&(struct flag_use)TAKES(DEVICES)), flag_help(&taken[1]));
}

/* What one command line stands for, as a text. */
static void as_job(const struct options *o, char out[2048])
{
    FILE *to = fmemopen(out, 2048, "w");
    cr_assert_not_null(to);
    struct err_detail err = { .text = "" };
    cr_assert_eq(job_write(to, o, &err), ERR_OK, "%s", err.text);
    fclose(to);
}

Test(options, a_job_file_says_what_the_command_line_said)
{
    char room[1024], written[2048], again[2048];
    struct options o;
    struct job job;
    struct err_detail err = { .text = "" };
    cr_assert_eq(parse("a.zst b.zst --policy gc={0.6,0.8} --policy none --device sim:1GiB --device sim:2GiB -o r.db "
                       "--resume --threads 2", room, &o, &err), ERR_OK, "%s", err.text);
    as_job(&o, written);
    cr_expect(strstr(written, "policy = none\n") != NULL && strstr(written, "resume = yes\n") != NULL, "%s", written);
    cr_assert_eq(job_read_bytes(written, strlen(written), "job", taken, &job, &err), ERR_OK, "%s", err.text);
    cr_expect(job.options.n_inputs == 2 && job.options.n_policies == 2 && job.options.n_devices == 2);
    as_job(&job.options, again);
    cr_expect_str_eq(written, again);
    job_close(&job);
    options_close(&o);
}

/* Writes a job of these two words, an option of two words or a trace; true if it was written. What is written is read
 * back as it was typed, and of what is refused nothing is written. */
static bool is_kept_by_job(const char *first, const char *second)
{
    const char *argv[] = { "--device=sim:1GiB", first, second };
    char written[2048] = "";
    struct options o;
    struct job job;
    struct err_detail err = { .text = "" };
    FILE *to = fmemopen(written, sizeof written, "w");
    cr_assert_not_null(to);
    cr_assert_eq(options_parse(3, (char **)argv, taken, &o, &err), ERR_OK, "%s", err.text);
    const enum err e = job_write(to, &o, &err);
    fclose(to);
    cr_assert(e == ERR_OK || (e == ERR_USAGE && strstr(err.text, "a job file cannot hold") != NULL && !written[0]));
    if (e == ERR_OK) {
        cr_assert_eq(job_read_bytes(written, strlen(written), "job", taken, &job, &err), ERR_OK, "%s", err.text);
        cr_assert(job.options.n_inputs == o.n_inputs && job.options.n_policies == o.n_policies, "%s", written);
        cr_assert_eq(job.options.n_devices, 1);
        for (size_t i = 0; i < o.n_inputs; i++)
            cr_expect_str_eq(job.options.inputs[i], o.inputs[i]);
        for (size_t i = 0; i < o.n_policies; i++)
            cr_expect_str_eq(job.options.policies[i], o.policies[i]);
        job_close(&job);
    }
    options_close(&o);
    return e == ERR_OK;
}

Test(options, a_value_in_a_job_file_is_read_back_as_it_is_or_refused)
{
    static const struct { const char *value; bool is_kept; } values[] = {
        { "a.zst", true }, { "a b=c.zst", true }, { "#a", true }, { ";a", true }, { "[a]", true }, { "'a'", true },
        { "Gr\xc3\xb6\xc3\x9f" "e", true }, { "jf/x.zst\npolicy = ./evil.so", false }, { "a\rb", false },
        { "a\n", false }, { "\na", false }, { " a", false }, { "a ", false }, { "\ta", false }, { "a\tb", false },
        { "\x1b[2J", false }, { "\xff", false }, { "\xe2\x80\xae" "cba", false },
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        cr_expect_eq(is_kept_by_job("a.zst", values[i].value), values[i].is_kept, "trace %zu", i);
        cr_expect_eq(is_kept_by_job("--policy", values[i].value), values[i].is_kept, "policy %zu", i);
    }
    cr_expect(!is_kept_by_job("a.zst", "-"), "standard input is no file of this name");
    for (int byte = 1; byte < 256; byte++) {
        const char first[] = { (char)byte, 'a', '\0' }, last[] = { 'a', (char)byte, '\0' };
        is_kept_by_job("--policy", first);
        is_kept_by_job("--policy", last);
        is_kept_by_job("a.zst", last);
    }
}

Test(options, every_error_has_a_status_and_only_success_is_0)
{
    for (int e = 0; e < ERR_COUNT; e++) {
        const enum exit_status status = exit_status_of((enum err)e), of_run = exit_status_of_run((enum err)e);
        cr_expect_eq(status == STATUS_DONE, e == ERR_OK);
        cr_expect_eq(of_run, e == ERR_CORRUPT ? STATUS_FAILED : status);
    }
    cr_expect_eq(exit_status_of(ERR_IO), STATUS_OURS);
    cr_expect_eq(exit_status_of(ERR_DRIVER), STATUS_OURS);
    cr_expect_eq(exit_status_of(ERR_HOST_NOMEM), STATUS_OURS);
    cr_expect_eq(exit_status_of(ERR_INPUT), STATUS_USAGE);
    cr_expect_eq(exit_status_of(ERR_DEVICE_OOM), STATUS_FAILED);
}
