/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Modules and libraries that a program loads itself (cuModuleLoadData, cuLibraryLoadData):
 * kernels and variables by name.
 */
#include "cudasim/code/machine_code.h"
#include "cudasim/core/state.h"

#include <stdlib.h>
#include <string.h>

/* A kernel or a variable of code that is not known: it came to be when it was asked for. */
struct guess {
    struct guess *next;
    uint64_t value;                  /* its handle, or its address */
    char     name[];
};

struct module {
    struct cudasim_handle handle;
    struct machine_code code;
    uint64_t *kernels, *variables;   /* handles and addresses of the cubin's; 0: nobody asked for it yet */
    struct guess *guessed_kernels, *guessed_variables;
};

struct kernel {
    struct cudasim_handle handle;
    struct cudasim_kernel_facts facts;
    uint64_t module;
    char     name[];
};

static struct module *module_get(uint64_t name)
{
    return (struct module *)cudasim_handle_get(name, HANDLE_MODULE);
}

/* ---- modules ---- */

static enum cudasim_code module_put(const struct machine_code *code, uint64_t *kernels, uint64_t *name)
{
    struct module *m = kernels == NULL ? NULL : calloc(1, sizeof *m);
    if (m == NULL || !cudasim_handle_put(&m->handle, HANDLE_MODULE))
        return CODE_OUT_OF_MEMORY;
    m->code = *code;
    m->kernels = kernels;
    m->variables = kernels + code->cubin.n_kernels;
    *name = m->handle.name;
    return CODE_SUCCESS;
}

enum cudasim_code cudasim_module_load(const void *image, size_t most, uint64_t *module)
{
    struct machine_code loaded;
    if (image == NULL)
        return CODE_INVALID_VALUE;
    enum cudasim_code code = machine_code_load(image, most, cudasim_capability(), &loaded);
    if (code != CODE_SUCCESS)
        return code;
    uint64_t *names = calloc(loaded.cubin.n_kernels + loaded.cubin.n_variables + 1, sizeof *names);
    code = cudasim_begin();
    if (code == CODE_SUCCESS)
        code = cudasim_end(module_put(&loaded, names, module));
    if (code != CODE_SUCCESS) {
        free(names);
        machine_code_close(&loaded);
    }
    return code;
}

/* The thing of that name, made at the first question with value 0; NULL without host memory. */
static struct guess *guess_get(struct guess **all, const char *name)
{
    for (struct guess *g = *all; g != NULL; g = g->next)
        if (strcmp(g->name, name) == 0)
            return g;
    struct guess *g = calloc(1, sizeof *g + strlen(name) + 1);
    if (g == NULL)
        return NULL;
    memcpy(g->name, name, strlen(name) + 1);
    g->next = *all;
    *all = g;
    return g;
}

static void kernel_drop(uint64_t kernel)
{
    cudasim_handle_drop(cudasim_handle_get(kernel, HANDLE_KERNEL));
}

/* Ends all of them, each with `drop` if it has a value. */
static void guesses_drop(struct guess *all, void (*drop)(uint64_t))
{
    while (all != NULL) {
        struct guess *g = all;
        all = g->next;
        if (g->value != 0)
            drop(g->value);
        free(g);
    }
}

enum cudasim_code cudasim_module_unload(uint64_t module)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct module *m = module_get(module);
    if (m == NULL)
        return cudasim_end(CODE_INVALID_HANDLE);
    for (size_t i = 0; i < m->code.cubin.n_kernels; i++)
        if (m->kernels[i] != 0)
            kernel_drop(m->kernels[i]);
    for (size_t i = 0; i < m->code.cubin.n_variables; i++)
        if (m->variables[i] != 0)
            cudasim_variable_give(m->variables[i]);
    guesses_drop(m->guessed_kernels, kernel_drop);
    guesses_drop(m->guessed_variables, cudasim_variable_give);
    free(m->kernels);
    machine_code_close(&m->code);
    cudasim_handle_drop(&m->handle);
    return cudasim_end(CODE_SUCCESS);
}

/* ---- kernels ---- */

static enum cudasim_code kernel_put(const struct module *m, const char *name, uint64_t *kernel)
{
    struct cudasim_kernel_facts facts;
    const enum cudasim_code code = machine_code_facts(&m->code, name, cudasim.card.capability, &facts);
    if (code != CODE_SUCCESS)
        return code;
    struct kernel *k = calloc(1, sizeof *k + strlen(name) + 1);
    if (k == NULL || !cudasim_handle_put(&k->handle, HANDLE_KERNEL))
        return CODE_OUT_OF_MEMORY;
    k->facts = facts;
    k->module = m->handle.name;
    memcpy(k->name, name, strlen(name) + 1);
    *kernel = k->handle.name;
    return CODE_SUCCESS;
}

