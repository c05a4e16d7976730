/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The device's front functions and the simulated device: capacity, pages, addresses, failures on purpose. */
#include "base/random.h"
#include "base/units.h"
#include "sim/card_context.h"
#include "sim/device.h"
#include "sim/pages.h"
#include "sim/rests.h"
#include "sim/stream_queues.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct device *opened(struct device_config cfg)
{
    struct device *dev = NULL;
    struct err_detail err = {.text = ""};
    cr_assert_eq(device_open(&device_sim, &cfg, &dev, &err), ERR_OK, "%s", err.text);
    return dev;
}

static struct device_config of_total(uint64_t total_bytes)
{
    struct device_config cfg = device_defaults();
    cfg.total_bytes = total_bytes;
    return cfg;
}

static struct device_config parsed(const char *text)
{
    struct device_config cfg;
    const struct device_ops *ops = NULL;
    bool has_total;
    struct err_detail err = {.text = ""};
    cr_assert_eq(device_parse(text, &cfg, &ops, &has_total, &err), ERR_OK, "%s", err.text);
    cr_assert_eq(ops, &device_sim);
    return cfg;
}

/* ---- capacity ---- */

Test(device, it_hands_out_its_capacity_and_not_a_byte_more)
{
    struct device *dev = opened(of_total(64 * MIB));
    struct segment a, b, c = {.id = 77};
    cr_assert_eq(device_segment_alloc(dev, 40 * MIB, &a), ERR_OK);
    cr_expect_eq(device_segment_alloc(dev, 24 * MIB + 1, &c), ERR_DEVICE_OOM);
    cr_expect_eq(c.id, 77, "a refused call leaves its output");
    cr_expect_eq(device_segment_alloc(dev, 24 * MIB, &b), ERR_OK);
    cr_expect_eq(dev->usage.reserved_bytes, 64 * MIB);
    cr_expect_eq(dev->usage.refusals, 1);
    cr_expect_eq(device_segment_alloc(dev, 1, &c), ERR_DEVICE_OOM);
    device_segment_free(dev, &a);
    cr_expect_eq(device_segment_alloc(dev, 40 * MIB, &c), ERR_OK);
    cr_expect_eq(dev->usage.reserved_peak_bytes, 64 * MIB);
    device_close(dev);
}

Test(device, context_and_others_take_their_share)
{
    struct device *dev = opened(parsed("sim:1GiB,context=450MiB,others=100MiB"));
    struct segment s;
    uint64_t free_bytes, total_bytes;
    device_memory_info(dev, &free_bytes, &total_bytes);
    cr_expect_eq(free_bytes, (1024 - 550) * MIB);
    cr_expect_eq(total_bytes, 1 * GIB);
    cr_expect_eq(device_segment_alloc(dev, 476 * MIB, &s), ERR_DEVICE_OOM);
    cr_expect_eq(device_segment_alloc(dev, 474 * MIB, &s), ERR_OK);
    cr_expect_eq(device_card_bytes(dev, dev->usage.page_bytes), 1 * GIB, "what nvidia-smi shows for the card");
    cr_expect_eq(device_process_bytes(dev, dev->usage.page_bytes), 924 * MIB, "and for the process");
    device_close(dev);
}

Test(device, memory_comes_in_pages_but_reserved_is_what_was_asked)
{
    struct device_config cfg = of_total(4 * MIB);
    cfg.packing = false;
    struct device *dev = opened(cfg);
    struct segment a, b, c;
    cr_assert_eq(device_segment_alloc(dev, 1, &a), ERR_OK);
    cr_assert_eq(device_segment_alloc(dev, 2 * MIB, &b), ERR_OK);
    cr_expect_eq(dev->usage.reserved_bytes, 2 * MIB + 1);
    cr_expect_eq(dev->usage.page_bytes, 4 * MIB);
    cr_expect_eq(device_segment_alloc(dev, 1, &c), ERR_DEVICE_OOM, "each has pages of its own without packing");
    device_close(dev);
}

