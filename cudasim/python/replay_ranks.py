# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Collectives between the ranks of a job on simulated cards: small tensors carry their values.

NCCL's stand-in moves nothing. A program that branches on what it received would go astray: a pipeline cannot unpickle
the shapes that the previous stage sent, and no rank waits at a barrier. So the functions named below run under a mode
that computes each of their operations a second time, on the host, beside the operation on the card:

    on the card    sizes = empty(2)    broadcast(sizes)          sum(sizes)    item()
    beside it      sizes = empty(2)    <- the job's store        sum(sizes)    item() answers

The card sees the same requests as without the mode. Values cross by the store that the job's ranks already share. A
tensor enters with what is known of it (replay_values.py). Otherwise it is unknown, and so is all that comes of it. A
rank that waits for one that has ended says so and raises.
"""
import atexit
import datetime
import functools
import os
import pickle
import time

import torch
import torch.distributed.distributed_c10d as c10d
import replay_values
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.weak import WeakTensorKeyDictionary

SMALL_BYTES = 64 << 10                               # a larger tensor is data: no program branches on all of it
WAIT_SECONDS = 600                                   # as NCCL's watchdog waits
OBJECTS = ("all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list", "send_object_list",
           "recv_object_list")
TENSORS = ("all_reduce", "all_gather", "all_gather_into_tensor", "broadcast", "reduce", "gather", "scatter")
UNKNOWN = ("recv", "irecv", "reduce_scatter", "reduce_scatter_tensor", "all_to_all", "all_to_all_single")
REDUCE = {"SUM": torch.sum, "AVG": torch.sum, "PRODUCT": torch.prod, "MAX": torch.amax, "MIN": torch.amin}


class _Mail:
    """Values between the ranks of a process group, in the order of its collectives."""

    def __init__(self):
        self.sent = {}                               # how many so far, by group and, between two ranks, by the pair
        self.pid = None                              # of this rank; None: it is in no job

    def number(self, channel):
        self.sent[channel] = self.sent.get(channel, -1) + 1
        return "replay/%s/%d" % ("/".join(map(str, channel)), self.sent[channel])

    @staticmethod
    def store():
        return c10d._get_default_store()

    def put(self, key, value):
        self.store().set(key, pickle.dumps(value))

    def get(self, key, rank, what):
        """Waits. `rank` is the sender's in the whole job."""
        store, waited = self.store(), 0
        while not store.check([key]):
            if waited > 5 and self.has_ended(rank) and not store.check([key]):
                raise RuntimeError("replay: rank %d has ended, and rank %d waits for it in %s" %
                                   (rank, torch.distributed.get_rank(), what))
            if waited >= WAIT_SECONDS:
                raise RuntimeError("replay: rank %d has not come to %s for %d seconds, and rank %d waits for it" %
                                   (rank, what, WAIT_SECONDS, torch.distributed.get_rank()))
            try:
                store.wait([key], datetime.timedelta(seconds=1))
            except RuntimeError:                     # the time is over
                waited += 1
        return pickle.loads(store.get(key))

    def sign(self, state):
        """"here", so that others see whether this rank has ended, or "left"."""
        self.pid = os.getpid() if state == "here" else None
        self.store().set("replay/rank/%d" % torch.distributed.get_rank(), "%d %s" % (os.getpid(), state))

    def has_ended(self, rank):
        key = "replay/rank/%d" % rank
        if not self.store().check([key]):
            return False                             # it has not begun
        pid, state = self.store().get(key).decode().split()
        try:
            with open("/proc/%s/stat" % pid) as f:
                return state == "left" or f.read().rpartition(")")[2].split()[0] in "ZX"
        except FileNotFoundError:
            return True

    def leave(self):
        """The first rank may hold the store, so it leaves last: others may not have read yet."""
        if self.pid != os.getpid():
            return
        try:
            self.sign("left")
            ranks = range(1, torch.distributed.get_world_size()) if torch.distributed.get_rank() == 0 else ()
            for waited in range(WAIT_SECONDS * 20):
                if all(self.has_ended(r) for r in ranks):
                    break
                time.sleep(0.05)
        except (RuntimeError, ValueError):
            pass                                     # the store or the group is gone


