/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Stand-ins: the loader accepts the shared objects that we write, and those that we read may be anything. */
#include "cudasim/standins/elf_needs.h"
#include "cudasim/standins/elf_texts.h"
#include "cudasim/standins/elf_write.h"
#include "cudasim/standins/torch_standins.h"
#include "cudasim/standins/standins.h"
#include "tests/cudasim_rig.h"

#include <stdio.h>
#include <unistd.h>

void *dlvsym(void *library, const char *name, const char *version);

static const struct elf_function functions[] = {
    { .name = "blasGemm", .version = "libblas.so.7" },
    { .name = "blasCreate", .version = "libblas.so.7", .target = "cudasim_standin_create" },
    { .name = "blasOldGemm", .version = "libblas.so.6" },
    { .name = "blasErrorString", .target = "cudasim_standin_text" },
};
static const struct elf_library library = { .soname = "libblas.so.7", .needed = "libreplay-cudasim.so",
                                            .functions = functions, .n_functions = 4 };

/* Writes the library into a file and opens it. */
static void *open_written(void)
{
    char path[] = "/tmp/replay-test-XXXXXX";
    void *bytes;
    size_t n;
    struct err_detail err;
    cr_assert_eq(elf_write(&library, &bytes, &n, &err), ERR_OK, "%s", err.text);
    const int fd = mkstemp(path);
    cr_assert_eq(write(fd, bytes, n), (ssize_t)n);
    close(fd);
    free(bytes);
    void *opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    cr_assert_not_null(opened, "%s", dlerror());
    return opened;
}

Test(standins, a_written_library_is_loaded_and_its_functions_do_what_they_say)
{
    int (*gemm)(void) = NULL, (*create)(uint64_t *) = NULL;
    const char *(*text)(void) = NULL;
    uint64_t one = 0, two = 0;
    cudasim_rig_library("libreplay-cudasim.so");
    void *opened = open_written();
    cudasim_rig_find(opened, "blasGemm", &gemm);
    cudasim_rig_find(opened, "blasCreate", &create);
    cudasim_rig_find(opened, "blasErrorString", &text);
    cr_expect_eq(gemm(), 0);
    cr_expect_eq(create(&one), 0);
    cr_expect_eq(create(&two), 0);
    cr_expect_neq(one, 0);
    cr_expect_neq(one, two, "two handles are two");
    cr_expect_str_eq(text(), "simulated");
    cr_expect_null(dlsym(opened, "blasNothing"));
}

Test(standins, a_kernel_compiled_at_run_time_has_a_version_code_and_a_name)
{
    int (*version)(int *, int *), (*size)(uint64_t, size_t *), (*name)(uint64_t, const char *, const char **);
    int major = 0, minor = 0;
    size_t bytes = 0;
    const char *lowered = NULL;
    void *core = cudasim_rig_library("libreplay-cudasim.so");
    cudasim_rig_find(core, "cudasim_standin_nvrtc12_version", &version);
    cudasim_rig_find(core, "cudasim_standin_second_size_one", &size);
    cudasim_rig_find(core, "cudasim_standin_third_text", &name);
    cr_expect_eq(version(&major, &minor), 0);
    cr_expect_eq(major, 12);
    cr_expect_eq(size(1, &bytes), 0);
    cr_expect_gt(bytes, 0);
    cr_expect_eq(name(1, "kernel<float>", &lowered), 0);
    cr_expect_str_neq(lowered, "");
}

Test(standins, cudnn_tells_the_same_version_in_one_number_and_in_parts)
{
    size_t (*version)(void);
    int (*property)(int, int *), parts[3];
    void *core = cudasim_rig_library("libreplay-cudasim.so");
    cudasim_rig_find(core, "cudasim_standin_cudnn_version", &version);
    cudasim_rig_find(core, "cudasim_standin_cudnn_property", &property);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(property(i, &parts[i]), 0);
    cr_expect_eq(version(), (size_t)(parts[0] * 10000 + parts[1] * 100 + parts[2]));
    cudasim_rig_find(core, "cudasim_standin_cudnn8_version", &version);
    cudasim_rig_find(core, "cudasim_standin_cudnn8_property", &property);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(property(i, &parts[i]), 0);
    cr_expect_eq(version(), (size_t)(parts[0] * 1000 + parts[1] * 100 + parts[2]));
}

/* cuDNN's graphs, by the numbers of cudnn_graph.h. */
enum { RESULTS = 202, ENGINE = 300, KNOBS = 302, CONFIGURATION = 401, PLAN_WORKSPACE = 402, OPERATIONS = 801,
       GRAPH = 201, NOTES = 1303, TYPE_OF_DATA = 1, INT64 = 3, NOTE = 11, DESCRIPTOR = 15 };

struct graph_calls {
    int (*create)(int, void **);
    int (*set)(void *, int, int, int64_t, const void *);
    int (*get)(const void *, int, int, int64_t, int64_t *, void *);
    int (*forget)(void *);
};

static struct graph_calls graph_calls_find(void)
{
    struct graph_calls c;
    void *core = cudasim_rig_library("libreplay-cudasim.so");
    cudasim_rig_find(core, "cudasim_standin_graph_create", &c.create);
    cudasim_rig_find(core, "cudasim_standin_graph_set", &c.set);
    cudasim_rig_find(core, "cudasim_standin_graph_get", &c.get);
    cudasim_rig_find(core, "cudasim_standin_forget", &c.forget);
    return c;
}

static void *part_make(const struct graph_calls *c)
{
    void *made = NULL;
    cr_assert_eq(c->create(0, &made), 0);
    return made;
}

