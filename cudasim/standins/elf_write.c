/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Writes a shared object: three segments and the dynamic section that the loader reads.
 *
 *     page 0              next page         next page
 *     +-------------------+-----------------+----------------------+
 *     | tables            | code            | data                 |    offsets in the file = offsets in memory
 *     | headers, symbols, | slot 0: return 0| dynamic section,     |
 *     | texts, versions   | one slot a      | one pointer a target |
 *     |                   | function        |                      |
 *     +-------------------+-----------------+----------------------+
 *
 * Symbols: first the undefined ones that code jumps to, then the functions. The older hash table with a single bucket
 * is enough, because look-ups are few.
 */
#include "cudasim/standins/elf_write.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The processor that the library is for: this one. */
#if defined(__aarch64__)
enum { MACHINE = EM_AARCH64, RELOCATION = R_AARCH64_GLOB_DAT, PAGE = 65536 };    /* the largest page of its kernels */
#else
enum { MACHINE = EM_X86_64, RELOCATION = R_X86_64_GLOB_DAT, PAGE = 4096 };
#endif

enum { SLOT = 16, N_HEADERS = 5, VERSIONS_MAX = 64, BUCKETS = 257, FUNCTIONS_MAX = 1 << 15 };

/* A growing image. A failure sets `has_failed`, which is checked once, at the end. */
struct image {
    unsigned char *bytes;
    size_t n, cap;
    bool   has_failed;
};

static size_t image_put(struct image *m, const void *bytes, size_t n)
{
    const size_t at = m->n;
    if (n > m->cap - m->n) {
        const size_t cap = 2 * (m->cap + n) + PAGE;
        unsigned char *grown = realloc(m->bytes, cap);
        if (grown == NULL) {
            m->has_failed = true;
            return 0;
        }
        m->bytes = grown;
        m->cap = cap;
    }
    if (bytes != NULL)
        memcpy(m->bytes + m->n, bytes, n);
    else
        memset(m->bytes + m->n, 0, n);
    m->n += n;
    return at;
}

static void image_align(struct image *m, size_t unit)
{
    (void)image_put(m, NULL, (unit - m->n % unit) % unit);
}

static void image_set(struct image *m, size_t at, const void *bytes, size_t n)
{
    if (!m->has_failed)
        memcpy(m->bytes + at, bytes, n);
}

struct elf_writer {
    const struct elf_library *lib;
    struct image image, strings;
    const char *versions[VERSIONS_MAX];
    size_t n_versions;
    const char **targets;            /* distinct; symbol 1 + i */
    size_t n_targets;
    size_t symbols_at, versym_at, verdef_at, hash_at, rela_at, strings_at, text_at, slots_at, dynamic_at;
};

static uint32_t put_text(struct elf_writer *w, const char *text)
{
    return (uint32_t)image_put(&w->strings, text, strlen(text) + 1);
}

/* The System V hash (gABI, "Hash Table"). */
static uint32_t sysv_hash(const char *name)
{
    uint32_t h = 0;
    for (; *name != '\0'; name++) {
        h = (h << 4) + (unsigned char)*name;
        const uint32_t top = h & 0xf0000000;
        h = (h ^ top >> 24) & ~top;
    }
    return h;
}

/* Index of a version node: 0 is local, 1 the library itself, nodes from 2. */
static uint16_t version_index(const struct elf_writer *w, const char *version)
{
    if (version == NULL)
        return 1;
    size_t i = 0;
    while (strcmp(w->versions[i], version) != 0)
        i++;
    return (uint16_t)(i + 2);
}

static size_t target_index(const struct elf_writer *w, const char *target)
{
    size_t i = 0;
    while (i < w->n_targets && strcmp(w->targets[i], target) != 0)
        i++;
    return i;
}

