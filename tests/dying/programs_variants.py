# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Variants of what `why` got wrong of the fourth hand's programs, written while it was mended: they decide nothing."""
import collections

import torch
from torch import nn

from parts import ConvNet, Transformer, dies, mlp, rand, tokens


def square_weights(n, width):
    return [rand(width, width).requires_grad_() for _ in range(n)]


def through(weights, x):
    for w in weights:
        x = torch.tanh(x @ w)
    return x


def step(optimizer, loss):
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


@dies("full", 0.8, "a frozen transformer that learns later", "a smaller batch")
def transformer_learns_later():
    net, head = Transformer(width=256, layers=4), nn.Linear(500, 2).cuda()
    net.requires_grad_(False)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    for i in range(14):
        if i == 10:
            net.requires_grad_(True)
            optimizer.add_param_group({"params": list(net.parameters())})
        step(optimizer, head(net(tokens(16, 128))).square().mean())


@dies("larger-input", 0.7, "a recurrent network, one long sequence", "cut it")
def one_long_sequence():
    cell, out = nn.LSTMCell(128, 512).cuda(), nn.Linear(512, 128).cuda()
    optimizer = torch.optim.SGD([*cell.parameters(), *out.parameters()], lr=0.1)
    for length in [12, 9, 14, 11, 8, 13, 10, 70, 12]:
        h = c = torch.zeros(128, 512, device="cuda")
        loss = 0
        for _ in range(length):
            h, c = cell(rand(128, 128), (h, c))
            loss = loss + out(h).square().mean()
        step(optimizer, loss)


@dies("larger-input", 0.7, "a document of many chunks, encoded one by one", "fewer chunks")
def document_of_many_chunks():
    net = Transformer(width=192, layers=3)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    for chunks in [2, 3, 1, 2, 4, 3, 2, 1, 3, 22, 2]:
        encoded = [net(tokens(4, 96)).mean(1) for _ in range(chunks)]
        step(optimizer, torch.stack(encoded).mean(0).square().mean())


@dies("full|larger-input", 0.75, "a head for each box, and one picture of many", "fewer boxes")
def head_for_each_box():
    net, head = ConvNet(16), mlp(512, 3)
    optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
    for boxes in [4, 6, 3, 8, 5, 2, 7, 120, 4]:
        loss = net(rand(4, 3, 64, 64)).sum()
        for _ in range(boxes):
            loss = loss + head(rand(256, 512)).square().mean()
        step(optimizer, loss)


@dies("full", 0.92, "products with the Hessian, without modules, in the first step", "fewer at once")
def hessian_products():
    weights = square_weights(3, 500)
    for _ in range(2):
        grads = torch.autograd.grad(through(weights, rand(5000, 500)).square().mean(), weights, create_graph=True)
        for _ in range(6):
            dot = sum((g * torch.randn_like(g)).sum() for g in grads)
            product = torch.autograd.grad(dot, weights, retain_graph=True)
        with torch.no_grad():
            for w, p in zip(weights, product):
                w -= 0.01 * p
        del grads, dot, product


@dies("fragmented", 1.06, "steps by hand, many lengths, results kept for a while", "expandable_segments")
def lengths_by_hand():
    weights, recent = square_weights(4, 768), collections.deque(maxlen=6)
    for i in range(40):
        out = through(weights, rand(2500 + 700 * (i * 5 % 9), 768))
        grads = torch.autograd.grad(out.square().mean(), weights)
        recent.append(out.detach()[:600].clone())
        with torch.no_grad():
            for w, g in zip(weights, grads):
                w -= 0.01 * g
        del out, grads


def adapted(weights, x, y, inner):
    """Weights after some steps of their own, through which the outer step goes."""
    for _ in range(inner):
        loss = (through(weights, x) - y).square().mean()
        grads = torch.autograd.grad(loss, weights, create_graph=True)
        weights = [w - 0.1 * g for w, g in zip(weights, grads)]
    return weights


def outer_steps(n):
    weights = square_weights(3, 512)
    optimizer = torch.optim.Adam(weights, lr=0.001)
    for tasks in n:
        total = 0
        for _ in range(tasks):
            x, y = rand(256, 512), rand(256, 512)
            total = total + (through(adapted(weights, x, y, 8), x) - y).square().mean()
        step(optimizer, total)


@dies("full|larger-input", 0.8, "a third outer step with more tasks, each of inner steps", "fewer tasks")
def more_tasks_in_the_third_step():
    outer_steps([3, 3, 6])


@dies("full|leak", 0.7, "the first outer step, many inner steps", "fewer inner steps")
def first_outer_step():
    outer_steps([4])


