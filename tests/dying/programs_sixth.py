# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Programs written by a sixth hand, before it had read the others or `why`, after reading public threads of 2024 to
2026 for their causes; labelled before `why` was asked, and asked once."""
import copy
import gc
import io
import sys

import torch
from torch import nn
from torch.nn import functional

from parts import dies


def on_card(*shape, **kw):
    return torch.randn(*shape, device="cuda", **kw)


def dense(*widths, last=None):
    parts = []
    for a, b in zip(widths, widths[1:]):
        parts += [nn.Linear(a, b), nn.SiLU()]
    return nn.Sequential(*parts[:-1], *([last] if last else [])).cuda()


def words(batch, length):
    return torch.zeros(batch, length, dtype=torch.long, device="cuda")


class Reader(nn.Module):
    """A small language model without attention's square: it mixes by a running mean."""

    def __init__(self, width, depth, vocabulary):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.mixers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(depth)])
        self.head = nn.Linear(width, vocabulary)
        self.cuda()

    def forward(self, ids):
        x = self.embed(ids)
        for mix, norm in zip(self.mixers, self.norms):
            x = x + functional.gelu(mix(norm(x)))
        return self.head(x)


def language_loss(model, ids):
    return functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())


# Leaks


class CurveMetric:
    """As metrics that need every score: it keeps them all until the end of the run."""

    def __init__(self):
        self.scores, self.targets = [], []

    def update(self, logits, targets):
        self.scores.append(torch.softmax(logits, -1))  # here segmentation_metric_of_all_epochs
        self.targets.append(targets)

    def compute(self):
        return sum(s.mean() for s in self.scores)


@dies("leak", 2306, "evaluation: a metric keeps every score and is never reset", "reset each epoch")
def segmentation_metric_of_all_epochs():
    net = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 8, 1)).cuda()
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
    metric = CurveMetric()
    for _ in range(6):
        for _ in range(5):
            pictures = on_card(16, 3, 256, 256)
            optimizer.zero_grad()
            functional.cross_entropy(net(pictures), words(16, 256 * 256).view(16, 256, 256)).backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            for _ in range(4):
                metric.update(net(on_card(24, 3, 384, 384)), words(24, 384 * 384))
        metric.compute().item()
        net.train()


@dies("leak", 3882, "GAN: gradient penalties with their graphs are kept for a plot", "keep penalty.item()")
def gradient_penalties_for_a_plot():
    generator, critic = dense(64, 256, 1024), dense(1024, 768, 256, 1)
    of_generator = torch.optim.Adam(generator.parameters(), 2e-4)
    of_critic = torch.optim.Adam(critic.parameters(), 2e-4)
    penalties = []
    for step in range(40):
        real, fake = on_card(4096, 1024), generator(on_card(4096, 64)).detach()
        between = (0.5 * real + 0.5 * fake).requires_grad_()  # here
        scores = critic(between)  # here
        gradient, = torch.autograd.grad(scores.sum(), between, create_graph=True)  # here
        penalty = ((gradient.norm(dim=1) - 1) ** 2).mean()  # here
        penalties.append(penalty)
        of_critic.zero_grad()
        (critic(fake).mean() - critic(real).mean() + 10 * penalty).backward(retain_graph=True)
        of_critic.step()
        if step % 4 == 3:
            of_generator.zero_grad()
            (-critic(generator(on_card(4096, 64))).mean()).backward()
            of_generator.step()


@dies("leak", 1348, "training: a backward hook keeps what it sees for histograms", "counts in the hook, or .cpu()")
def gradient_histograms_by_hook():
    model = dense(400, 1200, 1200, 400)
    seen = {}

    def watch(name):
        def hook(_module, _gradient_in, gradient_out):
            seen.setdefault(name, []).append(gradient_out[0].abs().clamp_min(1e-8).log10())  # here
        return hook

    for name, part in model.named_modules():
        if isinstance(part, nn.Linear):
            part.register_full_backward_hook(watch(name))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for _ in range(50):
        optimizer.zero_grad()
        model(on_card(4000, 400)).pow(2).mean().backward()
        optimizer.step()


@dies("leak", 1074, "serving: exceptions are kept, and their tracebacks keep the frames", "keep str(error)")
def rejected_requests_kept_as_errors():
    embed, scorer = nn.Embedding(2000, 512).cuda(), dense(512, 512, 512)
    rejected = []

    def answer(ids):
        features = scorer(embed(ids))  # here
        if ids.shape[1] > 60:
            raise ValueError(f"too many tokens: {ids.shape[1]}")
        return features.mean(1)

    with torch.no_grad():
        for request in range(160):
            length = 40 + request * 7 % 50
            try:
                answer(words(128, length)).cpu()
            except ValueError as error:
                rejected.append(error)


