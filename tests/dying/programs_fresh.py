# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Programs written by a fresh hand, before it had read the others or `why`; labelled before they were recorded."""
import collections
import copy
import functools

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from parts import begin_recording, dies, mlp, rand, tokens


class Encoder(nn.Module):
    """A small pre-norm transformer of torch's own layers."""
    def __init__(self, width=256, layers=3, words=4000):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True, dropout=0.0)
                                     for _ in range(layers)])
        self.head = nn.Linear(width, words)
        self.cuda()

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class UNet(nn.Module):
    """Two scales, with a skip."""
    def __init__(self, channels=32, inputs=3):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(inputs, channels, 3, padding=1), nn.SiLU())
        self.middle = nn.Sequential(nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1), nn.SiLU(),
                                    nn.ConvTranspose2d(2 * channels, channels, 2, stride=2))
        self.up = nn.Conv2d(2 * channels, inputs, 3, padding=1)
        self.cuda()

    def forward(self, x):
        skip = self.down(x)
        return self.up(torch.cat([skip, self.middle(skip)], 1))


def fit(model, optimizer, x):
    optimizer.zero_grad(set_to_none=True)
    out = model(x)
    loss = out.float().pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss.detach()


# Leaks

@dies("leak", 520, "evaluation, a metric that is never reset", "reset")
def metric_never_reset():
    class Overlap:
        def __init__(self):
            self.predictions, self.targets = [], []

        def update(self, logits, target):
            self.predictions.append(logits.softmax(1))  # here
            self.targets.append(target)

    model, metric = UNet(24, 3), Overlap()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(20):
        for _ in range(4):
            fit(model, optimizer, rand(24, 3, 128, 128))
        with torch.no_grad():
            for _ in range(3):
                images = rand(24, 3, 128, 128)
                metric.update(model(images), torch.zeros(24, 128, 128, dtype=torch.long, device="cuda"))  # here


@dies("leak", 0.8, "training, GAN, losses logged after retain_graph", "item")
def gan_logs_losses():
    generator, critic = mlp(1024, 4), mlp(1024, 4)
    one, other = torch.optim.Adam(generator.parameters()), torch.optim.Adam(critic.parameters())
    log = []
    for _ in range(24):
        fake = generator(rand(2048, 1024))  # here
        loss = critic(fake).mean()  # here
        one.zero_grad()
        loss.backward(retain_graph=True)
        one.step()
        other.zero_grad()
        (critic(fake.detach()).mean() - critic(rand(2048, 1024)).mean()).backward()
        other.step()
        log.append({"generator": loss})


@dies("leak", 0.6, "interpretability, attention weights kept by a hook", "cpu")
def attention_maps_to_plot():
    attention = nn.MultiheadAttention(256, 8, batch_first=True).cuda()
    maps = []
    attention.register_forward_hook(lambda module, args, result: maps.append(result[1]))
    with torch.inference_mode():
        for i in range(50):
            x = rand(4, 160 + 16 * (i * 5 % 7), 256)
            attention(x, x, x, average_attn_weights=False)  # here


@dies("leak", 0.62, "preprocessing, lru_cache without a limit", "maxsize")
def cached_augmentation():
    @functools.lru_cache(maxsize=None)
    def prepared(index):
        image = torch.zeros(3, 300 + index % 5 * 20, 400).cuda()
        return functional.interpolate(image[None], (320, 320))  # here

    model = UNet(16)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(70):
        batch = torch.cat([prepared(4 * step + j) for j in range(4)])
        fit(model, optimizer, batch)


@dies("leak", 0.7, "serving, exceptions kept for a report", "del")
def failed_requests_reported():
    model, failures = mlp(2048, 3), []

    def serve(n):
        features = model(rand(n, 2048))  # here
        if n % 3 == 0:
            raise ValueError("too few of the results are good")
        return features.argmax(1)

    with torch.no_grad():
        for i in range(90):
            try:
                serve(400 + 32 * (i % 6))
            except ValueError as error:
                failures.append(error)


@dies("leak", 330, "training, closures queued to draw samples later", "cpu")
def drawings_are_postponed():
    model, later = UNet(32), []
    optimizer = torch.optim.Adam(model.parameters())

    def snapshot_of(images):
        result = model(images).sigmoid()  # here
        later.append(lambda: result.cpu())

    for step in range(150):
        fit(model, optimizer, rand(8, 3, 160, 160))
        if step % 3 == 2:
            with torch.no_grad():
                snapshot_of(rand(8, 3, 160, 160))


