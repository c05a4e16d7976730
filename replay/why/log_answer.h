/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A whole log, or several of one run, read for the error that ended it: whose text it is, what its figures mean, one
 * verdict, one lever.
 */
#ifndef REPLAY_REPLAY_WHY_LOG_ANSWER_H
#define REPLAY_REPLAY_WHY_LOG_ANSWER_H

#include "replay/why/smi_table.h"
#include "replay/why/log_end.h"
#include "replay/why/log_later.h"
#include "replay/why/log_walk.h"
#include "replay/why/log_xla.h"

enum { LOG_OWN_LINE = 240 };

/* Owns nothing. */
struct log_answer {
    bool is_found;
    bool is_plain;                   /* the log is text, in UTF-8 or UTF-16 */
    bool is_text;                    /* `text` ended it, otherwise `found` */
    struct oom_text text;            /* line 0: the log has none; without all its sizes if !is_text */
    struct log_found found;
    struct oom_text other;           /* the first death of another rank that has another cause; line 0: there is none */
    enum verdict_kind other_verdict;
    struct log_facts facts;
    const struct log_caller *caller; /* which library was refused by the driver; NULL: not known. Static */
    const char *backend;             /* what helps on its backend, of an error of ggml; NULL. Static */
    struct smi_table table;         /* of who holds the cards, pasted beside an error without figures */
    struct card_held held;           /* what it tells of the card that was asked */
    struct log_xla xla;              /* of an error of XLA; not found otherwise */
    enum log_end end;                /* how the log goes on after the error that is answered */
    char last_line[LOG_OWN_LINE];    /* of the log */
    struct log_killed killed;        /* by the kernel, and no program of this kind */
    const char *mention;             /* nothing was found, but these words; NULL: not even such. Static */
    uint64_t mention_line;
    char own_line[LOG_OWN_LINE];     /* of the program, which asked; "": not known */
    struct log_later later;          /* errors after the one that is answered, or, of a mention, of the whole log */
};

/* Reads the log, after cleaning it in place. `dropped`: lines that were before it. `system`: a platform that a person
 * named; PLATFORM_UNKNOWN: none. */
void log_answer_read(char *bytes, size_t n, uint64_t dropped, enum platform system, struct log_answer *out);

enum verdict_kind log_answer_verdict(const struct log_answer *a);

/* Whose text it is: "pytorch", "vllm". Static. */
const char *log_answer_stack(const struct log_answer *a);

/* Whether the program lived on after it, though it may have ended with another error. */
bool log_answer_is_survived(const struct log_answer *a);

/* How much the error tells, as ranks of log_forms.def; 0: none was found. */
int log_answer_rank(const struct log_answer *a);

/* How far its memory was full, in thousandths of the card; 0: not known. Of the logs of several ranks the fullest is
 * answered. */
unsigned log_answer_fullness(const struct log_answer *a);

/* "speaks of "CUDA out of memory" (line 4), but ...", of a log in which nothing was found; "": not even that. */
void log_answer_mention(const struct log_answer *a, char *out, size_t room);

void log_answer_print(FILE *out, const struct log_answer *a);

/* The members of answers/why_log.def. */
void why_log_json(struct json_writer *json, const struct log_answer *a);

#endif