@dies("leak", 3008, "RL: the recurrent state is carried over episodes with its graph", "state = state.detach()")
def recurrent_policy_over_episodes():
    encoder, memory, policy = dense(48, 256), nn.GRUCell(256, 256).cuda(), nn.Linear(256, 6).cuda()
    optimizer = torch.optim.Adam([*encoder.parameters(), *memory.parameters(), *policy.parameters()], 3e-4)
    state = torch.zeros(4096, 256, device="cuda")
    for _ in range(14):
        observations, actions = [], []
        for _ in range(8):
            observation = on_card(4096, 48)
            state = memory(encoder(observation), state)  # here
            actions.append(policy(state.detach()).argmax(-1))
            observations.append(observation)
        for _ in range(2):
            optimizer.zero_grad()
            logits = policy(encoder(torch.cat(observations)))
            functional.cross_entropy(logits, torch.cat(actions)).backward()
            optimizer.step()


@dies("leak", 856, "generation: a server remembers the keys and values of every prompt", "a bound, oldest out")
def prefixes_remembered_for_ever():
    width, embed = 1536, nn.Embedding(1000, 1536).cuda()
    to_key, to_value, out = (nn.Linear(width, width).cuda() for _ in range(3))
    known = {}
    with torch.inference_mode():
        for request in range(60):
            x = embed(words(8, 200 + request * 37 % 120))
            keys, values = to_key(x), to_value(x)
            for _ in range(5):
                last = x[:, -1:]
                weights = torch.softmax(last @ keys.transpose(1, 2), -1)
                x = out(weights @ values)
                keys = torch.cat([keys, to_key(x)], 1)  # here
                values = torch.cat([values, to_value(x)], 1)  # here
            known[request] = keys, values


@dies("leak", 1096, "training: the best averages are sorted, and never cut to the best three", "best = best[:3]")
def best_averages_never_cut():
    model = Reader(768, 6, 16000)
    average = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    best = []
    for step in range(60):
        optimizer.zero_grad()
        language_loss(model, words(4, 64)).backward()
        optimizer.step()
        with torch.no_grad():
            for mean, now in zip(average.parameters(), model.parameters()):
                mean.lerp_(now, 0.01)
        if step % 5 == 4:
            best.append((1 / (step + 1), step, {n: p.detach().clone() for n, p in average.named_parameters()}))  # here
            best.sort(key=lambda entry: entry[:2])
            best[:3]  # the person believed that this cuts the list


class Step:
    """One step of a training loop that calls itself back: a cycle, which only the collector finds."""

    def __init__(self, model, ids):
        self.when_done = self.finish
        self.model, self.ids = model, ids

    def run(self):
        self.logits = self.model(self.ids)  # here collector_switched_off
        functional.cross_entropy(self.logits.flatten(0, 1), self.ids.flatten()).backward()
        self.when_done()

    def finish(self):
        self.done = True


@dies("leak", 1368, "training: the garbage collector is off for speed, each step is a cycle", "gc.collect()")
def collector_switched_off():
    gc.disable()
    model = Reader(128, 2, 4000)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(40):
        optimizer.zero_grad()
        Step(model, words(16, 256)).run()
        optimizer.step()


def run_cell(source, names, history):
    """As a notebook does: what a cell's last expression gives is kept in Out. The cell's code stands at the line of its
    call here, so that a recording names it."""
    caller = sys._getframe(1)
    code = compile("\n" * (caller.f_lineno - 1) + source, caller.f_code.co_filename, "eval")
    history.append(eval(code, names))


@dies("leak", 838, "notebook: a cell runs again and again, and Out keeps what it showed", "%reset out")
def notebook_shows_features():
    names, history = {"model": dense(256, 1024, 2048), "torch": torch, "make": on_card}, []
    for attempt in range(26):
        run_cell("model.train() and None", names, history)
        if attempt % 3 == 2:
            run_cell("sum(model(make(2000, 256)).mean().backward() or 0 for _ in range(2))", names, history)
        run_cell("model(make(6000, 256)).detach().relu()", names, history)  # here


@dies("leak", 1036, "diffusion: a preview is a view, and holds its whole batch", "preview.clone()")
def preview_of_each_batch():
    denoise = nn.Sequential(nn.Conv2d(4, 48, 3, padding=1), nn.SiLU(), nn.Conv2d(48, 4, 3, padding=1)).cuda()
    decode = nn.Sequential(nn.Upsample(scale_factor=4), nn.Conv2d(4, 16, 3, padding=1), nn.SiLU(),
                           nn.Conv2d(16, 3, 3, padding=1)).cuda()
    previews = []
    with torch.no_grad():
        for _ in range(40):
            latents = on_card(48, 4, 64, 64)
            for _ in range(6):
                latents = latents - 0.1 * denoise(latents)
            pictures = decode(latents).clamp(-1, 1)  # here
            previews.append(pictures[0])


