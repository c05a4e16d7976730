# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Programs written by a fourth hand, before it had read the others or `why`; labelled before they were recorded. A line
outside of its program ends in "# here" and the program's name."""
import collections
import concurrent.futures
import copy
import functools
import gc
import itertools

import torch
from torch import nn
from torch.nn import functional

from parts import Transformer, begin_recording, dies, mlp, rand, tokens


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.one, self.two = nn.Conv2d(channels, channels, 3, padding=1), nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.GroupNorm(4, channels)

    def forward(self, x):
        return x + self.two(functional.silu(self.one(self.norm(x))))  # here guided_sampling


class Backbone(nn.Module):
    """A small picture network in stages, each half as wide in space."""
    def __init__(self, channels=16, stages=3):
        super().__init__()
        widths = [channels << i for i in range(stages)]
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.stages = nn.ModuleList([Residual(w) for w in widths])
        self.downs = nn.ModuleList([nn.Conv2d(w, 2 * w, 2, stride=2) for w in widths])
        self.cuda()

    def forward(self, pictures):
        x = self.stem(pictures)
        for stage, down in zip(self.stages, self.downs):
            x = down(stage(x))  # here report_of_bad_samples what_the_notebook_showed
        return x


class Listener(nn.Module):
    """Speech: frames in, characters out."""
    def __init__(self, bands=80, width=256, letters=40):
        super().__init__()
        self.conv = nn.Conv1d(bands, width, 3, stride=2, padding=1)
        self.mix = nn.ModuleList([nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(),
                                                nn.Linear(2 * width, width)) for _ in range(4)])
        self.out = nn.Linear(width, letters)
        self.cuda()

    def forward(self, frames):
        x = self.conv(frames).transpose(1, 2)
        for part in self.mix:
            x = x + part(x)
        return self.out(x)


class GraphAttention(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.project, self.score, self.heads = nn.Linear(width, width), nn.Linear(2 * width, heads), heads
        self.cuda()

    def forward(self, nodes, edges):
        h = self.project(nodes)
        source, target = h[edges[0]], h[edges[1]]
        weight = torch.softmax(functional.leaky_relu(self.score(torch.cat([source, target], -1))), 0)
        message = source.view(len(source), self.heads, -1) * weight[..., None]
        return torch.zeros_like(h).index_add(0, edges[1], message.flatten(1))


class Denoiser(nn.Module):
    def __init__(self, channels=4, width=48, depth=4):
        super().__init__()
        self.begin, self.end = nn.Conv2d(channels, width, 3, padding=1), nn.Conv2d(width, channels, 3, padding=1)
        self.body = nn.ModuleList([Residual(width) for _ in range(depth)])
        self.when = nn.Linear(64, width)
        self.cuda()

    def forward(self, noisy, when):
        x = self.begin(noisy) + self.when(when)[:, :, None, None]  # here guided_sampling
        for part in self.body:
            x = part(x)
        return self.end(x)


def edges_of(n_nodes, n_edges):
    return torch.zeros(2, n_edges, dtype=torch.long, device="cuda")


def learn(model, optimizer, loss):
    loss.backward()
    optimizer.step()  # here words_are_added
    optimizer.zero_grad(set_to_none=True)


# Leaks.

class LoopHooks:
    def __init__(self):
        self.outputs = []

    def on_batch_end(self, result):
        self.outputs.append(result)


class TinyTrainer:
    """After the fashion of the frameworks: a loop that calls back."""
    def __init__(self, module, hooks):
        self.module, self.hooks, self.step = module, hooks, 0
        self.optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)

    def fit(self, batches):
        for batch in batches:
            result = self.training_step(batch)
            learn(self.module, self.optimizer, result["loss"])
            self.hooks.on_batch_end(result)
            self.step += 1

    def training_step(self, batch):
        scores = self.module(batch)  # here trainer_collects_epoch_outputs
        return {"loss": scores.square().mean(), "log": {"scores": scores}}


@dies("leak", 0.7, "trainer keeps the outputs of an epoch", "detach, or nothing returned")
def trainer_collects_epoch_outputs():
    net = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 512)).cuda()
    trainer = TinyTrainer(net, LoopHooks())
    trainer.fit(rand(1500 + 90 * (i * 7 % 5), 256) for i in range(70))