Test(device, requests_up_to_one_mebibyte_share_pages)
{
    struct device *dev = opened(of_total(4 * MIB));
    struct segment s[4], t;
    for (int i = 0; i < 4; i++)
        cr_assert_eq(device_segment_alloc(dev, 1 * MIB, &s[i]), ERR_OK, "%d", i);
    cr_expect_eq(dev->usage.page_bytes, 4 * MIB);
    cr_expect_eq(device_segment_alloc(dev, 512, &t), ERR_DEVICE_OOM);
    device_segment_free(dev, &s[0]);
    cr_expect_eq(dev->usage.page_bytes, 4 * MIB, "the page is still in use");
    cr_expect_eq(device_segment_alloc(dev, 512, &t), ERR_OK, "there is room in it");
    device_segment_free(dev, &t);
    device_segment_free(dev, &s[1]);
    cr_expect_eq(dev->usage.page_bytes, 2 * MIB, "an empty page goes back");
    cr_expect_eq(device_segment_alloc(dev, 1 * MIB + 1, &t), ERR_OK, "larger ones get pages of their own");
    device_close(dev);
}

/* ---- the table ---- */

Test(device, ids_are_dense_and_reused)
{
    struct device *dev = opened(of_total(DEVICE_UNLIMITED));
    struct segment s[200];
    for (uint32_t i = 0; i < 200; i++) {
        cr_assert_eq(device_segment_alloc(dev, 3 * MIB, &s[i]), ERR_OK);
        cr_expect_eq(s[i].id, i);
        cr_expect_eq(dev->segments[i].bytes, 3 * MIB);
    }
    device_segment_free(dev, &s[5]);
    cr_expect_eq(dev->segments[5].bytes, 0);
    cr_assert_eq(device_segment_alloc(dev, 1, &s[5]), ERR_OK);
    cr_expect_eq(s[5].id, 5);
    cr_expect_eq(dev->n_segments, 200);
    cr_expect_eq(dev->usage.segments_peak, 200);
    device_close(dev);
}

Test(device, driver_time_is_the_sum_of_its_calls)
{
    struct device *dev = opened(parsed("sim:1GiB,alloc_ns=1000,free_ns=20,map_ns=3,unmap_ns=4"));
    struct segment s;
    cr_assert_eq(device_segment_alloc(dev, MIB, &s), ERR_OK);
    cr_assert_eq(device_segment_alloc(dev, 2 * GIB, &(struct segment){.id = 0}), ERR_DEVICE_OOM);
    device_segment_free(dev, &s);
    cr_expect_eq(dev->usage.time_ns, 2020, "a refused call takes its time too");
    cr_expect_eq(dev->usage.calls, 3);
    device_close(dev);
}

/* ---- addresses ---- */

enum { N_TURNS = 40 };

static void addresses_of(enum device_addresses mode, uint64_t *addr, size_t n)
{
    struct device_config cfg = of_total(DEVICE_UNLIMITED);
    cfg.addresses = mode;
    struct device *dev = opened(cfg);
    for (size_t i = 0; i < n; i++) {
        struct segment s;
        cr_assert_eq(device_segment_alloc(dev, (i % 5 + 1) * MIB, &s), ERR_OK);
        addr[i] = s.addr;
        cr_expect_eq(s.addr % DEVICE_PAGE_BYTES, 0);
        if (i % 3 == 0)
            device_segment_free(dev, &s);
    }
    device_close(dev);
}

Test(device, rising_addresses_are_never_reused_and_two_mebibytes_apart)
{
    uint64_t addr[N_TURNS], again[N_TURNS];
    addresses_of(ADDRESSES_RISING, addr, N_TURNS);
    addresses_of(ADDRESSES_RISING, again, N_TURNS);
    for (size_t i = 1; i < N_TURNS; i++)
        cr_expect_geq(addr[i], addr[i - 1] + DEVICE_PAGE_BYTES);
    cr_expect_arr_eq(addr, again, sizeof addr, "runs are reproducible");
}

Test(device, descending_addresses_fall)
{
    uint64_t addr[N_TURNS];
    addresses_of(ADDRESSES_DESCENDING, addr, N_TURNS);
    for (size_t i = 1; i < N_TURNS; i++)
        cr_expect_leq(addr[i] + DEVICE_PAGE_BYTES, addr[i - 1]);
}

/* The device's addresses as offsets from the first one's span, in MiB. */
static long offset_of(const struct segment *s, const struct segment *first)
{
    return (long)((int64_t)(s->addr - first->addr / (32 * MIB) * (32 * MIB)) / (int64_t)MIB);
}