# What is full, or of another cause


@dies("full", 2288, "multi-stage: the second stage begins while the first one's model and states are held",
      "delete the first stage's model and optimizer")
def second_stage_beside_the_first():
    first = dense(3072, 6144, 6144, 3072)
    of_first = torch.optim.AdamW(first.parameters(), 1e-3)
    for _ in range(8):
        of_first.zero_grad()
        first(on_card(256, 3072)).square().mean().backward()
        of_first.step()
    second = dense(3072, 6400, 6400, 3072)
    of_second = torch.optim.AdamW(second.parameters(), 1e-3)
    for step in range(16):
        with torch.no_grad():
            features = first(on_card(256, 3072))
        (second(features).square().mean() / 4).backward()
        if step % 4 == 3:
            of_second.step()
            of_second.zero_grad()


@dies("full", 2078, "LoRA: the merged weights are made on the card beside the base", "merge on the host, or in place")
def adapters_merged_beside_the_base():
    base = [on_card(4096, 4096 + 256 * i) for i in range(12)]
    down = [on_card(4096, 8, requires_grad=True) for _ in base]
    up = [on_card(8, b.shape[1], requires_grad=True) for b in base]
    optimizer = torch.optim.AdamW([*down, *up], 1e-4)
    for _ in range(6):
        optimizer.zero_grad()
        x = on_card(256, 4096)
        loss = sum((x @ b + x @ a @ c).square().mean() for b, a, c in zip(base, down, up))
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        merged = {i: b + a @ c for i, (b, a, c) in enumerate(zip(base, down, up))}
    return torch.save({i: w.half() for i, w in merged.items()}, io.BytesIO())


@dies("full", 376, "resume: the checkpoint is loaded onto the card, and held while training goes on",
      "map_location='cpu', and delete it")
def resumed_from_a_file_on_the_card():
    model = dense(1400, 2800, 2800, 1400)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    states = {i: {"step": 9.0, "exp_avg": torch.zeros(p.shape), "exp_avg_sq": torch.zeros(p.shape)}
              for i, p in enumerate(model.parameters())}
    weights = {n: torch.zeros(p.shape) for n, p in model.state_dict().items()}
    saved = io.BytesIO()
    torch.save({"model": weights, "average": {n: w + 1 for n, w in weights.items()}, "states": states}, saved)
    saved.seek(0)
    checkpoint = torch.load(saved, map_location="cuda")
    model.load_state_dict(checkpoint["model"])
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": checkpoint["states"], "param_groups": groups})
    for _ in range(6):
        optimizer.zero_grad()
        model(on_card(512, 1400)).square().mean().backward()
        optimizer.step()


@dies("full|one-tensor", 1794, "diffusion: all frames are decoded at once", "decode a few frames at a time")
def all_frames_decoded_at_once():
    denoise = nn.Sequential(nn.Conv3d(4, 32, 3, padding=1), nn.SiLU(), nn.Conv3d(32, 4, 3, padding=1)).cuda()
    grow = nn.Sequential(nn.Conv2d(4, 64, 3, padding=1), nn.SiLU(), nn.Upsample(scale_factor=2),
                         nn.Conv2d(64, 32, 3, padding=1), nn.SiLU(), nn.Upsample(scale_factor=2),
                         nn.Conv2d(32, 3, 3, padding=1)).cuda()
    with torch.no_grad():
        latents = on_card(1, 4, 48, 96, 128)
        for _ in range(12):
            latents = latents - 0.08 * denoise(latents)
        return grow(latents[0].transpose(0, 1)).cpu()


@dies("larger-input", 822, "training: one long document among short ones", "cut documents")
def one_long_document():
    model = Reader(160, 3, 2500)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for step in range(20):
        length = 2100 if step == 13 else 300 + step * 53 % 200
        optimizer.zero_grad()
        language_loss(model, words(16, length)).backward()
        optimizer.step()


@dies("one-tensor", 3134, "evaluation: all distances are asked for in one matrix", "in chunks of rows")
def all_distances_for_retrieval():
    tower = dense(128, 256, 96)
    optimizer = torch.optim.AdamW(tower.parameters(), 1e-3)
    for _ in range(8):
        optimizer.zero_grad()
        left, right = tower(on_card(4096, 128)), tower(on_card(4096, 128))
        functional.cross_entropy(left @ right.T, torch.arange(4096, device="cuda")).backward()
        optimizer.step()
    with torch.no_grad():
        gallery = torch.cat([tower(on_card(2048, 128)) for _ in range(16)])
        return (gallery @ gallery.T).topk(5).indices.cpu()