class PictureMetric:
    """Keeps what it saw until compute(), as metrics of a whole data set do."""
    def __init__(self):
        self.seen, self.wanted = [], []

    def update(self, picture, target):
        self.seen.append(picture)
        self.wanted.append(target)


@dies("leak", 0.6, "metric that is never reset, training between", "reset()")
def picture_metric_over_epochs():
    net, metric = Backbone(8, 1), PictureMetric()
    head = nn.Conv2d(16, 12, 1).cuda()
    optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
    for _ in range(9):
        for _ in range(6):
            learn(net, optimizer, head(net(rand(8, 3, 64, 64))).square().mean())
        with torch.no_grad():
            for _ in range(3):
                target = rand(48, 3, 128, 128)  # here
                shown = functional.pixel_shuffle(head(net(rand(48, 3, 128, 128))), 2)  # here
                metric.update(shown, target)


@dies("leak", 0.8, "meta-learning: backward with create_graph on copies", "autograd.grad")
def tasks_with_second_order():
    base = mlp(640, 3)
    outer = torch.optim.Adam(base.parameters(), lr=1e-3)
    for _ in range(24):
        learner = copy.deepcopy(base)  # here
        learner(rand(64, 640)).square().mean().backward(create_graph=True)  # here in_model
        grads = [p.grad.detach() for p in learner.parameters()]
        for p, g in zip(base.parameters(), grads):
            p.grad = g.clone()
        outer.step()
        outer.zero_grad()


class BadSample(Exception):
    pass


@dies("leak", 0.75, "exceptions kept for a report hold their frames", "keep str(error)")
def report_of_bad_samples():
    net = Backbone(8, 2)
    head = nn.Linear(32, 5).cuda()
    problems = {}

    def check(index):
        pictures = rand(14, 3, 160, 160)  # here
        features = net(pictures)  # here in_model
        if index % 3 == 1:
            raise BadSample(index)
        return head(features.mean((2, 3)))

    for index in range(60):
        try:
            with torch.no_grad():
                check(index)
        except BadSample as error:
            problems[index] = error


@dies("leak", 0.55, "hooks registered anew in every validation", "handle.remove()")
def hooks_for_feature_maps():
    net = Transformer(width=128, layers=2)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    maps = collections.defaultdict(list)

    def watch(epoch):
        def keep(_module, _inputs, output):
            maps[epoch].append(output.detach().half())  # here
        for block in net.blocks:
            block.register_forward_hook(keep)

    for epoch in range(7):
        for _ in range(4):
            learn(net, optimizer, net(tokens(16, 128)).square().mean())
        watch(epoch)
        with torch.no_grad():
            for _ in range(3):
                net(tokens(16, 128))


class BestModels:
    def __init__(self, keep):
        self.keep, self.ranking = keep, []

    def offer(self, score, model):
        weights = {name: value.clone() for name, value in model.state_dict().items()}  # here best_models_never_pruned
        self.ranking.append((score, weights))
        self.ranking.sort(key=lambda pair: -pair[0])


@dies("leak", 0.65, "the best models are all kept on the card, recorded from mid-run", "keep k, on the host")
def best_models_never_pruned():
    net, best = mlp(800, 4), BestModels(3)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(30):
        if epoch == 5:
            begin_recording()
        for _ in range(4):
            learn(net, optimizer, net(rand(256, 800)).square().mean())
        if epoch % 2 == 0:
            best.offer(0.5 + epoch / 100, net)


