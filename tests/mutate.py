#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Do the tests notice a mistake? mutate.py BUILD FILE [MOST [TEST...]]: plants mistakes into a C file, one at a time.

A mutant is the file with one token changed (< for <=, && for ||, 1 for 0, + for -, ...) or one statement left out. It
is compiled alone and linked in front of a test's libraries, so neither the tree nor the build changes. If the
compiler makes the same code of it as of the file it is no mistake, and is not counted. The tests are those of the
file's room, or those named; the first that fails kills the mutant. Of more than MOST mutants (default 100) a sample is
tried, always the same. Survivors are printed: each wants a test, or a reason.
"""
import concurrent.futures
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time

MOST, SEED, PATIENCE_S = 100, 60, 20
SWAPS = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",),
         "&&": ("||",), "||": ("&&",), "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("*",),
         "+=": ("-=",), "-=": ("+=",), "++": ("--",), "--": ("++",), "<<": (">>",), ">>": ("<<",), "!": ("",),
         "&": ("|",), "|": ("&",), "|=": ("&=",), "&=": ("|=",), "true": ("false",), "false": ("true",)}
BINARY_ONLY = {"+", "-", "*", "&"}                       # as a sign, a pointer's star or an address they are left alone
TOKEN = re.compile(r"""(?P<skip>/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n\\]|\\.)*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\s+)
                     |(?P<number>0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*(?![\w.]))
                     |(?P<word>[A-Za-z_]\w*|\d[\w.]*)
                     |(?P<sign>->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\w\s])""",
                   re.VERBOSE | re.DOTALL | re.MULTILINE)
STATEMENT = re.compile(r"^[ \t]+(?!return\b|break|continue|goto\b|case\b|else\b|assert\b|static|const\b|struct\b|"
                       r"enum\b|uint|int|size_t|bool|char|unsigned|void|double)[A-Za-z_*(][^;{}\n]*;[ \t]*$",
                       re.MULTILINE)


def tokens(text):
    """(kind, token, place) of all that is no comment, text or line of the preprocessor; of assertions nothing."""
    end_of_assert = -1
    for found in TOKEN.finditer(text):
        if found.lastgroup == "skip":
            continue
        if found.group() in ("assert", "static_assert"):
            end_of_assert = text.index(";", found.end())
        if found.start() > end_of_assert:
            yield found.lastgroup, found.group(), found.start()


def body_begins(text):
    """Where the first function begins: what stands before is types and tables."""
    found = re.search(r"^\{", text, re.MULTILINE)
    return found.start() if found else 0


def mutants(text):
    """(place, old, new) of each."""
    before = ("sign", "(", 0)
    for kind, token, at in tokens(text):
        is_after_value = before[1] in (")", "]") or (before[0] in ("word", "number") and
                                                     before[1] not in ("return", "case"))
        if at > body_begins(text):
            if kind == "number":
                yield at, token, "1" if token.rstrip("uUlL") == "0" else f"({token} + 1)"
            elif token in SWAPS and (token not in BINARY_ONLY or is_after_value):
                yield from ((at, token, new) for new in SWAPS[token])
        before = (kind, token, at)
    for found in STATEMENT.finditer(text, body_begins(text)):
        yield found.start(), found.group(), ";"


class Trial:
    def __init__(self, build, source, tests):
        self.build, self.source, self.work = os.path.abspath(build), source, tempfile.mkdtemp()
        with open(source, encoding="utf-8") as f:
            self.text = f.read()
        self.compile = self.command(source, " -c ")
        self.tests = [(name, self.command(name, f" -o tests/{name} ")) for name in tests]

    def command(self, name, part):
        """The command by which ninja makes something, as words; without what only finds dependencies."""
        target = f"tests/{name}" if part.startswith(" -o") else os.path.abspath(name) + "^"
        lines = subprocess.run(["ninja", "-C", self.build, "-t", "commands", "-s", target], capture_output=True,
                               text=True, check=True).stdout.splitlines()
        line = next(line for line in reversed(lines) if part in line + " ")
        words = shlex.split(line.split("&& ", 1)[-1].rsplit(" && :", 1)[0])
        return words[1:] if os.path.basename(words[0]) == "ccache" else words

    def build_object(self, text, name):
        """Compiles a text as the file; the object's path, or None."""
        folder = os.path.join(self.work, name)
        os.makedirs(folder, exist_ok=True)
        source, made = os.path.join(folder, "mutant.c"), os.path.join(folder, "mutant.o")
        with open(source, "w", encoding="utf-8") as f:
            f.write(f'#line 1 "{os.path.abspath(self.source)}"\n' + text)
        words, skip = [], False
        for word in self.compile:
            if not skip and word not in ("-MD", "-g", "-Werror") and word not in ("-MT", "-MF", "-o", "-c"):
                words.append(word)
            skip = word in ("-MT", "-MF", "-o", "-c")
        words += ["-g0", "-w", "-I", os.path.dirname(os.path.abspath(self.source)), "-c", source, "-o", made]
        done = subprocess.run(words, cwd=self.build, capture_output=True, check=False)
        return made if done.returncode == 0 else None

    def link(self, command, made, program):
        """The test with this object before all libraries, which then are not asked for its names."""
        words = list(command)
        words[words.index("-o") + 1] = program
        first = next(i for i, word in enumerate(words) if word.endswith(".a"))
        subprocess.run(words[:first] + [made] + words[first:], cwd=self.build, check=True, capture_output=True)

    def fails(self, made, name, command, limit):
        program = made + "." + name
        self.link(command, made, program)
        try:
            done = subprocess.run([program, "-j1"], cwd=self.work, capture_output=True, timeout=limit, check=False)
            return done.returncode != 0
        except subprocess.TimeoutExpired:
            return True
        finally:
            os.remove(program)

    def time_tests(self):
        """How long each test may take; it must pass with the file as it is."""
        made, limits = self.build_object(self.text, "original"), {}
        for name, command in self.tests:
            start = time.monotonic()
            if self.fails(made, name, command, 600):
                raise SystemExit(f"{name} fails without a mistake")
            limits[name] = PATIENCE_S + 10 * (time.monotonic() - start)
        self.tests.sort(key=lambda test: limits[test[0]])                # most mistakes are seen by a short one
        with open(made, "rb") as f:
            return f.read(), limits

    def verdict(self, number, mutant, original, limits):
        at, old, new = mutant
        made = self.build_object(self.text[:at] + new + self.text[at + len(old):], f"m{number}")
        if made is None:
            return "no C"
        with open(made, "rb") as f:
            is_same = f.read() == original
        try:
            if is_same:
                return "the same"
            killer = next((test for test in self.tests if self.fails(made, *test, limits[test[0]])), None)
            if killer is None:
                return None
            self.tests = [killer] + [test for test in self.tests if test != killer]      # it may see the next one, too
            return killer[0]
        finally:
            os.remove(made)


