# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Programs of a ninth hand, labelled before `why` was asked once, most of causes that are new here."""
import collections
import contextlib

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

from parts import ConvNet, Transformer, dies, mlp, rand, tokens, train


@dies("leak", 0.7, "accumulation: the running total goes backward again after each batch", "loss.backward()")
def total_goes_backward_again():
    net = mlp(512, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for batches in [2, 2, 2, 60]:
        total = 0
        optimizer.zero_grad()
        for i in range(batches):
            total = total + net(rand(700 + 30 * (i % 3), 512)).square().mean()  # here
            total.backward(retain_graph=True)
        optimizer.step()


class CurveOfEpoch:
    """A metric that keeps what it computed of each epoch."""
    def __init__(self):
        self.scores, self.curves = [], []

    def update(self, scores):
        self.scores.append(scores)

    def compute(self):
        self.curves.append(torch.cat(self.scores).sort(0).values)  # here metric_with_curves
        self.scores.clear()
        return self.curves[-1].mean().item()


@dies("leak", 0.8, "a metric is reset each epoch, and keeps a sorted curve of each", "curve.cpu()")
def metric_with_curves():
    net = mlp(1536, 3)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    metric = CurveOfEpoch()
    for _ in range(16):
        for _ in range(6):
            train(net, optimizer, rand(4096, 1536))
        with torch.no_grad():
            for _ in range(8):
                metric.update(net(rand(3000, 1536)))
        metric.compute()


@dies("full|one-tensor", 0.8, "gradients of each sample by vmap", "chunk_size, a smaller batch")
def gradients_of_each_sample():
    net = mlp(384, 3)
    weights = {name: p.detach() for name, p in net.named_parameters()}

    def loss_of(weights, x, y):
        return (functional_call(net, weights, (x,)) - y).square().mean()
    each = vmap(grad(loss_of), in_dims=(None, 0, 0))
    for batch in [96, 96, 96]:
        grads = each(weights, rand(batch, 384), rand(batch, 384))
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
        scale = (1 / norms).clamp(max=1)
        for name, g in grads.items():
            weights[name] -= 0.01 * torch.einsum("b,b...->...", scale, g)


@dies("leak", 0.6, "saved_tensors_hooks: an archive of what is saved for backward, for debugging", "a weak reference")
def archive_of_saved_tensors():
    net = mlp(1200, 4)  # here in_model
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    archive = {}

    def pack(tensor):
        archive[len(archive)] = tensor
        return tensor
    for i in range(50):
        watch = torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t) if i % 2 else contextlib.nullcontext()
        with watch:
            train(net, optimizer, rand(4000, 1200))


@dies("full", 0.9, "after an error it tries a smaller batch inside of the except, which holds the first try", "outside")
def smaller_batch_inside_except():
    net = Transformer(width=256, layers=4)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)

    def attempt(batch):
        logits = net(tokens(batch, 256))
        loss = logits.square().mean()
        if batch > 20:
            raise ValueError("this loss is not finite")
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    for batch in [8, 8, 8, 24]:
        try:
            attempt(batch)
        except ValueError:
            attempt(batch - 4)


@dies("full|larger-input", 0.75, "splatting: points are cloned every few steps, with their states", "a bound on points")
def points_are_cloned():
    points = rand(20000, 59).requires_grad_()
    optimizer = torch.optim.Adam([points])
    for i in range(120):
        picture = torch.sigmoid(points @ rand(59, 64)).mean(0)
        picture.square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        if i % 6 == 5:
            state = optimizer.state.pop(points)
            n = len(points) // 5
            points = torch.cat([points.detach(), points.detach()[:n] + 0.1]).requires_grad_()
            for key in ("exp_avg", "exp_avg_sq"):
                state[key] = torch.cat([state[key], torch.zeros_like(state[key][:n])])
            optimizer.param_groups[0]["params"] = [points]
            optimizer.state[points] = state