Test(device, spans_fall_under_linux_and_the_lowest_rest_is_used_first)
{
    static const struct { uint64_t mib; long offset; } turns[] = {
        {20, 0}, {20, -32}, {2, -12}, {10, -10}, {12, 20}, {44, -96}, {20, -52}, {64, -160}, {2, -162 - 30}, {30, -190},
    };
    struct device *dev = opened(parsed("sim:addresses=linux"));
    struct segment s[sizeof turns / sizeof turns[0]], t;
    for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
        cr_assert_eq(device_segment_alloc(dev, turns[i].mib * MIB, &s[i]), ERR_OK);
        cr_expect_eq(offset_of(&s[i], &s[0]), turns[i].offset, "%zu is at %ld", i, offset_of(&s[i], &s[0]));
    }
    device_segment_free(dev, &s[1]);
    device_segment_free(dev, &s[2]);
    cr_assert_eq(device_segment_alloc(dev, 22 * MIB, &t), ERR_OK);
    cr_expect_eq(t.addr, s[1].addr, "what was given back is a rest again, joined with its neighbour");
    device_close(dev);
}

Test(device, spans_go_on_beside_a_list)
{
    static const uint64_t list[] = {UINT64_C(0x600000000), UINT64_C(0x5fe000000), UINT64_C(0x5ff400000)};
    struct device *dev = opened(parsed("sim:addresses=linux"));
    struct segment s;
    device_list_addresses(dev, list, 3);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(device_segment_alloc(dev, i < 2 ? 20 * MIB : 2 * MIB, &s), ERR_OK);
    device_list_addresses(dev, NULL, 0);
    cr_assert_eq(device_segment_alloc(dev, 2 * MIB, &s), ERR_OK);
    cr_expect_eq(s.addr, list[2] + 2 * MIB, "the lowest rest of a listed span");
    cr_assert_eq(device_segment_alloc(dev, 20 * MIB, &s), ERR_OK);
    cr_expect_eq(s.addr, list[1] - 32 * MIB);
    device_close(dev);
}

Test(device, the_system_is_that_of_the_driver)
{
    cr_expect_eq(parsed("sim:24GiB").addresses, ADDRESSES_LINUX);
    cr_expect_eq(parsed("sim:24GiB,system=linux").addresses, ADDRESSES_LINUX);
    cr_expect_eq(parsed("sim:24GiB,system=wsl").addresses, ADDRESSES_RISING);
    cr_expect_eq(parsed("sim:24GiB,system=wsl,addresses=linux").addresses, ADDRESSES_LINUX);
    cr_expect_eq(parsed("rtx3070-8g,system=windows").total_bytes, UINT64_C(8589410304), "deviceQuery there");
}

/* As on an H200: rests of spans come first, then the hole from its start, then new spans. */
Test(device, a_hole_is_filled_before_a_new_span_is_begun)
{
    struct device_config cfg = of_total(DEVICE_UNLIMITED);
    cfg.addresses = ADDRESSES_LINUX;
    cfg.hole_bytes = 40 * MIB;
    struct device *dev = opened(cfg);
    struct segment s[4];
    for (int i = 0; i < 4; i++)
        cr_assert_eq(device_segment_alloc(dev, 20 * MIB, &s[i]), ERR_OK);
    cr_expect_eq(s[1].addr, s[0].addr + 20 * MIB);
    cr_expect_lt(s[2].addr, s[0].addr, "the hole is full");
    cr_expect_eq(s[3].addr, s[2].addr - 32 * MIB, "and a span's rest too small");
    cr_assert_eq(device_segment_alloc(dev, 12 * MIB, &s[0]), ERR_OK);
    cr_expect_eq(s[0].addr, s[3].addr + 20 * MIB, "the lowest rest");
    device_close(dev);
}

Test(device, first_fit_takes_the_lowest_gap)
{
    struct device_config cfg = of_total(DEVICE_UNLIMITED);
    cfg.addresses = ADDRESSES_FIRST_FIT;
    struct device *dev = opened(cfg);
    struct segment s[4], t;
    for (int i = 0; i < 4; i++)
        cr_assert_eq(device_segment_alloc(dev, 4 * MIB, &s[i]), ERR_OK);
    device_segment_free(dev, &s[0]);
    device_segment_free(dev, &s[2]);
    cr_assert_eq(device_segment_alloc(dev, 6 * MIB, &t), ERR_OK);
    cr_expect_eq(t.addr, s[3].addr + 4 * MIB, "no gap is large enough");
    cr_assert_eq(device_segment_alloc(dev, 2 * MIB, &t), ERR_OK);
    cr_expect_eq(t.addr, s[0].addr);
    cr_assert_eq(device_segment_alloc(dev, 4 * MIB, &t), ERR_OK);
    cr_expect_eq(t.addr, s[2].addr);
    cr_assert_eq(device_segment_alloc(dev, 2 * MIB, &t), ERR_OK);
    cr_expect_eq(t.addr, s[0].addr + 2 * MIB);
    device_close(dev);
}

