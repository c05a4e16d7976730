/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Collects what libraries need of NVIDIA's, and writes stand-ins that provide it. */
#include "cudasim/standins/standins.h"

#include "base/array.h"
#include "base/hash.h"
#include "cudasim/standins/elf_needs.h"
#include "cudasim/standins/elf_texts.h"
#include "cudasim/standins/elf_write.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CORE_SONAME   "libreplay-cudasim.so"
#define STANDINS_FORM "14"

enum { PACKAGES_DEPTH = 3, PACKAGES_NAMES = 1 << 16 };

/* A library, or a function of one. Texts are malloc'ed. */
struct want {
    char *soname, *name, *version;   /* name NULL: the library itself; version NULL: none */
};

struct wants {
    struct want *all;
    size_t n, cap;
    const struct standin_places *places;     /* a library that lies in its folders needs no stand-in */
    size_t names_left;               /* of packages, to be looked at */
    unsigned cuda;                   /* of the plugin that is read */
};

static const struct { const char *prefix, *library; } owners[] = {
#define OWNER(prefix, library) { prefix, library },
#include "cudasim/standins/answers.def"
};

enum { N_OWNERS = sizeof owners / sizeof owners[0] };

static const struct { unsigned cuda; const char *library, *soname; } opened[] = {
#define OPENED(cuda, library, number) { cuda, library, library "." number },
#include "cudasim/standins/answers.def"
};

enum { N_OPENED = sizeof opened / sizeof opened[0] };

/* soname NULL: any library. target NULL: nothing is called, and the answer is 0. */
static const struct { const char *soname, *part, *target; } answers[] = {
#define ANSWER_OF(soname, part, function) { soname, part, "cudasim_standin_" #function },
#define ANSWER(part, function) ANSWER_OF(NULL, part, function)
#define HARMLESS(part) { NULL, part, NULL },
#include "cudasim/standins/answers.def"
};

enum { N_ANSWERS = sizeof answers / sizeof answers[0] };

static const char *target_of(const char *soname, const char *name)
{
    for (size_t i = 0; i < N_ANSWERS; i++)
        if (strstr(name, answers[i].part) != NULL &&
            (answers[i].soname == NULL || strcmp(answers[i].soname, soname) == 0))
            return answers[i].target;
    return "cudasim_standin_work";
}

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* "libcudnn.so.9" has a number, "libcudnn.so" has none. */
static bool has_number(const char *soname)
{
    const char *so = strstr(soname, ".so");
    return so == NULL || so[strlen(".so")] != '\0';
}

/* Whether a soname is one of NVIDIA's. */
static bool is_wanted_library(const char *soname)
{
    return begins(soname, "libcu") || begins(soname, "libnv") || begins(soname, "libnccl");
}

static bool is_ours(const char *soname)
{
    return begins(soname, "libcudart.so") || begins(soname, "libcuda.so") || begins(soname, "libnvidia-ml.so");
}

/* A wheel may bring NVIDIA's runtime under a name of its own, "libcudart.faf08d9a.so.13" or
 * "libcudart-c64a25f3.so.12.3.101", which its objects name. It works with NVIDIA's driver alone, so the simulated one
 * serves in its place: its soname is returned. NULL: the library is none of these. */
static const char *bundled_runtime(const char *soname)
{
    static const struct { const char *number, *runtime; } all[] = {
        { ".so.11", "libcudart.so.11.0" }, { ".so.12", "libcudart.so.12" }, { ".so.13", "libcudart.so.13" },
    };
    const char *so = strstr(soname, ".so.");
    if (so == NULL || is_ours(soname) || !(begins(soname, "libcudart.") || begins(soname, "libcudart-")))
        return NULL;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const size_t n = strlen(all[i].number);
        if (strncmp(so, all[i].number, n) == 0 && (so[n] == '\0' || so[n] == '.'))
            return all[i].runtime;
    }
    return NULL;
}

static bool wants_put(struct wants *w, const char *soname, const char *name, const char *version)
{
    struct want *all = array_grow(w->all, w->n, &w->cap, sizeof *all);
    if (all == NULL)
        return false;
    w->all = all;
    struct want *one = &w->all[w->n++];
    *one = (struct want){ .soname = strdup(soname), .name = name == NULL ? NULL : strdup(name),
                          .version = version == NULL ? NULL : strdup(version) };
    return one->soname != NULL && (name == NULL) == (one->name == NULL) && (version == NULL) == (one->version == NULL);
}

