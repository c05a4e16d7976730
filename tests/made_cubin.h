/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A cubin and a fat binary as nvcc lays them out, without code: one kernel "add" and four variables.
 */
#ifndef REPLAY_TESTS_MADE_CUBIN_H
#define REPLAY_TESTS_MADE_CUBIN_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

enum { MADE_CUBIN_BYTES = 2048, MADE_SECTIONS = 11, MADE_SYMBOLS = 6 };

/* What made_cubin's kernel takes: 40 registers, 1024 bytes of shared and 16 of local memory, parameters of 12 bytes, at
 * most 256 threads in a block. */
enum { MADE_REGISTERS = 40, MADE_SHARED = 1024, MADE_LOCAL = 16, MADE_PARAMETERS = 12, MADE_THREADS = 256,
       MADE_CONSTANTS = 32, MADE_TABLE = 4000, MADE_READY = 7 };

static const char made_section_names[] = "\0.shstrtab\0.strtab\0.symtab\0.nv.info\0.nv.info.add\0.nv.shared.add\0"
                                         ".nv.constant3\0.nv.global.init\0.nv.global\0.text.add";
static const char made_symbol_names[] = "\0add\0table\0ready\0weights\0count";

static inline uint32_t made_place(const char *names, size_t n, const char *name)
{
    for (size_t at = 1; at < n; at += strlen(names + at) + 1)
        if (strcmp(names + at, name) == 0)
            return (uint32_t)at;
    return 0;
}

struct made_cubin {
    unsigned char *bytes;
    size_t n, sections;
};

/* Appends a section with its bytes; NULL: it has none in the file. */
static inline void made_section(struct made_cubin *m, const char *name, uint32_t type, const void *bytes, size_t n,
                                uint32_t link)
{
    const Elf64_Shdr s = {
        .sh_name = made_place(made_section_names, sizeof made_section_names, name), .sh_type = type,
        .sh_offset = m->n, .sh_size = n, .sh_link = link,
    };
    memcpy(m->bytes + sizeof(Elf64_Ehdr) + m->sections++ * sizeof s, &s, sizeof s);
    if (bytes == NULL)
        return;
    memcpy(m->bytes + m->n, bytes, n);
    m->n += (n + 7) / 8 * 8;
}

static inline Elf64_Sym made_symbol(const char *name, unsigned type, unsigned char other, uint16_t section,
                                    uint64_t value, uint64_t bytes)
{
    return (Elf64_Sym){ .st_name = made_place(made_symbol_names, sizeof made_symbol_names, name),
                        .st_info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL, type), .st_other = other,
                        .st_shndx = section, .st_value = value, .st_size = bytes };
}

