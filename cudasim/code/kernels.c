/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Kernels and variables that nvcc put into a program, which it registers when it is loaded. The runtime names a kernel
 * by a host function, and a variable by a host variable. Libraries such as cub choose their kernels, and with them the
 * size of their temporary storage, by what is told here of the code.
 */
#include "cudasim/code/machine_code.h"
#include "cudasim/core/state.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

struct binary {
    const void *image;               /* a wrapper of the program's; NULL: it was not one */
    struct machine_code code;        /* read at the first question */
    enum cudasim_code loaded;        /* NO_BINARY: none of it is for this card */
    bool is_read, is_gone;           /* is_gone: the program has unregistered it */
    struct binary *next;             /* gone before it */
};

struct registered {
    const void *symbol;              /* of the host */
    const char *name;                /* on the device; the program's own, while the binary is registered */
    struct binary *binary;
    uint64_t bytes, addr;            /* of a variable; addr 0: nobody asked for it yet */
    struct cudasim_kernel_facts *facts;      /* of a kernel; NULL: nobody asked for them yet */
};

/* Programs register all their kernels when they are loaded, 100,000 and more, and ask for few of them. */
struct table {
    struct registered *all;
    size_t n, room;
    bool   is_sorted;
};

static struct table kernels, variables;
static struct binary none;           /* when there was no memory for one */
static struct binary *gone;          /* unregistered, and perhaps still in the tables */

void *cudasim_binary_register(const void *wrapper)
{
    struct binary *b = calloc(1, sizeof *b);
    if (b == NULL)
        return &none;
    b->image = wrapper;
    return b;
}

static void table_add(struct table *t, const struct registered *r)
{
    cudasim_lock();
    struct registered *all = array_grow(t->all, t->n, &t->room, sizeof *all);
    if (all != NULL && r->binary != NULL) {
        t->all = all;
        all[t->n++] = *r;
        t->is_sorted = false;
    }
    cudasim_unlock();
}

void cudasim_kernel_register(void *handle, const void *function, const char *name)
{
    table_add(&kernels, &(struct registered){ .symbol = function, .name = name, .binary = handle });
}

void cudasim_variable_register(void *handle, const void *symbol, const char *name, uint64_t bytes)
{
    table_add(&variables, &(struct registered){ .symbol = symbol, .name = name, .binary = handle, .bytes = bytes });
}

static int compare_symbols(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t)((const struct registered *)a)->symbol;
    const uintptr_t y = (uintptr_t)((const struct registered *)b)->symbol;
    return (x > y) - (x < y);
}

/* Programs unregister all their binaries at their end, so the tables are not searched until the next question. */
void cudasim_binary_unregister(void *handle)
{
    struct binary *b = handle;
    cudasim_lock();
    if (b != NULL && b != &none && !b->is_gone) {
        b->is_gone = true;
        b->next = gone;
        gone = b;
    }
    cudasim_unlock();
}

static void table_drop_gone(struct table *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct registered *r = &t->all[i];
        if (!r->binary->is_gone) {
            t->all[n++] = *r;
            continue;
        }
        if (r->addr != 0)
            cudasim_variable_give(r->addr);
        free(r->facts);
    }
    t->n = n;
}

/* What binaries that are gone had registered, and then the binaries. */
static void drop_gone(void)
{
    if (gone == NULL)
        return;
    table_drop_gone(&kernels);
    table_drop_gone(&variables);
    while (gone != NULL) {
        struct binary *b = gone;
        gone = b->next;
        machine_code_close(&b->code);
        free(b);
    }
}

/* NULL: nobody registered it. The lock is held. */
static struct registered *table_find(struct table *t, const void *symbol)
{
    const struct registered wanted = { .symbol = symbol };
    drop_gone();
    if (t->n == 0)
        return NULL;
    if (!t->is_sorted)
        qsort(t->all, t->n, sizeof *t->all, compare_symbols);
    t->is_sorted = true;
    return bsearch(&wanted, t->all, t->n, sizeof *t->all, compare_symbols);
}

/* Code that cannot be read is as good as none: what is asked then is answered as for code that is not known. */
static const struct machine_code *binary_code(struct binary *b)
{
    if (!b->is_read && b->image != NULL)
        b->loaded = machine_code_load(b->image, SIZE_MAX, cudasim.card.capability, &b->code);
    b->is_read = true;
    return &b->code;
}

/* A card given by size alone is taken for one that the program's code is for. */
static enum cudasim_code read_facts(struct registered *r)
{
    static const struct machine_code unknown;
    const unsigned card = cudasim.card.capability;
    const struct machine_code *code = binary_code(r->binary);
    if (r->binary->loaded == CODE_NO_BINARY && cudasim.is_card_given)
        return CODE_NO_BINARY;
    if (r->facts == NULL)
        r->facts = malloc(sizeof *r->facts);
    if (r->facts == NULL)
        return CODE_OUT_OF_MEMORY;
    if (machine_code_facts(code, r->name, card, r->facts) != CODE_SUCCESS)
        (void)machine_code_facts(&unknown, "", card, r->facts);
    return CODE_SUCCESS;
}

/* Begins a call on a kernel of the program. *k NULL: nobody registered it. The caller unlocks on SUCCESS. */
static enum cudasim_code begin_kernel(const void *function, struct cudasim_kernel_facts **k)
{
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct registered *r = table_find(&kernels, function);
    code = r == NULL || r->facts != NULL ? CODE_SUCCESS : read_facts(r);
    *k = r == NULL ? NULL : r->facts;
    return code == CODE_SUCCESS ? CODE_SUCCESS : cudasim_end(code);
}

static enum cudasim_code function_code(enum cudasim_code code)
{
    return code == CODE_INVALID_HANDLE ? CODE_INVALID_FUNCTION : code;
}

enum cudasim_code cudasim_function_facts(const void *function, struct cudasim_kernel_facts *out)
{
    struct cudasim_kernel_facts *k;
    const enum cudasim_code code = begin_kernel(function, &k);
    if (code != CODE_SUCCESS)
        return code;
    if (k != NULL)
        *out = *k;
    cudasim_unlock();
    return k != NULL ? CODE_SUCCESS : function_code(cudasim_kernel_facts((uintptr_t)function, out, NULL, NULL));
}

enum cudasim_code cudasim_function_set(const void *function, int attribute, int value)
{
    struct cudasim_kernel_facts *k;
    const enum cudasim_code code = begin_kernel(function, &k);
    if (code != CODE_SUCCESS)
        return code;
    if (k != NULL)
        return cudasim_end(cudasim_facts_set(k, attribute, value));
    cudasim_unlock();
    return function_code(cudasim_kernel_set((uintptr_t)function, attribute, value));
}

enum cudasim_code cudasim_symbol(const void *symbol, uint64_t *addr, uint64_t *bytes)
{
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct registered *r = table_find(&variables, symbol);
    if (r == NULL)
        return cudasim_end(CODE_INVALID_SYMBOL);
    const bool is_new = r->addr == 0;
    code = is_new ? cudasim_variable_place(r->bytes, &r->addr) : CODE_SUCCESS;
    *addr = r->addr;
    *bytes = r->bytes;
    const struct cubin_variable *v = is_new ? cubin_variable(&binary_code(r->binary)->cubin, r->name) : NULL;
    cudasim_unlock();
    if (code == CODE_SUCCESS && v != NULL && v->initial != NULL && v->bytes == *bytes)
        cudasim_values_keep(*addr, v->initial, v->bytes);
    return code;
}
