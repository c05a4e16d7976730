# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Programs written by an eighth hand, of other kinds than before as far as it knew; labelled before `why` was asked,
and asked once."""
import collections
import copy

import torch
from torch import nn
from torch.nn import functional

from parts import dies


def on_card(*shape, **kw):
    return torch.randn(*shape, device="cuda", **kw)


class Tower(nn.Module):
    """An encoder of one modality."""
    def __init__(self, width=256, depth=4, out=128):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.out = nn.Linear(width, out)
        self.cuda()

    def forward(self, x):
        for layer in self.layers:
            x = x + functional.gelu(layer(x))            # here memory_bank_with_graphs values_of_all_episodes
        return self.out(x)                               # here memory_bank_with_graphs values_of_all_episodes


class UNet(nn.Module):
    def __init__(self, channels=32):
        super().__init__()
        c = channels
        self.down = nn.ModuleList([nn.Conv2d(4, c, 3, padding=1), nn.Conv2d(c, 2 * c, 3, padding=1, stride=2)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(2 * c, c, 2, stride=2), nn.Conv2d(2 * c, 4, 3, padding=1)])
        self.cuda()

    def forward(self, x):
        a = functional.silu(self.down[0](x))
        b = functional.silu(self.down[1](a))
        return self.up[1](torch.cat([functional.silu(self.up[0](b)), a], 1))


@dies("leak", 0.6, "gradients of each step are copied to measure their noise")
def gradients_copied_each_step():
    model = Tower(depth=6)
    optimizer = torch.optim.AdamW(model.parameters())
    copies = []
    for _ in range(200):
        model(on_card(64, 256)).square().mean().backward()
        copies.append([p.grad.clone() for p in model.parameters()])                  # here
        optimizer.step()
        optimizer.zero_grad()


@dies("leak", 0.7, "a queue is filled by two and emptied by one")
def queue_filled_faster_than_emptied():
    model = Tower(depth=3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    queue = collections.deque()
    for _ in range(150):
        for _ in range(2):
            queue.append(on_card(2048, 256))                                         # here
        optimizer.zero_grad()
        model(queue.popleft()).square().mean().backward()
        optimizer.step()


@dies("leak", 0.8, "a memory bank of contrastive learning keeps the graphs of its keys")
def memory_bank_with_graphs():
    query, key = Tower(), Tower()
    optimizer = torch.optim.AdamW(query.parameters())
    bank = []
    for _ in range(120):
        q, k = query(on_card(256, 256)), key(on_card(256, 256))                      # here
        scores = q @ torch.cat([k.detach()] + [b.detach() for b in bank[-4:]]).T
        functional.cross_entropy(scores, torch.arange(256, device="cuda")).backward()
        optimizer.step()
        optimizer.zero_grad()
        bank.append(k)


@dies("leak", 0.75, "a server keeps the merged adapter of each tenant")
@torch.no_grad()
def adapters_merged_per_tenant():
    base, merged = nn.Linear(1024, 1024).cuda(), {}
    for request in range(300):
        tenant = (request * 7) % 97
        if tenant not in merged:
            a, b = on_card(1024, 8), on_card(8, 1024)
            merged[tenant] = base.weight + a @ b                                     # here
        functional.linear(on_card(16 + request % 5, 1024), merged[tenant]).sum().item()


@dies("leak", 0.65, "finished sessions of a chat are never dropped")
@torch.no_grad()
def chat_sessions_stay():
    project, sessions = nn.Linear(512, 1024).cuda(), {}
    for number in range(90):
        cache = []
        for _ in range(12):
            k, v = project(on_card(64, 512)).chunk(2, -1)                            # here
            cache.append((k, v))
        q = on_card(1, 512)
        keys = torch.cat([k for k, _ in cache])
        torch.softmax(q @ keys.T, -1)
        sessions[number] = cache


@dies("leak", 0.7, "a critic's values are kept with their graphs from episode to episode")
def values_of_all_episodes():
    actor, critic = Tower(64, 2, 8), Tower(64, 2, 1)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()])
    rewards, values, logs = [], [], []
    for _ in range(60):
        for _ in range(16):
            state = on_card(4096, 64)
            logs.append(functional.log_softmax(actor(state), -1)[:, 0])
            values.append(critic(state))                                             # here
            rewards.append(on_card(4096, 1))
        with torch.no_grad():
            advantage = [r - v for r, v in zip(rewards[-16:], values[-16:])]
        loss = sum(-(log * a[:, 0]).mean() for log, a in zip(logs, advantage))
        loss = loss + sum((r - v).square().mean() for r, v in zip(rewards[-16:], values[-16:]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rewards.clear()
        logs.clear()


@dies("leak", 0.6, "a cache of position tables has an entry for each length")
@torch.no_grad()
def position_table_per_length():
    model, tables = Tower(256, 3), {}
    for i in range(300):
        length = 200 + (i * 37) % 283
        if length not in tables:
            at = torch.arange(length, device="cuda")
            tables[length] = (at[:, None] - at[None, :]).float().expand(4, -1, -1).contiguous()      # here
        x = model(on_card(length, 256))
        (tables[length].mean(0) @ x).sum().item()


@dies("leak", 0.7, "logits of an evaluation are gathered on the card")
@torch.no_grad()
def logits_of_an_evaluation():
    model = nn.Sequential(nn.Embedding(1000, 128), nn.Linear(128, 4000)).cuda()
    gathered = []
    for _ in range(80):
        ids = torch.zeros(4, 128, dtype=torch.long, device="cuda")
        gathered.append(model(ids))                                                  # here
    torch.cat(gathered)


@dies("leak", 0.7, "weight snapshots for a later average are kept, one an epoch")
def snapshots_for_an_average():
    model = Tower(512, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    kept = []
    for _ in range(40):
        for _ in range(5):
            optimizer.zero_grad()
            model(on_card(128, 512)).square().mean().backward()
            optimizer.step()
        kept.append(copy.deepcopy(model.state_dict()))                               # here
    return kept


@dies("full", 0.7, "a student and its teacher, at a batch that is too large")
def distillation_of_a_large_batch():
    teacher, student = Tower(1024, 8), Tower(1024, 4)
    optimizer = torch.optim.AdamW(student.parameters())
    for _ in range(10):
        x = on_card(4096, 1024)
        with torch.no_grad():
            aim = teacher(x)
        (student(x) - aim).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


@dies("full", 0.8, "a generator and a critic with their optimizers")
def generator_and_critic():
    generator, critic = Tower(768, 6, 768), Tower(768, 6, 1)
    by_generator = torch.optim.Adam(generator.parameters())
    by_critic = torch.optim.Adam(critic.parameters())
    for _ in range(10):
        real, fake = on_card(512, 768), generator(on_card(512, 768))
        (critic(fake.detach()).mean() - critic(real).mean()).backward()
        by_critic.step()
        by_critic.zero_grad()
        (-critic(fake)).mean().backward()
        by_generator.step()
        by_generator.zero_grad()


@dies("full", 0.85, "an embedding of many rows with a dense gradient")
def recommender_with_a_large_table():
    table, top = nn.Embedding(200000, 128).cuda(), nn.Linear(128, 1).cuda()
    optimizer = torch.optim.Adam([*table.parameters(), *top.parameters()])
    for _ in range(10):
        rows = torch.zeros(1024, 20, dtype=torch.long, device="cuda")
        top(table(rows).mean(1)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


@dies("full", 0.8, "guidance doubles the batch of a sampler")
@torch.no_grad()
def sampler_with_guidance():
    model = UNet(64)
    x = on_card(16, 4, 128, 128)
    for _ in range(20):
        with_words, without = model(torch.cat([x, x])).chunk(2)
        x = x - 0.02 * (without + 5 * (with_words - without))


@dies("one-tensor", 0.5, "scores of a long document against itself")
@torch.no_grad()
def scores_of_a_long_document():
    model = Tower(256, 2)
    for length in (512, 600, 480, 12000):
        x = model(on_card(length, 256))
        torch.softmax(x @ x.T / 16, -1).sum().item()


@dies("one-tensor", 0.55, "distances between all pairs of many points")
@torch.no_grad()
def distances_of_all_pairs():
    points = on_card(14000, 64)
    for part in points.split(1000)[:5]:
        torch.cdist(part, points[:2000]).min(1)
    torch.cdist(points, points).min(1)


@dies("larger-input", 0.7, "one recording of speech is far longer than the others")
def one_long_recording_of_speech():
    model = nn.Sequential(nn.Conv1d(80, 256, 3, padding=1), nn.ReLU(), nn.Conv1d(256, 256, 3, padding=1), nn.ReLU(),
                          nn.Conv1d(256, 64, 3, padding=1)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for frames in (900, 1100, 1000, 950, 1050, 980, 1020, 940, 1080, 6500):
        optimizer.zero_grad()
        model(on_card(16, 80, frames)).square().mean().backward()
        optimizer.step()


@dies("larger-input", 0.75, "a hub of a graph has many times as many neighbours")
def hub_of_a_graph():
    first, second = nn.Linear(128, 256).cuda(), nn.Linear(256, 16).cuda()
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()])
    for neighbours in (9000, 11000, 10000, 8000, 12000, 9500, 10500, 10000, 70000):
        optimizer.zero_grad()
        messages = torch.relu(first(on_card(neighbours, 128)))
        to = torch.zeros(neighbours, dtype=torch.long, device="cuda")
        out = torch.zeros(500, 256, device="cuda").index_add(0, to, messages)
        second(out).square().mean().backward()
        optimizer.step()


@dies("fragmented", 1.15, "small results lie between large frames that come and go, and then frames are larger")
@torch.no_grad()
def results_between_frames():
    net = nn.Conv2d(3, 8, 3, padding=1).cuda()
    recent = collections.deque(maxlen=40)
    for i in range(240):
        side = 700 + 60 * (i // 20)
        frame = on_card(2, 3, side, side)
        recent.append(net(frame)[:, :, ::2, ::2].contiguous())
        torch.stack([r.mean() for r in recent]).sum().item()
