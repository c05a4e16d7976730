# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Lets the program's loops come to their end early, for `predict`: once their turns repeat, what follows them counts.

Looked at are the loops around the call that asks, in all functions that are being called. A `for` is made to take a
later turn next, in the end its last: what it goes through is asked for all before that, and what it gives is thrown
away. So the program leaves the loop as it always does. Turns may differ (sizes that grow from epoch to epoch), so some
in between are taken, at equal distances.

    for epoch in range(90):                  a range, a list: all but the last turn is taken from it
        for x, y in tqdm(enumerate(loader)): what wraps another iterator is looked through; a loader of PyTorch's ends
    while step < 4000:                       a number that each turn counts up is set to the last turn but one

Where a function keeps what its `for` goes through is CPython's affair. It is read for the releases that are known. What
cannot be ended stays as it is.
"""
import ast
import collections.abc
import ctypes
import functools
import gc
import operator
import sys
import sysconfig

import replay_rhythm

TURNS_MOST = 10 ** 7                 # a range that has more left is not ended
DEPTH_MOST = 4                       # iterators in iterators
_COUNTED = tuple(type(iter(x)) for x in (range(0), range(1 << 70), [], (), {}.items()))


# ---- what a frame keeps ----

def _is_known():
    return sys.implementation.name == "cpython" and (3, 8) <= sys.version_info[:2] <= (3, 13) and \
        ctypes.sizeof(ctypes.c_void_p) == 8 and object.__basicsize__ == 16 and \
        not sysconfig.get_config_var("Py_GIL_DISABLED")


def _word(address):
    return ctypes.c_void_p.from_address(address).value or 0


def _stack(frame):
    """The address of the first thing that the frame keeps beside its variables; 0: it is not known."""
    if not _is_known():
        return 0
    if sys.version_info < (3, 11):
        return _word(id(frame) + 64)
    code = frame.f_code
    names = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    return _word(id(frame) + 24) + 72 + 8 * len(names)


@functools.lru_cache(maxsize=256)
def _nested(path, line):
    """(loop, place) of those around a line of a function, the outermost first. A `for` keeps its iterator at that
    place of the function's stack; a `while` has none. What stands below a place that is not known is left out."""
    found, depth, statements = [], 0, getattr(replay_rhythm.parsed(path), "body", ())
    while True:
        node = next((n for n in statements if _first_line(n) <= line <= n.end_lineno), None)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found, depth, statements = [], 0, node.body
        elif isinstance(node, (ast.For, ast.While)) and replay_rhythm.holds(node.body, line):
            found.append((node, depth if isinstance(node, ast.For) else None))
            depth, statements = depth + isinstance(node, ast.For), node.body
        elif isinstance(node, ast.With) and replay_rhythm.holds(node.body, line):
            depth, statements = depth + len(node.items), node.body
        elif isinstance(node, (ast.If, ast.For, ast.While, ast.Try)):
            parts = (node.body, node.orelse) if not isinstance(node, ast.Try) else (node.body,)
            statements = next((part for part in parts if replay_rhythm.holds(part, line)), ())
        else:
            return found


def _first_line(node):
    return min([node.lineno] + [d.lineno for d in getattr(node, "decorator_list", ())])


def _iterator(frame, place):
    base = _stack(frame)
    kept = _word(base + 8 * place) if base else 0
    return ctypes.cast(kept, ctypes.py_object).value if kept else None


# ---- what ends a loop ----

