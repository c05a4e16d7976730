# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Labels a recording of PyTorch's memory: what each request is for, and which nn.Module it belongs to.

    import replay_labels
    replay_labels.start()                                            # before the model is made
    torch.cuda.memory._record_memory_history(stacks="python")
    ...
    replay_labels.dump("snapshot.pickle")                            # instead of _dump_snapshot

`replay run-sim --labels` and `replay record --torch --labels` do this for a program that knows nothing of it.

The labels are known, not guessed from stacks: PyTorch's own hooks say when a module, a backward pass or an optimizer's
step begins and ends, what autograd saves, and which tensors are parameters, buffers, gradients and states. Moments are
counted in requests and frees, as PyTorch's statistics count them, so a label finds its request in the history exactly
(unless the program resets these with torch.cuda.reset_accumulated_memory_stats).
A label becomes two more frames at the outer end of a request's stack, in the files "nn.Module" and "category"; every
viewer shows them. The request's own frames stay as they are, and no request of the program changes.

doc/recording.md says what each category means.
"""
import bisect
import contextlib
import functools
import gc
import pickle
import sys
import threading
import weakref

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

MODULE_FILE, CATEGORY_FILE = "nn.Module", "category"

_local = threading.local()                           # .modules: paths of the modules being called; .born: see _enter
_roots = {}                                          # class of an outermost module: how many have been named
_paths = {}                                          # id of a module: its path
_parameters = {}                                     # id of a parameter: (weak reference, path of its module)
_seen = {}                                           # id of a parameter or buffer: its storage when it was marked last
_marks = []                                          # (positions, device, storage, category, path)
_made = []                                           # (position, device, storage, operands, is_graph): see _note_made
_asked = []                                          # (position, device, storage of a gradient, of its tensor)
_course = []                                         # (positions, phase, path, convolves): what is true from there on
_depth = {"backward": 0, "optimizer": 0, "buckets": 0}
_LIKE = ("parameters", "buffers", "gradients", "optimizer state")      # what has a tensor for each parameter
_state = {"started": False, "graph": False, "node": None, "convolves": False}


# ---- moments ----

def _position(device):
    """How many requests and frees this device has seen."""
    all_of = torch._C._cuda_memoryStats(device)["allocation"]["all"]
    return all_of["allocated"] + all_of["freed"]


def _positions():
    if not torch.cuda.is_initialized():
        return ()
    return tuple(_position(d) for d in range(torch.cuda.device_count()))


def _modules():
    if not hasattr(_local, "modules"):
        _local.modules, _local.sequence, _local.born = [], [], []
    return _local.modules


def _phase():
    if _depth["buckets"]:
        return "buckets"
    if _depth["backward"]:
        return "recompute" if _modules() else "nested" if _depth["backward"] > 1 else "backward"
    if _modules():
        return "forward"
    if _depth["optimizer"]:
        return "optimizer"
    return "loss" if _state["graph"] else "own"


def _note():
    """The phase or the module has changed."""
    modules = _modules()
    _course.append((_positions(), _phase(), modules[-1] if modules else _state["node"], _state["convolves"]))


def _storage(tensor):
    """Where a tensor's memory begins; None: it has none of its own on the card, or only a shape."""
    if not isinstance(tensor, torch.Tensor) or not tensor.is_cuda or tensor.layout != torch.strided:
        return None
    try:
        return tensor.untyped_storage().data_ptr()
    except (NotImplementedError, RuntimeError):      # it is wrapped by a transform, or only a shape
        return None


def _mark(tensor, category, path=None):
    if isinstance(tensor, torch.Tensor) and tensor.is_cuda and tensor.layout == torch.sparse_coo:
        _mark(tensor._indices(), category, path)
        _mark(tensor._values(), category, path)
        return
    storage = _storage(tensor)
    if storage is not None:
        _marks.append((_position(tensor.device.index), tensor.device.index, storage, category, path))


def _tensors(value):
    """The tensors in what a module takes or gives."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _tensors(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors(one)


# ---- modules ----

def _name_all():
    """Gives paths to all modules there are: "GPT.blocks.0.mlp", from the outermost one's class down."""
    found = [one for one in gc.get_objects() if issubclass(type(one), torch.nn.Module)]
    inner = {id(child) for module in found for child in module.children()}
    for root in found:
        if id(root) in inner:
            continue
        if id(root) not in _paths:
            name = type(root).__name__
            _roots[name] = _roots.get(name, 0) + 1
            _paths[id(root)] = name + ("#%d" % _roots[name] if _roots[name] > 1 else "")
        for path, module in root.named_modules():
            _paths.setdefault(id(module), _paths[id(root)] + "." + path)
    return found