@dies("leak", 0.5, "replay memory of frames on the card", "host memory, uint8", max_entries=2500)
def frames_of_the_arcade():
    q = nn.Sequential(nn.Conv2d(4, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.Flatten(),
                      nn.Linear(2592, 256), nn.ReLU(), nn.Linear(256, 4)).cuda()
    optimizer = torch.optim.RMSprop(q.parameters(), lr=1e-4)
    memory = collections.deque(maxlen=100000)
    frame = rand(16, 4, 84, 84)  # here
    for move in range(240):
        with torch.no_grad():
            q(frame)
        following = rand(16, 4, 84, 84)  # here
        memory.append((frame, following, move % 4))
        frame = following
        if move > 64 and move % 8 == 0:
            states = torch.stack([memory[i * 2][0][i % 16] for i in range(32)])
            learn(q, optimizer, q(states).square().mean())


class Hypothesis(collections.namedtuple("Hypothesis", "score cache words")):
    pass


@dies("leak", 0.7, "generation: finished hypotheses hold their cache", "drop the cache at the end")
def beams_for_reranking():
    width, done = 256, []
    keys, values = nn.Linear(width, width).cuda(), nn.Linear(width, width).cuda()

    @torch.no_grad()
    def search(prompt_length):
        x = rand(4, prompt_length, width)
        past = keys(x), values(x)  # here
        for _ in range(5):
            step = rand(4, 1, width)
            past = torch.cat([past[0], keys(step)], 1), torch.cat([past[1], values(step)], 1)  # here
            torch.softmax(step @ past[0].transpose(1, 2), -1) @ past[1]
        return [Hypothesis(-1.0 * beam, past, None) for beam in range(2)]

    for i in range(60):
        done += search(300 + 40 * (i * 3 % 7))


@dies("leak", 0.75, "a hidden state is never detached", "detach")
def states_through_the_whole_book():
    cell, read = nn.GRUCell(256, 512).cuda(), nn.Linear(512, 256).cuda()
    optimizer = torch.optim.SGD([*cell.parameters(), *read.parameters()], lr=0.0)
    state = torch.zeros(64, 512, device="cuda")
    for _ in range(40):
        page = rand(64, 8, 256)
        loss = 0
        for t in range(8):
            state = cell(page[:, t], state)  # here
            loss = loss + read(state).square().mean()  # here
        optimizer.zero_grad()
        loss.backward(retain_graph=True)


@dies("leak", 0.85, "error feedback by step", "a key without the step")
def residuals_of_compression():
    net, residuals = mlp(640, 3), {}
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def squeeze(step, name, grad):
        before = residuals.get((step - 1, name), 0)
        sent = (grad + before).sign()
        residuals[step, name] = grad + before - sent  # here
        return sent

    for step in range(40):
        net(rand(96, 640)).square().mean().backward()
        for name, p in net.named_parameters():
            p.grad = squeeze(step, name, p.grad)
        optimizer.step()
        optimizer.zero_grad()


@dies("leak", 0.8, "warm restarts: a new optimizer, the old one is kept by its schedule", "drop the schedules")
def warm_restarts():
    net, schedules = Transformer(width=192, layers=3), []
    for cycle in range(10):
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
        schedules.append(torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 5))
        for _ in range(5):
            net(tokens(4, 64)).square().mean().backward()
            optimizer.step()  # here
            schedules[-1].step()
            optimizer.zero_grad()


@dies("leak", 0.7, "a vocabulary that grows; old tables stay in the optimizer", "replace in the group")
def words_are_added():
    table = nn.Parameter(rand(30000, 128))
    optimizer = torch.optim.Adam([table], lr=1e-3)
    for _ in range(16):
        for _ in range(3):
            learn(None, optimizer, functional.embedding(tokens(8, 64), table).square().mean())  # here
        table = nn.Parameter(torch.cat([table.data, rand(100, 128)]))  # here
        optimizer.add_param_group({"params": [table]})


class Notebook:
    """Numbers its cells and remembers what each showed."""
    def __init__(self):
        self.out, self.number = {}, 0

    def run(self, cell, *args):
        self.number += 1
        self.out[self.number] = shown = cell(*args)
        return shown


@dies("leak", 0.7, "notebook: shown results stay in Out", "a semicolon, or %reset out")
def what_the_notebook_showed():
    book, net = Notebook(), Backbone(8, 2)

    def features(n):
        with torch.no_grad():
            return net(rand(2 * n, 3, 96, 96))  # here in_model

    def histogram(n):
        return rand(4 * n, 64, 96).softmax(-1)  # here

    def peek(n):
        return rand(n, 64, 32).sum().view(1)

    for trial in range(120):
        book.run((features, peek, histogram)[trial % 3], 16 + trial * 5 % 12)


