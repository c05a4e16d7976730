/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Reads journals of CUDA memory calls.
 *
 * Nothing in a journal is trusted. A record may name earlier records only (the caller of a frame, the part before a
 * text), and every such number is looked up among those read so far, so chains end.
 */
#include "import/call_journal_read.h"

#include "base/array.h"
#include "base/units.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CALL_TEXT_MAX = 4096, PEEK_RECORDS = INPUT_PEEK_MAX / (int)sizeof(struct call_record) };

bool call_journal_sniff(const unsigned char *head, size_t n)
{
    return n >= sizeof CALL_JOURNAL_MAGIC && memcmp(head, CALL_JOURNAL_MAGIC, sizeof CALL_JOURNAL_MAGIC) == 0;
}

/* Takes the head from the first n bytes of a file. */
static enum err head_take(const char *name, const unsigned char *bytes, size_t n, struct call_head *head,
                          struct err_detail *err)
{
    if (n < sizeof *head || !call_journal_sniff(bytes, n))
        return err_at(err, ERR_FORMAT, 0, name, "byte 0: is not a journal of CUDA calls");
    memcpy(head, bytes, sizeof *head);
    if (head->order != CALL_JOURNAL_ORDER)
        return err_at(err, ERR_UNSUPPORTED, 16, name, "byte 16: written on a machine of another byte order");
    if (head->version != CALL_JOURNAL_VERSION)
        return err_at(err, ERR_UNSUPPORTED, 20, name, "byte 20: version %u of the journal; this program reads %d",
                      head->version, CALL_JOURNAL_VERSION);
    if (head->record_bytes != sizeof(struct call_record) || head->head_bytes != sizeof *head)
        return err_at(err, ERR_FORMAT, 24, name, "byte 24: a head of %u bytes and records of %u; known are %zu and %zu",
                      head->head_bytes, head->record_bytes, sizeof *head, sizeof(struct call_record));
    if (head->card >= CALL_CARDS)
        return err_at(err, ERR_UNSUPPORTED, 72, name, "byte 72: card of kind %" PRIu64 "; known are 0 (real) and 1 "
                      "(simulated)", head->card);
    head->command_line[sizeof head->command_line - 1] = '\0';
    return ERR_OK;
}

static enum err head_read(struct input *in, struct call_head *head, struct err_detail *err)
{
    const unsigned char *bytes;
    size_t n;
    enum err e = input_peek(in, sizeof *head, &bytes, &n, err);
    if (e == ERR_OK)
        e = head_take(input_name(in), bytes, n, head, err);
    if (e == ERR_OK)
        input_skip(in, sizeof *head);
    return e;
}

/* Room for n records. */
static enum err records_reserve(struct call_journal *log, size_t n, struct err_detail *err)
{
    if (n <= log->room)
        return ERR_OK;
    struct call_record *records = realloc(log->records, n * sizeof *records);
    if (records == NULL)
        return err_no_memory(err);
    log->records = records;
    log->room = n;
    return ERR_OK;
}

/* Appends the records that the input has ready; *n_read is 0 at its end. A record that is cut off there is left out. */
static enum err records_read(struct input *in, struct call_journal *log, size_t *n_read, struct err_detail *err)
{
    const unsigned char *bytes;
    size_t n;
    enum err e = input_peek(in, PEEK_RECORDS * sizeof(struct call_record), &bytes, &n, err);
    if (e != ERR_OK)
        return e;
    *n_read = n / sizeof(struct call_record);
    if (*n_read == 0)
        return ERR_OK;
    if (log->n > UINT32_MAX - *n_read)
        return err_at(err, ERR_UNSUPPORTED, input_offset(in), input_name(in), "more than %u records", UINT32_MAX);
    if (log->room - log->n < *n_read)
        e = records_reserve(log, 2 * (log->n + *n_read), err);
    if (e != ERR_OK)
        return e;
    memcpy(log->records + log->n, bytes, *n_read * sizeof *log->records);
    log->n += (uint32_t)*n_read;
    input_skip(in, *n_read * sizeof *log->records);
    return ERR_OK;
}

