/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The cards in order, the table of compute capabilities, and the card that somebody means. */
#include "sim/cards.h"

#include "sim/card_table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Threads and blocks of a multiprocessor, its shared memory, the most of a block, what is reserved; registers. */
static const struct compute_class classes[] = {
    { 53, "jetson-nano-4g",       2048, 32,  65536,  49152,    0, 32768 },
    { 60, "p100-16g",             2048, 32,  65536,  49152,    0, 65536 },
    { 61, "gtx1080ti-11g",        2048, 32,  98304,  49152,    0, 65536 },
    { 70, "v100-32g",             2048, 32,  98304,  98304,    0, 65536 },
    { 72, "jetson-agx-xavier-16g", 2048, 32, 98304,  98304,    0, 65536 },
    { 75, "t4-16g",               1024, 16,  65536,  65536,    0, 65536 },
    { 80, "a100-80g",             2048, 32, 167936, 166912, 1024, 65536 },
    { 86, "rtx3090-24g",          1536, 16, 102400, 101376, 1024, 65536 },
    { 87, "jetson-agx-orin-64g",  1536, 16, 167936, 166912, 1024, 65536 },
    { 89, "rtx4090-24g",          1536, 24, 102400, 101376, 1024, 65536 },
    { 90, "h100-80g",             2048, 32, 233472, 232448, 1024, 65536 },
    { 100, "b200-192g",           2048, 32, 233472, 232448, 1024, 65536 },
    { 103, "b300-288g",           2048, 32, 233472, 232448, 1024, 65536 },
    { 110, "jetson-thor-128g",    1536, 24, 233472, 232448, 1024, 65536 },
    { 120, "rtx5090-32g",         1536, 24, 102400, 101376, 1024, 65536 },
    { 121, "gb10-128g",           1536, 24, 102400, 101376, 1024, 65536 },
};

enum { N_CLASSES = sizeof classes / sizeof classes[0] };

const struct device_model *card_at(size_t i)
{
    const struct card_table *t = card_table();
    return i < t->n_cards ? &t->cards[i] : NULL;
}

const struct device_model *device_model_at(size_t i)
{
    const struct card_table *t = card_table();
    for (size_t k = 0; k < t->n_cards; k++)
        if (t->cards[k].is_often && i-- == 0)
            return &t->cards[k];
    return NULL;
}

const struct device_model *device_model_for(uint64_t bytes)
{
    const struct device_model *m;
    for (size_t i = 0; (m = device_model_at(i)) != NULL && m->total_bytes < bytes;)
        i++;
    return m;
}

const struct compute_class *compute_class_at(size_t i)
{
    return i < N_CLASSES ? &classes[i] : NULL;
}

const char *capability_text(unsigned capability, char text[CAPABILITY_TEXT])
{
    snprintf(text, CAPABILITY_TEXT, "%u.%u", capability / 10, capability % 10);
    return text;
}

const struct compute_class *compute_class_of(unsigned capability)
{
    for (size_t i = 0; i < N_CLASSES; i++)
        if (classes[i].capability == capability)
            return &classes[i];
    return NULL;
}

/* ---- what somebody means ---- */

enum { WORDS_MAX = 24, WORD_ROOM = 16 };

/* The words of a name: "NVIDIA GeForce RTX 3080 Ti" and "rtx3080ti" are both rtx, 3080, ti. */
struct words {
    char   text[WORDS_MAX][WORD_ROOM];
    size_t n;
};

static bool is_one_of(const char *word, const char *const *list)
{
    while (*list != NULL && strcmp(word, *list) != 0)
        list++;
    return *list != NULL;
}

/* Words that tell no card from another. */
static const char *const fillers[] = {
    "nvidia", "geforce", "tesla", "gpu", "generation", "edition", "blackwell", "workstation", "sxm", "sxm2", "sxm3",
    "sxm4", "sxm5", "sxm6", "hbm2", "hbm2e", "hbm3", "hbm3e", "vram", NULL,
};