/* Writes a cubin for a capability ("86") into MADE_CUBIN_BYTES zeros. Returns its length. */
static inline size_t made_cubin(unsigned char *out, unsigned capability)
{
    enum { NAMES = 1, STRINGS, SYMBOLS, INFO, INFO_ADD, SHARED, CONSTANTS, INITIAL, GLOBAL, TEXT };
    struct made_cubin m = { .bytes = out, .n = sizeof(Elf64_Ehdr) + MADE_SECTIONS * sizeof(Elf64_Shdr) };
    const int is_new = capability >= 100;            /* CUDA 13 writes the capability elsewhere */
    const uint32_t reserved = capability >= 90 ? 1024 : 0;
    Elf64_Ehdr head = { .e_type = ET_EXEC, .e_machine = 190, .e_version = 1, .e_shoff = sizeof head,
                        .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = MADE_SECTIONS, .e_shstrndx = NAMES,
                        .e_flags = is_new ? capability << 8 : 0x500500 | capability };
    const Elf64_Sym symbols[MADE_SYMBOLS] = {
        { 0 },
        made_symbol("add", STT_FUNC, 0x10, TEXT, 0, 8),
        made_symbol("table", STT_OBJECT, 0, GLOBAL, 0, MADE_TABLE),
        made_symbol("ready", STT_OBJECT, 0, INITIAL, 0, 4),
        made_symbol("weights", STT_OBJECT, 0, CONSTANTS, 0, MADE_CONSTANTS),
        made_symbol("count", STT_OBJECT, 0x04, GLOBAL, MADE_TABLE, 4),
    };
    const uint32_t info[] = { 0x00082f04, 1, MADE_REGISTERS, 0x00081104, 1, MADE_LOCAL };
    const uint32_t info_add[] = { MADE_PARAMETERS << 16 | 0x1903, 0x000c0504, MADE_THREADS, 1, 1 };
    const unsigned char constants[MADE_CONSTANTS] = { 0 }, text[8] = { 0 };
    const uint32_t ready = MADE_READY;
    memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_ident[EI_OSABI] = is_new ? 0x41 : 0x33;
    memcpy(out, &head, sizeof head);
    made_section(&m, "", SHT_NULL, NULL, 0, 0);
    made_section(&m, ".shstrtab", SHT_STRTAB, made_section_names, sizeof made_section_names, 0);
    made_section(&m, ".strtab", SHT_STRTAB, made_symbol_names, sizeof made_symbol_names, 0);
    made_section(&m, ".symtab", SHT_SYMTAB, symbols, sizeof symbols, STRINGS);
    made_section(&m, ".nv.info", SHT_LOPROC, info, sizeof info, SYMBOLS);
    made_section(&m, ".nv.info.add", SHT_LOPROC, info_add, sizeof info_add, SYMBOLS);
    made_section(&m, ".nv.shared.add", SHT_NOBITS, NULL, MADE_SHARED + reserved, 0);
    made_section(&m, ".nv.constant3", SHT_PROGBITS, constants, sizeof constants, 0);
    made_section(&m, ".nv.global.init", SHT_PROGBITS, &ready, sizeof ready, 0);
    made_section(&m, ".nv.global", SHT_NOBITS, NULL, MADE_TABLE + 4, 0);
    made_section(&m, ".text.add", SHT_PROGBITS, text, sizeof text, 0);
    return m.n;
}

/* An entry of a fat binary. */
struct made_entry {
    unsigned kind, capability;       /* kind 1: PTX, 2: machine code */
    const void *bytes;               /* as stored */
    size_t   n, unpacked;            /* unpacked 0: it is not packed */
    uint64_t flags;
};

/* Writes a fat binary; `out` has 16 + 64 + n bytes for each entry. Returns its length. */
static inline size_t made_fat_binary(unsigned char *out, const struct made_entry *entries, size_t n)
{
    enum { HEADER = 16, ENTRY = 64 };
    size_t at = HEADER;
    for (size_t i = 0; i < n; i++) {
        unsigned char *e = out + at;
        memset(e, 0, ENTRY);
        memcpy(e, &(uint16_t){ (uint16_t)entries[i].kind }, 2);
        memcpy(e + 4, &(uint32_t){ ENTRY }, 4);
        memcpy(e + 8, &(uint64_t){ entries[i].n }, 8);
        memcpy(e + 16, &(uint32_t){ entries[i].unpacked != 0 ? (uint32_t)entries[i].n : 0 }, 4);
        memcpy(e + 28, &(uint32_t){ entries[i].capability }, 4);
        memcpy(e + 40, &(uint64_t){ entries[i].flags }, 8);
        memcpy(e + 56, &(uint64_t){ entries[i].unpacked }, 8);
        memcpy(e + ENTRY, entries[i].bytes, entries[i].n);
        at += ENTRY + entries[i].n;
    }
    memset(out, 0, HEADER);
    memcpy(out, &(uint32_t){ 0xba55ed50 }, 4);
    memcpy(out + 4, &(uint16_t){ 1 }, 2);
    memcpy(out + 6, &(uint16_t){ HEADER }, 2);
    memcpy(out + 8, &(uint64_t){ at - HEADER }, 8);
    return at;
}

#endif