/* Host memory takes nothing of a card, and a simulated card's trace is about the card alone. */
static bool is_off_card(const struct call_journal *log, const struct call_record *r)
{
    return call_journal_is_simulated(log) && (r->kind == CALL_ALLOC || r->kind == CALL_FREE) &&
           (r->space == CALL_SPACE_HOST || r->space == CALL_SPACE_MANAGED);
}

/* Makes a NONE of every record that is not whole, of an unknown kind, or not about a card. Returns where the last whole
 * record ends. */
static uint32_t drop_unknown(struct call_journal *log)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < log->n; i++) {
        struct call_record *r = &log->records[i];
        const bool is_whole = r->is_whole == CALL_WHOLE, is_known = r->kind < CALL_KINDS;
        end = is_whole ? i + 1 : end;
        log->n_newer += is_whole && (!is_known || (r->kind == CALL_ALLOC && r->space >= CALL_SPACES));
        if (!is_whole || !is_known || is_off_card(log, r))
            r->kind = CALL_NONE;
    }
    assert(end <= log->n);
    return end;
}

/* Cuts the room off that follows the last whole record, and counts the records before it that are not whole. Those that
 * found no room on the disk are not whole either; the head counts them. */
static void drop_torn(struct call_journal *log)
{
    log->n = drop_unknown(log);
    for (uint32_t i = 0; i < log->n; i++)
        log->n_torn += log->records[i].is_whole != CALL_WHOLE;
    log->n_torn -= log->n_torn < log->head.lost ? log->n_torn : log->head.lost;
}