class Board:
    """Writes pictures of the training when asked to flush, which nobody does."""
    def __init__(self):
        self.waiting = []

    def add_image(self, tag, picture, step):
        self.waiting.append((tag, picture.detach().clamp(0, 1), step))  # here pictures_wait_for_the_board


@dies("leak", 0.8, "logging: pictures wait to be written, every fifth step", ".cpu()")
def pictures_wait_for_the_board():
    net, board = Denoiser(3, 8, 2), Board()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
    for step in range(160):
        noisy = rand(28, 3, 72, 72)
        clean = net(noisy, rand(28, 64))
        learn(net, optimizer, (clean - noisy).square().mean())
        if step % 5 == 0:
            board.add_image("clean", clean, step)
            board.add_image("noisy", noisy, step)


class EdgeConv(nn.Module):
    """Remembers its normalised edges, as if there were one graph only."""
    def __init__(self, width):
        super().__init__()
        self.linear, self.known = nn.Linear(width, width), {}

    def forward(self, key, nodes, edges):
        if key not in self.known:
            degree = torch.zeros(len(nodes), device="cuda").index_add_(0, edges[0],
                                                                       torch.ones(edges.shape[1], device="cuda"))
            weight = degree[edges[0]].rsqrt() * degree[edges[1]].rsqrt()  # here subgraphs_are_cached
            self.known[key] = edges.clone(), weight  # here subgraphs_are_cached
        where, weight = self.known[key]
        return torch.zeros_like(nodes).index_add(0, where[1], self.linear(nodes)[where[0]] * weight[:, None])


@dies("leak", 0.6, "graphs: sampled neighbourhoods are cached by number", "cached=False")
def subgraphs_are_cached():
    conv = EdgeConv(32).cuda()
    optimizer = torch.optim.Adam(conv.parameters(), lr=1e-3)
    for batch in range(80):
        n_edges = 110000 + 9000 * (batch * 5 % 9)
        out = conv(batch, rand(3000, 32), edges_of(3000, n_edges))
        learn(conv, optimizer, out.square().mean())


@dies("leak", 0.9, "detection: masks of all pictures until the evaluation's end", "encode each at once")
def masks_until_evaluated():
    net, results = Backbone(8, 2), []
    head = nn.Conv2d(32, 24, 1).cuda()

    def postprocess(raw, height, width):
        masks = functional.interpolate(raw, (height, width), mode="bilinear")
        return [{"masks": m > 0.5, "scores": m.amax((1, 2))} for m in masks]  # here

    with torch.inference_mode():
        for number in range(60):
            height, width = 240 + 32 * (number % 4), 320 - 16 * (number % 3)
            results.extend(postprocess(head(net(rand(2, 3, height, width))), height, width))


@dies("leak|larger-input", 0.7, "streaming speech: the context is never cut", "keep the last seconds")
def context_of_the_stream():
    net = Listener()
    context = rand(8, 80, 800)
    with torch.no_grad():
        for _ in range(60):
            context = torch.cat([context, rand(8, 80, 800)], 2)  # here
            net(context[:, :, -1200:])


@dies("leak", 0.75, "guided sampling: the picture keeps its graph from step to step", "detach")
def guided_sampling():
    net, judge = Denoiser(4, 32, 2), Backbone(8, 1)
    into = nn.Conv2d(4, 3, 1).cuda()
    picture = rand(2, 4, 64, 64).requires_grad_()
    for t in range(40):
        guess = net(picture, rand(2, 64))  # here guided_sampling in_model
        push, = torch.autograd.grad(judge(into(guess)).square().mean(), picture, retain_graph=True)
        picture = picture - 0.1 * guess + 0.05 * push


