# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Which line of a program decides by a number that one of its lines reads off the simulated card.

    30    value = loss.item()              is executed, and the number is not known
    31    total += value
    32    if total / n < best:             deciding_line("train.py", 30) is 32

The source tells, not the run, so that the program gets an ordinary number. A number is followed through the names of a
function, to its callers if it is returned, and into functions that it is handed to, as far as one file has them. A call
is of the one function with that name; a method's name counts behind any dot.
"""
import ast
import functools
import operator

import replay_rhythm

READS = ("item", "tolist", "cpu", "numpy", "to", "float")
COLLECTS = ("append", "extend", "insert", "add", "update", "put")            # `losses.append(value)`
SAYS = ("print", "log", "debug", "info", "warning", "warn", "write", "echo", "format", "int", "float", "round", "str")
CERTAIN = ("isnan", "isinf", "isfinite", "isinstance", "len")                # what these say of a number is known
GOES_ON = ("unfinished", "running", "active", "alive", "going", "continue", "improving")   # words of a loop's flag
ENDS = ("finished", "done", "ended", "converged", "stop", "stopped", "complete", "completed")
CHOOSE = ("max", "min")                              # Python's own: they branch on which is larger
COMPARES = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
            ast.NotEq: operator.ne}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.ClassDef, ast.Lambda)


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
    """How numbers that were read go through one function."""

    def __init__(self, function):
        self.function = function
        self.nodes = list(_inside(function))
        self.reads = []                              # calls whose value is such a number
        self.names = set()                           # what holds one: "total", "self.best", "r['loss']"
        self.objects = set()                         # what was called with one, so that it may keep it: "stopper"

    def carries(self, expression):
        """Whether such a number is in the value of an expression."""
        if expression is None or _is_certain(expression):
            return False
        return any(any(n is read for read in self.reads)
                   or (isinstance(n, (ast.Name, ast.Attribute, ast.Subscript)) and ast.unparse(n) in self.names)
                   or (isinstance(n, ast.Attribute) and ast.unparse(n.value) in self.objects)
                   for n in _inside(expression, _is_certain))

    def take(self, target):
        for part in target.elts if isinstance(target, (ast.Tuple, ast.List)) else (target,):
            self.names.add(ast.unparse(part))
            if isinstance(part, ast.Subscript) and not isinstance(part.slice, ast.Constant):
                self.names.add(ast.unparse(part.value))                      # `seek[i] += n`: it is in seek

    def follow_call(self, call):
        if not any(map(self.carries, [*call.args, *(k.value for k in call.keywords)])):
            return
        if isinstance(call.func, ast.Attribute) and call.func.attr in COLLECTS:
            self.take(call.func.value)
        elif isinstance(call.func, (ast.Name, ast.Attribute)):
            self.objects.add(ast.unparse(call.func))

    def follow(self, node):
        if isinstance(node, ast.Assign) and self.carries(node.value):
            for target in node.targets:
                self.take(target)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and self.carries(node.value):
            self.take(node.target)
        elif isinstance(node, (ast.For, ast.comprehension)) and self.carries(node.iter):
            self.take(node.target)
        elif isinstance(node, ast.Call):
            self.follow_call(node)

    def spread(self):
        """Follows all until nothing new holds a number: a loop may carry a name to a line further up."""
        while True:
            n = len(self.names) + len(self.objects)
            for node in self.nodes:
                self.follow(node)
            if len(self.names) + len(self.objects) == n:
                return

    def returns(self):
        return any(self.carries(n.value) for n in self.nodes if isinstance(n, (ast.Return, ast.Yield)))

    def tests(self):
        """What branches on such a number."""
        for node in self.nodes:
            tests = node.ifs if isinstance(node, ast.comprehension) else [getattr(node, "test", None)]
            yield from (test for test in tests if self.carries(test))

    def counts(self):
        """Calls of range() that such a number is in."""
        return (n for n in self.nodes if isinstance(n, ast.Call) and _called(n) == "range" and
                any(map(self.carries, n.args)))

    def decisions(self):
        """Lines that branch on such a number, or loop as often as it says."""
        yield from (node.lineno for node in (*self.tests(), *self.counts()))


class _File:
    """The functions of a file, with what is known of each."""

    def __init__(self, tree):
        self.flows = {tree: _Flow(tree)}
        self.named = {}                              # by name: the functions, and whether they are methods
        for owner in ast.walk(tree):
            for node in ast.iter_child_nodes(owner):
                if isinstance(node, FUNCTIONS):
                    self.flows[node] = _Flow(node)
                    self.named.setdefault(node.name, []).append((node, isinstance(owner, ast.ClassDef)))

    def function_of(self, call):
        """The one function of this file that a call is of; None: it is another's, or there are several."""
        found = self.named.get(_called(call), [])
        is_method = isinstance(call.func, ast.Attribute)
        return found[0][0] if len(found) == 1 and found[0][1] == is_method else None

    def calls(self):
        return ((flow, n) for flow in self.flows.values() for n in flow.nodes if isinstance(n, ast.Call))

    def hand_over(self, flow, call):
        """Gives the parameters of a function of this file what a call of it carries. Its flow, if that is new."""
        function = self.function_of(call)
        if function is None:
            return None
        parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        if isinstance(call.func, ast.Attribute) and parameters:
            del parameters[0]                        # self
        taken = {name for name, value in zip(parameters, call.args) if flow.carries(value)}
        taken |= {k.arg for k in call.keywords if k.arg is not None and flow.carries(k.value)}
        is_new = not taken <= self.flows[function].names
        self.flows[function].names |= taken
        return self.flows[function] if is_new else None

    def hand_back(self, flow):
        """Makes each call of a function that returns such a number one that reads it. Yields the flows that are new."""
        for caller, call in self.calls():
            if self.function_of(call) is flow.function and not any(call is read for read in caller.reads):
                caller.reads.append(call)
                yield caller

    def spread(self, first):
        waiting = [first]
        while waiting:
            flow = waiting.pop()
            flow.spread()
            calls = [n for n in flow.nodes if isinstance(n, ast.Call)]
            waiting += [other for other in (self.hand_over(flow, call) for call in calls) if other is not None]
            if flow.returns():
                waiting += self.hand_back(flow)