@dies("leak", 300, "input, a prefetcher that runs ahead", "limit")
def prefetcher_runs_ahead():
    class Prefetcher:
        def __init__(self):
            self.waiting, self.stream = collections.deque(), torch.cuda.Stream()

        def pull(self):
            with torch.cuda.stream(self.stream):
                self.waiting.append(torch.zeros(32, 3, 96, 96).pin_memory().cuda(non_blocking=True))  # here

        def next(self):
            self.pull()
            self.pull()
            torch.cuda.current_stream().wait_stream(self.stream)
            return self.waiting.popleft()

    model, source = UNet(16), Prefetcher()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(60):
        fit(model, optimizer, source.next())


@dies("leak", 0.85, "reinforcement learning, a replay memory without an end", "maxlen")
def replay_memory_without_end():
    q, target = mlp(256, 3), mlp(256, 3)
    optimizer, memory = torch.optim.Adam(q.parameters()), []
    frames = rand(64, 4, 84, 84)
    for step in range(140):
        following = torch.roll(frames, 1, 1)  # here
        memory.append((frames, following, step % 4))
        frames = following
        if step > 16 and step % 4 == 0:
            state = torch.stack([m[0][:4].flatten(1)[:, :256] for m in memory[-16:]]).flatten(0, 1)
            with torch.no_grad():
                aim = target(state)
            optimizer.zero_grad()
            (q(state) - aim).pow(2).mean().backward()
            optimizer.step()


@dies("leak", 0.75, "reinforcement learning, a hidden state that keeps its graph", "detach")
def policy_remembers_its_past():
    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.head = nn.GRUCell(512, 1024), nn.Linear(1024, 6)

        def forward(self, seen, state):
            state = self.cell(seen, state)  # here
            return self.head(state).log_softmax(-1), state

    policy, learner = Policy().cuda(), Policy().cuda()
    optimizer, state = torch.optim.RMSprop(learner.parameters()), torch.zeros(512, 1024, device="cuda")
    for _ in range(22):
        for _ in range(5):
            chances, state = policy(rand(512, 512), state)  # here
        chances, _ = learner(rand(512, 512), state.detach())
        optimizer.zero_grad()
        (-chances[:, 0].mean()).backward()
        optimizer.step()
        policy.load_state_dict(learner.state_dict())


@dies("leak", 0.7, "training, copies of the weights for averaging", "cpu")
def checkpoints_to_average():
    model = Encoder(256, 2, 3000)
    optimizer, kept = torch.optim.AdamW(model.parameters()), {}
    for step in range(44):
        fit(model, optimizer, tokens(4, 64 + 32 * (step % 3), 3000))
        if step % 4 == 3:
            kept[step] = {k: v.detach().clone() for k, v in model.state_dict().items()}  # here