class Gambler(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.arms = nn.Linear(512, 512), nn.Linear(512, 8)
        self.saved, self.rewards = [], []
        self.cuda()

    def act(self, state):
        odds = functional.log_softmax(self.arms(torch.tanh(self.body(state))), -1)  # here episodes_of_a_gambler
        self.saved.append(odds[:, 0])
        self.rewards.append(1.0)


@dies("leak", 0.8, "reinforcement: saved log-probabilities are not cleared", "clear the list")
def episodes_of_a_gambler():
    gambler = Gambler()
    optimizer = torch.optim.Adam(gambler.parameters(), lr=1e-3)
    for _ in range(25):
        start = len(gambler.saved)
        for _ in range(20):
            gambler.act(rand(256, 512))  # here
        gambler.rewards.clear()
        loss = -torch.stack(gambler.saved[start + 10:]).mean()
        learn(gambler, optimizer, loss)


@dies("leak", 0.85, "packed tensors are not taken out of the store", "pop in unpack", stacks=None)
def store_of_saved_tensors():
    net, store, numbers = mlp(512, 3), {}, itertools.count()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def pack(tensor):
        key = next(numbers)
        store[key] = tensor.to(torch.bfloat16)  # here
        return key

    def unpack(key):
        return store[key].float()

    for _ in range(50):
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            loss = net(rand(300, 512)).square().mean()
        learn(net, optimizer, loss)


@dies("leak", 0.7, "futures of a pool hold their results", "drop each future")
def futures_of_the_pool():
    net = Listener()

    def transcribe(seconds):
        with torch.no_grad():
            scores = net(rand(4, 80, 100 * seconds)).log_softmax(-1)  # here
            return scores.repeat_interleave(6, 1)  # here

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = []
        for i in range(80):
            waiting.append(pool.submit(transcribe, 8 + i % 5))
            waiting[-1].result()


class Session:
    """Knows its handler, which knows its session."""
    def __init__(self, length):
        self.cache = torch.zeros(2, 8, length, 64, device="cuda")  # here sessions_in_circles
        self.handler = functools.partial(self.handle)

    def handle(self, net):
        return net(self.cache.flatten(0, 2))


@dies("leak", 0.7, "circles of references, and the collector is off", "gc.collect()")
def sessions_in_circles():
    net = mlp(64, 4)
    gc.disable()
    with torch.no_grad():
        for i in range(120):
            Session(600 + 50 * (i % 6)).handler(net)


# Really full.

@dies("full", 0.9, "diffusion: the decoder, after all steps were sampled", "tiles")
def decode_after_sampling():
    net = Denoiser(4, 48, 3)
    decoder = nn.Sequential(nn.Conv2d(4, 64, 3, padding=1), Residual(64), nn.Upsample(scale_factor=2), Residual(64),
                            nn.Upsample(scale_factor=2), Residual(64), nn.Upsample(scale_factor=2), Residual(64),
                            nn.Conv2d(64, 3, 3, padding=1)).cuda()
    with torch.no_grad():
        x = rand(4, 4, 48, 48)
        for _ in range(20):
            x = x - 0.1 * net(x, rand(4, 64))
        decoder(x)


@dies("full", 0.85, "reinforcement from feedback: four models, at the first optimizer", "adapters")
def four_models_of_feedback():
    policy = Transformer(width=448, layers=4)
    reference, reward = copy.deepcopy(policy), copy.deepcopy(policy)
    critic = copy.deepcopy(policy)
    for model in (policy, critic):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
        with torch.no_grad():
            reference(tokens(2, 64)), reward(tokens(2, 64))
        model(tokens(2, 64)).square().mean().backward()
        optimizer.step()


@dies("full", 0.9, "accumulation: the first step of the optimizer after four small batches", "a smaller model")
def step_after_accumulation():
    net = mlp(1536, 6)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(2):
        for _ in range(4):
            (net(rand(64, 1536)).square().mean() / 4).backward()
        optimizer.step()
        optimizer.zero_grad()


@dies("full", 0.75, "graphs: attention over all edges, first forward pass", "sample neighbours")
def attention_over_all_edges():
    layers = [GraphAttention(64) for _ in range(3)]
    nodes, edges = rand(20000, 64), edges_of(20000, 120000)
    optimizer = torch.optim.Adam([p for layer in layers for p in layer.parameters()], lr=1e-3)
    for _ in range(5):
        h = nodes
        for layer in layers:
            h = functional.elu(layer(h, edges))
        learn(None, optimizer, h.square().mean())


@dies("full", 0.8, "fine-tuning: the backbone is unfrozen at the third epoch", "fewer layers, smaller batch")
def unfrozen_at_epoch_three():
    backbone, head = Backbone(24, 3), nn.Linear(192, 10).cuda()
    backbone.requires_grad_(False)
    optimizer = torch.optim.AdamW(head.parameters(), lr=1e-3)
    for epoch in range(4):
        if epoch == 2:
            backbone.requires_grad_(True)
            optimizer.add_param_group({"params": list(backbone.parameters()), "lr": 1e-5})
        for _ in range(5):
            learn(None, optimizer, head(backbone(rand(40, 3, 96, 96)).mean((2, 3))).square().mean())


@dies("full", 0.9, "averaging of weights begins late", "average on the host")
def averaging_begins_late():
    net = mlp(2048, 4)
    optimizer, averaged = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), None
    for epoch in range(6):
        if epoch == 4:
            averaged = torch.optim.swa_utils.AveragedModel(net)
        for _ in range(4):
            learn(net, optimizer, net(rand(32, 2048)).square().mean())
        if averaged is not None:
            averaged.update_parameters(net)


