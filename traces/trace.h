/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Traces: reading and writing the native format (traces/FORMAT.md).
 *
 * A reader lends validated chunks of events. Everything that the engine's loop does not need (source record numbers,
 * recorded addresses, recorded segment events, call stacks) is in side tables, which are read on request. Every source
 * is read through this reader: an importer writes the native format, to a file or to memory.
 */
#ifndef REPLAY_TRACES_TRACE_H
#define REPLAY_TRACES_TRACE_H

#include "base/err.h"
#include "base/event.h"

#include <stdbool.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_CHUNK_EVENTS (UINT32_C(1) << 20)      /* at most: 24 MiB of events */
#define TRACE_NO_RECORD UINT64_MAX
#define TRACE_NO_STACK  0                           /* stack ids count from 1 */
#define TRACE_DEVICES_MAX 4096                      /* devices of a recording */

/* Facts about a trace as a whole. All sizes in bytes. */
struct trace_info {
    uint64_t events;                  /* without the start state's requests */
    uint64_t by_kind[EVENT_KINDS];
    uint64_t capacity_bytes;          /* of the traced device, or the part the program could use; 0 = unknown */
    uint64_t records;                 /* in the source; == events if the source does not number its records */
    uint64_t peak_requested_bytes;    /* most bytes requested and not yet freed at any time */
    uint64_t duration_ns;
    uint64_t recorded_peak_reserved_bytes;   /* 0 = not recorded */
    uint64_t recorded_peak_allocated_bytes;  /* as requested bytes; 0 = not recorded */
    uint64_t recorded_end_reserved_bytes;
    uint64_t recorded_start_reserved_bytes;
    uint64_t recorded_end_segments;
    uint64_t epoch_us;                /* wall clock of time 0, microseconds since 1970; 0 = unknown */
    uint32_t peak_live;               /* most slots in use at once, start state included; every slot is below it */
    uint32_t n_streams, n_pools;      /* at least 1 each */
    uint32_t n_labels, n_stacks, n_controls;
    uint32_t device;                  /* ordinal in the source */
    bool     starts_mid_run;          /* blocks were live or segments reserved before the first event */
    bool     has_source_numbers;      /* events carry the number of their record in the source */
    bool     has_addresses;           /* events carry the recorded address */
    bool     has_segment_events;      /* the trace holds recorded segment events */
    bool     is_unfinished;           /* the file has no index: it is still being written, or its writer was killed.
                                       * Totals then count the events in the file; recorded_* are 0. */
    uint64_t cut_off_bytes;           /* of an unfinished file: bytes after the last whole section */
};

enum trace_segment_kind { TRACE_SEGMENT_ALLOC, TRACE_SEGMENT_FREE, TRACE_SEGMENT_MAP, TRACE_SEGMENT_UNMAP };

/* A recorded segment event. It happened before event number `before` (counted from 0). */
struct trace_segment_event {
    uint64_t before;
    uint64_t record;                  /* number in the source */
    uint64_t addr, bytes;
    uint16_t stream;
    uint8_t  pool;
    uint8_t  kind;                    /* enum trace_segment_kind */
};

/* What was recorded beside one event. addr is 0 and stack TRACE_NO_STACK if the source had none. */
struct trace_side {
    uint64_t record;
    uint64_t addr;                    /* ALLOC and frees: address of the block; OOM: free bytes of the device */
    uint32_t stack;
};

/* What the bytes of a native trace are used for. All members but `total` and `times` add up to `total`. */
struct trace_bytes {
    uint64_t total;
    uint64_t events;                  /* events, controls, labels */
    uint64_t times;                   /* time stamps; included in `events` */
    uint64_t sides;                   /* record numbers, addresses, stack ids, recorded segment events */
    uint64_t strings;                 /* stacks and texts */
    uint64_t state;                   /* the state before the first event, and states in between for seeking */
    uint64_t index;                   /* head, facts, index, foot */
};

/* ---- reading ---- */

struct trace_reader;