def _scope_of(tree, line):
    """The innermost function that covers a line; else the file."""
    scope = tree
    for node in ast.walk(tree):                      # from the outside in
        if isinstance(node, FUNCTIONS) and _covers(node, line):
            scope = node
    return scope


def _flow_of(flow, line):
    """The flow of what is read at a line of its function."""
    calls = [n for n in flow.nodes if isinstance(n, ast.Call) and _covers(n, line)]
    flow.reads = [n for n in calls if _called(n) in READS] or calls          # else something it calls reads
    return flow


@functools.lru_cache(maxsize=1024)
def deciding_line(file, line):
    """The first line, from this one on and then from the function's first, that may branch on a number read at this
    line; if its function has none, the first of the file. None: no such line is seen, or the source is not there."""
    tree = replay_rhythm.parsed(file)
    if tree is None:
        return None
    of_file = _File(tree)
    flow = _flow_of(of_file.flows[_scope_of(tree, line)], line)
    of_file.spread(flow)
    lines = sorted(flow.decisions()) or sorted(n for other in of_file.flows.values() for n in other.decisions())
    return next((n for n in lines if n >= line), lines[0] if lines else None)


@functools.lru_cache(maxsize=1024)
def _awaiting(file, line):
    """The loops of a file whose test carries a number read at this line, in whatever function."""
    tree = replay_rhythm.parsed(file)
    if tree is None:
        return ()
    of_file = _File(tree)
    of_file.spread(_flow_of(of_file.flows[_scope_of(tree, line)], line))
    return [n for flow in of_file.flows.values() for n in flow.nodes
            if isinstance(n, ast.While) and flow.carries(n.test)]


def awaiting_line(frame):
    """The line of the loop that runs in a caller and waits for a number which the frame reads; None: there is none."""
    file, line = frame.f_code.co_filename, frame.f_lineno
    while frame is not None:
        if frame.f_code.co_filename == file:
            found = next((n for n in _awaiting(file, line) if _covers(n, frame.f_lineno)), None)
            if found is not None:
                return found.test.lineno
        frame = frame.f_back
    return None


