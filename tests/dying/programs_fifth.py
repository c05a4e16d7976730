# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Programs written by a fifth hand, before it had read the others or `why`; labelled before `why` was asked. By their
position in this file the odd ones may be looked at while `why` is mended, the even ones decide. A line outside of its
program ends in "# here" and the program's name."""
import collections
import copy
import ctypes
import functools
import io
import itertools
import queue

import torch
from torch import nn
from torch.nn import functional
from torch.utils import checkpoint
from torch.utils._python_dispatch import TorchDispatchMode

from parts import begin_recording, dies


def on_card(*shape, **kw):
    return torch.randn(*shape, device="cuda", **kw)


def layers(*widths):
    parts = [part for a, b in zip(widths, widths[1:]) for part in (nn.Linear(a, b), nn.GELU())]
    return nn.Sequential(*parts[:-1]).cuda()


def convolutions(*channels, kernel=3):
    parts = [part for a, b in zip(channels, channels[1:])
             for part in (nn.Conv2d(a, b, kernel, padding=kernel // 2), nn.ReLU())]
    return nn.Sequential(*parts[:-1]).cuda()


def learn(model, optimizer, x):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()


class Rounding(torch.autograd.Function):
    """Rounds; its gradient is that of the identity. Remembers what it made, for a histogram at the end."""
    made = []

    @staticmethod
    def forward(ctx, x, step):
        rounded = torch.round(x / step) * step  # here rounded_values_for_a_histogram
        Rounding.made.append(rounded)
        return rounded

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


@dies("leak", 170, "custom autograd function", "list")
def rounded_values_for_a_histogram():
    encoder, decoder = layers(512, 512, 256), layers(256, 512, 512)
    optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
    for _ in range(4000):
        x = on_card(512, 512)
        loss = functional.mse_loss(decoder(Rounding.apply(encoder(x), 0.125)), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@dies("leak", 150, "gradient hook", "list")
def gradients_for_choosing_the_clip():
    model = layers(512, 512, 512, 512)
    optimizer = torch.optim.Adam(model.parameters())
    seen = collections.defaultdict(list)
    for name, weight in model.named_parameters():
        weight.register_hook(lambda gradient, name=name: seen[name].append(gradient.detach().clone()))  # here
    for _ in range(4000):
        learn(model, optimizer, on_card(256, 512))


def describe(encoder, sounds, number):
    features = encoder(sounds)  # here broken_files_are_reported_at_the_end
    if number % 3 == 0:
        raise ValueError(f"file {number} has no label")
    return features.mean()


@dies("leak", 190, "exceptions", "exception")
def broken_files_are_reported_at_the_end():
    encoder, problems = layers(400, 800, 200), []
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for number in range(4000):
        sounds = on_card(600, 400)  # here
        try:
            loss = describe(encoder, sounds, number)
        except ValueError as error:
            problems.append(error)
            continue
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    raise RuntimeError(problems)


class Figure:
    """As a plotting library has it: a figure stays open until somebody closes it."""
    open = {}

    def __init__(self):
        Figure.open[len(Figure.open)] = self
        self.drawn = []

    def show(self, picture):
        self.drawn.append(picture)


@dies("leak", 220, "notebook", "dict")
def figures_are_never_closed():
    query, key = layers(128, 128), layers(128, 128)
    optimizer = torch.optim.Adam([*query.parameters(), *key.parameters()])
    for step in range(4000):
        x = on_card(4, 512, 128)
        weights = torch.softmax(query(x) @ key(x).transpose(1, 2), -1)  # here
        optimizer.zero_grad()
        (weights @ x).square().mean().backward()
        optimizer.step()
        if step % 4 == 3:
            Figure().show(weights.detach()[0])


@dies("leak", 200, "optimization of an input", "optimizer")
def latents_stay_in_the_optimizer():
    generator = layers(2048, 256, 1024).requires_grad_(False)
    optimizer = None
    for _ in range(1000):
        target = on_card(64, 1024)
        latent = torch.zeros(64, 2048, device="cuda", requires_grad=True)  # here
        if optimizer is None:
            optimizer = torch.optim.Adam([latent])
        else:
            optimizer.add_param_group({"params": [latent]})
        for _ in range(3):
            optimizer.zero_grad()
            functional.mse_loss(generator(latent), target).backward()
            optimizer.step()  # here


@dies("leak", 210, "differentiable simulation", "detach")
def simulation_is_never_cut():
    kernel = torch.full((1, 1, 3, 3), 0.1, device="cuda", requires_grad=True)
    heat, wanted = on_card(1, 1, 512, 512), on_card(1, 1, 512, 512)
    for _ in range(400):
        for _ in range(2):
            heat = heat + functional.conv2d(heat, kernel, padding=1)  # here
        loss = functional.mse_loss(heat, wanted)
        torch.autograd.grad(loss, kernel, retain_graph=True)  # how much it matters so far


@dies("leak", 300, "evaluation in a ring", "view", max_entries=600)
def first_tokens_hold_whole_sequences():
    body, embeddings = layers(256, 512, 256), []
    words = nn.Embedding(1000, 256).cuda()
    with torch.no_grad():
        for number in range(4000):
            ids = torch.zeros(8, 96 + 32 * (number % 5), dtype=torch.long, device="cuda")
            hidden = body(words(ids))  # here
            embeddings.append(hidden[:, 0])


@dies("leak", 230, "self-play", "list")
def league_of_former_selves():
    policy, league = layers(256, 512, 512, 64), []
    optimizer = torch.optim.Adam(policy.parameters())
    for update in range(4000):
        with torch.no_grad():
            rival = league[update % len(league)] if league else policy
            rival(on_card(128, 256))
        learn(policy, optimizer, on_card(512, 256))
        if update % 3 == 0:
            league.append(copy.deepcopy(policy))  # here


@dies("leak", 260, "search of settings", "partial")
def trials_keep_their_way_to_predict():
    predictors = []

    def objective(width):
        model = layers(256, width, width, 32)  # here
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(4):
            learn(model, optimizer, on_card(256, 256))
        return functools.partial(model.forward)
    for trial in range(400):
        predictors.append(objective(384 + 128 * (trial * 7 % 5)))


@dies("leak", 160, "influence of samples", "list")
def influence_of_every_sample():
    model = layers(300, 400, 10)
    vectors = []
    for _ in range(4000):
        loss = model(on_card(1, 300)).square().mean()
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        vectors.append(torch.cat([gradient.flatten() for gradient in gradients]))  # here


@dies("leak", 200, "data loader", "iterator")
def one_half_of_a_tee_is_never_read():
    def batches():
        for number in range(4000):
            yield on_card(256 + 32 * (number % 3), 1024)  # here
    for_training, _for_statistics = itertools.tee(batches())
    model = layers(1024, 256, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in for_training:
        learn(model, optimizer, x)


@dies("leak", 230, "reinforcement from feedback", "queue")
def scorer_falls_behind():
    writer, scorer = layers(256, 512, 1500), layers(1500, 64, 1)
    waiting = queue.Queue()
    with torch.no_grad():
        for turn in range(4000):
            written = torch.softmax(writer(on_card(400, 256)), -1)  # here
            waiting.put(written)
            if turn % 3 != 2:
                scorer(waiting.get())


class Node:
    def __init__(self, latent, parent=None):
        self.latent, self.parent, self.children = latent, parent, []


@dies("leak", 180, "tree search", "parent")
def parents_keep_the_tree():
    dynamics, root = layers(1024, 512, 1024), Node(on_card(64, 1024))
    with torch.no_grad():
        for _move in range(1000):
            for action in range(4):
                root.children.append(Node(dynamics(root.latent + action), root))  # here
            root = root.children[1]                    # the others hang on its parent


class Logged(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))  # here every_operation_is_logged
        self.calls.append((str(func), result))
        return result


@dies("leak", 220, "dispatch mode", "list")
def every_operation_is_logged():
    model, log = convolutions(3, 8, 8, 3), Logged()
    with torch.no_grad(), log:
        for _ in range(1000):
            model(on_card(2, 3, 96, 96))  # here


@dies("leak", 230, "mixed precision", "autocast")
def one_autocast_around_all_requests():
    base = layers(1024, 1024, 1024)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        for _request in range(1000):
            adapter = nn.Sequential(nn.Linear(1024, 256), nn.Linear(256, 1024)).cuda()  # here
            adapter(base(on_card(128, 1024))).sum().item()  # here


@dies("leak", 260, "streaming speech", "cat")
def microphone_is_never_off():
    encoder, kinds = layers(80, 256, 256), range(3)
    past = [torch.zeros(1, 0, 256, device="cuda") for _ in kinds]
    with torch.no_grad():
        for _chunk in range(4000):
            now = encoder(on_card(1, 600, 80))
            past = [torch.cat([one, now], 1) for one in past]  # here
            for one in past:
                torch.softmax(now[:, -8:] @ one.transpose(1, 2), -1) @ one


@dies("full", 0.9, "quantization-aware training", "memory")
def second_model_learns_to_be_rounded():
    model = layers(2048, 2048, 2048, 2048, 2048)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(8):
        learn(model, optimizer, on_card(512, 2048))
    rounded = copy.deepcopy(model)                     # the first stays, to be compared with
    optimizer_of_rounded = torch.optim.Adam(rounded.parameters())
    for _ in range(8):
        x = on_card(512, 2048)
        with torch.no_grad():
            wanted = model(x)
        optimizer_of_rounded.zero_grad()
        functional.mse_loss(rounded(x), wanted).backward()
        optimizer_of_rounded.step()


class Preconditioned(torch.optim.SGD):
    """Begins to keep two square matrices, and the roots of these, for each weight after eight steps."""
    @torch.no_grad()
    def step(self):
        for weight in self.param_groups[0]["params"]:
            state = self.state[weight]
            state["steps"] = state.get("steps", 0) + 1
            if state["steps"] > 8:
                for side, gradient in (("left", weight.grad), ("right", weight.grad.T)):
                    square = state.get(side, 0) + gradient @ gradient.T
                    state[side], state[side + " root"] = square, square.clamp(min=1e-6).rsqrt()
        super().step()


@dies("full", 0.85, "second-order optimizer", "optimizer")
def preconditioners_after_eight_steps():
    model = nn.Sequential(*[nn.Linear(1536, 1536, bias=False) for _ in range(6)]).cuda()
    optimizer = Preconditioned(model.parameters(), lr=0.1)
    for _ in range(14):
        learn(model, optimizer, on_card(512, 1536))


@dies("full", 0.92, "training goes back to its best", "map_location")
def rollback_to_the_best():
    model = layers(1024, 3072, 3072, 1024)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(6):
        for _ in range(4):
            learn(model, optimizer, on_card(256, 1024))
        if epoch == 1:
            best = io.BytesIO()
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, best)
        if epoch == 4:
            best.seek(0)
            saved = torch.load(best, map_location="cuda")
            model.load_state_dict(saved["model"])
            optimizer.load_state_dict(saved["optimizer"])


@dies("full", 0.9, "several models", "offload")
def painter_then_enlarger():
    writer, painter = layers(512, 2048, 2048, 512), convolutions(4, 64, 64, 4)
    with torch.no_grad():
        for _ in range(6):
            writer(on_card(77, 512))
            for _ in range(5):
                painter(on_card(1, 4, 64, 64))
        enlarger = layers(1024, 3072, 3072, 3072, 1024)
        enlarger(on_card(64, 1024))


def try_batch(model, batch):
    try:
        model(on_card(batch, 512)).square().mean().backward()
        return True
    except torch.OutOfMemoryError:
        return False
    finally:
        model.zero_grad()


@dies("full", 190, "probed batch", "batch")
def probed_without_its_optimizer():
    model, batch = layers(512, 1024, 1024, 1024, 512), 64
    while try_batch(model, batch):
        batch *= 2
        torch.cuda.empty_cache()
    torch.cuda.empty_cache()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(20):
        learn(model, optimizer, on_card(batch // 2, 512))


@dies("full", 0.88, "picture restoration", "memory")
def perceptual_loss_after_a_warm_up():
    restorer = convolutions(3, 16, 16, 3)
    optimizer = torch.optim.Adam(restorer.parameters())
    judge = None
    for step in range(20):
        sharp = on_card(16, 3, 128, 128)
        restored = restorer(sharp + 0.1 * torch.randn_like(sharp))
        loss = functional.l1_loss(restored, sharp)
        if step >= 10:
            judge = judge or convolutions(3, 32, 32, 64).requires_grad_(False)
            loss = loss + functional.mse_loss(judge(restored), judge(sharp))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@dies("full", 0.88, "second derivatives", "batch")
def curvature_after_the_first_epoch():
    model = layers(512, 768, 768, 512)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    weights = list(model.parameters())
    for _epoch in range(2):
        for _ in range(6):
            learn(model, optimizer, on_card(4096, 512))
        optimizer.zero_grad()
        loss = model(on_card(4096, 512)).square().mean()
        gradients = torch.autograd.grad(loss, weights, create_graph=True)
        signs = [torch.randn_like(weight) for weight in weights]
        torch.autograd.grad(gradients, weights, signs)
        del gradients, loss


@dies("full", 0.85, "checkpointing", "checkpointing")
def checkpointing_for_one_epoch_only():
    blocks = [layers(512, 1024, 512) for _ in range(6)]
    optimizer = torch.optim.Adam([weight for block in blocks for weight in block.parameters()])
    for step in range(16):
        x = on_card(4096, 512, requires_grad=True)
        for block in blocks:
            x = x + (checkpoint.checkpoint(block, x, use_reentrant=False) if step < 10 else block(x))
        optimizer.zero_grad()
        x.square().mean().backward()
        optimizer.step()


@dies("one-tensor", 420, "point clouds", "chunks")
def neighbours_of_a_whole_scan():
    model = layers(3, 64, 64)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(10):
        points = on_card(2048, 3)
        near = torch.cdist(points, points).topk(16, largest=False).indices
        optimizer.zero_grad()
        model(points[near]).amax(1).square().mean().backward()
        optimizer.step()
    scan = on_card(11000, 3)
    torch.cdist(scan, scan).topk(16, largest=False)


@dies("one-tensor", 600, "question answering", "sdpa")
def attention_over_a_whole_contract():
    project, heads = layers(256, 768), 8
    with torch.no_grad():
        for length in (300, 512, 420, 380, 500, 512, 5000):
            q, k, v = project(on_card(1, length, 256)).view(length, 3, heads, 32).permute(1, 2, 0, 3)
            torch.softmax(q @ k.transpose(1, 2) / 6, -1) @ v


@dies("one-tensor", 700, "language model", "cross_entropy")
def labels_as_one_hot_of_the_vocabulary():
    words, head = nn.Embedding(9000, 1024).cuda(), layers(1024, 9000)
    optimizer = torch.optim.SGD([*words.parameters(), *head.parameters()], lr=0.1)
    for batch in (1, 1, 1, 1, 1, 32):
        ids = torch.zeros(batch, 256, dtype=torch.long, device="cuda")
        one_hot = functional.one_hot(ids, 9000)
        optimizer.zero_grad()
        loss = -(torch.log_softmax(head(words(ids)), -1) * one_hot).sum(-1).mean()
        loss.backward()
        optimizer.step()


@dies("one-tensor", 480, "segmentation", "resize")
def masks_in_the_size_of_the_photograph():
    model = convolutions(3, 16, 150)
    with torch.no_grad():
        for height, width in ((96, 128), (128, 96), (112, 112), (1080, 1440)):
            logits = model(on_card(1, 3, 96, 96))
            functional.interpolate(logits, (height, width), mode="bilinear").argmax(1)


@dies("one-tensor", 380, "recommender", "chunks")
def every_user_times_every_item():
    users, items = nn.Embedding(16000, 64).cuda(), nn.Embedding(7000, 64).cuda()
    optimizer = torch.optim.SGD([*users.parameters(), *items.parameters()], lr=0.1)
    for _ in range(12):
        u, i = (torch.zeros(4096, dtype=torch.long, device="cuda") for _ in range(2))
        optimizer.zero_grad()
        (users(u) * items(i)).sum(1).sigmoid().mean().backward()
        optimizer.step()
    with torch.no_grad():
        (users.weight @ items.weight.T).topk(20)


@dies("one-tensor", 300, "regression", "shape")
def column_minus_row():
    model = layers(32, 256, 1)
    optimizer = torch.optim.Adam(model.parameters())
    for batch in (512, 512, 512, 512, 9500):           # the last is all that is held out
        x, wanted = on_card(batch, 32), on_card(batch)
        optimizer.zero_grad()
        (model(x) - wanted).square().mean().backward()
        optimizer.step()


@dies("larger-input", 240, "speech", "length")
def one_lecture_among_commands():
    ears = nn.Sequential(nn.Conv1d(1, 32, 9, stride=4), nn.ReLU(), nn.Conv1d(32, 32, 9, stride=2), nn.ReLU(),
                         nn.Conv1d(32, 16, 3)).cuda()
    optimizer = torch.optim.Adam(ears.parameters())
    for number in range(60):
        seconds = 40 if number == 41 else 1 + number % 3
        learn(ears, optimizer, on_card(4, 1, 16000 * seconds))


@dies("larger-input", 330, "video", "frames")
def more_frames_every_epoch():
    film = nn.Sequential(nn.Conv3d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv3d(8, 8, 3, padding=1), nn.ReLU(),
                         nn.Conv3d(8, 4, 3, padding=1)).cuda()
    optimizer = torch.optim.SGD(film.parameters(), lr=0.1)
    for epoch in range(40):
        for _ in range(4):
            learn(film, optimizer, on_card(1, 3, 4 + 8 * epoch, 128, 128))


def learn_neighbourhood(model, optimizer, nodes, edges):
    features = on_card(nodes, 128)
    ends = torch.zeros(2, edges, dtype=torch.long, device="cuda")
    for layer in model:
        messages = features[ends[0]]
        features = torch.relu(layer(torch.zeros_like(features).index_add(0, ends[1], messages)))
    optimizer.zero_grad()
    features.square().mean().backward()
    optimizer.step()


@dies("larger-input", 300, "graph network", "fanout")
def one_batch_meets_the_hub():
    model = nn.ModuleList([nn.Linear(128, 128) for _ in range(3)]).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for number in range(50):
        nodes, edges = (60000, 400000) if number == 33 else (1500 + 100 * (number % 4), 6000 + 500 * (number % 7))
        try:
            learn_neighbourhood(model, optimizer, nodes, edges)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()                   # once more, which helps with what is in pieces
            learn_neighbourhood(model, optimizer, nodes, edges)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.mix, self.head = nn.Linear(128, 384), nn.Linear(128, 128), nn.Linear(128, 2000)
        self.cuda()

    def forward(self, x):
        length = x.shape[1]
        q, k, v = self.qkv(x).view(length, 3, 4, 32).permute(1, 2, 0, 3)
        mixed = (torch.softmax(q @ k.transpose(1, 2), -1) @ v).transpose(0, 1).reshape(1, length, 128)
        return self.head(self.mix(mixed))


@dies("larger-input", 310, "chat", "window")
def whole_conversation_read_anew():
    reader, length = Reader(), 64
    with torch.no_grad():
        for _turn in range(200):
            length += 56
            reader(on_card(1, length, 128))


@dies("fragmented", 236, "reading of pages", "setting")
def pages_and_a_short_memory():
    reader, recent = layers(256, 1024, 256), collections.OrderedDict()
    with torch.no_grad():
        for page in range(240):
            lines = 2000 + 640 * (page * 37 % 23)
            recent[page] = reader(on_card(lines, 256)).half()
            if len(recent) > 10:
                recent.popitem(last=False)


@dies("fragmented", 252, "chats", "setting")
def chats_come_and_go():
    model, chats = layers(256, 512, 256), {}
    with torch.no_grad():
        for turn in range(400):
            seat = turn * 7 % 10
            if seat not in chats or chats[seat][0].shape[0] > 9000 + 900 * (seat % 4):
                chats[seat] = [on_card(1500 + 300 * seat, 256) for _ in range(2)]
            news = model(on_card(700 + 90 * (turn % 11), 256))
            chats[seat] = [torch.cat([past, news]) for past in chats[seat]]


@dies("fragmented", 110, "comparison of models", "setting")
def models_compared_in_turn():
    loaded = collections.OrderedDict()
    with torch.no_grad():
        for number in range(160):
            width = 512 + 192 * (number * 11 % 9)
            loaded[number] = layers(512, width, width, 512)
            if len(loaded) > 3:
                loaded.popitem(last=False)
            for model in loaded.values():
                model(on_card(1024 + 512 * (number % 3), 512))


@dies("fragmented", 316, "contrastive learning", "setting")
def keys_of_the_last_batches():
    model, keys = layers(512, 1024, 512), collections.deque(maxlen=20)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(150):
        queries = model(on_card(1024 + 512 * (step * 29 % 13), 512))
        loss = queries.square().mean()
        if keys:
            loss = loss + (queries[:256] @ keys[-1].T).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        keys.append(functional.normalize(queries.detach())[::2].clone())
        del queries, loss


@dies("full|one-tensor", 0.8, "diffusion", "tiling")
def first_picture_is_decoded():
    denoiser, decoder = convolutions(4, 64, 64, 4), convolutions(4, 64, 64, 3)
    with torch.no_grad():
        latent = on_card(1, 4, 96, 96)
        for _ in range(15):
            latent = latent - 0.1 * denoiser(torch.cat([latent, latent])).chunk(2)[0]
        decoder(functional.interpolate(latent, scale_factor=8))


@dies("full", 0.75, "medical segmentation", "patches")
def first_backward_of_a_volume():
    model = nn.Sequential(nn.Conv3d(1, 16, 3, padding=1), nn.InstanceNorm3d(16), nn.LeakyReLU(),
                          nn.Conv3d(16, 16, 3, padding=1), nn.InstanceNorm3d(16), nn.LeakyReLU(),
                          nn.Conv3d(16, 3, 1)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        learn(model, optimizer, on_card(1, 1, 64, 96, 96))


@dies("full", 0.9, "resumed training", "map_location")
def resumed_with_all_states_on_the_card():
    file = io.BytesIO()
    state = {str(i): torch.zeros(3072, 3072) for i in range(4)}
    torch.save({"model": state, "first": state, "second": {k: v + 1 for k, v in state.items()}}, file)
    file.seek(0)
    saved = torch.load(file, map_location="cuda")
    model = nn.ParameterDict({k: nn.Parameter(torch.empty(3072, 3072, device="cuda")) for k in state})
    optimizer = torch.optim.Adam(model.parameters())
    with torch.no_grad():
        for name, weight in model.items():
            weight.copy_(saved["model"][name])
            optimizer.state[weight] = {"step": torch.tensor(100.), "exp_avg": saved["first"][name].clone(),
                                       "exp_avg_sq": saved["second"][name].clone()}
    for _ in range(5):
        x = on_card(512, 3072)
        for weight in model.values():
            x = torch.relu(x @ weight)
        optimizer.zero_grad()
        x.mean().backward()
        optimizer.step()


@dies("full", 0.7, "click prediction", "smaller tables")
def tables_of_all_features():
    tables = nn.ModuleList([nn.Embedding(20000 + 1500 * i, 96) for i in range(26)])
    tables.cuda()
    optimizer = torch.optim.SGD(tables.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        ids = torch.zeros(512, dtype=torch.long, device="cuda")
        torch.cat([table(ids) for table in tables], 1).square().mean().backward()
        optimizer.step()


@dies("limited", 800, "shared card", "fraction")
def half_of_the_card_for_each_job():
    torch.cuda.set_per_process_memory_fraction(0.4)
    model = layers(768, 1536, 1536, 768)
    optimizer = torch.optim.Adam(model.parameters())
    for batch in (256, 1024, 4096, 8192, 12288):
        for _ in range(4):
            learn(model, optimizer, on_card(batch, 768))


def take_from_driver(mib):
    """As another library of this process would, beside PyTorch."""
    name = next(line.split()[-1] for line in open("/proc/self/maps", encoding="utf-8") if "libcudart" in line)
    pointer = ctypes.c_void_p()
    if ctypes.CDLL(name).cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(mib << 20)) != 0:
        raise RuntimeError("no memory for the index")
    return pointer


@dies("limited", 400, "search index", "other library")
def index_is_built_beside_the_encoder():
    encoder = layers(256, 1024, 1024, 256)
    with torch.no_grad():
        for batch in (16384, 8192, 12288, 16384, 16384):
            encoder(on_card(batch, 256))
    torch.cuda.empty_cache()
    take_from_driver(250)
    with torch.no_grad():
        for batch in (4096, 8192, 12288, 16384):
            encoder(on_card(batch, 256))


@dies("limited", 1000, "served model", "fraction")
def budget_of_a_smaller_card():
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((240 << 20) / total)
    painter = convolutions(3, 24, 24, 3)
    with torch.no_grad():
        for size in (128, 128, 256, 192, 256, 384, 512, 640, 768, 896, 1024, 1152):
            painter(on_card(1, 3, size, size))


@dies("leak", 250, "two cards in one process", "list", devices=2)
def results_are_gathered_on_the_first_card():
    first, second = layers(512, 512, 512), layers(512, 512, 512).to("cuda:1")
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    gathered = []
    for _ in range(4000):
        x = on_card(512, 512)
        one, other = first(x), second(x.to("cuda:1")).to("cuda:0")  # here
        optimizer.zero_grad()
        (one + other).square().mean().backward()
        optimizer.step()
        gathered.append(other.detach())


@dies("leak", 260, "separation of sounds, mid-run", "dict")
def spectra_by_file_recorded_late():
    separator, by_file = convolutions(1, 8, 8, 1), {}
    with torch.no_grad():
        for number in range(4000):
            if number == 12:
                begin_recording()
            mask = separator(on_card(1, 1, 512, 256 + 64 * (number % 4)))
            by_file[f"{number}.wav"] = torch.sigmoid(mask)  # here


@dies("streams", 180, "streams, prefetching", "one stream")
def prepared_six_batches_ahead():
    model, side = layers(1024, 1024, 512), torch.cuda.Stream()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ready = collections.deque()
    for step in range(60):
        with torch.cuda.stream(side):
            waves = on_card(16, 160000 + 24000 * (step % 5))
            shaped = torch.sin(waves) * waves
            ready.append(shaped[:, :131072].reshape(2048, 1024) * 0.5)
            del waves, shaped
        if len(ready) > 6:
            torch.cuda.current_stream().wait_stream(side)
            learn(model, optimizer, ready.popleft())
