/* Reads a journal of CUDA memory calls. Nothing in it is trusted: every number of a record is checked against those
 * read before it, so that chains of frames and texts end. */
#include "traces/call_journal_read.h"

#include <stdlib.h>
#include <string.h>

enum { CALL_TEXT_MAX = 4096, PEEK_RECORDS = INPUT_PEEK_MAX / (int)sizeof(struct call_record) };

bool call_journal_sniff(const unsigned char *head, size_t n)
{
    return n >= sizeof CALL_JOURNAL_MAGIC && memcmp(head, CALL_JOURNAL_MAGIC, sizeof CALL_JOURNAL_MAGIC) == 0;
}

static enum err head_read(struct input *in, struct call_head *head, struct err_detail *why)
{
    const unsigned char *bytes;
    size_t n;
    const enum err e = input_peek(in, sizeof *head, &bytes, &n, why);
    if (e != ERR_OK)
        return e;
    if (n < sizeof *head || !call_journal_sniff(bytes, n))
        return err_set(why, ERR_FORMAT, 0, "%s: byte 0: no journal of CUDA calls", input_name(in));
    memcpy(head, bytes, sizeof *head);
    if (head->order != CALL_JOURNAL_ORDER)
        return err_set(why, ERR_UNSUPPORTED, 16, "%s: byte 16: written on a machine of another byte order",
                       input_name(in));
    if (head->version != CALL_JOURNAL_VERSION)
        return err_set(why, ERR_UNSUPPORTED, 20, "%s: byte 20: version %u of the journal; known is %d", input_name(in),
                       head->version, CALL_JOURNAL_VERSION);
    if (head->record_bytes != sizeof(struct call_record) || head->head_bytes != sizeof *head)
        return err_set(why, ERR_FORMAT, 24, "%s: byte 24: records of %u bytes behind a head of %u", input_name(in),
                       head->record_bytes, head->head_bytes);
    head->command[sizeof head->command - 1] = '\0';
    input_skip(in, sizeof *head);
    return ERR_OK;
}

/* Takes what the input has to offer now; *n_read is 0 at its end. A part of a record at the end is no record. */
static enum err records_read(struct input *in, struct call_journal *log, size_t *room, size_t *n_read,
                             struct err_detail *why)
{
    const unsigned char *bytes;
    size_t n;
    const enum err e = input_peek(in, PEEK_RECORDS * sizeof(struct call_record), &bytes, &n, why);
    *n_read = n / sizeof(struct call_record);
    if (e != ERR_OK || *n_read == 0)
        return e;
    if (log->n > UINT32_MAX - *n_read)
        return err_set(why, ERR_UNSUPPORTED, input_offset(in), "%s: more than %u records", input_name(in), UINT32_MAX);
    if (*room - log->n < *n_read) {
        const size_t bigger = 2 * (log->n + *n_read);
        struct call_record *records = realloc(log->records, bigger * sizeof *records);
        if (records == NULL)
            return err_set(why, ERR_HOST_NOMEM, 0, "%s: no memory for it", input_name(in));
        log->records = records;
        *room = bigger;
    }
    memcpy(log->records + log->n, bytes, *n_read * sizeof *log->records);
    log->n += (uint32_t)*n_read;
    input_skip(in, *n_read * sizeof *log->records);
    return ERR_OK;
}

/* What is not whole is no record, and behind the last whole one there is only room. */
static void drop_torn(struct call_journal *log)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < log->n; i++) {
        struct call_record *r = &log->records[i];
        if (r->is_whole != CALL_WHOLE || r->kind >= CALL_KINDS)
            r->kind = CALL_NONE;
        else
            end = i + 1;
    }
    log->n = end;
    for (uint32_t i = 0; i < log->n; i++)
        log->n_torn += log->records[i].is_whole != CALL_WHOLE;
    log->n_torn -= log->n_torn < log->head.lost ? log->n_torn : log->head.lost;
}

/* A release whose call failed did not happen. */
static void drop_undone(struct call_journal *log)
{
    for (uint32_t i = 0; i < log->n; i++) {
        struct call_record *r = &log->records[i];
        if (r->kind != CALL_UNDO)
            continue;
        if (r->other < i) {
            struct call_record *undone = &log->records[r->other];
            if (undone->kind == CALL_FREE || undone->kind == CALL_RELEASE || undone->kind == CALL_UNMAP)
                undone->kind = CALL_NONE;
        }
        r->kind = CALL_NONE;
    }
}

