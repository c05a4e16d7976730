/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 *     worker                                rank 0
 *       | -- account (nothing done yet) -->   |
 *       | <-- deal: a part ----------------   |
 *       | -- account + results ----------->   |  merges the results, as `replay merge` does with files
 *       | <-- deal: an empty part ---------   |  ends the worker
 *
 * The results of a part travel as a database in memory. All ranks are one program on machines of one kind, so a message
 * is a struct, followed by its texts and numbers.
 */
#include "replay/sweep/sweep_ranks.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a worker is to do; the runs' numbers follow, then the trace's path. */
struct deal {
    char     digest[SHA256_HEX];
    uint64_t input, n_runs, n_path;
};

/* What a worker did; the complaints follow, each with its zero, then the database. */
struct account {
    uint64_t n_finished, n_repeated, n_unopened, n_wrong, n_left_out, n_no_traces;
    enum err host_error;             /* of the sweep */
    enum err error;                  /* of the worker's database: the sweep cannot go on */
    struct err_detail err;
    uint64_t n_complaints, n_db;     /* bytes */
};

/* ---- messages ---- */

struct message {
    char  *bytes;
    size_t n;
    bool   is_short;                 /* of memory */
};

static void message_add(struct message *m, const void *bytes, size_t n)
{
    char *grown = m->is_short ? NULL : realloc(m->bytes, m->n + n + 1);
    m->is_short = grown == NULL;
    if (grown == NULL)
        return;
    m->bytes = grown;
    if (n > 0)
        memcpy(m->bytes + m->n, bytes, n);
    m->n += n;
}

/* Takes the first n bytes of a message; NULL if it is shorter. */
static const void *message_take(struct message *m, uint64_t n)
{
    if (n > m->n)
        return NULL;
    const void *taken = m->bytes;
    m->bytes += n;
    m->n -= n;
    return taken;
}

static enum err not_understood(int from, struct err_detail *err)
{
    return err_set(err, ERR_CORRUPT, 0, "rank %d sent a message that rank 0 does not understand: are all of one "
                   "version?", from);
}

/* ---- workers ---- */

/* The dealt runs as a part, which borrows from the message. False at the end of the work. */
static bool read_deal(const struct sweep *s, struct message m, struct sweep_part *part, struct account *told)
{
    const struct deal *deal = message_take(&m, sizeof *deal);
    if (deal == NULL || deal->n_runs == 0 || deal->n_runs > SWEEP_PART_MAX)
        return false;
    void *runs = (void *)message_take(&m, deal->n_runs * sizeof *part->runs);
    const char *path = message_take(&m, deal->n_path);
    *part = (struct sweep_part){ .input = deal->input, .n = deal->n_runs, .runs = runs };
    memcpy(part->digest, deal->digest, sizeof part->digest);
    if (path == NULL || deal->input >= s->inputs.n || strlen(s->inputs.at[deal->input].path) != deal->n_path ||
        memcmp(s->inputs.at[deal->input].path, path, deal->n_path) != 0)
        told->error = err_set(&told->err, ERR_USAGE, 0, "the ranks see different files: the traces must lie on a disk "
                              "that all of them share");
    return true;
}

static void tell(const struct ranks *ranks, struct sweep *s, struct account *told)
{
    struct message complaints = { .n = 0 }, all = { .n = 0 };
    unsigned char *db = NULL;
    size_t n_db = 0;
    for (size_t i = 0; i < s->complaints.n; i++)
        message_add(&complaints, s->complaints.at[i], strlen(s->complaints.at[i]) + 1);
    if (told->error == ERR_OK && s->db != NULL)
        told->error = results_db_bytes(s->db, &db, &n_db, &told->err);
    told->n_finished = s->n_finished;
    told->n_repeated = s->n_repeated;
    told->n_unopened = s->n_unopened;
    told->n_wrong = s->n_wrong;
    told->n_left_out = s->n_left_out;
    told->n_no_traces = s->n_no_traces;
    told->host_error = complaints.is_short ? ERR_HOST_NOMEM : s->host_error;
    told->n_complaints = complaints.n;
    told->n_db = n_db;
    message_add(&all, told, sizeof *told);
    message_add(&all, complaints.bytes, complaints.n);
    message_add(&all, db, n_db);
    ranks_send(ranks, 0, all.is_short ? NULL : all.bytes, all.n);
    free(complaints.bytes);
    free(all.bytes);
    results_db_free_bytes(db);
}

/* Forgets what was told, and makes a database for the next part's results. */
static enum err forget(struct sweep *s, struct err_detail *err)
{
    results_db_close(s->db);
    s->db = NULL;
    s->n_finished = s->n_repeated = s->n_unopened = s->n_wrong = s->n_left_out = s->n_no_traces = 0;
    s->host_error = ERR_OK;
    report_lines_close(&s->complaints);
    return results_db_open(NULL, false, NULL, &s->db, err);
}

void sweep_serve(struct sweep *s, const struct ranks *ranks, enum err so_far, const struct err_detail *err)
{
    struct sweep_part part;
    for (struct account told = { .error = so_far, .err = *err };;) {
        struct message m;
        int from;
        tell(ranks, s, &told);
        told = (struct account){ .error = ERR_OK };
        void *bytes = ranks_receive(ranks, &from, &m.n, NULL);
        m.bytes = bytes;
        const bool has_work = read_deal(s, m, &part, &told);
        if (has_work && told.error == ERR_OK)
            told.error = forget(s, &told.err);
        if (has_work && told.error == ERR_OK)
            told.error = sweep_run_part(s, &part, &told.err);
        free(bytes);
        if (!has_work)
            return;
    }
}

