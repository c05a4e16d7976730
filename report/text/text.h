/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Text for people: numbers, sentences, and paragraphs broken into lines.
 */
#ifndef REPLAY_REPORT_TEXT_TEXT_H
#define REPLAY_REPORT_TEXT_TEXT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { TEXT_LINE = 118, TEXT_NUMBER = 32 };

/* "14,322". Returns `buf`. */
const char *text_count(uint64_t n, char buf[TEXT_NUMBER]);

/* "1.93 s", "50.4 ms", "120 us". Returns `buf`. */
const char *text_time(uint64_t ns, char buf[TEXT_NUMBER]);

/* "1340 MiB", "372.80 MiB", "4.5 KiB", "512 B"; from 16 GiB on "23.10 GiB". Finer than units_format_bytes, for sizes
 * that readers compare. Returns `buf`. */
const char *text_mib(uint64_t bytes, char buf[TEXT_NUMBER]);

/* The same in the unit of a larger size that it is compared with: 5.94 GiB beside 69.48 GiB. What is too small for that
 * keeps its own. */
const char *text_mib_beside(uint64_t bytes, uint64_t other, char buf[TEXT_NUMBER]);

/* text_mib of a card that is needed, of 1 MiB or more: what is shown is never less than `bytes`. */
const char *text_card(uint64_t bytes, char buf[TEXT_NUMBER]);
const char *text_card_beside(uint64_t bytes, uint64_t other, char buf[TEXT_NUMBER]);

/* "record 12" if `word` is "record"; "the start" if number < 0, before the first event. Returns `buf`. */
const char *text_event(const char *word, int64_t number, char buf[TEXT_NUMBER]);

/* A paragraph being built; text beyond its size is cut. Begins as zero. */
struct words {
    char   text[2048];
    size_t n;
};
void words_add(struct words *w, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* What no allocator can do without (`live`), what a plan that knows the future needs (0: there is none), and how far
 * above the live data `who` is (NULL: nobody is compared). `served`: most that was live when recorded; `live` is more
 * if a request was refused then. In bytes; `reserved`, of `who`, is not below `live`. */
void words_add_possible(struct words *w, uint64_t live, uint64_t served, uint64_t plan, const char *who,
                        uint64_t reserved);

/* What a run's reserved memory consisted of at its peak, in bytes. */
struct losses {
    uint64_t    reserved, requested, external, inactive_split;
    int64_t     internal;            /* below 0 if frees were pending */
    bool        has_ranges;          /* some segments grow by pages, or may: whole free pages can be given back */
};
void words_add_losses(struct words *w, const struct losses *l);

/* Writes a text as one word of a shell: in quotes if a letter of it means something to the shell, or if it is empty. */
void text_put_word(FILE *out, const char *text);

/* The same for a file's name; "./" comes before one that a command would take for an option. */
void text_put_file_word(FILE *out, const char *path);

/* Writes "export VARIABLE=value" as a shell reads it back. */
void text_put_export(FILE *out, const char *variable, const char *value);

/* Writes the paragraph in lines of TEXT_LINE letters, or as wide as the terminal (base/terminal.h), broken between
 * words; lines after the first are indented. `column`: letters already in the first line. */
void words_print(FILE *out, const struct words *w, size_t column, size_t indent);

/* A paragraph as it is written, broken between words in lines of at most `columns` letters; a longer word stands alone.
 * Lines after the first begin with `indent` blanks. */
struct text_lines {
    FILE  *out;
    size_t columns, indent;
    size_t column;                   /* letters in the line */
    bool   has_word;                 /* one of them is of this paragraph */
};

/* Adds the words of text[0, n). The caller ends the last line. */
void text_lines_put(struct text_lines *l, const char *text, size_t n);

/* The same in lines of at most `columns` letters; a longer word stands alone. */
void words_print_within(FILE *out, const struct words *w, size_t columns, size_t column, size_t indent);
void text_print_within(FILE *out, const char *text, size_t columns, size_t column, size_t indent);

/* A paragraph for a screen: in lines of at most TERMINAL_USUAL letters, fewer on a narrower terminal; lines after the
 * first are indented by two. */
void words_print_screen(FILE *out, const struct words *w);

/* The same of a text. */
void text_print_screen(FILE *out, const char *text);

/* Writes one line, whatever its length; on a terminal it is broken like a paragraph. */
void text_put_line(FILE *out, const char *text, size_t indent);

#endif
