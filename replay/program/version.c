/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay --version`: what this program is, what it was built with and of, and which releases of PyTorch it knows. */
#include "replay/program/cli.h"

#include "base/torch_releases.h"
#include "report/text/text.h"

#include <jansson.h>
#include <openssl/sha.h>
#include <sqlite3.h>
#include <stdio.h>
#include <zlib.h>
#include <zstd.h>
#ifndef SHA_OF_LIBMD              /* where libmd answers in libcrypto's place (packaging/libmd_header) */
#include <openssl/crypto.h>
#endif

#if defined __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

enum { VERSION_COLUMNS = 80 };

static void print_wrapped(const struct words *w)
{
    words_print_within(stdout, w, VERSION_COLUMNS, 0, 2);
}

void version_print(void)
{
    struct words build = { .n = 0 }, libraries = { .n = 0 };
    printf("replay %s\n", REPLAY_VERSION);
    words_add(&build, "Built: %s, %s, for %s.", REPLAY_BUILD_TYPE, COMPILER, REPLAY_SYSTEM);
    print_wrapped(&build);
    words_add(&libraries, "Libraries: zstd %s, zlib %s, SQLite %s, jansson %s", ZSTD_versionString(), zlibVersion(),
              sqlite3_libversion(), jansson_version_str());
#ifndef SHA_OF_LIBMD
    words_add(&libraries, ", OpenSSL %s", OpenSSL_version(OPENSSL_VERSION_STRING));
#endif
    words_add(&libraries, ".");
    print_wrapped(&libraries);
    printf("PyTorch releases known: %s to %s.\n", torch_release_name(0), torch_release_name(TORCH_NEWEST));
}