/* True if a file that begins with these bytes is a native trace of any version. 24 bytes are enough. */
bool trace_is_native(const unsigned char *head, size_t n);

/* Opens a native trace from a file ("-": standard input) or from bytes, which are borrowed until trace_close. An
 * unfinished trace is read once from end to end to build its index. ERR_IO; ERR_FORMAT with the offset in the file. */
MUST_USE enum err trace_open(const char *path, struct trace_reader **out, struct err_detail *err);

MUST_USE enum err trace_open_bytes(const void *bytes, size_t n, struct trace_reader **out, struct err_detail *err);

/* The same from a regular file that is open, or from malloc'ed bytes; the reader owns them from here on, also on error.
 * `name` is for messages. `memory_limit` is what the trace's tables, live requests and events may ask for: 0 is 256
 * bytes for each of the file, and 64 MiB whatever its size. Without a bound a small file could ask for any amount. Our
 * writer makes files long enough for what they hold (FORMAT.md, "Memory"). Above it: ERR_FORMAT. */
MUST_USE enum err trace_open_file(int fd, const char *name, uint64_t memory_limit, struct trace_reader **out,
                                  struct err_detail *err);
MUST_USE enum err trace_open_owned(void *bytes, size_t n, const char *name, uint64_t memory_limit,
                                   struct trace_reader **out, struct err_detail *err);
void trace_close(struct trace_reader *r);

const struct trace_info *trace_info(const struct trace_reader *r);
struct trace_bytes trace_bytes(const struct trace_reader *r);

/* A fact about the source, as text; NULL if the trace does not have it. Names in use:
 *   "units"                        TRACE_UNITS, written into every trace
 *   "source"                       "pytorch-snapshot", "cuda-calls", "generated" and others (plain_facts.c)
 *   "path"                         the imported file
 *   "command", "process"           of the recorded program, from a journal of calls
 *   TRACE_META_RELEASE             "2.15"
 *   "conf"                         settings text of the recorded allocator
 *   "max_split_size", "garbage_collection_threshold", "expandable_segments", "roundup_power2_divisions"
 *                                  its settings one by one
 *   TRACE_META_PLATFORM            "windows" (replay/recording/platforms.def), where the recording was made, if
 *                                  its call stacks tell that it is not plain Linux; "jax", "tensorflow": whose
 *                                  allocator it is of
 *   TRACE_META_CAPABILITY          "8.6", the compute capability of the (simulated) card that kernels were chosen for
 *   TRACE_META_LIMIT               TRACE_LIMIT_TEXT: a limit that refused requests although the card had room
 *   TRACE_META_RANGE               TRACE_RANGE_TEXT, then ": " and why: predicted, what is reserved at most may be so
 *   TRACE_META_BEGINS, _ENDS       TRACE_CUT: that part of the recording is missing;
 *                                  TRACE_EXIT: it ends with the program;
 *                                  TRACE_INTERRUPTED: likewise, and a signal ended that;
 *                                  TRACE_OPEN: what follows its end is not known
 *   TRACE_META_SHRUNK              "461": it is what shrink left of a recording of so many calls
 *   TRACE_META_DONATABLE           a line for each of JAX's programs and size of its results: "4194304 4 5 jit_step", 4
 *                                  arguments of so many bytes that are not donated, for 5 results
 *   "notes"                        what the source does not tell, a line each */
#define TRACE_META_RELEASE "profile"  /* holds the PyTorch release whose layout the recording has; older traces exist,
                                       * so the name on disk stays */
