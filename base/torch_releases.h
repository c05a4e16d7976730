/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The releases of PyTorch that this program knows. The list itself is torch_releases.def.
 *
 * A release is "2.N" here: its patch releases make the same decisions.
 */
#ifndef REPLAY_BASE_TORCH_RELEASES_H
#define REPLAY_BASE_TORCH_RELEASES_H

#include <assert.h>
#include <stdbool.h>

/* The value is the minor number. */
enum torch_release {
#define TORCH_RELEASE(major, minor) TORCH_##major##_##minor,
#include "base/torch_releases.def"
#undef TORCH_RELEASE
    TORCH_RELEASES,
    TORCH_NEWEST = TORCH_RELEASES - 1
};

/* Parts of a snapshot that came with some release, in the order in which they came. */
enum torch_layout {
#define TORCH_LAYOUT(name, since, says) LAYOUT_##name,
#include "base/torch_releases.def"
#undef TORCH_LAYOUT
    TORCH_LAYOUTS
};

/* "2.0" ... ; the last is the default of every command. */
extern const char torch_release_names[TORCH_RELEASES][8];

static inline const char *torch_release_name(enum torch_release r)
{
    assert(r < TORCH_RELEASES);
    return torch_release_names[r];
}

/* The release of a version text ("2.7", "2.15.0", "2.4.1+cu121"). False if the text is no version, is older than 2.0 or
 * has another major number. A version later than the newest gives the newest. */
bool torch_release_find(const char *text, enum torch_release *out);

/* Whether a text that torch_release_find takes names a release later than the newest, for which it is taken. */
bool torch_release_is_later(const char *text);

/* Whether the snapshots of the release have that part. */
bool torch_release_has(enum torch_release r, enum torch_layout part);

/* The newest release whose snapshots have the parts in the mask (bit k: part k of enum torch_layout). Only the part
 * that came last decides, because a file may lack an older one: a recording without records has no times. */
enum torch_release torch_release_of_layout(unsigned parts);

/* The first release whose snapshots have the same parts as those of this one. */
enum torch_release torch_release_first_alike(enum torch_release r);

#endif