def _mark_own(module):
    """Marks a module's own parameters and buffers, if they are new or have moved."""
    path = _paths.get(id(module))
    for category, tensors in (("parameters", module._parameters), ("buffers", module._buffers)):
        for tensor in tensors.values():
            storage = _storage(tensor)
            if storage is None:
                continue
            if _seen.get(id(tensor)) != storage:
                _seen[id(tensor)] = storage
                if category == "parameters":
                    _parameters[id(tensor)] = (weakref.ref(tensor), path)
                _mark(tensor, category, path)


def _moving(apply):
    """Module._apply, watched: what went to the host may come back to the address that it had. A model that is only
    called with other weights (torch.func) is met nowhere else."""
    @functools.wraps(apply)
    def moving(self, *args, **kwargs):
        _seen.clear()
        out = apply(self, *args, **kwargs)
        _mark_own(self)
        return out
    return moving


def _enter(module, args):
    modules = _modules()
    if id(module) not in _paths:
        _name_all()
    if not modules and not _depth["backward"]:
        for tensor in _tensors(args):
            if tensor.grad_fn is None:
                _mark(tensor, "inputs")
    modules.append(_paths.get(id(module), type(module).__name__))
    _sequence()
    _note()
    _mark_own(module)


def _leave(module, args, output):
    modules = _modules()
    if modules:
        modules.pop()
    if not modules and not _depth["backward"]:
        _state["graph"] = _state["graph"] or any(t.requires_grad for t in _tensors(output))
    _sequence()
    _note()


# ---- the backward pass ----

def _sequence():
    """Nodes of the graph are numbered; those made from here on belong to the module that is being called."""
    modules = _modules()
    _local.born.append(torch._C._autograd._get_sequence_nr())
    _local.sequence.append(modules[-1] if modules else None)


def _enter_node(path, convolves, _grads):
    _state["node"], _state["convolves"] = path, convolves
    _note()


def _attach(arguments):
    """Lets every node of the graph below these arguments of a backward pass say when it begins."""
    _modules()
    todo, seen = [t.grad_fn for t in _tensors(arguments) if t.grad_fn is not None], set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        todo.extend(n for n, _ in node.next_functions)
        at = bisect.bisect_right(_local.born, node._sequence_nr()) - 1
        if hasattr(node, "variable"):                # a leaf, which asks for nothing and may get a gradient
            _watch_leaf(node.variable)
        else:
            node.register_prehook(functools.partial(_enter_node, _local.sequence[at] if at >= 0 else None,
                                                    "onvolution" in node.name()))


def _watch_leaf(leaf):
    if id(leaf) not in _parameters or _parameters[id(leaf)][0]() is not leaf:
        _parameters[id(leaf)] = (weakref.ref(leaf), None)


def _mark_gradients():
    for reference, path in list(_parameters.values()):
        parameter = reference()
        if parameter is not None and parameter.grad is not None:
            _mark(parameter.grad, "gradients", path)


def _mark_asked(outputs, inputs, *_, **__):
    """Notes the gradients that torch.autograd.grad gives. Of a weight, inner weights of a graph included, it is one as
    .grad is; of anything else it is a result."""
    inputs = list(_tensors(inputs))

    def mark(gradients):
        for of, gradient in zip(inputs, gradients):
            place = _storage(gradient)
            if place is not None and _storage(of) is not None:
                _asked.append((_position(gradient.device.index), gradient.device.index, place, _storage(of)))
    return mark


def _asking(grad):
    """torch.autograd.grad, watched."""
    @functools.wraps(grad)
    def asking(*args, **kwargs):
        mark = _mark_asked(*args, **kwargs)
        out = grad(*args, **kwargs)
        mark(out)
        return out
    return asking


def _phased(name, function, before=None, after=None):
    """The function, as a phase of its own."""
    @functools.wraps(function)
    def phased(*args, **kwargs):
        if before is not None:
            before([*args, *kwargs.values()])
        _depth[name] += 1
        _note()
        try:
            return function(*args, **kwargs)
        finally:
            _depth[name] -= 1
            if after is not None:
                after()
            _note()
    return phased


def _after_backward():
    _state["node"], _state["convolves"] = None, False
    _state["graph"] = False
    _mark_gradients()


# ---- what autograd saves ----

def _saved(tensor):
    _mark(tensor, "saved")
    return tensor


def _given(tensor):
    return tensor