@dies("limited", 1100, "limit: a memory fraction of a half, on a card with room", "a larger fraction")
def half_of_a_shared_card():
    torch.cuda.set_per_process_memory_fraction(0.5)
    model = Reader(512, 4, 8000)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for step in range(12):
        optimizer.zero_grad()
        language_loss(model, words(8, 480 + step * 37 % 40)).backward()
        optimizer.step()


@dies("somebody-else|full", 1500, "others: another process holds a third of the card", "stop the other", others=700)
def another_process_on_the_card():
    model = dense(800, 1600, 1600, 800)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(10):
        optimizer.zero_grad()
        model(on_card(20000, 800)).square().mean().backward()
        optimizer.step()


@dies("streams", 900, "streams: features are prepared on a side stream, and stay", "on the same stream")
def features_prepared_on_a_side_stream():
    side = torch.cuda.Stream()
    model = Reader(512, 24, 500)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    features = []
    for _ in range(3):
        for _ in range(3):
            optimizer.zero_grad()
            language_loss(model, words(12, 128)).backward()
            optimizer.step()
        with torch.cuda.stream(side):
            raws = []
            for _ in range(90):
                raws.append(on_card(1250, 1250))
                features.append(raws[-1].view(-1, 5).mean(1))
            raws.clear()
        torch.cuda.current_stream().wait_stream(side)


@dies("fragmented", 640, "serving: answers of varying lengths wait, and go in another order", "expandable_segments")
def answers_of_varying_lengths():
    encode = dense(256, 1024, 512)
    waiting = {}
    with torch.no_grad():
        for request in range(200):
            batch = 5000 + request * 3989 % 14000
            waiting[request] = encode(on_card(batch, 256))
            gone = request - 8 - request * 5 % 7
            for old in [r for r in waiting if r <= gone and r % 3]:
                waiting.pop(old).cpu()
            for old in [r for r in waiting if r <= request - 24]:
                waiting.pop(old).cpu()


@dies("full", 1000, "retries: the batch is halved four times, but weights and states alone are too many",
      "a smaller optimizer")
def batch_halved_in_vain():
    model = dense(2800, 5600, 5600, 2800)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    batch, done = 4096, 0
    while done < 3:
        failed = False
        try:
            optimizer.zero_grad(set_to_none=True)
            model(on_card(batch, 2800)).square().mean().backward()
            optimizer.step()
            done += 1
        except torch.OutOfMemoryError:
            if batch <= 256:
                raise
            failed = True
        if failed:
            batch //= 2
            optimizer.zero_grad(set_to_none=True)
            torch.cuda.empty_cache()


@dies("full", 1388, "data on the card: all pictures are loaded there first", "pictures on the host")
def pictures_kept_on_the_card():
    pictures = [on_card(3, 480, 640) for _ in range(200)]
    points = on_card(600000, 14, requires_grad=True)
    optimizer = torch.optim.Adam([points], 1e-2, eps=1e-15)
    for step in range(12):
        picture = pictures[step % len(pictures)]
        colours = points @ on_card(14, 64)
        rendered = functional.interpolate(colours.T[:48].reshape(1, 48, 1000, 600), (480, 640))[0, :3]
        loss = (rendered - picture).abs().mean() + functional.silu(colours).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@dies("full|larger-input", 838, "generation: one long answer, whose keys and values are copied for each token",
      "a shorter answer, or a cache of fixed size")
def one_long_answer():
    width, depth = 256, 2
    embed = nn.Embedding(1000, width).cuda()
    layers = [[nn.Linear(width, width).cuda() for _ in range(3)] for _ in range(depth)]
    with torch.inference_mode():
        x, cache = embed(words(512, 200)), [None] * depth
        for _ in range(150):
            for i, (to_key, to_value, out) in enumerate(layers):
                keys, values = to_key(x), to_value(x)
                if cache[i] is not None:
                    keys, values = torch.cat([cache[i][0], keys], 1), torch.cat([cache[i][1], values], 1)
                cache[i] = keys, values
                x = out(torch.softmax(x @ keys.transpose(1, 2), -1) @ values)
            x = x[:, -1:]


@dies("full|larger-input", 1416, "training: on an error a copy of the weights is made on the card, which dies anew",
      "save from the host: .cpu() before copying")
def weights_copied_on_error():
    model = Reader(1024, 6, 16000)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    try:
        for step in range(14):
            optimizer.zero_grad()
            language_loss(model, words(4, 1400 if step == 9 else 400)).backward()
            optimizer.step()
    except torch.OutOfMemoryError:
        torch.save(copy.deepcopy([model.state_dict(), optimizer.state_dict()]), io.BytesIO())
        raise
