/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Reads a cubin by its section headers, which ptxas always writes.
 */
#include "cudasim/code/cubin.h"

#include "base/array.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum {
    MACHINE_CUDA = 190,
    OSABI_CUDA_V2 = 0x41,            /* CUDA 13, or capability 10: that is in bits 8 to 15 of e_flags, else 0 to 7 */
    SYMBOL_ENTRY = 0x10,             /* in st_other: a kernel */
    SYMBOL_MANAGED = 0x04,
    RESERVED_SHARED_BYTES = 1024,    /* counted in .nv.shared.KERNEL since capability 9.0 */
    IMAGE_BYTES_MOST = 1 << 30,
};

enum { FORM_VALUE = 3, FORM_BYTES = 4 };

enum { ATTRIBUTE_MAX_THREADS = 0x05, ATTRIBUTE_FRAME_BYTES = 0x11, ATTRIBUTE_PARAMETER_BYTES = 0x19,
       ATTRIBUTE_REGISTERS = 0x2f };

struct cubin_file {
    const unsigned char *bytes;
    size_t   n;
    Elf64_Ehdr head;
    Elf64_Shdr names, symbols, strings;
};

static bool file_get(const struct cubin_file *f, uint64_t at, void *out, size_t n)
{
    if (at > f->n || n > f->n - at)
        return false;
    memcpy(out, f->bytes + at, n);
    return true;
}

static bool file_section(const struct cubin_file *f, uint32_t i, Elf64_Shdr *out)
{
    return i < f->head.e_shnum && f->head.e_shoff <= f->n &&
           file_get(f, f->head.e_shoff + (uint64_t)i * sizeof *out, out, sizeof *out) &&
           (out->sh_type == SHT_NOBITS || (out->sh_offset <= f->n && out->sh_size <= f->n - out->sh_offset));
}

/* A terminated text of a table; "" if the place is outside of it. */
static const char *file_text(const struct cubin_file *f, const Elf64_Shdr *table, uint64_t at)
{
    if (table->sh_type != SHT_STRTAB || at >= table->sh_size)
        return "";
    const char *text = (const char *)f->bytes + table->sh_offset + at;
    return memchr(text, '\0', (size_t)(table->sh_size - at)) != NULL ? text : "";
}

/* The kernel's name in ".nv.info.KERNEL" for the prefix ".nv.info."; NULL: another section. */
static const char *name_after(const char *section, const char *prefix)
{
    const size_t n = strlen(prefix);
    return strncmp(section, prefix, n) == 0 && section[n] != '\0' ? section + n : NULL;
}

static bool is_cubin(const unsigned char *image, size_t most, Elf64_Ehdr *head)
{
    for (size_t i = 0; i < SELFMAG; i++)             /* byte by byte: what a pointer points to may be shorter */
        if (i >= most || image[i] != (unsigned char)ELFMAG[i])
            return false;
    if (most < sizeof *head)
        return false;
    memcpy(head, image, sizeof *head);
    return head->e_ident[EI_CLASS] == ELFCLASS64 && head->e_ident[EI_DATA] == ELFDATA2LSB &&
           head->e_machine == MACHINE_CUDA && head->e_shentsize == sizeof(Elf64_Shdr);
}

size_t cubin_extent(const unsigned char *image, size_t most)
{
    Elf64_Ehdr head;
    if (!is_cubin(image, most, &head) || head.e_shoff > IMAGE_BYTES_MOST)
        return 0;
    uint64_t end = head.e_shoff + (uint64_t)head.e_shnum * sizeof(Elf64_Shdr);
    if (end > most)
        return 0;
    for (uint32_t i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr s;
        memcpy(&s, image + head.e_shoff + i * sizeof s, sizeof s);
        if (s.sh_type == SHT_NOBITS || s.sh_offset > IMAGE_BYTES_MOST || s.sh_size > IMAGE_BYTES_MOST)
            continue;
        end = s.sh_offset + s.sh_size > end ? s.sh_offset + s.sh_size : end;
    }
    return end <= most ? end : 0;
}

static int compare_symbol(const void *wanted, const void *kernel)
{
    const uint32_t a = *(const uint32_t *)wanted, b = ((const struct cubin_kernel *)kernel)->symbol;
    return (a > b) - (a < b);
}