Test(standins, the_graph_of_cudnn_has_one_plan)
{
    const struct graph_calls c = graph_calls_find();
    void *plan = part_make(&c), *made = part_make(&c);
    int64_t n = -1, bytes = -1;
    cr_expect_neq(plan, made);
    static const struct { int name, type, n; } cases[] = {
        { RESULTS, DESCRIPTOR, 1 }, { ENGINE, DESCRIPTOR, 1 }, { CONFIGURATION, DESCRIPTOR, 1 },
        { KNOBS, DESCRIPTOR, 0 }, { NOTES, NOTE, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const void *was = made;
        cr_expect_eq(c.get(plan, cases[i].name, cases[i].type, 1, &n, &made), 0);
        cr_expect_eq(n, cases[i].n, "attribute %d", cases[i].name);
        cr_expect_eq(made, was, "a descriptor is the caller's");
    }
    cr_expect_eq(c.get(plan, RESULTS, DESCRIPTOR, 0, &n, NULL), 0, "how many are there?");
    cr_expect_eq(n, 1);
    cr_expect_eq(c.get(plan, PLAN_WORKSPACE, INT64, 1, &n, &bytes), 0);
    cr_expect_eq(n, 1);
    cr_expect_eq(bytes, 0, "of what is no convolution nothing is known");
    cr_expect_neq(c.create(0, NULL), 0);
    cr_expect_neq(c.set(NULL, GRAPH, DESCRIPTOR, 0, NULL), 0);
    cr_expect_neq(c.set(plan, GRAPH, DESCRIPTOR, 1, NULL), 0);
    cr_expect_neq(c.get(NULL, RESULTS, DESCRIPTOR, 0, &n, NULL), 0);
    c.forget(plan);
    c.forget(made);
}

/* A tensor of four dimensions, in bfloat16, in the usual layout. */
static void *tensor_make(const struct graph_calls *c, int64_t a, int64_t b, int64_t width)
{
    enum { BFLOAT16 = 9, TENSOR_TYPE = 901, SIZES, STRIDES };
    const int type = BFLOAT16;
    const int64_t sizes[] = { a, b, width, width }, strides[] = { b * width * width, width * width, width, 1 };
    void *t = part_make(c);
    cr_assert_eq(c->set(t, TENSOR_TYPE, TYPE_OF_DATA, 1, &type), 0);
    cr_assert_eq(c->set(t, SIZES, INT64, 4, sizes), 0);
    cr_assert_eq(c->set(t, STRIDES, INT64, 4, strides), 0);
    return t;
}

/* The graph of a forward pass, from 64 to 64 channels with a kernel of 3x3, up to its plan. */
static void *plan_make(const struct graph_calls *c)
{
    enum { FORWARD_CONVOLUTION = 702, FORWARD_W, FORWARD_X, FORWARD_Y, CONVOLUTION_STRIDES = 103 };
    enum { CONVOLUTION, X, W, Y, OPERATION, OF_OPERATION, HEURISTICS, RESULT, PLAN, N };
    const int64_t steps[] = { 1, 1 };
    void *parts[N] = { [X] = tensor_make(c, 8, 64, 56), [W] = tensor_make(c, 64, 64, 3),
                       [Y] = tensor_make(c, 8, 64, 56) };
    for (int i = 0; i < N; i++)
        parts[i] = parts[i] != NULL ? parts[i] : part_make(c);
    cr_assert_eq(c->set(parts[CONVOLUTION], CONVOLUTION_STRIDES, INT64, 2, steps), 0);
    const struct { int to, name, part; } given[] = {
        { OPERATION, FORWARD_CONVOLUTION, CONVOLUTION }, { OPERATION, FORWARD_X, X }, { OPERATION, FORWARD_W, W },
        { OPERATION, FORWARD_Y, Y }, { OF_OPERATION, OPERATIONS, OPERATION }, { HEURISTICS, GRAPH, OF_OPERATION },
    };
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        cr_assert_eq(c->set(parts[given[i].to], given[i].name, DESCRIPTOR, 1, &parts[given[i].part]), 0);
    cr_assert_eq(c->get(parts[HEURISTICS], RESULTS, DESCRIPTOR, 1, NULL, &parts[RESULT]), 0);
    cr_assert_eq(c->set(parts[PLAN], CONFIGURATION, DESCRIPTOR, 1, &parts[RESULT]), 0);
    for (int i = 0; i < PLAN; i++)
        c->forget(parts[i]);
    return parts[PLAN];
}

/* What cuDNN's stand-in says that a convolution needs, by each of the calls that PyTorch has for it. */
struct workspaces {
    int64_t plan;
    size_t  asked, chosen, found;
};

static struct workspaces workspaces_on(const char *device)
{
    struct facts { int algorithm, status; float time_ms; size_t bytes; int rest[5]; };
    struct facts chosen = { .status = -1 }, found = chosen;
    int n_chosen = 0, n_found = 0;
    int (*ask)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, size_t *);
    int (*choose)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, int *, void *);
    int (*find)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, int *,
                void *);
    struct workspaces w = { .plan = -1 };
    struct cudasim_rig r;
    cudasim_rig_open(&r, device, "libcudart.so.12");
    void *core = cudasim_rig_library("libreplay-cudasim.so");
    const struct graph_calls c = graph_calls_find();
    cudasim_rig_find(core, "cudasim_standin_convolution_workspace", &ask);
    cudasim_rig_find(core, "cudasim_standin_algorithms_7", &choose);
    cudasim_rig_find(core, "cudasim_standin_algorithms_10", &find);
    void *plan = plan_make(&c);
    cr_expect_eq(c.get(plan, PLAN_WORKSPACE, INT64, 1, NULL, &w.plan), 0);
    c.forget(plan);
    cr_expect_eq(ask(1, 2, 3, 4, 5, 6, &w.asked), 0);
    cr_expect_eq(choose(1, 2, 3, 4, 5, 6, &n_chosen, &chosen), 0);
    cr_expect_eq(find(1, 2, 3, 4, 5, 6, 7, 8, 9, &n_found, &found), 0);
    cr_expect_eq(n_chosen, 1);
    cr_expect_eq(n_found, 1);
    w.chosen = chosen.bytes;
    w.found = found.bytes;
    return w;
}

