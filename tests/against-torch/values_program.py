# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Programs that branch on values, for values.py: each raises an AssertionError where a value is not true."""
import functools
import sys
from typing import List

import torch

CARD = "cuda"


def fail():
    raise AssertionError


def true(is_true, *_):
    """An assert that run-sim does not take for one of the program's, nor for a line that branches."""
    return is_true or fail()


def card_by_default():
    """The programs after this one make their tensors on the card without a word."""
    torch.set_default_device(CARD)


def counters():
    n = torch.zeros((), dtype=torch.long, device=CARD)
    for _ in range(5):
        n += 1
    true(n.item() == 5 and int(n) == 5 and n.tolist() == 5)
    lengths = torch.full((4,), 7, device=CARD)
    lengths[1] += 3
    lengths[2:].sub_(2)
    true(lengths.tolist() == [7, 10, 5, 5] and lengths.max() == 10 and lengths.sum().cpu() == 27)
    view = lengths.view(2, 2)[0]
    view.fill_(1)
    true(lengths.tolist() == [1, 1, 5, 5])
    steps = torch.arange(3, device=CARD).cumsum(0)
    true(steps.cpu().numpy().tolist() == [0, 1, 3])
    flags = torch.empty(3, dtype=torch.bool, device=CARD)
    flags.zero_()
    flags[1] = True
    true(flags.any() and not flags.all() and flags.tolist() == [False, True, False])


def branches():
    x = torch.tensor([1, -2, 3]).to(CARD)
    true(bool((x > 0).any()) and not (x > 0).all())
    true((x == 3).nonzero().tolist() == [[2]])
    if (x > 5).any():
        raise AssertionError
    while x.min() < 0:
        x = x + 1
    true(x.tolist() == [3, 0, 5])


def masks():
    ids = torch.tensor([[5, 6, 7, 0, 0], [3, 0, 0, 0, 0]]).cuda()
    mask = ids != 0
    hidden = torch.randn(2, 5, 64, device=CARD)
    true(mask.sum().item() == 4 and mask.sum(1).tolist() == [3, 1])
    true(mask.nonzero().shape == (4, 2) and torch.nonzero(mask, as_tuple=True)[0].tolist() == [0, 0, 0, 1])
    true(hidden[mask].shape == (4, 64) and hidden.masked_select(mask[..., None]).shape == (256,))
    true(ids[mask].tolist() == [5, 6, 7, 3] and torch.where(mask)[1].tolist() == [0, 1, 2, 0])
    longest = mask.sum(1).max()
    true(hidden[:, :longest].shape == (2, 3, 64) and hidden[:, longest].shape == (2, 64))
    true(ids.unique().tolist() == [0, 3, 5, 6, 7] and torch.bincount(ids.view(-1)).shape == (8,))
    true(torch.repeat_interleave(mask.sum(1)).tolist() == [0, 0, 0, 1])
    true(ids.repeat_interleave(mask.sum(1), dim=0).shape == (4, 5))
    true(torch.nn.functional.one_hot(ids).shape == (2, 5, 8))
    hidden[~mask] = 0
    true(torch.unique_consecutive(ids.view(-1)).tolist() == [5, 6, 7, 0, 3, 0])


def samplers():
    torch.manual_seed(1)
    order = torch.randperm(100, device=CARD)
    true(sorted(order.tolist()) == list(range(100)))
    torch.manual_seed(1)
    true(torch.randperm(100, device=CARD).tolist() == order.tolist() != torch.randperm(100, device=CARD).tolist())
    state = torch.get_rng_state()
    torch.randint(0, 9, (5,), device=CARD)
    true(torch.equal(state, torch.get_rng_state()))
    probabilities = torch.softmax(torch.randn(3, 1000, device=CARD), -1)
    true(torch.multinomial(probabilities, 1).shape == (3, 1) and torch.multinomial(probabilities, 5).shape == (3, 5))
    chosen = torch.multinomial(torch.tensor([0., 1., 0.], device=CARD), 4, replacement=True)
    true(chosen.tolist() == [1] * 4)
    kept = torch.rand(1000, device=CARD) < 0.25
    true(100 < kept.sum() < 400 and order[order < 10].shape == (10,))
    torch.distributions.Categorical(logits=torch.randn(4, 9, device=CARD) @ torch.randn(9, 9, device=CARD)).sample()


