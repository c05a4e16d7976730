/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A stream cleans piece by piece; a letter whose bytes come in two pieces waits for its end. */
#define _GNU_SOURCE                   /* fopencookie */
#include "base/shown.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A flush is one write: a reader that has seen enough of it may close the pipe. */
enum { PIECE = 2 * BUFSIZ };

static bool is_obeyed(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

size_t shown_length(const char *s, size_t n, size_t *left_out)
{
    unsigned char letter[SHOWN_LETTER_MAX + 1] = {0};
    memcpy(letter, s, n < SHOWN_LETTER_MAX ? n : SHOWN_LETTER_MAX);
    const size_t length = utf8_length(letter);
    *left_out = length == 0 || length > n ? 1 : length;
    return length == 0 || length > n || is_obeyed(utf8_code(letter, length)) ? 0 : length;
}

bool shown_is_clean(const char *text)
{
    size_t length = 0, left_out;
    for (size_t n = strlen(text); n > 0; text += length, n -= length)
        if ((length = shown_length(text, n, &left_out)) == 0)
            return false;
    return true;
}

/* How many bytes of s[0, n) are letters of ASCII, up to the first other byte. */
static size_t plain_length(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && s[i] >= 0x20 && s[i] < 0x7f)
        i++;
    return i;
}

/* Cleans in[0, n) into `out`, which has room for n bytes; returns how many it got. */
static size_t clean_bytes(const char *in, size_t n, bool keeps_lines, char *out)
{
    size_t used = 0;
    for (size_t i = 0; i < n;) {
        size_t left_out, length = plain_length(in + i, n - i);
        if (length == 0)
            length = shown_length(in + i, n - i, &left_out);
        if (length == 0 && (in[i] == '\n' || in[i] == '\t')) {
            out[used++] = in[i] == '\n' && keeps_lines ? '\n' : ' ';
            i++;
        } else if (length == 0) {
            out[used++] = '?';
            i += left_out;
        } else {
            memmove(out + used, in + i, length);
            used += length;
            i += length;
        }
    }
    return used;
}

void shown_clean(char *text, bool keeps_lines)
{
    text[clean_bytes(text, strlen(text), keeps_lines, text)] = '\0';
}

void shown_join(char *text)
{
    for (char *end = text; (end = strchr(end, '\n')) != NULL;)
        *end = '?';
}

void shown_put_part(FILE *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fputc(text[i] == '\n' ? '?' : text[i], out);
}

void shown_put(FILE *out, const char *text)
{
    shown_put_part(out, text, strlen(text));
}

/* ---- streams ---- */

#ifdef __EMSCRIPTEN__                   /* a page shows what is printed as text, and its libc's streams are constant */
bool shown_clean_streams(void)
{
    return true;
}

size_t shown_lines(void)
{
    return 0;
}
#else
struct clean_stream {
    int    fd;
    char   begun[SHOWN_LETTER_MAX];         /* the first bytes of a letter that is not whole yet */
    size_t n_begun;
    size_t columns, lines, letters;         /* of the terminal, 0: it is none; ended lines; in the line after them */
};

/* The streams of a program are its own, so their state is too. */
static struct clean_stream out_stream = {.fd = STDOUT_FILENO}, err_stream = {.fd = STDERR_FILENO};

static size_t columns_of_terminal(int fd)
{
    struct winsize size;
    return isatty(fd) != 0 && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static void count_lines(struct clean_stream *s, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n && s->columns > 0; i++) {
        if (bytes[i] == '\n') {
            s->lines += s->letters <= s->columns ? 1 : (s->letters + s->columns - 1) / s->columns;
            s->letters = 0;
        } else {
            s->letters += ((unsigned char)bytes[i] & 0xC0) != 0x80;
        }
    }
}

/* How many bytes at the end of s[0, n) begin a letter that is not whole. */
static size_t begun_at_end(const char *s, size_t n)
{
    for (size_t k = 1; k < SHOWN_LETTER_MAX && k <= n; k++) {
        const unsigned char c = (unsigned char)s[n - k];
        if (c >= 0xc0)
            return k < (c < 0xe0 ? 2u : c < 0xf0 ? 3u : 4u) ? k : 0;
        if (c < 0x80)
            return 0;
    }
    return 0;
}

static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t done = write(fd, bytes, n);
        if (done < 0 && errno != EINTR)
            return false;
        bytes += done < 0 ? 0 : done;
        n -= done < 0 ? 0 : (size_t)done;
    }
    return true;
}

static ssize_t clean_stream_write(void *cookie, const char *bytes, size_t n)
{
    struct clean_stream *s = cookie;
    for (size_t done = 0; done < n;) {
        char piece[SHOWN_LETTER_MAX + PIECE];
        const size_t more = n - done < PIECE ? n - done : PIECE;
        memcpy(piece, s->begun, s->n_begun);
        memcpy(piece + s->n_begun, bytes + done, more);
        const size_t all = s->n_begun + more, begun = begun_at_end(piece, all);
        memcpy(s->begun, piece + all - begun, begun);
        s->n_begun = begun;
        const size_t clean = clean_bytes(piece, all - begun, true, piece);
        if (!write_all(s->fd, piece, clean))
            return 0;                                    /* as fopencookie wants it: an error, errno set */
        count_lines(s, piece, clean);
        done += more;
    }
    return (ssize_t)n;
}

static FILE *clean_stream_open(struct clean_stream *s)
{
    return fopencookie(s, "w", (cookie_io_functions_t){.write = clean_stream_write});
}

#ifdef REPLAY_BASE_OWN_STREAMS_H
FILE *own_stdout, *own_stderr;

__attribute__((constructor)) static void own_streams_begin(void)
{
    own_stdout = library_stdout();
    own_stderr = library_stderr();
}
#endif

bool shown_clean_streams(void)
{
    FILE *const clean_out = clean_stream_open(&out_stream), *const clean_err = clean_stream_open(&err_stream);
    if (clean_out == NULL || clean_err == NULL)
        return false;
    setvbuf(clean_out, NULL, isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF, BUFSIZ);
    setvbuf(clean_err, NULL, _IONBF, 0);
    stdout = clean_out;               /* variables, in glibc ("Standard Streams" of its manual) or in own_streams.h */
    stderr = clean_err;
    out_stream.columns = columns_of_terminal(STDOUT_FILENO);
    return true;
}

size_t shown_lines(void)
{
    fflush(stdout);
    return out_stream.lines;
}
#endif