/* Kernels are in the order of their symbols. */
static struct cubin_kernel *kernel_of_symbol(const struct cubin *c, uint32_t symbol)
{
    return c->n_kernels == 0 ? NULL : bsearch(&symbol, c->kernels, c->n_kernels, sizeof *c->kernels, compare_symbol);
}

const struct cubin_kernel *cubin_kernel(const struct cubin *c, const char *name)
{
    for (size_t i = 0; i < c->n_kernels; i++)
        if (strcmp(c->kernels[i].name, name) == 0)
            return &c->kernels[i];
    return NULL;
}

const struct cubin_variable *cubin_variable(const struct cubin *c, const char *name)
{
    for (size_t i = 0; i < c->n_variables; i++)
        if (strcmp(c->variables[i].name, name) == 0)
            return &c->variables[i];
    return NULL;
}

/* ---- symbols ---- */

static bool add_kernel(struct cubin *c, size_t *room, const char *name, uint32_t symbol)
{
    struct cubin_kernel *kernels = array_grow(c->kernels, c->n_kernels, room, sizeof *kernels);
    if (kernels == NULL)
        return false;
    c->kernels = kernels;
    kernels[c->n_kernels++] = (struct cubin_kernel){ .name = name, .symbol = symbol };
    return true;
}

/* Variables of kernels lie in .nv.global, .nv.global.init and .nv.constant3. */
static bool add_variable(const struct cubin_file *f, struct cubin *c, size_t *room, const Elf64_Sym *s,
                         const char *name)
{
    Elf64_Shdr section;
    if (!file_section(f, s->st_shndx, &section))
        return true;
    const char *place = file_text(f, &f->names, section.sh_name);
    const bool is_constant = strcmp(place, ".nv.constant3") == 0;
    if (!is_constant && strcmp(place, ".nv.global") != 0 && strcmp(place, ".nv.global.init") != 0)
        return true;
    struct cubin_variable *variables = array_grow(c->variables, c->n_variables, room, sizeof *variables);
    if (variables == NULL)
        return false;
    c->variables = variables;
    const bool is_stored = section.sh_type != SHT_NOBITS && s->st_value <= section.sh_size &&
                           s->st_size <= section.sh_size - s->st_value;
    variables[c->n_variables++] = (struct cubin_variable){
        .name = name, .bytes = s->st_size, .is_constant = is_constant,
        .is_managed = (s->st_other & SYMBOL_MANAGED) != 0,
        .initial = is_stored ? f->bytes + section.sh_offset + s->st_value : NULL,
    };
    return true;
}

static bool read_symbols(const struct cubin_file *f, struct cubin *c)
{
    size_t kernels_room = 0, variables_room = 0;
    bool is_ok = true;
    for (uint64_t i = 0; is_ok && i < f->symbols.sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym s;
        if (!file_get(f, f->symbols.sh_offset + i * sizeof s, &s, sizeof s))
            break;
        const char *name = file_text(f, &f->strings, s.st_name);
        const unsigned type = ELF64_ST_TYPE(s.st_info);
        if (name[0] == '\0' || s.st_shndx == SHN_UNDEF)
            continue;
        if (type == STT_FUNC && (s.st_other & SYMBOL_ENTRY) != 0)
            is_ok = add_kernel(c, &kernels_room, name, (uint32_t)i);
        else if (type == STT_OBJECT)
            is_ok = add_variable(f, c, &variables_room, &s, name);
    }
    return is_ok;
}

/* ---- .nv.info ---- */

/* A record whose bytes begin with a symbol tells of that kernel; in .nv.info.KERNEL `of` is the kernel. */
static void take_attribute(const struct cubin *c, struct cubin_kernel *of, unsigned attribute, const uint32_t words[3])
{
    struct cubin_kernel *named = kernel_of_symbol(c, words[0]);
    if (attribute == ATTRIBUTE_REGISTERS && named != NULL)
        named->registers = words[1];
    else if (attribute == ATTRIBUTE_FRAME_BYTES && named != NULL)
        named->local_bytes = words[1];
    else if (attribute == ATTRIBUTE_MAX_THREADS && of != NULL && words[0] <= 1024 && words[1] <= 1024 && words[2] <= 64)
        of->max_threads = words[0] * words[1] * words[2];
    else if (attribute == ATTRIBUTE_PARAMETER_BYTES && of != NULL)
        of->parameter_bytes = words[0];
}

