/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* In PyTorch's place: a library that names libcublas.so.12 and takes nothing of it. Also that libcublas. */
int torch_nothing(void);

int torch_nothing(void)
{
    return 0;
}
