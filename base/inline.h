/*
 * Functions that must not become calls, and those that must.
 */
#ifndef REPLAY_BASE_INLINE_H
#define REPLAY_BASE_INLINE_H

/* For what every event passes through and is too long for a compiler to make inline by its own rules. */
#if defined(__GNUC__)
#define HOT_INLINE inline __attribute__((always_inline))
#else
#define HOT_INLINE inline
#endif

/* For what few events pass through, and would take the registers from where it is called. */
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#else
#define APART
#endif

#endif
