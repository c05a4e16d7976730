/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The Python that a command line runs. It is asked where torch lies, so it must not be a foreign program, which would
 * do its work once more.
 */
#ifndef REPLAY_DRYRUN_RUN_PYTHON_FOUND_H
#define REPLAY_DRYRUN_RUN_PYTHON_FOUND_H

#include <limits.h>
#include <stdbool.h>

/* Finds the interpreter that `word`, a command, stands for, by PATH if it has no slash. An interpreter's name is
 * python, pypy, python3 and so on, before and after its links, and its file is machine code. Alone a version manager's
 * script of such a name (pyenv, asdf: "shims/python3" on PATH) counts too. false: `word` is something else. */
bool python_found(const char *word, char path[static PATH_MAX]);

#endif