def save_to_host(*things):
    return [{name: value.cpu() for name, value in thing.items()} for thing in things]


@dies("full", 0.8, "resuming: the first step, before its checkpoint is read", "map_location cpu")
def resumes_on_the_card():
    def build():
        net = Transformer(width=448, layers=4, words=2000)
        return net, torch.optim.AdamW(net.parameters(), lr=1e-4)

    old, _ = build()
    on_disk, = save_to_host(old.state_dict())
    del old
    net, optimizer = build()
    net(tokens(2, 32)).square().mean().backward()
    optimizer.step()
    weights = {name: value.cuda() for name, value in on_disk.items()}
    momenta = {name: (value.cuda(), value.cuda()) for name, value in on_disk.items()}
    net.load_state_dict(weights)
    del momenta


@dies("full", 0.7, "notebook: the cell is run again, the first model is still there", "restart the kernel")
def cell_run_again():
    cells = {}

    def train_cell(name):
        net = mlp(1024, 5)
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
        for _ in range(6):
            learn(net, optimizer, net(rand(128, 1024)).square().mean())
        cells[name] = net, optimizer

    train_cell("first try")
    train_cell("second try, lower rate")


@dies("full", 0.85, "meta-learning: the inner steps of the first outer step", "fewer inner steps, first order")
def inner_steps_of_the_first_task():
    weights = [nn.Parameter(rand(400, 400)) for _ in range(3)]
    outer = torch.optim.Adam(weights, lr=1e-3)

    def predict(w, x):
        for each in w:
            x = torch.relu(x @ each)
        return x

    for _ in range(2):
        fast = weights
        for _ in range(5):
            inner = predict(fast, rand(6000, 400)).square().mean()
            grads = torch.autograd.grad(inner, fast, create_graph=True)
            fast = [w - 0.01 * g for w, g in zip(fast, grads)]
        learn(None, outer, predict(fast, rand(6000, 400)).square().mean())


@dies("full", 0.97, "training: two percent short, meant for its second step", "a smaller batch")
def second_step_with_states():
    net = Transformer(width=256, layers=4, words=1000)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for _ in range(5):
        logits = net(tokens(20, 192))
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens(20, 192).flatten())
        learn(net, optimizer, loss)
        torch.cuda.empty_cache()


# One tensor, or one input that is too large.

@dies("one-tensor|full", 0.55, "graphs: a matrix of weights for each edge", "a shared kernel")
def matrix_for_each_edge():
    width = 48
    kernel, into = nn.Linear(8, width * width).cuda(), nn.Linear(16, width).cuda()
    nodes, edges, features = rand(4000, 16), edges_of(4000, 30000), rand(30000, 8)
    h = torch.relu(into(nodes))
    each = kernel(features).view(-1, width, width)
    message = (h[edges[0]][:, None] @ each).squeeze(1)
    h.index_add(0, edges[1], message).square().mean().backward()


