/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Finds the pickle in a page of torch.cuda._memory_viz. Source: PyTorch, torch/cuda/_memory_viz.py, _format_viz: the
 * page holds [{"name": "snapshot.pickle", "base64": "..."}].
 */
#include "import/pytorch/html.h"

#include <string.h>
#include <strings.h>

static const char html_key[] = "\"base64\"";

static bool is_space(unsigned char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool starts_with(const unsigned char *head, size_t n, const char *word)
{
    const size_t length = strlen(word);
    return n >= length && strncasecmp((const char *)head, word, length) == 0;
}

bool html_sniff(const unsigned char *head, size_t n)
{
    static const unsigned char byte_order_mark[] = {0xEF, 0xBB, 0xBF};
    size_t i = n >= 3 && memcmp(head, byte_order_mark, 3) == 0 ? 3 : 0;
    while (i < n && is_space(head[i]))
        i++;
    return starts_with(head + i, n - i, "<!doctype html") || starts_with(head + i, n - i, "<html");
}

/* Takes everything up to the end of `key`; *found says whether there is one. */
static enum err html_find(struct input *in, const char *key, bool *found, struct err_detail *err)
{
    const size_t length = strlen(key);
    *found = true;
    for (;;) {
        const unsigned char *bytes;
        size_t n;
        const enum err e = input_peek(in, INPUT_PEEK_MAX, &bytes, &n, err);
        if (e != ERR_OK)
            return e;
        for (size_t i = 0; i + length <= n; i++) {
            const unsigned char *at = memchr(bytes + i, key[0], n - length + 1 - i);
            if (at == NULL)
                break;
            i = (size_t)(at - bytes);
            if (memcmp(at, key, length) == 0) {
                input_skip(in, i + length);
                return ERR_OK;
            }
        }
        if (n < INPUT_PEEK_MAX) {
            *found = false;
            return ERR_OK;
        }
        input_skip(in, n - length + 1);
    }
}

/* Takes white space and `c` after it. */
static enum err html_expect(struct input *in, unsigned char c, struct err_detail *err)
{
    const unsigned char *bytes;
    size_t n, i = 0;
    const enum err e = input_peek(in, INPUT_PEEK_MAX, &bytes, &n, err);
    if (e != ERR_OK)
        return e;
    while (i < n && is_space(bytes[i]))
        i++;
    if (i == n || bytes[i] != c)
        return err_at(err, ERR_FORMAT, input_offset(in), input_name(in), "byte %llu: the page does not hold its "
                      "snapshot where it should", (unsigned long long)input_offset(in));
    input_skip(in, i + 1);
    return ERR_OK;
}

enum err html_enter(struct input *in, struct err_detail *err)
{
    bool found;
    enum err e = html_find(in, html_key, &found, err);
    if (e == ERR_OK && !found)
        e = err_at(err, ERR_UNSUPPORTED, 0, input_name(in), "an HTML page without a snapshot inside");
    if (e == ERR_OK)
        e = html_expect(in, ':', err);
    if (e == ERR_OK)
        e = html_expect(in, '"', err);
    return e == ERR_OK ? input_push_base64(in, err) : e;
}

enum err html_count_others(struct input *in, uint32_t *n, struct err_detail *err)
{
    bool found = true;
    enum err e = ERR_OK;
    input_pop_base64(in);
    *n = 0;
    while (e == ERR_OK && found) {
        e = html_find(in, html_key, &found, err);
        *n += e == ERR_OK && found;
    }
    return e;
}
