# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Programs written by a third hand, before it had read the others or `why`; labelled before they were recorded."""
import collections
import copy
import functools
import random

import torch
from torch import nn
from torch.nn import functional

from parts import Transformer, begin_recording, dies, mlp, rand, tokens


class UNet(nn.Module):
    """Two levels down, two up, as small diffusion models have."""
    def __init__(self, width=32, channels=4):
        super().__init__()
        self.inside, self.outside = nn.Conv2d(channels, width, 3, padding=1), nn.Conv2d(width, channels, 3, padding=1)
        self.down = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.middle = nn.Sequential(nn.GroupNorm(8, 2 * width), nn.SiLU(), nn.Conv2d(2 * width, 2 * width, 3, 1, 1))
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.cuda()

    def forward(self, x):
        first = functional.silu(self.inside(x))
        return self.outside(first + self.up(self.middle(self.down(first))))


class Actor(nn.Module):
    def __init__(self, seen=64, width=256, actions=6):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(seen, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.policy, self.value = nn.Linear(width, actions), nn.Linear(width, 1)
        self.cuda()

    def forward(self, state):
        h = self.body(state)
        return functional.log_softmax(self.policy(h), -1), self.value(h)


def language_loss(model, ids):
    logits = model(ids[:, :-1])
    return functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def fit_steps(model, optimizer, batch, steps):
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss = model(batch).pow(2).mean()
        loss.backward()
        optimizer.step()


# Leaks.

@dies("leak", 700, "evaluation, graph in a sum", "no_grad")
def perplexity_of_a_corpus():
    model = Transformer(width=128, layers=3)
    model.eval()
    total, count = 0.0, 0
    for _ in range(200):
        ids = tokens(4, 129)
        loss = language_loss(model, ids)  # here, in_model
        total = total + loss * ids.numel()
        count += ids.numel()
    print(float(total) / count)


@dies("leak", 400, "diffusion, samples kept for a table", "cpu")
def samples_for_the_dashboard():
    model = UNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    table = []

    @torch.no_grad()
    def sample(n):
        x = rand(n, 4, 64, 64)
        for _ in range(4):
            x = x - 0.1 * model(x)  # here
        return x

    for step in range(400):
        noise = rand(8, 4, 64, 64)
        optimizer.zero_grad()
        functional.mse_loss(model(noise), noise).backward()
        optimizer.step()
        if step % 4 == 3:
            table.append((step, sample(48)))


@dies("leak", 330, "gradients kept for a study", "running mean")
def gradient_noise_scale():
    model = mlp(640, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    history = {name: [] for name, _ in model.named_parameters()}
    for _ in range(100):
        optimizer.zero_grad()
        model(rand(96, 640)).square().mean().backward()
        for name, p in model.named_parameters():
            history[name].append(p.grad.clone())  # here
        optimizer.step()


@dies("leak", 260, "closures", "item")
def plots_drawn_later():
    model = mlp(384, 4)
    optimizer = torch.optim.Adam(model.parameters())
    plots = []
    for step in range(500):
        x = rand(1024, 384)
        optimizer.zero_grad()
        y = model(x)  # here
        error = (y - x).abs()
        error.mean().backward()
        optimizer.step()
        if step % 2 == 0:
            plots.append(lambda: (step, y.mean(0).tolist()))
            plots[-1].kept = y


@dies("leak", 300, "functools.cache on prompts", "maxsize")
def prompts_memoised():
    encoder = Transformer(width=192, layers=2)

    @functools.cache
    def encode(prompt):
        with torch.no_grad():
            ids = tokens(1, 40 + len(prompt) % 24)
            return encoder.blocks[1](encoder.blocks[0](encoder.words(ids))).repeat(8, 1, 1)  # here

    unet = UNet(16)
    optimizer = torch.optim.AdamW(unet.parameters())
    for step in range(900):
        context = encode(f"a picture of a {step * 'very '[:step % 7]}small thing number {step}")
        optimizer.zero_grad()
        (unet(rand(2, 4, 32, 32)).mean() * context.mean()).backward()
        optimizer.step()


@dies("leak", 420, "forward hooks, one more each epoch", "remove the hook")
def hooks_registered_each_epoch():
    model = mlp(512, 3)
    optimizer = torch.optim.Adam(model.parameters())
    seen = collections.defaultdict(list)

    def watch(epoch):
        def hook(module, args, output):
            seen[epoch].append(output.detach().abs())  # here
        model[0].register_forward_hook(hook)

    for epoch in range(30):
        watch(epoch)
        fit_steps(model, optimizer, rand(64, 512), 12)


@dies("leak", 256, "RL, episodes never cleared", "clear")
def episodes_never_cleared():
    actor = Actor()
    optimizer = torch.optim.Adam(actor.parameters(), lr=3e-4)
    log_probs, values = [], []
    for _ in range(60):
        begin = len(log_probs)
        for _ in range(16):
            log_prob, value = actor(rand(128, 64))  # here, in_model
            log_probs.append(log_prob[:, 0])
            values.append(value[:, 0])
        gain = torch.ones(128, device="cuda")
        loss = sum(-(p * (gain - v.detach())).mean() + (v - gain).square().mean()
                   for p, v in zip(log_probs[begin:], values[begin:]))
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()


@dies("leak", 300, "weights kept for an average", "cpu")
def checkpoints_for_a_soup():
    model = Transformer(width=256, layers=2)
    optimizer = torch.optim.AdamW(model.parameters())
    soup = []
    for step in range(400):
        optimizer.zero_grad()
        language_loss(model, tokens(2, 65)).backward()
        optimizer.step()
        if step >= 20 and step % 8 == 0:
            soup.append({k: v.detach().clone() for k, v in model.state_dict().items()})  # here


@dies("leak", 300, "exceptions kept with their frames", "del")
def bad_batches_remembered():
    model = mlp(512, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    bad = []

    def forward_checked(x, number):
        y = model(x)  # here
        if number % 3 == 0:
            raise FloatingPointError(f"batch {number}")
        return y

    for number in range(1, 400):
        try:
            loss = forward_checked(rand(200, 512), number).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        except FloatingPointError as error:
            bad.append(error)


@dies("leak", 360, "contrastive queue that only grows", "maxlen")
def queue_of_keys():
    model = mlp(256, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    queue = torch.empty(0, 256, device="cuda")
    for _ in range(400):
        query = model(rand(512, 256))
        with torch.no_grad():
            key = functional.normalize(model(rand(512, 256)), dim=1)
        pull = (query * key).sum(1, keepdim=True)
        loss = (pull - (query[:32] @ queue.T).sum()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        queue = torch.cat([queue, key])  # here


@dies("leak", 340, "prefetching runs ahead", "maxsize of the queue")
def prefetch_runs_ahead():
    model = mlp(512, 4)
    optimizer = torch.optim.Adam(model.parameters())
    waiting = collections.deque()
    for _ in range(400):
        for _ in range(3):
            waiting.append(torch.zeros(512, 512).cuda(non_blocking=True))  # here
        for _ in range(2):
            fit_steps(model, optimizer, waiting.popleft(), 1)


@dies("leak", 300, "generation, caches kept with results", "del past")
def results_with_their_caches():
    layers, width = 4, 256
    results = []
    head = nn.Linear(width, 4000, device="cuda")

    @torch.no_grad()
    def answer(length):
        past = [torch.zeros(2, 4, 0, width, device="cuda") for _ in range(layers)]
        for _ in range(length):
            x = rand(4, 1, width)
            past = [torch.cat([kv, x.expand(2, 4, 1, width)], dim=2) for kv in past]  # here
            word = head(x).argmax(-1)
        return {"word": word, "past": past}

    chooser = random.Random(3)
    for _ in range(300):
        results.append(answer(chooser.randint(20, 45)))


@dies("leak", 320, "RL, baseline keeps the graph", "detach")
def running_baseline():
    actor = Actor(width=320)
    optimizer = torch.optim.RMSprop(actor.parameters())
    baseline = torch.zeros(1, device="cuda")
    for _ in range(400):
        log_prob, value = actor(rand(512, 64))  # here, in_model
        reward = value.mean().detach()
        loss = -(log_prob.mean() * reward)
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        baseline = 0.95 * baseline + 0.05 * value.mean()


@dies("leak", 420, "self-distillation, centre keeps the teacher's graph", "no_grad")
def centre_of_the_teacher():
    student = mlp(512, 3)
    teacher = copy.deepcopy(student)
    centre = torch.zeros(512, device="cuda")
    optimizer = torch.optim.AdamW(student.parameters())
    for _ in range(200):
        x = rand(256, 512)
        target = teacher(x)  # here
        loss = (student(x) - (target - centre).softmax(-1).detach()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        centre = 0.9 * centre + 0.1 * target.mean(0)
        with torch.no_grad():
            for p, q in zip(teacher.parameters(), student.parameters()):
                p.lerp_(q, 0.01)


@dies("leak", 220, "cross validation, fold after fold", "del model")
def folds_of_a_cross_validation():
    results = []
    for fold in range(12):
        model = mlp(768, 4)  # here, in_model
        optimizer = torch.optim.Adam(model.parameters())
        fit_steps(model, optimizer, rand(64, 768), 10)
        with torch.no_grad():
            score = model(rand(64, 768)).mean().item()
        results.append((fold, score, model))


@dies("leak", 300, "GAN, create_graph in backward", "autograd.grad")
def penalty_by_backward():
    critic = mlp(320, 4)
    optimizer = torch.optim.Adam(critic.parameters())
    for _ in range(200):
        x = rand(160, 320).requires_grad_()
        score = critic(x).sum()  # here
        score.backward(create_graph=True)
        penalty = (x.grad.norm(dim=1) - 1).square().mean()
        penalty.backward()
        optimizer.step()
        for p in critic.parameters():
            p.grad.zero_()


@dies("leak", 360, "evaluation collects logits", "cpu or argmax")
def logits_of_the_test_set():
    model = Transformer(width=96, layers=2, words=1200)
    model.eval()
    logits = []
    with torch.inference_mode():
        for _ in range(200):
            logits.append(model(tokens(8, 64)))  # here, in_model
    return torch.cat(logits)


@dies("leak", 400, "continual learning, exemplars of each task", "fixed memory")
def exemplars_of_each_task():
    backbone, heads, memory = mlp(512, 3), nn.ModuleList(), []
    for _ in range(60):
        heads.append(nn.Linear(512, 20, device="cuda"))
        optimizer = torch.optim.SGD([*backbone.parameters(), *heads.parameters()], lr=0.01)
        for _ in range(4):
            optimizer.zero_grad()
            heads[-1](backbone(rand(128, 512))).mean().backward()
            optimizer.step()
        images = rand(3000, 512)  # here
        memory.append(images)


@dies("leak", 240, "chat, one cache for the whole session", "cut the history")
def one_session_without_end():
    model = Transformer(width=128, layers=2)
    history = torch.zeros(1, 8, 256, device="cuda")
    for turn in range(300):
        with torch.no_grad():
            model(tokens(1, 30 + turn % 11))
            said = rand(1, 30 + turn % 11, 256).repeat(16, 1, 1)
        history = torch.cat([history.expand(16, -1, -1) if turn == 0 else history, said], dim=1)  # here


@dies("leak", 240, "mid-run, metrics with their graphs", "detach")
def confusion_recorded_late():
    model = mlp(384, 4)
    optimizer = torch.optim.Adam(model.parameters())
    curve = collections.OrderedDict()
    for step in range(300):
        if step == 30:
            begin_recording()
        optimizer.zero_grad()
        guess = model(rand(640, 384))
        guess.square().mean().backward()
        optimizer.step()
        curve[step] = functional.softmax(guess, -1).max(-1).values  # here


@dies("leak", 260, "no stacks, activations for analysis", "cpu", stacks=None)
def activations_for_probing():
    model, features = mlp(448, 5), []
    for _ in range(200):
        with torch.no_grad():
            hidden = model[:4](rand(800, 448))
            model[4:](hidden)
        features.append(hidden)


class Attention(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.qkv, self.out, self.maps = nn.Linear(width, 3 * width), nn.Linear(width, width), []
        self.cuda()

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        weights = (q @ k.transpose(1, 2) / 16).softmax(-1)
        self.maps.append(weights.detach().mean(0) + 0)
        return x + self.out(weights @ v)


@dies("leak", 330, "ring, attention maps kept for figures", "cpu", max_entries=3000)
def attention_maps_for_figures():
    model = nn.Sequential(Attention(), Attention(), nn.Linear(256, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(400):
        optimizer.zero_grad()
        model(rand(8, 320, 256)).mean().backward()  # here
        optimizer.step()


# Not leaks.

@dies("full|larger-input", 0.8, "thawed after some epochs", "batch")
def backbone_thawed():
    backbone, head = mlp(1536, 6), nn.Linear(1536, 10).cuda()
    backbone.requires_grad_(False)
    optimizer = torch.optim.Adam(head.parameters())
    for step in range(40):
        if step == 30:
            backbone.requires_grad_(True)
            optimizer.add_param_group({"params": backbone.parameters()})
        optimizer.zero_grad()
        head(backbone(rand(4096, 1536))).mean().backward()
        optimizer.step()


@dies("full", 0.85, "first optimizer step", "optimizer")
def states_of_adam():
    model = mlp(2048, 10)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(5):
        optimizer.zero_grad()
        model(rand(32, 2048)).mean().backward()
        optimizer.step()


@dies("larger-input", 0.75, "one long document", "truncate")
def one_very_long_document():
    model = Transformer(width=256, layers=3)
    optimizer = torch.optim.AdamW(model.parameters())
    chooser = random.Random(11)
    for number in range(60):
        length = 700 if number == 47 else chooser.randint(40, 90)
        optimizer.zero_grad()
        language_loss(model, tokens(8, length)).backward()
        optimizer.step()


@dies("larger-input", 0.8, "progressive resizing", "batch")
def images_grow_each_epoch():
    model = UNet()
    optimizer = torch.optim.AdamW(model.parameters())
    for side in (32, 48, 64, 96, 128):
        for _ in range(8):
            optimizer.zero_grad()
            model(rand(48, 4, side, side)).mean().backward()
            optimizer.step()


@dies("larger-input|full", 0.7, "validation in larger batches", "batch")
def validation_batch_is_larger():
    model = Transformer(width=256, layers=4)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(25):
        optimizer.zero_grad()
        language_loss(model, tokens(8, 96)).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for _ in range(4):
            language_loss(model, tokens(64, 300))


@dies("full", 0.8, "checkpoint loaded onto the card beside the model", "map_location")
def resumed_onto_the_card():
    model = mlp(2048, 6)
    optimizer = torch.optim.Adam(model.parameters())
    saved = {"model": {k: torch.zeros_like(v) for k, v in model.state_dict().items()},
             "exp_avg": [torch.zeros_like(p) for p in model.parameters()],
             "exp_avg_sq": [torch.zeros_like(p) for p in model.parameters()]}
    model.load_state_dict(saved["model"])
    for p, first, second in zip(model.parameters(), saved["exp_avg"], saved["exp_avg_sq"]):
        optimizer.state[p] = {"step": torch.tensor(100.0), "exp_avg": first.clone(), "exp_avg_sq": second.clone()}
    for _ in range(3):
        optimizer.zero_grad()
        model(rand(64, 2048)).mean().backward()
        optimizer.step()


@dies("full", 0.7, "ensemble loaded for inference", "one after another")
def ensemble_of_eight():
    models = [mlp(2048, 5).eval() for _ in range(8)]
    with torch.no_grad():
        for _ in range(10):
            torch.stack([m(rand(64, 2048)) for m in models]).mean(0)


@dies("full|larger-input|one-tensor", 0.6, "diffusion, decoder at the end", "tiling")
def decode_after_denoising():
    unet = UNet(32)
    decoder = nn.Sequential(nn.Conv2d(4, 64, 3, padding=1), nn.SiLU(), nn.Upsample(scale_factor=4),
                            nn.Conv2d(64, 32, 3, padding=1), nn.SiLU(), nn.Upsample(scale_factor=2),
                            nn.Conv2d(32, 3, 3, padding=1)).cuda()
    with torch.no_grad():
        latents = rand(8, 4, 64, 64)
        for _ in range(20):
            latents = latents - 0.05 * unet(latents)
        decoder(latents)


@dies("one-tensor", 700, "logits of a large vocabulary", "chunk the loss")
def loss_over_a_large_vocabulary():
    hidden, vocabulary = 64, 128256
    model = nn.Sequential(nn.Embedding(2000, hidden), nn.Linear(hidden, hidden), nn.ReLU(),
                          nn.Linear(hidden, vocabulary)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        ids = tokens(4, 512)
        optimizer.zero_grad()
        functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()
        optimizer.step()


@dies("one-tensor", 600, "all pairs in an evaluation", "chunk")
def recall_over_all_pairs():
    model = mlp(256, 3)
    optimizer = torch.optim.Adam(model.parameters())
    fit_steps(model, optimizer, rand(256, 256), 20)
    with torch.no_grad():
        gallery = torch.cat([model(rand(1024, 256)) for _ in range(16)])
        return torch.cdist(gallery, gallery).topk(10, largest=False)


@dies("limited", 900, "memory fraction of a shared server", "raise it")
def fraction_of_a_shared_server():
    torch.cuda.set_per_process_memory_fraction(0.4)
    model = Transformer(width=256, layers=4)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in (4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32):
        optimizer.zero_grad()
        language_loss(model, tokens(batch, 257)).backward()
        optimizer.step()


@dies("fragmented", 230, "serving, recent results lie in what requests left", "expandable_segments")
def recent_results_lie_between():
    recent, chooser = collections.deque(maxlen=16), random.Random(9)
    for _ in range(400):
        work = torch.empty(chooser.randint(24, 120) << 20, dtype=torch.uint8, device="cuda")
        work = work.view(2, -1)
        del work
        recent.append(torch.empty(5 << 20, dtype=torch.uint8, device="cuda"))


@dies("larger-input", 0.55, "caught, halved, then died all the same", "length")
def halved_and_died_all_the_same():
    model = Transformer(width=128, layers=3)
    optimizer = torch.optim.AdamW(model.parameters())

    def step(batch, length):
        optimizer.zero_grad()
        language_loss(model, tokens(batch, length)).backward()
        optimizer.step()

    for number in range(40):
        length = 600 if number == 30 else 64 + number % 13
        try:
            step(16, length)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            step(8, length)
            step(8, length)


@dies("full", 620, "batch size found before there were states", "smaller batch")
def finder_forgot_the_optimizer():
    model = mlp(1024, 12)

    def forward_backward(batch):
        model(rand(batch, 1024)).mean().backward()
        model.zero_grad(set_to_none=True)

    batch = 256
    try:
        while batch < 1 << 20:
            forward_backward(2 * batch)
            batch *= 2
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
    fit_steps(model, torch.optim.Adam(model.parameters()), rand(batch, 1024), 30)


@dies("full", 0.9, "preference tuning, two models", "precompute the reference")
def policy_and_reference():
    policy = Transformer(width=512, layers=4)
    reference = copy.deepcopy(policy).requires_grad_(False)
    optimizer = torch.optim.AdamW(policy.parameters())
    for _ in range(3):
        chosen, rejected = tokens(4, 200), tokens(4, 200)
        with torch.no_grad():
            behind = language_loss(reference, chosen) - language_loss(reference, rejected)
        margin = language_loss(policy, chosen) - language_loss(policy, rejected) - behind
        optimizer.zero_grad()
        functional.softplus(margin).backward()
        optimizer.step()


@dies("full", 0.75, "notebook, the cell is run again", "del before")
def cell_is_run_again():
    names = {}

    def cell():
        names["model"] = mlp(2048, 6)
        names["optimizer"] = torch.optim.Adam(names["model"].parameters())
        fit_steps(names["model"], names["optimizer"], rand(64, 2048), 12)

    cell()
    cell()


@dies("full|leak", 0.7, "losses of all micro-batches before one backward", "backward each")
def one_backward_for_sixteen():
    model = Transformer(width=128, layers=2)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(4):
        losses = [language_loss(model, tokens(8, 128)) for _ in range(16)]
        optimizer.zero_grad()
        (sum(losses) / 16).backward()
        optimizer.step()


@dies("full", 0.8, "another optimizer later", "optimizer")
def adam_after_sgd():
    model = mlp(2048, 6)
    batch = rand(256, 2048)
    fit_steps(model, torch.optim.SGD(model.parameters(), lr=0.1), batch, 30)
    fit_steps(model, torch.optim.Adam(model.parameters()), batch, 30)


@dies("larger-input|full", 0.7, "one expert gets all tokens", "capacity")
def all_tokens_to_one_expert():
    router, experts = nn.Linear(512, 8).cuda(), nn.ModuleList([mlp(512, 4) for _ in range(8)])
    parameters = [*router.parameters(), *experts.parameters()]
    optimizer = torch.optim.AdamW(parameters)
    for number in range(50):
        rows = 6000 if number == 41 else 512
        x = rand(rows if number == 41 else 8 * rows, 512)
        parts = [x] * 8 if number == 41 else x.chunk(8)
        loss = sum(expert(part).mean() for expert, part in zip(experts, parts)) + router(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@dies("full|larger-input", 0.7, "image pool filled, then statistics of many images", "batch")
def pool_filled_then_statistics():
    model, pool = UNet(32), []
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(60):
        fake = model(rand(16, 4, 48, 48))
        if len(pool) < 20:
            pool.append(fake.detach())
        optimizer.zero_grad()
        (fake - pool[0]).square().mean().backward()
        optimizer.step()
    with torch.no_grad():
        model(rand(480, 4, 48, 48))


@dies("full", 0.8, "longest first", "batch")
def longest_batch_first():
    model = Transformer(width=256, layers=3)
    optimizer = torch.optim.AdamW(model.parameters())
    for length in range(600, 100, -50):
        optimizer.zero_grad()
        language_loss(model, tokens(8, length)).backward()
        optimizer.step()


@dies("larger-input", 0.9, "speech, shortest first", "buckets")
def shortest_first():
    model = Transformer(width=256, layers=3)
    optimizer = torch.optim.AdamW(model.parameters())
    for length in range(80, 500, 12):
        optimizer.zero_grad()
        language_loss(model, tokens(8, length)).backward()
        optimizer.step()


@dies("full", 0.8, "dataset cached in the first epoch, then a copy of the weights", "cpu")
def cached_dataset_then_a_copy():
    model, cache = mlp(2048, 6), {}
    optimizer = torch.optim.AdamW(model.parameters())
    for epoch in range(4):
        for number in range(20):
            if number not in cache:
                cache[number] = torch.zeros(512, 2048).cuda()
            fit_steps(model, optimizer, cache[number], 1)
        if epoch == 2:
            average = copy.deepcopy(model)
            best = copy.deepcopy(optimizer.state_dict())
    return average, best


@dies("full", 0.85, "gradients copied into one buffer", "views")
def gradients_in_one_buffer():
    model = mlp(2048, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(4):
        optimizer.zero_grad()
        model(rand(64, 2048)).mean().backward()
        flat = torch.cat([p.grad.flatten() for p in model.parameters()])
        flat.div_(8)
        for p, part in zip(model.parameters(), flat.split([p.numel() for p in model.parameters()])):
            p.grad.copy_(part.view_as(p))
        optimizer.step()


@dies("full", 0.85, "no stacks, deep network", "checkpointing", stacks=None)
def deep_network_without_stacks():
    model = mlp(512, 24)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    fit_steps(model, optimizer, rand(4096, 512), 4)


@dies("fragmented|larger-input", 1.04, "lengths at random on a tight card", "expandable_segments")
def lengths_at_random():
    model = Transformer(width=256, layers=3)
    optimizer = torch.optim.AdamW(model.parameters())
    chooser = random.Random(17)
    for _ in range(80):
        optimizer.zero_grad()
        language_loss(model, tokens(8, chooser.randint(100, 300))).backward()
        optimizer.step()
