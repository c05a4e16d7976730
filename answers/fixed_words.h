/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The words of members that several tables have, as WORD takes them. test_platform.c and test_oom_answer.c compare the
 * longer lists with the words that are written. */
#ifndef REPLAY_ANSWERS_FIXED_WORDS_H
#define REPLAY_ANSWERS_FIXED_WORDS_H

#define VERDICT_WORDS \
    "not-in-force|somebody-else|limited|streams|one-tensor|leak|larger-input|full|fragmented|retries|" \
    "cache|recording-ends|card-had-room|full-or-fragmented|host-lent|host-full|shared-memory|budget|" \
    "broken-size|kernel-too-large|index-out-of-range|library-refused|workspace-refused|untold"
#define PLATFORM_WORDS "unknown|linux|windows|rocm-windows|wsl|rocm|xpu|mps|npu|jetson|jax|tensorflow"
#define START_STATE_WORDS "empty|mid-run"
#define TURN_WORDS "step|half"
#define WALLS_WORDS "streams|late-uses|both"
#define SERVER_KIND_WORDS "vllm|sglang"
#define SERVER_VERDICT_WORDS "fits|may-fit|does-not-fit|unknown"
#define SERVER_END_WORDS "ready|no-cache|request-too-long|share-not-free|refused|died-later|other"

#endif