Test(device, a_list_of_addresses_is_followed_and_then_left_behind)
{
    static const uint64_t list[] = {UINT64_C(0x500000000), UINT64_C(0x100000000), UINT64_C(0x600000000)};
    struct device_config cfg = of_total(DEVICE_UNLIMITED);
    cfg.addresses = ADDRESSES_LIST;
    cfg.address_list = list;
    cfg.n_addresses = 3;
    struct device *dev = opened(cfg);
    struct segment s;
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(device_segment_alloc(dev, 2 * MIB, &s), ERR_OK);
        cr_expect_eq(s.addr, list[i]);
    }
    cr_assert_eq(device_segment_alloc(dev, 2 * MIB, &s), ERR_OK);
    cr_expect_geq(s.addr, list[2] + 2 * MIB);
    device_close(dev);
}

Test(device, an_address_space_that_is_used_up_is_out_of_memory)
{
    struct device *dev = opened(parsed("sim:addresses=rising"));
    struct segment s;
    cr_expect_eq(device_segment_alloc(dev, UINT64_MAX, &s), ERR_DEVICE_OOM);
    cr_assert_eq(device_segment_alloc(dev, UINT64_C(1) << 63, &s), ERR_OK);
    cr_expect_eq(device_segment_alloc(dev, UINT64_C(1) << 63, &s), ERR_DEVICE_OOM);
    cr_expect_eq(device_segment_alloc(dev, MIB, &s), ERR_OK);
    device_close(dev);
}

/* ---- ranges ---- */

Test(device, a_range_holds_memory_only_where_it_is_mapped)
{
    struct device *dev = opened(of_total(10 * MIB));
    struct segment range;
    uint32_t phys[2], none;
    cr_assert_eq(device_range_reserve(dev, 1 * GIB, &range), ERR_OK);
    cr_expect_eq(dev->usage.reserved_bytes, 0);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_eq(device_phys_create(dev, 4 * MIB, &phys[i]), ERR_OK);
        cr_assert_eq(device_map(dev, &range, i * 4 * MIB, 4 * MIB, phys[i]), ERR_OK);
    }
    cr_expect_eq(dev->usage.reserved_bytes, 8 * MIB);
    cr_expect_eq(dev->segments[range.id].mapped_bytes, 8 * MIB);
    cr_expect_eq(device_phys_create(dev, 4 * MIB, &none), ERR_DEVICE_OOM);
    device_unmap(dev, &range, 0, 4 * MIB);
    cr_expect_eq(dev->usage.reserved_bytes, 4 * MIB);
    cr_expect_eq(dev->usage.page_bytes, 8 * MIB, "memory goes back when it is destroyed");
    device_phys_destroy(dev, phys[0], 4 * MIB);
    cr_expect_eq(dev->usage.page_bytes, 4 * MIB);
    device_unmap(dev, &range, 4 * MIB, 4 * MIB);
    device_phys_destroy(dev, phys[1], 4 * MIB);
    device_range_free(dev, &range);
    cr_expect_eq(dev->usage.page_bytes, 0);
    cr_expect_eq(dev->usage.ranges, 0);
    device_close(dev);
}

/* ---- failures on purpose ---- */

Test(device, growing_calls_fail_from_the_nth_on)
{
    for (uint64_t nth = 1; nth <= 4; nth++) {
        struct device_config cfg = of_total(DEVICE_UNLIMITED);
        cfg.fail_from_call = nth;
        struct device *dev = opened(cfg);
        struct segment s;
        for (uint64_t call = 1; call <= 6; call++)
            cr_expect_eq(device_segment_alloc(dev, MIB, &s), call < nth ? ERR_OK : ERR_DEVICE_OOM);
        cr_expect_eq(dev->usage.segment_allocs, nth - 1);
        cr_expect_eq(dev->usage.reserved_bytes, (nth - 1) * MIB);
        device_close(dev);
    }
}

/* ---- devices that answer alike ---- */

/* Whether a device of that text would have answered as `done` did. */
static bool is_repeated_by(const struct device *done, const char *text)
{
    struct device *fresh = opened(parsed(text));
    const bool is_repeated = device_repeats(done, fresh);
    device_close(fresh);
    return is_repeated;
}