/* ---- rank 0 ---- */

/* `path`: of the part's trace. */
static void deal_part(const struct ranks *ranks, int to, const struct sweep_part *part, const char *path)
{
    struct message m = { .n = 0 };
    struct deal deal = { .n_runs = part->n, .input = part->input, .n_path = strlen(path) };
    memcpy(deal.digest, part->digest, sizeof deal.digest);
    message_add(&m, &deal, sizeof deal);
    message_add(&m, part->runs, part->n * sizeof *part->runs);
    message_add(&m, path, deal.n_path);
    ranks_send(ranks, to, m.is_short ? NULL : m.bytes, m.n);
    free(m.bytes);
}

static enum err take_complaints(struct sweep *s, const char *text, uint64_t n)
{
    const char *end = n > 0 ? text + n : text;
    while (text < end) {
        const size_t length = strnlen(text, (size_t)(end - text));
        const size_t n_said = s->complaints.n;
        if (report_lines_add(&s->complaints, text) != ERR_OK)
            return ERR_HOST_NOMEM;
        if (s->complain != NULL && s->complaints.n > n_said)
            s->complain(s->arg, text);
        text += length + 1;
    }
    return ERR_OK;
}

/* Takes over what a worker did with a part. If several workers fail to open the same trace, it counts once. */
static enum err take_account(struct sweep *s, int from, const struct sweep_part *part, struct message m,
                             struct err_detail *err)
{
    uint64_t n_added;
    const struct account *told = message_take(&m, sizeof *told);
    const char *complaints = told == NULL ? NULL : message_take(&m, told->n_complaints);
    unsigned char *db = complaints == NULL ? NULL : (unsigned char *)message_take(&m, told->n_db);
    const bool is_wrong = db == NULL || (told->n_unopened > 0 && part->n == 0) ||
                          (told->n_complaints > 0 && complaints[told->n_complaints - 1] != '\0');
    if (is_wrong)
        return not_understood(from, err);
    if (told->error != ERR_OK)
        return err_set(err, told->error, told->err.offset, "rank %d: %s", from, told->err.text);
    s->n_unopened += told->n_unopened;
    s->n_wrong += told->n_wrong;
    bool *is_left_out = part->n > 0 ? &s->inputs.at[part->input].is_left_out : NULL;
    if (told->n_unopened == 0 || !*is_left_out) {
        s->n_left_out += told->n_left_out;
        s->n_no_traces += told->n_no_traces;
    }
    if (told->n_unopened > 0)
        *is_left_out = true;
    sweep_note_host_error(s, told->host_error);
    if (take_complaints(s, complaints, told->n_complaints) != ERR_OK)
        return err_no_memory(err);
    const enum err e = told->n_db > 0 ? results_db_merge_bytes(s->db, db, told->n_db, &n_added, err) : ERR_OK;
    s->n_finished += e == ERR_OK ? told->n_finished : 0;
    s->n_repeated += e == ERR_OK ? told->n_repeated : 0;
    return e;
}

static void note_done(struct sweep *s, const struct sweep_part *part)
{
    if (part->n == 0)
        return;
    sweep_part_done(s, part);
    if (s->progress != NULL)
        s->progress(s->arg, part->input, s->bytes_done / s->bytes_total);
}

/* Hears one worker and answers with a part. An empty part ends the worker: no work is left, or the sweep has failed.
 * ERR_INTERRUPTED if that came before a worker did. `at_work`: by rank, the part dealt last, without its runs. */
static enum err hear_one(struct sweep *s, const struct ranks *ranks, struct sweep_part *at_work, int *n_left,
                         bool is_going_on, struct err_detail *err)
{
    struct message m;
    int from;
    struct sweep_part part = { .n = 0 };
    enum err e = ERR_OK;
    void *bytes = ranks_receive(ranks, &from, &m.n, s->interrupted);
    if (bytes == NULL)
        return err_set(err, ERR_INTERRUPTED, 0, "interrupted");
    m.bytes = bytes;
    if (is_going_on)
        e = take_account(s, from, &at_work[from], m, err);
    if (is_going_on && e == ERR_OK) {
        note_done(s, &at_work[from]);
        e = sweep_next_part(s, (size_t)(ranks->n - 1), &part, err);
    }
    free(bytes);
    if (e != ERR_OK)
        part.n = 0;
    at_work[from] = part;
    deal_part(ranks, from, &part, part.n > 0 ? s->inputs.at[part.input].path : "");
    assert(*n_left > 0);
    *n_left -= part.n == 0;
    return e;
}

enum err sweep_deal(struct sweep *s, const char *path, bool is_resumed, const struct ranks *ranks,
                    struct err_detail *err)
{
    struct sweep_part *at_work = calloc((size_t)ranks->n, sizeof *at_work);
    enum err e = at_work == NULL ? err_no_memory(err)
                                 : sweep_begin(s, path, is_resumed, err);
    for (int n_left = ranks->n - 1; n_left > 0 && at_work != NULL && e != ERR_INTERRUPTED;) {
        const bool is_going_on = e == ERR_OK;
        const enum err now = hear_one(s, ranks, at_work, &n_left, is_going_on, err);
        e = is_going_on || now == ERR_INTERRUPTED ? now : e;
    }
    free(at_work);
    return e;
}

void sweep_dismiss(const struct ranks *ranks)
{
    const struct sweep_part nothing = { .n = 0 };
    for (int i = 1; i < ranks->n; i++) {
        size_t n;
        int from;
        free(ranks_receive(ranks, &from, &n, NULL));
        deal_part(ranks, from, &nothing, "");
    }
}
