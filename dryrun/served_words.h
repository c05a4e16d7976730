/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Words that the answers of all servers have (`serve`). A `buf` is returned. */
#ifndef REPLAY_DRYRUN_SERVED_WORDS_H
#define REPLAY_DRYRUN_SERVED_WORDS_H

#include "dryrun/served_start.h"
#include "report/text/terminal_table.h"
#include "report/text/text.h"

enum { SERVED_SCREEN = 80, SERVED_SENTENCE = 256 };

bool served_is_told(int64_t value);

/* "72.85", as servers print GiB. */
const char *served_gib(int64_t bytes, char buf[TEXT_NUMBER]);
const char *served_count(int64_t n, char buf[TEXT_NUMBER]);

/* Three digits: "9.16 million", "44,900". */
const char *served_about(int64_t n, char buf[TEXT_NUMBER]);

/* No more digits than PyTorch told: "3.91 GiB", "512 MiB". */
void served_refused_size(int64_t bytes, char buf[TEXT_NUMBER]);

bool served_ends_sentence(const char *line);

/* A row of three cells; none if the bytes are not told. */
void served_add_row(struct terminal_table *t, const char *what, int64_t bytes, const char *note);

/* A paragraph after "- ". */
void served_print_item(FILE *out, const struct words *w);

/* What a start with this option showed, after what was computed of it. */
void served_add_tried(struct words *w, const struct served_start *s, const char *option);

/* The least and the most share that started, if they were tried. */
void served_add_shares_tried(struct words *w, const struct served_start *s);

/* Why it cannot be told whether a server starts. */
void served_add_untold(struct words *w, const struct served *all, const struct served_start *s);

#endif
