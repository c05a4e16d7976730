# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Which line of a program decides by a number that one of its lines reads off the simulated card.

    30    value = loss.item()              is executed, and the number is not known
    31    total += value
    32    if total / n < best:             deciding_line("train.py", 30) is 32

The source tells, not the run, so that the program gets an ordinary number. A number is followed through the names of
one function, and no further: not into a function that it is handed to, nor to the caller.
"""
import ast
import functools
import linecache

READS = ("item", "tolist", "cpu", "numpy", "to", "float")
COLLECTS = ("append", "extend", "insert", "add", "update", "put")            # `losses.append(value)`
CERTAIN = ("isnan", "isinf", "isfinite", "isinstance", "len")                # what these say of a number is known
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _covers(node, line):
    return getattr(node, "lineno", line + 1) <= line <= (getattr(node, "end_lineno", None) or 0)


def _called(call):
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _inside(node, is_left_out=lambda node: False):
    """The node and all below it, in the order of the source, without other functions."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, SCOPES) and not is_left_out(child):
            yield from _inside(child, is_left_out)


def _is_certain(node):
    if isinstance(node, ast.Compare):
        return all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops)
    return isinstance(node, ast.Call) and _called(node) in CERTAIN


class _Flow:
    """How the numbers that are read at a line go through a function."""

    def __init__(self, function, line):
        self.nodes = list(_inside(function))
        calls = [n for n in self.nodes if isinstance(n, ast.Call) and _covers(n, line)]
        self.reads = [n for n in calls if _called(n) in READS] or calls      # else something it calls reads
        self.names = set()

    def carries(self, expression):
        """Whether a number that was read is in the value of an expression."""
        if expression is None or _is_certain(expression):
            return False
        return any(any(n is read for read in self.reads)
                   or (isinstance(n, (ast.Name, ast.Attribute, ast.Subscript)) and ast.unparse(n) in self.names)
                   for n in _inside(expression, _is_certain))

    def take(self, target):
        for part in target.elts if isinstance(target, (ast.Tuple, ast.List)) else (target,):
            self.names.add(ast.unparse(part))

    def follow(self, node):
        if isinstance(node, ast.Assign) and self.carries(node.value):
            for target in node.targets:
                self.take(target)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and self.carries(node.value):
            self.take(node.target)
        elif isinstance(node, (ast.For, ast.comprehension)) and self.carries(node.iter):
            self.take(node.target)
        elif isinstance(node, ast.Call) and _called(node) in COLLECTS and isinstance(node.func, ast.Attribute) \
                and any(map(self.carries, node.args)):
            self.take(node.func.value)

    def decisions(self):
        """Lines that branch on such a number."""
        while True:                                  # a loop may carry a name to a line further up
            n = len(self.names)
            for node in self.nodes:
                self.follow(node)
            if len(self.names) == n:
                break
        for node in self.nodes:
            tests = node.ifs if isinstance(node, ast.comprehension) else [getattr(node, "test", None)]
            yield from (test.lineno for test in tests if self.carries(test))


@functools.lru_cache(maxsize=1024)
def deciding_line(file, line):
    """The first line, from this one on and then from the function's first, that may branch on a number read at this
    line. None: no such line is seen, or the source is not there."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return None
    scope = tree
    for node in ast.walk(tree):                      # from the outside in
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _covers(node, line):
            scope = node
    lines = sorted(_Flow(scope, line).decisions())
    return next((n for n in lines if n >= line), lines[0] if lines else None)
