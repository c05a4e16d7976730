# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Programs that run out of memory: the rest of the 51 from which programs_drawn.py was drawn.
A leak is at a line that ends in "# here"."""
import collections
import copy
import random

import torch
import torch.utils.checkpoint
from torch import nn

from parts import ConvNet, Transformer, begin_recording, dies, mlp, rand, tokens, train


@dies("leak", 140, "running mean of a loss, with its graph", lever="detach")
def mean_of_losses():
    student, teacher, mean = mlp(256, 3), mlp(256, 3), None
    optimizer = torch.optim.Adam(student.parameters())
    for _ in range(800):
        x = rand(128, 256)
        train(student, optimizer, x)
        distance = (teacher(x) - 1).abs().mean()  # here
        mean = distance if mean is None else 0.99 * mean + 0.01 * distance


@dies("leak", 150, "logging: histograms of weights wait for a writer", lever="drop")
def histograms_wait():
    model, queue = mlp(512, 3), collections.deque()

    class Writer:
        def add_histogram(self, name, values, step):
            queue.append((name, values.detach().clone(), step))  # here
    writer = Writer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(600):
        train(model, optimizer, rand(64, 512))
        if step % 10 == 0:
            for name, p in model.named_parameters():
                writer.add_histogram(name, p, step)


@dies("leak", 170, "gradients are kept for a statistic, every third step", lever="drop")
def gradients_every_third():
    model, norms = mlp(512, 3), []
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(600):
        train(model, optimizer, rand(64, 512))
        if step % 3 == 2:
            norms.append({name: p.grad.clone() for name, p in model.named_parameters()})  # here


@dies("leak", 130, "handlers of an event system hold batches", lever="drop")
def handlers_hold_batches():
    model, handlers = mlp(256, 3), {}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def on(event, function):
        handlers.setdefault(event, []).append(function)
    for step in range(700):
        batch = rand(512, 256)  # here
        on("epoch end", lambda batch=batch: batch.mean().item())
        train(model, optimizer, batch)


@dies("leak", 160, "recurrent agent: state is carried over episodes", lever="detach")
def state_over_episodes():
    cell, value = nn.RNNCell(96, 96).cuda(), nn.Linear(96, 4).cuda()
    state = torch.zeros(384, 96, device="cuda")
    draw = random.Random(12)
    for _ in range(300):
        for _ in range(draw.randint(2, 6)):
            state = cell(rand(384, 96), state)  # here
            quality = value(state)  # here
        quality.mean().item()


@dies("leak", 180, "GAN: the pool of fakes is never full", lever="drop")
def pool_of_fakes():
    maker, judge, pool, draw = mlp(384, 3), mlp(384, 2), [], random.Random(6)
    first, second = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())
    for _ in range(500):
        fake = maker(rand(256, 384))  # here
        pool.append(fake.detach())
        first.zero_grad()
        judge(fake).mean().backward()
        first.step()
        train(judge, second, draw.choice(pool))


@dies("leak", 90, "generation keeps all scores", lever="drop")
def scores_of_all_tokens():
    model, draw = Transformer(64, 2, 4000).eval(), random.Random(13)
    scores = []
    with torch.no_grad():
        for _ in range(60):
            ids = tokens(8, draw.randint(4, 12))
            for _ in range(6):
                logits = model(ids)[:, -1]  # here in_model
                scores.append(logits)
                ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], 1)


@dies("leak", 170, "notebook: the cell that moves the data runs again and again", lever="drop")
def data_moved_again():
    model, loaders = mlp(256, 3), []
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(40):
        data = torch.zeros(3000, 256).cuda()  # here
        loaders.append(torch.utils.data.TensorDataset(data))
        for begin in range(0, 900, 300):
            train(model, optimizer, data[begin:begin + 300])


@dies("leak", 260, "search: each trial has another width, and all are kept", lever="drop")
def trials_of_widths():
    draw, trials = random.Random(16), []
    for _ in range(80):
        width = draw.choice([128, 192, 256, 320])
        model = nn.Sequential(nn.Linear(256, width), nn.ReLU(), nn.Linear(width, 1024)).cuda()  # here
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(4):
            train(model, optimizer, rand(64, 256))  # here
        trials.append((model, optimizer))


@dies("leak", 220, "a batch that ran out of memory is noted, with its traceback", lever="drop")
def skipped_after_oom():
    model, skipped, draw = mlp(512, 3), [], random.Random(17)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def forward(x):
        hidden = x * 1.5  # here
        if draw.random() < 0.3:
            raise ArithmeticError("not finite", hidden.shape)
        return train(model, optimizer, hidden)
    for step in range(400):
        try:
            forward(rand(100000 if step == 20 else 320, 512))  # here
        except (ArithmeticError, torch.OutOfMemoryError) as error:
            if isinstance(error, torch.OutOfMemoryError) and step != 20:
                raise
            skipped.append(error)


@dies("leak", 120, "recorded from mid-run", lever="drop")
def buffer_recorded_late():
    policy, buffer = mlp(128, 2), []
    optimizer = torch.optim.Adam(policy.parameters())
    for step in range(2000):
        if step == 90:
            begin_recording()
        state = rand(384, 128)  # here
        buffer.append(state)
        if step % 3 == 2:
            train(policy, optimizer, buffer[-1])


@dies("leak", 130, "distillation: what the teacher said is cached by sample", lever="drop")
def teacher_cached():
    student, teacher, said = mlp(256, 2), mlp(256, 3), {}
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    for step in range(900):
        x = rand(256, 256)
        with torch.no_grad():
            said[step] = teacher(x)  # here
        optimizer.zero_grad()
        (student(x) - said[step]).square().mean().backward()
        optimizer.step()


@dies("leak", 90, "continual learning: a head for each task, and all are trained", lever="drop")
def heads_of_all_tasks():
    body = mlp(512, 2)
    heads = nn.ModuleList()
    optimizer = torch.optim.Adam(body.parameters())
    for _ in range(70):
        head = nn.Linear(512, 128).cuda()  # here
        heads.append(head)
        optimizer.add_param_group({"params": head.parameters()})
        for _ in range(3):
            optimizer.zero_grad()
            head(body(rand(64, 512))).square().mean().backward()  # here
            optimizer.step()  # here


@dies("full", 0.9, "training: segmentation, dies in the first backward pass", lever="batch")
def segmentation():
    down, up = nn.Conv2d(3, 32, 3, padding=1).cuda(), nn.Conv2d(32, 21, 3, padding=1).cuda()
    optimizer = torch.optim.SGD([*down.parameters(), *up.parameters()], lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        maps = up(torch.relu(nn.functional.max_pool2d(down(rand(24, 3, 128, 128)), 2)))
        nn.functional.interpolate(maps, scale_factor=2).square().mean().backward()
        optimizer.step()


@dies("full", 0.7, "inference: two models are loaded", lever="batch")
def two_models_loaded():
    speaker, writer = mlp(3072, 6).eval(), mlp(3072, 6).eval()
    with torch.no_grad():
        for _ in range(5):
            writer(speaker(rand(16, 3072)))


@dies("full", 0.75, "a checkpoint is loaded on the card beside the model", lever="host")
def checkpoint_on_the_card():
    model = mlp(2048, 5)
    optimizer = torch.optim.AdamW(model.parameters())
    checkpoint = {name: torch.zeros(value.shape, device="cuda") for name, value in model.state_dict().items()}
    model.load_state_dict(checkpoint)
    for _ in range(3):
        train(model, optimizer, rand(64, 2048))
    return checkpoint


@dies("full", 0.95, "all of the data is on the card, then training begins", lever="host")
def all_data_on_the_card():
    data = [rand(4096, 512) for _ in range(40)]
    model = mlp(512, 6)
    optimizer = torch.optim.AdamW(model.parameters())
    for x in data:
        train(model, optimizer, x)


@dies("full", 0.85, "training goes on, then a copy of the weights is made once", lever="host")
def copy_made_once():
    model = mlp(2048, 6)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(24):
        train(model, optimizer, rand(64, 2048))
        if step == 16:
            averaged, reference = copy.deepcopy(model), copy.deepcopy(model)
    return averaged, reference


@dies("full", 0.7, "generation: caches of all layers are made before it begins", lever="batch")
def caches_made_before():
    model = Transformer(256, 4).eval()
    caches = [(torch.zeros(32, 8, 1024, 64, device="cuda"), torch.zeros(32, 8, 1024, 64, device="cuda"))
              for _ in range(8)]
    with torch.no_grad():
        for _ in range(4):
            model(tokens(32, 32))
    return caches


@dies("one-tensor", 300, "distances of all points", lever="parts")
def distances_of_all_points():
    model = mlp(64, 2)
    with torch.no_grad():
        for _ in range(12):
            model(rand(500, 64))
        found = model(rand(14000, 64))
        return torch.cdist(found, found)


@dies("larger-input", 0.7, "validation on whole pictures, training on crops", lever="cap")
def whole_pictures():
    model = ConvNet(16)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        for _ in range(10):
            train(model, optimizer, rand(32, 3, 48, 48))
    model.eval()
    with torch.no_grad():
        for side in (200, 420, 400):
            model(rand(16, 3, side, side))


@dies("larger-input", 0.8, "RL: one episode is much longer", lever="cap")
def long_episode():
    policy, draw = mlp(128, 3), random.Random(19)
    optimizer = torch.optim.Adam(policy.parameters())
    for episode in range(40):
        rewards, state = [], rand(256, 128)
        for _ in range(90 if episode == 33 else draw.randint(4, 12)):
            state = policy(state)
            rewards.append(state.mean())
        optimizer.zero_grad()
        torch.stack(rewards).sum().backward()
        optimizer.step()


@dies("larger-input", 0.75, "graphs: one batch has many more edges", lever="cap")
def many_edges():
    draw, left, right = random.Random(20), nn.Linear(64, 64).cuda(), nn.Linear(64, 64).cuda()
    optimizer = torch.optim.Adam([*left.parameters(), *right.parameters()])
    for step in range(50):
        edges = 120000 if step == 37 else draw.randint(4000, 9000)
        nodes = rand(2000, 64)
        messages = torch.relu(left(nodes[torch.zeros(edges, dtype=torch.long, device="cuda")]))
        optimizer.zero_grad()
        right(messages).square().mean().backward()
        optimizer.step()


@dies("larger-input", 0.7, "without stacks: one long prompt", lever="cap", stacks=None)
def prompts_without_stacks():
    model, draw = Transformer(128, 2).eval(), random.Random(21)
    with torch.no_grad():
        for i in range(70):
            model(tokens(16, 900 if i == 52 else draw.randint(20, 90)))


@dies("fragmented", 260, "buffers of varying sizes, and some of them stay", lever="setting")
def some_buffers_stay():
    draw, stay, pool = random.Random(22), [], {}
    for i in range(500):
        pool[i % 14] = torch.empty(draw.randint(3 << 20, 10 << 20), dtype=torch.uint8, device="cuda")
        if i % 60 == 30:
            stay.append(torch.empty(3 << 20, dtype=torch.uint8, device="cuda"))
        if i % 50 == 49:
            torch.empty(64 << 20, dtype=torch.uint8, device="cuda").zero_()


@dies("limited", 2048, "a memory fraction is set, and evaluation needs more", lever="limit")
def fraction_and_evaluation():
    torch.cuda.set_per_process_memory_fraction(0.15)
    model = ConvNet(32).eval()
    with torch.no_grad():
        for side in (32, 48, 64, 160):
            model(rand(64, 3, side, side))