@dies("leak", 0.7, "contrastive learning, a queue that is never cut", "slice")
def queue_is_never_cut():
    class Bank(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = mlp(1024, 3)
            self.register_buffer("queue", rand(256, 1024))

        def forward(self, x):
            query = functional.normalize(self.encoder(x))
            scores = query @ self.queue.T
            self.queue = torch.cat([self.queue, query.detach()])  # here
            return scores

    bank = Bank().cuda()
    optimizer = torch.optim.SGD(bank.parameters(), 0.1)
    for _ in range(60):
        fit(bank, optimizer, rand(512, 1024))


@dies("leak", 0.8, "gradient penalty, gradients with a graph of their own", "zero_grad")
def penalty_keeps_gradients_of_gradients():
    model = nn.Sequential(nn.Linear(1024, 1024), nn.Tanh(), nn.Linear(1024, 1024), nn.Tanh(), nn.Linear(1024, 1)).cuda()
    penalties = []
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(22):
        x = rand(1024, 1024, requires_grad=True)
        out = model(x)  # here
        slope, = torch.autograd.grad(out.sum(), x, create_graph=True)  # here
        penalty = (slope.norm(2, 1) - 1).pow(2).mean()  # here
        optimizer.zero_grad()
        out.mean().backward(retain_graph=True)
        optimizer.step()
        penalties.append(penalty)


@dies("leak", 150, "diffusion, every step's picture kept for a film", "cpu")
def film_of_the_sampling():
    model, films = UNet(24, 4), []
    with torch.no_grad():
        for _ in range(60):
            x, film = rand(4, 4, 128, 128), []
            for i in range(12):
                noise = model(x)
                x = x - 0.1 * noise  # here
                if i % 3 == 0:
                    film.append(x)
            films.append(film)


@dies("leak", 0.6, "notebook, a cell run again with every result remembered", "del")
def notebook_output_history():
    out = {}

    def cell(source, scope):
        exec(compile(source, "<cell>", "exec"), scope)  # as a notebook does: frames of a file that is none
        out[len(out) + 1] = scope["result"]

    model = mlp(1500, 3)
    for n in range(30):
        cell("x = rand(1500 + 100 * (n % 2), 1500)\nresult = model(x)", {"rand": rand, "model": model, "n": n})  # here


@dies("leak", 0.75, "perplexity, logits of texts of any length", "no list")
def perplexity_of_documents():
    model, logits = Encoder(128, 2, 8000).eval(), []
    with torch.no_grad():
        for i in range(40):
            logits.append(model(tokens(2, 100 + i * 37 % 150, 8000)))  # here
    print(sum(part.shape[1] for part in logits))


@dies("leak", 0.7, "serving, sessions that nobody ends", "evict")
def sessions_stay_open():
    key, value, sessions = nn.Linear(512, 512).cuda(), nn.Linear(512, 512).cuda(), {}
    with torch.inference_mode():
        for user in range(45):
            x = rand(1, 600 + user * 131 % 500, 512)
            past = [(key(x), value(x)) for _ in range(6)]  # here
            for _ in range(5):
                token = rand(1, 1, 512)
                past = [(torch.cat([k, key(token)], 1), torch.cat([v, value(token)], 1)) for k, v in past]  # here
            sessions[user] = past


@dies("leak", 0.8, "fine-tuning, a new optimizer each phase, the old ones in a list", "del")
def optimizers_of_all_phases():
    model, schedulers = mlp(1024, 4), []
    for phase in range(12):
        optimizer = torch.optim.Adam(model.parameters(), 1e-4 / (phase + 1))
        schedulers.append(torch.optim.lr_scheduler.StepLR(optimizer, 2))
        for _ in range(4):
            optimizer.zero_grad()
            model(rand(256, 1024)).mean().backward()
            optimizer.step()  # here
            schedulers[-1].step()


@dies("leak", 400, "batch size probed first, then validation without no_grad", "no_grad")
def probe_then_validation():
    model = mlp(1024, 5)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    batch = 1 << 22
    while batch > 4096:
        try:
            fit(model, optimizer, rand(batch, 1024))
        except torch.OutOfMemoryError:
            pass
        batch //= 8
    total = torch.zeros((), device="cuda")
    for _ in range(5):
        for _ in range(4):
            fit(model, optimizer, rand(1024, 1024))
        for _ in range(3):
            total = total + model(rand(1024, 1024)).square().mean()  # here


@dies("leak", 0.7, "training, gradient norms kept in turns, without stacks", "item", stacks=None)
def gradients_logged_without_stacks():
    model, log = mlp(1200, 4), []
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(60):
        optimizer.zero_grad()
        model(rand(700 + 50 * (step % 4), 1200)).mean().backward()
        if step % 5 == 0:
            log.append([p.grad.clone() for p in model.parameters()])
        optimizer.step()


@dies("leak", 0.75, "retrieval, an index on the card, recorded from mid-run", "cpu")
def index_from_mid_run():
    model, index = mlp(1024, 3).eval(), []
    with torch.no_grad():
        for i in range(90):
            if i == 30:
                begin_recording()
            pages = rand(800 + 60 * (i % 5), 1024)
            index.append(functional.normalize(model(pages)))  # here


# Full

@dies("full", 0.66, "training, segmentation, the first forward pass", "batch")
def first_batch_too_large():
    model = UNet(48)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(6):
        fit(model, optimizer, rand(16, 3, 256, 256))


@dies("full", 0.85, "fine-tuning, AdamW's states at the first step", "optimizer")
def adamw_first_step():
    model = mlp(4096, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(4):
        fit(model, optimizer, rand(64, 4096))


@dies("full", 0.9, "distillation, teacher and student", "batch")
def teacher_and_student():
    teacher, student = Encoder(512, 4, 8000).eval(), Encoder(256, 2, 8000)
    optimizer = torch.optim.AdamW(student.parameters())
    for step in range(6):
        ids = tokens(8, 128, 8000)
        with torch.no_grad():
            wanted = (teacher(ids) / 2).softmax(-1)
        optimizer.zero_grad()
        functional.kl_div((student(ids) / 2).log_softmax(-1), wanted, reduction="batchmean").backward()
        optimizer.step()


@dies("full", 0.6, "loading, a model larger than the card", "quantize")
def model_does_not_load():
    nn.ModuleList([nn.Linear(2048, 2048) for _ in range(24)]).cuda()


@dies("full", 0.75, "loading, weights and their copy from a file", "map_location")
def weights_are_loaded_twice():
    layers = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(10)]).cuda()
    from_file = {k: torch.zeros(v.shape).to("cuda") for k, v in layers.state_dict().items()}
    layers.load_state_dict(from_file)
    layers(rand(16, 2048))


@dies("full", 0.9, "training, checkpointed blocks, still too much", "batch")
def checkpointed_and_full():
    blocks, head = nn.ModuleList([mlp(1024, 4) for _ in range(6)]), nn.Linear(1024, 20000).cuda()
    optimizer = torch.optim.AdamW([*blocks.parameters(), *head.parameters()])
    for _ in range(8):
        x = rand(2048, 1024, requires_grad=True)
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=False)
        optimizer.zero_grad()
        functional.cross_entropy(head(x), torch.zeros(2048, dtype=torch.long, device="cuda")).backward()
        optimizer.step()


