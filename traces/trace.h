/*
 * Traces: reading the native format, writing it, and importing others into it.
 *
 * A reader lends validated chunks of events; what the engine does not need in its loop (where a record stood in its
 * source, recorded addresses, recorded segment events, call stacks) lies in side tables that are read on request.
 * Any source is read through the same reader: an importer writes the native form, to a file or to memory.
 */
#ifndef REPLAY_TRACES_TRACE_H
#define REPLAY_TRACES_TRACE_H

#include "base/err.h"
#include "base/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_CHUNK_EVENTS (UINT32_C(1) << 20)      /* at most: 24 MiB of events */
#define TRACE_NO_RECORD UINT64_MAX
#define TRACE_NO_STACK  0                           /* stack ids count from 1 */

/* What is known of a trace as a whole. Bytes everywhere. */
struct trace_info {
    uint64_t events;                  /* without the start state's requests */
    uint64_t by_kind[EVENT_KINDS];
    uint64_t capacity_bytes;          /* of the traced device, or what of it the program could have; 0 = unknown */
    uint64_t records;                 /* in the source; == events where it has no numbering of its own */
    uint64_t peak_requested_bytes;    /* most bytes requested and not released at once */
    uint64_t duration_ns;
    uint64_t recorded_peak_reserved_bytes;   /* 0 = not recorded */
    uint64_t recorded_peak_allocated_bytes;  /* as requested bytes; 0 = not recorded */
    uint64_t recorded_end_reserved_bytes;
    uint64_t recorded_start_reserved_bytes;
    uint64_t recorded_end_segments;
    uint64_t epoch_us;                /* wall clock of time 0, microseconds since 1970; 0 = unknown */
    uint32_t peak_live;               /* slots in use: every slot is below it; start state included */
    uint32_t n_streams, n_pools;      /* at least 1 each */
    uint32_t n_labels, n_stacks, n_controls;
    uint32_t device;                  /* ordinal in the source */
    bool     starts_mid_run;          /* something was live, or segments stood, before the first event */
    bool     has_source_numbers;      /* events carry the number of the source's own record */
    bool     has_addresses;           /* ... the recorded address */
    bool     has_segment_events;      /* recorded segment events are there */
    bool     is_unfinished;           /* the file ends without its index: it is being written, or its writer was killed.
                                       * Totals are those of the events that are there; recorded_* are 0. */
    uint64_t cut_off_bytes;           /* behind the last whole section of an unfinished file */
};

enum trace_segment_kind { TRACE_SEGMENT_ALLOC, TRACE_SEGMENT_FREE, TRACE_SEGMENT_MAP, TRACE_SEGMENT_UNMAP };

/* A recorded segment event: it stood before event number `before` (counted from 0). */
struct trace_segment_event {
    uint64_t before;
    uint64_t record;                  /* number in the source */
    uint64_t addr, bytes;
    uint16_t stream;
    uint8_t  pool;
    uint8_t  kind;                    /* enum trace_segment_kind */
};

/* Recorded side of one event. Addresses are 0 and stack TRACE_NO_STACK where the source had none. */
struct trace_side {
    uint64_t record;
    uint64_t addr;                    /* alloc and frees: the block's; OOM: the device's free bytes */
    uint32_t stack;
};

/* Where the bytes of a native trace go. The sum of all but `total` and `times` is `total`. */
struct trace_bytes {
    uint64_t total;
    uint64_t events;                  /* events, controls, labels */
    uint64_t times;                   /* the part of `events` that time stamps take */
    uint64_t sides;                   /* record numbers, addresses, stack ids, recorded segment events */
    uint64_t strings;                 /* stacks and texts */
    uint64_t state;                   /* before the first event, and in between for seeking */
    uint64_t index;                   /* head, facts, index, foot */
};

/* ---- reading ---- */

struct trace_reader;

/* Whether a file that begins with these bytes is a native trace, of whatever version. n >= 24 suffices. */
bool trace_is_native(const unsigned char *head, size_t n);

/* Opens a native trace from a file ("-": standard input) or from bytes, which are borrowed until trace_close. An
 * unfinished one is read through once, to make its index. ERR_IO; ERR_FORMAT with the offset in the file. */
MUST_USE enum err trace_open(const char *path, struct trace_reader **out, struct err_detail *why);
MUST_USE enum err trace_open_bytes(const void *bytes, size_t n, struct trace_reader **out, struct err_detail *why);

/* The same for malloc'ed bytes that become the reader's, also on error; `name` is for messages. */
MUST_USE enum err trace_open_owned(void *bytes, size_t n, const char *name, struct trace_reader **out,
                                   struct err_detail *why);
void trace_close(struct trace_reader *r);

