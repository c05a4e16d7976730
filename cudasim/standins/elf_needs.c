/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Reads what a shared object needs, by libelf. It checks every offset and count against the bytes that it was given.
 */
#include "cudasim/standins/elf_needs.h"

#include <gelf.h>
#include <libelf.h>
#include <limits.h>

enum { VERSION_NUMBER = 0x7fff, STEPS_MAX = 1 << 24 };

struct elf_file {
    Elf     *elf;
    Elf_Data *dynamic, *symbols, *versions, *verneed;            /* NULL: absent */
    size_t   strings;                /* the section with the texts of all of them */
    uint64_t n_dynamic, n_symbols;
    uint64_t steps;                  /* taken in tables of versions; limited, because a file may make them a loop */
};

static void take_section(struct elf_file *f, Elf_Scn *section)
{
    GElf_Shdr s;
    if (gelf_getshdr(section, &s) == NULL)
        return;
    switch (s.sh_type) {
    case SHT_DYNAMIC:
        f->dynamic = elf_getdata(section, NULL);
        f->n_dynamic = s.sh_entsize == 0 ? 0 : s.sh_size / s.sh_entsize;
        f->strings = s.sh_link;
        break;
    case SHT_DYNSYM:
        f->symbols = elf_getdata(section, NULL);
        f->n_symbols = s.sh_entsize == 0 ? 0 : s.sh_size / s.sh_entsize;
        break;
    case SHT_GNU_versym:  f->versions = elf_getdata(section, NULL); break;
    case SHT_GNU_verneed: f->verneed = elf_getdata(section, NULL); break;
    default: break;
    }
}

/* The place after `at` in a table of versions; -1: there is none. */
static int next_place(struct elf_file *f, int at, uint64_t distance)
{
    return distance == 0 || distance > (uint64_t)(INT_MAX - at) || f->steps++ >= STEPS_MAX ? -1 : at + (int)distance;
}

/* The name of version `index` among those that are needed of one library; NULL: it is not there. */
static const char *version_name(struct elf_file *f, int at, uint16_t index)
{
    GElf_Vernaux aux;
    for (; at >= 0 && gelf_getvernaux(f->verneed, at, &aux) != NULL; at = next_place(f, at, aux.vna_next))
        if ((aux.vna_other & VERSION_NUMBER) == index)
            return elf_strptr(f->elf, f->strings, aux.vna_name);
    return NULL;
}

/* The version of a symbol and its library; both NULL if it asks for none. */
static void version_of(struct elf_file *f, int symbol, const char **version, const char **library)
{
    GElf_Versym index = 0;
    GElf_Verneed need;
    *version = *library = NULL;
    if (f->versions == NULL || gelf_getversym(f->versions, symbol, &index) == NULL || (index & VERSION_NUMBER) <= 1)
        return;
    for (int at = 0; at >= 0 && *version == NULL && gelf_getverneed(f->verneed, at, &need) != NULL;
         at = next_place(f, at, need.vn_next)) {
        *version = version_name(f, next_place(f, at, need.vn_aux), index & VERSION_NUMBER);
        *library = *version == NULL ? NULL : elf_strptr(f->elf, f->strings, need.vn_file);
    }
    *version = *library == NULL ? NULL : *version;
}

static bool walk_libraries(const struct elf_file *f, const struct elf_visitor *v)
{
    GElf_Dyn d;
    for (int i = 0; (uint64_t)i < f->n_dynamic && gelf_getdyn(f->dynamic, i, &d) != NULL && d.d_tag != DT_NULL; i++) {
        const char *soname = d.d_tag == DT_NEEDED ? elf_strptr(f->elf, f->strings, d.d_un.d_val) : NULL;
        if (soname != NULL && !v->library(v->arg, soname))
            return false;
    }
    return true;
}

static bool walk_symbols(struct elf_file *f, const struct elf_visitor *v)
{
    GElf_Sym s;
    for (int i = 1; (uint64_t)i < f->n_symbols && gelf_getsym(f->symbols, i, &s) != NULL; i++) {
        const char *name = elf_strptr(f->elf, f->strings, s.st_name), *version, *library;
        if (s.st_shndx != SHN_UNDEF || name == NULL || name[0] == '\0')
            continue;
        version_of(f, i, &version, &library);
        if (!v->symbol(v->arg, name, version, library))
            return false;
    }
    return true;
}

enum err elf_needs(const void *bytes, size_t n, const struct elf_visitor *v, struct err_detail *err)
{
    elf_version(EV_CURRENT);
    struct elf_file f = { .elf = elf_memory((char *)bytes, n) };             /* which only reads */
    for (Elf_Scn *s = NULL; (s = elf_nextscn(f.elf, s)) != NULL;)
        take_section(&f, s);
    enum err e = ERR_OK;
    if (gelf_getclass(f.elf) != ELFCLASS64 || f.dynamic == NULL)
        e = err_set(err, ERR_FORMAT, 0, "not a 64-bit shared object with a table of sections");
    else if (!walk_libraries(&f, v) || !walk_symbols(&f, v))
        e = err_no_memory(err);
    elf_end(f.elf);
    return e;
}
