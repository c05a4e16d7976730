/*
 * Fuzz target: shared objects and journals, which come from somebody else's wheel and from a process that was killed.
 */
#include "cudasim/elf_needs.h"
#include "cudasim/journal_read.h"
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>
#include <string.h>

static bool on_library(void *arg, const char *soname)
{
    *(size_t *)arg += strlen(soname);
    return true;
}

static bool on_symbol(void *arg, const char *name, const char *version, const char *library)
{
    FUZZ_EXPECT((version == NULL) == (library == NULL));
    *(size_t *)arg += strlen(name) + (version == NULL ? 0 : strlen(version) + strlen(library));
    return true;
}

static void try_journal(const uint8_t *data, size_t n)
{
    struct journal_use use[JOURNAL_DEVICES] = { { 0 } };
    struct journal_view v;
    struct err_detail why = { .text = "" };
    if (journal_view(data, n, &v, &why) != ERR_OK) {
        FUZZ_EXPECT(why.text[0] != '\0');
        return;
    }
    journal_sum(&v, use);
    for (size_t i = 0; i < v.n; i++)
        FUZZ_EXPECT(journal_at(&v, i).kind < JOURNAL_KINDS);
    for (int i = 0; i < JOURNAL_DEVICES; i++)
        FUZZ_EXPECT(use[i].held_bytes <= use[i].peak_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t length = 0;
    struct err_detail why = { .text = "" };
    const struct elf_visitor v = { .library = on_library, .symbol = on_symbol, .arg = &length };
    if (elf_needs(data, n, &v, &why) != ERR_OK)
        FUZZ_EXPECT(why.text[0] != '\0');
    try_journal(data, n);
    return 0;
}