static void count_devices(struct call_journal *log)
{
    for (uint32_t i = 0; i < log->n; i++) {
        const struct call_record *r = &log->records[i];
        struct call_device *d = &log->devices[r->device];
        if (r->kind == CALL_ALLOC || r->kind == CALL_CREATE)
            d->requests++;
        else if (r->kind == CALL_OOM)
            d->ooms++;
        else if (r->kind == CALL_DEVICE)
            d->total_bytes = r->bytes;
    }
}

enum err call_journal_read(struct input *in, struct call_journal **out, struct err_detail *why)
{
    struct call_journal *log = calloc(1, sizeof *log);
    size_t room = 0, n_read = 1;
    if (log == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "%s: no memory for it", input_name(in));
    enum err e = head_read(in, &log->head, why);
    while (e == ERR_OK && n_read > 0)
        e = records_read(in, log, &room, &n_read, why);
    if (e != ERR_OK) {
        call_journal_free(log);
        return e;
    }
    drop_torn(log);
    drop_undone(log);
    count_devices(log);
    *out = log;
    return ERR_OK;
}

void call_journal_free(struct call_journal *log)
{
    if (log == NULL)
        return;
    free(log->records);
    pair_map_free(&log->text_of);
    text_table_free(&log->texts);
    free(log);
}

/* ---- stacks ---- */

/* Joins the parts of a text that ends in record `last`; the length. */
static size_t text_join(const struct call_journal *log, uint32_t last, char text[CALL_TEXT_MAX])
{
    uint32_t parts[CALL_TEXT_MAX / CALL_TEXT_BYTES];
    size_t n_parts = 0, n = 0;
    for (uint64_t at = last;;) {
        struct call_text part;
        memcpy(&part, &log->records[at], sizeof part);
        if (part.kind != CALL_TEXT || n_parts == sizeof parts / sizeof parts[0])
            break;
        parts[n_parts++] = (uint32_t)at;
        if (part.before == 0 || part.before > at)
            break;
        at = part.before - 1;
    }
    while (n_parts > 0) {
        struct call_text part;
        memcpy(&part, &log->records[parts[--n_parts]], sizeof part);
        const char *end = memchr(part.text, '\0', sizeof part.text);
        const size_t length = end == NULL ? sizeof part.text : (size_t)(end - part.text);
        memcpy(text + n, part.text, length);
        n += length;
    }
    return n;
}

/* The id of the text that ends in record `last`; UINT32_MAX without memory. */
static uint32_t text_id(struct call_journal *log, uint32_t last)
{
    char text[CALL_TEXT_MAX];
    const uint32_t *known = pair_map_find(&log->text_of, last, 0);
    if (known != NULL)
        return *known;
    const size_t n = text_join(log, last, text);
    const uint32_t id = text_table_put(&log->texts, text, n);
    return id != UINT32_MAX && pair_map_add(&log->text_of, last, 0, id) ? id : UINT32_MAX;
}

size_t call_journal_stack(struct call_journal *log, const struct call_record *r, uint32_t *texts, size_t max,
                          bool *has_memory)
{
    uint64_t next = r->stack, bound = (uint64_t)(r - log->records);
    size_t n = 0;
    *has_memory = true;
    while (next > 0 && next <= bound && n < max) {
        const struct call_record *frame = &log->records[next - 1];
        if (frame->kind != CALL_FRAME || frame->other == 0 || frame->other >= next)
            break;
        texts[n] = text_id(log, (uint32_t)(frame->other - 1));
        if (texts[n++] == UINT32_MAX) {
            *has_memory = false;
            return 0;
        }
        bound = next - 1;                                /* a caller was put before */
        next = frame->stack;
    }
    return n;
}

void call_journal_command(const struct call_journal *log, char *text, size_t n)
{
    const char *command = log->head.command;
    size_t used = 0, end = sizeof log->head.command;
    while (end > 0 && command[end - 1] == '\0')
        end--;
    for (; used < end && used + 1 < n; used++)
        text[used] = command[used] == '\0' ? ' ' : command[used];
    text[used] = '\0';
}
