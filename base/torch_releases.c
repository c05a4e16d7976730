/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The list of torch_releases.def as tables. */
#include "base/torch_releases.h"

#include <stdlib.h>
#include <string.h>

const char torch_release_names[TORCH_RELEASES][8] = {
#define TORCH_RELEASE(major, minor) #major "." #minor,
#include "base/torch_releases.def"
#undef TORCH_RELEASE
};

/* torch_release_find takes the minor number for the place in the list. */
#define TORCH_RELEASE(major, minor)                                                                                    \
    static_assert((major) == 2 && TORCH_##major##_##minor == (minor), "the list has a gap before " #major "." #minor);
#include "base/torch_releases.def"
#undef TORCH_RELEASE

static const enum torch_release torch_layout_since[TORCH_LAYOUTS] = {
#define TORCH_LAYOUT(name, since, says) [LAYOUT_##name] = TORCH_##since,
#include "base/torch_releases.def"
#undef TORCH_LAYOUT
};

bool torch_release_find(const char *text, enum torch_release *out)
{
    if (strncmp(text, "2.", 2) != 0 || text[2] < '0' || text[2] > '9')
        return false;
    char *end;
    const long minor = strtol(text + 2, &end, 10);
    if (*end != '\0' && *end != '.' && *end != '+')
        return false;
    *out = minor < TORCH_RELEASES ? (enum torch_release)minor : TORCH_NEWEST;
    return true;
}

bool torch_release_is_later(const char *text)
{
    enum torch_release taken;
    return torch_release_find(text, &taken) && strtol(text + 2, NULL, 10) >= TORCH_RELEASES;
}

bool torch_release_has(enum torch_release r, enum torch_layout part)
{
    assert(r < TORCH_RELEASES && part < TORCH_LAYOUTS);
    return r >= torch_layout_since[part];
}

static unsigned release_layout(enum torch_release r)
{
    unsigned parts = 0;
    for (unsigned k = 0; k < TORCH_LAYOUTS; k++)
        parts |= torch_release_has(r, (enum torch_layout)k) ? 1u << k : 0;
    return parts;
}

enum torch_release torch_release_of_layout(unsigned parts)
{
    unsigned above = 1;                          /* the lowest mask with a part later than all of `parts` */
    while (above <= parts)
        above *= 2;
    unsigned r = TORCH_NEWEST;
    while (release_layout((enum torch_release)r) >= above)
        r--;                                     /* ends at 2.0, which has no parts */
    return (enum torch_release)r;
}

enum torch_release torch_release_first_alike(enum torch_release r)
{
    unsigned first = 0;
    while (release_layout((enum torch_release)first) != release_layout(r))
        first++;
    assert(first <= (unsigned)r);
    return (enum torch_release)first;
}
