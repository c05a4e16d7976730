/*
 * Reading a journal (cudasim/journal.h) from bytes. A process may have been killed while it wrote: what it had not
 * finished is not there.
 */
#ifndef REPLAY_CUDASIM_JOURNAL_READ_H
#define REPLAY_CUDASIM_JOURNAL_READ_H

#include "base/err.h"
#include "cudasim/journal.h"

struct journal_view {
    struct journal_head head;
    const unsigned char *records;
    size_t n;
    void  *mapped;                   /* journal_view_file's; NULL: the bytes are the caller's */
    size_t mapped_bytes;
};

/* ERR_FORMAT for what is no journal, or one of another version. `bytes` are lent until the view is no longer used. */
MUST_USE enum err journal_view(const void *bytes, size_t n, struct journal_view *out, struct err_detail *why);

/* Whether that is the name of a journal's file. */
bool journal_is_name(const char *file);

/* The same of a file, whose bytes are held until journal_view_close. `records` is NULL, and n is 0, where the process was
 * killed before it wrote anything into it. ERR_IO. */
MUST_USE enum err journal_view_file(const char *path, struct journal_view *out, struct err_detail *why);
void journal_view_close(struct journal_view *v);

/* The i-th record (i < n). Its name, where it has one, is terminated. */
struct journal_record journal_at(const struct journal_view *v, size_t i);

/* What a process did on each device, from its records. */
enum { JOURNAL_DEVICES = 16 };

struct journal_use {
    uint64_t total_bytes, taken_bytes;               /* of the device; of it by context and others */
    uint64_t held_bytes, peak_bytes;                 /* segments and physical memory, as asked for */
    uint64_t calls, refusals, last_refused_bytes;
};

void journal_sum(const struct journal_view *v, struct journal_use use[JOURNAL_DEVICES]);

#endif