static void read_info(const struct cubin_file *f, const struct cubin *c, const Elf64_Shdr *info,
                      struct cubin_kernel *of)
{
    const uint64_t end = info->sh_offset + info->sh_size;
    for (uint64_t at = info->sh_offset; end - at >= 4;) {
        struct { uint8_t form, attribute; uint16_t value; } record;
        uint32_t words[3] = { 0, 0, 0 };
        memcpy(&record, f->bytes + at, sizeof record);
        at += sizeof record;
        const uint64_t more = record.form == FORM_BYTES ? record.value : 0;
        if (more > end - at)
            return;
        memcpy(words, f->bytes + at, more < sizeof words ? more : sizeof words);
        words[0] = record.form == FORM_VALUE ? record.value : words[0];
        take_attribute(c, of, record.attribute, words);
        at += more;
    }
}

static void read_shared(const struct cubin *c, const Elf64_Shdr *s, struct cubin_kernel *of)
{
    const uint64_t reserved = c->capability >= 90 ? RESERVED_SHARED_BYTES : 0;
    of->shared_bytes = s->sh_size > reserved && s->sh_size <= UINT32_MAX ? (uint32_t)(s->sh_size - reserved) : 0;
}

static void read_section(const struct cubin_file *f, struct cubin *c, const Elf64_Shdr *s)
{
    const char *name = file_text(f, &f->names, s->sh_name);
    const char *info = name_after(name, ".nv.info."), *shared = name_after(name, ".nv.shared.");
    const char *kernel = info != NULL ? info : shared;
    struct cubin_kernel *of = kernel == NULL ? NULL : (struct cubin_kernel *)cubin_kernel(c, kernel);
    if (strcmp(name, ".nv.constant3") == 0)
        c->constant_bytes = s->sh_size;
    else if (shared != NULL && of != NULL)
        read_shared(c, s, of);
    else if ((of != NULL || strcmp(name, ".nv.info") == 0) && s->sh_type != SHT_NOBITS)
        read_info(f, c, s, of);
}

/* ---- the file ---- */

static enum err file_open(struct cubin_file *f, struct err_detail *err)
{
    if (!is_cubin(f->bytes, f->n, &f->head))
        return err_set(err, ERR_FORMAT, 0, "no machine code for a CUDA card");
    if (!file_section(f, f->head.e_shstrndx, &f->names))
        return err_set(err, ERR_FORMAT, f->head.e_shoff, "no names of sections");
    for (uint32_t i = 0; i < f->head.e_shnum; i++) {
        Elf64_Shdr s;
        if (!file_section(f, i, &s))
            return err_set(err, ERR_FORMAT, f->head.e_shoff, "section %u lies beyond the end", i);
        f->symbols = s.sh_type == SHT_SYMTAB ? s : f->symbols;
    }
    if (f->symbols.sh_type != SHT_SYMTAB || !file_section(f, f->symbols.sh_link, &f->strings))
        return err_set(err, ERR_FORMAT, f->head.e_shoff, "no symbols, or symbols without names");
    return ERR_OK;
}

enum err cubin_read(const unsigned char *bytes, size_t n, struct cubin *out, struct err_detail *err)
{
    struct cubin_file f = { .bytes = bytes, .n = n };
    const enum err e = file_open(&f, err);
    if (e != ERR_OK)
        return e;
    struct cubin c = { .capability = f.head.e_ident[EI_OSABI] == OSABI_CUDA_V2 ? f.head.e_flags >> 8 & 0xff
                                                                               : f.head.e_flags & 0xff };
    if (!read_symbols(&f, &c)) {
        cubin_close(&c);
        return err_no_memory(err);
    }
    for (uint32_t i = 0; i < f.head.e_shnum; i++) {
        Elf64_Shdr s;
        if (file_section(&f, i, &s))
            read_section(&f, &c, &s);
    }
    *out = c;
    return ERR_OK;
}

void cubin_close(struct cubin *c)
{
    free(c->kernels);
    free(c->variables);
}