Test(device, a_smaller_card_that_all_would_have_fitted_repeats_a_larger_one)
{
    struct device *dev = opened(parsed("sim:1GiB,context=100MiB"));
    struct segment s;
    cr_expect(is_repeated_by(dev, "sim:1GiB,context=100MiB"));
    cr_expect(is_repeated_by(dev, "sim:512MiB"), "nothing speaks against it yet");
    cr_expect_not(is_repeated_by(dev, "sim:2GiB"), "the larger one is the one to ask");
    cr_assert_eq(device_segment_alloc(dev, 299 * MIB, &s), ERR_OK);
    device_segment_free(dev, &s);
    cr_expect(is_repeated_by(dev, "sim:300MiB"));
    cr_expect(is_repeated_by(dev, "sim:300MiB,others=0MiB"));
    cr_expect_not(is_repeated_by(dev, "sim:299MiB"), "what was held takes 300 MiB of pages");
    cr_expect_not(is_repeated_by(dev, "sim:300MiB,others=1MiB"));
    cr_assert_eq(device_segment_alloc(dev, 2 * GIB, &s), ERR_DEVICE_OOM);
    cr_expect_not(is_repeated_by(dev, "sim:300MiB"), "the two say so at other calls");
    cr_expect(is_repeated_by(dev, "sim:1GiB,context=100MiB"), "the same card says so at the same call");
    device_close(dev);
}

Test(device, one_that_differs_in_more_than_its_room_repeats_none)
{
    struct device *dev = opened(parsed("sim:1GiB"));
    cr_expect(is_repeated_by(dev, "sim:1GiB"));
    cr_expect_not(is_repeated_by(dev, "sim:1GiB,alloc_ns=1"));
    cr_expect_not(is_repeated_by(dev, "sim:1GiB,free_ns=1"));
    cr_expect_not(is_repeated_by(dev, "sim:1GiB,map_ns=1"));
    cr_expect_not(is_repeated_by(dev, "sim:1GiB,unmap_ns=1"));
    cr_expect_not(is_repeated_by(dev, "sim:1GiB,packing=off"));
    cr_expect_not(is_repeated_by(dev, "sim:1GiB,addresses=first-fit"));
    device_list_addresses(dev, NULL, 0);
    cr_expect(is_repeated_by(dev, "sim:1GiB"), "a list in between does not change what it was opened with");
    device_close(dev);
}

Test(device, another_interface_version_is_refused_with_both_numbers)
{
    struct device_ops ops = device_sim;
    const struct device_config cfg = device_defaults();
    struct device *dev = NULL;
    struct err_detail err = {.text = ""};
    char ours[32];
    snprintf(ours, sizeof ours, "not %d of", DEVICE_ABI);
    ops.abi = 41;
    cr_expect_eq(device_open(&ops, &cfg, &dev, &err), ERR_ABI);
    cr_expect(strstr(err.text, "41") != NULL && strstr(err.text, ours) != NULL, "%s", err.text);
    cr_expect_null(dev);
    device_close(NULL);
}

/* ---- the log ---- */

static void note_call(void *arg, const struct device_call *c)
{
    char *text = arg;
    static const char letters[] = "mMfrucCpdl";
    snprintf(text + strlen(text), 64 - strlen(text), "%c", letters[c->kind]);
}

Test(device, the_log_hears_every_call_in_order)
{
    char text[64] = "";
    const struct device_log log = {.call = note_call, .arg = text};
    struct device *dev = opened(of_total(4 * MIB));
    struct segment s;
    dev->log = &log;
    cr_assert_eq(device_segment_alloc(dev, 3 * MIB, &s), ERR_OK);
    cr_assert_eq(device_segment_alloc(dev, 3 * MIB, &(struct segment){.id = 0}), ERR_DEVICE_OOM);
    device_segment_free(dev, &s);
    cr_expect_str_eq(text, "mMf");
    cr_expect_eq(dev->usage.calls, 3);
    device_close(dev);
}

/* ---- what people type ---- */

