/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Hash tables with open addressing. */
#include "base/intern.h"

#include "base/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- pairs ---- */

static size_t pair_home(const struct pair_map *m, uint64_t key0, uint64_t key1)
{
    return (size_t)hash_pair(&m->seed, key0, key1) & (m->room - 1);
}

static struct pair_entry *pair_place(const struct pair_map *m, uint64_t key0, uint64_t key1)
{
    size_t i = pair_home(m, key0, key1);
    while (m->entries[i].is_used && (m->entries[i].key[0] != key0 || m->entries[i].key[1] != key1))
        i = (i + 1) & (m->room - 1);
    return &m->entries[i];
}

uint32_t *pair_map_find(const struct pair_map *m, uint64_t key0, uint64_t key1)
{
    struct pair_entry *e = m->room == 0 ? NULL : pair_place(m, key0, key1);
    return e != NULL && e->is_used ? &e->value : NULL;
}

static bool pair_map_grow(struct pair_map *m)
{
    struct pair_map bigger = {.n = m->n, .room = m->room == 0 ? 64 : 2 * m->room, .seed = m->seed};
    if (m->room == 0)
        bigger.seed = hash_seed();
    bigger.entries = calloc(bigger.room, sizeof *bigger.entries);
    if (bigger.entries == NULL)
        return false;
    for (size_t i = 0; i < m->room; i++)
        if (m->entries[i].is_used)
            *pair_place(&bigger, m->entries[i].key[0], m->entries[i].key[1]) = m->entries[i];
    free(m->entries);
    *m = bigger;
    return true;
}

bool pair_map_add(struct pair_map *m, uint64_t key0, uint64_t key1, uint32_t value)
{
    if (2 * (m->n + 1) > m->room && !pair_map_grow(m))
        return false;
    struct pair_entry *place = pair_place(m, key0, key1);
    assert(!place->is_used);
    *place = (struct pair_entry){.key = {key0, key1}, .value = value, .is_used = 1};
    m->n++;
    return true;
}

/* Moves later entries into the gap, so that no search stops early: Knuth, The Art of Computer Programming, 6.4,
 * algorithm R. */
void pair_map_remove(struct pair_map *m, uint64_t key0, uint64_t key1)
{
    size_t gap = (size_t)(pair_place(m, key0, key1) - m->entries);
    assert(m->entries[gap].is_used);
    for (size_t i = (gap + 1) & (m->room - 1); m->entries[i].is_used; i = (i + 1) & (m->room - 1)) {
        const size_t home = pair_home(m, m->entries[i].key[0], m->entries[i].key[1]);
        if (((i - home) & (m->room - 1)) >= ((i - gap) & (m->room - 1))) {
            m->entries[gap] = m->entries[i];
            gap = i;
        }
    }
    m->entries[gap].is_used = 0;
    m->n--;
}

void pair_map_free(struct pair_map *m)
{
    free(m->entries);
    *m = (struct pair_map){0};
}

/* ---- texts ---- */

static uint32_t *text_bucket(const struct text_table *t, const char *text, size_t n)
{
    size_t i = (size_t)hash_bytes(&t->seed, text, n) & (t->n_buckets - 1);
    for (; t->buckets[i] != 0; i = (i + 1) & (t->n_buckets - 1)) {
        const char *other = t->text + t->start[t->buckets[i] - 1];
        if (strncmp(other, text, n) == 0 && other[n] == '\0')
            break;
    }
    return &t->buckets[i];
}

static bool text_buckets_grow(struct text_table *t)
{
    struct text_table bigger = *t;
    bigger.n_buckets = t->n_buckets == 0 ? 64 : 2 * t->n_buckets;
    if (t->n_buckets == 0)
        bigger.seed = hash_seed();
    bigger.buckets = calloc(bigger.n_buckets, sizeof *bigger.buckets);
    if (bigger.buckets == NULL)
        return false;
    for (uint32_t i = 0; i < t->n; i++) {
        const char *text = text_table_at(t, i);
        *text_bucket(&bigger, text, strlen(text)) = i + 1;
    }
    free(t->buckets);
    *t = bigger;
    return true;
}

static bool text_reserve(struct text_table *t, size_t more)
{
    char *text = array_reserve(t->text, t->n_text, more, &t->room_text, 1);
    if (text != NULL)
        t->text = text;
    return text != NULL;
}

uint32_t text_table_put(struct text_table *t, const char *text, size_t n)
{
    if (2 * ((size_t)t->n + 1) > t->n_buckets && !text_buckets_grow(t))
        return UINT32_MAX;
    uint32_t *bucket = text_bucket(t, text, n);
    if (*bucket != 0)
        return *bucket - 1;
    size_t *start = t->n == UINT32_MAX - 1 ? NULL : array_grow(t->start, t->n, &t->room, sizeof *start);
    if (start == NULL)
        return UINT32_MAX;
    t->start = start;
    if (!text_reserve(t, n + 1))
        return UINT32_MAX;
    t->start[t->n] = t->n_text;
    memcpy(t->text + t->n_text, text, n);
    t->text[t->n_text + n] = '\0';
    t->n_text += n + 1;
    *bucket = ++t->n;
    return t->n - 1;
}

const char *text_table_at(const struct text_table *t, uint32_t id)
{
    assert(id < t->n);
    return t->text + t->start[id];
}

size_t text_table_length(const struct text_table *t, uint32_t id)
{
    assert(id < t->n);
    return (id + 1 < t->n ? t->start[id + 1] : t->n_text) - t->start[id] - 1;
}

void text_table_free(struct text_table *t)
{
    free(t->text);
    free(t->start);
    free(t->buckets);
    *t = (struct text_table){0};
}

/* ---- stacks ---- */

/* The node of a frame called from `caller`; 0 without memory. */
static uint32_t stack_node_put(struct stack_table *t, uint32_t caller, uint32_t text)
{
    const uint32_t *known = pair_map_find(&t->nodes, caller, text);
    if (known != NULL)
        return *known;
    struct stack_node *nodes = array_grow(t->node, t->n_nodes, &t->room_nodes, sizeof *nodes);
    if (nodes == NULL || t->n_nodes == UINT32_MAX - 1)
        return 0;
    t->node = nodes;
    if (!pair_map_add(&t->nodes, caller, text, t->n_nodes + 1))
        return 0;
    t->node[t->n_nodes++] = (struct stack_node){.caller = caller, .text = text};
    return t->n_nodes;
}

uint32_t stack_table_put(struct stack_table *t, const uint32_t *texts, size_t n)
{
    uint32_t node = 0;
    assert(n > 0);
    for (size_t i = n; i-- > 0;)
        if ((node = stack_node_put(t, node, texts[i])) == 0)
            return 0;
    const uint32_t *known = pair_map_find(&t->stacks, node, 0);
    if (known != NULL)
        return *known;
    uint32_t *stacks = array_grow(t->stack, t->n_stacks, &t->room_stacks, sizeof *stacks);
    if (stacks == NULL)
        return 0;
    t->stack = stacks;
    if (!pair_map_add(&t->stacks, node, 0, t->n_stacks + 1))
        return 0;
    t->stack[t->n_stacks++] = node;
    return t->n_stacks;
}

void stack_table_free(struct stack_table *t)
{
    pair_map_free(&t->nodes);
    pair_map_free(&t->stacks);
    free(t->node);
    free(t->stack);
    *t = (struct stack_table){0};
}
