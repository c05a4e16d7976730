/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Tables of who holds a card, pasted beside an error. */
#include "replay/why/smi_table.h"

#include "base/units.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define ROW(index, used) \
    "|   " index "  NVIDIA A40       Off |   00000000:41:00.0 Off |                  Off |\n" \
    "| 30%   41C    P2   78W /  300W |  " used "MiB /  46068MiB |     97%      Default |\n"

static const char error[] = "RuntimeError: CUDA error: out of memory\n";

static struct card_held held_of(const char *before, const char *table, struct smi_table *t)
{
    char text[4000];
    struct card_held held;
    snprintf(text, sizeof text, "%s%s%s", before, error, table);
    smi_table_read(text, strlen(text), strlen(before), t, &held);
    return held;
}

Test(smi_table, the_process_that_is_not_of_the_log_is_somebody_else)
{
    static const char table[] = "| NVIDIA-SMI 570.133.20 |\n" ROW("0", "45310")
                                "|    0   N/A  N/A    220771      C   python3       44000MiB |\n";
    struct smi_table t;
    const struct card_held h = held_of("", table, &t);
    cr_expect_eq(h.holder, CARD_HOLDER_OTHERS);
    cr_expect(h.card.used == 45310 * MIB && h.card.total == 46068 * MIB && h.others == 45310 * MIB);
    cr_assert(t.n_processes == 1 && h.biggest == 0);
    cr_expect(t.processes[0].id == 220771 && t.processes[0].bytes == 44000 * MIB);
    cr_expect_str_eq(t.processes[0].name, "python3");
}

Test(smi_table, the_process_whose_number_stands_in_the_log_is_the_program)
{
    static const char table[] = ROW("0", "45310") "|    0     220771      C   python3       44000MiB |\n";
    struct smi_table t;
    cr_expect_eq(held_of("(Worker pid=220771) step 3\n", table, &t).holder, CARD_HOLDER_ITSELF);
    cr_expect_eq(held_of("(Worker pid=2207713) step 3\n", table, &t).holder, CARD_HOLDER_OTHERS);
}

Test(smi_table, what_nobody_listed_holds_is_somebody_elses)
{
    static const char table[] = ROW("0", "45310") "|  No running processes found  |\n";
    struct smi_table t;
    const struct card_held h = held_of("", table, &t);
    cr_expect(h.holder == CARD_HOLDER_OTHERS && h.biggest == t.n_processes && h.others == 45310 * MIB);
}

Test(smi_table, a_card_that_is_nearly_empty_blames_nobody_and_a_half_full_one_tells_nothing)
{
    struct smi_table t;
    cr_expect_eq(held_of("", ROW("0", "310"), &t).holder, CARD_HOLDER_NOBODY);
    cr_expect_eq(held_of("", ROW("0", "25000"), &t).holder, CARD_HOLDER_UNKNOWN);
}

Test(smi_table, the_card_that_the_program_asked_on_counts_and_an_empty_one_is_named)
{
    static const char table[] = ROW("0", "45310") ROW("1", "3");
    struct smi_table t;
    const struct card_held h = held_of("", table, &t);
    cr_expect(h.holder == CARD_HOLDER_OTHERS && h.has_empty && h.empty == 1);
    cr_expect_eq(held_of("x.to('cuda:1')\n", table, &t).holder, CARD_HOLDER_NOBODY);
    cr_expect_eq(held_of("$ CUDA_VISIBLE_DEVICES=1 python a.py\n", table, &t).holder, CARD_HOLDER_NOBODY);
}

Test(smi_table, the_last_of_several_tables_counts)
{
    static const char table[] = "| NVIDIA-SMI 570 |\n" ROW("0", "45310") "later\n| NVIDIA-SMI 570 |\n" ROW("0", "310");
    struct smi_table t;
    cr_expect_eq(held_of("", table, &t).holder, CARD_HOLDER_NOBODY);
}

Test(smi_table, other_tools_are_read)
{
    static const struct { const char *table; uint64_t used, id; } cases[] = {
        { "[0] NVIDIA A40 | 52'C, 100 % | 45310 / 46068 MB | wei:python/4711(45000M)\n", 45310 * MIB, 4711 },
        { "  0  NVIDIA A40   Off  00000000:01:00.0 Off\n 34%  51C  P2  12W / 300W  44.25GiB / 44.99GiB  92%\n"
          "  0  4711 C    ines 44.00GiB  91  99.8  python sweep.py\n", 177 * GIB / 4, 4711 },
        { "GPU 00000000:01:00.0\n FB Memory Usage\n  Total : 46068 MiB\n  Used : 45310 MiB\n BAR1 Memory Usage\n"
          "  Total : 256 MiB\n  Used : 2 MiB\n Processes\n  Process ID : 4711\n  Name : /usr/bin/x\n"
          "  Used GPU Memory : 45000 MiB\n", 45310 * MIB, 4711 },
        { "pid, process_name, used_gpu_memory [MiB]\n4711, /usr/bin/x, 45000 MiB\n"
          "index, memory.used [MiB], memory.total [MiB]\n0, 45310 MiB, 46068 MiB\n", 45310 * MIB, 4711 },
        { "GPU[0] : VRAM Total Memory (B): 25753026560\nGPU[0] : VRAM Total Used Memory (B): 25011200000\n"
          "PID PROCESS NAME GPU(s) VRAM USED\n4711 llama-server 1 24210714624 0 0\n", 25011200000, 4711 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct smi_table t;
        const struct card_held h = held_of("", cases[i].table, &t);
        cr_expect_eq(h.holder, CARD_HOLDER_OTHERS, "case %zu", i);
        cr_expect_eq(h.card.used, cases[i].used, "case %zu", i);
        cr_expect(h.biggest < t.n_processes && t.processes[h.biggest].id == cases[i].id, "case %zu", i);
    }
}

Test(smi_table, a_log_without_a_table_tells_nothing)
{
    static const char *const none[] = { "epoch 3: 100%| 40/40 [00:12<00:00]\n", "0 1 C 2\n", "1, 2, 3\n",
                                        "[0] a / b MB\n", "loss 0.31 / 0.40 at 97%\n" };
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        struct smi_table t;
        const struct card_held h = held_of("", none[i], &t);
        cr_expect(h.card.total == 0 && h.holder == CARD_HOLDER_UNKNOWN && t.n_processes == 0, "case %zu", i);
    }
}

Test(smi_table, a_table_that_is_cut_anywhere_is_read_as_far_as_it_goes)
{
    static const char table[] = "| NVIDIA-SMI 570 |\n" ROW("0", "45310") ROW("1", "3")
                                "|    0   N/A  N/A    220771      C   python3       44000MiB |\n";
    for (size_t n = 0; n < sizeof table; n++) {
        struct smi_table t;
        struct card_held held;
        smi_table_read(table, n, 0, &t, &held);
        cr_expect(t.n_cards <= 2 && t.n_processes <= 1);
    }
}

Test(smi_table, more_cards_and_processes_than_there_is_room_for_are_left_out)
{
    static char text[40000];
    size_t n = 0;
    for (int i = 0; i < 100; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "[%d] A40 | 1 / 2 MB | a:b/%d(1M)\n", i, i + 1);
    struct smi_table t;
    struct card_held held;
    smi_table_read(text, n, 0, &t, &held);
    cr_expect(t.n_cards == SMI_TABLE_CARDS && t.n_processes == SMI_TABLE_PROCESSES);
}