static void wants_close(struct wants *w)
{
    for (size_t i = 0; i < w->n; i++) {
        free(w->all[i].soname);
        free(w->all[i].name);
        free(w->all[i].version);
    }
    free(w->all);
}

/* Whether the program has the library itself: in its folders, or as one that is used as it is. */
static bool is_there(const struct wants *w, const char *soname)
{
    struct real_library *real = real_libraries_get(&w->places->real, soname);
    if (real != NULL) {
        real->is_wanted = true;
        return true;
    }
    for (size_t i = 0; i < w->places->n_folders; i++) {
        char path[4096];
        if ((size_t)snprintf(path, sizeof path, "%s/%s", w->places->folders[i], soname) < sizeof path &&
            access(path, F_OK) == 0)
            return true;
    }
    return false;
}

static bool on_library(void *arg, const char *soname)
{
    return !is_wanted_library(soname) || is_there(arg, soname) || wants_put(arg, soname, NULL, NULL);
}

static bool on_symbol(void *arg, const char *name, const char *version, const char *library)
{
    if (library != NULL)
        return !is_wanted_library(library) || is_ours(library) || bundled_runtime(library) != NULL ||
               is_there(arg, library) || wants_put(arg, library, name, version);
    for (size_t i = 0; i < N_OWNERS; i++)
        if (begins(name, owners[i].prefix))
            return wants_put(arg, owners[i].library, name, NULL);    /* wants_resolve adds the library's number */
    return true;
}

/* Of a package only functions count: it asks for them in libraries that PyTorch names. A runtime that it brings is
 * found by the file's name. */
static bool on_package_library(void *arg, const char *soname)
{
    (void)arg, (void)soname;
    return true;
}

/* ---- libraries that a plugin of JAX's opens ---- */

/* A name of C: what is asked of a library is nothing else. */
static bool is_identifier(const char *text)
{
    static const char *const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return text[strspn(text, letters)] == '\0';
}

/* The soname of a library of CUDA's; NULL: the plugin opens none. */
static const char *opened_soname(unsigned cuda, const char *library)
{
    for (size_t i = 0; i < N_OPENED; i++)
        if (opened[i].cuda == cuda && strcmp(opened[i].library, library) == 0)
            return opened[i].soname;
    return NULL;
}

static bool on_text(void *arg, const char *text)
{
    struct wants *w = arg;
    for (size_t i = 0; i < N_OWNERS; i++)
        if (begins(text, owners[i].prefix)) {
            const char *soname = is_identifier(text) ? opened_soname(w->cuda, owners[i].library) : NULL;
            return soname == NULL || is_there(w, soname) || wants_put(w, soname, text, NULL);
        }
    return true;
}

static bool put_opened(struct wants *w, unsigned cuda)
{
    for (size_t i = 0; i < N_OPENED; i++)
        if (opened[i].cuda == cuda && !on_library(w, opened[i].soname))
            return false;
    return true;
}

/* ---- reading ---- */

static enum err read_needs(const void *bytes, size_t n, void *v, struct err_detail *err)
{
    return elf_needs(bytes, n, v, err);
}

static enum err read_texts(const void *bytes, size_t n, void *w, struct err_detail *err)
{
    return elf_texts(bytes, n, on_text, w, err);
}

typedef enum err library_reader(const void *bytes, size_t n, void *arg, struct err_detail *err);

static enum err read_library(const char *path, library_reader *read, void *arg, struct err_detail *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    enum err e = ERR_OK;
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
        if (fd >= 0)
            close(fd);
        return ERR_OK;
    }
    void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        return err_at(err, ERR_IO, 0, path, "cannot be mapped: %s", strerror(errno));
    e = read(bytes, (size_t)st.st_size, arg, err);
    munmap(bytes, (size_t)st.st_size);
    return e == ERR_FORMAT ? ERR_OK : e;
}

static enum err read_folder(const char *folder, library_reader *read, void *arg, struct err_detail *err)
{
    DIR *d = opendir(folder);
    enum err e = ERR_OK;
    if (d == NULL)
        return err_at(err, ERR_IO, 0, folder, "%s", strerror(errno));
    for (const struct dirent *f; e == ERR_OK && (f = readdir(d)) != NULL;) {
        char path[4096];
        if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, f->d_name) < sizeof path)
            e = read_library(path, read, arg, err);
    }
    closedir(d);
    return e;
}

