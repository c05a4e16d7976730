#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The line that decides by a number read off the card is found in a program's source.

    test_decisions.py REPLAY BUILD SOURCE

In each program `READ` marks the line that reads and `DECIDES` the line that is to be found; without it none is."""
import os
import sys
import tempfile

PROGRAMS = {
    "in the test itself": "if loss.item() > 3:  # READ DECIDES\n    pass\n",
    "in a loop's test": "while float(x) > 3:  # READ DECIDES\n    pass\n",
    "by a name": "v = loss.item()  # READ\nprint(v)\nif v < best:  # DECIDES\n    best = v\n",
    "by a sum": "total = 0\nfor x in y:\n    total += x.item()  # READ\nif total / 3 < best:  # DECIDES\n    pass\n",
    "by an attribute": "self.best = loss.item()  # READ\nif self.best < 1:  # DECIDES\n    pass\n",
    "by a key": "r['loss'] = loss.item()  # READ\nif r['loss'] < 1:  # DECIDES\n    pass\n",
    "by a list": "losses.append(loss.item())  # READ\nif min(losses) < 1:  # DECIDES\n    pass\n",
    "by another name": "a = loss.item()  # READ\nb = 2 * a\nc = 1 if b > 3 else 2  # DECIDES\n",
    "of a loop's next round": "for x in y:\n    if v > 3:  # DECIDES\n        pass\n    v = x.item()  # READ\n",
    "by a line's name in brackets": "if (v := loss.item()) > 3:  # READ DECIDES\n    pass\n",
    "in a comprehension": "big = [v for v in x.tolist() if v > 3]  # READ DECIDES\n",
    "where the test is below": "if (3 <\n        loss.item()):  # READ\n    pass\n",
    "what a library reads": "norm = measure(model)  # READ\nif norm > 3:  # DECIDES\n    pass\n",
    "none: it is printed": "if step > 3:\n    print(loss.item())  # READ\n",
    "none: the test is another's": "v = loss.item() if step % 9 == 0 else 0  # READ\nprint(v)\n",
    "none: whether there is one": "v = loss.item()  # READ\nif v is not None:\n    print(v)\n",
    "none: whether it is finite": "v = loss.item()  # READ\nif not math.isfinite(v):\n    raise ValueError\n",
    "none: of another function": "def f():\n    v = loss.item()  # READ\n    print(v)\nif v > 3:\n    pass\n",
    "what a function returns": "def f():\n    v = loss.item()  # READ\n    return 0, v\na, b = f()\n"
                               "if b > 3:  # DECIDES\n    pass\n",
    "by two functions": "def f():\n    return loss.item()  # READ\ndef g():\n    return f() / 3\n"
                        "def main():\n    while g() > 3:  # DECIDES\n        pass\n",
    "what a method returns": "class A:\n    def f(self):\n        return loss.item()  # READ\n    def run(self):\n"
                             "        v = self.f()\n        if v > 3:  # DECIDES\n            pass\n",
    "in a function that is called with it": "def f(step, v):\n    if v > 3:  # DECIDES\n        pass\n"
                                            "f(1, loss.item())  # READ\n",
    "by a keyword": "def f(v=0):\n    if v > 3:  # DECIDES\n        pass\nx = loss.item()  # READ\nf(v=x)\n",
    "by an object that was called with it": "v = loss.item()  # READ\nstopper(v, model)\n"
                                            "if stopper.stop:  # DECIDES\n    pass\n",
    "in a method that is called with it": "class A:\n    def f(self, v):\n        if v > 3:  # DECIDES\n"
                                          "            pass\nA().f(loss.item())  # READ\n",
    "its own function first": "def f(v):\n    if v > 3:\n        pass\nv = loss.item()  # READ\nf(v)\n"
                              "if v > 4:  # DECIDES\n    pass\n",
    "functions that call each other": "def f(n):\n    return g(n) if n else loss.item()  # READ\ndef g(n):\n"
                                      "    return f(n - 1)\nif g(3) > 1:  # DECIDES\n    pass\n",
    "none: another argument": "def f(a, v):\n    if a > 3:\n        pass\n    print(v)\nf(1, loss.item())  # READ\n",
    "none: two functions of that name": "def f():\n    return loss.item()  # READ\nclass A:\n    def f(self):\n"
                                        "        pass\nif f() > 3:\n    pass\n",
    "none: another's method": "def step(v):\n    if v > 3:\n        pass\nscheduler.step(loss.item())  # READ\n",
    "none: a logger that is there": "log(loss.item())  # READ\nif log:\n    pass\n",
    "none: no Python": "this is no Python  # READ\n",
}

#: What a program does with `total`, and whether that is only to say it.
LOOKS = {
    "print(card.total)": True, "gb = card.total / 2 ** 30\nprint(f'{round(gb, 1)} GiB')": True,
    "log.info('%d', card.total)": True, "n = int(card.total * 0.9)\nx = torch.empty(n)": False,
    "if card.total > 8e9:\n    pass": False, "def f():\n    return card.total": False,
    "print(card.total)\nrun(batch=card.total // 7)": True, "run(batch=card.total // 7)": False,
}


def wrong_looks(folder, is_only_said):
    """How many of LOOKS are taken for the other."""
    failed = 0
    for number, (text, expected) in enumerate(LOOKS.items()):
        path = os.path.join(folder, "look%d.py" % number)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text + "\n")
        line = next(i for i, line in enumerate(text.splitlines(), 1) if "card.total" in line)
        if is_only_said(path, line, "total") != expected:
            print("FAILED: %r is only said: not %s" % (text, expected))
            failed += 1
    return failed


def main(source):
    sys.path.insert(0, os.path.join(source, "cudasim", "python"))
    from replay_decisions import deciding_line, is_only_said
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, text) in enumerate(PROGRAMS.items()):
            path = os.path.join(folder, "program%d.py" % number)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            lines = text.splitlines()
            read = next(i for i, line in enumerate(lines, 1) if "READ" in line)
            expected = next((i for i, line in enumerate(lines, 1) if "DECIDES" in line), None)
            if name == "where the test is below":        # a test begins where its first word stands
                expected = 1
            got = deciding_line(path, read)
            if got != expected:
                print("FAILED: %s: line %s, not %s" % (name, got, expected))
                failed += 1
        if deciding_line(os.path.join(folder, "none.py"), 1) is not None:
            print("FAILED: a file that is not there")
            failed += 1
        failed += wrong_looks(folder, is_only_said)
    print("%d programs, %d wrong" % (len(PROGRAMS) + len(LOOKS) + 1, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[3]))
