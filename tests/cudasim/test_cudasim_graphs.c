/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Nodes of graphs that take memory and give it back, and graphs made node by node, as NVIDIA documents them. */
#include "tests/cudasim_rig.h"

enum { USED, USED_HIGH, RESERVED, RESERVED_HIGH };
enum { AUTO_FREE = 1 };

static struct cudasim_alloc_params want(uint64_t bytes)
{
    return (struct cudasim_alloc_params){ .pool = { .type = 1, .location_type = 1 }, .bytes = bytes };
}

static uint64_t pool_of_graphs(const struct cudasim_rig *r, int attribute)
{
    uint64_t value = UINT64_MAX;
    cr_assert_eq(r->cudaDeviceGetGraphMemAttribute(0, attribute, &value), CODE_SUCCESS);
    return value;
}

/* A graph that takes memory, and gives it back if `is_freed`. */
static uint64_t make_graph(const struct cudasim_rig *r, uint64_t bytes, bool is_freed, uint64_t *addr)
{
    uint64_t graph = 0, node = 0;
    struct cudasim_alloc_params p = want(bytes);
    cr_assert_eq(r->cudaGraphCreate(&graph, 0), CODE_SUCCESS);
    cr_assert_eq(r->cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &p), CODE_SUCCESS);
    if (is_freed)
        cr_assert_eq(r->cudaGraphAddMemFreeNode(&node, graph, &node, 1, (void *)(uintptr_t)p.addr), CODE_SUCCESS);
    *addr = p.addr;
    return graph;
}

static uint64_t instantiate(const struct cudasim_rig *r, uint64_t graph, uint64_t flags)
{
    uint64_t exec = 0;
    cr_assert_eq(r->cudaGraphInstantiateWithFlags(&exec, graph, flags), CODE_SUCCESS);
    return exec;
}

Test(cudasim_graphs, memory_that_a_graph_gives_back_serves_the_next_launch_until_it_is_trimmed)
{
    struct cudasim_rig r;
    uint64_t a = 0, b = 0;
    cudasim_rig_open(&r, "sim:1GiB,packing=off", "libcudart.so.12");
    const uint64_t one = make_graph(&r, 64 * MIB, true, &a), other = make_graph(&r, 40 * MIB, true, &b);
    const uint64_t first = instantiate(&r, one, 0), second = instantiate(&r, other, 0);
    cr_expect_neq(a, b, "graphs have addresses of their own");
    cr_expect_eq(pool_of_graphs(&r, RESERVED), 0, "an instantiation takes nothing");
    for (int i = 0; i < 3; i++)
        cr_expect_eq(r.cudaGraphLaunch(first, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaGraphLaunch(second, 0), CODE_SUCCESS);
    cr_expect_eq(pool_of_graphs(&r, RESERVED), 64 * MIB, "all launches share it");
    cr_expect_eq(pool_of_graphs(&r, USED), 0);
    cr_expect_eq(pool_of_graphs(&r, USED_HIGH), 64 * MIB);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 960 * MIB);
    cr_expect_eq(r.cudaGraphExecDestroy(first), CODE_SUCCESS);
    cr_expect_eq(r.cudaGraphDestroy(one), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 960 * MIB, "the pool outlives its graphs");
    cr_expect_eq(r.cudaDeviceGraphMemTrim(0), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 1024 * MIB);
    cr_expect_eq(r.cudaGraphLaunch(second, 0), CODE_SUCCESS);
    cr_expect_eq(pool_of_graphs(&r, RESERVED), 40 * MIB);
    cr_expect_eq(pool_of_graphs(&r, RESERVED_HIGH), 64 * MIB);
    const uint64_t zero = 0, five = 5;
    cr_expect_eq(r.cudaDeviceSetGraphMemAttribute(0, RESERVED_HIGH, &five), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaDeviceSetGraphMemAttribute(0, RESERVED_HIGH, &zero), CODE_SUCCESS);
    cr_expect_eq(pool_of_graphs(&r, RESERVED_HIGH), 40 * MIB);
}