static enum err read_plugin(struct wants *w, const struct jax_plugin *p, struct err_detail *err)
{
    w->cuda = p->cuda;
    return put_opened(w, p->cuda) ? read_folder(p->folder, read_texts, w, err) : err_no_memory(err);
}

/* Whether a name in a folder of packages may be a package. Packages in the standard library's folder are looked at by
 * themselves. */
static bool is_package(const struct dirent *f)
{
    return f->d_type == DT_DIR && f->d_name[0] != '.' && strcmp(f->d_name, "site-packages") != 0 &&
           strcmp(f->d_name, "dist-packages") != 0;
}

/* Folders of packages that are still to be read, those that lie deeper after the others: if there are too many names,
 * the deepest are not looked at. */
struct folder_queue {
    struct package_folder { char *path; unsigned depth; } *all;
    size_t n, cap;
};

static bool queue_put(struct folder_queue *q, const char *path, unsigned depth)
{
    struct package_folder *all = array_grow(q->all, q->n, &q->cap, sizeof *all);
    if (all == NULL)
        return false;
    q->all = all;
    q->all[q->n] = (struct package_folder){ .path = strdup(path), .depth = depth };
    return q->all[q->n++].path != NULL;
}

static enum err read_package_folder(struct wants *w, struct folder_queue *q, struct package_folder at,
                                    struct err_detail *err)
{
    struct elf_visitor v = { .library = on_package_library, .symbol = on_symbol, .arg = w };
    DIR *d = opendir(at.path);
    enum err e = ERR_OK;
    if (d == NULL)
        return ERR_OK;
    for (const struct dirent *f; e == ERR_OK && w->names_left > 0 && (f = readdir(d)) != NULL; w->names_left--) {
        char path[4096];
        if ((size_t)snprintf(path, sizeof path, "%s/%s", at.path, f->d_name) >= sizeof path)
            continue;
        if (bundled_runtime(f->d_name) != NULL)
            e = wants_put(w, f->d_name, NULL, NULL) ? ERR_OK : err_no_memory(err);
        else if (strstr(f->d_name, ".so") != NULL)
            e = read_library(path, read_needs, &v, err);
        else if (at.depth < PACKAGES_DEPTH && is_package(f) && !queue_put(q, path, at.depth + 1))
            e = err_no_memory(err);
    }
    closedir(d);
    return e;
}

static enum err read_packages(struct wants *w, const char *folder, struct err_detail *err)
{
    struct folder_queue q = { .n = 0 };
    enum err e = queue_put(&q, folder, 0) ? ERR_OK : err_no_memory(err);
    for (size_t i = 0; e == ERR_OK && i < q.n; i++)
        e = read_package_folder(w, &q, q.all[i], err);
    for (size_t i = 0; i < q.n; i++)
        free(q.all[i].path);
    free(q.all);
    return e;
}

/* By soname, then name, then version; a library itself before its functions. */
static int compare_wants(const void *a, const void *b)
{
    const struct want *x = a, *y = b;
    int order = strcmp(x->soname, y->soname);
    if (order == 0)
        order = strcmp(x->name == NULL ? "" : x->name, y->name == NULL ? "" : y->name);
    if (order == 0)
        order = strcmp(x->version == NULL ? "" : x->version, y->version == NULL ? "" : y->version);
    return order;
}

/* Gives "libcudnn.so" the number that some object names: "libcudnn.so.9". A function of a library that no object names
 * is dropped. */
static enum err wants_resolve(struct wants *w, struct err_detail *err)
{
    size_t kept = 0;
    const char *library = "";        /* the last one that was named; its functions follow it */
    if (w->n == 0)
        return ERR_OK;
    qsort(w->all, w->n, sizeof *w->all, compare_wants);
    for (size_t i = 0; i < w->n; i++) {
        struct want one = w->all[i];
        const bool is_numbered = has_number(one.soname);
        bool is_kept = one.name == NULL || (is_numbered && strcmp(one.soname, library) == 0);
        library = one.name == NULL ? one.soname : library;
        for (size_t k = 0; !is_kept && !is_numbered && k < w->n; k++)
            if (w->all[k].name == NULL && w->all[k].soname != NULL && begins(w->all[k].soname, one.soname)) {
                char *soname = strdup(w->all[k].soname);
                if (soname == NULL)
                    return err_no_memory(err);
                free(one.soname);
                one.soname = soname;
                is_kept = true;
            }
        w->all[i] = (struct want){ 0 };
        if (is_kept) {
            w->all[kept++] = one;
        } else {
            free(one.soname);
            free(one.name);
            free(one.version);
        }
    }
    w->n = kept;
    qsort(w->all, w->n, sizeof *w->all, compare_wants);
    return ERR_OK;
}

