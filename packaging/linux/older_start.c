/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The start of a program as a glibc before 2.34 expects it, for programs that are linked against older_glibc.py's
 * libraries and started by the crt1.o of a newer one. On a newer glibc it does the same.
 */
#include <stddef.h>

typedef int main_function(int, char **, char **);
typedef void constructor(int, char **, char **);

extern constructor *__init_array_start[], *__init_array_end[];       /* the linker makes them */
void _init(void);
int __real___libc_start_main(main_function *main, int argc, char **argv, constructor *init, void (*fini)(void),
                             void (*rtld_fini)(void), void *stack_end);
int __wrap___libc_start_main(main_function *main, int argc, char **argv, constructor *init, void (*fini)(void),
                             void (*rtld_fini)(void), void *stack_end);

/* An older glibc leaves the program's own constructors to the program. */
static void call_constructors(int argc, char **argv, char **environment)
{
    _init();
    const size_t n = (size_t)(__init_array_end - __init_array_start);
    for (size_t i = 0; i < n; i++)
        __init_array_start[i](argc, argv, environment);
}

/* Nothing: destructors of what is linked dynamically are the loader's, in every glibc. */
static void call_destructors(void)
{
}

/* crt1.o of 2.34 and later gives neither `init` nor `fini`. */
__attribute__((visibility("default")))
int __wrap___libc_start_main(main_function *main, int argc, char **argv, constructor *init, void (*fini)(void),
                             void (*rtld_fini)(void), void *stack_end)
{
    return __real___libc_start_main(main, argc, argv, init == NULL ? call_constructors : init,
                                    fini == NULL ? call_destructors : fini, rtld_fini, stack_end);
}