@dies("full|larger-input", 0.9, "generation, beams over one long prompt", "beams")
def beams_of_a_long_prompt():
    project, head = nn.Linear(1024, 2048).cuda(), nn.Linear(1024, 30000).cuda()
    with torch.inference_mode():
        cache = [project(rand(8, 900, 1024)) for _ in range(8)]
        for step in range(30):
            scores = head(rand(8, 1, 1024)).log_softmax(-1)
            order = scores.flatten().topk(8).indices % 8
            cache = [torch.cat([layer[order], project(rand(8, 1, 1024))], 1) for layer in cache]


@dies("full|larger-input", 0.85, "training, a bounded history of pictures, then a bigger batch", "batch")
def bounded_history_of_pictures():
    model, last = UNet(24), collections.deque(maxlen=6)
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(30):
        images = rand(4 if step < 24 else 12, 3, 160, 160)
        fit(model, optimizer, images)
        with torch.no_grad():
            last.append(model(images[:4]))


@dies("full|larger-input", 0.8, "training, a cache with a limit, then fine-tuning of all layers", "batch")
def limited_cache_then_unfrozen():
    @functools.lru_cache(maxsize=12)
    def features(index):
        return rand(256, 2048)

    base, head = mlp(2048, 6), nn.Linear(2048, 10).cuda()
    for p in base.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.AdamW([*base.parameters(), *head.parameters()])
    for step in range(40):
        if step == 30:
            for p in base.parameters():
                p.requires_grad_(True)
        optimizer.zero_grad()
        head(base(features(step % 20))).mean().backward()
        optimizer.step()


# Larger inputs

@dies("larger-input|full", 0.8, "evaluation with a larger batch than training", "batch")
def evaluation_batch_is_larger():
    model = Encoder(256, 2, 6000)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(15):
        fit(model, optimizer, tokens(4, 128, 6000))
    with torch.no_grad():
        for _ in range(3):
            model(tokens(48, 128, 6000)).softmax(-1).max(-1)


@dies("larger-input", 0.8, "curriculum, pictures that grow", "resolution")
def pictures_grow():
    model = UNet(24)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for side in (64, 96, 128, 192, 256, 320):
        for _ in range(5):
            fit(model, optimizer, rand(4, 3, side, side))


@dies("larger-input", 0.7, "detection, one picture with very many boxes", "limit")
def picture_with_many_boxes():
    model, head = UNet(16), mlp(1024, 2)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], 0.1)
    for step in range(24):
        n = 9000 if step == 20 else 150 + step * 67 % 200
        optimizer.zero_grad()
        boxes = functional.adaptive_avg_pool2d(model(rand(2, 3, 96, 96)), 2).flatten()[:1024]
        boxes = functional.pad(boxes, (0, 1024 - boxes.numel())).expand(n, 1024)
        head(boxes + rand(n, 1024)).mean().backward()
        optimizer.step()


@dies("larger-input|full", 0.85, "generation, a cache that is meant to grow, the longest answer last", "length")
def longest_answer_last():
    project, head = nn.Linear(768, 1536).cuda(), nn.Linear(768, 16000).cuda()
    with torch.inference_mode():
        for length in (20, 35, 25, 30, 160):
            cache = [project(rand(16, 40, 768)) for _ in range(6)]
            for _ in range(length):
                token = rand(16, 1, 768)
                cache = [torch.cat([layer, project(token)], 1) for layer in cache]
                head(token).argmax(-1)


# One tensor, limits, fragments

@dies("one-tensor", 0.5, "clustering, all differences at once", "chunks")
def all_differences_at_once():
    points, centres = rand(20000, 64), rand(500, 64)
    for _ in range(3):
        distance = (points[:, None] - centres[None]).pow(2).sum(-1)
        centres = centres + distance.argmin(1).float().mean()


@dies("limited", 4096, "notebook, a memory fraction set by a colleague's cell", "fraction")
def fraction_was_set():
    torch.cuda.set_per_process_memory_fraction(0.25)
    model = mlp(2048, 6)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in (2048, 4096, 8192, 16384, 32768):
        for _ in range(3):
            fit(model, optimizer, rand(batch, 2048))


@dies("fragmented", 420, "serving, adapters loaded and dropped in turns, then one large request", "expandable")
def adapters_leave_gaps():
    adapters = {i: rand(6 * 1024 * 256) for i in range(60)}
    for i in list(adapters):
        if i % 3 != 1:
            del adapters[i]
    for _ in range(6):
        rand(64 * 1024 * 256).sum()
