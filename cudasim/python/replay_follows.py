# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Whether a program may ask for memory after its loop, for `predict`: it reads what stands after it in the source.

    while True:
        train_one_step()
        if is_done(): break
    print("loss", loss.item())            quiet: prints, logs, saves, arithmetic of plain numbers
    evaluate(model)                       not quiet, unless all of its own body is

Nothing of the program is called. What is not known to be quiet is not.
"""
import ast
import os
import sys
import sysconfig
import threading
import types

import replay_rhythm

DEPTH_MOST = 3                       # functions that call functions
_PLAIN = (bool, int, float, str, bytes, type(None))
_NAMES = {"print", "len", "str", "repr", "int", "float", "round", "format", "open", "range", "exit", "quit", "type"}
_NUMBERS = {"len", "int", "float", "item", "time", "perf_counter", "monotonic", "str"}      # that calls of them give
_METHODS = {"item", "tolist", "cpu", "numpy", "format", "join", "close", "flush", "write", "info", "debug", "warning",
            "time", "perf_counter", "process_time", "monotonic", "now", "exit", "synchronize", "barrier", "finish",
            "destroy_process_group", "state_dict", "dump", "dumps", "append", "total_seconds", "get_rank",
            "max_memory_allocated", "memory_allocated", "max_memory_reserved", "memory_reserved", "memory_summary"}
_NOTHING = (ast.Pass, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Break, ast.Continue, ast.Global,
            ast.Nonlocal, ast.Delete)
_STDLIB = sysconfig.get_path("stdlib")


def _holds(node, line):
    return node.lineno <= line <= node.end_lineno


def _blocks(node):
    """The lists of statements of a statement."""
    parts = [getattr(node, name, None) or [] for name in ("body", "orelse", "finalbody")]
    return parts + [handler.body for handler in getattr(node, "handlers", ())]


def _around(path, line):
    """(statement, those after it) of each block of the function around a line, the innermost first."""
    found, statements = [], getattr(replay_rhythm.parsed(path), "body", [])
    while True:
        at = next((i for i, n in enumerate(statements) if _holds(n, line)), None)
        if at is None:
            return found[::-1]
        node = statements[at]
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found, statements = [], node.body
            continue
        blocks = _blocks(node)
        inner = next((b for b in blocks if replay_rhythm.holds(b, line)), [])
        is_choice = isinstance(node, ast.If)
        later = [n for b in blocks[1:3] if b is not inner for n in b] if inner and not is_choice else []
        found.append((node, later + statements[at + 1:]))
        statements = inner


class _Reader:
    """Reads the rest of one function. `variables`: those that it sees, by name; its own, which the rest binds anew."""

    def __init__(self, variables, depth=0):
        self.variables, self.depth = variables, depth
        self.plain = set()                           # names that the rest binds to plain numbers

    def forget(self, node):
        """What names of a statement, or of a target, hold now is not known. To what is plain only plain is added."""
        added = [n.target for n in ast.walk(node) if isinstance(n, ast.AugAssign)]
        for n in ast.walk(node):
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n not in added:
                self.plain.discard(n.id)
                self.variables.pop(n.id, None)

    def is_plain(self, node):
        """Whether this is a number or a text for sure."""
        if isinstance(node, ast.Name) and node.id in self.plain:
            return True
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            return called in _NUMBERS or (called == "round" and all(map(self.is_plain, node.args)))
        if isinstance(node, ast.BinOp):
            return self.is_plain(node.left) and self.is_plain(node.right)
        if isinstance(node, ast.UnaryOp):
            return self.is_plain(node.operand)
        value = replay_rhythm.value_of(node, self.variables)
        return isinstance(value, _PLAIN) and (value is not None or isinstance(node, ast.Constant))

    def is_quiet_call(self, node):
        if not all(map(self.is_quiet, [*node.args, *(k.value for k in node.keywords)])):
            return False
        if isinstance(node.func, ast.Attribute):
            is_save = node.func.attr == "save" and ast.unparse(node.func.value) == "torch"
            return is_save or (node.func.attr in _METHODS and self.is_quiet(node.func.value))
        if not isinstance(node.func, ast.Name):
            return False
        function = self.variables.get(node.func.id)
        if isinstance(function, types.FunctionType):
            return self.is_quiet_function(function)
        return function is None and node.func.id in _NAMES and (node.func.id != "round" or self.is_plain(node))

    def is_quiet_function(self, function):
        code = function.__code__
        found = [n for n in ast.walk(replay_rhythm.parsed(code.co_filename) or ast.Module([], []))
                 if isinstance(n, ast.FunctionDef) and n.name == code.co_name and _holds(n, code.co_firstlineno + 1)]
        own = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        inner = _Reader({k: v for k, v in function.__globals__.items() if k not in own}, self.depth + 1)
        return len(found) == 1 and self.depth < DEPTH_MOST and not found[0].decorator_list and \
            all(map(inner.is_quiet, found[0].body))

    def is_quiet_index(self, node):
        """A number, a text or a range names a part of a tensor; a mask or a list of places copies it."""
        if isinstance(node, ast.Tuple):
            return all(map(self.is_quiet_index, node.elts))
        return isinstance(node, ast.Slice) or self.is_plain(node)

    def is_quiet(self, node):
        """Whether an expression or a statement asks for no memory."""
        if isinstance(node, _NOTHING) or node is None:
            return True
        if isinstance(node, ast.Call):
            return self.is_quiet_call(node)
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            return self.is_plain(node)
        if isinstance(node, (ast.BinOp, ast.Compare, ast.AugAssign)):
            sides = [node.left, node.right] if isinstance(node, ast.BinOp) else \
                [node.target, node.value] if isinstance(node, ast.AugAssign) else [node.left, *node.comparators]
            return all(self.is_plain(s) and self.is_quiet(s) for s in sides)
        if isinstance(node, ast.Assign):
            return self.is_quiet_assignment(node)
        if isinstance(node, (ast.If, ast.For)):
            return self.is_quiet_block(node)
        if isinstance(node, ast.withitem) and node.optional_vars is not None:
            self.forget(node.optional_vars)
        if isinstance(node, ast.Subscript):
            return self.is_quiet_index(node.slice) and self.is_quiet(node.value)
        if isinstance(node, (ast.Constant, ast.Name)):
            return True
        if isinstance(node, (ast.Expr, ast.Return, ast.With, ast.Assert, ast.Raise, ast.withitem, ast.Attribute,
                             ast.JoinedStr, ast.FormattedValue, ast.BoolOp, ast.UnaryOp, ast.IfExp,
                             ast.Tuple, ast.List, ast.Dict)):
            return all(self.is_quiet(n) for n in ast.iter_child_nodes(node)
                       if not isinstance(n, (ast.expr_context, ast.boolop, ast.unaryop)))
        return False

    def is_quiet_assignment(self, node):
        is_plain = self.is_plain(node.value)
        is_quiet = self.is_quiet(node.value) and all(map(self.is_quiet, node.targets))
        for target in node.targets:
            self.forget(target)
            if is_plain and isinstance(target, ast.Name):
                self.plain.add(target.id)
        return is_quiet

    def is_quiet_block(self, node):
        """A choice or a loop: which of its turns and parts come is not known, nor what they leave."""
        if isinstance(node, ast.For):
            self.forget(node)
        is_quiet = all(map(self.is_quiet, [node.test if isinstance(node, ast.If) else node.iter, *node.body,
                                           *node.orelse]))
        self.forget(node)
        return is_quiet


def _is_endless(node):
    """A loop that only an error leaves."""
    return isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value) and \
        not any(isinstance(n, (ast.Break, ast.Return)) for n in ast.walk(node))


def _is_of_stdlib(path):
    return path.startswith(_STDLIB) and "-packages" not in path


def nothing_follows(frame, is_skipped):
    """Whether a call stands in one loop, and nothing but quiet statements after that, up to the program's end. `frame`:
    the innermost; `is_skipped`: files whose functions are passed over."""
    is_in_loop = False
    while frame is not None:
        path = frame.f_code.co_filename
        if not is_skipped(path) and not path.startswith("<") and not _is_of_stdlib(path):
            around = _around(path, frame.f_lineno)
            if not around:
                return False
            reader = _Reader(replay_rhythm.variables_of(frame))
            for node, later in around:
                is_loop = isinstance(node, (ast.For, ast.While))
                if is_loop and is_in_loop:           # its next turn may do more: larger images, a test at the last one
                    return False
                is_in_loop = is_in_loop or is_loop
                if is_loop and _is_endless(node):
                    return True
                if is_in_loop and not all(map(reader.is_quiet, later)):
                    return False
        frame = frame.f_back
    return is_in_loop


def is_in_last_loop(torch):
    """The same of what the program's first thread does now, or of its outermost call of a module of PyTorch's. Asked by
    another thread, which looks on."""
    frame = start = sys._current_frames().get(threading.main_thread().ident)
    module = sys.modules[torch.nn.Module.__module__].__file__
    while frame is not None:
        if frame.f_code.co_filename == module and frame.f_code.co_name == "_call_impl":
            start = frame
        frame = frame.f_back
    places = tuple(os.path.dirname(path) + os.sep for path in (torch.__file__, __file__))
    return nothing_follows(start, lambda path: path.startswith(places))