/* Words that make another card of one: the plain card is meant unless they are typed. */
static const char *const variants[] = {
    "ti", "super", "laptop", "pcie", "nvl", "mig", "ada", "pro", "quadro", NULL,
};

/* Takes a word of n letters; a number of gigabytes becomes "80g". */
static void words_put(struct words *w, const char *text, size_t n)
{
    if (n == 0 || n >= WORD_ROOM || w->n == WORDS_MAX)
        return;
    char *word = w->text[w->n];
    memcpy(word, text, n);
    word[n] = '\0';
    const size_t digits = strspn(word, "0123456789");
    if (digits > 0 && (strcmp(word + digits, "gb") == 0 || strcmp(word + digits, "gib") == 0))
        word[digits + 1] = '\0';
    w->n += !is_one_of(word, fillers);
}

/* Takes a run of letters and digits apart: "rtx3080ti". */
static void words_split(struct words *w, const char *run, size_t n)
{
    static const char *const heads[] = { "quadro", "titan", "rtx", "gtx", "pro", NULL };
    static const char *const tails[] = { "super", "laptop", "ada", "ti", NULL };
    for (size_t i = 0; heads[i] != NULL; i++) {
        const size_t k = strlen(heads[i]);
        if (n > k && strncmp(run, heads[i], k) == 0) {
            words_put(w, run, k);
            words_split(w, run + k, n - k);
            return;
        }
    }
    for (size_t i = 0; tails[i] != NULL; i++) {
        const size_t k = strlen(tails[i]);
        if (n > k && strncmp(run + n - k, tails[i], k) == 0 && isdigit((unsigned char)run[0])) {
            words_split(w, run, n - k);
            words_put(w, run + n - k, k);
            return;
        }
    }
    words_put(w, run, n);
}

static void words_of(struct words *w, const char *text, size_t n)
{
    char run[4 * WORD_ROOM];
    size_t length = 0;
    for (size_t i = 0; i <= n; i++)
        if (i < n && isalnum((unsigned char)text[i]) && length < sizeof run)
            run[length++] = (char)tolower((unsigned char)text[i]);
        else if (length > 0) {
            words_split(w, run, length);
            length = 0;
        }
}

/* Whether `word` is among the words; a plain number also stands for gigabytes. */
static bool words_have(const struct words *w, const char *word)
{
    const size_t n = strlen(word);
    for (size_t i = 0; i < w->n; i++)
        if (strncmp(w->text[i], word, n) == 0 &&
            (w->text[i][n] == '\0' || (strcmp(w->text[i] + n, "g") == 0 && isdigit((unsigned char)word[0]))))
            return true;
    return false;
}

/* How many variants the card is that were not typed; SIZE_MAX if a typed word is not the card's. */
static size_t words_distance(const struct words *typed, const struct device_model *card)
{
    struct words own = { .n = 0 };
    size_t missing = 0;
    words_of(&own, card->name, strlen(card->name));
    for (size_t i = 0; i < own.n; i++)
        missing += is_one_of(own.text[i], variants) && !words_have(typed, own.text[i]);
    words_of(&own, card->title, strlen(card->title));
    for (size_t i = 0; i < typed->n; i++)
        if (!words_have(&own, typed->text[i]))
            return SIZE_MAX;
    return missing;
}

size_t cards_find(const char *text, size_t n, const struct device_model **out, size_t room)
{
    struct words typed = { .n = 0 };
    const struct device_model *card;
    size_t n_found = 0, least = SIZE_MAX;
    words_of(&typed, text, n);
    for (size_t i = 0; typed.n > 0 && (card = card_at(i)) != NULL; i++) {
        const bool is_exact = strlen(card->name) == n && memcmp(card->name, text, n) == 0;
        const size_t distance = is_exact ? 0 : words_distance(&typed, card);
        if (is_exact || distance < least)
            n_found = 0;
        if (distance == SIZE_MAX || distance > least)
            continue;
        least = distance;
        if (n_found++ < room)
            out[n_found - 1] = card;
        if (is_exact)
            break;
    }
    return n_found;
}
