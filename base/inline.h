/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Functions that must not become calls, and those that must.
 */
#ifndef REPLAY_BASE_INLINE_H
#define REPLAY_BASE_INLINE_H

/* For functions that every event passes through and that a compiler finds too long to make inline by itself. */
#if defined(__GNUC__)
#define HOT_INLINE inline __attribute__((always_inline))
#else
#define HOT_INLINE inline
#endif

/* For functions that few events pass through: made inline, they would take registers from their caller. */
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#else
#define APART
#endif

#endif