Test(standins, a_convolution_needs_the_workspace_that_the_device_says)
{
    const struct workspaces w = workspaces_on("sim:1GiB,workspaces=96MiB");
    cr_expect_eq(w.plan, 96 * MIB);
    cr_expect_eq(w.asked, 96 * MIB);
    cr_expect_eq(w.chosen, 96 * MIB);
    cr_expect_eq(w.found, 96 * MIB);
}

/* The card answered 6496272 for it (tests/data/convolutions.csv): copies of input, weights and output, and 16. */
Test(standins, without_a_word_about_it_a_convolution_needs_what_is_likely)
{
    const struct workspaces w = workspaces_on("sim:1GiB");
    cr_expect_eq(w.plan, 2 * (2 * 8 * 64 * 56 * 56 + 64 * 64 * 9) + 16);
    cr_expect_eq(w.asked, 0, "older calls: nothing is known of the shape");
    cr_expect_eq(w.chosen, 0);
    cr_expect_eq(w.found, 0);
}

Test(standins, a_convolution_needs_nothing_if_the_device_says_so)
{
    cr_expect_eq(workspaces_on("sim:1GiB,workspaces=none").plan, 0);
}

Test(standins, a_convolution_needs_the_most_if_the_device_says_so)
{
    const struct workspaces w = workspaces_on("sim:1GiB,workspaces=most");
    cr_expect_gt(w.plan, 2 * (2 * 8 * 64 * 56 * 56 + 64 * 64 * 9) + 16);
}

/* What cudnn.benchmark would try: a convolution by Fourier transforms, of 58x58 padded to 64x64, twice. */
Test(standins, a_search_finds_a_second_configuration_if_it_is_told_to)
{
    struct cudasim_rig r;
    int64_t n = -1, likely = -1, tried = -1;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    const struct graph_calls c = graph_calls_find();
    void *plan = plan_make(&c), *found[] = { part_make(&c), part_make(&c) };
    cr_expect_eq(c.get(plan, RESULTS, DESCRIPTOR, 0, &n, NULL), 0);
    cr_expect_eq(n, 1);
    setenv("REPLAY_CUDASIM_SEARCH", "most", 1);
    cr_expect_eq(c.get(plan, RESULTS, DESCRIPTOR, 2, &n, found), 0);
    cr_expect_eq(n, 2);
    cr_expect_eq(c.get(found[0], PLAN_WORKSPACE, INT64, 1, &n, &likely), 0);
    cr_expect_eq(c.get(found[1], PLAN_WORKSPACE, INT64, 1, &n, &tried), 0);
    cr_expect_eq(likely, 2 * (2 * 8 * 64 * 56 * 56 + 64 * 64 * 9) + 16);
    cr_expect_eq(tried, (8 * (64 + 64) + 64 * 64) * 2 * 64 * 33 * 8);
    c.forget(plan);
    c.forget(found[0]);
    c.forget(found[1]);
}

/* That it is noted is seen by tests/against-torch/workspaces.py. */
Test(standins, a_plan_may_be_run_twice_with_the_same_operands)
{
    int (*execute)(uint64_t, void *, void *);
    struct cudasim_rig r;
    const struct graph_calls c = graph_calls_find();
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cudasim_rig_find(cudasim_rig_library("libreplay-cudasim.so"), "cudasim_standin_graph_execute", &execute);
    void *plan = plan_make(&c), *pack = part_make(&c), *other = part_make(&c);
    cr_expect_eq(execute(1, plan, pack), 0);
    cr_expect_eq(execute(1, plan, other), 0);
    cr_expect_eq(execute(1, plan, pack), 0);
    cr_expect_eq(execute(1, NULL, NULL), 0, "it does nothing");
    cr_expect(c.forget(plan) == 0 && c.forget(pack) == 0 && c.forget(other) == 0);
}