/* Where a kernel's handle stands, or will stand; NULL without host memory. */
static uint64_t *kernel_place(struct module *m, const char *name)
{
    const struct cubin_kernel *in_code = cubin_kernel(&m->code.cubin, name);
    if (in_code != NULL)
        return &m->kernels[in_code - m->code.cubin.kernels];
    struct guess *g = guess_get(&m->guessed_kernels, name);
    return g == NULL ? NULL : &g->value;
}

static enum cudasim_code kernel_find(struct module *m, const char *name, uint64_t *kernel)
{
    if (m->code.image != NULL && cubin_kernel(&m->code.cubin, name) == NULL)
        return CODE_NOT_FOUND;
    uint64_t *known = kernel_place(m, name);
    const enum cudasim_code code = known == NULL ? CODE_OUT_OF_MEMORY
                                 : *known != 0 ? CODE_SUCCESS : kernel_put(m, name, known);
    if (code == CODE_SUCCESS)
        *kernel = *known;
    return code;
}

enum cudasim_code cudasim_module_kernel(uint64_t module, const char *name, uint64_t *kernel)
{
    if (name == NULL || kernel == NULL)
        return CODE_INVALID_VALUE;
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct module *m = module_get(module);
    return cudasim_end(m == NULL ? CODE_INVALID_HANDLE : kernel_find(m, name, kernel));
}

enum cudasim_code cudasim_module_kernels(uint64_t module, uint64_t *kernels, unsigned most, unsigned *n)
{
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct module *m = module_get(module);
    if (m == NULL)
        return cudasim_end(CODE_INVALID_HANDLE);
    const struct cubin *c = &m->code.cubin;
    *n = 0;
    for (size_t i = 0; code == CODE_SUCCESS && i < c->n_kernels && (kernels == NULL || *n < most); i++, (*n)++)
        if (kernels != NULL)
            code = kernel_find(m, c->kernels[i].name, &kernels[i]);
    return cudasim_end(code);
}

enum cudasim_code cudasim_kernel_facts(uint64_t kernel, struct cudasim_kernel_facts *out, const char **name,
                                       uint64_t *module)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    const struct kernel *k = (struct kernel *)cudasim_handle_get(kernel, HANDLE_KERNEL);
    if (k == NULL)
        return cudasim_end(CODE_INVALID_HANDLE);
    *out = k->facts;
    if (name != NULL)
        *name = k->name;
    if (module != NULL)
        *module = k->module;
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_kernel_set(uint64_t kernel, int attribute, int value)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct kernel *k = (struct kernel *)cudasim_handle_get(kernel, HANDLE_KERNEL);
    return cudasim_end(k == NULL ? CODE_INVALID_HANDLE : cudasim_facts_set(&k->facts, attribute, value));
}

/* ---- variables ---- */

/* A module whose code is not known has a variable of any name. */
static enum cudasim_code variable_guess(struct module *m, const char *name, uint64_t *addr, uint64_t *bytes)
{
    enum { GUESSED_BYTES = 1 << 16 };
    struct guess *g = guess_get(&m->guessed_variables, name);
    const enum cudasim_code code = g == NULL ? CODE_OUT_OF_MEMORY
                                 : g->value != 0 ? CODE_SUCCESS : cudasim_variable_place(GUESSED_BYTES, &g->value);
    if (code == CODE_SUCCESS) {
        *addr = g->value;
        *bytes = GUESSED_BYTES;
    }
    return code;
}

enum cudasim_code cudasim_module_variable(uint64_t module, const char *name, uint64_t *addr, uint64_t *bytes)
{
    if (name == NULL)
        return CODE_INVALID_VALUE;
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct module *m = module_get(module);
    const struct cubin_variable *v = m == NULL ? NULL : cubin_variable(&m->code.cubin, name);
    if (m == NULL || (v == NULL && m->code.image != NULL))
        return cudasim_end(m == NULL ? CODE_INVALID_HANDLE : CODE_NOT_FOUND);
    if (v == NULL)
        return cudasim_end(variable_guess(m, name, addr, bytes));
    uint64_t *place = &m->variables[v - m->code.cubin.variables];
    const bool is_new = *place == 0;
    code = is_new ? cudasim_variable_place(v->bytes, place) : CODE_SUCCESS;
    *addr = *place;
    *bytes = v->bytes;
    cudasim_unlock();
    if (is_new && code == CODE_SUCCESS && v->initial != NULL)
        cudasim_values_keep(*addr, v->initial, v->bytes);
    return code;
}
