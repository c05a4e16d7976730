/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Finds the real functions, and gives ours to everyone who looks the real ones up by name.
 *
 * A program that is linked against the runtime finds our functions first, because we are preloaded. A program that
 * opens a library and asks it by dlsym would find the library's own. So would the runtime, which looks up every
 * function of the driver. Therefore dlsym is ours too, and so are the driver's own look-ups (cuGetProcAddress).
 */
#define _GNU_SOURCE                   /* RTLD_NEXT, dlvsym, dladdr, dl_iterate_phdr */
#include "record/real_calls.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct call_name {
    enum call_library library;
    const char *name, *looked_up_as;
    int  stream_0;
};

/* Nobody asks for the name of a retired call. */
#define CALL(shape, library, name, space, looked_up_as, stream_0) {LIBRARY_##library, #name, looked_up_as, stream_0},
#define RETIRED(name) {LIBRARY_DRIVER, "", "", 0},
static const struct call_name names[RECORDED_CALLS] = {
#include "record/calls.def"
};
#undef CALL
#undef RETIRED

static _Atomic(call_function) real[RECORDED_CALLS];

/* ---- the linker's own functions ---- */

typedef void *dlsym_function(void *handle, const char *name);

/* The linker's dlsym. It is looked up by version, because a plain look-up of "dlsym" would find ours. The assembler
 * entry at the end of the file jumps to it. */
__attribute__((visibility("hidden"))) extern dlsym_function *linker_dlsym;
dlsym_function *linker_dlsym;

/* POSIX makes pointers to functions and to data the same size, for dlsym's sake. */
static call_function function_at(const void *address)
{
    call_function f;
    memcpy(&f, &address, sizeof f);
    return f;
}

static void *address_of(call_function f)
{
    void *address;
    memcpy(&address, &f, sizeof address);
    return address;
}

static dlsym_function *linker_find(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    void *found = NULL;
    for (size_t i = 0; found == NULL && i < sizeof versions / sizeof versions[0]; i++)
        found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    return (dlsym_function *)function_at(found);
}

static dlsym_function *linker(void)
{
    dlsym_function *f = __atomic_load_n(&linker_dlsym, __ATOMIC_ACQUIRE);
    if (f == NULL) {
        f = linker_find();
        __atomic_store_n(&linker_dlsym, f, __ATOMIC_RELEASE);
    }
    return f;
}

/* ---- libraries that are loaded ---- */

/* NVIDIA's names, also as Python packages change them: "libcudart-d0da41ae.so.11.0". */
static bool is_library(const char *path, enum call_library library)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash == NULL ? path : slash + 1;
    return library == LIBRARY_RUNTIME ? strncmp(file, "libcudart", 9) == 0 : strncmp(file, "libcuda.so", 10) == 0;
}

struct library_search {
    enum call_library library;
    unsigned to_skip;
    char path[PATH_MAX];
};

static int library_visit(struct dl_phdr_info *info, size_t n, void *arg)
{
    struct library_search *s = arg;
    (void)n;
    if (info->dlpi_name == NULL || !is_library(info->dlpi_name, s->library) || s->to_skip-- > 0)
        return 0;
    snprintf(s->path, sizeof s->path, "%s", info->dlpi_name);
    return 1;
}

/* Looks in libraries that were opened since the start. A library is opened once more, outside of the visit, because the
 * visit holds one of the linker's locks. It stays open: what is found in it is called from now on. */
static void *library_find_opened(enum call_library library, const char *name)
{
    void *found = NULL;
    for (unsigned i = 0; found == NULL; i++) {
        struct library_search s = {.library = library, .to_skip = i};
        if (dl_iterate_phdr(library_visit, &s) == 0)
            return NULL;
        void *handle = dlopen(s.path, RTLD_LAZY | RTLD_NOLOAD);
        found = handle == NULL ? NULL : linker()(handle, name);
    }
    return found;
}

/* Looks in the program's own libraries, in the linker's order and after us, then in those that were opened since. */
static call_function library_find(enum call_library library, const char *name)
{
    void *found = linker() == NULL ? NULL : linker()(RTLD_NEXT, name);
    if (found == NULL && linker() != NULL)
        found = library_find_opened(library, name);
    return function_at(found);
}

