# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Programs that run out of memory: the half that decides. They were written before `why` was seen to judge them, and
nothing is mended by looking at a single one. A leak is at a line that ends in "# here"."""
import copy
import functools
import gc
import random
import types

import torch
from torch import nn

from parts import Block, ConvNet, Transformer, begin_recording, dies, mlp, rand, tokens, train

# ---- leaks: lists ----


@dies("leak", 160, "training: list of losses")
def losses_with_graph():
    model, losses = mlp(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2000):
        optimizer.zero_grad()
        loss = model(rand(256, 512)).square().mean()  # here
        loss.backward(retain_graph=True)
        optimizer.step()
        losses.append(loss)


@dies("leak", 200, "training: running total")
def total_loss():
    model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters())
    total = 0
    for _ in range(500):
        out = model(tokens(4, 64))  # here
        loss = out.float().logsumexp(-1).mean()  # here
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        total = total + loss


@dies("leak", 200, "evaluation: predictions on the card")
def predictions_kept():
    model, predictions = ConvNet().eval(), []
    with torch.no_grad():
        for _ in range(4000):
            images = rand(8, 3, 32, 32)
            predictions.append(model(images).repeat(1, 1024))  # here


@dies("leak", 250, "evaluation without no_grad, after training")
def validation_keeps_graphs():
    model, outputs = ConvNet(), []
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(30):
        train(model, optimizer, rand(16, 3, 32, 32))
    for _ in range(500):
        outputs.append(model(rand(8, 3, 32, 32)))  # here in_model


@dies("leak", 60, "training: features of varying lengths")
def features_of_varying_lengths():
    draw, model, features = random.Random(7), Transformer(), []
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(1000):
        x = tokens(2, draw.randint(16, 120))
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            features.append(model.words(x).repeat(1, 8, 1))  # here


@dies("leak", 180, "training: batches kept for a plot, every seventh")
def every_seventh_batch():
    model, plotted = mlp(256, 3), []
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(3000):
        x = rand(4096, 256)  # here
        train(model, optimizer, x)
        if step % 7 == 0:
            plotted.append(x)


# ---- leaks: dicts, hooks, closures, caches ----


@dies("leak", 150, "training: dict by step")
def metrics_by_step():
    model, metrics = mlp(512, 3), {}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3000):
        loss = train(model, optimizer, rand(128, 512))
        metrics[step] = {"loss": loss.detach(), "weights": model[0].weight.detach().clone()}  # here


@dies("leak", 200, "forward hook that collects")
def forward_hook_collects():
    model, seen = mlp(512, 4), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model[2].register_forward_hook(lambda module, args, out: seen.append(out.detach().clone()))  # here
    for _ in range(2000):
        train(model, optimizer, rand(256, 512))


@dies("leak", 220, "hook is registered again in every step")
def hooks_pile_up():
    model, kept = mlp(512, 3), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(400):
        big = rand(1024, 512)  # here
        model[0].register_forward_hook(lambda module, args, out, big=big: None)
        train(model, optimizer, rand(64, 512))


@dies("leak", 180, "closures in a list of callbacks")
def closures_hold_batches():
    model, callbacks = ConvNet(8), []
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(800):
        images = rand(16, 3, 32, 32)  # here
        train(model, optimizer, images)
        callbacks.append(lambda: images.mean())
        callbacks[-1] = functools.partial(torch.mean, images)


@dies("leak", 200, "lru_cache on a function of tensors")
def cached_function():
    model = mlp(512, 2)

    @functools.lru_cache(maxsize=None)
    def embed(index):
        with torch.no_grad():
            return model(rand(200, 512))  # here
    for index in range(4000):
        (embed(index) + embed(index // 2)).sum()


@dies("leak", 200, "cached property of objects that are kept")
def cached_properties():
    class Sample:
        def __init__(self, index):
            self.index = index

        @functools.cached_property
        def mask(self):
            return torch.ones(128, 1024, device="cuda").tril()  # here
    samples = [Sample(i) for i in range(3000)]
    model = mlp(1024, 1)
    for sample in samples:
        with torch.no_grad():
            model(rand(128, 1024) * sample.mask)


@dies("leak", 160, "cache keyed by length, lengths never repeat")
def masks_by_length():
    masks, model = {}, Block(64, 4).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2000):
        length = 64 + step
        if length not in masks:
            masks[length] = torch.ones(length, 1500, device="cuda").tril()  # here
        optimizer.zero_grad()
        (model(rand(1, 64, 64)) * masks[length][0, 0]).sum().backward()
        optimizer.step()


# ---- leaks: exceptions, graphs, hidden states ----


@dies("leak", 200, "exceptions are kept for a report")
def exceptions_kept():
    model, failed = mlp(512, 3), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def check(x):
        scaled = x * 2  # here
        raise ValueError("loss is not finite", scaled.shape)
    for _ in range(2000):
        train(model, optimizer, rand(128, 512))
        try:
            check(rand(256, 512))  # here
        except ValueError as error:
            failed.append(error)


@dies("leak", 200, "hidden state is never detached")
def hidden_state():
    cell, head = nn.GRUCell(128, 128).cuda(), nn.Linear(128, 10).cuda()
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
    hidden = torch.zeros(256, 128, device="cuda")
    for _ in range(2000):
        hidden = cell(rand(256, 128), hidden)  # here
        loss = head(hidden).square().mean()  # here
        loss.backward(retain_graph=True)
        for p in (*cell.parameters(), *head.parameters()):
            p.grad = None


@dies("leak", 220, "graph of graphs: create_graph")
def create_graph_kept():
    model, penalties = mlp(256, 3), []
    for _ in range(500):
        x = rand(256, 256).requires_grad_()  # here
        y = model(x).sum()  # here
        grad, = torch.autograd.grad(y, x, create_graph=True)  # here
        penalties.append(grad.norm())  # here


@dies("leak", 150, "unrolled optimisation of an input")
def unrolled_inner_loop():
    model = mlp(256, 2)
    z = rand(64, 256).requires_grad_()
    for _ in range(2000):
        loss = model(z).square().mean()  # here
        g, = torch.autograd.grad(loss, z, create_graph=True)  # here
        z = z - 0.1 * g  # here


@dies("leak", 190, "generator that holds every batch it gave")
def generator_holds():
    class Loader:
        def __init__(self):
            self.given = []

        def __iter__(self):
            while True:
                batch = rand(128, 512)  # here
                self.given.append(batch)
                yield batch
    model = mlp(512, 3)
    optimizer = torch.optim.Adam(model.parameters())
    for batch in Loader():
        train(model, optimizer, batch)


@dies("leak", 260, "reference cycle, and the collector is off")
def cycles_uncollected():
    gc.disable()

    class Node:
        def __init__(self, data):
            self.data, self.me = data, self
    model = mlp(512, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(1000):
        node = Node(rand(512, 512))  # here
        train(model, optimizer, node.data[:32])


# ---- leaks: optimizers, averages, copies ----


@dies("leak", 260, "an optimizer is made anew and the old one kept")
def optimizers_rebuilt():
    model, old = mlp(512, 3), []
    for _ in range(100):
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(6):
            train(model, optimizer, rand(64, 512))  # here
        old.append(optimizer)


@dies("leak", 300, "weights are averaged over all snapshots")
def weight_snapshots():
    model, history = mlp(512, 4), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2000):
        train(model, optimizer, rand(64, 512))
        if step % 4 == 3:
            history.append({k: v.clone() for k, v in model.state_dict().items()})  # here


@dies("leak", 160, "best models of each fold are kept")
def models_of_folds():
    best = []
    for fold in range(60):
        model = mlp(512, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(5):
            train(model, optimizer, rand(128, 512))
        best.append(copy.deepcopy(model))  # here


@dies("leak", 200, "gradients are logged")
def gradients_logged():
    model, log = mlp(512, 3), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(400):
        train(model, optimizer, rand(64, 512))
        log.append(torch.cat([p.grad.flatten() for p in model.parameters()]))  # here


# ---- leaks: generation, diffusion, RL, notebooks ----


@dies("leak", 150, "generation: keys and values of ended requests")
def sessions_never_dropped():
    sessions, w = {}, rand(256, 768)
    for request in range(400):
        keys = values = torch.zeros(1, 4, 0, 64, device="cuda")
        x = rand(1, 256)
        for _ in range(12):
            q, k, v = (x @ w).view(1, 3, 4, 1, 64).unbind(1)
            keys, values = (torch.cat([a, b.repeat(1, 1, 32, 1)], 2) for a, b in ((keys, k), (values, v)))  # here
            x = (torch.softmax(q @ keys.transpose(2, 3), -1) @ values).reshape(1, 256)
        sessions[request] = (keys, values)


@dies("leak", 120, "generation: one endless sequence")
def endless_sequence():
    w, x = rand(256, 768), rand(8, 256)
    keys = values = torch.zeros(8, 4, 0, 64, device="cuda")
    for _ in range(20000):
        q, k, v = (x @ w).view(8, 3, 4, 1, 64).unbind(1)
        keys = torch.cat([keys, k.repeat(1, 1, 8, 1)], 2)  # here
        values = torch.cat([values, v.repeat(1, 1, 8, 1)], 2)  # here
        x = (torch.softmax(q @ keys.transpose(2, 3), -1) @ values).reshape(8, 256)


@dies("leak", 200, "diffusion: all intermediate images")
def diffusion_trajectory():
    model, images = ConvNet(8, 3), []
    for prompt in range(50):
        x = rand(2, 3, 96, 96)
        for _ in range(20):
            with torch.no_grad():
                noise = model(x)[:, :, None, None]
                x = x - 0.05 * noise  # here
            images.append(x)


@dies("leak", 70, "RL: episodes with their graphs")
def episodes_with_graphs():
    policy, episodes = mlp(128, 3), []
    optimizer = torch.optim.Adam(policy.parameters())
    draw = random.Random(3)
    for _ in range(300):
        rewards, states = [], rand(64, 128)
        for _ in range(draw.randint(3, 12)):
            states = policy(states)  # here
            rewards.append(states.mean())  # here
        loss = sum(rewards)  # here
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        episodes.append(loss)


@dies("leak", 200, "RL: replay buffer without a limit")
def unlimited_replay_buffer():
    policy, buffer = mlp(128, 2), []
    optimizer = torch.optim.Adam(policy.parameters())
    for step in range(3000):
        state = rand(256, 128)  # here
        buffer.append(state)
        if step % 8 == 7:
            batch = torch.cat(buffer[-4:])
            train(policy, optimizer, batch)


@dies("leak", 250, "notebook: outputs of every cell are kept")
def notebook_outputs():
    Out = {}
    for cell in range(200):
        model = mlp(512, 2)
        with torch.no_grad():
            Out[cell] = model(rand(1024, 512))  # here
        del model


@dies("leak", 70, "serving: request objects in a deque for statistics")
def requests_logged():
    model, log, draw = Block(128, 4).cuda().eval(), [], random.Random(5)
    for i in range(3000):
        request = types.SimpleNamespace(id=i, x=rand(1, draw.randint(32, 200), 128))  # here
        with torch.no_grad():
            request.y = model(request.x)  # here in_model
        log.append(request)


@dies("leak", 200, "two stages: training leaks only after the warm-up")
def leaks_after_warm_up():
    model, kept = mlp(512, 4), []
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(4000):
        train(model, optimizer, rand(128, 512))
        if step > 120:
            kept.append(model[0].weight.detach() + 1)  # here


@dies("leak", 180, "with retries: batches that fail are halved, and kept")
def retries_and_leak():
    model, kept = mlp(512, 3), []
    for step in range(500):
        size = 200000 if step in (5, 20) else 256
        try:
            x = rand(size, 512)  # here
            y = model(x)  # here
        except torch.OutOfMemoryError:
            if size == 256:
                raise
            continue
        kept.append(y)


@dies("leak", 160, "recorded from mid-run")
def recorded_late():
    model, kept = mlp(512, 3), []
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(3000):
        if step == 40:
            begin_recording()
        train(model, optimizer, rand(128, 512))
        kept.append(rand(128, 1024))  # here


dies("leak", 200, "only the last 3,000 records", max_entries=3000)(types.FunctionType(
    every_seventh_batch.__code__, globals(), "every_seventh_in_a_ring"))
dies("leak", 160, "without stacks", stacks=None)(types.FunctionType(
    losses_with_graph.__code__, globals(), "losses_without_stacks"))
dies("leak", 180, "without stacks", stacks=None)(types.FunctionType(
    closures_hold_batches.__code__, globals(), "closures_without_stacks"))

# ---- no leak: the card is too small ----


@dies("full", 0.93, "training: dies in the first optimizer step")
def first_optimizer_step():
    model = mlp(4096, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(4):
        train(model, optimizer, rand(32, 4096))


@dies("full", 0.6, "training: dies in the first forward pass")
def first_forward_transformer():
    model = Transformer(256, 6)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        train(model, optimizer, tokens(128, 256))


@dies("full", 0.5, "training: the model alone is too large")
def model_too_large():
    model = mlp(8192, 6)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        train(model, optimizer, rand(32, 8192))


@dies("full", 0.97, "training: dies in the first backward pass")
def first_backward():
    model = nn.Sequential(ConvNet(32), nn.Linear(10, 4096), nn.Linear(4096, 4096)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        train(model, optimizer, rand(1024, 3, 32, 32))


@dies("full", 0.75, "evaluation: one batch is too large from the start")
def evaluation_too_large():
    model = ConvNet(64).eval()
    with torch.no_grad():
        for _ in range(5):
            model(rand(1024, 3, 64, 64))


@dies("full", 0.85, "without stacks", stacks=None)
def first_forward_without_stacks():
    model = Transformer(256, 6)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        train(model, optimizer, tokens(128, 256))


@dies("full", 0.9, "training: gradients are accumulated, then the optimizer's state comes")
def optimizer_after_accumulation():
    model = mlp(4096, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(32):
        model(rand(128, 4096)).square().mean().backward()
        if step % 16 == 15:
            optimizer.step()
            optimizer.zero_grad()


@dies("full", 0.8, "fine-tuning: a second model is loaded after training")
def second_model_loaded():
    model = mlp(2048, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(20):
        train(model, optimizer, rand(128, 2048))
    teacher = mlp(8192, 4)
    for _ in range(3):
        teacher(rand(128, 8192))


@dies("full", 0.7, "diffusion: a decoder at the end of sampling")
def decoder_at_the_end():
    model = ConvNet(8, 3)
    decoder = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.Conv2d(64, 64, 3, padding=1)).cuda()
    x = rand(64, 3, 64, 64)
    with torch.no_grad():
        for _ in range(25):
            x = x - 0.1 * model(x)[:, :, None, None]
        decoder(nn.functional.interpolate(x, scale_factor=4))


# ---- no leak: an input is larger ----


@dies("larger-input", 2600, "training: one long batch")
def one_long_document():
    model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(60):
        train(model, optimizer, tokens(16, 1500 if step == 31 else 100))


@dies("larger-input", 0.7, "training: curriculum of lengths")
def curriculum():
    model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(40):
        train(model, optimizer, tokens(32, 32 + 16 * step))


@dies("larger-input", 0.8, "training: a curriculum whose batch is held")
def curriculum_with_held_batch():
    model = mlp(256, 8)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(50):
        x = rand(3200 + 3200 * step, 256)
        loss = train(model, optimizer, x)
    return loss


@dies("larger-input", 0.8, "evaluation: a larger batch than in training")
def evaluation_with_larger_batch():
    model = ConvNet()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(25):
        train(model, optimizer, rand(128, 3, 32, 32))
    with torch.no_grad():
        for _ in range(4):
            model(rand(4096, 3, 32, 32))


@dies("larger-input", 0.75, "serving: one long prompt")
def one_long_prompt():
    model, draw = Transformer().eval(), random.Random(9)
    with torch.no_grad():
        for i in range(120):
            model(tokens(16, 1600 if i == 90 else draw.randint(20, 90)))


@dies("larger-input", 0.85, "training: images of another size")
def image_of_another_size():
    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(80):
        side = 256 if step == 55 else 48 + step % 5 * 8
        train(model, optimizer, rand(64, 3, side, side))


@dies("larger-input", 0.6, "without stacks", stacks=None)
def long_batch_without_stacks():
    model = mlp(512, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(30):
        train(model, optimizer, rand(131072 if step == 19 else 4096, 512))


# ---- one tensor ----


@dies("one-tensor", 300, "all pairs of distances")
def all_pairs():
    points, model = rand(16000, 32), mlp(32, 2)
    with torch.no_grad():
        for _ in range(10):
            model(points[:1000])
        return points @ points.T


@dies("one-tensor", 200, "predictions are joined at the end")
def one_hot_of_everything():
    model = mlp(256, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        train(model, optimizer, rand(64, 256))
    return torch.zeros(50000, 2000, device="cuda")


# ---- fragmentation ----


@dies("fragmented", 330, "every second block is freed, then larger ones come")
def every_second_freed():
    blocks = [torch.empty(6 << 20, dtype=torch.uint8, device="cuda") for _ in range(48)]
    del blocks[::2]
    more = []
    for _ in range(4):
        more.append(torch.empty(30 << 20, dtype=torch.uint8, device="cuda"))


@dies("fragmented", 190, "serving: embeddings of varying lengths, and now and then a whole batch")
def embeddings_served():
    draw, cached = random.Random(21), {}
    for request in range(600):
        cached[draw.randrange(16)] = rand(draw.randint(600, 2400), 1024)
        if request % 30 == 29:
            torch.cat([cached[key][:500] for key in list(cached)[:14]]).mean()


@dies("fragmented", 230, "data frames on the card, replaced in any order")
def frames_replaced():
    draw, frames = random.Random(33), [None] * 30
    for i in range(800):
        frames[draw.randrange(30)] = torch.empty(draw.randint(1 << 20, 9 << 20), dtype=torch.uint8, device="cuda")
        if i % 50 == 49:
            joined = torch.empty(48 << 20, dtype=torch.uint8, device="cuda")
            del joined