def _stand_aside():
    """torch.func refuses to run while tensors that are saved are watched: they are not, meanwhile."""
    disable, own = torch.autograd.graph.disable_saved_tensors_hooks, torch._C._autograd

    @contextlib.contextmanager
    def disabling(message):
        top = own._top_saved_tensors_default_hooks(True)
        is_watched = top is not None and top[0] is _saved
        if is_watched:
            own._pop_saved_tensors_default_hooks()
        try:
            with disable(message):
                yield
        finally:
            if is_watched:
                own._push_saved_tensors_default_hooks(_saved, _given)
    if hasattr(own, "_top_saved_tensors_default_hooks"):
        torch.autograd.graph.disable_saved_tensors_hooks = disabling


def _watch_other_hooks():
    """Checkpointing and others save in their own way: what they keep counts."""
    hooks = torch.autograd.graph.saved_tensors_hooks
    enter = hooks.__enter__

    @functools.wraps(enter)
    def watched(self):
        pack = self.pack_hook
        self.pack_hook = functools.wraps(pack)(lambda tensor: _saved(pack(tensor)))
        try:
            return enter(self)
        finally:
            self.pack_hook = pack                    # its owner may look at it

    hooks.__enter__ = watched


# ---- what the program's own lines make ----

def _copying(copy):
    """Parameter.__deepcopy__, watched: a model that is copied may never be called."""
    @functools.wraps(copy)
    def copying(self, memo):
        out = copy(self, memo)
        _mark(out, "parameters")
        return out
    return copying


def _parts(value, i, n):
    """The tensors in an argument that part i of n of the result is made from: of a list as long, its own."""
    return _tensors(value[i] if isinstance(value, (list, tuple)) and len(value) == n else value)


def _note_made(call):
    """A call of the program's own lines has new memory: what it was made from tells what it is."""
    if _modules() or any(_depth.values()):
        return
    results = list(_tensors(call.out))
    for i, result in enumerate(results):
        storage = _storage(result)
        if storage is None:
            continue
        operands = [(_storage(one), one.shape == result.shape and one.numel() > 1)
                    for value in (*call.args, *call.kwargs.values()) for one in _parts(value, i, len(results))
                    if _storage(one) is not None]
        device = result.device.index
        if call.name.endswith("_like") or call.name.startswith("new_"):
            operands = [(place, None) for place, _ in operands]      # the same shape, and nothing else of it
        if all(of != storage for of, _ in operands):
            _made.append((_position(device), device, storage, operands, result.grad_fn is not None))


def _watch_calls():
    """The simulated card sees each call of the program. On a real one nobody does: that would keep arguments longer."""
    beside = getattr(sys.modules.get("replay_values"), "_Beside", None)
    if beside is None:
        return
    look = beside.look_after

    def look_after(self, call):
        out = look(self, call)
        _note_made(call)
        return out
    beside.look_after = look_after


# ---- the optimizer ----

def _mark_optimized(optimizer):
    for group in optimizer.param_groups:
        for p in group["params"]:
            _mark(p, "parameters", _parameters.setdefault(id(p), (weakref.ref(p), None))[1])


def _enter_step(optimizer, *_):
    _mark_optimized(optimizer)
    _mark_gradients()
    _depth["optimizer"] += 1
    _note()


def _mark_states(optimizer):
    for p, state in optimizer.state.items():
        for tensor in _tensors(state):
            _mark(tensor, "optimizer state", _parameters.get(id(p), (None, None))[1])


def _leave_step(optimizer, *_):
    _depth["optimizer"] -= 1
    _mark_states(optimizer)
    _note()


def start():
    """Begins to label. Call this before the first tensor is on the card; a second call does nothing."""
    if _state["started"]:
        return
    _state["started"] = True
    modules = torch.nn.modules.module
    modules.register_module_forward_pre_hook(_enter)
    modules.register_module_forward_hook(_leave, always_call=True)
    torch.nn.Module._apply = _moving(torch.nn.Module._apply)
    register_optimizer_step_pre_hook(_enter_step)
    register_optimizer_step_post_hook(_leave_step)
    torch.autograd.graph.saved_tensors_hooks(_saved, _given).__enter__()
    _stand_aside()
    _watch_other_hooks()
    _watch_calls()
    torch.autograd.backward = _phased("backward", torch.autograd.backward, _attach, _after_backward)
    torch.autograd.grad = _asking(_phased("backward", torch.autograd.grad, _attach, _after_backward))
    torch.nn.Parameter.__deepcopy__ = _copying(torch.nn.Parameter.__deepcopy__)
    ddp = torch.nn.parallel.DistributedDataParallel
    for name in ("_ddp_init_helper", "_pre_forward"):
        if hasattr(ddp, name):
            setattr(ddp, name, _phased("buckets", getattr(ddp, name)))