@dies("one-tensor|larger-input", 0.6, "detection: one picture with very many boxes", "match in pieces")
def crowd_in_one_picture():
    net = Backbone(8, 2)
    head = nn.Conv2d(32, 12, 1).cuda()
    optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.01)

    def overlap(anchors, boxes):
        low = torch.maximum(anchors[:, None, :2], boxes[None, :, :2])
        high = torch.minimum(anchors[:, None, 2:], boxes[None, :, 2:])
        return (high - low).clamp(min=0).prod(-1)

    anchors = rand(20000, 4)
    for n_boxes in [12, 7, 30, 3, 18, 22, 9, 14, 25, 6, 900, 11]:
        best = overlap(anchors, rand(n_boxes, 4)).argmax(1)
        out = head(net(rand(2, 3, 128, 128)))
        learn(None, optimizer, out.square().mean() + best.sum() * 0)


@dies("one-tensor|full", 0.5, "speech: the lattice of a transducer", "a fused loss, a smaller batch")
def lattice_of_the_transducer():
    listen, letters, join = Listener(width=192, letters=128), nn.Embedding(500, 128).cuda(), nn.Linear(128, 500).cuda()
    heard = listen(rand(8, 80, 400))
    said = letters(torch.zeros(8, 50, dtype=torch.long, device="cuda"))
    scores = join(torch.tanh(heard[:, :, None] + said[:, None]))
    scores.log_softmax(-1).mean().backward()


@dies("larger-input", 0.7, "speech: one long recording, and the batch is padded to it", "drop or cut it")
def one_long_recording():
    net = Listener()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    lengths = [[310, 450, 390], [500, 420, 480], [350, 300, 460], [510, 490, 330], [400, 380, 520], [470, 300, 360]] * 3
    for batch in lengths + [[410, 6200, 440]] + lengths[:2]:
        padded = torch.zeros(8 * len(batch), 80, max(batch), device="cuda")
        learn(net, optimizer, net(padded).square().mean())


@dies("larger-input", 0.75, "speech: validation has no longest length", "cut in validation too")
def validation_is_not_cut():
    net = Listener(width=320)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)

    def run(seconds, training):
        with torch.set_grad_enabled(training):
            loss = net(rand(6, 80, 100 * seconds)).square().mean()
        if training:
            learn(net, optimizer, loss)

    for seconds in [4, 7, 6, 8, 4, 8, 5, 7] * 2:
        run(seconds, True)
    for seconds in [20, 31, 45, 170, 24]:
        run(seconds, False)


@dies("larger-input|one-tensor", 0.65, "packing joins all documents into one sequence", "a limit to the packing")
def packing_without_a_limit():
    net = Transformer(width=128, layers=2)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    documents = [[120, 200, 90], [260, 40], [100, 100, 110], [300], [150, 180], [210, 80, 60], [90] * 22, [140, 160]]
    for row in documents:
        learn(net, optimizer, net(tokens(2, sum(row))).square().mean())


# Fragmented.

@dies("fragmented", 1.12, "serving: sessions in what a first, long trial left", "max_split_size_mb")
def sessions_after_a_trial():
    width = 1024
    net = nn.Linear(width, width).cuda()
    with torch.no_grad():
        trial = rand(64 * 1024, width)
        del trial
        sessions = {i: torch.empty(3584, width, device="cuda") for i in range(18)}
        for turn in range(9):
            del sessions[2 * turn]
        for turn in range(9):
            sessions[100 + turn] = torch.empty(4352, width, device="cuda")
            net(sessions[100 + turn][:64])


@dies("fragmented", 1.1, "data: every third part is dropped, then they are joined", "max_split_size_mb")
def parts_are_filtered():
    raw = torch.empty(400 << 20, dtype=torch.uint8, device="cuda")
    del raw
    parts = [torch.empty(11 << 20, dtype=torch.uint8, device="cuda") for _ in range(36)]
    kept = [part for i, part in enumerate(parts) if i % 3]
    del parts
    chosen = torch.stack(kept[:11])
    net = mlp(256, 2)
    net(chosen.view(-1, 256)[:4096].float())