@dies("larger-input", 0.5, "one long document lies in a batch of short ones, which are padded to it")
def long_document_among_short_ones():
    table = nn.Embedding(1000, 256).cuda()
    layers = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 128)).cuda()
    optimizer = torch.optim.AdamW([*table.parameters(), *layers.parameters()])
    for length in (120, 140, 128, 110, 150, 132, 125, 138, 118, 1400):
        optimizer.zero_grad()
        ids = torch.zeros(32, length, dtype=torch.long, device="cuda")
        layers(table(ids)).square().mean().backward()
        optimizer.step()


@dies("fragmented|full|larger-input", 1.1, "the newest images are kept, always as many, and images grow")
@torch.no_grad()
def newest_images_of_growing_sides():
    net = nn.Conv2d(3, 16, 3, padding=1, stride=2).cuda()
    newest = collections.deque(maxlen=24)
    for i in range(200):
        side = 500 + 6 * i
        newest.append(net(rand(1, 3, side, side)))
        newest[0].mean().item()


@dies("fragmented|full|larger-input", 1.1, "a replay buffer of a fixed count, whose sequences get longer and longer")
@torch.no_grad()
def replay_buffer_of_longer_sequences():
    net, buffer = nn.Linear(128, 256).cuda(), []
    for i in range(400):
        length = 1000 + 300 * (i // 25)
        sequence = net(rand(length, 128)).relu()
        if len(buffer) < 50:
            buffer.append(sequence)
        else:
            buffer[i % 50] = sequence
        torch.cat(buffer[-8:]).sum().item()


@dies("leak", 0.7, "predictions of a test set are held one by one, and joined in the end")
@torch.no_grad()
def predictions_joined_in_the_end():
    net, predictions = nn.Linear(64, 3000).cuda(), []
    for _ in range(60):
        predictions.append(net(rand(512, 64)))                                       # here
    return torch.vstack(predictions)


class Answer(nn.Module):
    """Returns what Hugging Face's models do: logits and the hidden states."""
    def __init__(self, width=256, words=4000):
        super().__init__()
        self.body, self.head = mlp(width, 3), nn.Linear(width, words)
        self.cuda()

    def forward(self, x):
        hidden = self.body(x)
        return {"logits": self.head(hidden), "hidden": hidden}


def train_some(net, steps, batch):
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    for _ in range(steps):
        step(optimizer, net(rand(batch, 256))["logits"].square().mean())


@dies("leak", 0.75, "training, then an evaluation of few large batches, whose logits are kept", ".cpu()")
def few_large_batches_are_kept():
    net, kept = Answer(), []
    train_some(net, 12, 2000)
    with torch.no_grad():
        for _ in range(6):
            kept.append(net(rand(8000, 256))["logits"])                              # here in_model
    return torch.cat(kept)


@dies("leak", 0.8, "an evaluation of larger batches puts logits together after each", "eval_accumulation_steps")
def logits_put_together_after_each_batch():
    net, together = Answer(), None
    train_some(net, 12, 2000)
    with torch.no_grad():
        for _ in range(7):
            logits = net(rand(6000, 256))["logits"]
            together = logits if together is None else torch.cat((together, logits))  # here


@dies("leak", 0.7, "outputs of validation steps are collected, with hidden states", "keep the labels only")
def outputs_of_validation_steps():
    net, outputs = Answer(width=1024, words=1000), []
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    for _ in range(10):
        step(optimizer, net(rand(1500, 1024))["logits"].square().mean())
    with torch.no_grad():
        for _ in range(9):
            outputs.append(net(rand(6000, 1024)))                                    # here in_model


@dies("leak", 0.8, "the second validation keeps its predictions, the first was small", ".cpu()")
def second_validation_keeps_predictions():
    net, kept = Answer(), []
    for batches in (1, 7):
        train_some(net, 8, 2000)
        with torch.no_grad():
            kept = [net(rand(7000, 256))["logits"].softmax(-1) for _ in range(batches)]  # here
    return kept


@dies("larger-input|full|one-tensor", 0.85, "an evaluation of larger batches, of which nothing is kept", "less at once")
def larger_batches_are_not_kept():
    net, right = Answer(), 0
    train_some(net, 12, 2000)
    with torch.no_grad():
        for _ in range(4):
            right += int(net(rand(16000, 256))["logits"].argmax(-1).sum())


@dies("larger-input|full|one-tensor", 0.85, "an evaluation of larger batches, whose labels are kept", "smaller ones")
def labels_of_larger_batches_are_kept():
    net, labels = Answer(), []
    train_some(net, 12, 2000)
    with torch.no_grad():
        for batch in (4000, 4000, 4000, 4000, 4000, 16000):
            labels.append(net(rand(batch, 256))["logits"].argmax(-1))