Test(cudasim_graphs, memory_that_a_graph_keeps_is_live_until_somebody_gives_it_back)
{
    struct cudasim_rig r;
    uint64_t a = 0;
    char text[4] = "abc";
    cudasim_rig_open(&r, "sim:1GiB,packing=off", "libcudart.so.12");
    const uint64_t graph = make_graph(&r, 64 * MIB, false, &a), exec = instantiate(&r, graph, 0);
    void *p = (void *)(uintptr_t)a;
    cr_expect_eq(r.cudaFree(p), CODE_INVALID_VALUE, "no launch has taken it yet");
    cr_expect_eq(r.cudaGraphLaunch(exec, 0), CODE_SUCCESS);
    cr_expect_eq(pool_of_graphs(&r, USED), 64 * MIB);
    cr_expect_eq(r.cudaMemcpy(p, text, 4, 1), CODE_SUCCESS);
    cr_expect_eq(r.cudaGraphLaunch(exec, 0), CODE_INVALID_VALUE, "what it took before is live");
    cr_expect_eq(r.cudaDeviceGraphMemTrim(0), CODE_SUCCESS);
    cr_expect_eq(pool_of_graphs(&r, RESERVED), 64 * MIB, "a trim leaves live memory");
    cr_expect_eq(r.cudaFreeAsync(p, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaFreeAsync(p, 0), CODE_INVALID_VALUE, "twice");
    cr_expect_eq(r.cudaGraphLaunch(exec, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaGraphExecDestroy(exec), CODE_SUCCESS);
    const uint64_t again = instantiate(&r, graph, AUTO_FREE);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(r.cudaGraphLaunch(again, 0), CODE_SUCCESS, "each launch frees what the one before took");
    cr_expect_eq(r.cudaGraphExecDestroy(again), CODE_SUCCESS);
    cr_expect_eq(r.cudaGraphDestroy(graph), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemcpy(text, p, 4, 2), CODE_SUCCESS, "it outlives the graph");
    cr_expect_eq(r.cudaFree(p), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemcpy(text, p, 4, 2), CODE_INVALID_VALUE);
    cr_expect_eq(pool_of_graphs(&r, USED), 0);
    cr_expect_eq(r.cudaDeviceGraphMemTrim(0), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 1024 * MIB);
}

Test(cudasim_graphs, a_graph_with_memory_is_bound_by_the_documented_rules)
{
    struct cudasim_rig r;
    uint64_t a = 0, node = 0, exec = 0, copy = 0, other = 0, plain = 0;
    void *q = NULL;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.13");
    const uint64_t graph = make_graph(&r, 4 * MIB, true, &a);
    void *p = (void *)(uintptr_t)a;
    cr_assert_eq(r.cudaMalloc(&q, 4 * MIB), CODE_SUCCESS);
    cr_assert_eq(r.cudaGraphCreate(&other, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaGraphAddMemFreeNode(&node, graph, NULL, 0, p), CODE_INVALID_VALUE, "freed twice in its graph");
    cr_expect_eq(r.cudaGraphAddMemFreeNode(&node, graph, NULL, 0, q), CODE_INVALID_VALUE, "of no node");
    cr_expect_eq(r.cudaGraphAddMemFreeNode(&node, other, NULL, 0, p), CODE_INVALID_VALUE, "its graph frees it");
    cr_expect_eq(r.cudaGraphClone(&copy, graph), CODE_NOT_SUPPORTED);
    cr_expect_eq(r.cudaGraphAddChildGraphNode(&node, other, NULL, 0, graph), CODE_NOT_SUPPORTED);
    exec = instantiate(&r, graph, 0);
    cr_expect_eq(r.cudaGraphInstantiateWithFlags(&copy, graph, 0), CODE_NOT_SUPPORTED, "one instantiation");
    cr_expect_eq(r.cudaGraphExecDestroy(exec), CODE_SUCCESS);
    (void)instantiate(&r, graph, 0);
    struct cudasim_alloc_params wrong = want(0), shared = want(4096), far = want(4096);
    shared.pool.handle_types = 1;
    far.pool.location_id = 7;
    cr_expect_eq(r.cudaGraphAddMemAllocNode(&node, other, NULL, 0, &wrong), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaGraphAddMemAllocNode(&node, other, NULL, 0, &shared), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaGraphAddMemAllocNode(&node, other, NULL, 0, &far), CODE_INVALID_VALUE);
    /* One graph takes, another gives back. */
    const uint64_t keeps = make_graph(&r, 4 * MIB, false, &a);
    p = (void *)(uintptr_t)a;
    cr_expect_eq(r.cudaGraphAddMemFreeNode(&node, other, NULL, 0, p), CODE_SUCCESS);
    cr_expect_eq(r.cudaGraphAddMemFreeNode(&node, keeps, NULL, 0, p), CODE_INVALID_VALUE);
    const uint64_t takes = instantiate(&r, keeps, 0), gives = instantiate(&r, other, 0);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(r.cudaGraphLaunch(takes, 0), CODE_SUCCESS);
        cr_expect_eq(pool_of_graphs(&r, USED), 4 * MIB);
        cr_expect_eq(r.cudaGraphLaunch(gives, 0), CODE_SUCCESS);
        cr_expect_eq(pool_of_graphs(&r, USED), 0);
    }
    cr_assert_eq(r.cudaGraphCreate(&plain, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaGraphAddChildGraphNode(&node, plain, NULL, 0, plain), CODE_INVALID_VALUE);
}

Test(cudasim_graphs, memory_in_stream_order_becomes_nodes_while_a_stream_is_captured)
{
    struct cudasim_rig r;
    void *a = NULL, *b = NULL, *outside = NULL;
    uint64_t stream = 0, graph = 0, nodes[8], used = 1;
    size_t n = 8;
    int types[4] = { -1, -1, -1, -1 };
    cudasim_rig_open(&r, "sim:1GiB,packing=off", "libcudart.so.12");
    cr_assert_eq(r.cudaStreamCreate(&stream), CODE_SUCCESS);
    cr_assert_eq(r.cudaMallocAsync(&outside, 2 * MIB, stream), CODE_SUCCESS);
    cr_assert_eq(r.cudaStreamBeginCapture(stream, 0), CODE_SUCCESS);
    cr_assert_eq(r.cudaMallocAsync(&a, 32 * MIB, stream), CODE_SUCCESS);
    cr_expect_eq(r.cudaFreeAsync(outside, stream), CODE_INVALID_VALUE, "no node of a graph took it");
    cr_assert_eq(r.cudaFreeAsync(a, stream), CODE_SUCCESS);
    cr_assert_eq(r.cudaMallocAsync(&b, 30 * MIB, stream), CODE_SUCCESS);
    cr_assert_eq(r.cudaFreeAsync(b, stream), CODE_SUCCESS);
    cr_expect_eq(a, b, "one after the other, at the same address");
    cr_assert_eq(r.cudaStreamEndCapture(stream, &graph), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 992 * MIB, "nothing was taken yet but a unit of the stream's pool");
    cr_expect_eq(r.cudaGraphGetNodes(graph, nodes, &n), CODE_SUCCESS);
    cr_assert_eq(n, 4);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(r.cudaGraphNodeGetType(nodes[i], &types[i]), CODE_SUCCESS);
    cr_expect(types[0] == 10 && types[1] == 11 && types[2] == 10 && types[3] == 11);
    cr_expect_eq(r.cudaGraphNodeGetType(graph, &types[0]), CODE_INVALID_VALUE);
    const uint64_t exec = instantiate(&r, graph, AUTO_FREE);
    cr_expect_eq(r.cudaGraphUpload(exec, stream), CODE_SUCCESS);
    cr_expect_eq(pool_of_graphs(&r, RESERVED), 32 * MIB, "an upload maps what a launch needs");
    cr_expect_eq(r.cudaGraphLaunch(exec, stream), CODE_SUCCESS);
    cr_expect_eq(pool_of_graphs(&r, RESERVED), 32 * MIB);
    cr_expect_eq(pool_of_graphs(&r, USED_HIGH), 32 * MIB);
    uint64_t pool = 0;
    cr_expect_eq(r.cudaDeviceGetDefaultMemPool(&pool, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemPoolGetAttribute(pool, 7, &used), CODE_SUCCESS);
    cr_expect_eq(used, 2 * MIB, "the stream's pool has no part in it");
}

Test(cudasim_graphs, a_launch_that_is_refused_leaves_nothing_live)
{
    struct cudasim_rig r;
    uint64_t graph = 0, node = 0;
    cudasim_rig_open(&r, "sim:100MiB,packing=off", "libcudart.so.12");
    struct cudasim_alloc_params small = want(60 * MIB), large = want(64 * MIB);
    cr_assert_eq(r.cudaGraphCreate(&graph, 0), CODE_SUCCESS);
    cr_assert_eq(r.cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &small), CODE_SUCCESS);
    cr_assert_eq(r.cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &large), CODE_SUCCESS);
    const uint64_t exec = instantiate(&r, graph, 0);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(r.cudaGraphLaunch(exec, 0), CODE_OUT_OF_MEMORY);
        cr_expect_eq(pool_of_graphs(&r, USED), 0);
    }
    cr_expect_eq(r.cudaGraphUpload(exec, 0), CODE_OUT_OF_MEMORY);
    cr_expect_eq(r.cudaDeviceGraphMemTrim(0), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 100 * MIB);
    cr_expect_eq(r.cudaGraphExecDestroy(exec), CODE_SUCCESS);
    cr_expect_eq(r.cudaGraphDestroy(graph), CODE_SUCCESS);
}

static void count(void *n)
{
    ++*(int *)n;
}

static void count_ten(void *n)
{
    *(int *)n += 10;
}

Test(cudasim_graphs, an_instantiated_graph_becomes_like_another_of_the_same_nodes)
{
    struct { int result; uint64_t node, from; } err = { -1, 0, 0 };
    struct { void (*function)(void *); void *argument; } host = { count, NULL };
    struct cudasim_rig r;
    uint64_t one = 0, other = 0, longer = 0, node = 0;
    int n = 0;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    host.argument = &n;
    cr_assert_eq(r.cudaGraphCreate(&one, 0), CODE_SUCCESS);
    cr_assert_eq(r.cudaGraphAddHostNode(&node, one, NULL, 0, &host), CODE_SUCCESS);
    host.function = count_ten;
    cr_assert_eq(r.cudaGraphCreate(&other, 0), CODE_SUCCESS);
    cr_assert_eq(r.cudaGraphAddHostNode(&node, other, NULL, 0, &host), CODE_SUCCESS);
    const uint64_t exec = instantiate(&r, one, 0);
    cr_expect_eq(r.cudaGraphExecUpdate(exec, other, &err), CODE_SUCCESS);
    cr_expect_eq(err.result, UPDATE_SUCCESS);
    cr_expect_eq(r.cudaGraphLaunch(exec, 0), CODE_SUCCESS);
    cr_expect_eq(n, 10, "the other one's function");
    cr_assert_eq(r.cudaGraphAddEmptyNode(&node, other, NULL, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaGraphExecUpdate(exec, other, &err), CODE_GRAPH_UPDATE);
    cr_expect_eq(err.result, UPDATE_TOPOLOGY_CHANGED);
    cr_assert_eq(r.cudaGraphCreate(&longer, 0), CODE_SUCCESS);
    cr_assert_eq(r.cudaGraphAddEmptyNode(&node, longer, NULL, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaGraphExecUpdate(exec, longer, &err), CODE_GRAPH_UPDATE);
    cr_expect_eq(err.result, UPDATE_TYPE_CHANGED);
    cr_expect_eq(err.node, node);
    cr_expect_eq(r.cudaGraphExecUpdate(one, longer, &err), CODE_INVALID_VALUE, "it is not instantiated");
}

Test(cudasim_graphs, the_driver_makes_graphs_node_by_node_too)
{
    struct cudasim_rig r;
    uint64_t context = 0, graph = 0, parent = 0, node = 0, exec = 0, reserved = 0, nodes[8];
    size_t k = 0;
    int n = 0, type = -1;
    struct cudasim_node_params any = { .type = 3, .of.host = { count, &n } };
    struct cudasim_alloc_params p = want(6 * MIB);
    cudasim_rig_open(&r, "sim:1GiB", NULL);
    cr_assert_eq(r.cuInit(0), CODE_SUCCESS);
    cr_assert_eq(r.cuCtxCreate_v2(&context, 0, 0), CODE_SUCCESS);
    cr_assert_eq(r.cuGraphCreate(&graph, 0), CODE_SUCCESS);
    cr_assert_eq(r.cuGraphCreate(&parent, 0), CODE_SUCCESS);
    cr_expect_eq(r.cuGraphAddKernelNode_v2(&node, graph, NULL, 0, NULL), CODE_SUCCESS);
    cr_expect_eq(r.cuGraphAddNode_v2(&node, graph, &node, NULL, 1, &any), CODE_SUCCESS);
    cr_expect_eq(r.cuGraphAddChildGraphNode(&node, parent, NULL, 0, graph), CODE_SUCCESS);
    cr_expect_eq(r.cuGraphAddMemAllocNode(&node, parent, &node, 1, &p), CODE_SUCCESS);
    any = (struct cudasim_node_params){ .type = 11, .of.addr = p.addr };
    cr_expect_eq(r.cuGraphAddNode_v2(&node, parent, &node, NULL, 1, &any), CODE_SUCCESS);
    any.type = 13;
    cr_expect_eq(r.cuGraphAddNode_v2(&node, parent, &node, NULL, 1, &any), CODE_NOT_SUPPORTED, "a condition");
    cr_expect_eq(r.cuGraphGetNodes(parent, NULL, &k), CODE_SUCCESS);
    cr_assert_eq(k, 3);
    cr_expect_eq(r.cuGraphGetNodes(parent, nodes, &k), CODE_SUCCESS);
    cr_expect_eq(r.cuGraphNodeGetType(nodes[0], &type), CODE_SUCCESS);
    cr_expect_eq(type, 4, "a child graph");
    cr_expect_eq(r.cuGraphInstantiateWithFlags(&exec, parent, 0), CODE_SUCCESS);
    cr_expect_eq(r.cuGraphLaunch(exec, 0), CODE_SUCCESS);
    cr_expect_eq(n, 1);
    cr_expect_eq(r.cuDeviceGetGraphMemAttribute(0, RESERVED, &reserved), CODE_SUCCESS);
    cr_expect_eq(reserved, 6 * MIB);
    cr_expect_eq(r.cuDeviceGraphMemTrim(0), CODE_SUCCESS);
    cr_expect_eq(r.cuDeviceGraphMemTrim(9), CODE_INVALID_DEVICE);
}

/* As XLA traces a call of a library into a part of its graph: what the library does is not seen, and the part is not
 * empty. */
Test(cudasim_graphs, a_capture_into_a_graph_adds_to_it_and_a_library_at_work_leaves_a_node)
{
    struct cudasim_rig r;
    uint64_t stream = 0, graph = 0, ended = 0, roots[2] = { 7, 7 }, exec = 0;
    size_t n = 2;
    int (*root_nodes)(uint64_t, uint64_t *, size_t *), (*set_child)(uint64_t, uint64_t, uint64_t), (*work)(void);
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    void *driver = cudasim_rig_library("libcuda.so.1");
    cudasim_rig_find(driver, "cuGraphGetRootNodes", &root_nodes);
    cudasim_rig_find(driver, "cuGraphExecChildGraphNodeSetParams", &set_child);
    cudasim_rig_find(cudasim_rig_library("libreplay-cudasim.so"), "cudasim_standin_work", &work);
    cr_assert_eq(r.cudaStreamCreate(&stream), CODE_SUCCESS);
    cr_assert_eq(r.cudaGraphCreate(&graph, 0), CODE_SUCCESS);
    for (int works = 0; works < 2; works++) {
        cr_expect_eq(r.cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, 1), CODE_SUCCESS);
        cr_expect_eq(r.cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, 1), CODE_ILLEGAL_STATE);
        for (int i = 0; i < works; i++)
            cr_expect_eq(work(), 0);
        cr_expect_eq(r.cudaStreamEndCapture(stream, &ended), CODE_SUCCESS);
        cr_expect_eq(ended, graph);
        cr_expect_eq(root_nodes(graph, NULL, &n), CODE_SUCCESS);
        cr_expect_eq(n, (size_t)works);
    }
    n = 2;
    cr_expect_eq(root_nodes(graph, roots, &n), CODE_SUCCESS);
    cr_expect(n == 1 && roots[0] != 0 && roots[1] == 0);
    cr_expect_eq(r.cudaStreamBeginCaptureToGraph(stream, 0, NULL, NULL, 0, 1), CODE_INVALID_VALUE);
    exec = instantiate(&r, graph, 0);
    cr_expect_eq(set_child(exec, roots[0], graph), CODE_SUCCESS);
    cr_expect_eq(set_child(graph, roots[0], graph), CODE_INVALID_VALUE, "that is no instantiated graph");
}