Test(standins, nccl_gives_memory_of_the_card_and_its_operations_are_ints)
{
    struct cudasim_rig r;
    int (*alloc)(void **, size_t), (*give)(void *), (*create)(int *), (*all)(uint64_t *, int, const int *);
    int (*split)(uint64_t, int, int, uint64_t *), (*rank)(uint64_t, int *), operation[2] = { 0, 77 }, found = -1;
    uint64_t comms[2] = { 0 };
    void *p = NULL, *core = cudasim_rig_library("libreplay-cudasim.so");
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cudasim_rig_find(core, "cudasim_standin_nccl_alloc", &alloc);
    cudasim_rig_find(core, "cudasim_standin_nccl_free", &give);
    cudasim_rig_find(core, "cudasim_standin_create_int", &create);
    cudasim_rig_find(core, "cudasim_standin_comm_all", &all);
    cudasim_rig_find(core, "cudasim_standin_comm_rank", &rank);
    const uint64_t free_bytes = cudasim_rig_free_bytes(&r);
    cr_expect_eq(alloc(&p, 3 * MIB), 0);
    cr_expect_eq(cudasim_rig_free_bytes(&r), free_bytes - 4 * MIB);
    cr_expect_eq(give(p), 0);
    cr_expect_eq(cudasim_rig_free_bytes(&r), free_bytes);
    cr_expect_neq(alloc(&p, 2 * GIB), 0, "more than the card has");
    cr_expect_eq(create(operation), 0);
    cr_expect_eq(operation[1], 77, "no more than an int is written");
    cr_expect_eq(all(comms, 2, NULL), 0);
    cr_expect_eq(rank(comms[1], &found), 0);
    cr_expect_eq(found, 1);
    cudasim_rig_find(core, "cudasim_standin_comm_split", &split);
    cr_expect_eq(split(comms[1], 0, 5, &comms[0]), 0);
    cr_expect_eq(rank(comms[0], &found), 0);
    cr_expect_eq(found, 5);
    cr_expect_eq(split(comms[1], -1, 0, &comms[0]), 0);
    cr_expect_eq(comms[0], 0, "a rank without a colour is in no part");
}

Test(standins, a_function_is_found_under_its_version_and_no_other)
{
    cudasim_rig_library("libreplay-cudasim.so");
    void *opened = open_written();
    cr_expect_not_null(dlvsym(opened, "blasGemm", "libblas.so.7"));
    cr_expect_null(dlvsym(opened, "blasGemm", "libblas.so.6"));
    cr_expect_not_null(dlvsym(opened, "blasOldGemm", "libblas.so.6"));
}

Test(standins, the_same_wishes_give_the_same_bytes)
{
    void *one, *two;
    size_t n_one, n_two;
    cr_assert_eq(elf_write(&library, &one, &n_one, NULL), ERR_OK);
    cr_assert_eq(elf_write(&library, &two, &n_two, NULL), ERR_OK);
    cr_expect_eq(n_one, n_two);
    cr_expect_eq(memcmp(one, two, n_one), 0);
    free(one);
    free(two);
}

struct seen {
    int  libraries, symbols;
    bool has_libc, has_gnu_version, has_target;
};

static bool on_library(void *arg, const char *soname)
{
    struct seen *s = arg;
    s->libraries++;
    s->has_libc = s->has_libc || strcmp(soname, "libc.so.6") == 0;
    return true;
}

static bool on_symbol(void *arg, const char *name, const char *version, const char *from)
{
    struct seen *s = arg;
    s->symbols++;
    s->has_target = s->has_target || strcmp(name, "cudasim_standin_create") == 0;
    s->has_gnu_version = s->has_gnu_version || (version != NULL && from != NULL && strncmp(version, "GLIBC_", 6) == 0);
    return true;
}

static enum err walk(const void *bytes, size_t n, struct seen *s)
{
    const struct elf_visitor v = { .library = on_library, .symbol = on_symbol, .arg = s };
    return elf_needs(bytes, n, &v, NULL);
}

