#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The line that decides by a number read off the card is found in a program's source: test_decisions.py REPLAY BUILD SOURCE.

In each program `READ` marks the line that reads and `DECIDES` the line that is to be found; without the second, none is."""
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
    "none: of another function": "def f():\n    v = loss.item()  # READ\n    return v\nif v > 3:\n    pass\n",
    "none: no Python": "this is no Python  # READ\n",
}


def main(source):
    sys.path.insert(0, os.path.join(source, "cudasim", "python"))
    from replay_decisions import deciding_line
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
    print("%d programs, %d wrong" % (len(PROGRAMS) + 1, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[3]))
