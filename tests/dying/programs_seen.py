# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Programs that run out of memory: the half that was looked at while `why` was made to judge them. A leak is at a line
that ends in "# here"."""
import collections
import copy
import random
import types

import torch
from torch import nn

from parts import Block, ConvNet, Transformer, begin_recording, dies, mlp, rand, tokens, train

# ---- leaks ----


@dies("leak", 128, "training: list of outputs and inputs")
def outputs_and_inputs():
    model, kept = mlp(512, 4), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(1000):
        x = rand(128, 512)  # here
        out = model(x)  # here
        optimizer.zero_grad()
        out.square().mean().backward()
        optimizer.step()
        kept.append((x, out))


@dies("leak", 160, "evaluation without no_grad")
def evaluation_keeps_graphs():
    model, outputs = mlp(512, 4), []
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(20):
        train(model, optimizer, rand(64, 512))
    for _ in range(300):
        outputs.append(model(rand(64, 512)).sum())  # here


@dies("leak", 110, "evaluation between epochs, logits are kept")
def logits_of_each_epoch():
    model, logits = Transformer(), []
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(60):
        for _ in range(8):
            train(model, optimizer, tokens(2, 64))
        with torch.no_grad():
            for _ in range(3):
                logits.append(model(tokens(4, 96)))  # here in_model


@dies("leak", 240, "a slow leak: 100 KiB a step")
def slow_leak():
    model, kept = mlp(256, 2), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    held = rand(170, 1 << 18)
    for _ in range(2000):
        train(model, optimizer, rand(256, 256))
        kept.append(rand(100, 256))  # here
    return held


@dies("leak", 240, "average of weights every fifth step")
def averages_every_fifth():
    model, kept = mlp(512, 4), []
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(500):
        train(model, optimizer, rand(128, 512))
        if step % 5 == 4:
            kept.append([p.detach().clone() for p in model.parameters()])  # here


@dies("leak", 180, "varying batch, predictions")
def predictions_of_varying_batches():
    draw, model, kept = random.Random(2), mlp(512, 3), []
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(1000):
        x = rand(draw.randint(64, 400), 512)
        train(model, optimizer, x)
        with torch.no_grad():
            kept.append(model(x))  # here


@dies("leak", 180, "dict of tensors by sample")
def embeddings_by_sample():
    model, found, sample = mlp(256, 3), {}, 0
    with torch.no_grad():
        for _ in range(1000):
            for row in model(rand(64, 256)).repeat(1, 8):
                found[sample] = row.clone()  # here
                sample += 1


@dies("leak", 180, "backward hook that collects")
def backward_hook_collects():
    model, seen = mlp(512, 3), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model[2].register_full_backward_hook(lambda module, given, got: seen.append(got[0] * 1))  # here
    for _ in range(1000):
        train(model, optimizer, rand(256, 512))


@dies("leak", 200, "attribute of the module that grows")
def module_remembers():
    class Remembers(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.states = nn.Linear(512, 512), []

        def forward(self, x):
            y = self.inner(x)  # here
            self.states.append(y.detach())
            return y
    model = nn.Sequential(Remembers(), nn.ReLU(), nn.Linear(512, 512)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(1000):
        train(model, optimizer, rand(256, 512))


@dies("leak", 160, "memory bank by concatenation")
def memory_bank():
    model, bank = mlp(256, 3), rand(1, 256)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3000):
        x = rand(256, 256)
        train(model, optimizer, x)
        bank = torch.cat([bank, x])  # here


@dies("leak", 200, "recurrent state across batches")
def recurrent_state():
    lstm, head = nn.LSTMCell(64, 64).cuda(), nn.Linear(64, 10).cuda()
    h = c = torch.zeros(512, 64, device="cuda")
    losses = 0
    for _ in range(2000):
        h, c = lstm(rand(512, 64), (h, c))  # here
        losses = losses + head(h).square().mean()  # here
        if losses.item() > 1e9:
            losses.backward()


@dies("leak", 170, "tracebacks of skipped samples")
def tracebacks_kept():
    model, errors = mlp(512, 3), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def load(index):
        sample = rand(256, 512)  # here
        if index % 3 == 0:
            raise KeyError(index)
        return sample
    for index in range(3000):
        try:
            train(model, optimizer, load(index))
        except KeyError as error:
            errors.append(error)


@dies("leak", 220, "learning rate finder keeps states")
def states_of_a_finder():
    model, states = mlp(512, 3), {}
    for n in range(60):
        optimizer = torch.optim.AdamW(model.parameters(), lr=10 ** (-n / 10))
        for _ in range(3):
            train(model, optimizer, rand(64, 512))
        states[n] = copy.deepcopy(optimizer.state_dict())  # here


@dies("leak", 170, "deque that was meant to be bounded")
def unbounded_deque():
    model, recent = ConvNet(8), collections.deque()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(900):
        images = rand(8, 3, 48, 48)  # here
        train(model, optimizer, images)
        recent.append(images)


@dies("leak", 200, "GAN: losses of two models")
def gan_losses():
    maker, judge, log = mlp(256, 3), mlp(256, 3), []
    first, second = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())
    for _ in range(800):
        fake = maker(rand(128, 256))  # here
        loss = judge(fake).mean()  # here
        first.zero_grad()
        loss.backward(retain_graph=True)
        first.step()
        train(judge, second, fake.detach())
        log.append(loss)


@dies("leak", 50, "contrastive pairs that are never dropped")
def pairs_kept():
    model, negatives = Transformer(64, 2), []
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(600):
        train(model, optimizer, tokens(2, 64))
        with torch.no_grad():
            negatives.append(model.words(tokens(16, 64)))  # here


@dies("leak", 90, "beam search: all beams")
def beams_kept():
    model, done, draw = Transformer(64, 2).eval(), [], random.Random(4)
    with torch.no_grad():
        for _ in range(300):
            for length in range(1, draw.randint(4, 12)):
                scores = model(tokens(4, 8 * length))  # here in_model
                done.append(scores)


@dies("leak", 90, "Langevin chain with its graph")
def chain_with_graph():
    model = mlp(256, 2)
    x = rand(128, 256)
    for _ in range(500):
        x = x - 0.1 * model(x)  # here


@dies("leak", 44, "PPO: rollouts of all updates")
def rollouts_kept():
    policy, rollouts = mlp(64, 3), []
    optimizer = torch.optim.Adam(policy.parameters())
    for _ in range(100):
        rollout = []
        with torch.no_grad():
            state = rand(128, 64)
            for _ in range(16):
                state = policy(state)  # here
                rollout.append(state)
        for _ in range(4):
            train(policy, optimizer, torch.cat(rollout))
        rollouts.append(rollout)


@dies("leak", 220, "notebook: a model in every cell, the old one kept by its optimizer")
def models_in_cells():
    history = []
    for cell in range(60):
        model = mlp(512, 4)  # here in_parts
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            train(model, optimizer, rand(64, 512))
        history.append(optimizer)


@dies("leak", 180, "after a warm-up of the caches")
def leaks_after_caches():
    model, kept, cache = mlp(512, 3), [], {}
    for i in range(24):
        cache[i] = rand(256, 256)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(900):
        train(model, optimizer, rand(128, 512) + cache[step % 24].mean())
        kept.append(rand(64, 1024))  # here


@dies("leak", 160, "caught probe, then a leak")
def probe_then_leak():
    try:
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        pass
    model, kept = mlp(512, 3), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(900):
        train(model, optimizer, rand(64, 512))
        kept.append(rand(128, 512))  # here


@dies("leak", 180, "recorded from mid-run")
def recorded_late_without_grad():
    model, kept = ConvNet(8), []
    for step in range(900):
        if step == 25:
            begin_recording()
        with torch.no_grad():
            kept.append(model(rand(8, 3, 48, 48)).repeat(1, 4096))  # here


dies("leak", 180, "only the last 2,500 records", max_entries=2500)(types.FunctionType(
    predictions_of_varying_batches.__code__, globals(), "predictions_in_a_ring"))
dies("leak", 240, "without stacks", stacks=None)(types.FunctionType(
    averages_every_fifth.__code__, globals(), "averages_without_stacks"))
dies("leak", 200, "without stacks", stacks=None)(types.FunctionType(
    module_remembers.__code__, globals(), "module_without_stacks"))

# ---- no leak: the card is too small ----


@dies("full", 0.9, "training: dies in the first optimizer step")
def adam_state():
    model = mlp(4096, 3)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(5):
        train(model, optimizer, rand(64, 4096))


@dies("full", 0.55, "training: dies in the first forward pass")
def first_forward_mlp():
    model = mlp(512, 12)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        train(model, optimizer, rand(65536, 512))


@dies("full", 0.65, "training: functional layers in a loop")
def functional_layers():
    weights = [rand(512, 512).requires_grad_() for _ in range(30)]
    for _ in range(3):
        x = rand(32768, 512)
        for w in weights:
            x = torch.relu(x @ w)
        x.mean().backward()


@dies("full", 0.97, "training: dies in the first backward pass")
def first_backward_transformer():
    model = Transformer(128, 3, 4000)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        train(model, optimizer, tokens(64, 128))


@dies("full", 0.7, "recurrent network over a long sequence")
def long_recurrence():
    cell, head = nn.GRUCell(128, 128).cuda(), nn.Linear(128, 10).cuda()
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        hidden, loss = torch.zeros(4096, 128, device="cuda"), 0
        for _ in range(100):
            hidden = cell(rand(4096, 128), hidden)
        loss = head(hidden).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@dies("full", 0.6, "weights are loaded one by one")
def weights_loaded():
    state = {f"w{i}": torch.zeros(2048, 2048) for i in range(60)}
    loaded = {}
    for name, value in state.items():
        loaded[name] = value.to("cuda")
    x = rand(64, 2048)
    for w in loaded.values():
        x = x @ w


@dies("full", 0.85, "evaluation: the model alone fits")
def evaluation_of_large_images():
    model = ConvNet(32).eval()
    with torch.no_grad():
        for _ in range(4):
            model(rand(256, 3, 128, 128))


@dies("full", 0.9, "training goes on, then a second phase needs more")
def unfreezing():
    model = mlp(4096, 5)
    for p in model[:-2].parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.AdamW(p for p in model.parameters() if p.requires_grad)
    for _ in range(20):
        train(model, optimizer, rand(64, 4096))
    for p in model.parameters():
        p.requires_grad_(True)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(5):
        train(model, optimizer, rand(64, 4096))


@dies("full", 0.6, "without stacks", stacks=None)
def weights_without_stacks():
    model = mlp(4096, 8)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        train(model, optimizer, rand(64, 4096))


# ---- no leak: an input is larger ----


@dies("larger-input", 1500, "training: one batch is 32 times as long")
def one_long_batch():
    model = mlp(512, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(40):
        train(model, optimizer, rand(163840 if step == 12 else 5120, 512))


@dies("larger-input", 1400, "training: every batch is longer than the last")
def longer_and_longer():
    model = mlp(512, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(40):
        train(model, optimizer, rand(2560 + 2560 * step, 512))


@dies("larger-input", 0.8, "training: a bucket of long sequences comes last")
def long_bucket_last():
    model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters())
    for length in [32] * 15 + [64] * 15 + [96] * 10 + [320] * 4:
        train(model, optimizer, tokens(32, length))


@dies("larger-input", 0.7, "generation: one long answer")
def long_answer():
    w = rand(256, 768)
    for request in range(20):
        keys = values = torch.zeros(1, 4, 0, 64, device="cuda")
        x = rand(1, 256)
        for _ in range(300 if request == 16 else 12):
            q, k, v = (x @ w).view(1, 3, 4, 1, 64).unbind(1)
            keys, values = (torch.cat([a, b.repeat(1, 1, 1024, 1)], 2) for a, b in ((keys, k), (values, v)))
            x = (torch.softmax(q @ keys.transpose(2, 3), -1) @ values).reshape(1, 256)


@dies("larger-input", 0.8, "varying lengths, the longest is the end")
def unlucky_length():
    model, draw = Transformer(), random.Random(11)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(80):
        train(model, optimizer, tokens(32, 400 if step == 64 else draw.randint(20, 100)))


# ---- one tensor ----


@dies("one-tensor", 200, "a batch of everything")
def attention_of_everything():
    model = Block(64, 4).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(12):
        train(model, optimizer, rand(2, 64, 64))
    with torch.no_grad():
        model(rand(1, 6000, 64))


@dies("one-tensor", 256, "wrong dimension: an outer product")
def outer_product():
    a = rand(20000)
    for _ in range(5):
        b = a * 2
    return (a[:, None] - b[None, :]).square().mean()


# ---- fragmentation ----


@dies("fragmented", 400, "every second block is freed, then larger ones come")
def holes_between_blocks():
    blocks = [torch.empty(5 << 20, dtype=torch.uint8, device="cuda") for _ in range(76)]
    del blocks[1::2]
    more = []
    for _ in range(3):
        more.append(torch.empty(36 << 20, dtype=torch.uint8, device="cuda"))


@dies("fragmented", 216, "a cache of results of varying sizes")
def varying_results():
    draw, results = random.Random(5), {}
    for i in range(600):
        results[i % 24] = torch.empty(draw.randint(2 << 20, 9 << 20), dtype=torch.uint8, device="cuda")
        if i % 40 == 39:
            torch.empty(40 << 20, dtype=torch.uint8, device="cuda").zero_()


@dies("fragmented", 200, "serving: sequences of varying lengths, some of them long")
def sequences_served():
    draw, running = random.Random(8), {}
    for request in range(500):
        running[draw.randrange(20)] = rand(draw.randint(300, 2300), 1024)
        if request % 25 == 24:
            rand(12000, 1024).sum()
