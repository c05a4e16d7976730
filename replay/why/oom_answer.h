/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What the text of PyTorch's OutOfMemoryError supports, for a person who recorded nothing: a verdict, and a setting to
 * try.
 *
 * The text does not name the request. It names the segment that PyTorch asked the driver for, which may be larger, and
 * its figures are rounded to two decimals. Both may decide whether the request would have fitted.
 */
#ifndef REPLAY_REPLAY_WHY_OOM_ANSWER_H
#define REPLAY_REPLAY_WHY_OOM_ANSWER_H

#include "replay/why/log_facts.h"
#include "replay/why/memory_account.h"
#include "replay/why/why.h"

/* Bytes. */
struct oom_answer {
    enum verdict_kind verdict;
    struct memory_account account;
    struct memory_judgement judgement;
    enum platform platform;          /* of the log; of the text's own words, if there is no log */
    const char *setting;             /* may serve it, in the release and on the platform that wrote the text; NULL:
        none.
                                      * Static */
};

/* `facts` are those of the log around the text; NULL: there is nothing around it. */
struct oom_answer oom_answer_of(const struct oom_text *t, const struct log_facts *facts);

/* For a terminal of 80 columns: the verdict, the line to paste, the reasons. `line` is the program's own line that
 * asked;
 * NULL: it is not known. */
void oom_answer_print(FILE *out, const struct oom_text *t, const struct log_facts *facts, const char *line);

/* The variable that the answer's setting goes into, of the release that wrote the text. Static. */
const char *oom_answer_variable(const struct oom_text *t, const struct oom_answer *a);

/* What makes a recording there, as the end of a sentence: `record`, which knows CUDA on Linux and no notebook, or
 * PyTorch's own lines. `is_early`: of PyTorch 2.0, whose lines have other arguments. NULL: nothing that is read does.
 * Static. */
const char *oom_answer_recorder(enum platform p, enum shell_kind shell, bool is_early);

/* The recording that the log names as its own, as a paragraph. False: it names none. */
bool oom_answer_print_recording(FILE *out, const struct log_facts *facts);

/* Why the system counts as Windows, if only the log's encoding tells, as a paragraph. */
void oom_answer_print_guess(FILE *out);

/* What is not known of a card that shares the host's memory, and what gives it more of that, as paragraphs. */
void oom_answer_print_shared(FILE *out, const char *machine, enum platform p);

#endif