@functools.lru_cache(maxsize=64)
def is_only_said(file, line, attribute):
    """Whether what this attribute has at this line is printed and no more: not handed to another function, returned or
    compared. False where the source is not there."""
    tree = replay_rhythm.parsed(file)
    if tree is None:
        return False
    flow = _Flow(_scope_of(tree, line))
    reads = (n for n in flow.nodes if isinstance(n, ast.Attribute) and _covers(n, line))
    flow.reads = [n for n in reads if n.attr == attribute]
    flow.spread()
    calls = [n for n in flow.nodes if isinstance(n, ast.Call) and _called(n) not in SAYS]
    is_handed_on = any(map(flow.carries, [a for n in calls for a in (*n.args, *(k.value for k in n.keywords))]))
    return bool(flow.reads) and not (is_handed_on or flow.returns() or any(flow.decisions()))


@functools.lru_cache(maxsize=64)
def may_wait(file, line):
    """Whether a line is in a `while`, which may go on until it branches otherwise, and does not guard an error."""
    tree = replay_rhythm.parsed(file)
    nodes = [] if tree is None else list(ast.walk(tree))
    guards = (n for n in nodes if isinstance(n, ast.If) and _covers(n.test, line))
    return any(isinstance(n, ast.While) and _covers(n, line) for n in nodes) and \
        not any(isinstance(x, ast.Raise) for n in guards for x in ast.walk(n))


def _parts(test, sign=True):
    """Each part of a test that `and`, `or` and `not` join, and whether it stands there as it is."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _parts(test.operand, not sign)
    elif isinstance(test, ast.BoolOp):
        for part in test.values:
            yield from _parts(part, sign)
    else:
        yield test, sign


def _signs(test):
    return [sign for _, sign in _parts(test)]


def _is_error(statement):
    """Not what ends a loop or a trial in good order: StopIteration, TrialPruned."""
    return isinstance(statement, ast.Raise) and not any(word in ast.unparse(statement) for word in ("Stop", "Prune"))


@functools.lru_cache(maxsize=1024)
def calm_answer(file, line):
    """What a line in the test of an `if` or an `assert` must get so that the program raises no error: `if not ok.all():
    raise` True. None: it guards none, or one does not know."""
    tree = replay_rhythm.parsed(file)
    nodes = () if tree is None else ast.walk(tree)
    for node in (n for n in nodes if isinstance(n, (ast.If, ast.Assert)) and _covers(n.test, line)):
        if isinstance(node, ast.Assert):
            signs = set(_signs(node.test))
            return signs == {True} if len(signs) == 1 else None
        raises = [any(_is_error(s) for s in body) for body in (node.body, node.orelse)]
        signs = set(_signs(node.test))
        if raises[0] != raises[1] and len(signs) == 1:
            return (signs == {False}) is raises[0]
    return None


def _leaves(guard, loop):
    """Whether what an `if` guards ends a `while`: it leaves it, or sets what its test reads."""
    tested = {ast.unparse(n) for n in ast.walk(loop.test) if isinstance(n, (ast.Name, ast.Attribute))}
    set_there = {ast.unparse(t) for n in _inside(guard) if isinstance(n, (ast.Assign, ast.AugAssign))
                 for t in (n.targets if isinstance(n, ast.Assign) else (n.target,))}
    return any(isinstance(n, (ast.Break, ast.Return)) for n in _inside(guard)) or not tested.isdisjoint(set_there)


def _flag_goes_on(test, name):
    """What a flag must be so that the test of a `while` holds. If the test hands it to a function, its name tells."""
    for part, sign in _parts(test):
        if ast.unparse(part) == name:
            return sign
        words = set(name.rpartition(".")[2].lower().split("_"))
        if isinstance(part, ast.Call) and any(ast.unparse(a) == name for a in part.args):
            return True if words & set(GOES_ON) else False if words & set(ENDS) else None
    return None


def _goes_on_by(node, loop, line):
    """What is read at a line, in this statement of a loop, must be so that the loop goes on; None: it does not say."""
    if isinstance(node, ast.If) and _covers(node.test, line) and any(isinstance(s, ast.Break) for s in node.body):
        signs, goes_on = set(_signs(node.test)), False
    elif isinstance(node, ast.Assign) and _covers(node, line) and isinstance(loop, ast.While):
        signs, goes_on = set(_signs(node.value)), _flag_goes_on(loop.test, ast.unparse(node.targets[0]))
    elif node is loop and isinstance(loop, ast.While) and _covers(loop.test, line):
        signs, goes_on = set(_signs(loop.test)), True
    else:
        return None
    return None if goes_on is None or len(signs) != 1 else (signs == {True}) is goes_on


@functools.lru_cache(maxsize=1024)
def going_on(file, line):
    """What is read at a line must be so that the loop around it does not end: `if not active.any(): break` True. None:
    no loop ends by it, or one does not know."""
    tree = replay_rhythm.parsed(file)
    nodes = () if tree is None else ast.walk(tree)
    loops = [n for n in nodes if isinstance(n, (ast.While, ast.For)) and _covers(n, line)]
    for loop in reversed(loops):                     # from the inside out
        found = [x for x in (_goes_on_by(n, loop, line) for n in _inside(loop)) if x is not None]
        if found:
            return found[0]
    return None


@functools.lru_cache(maxsize=64)
def may_end(file, line):
    """Whether what a line decides ends a `while`: it is its test, an `if` in it that leaves it, or sets its flag."""
    tree = replay_rhythm.parsed(file)
    nodes = [] if tree is None else list(ast.walk(tree))
    loops = [n for n in nodes if isinstance(n, ast.While) and _covers(n, line)]
    guards = [n for n in nodes if isinstance(n, ast.If) and _covers(n.test, line)]
    return any(_covers(n.test, line) for n in loops) or any(_leaves(g, n) for g in guards for n in loops) or \
        (bool(loops) and going_on(file, line) is not None)


@functools.lru_cache(maxsize=1024)
def _local_flow(file, line):
    """What is read at a line, followed through its function; None: the source is not there."""
    tree = replay_rhythm.parsed(file)
    if tree is None:
        return None
    flow = _flow_of(_Flow(_scope_of(tree, line)), line)
    flow.spread()
    return flow


def is_counted(file, line):
    """Whether a loop runs as often as the number says that is read at this line: `for _ in range(n)`."""
    flow = _local_flow(file, line)
    return flow is not None and any(True for _ in flow.counts())


def _value(node, frame):
    """Of a constant, or of a name or a member of one that is a number; None: of nothing else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _value(node.operand, frame)
        return None if number is None else -number
    if isinstance(node, ast.Constant):
        found = node.value
    elif isinstance(node, ast.Name):
        found = frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        found = getattr(frame.f_locals.get(node.value.id), "__dict__", {}).get(node.attr)       # nothing runs
    else:
        found = None
    return found if type(found) in (int, float) else None