# ---- the labels of a snapshot ----

def _mark_all():
    """What no hook has met: models that were made and never called, states that were loaded."""
    for module in _name_all():
        _mark_own(module)
    for one in gc.get_objects():
        if issubclass(type(one), torch.optim.Optimizer):
            _mark_optimized(one)
            _mark_states(one)
    _mark_gradients()


class _Lives:
    """The requests of one device, in order: entry of the history, position of birth and of end, address."""

    def __init__(self, entries, last):
        counted = [e for e in entries if e["action"] in ("alloc", "free_requested")]
        self.first = last - len(counted) + 1         # the position of the first of them
        self.born, self.ended, self.entry, self.at, self.is_brief = [], [], [], {}, []
        self.line_ends = []                          # by request: where another line of the program asks
        for i, entry in enumerate(counted):
            if entry["action"] == "alloc":
                births, requests = self.at.setdefault(entry["addr"], ([], []))
                births.append(self.first + i)
                requests.append(len(self.born))
                self.born.append(self.first + i)
                self.ended.append(float("inf"))
                self.entry.append(entry)
                following = counted[i + 1] if i + 1 < len(counted) else {"action": None}
                self.is_brief.append(following["action"] == "free_requested" and following["addr"] == entry["addr"])
            elif entry["addr"] in self.at:
                self.ended[self.at[entry["addr"]][1][-1]] = self.first + i
        self._find_line_ends()

    def _find_line_ends(self):
        line, end = None, float("inf")
        for i in reversed(range(len(self.entry))):
            before = _line_of(self.entry[i])
            if i + 1 < len(self.entry) and before != line:
                end = self.born[i + 1]
            line = before
            self.line_ends.append(end)
        self.line_ends.reverse()

    def find(self, position, storage):
        """The request that this address belonged to; None: older than the history."""
        births, requests = self.at.get(storage, ((), ()))
        i = bisect.bisect_right(births, position) - 1
        return requests[i] if i >= 0 and self.ended[requests[i]] > position else None


def _line_of(entry):
    """The innermost line that is not PyTorch's."""
    for frame in entry.get("frames") or []:
        if "/torch/" not in frame["filename"] and not frame["filename"].startswith("<"):
            return frame["filename"], frame["line"]
    return None


_RANK = ["parameters", "buffers", "gradients", "optimizer state", "workspaces", "inputs", "saved"]


def _known(lives, device, last, workspaces):
    """By request: the category that a tensor of it told, and the path."""
    known = {}
    marks = _marks + [(last, device, address, "workspaces", None) for address in workspaces]
    for position, of, storage, category, path in marks:
        request = lives.find(position, storage) if of == device else None
        if request is not None and (request not in known or _RANK.index(category) < _RANK.index(known[request][0])):
            known[request] = (category, path)
    for position, of, gradient, weight in _asked:
        request, source = (lives.find(position, place) if of == device else None for place in (gradient, weight))
        if request is not None and known.get(source, (None, None))[0] == "parameters":
            known.setdefault(request, ("gradients", None))
            if known[request][0] == "saved":
                known[request] = ("gradients", known[request][1])
    return known


def _next(positions, after):
    i = bisect.bisect_right(positions, after)
    return positions[i] if i < len(positions) else float("inf")


def _origins(lives, device, known, phase_at):
    """By request that the program's own lines made: what it was made from. "parameters" and the like: one of these of
    the same shape, as a copy is; "like": it only has the shape of one, as a state of an optimizer by hand; "results":
    what a forward pass made; "host": nothing on the card. None: other things."""
    origins = {}
    for position, of, storage, operands, is_graph in _made:
        request = lives.find(position, storage) if of == device else None
        if request is None:
            continue
        kinds, results, others, likened = set(), False, False, False
        for place, is_alike in operands:
            one = lives.find(position, place)
            kind = known.get(one, (None,))[0]
            kind = kind if kind in _LIKE else origins.get(one) or kind
            kinds |= {kind} if is_alike and kind in _LIKE and not is_graph else set()
            likened = likened or (is_alike is None and kind in _LIKE)
            is_result = kind == "results" or (one is not None and phase_at(lives.born[one]) == "forward")
            results, others = results or is_result, others or kind not in ("host", "inputs")
        origins[request] = next((kind for kind in _LIKE if kind in kinds), None) or \
            ("like" if likened else "results" if results else None if others else "host")
    return origins


