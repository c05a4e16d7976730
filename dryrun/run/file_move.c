/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Moving a file to another folder, which may be on another disk. */
#include "dryrun/run/file_move.h"

#include "base/output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static enum err file_copy(const char *from, const char *to, struct err_detail *err)
{
    struct output *out;
    FILE *in = fopen(from, "rb");
    if (in == NULL)
        return err_at(err, ERR_IO, 0, from, "cannot be read: %s", strerror(errno));
    const enum err e = output_open(to, &out, err);
    if (e != ERR_OK) {
        fclose(in);
        return e;
    }
    char bytes[65536];
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, in)) > 0;)
        fwrite(bytes, 1, n, output_file(out));
    const int reason = ferror(in) ? errno : 0;
    fclose(in);
    if (reason == 0)
        return output_commit(&out, err);
    output_abandon(out);
    return err_at(err, ERR_IO, 0, from, "cannot be read: %s", strerror(reason));
}

enum err file_move(const char *from, const char *to, struct err_detail *err)
{
    struct stat st;
    if (lstat(from, &st) == 0 && !S_ISREG(st.st_mode))
        return err_at(err, ERR_IO, 0, from, "is not a regular file");
    if (rename(from, to) == 0)
        return ERR_OK;
    if (errno != EXDEV)
        return err_at(err, ERR_IO, 0, to, "cannot be written: %s", strerror(errno));
    return file_copy(from, to, err);
}