/* This test's own program, which a linker wrote. */
static char *own_program(size_t *n)
{
    FILE *f = fopen("/proc/self/exe", "rb");
    cr_assert_not_null(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    char *bytes = malloc(*n);
    rewind(f);
    cr_assert_eq(fread(bytes, 1, *n, f), *n);
    fclose(f);
    return bytes;
}

Test(standins, needs_are_read_with_library_and_version)
{
    struct seen s = { 0 };
    size_t n;
    char *bytes = own_program(&n);
    cr_expect_eq(walk(bytes, n, &s), ERR_OK);
    cr_expect(s.has_libc);
    cr_expect(s.has_gnu_version);
    free(bytes);
}

Test(standins, a_file_cut_off_anywhere_is_refused_or_read_as_far_as_it_goes)
{
    size_t n;
    struct seen whole = { 0 };
    char *bytes = own_program(&n);
    cr_expect_eq(walk(bytes, n, &whole), ERR_OK);
    for (size_t cut = 0; cut < n; cut += cut < 1024 ? 1 : n / 199) {
        struct seen s = { 0 };
        char *copy = malloc(cut + 1);
        memcpy(copy, bytes, cut);
        cr_expect(walk(copy, cut, &s) == ERR_FORMAT || s.symbols <= whole.symbols);
        free(copy);
    }
    free(bytes);
}

Test(standins, a_library_without_a_table_of_sections_is_refused)
{
    void *bytes;
    size_t n;
    struct seen s = { 0 };
    cr_assert_eq(elf_write(&library, &bytes, &n, NULL), ERR_OK);
    cr_expect_eq(walk(bytes, n, &s), ERR_FORMAT);
    free(bytes);
}

Test(standins, a_folder_without_shared_objects_wants_nothing)
{
    char folder[] = "/tmp/replay-test-XXXXXX";
    struct standins s;
    cr_assert_not_null(mkdtemp(folder));
    const char *folders[] = { folder };
    const struct standin_places places = { .folders = folders, .n_folders = 1 };
    cr_expect_eq(standins_make(&places, folder, &s, NULL), ERR_OK);
    cr_expect_null(s.folder);
    cr_expect_eq(s.n_sonames, 0);
    standins_close(&s);
    rmdir(folder);
}

/* PyTorch names libcublas.so.12 and takes nothing of it here; a package as deep as vLLM's DeepGEMM takes cublasHgemm,
 * and one that no library of PyTorch's has. */
Test(standins, a_package_beside_pytorch_gets_functions_of_the_libraries_that_pytorch_names)
{
    char root[] = "/tmp/replay-test-XXXXXX", torch[64], package[80], path[4400];
    struct standins s;
    cr_assert_not_null(mkdtemp(root));
    snprintf(torch, sizeof torch, "%s/torch", root);
    snprintf(package, sizeof package, "%s/vllm/third_party/deep_gemm", root);
    snprintf(path, sizeof path, "mkdir -p %s %s && cp %s %s/_C.so && cp %s %s/libtorch_cuda.so", torch, package,
             PACKAGE_THAT_ASKS, package, TORCH_THAT_NAMES, torch);
    cr_assert_eq(system(path), 0);
    const char *folders[] = { torch }, *packages[] = { root, "/nonexistent" };
    const struct standin_places places = { .folders = folders, .n_folders = 1, .packages = packages, .n_packages = 2 };
    cr_assert_eq(standins_make(&places, root, &s, NULL), ERR_OK);
    cr_assert_eq(s.n_made, 1);
    cr_expect_str_eq(s.sonames[0], "libcublas.so.12");
    snprintf(path, sizeof path, "%s/libcublas.so.12", s.folder);
    cudasim_rig_library("libreplay-cudasim.so");
    void *opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(opened, "%s", dlerror());
    cr_expect_not_null(dlsym(opened, "cublasHgemm"));
    cr_expect_null(dlsym(opened, "cufftExecZ2Z"));
    standins_close(&s);
    snprintf(path, sizeof path, "rm -rf %s", root);
    cr_expect_eq(system(path), 0);
}

/* A wheel brings a runtime under its own name, whose contents are not looked at. What is asked of it is the simulated
 * one's; a name that is none, or that of the runtime itself, gets nothing. */
Test(standins, a_runtime_that_a_wheel_brings_is_the_simulated_one)
{
    char root[] = "/tmp/replay-test-XXXXXX", command[400], path[4400];
    struct standins s;
    cr_assert_not_null(mkdtemp(root));
    snprintf(command, sizeof command, "cd %s && mkdir a.libs b.libs && echo x >a.libs/libcudart.faf08d9a.so.13 && "
             "echo x >b.libs/libcudart-c64a25f3.so.12.3.101 && echo x >b.libs/libcudart.so.12 && "
             "echo x >b.libs/libcudart_stub.so && echo x >b.libs/libcudart-1.so.120", root);
    cr_assert_eq(system(command), 0);
    const char *packages[] = { root };
    const struct standin_places places = { .packages = packages, .n_packages = 1 };
    cr_assert_eq(standins_make(&places, root, &s, NULL), ERR_OK);
    cr_assert_eq(s.n_made, 2);
    cr_expect_str_eq(s.sonames[0], "libcudart-c64a25f3.so.12.3.101");
    cr_expect_str_eq(s.sonames[1], "libcudart.faf08d9a.so.13");
    for (size_t i = 0; i < s.n_made; i++) {
        cudasim_rig_library("libreplay-cudasim.so");
        void *simulated = cudasim_rig_library(i == 0 ? "libcudart.so.12" : "libcudart.so.13");
        snprintf(path, sizeof path, "%s/%s", s.folder, s.sonames[i]);
        void *opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        cr_assert_not_null(opened, "%s", dlerror());
        cr_expect_eq(dlsym(opened, "cudaMemcpy"), dlsym(simulated, "cudaMemcpy"));
    }
    standins_close(&s);
    snprintf(path, sizeof path, "rm -rf %s", root);
    cr_expect_eq(system(path), 0);
}

static bool count_text(void *arg, const char *text)
{
    *(size_t *)arg += strcmp(text, "a_file_cut_off_anywhere_loses_texts_and_gains_none") == 0;
    return true;
}

Test(standins, a_file_cut_off_anywhere_loses_texts_and_gains_none)
{
    size_t n, whole = 0;
    char *bytes = own_program(&n);
    cr_expect_eq(elf_texts(bytes, n, count_text, &whole, NULL), ERR_OK);
    cr_expect_gt(whole, 0);
    for (size_t cut = 0; cut < n; cut += cut < 64 ? 1 : n / 59) {
        size_t found = 0;
        char *copy = malloc(cut + 1);
        memcpy(copy, bytes, cut);
        const enum err e = elf_texts(copy, cut, count_text, &found, NULL);
        cr_expect((e == ERR_OK || e == ERR_FORMAT) && found <= whole);
        free(copy);
    }
    free(bytes);
}

/* The function of a stand-in in a folder; the library stays open. */
static void find_in(const char *folder, const char *soname, const char *name, void *function)
{
    char path[4400];
    snprintf(path, sizeof path, "%s/%s", folder, soname);
    void *opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(opened, "%s", dlerror());
    cudasim_rig_find(opened, name, function);
}

/* A plugin for CUDA 13 beside no torch: the libraries of that CUDA, with the functions that it names. */
Test(standins, a_plugin_of_jax_gets_the_libraries_of_its_cuda_and_what_it_asks_of_them)
{
    char root[] = "/tmp/replay-test-XXXXXX", command[4400], found[64];
    struct standins s;
    struct real_libraries real = { 0 };
    int (*fft)(int *), (*create)(uint64_t *), (*sparse)(int, int *), version = 0;
    const char *(*text)(int);
    uint64_t handle = 0;
    cr_assert_not_null(mkdtemp(root));
    snprintf(command, sizeof command, "mkdir -p %s/jax_plugins/xla_cuda13 %s/jax_plugins/xla_other && "
             "cp %s %s/jax_plugins/xla_cuda13/xla_cuda_plugin.so", root, root, JAX_THAT_OPENS, root);
    cr_assert_eq(system(command), 0);
    snprintf(found, sizeof found, ":%s:/nonexistent", root);
    cr_assert_eq(torch_standins_make(found, root, false, &real, &s, NULL), ERR_OK);
    cudasim_rig_library("libreplay-cudasim.so");
    find_in(s.folder, "libcufft.so.12", "cufftGetVersion", &fft);
    find_in(s.folder, "libcublasLt.so.13", "cublasLtCreate", &create);
    find_in(s.folder, "libcublasLt.so.13", "cublasLtGetStatusString", &text);
    find_in(s.folder, "libcusparse.so.12", "cusparseGetProperty", &sparse);
    cr_expect_eq(fft(&version), 0);
    cr_expect(version >= 12000 && version < 13000, "cuFFT 12 says %d", version);
    cr_expect(create(&handle) == 0 && handle != 0);
    cr_expect_str_neq(text(1), "");
    cr_expect(sparse(0, &version) == 0 && version == 12);
    cr_expect_str_eq(s.sonames[s.n_made], "libcudart.so.13", "the runtime is the simulated one");
    standins_close(&s);
    snprintf(command, sizeof command, "rm -rf %s", root);
    cr_expect_eq(system(command), 0);
}

Test(standins, tensorflow_gets_the_libraries_of_cuda_12)
{
    char root[] = "/tmp/replay-test-XXXXXX", command[4400], found[64];
    struct standins s;
    struct real_libraries real = { 0 };
    uint64_t handle = 0;
    int (*create)(uint64_t *);
    cr_assert_not_null(mkdtemp(root));
    snprintf(command, sizeof command, "mkdir %s/tensorflow && cp %s %s/tensorflow/libtensorflow_cc.so.2", root,
             JAX_THAT_OPENS, root);
    cr_assert_eq(system(command), 0);
    snprintf(found, sizeof found, ":%s", root);
    cr_assert_eq(torch_standins_make(found, root, false, &real, &s, NULL), ERR_OK);
    cudasim_rig_library("libreplay-cudasim.so");
    find_in(s.folder, "libcublasLt.so.12", "cublasLtCreate", &create);
    cr_expect(create(&handle) == 0 && handle != 0);
    standins_close(&s);
    snprintf(command, sizeof command, "rm -rf %s", root);
    cr_expect_eq(system(command), 0);
}

/* PyTorch asks for one, XLA's autotuner for 128. */
Test(standins, cublaslt_names_as_many_algorithms_as_are_asked_for_up_to_eight)
{
    struct result { unsigned char algorithm[64]; size_t bytes; int status; float waves; int rest[4]; } results[9];
    int (*ask)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, int, void *, int *), n = 0;
    memset(results, 0xff, sizeof results);
    cudasim_rig_find(cudasim_rig_library("libreplay-cudasim.so"), "cudasim_standin_product_algorithms", &ask);
    cr_expect_eq(ask(1, 2, 3, 4, 5, 6, 7, 1, results, &n), 0);
    cr_expect_eq(n, 1);
    cr_expect(results[0].status == 0 && results[0].bytes == 0 && results[1].status != 0);
    cr_expect_eq(ask(1, 2, 3, 4, 5, 6, 7, 128, results, &n), 0);
    cr_expect_eq(n, 8);
    cr_expect(results[7].status == 0 && results[8].status != 0);
}

