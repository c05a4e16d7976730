/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Reads what a shared object needs. Tables are found by address, as the loader finds them, because section headers may
 * be absent or wrong.
 */
#include "cudasim/standins/elf_needs.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

struct elf_file {
    const unsigned char *bytes;
    size_t   n;
    uint64_t segments_at;            /* program headers */
    uint16_t n_segments;
    uint64_t strings, strings_bytes; /* offset and length of the string table */
    uint64_t symbols, versions, verneed;             /* offsets; 0 = absent */
    uint64_t n_verneed, n_symbols;
    uint64_t steps;                  /* taken in tables of versions; limited, because a file may make them a loop */
};

enum { STEPS_MAX = 1 << 24 };

/* Copies a struct out of the file, which need not be aligned. */
static bool elf_get(const struct elf_file *f, uint64_t at, void *out, size_t n)
{
    if (at > f->n || n > f->n - at)
        return false;
    memcpy(out, f->bytes + at, n);
    return true;
}

/* The offset in the file of an address of the loaded image; 0 if the file does not hold it. */
static uint64_t elf_offset(const struct elf_file *f, uint64_t addr)
{
    for (uint16_t i = 0; i < f->n_segments; i++) {
        Elf64_Phdr p;
        if (elf_get(f, f->segments_at + (uint64_t)i * sizeof p, &p, sizeof p) && p.p_type == PT_LOAD &&
            addr >= p.p_vaddr && addr - p.p_vaddr < p.p_filesz && p.p_offset <= f->n &&
            addr - p.p_vaddr < f->n - p.p_offset)
            return p.p_offset + (addr - p.p_vaddr);
    }
    return 0;
}

/* A terminated text of the string table; NULL if the place is outside of it. */
static const char *elf_text(const struct elf_file *f, uint64_t at)
{
    if (at >= f->strings_bytes)
        return NULL;
    const char *text = (const char *)f->bytes + f->strings + at;
    return memchr(text, '\0', (size_t)(f->strings_bytes - at)) != NULL ? text : NULL;
}