Test(device, specs_are_read)
{
    cr_expect_eq(parsed("sim").total_bytes, DEVICE_UNLIMITED);
    cr_expect_eq(parsed("sim:unlimited").total_bytes, DEVICE_UNLIMITED);
    cr_expect_eq(parsed("sim:24GiB").total_bytes, 24 * GIB);
    cr_expect_eq(parsed("sim:2147483648").total_bytes, 2 * GIB);
    cr_expect_eq(parsed("sim:24GiB,exactly").total_bytes, 24 * GIB);
    cr_expect_eq(parsed("sim:24GiB,exactly,others=2GiB").others_bytes, 2 * GIB);
    cr_expect_eq(parsed("sim:24GiB,context=450MiB,others=2GiB").context_bytes, 450 * MIB);
    cr_expect_eq(parsed("sim:24GiB,context=450MiB,others=2GiB").others_bytes, 2 * GIB);
    cr_expect_eq(parsed("sim:24GiB").others_bytes, 0);
    cr_expect_eq(parsed("sim:24GiB,workspaces=128MiB").workspace_bytes, 128 * MIB);
    cr_expect_eq(parsed("sim:24GiB,workspaces=128MiB").workspaces, WORKSPACES_FIXED);
    cr_expect_eq(parsed("sim:24GiB,workspaces=none").workspaces, WORKSPACES_FIXED);
    cr_expect_eq(parsed("sim:24GiB,workspaces=none").workspace_bytes, 0);
    cr_expect_eq(parsed("sim:24GiB,workspaces=most").workspaces, WORKSPACES_MOST);
    cr_expect_eq(parsed("sim:24GiB").workspaces, WORKSPACES_LIKELY);
    cr_expect_not(parsed("sim:24GiB,packing=off").packing);
    cr_expect_eq(parsed("sim:addresses=descending").addresses, ADDRESSES_DESCENDING);
    cr_expect_eq(parsed("sim:h100-80g,addresses=first-fit").addresses, ADDRESSES_FIRST_FIT);
    cr_expect_eq(parsed("sim:alloc_ns=5").alloc_ns, 5);
}