static enum err collect(struct elf_writer *w, struct err_detail *err)
{
    if (w->lib->n_functions > FUNCTIONS_MAX)
        return err_set(err, ERR_UNSUPPORTED, 0, "%s has more than %d functions", w->lib->soname, FUNCTIONS_MAX);
    w->targets = calloc(w->lib->n_functions + 1, sizeof *w->targets);
    if (w->targets == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < w->lib->n_functions; i++) {
        const struct elf_function *f = &w->lib->functions[i];
        size_t k = 0;
        while (f->version != NULL && k < w->n_versions && strcmp(w->versions[k], f->version) != 0)
            k++;
        if (f->version != NULL && k == VERSIONS_MAX)
            return err_set(err, ERR_UNSUPPORTED, 0, "%s has more than %d versions", w->lib->soname, VERSIONS_MAX);
        if (f->version != NULL && k == w->n_versions)
            w->versions[w->n_versions++] = f->version;
        if (f->target != NULL && target_index(w, f->target) == w->n_targets)
            w->targets[w->n_targets++] = f->target;
    }
    return ERR_OK;
}

/* Code is one slot per function, after the common `xor eax, eax; ret`. A jump reads its target from the data. */
static size_t function_place(const struct elf_writer *w, size_t i)
{
    return w->lib->functions[i].target == NULL ? w->text_at : w->text_at + SLOT * (i + 1);
}

static void put_symbols(struct elf_writer *w)
{
    const Elf64_Sym none = { 0 };
    image_align(&w->image, 8);
    w->symbols_at = image_put(&w->image, &none, sizeof none);
    for (size_t i = 0; i < w->n_targets; i++) {
        const Elf64_Sym s = { .st_name = put_text(w, w->targets[i]), .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) };
        image_put(&w->image, &s, sizeof s);
    }
    for (size_t i = 0; i < w->lib->n_functions; i++) {
        const Elf64_Sym s = { .st_name = put_text(w, w->lib->functions[i].name), .st_shndx = 1, .st_size = SLOT,
                              .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) };      /* st_value is set with the text */
        image_put(&w->image, &s, sizeof s);
    }
}

static void put_hash(struct elf_writer *w)
{
    const uint32_t n = (uint32_t)(1 + w->n_targets + w->lib->n_functions);
    const uint32_t head[2] = { BUCKETS, n };
    image_align(&w->image, 8);
    w->hash_at = image_put(&w->image, head, sizeof head);
    const size_t buckets = image_put(&w->image, NULL, BUCKETS * sizeof(uint32_t));
    const size_t chains = image_put(&w->image, NULL, n * sizeof(uint32_t));
    for (size_t i = 0; i < w->lib->n_functions && !w->image.has_failed; i++) {
        const uint32_t symbol = (uint32_t)(1 + w->n_targets + i);
        const size_t bucket = buckets + sizeof(uint32_t) * (sysv_hash(w->lib->functions[i].name) % BUCKETS);
        image_set(&w->image, chains + sizeof(uint32_t) * symbol, w->image.bytes + bucket, sizeof(uint32_t));
        image_set(&w->image, bucket, &symbol, sizeof symbol);
    }
}

static void put_verdef(struct elf_writer *w, uint16_t index, uint16_t flags, const char *name, bool is_last)
{
    const Elf64_Verdef def = { .vd_version = VER_DEF_CURRENT, .vd_flags = flags, .vd_ndx = index, .vd_cnt = 1,
                               .vd_hash = sysv_hash(name), .vd_aux = sizeof def,
                               .vd_next = is_last ? 0 : (Elf64_Word)(sizeof def + sizeof(Elf64_Verdaux)) };
    const Elf64_Verdaux aux = { .vda_name = put_text(w, name) };
    image_put(&w->image, &def, sizeof def);
    image_put(&w->image, &aux, sizeof aux);
}

