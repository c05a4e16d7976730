/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Where a program ran: Linux, Windows, ROCm and so on. It decides which settings exist, which variable holds them, and
 * how a shell sets it. It is a fact like the release: read from a recording or a text, or named by a person.
 */
#ifndef REPLAY_REPLAY_RECORDING_PLATFORM_H
#define REPLAY_REPLAY_RECORDING_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum platform {
#define PLATFORM(name, word, words, variable, shell) PLATFORM_##name,
#include "replay/recording/platforms.def"
#undef PLATFORM
    PLATFORMS
};

enum shell_kind { SHELL_POSIX, SHELL_WINDOWS, SHELL_NOTEBOOK };

/* "rocm-windows"; "ROCm on Windows". Static. */
const char *platform_word(enum platform p);
const char *platform_words(enum platform p);

/* False: no platform has this word. */
bool platform_find(const char *word, enum platform *out);

/* The variable that every build for this platform reads its allocator's settings from; NULL: there is none. Static. */
const char *platform_variable(enum platform p);
enum shell_kind platform_shell(enum platform p);

/* What is run if nobody names a policy, the platform's own default first: *n of them. Static. */
enum { PLATFORM_POLICIES = 5 };
#define PLATFORM_TORCH_POLICIES \
    "best-fit, expandable_segments:True, max_split_size_mb:128 and roundup_power2_divisions:4"
#define PLATFORM_JAX_POLICIES "jax, jax-grow, jax-fraction=0.95, jax-async and jax-platform"
const char *const *platform_policies(enum platform p, size_t *n);

/* Whether it is a library with an allocator of its own: JAX, TensorFlow. */
bool platform_is_library(enum platform p);

/* Whether PyTorch's cards are "cuda" there: NVIDIA's and AMD's. */
bool platform_is_cuda(enum platform p);

/* Whether a setting, such as "expandable_segments" or "expandable_segments:True", may be recommended there. *reason is
 * then "", otherwise the clause that says why not. Static. */
bool platform_has_setting(enum platform p, const char *setting, const char **reason);

/* Whether no build for that platform has the setting. */
bool platform_lacks_setting(enum platform p, const char *setting);

/* Whether the table says something of the setting there, or, of PLATFORMS, anywhere. */
bool platform_tells_setting(enum platform p, const char *setting);

/* The lines that set a variable in such a shell, each after `indent`: `export` in a POSIX shell; `set` and `$env:` on
 * Windows; a line of Python in a notebook. The last line is not ended. */
void platform_put_setting(FILE *out, enum shell_kind shell, const char *variable, const char *value,
                          const char *indent);

#endif