def scaler():
    model = torch.nn.Linear(64, 64).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    scale = torch.amp.GradScaler("cuda", growth_interval=3) if hasattr(torch.amp, "GradScaler") else \
        torch.cuda.amp.GradScaler(growth_interval=3)
    steps = []
    step = optimizer.step
    optimizer.step = lambda *a, **k: steps.append(step(*a, **k))
    for _ in range(7):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(torch.randn(8, 64, device=CARD)).square().mean()
        scale.scale(loss).backward()
        scale.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
        scale.step(optimizer)
        scale.update()
        optimizer.zero_grad()
    true(len(steps) == 7 and scale.get_scale() == 65536 * 4)
    true(not torch.isnan(loss) and torch.isfinite(loss))


def written_unseen():
    """What is written where nobody looks is no longer known, rather than what it was."""
    norm = torch.nn.BatchNorm1d(8).cuda()
    true(norm.running_var.tolist() == [1] * 8)
    norm(torch.randn(4, 8, device=CARD))
    true(norm.running_var.tolist() == [0] * 8 and norm.num_batches_tracked.item() == 1)
    weight = torch.ones(8, device=CARD, requires_grad=True)
    (weight * torch.randn(8, device=CARD).exp()).sum().backward()
    torch.optim.SGD([weight], 0.1).step()
    true(weight.tolist() == [0] * 8)


def inference():
    with torch.inference_mode():
        done = torch.zeros(3, dtype=torch.bool, device=CARD)
        ids = torch.ones(3, 1, dtype=torch.long, device=CARD)
        while not done.all():
            ids = torch.cat([ids, ids[:, -1:] + 1], 1)
            done |= ids.shape[1] >= 5
        true(ids.tolist() == [[1, 2, 3, 4, 5]] * 3)


def unknown():
    x = torch.randn(300, 300, device=CARD) @ torch.randn(300, 300, device=CARD)
    if (x > 0).any():
        raise AssertionError
    known = torch.zeros(300, dtype=torch.bool, device=CARD) & (x > 0)[0]
    true(known.tolist() == [False] * 300 and ((x > 0)[0] | True).all())
    assert (x > 0).any()
    x[x > 0].sum()


def decides():
    """Two lines decide by a number that is not known: the `while`, and the `if` below the sum."""
    x = torch.randn(300, 300, device=CARD)
    total, losses = 0, []
    while (x @ x).mean().item() > 1:
        raise AssertionError
    for _ in range(3):
        loss = (x @ x).square().mean()
        print("loss %.3f" % loss.item())
        total += float(loss)
        losses.append(loss.detach().cpu())
    if total / 3 > 1:
        raise AssertionError
    true(len(losses) == 3)


def stops():
    """Where sampled tokens end, as trainers of policies ask: nowhere, so all of them count."""
    tokens = (torch.randn(300, 300, device=CARD) @ torch.randn(300, 40, device=CARD)).argmax(1).view(4, 75)
    is_end = torch.isin(tokens, torch.tensor([2, 3], device=CARD))
    end = torch.full((4,), 75, device=CARD)
    end[is_end.any(1)] = is_end.int().argmax(1)[is_end.any(1)]
    true((torch.arange(75, device=CARD) <= end[:, None]).sum().item() == 300)


def numbers():
    """A number that is not known may be divided by; a loop that waits for a flag gets it, and a training is none."""
    x = torch.randn(300, 300, device=CARD)
    error = (x @ x).square().mean().item()
    true(1 / error > 0 and error ** -0.2 > 0 and "%.4f" % error == "0.0000")
    true(1 / (x @ x).square().mean().cpu().item() > 0 and 1 / float((x @ x).sum().to("cpu").numpy()) > 0)
    found_inf = (x @ x).mean()
    true(found_inf.item() == 0)
    n, done = 0, False
    while not done:
        n, done = n + 1, bool((x @ x).mean() <= 1)
    true(n == 200)
    optimizer = torch.optim.SGD([x.requires_grad_()], lr=0.1)
    for _ in range(210):
        if (x @ x).mean() > 1:
            fail()
    while n > 0:
        n -= 1
        if (x @ x).max() > 1:
            raise AssertionError
        if (x @ x).min() > 1:
            fail()
        optimizer.step()