#define TRACE_META_PLATFORM "platform"
#define TRACE_META_CAPABILITY "compute capability"
#define TRACE_META_SHRUNK  "shrunk from"
#define TRACE_META_DONATABLE "donatable"
#define TRACE_META_LIMIT   "limit"
#define TRACE_LIMIT_TEXT   "at least %" PRIu64 ", below %" PRIu64 ", of %" PRIu64 " bytes"
#define TRACE_LIMIT_SCAN   "at least %" SCNu64 ", below %" SCNu64 ", of %" SCNu64 " bytes"
#define TRACE_META_RANGE   "peak range"
#define TRACE_RANGE_TEXT   "%" PRIu64 " to %" PRIu64 " bytes, expected %" PRIu64
#define TRACE_RANGE_SCAN   "%" SCNu64 " to %" SCNu64 " bytes, expected %" SCNu64
#define TRACE_META_BEGINS  "begins"
#define TRACE_META_ENDS    "ends"
#define TRACE_CUT          "cut"
#define TRACE_EXIT         "exit"
#define TRACE_INTERRUPTED  "interrupted"
#define TRACE_OPEN         "open"
#define TRACE_UNITS        "bytes, nanoseconds"
const char *trace_meta(const struct trace_reader *r, const char *name);
const char *trace_meta_at(const struct trace_reader *r, size_t i, const char **value);   /* NULL after the last */

/* Copies the next line of the fact "notes" and advances *notes, which starts as trace_meta(r, "notes") (NULL is
 * accepted). A line that does not fit is cut. False after the last line. */
enum { TRACE_NOTE = 512 };
bool trace_next_note(const char **notes, char line[static TRACE_NOTE]);

/* How a note begins, by its importer, that says where the recording contradicts itself. */
#define TRACE_NOTE_CONTRADICTION "contradiction: "
bool trace_note_contradicts(const char *line);

/* Whether a note, by its importer's words "left out" or "missing", says that something of the source is not in the
 * trace. */
bool trace_note_leaves_out(const char *line);

/* The number of an event in its source, if the source numbers its records; otherwise the event's own number. -1 stays
 * -1. Errors as of trace_side_at. */
MUST_USE enum err trace_event_number(struct trace_reader *r, int64_t event, int64_t *out, struct err_detail *err);

/* Calls `visit` for every event from the first on; `number` is the event's own. Errors as of trace_next. */
typedef void (*event_visit)(void *arg, const struct event *ev, uint64_t number);
MUST_USE enum err trace_each_event(struct trace_reader *r, event_visit visit, void *arg, struct err_detail *err);

/* What such a number counts: "record" if the source numbers its records, else "event". */
const char *trace_event_word(const struct trace_reader *r);

const struct stream_name *trace_streams(const struct trace_reader *r);    /* trace_info.n_streams */
const struct pool_name *trace_pools(const struct trace_reader *r);        /* trace_info.n_pools */
const struct control *trace_controls(const struct trace_reader *r);       /* trace_info.n_controls */
const char *trace_label(const struct trace_reader *r, uint32_t id);       /* "" for an unknown id */

const struct trace_segment *trace_start_segments(const struct trace_reader *r, size_t *n);
const struct trace_block *trace_start_blocks(const struct trace_reader *r, size_t *n);

/* The next chunk of events, lent until the next call; *n == 0 at the end. Events are validated: kinds are known, slots
 * are in range, an ALLOC takes a vacant slot, a free names a live one, time never goes back.
 *
 * Chunks are small at first, so that they stay in the caches. They grow after trace_enlarge_chunks, or once a trace
 * that fits into one large chunk has been read to its end: it then stays decoded for the next reading. */
MUST_USE enum err trace_next(struct trace_reader *r, const struct event **events, size_t *n, struct err_detail *err);

/* Lets chunks from the next trace_next on hold TRACE_CHUNK_EVENTS. Call this if each chunk is walked several times, or
 * if each walk has large tables to bring into the caches. */
void trace_enlarge_chunks(struct trace_reader *r);

/* Is told as a trace is read or written: how many events are done, and of how many; 0: nobody knows. */
typedef void (*trace_watch)(void *arg, uint64_t done, uint64_t total);

/* From now on `watch` is told of each chunk that trace_next lends, counted anew in each reading. NULL: nobody is. */
void trace_watch_reading(struct trace_reader *r, trace_watch watch, void *arg);