/* The versions of the symbols, one by one, and the version nodes. A library without nodes has neither. */
static void put_versions(struct elf_writer *w)
{
    image_align(&w->image, 8);
    w->versym_at = w->image.n;
    for (size_t i = 0; i <= w->n_targets; i++) {
        const uint16_t version = i == 0 ? 0 : 1;
        image_put(&w->image, &version, sizeof version);
    }
    for (size_t i = 0; i < w->lib->n_functions; i++) {
        const uint16_t version = version_index(w, w->lib->functions[i].version);
        image_put(&w->image, &version, sizeof version);
    }
    image_align(&w->image, 8);
    w->verdef_at = w->image.n;
    put_verdef(w, 1, VER_FLG_BASE, w->lib->soname, false);
    for (size_t i = 0; i < w->n_versions; i++)
        put_verdef(w, (uint16_t)(i + 2), 0, w->versions[i], i + 1 == w->n_versions);
}

/* Code that returns 0, in a slot. */
static void code_return(unsigned char code[static SLOT])
{
#if defined(__aarch64__)
    const uint32_t words[] = { 0x52800000, 0xd65f03c0 };                     /* mov w0, #0; ret */
    memcpy(code, words, sizeof words);
#else
    const unsigned char bytes[] = { 0x31, 0xc0, 0xc3 };                      /* xor eax, eax; ret */
    memcpy(code, bytes, sizeof bytes);
#endif
}

/* Code that jumps to where the pointer shows that lies `distance` bytes behind it: less than 1 MiB. */
static void code_jump(unsigned char code[static SLOT], size_t distance)
{
#if defined(__aarch64__)
    const uint32_t words[] = { 0x58000010 | (uint32_t)(distance / 4) << 5, 0xd61f0200 }; /* ldr x16, distance; br x16 */
    memcpy(code, words, sizeof words);
#else
    const uint32_t behind = (uint32_t)distance - 6;                        /* counted from the end of the instruction */
    const unsigned char bytes[] = { 0xff, 0x25 };                          /* jmp [rip + behind] */
    memcpy(code, bytes, sizeof bytes);
    memcpy(code + sizeof bytes, &behind, sizeof behind);
#endif
}

static void put_text_segment(struct elf_writer *w, size_t slots_at)
{
    unsigned char nothing[SLOT] = { 0 };
    code_return(nothing);
    w->text_at = image_put(&w->image, nothing, sizeof nothing);
    for (size_t i = 0; i < w->lib->n_functions; i++) {
        unsigned char code[SLOT] = { 0 };
        const char *target = w->lib->functions[i].target;
        if (target != NULL)
            code_jump(code, slots_at + 8 * target_index(w, target) - w->image.n);
        image_put(&w->image, code, sizeof code);
        const uint64_t value = function_place(w, i);
        image_set(&w->image, w->symbols_at + (1 + w->n_targets + i) * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_value),
                  &value, sizeof value);
    }
}

/* Relocations: the loader writes each target's address into its slot of the data. */
static void set_relocations(struct elf_writer *w)
{
    for (size_t i = 0; i < w->n_targets; i++) {
        const Elf64_Rela r = { .r_offset = w->slots_at + 8 * i, .r_info = ELF64_R_INFO(1 + i, RELOCATION) };
        image_set(&w->image, w->rela_at + i * sizeof r, &r, sizeof r);
    }
}

static void put_dynamic(struct elf_writer *w, uint32_t soname, uint32_t needed)
{
    const Elf64_Dyn all[] = {
        { DT_SONAME, { soname } }, { DT_NEEDED, { needed } },
        { DT_HASH, { w->hash_at } }, { DT_STRTAB, { w->strings_at } }, { DT_STRSZ, { w->strings.n } },
        { DT_SYMTAB, { w->symbols_at } }, { DT_SYMENT, { sizeof(Elf64_Sym) } },
        { DT_RELA, { w->rela_at } }, { DT_RELASZ, { w->n_targets * sizeof(Elf64_Rela) } },
        { DT_RELAENT, { sizeof(Elf64_Rela) } }, { DT_FLAGS, { DF_BIND_NOW } },
    };
    const Elf64_Dyn versions[] = { { DT_VERSYM, { w->versym_at } }, { DT_VERDEF, { w->verdef_at } },
                                   { DT_VERDEFNUM, { w->n_versions + 1 } } };
    const Elf64_Dyn end = { DT_NULL, { 0 } };
    w->dynamic_at = image_put(&w->image, all, sizeof all);
    if (w->n_versions > 0)
        image_put(&w->image, versions, sizeof versions);
    image_put(&w->image, &end, sizeof end);
}

