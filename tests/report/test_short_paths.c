/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What is handed on names no folder of the machine that it is from, and still tells files apart. */
#include "report/text/short_paths.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void expect_short(const char *text, const char *folder, bool all, const char *expected)
{
    char *copy = short_paths_copy(text, folder, all);
    cr_expect_str_eq(copy, expected, "%s became %s", text, copy);
    free(copy);
}

Test(short_paths, files_of_code_lose_their_folders)
{
    expect_short("from step /home/ada/train.py:12 < main", NULL, false, "from step train.py:12 < main");
    expect_short("/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py:957 _apply", NULL, false,
                 "torch/nn/modules/module.py:957 _apply");
    expect_short("run /usr/lib/python3.11/threading.py:3", NULL, false, "run python3.11/threading.py:3");
    expect_short("{\"line\":\"step /home/ada/x.py:1\",\"b\":\"/x/y.py:2\\n\"}", NULL, false,
                 "{\"line\":\"step x.py:1\",\"b\":\"y.py:2\\n\"}");
    expect_short("f C:\\Users\\ada\\train.py:3", NULL, false, "f train.py:3");
}

Test(short_paths, files_of_the_program_keep_their_place_below_its_folder)
{
    expect_short("f /home/ada/my project/models/gpt.py:3", "/home/ada/my project/", false, "f models/gpt.py:3");
    expect_short("f /home/ada/other/gpt.py:3", "/home/ada/project/", false, "f gpt.py:3");
}

Test(short_paths, what_is_to_be_typed_stays)
{
    static const char *const kept[] = { "write it into /etc/modprobe.d/ttm.conf", "see https://a.b/c/d.py:3",
                                        "16 MiB/s and 3/4", "cat /proc/sys/vm/max_map_count", "", "/" };
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        expect_short(kept[i], NULL, false, kept[i]);
    expect_short("</script> /script", NULL, true, "</script> /script");
    expect_short("left out: /data/ada/x.pickle: cut", NULL, true, "left out: x.pickle: cut");
}

Test(short_paths, a_shared_folder_is_one_of_a_program)
{
    const char *a = "/home/ada/project/train.py";
    cr_expect_eq(path_shared_folder(a, strlen(a), a), strlen("/home/ada/project/"));
    cr_expect_eq(path_shared_folder(a, strlen(a), "/home/ada/lib/x.py"), strlen("/home/ada/"));
    cr_expect_eq(path_shared_folder(a, strlen(a), "/home/bob/x.py"), 0);
    cr_expect_eq(path_shared_folder(a, strlen(a), "/data/x.py"), 0);
}