Test(standins, a_folder_that_is_not_there_is_an_error)
{
    struct standins s;
    struct err_detail err;
    const char *folders[] = { "/nonexistent" };
    const struct standin_places places = { .folders = folders, .n_folders = 1 };
    cr_expect_eq(standins_make(&places, "/tmp", &s, &err), ERR_IO);
    cr_expect_not_null(strstr(err.text, "/nonexistent"));
}

/* cublas...getrsBatched says errors in host memory, at its tenth argument; PyTorch looks at it. */
Test(standins, a_library_says_on_the_host_that_all_went_well)
{
    int (*solve)(uint64_t, int, int, int, void *, int, void *, void *, int, int *, int);
    int (*factor)(uint64_t, int, int, void *, int, void *, int *, int);
    int info = 77;
    void *core = cudasim_rig_library("libreplay-cudasim.so");
    cudasim_rig_find(core, "cudasim_standin_work_info_10", &solve);
    cudasim_rig_find(core, "cudasim_standin_work_info_7", &factor);
    cr_expect_eq(solve(1, 0, 4, 4, NULL, 4, NULL, NULL, 4, &info, 2), 0);
    cr_expect_eq(info, 0);
    info = 77;
    cr_expect_eq(factor(1, 4, 4, NULL, 4, NULL, &info, 2), 0);
    cr_expect_eq(info, 0);
}

Test(standins, a_sum_of_sparse_matrices_has_the_elements_of_both)
{
    int (*sum)(uint64_t, int, int, void *, int, void *, void *, void *, int, void *, void *, void *, void *, int *,
               void *);
    int (*size)(uint64_t, int64_t *, int64_t *, int64_t *);
    int n = 0;
    int64_t rows = 7, columns = 7, elements = 7;
    void *core = cudasim_rig_library("libreplay-cudasim.so");
    cudasim_rig_find(core, "cudasim_standin_sum_elements", &sum);
    cudasim_rig_find(core, "cudasim_standin_product_elements", &size);
    cr_expect_eq(sum(1, 9, 9, NULL, 20, NULL, NULL, NULL, 30, NULL, NULL, NULL, NULL, &n, NULL), 0);
    cr_expect_eq(n, 50);
    cr_expect_eq(size(1, &rows, &columns, &elements), 0);
    cr_expect(rows == 0 && columns == 0 && elements == 0, "nobody said how many a product has");
}