/* From the next trace_seek on, a thread of the reader decodes the next chunk while the caller works on the lent one, if
 * the trace has more than one chunk left. Costs the memory of one more chunk. Nothing else changes: the reader is still
 * used from one thread, and damage is reported when its chunk is due. */
void trace_read_ahead(struct trace_reader *r);

/* The stacks of n events in any order; stacks[i]: that of events[i], TRACE_NO_STACK for TRACE_NO_EVENT. Each section of
 * the trace is decoded once, where trace_side_at for one event after the other might decode one for each. Takes 16
 * bytes for each event meanwhile. ERR_HOST_NOMEM; errors as of trace_side_at. */
#define TRACE_NO_EVENT UINT64_MAX
MUST_USE enum err trace_stacks_at(struct trace_reader *r, const uint64_t *events, size_t n, uint32_t *stacks,
                                  struct err_detail *err);

/* Makes the next chunk begin at event `first` (<= trace_info.events). Decodes from the nearest list of slots before it,
 * not from the start of the file. ERR_USAGE for a larger `first`. */
MUST_USE enum err trace_seek(struct trace_reader *r, uint64_t first, struct err_detail *err);

/* What was recorded beside one event, and beside events [first, first + n). Independent of trace_next. ERR_USAGE for
 * events that the trace does not have. */
MUST_USE enum err trace_side_at(struct trace_reader *r, uint64_t event, struct trace_side *out,
                                struct err_detail *err);
MUST_USE enum err trace_sides(struct trace_reader *r, uint64_t first, size_t n, struct trace_side *out,
                              struct err_detail *err);

/* All recorded segment events, in order; lent until trace_close. */
MUST_USE enum err trace_segment_events(struct trace_reader *r, const struct trace_segment_event **out, size_t *n,
                                       struct err_detail *err);

/* The frames of a stack as texts ("function file:line"), innermost first; returns their number, 0 for an unknown id.
 * The list is lent until the next call, the texts until trace_close. */
size_t trace_stack(const struct trace_reader *r, uint32_t stack, const char *const **frames);

/* ---- writing ---- */

