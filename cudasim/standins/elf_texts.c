/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads texts by libelf, which checks every offset and size against the bytes that it was given. */
#include "cudasim/standins/elf_texts.h"

#include <gelf.h>
#include <libelf.h>
#include <string.h>

/* Whether a section holds constants: in memory, not written, no code. */
static bool holds_constants(Elf_Scn *section)
{
    GElf_Shdr s;
    return gelf_getshdr(section, &s) != NULL && s.sh_type == SHT_PROGBITS && (s.sh_flags & SHF_ALLOC) != 0 &&
           (s.sh_flags & (SHF_WRITE | SHF_EXECINSTR)) == 0;
}

static bool take_texts(const char *at, size_t n, bool (*take)(void *arg, const char *text), void *arg)
{
    for (const char *zero; n > 0 && (zero = memchr(at, '\0', n)) != NULL; n -= (size_t)(zero + 1 - at), at = zero + 1)
        if (zero != at && !take(arg, at))
            return false;
    return true;
}

enum err elf_texts(const void *bytes, size_t n, bool (*take)(void *arg, const char *text), void *arg,
                   struct err_detail *err)
{
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)bytes, n);         /* which only reads */
    bool goes_on = true;
    enum err e = gelf_getclass(elf) == ELFCLASS64 ? ERR_OK : err_set(err, ERR_FORMAT, 0, "not a 64-bit ELF file");
    for (Elf_Scn *s = NULL; e == ERR_OK && goes_on && (s = elf_nextscn(elf, s)) != NULL;) {
        const Elf_Data *data = holds_constants(s) ? elf_rawdata(s, NULL) : NULL;
        if (data != NULL && data->d_buf != NULL)
            goes_on = take_texts(data->d_buf, data->d_size, take, arg);
    }
    elf_end(elf);
    return goes_on ? e : err_no_memory(err);
}