def _other_side(compare, flow):
    """The side of a comparison that no number which was read is in, and the operator as if it stood on the right."""
    mirrored = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
    kind, left, right = type(compare.ops[0]), compare.left, compare.comparators[0]
    if len(compare.ops) > 1 or kind not in COMPARES or flow.carries(left) == flow.carries(right):
        return None, None
    return (right, COMPARES[kind]) if flow.carries(left) else (left, COMPARES[mirrored.get(kind, kind)])


def turning_number(file, line, frame, number):
    """A number that makes the first comparison of what is read at this line come out the other way than `number` does.
    None: there is none whose other side is known."""
    flow = _local_flow(file, line)
    tests = sorted(flow.tests(), key=lambda n: n.lineno) if flow is not None else []
    for compare in (n for test in tests for n in _inside(test) if isinstance(n, ast.Compare)):
        side, compares = _other_side(compare, flow)
        limit = None if side is None else _value(side, frame)
        if limit is not None:
            was = compares(number, limit)
            return next((x for x in (limit, limit + 1, limit - 1) if compares(x, limit) != was), None)
    return None


@functools.lru_cache(maxsize=64)
def chooses(file, line):
    """"max" or "min": Python's own function, which is called at this line; None: neither is, or both are."""
    tree = replay_rhythm.parsed(file)
    nodes = () if tree is None else (n for n in ast.walk(tree) if isinstance(n, ast.Call) and _covers(n, line))
    named = {n.func.id for n in nodes if isinstance(n.func, ast.Name) and n.func.id in CHOOSE}
    return named.pop() if len(named) == 1 else None
