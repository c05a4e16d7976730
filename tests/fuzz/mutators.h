/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Mutators that know what they change: a pickle opcode by opcode, a native trace section by section. Most of what they
 * make can be read to its end, so that the fuzzer gets past the first byte that is wrong.
 */
#ifndef REPLAY_TESTS_FUZZ_MUTATORS_H
#define REPLAY_TESTS_FUZZ_MUTATORS_H

#include <stddef.h>
#include <stdint.h>

/* Changes data[0, n) within data[0, room) at random by the seed; returns the new length, at most `room`. `bytes`
 * changes a part that has no structure: LLVMFuzzerMutate, or a stand-in for it. The same arguments give the same result
 * if `bytes` keeps to that. */
typedef size_t (*mutate_bytes)(uint8_t *data, size_t n, size_t room);

/* The opcodes of a pickle: drops, repeats, moves and joins runs of them (a whole record, by its marks), and changes
 * their numbers and texts, often to those of another opcode of the same input. Other bytes: `bytes` alone. */
size_t mutate_pickle(uint8_t *data, size_t n, size_t room, uint32_t seed, mutate_bytes bytes);

/* The sections of an input that begins with 'S' or 'U' (forged_input.h): drops, repeats and swaps them, and changes
 * kind, rows and content. Other bytes: `bytes` alone. */
size_t mutate_native(uint8_t *data, size_t n, size_t room, uint32_t seed, mutate_bytes bytes);

/* A file by its first bytes: the letters of forged_input.h stay in front most times, and the rest is changed as a
 * native trace, as a pickle, or as bytes. */
size_t mutate_file(uint8_t *data, size_t n, size_t room, uint32_t seed, mutate_bytes bytes);

/* A line, left alone most times, and after it a file as mutate_file. */
size_t mutate_command(uint8_t *data, size_t n, size_t room, uint32_t seed, mutate_bytes bytes);

/* A target that has such a mutator ends with FUZZ_MUTATOR(its name). Without a fuzzer it is nothing. */
#ifdef REPLAY_FUZZ
size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t room, unsigned seed);
#define FUZZ_MUTATOR(mutate)                                                               \
    size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t room, unsigned seed)   \
    {                                                                                      \
        return mutate(data, n, room, seed, LLVMFuzzerMutate);                             \
    }
#else
#define FUZZ_MUTATOR(mutate)
#endif

#endif