const struct trace_info *trace_info(const struct trace_reader *r);
struct trace_bytes trace_bytes(const struct trace_reader *r);

/* Facts about the source by name, as text; NULL where absent. Names in use: "units" (put by the writer), "source"
 * ("pytorch-snapshot", "cuda-calls"), "path", "command" and "process" (of a journal of calls), TRACE_META_RELEASE, "conf"
 * (settings text), "max_split_size", "garbage_collection_threshold", "expandable_segments", "roundup_power2_divisions",
 * "notes" (what could not be known, a line each). */
#define TRACE_META_RELEASE "profile"  /* the PyTorch release whose layout the recording has: "2.15" */
const char *trace_meta(const struct trace_reader *r, const char *name);
const char *trace_meta_at(const struct trace_reader *r, size_t i, const char **value);   /* NULL behind the last */

/* The next line of the fact "notes". *notes is trace_meta(r, "notes") at first (NULL: there are none) and moves on. A
 * longer line is cut. False after the last. */
enum { TRACE_NOTE = 512 };
bool trace_next_note(const char **notes, char line[static TRACE_NOTE]);

/* The number that the source gave to our event, if it numbers its own; otherwise, and for -1, the same number. The
 * errors of trace_side_at. */
MUST_USE enum err trace_event_number(struct trace_reader *r, int64_t event, int64_t *out, struct err_detail *why);

/* What such a number counts: "record" if the source numbers its own, else "event". */
const char *trace_event_word(const struct trace_reader *r);

const struct stream_name *trace_streams(const struct trace_reader *r);    /* trace_info.n_streams */
const struct pool_name *trace_pools(const struct trace_reader *r);        /* trace_info.n_pools */
const struct control *trace_controls(const struct trace_reader *r);       /* trace_info.n_controls */
const char *trace_label(const struct trace_reader *r, uint32_t id);       /* "" for an unknown id */

const struct trace_segment *trace_start_segments(const struct trace_reader *r, size_t *n);
const struct trace_block *trace_start_blocks(const struct trace_reader *r, size_t *n);

/* The next chunk, already validated: known kinds, slots in range, alloc only into a vacant slot, free only of a live
 * one, time never going back. Lent until the next call; *n == 0 at the end. A trace of one chunk that was read to its
 * end stays decoded. Chunks are small, so that they stay in the caches, until somebody wants large ones, or reads again
 * what fits into one. */
MUST_USE enum err trace_next(struct trace_reader *r, const struct event **events, size_t *n, struct err_detail *why);

/* From the next call of trace_next on a chunk may hold TRACE_CHUNK_EVENTS: for who goes over each one several times, or
 * with large tables, which have to come into the caches each time. */
void trace_enlarge_chunks(struct trace_reader *r);

/* From the next call of trace_seek on, the chunks behind the lent one are decoded meanwhile, in a thread of the reader's,
 * where they are more than one. Nothing else changes: who uses the reader still does so from one thread, and damage is
 * reported in its turn. It takes one more chunk of memory. */
void trace_read_ahead(struct trace_reader *r);

/* Starts again so that the next chunk begins at event `first` (<= events). Seeks by the index. */
MUST_USE enum err trace_seek(struct trace_reader *r, uint64_t first, struct err_detail *why);

/* The recorded side of one event, and of a stretch of them. Independent of trace_next. */
MUST_USE enum err trace_side_at(struct trace_reader *r, uint64_t event, struct trace_side *out,
                                struct err_detail *why);
MUST_USE enum err trace_sides(struct trace_reader *r, uint64_t first, size_t n, struct trace_side *out,
                              struct err_detail *why);

/* All recorded segment events, in order; lent until trace_close. */
MUST_USE enum err trace_segment_events(struct trace_reader *r, const struct trace_segment_event **out, size_t *n,
                                       struct err_detail *why);

/* Frames of a stack, innermost first, as strings ("function file:line"); 0 for an unknown id. The list is lent until the
 * next call, the texts until trace_close. */
size_t trace_stack(const struct trace_reader *r, uint32_t stack, const char *const **frames);

/* ---- writing ---- */

/* What goes into a trace: the program's own pointers, stream handles and pool ids. */
struct trace_record {
    enum event_kind kind;
    uint64_t time_ns;                 /* any origin; never decreases (a step back is raised to the last) */
    uint64_t ptr;                     /* names the live request; free kinds and CONTROL_USE refer to it */
    uint64_t bytes;                   /* ALLOC, OOM; ignored for frees */
    uint64_t stream;                  /* raw handle */
    uint64_t pool[2];
    uint64_t record;                  /* number in the source, or TRACE_NO_RECORD */
    uint64_t addr;                    /* recorded address, 0 = none */
    uint32_t stack;                   /* from trace_put_stack */
    uint32_t label;                   /* MARK: from trace_put_label */
    struct control control;           /* CONTROL; stream, pool, slot are taken from the members above */
};

