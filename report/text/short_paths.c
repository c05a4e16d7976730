/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Looks for paths as words that begin with a slash or a drive. */
#define _GNU_SOURCE                          /* memmem, memrchr */
#include "report/text/short_paths.h"

#include <stdlib.h>
#include <string.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_slash(char c)
{
    return c == '/' || c == '\\';
}

bool path_is_absolute(const char *path, size_t n)
{
    const bool is_of_root = n > 2 && path[0] == '/' && memchr(path + 1, '/', n - 1) != NULL;
    return is_of_root || (n > 2 && is_letter(path[0]) && path[1] == ':' && is_slash(path[2]));
}

/* Letters up to the last slash, that included. */
static size_t last_folder(const char *path, size_t n)
{
    while (n > 0 && !is_slash(path[n - 1]))
        n--;
    return n;
}

/* Where a library begins: after its folder of packages, or at "python3.11/"; 0: it is none. */
static size_t library_begin(const char *path, size_t n)
{
    static const char *const folders[] = { "site-packages", "dist-packages" };
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const size_t length = strlen(folders[i]);
        const char *at = memmem(path, n, folders[i], length);
        if (at != NULL && at + length < path + n && is_slash(at[length]))
            return (size_t)(at + length + 1 - path);
    }
    const char *lib = memmem(path, n, "lib/python3", strlen("lib/python3"));
    return lib != NULL ? (size_t)(lib - path) + strlen("lib/") : 0;
}

size_t path_folders_length(const char *path, size_t n, const char *folder)
{
    const size_t n_folder = folder == NULL ? 0 : strlen(folder), library = library_begin(path, n);
    if (!path_is_absolute(path, n) && library == 0)
        return 0;
    if (library > 0)
        return library;
    return n_folder > 0 && n_folder < n && memcmp(path, folder, n_folder) == 0 ? n_folder : last_folder(path, n);
}

size_t path_shared_folder(const char *path, size_t n, const char *other)
{
    enum { SLASHES_LEAST = 3 };
    size_t same = 0, n_slashes = 0;
    while (same < n && other[same] == path[same])
        same++;
    same = last_folder(path, same);
    for (size_t i = 0; i < same; i++)
        n_slashes += is_slash(path[i]);
    return n_slashes < SLASHES_LEAST ? 0 : same;
}

/* ---- in a text ---- */

/* What a path stands after, and what it ends before. */
static bool is_around(char c)
{
    return c == '\0' || strchr(" \t\n\"'`(),;=<>", c) != NULL;
}

static size_t word_length(const char *text)
{
    size_t n = 0;
    while (!is_around(text[n]) && !(text[0] == '/' && text[n] == '\\'))
        n++;
    return n;
}

/* Whether a word ends as a file of code does: "x.py", or a line's number. */
static bool is_of_code(const char *word, size_t n)
{
    size_t digits = 0;
    while (digits < n && word[n - 1 - digits] >= '0' && word[n - 1 - digits] <= '9')
        digits++;
    return (digits > 0 && digits < n && word[n - 1 - digits] == ':') || (n > 3 && memcmp(word + n - 3, ".py", 3) == 0);
}

/* How many letters at `at`, which begins a word, are left out. */
static size_t left_out_length(const char *at, const char *folder, bool all)
{
    const size_t n_folder = folder == NULL ? 0 : strlen(folder), n = word_length(at);
    if (n_folder > 0 && strncmp(at, folder, n_folder) == 0)          /* it may have spaces in it */
        return n_folder;
    return path_is_absolute(at, n) && (all || is_of_code(at, n)) ? path_folders_length(at, n, folder) : 0;
}

void short_paths(char *text, const char *folder, bool all)
{
    size_t n = 0;
    for (const char *at = text; *at != '\0';) {
        const bool begins = at == text || is_around(at[-1]);         /* at[-1] stands: n is no more than at */
        const size_t left_out = begins ? left_out_length(at, folder, all) : 0;
        if (left_out > 0)
            at += left_out;
        else
            text[n++] = *at++;
    }
    text[n] = '\0';
}

char *short_paths_copy(const char *text, const char *folder, bool all)
{
    char *copy = strdup(text);
    if (copy != NULL)
        short_paths(copy, folder, all);
    return copy;
}