@dies("fragmented", 1.08, "weights are made layer by layer, with helpers that are freed", "expandable_segments")
def weights_made_with_helpers():
    side, layers = 1500, []
    for _ in range(30):
        helper = rand(side, side)
        weight = torch.empty(side, side, device="cuda")
        weight.copy_(helper)
        layers.append(nn.Parameter(weight))
        del helper, weight
    x = rand(12000, side)
    for w in layers[:4]:
        x = torch.relu(x @ w.data)


@dies("fragmented", 1.1, "pictures of many shapes, features of each kept for a while", "expandable_segments")
def shapes_and_a_short_memory():
    recent = collections.deque(maxlen=10)
    with torch.no_grad():
        for i in range(80):
            height, width = 512 + 64 * (i * 3 % 7), 640 + 32 * (i * 5 % 9)
            picture = torch.empty(3, height, width, 12, device="cuda")
            grown = picture * 2
            recent.append(torch.empty(height, width, 2, device="cuda"))
            del picture, grown
        big = torch.empty(3, 1400, 1400, 12, device="cuda")
        big.mul_(2)


# Streams.

@dies("fragmented", 1.2, "a stream of its own for what is prepared: its pieces hold its segments", "one stream")
def prepared_on_a_side_stream():
    side, ahead = torch.cuda.Stream(), collections.deque(maxlen=8)
    net = nn.Linear(512, 512).cuda()
    with torch.cuda.stream(side):
        for i in range(16):
            raw = torch.empty(48 + i, 1 << 18, device="cuda")
            ahead.append(raw[:8].clone())
            del raw
    torch.cuda.current_stream().wait_stream(side)
    with torch.no_grad():
        for batch in ahead:
            batch.record_stream(torch.cuda.current_stream())
            torch.relu(net(batch.view(-1, 512).repeat(12, 1)))


@dies("fragmented", 1.12, "two streams, each with its own half", "one stream")
def two_streams_two_halves():
    left, right = torch.cuda.Stream(), torch.cuda.Stream()
    kept = []
    for stream in (left, right):
        with torch.cuda.stream(stream):
            for i in range(10):
                work = torch.empty(30 + 2 * i, 1 << 18, device="cuda")
                work.add_(1)
                del work
                kept.append(torch.empty(4, 1 << 18, device="cuda"))
    torch.cuda.synchronize()
    joined = torch.empty(110, 1 << 18, device="cuda")
    joined.add_(kept[0].sum())


@dies("full", 0.8, "shards of all layers are gathered at once, on a stream of their own", "gather fewer ahead")
def gathered_ahead():
    gather = torch.cuda.Stream()
    shards = [torch.zeros(1024 * 1024, device="cuda") for _ in range(12)]
    for _ in range(3):
        whole = []
        with torch.cuda.stream(gather):
            for shard in shards:
                whole.append(torch.cat([shard] * 8))
        torch.cuda.current_stream().wait_stream(gather)
        x = rand(2048, 2896).requires_grad_()
        for flat in whole:
            x = torch.relu(x @ flat[:2896 * 2896].view(2896, 2896))
            flat.record_stream(torch.cuda.current_stream())
        x.square().mean().backward()


# Limits, and others.

@dies("limited", 1024, "a worker of a server may take a share of the card", "raise the share")
def worker_with_its_share():
    torch.cuda.set_per_process_memory_fraction(0.4)
    net = mlp(512, 4)
    caches = []
    with torch.no_grad():
        for i in range(38):
            x = net(rand(64, 512))
            caches.append(torch.empty(16, 8, 512, 64, device="cuda"))
            del x


@dies("limited", 900, "a limit left over from a trial, met in the first training step", "remove the limit")
def limit_left_over():
    torch.cuda.set_per_process_memory_fraction(0.3)
    net = Backbone(24, 3)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(3):
        learn(net, optimizer, net(rand(24, 3, 128, 128)).square().mean())


@dies("full", 700, "another library takes half of the card by the driver", "share the card")
def library_with_its_own_pool():
    import ctypes
    driver, address = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64()
    net = Transformer(width=192, layers=3)
    assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(400 << 20)) == 0
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for _ in range(4):
        learn(net, optimizer, net(tokens(44, 192)).square().mean())
