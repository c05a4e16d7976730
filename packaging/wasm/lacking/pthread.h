/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Threads where there are none: one is never started, so a lock is never waited for. */
#ifndef REPLAY_PACKAGING_WASM_LACKING_PTHREAD_H
#define REPLAY_PACKAGING_WASM_LACKING_PTHREAD_H

#include <errno.h>

typedef int pthread_t, pthread_mutex_t, pthread_cond_t, pthread_once_t;

#define PTHREAD_MUTEX_INITIALIZER 0
#define PTHREAD_COND_INITIALIZER 0
#define PTHREAD_ONCE_INIT 0

static inline int pthread_create(pthread_t *thread, const void *attributes, void *(*body)(void *arg), void *arg)
{
    (void)thread, (void)attributes, (void)body, (void)arg;
    return EAGAIN;
}

static inline int pthread_join(pthread_t thread, void **result)
{
    (void)thread, (void)result;
    return ESRCH;
}

static inline int pthread_once(pthread_once_t *once, void (*body)(void))
{
    if (*once == 0) {
        *once = 1;
        body();
    }
    return 0;
}

static inline int pthread_mutex_init(pthread_mutex_t *lock, const void *attributes)
{
    (void)lock, (void)attributes;
    return 0;
}

static inline int pthread_cond_init(pthread_cond_t *changed, const void *attributes)
{
    (void)changed, (void)attributes;
    return 0;
}

static inline int pthread_nothing(int *what)
{
    (void)what;
    return 0;
}

#define pthread_mutex_destroy pthread_nothing
#define pthread_mutex_lock pthread_nothing
#define pthread_mutex_unlock pthread_nothing
#define pthread_cond_destroy pthread_nothing
#define pthread_cond_signal pthread_nothing
#define pthread_cond_broadcast pthread_nothing

/* Nobody else could end the wait. */
static inline int pthread_cond_wait(pthread_cond_t *changed, pthread_mutex_t *lock)
{
    (void)changed, (void)lock;
    __builtin_trap();
}

#endif