class _Beside(TorchDispatchMode):
    """Computes on the host what the card's operations compute."""

    def __init__(self, mail, operation=None):
        super().__init__()
        self.mail, self.operation = mail, operation
        self.values = WeakTensorKeyDictionary()      # tensors on the card, and what they hold
        self.changed = WeakTensorKeyDictionary()     # tensors that a collective wrote

    def value(self, tensor):
        if tensor.layout is not torch.strided or tensor.is_nested:
            return None
        if tensor not in self.values and tensor.nbytes <= SMALL_BYTES:
            known = replay_values.read(tensor)
            if known is not None:
                self.values[tensor] = known
        return self.values.get(tensor)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = function._schema.name
        before = [(t, self.value(t)) for t in tree_flatten((args, kwargs))[0]
                  if isinstance(t, torch.Tensor) and t.is_cuda]
        out = function(*args, **kwargs)
        if name.startswith("c10d::"):
            collective = getattr(self, "do_" + name[6:].strip("_"), None)
            if before and collective is not None:
                collective(*args)
            return out
        is_made = any(isinstance(t, torch.Tensor) and t.is_cuda for t in tree_flatten(out)[0])
        if (before or is_made) and all(value is not None for _, value in before):
            out = self.compute(function, args, kwargs, out)
        return out

    def compute(self, function, args, kwargs, out):
        """The operation on the host. Its result stands for the card's; one that leaves the card replaces it."""
        def on_host(x):
            if isinstance(x, torch.Tensor) and x.is_cuda:
                return self.values[x]
            return torch.device("cpu") if isinstance(x, torch.device) else x

        try:
            result = function(*tree_map(on_host, args), **tree_map(on_host, kwargs))
        except Exception:                            # the host has no such operation: its result is not known
            return out
        if not isinstance(out, (torch.Tensor, list, tuple)):
            return result                            # item()
        if isinstance(out, torch.Tensor) and not out.is_cuda:
            return out.copy_(result) if out.shape == result.shape else result
        for t, value in zip(tree_flatten(out)[0], tree_flatten(result)[0]):
            if isinstance(t, torch.Tensor):
                self.values[t] = value
        return out

    # ---- collectives, by the names of c10d's operations; their arguments are those of c10d/Ops.cpp ----

    def exchange(self, group, value, what, senders=None):
        """Everybody's values; those of `senders` only."""
        group = torch.distributed.ProcessGroup.unbox(group)
        key, ranks = self.mail.number((group.group_name,)), torch.distributed.get_process_group_ranks(group)
        self.mail.put("%s/%d" % (key, group.rank()), value)
        return [self.mail.get("%s/%d" % (key, r), ranks[r], what)
                for r in (range(len(ranks)) if senders is None else senders)]

    def set(self, tensor, value):
        if value is None:
            self.values.pop(tensor, None)
        elif tensor in self.values:
            self.values[tensor].copy_(value.view(tensor.shape))      # views of it see this too
        else:
            self.values[tensor] = value.view(tensor.shape).clone()
        self.changed[tensor] = True

    def do_allreduce(self, tensors, group, *_):
        for t in tensors:
            self.set(t, _reduced(self.exchange(group, self.value(t), "all_reduce"), self.operation))

    def do_reduce(self, tensors, group, _, root, *__):
        for t in tensors:
            values = self.exchange(group, self.value(t), "reduce")
            if torch.distributed.ProcessGroup.unbox(group).rank() == root:
                self.set(t, _reduced(values, self.operation))

    def do_broadcast(self, tensors, group, root, *_):
        for t in tensors:
            self.set(t, self.exchange(group, self.value(t), "broadcast", [root])[0])

    def do_allgather(self, outputs, inputs, group, *_):
        for received, t in zip(outputs, inputs):
            for r, value in zip(received, self.exchange(group, self.value(t), "all_gather")):
                self.set(r, value)

    def do_allgather_base(self, output, input, group, *_):
        values = self.exchange(group, self.value(input), "all_gather_into_tensor")
        self.set(output, None if any(v is None for v in values) else torch.cat([v.reshape(-1) for v in values]))

    def do_gather(self, outputs, inputs, group, *_):
        values = self.exchange(group, self.value(inputs[0]), "gather")
        for received in outputs:
            for r, value in zip(received, values):
                self.set(r, value)

    def do_scatter(self, outputs, inputs, group, root, *_):
        values = self.exchange(group, [self.value(t) for t in inputs[0]] if inputs else None, "scatter", [root])[0]
        self.set(outputs[0], values[torch.distributed.ProcessGroup.unbox(group).rank()])

    def do_send(self, tensors, group, to, *_):
        group = torch.distributed.ProcessGroup.unbox(group)
        for t in tensors:
            self.mail.put(self.mail.number((group.group_name, group.rank(), to)), self.value(t))

    def do_recv(self, tensors, group, sender, *_):
        group = torch.distributed.ProcessGroup.unbox(group)
        for t in tensors:
            key = self.mail.number((group.group_name, sender, group.rank()))
            self.set(t, self.mail.get(key, torch.distributed.get_process_group_ranks(group)[sender], "recv"))

    _allgather_base = do_allgather_base