/* Arguments of cuSPARSE's that a size depends on: a5 and a6 are matrices, a13 is the buffer. */
typedef int sparse_call(uint64_t, uint64_t, uint64_t, void *, void *, void *, void *, void *, uint64_t, uint64_t,
                        void *, size_t *, void *);

Test(standins, a_product_of_sparse_matrices_asks_for_its_products_before_it_has_a_buffer)
{
    int (*make)(void **, int64_t, int64_t, int64_t, void *, void *, void *, int, int, int, int), (*forget)(void *);
    void (*answer)(const int64_t *, uint64_t), *core = cudasim_rig_library("libreplay-cudasim.so");
    sparse_call *product;
    void *a = NULL;
    size_t even = 7, said = 7, kept = 7;
    const int64_t products = 50;
    cudasim_rig_find(core, "cudasim_standin_sparse_compressed", &make);
    cudasim_rig_find(core, "cudasim_standin_sparse_product", &product);
    cudasim_rig_find(core, "cudasim_standin_forget", &forget);
    cudasim_rig_find(core, "cudasim_values_answer", &answer);
    cr_assert_eq(make(&a, 100, 100, 1000, NULL, NULL, NULL, 2, 2, 0, 0), 0);
    cr_expect_eq(product(1, 0, 0, NULL, a, a, NULL, NULL, 0, 0, NULL, &even, NULL), 0);
    cr_expect_eq(even, 10000 * 8, "10 products for each element, of a value and a column of 4 bytes each");
    answer(&products, 1);
    cr_expect_eq(product(1, 0, 0, NULL, a, a, NULL, NULL, 0, 0, NULL, &said, NULL), 0);
    cr_expect_eq(said, 50 * 8, "so many were said");
    cr_expect_eq(product(1, 0, 0, NULL, a, a, NULL, NULL, 0, 0, NULL, &kept, a), 0);
    cr_expect_eq(kept, 7, "with a buffer it works");
    cr_expect_eq(forget(a), 0);
}

/* ---- RNNs ---- */

struct rnn_calls {
    int (*create)(void **), (*create_data)(void **), (*create_dropout)(void **), (*create_tensor)(void **);
    int (*set_dropout)(void *, uint64_t, float, void *, size_t, unsigned long long);
    int (*set)(void *, int, int, int, int, int, int, int, int, int, int, int, int, void *, unsigned);
    int (*set_data)(void *, int, int, int, int, int, const int *, void *);
    int (*sizes)(uint64_t, void *, int, void *, size_t *, size_t *);
    int (*weights)(uint64_t, void *, size_t *);
    int (*weight)(uint64_t, void *, int, size_t, char *, int, void *, char **, void *, char **);
    int (*tensor)(void *, int, int *, int *, int *, int *);
    int (*forget)(void *);
};

static struct rnn_calls rnn_calls(void)
{
    struct rnn_calls c;
    void *core = cudasim_rig_library("libreplay-cudasim.so");
    cudasim_rig_find(core, "cudasim_standin_rnn", &c.create);
    cudasim_rig_find(core, "cudasim_standin_rnn_data", &c.create_data);
    cudasim_rig_find(core, "cudasim_standin_dropout", &c.create_dropout);
    cudasim_rig_find(core, "cudasim_standin_tensor", &c.create_tensor);
    cudasim_rig_find(core, "cudasim_standin_dropout_set", &c.set_dropout);
    cudasim_rig_find(core, "cudasim_standin_rnn_set", &c.set);
    cudasim_rig_find(core, "cudasim_standin_rnn_data_set", &c.set_data);
    cudasim_rig_find(core, "cudasim_standin_rnn_sizes", &c.sizes);
    cudasim_rig_find(core, "cudasim_standin_rnn_weights", &c.weights);
    cudasim_rig_find(core, "cudasim_standin_rnn_weight", &c.weight);
    cudasim_rig_find(core, "cudasim_standin_tensor_get", &c.tensor);
    cudasim_rig_find(core, "cudasim_standin_forget", &c.forget);
    return c;
}

enum { RNN_LSTM = 2, TWO_BIASES = 2, RNN_FLOAT = 0, RNN_SMALL = 3, UNPACKED = 0, PACKED = 1 };

