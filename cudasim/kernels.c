/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Kernels and variables that nvcc put into a program, which it registers when it is loaded. The runtime names a kernel by
 * a host function, and a variable by a host variable. Libraries such as cub choose their kernels, and with them the size
 * of their temporary storage, by what is told here of the code.
 */
#include "cudasim/machine_code.h"
#include "cudasim/state.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

struct binary {
    const void *image;               /* a wrapper of the program's; NULL: it was not one */
    struct machine_code code;        /* read at the first question */
    bool is_read;
};

struct registered {
    const void *symbol;              /* of the host */
    const char *name;                /* on the device; the program's own, for the process's life */
    struct binary *binary;
    uint64_t bytes, addr;            /* of a variable; addr 0: nobody asked for it yet */
};

/* Programs register all their kernels when they are loaded, 100,000 and more, and ask for few of them. */
struct table {
    struct registered *all;
    size_t n, room;
    bool   is_sorted;
};

static struct table kernels, variables;

void *cudasim_binary_register(const void *wrapper)
{
    static struct binary none;
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

/* NULL: nobody registered it. The lock is held. */
static struct registered *table_find(struct table *t, const void *symbol)
{
    const struct registered wanted = { .symbol = symbol };
    if (t->n == 0)
        return NULL;
    if (!t->is_sorted)
        qsort(t->all, t->n, sizeof *t->all, compare_symbols);
    t->is_sorted = true;
    return bsearch(&wanted, t->all, t->n, sizeof *t->all, compare_symbols);
}

/* Code that the card does not take is as good as none: what is asked then is answered as for code that is not known. */
static const struct machine_code *binary_code(struct binary *b)
{
    if (!b->is_read && b->image != NULL)
        (void)machine_code_load(b->image, SIZE_MAX, cudasim.card.capability, &b->code);
    b->is_read = true;
    return &b->code;
}

enum cudasim_code cudasim_function_facts(const void *function, struct cudasim_kernel_facts *out)
{
    static const struct machine_code unknown;
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    const struct registered *r = table_find(&kernels, function);
    const unsigned card = cudasim.card.capability;
    if (r == NULL || machine_code_facts(binary_code(r->binary), r->name, card, out) != CODE_SUCCESS)
        (void)machine_code_facts(&unknown, "", card, out);
    return cudasim_end(CODE_SUCCESS);
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