call_function real_call(enum recorded_call call)
{
    call_function f = atomic_load_explicit(&real[call], memory_order_acquire);
    if (f == NULL) {
        f = library_find(names[call].library, names[call].name);
        atomic_store_explicit(&real[call], f, memory_order_release);
    }
    return f;
}

call_function real_named(enum call_library library, const char *name, call_function *cache)
{
    call_function f = __atomic_load_n(cache, __ATOMIC_ACQUIRE);
    if (f == NULL) {
        f = library_find(library, name);
        __atomic_store_n(cache, f, __ATOMIC_RELEASE);
    }
    return f;
}

/* ---- look-ups ---- */

/* Our function in the place of one that was found; or what was found, if it is none of ours to replace. A process has
 * one driver, whose functions may have two addresses. It may have several runtimes: ours stands before the first, and
 * calls of the others are recorded at the driver. */
static void *wrap_found(enum recorded_call call, void *found)
{
    call_function none = NULL;
    Dl_info info;
    if (found == NULL || found == address_of(wrapper_of(call)))
        return found;
    if (atomic_compare_exchange_strong(&real[call], &none, function_at(found)) && dladdr(found, &info) != 0)
        (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);      /* it stays loaded */
    const bool is_ours = names[call].library == LIBRARY_DRIVER || real_call(call) == function_at(found);
    return is_ours ? address_of(wrapper_of(call)) : found;
}

void driver_lookup_wrap(const char *name, bool is_per_thread, void **found)
{
    int best = -1;
    if (found == NULL || *found == NULL || name == NULL)
        return;
    if (strcmp(name, "cuGetProcAddress") == 0) {         /* two forms of one name: only the address tells */
        for (int i = CALL_cuGetProcAddress; i <= CALL_cuGetProcAddress_v2; i++)
            if (address_of(real_call((enum recorded_call)i)) == *found)
                best = i;
    } else {
        for (int i = 0; i < RECORDED_CALLS; i++)
            if (strcmp(names[i].looked_up_as, name) == 0 && (best < 0 || (names[i].stream_0 != 0) == is_per_thread))
                best = i;
    }
    if (best >= 0)
        *found = wrap_found((enum recorded_call)best, *found);
}

/* What our dlsym answers for a recorded call; NULL: the linker's dlsym is to answer. Who asks for the next function
 * after its own is another library that stands before the driver, and was called by us or calls us: it gets what the
 * linker finds, for ours would call it again. */
__attribute__((visibility("hidden"))) void *record_dlsym(void *handle, const char *name);
__attribute__((visibility("hidden"), used)) void *record_dlsym(void *handle, const char *name)
{
    dlsym_function *const find = linker();
    if (handle == RTLD_NEXT || name == NULL || name[0] != 'c' || name[1] != 'u')
        return NULL;
    for (int i = 0; i < RECORDED_CALLS; i++)
        if (strcmp(names[i].name, name) == 0)
            return wrap_found((enum recorded_call)i, find(handle, name));
    return NULL;
}

/* Our dlsym. It jumps to the linker's instead of calling it: for RTLD_NEXT the linker tells from the return address who
 * asks. */
#if defined(__x86_64__)
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        "    endbr64\n"
        "    push %rdi\n"
        "    push %rsi\n"
        "    sub $8, %rsp\n"
        "    call record_dlsym\n"
        "    add $8, %rsp\n"
        "    pop %rsi\n"
        "    pop %rdi\n"
        "    test %rax, %rax\n"
        "    jne 1f\n"
        "    jmp *linker_dlsym(%rip)\n"
        "1:  ret\n"
        ".size dlsym, . - dlsym\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, %function\n"
        "dlsym:\n"
        "    stp x29, x30, [sp, #-32]!\n"
        "    stp x0, x1, [sp, #16]\n"
        "    bl record_dlsym\n"
        "    mov x9, x0\n"
        "    ldp x0, x1, [sp, #16]\n"
        "    ldp x29, x30, [sp], #32\n"
        "    cbnz x9, 1f\n"
        "    adrp x9, linker_dlsym\n"
        "    ldr x9, [x9, :lo12:linker_dlsym]\n"
        "    br x9\n"
        "1:  mov x0, x9\n"
        "    ret\n"
        ".size dlsym, . - dlsym\n");
#else
#error "recording works on x86-64 and AArch64 only"
#endif