static enum err elf_open(struct elf_file *f, Elf64_Phdr *dynamic, struct err_detail *why)
{
    Elf64_Ehdr head;
    if (!elf_get(f, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB)
        return err_set(why, ERR_FORMAT, 0, "no 64-bit little-endian shared object");
    if (head.e_phentsize != sizeof(Elf64_Phdr))
        return err_set(why, ERR_FORMAT, 0, "program headers of %u bytes", head.e_phentsize);
    f->segments_at = head.e_phoff;
    f->n_segments = head.e_phnum;
    for (uint16_t i = 0; i < f->n_segments; i++) {
        const uint64_t at = head.e_phoff + (uint64_t)i * sizeof *dynamic;
        if (at < head.e_phoff || !elf_get(f, at, dynamic, sizeof *dynamic))
            return err_set(why, ERR_FORMAT, at, "program header %u lies beyond the end", i);
        if (dynamic->p_type == PT_DYNAMIC)
            return ERR_OK;
    }
    return err_set(why, ERR_FORMAT, 0, "no dynamic section: not a shared object");
}

/* Whether a GNU table hashes no symbol: then it does not tell how many there are. */
static bool is_gnu_hash_empty(const struct elf_file *f, uint64_t gnu_hash, const uint32_t words[static 4])
{
    uint32_t bucket = 1;
    return words[0] == 1 && elf_get(f, gnu_hash + 16 + 8 * (uint64_t)words[2], &bucket, sizeof bucket) && bucket == 0;
}

/* How many symbols to read: the GNU table hashes those after the undefined ones, the older table counts all. Without
 * either, the texts follow the symbols, as linkers lay them. */
static uint64_t elf_count_symbols(const struct elf_file *f, uint64_t hash, uint64_t gnu_hash)
{
    uint32_t words[4];
    if (gnu_hash != 0 && elf_get(f, gnu_hash, words, sizeof words) && !is_gnu_hash_empty(f, gnu_hash, words))
        return words[1];
    if (hash != 0 && elf_get(f, hash, words, sizeof words))
        return words[1];
    return gnu_hash != 0 && f->strings > f->symbols ? (f->strings - f->symbols) / sizeof(Elf64_Sym) : 0;
}

static enum err elf_read_tables(struct elf_file *f, const Elf64_Phdr *dynamic, struct err_detail *why)
{
    uint64_t hash = 0, gnu_hash = 0;
    Elf64_Dyn d;
    for (uint64_t at = 0; at + sizeof d <= dynamic->p_filesz && elf_get(f, dynamic->p_offset + at, &d, sizeof d) &&
                          d.d_tag != DT_NULL; at += sizeof d)
        switch (d.d_tag) {
        case DT_STRTAB:     f->strings = elf_offset(f, d.d_un.d_ptr); break;
        case DT_STRSZ:      f->strings_bytes = d.d_un.d_val; break;
        case DT_SYMTAB:     f->symbols = elf_offset(f, d.d_un.d_ptr); break;
        case DT_HASH:       hash = elf_offset(f, d.d_un.d_ptr); break;
        case DT_GNU_HASH:   gnu_hash = elf_offset(f, d.d_un.d_ptr); break;
        case DT_VERSYM:     f->versions = elf_offset(f, d.d_un.d_ptr); break;
        case DT_VERNEED:    f->verneed = elf_offset(f, d.d_un.d_ptr); break;
        case DT_VERNEEDNUM: f->n_verneed = d.d_un.d_val; break;
        default: break;
        }
    if (f->strings == 0 || f->strings_bytes > f->n - f->strings)
        return err_set(why, ERR_FORMAT, f->strings, "the string table lies beyond the end");
    f->n_symbols = f->symbols == 0 ? 0 : elf_count_symbols(f, hash, gnu_hash);
    return ERR_OK;
}

/* The version with number `index`, and its library; false if the file does not say. */
static bool elf_version(struct elf_file *f, uint16_t index, const char **version, const char **library)
{
    uint64_t at = f->verneed;
    for (uint64_t i = 0; at != 0 && i < f->n_verneed; i++) {
        Elf64_Verneed need;
        if (f->steps++ >= STEPS_MAX || !elf_get(f, at, &need, sizeof need))
            return false;
        uint64_t aux_at = at + need.vn_aux;
        for (uint16_t k = 0; k < need.vn_cnt; k++) {
            Elf64_Vernaux aux;
            if (f->steps++ >= STEPS_MAX || !elf_get(f, aux_at, &aux, sizeof aux))
                return false;
            if ((aux.vna_other & 0x7fff) == index) {
                *version = elf_text(f, aux.vna_name);
                *library = elf_text(f, need.vn_file);
                return *version != NULL && *library != NULL;
            }
            if (aux.vna_next == 0)
                break;
            aux_at += aux.vna_next;
        }
        at = need.vn_next == 0 ? 0 : at + need.vn_next;
    }
    return false;
}

static enum err elf_stopped(struct err_detail *why)
{
    return err_set(why, ERR_HOST_NOMEM, 0, "the host is out of memory");
}

static enum err elf_walk_symbols(struct elf_file *f, const struct elf_visitor *v, struct err_detail *why)
{
    for (uint64_t i = 1; i < f->n_symbols; i++) {
        Elf64_Sym s;
        uint16_t index = 0;
        const char *version = NULL, *library = NULL;
        if (!elf_get(f, f->symbols + i * sizeof s, &s, sizeof s))
            return err_set(why, ERR_FORMAT, f->symbols, "symbol %llu lies beyond the end", (unsigned long long)i);
        const char *name = elf_text(f, s.st_name);
        if (s.st_shndx != SHN_UNDEF || name == NULL || name[0] == '\0')
            continue;
        if (f->versions != 0 && elf_get(f, f->versions + 2 * i, &index, sizeof index) && (index & 0x7fff) > 1 &&
            !elf_version(f, index & 0x7fff, &version, &library))
            version = library = NULL;
        if (!v->symbol(v->arg, name, version, library))
            return elf_stopped(why);
    }
    return ERR_OK;
}

enum err elf_needs(const void *bytes, size_t n, const struct elf_visitor *v, struct err_detail *why)
{
    struct elf_file f = { .bytes = bytes, .n = n };
    Elf64_Phdr dynamic;
    enum err e = elf_open(&f, &dynamic, why);
    if (e == ERR_OK)
        e = elf_read_tables(&f, &dynamic, why);
    if (e != ERR_OK)
        return e;
    Elf64_Dyn d;
    for (uint64_t at = 0; at + sizeof d <= dynamic.p_filesz && elf_get(&f, dynamic.p_offset + at, &d, sizeof d) &&
                          d.d_tag != DT_NULL; at += sizeof d) {
        const char *soname = d.d_tag == DT_NEEDED ? elf_text(&f, d.d_un.d_val) : NULL;
        if (soname != NULL && !v->library(v->arg, soname))
            return elf_stopped(why);
    }
    return elf_walk_symbols(&f, v, why);
}
