/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One lock and one condition: the lock is held only between places, so threads hardly ever wait for it. */
#include "base/producer.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct producer {
    pthread_mutex_t lock;
    pthread_cond_t  changed;               /* any member below */
    producer_fill   fill;
    void           *arg;
    unsigned        n_places, next;        /* to be filled */
    unsigned        n_filled;              /* places before `next` that are filled and not taken */
    unsigned        n_lent;                /* the place before those, if it is lent: 0 or 1 */
    bool            is_filling, is_resting, is_at_end, is_over;
    pthread_t       thread;
};

static bool producer_has_work(const struct producer *p)
{
    return !p->is_resting && !p->is_at_end && p->n_filled + p->n_lent < p->n_places;
}

static void *producer_thread(void *arg)
{
    struct producer *p = arg;
    pthread_mutex_lock(&p->lock);
    while (!p->is_over) {
        if (!producer_has_work(p)) {
            pthread_cond_wait(&p->changed, &p->lock);
            continue;
        }
        p->is_filling = true;
        pthread_mutex_unlock(&p->lock);
        const bool has_more = p->fill(p->arg, p->next);
        pthread_mutex_lock(&p->lock);
        p->is_filling = false;
        p->is_at_end = !has_more;
        p->next = (p->next + 1) % p->n_places;
        p->n_filled++;
        assert(p->n_filled + p->n_lent <= p->n_places);
        pthread_cond_broadcast(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void producer_free(struct producer *p)
{
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

struct producer *producer_start(unsigned n_places, producer_fill fill, void *arg)
{
    assert(n_places >= 2);                   /* one is lent, one is filled */
    struct producer *p = malloc(sizeof *p);
    if (p == NULL)
        return NULL;
    *p = (struct producer){.fill = fill, .arg = arg, .n_places = n_places, .is_resting = true};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    if (pthread_create(&p->thread, NULL, producer_thread, p) == 0)
        return p;
    producer_free(p);
    return NULL;
}

bool producer_take(struct producer *p, unsigned *place)
{
    pthread_mutex_lock(&p->lock);
    p->is_resting = false;
    p->n_lent = 0;
    pthread_cond_broadcast(&p->changed);
    while (p->n_filled == 0 && !p->is_at_end)
        pthread_cond_wait(&p->changed, &p->lock);
    if (p->n_filled > 0) {
        *place = (p->next + p->n_places - p->n_filled) % p->n_places;
        p->n_filled--;
        p->n_lent = 1;
    }
    const bool is_there = p->n_lent > 0;
    pthread_mutex_unlock(&p->lock);
    return is_there;
}

/* Called with the lock held. */
static void producer_come_to_rest(struct producer *p)
{
    p->is_resting = true;
    while (p->is_filling)
        pthread_cond_wait(&p->changed, &p->lock);
}

void producer_rest(struct producer *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    producer_come_to_rest(p);
    pthread_mutex_unlock(&p->lock);
}

void producer_begin_anew(struct producer *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    producer_come_to_rest(p);
    p->n_filled = p->n_lent = 0;
    p->is_at_end = false;
    pthread_mutex_unlock(&p->lock);
}

void producer_stop(struct producer *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    p->is_over = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    producer_free(p);
}