/* One record to be written, with the pointers, stream handles and pool ids of the recorded program. */
struct trace_record {
    enum event_kind kind;
    uint64_t time_ns;                 /* from any origin; a time before the previous record's is raised to it */
    uint64_t ptr;                     /* ALLOC: name of the live request; frees and CONTROL_USE: that name */
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

/* From now on `watch` is told of each section of events that is written, and of `total`. */
void trace_watch_writing(struct trace_writer *w, uint64_t total, trace_watch watch, void *arg);

/* Starts a trace in a temporary file next to `path` ("-": standard output; NULL: in memory). */
MUST_USE enum err trace_create(const char *path, struct trace_writer **out, struct err_detail *err);

/* Starts a trace in a file that grows under its final name and replaces a file of that name. Before trace_finish it can
 * be read up to the last trace_flush, also after the process was killed. */
MUST_USE enum err trace_create_growing(const char *path, struct trace_writer **out, struct err_detail *err);

/* Names the file that the records are read from: errors about a record then name that file instead of the trace. It is
 * also the fact "path". */
MUST_USE enum err trace_put_source_path(struct trace_writer *w, const char *path, struct err_detail *err);

/* Sets a fact (copied) before the first record; "notes" and trace_info.recorded_* may also be set later: the last value
 * counts. */
MUST_USE enum err trace_put_meta(struct trace_writer *w, const char *name, const char *value, struct err_detail *err);

/* The caller fills in capacity_bytes, recorded_*, epoch_us, device and records; the writer the rest. */
struct trace_info *trace_writer_info(struct trace_writer *w);

/* Sets PyTorch's own number of a stream, before the first event that names the stream. The default stream, handle 0,
 * has number 0. ERR_USAGE if the stream is written already. */
MUST_USE enum err trace_put_stream_number(struct trace_writer *w, uint64_t handle, uint64_t number,
                                          struct err_detail *err);

/* The state before the first record: first all segments, then all blocks, each ascending by address without overlap,
 * each block within its segment. The raw `stream` and `pool` replace those of the struct. A block that is not free gets
 * its slot here, and its address is its ptr. ERR_FORMAT with the address. */
MUST_USE enum err trace_put_start_segment(struct trace_writer *w, const struct trace_segment *s, uint64_t stream,
                                          const uint64_t pool[2], struct err_detail *err);
MUST_USE enum err trace_put_start_block(struct trace_writer *w, const struct trace_block *b, bool is_live,
                                        uint64_t stream, const uint64_t pool[2], struct err_detail *err);

/* Interned: equal texts and equal stacks get equal ids. `frames` as trace_stack returns them. A text is cut at a zero
 * byte and at 65535 bytes; of a deeper stack the 4096 innermost frames are kept.
 * ERR_FORMAT for stacks of more than 16 GiB of frames (FORMAT.md, "Memory"). */
MUST_USE enum err trace_put_label(struct trace_writer *w, const char *text, size_t n, uint32_t *id,
                                  struct err_detail *err);
MUST_USE enum err trace_put_stack(struct trace_writer *w, const char *const *frames, size_t n, uint32_t *id,
                                  struct err_detail *err);

/* trace_put_stack in two steps, cheaper if frames occur in many stacks: first the text of a frame, then a stack of such
 * frames. */
MUST_USE enum err trace_put_frame(struct trace_writer *w, const char *text, uint32_t *frame, struct err_detail *err);
MUST_USE enum err trace_put_stack_of(struct trace_writer *w, const uint32_t *frames, size_t n, uint32_t *id,
                                     struct err_detail *err);

/* Appends one record. A FREE_REQUESTED directly followed by its FREE_COMPLETED becomes one FREE with the time, address
 * and stack of the request. ERR_FORMAT, with the record's number, for an ALLOC of a live ptr, a free of a ptr that is
 * not live, a size of 0, and more than 65535 streams, 255 pools or 2^62 bytes live at once, a refused request among
 * them; the trace is then as it was. */
MUST_USE enum err trace_put(struct trace_writer *w, const struct trace_record *r, struct err_detail *err);
MUST_USE enum err trace_put_segment_event(struct trace_writer *w, enum trace_segment_kind kind, uint64_t addr,
                                          uint64_t bytes, uint64_t stream, const uint64_t pool[2], uint64_t record,
                                          struct err_detail *err);

/* The bytes of the request of that pointer that was put, and has not ended; 0: there is none. */
uint64_t trace_live_bytes(const struct trace_writer *w, uint64_t ptr);

/* Writes everything put so far into the file, so that a reader of the unfinished trace sees it. Costs about 100 bytes.
 * A FREE_REQUESTED that came last is no longer merged with its FREE_COMPLETED. */
MUST_USE enum err trace_flush(struct trace_writer *w, struct err_detail *err);

/* Ends the trace: writes the index and renames the file to `path`, or hands out the bytes of a trace in memory (free()
 * them). Destroys the writer, also on error; nothing of the trace is then left. ERR_USAGE for the function of the other
 * kind of trace. */
MUST_USE enum err trace_finish(struct trace_writer *w, struct err_detail *err);
MUST_USE enum err trace_finish_bytes(struct trace_writer *w, void **bytes, size_t *n, struct err_detail *err);

/* trace_finish_bytes and trace_open_owned in one. The events of a short trace are handed over without being packed and
 * decoded; trace_bytes then does not count them. */
MUST_USE enum err trace_finish_open(struct trace_writer *w, const char *name, struct trace_reader **out,
                                    struct err_detail *err);

/* The same for what was imported from a file that unpacks to `source_bytes`. The limit of trace_open_file holds in
 * proportion to these. */
MUST_USE enum err trace_finish_import(struct trace_writer *w, const char *name, uint64_t source_bytes,
                                      uint64_t memory_limit, struct trace_reader **out, struct err_detail *err);

/* Destroys the writer and removes its unfinished file. NULL is accepted. */
void trace_abandon(struct trace_writer *w);

#endif
