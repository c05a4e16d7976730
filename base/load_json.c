/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * jansson says of some calls without memory that the text is no JSON, leaves members out after others, and has no
 * limit: an empty object of three bytes takes a hundred. So its calls for memory are watched meanwhile.
 *
 * Its lexer ends the program when it takes a character back from a token whose memory failed to grow. It does so after
 * a number or a word, and at a control character within a text. So it gets the text in small pieces, and none any more
 *
 *     - at a number or word longer than any real one, and at a control character within a text: no JSON;
 *     - after a call for memory failed. What the piece at hand still needs is small, and comes from a reserve.
 */
#include "base/load_json.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORD_MAX      = 1000,                    /* characters; a double as programs print it has 25 */
    PIECE_BYTES   = 64,
    SMALL_BYTES   = 4096,                    /* no token of WORD_MAX asks for more, nor does an empty list or object */
    RESERVE_BYTES = 64 << 10                 /* a piece of nothing but empty lists takes 10 KiB */
};

static _Thread_local struct {
    uint64_t taken, most;
    void    *reserve;
    bool     has_failed;
} json_memory;

/* Beyond the limit and without memory: small ones still, until the piece at hand ends. */
static void *json_malloc(size_t n)
{
    json_memory.taken = add_capped(json_memory.taken, n);
    const bool is_allowed = json_memory.taken <= json_memory.most;
    void *p = is_allowed || n <= SMALL_BYTES ? malloc(n) : NULL;
    json_memory.has_failed = json_memory.has_failed || !is_allowed || p == NULL;
    if (p == NULL && n <= SMALL_BYTES && json_memory.reserve != NULL) {
        free(json_memory.reserve);
        json_memory.reserve = NULL;
        p = malloc(n);
    }
    return p;
}

/* The text that jansson reads, and where in it a piece begins. */
struct json_text {
    const char *bytes;
    size_t      n, at;
    size_t      n_word;                      /* characters so far of a number or word */
    bool        is_text, is_escaped;         /* within a text, after a backslash in it */
    const char *fault;                       /* what is at `at`; NULL: nothing */
};

/* What is wrong with the next byte; NULL: nothing. */
static const char *json_fault(struct json_text *t, char c)
{
    if (t->is_text) {
        if ((unsigned char)c < ' ')
            return "a control character within a text";
        t->is_text = c != '"' || t->is_escaped;
        t->is_escaped = c == '\\' && !t->is_escaped;
        return NULL;
    }
    t->is_text = c == '"';
    t->n_word = c == '\0' || strchr(" \t\r\n[]{}:,\"", c) == NULL ? t->n_word + 1 : 0;
    return t->n_word > WORD_MAX ? "a number or word of more than 1,000 characters" : NULL;
}

/* Copies the next piece for jansson, 0 bytes at the end. */
static size_t json_piece(void *buffer, size_t room, void *text)
{
    struct json_text *t = text;
    size_t n = 0;
    if (json_memory.has_failed || t->fault != NULL)
        return 0;
    while (n < room && n < PIECE_BYTES && t->at + n < t->n && (t->fault = json_fault(t, t->bytes[t->at + n])) == NULL)
        n++;
    memcpy(buffer, t->bytes + t->at, n);
    t->at += n;
    return n;
}

/* Has jansson read the text under watch. NULL if it is no JSON or memory failed. */
static json_t *json_read(struct json_text *t, size_t flags, uint64_t most_memory, json_error_t *error)
{
    json_malloc_t usual_malloc;
    json_free_t usual_free;
    json_get_alloc_funcs(&usual_malloc, &usual_free);
    json_set_alloc_funcs(json_malloc, free);
    json_memory.taken = 0;
    json_memory.most = most_memory;
    json_memory.reserve = malloc(RESERVE_BYTES);
    json_memory.has_failed = json_memory.reserve == NULL;
    json_t *root = json_load_callback(json_piece, t, flags, error);
    json_set_alloc_funcs(usual_malloc, usual_free);
    free(json_memory.reserve);
    if (root != NULL && !json_memory.has_failed && t->fault == NULL)
        return root;
    json_decref(root);                       /* without memory it may lack a member */
    return NULL;
}

enum err load_json(const char *bytes, size_t n, size_t flags, uint64_t most_memory, const char *name, json_t **out,
                   struct err_detail *err)
{
    struct json_text text = {.bytes = bytes, .n = n};
    json_error_t error = {.position = 0};
    json_t *root = json_read(&text, flags, most_memory, &error);
    if (root != NULL) {
        *out = root;
        return ERR_OK;
    }
    if (json_memory.taken > most_memory)
        return err_at(err, ERR_FORMAT, 0, name, "takes more memory than a JSON of this size can need; --memory-limit "
                      "SIZE allows that");
    if (json_memory.has_failed)
        return err_no_memory(err);
    if (text.fault != NULL && (uint64_t)error.position >= text.at)         /* jansson met nothing before it */
        return err_at(err, ERR_FORMAT, text.at, name, "no JSON, at byte %llu: %s", (unsigned long long)text.at,
                      text.fault);
    return err_at(err, ERR_FORMAT, (uint64_t)error.position, name, "no JSON, at byte %d: %s", error.position,
                  error.text);
}
