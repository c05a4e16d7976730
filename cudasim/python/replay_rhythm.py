# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Reads off the program's loop what it does once in many turns: `if step % 100 == 0: ...`.

Looked at is the innermost loop of each of the program's own functions that are being called: the one that makes the
steps. What only prints is left out, and so is what holds the step itself (an accumulation of gradients). Nothing of the
program is called: a number is a constant, a variable, or what an object or a dictionary of options holds of that name.
"""
import ast
import ctypes
import dis
import functools
import inspect
import linecache
import os
import sys
import sysconfig

_HANDS_OUT = {"locals", "vars", "dir", "eval", "exec"}       # they give a function's variables away

_PLACES = tuple(os.path.realpath(p) + os.sep for p in {
    os.path.dirname(os.path.abspath(__file__)), sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"),
    sysconfig.get_path("platlib")} if p)


def _is_own(path):
    return not path.startswith("<") and "site-packages" not in path and not os.path.realpath(path).startswith(_PLACES)


def _get(frame, name):
    get = ctypes.pythonapi.PyFrame_GetVar
    get.argtypes, get.restype = (ctypes.py_object, ctypes.py_object), ctypes.py_object
    try:
        return get(frame, name)
    except NameError:
        return None


def hands_out(frame):
    """Whether the program may hold the dictionary of this function's variables. model.eval() is a method."""
    code = frame.f_code
    return bool(code.co_flags & inspect.CO_OPTIMIZED and _HANDS_OUT.intersection(code.co_names)) and \
        any(i.opname == "LOAD_GLOBAL" and i.argval in _HANDS_OUT for i in dis.get_instructions(code))


@functools.lru_cache(maxsize=64)
def parsed(path):
    """The syntax of a file of the program's; None: it has none."""
    try:
        return ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError, RecursionError):
        return None


def holds(statements, line):
    """Whether a line is of these statements, which stand one after the other."""
    return bool(statements) and statements[0].lineno <= line <= statements[-1].end_lineno


def variables_of(frame):
    """Those of a frame, by name. No tensor may live longer for it: before Python 3.12 the frame of a function keeps the
    dictionary that it lends, so that it is emptied, and not asked for where the program may hold it itself."""
    code, variables = frame.f_code, dict(frame.f_globals)
    if code.co_flags & inspect.CO_OPTIMIZED and sys.version_info >= (3, 12):
        variables.update({name: _get(frame, name) for name in code.co_varnames + code.co_cellvars + code.co_freevars})
    elif code.co_flags & inspect.CO_OPTIMIZED and not hands_out(frame):
        lent = frame.f_locals
        variables.update(lent)
        lent.clear()
    return variables


def variable(frame, name):
    return _get(frame, name) if sys.version_info >= (3, 12) else variables_of(frame).get(name)


def value_of(node, variables):
    """What stands there, without calling anything; None: not known."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return variables.get(node.id)
    if isinstance(node, ast.Attribute):
        of = value_of(node.value, variables)
        held = of.__dict__ if type(of).__getattribute__ is object.__getattribute__ and hasattr(of, "__dict__") else {}
        return held.get(node.attr)
    if isinstance(node, ast.Subscript):
        of, key = value_of(node.value, variables), value_of(node.slice, variables)
        return of.get(key) if type(of) is dict and isinstance(key, (int, str)) else None
    return None


def _only_prints(branch):
    def prints(node):
        called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
        return isinstance(called, ast.Name) and called.id == "print"
    return all(map(prints, branch.body)) and not branch.orelse


def _loop(tree, line):
    """The innermost loop around a line; None: there is none."""
    around = [n for n in ast.walk(tree) if isinstance(n, (ast.For, ast.While)) and n.lineno <= line <= n.end_lineno]
    return max(around, key=lambda n: n.lineno, default=None)


def _of_frame(frame):
    """(turns, place) of each branch of its loop that is taken once in so many turns."""
    path, line = frame.f_code.co_filename, frame.f_lineno
    tree = parsed(path)
    loop = _loop(tree, line) if tree is not None else None
    variables = variables_of(frame) if loop is not None else {}
    for branch in ast.walk(loop) if loop is not None else ():
        if not isinstance(branch, ast.If) or branch.lineno <= line <= branch.end_lineno or _only_prints(branch):
            continue
        for node in ast.walk(branch.test):
            is_rest = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
            turns = value_of(node.right, variables) if is_rest else None
            if type(turns) is int and turns > 1 and not isinstance(value_of(node.left, variables), str):
                yield turns, "%s:%d" % (os.path.basename(path), branch.lineno)


def slowest():
    """The rarest of them: (turns, "FILE:LINE"); None: none is seen."""
    frame, found = sys._getframe(1), []
    while frame is not None:
        if _is_own(frame.f_code.co_filename):
            found.extend(_of_frame(frame))
        frame = frame.f_back
    return max(found, key=lambda r: r[0], default=None)