def _reduced(values, op):
    """None: a value is not known, or the operation is none of REDUCE."""
    if op not in REDUCE or any(v is None for v in values):
        return None
    total = REDUCE[op](torch.stack(values), dim=0)
    return (total / len(values) if op == "AVG" else total).to(values[0].dtype)


def _operation(arguments):
    """The name of the ReduceOp among a call's arguments; c10d hands it on in a form that cannot be read."""
    kind = torch.distributed.ReduceOp
    given = [x for x in arguments if isinstance(x, (kind, kind.RedOpType))] or [kind.SUM]
    return next((name for name in REDUCE if given[0] == getattr(kind, name)), None)


def _is_simulated(group):
    """Whether a group's tensors on the card go by NCCL's stand-in."""
    return torch.distributed.is_initialized() and torch.distributed.get_backend(group) == "nccl"


def _hook(name, hook):
    """Puts hook(the function, arguments...) in a function's place, wherever torch.distributed shows it."""
    original = getattr(c10d, name)

    def call(*args, **kwargs):
        return hook(original, *args, **kwargs)

    call.__code__ = call.__code__.replace(co_filename="<string>")    # no line of this file counts as the program's
    call = functools.wraps(original)(call)
    for module in (c10d, torch.distributed):
        if getattr(module, name, None) is original:
            setattr(module, name, call)


def install():
    """AttributeError: this release of PyTorch lacks something."""
    _ = torch.distributed.ProcessGroup.unbox, c10d._get_default_store, torch.distributed.get_process_group_ranks
    mail = _Mail()

    def with_objects(function, *args, **kwargs):
        if not _is_simulated(kwargs.get("group")):
            return function(*args, **kwargs)
        with _Beside(mail):
            return replay_values.aside(function, *args, **kwargs)

    def with_tensors(function, *args, **kwargs):
        tensors = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
        is_plain = all(t.is_cuda and t.layout is torch.strided and not t.is_nested for t in tensors)
        is_small = is_plain and sum(t.nbytes for t in tensors) <= SMALL_BYTES
        if not is_small or not _is_simulated(kwargs.get("group")) or \
                torch.cuda.is_current_stream_capturing():
            return without_values(function, *args, **kwargs)
        with _Beside(mail, _operation([*args, *kwargs.values()])) as mode:
            out = replay_values.aside(function, *args, **kwargs)
        for t in mode.changed:
            if t in mode.values:
                replay_values.write(t, mode.values[t])
            else:
                replay_values.forget(t)
        return out

    def without_values(function, *args, **kwargs):
        out = function(*args, **kwargs)
        for t in tree_flatten((args, kwargs))[0]:
            if isinstance(t, torch.Tensor) and t.is_cuda:
                replay_values.forget(t)              # written, and no version tells
        return out

    def begin(function, *args, **kwargs):
        function(*args, **kwargs)
        mail.sign("here")

    def end(function, group=None):
        if group is None or group is c10d._get_default_group():
            mail.leave()
        function(group)

    def barrier(function, group=None, *args, **kwargs):
        out = function(group, *args, **kwargs)
        if _is_simulated(group):
            _Beside(mail).exchange((group or c10d._get_default_group()).boxed(), None, "barrier")
        return out

    for name in OBJECTS:
        _hook(name, with_objects)
    for name in TENSORS:
        _hook(name, with_tensors)
    for name in UNKNOWN:
        _hook(name, without_values)
    _hook("barrier", barrier)
    _hook("init_process_group", begin)
    _hook("destroy_process_group", end)
    atexit.register(mail.leave)