def tests_of(source):
    """The tests in C of a file's room: tests/ROOM, for a room within another that one's."""
    folder = os.path.dirname(source)
    while folder and not os.path.isdir(os.path.join("tests", os.path.basename(folder))):
        folder = os.path.dirname(folder)
    names = sorted(os.listdir(os.path.join("tests", os.path.basename(folder)))) if folder else []
    return [name[:-2] for name in names if name.startswith("test_") and name.endswith(".c")]


def main():
    build, source = sys.argv[1:3]
    most = int(sys.argv[3]) if len(sys.argv) > 3 else MOST
    trial = Trial(build, source, sys.argv[4:] or tests_of(source))
    found = list(mutants(trial.text))
    chosen = sorted(random.Random(SEED).sample(found, most)) if len(found) > most else found
    original, limits = trial.time_tests()
    counts, survivors = {}, []
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "1"))) as pool:
        verdicts = pool.map(lambda pair: trial.verdict(*pair, original, limits), enumerate(chosen))
        for (at, old, new), verdict in zip(chosen, verdicts):
            counts[verdict] = counts.get(verdict, 0) + 1
            if verdict is None:
                line = trial.text.count("\n", 0, at + len(old) - len(old.lstrip())) + 1
                survivors.append(f"{source}:{line}: '{new}' for '{old.strip()}'")
                print(survivors[-1], flush=True)
    no_mistakes = counts.pop("no C", 0) + counts.pop("the same", 0)
    killed = sum(n for name, n in counts.items() if name is not None)
    print(f"{source}: of {len(found)} mutants {len(chosen)} tried, {no_mistakes} no mistakes, {killed} killed, "
          f"{len(survivors)} survive: {100 * killed / max(1, killed + len(survivors)):.0f} %")


if __name__ == "__main__":
    main()