Test(device, whether_a_capacity_was_given_is_told)
{
    static const struct { const char *text; bool has_total; } cases[] = {
        {"sim", false}, {"sim:24GiB", true}, {"sim:unlimited", true},
        {"sim:packing=off", false}, {"sim:h100-80g", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct device_config cfg;
        const struct device_ops *ops;
        bool has_total = !cases[i].has_total;
        cr_assert_eq(device_parse(cases[i].text, &cfg, &ops, &has_total, NULL), ERR_OK);
        cr_expect_eq(has_total, cases[i].has_total, "%s", cases[i].text);
    }
}

Test(device, what_cannot_be_meant_is_refused_with_the_place)
{
    static const char *const texts[] = {
        "", "simm", "gpu", "sim:", "sim:0", "sim:-1", "sim:24XiB", "sim:24GiB,", "sim:24GiB,packing=maybe",
        "sim:1MiB,context=2MiB", "sim:24GiB,workspaces=much", "sim:24GiB,addresses=up", "sim:24GiB,colour=red",
        "sim:no-card", "sim:l4-24g,exactly",
        "sim:alloc_ns=fast", "sim:alloc_ns=", "sim:24GiB,48GiB", "sim:99999999999GiB", "sim:24GiB,capability=8",
        "sim:24GiB,capability=8.8", "sim:24GiB,capability=86", "sim:24GiB,multiprocessors=0", "sim:nvidia",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct device_config cfg;
        const struct device_ops *ops;
        bool has_total;
        struct err_detail err = {.text = ""};
        cr_expect_eq(device_parse(texts[i], &cfg, &ops, &has_total, &err), ERR_USAGE, "'%s' was taken", texts[i]);
        cr_expect_not_null(strstr(err.text, "device '"), "'%s'", err.text);
        cr_expect_leq(err.offset, strlen(texts[i]));
    }
}

Test(device, cards_ascend_and_the_smallest_that_fits_is_found)
{
    size_t n = 0;
    for (; device_model_at(n) != NULL; n++) {
        const struct device_model *m = device_model_at(n);
        cr_expect_eq(device_model_for(m->total_bytes)->total_bytes, m->total_bytes);
        cr_expect_str_eq(card_context_of(m->name)->card, m->name, "%s has no row in contexts.csv", m->name);
    }
    cr_expect_gt(n, 5);
    cr_expect_null(card_context_in("sim:24GiB"));
    cr_expect_eq(device_model_for(1), device_model_at(0));
    cr_expect_null(device_model_for(10 * TIB));
}

Test(device, each_card_is_whole_and_meant_by_its_name)
{
    size_t n = 0;
    for (; card_at(n) != NULL; n++) {
        const struct device_model *m = card_at(n);
        char text[64];
        snprintf(text, sizeof text, "sim:%s,packing=off", m->name);
        cr_expect_eq(parsed(text).total_bytes, m->total_bytes);
        cr_expect_eq(parsed(text).model, m, "%s", text);
        cr_expect_eq(card_context_in(text), card_context_of(m->name), "%s", text);
        cr_expect(n == 0 || card_at(n - 1)->total_bytes <= m->total_bytes, "%s is out of order", m->name);
        cr_expect_not_null(compute_class_of(m->capability), "%s", m->name);
        cr_expect_geq(m->smi_bytes, m->total_bytes, "%s", m->name);
        cr_expect(m->multiprocessors > 0 && m->l2_bytes > 0 && m->bus_bits > 0 && m->clock_khz > 0, "%s", m->name);
        cr_expect_str_neq(m->source, "");
    }
    cr_expect_geq(n, 60);
}

Test(device, each_compute_capability_has_a_typical_card)
{
    const struct compute_class *c;
    for (size_t i = 0; (c = compute_class_at(i)) != NULL; i++) {
        const struct device_config cfg = {.total_bytes = 24 * GIB, .capability = c->capability};
        cr_expect_eq(device_found(&cfg).capability, c->capability);
        cr_expect_eq(parsed(c->typical).model->capability, c->capability, "%s", c->typical);
        cr_expect_leq(c->shared_optin_bytes + c->shared_reserved_bytes, c->shared_bytes);
    }
}

Test(device, a_card_is_meant_in_any_spelling)
{
    static const struct { const char *text, *name; } cases[] = {
        {"h100", "h100-80g"}, {"H100", "h100-80g"}, {"h100-80gb", "h100-80g"}, {"NVIDIA H100 80GB HBM3", "h100-80g"},
        {"H100 PCIe", "h100-pcie-80g"}, {"H100 SXM5", "h100-80g"}, {"A100 80GB", "a100-80g"}, {"a100 80", "a100-80g"},
        {"A100-SXM4-40GB", "a100-40g"}, {"4090", "rtx4090-24g"}, {"rtx 4090", "rtx4090-24g"},
        {"GeForce RTX 4090 Laptop GPU", "rtx4090-laptop-16g"}, {"rtx3080ti", "rtx3080ti-12g"},
        {"3080 Ti", "rtx3080ti-12g"},
        {"a10", "a10-24g"}, {"a10g", "a10g-24g"}, {"l40", "l40-48g"}, {"l40s", "l40s-48g"}, {"t4", "t4-16g"},
        {"Tesla V100 32GB", "v100-32g"}, {"gh200 144g", "gh200-144g"}, {"orin nano", "jetson-orin-nano-8g"},
        {"RTX A6000", "a6000-48g"}, {"6000 ada", "rtx6000-ada-48g"}, {"RTX PRO 6000 Blackwell", "rtxpro6000-96g"},
        {"A100 80GB MIG 1g.10gb", "a100-80g-mig-1g.10gb"}, {"2080 ti", "rtx2080ti-11g"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct device_config cfg = parsed(cases[i].text);
        cr_assert_not_null(cfg.model, "'%s'", cases[i].text);
        cr_expect_str_eq(cfg.model->name, cases[i].name, "'%s' is %s", cases[i].text, cfg.model->name);
    }
}

Test(device, a_name_of_several_cards_is_refused_with_their_names)
{
    static const struct { const char *text, *one, *other; } cases[] = {
        {"a100", "a100-40g", "a100-80g"}, {"sim:v100", "v100-16g", "v100-32g"},
        {"4060 ti", "rtx4060ti-8g", "rtx4060ti-16g"},
        {"sim:orin,context=1GiB", "jetson-orin-nx-16g", "jetson-agx-orin-64g"}, {"h10-80g", "h100-80g", "did you mean"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct device_config cfg;
        const struct device_ops *ops;
        struct err_detail err = {.text = ""};
        bool has_total;
        cr_expect_eq(device_parse(cases[i].text, &cfg, &ops, &has_total, &err), ERR_USAGE, "'%s'", cases[i].text);
        cr_expect(strstr(err.text, cases[i].one) != NULL && strstr(err.text, cases[i].other) != NULL, "%s", err.text);
    }
}

Test(device, what_a_card_says_of_itself_can_be_typed)
{
    const struct device_config named = parsed("sim:rtx3090-24g"), typed = parsed("sim:24GiB,capability=8.6");
    cr_expect_eq(device_found(&named).multiprocessors, 82);
    cr_expect_eq(device_found(&typed).multiprocessors, 82);
    cr_expect_eq(device_found(&typed).total_bytes, 24 * GIB);
    cr_expect_str_eq(device_found(&typed).title, "NVIDIA simulated GPU");
    const struct device_config own = parsed("a100 80g,capability=9.0,multiprocessors=7"), plain = parsed("sim:24GiB");
    cr_expect_eq(device_found(&own).capability, 90);
    cr_expect_eq(device_found(&own).multiprocessors, 7);
    cr_expect_str_eq(device_found(&own).title, "NVIDIA A100-SXM4-80GB");
    cr_expect_eq(device_found(&plain).capability, 90);
}

/* ---- rests ---- */

enum { REST_UNITS = 4096 };

/* The lowest of `n` units in a row that are free, all of them rests; REST_UNITS if there are none. */
static unsigned lowest_free(const bool *is_free, unsigned n)
{
    unsigned in_row = 0;
    for (unsigned i = 0; i < REST_UNITS; i++) {
        in_row = is_free[i] ? in_row + 1 : 0;
        if (in_row == n)
            return i + 1 - n;
    }
    return REST_UNITS;
}

Test(rests, the_lowest_that_is_large_enough_is_taken_from_its_start)
{
    bool is_free[REST_UNITS] = {false};
    struct rests r = {.at = NULL};
    uint64_t random = 1, addr;
    unsigned n_taken = 0;
    for (unsigned turn = 0; turn < 20000; turn++) {
        const uint64_t draw = random_next(&random);
        const unsigned n = 1 + (unsigned)draw % (turn / 2000 % 2 == 0 ? 3 : 20);
        const unsigned unit = (unsigned)(draw >> 32) % REST_UNITS;
        if (draw >> 63 == 0) {
            const unsigned want = lowest_free(is_free, n);
            cr_assert_eq(rests_take(&r, n, &addr), want < REST_UNITS, "turn %u", turn);
            if (want < REST_UNITS) {
                cr_assert_eq(addr, want, "turn %u: %u instead of %u", turn, (unsigned)addr, want);
                memset(is_free + want, false, n);
                n_taken++;
            }
        } else if (!is_free[unit]) {
            cr_assert_eq(rests_reserve(&r), ERR_OK);
            rests_add(&r, unit, 1);
            is_free[unit] = true;
        }
    }
    cr_expect_gt(n_taken, 1000);
    rests_close(&r);
}

/* ---- streams ---- */

Test(streams, events_are_finished_at_once_unless_held)
{
    struct stream_queues *q;
    cr_assert_eq(stream_queues_create(2, &q), ERR_OK);
    cr_expect(stream_event_is_done(q, stream_event_record(q, 0)));
    stream_queues_hold(q, 1, true);
    const struct stream_event a = stream_event_record(q, 1), b = stream_event_record(q, 1);
    const struct stream_event c = stream_event_record(q, 1);
    cr_expect_not(stream_event_is_done(q, a));
    stream_queues_complete(q, 1, 1);
    cr_expect(stream_event_is_done(q, a) && !stream_event_is_done(q, b));
    stream_event_wait(q, b);
    cr_expect(stream_event_is_done(q, b) && !stream_event_is_done(q, c));
    stream_queues_hold(q, 1, false);
    cr_expect(stream_event_is_done(q, c));
    stream_queues_destroy(q);
}

Test(streams, releasing_all_spares_the_one_that_is_held_alone)
{
    struct stream_queues *q;
    cr_assert_eq(stream_queues_create(3, &q), ERR_OK);
    stream_queues_hold(q, 2, true);
    stream_queues_hold_all(q, true);
    const struct stream_event a = stream_event_record(q, 1), b = stream_event_record(q, 2);
    cr_expect_not(stream_event_is_done(q, a));
    stream_queues_hold_all(q, false);
    cr_expect(stream_event_is_done(q, a));
    cr_expect_not(stream_event_is_done(q, b));
    stream_queues_sync(q, 0, 3);
    cr_expect(stream_event_is_done(q, b));
    stream_queues_destroy(q);
}

Test(streams, without_queues_everything_is_finished)
{
    const struct stream_event e = stream_event_record(NULL, 5);
    cr_expect(stream_event_is_done(NULL, e));
    stream_event_wait(NULL, e);
}