/* The figures are those of an H100: the first and the fifth shape of tests/data/rnns.jsonl. */
Test(standins, an_lstm_asks_for_what_it_asked_for_on_a_card)
{
    const struct rnn_calls c = rnn_calls();
    const int lengths[8] = { 20, 18, 17, 15, 14, 12, 11, 10 };
    void *rnn = NULL, *data = NULL, *dropout = NULL;
    size_t weights = 0, workspace = 0, reserve = 1;
    cr_assert(c.create(&rnn) == 0 && c.create_data(&data) == 0 && c.create_dropout(&dropout) == 0);
    cr_expect_eq(c.set_dropout(dropout, 1, 0, NULL, 0, 0), 0);
    cr_expect_eq(c.set(rnn, RNN_SMALL, RNN_LSTM, TWO_BIASES, 0, 0, RNN_FLOAT, RNN_FLOAT, 0, 64, 128, 128, 1, dropout,
                       1), 0);
    cr_expect_eq(c.set_data(data, RNN_FLOAT, UNPACKED, 20, 8, 64, lengths, NULL), 0);
    cr_expect(c.weights(1, rnn, &weights) == 0 && weights == 397312);
    cr_expect(c.sizes(1, rnn, 1, data, &workspace, &reserve) == 0 && workspace == 10576192 && reserve == 409856);
    cr_expect(c.sizes(1, rnn, 0, data, &workspace, &reserve) == 0 && workspace == 10576192 && reserve == 0);
    cr_expect_eq(c.set(rnn, 0, RNN_LSTM, TWO_BIASES, 0, 0, RNN_FLOAT, RNN_FLOAT, 0, 64, 128, 128, 1, dropout, 0), 0);
    cr_expect_eq(c.set_data(data, RNN_FLOAT, PACKED, 20, 8, 64, lengths, NULL), 0);
    cr_expect(c.sizes(1, rnn, 1, data, &workspace, &reserve) == 0 && workspace == 9046272 && reserve == 299776);
    cr_expect(c.set_data(data, RNN_FLOAT, PACKED, 19, 8, 64, lengths, NULL) != 0, "one is longer than the longest");
    cr_expect(c.weights(1, NULL, &weights) != 0 && c.sizes(1, rnn, 1, NULL, &workspace, &reserve) != 0);
    cr_expect(c.forget(rnn) == 0 && c.forget(data) == 0 && c.forget(dropout) == 0);
}

/* PyTorch takes each run of gates as one tensor, so they follow each other; and no two weights share a byte. */
Test(standins, weights_of_an_rnn_fill_their_buffer_one_after_the_other)
{
    enum { INPUT = 5, HIDDEN = 7, LAYERS = 2, GATES = 4, MATRICES = 2 * GATES };
    static char buffer[1 << 16];
    const struct rnn_calls c = rnn_calls();
    void *rnn = NULL, *matrix = NULL, *bias = NULL;
    size_t bytes = 0, n = 0;
    char *at, *bias_at, *next = buffer;
    int type, n_dimensions, dimensions[3], strides[3];
    cr_assert(c.create(&rnn) == 0 && c.create_tensor(&matrix) == 0 && c.create_tensor(&bias) == 0);
    cr_assert_eq(c.set(rnn, 0, RNN_LSTM, TWO_BIASES, 1, 0, RNN_FLOAT, RNN_FLOAT, 0, INPUT, HIDDEN, HIDDEN, LAYERS, NULL,
                       1), 0);
    cr_assert_eq(c.weights(1, rnn, &bytes), 0);
    char *next_bias = buffer + bytes - 2 * LAYERS * MATRICES * HIDDEN * sizeof(float);
    for (int layer = 0; layer < 2 * LAYERS; layer++)
        for (int k = 0; k < MATRICES; k++) {
            cr_assert_eq(c.weight(1, rnn, layer, bytes, buffer, k, matrix, &at, bias, &bias_at), 0);
            cr_expect_eq(at, next, "layer %d, matrix %d", layer, k);
            cr_expect_eq(c.tensor(matrix, 3, &type, &n_dimensions, dimensions, strides), 0);
            cr_expect(type == RNN_FLOAT && n_dimensions == 3 && dimensions[0] == 1 && dimensions[1] == HIDDEN);
            cr_expect_eq(dimensions[2], k >= GATES ? HIDDEN : layer < 2 ? INPUT : 2 * HIDDEN);
            next += sizeof(float) * (size_t)(dimensions[1] * dimensions[2]);
            cr_expect_eq(bias_at, next_bias, "layer %d, bias %d", layer, k);
            next_bias += sizeof(float) * HIDDEN;
            n++;
        }
    cr_expect_eq(n, 2 * LAYERS * MATRICES);
    cr_expect_eq(next, buffer + bytes - 2 * LAYERS * MATRICES * HIDDEN * sizeof(float));
    cr_expect_eq(next_bias, buffer + bytes);
    cr_expect_neq(c.weight(1, rnn, 2 * LAYERS, bytes, buffer, 0, matrix, &at, bias, &bias_at), 0, "no such layer");
    cr_expect_eq(c.weight(1, rnn, 0, bytes, buffer, MATRICES, matrix, &at, bias, &bias_at), 0, "asked for by TF");
    cr_expect(at == NULL && bias_at == NULL && c.tensor(matrix, 3, &type, &n_dimensions, dimensions, strides) == 0);
    cr_expect(n_dimensions == 3 && dimensions[1] == 0 && dimensions[2] == 0, "there is no projection");
    cr_expect_neq(c.weight(1, rnn, 0, bytes, buffer, MATRICES + 1, matrix, &at, bias, &bias_at), 0, "no such matrix");
    cr_expect_eq(c.weight(1, rnn, 0, bytes, buffer, 0, matrix, &at, NULL, NULL), 0, "the bias may be left out");
    cr_expect(c.forget(rnn) == 0 && c.forget(matrix) == 0 && c.forget(bias) == 0);
}

Test(standins, dropout_keeps_random_numbers_for_each_thread_of_the_card)
{
    int (*states)(uint64_t, size_t *);
    struct cudasim_rig r;
    size_t bytes = 0;
    cudasim_rig_open(&r, "sim:h100-80g", "libcudart.so.12");
    cudasim_rig_find(cudasim_rig_library("libreplay-cudasim.so"), "cudasim_standin_dropout_states", &states);
    cr_expect_eq(states(1, &bytes), 0);
    cr_expect_eq(bytes, 6488064, "as on an H100");
}