/* ---- writing ---- */

struct made {
    const char *soname;
    void  *bytes;
    size_t n;
};

/* Makes one library of what is wanted of its soname, [first, end). */
static enum err make_one(const struct want *first, size_t n, struct made *out, struct err_detail *err)
{
    struct elf_function *functions = calloc(n, sizeof *functions);
    size_t n_functions = 0;
    if (functions == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (first[i].name != NULL && (i == 0 || compare_wants(&first[i], &first[i - 1]) != 0))
            functions[n_functions++] = (struct elf_function){
                .name = first[i].name, .version = first[i].version, .target = target_of(first->soname, first[i].name) };
    const char *runtime = bundled_runtime(first->soname);
    const struct elf_library lib = { .soname = first->soname, .needed = runtime != NULL ? runtime : CORE_SONAME,
                                     .functions = functions, .n_functions = n_functions };
    const enum err e = elf_write(&lib, &out->bytes, &out->n, err);
    free(functions);
    out->soname = first->soname;
    return e;
}

static enum err make_folder(const char *path, struct err_detail *err)
{
    char part[4096];
    if (strlen(path) >= sizeof part)
        return err_at(err, ERR_IO, 0, path, "the name is too long");
    for (const char *at = path; at != NULL;) {
        at = strchr(at + 1, '/');
        const size_t n = at == NULL ? strlen(path) : (size_t)(at - path);
        memcpy(part, path, n);
        part[n] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return err_at(err, ERR_IO, 0, part, "cannot be made: %s", strerror(errno));
    }
    return ERR_OK;
}

/* What lies here is loaded into the program: it is ours, or the superuser's, and nobody else may write to it. */
static enum err check_owner(const char *path, const struct stat *st, struct err_detail *err)
{
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return err_at(err, ERR_INPUT, 0, path, "belongs to user %u, and what lies there would be loaded into the "
                      "program. Let XDG_CACHE_HOME name a folder of your own", (unsigned)st->st_uid);
    if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return err_at(err, ERR_INPUT, 0, path, "others may write to it, and what lies there would be loaded into the "
                      "program. Remove it, or let XDG_CACHE_HOME name a folder of your own");
    return ERR_OK;
}

/* A folder of ours that others may write to, by a loose umask, is closed to them. */
static enum err close_folder(const char *path, struct err_detail *err)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return err_at(err, ERR_IO, 0, path, "%s", strerror(errno));
    const mode_t closed = st.st_mode & 07777 & ~(mode_t)(S_IWGRP | S_IWOTH);
    if (st.st_uid == geteuid() && closed != (st.st_mode & 07777) && chmod(path, closed) == 0)
        st.st_mode = (st.st_mode & ~(mode_t)07777) | closed;
    return check_owner(path, &st, err);
}

/* The folder, and the two above it that are of replay's name. */
static enum err close_folders(const char *folder, struct err_detail *err)
{
    char path[4096];
    enum err e = ERR_OK;
    snprintf(path, sizeof path, "%s", folder);
    for (int i = 0; e == ERR_OK && i < 3; i++) {
        e = close_folder(path, err);
        *strrchr(path, '/') = '\0';
    }
    return e;
}

/* Writes to a temporary name first, because another run may be writing the same file. */
static enum err write_file(const char *folder, const struct made *m, struct err_detail *err)
{
    char path[4096], temporary[4096];
    snprintf(path, sizeof path, "%s/%s", folder, m->soname);
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.%d", path, (int)getpid()) >= sizeof temporary)
        return err_at(err, ERR_IO, 0, path, "the name is too long");
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
        return check_owner(path, &st, err);
    const int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    FILE *f = fd < 0 || fchmod(fd, 0644) != 0 ? NULL : fdopen(fd, "wb");
    const bool is_written = f != NULL && fwrite(m->bytes, 1, m->n, f) == m->n;
    const bool is_closed = f != NULL && fclose(f) == 0;
    if (is_written && is_closed && rename(temporary, path) == 0)
        return ERR_OK;
    const enum err e = err_at(err, ERR_IO, 0, path, "cannot be written: %s", strerror(errno));
    unlink(temporary);
    return e;
}

