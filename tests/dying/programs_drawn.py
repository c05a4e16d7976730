# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Programs that run out of memory: drawn from 51 by seed 52 before any was recorded (README.md).
A leak is at a line that ends in "# here"."""
import collections
import functools
import random
import types

import torch
import torch.utils.checkpoint
from torch import nn

from parts import Block, ConvNet, Transformer, dies, mlp, rand, tokens, train


@dies("leak", 150, "auxiliary loss is summed and never goes backward", lever="detach")
def auxiliary_loss_summed():
    model, auxiliary = mlp(512, 3), mlp(512, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    total = 0
    for _ in range(600):
        x = rand(96, 512)
        train(model, optimizer, x)
        hidden = auxiliary(x)  # here
        total = total + hidden.square().mean()  # here


@dies("leak", 120, "metrics: logits by class over all epochs", lever="drop")
def logits_by_class():
    model, by_class = ConvNet(8), collections.defaultdict(list)
    optimizer = torch.optim.AdamW(model.parameters())
    for epoch in range(100):
        for _ in range(6):
            train(model, optimizer, rand(8, 3, 32, 32))
        model.eval()
        with torch.no_grad():
            for batch in range(4):
                features = model(rand(32, 3, 32, 32)).repeat(1, 256)  # here
                by_class[batch % 3].append(features)
        model.train()


@dies("leak", 150, "hooks of all layers collect what they see", lever="drop")
def hooks_of_all_layers():
    model, seen = Transformer(128, 2), collections.defaultdict(list)
    for name, module in model.named_modules():
        if isinstance(module, nn.LayerNorm):
            found = seen[name]
            module.register_forward_hook(lambda m, args, out, found=found: found.append(out.detach() + 0))  # here
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(400):
        train(model, optimizer, tokens(4, 96))


dies("leak", 150, "without stacks", lever="drop", stacks=None)(types.FunctionType(
    hooks_of_all_layers.__code__, globals(), "hooks_without_stacks"))


@dies("leak", 110, "a trainer that collects what its steps return", lever="drop")
def trainer_collects():
    class Trainer:
        def __init__(self):
            self.model, self.outputs = Transformer(64, 2), []
            self.optimizer = torch.optim.AdamW(self.model.parameters())

        def step(self, batch):
            logits = self.model(batch)  # here in_model
            loss = logits.square().mean()
            return {"loss": loss, "logits": logits.detach()}

        def fit(self, n):
            for _ in range(n):
                out = self.step(tokens(4, 64))
                self.optimizer.zero_grad()
                out["loss"].backward()
                self.optimizer.step()
                self.outputs.append(out)
    Trainer().fit(600)


dies("leak", 110, "only the last 2,000 records", lever="drop", max_entries=2000)(types.FunctionType(
    trainer_collects.__code__, globals(), "trainer_in_a_ring"))


@dies("leak", 150, "total loss goes backward again in each step", lever="detach")
def total_goes_backward():
    model, total = mlp(256, 3), 0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(400):
        out = model(rand(192, 256))  # here
        total = total + out.square().mean()  # here
        optimizer.zero_grad()
        total.backward(retain_graph=True)


@dies("leak", 100, "style transfer keeps each canvas for a film", lever="drop")
def canvases_for_a_film():
    features, film = ConvNet(8), []
    canvas = rand(1, 3, 96, 96).requires_grad_()
    optimizer = torch.optim.Adam([canvas], lr=0.1)
    for _ in range(700):
        optimizer.zero_grad()
        features(canvas).square().mean().backward()
        optimizer.step()
        film.append(canvas.detach().repeat(1, 4, 1, 1))  # here


@dies("leak", 110, "DQN: the buffer's limit is larger than the card", lever="drop")
def buffer_with_a_high_limit():
    policy, buffer, draw = mlp(128, 2), collections.deque(maxlen=100000), random.Random(7)
    optimizer = torch.optim.Adam(policy.parameters())
    state = rand(512, 128)
    for step in range(2000):
        with torch.no_grad():
            after = policy(state) + rand(512, 128)  # here
        buffer.append((state, after))
        state = after
        if step % 4 == 3:
            train(policy, optimizer, draw.choice(buffer)[0])


@dies("leak", 120, "PPO: log-probabilities keep their graphs", lever="detach")
def probabilities_with_graphs():
    policy, memory = mlp(128, 3), []
    optimizer = torch.optim.Adam(policy.parameters())
    for _ in range(150):
        for _ in range(6):
            state = rand(128, 128)
            memory.append(torch.log_softmax(policy(state), -1))  # here
        train(policy, optimizer, rand(128, 128))


@dies("leak", 200, "diffusion sampling with guidance, without no_grad", lever="no_grad")
def sampling_without_no_grad():
    class Denoiser(nn.Module):
        def __init__(self):
            super().__init__()
            self.enter, self.leave = nn.Conv2d(3, 12, 3, padding=1), nn.Conv2d(12, 3, 3, padding=1)

        def forward(self, x):
            return self.leave(torch.relu(self.enter(x)))  # here
    model = Denoiser().cuda().eval()
    x = rand(2, 3, 64, 64)
    for _ in range(500):
        noise = model(torch.cat([x, x]))  # here
        with_prompt, without = noise.chunk(2)
        x = x - 0.1 * (without + 5 * (with_prompt - without))  # here


@dies("leak", 150, "chat: the cache of a conversation is never cut", lever="drop")
def conversation_never_cut():
    w, cache, draw = rand(256, 768), {}, random.Random(14)
    for _ in range(300):
        for layer in range(3):
            q, k, v = (rand(draw.randint(8, 24), 256) @ w).view(-1, 3, 256).unbind(1)
            old = cache.get(layer)
            cache[layer] = (k.repeat(8, 1), v.repeat(8, 1)) if old is None else (
                torch.cat([old[0], k.repeat(8, 1)]), torch.cat([old[1], v.repeat(8, 1)]))  # here
            torch.softmax(q @ cache[layer][0].T, -1) @ cache[layer][1]


@dies("leak", 44, "serving: adapters of all users stay loaded", lever="drop")
def adapters_stay_loaded():
    model, adapters, draw = mlp(512, 4).eval(), {}, random.Random(15)
    with torch.no_grad():
        for _ in range(900):
            user = draw.randrange(2000)
            if user not in adapters:
                adapters[user] = nn.Sequential(nn.Linear(512, 16), nn.Linear(16, 512)).cuda()  # here
            x = rand(64, 512)
            model(x + adapters[user](x))


@dies("leak", 90, "tables of positions are cached for each size of a picture", lever="drop")
def tables_of_positions():
    draw, model = random.Random(18), ConvNet(8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @functools.lru_cache(maxsize=4096)
    def positions(height, width):
        return torch.ones(height * width, height * width, device="cuda").tril()  # here
    for _ in range(600):
        height, width = draw.randint(8, 24), draw.randint(8, 24)
        loss = model(rand(4, 3, height, width)).square().mean() + positions(height, width)[0, 0]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@dies("leak", 160, "one row is kept, and with it the whole result", lever="drop")
def rows_of_results():
    model, first_rows = mlp(512, 3), []
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(600):
        train(model, optimizer, rand(64, 512))
        with torch.no_grad():
            out = model(rand(400, 512))  # here
        first_rows.append(out[0])


dies("leak", 160, "without stacks", lever="drop", stacks=None)(types.FunctionType(
    rows_of_results.__code__, globals(), "rows_without_stacks"))


@dies("leak", 150, "accumulation: losses are summed over 200 batches, then go backward", lever="detach")
def losses_of_200_batches():
    model = mlp(512, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total = 0
        for _ in range(200):
            total = total + model(rand(80, 512)).square().mean()  # here
        optimizer.zero_grad()
        total.backward()
        optimizer.step()


@dies("leak", 170, "every tenth step is evaluated, and the loss keeps its graph", lever="no_grad")
def evaluation_every_tenth():
    model, history = mlp(512, 3), []
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(800):
        train(model, optimizer, rand(64, 512))
        if step % 10 == 9:
            history.append(model(rand(512, 512)).square().mean())  # here


@dies("full", 0.8, "training: gradients exist, the states of AdamW do not fit", lever="optimizer")
def states_after_accumulation():
    model = Transformer(512, 6)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(8):
        model(tokens(1, 32)).square().mean().backward()
        if step % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


@dies("full", 0.6, "recurrent network with attention, dies in the first forward pass", lever="batch")
def recurrent_with_attention():
    encoder, decoder = nn.GRUCell(64, 64).cuda(), nn.LSTMCell(64, 64).cuda()
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
    for _ in range(2):
        states, hidden = [], torch.zeros(512, 64, device="cuda")
        for _ in range(50):
            hidden = encoder(rand(512, 64), hidden)
            states.append(hidden)
        memory, pair, loss = torch.stack(states, 1), (hidden, hidden), 0
        for _ in range(50):
            weights = torch.softmax((memory * pair[0][:, None]).sum(-1), -1)
            pair = decoder((weights[:, :, None] * memory).sum(1), pair)
            loss = loss + pair[0].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


dies("full", 0.6, "without stacks", lever="batch", stacks=None)(types.FunctionType(
    recurrent_with_attention.__code__, globals(), "recurrent_without_stacks"))


@dies("full", 0.9, "training with checkpointed blocks", lever="batch")
def checkpointed_blocks():
    blocks = nn.ModuleList([Block(128, 4) for _ in range(6)])
    optimizer = torch.optim.AdamW(blocks.parameters())
    for _ in range(3):
        x = rand(48, 192, 128).requires_grad_()
        for block in blocks:
            x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
        optimizer.zero_grad()
        x.square().mean().backward()
        optimizer.step()


@dies("full", 0.93, "a bounded buffer fills, then training begins", lever="host")
def buffer_fills_then_training():
    policy, buffer = mlp(1024, 4), collections.deque(maxlen=60)
    optimizer = torch.optim.AdamW(policy.parameters())
    for step in range(120):
        with torch.no_grad():
            buffer.append(policy(rand(256, 1024)))
        if step >= 90:
            train(policy, optimizer, torch.cat(list(buffer)[:8]))


@dies("one-tensor", 400, "logits of a long prompt over all words", lever="parts")
def logits_of_a_long_prompt():
    model, head = mlp(256, 3).eval(), nn.Linear(256, 30000).cuda()
    with torch.no_grad():
        for _ in range(15):
            head(model(rand(64, 256)))
        head(model(rand(4096, 256)))


@dies("one-tensor", 250, "masks of all classes in 64 bits", lever="parts")
def masks_of_all_classes():
    model = ConvNet(8)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(10):
        train(model, optimizer, rand(4, 3, 64, 64))
    labels = torch.zeros(8, 512, 512, dtype=torch.long, device="cuda")
    return torch.zeros(*labels.shape, 21, dtype=torch.long, device="cuda").scatter_(-1, labels[..., None], 1)


@dies("larger-input", 0.8, "training: pictures get larger in stages", lever="cap")
def pictures_in_stages():
    model = ConvNet(16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for side in (32, 64, 128):
        for _ in range(12):
            train(model, optimizer, rand(32, 3, side, side))


@dies("fragmented", 300, "detection: proposals of varying number, features of a few pictures are kept", lever="setting")
def proposals_of_varying_number():
    draw, kept = random.Random(23), {}
    for picture in range(600):
        kept[draw.randrange(12)] = rand(draw.randint(2000, 4600), 1024)
        if picture % 40 == 39:
            rand(22000, 1024).sum()


@dies("fragmented", 350, "tensors are freed in a checkerboard, then one large one", lever="setting")
def checkerboard_freed():
    board = {(row, column): torch.empty(7 << 20, dtype=torch.uint8, device="cuda")
             for row in range(6) for column in range(7)}
    for row, column in list(board):
        if (row + column) % 2 == 0:
            del board[row, column]
    held = [torch.empty(40 << 20, dtype=torch.uint8, device="cuda") for _ in range(3)]
    return held


@dies("limited", 1024, "a memory fraction is set, and training needs more", lever="limit")
def fraction_and_training():
    torch.cuda.set_per_process_memory_fraction(0.3)
    model = mlp(2048, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(4):
        train(model, optimizer, rand(512, 2048))