struct trace_writer;

/* Starts a trace in a temporary file beside `path` (or, with path NULL, in memory; "-": standard output). */
MUST_USE enum err trace_create(const char *path, struct trace_writer **out, struct err_detail *why);

/* Starts a trace in a file that grows under its own name, in place of one that was there. Not yet finished it can be
 * read up to the last trace_flush; a process that is killed leaves it so. */
MUST_USE enum err trace_create_growing(const char *path, struct trace_writer **out, struct err_detail *why);

/* Names the file that the records are read from: errors about a record then name that file instead of the trace. It is
 * also the fact "path". */
MUST_USE enum err trace_put_source_path(struct trace_writer *w, const char *path, struct err_detail *why);

/* Set before the first record, except notes and recorded_*, which count when set last. Text is copied. */
MUST_USE enum err trace_put_meta(struct trace_writer *w, const char *name, const char *value, struct err_detail *why);
struct trace_info *trace_writer_info(struct trace_writer *w);     /* capacity_bytes, recorded_*, epoch_us, device,
                                                                   * records are the caller's to fill */

/* Before the first event that names the stream; the default stream, handle 0, has number 0. ERR_USAGE. */
MUST_USE enum err trace_put_stream_number(struct trace_writer *w, uint64_t handle, uint64_t number,
                                          struct err_detail *why);

/* The start state, before the first record. Segments ascending by address first, then blocks ascending by address, none
 * overlapping, each block within its segment; `stream` and `pool` of the structs are ignored in favour of the raw ones
 * given. A block that is not free gets its slot here: its ptr is addr. ERR_FORMAT with the address. */
MUST_USE enum err trace_put_start_segment(struct trace_writer *w, const struct trace_segment *s, uint64_t stream,
                                          const uint64_t pool[2], struct err_detail *why);
MUST_USE enum err trace_put_start_block(struct trace_writer *w, const struct trace_block *b, bool is_live,
                                        uint64_t stream, const uint64_t pool[2], struct err_detail *why);

/* Interned: equal texts and equal stacks get equal ids. `frames` as trace_stack returns them. A text is cut at a zero
 * byte and at 65535 bytes, a stack behind its 4096 innermost frames. */
MUST_USE enum err trace_put_label(struct trace_writer *w, const char *text, size_t n, uint32_t *id,
                                  struct err_detail *why);
MUST_USE enum err trace_put_stack(struct trace_writer *w, const char *const *frames, size_t n, uint32_t *id,
                                  struct err_detail *why);

/* The same in two steps, for who meets a frame in many stacks: a frame's text, and a stack of such. */
MUST_USE enum err trace_put_frame(struct trace_writer *w, const char *text, uint32_t *frame, struct err_detail *why);
MUST_USE enum err trace_put_stack_of(struct trace_writer *w, const uint32_t *frames, size_t n, uint32_t *id,
                                     struct err_detail *why);

/* Appends one record. A FREE_REQUESTED directly followed by its FREE_COMPLETED becomes one FREE, with time and sides of
 * the request. ERR_FORMAT, with the record's number, for an ALLOC of a live ptr or a free of one that is not, for a
 * size of 0, for more than 65535 streams, 255 pools, or 2^62 bytes live at once; the trace is then as it was. */
MUST_USE enum err trace_put(struct trace_writer *w, const struct trace_record *r, struct err_detail *why);
MUST_USE enum err trace_put_segment_event(struct trace_writer *w, enum trace_segment_kind kind, uint64_t addr,
                                          uint64_t bytes, uint64_t stream, const uint64_t pool[2], uint64_t record,
                                          struct err_detail *why);

/* Writes all that was put into the file, so that a reader of the unfinished trace has it. It costs some 100 bytes. A
 * FREE_REQUESTED that came last stays one. */
MUST_USE enum err trace_flush(struct trace_writer *w, struct err_detail *why);

/* Ends the trace: writes the index and moves the file to its name; or hands the bytes out (free() them). The writer
 * is gone afterwards, also on error, and then nothing is left under `path`. */
MUST_USE enum err trace_finish(struct trace_writer *w, struct err_detail *why);
MUST_USE enum err trace_finish_bytes(struct trace_writer *w, void **bytes, size_t *n, struct err_detail *why);

/* trace_finish_bytes and trace_open_owned in one, which spares packing and decoding the events of a short trace; its
 * trace_bytes leaves them out. */
MUST_USE enum err trace_finish_open(struct trace_writer *w, const char *name, struct trace_reader **out,
                                    struct err_detail *why);

/* Drops an unfinished trace and its file. NULL is accepted. */
void trace_abandon(struct trace_writer *w);

#endif