def _category(known, origin, phase, born, ended, starts, end):
    """The category of a request that no tensor has told: by the phase it was born in, and what it lives through.
    None: it cannot be told."""
    forward, backward, nested = (_next(starts[name], born - 1) for name in ("forward", "backward", "nested"))
    if phase == "buckets":
        return "gradients" if ended > backward else "temporaries"
    if phase == "own" and origin in _LIKE and ended > min(forward, backward, end):
        return origin
    if phase == "own" and forward < backward:
        is_early = not starts["backward"] or starts["backward"][0] > born
        return _category_of_own(known, origin, ended > forward, is_early)
    if known == "inputs" and phase == "loss":
        return "inputs"
    if known == "saved" and phase != "optimizer":
        return "activations"
    until = {"own": backward, "loss": backward, "forward": min(forward, backward), "recompute": nested}.get(phase, end)
    return "activations" if ended > min(until, end) else "temporaries"


def _category_of_own(known, origin, meets_forward, is_early):
    """Of what the program's own lines made before a forward pass. What no module was given is a data set if it is there
    from the beginning, or made from nothing on the card. Later it may be anything."""
    if known in ("inputs", "saved"):
        return "inputs"
    if origin == "results" and meets_forward:
        return "activations"
    if not meets_forward:
        return "temporaries"
    return "inputs" if origin == "host" or (is_early and origin != "like") else None


def _is_workspace(lives, i, convolves):
    """Whether a convolution made this request and gave it back at once, and it is no gradient of a parameter that was
    added to another one."""
    entry = lives.entry[i]
    frames = entry.get("frames") or [{"filename": ""}]
    if not lives.is_brief[i] or not (convolves or frames[0]["filename"].endswith("torch/nn/modules/conv.py")):
        return False
    parameters = [reference() for reference, _ in list(_parameters.values())]
    return all(p is None or p.nbytes != entry["size"] for p in parameters)


def _label(entries, device, last, workspaces, is_last):
    end = last if is_last else float("inf")          # what the program keeps to its end is kept, not in passing
    lives = _Lives(entries, last)
    known = _known(lives, device, last, workspaces)
    course = [(positions[device] if device < len(positions) else 0, *state) for positions, *state in _course]
    changes = [position for position, *_ in course]
    turns = [one for i, one in enumerate(course) if i == 0 or course[i - 1][1] != one[1]]
    starts = {name: [p for p, phase, *_ in turns if phase == name] for name in ("forward", "backward", "nested")}
    made, has_passes = {}, bool(starts["forward"] or starts["backward"])

    def state(born):
        at = bisect.bisect_left(changes, born) - 1
        return course[at] if at >= 0 else (0, "own", None, False)
    origins = _origins(lives, device, known, lambda born: state(born)[1])
    for entry in entries:
        entry["frames"] = [f for f in entry["frames"] if f["filename"] != __file__] if entry.get("frames") else []
    for i, entry in enumerate(lives.entry):
        _, phase, path, convolves = state(lives.born[i])
        category, owner = known.get(i, (None, None))
        if category is None and _is_workspace(lives, i, convolves):
            category = "workspaces"
        elif category not in _RANK[:5] and phase == "own" and not has_passes:
            category = "temporaries" if lives.ended[i] <= lives.line_ends[i] else None
        elif category not in _RANK[:5]:
            category = _category(category, origins.get(i), phase, lives.born[i], lives.ended[i], starts, end)
        labels = ((owner or path, MODULE_FILE), (category or "unknown", CATEGORY_FILE))
        entry["frames"] += [made.setdefault(label, {"name": label[0], "filename": label[1], "line": 0})
                            for label in labels if label[0] is not None]


def _live(snapshot, device):
    return {b["address"] if "address" in b else None for s in snapshot["segments"] if s["device"] == device
            for b in s["blocks"] if b["state"] == "active_allocated"}


def snapshot(is_last=False):
    """torch.cuda.memory._snapshot() with labels. `is_last`: the program asks for nothing more, so cuBLAS gives its
    workspaces back, which tells them from the rest."""
    _mark_all()
    devices = range(torch.cuda.device_count())
    torch.cuda.synchronize()
    positions = _positions()
    taken = torch.cuda.memory._snapshot()
    workspaces = [set() for _ in devices]
    if is_last and hasattr(torch._C, "_cuda_clearCublasWorkspaces"):
        torch._C._cuda_clearCublasWorkspaces()
        after = torch.cuda.memory._snapshot()
        workspaces = [_live(taken, d) - _live(after, d) - {None} for d in devices]
    for device, entries in enumerate(taken["device_traces"]):
        _label(entries, device, positions[device], workspaces[device], is_last)
    return taken


def dump(path, is_last=True):
    """Writes a snapshot with labels."""
    with open(path, "wb") as f:
        pickle.dump(snapshot(is_last), f)
