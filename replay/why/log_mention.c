/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/log_mention.h"

#include "replay/why/log_letters.h"

#include <ctype.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_quote(char c)
{
    return c == '\'' || c == '"' || c == '`';
}

static bool ends_with(const char *text, size_t from, size_t at, const char *words)
{
    const size_t n = strlen(words);
    return at - from >= n && memcmp(text + at - n, words, n) == 0;
}

static bool holds(const char *text, size_t from, size_t at, const char *words)
{
    for (size_t i = from; i + strlen(words) <= at; i++)
        if (memcmp(text + i, words, strlen(words)) == 0)
            return true;
    return false;
}

/* "KeyError: ...": Python's own errors that are never of memory. What they name is a key, a file, a module. */
static bool is_line_of_other_error(const char *text, size_t from, size_t at)
{
    static const char *const names[] = { "KeyError: ", "FileNotFoundError: ", "FileExistsError: ", "NameError: ",
                                         "AttributeError: ", "ModuleNotFoundError: ", "ImportError: ", "IndexError: ",
                                         "PermissionError: ", "SyntaxError: ", "IsADirectoryError: ", "UnicodeError: ",
                                         "NotADirectoryError: ", "JSONDecodeError: ", "UnicodeDecodeError: " };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (holds(text, from, at, names[i]))
            return true;
    return false;
}

/* The line below a frame of a traceback is the one that ran: `File "a.py", line 3, in f`, then `raise Error("...")`. */
static bool is_running(const char *text, size_t from)
{
    if (from == 0)
        return false;
    const size_t before = letters_line_begin(text, from - 1);
    return holds(text, before, from, "File \"") && holds(text, before, from, ", line ");
}

/* A quote opens right before the words, and neither a key nor an error's name stands before it: `"error": "CUDA out of
 * memory"` and `msg="CUDA out of memory"` are a program's, `in "CUDA out of memory"` is not. */
static bool is_quoted(const char *text, size_t from, size_t at)
{
    if (at == from || !is_quote(text[at - 1]))
        return false;
    const size_t quote = at - 1;
    size_t before = quote;
    while (before > from && is_blank(text[before - 1]))
        before--;
    const bool is_field = before == quote && ends_with(text, from, before, "=") && !holds(text, from, before, "(");
    const bool is_raise = holds(text, from, before, "raise ");
    const bool is_shown = ends_with(text, from, before, "Error(") && (!is_raise || is_running(text, from));
    const bool is_assertion = ends_with(text, from, before, "Assertion");
    const bool is_named = ends_with(text, from, before, ":") || ends_with(text, from, before, "rror") ||
                          ends_with(text, from, before, "(may be unrelated)");        /* what XLA quotes of NCCL */
    return !is_field && !is_shown && !is_assertion && !is_named;
}

/* A message begins after a sign or after nothing: "12:00:01 [rank0]: WARNING - ". In a sentence a word stands before.
 * */
static bool is_message_begin(const char *text, size_t from, size_t at)
{
    static const char *const causes[] = { "due to", "because of", "failed with", "error with", "xception", "rror",
                                          "aught" };
    while (at > from && is_blank(text[at - 1]))
        at--;
    if (at == from || strchr(":]|>)-=(", text[at - 1]) != NULL || is_quote(text[at - 1]))
        return true;
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++)
        if (ends_with(text, from, at, causes[i]))
            return true;
    while (at > from && !islower((unsigned char)text[at - 1]) && !is_blank(text[at - 1]))
        at--;
    return at == from || is_blank(text[at - 1]);             /* "WARNING", or a time */
}

/* "# ", "- " and the like begin a comment, a heading or a list of a page. */
static bool is_of_page(const char *text, size_t from, size_t at)
{
    while (from < at && is_blank(text[from]))
        from++;
    return from < at && strchr("+#*-/", text[from]) != NULL && !holds(text, from, at, ":");
}

/* A sentence goes on after the words: "CUDA out of memory errors are common". */
static bool goes_on(const char *text, size_t n, size_t end)
{
    return end + 1 < n && text[end] == ' ' && islower((unsigned char)text[end + 1]);
}

bool log_is_mention(const char *text, size_t n, size_t at, size_t end, enum log_mention_test test)
{
    const size_t from = letters_line_begin(text, at);
    if (is_line_of_other_error(text, from, at))
        return true;
    if (test == LOG_MENTION_LINE)
        return false;
    if (is_quoted(text, from, at))
        return true;
    return test == LOG_MENTION_MESSAGE && !holds(text, from, at, "rror: ") &&
           (is_of_page(text, from, at) || !is_message_begin(text, from, at) || goes_on(text, n, end));
}