def graph():
    n = torch.zeros((), dtype=torch.long, device=CARD)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        n += 1
    true(n.item() == 0)
    n.fill_(3)
    captured.replay()
    true(n.item() == 0)                              # not known
    n.fill_(3)
    true(n.item() == 3)


def compiled():
    model = torch.compile(torch.nn.Linear(64, 64).cuda(), backend="eager")
    for _ in range(2):
        y = model(torch.randn(4, 64, device=CARD))
    mask = torch.tensor([1, 0, 1], device=CARD).bool()
    true(mask.sum().item() == 2 and y.shape == (4, 64))
    true(torch._dynamo.utils.counters["frames"]["ok"] == 1 and not torch._dynamo.utils.counters["graph_break"])


def encoder():
    """The modules' own fast path is chosen as without a mode."""
    layer = torch.nn.TransformerEncoderLayer(64, 4, batch_first=True).cuda().eval()
    import unittest.mock
    with torch.no_grad(), unittest.mock.patch.object(torch, "_transformer_encoder_layer_fwd",
                                                     side_effect=torch._transformer_encoder_layer_fwd) as fast:
        layer(torch.randn(2, 5, 64, device=CARD))
    true(fast.called)


def requests_of_product(matrix):
    """Of the backward pass, which makes the transposed matrix without doubles."""
    out = torch.sparse.mm(matrix, torch.ones(50, 4, device=CARD, requires_grad=True)).sum()
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    out.backward()
    return torch.cuda.memory_stats()["allocation.all.allocated"] - before


def blocks():
    """FlexAttention's mask by a function that is not computed here holds all blocks. A mask of which one column was
    taken for all is all True."""
    from torch.nn.attention.flex_attention import create_block_mask
    gate = torch.randn(512, 64, device=CARD) @ torch.randn(64, 512, device=CARD) > 0
    mask = create_block_mask(lambda b, h, q, k: gate[q, k], None, None, 512, 512, device=CARD)
    true(mask.sparsity() == 0 and int(mask.kv_num_blocks.sum()) == 16)
    true(len(torch.ones(512, device=CARD)[gate[:, 0]]) == 512 and int(gate.sum()) == 512 * 512)


def layouts():
    """Tensors that do not hold their elements one by one: the program runs, and sparse ones have their true sizes."""
    places = torch.randint(0, 50, (2, 800))
    host = torch.sparse_coo_tensor(places, torch.randn(800), (50, 50))
    card = host.to(CARD)
    rows = torch.sparse_coo_tensor(places.to(CARD), torch.randn(800, device=CARD), (50, 50)).coalesce()
    true(card.coalesce()._nnz() == rows._nnz() == host.coalesce()._nnz())
    true((rows @ rows)._nnz() == (host.coalesce() @ host.coalesce())._nnz())
    true(requests_of_product(rows) > 15)             # 12 if the transposed matrix is taken for empty
    true(rows.to_sparse_csr().values().shape == rows.values().shape)
    product = (host.coalesce() @ host.coalesce())._nnz()
    true((rows.to_sparse_csr() @ rows.to_sparse_csr())._nnz() == product)        # PyTorch makes it on the card
    true((host.to_sparse_csr().to(CARD) @ rows.to_sparse_csr())._nnz() == product)
    true(rows.to_sparse_csr().to_sparse_coo()._nnz() == rows._nnz())
    dense = torch.randn(50, 8, device=CARD, requires_grad=True)
    torch.sparse.mm(card, dense).sum().backward()
    true(dense.grad.shape == dense.shape and torch.eye(4).cuda().to_sparse()._nnz() == 4)
    bag = torch.nn.EmbeddingBag(100, 16, mode="sum", sparse=True).to(CARD)
    optimizer = torch.optim.SparseAdam(list(bag.parameters()))
    bag(torch.tensor([3, 3, 9, 4]).to(CARD), torch.tensor([0, 2]).to(CARD)).sum().backward()
    optimizer.step()
    true(bag.weight.grad.coalesce()._nnz() == 3)
    packed = torch.quantize_per_tensor(torch.randn(4, 4), 0.5, 0, torch.qint8).to(CARD)
    true(packed.q_scale() == 0.5 and packed.dequantize().shape == (4, 4))
    nested = torch.nested.nested_tensor([torch.randn(3, 4), torch.randn(2, 4)]).to(CARD)
    true(len(nested.unbind()) == 2 and (nested * 2).unbind()[1].shape == (2, 4))
    jagged = torch.nested.nested_tensor([torch.randn(3, 4), torch.randn(2, 4)], layout=torch.jagged)
    true([len(x) for x in (jagged.to(CARD) * 2).unbind()] == [3, 2])
    true(torch.randn(3, 4).to_mkldnn().to_dense().to(CARD).sum(0).shape == (4,))
    true(torch.zeros(3, device="meta").sum().shape == ())
    true(torch.func.vmap(torch.sum)(dense).shape == (50,) and torch.func.grad(torch.sum)(dense).shape == (50, 8))