@dies("leak", 0.7, "speculative decoding: refused tokens are never cut from the draft's cache", "cut the cache")
@torch.no_grad()
def draft_cache_is_never_cut():
    cache, accepted = rand(64, 64, 1024), 64
    for _ in range(250):
        for _ in range(4):
            scores = torch.softmax(rand(64, 1, 1024) @ cache.transpose(1, 2), -1)
            cache = torch.cat([cache, scores @ cache], 1)  # here
        accepted += 1


@dies("leak", 0.8, "evaluation with a batch four times as large, logits are kept on the card", ".cpu()")
def logits_of_larger_batches():
    net = Transformer(width=256, layers=2, words=5000)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    for _ in range(6):
        train(net, optimizer, tokens(8, 256))
    kept = []
    with torch.no_grad():
        for _ in range(25):
            logits = net(tokens(32, 256))  # here in_model
            kept.append(logits)
    return torch.cat(kept)


@dies("larger-input|one-tensor", 0.7, "masks of instances are pasted onto the picture, and one has hundreds", "cap")
@torch.no_grad()
def masks_of_a_crowd():
    net = ConvNet(8)
    for instances in [5, 8, 3, 12, 6, 9, 4, 7, 160, 5]:
        net(rand(1, 3, 512, 512))
        masks = torch.sigmoid(rand(instances, 1, 28, 28))
        whole = nn.functional.interpolate(masks, size=(512, 512), mode="bilinear")
        areas = (whole > 0.5).float().sum((1, 2, 3))
        areas.max().item()


@dies("full", 0.8, "a pipeline: all micro-batches go forward before the first goes backward", "1F1B")
def micro_batches_before_backward():
    stages = [mlp(2048, 3), mlp(2048, 3)]
    optimizer = torch.optim.AdamW([p for s in stages for p in s.parameters()], lr=0.01)
    for _ in range(3):
        losses = []
        for _ in range(10):
            x = rand(4000, 2048)
            for stage in stages:
                x = stage(x)
            losses.append(x.square().mean())
        for loss in losses:
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@dies("leak", 0.65, "full backward hooks keep the gradients of outputs, by step, for a plot", "norm().item()")
def gradients_of_outputs_for_a_plot():
    net = mlp(1024, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    plot = collections.defaultdict(list)
    for n, layer in enumerate(net):
        if n % 2 == 0:
            layer.register_full_backward_hook(lambda m, gi, go, n=n: plot[n].append(go[0]))
    for i in range(60):
        loss = net(rand(4000 + 500 * (i % 4), 1024)).square().mean()
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()


@dies("larger-input", 0.8, "a bounded prefetch of eight batches, which are sorted by length", "shuffle, or cap")
def sorted_batches_are_prefetched():
    net = mlp(1024, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    ahead = collections.deque()
    for i in range(80):
        ahead.append(rand(3000 + 400 * i, 1024))
        if len(ahead) == 8:
            train(net, optimizer, ahead.popleft())


@dies("leak", 0.75, "prompts: each task adds one to the optimizer, and old ones stay there", "one each")
def prompt_of_each_task():
    net = mlp(1024, 3)
    net.requires_grad_(False)
    optimizer = torch.optim.AdamW([rand(8, 1024).requires_grad_()], lr=0.01)
    for _ in range(40):
        prompt = rand(9000, 1024).requires_grad_()  # here
        optimizer.add_param_group({"params": [prompt]})
        for _ in range(5):
            net(prompt).square().mean().backward()
            optimizer.step()  # here
            optimizer.zero_grad()


@dies("full", 0.85, "sharded weights: gathered for evaluation while those of training are not given back", "reshard")
def gathered_twice():
    shards = [rand(2, 2048 * 2048) for _ in range(8)]
    training = {}
    for step in range(4):
        x = rand(3000, 2048)
        for n, shard in enumerate(shards):
            training[n] = shard.reshape(-1)[:2048 * 2048].clone().view(2048, 2048).requires_grad_()
            x = torch.relu(x @ training[n])
        x.square().mean().backward()
        del x
    with torch.no_grad():
        y, gathered = rand(3000, 2048), {}
        for n, shard in enumerate(shards):
            gathered[n] = shard.reshape(-1)[:2048 * 2048].clone().view(2048, 2048)
            y = torch.relu(y @ gathered[n])