/* Takes back each FREE, RELEASE, UNMAP and RESET whose call failed: the memory is still there. */
static void drop_undone(struct call_journal *log)
{
    for (uint32_t i = 0; i < log->n; i++) {
        struct call_record *r = &log->records[i];
        if (r->kind != CALL_UNDO)
            continue;
        if (r->other >= log->first && r->other - log->first < i) {
            struct call_record *undone = &log->records[r->other - log->first];
            if (undone->kind == CALL_FREE || undone->kind == CALL_RELEASE || undone->kind == CALL_UNMAP ||
                undone->kind == CALL_RESET)
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
            d->total_bytes = r->bytes, d->free_bytes = r->other;
    }
}

enum err call_journal_read(struct input *in, struct call_journal **out, struct err_detail *err)
{
    struct call_journal *log = calloc(1, sizeof *log);
    size_t n_read = 1;
    if (log == NULL)
        return err_no_memory(err);
    enum err e = head_read(in, &log->head, err);
    while (e == ERR_OK && n_read > 0)
        e = records_read(in, log, &n_read, err);
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
    free(log->path);
    free(log);
}

/* ---- while it is written ---- */

/* Opens the file for one reading only: a recorder may follow more processes than it can hold files open. A pipe is not
 * waited for, and cannot be read at an offset. */
static enum err follow_open(const char *path, int *fd, struct err_detail *err)
{
    *fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    return *fd >= 0 ? ERR_OK : err_at(err, err_of_open(errno), 0, path, "cannot be opened: %s", strerror(errno));
}

/* Reads n bytes; *got are there. */
static enum err follow_read(int fd, const char *path, void *out, size_t n, uint64_t offset, size_t *got,
                            struct err_detail *err)
{
    for (*got = 0; *got < n;) {
        const ssize_t k = pread(fd, (char *)out + *got, n - *got, (off_t)(offset + *got));
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return err_at(err, ERR_INPUT, offset, path, "cannot be read: %s", strerror(errno));
        if (k == 0)
            break;
        *got += (size_t)k;
    }
    return ERR_OK;
}

/* Reads the head of a file that may still be written. The writer stores the magic last, so the rest is read again once
 * the magic is there: what came with the first reading may be older. */
static enum err follow_head(const char *path, struct call_head *head, struct err_detail *err)
{
    unsigned char bytes[sizeof *head];
    size_t n = 0;
    int fd;
    enum err e = follow_open(path, &fd, err);
    if (e != ERR_OK)
        return e;
    e = follow_read(fd, path, bytes, sizeof bytes, 0, &n, err);
    if (e == ERR_OK && call_journal_sniff(bytes, n))
        e = follow_read(fd, path, bytes, sizeof bytes, 0, &n, err);
    close(fd);
    return e == ERR_OK ? head_take(path, bytes, n, head, err) : e;
}

enum err call_journal_open(const char *path, struct call_journal **out, struct err_detail *err)
{
    struct call_journal *log = calloc(1, sizeof *log);
    if (log == NULL || (log->path = strdup(path)) == NULL) {
        call_journal_free(log);
        return err_no_memory(err);
    }
    log->awaited = UINT32_MAX;
    const enum err e = follow_head(path, &log->head, err);
    if (e != ERR_OK)
        call_journal_free(log);
    else
        *out = log;
    return e;
}

static bool is_whole(const struct call_journal *log, size_t i)
{
    return log->records[i].is_whole == CALL_WHOLE;
}

/* How many of the n records that were read can be taken: the whole ones at the front.
 *
 *     W W W . . W     takes 3
 *     . . W W         takes none and waits for the first; at the next look, if it is still not whole, skips both
 *     . . . .         takes none: perhaps only room
 */
static size_t follow_count(struct call_journal *log, size_t n)
{
    size_t whole = 0, torn = 0;
    while (whole < n && is_whole(log, whole))
        whole++;
    while (whole == 0 && torn < n && !is_whole(log, torn))
        torn++;
    if (whole > 0 || torn == 0 || (torn == n && n < CALL_STRETCH_RECORDS)) {
        log->awaited = UINT32_MAX;
        return whole;
    }
    if (log->awaited == log->first)
        log->first += (uint32_t)torn;
    log->awaited = log->first;
    return 0;
}

/* Reads the next records into place, twice: the first reading tells which are whole, the second takes them. A record
 * that is read while it is written may show its last member before the others. */
static enum err follow_stretch(struct call_journal *log, int fd, struct err_detail *err)
{
    const uint64_t size = sizeof *log->records, offset = sizeof log->head + log->first * size;
    size_t got = 0;
    enum err e = follow_read(fd, log->path, log->records, CALL_STRETCH_RECORDS * size, offset, &got, err);
    const size_t n = e == ERR_OK ? follow_count(log, got / size) : 0;
    if (n > 0)
        e = follow_read(fd, log->path, log->records, n * size, offset, &got, err);
    log->n = e == ERR_OK && got >= n * size ? (uint32_t)n : 0;
    return e;
}

enum err call_journal_more(struct call_journal *log, struct err_detail *err)
{
    int fd;
    log->first += log->n;
    log->n = 0;
    if (log->first > UINT32_MAX - CALL_STRETCH_RECORDS)
        return err_at(err, ERR_UNSUPPORTED, 0, log->path, "more than %u records", UINT32_MAX);
    enum err e = records_reserve(log, CALL_STRETCH_RECORDS, err);
    if (e == ERR_OK)
        e = follow_open(log->path, &fd, err);
    if (e != ERR_OK)
        return e;
    e = follow_stretch(log, fd, err);
    close(fd);
    assert(log->n <= CALL_STRETCH_RECORDS && log->n <= log->room);
    if (log->n == 0) {                                   /* a process that is idle costs no memory */
        free(log->records);
        log->records = NULL;
        log->room = 0;
    }
    (void)drop_unknown(log);
    drop_undone(log);
    count_devices(log);
    return e;
}

/* ---- use of a simulated card ---- */

void call_record_text(const struct call_record *r, char text[static CALL_TEXT_BYTES + 1])
{
    struct call_text part;
    memcpy(&part, r, sizeof part);
    memcpy(text, part.text, sizeof part.text);
    text[sizeof part.text] = '\0';
}

static void use_grow(struct call_use *u, uint64_t bytes)
{
    u->calls++;
    u->held_bytes = add_capped(u->held_bytes, bytes);
    if (u->held_bytes > u->peak_bytes)
        u->peak_bytes = u->held_bytes;
}

static void use_shrink(struct call_use *u, uint64_t bytes)
{
    u->calls++;
    u->held_bytes -= bytes < u->held_bytes ? bytes : u->held_bytes;
}

/* A pool's allocations take nothing of the card: its segments do. */
static void use_take(struct call_use *u, const struct call_record *r)
{
    switch ((enum call_kind)r->kind) {
    case CALL_DEVICE:
        u->total_bytes = r->bytes;
        u->taken_bytes = r->bytes - r->other;
        break;
    case CALL_ALLOC:
        if (r->space != CALL_SPACE_POOL)
            use_grow(u, r->bytes);
        break;
    case CALL_FREE:
        if (r->space != CALL_SPACE_POOL)
            use_shrink(u, r->bytes);
        break;
    case CALL_CREATE:
    case CALL_SEGMENT:
        use_grow(u, r->bytes);
        break;
    case CALL_PHYSICAL_FREE:
    case CALL_SEGMENT_FREE:
        use_shrink(u, r->bytes);
        break;
    case CALL_OOM:
        u->refusals++;
        u->last_refused_bytes = r->bytes;
        break;
    default:
        break;
    }
    assert(u->held_bytes <= u->peak_bytes);
}

void call_journal_sum(const struct call_journal *log, struct call_use use[static CALL_DEVICES_MAX])
{
    for (uint32_t i = 0; i < log->n; i++)
        use_take(&use[log->records[i].device], &log->records[i]);
}

/* ---- stacks ---- */

/* Appends a part of a text to the parts before it. */
static bool take_text(struct call_frames *f, uint32_t number, const struct call_record *r)
{
    struct call_text part;
    char text[CALL_TEXT_MAX];
    size_t n = 0;
    memcpy(&part, r, sizeof part);
    const uint32_t *before = part.before == 0 ? NULL : pair_map_find(&f->text_of, part.before - 1, 0);
    if (before != NULL) {
        const char *start = text_table_at(&f->texts, *before);
        n = strlen(start);
        memcpy(text, start, n);
    }
    const char *end = memchr(part.text, '\0', sizeof part.text);
    const size_t length = end == NULL ? sizeof part.text : (size_t)(end - part.text);
    const size_t k = length < sizeof text - n ? length : sizeof text - n;
    assert(n + k <= sizeof text);
    memcpy(text + n, part.text, k);
    const uint32_t id = text_table_put(&f->texts, text, n + k);
    return id != UINT32_MAX && pair_map_add(&f->text_of, number, 0, id);
}

static bool take_frame(struct call_frames *f, uint32_t number, const struct call_record *r)
{
    const uint32_t *text = r->other == 0 ? NULL : pair_map_find(&f->text_of, r->other - 1, 0);
    const uint32_t *caller = r->stack == 0 ? NULL : pair_map_find(&f->frame_of, r->stack - 1, 0);
    if (text == NULL)
        return true;
    struct call_frame *frames = array_grow(f->frames, f->n, &f->room, sizeof *frames);
    if (frames == NULL)
        return false;
    f->frames = frames;
    f->frames[f->n] = (struct call_frame){.text = *text, .caller = caller == NULL ? 0 : *caller + 1};
    return pair_map_add(&f->frame_of, number, 0, (uint32_t)f->n++);
}

bool call_frames_take(struct call_frames *f, uint32_t number, const struct call_record *r)
{
    return r->kind == CALL_TEXT ? take_text(f, number, r) : r->kind == CALL_FRAME ? take_frame(f, number, r) : true;
}

size_t call_frames_stack(const struct call_frames *f, const struct call_record *r, uint32_t *texts, size_t max)
{
    const uint32_t *innermost = r->stack == 0 ? NULL : pair_map_find(&f->frame_of, r->stack - 1, 0);
    size_t n = 0;
    for (uint32_t at = innermost == NULL ? 0 : *innermost + 1; at > 0 && n < max; at = f->frames[at - 1].caller) {
        assert(at <= f->n && f->frames[at - 1].caller < at);         /* callers came before: the chain ends */
        texts[n++] = f->frames[at - 1].text;
    }
    return n;
}

void call_frames_free(struct call_frames *f)
{
    pair_map_free(&f->text_of);
    pair_map_free(&f->frame_of);
    text_table_free(&f->texts);
    free(f->frames);
    *f = (struct call_frames){.n = 0};
}

void call_journal_command_line(const struct call_journal *log, char *text, size_t n)
{
    const char *words = log->head.command_line;
    size_t used = 0, end = sizeof log->head.command_line;
    while (end > 0 && words[end - 1] == '\0')
        end--;
    for (; used < end && used + 1 < n; used++)
        text[used] = words[used] == '\0' ? ' ' : words[used];
    text[used] = '\0';
}