def matrices():
    """Where PyTorch asks the card within a call whether all went well, or how many there are of a kind."""
    a = torch.randn(4, 16, 16, device=CARD, requires_grad=True)
    for f in torch.linalg.qr, torch.linalg.eig, torch.matrix_exp, torch.linalg.solve, torch.linalg.lstsq:
        outs = f(a, a) if f in (torch.linalg.solve, torch.linalg.lstsq) else f(a)
        true((outs[0] if isinstance(outs, tuple) else outs).shape[0] == 4)
    torch.matrix_exp(a).sum().backward()
    torch.linalg.qr(a)[0].sum().backward()
    true(torch.mode(torch.zeros(5000, device=CARD)).values.shape == ())
    true(torch.normal(a, a.abs()).shape == a.shape)
    true(torch.isin(torch.arange(900, device=CARD), torch.arange(0, 900, 7).to(CARD)).shape == (900,))


def below():
    """What PyTorch's C++, another library or ctypes reads off the card is what the program would read."""
    import ctypes
    lengths = torch.tensor([50, 40]).to(CARD)
    logits = torch.randn(50, 2, 20, device=CARD, requires_grad=True)
    loss = torch.nn.functional.ctc_loss(logits.log_softmax(2), torch.tensor([[1, 2, 3], [4, 5, 0]]).to(CARD), lengths,
                                        torch.tensor([3, 2]).to(CARD))
    loss.backward()
    numbers = torch.arange(5, device=CARD) * 2
    library = ctypes.CDLL("libreplay-cudasim.so")
    read = (ctypes.c_int64 * 5)()
    address = numbers.data_ptr()
    true(library.cudasim_values_known(ctypes.c_uint64(address), read, ctypes.c_uint64(40)))
    true(list(read) == [0, 2, 4, 6, 8])


