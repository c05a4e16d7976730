/*
 * Functions that must not become calls.
 */
#ifndef REPLAY_BASE_INLINE_H
#define REPLAY_BASE_INLINE_H

/* For what every event passes through and is too long for a compiler to make inline by its own rules. */
#if defined(__GNUC__)
#define HOT_INLINE inline __attribute__((always_inline))
#else
#define HOT_INLINE inline
#endif

#endif