static void set_headers(struct elf_writer *w, size_t tables_end, size_t text_end)
{
    const Elf64_Ehdr head = {
        .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT, ELFOSABI_SYSV },
        .e_type = ET_DYN, .e_machine = MACHINE, .e_version = EV_CURRENT, .e_phoff = sizeof head,
        .e_ehsize = sizeof head, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = N_HEADERS,
    };
    const struct { uint32_t type, flags; size_t from, to; } parts[N_HEADERS] = {
        { PT_LOAD, PF_R, 0, tables_end }, { PT_LOAD, PF_R | PF_X, w->text_at, text_end },
        { PT_LOAD, PF_R | PF_W, w->slots_at, w->image.n }, { PT_DYNAMIC, PF_R | PF_W, w->dynamic_at, w->image.n },
        { PT_GNU_STACK, PF_R | PF_W, 0, 0 },
    };
    image_set(&w->image, 0, &head, sizeof head);
    for (size_t i = 0; i < N_HEADERS; i++) {
        const Elf64_Phdr p = { .p_type = parts[i].type, .p_flags = parts[i].flags, .p_offset = parts[i].from,
                               .p_vaddr = parts[i].from, .p_paddr = parts[i].from,
                               .p_filesz = parts[i].to - parts[i].from, .p_memsz = parts[i].to - parts[i].from,
                               .p_align = parts[i].type == PT_LOAD ? PAGE : 8 };
        image_set(&w->image, sizeof head + i * sizeof p, &p, sizeof p);
    }
}

static void write_all(struct elf_writer *w)
{
    image_put(&w->image, NULL, sizeof(Elf64_Ehdr) + N_HEADERS * sizeof(Elf64_Phdr));
    put_text(w, "");
    const uint32_t soname = put_text(w, w->lib->soname), needed = put_text(w, w->lib->needed);
    put_symbols(w);
    put_hash(w);
    if (w->n_versions > 0)
        put_versions(w);
    image_align(&w->image, 8);
    w->rela_at = image_put(&w->image, NULL, w->n_targets * sizeof(Elf64_Rela));
    w->strings_at = image_put(&w->image, w->strings.bytes, w->strings.n);
    const size_t tables_end = w->image.n;
    image_align(&w->image, PAGE);
    const size_t text_bytes = SLOT * (w->lib->n_functions + 1);
    w->slots_at = (w->image.n + text_bytes + PAGE - 1) / PAGE * PAGE;
    put_text_segment(w, w->slots_at);
    const size_t text_end = w->image.n;
    image_align(&w->image, PAGE);
    image_put(&w->image, NULL, 8 * (w->n_targets + 1));
    image_align(&w->image, 16);
    put_dynamic(w, soname, needed);
    set_relocations(w);
    set_headers(w, tables_end, text_end);
}

enum err elf_write(const struct elf_library *lib, void **bytes, size_t *n, struct err_detail *err)
{
#if !defined(__x86_64__) && !defined(__aarch64__)
    (void)lib, (void)bytes, (void)n;
    return err_set(err, ERR_UNSUPPORTED, 0, "stand-ins for libraries are written for x86-64 and aarch64 only");
#endif
    struct elf_writer w = { .lib = lib };
    enum err e = collect(&w, err);
    if (e == ERR_OK) {
        write_all(&w);
        if (w.image.has_failed || w.strings.has_failed)
            e = err_no_memory(err);
    }
    free(w.targets);
    free(w.strings.bytes);
    if (e != ERR_OK) {
        free(w.image.bytes);
        return e;
    }
    *bytes = w.image.bytes;
    *n = w.image.n;
    return ERR_OK;
}