/* The sum of a text, added to that of the texts before it. The seed is fixed: the sum names a folder for later runs. */
static uint64_t sum_text(uint64_t sum, const char *text)
{
    static const struct hash_seed seed = { { UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xd1b54a32d192ed03) } };
    return hash_pair(&seed, sum, text == NULL ? 0 : hash_bytes(&seed, text, strlen(text) + 1));
}

/* The folder's name depends on what is wanted, on what answers it, and on how stand-ins are made; STANDINS_FORM changes
 * with the latter. */
static enum err name_folder(const struct wants *w, const char *cache, char **folder, struct err_detail *err)
{
    const size_t room = strlen(cache) + 32;
    uint64_t sum = sum_text(0, STANDINS_FORM);
    *folder = malloc(room);
    if (*folder == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < w->n; i++) {
        const struct want *one = &w->all[i];
        sum = sum_text(sum_text(sum_text(sum, one->soname), one->name), one->version);
        sum = sum_text(sum, one->name == NULL ? NULL : target_of(one->soname, one->name));
    }
    snprintf(*folder, room, "%s/standins/%016" PRIx64, cache, sum);
    return ERR_OK;
}

static enum err write_all(const struct made *made, size_t n, const char *folder, struct err_detail *err)
{
    enum err e = make_folder(folder, err);
    if (e == ERR_OK)
        e = close_folders(folder, err);
    for (size_t i = 0; e == ERR_OK && i < n; i++)
        e = write_file(folder, &made[i], err);
    return e;
}

/* Adds `soname` to the list. */
static enum err put_soname(struct standins *s, const char *soname, struct err_detail *err)
{
    char **sonames = realloc(s->sonames, (s->n_sonames + 1) * sizeof *sonames);
    if (sonames != NULL)
        s->sonames = sonames;
    if (sonames == NULL || (sonames[s->n_sonames] = strdup(soname)) == NULL)
        return err_no_memory(err);
    s->n_sonames++;
    return ERR_OK;
}

static enum err make_all(const struct wants *w, const char *cache, struct standins *out, struct err_detail *err)
{
    struct made *made = calloc(w->n + 1, sizeof *made);
    size_t n_made = 0;
    enum err e = made == NULL ? err_no_memory(err) : ERR_OK;
    for (size_t i = 0, n; e == ERR_OK && i < w->n; i += n) {
        for (n = 1; i + n < w->n && strcmp(w->all[i].soname, w->all[i + n].soname) == 0;)
            n++;
        if (is_ours(w->all[i].soname))
            continue;
        e = make_one(&w->all[i], n, &made[n_made], err);
        if (e == ERR_OK)
            e = put_soname(out, made[n_made++].soname, err);
    }
    out->n_made = n_made;
    if (e == ERR_OK && n_made > 0)
        e = name_folder(w, cache, &out->folder, err);
    if (e == ERR_OK && n_made > 0)
        e = write_all(made, n_made, out->folder, err);
    for (size_t i = 0; i < w->n && e == ERR_OK; i++)
        if (is_ours(w->all[i].soname) && (i == 0 || strcmp(w->all[i].soname, w->all[i - 1].soname) != 0))
            e = put_soname(out, w->all[i].soname, err);
    for (size_t i = 0; made != NULL && i < n_made; i++)
        free(made[i].bytes);
    free(made);
    return e;
}

enum err standins_make(const struct standin_places *places, const char *cache, struct standins *out,
                       struct err_detail *err)
{
    struct wants w = { .places = places, .names_left = PACKAGES_NAMES };
    struct elf_visitor v = { .library = on_library, .symbol = on_symbol, .arg = &w };
    enum err e = ERR_OK;
    *out = (struct standins){ 0 };
    for (size_t i = 0; e == ERR_OK && i < places->n_folders; i++)
        e = read_folder(places->folders[i], read_needs, &v, err);
    for (size_t i = 0; e == ERR_OK && i < places->plugins.n; i++)
        e = read_plugin(&w, &places->plugins.all[i], err);
    for (size_t i = 0; e == ERR_OK && i < places->n_packages; i++)
        e = read_packages(&w, places->packages[i], err);
    if (e == ERR_OK)
        e = wants_resolve(&w, err);
    if (e == ERR_OK)
        e = make_all(&w, cache, out, err);
    wants_close(&w);
    if (e != ERR_OK)
        standins_close(out);
    return e;
}

void standins_close(struct standins *s)
{
    for (size_t i = 0; i < s->n_sonames; i++)
        free(s->sonames[i]);
    free(s->sonames);
    free(s->folder);
    *s = (struct standins){ 0 };
}
