# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Programs written by a seventh hand, as people write fine-tuning, serving and evaluation; labelled before `why` was
asked, and asked once."""
import copy
import io

import torch
from torch import nn
from torch.nn import functional

from parts import dies


def on_card(*shape, **kw):
    return torch.randn(*shape, device="cuda", **kw)


def ids(batch, length, vocabulary=1000):
    return torch.zeros(batch, length, dtype=torch.long, device="cuda")


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, cache=None):
        b, t, w = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        if cache is not None:
            k, v = cache.update(self, k, v)
        weights = torch.softmax(q @ k.transpose(2, 3) / 8, -1)
        return self.out((weights @ v).transpose(1, 2).reshape(b, t, w))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, cache=None):
        x = x + self.attention(self.norm1(x), cache)
        return x + self.feed(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self, width=256, depth=4, vocabulary=1000, heads=4):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList([Layer(width, heads) for _ in range(depth)])
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens, cache=None):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, cache)
        return self.head(x)


class KeyValues:
    """A cache that grows by concatenation, as libraries have it."""

    def __init__(self):
        self.of = {}

    def update(self, layer, keys, values):
        if layer in self.of:
            keys = torch.cat([self.of[layer][0], keys], 2)  # here chat_sessions_never_closed
            values = torch.cat([self.of[layer][1], values], 2)  # here chat_sessions_never_closed
        self.of[layer] = keys, values
        return keys, values


def next_token_loss(model, tokens):
    return functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())


# Leaks


def nested_concat(kept, new):
    return new if kept is None else torch.cat([kept, new])  # here evaluation_of_a_trainer


@dies("leak", 0.6, "evaluation: a trainer puts all logits together on the card", "eval_accumulation_steps")
def evaluation_of_a_trainer():
    model = Decoder(192, 3, 4000).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    for _ in range(10):
        next_token_loss(model, ids(8, 128)).backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    logits = labels = None
    with torch.no_grad():
        for _ in range(60):
            batch = ids(8, 128)
            logits = nested_concat(logits, model(batch))
            labels = nested_concat(labels, batch)
    return logits.argmax(-1).cpu()


class Validator:
    def __init__(self, model):
        self.model, self.embeddings = model, []

    @torch.no_grad()
    def run(self):
        self.model.eval()
        for _ in range(12):
            self.embeddings.append(self.model(on_card(512, 3, 64, 64)))  # here embeddings_of_each_validation
        self.model.train()
        return torch.stack([e.mean() for e in self.embeddings]).mean().item()


@dies("leak", 0.8, "training: each validation adds to the embeddings of the one before", "embeddings.clear()")
def embeddings_of_each_validation():
    model = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 8, 3, padding=1)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    validator = Validator(model)
    for _ in range(5):
        for _ in range(8):
            optimizer.zero_grad()
            model(on_card(128, 3, 64, 64)).square().mean().backward()
            optimizer.step()
        validator.run()


@dies("leak", 0.8, "training: the loss is summed over the epoch with its graph, large steps", "loss.item()")
def three_large_steps_of_a_running_loss():
    model = Decoder(256, 6, 2000).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    running = 0
    for _ in range(4):
        optimizer.zero_grad()
        loss = next_token_loss(model, ids(16, 512))  # here
        loss.backward(retain_graph=True)
        optimizer.step()
        running = running + loss
    return running.item()


@dies("leak", 0.75, "serving: a chat's keys and values stay after its last answer", "forget old sessions")
def chat_sessions_never_closed():
    model = Decoder(512, 6, 2000, 8).cuda().eval()
    sessions = {}
    with torch.inference_mode():
        for request in range(40):
            cache = sessions.setdefault(f"user-{request}", KeyValues())
            tokens = ids(4, 60 + request * 53 % 170)
            for _ in range(6 + request * 7 % 9):
                tokens = model(tokens, cache)[:, -1:].argmax(-1)


@dies("leak", 0.7, "serving: answers go into a table of results of varying lengths, which nobody empties",
      "a bound on the table")
def finished_answers_stay_in_the_table():
    model = Decoder(384, 3, 8000).cuda().eval()
    results = {}
    with torch.no_grad():
        for request in range(70):
            length = 80 + request * 131 % 400
            logits = model(ids(4, length))
            results[request] = {"scores": logits.log_softmax(-1), "text": logits.argmax(-1)}  # here


@dies("leak", 0.7, "RL: rollouts are kept as tensors that are attached to the policy", "log_prob.detach()")
def rollouts_with_their_graphs():
    policy = nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 8)).cuda()
    optimizer = torch.optim.Adam(policy.parameters(), 3e-4)
    buffer = []
    for _ in range(12):
        for _ in range(4):
            observation = on_card(8192, 64)
            log_probs = policy(observation).log_softmax(-1)  # here
            buffer.append((observation, log_probs))
        batch = torch.cat([o for o, _ in buffer[-4:]])
        optimizer.zero_grad()
        (-policy(batch).log_softmax(-1).mean()).backward()
        optimizer.step()


# What is full


def make_weight(rows, columns):
    return torch.empty(rows, columns, device="cuda").normal_(0, 0.02)


@dies("full", 0.7, "inference: weights are made by a helper, and are too many", "half precision, or fewer layers")
def weights_from_a_function():
    layers = []
    for _ in range(24):
        layers.append({"attention": make_weight(1024, 3072), "out": make_weight(1024, 1024),
                       "up": make_weight(1024, 4096), "down": make_weight(4096, 1024)})
    x = on_card(64, 1024)
    with torch.no_grad():
        for layer in layers:
            q, k, v = (x @ layer["attention"]).chunk(3, -1)
            x = x + torch.softmax(q @ k.T, -1) @ v @ layer["out"]
            x = x + functional.gelu(x @ layer["up"]) @ layer["down"]
    return x.cpu()


@dies("full", 0.75, "fine-tuning: weights and gradients fit, the states of AdamW do not", "8-bit states, or LoRA")
def states_of_the_first_step():
    model = Decoder(1024, 8, 8000, 16).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-5)
    for _ in range(3):
        optimizer.zero_grad()
        next_token_loss(model, ids(2, 64)).backward()
        optimizer.step()


@dies("full", 0.55, "fine-tuning: it dies in the first backward pass, and states would come on top", "LoRA")
def gradients_of_the_first_step():
    model = Decoder(1024, 8, 8000, 16).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-5)
    for _ in range(3):
        optimizer.zero_grad()
        next_token_loss(model, ids(8, 256)).backward()
        optimizer.step()


@dies("full", 0.8, "resume: states are loaded into the optimizer, the first step does not fit", "a smaller batch")
def resumed_and_dead_in_the_first_step():
    model = Decoder(768, 6, 4000, 12).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    groups = optimizer.state_dict()["param_groups"]
    states = {i: {"step": torch.tensor(7.0), "exp_avg": torch.zeros(p.shape), "exp_avg_sq": torch.zeros(p.shape)}
              for i, p in enumerate(model.parameters())}
    optimizer.load_state_dict({"state": states, "param_groups": groups})
    del states
    for _ in range(3):
        optimizer.zero_grad()
        next_token_loss(model, ids(12, 384)).backward()
        optimizer.step()


@dies("full", 0.9, "fine-tuning: the checkpoint is on the card before the model is made, and stays",
      "map_location='cpu', or del")
def checkpoint_before_its_model():
    template = Decoder(768, 6, 4000, 12)
    saved = io.BytesIO()
    torch.save({"state_dict": template.state_dict(), "epoch": 3}, saved)
    saved.seek(0)
    checkpoint = torch.load(saved, map_location="cuda")
    model = Decoder(768, 6, 4000, 12)
    model.load_state_dict(checkpoint["state_dict"])
    model.cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    for _ in range(checkpoint["epoch"], 8):
        optimizer.zero_grad()
        next_token_loss(model, ids(4, 128)).backward()
        optimizer.step()


@dies("full", 0.92, "training: the best model is a copy on the card, made when the loss is least", "copy to the host")
def best_model_copied_on_the_card():
    model = nn.Sequential(*[part for _ in range(6) for part in (nn.Linear(2048, 2048), nn.ReLU())]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    best = None
    for epoch in range(8):
        for _ in range(3):
            optimizer.zero_grad()
            model(on_card(512, 2048)).square().mean().backward()
            optimizer.step()
        if epoch >= 3:
            best = copy.deepcopy(model)
    return best


@dies("full", 0.85, "inference: a pipeline loads its second model when it is first asked for", "offload the first")
def second_model_loaded_when_asked():
    detector = nn.Sequential(*[nn.Conv2d(64 if i else 3, 64, 3, padding=1) for i in range(10)]).cuda().eval()
    segmenter = None
    with torch.inference_mode():
        for request in range(20):
            boxes = detector(on_card(4, 3, 256, 256)).mean(1)
            if request >= 12:
                segmenter = segmenter or Decoder(1024, 4, 8000, 16).cuda().eval()
                segmenter(ids(2, 64))
            boxes.cpu()


@dies("full", 0.8, "inference: pictures all of one size, and the decoder at the end is what does not fit",
      "vae tiling or slicing")
def decoder_at_the_end_of_a_pipeline():
    unet = nn.Sequential(nn.Conv2d(4, 128, 3, padding=1), nn.SiLU(), nn.Conv2d(128, 128, 3, padding=1), nn.SiLU(),
                         nn.Conv2d(128, 4, 3, padding=1)).cuda()
    vae = nn.Sequential(nn.Conv2d(4, 96, 3, padding=1), nn.Upsample(scale_factor=4), nn.SiLU(),
                        nn.Conv2d(96, 48, 3, padding=1), nn.Upsample(scale_factor=2), nn.SiLU(),
                        nn.Conv2d(48, 3, 3, padding=1)).cuda()
    with torch.no_grad():
        latents = on_card(8, 4, 64, 64)
        for _ in range(20):
            guided = unet(torch.cat([latents, latents]))
            low, high = guided.chunk(2)
            latents = latents - 0.05 * (low + 7 * (high - low))
        return vae(latents).cpu()


@dies("full|one-tensor", 0.8, "inference: equal tiles of a scan are put together at the end", "blend on the host")
def tiles_put_together_at_the_end():
    net = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 4, 1)).cuda()
    scan = on_card(1, 1, 4096, 4096)
    weight = torch.zeros(1, 1, 4096, 4096, device="cuda")
    total = torch.zeros(1, 4, 4096, 4096, device="cuda")
    with torch.no_grad():
        for y in range(0, 4096, 512):
            for x in range(0, 4096, 512):
                total[..., y:y + 512, x:x + 512] += net(scan[..., y:y + 512, x:x + 512])
                weight[..., y:y + 512, x:x + 512] += 1
        return torch.softmax(total / weight, 1).argmax(1).cpu()


@dies("full", 0.62, "retries: a wrapper halves the batch on each error, and the optimizer is what does not fit",
      "a smaller optimizer")
def executable_batch_size_is_never_found():
    model = nn.Sequential(*[part for _ in range(5) for part in (nn.Linear(2560, 2560), nn.GELU())]).cuda()
    optimizer = torch.optim.Adam(model.parameters(), 1e-4)

    def attempt(batch):
        for _ in range(4):
            optimizer.zero_grad()
            model(on_card(batch, 2560)).square().mean().backward()
            optimizer.step()

    batch = 1024
    while True:
        try:
            attempt(batch)
            return
        except torch.OutOfMemoryError:
            if batch < 16:
                raise
        torch.cuda.empty_cache()
        batch //= 2


# Other causes


@dies("larger-input", 0.7, "DPO: one pair is far longer than the others", "max_length")
def one_long_preference_pair():
    policy, reference = Decoder(192, 3, 2000).cuda(), Decoder(192, 3, 2000).cuda().eval()
    optimizer = torch.optim.AdamW(policy.parameters(), 1e-5)
    for step in range(18):
        pair = ids(8, 900 if step == 12 else 150 + step * 37 % 90)
        with torch.no_grad():
            fixed = reference(pair).log_softmax(-1).mean((1, 2))
        optimizer.zero_grad()
        ratio = policy(pair).log_softmax(-1).mean((1, 2)) - fixed
        (-functional.logsigmoid(ratio[:4] - ratio[4:])).mean().backward()
        optimizer.step()


@dies("streams", 520, "streams: a prefetcher makes batches ahead on its own stream, and keeps a queue full",
      "make batches on the stream that uses them")
def prefetcher_with_a_deep_queue():
    side = torch.cuda.Stream()
    model = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for phase in range(6):
        with torch.cuda.stream(side):
            queue = [on_card(8192 + 512 * phase, 1024) for _ in range(8)]
        torch.cuda.current_stream().wait_stream(side)
        queue = [q[:2048].clone() for q in queue]
        for batch in queue:
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
        kept = [on_card(8192 + 512 * phase, 1024) for _ in range(5)]
        del kept, queue


@dies("fragmented", 1.12, "serving: requests of mixed lengths overlap, and end in another order", "expandable_segments")
def mixed_requests_overlap():
    model = nn.Sequential(nn.Linear(512, 1536), nn.GELU(), nn.Linear(1536, 512)).cuda()
    running = {}
    with torch.no_grad():
        for request in range(260):
            running[request] = model(on_card(3000 + request * 7919 % 11000, 512))
            for old in [r for r in running if r <= request - 6 - r * 11 % 9]:
                del running[old]