def operators():
    """Python that the program registers as an operator, which PyTorch calls from C++."""
    @torch.library.custom_op("replay::kept", mutates_args=())
    def kept(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        part = x[mask]
        return part.new_zeros(10 * int(mask.sum().item()) + part.numel())

    @torch.library.custom_op("replay::added", mutates_args=("x",))
    def added(x: torch.Tensor, y: torch.Tensor) -> None:
        x.add_(y)

    @torch.library.custom_op("replay::checked", mutates_args=())
    def checked(x: torch.Tensor) -> torch.Tensor:
        return x.new_zeros(1 if torch.isfinite(x).all() else 2)

    data = torch.empty(1 << 16, device=CARD).normal_().mul(2)
    mask = torch.tensor([True, False, True, True]).to(CARD)
    true(kept(data[:4], mask).numel() == 33)
    true(kept(data, data > 0).numel() == 11 << 16)       # told: the largest is taken, by both
    true(checked(data).numel() == 1)
    count = torch.zeros(1, device=CARD)
    added(count, data[:1])
    true(count.item() != 0)                              # it was written: zero is not known any more


@torch.jit.script
def padded(rows: List[torch.Tensor], lengths: torch.Tensor) -> torch.Tensor:
    n = int(lengths.max())
    out = torch.zeros([len(rows), n, 32], device=lengths.device)
    for i in range(len(rows)):
        out[i, :int(lengths[i])] = rows[i]
    return out


@torch.jit.script
def turned(n: torch.Tensor, x: torch.Tensor) -> int:
    i = 0
    while bool((n > i).any()):
        x = torch.relu(x) + 1.0
        i += 1
    return i


def scripted():
    """What torch.jit made reads sizes, branches and loops as Python does."""
    rows = [torch.randn(n, 32, device=CARD) for n in (5, 9, 3)]
    true(padded(rows, torch.tensor([5, 9, 3]).cuda()).shape == (3, 9, 32))
    true(turned(torch.tensor([3, 7]).cuda(), torch.randn(64, 64, device=CARD)) == 7)
    layer = torch.jit.script(Cut().to(CARD))
    for n in (10, 20):
        out = layer(torch.randn(100, 32, device=CARD), torch.tensor([n, 5]).cuda())
        true(out.shape == (n + 5, 32))
        out.sum().backward()


class Cut(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(32, 32)

    def forward(self, x, n):
        return self.linear(x[:int(n.sum())])


def large():
    """Edges, masks and orders of millions of elements."""
    n, edges = 20000, torch.randint(0, 20000, (2, 1_600_000))
    on_card = edges.to(CARD)
    keep = on_card[0] != on_card[1]
    true(on_card[:, keep].shape[1] == int((edges[0] != edges[1]).sum()))
    true(torch.unique(on_card[1]).numel() == torch.unique(edges[1]).numel())
    order = on_card[0].argsort(stable=True)
    true(torch.equal(on_card[0][order].cpu(), edges[0].sort().values))
    true(torch.bincount(on_card[0], minlength=n).max().item() == torch.bincount(edges[0]).max().item())
    flag = torch.ones(3, dtype=torch.bool, device=CARD)
    crowd = [torch.ones(4_000_000, dtype=torch.long, device=CARD) for _ in range(20)]
    true(flag.any() and torch.tensor([4]).to(CARD).item() == 4 and len(crowd) == 20)


def training():
    """Compared with and without values: a call of every kind that training makes. Autocast is not among them, because
    it leaves the order of frees to chance, nor what has other sizes without values."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    model = torch.nn.ModuleList([torch.nn.Embedding(1000, 128), torch.nn.TransformerEncoder(layer, 3),
                                 torch.nn.BatchNorm1d(16), torch.nn.Linear(128, 1000)]).cuda()
    optimizers = [torch.optim.AdamW(model.parameters()), torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)]
    if torch.empty(0).is_cuda:                       # Adam's counter lies there, too: without values it divides by zero
        del optimizers[0]
    for step in range(4):
        ids = torch.randint(0, 1000, (8, 16), device="cpu").cuda()      # known also without values
        x = model[1](model[0](ids), src_key_padding_mask=ids < 100)
        x = torch.utils.checkpoint.checkpoint(lambda x: model[3](model[2](x)), x, use_reentrant=False)
        loss = torch.nn.functional.cross_entropy(x.flatten(0, 1), ids.masked_fill(ids < 100, -100).flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer = optimizers[step % len(optimizers)]
        optimizer.step()
        optimizer.zero_grad(set_to_none=step % 2 == 0)
        print(loss.item(), (x.argmax(-1) == ids).float().mean().item())


def masked_training():
    """Sizes by masks, forward, backward, and once more in a checkpoint."""
    model = torch.nn.Linear(64, 64).cuda()
    optimizer = torch.optim.AdamW(model.parameters())

    def hidden(x, mask):
        y = model(x)[mask]
        z = torch.zeros_like(x).index_put((mask,), y) + 0
        z[~mask] = model(x)[~mask]
        return z.masked_select(mask[..., None]).view(-1, 64), y
    for use_reentrant in False, True:
        mask = (torch.arange(10) % 3 == 0).cuda()[None].expand(4, -1)
        x = torch.randn(4, 10, 64, device=CARD, requires_grad=True)
        for part in torch.utils.checkpoint.checkpoint(hidden, x, mask, use_reentrant=use_reentrant):
            true(part.shape == (16, 64))
        y, _ = hidden(x, mask)
        torch.autograd.grad(y.sum(), x, retain_graph=True)
        (y.sum() + part.sum()).backward()
        optimizer.step()


def accepted():
    """A loop over a mask that is not known ends: the mask is taken for all, and what is read of it agrees."""
    score = torch.nn.Linear(8, 1).to(CARD)
    kept, n_left = [], 50
    while n_left > 0:
        x = torch.randn(40, 8, device=CARD)
        mask = score(x)[:, 0] > 0
        kept.append(x[mask])
        n_left -= mask.sum(dim=0, keepdim=True).min().item()
    true(torch.bincount(score(x).abs().long()[:, 0], minlength=5).shape == (5,))
    n = (score(x)[:, 0] > 0.5).float().mul(2).long().cumsum(0)[-1]
    true(x[:n].shape == (40, 8) and x[1:3, :n + 1].shape == (2, 8))          # told once: the largest is taken
    true(len(kept) == 2 and torch.cat(kept).shape == (80, 8) and mask.all() and mask.nonzero().shape == (40, 1))


def agree():
    """What is told of a mask that is not known, and of its negation, agrees with all that is asked later."""
    score = torch.nn.Linear(8, 1).to(CARD)
    x = torch.randn(40, 8, device=CARD)
    for asks in (lambda m: m.sum().item(), lambda m: (~m).sum().item(), lambda m: bool(m.any()),
                 lambda m: bool(m.all()), lambda m: m.float().mean().item(), lambda m: m.cpu(),
                 lambda m: m.view(4, 10).sum(1).tolist(),
                 lambda m: torch.where(m), lambda m: torch.cat([m[:9], m[9:]]).long().cumsum(0)[-1].item()):
        mask = score(x)[:, 0] > 0
        negated, n_first = ~mask, mask[:10].sum()
        asks(mask)
        n = mask.sum().item()
        true(len(x[mask]) == n == len(mask.nonzero()) and len(x[negated]) == 40 - n == negated.sum().item())
        true(mask.any().item() == (n > 0) and mask.all().item() == (n == 40) and negated.any().item() == (n < 40))
        true(n_first.item() == mask.tolist()[:10].count(True))
    mask = score(x)[:, 0] > 9
    true(not mask.any() and len(x[mask]) == 40)      # no step is skipped; it decides nothing
    mask = score(x)[:, 0] == 0.25
    true(len(x[mask]) == mask.sum().item())
    mask = score(x)[:, 0] > 0
    n = mask.sum().item()
    mask &= score(x)[:, 0] > 1                       # another mask from here on
    true(n == 40 and len(x[mask]) == mask.sum().item())


def written():
    """What is guessed is followed through writes: in place, to a part, as `out`, to a tensor without values."""
    score = torch.nn.Linear(8, 1).to(CARD)
    x = torch.randn(40, 8, device=CARD)
    zeros = functools.partial(torch.zeros, dtype=torch.long, device=CARD)

    def set_part(m):
        places = torch.empty(3, dtype=torch.long, device=CARD)
        places[0], places[1:] = 0, m.sum()
        return places[2]

    def flags(m):
        kept = torch.ones(50, dtype=torch.bool, device=CARD)
        kept[:40] &= m
        kept[40:] = False
        return kept.sum()

    def starts(m):
        ends = m.new_empty(41, dtype=torch.long)
        ends[:1].zero_()
        torch.cumsum(m.long(), 0, out=ends[1:])
        return ends[-1]

    def negated(m):
        others = torch.empty(0, dtype=torch.bool, device=CARD)
        torch.logical_not(m, out=others)
        return 40 - others.sum()

    def listed(m):
        both = [zeros(1), zeros(1)]
        torch._foreach_add_(both, [m.sum().view(1), m[:5].sum().view(1)])
        return both[0]

    where = torch.arange(40, device=CARD) % 4
    ways = (set_part, flags, starts, negated, listed,
            lambda m: zeros(1).add_(m.sum()), lambda m: zeros(()).copy_(m.sum()),
            lambda m: zeros(4).scatter_add_(0, where, m.long()).sum(),
            lambda m: zeros(4).index_add_(0, where, m.long()).sum(),
            lambda m: zeros(4).index_put_((where,), m.long(), accumulate=True).sum(),
            lambda m: zeros(40).masked_fill_(m, 1).sum(), lambda m: zeros(40).where(~m, 1).sum(),
            lambda m: torch.sort(m.long(), out=(zeros(40), zeros(40)))[0].sum(),
            lambda m: torch.add(zeros(40), m, out=torch.empty(40, dtype=torch.long, device=CARD)).sum(),
            lambda m: torch.gt(score(x)[:, 0], 0, out=m).sum(), lambda m: m.logical_not_().logical_not_().sum(),
            lambda m: torch.nn.functional.relu(m.long(), inplace=True).sum())
    for i, way in enumerate(ways):
        mask = score(x)[:, 0] > 0
        n = way(mask).item()
        true(n == 40 == len(x[mask]) == mask.sum().item(), i)
    n_kept = 0
    for _ in range(40):                              # deeper than a guess may be: not known again, and no error
        n_kept += (score(x)[:, 0] > 0).sum()
    n_kept.item()
    finished = torch.zeros(40, dtype=torch.bool, device=CARD)
    for n_turns in range(1, 6):                      # flags that are set as time goes on: no step is skipped
        finished |= score(x)[:, 0] > 0
        if finished.sum().item() == 40:
            break
    true(n_turns == 5 and len(x[finished]) == finished.sum().item())
    chosen = torch.zeros(40, dtype=torch.bool, device=CARD)
    chosen[score(x)[:, 0].topk(8).indices] = True    # a mask that is not known
    true(chosen.sum().item() == len(x[chosen]))
    ends = torch.empty(6, dtype=torch.long, device=CARD)
    ends[0] = 0
    torch.cumsum(torch.full((5,), 7, device=CARD), 0, out=ends[1:])
    true(ends.tolist() == [0, 7, 14, 21, 28, 35])    # known, with no guess
    true(torch.sort(ends, descending=True, out=(zeros(0), zeros(0)))[0].tolist() == [35, 28, 21, 14, 7, 0])
    ends[1:3] = score(x)[:2, 0].long()
    true(ends.tolist() == [0] * 6)                   # not known any more
    library = torch.library.Library("replay", "FRAGMENT")
    library.define("fill(Tensor(a!) x) -> ()")
    library.impl("fill", lambda x: None, "CUDA")
    raw = torch.empty(4, dtype=torch.long, device=CARD)
    torch.ops.replay.fill(raw)                       # writes what nobody sees
    raw[0] = 5
    true(raw.tolist() == [0] * 4)


def looked_up():
    """Known integers at places that are not known: they are values of the source, from the least to the largest."""
    score = torch.nn.Linear(8, 1).to(CARD)
    x = torch.randn(60, 8, device=CARD)
    batch = (torch.arange(60) // 10).to(CARD)
    order = score(x)[:, 0].argsort()
    for moved in batch[order], batch.index_select(0, order), torch.gather(batch, 0, order), \
            torch.take_along_dim(batch, order, 0), torch.stack([batch, batch])[:, order][1]:
        true(moved.max().item() == 5 and moved.unique().numel() == 6 and torch.bincount(moved).tolist() == [10] * 6)
    best = batch[score(x)[:, 0].topk(24).indices]
    true(int(best.max()) == 5 and int(best.min()) == 0 and torch.unique_consecutive(best.sort().values).numel() == 6)
    lengths = torch.tensor([3, 9, 4, 7, 5, 2]).to(CARD)[score(x[:6])[:, 0].argsort()]
    inside = torch.arange(int(lengths.max()), device=CARD) < lengths[:, None]
    true(inside.shape == (6, 9) and inside.sum().item() == 30 and torch.repeat_interleave(lengths).numel() == 30)
    true(batch[score(x)[:, 0].argmax()].item() == 0)                         # one place is not guessed
    n = 0
    while batch[score(x)[:, 0].argsort()].max().item() > 0:                  # and a loop that waits for them ends
        n += 1
    true(n < 20)


def placed():
    """Places that a sort gave differ: what is written to them has a count, and so has a mask of ranks."""
    score = torch.nn.Linear(8, 40).to(CARD)
    x = torch.randn(6, 8, device=CARD)
    zeros = functools.partial(torch.zeros, 6, 40, dtype=torch.bool, device=CARD)
    best = functools.partial(torch.topk, k=5, dim=1)

    def by_rows():
        kept = zeros()
        kept[torch.arange(6, device=CARD)[:, None], best(score(x)).indices] = True
        return kept

    def dropped():
        kept = ~zeros()
        kept.view(-1)[score(x).flatten().argsort()[:210]] = False
        return kept

    def random_masking():
        order = score(x).argsort(1)
        kept = torch.zeros(6, 40, device=CARD)
        kept[:, :5] = 1
        return kept.gather(1, order.argsort(1)).bool()

    ways = (by_rows, dropped, random_masking,
            lambda: zeros().scatter(1, best(score(x)).indices, True),
            lambda: zeros().scatter_(1, score(x).sort(descending=True)[1][:, :5], True),
            lambda: zeros().view(-1).index_fill_(0, score(x).flatten().topk(30)[1], True).view(6, 40),
            lambda: ~(~zeros()).scatter_(1, best(score(x)).indices, False),
            lambda: score(x).argsort(1).argsort(1) < 5)
    for i, way in enumerate(ways):
        kept = way()
        true(kept.sum().item() == 30 == len(zeros()[kept]) == kept.nonzero().shape[0], i)
        true(bool(kept.any()) and not bool(kept.all()) and zeros()[~kept].shape[0] == 210, i)
    true(len(set(score(x)[0].topk(5).indices.tolist())) == 5)
    twice = by_rows()
    twice.scatter_(1, best(score(x)).indices, True)  # how many of them are new nobody knows
    true(len(zeros()[twice]) == 240)


def generate():
    """Transformers' generate() ends: at the length asked for, and before it if all sentences have ended."""
    from transformers import LlamaConfig, LlamaForCausalLM, StoppingCriteria, StoppingCriteriaList
    model = LlamaForCausalLM(LlamaConfig(vocab_size=1000, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                         num_attention_heads=4)).to(CARD).eval()
    ids = torch.randint(3, 1000, (2, 16)).to(CARD)
    for how in {}, {"do_sample": True}, {"do_sample": True, "top_k": 5, "top_p": 0.9}:
        out = model.generate(ids, max_new_tokens=8, pad_token_id=0, eos_token_id=2, **how)
        true(out.shape == (2, 24))
        true(model.generate(ids, max_new_tokens=8, eos_token_id=None, **how).shape == (2, 24))

    forward, calls = model.forward, []
    model.forward = lambda *args, **kwargs: calls.append(0) or forward(*args, **kwargs)
    true(model.generate(ids, max_new_tokens=20, num_beams=2).shape[1] == 36 and len(calls) == 20)
    model.forward = forward

    class Third(StoppingCriteria):
        def __call__(self, ids, scores, **_):
            return torch.full((ids.shape[0],), ids.shape[1] >= 19, dtype=torch.bool, device=CARD)
    out = model.generate(ids, attention_mask=ids != 0, max_new_tokens=8,
                         stopping_criteria=StoppingCriteriaList([Third()]))
    true(out.shape == (2, 19))
    mask = torch.ones_like(ids)
    mask[0, :4] = 0
    true(model.generate(ids, attention_mask=mask, max_new_tokens=4).shape == (2, 20))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        globals()[name]()
        print("true:", name, flush=True)