class Loop:
    """One loop around a call. `left`: turns that it is known to have before it; None: not known."""

    def __init__(self, frame, node, iterator):
        self.frame, self.node = frame, node
        self.ends = _innermost(iterator, 0) if iterator is not None else []
        self.number = _counted_up(frame, node) if isinstance(node, ast.While) else None
        self.key = (id(frame), node.lineno, *map(id, self.ends))
        self.left = self.turns_left()
        self.place = frame.f_code.co_filename, node.lineno

    def turns_left(self):
        if self.number is not None:
            return self.number.turns_left()
        return min((operator.length_hint(i, 0) for i in self.ends if isinstance(i, _COUNTED)), default=None)

    def has_turned(self, before):
        """Whether it counts, and has made turns since the call at which the loops had so many left."""
        is_counted = self.number is not None or any(isinstance(i, _COUNTED[:2]) for i in self.ends)
        return is_counted and self.left < (before.get(self.key) or self.left)

    def can_end(self, loaders):
        return self.number is not None or any(isinstance(i, (*_COUNTED, loaders)) for i in self.ends)

    def end(self, loaders, end_loader, parts=1):
        """Skips one of so many parts of the turns left; of one part, its next turn is its last. A loader gives nothing
        more."""
        if self.number is not None:
            self.number.skip(parts)
        for i in self.ends:
            if isinstance(i, loaders):
                end_loader(i)
            elif isinstance(i, _COUNTED) and 1 < operator.length_hint(i, 0) <= TURNS_MOST:
                for _ in range((operator.length_hint(i, 0) - 1) // parts):
                    next(i)


def _innermost(iterator, depth):
    """The iterators that hold no other."""
    if isinstance(iterator, _COUNTED) or depth == DEPTH_MOST:
        return [iterator]
    frame = getattr(iterator, "gi_frame", None)      # before Python 3.11 a generator holds it, and it the rest
    held = gc.get_referents(iterator, *([frame] if frame is not None and sys.version_info < (3, 11) else []))
    held += [i for x in held if type(x) is tuple for i in x]               # those of a zip
    held += list(getattr(iterator, "__dict__", {}).values())
    inner = {id(i): i for i in held if isinstance(i, collections.abc.Iterator) and i is not iterator}
    found = [i for one in inner.values() for i in _innermost(one, depth + 1)]
    return [iterator] + found


class _Number:
    """A number that a `while` counts up to a bound."""

    def __init__(self, frame, target, value, by, bound):
        self.frame, self.target, self.value, self.by, self.bound = frame, target, value, by, bound

    def turns_left(self):
        return (self.bound - self.value) // self.by

    def skip(self, parts):
        turns = (self.turns_left() - 2) // parts     # this turn is not over, and one more is made
        if turns > 0:
            self.value += turns * self.by
            _set(self.frame, self.target, self.value)


def _set(frame, target, value):
    if isinstance(target, ast.Attribute):
        setattr(replay_rhythm.value_of(target.value, replay_rhythm.variables_of(frame)), target.attr, value)
        return
    code, name = frame.f_code, target.id
    if name not in code.co_varnames + code.co_cellvars + code.co_freevars:
        frame.f_globals[name] = value
        return
    lent = frame.f_locals
    if sys.version_info < (3, 13):
        lent.clear()                                 # no tensor may live longer for it
    lent[name] = value
    if sys.version_info < (3, 13):
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
        lent.clear()


def _bounds(loop, target):
    """What a number is compared with where the loop goes on or ends."""
    leaves = [n.test for n in ast.walk(loop)
              if isinstance(n, ast.If) and any(isinstance(s, (ast.Break, ast.Return)) for s in n.body)]
    for n in (n for test in (loop.test, *leaves) for n in ast.walk(test)):
        if isinstance(n, ast.Compare) and len(n.ops) == 1:
            sides = n.left, n.comparators[0]
            yield from (sides[1 - i] for i in (0, 1) if ast.unparse(sides[i]) == target)


def _counted_up(frame, loop):
    """The number that this `while` counts up to a bound that is known; None: there is none."""
    if sys.version_info < (3, 9) or replay_rhythm.hands_out(frame):
        return None
    variables = replay_rhythm.variables_of(frame)
    for n in ast.walk(loop):
        if not isinstance(n, ast.AugAssign) or not isinstance(n.op, ast.Add):
            continue
        value, by = (replay_rhythm.value_of(x, variables) for x in (n.target, n.value))
        bounds = [replay_rhythm.value_of(b, variables) for b in _bounds(loop, ast.unparse(n.target))]
        bounds = [b for b in bounds if type(b) is int and type(value) is int and b >= value]
        if bounds and type(by) is int and by > 0:
            return _Number(frame, n.target, value, by, min(bounds))
    return None


def lasted(loops, before):
    """Those that stood around an earlier call, too. `before`: the turns that loops had left then, by their keys. The
    innermost is at a later turn: a new loop may lie where an old one lay."""
    found = [loop for loop in loops if loop.key in before]
    has_moved = not found or found[0] is not loops[0] or None in (loops[0].left, before[loops[0].key]) or \
        loops[0].left < before[loops[0].key]
    return found if has_moved else found[1:]


def around(is_skipped):
    """The loops around the caller, the innermost first. `is_skipped`: files whose functions are passed over."""
    frame, found = sys._getframe(1), []
    while frame is not None:
        code = frame.f_code
        if not is_skipped(code.co_filename) and (code.co_name == "<module>" or code.co_name[0] != "<"):
            for node, place in reversed(_nested(code.co_filename, frame.f_lineno)):
                found.append(Loop(frame, node, _iterator(frame, place) if place is not None else None))
        frame = frame.f_back
    return found
