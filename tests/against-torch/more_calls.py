# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Calls for operators.py that PyTorch's own tests have no inputs for: layouts, transforms, compilers, classes of
tensors, distributions, optimizers, quantization, torchvision, torchaudio. Each paragraph runs by itself; D is the
device. One that does not run on the host, because a package is not there or is too old, is passed over."""

CALLS = r"""
x = torch.randn(4, 6, device=D)
torch.sparse.sum(x.to_sparse(), 0)
torch.sparse.softmax(x.to_sparse(), 1)
torch.sparse.log_softmax(x.to_sparse(), 1)

x = torch.eye(6).to(D)
s = x.to_sparse_csr()
s @ x
s.to_sparse_csc()
s.to_dense()
s.to_sparse()
torch.sparse.sampled_addmm(s, x, x)
s.sum()
s * 2
s.t()
s.transpose(0, 1).to_dense()

x = torch.eye(8).to(D)
s = x.to_sparse_bsr((2, 2))
s @ x
s.to_dense()
s.values().shape

x = torch.eye(6).to(D).to_sparse()
(x + x).coalesce()
x * 2
x.sum()
x.t()
torch.cat([x, x])
x.to_dense()
x.clone()
x.index_select(0, torch.tensor([1, 2]).to(D))
x[1]
x.unsqueeze(0)
x.is_coalesced()
x.sparse_mask(x) if hasattr(x, 'sparse_mask') else 0
torch.sparse.mm(x, x)
x.requires_grad_().coalesce().values()

x = torch.eye(6).to(D).to_sparse()
y = torch.randn(6, 6, device=D)
y.sparse_mask(x.coalesce())
torch.hspmm(x, y)
torch.addmm(y, x, y)

m = nn.Embedding(50, 8, sparse=True).to(D)
o = torch.optim.SparseAdam(list(m.parameters()))
m(torch.randint(0, 50, (9,)).to(D)).sum().backward()
o.step()
m.weight.grad.coalesce().values()

m = nn.Embedding(50, 8, sparse=True).to(D)
o = torch.optim.Adagrad(m.parameters())
m(torch.randint(0, 50, (9,)).to(D)).sum().backward()
o.step()

m = nn.Embedding(50, 8, sparse=True).to(D)
o = torch.optim.SGD(m.parameters(), 0.1)
m(torch.randint(0, 50, (9,)).to(D)).sum().backward()
o.step()

n = torch.nested.nested_tensor([torch.randn(3, 4), torch.randn(2, 4)], layout=torch.jagged, device=D)
n.unbind()

n = torch.nested.nested_tensor([torch.randn(3, 4), torch.randn(2, 4)], layout=torch.jagged).to(D)
n.to_padded_tensor(0.0)
n.unbind()
(n * 2).sum()
F.linear(n, torch.randn(5, 4, device=D))
n.values()

n = torch.nested.nested_tensor_from_jagged(torch.randn(10, 4, device=D), torch.tensor([0, 3, 7, 10]).to(D))
n.unbind()
(n + 1).unbind()[0]
F.layer_norm(n, (4,))
n.mean()
n.max()

n = torch.nested.nested_tensor_from_jagged(torch.randn(10, 4, device=D), lengths=torch.tensor([3, 4, 3]).to(D))
n.to_padded_tensor(0.)

q = torch.quantize_per_tensor(torch.randn(4, 4), 0.1, 0, torch.quint8).to(D)
q.dequantize()
q.int_repr()
q.clone()
q.shape
q.cpu()
q[0]
q.view(2, 8)

q = torch.quantize_per_channel(torch.randn(4, 4), torch.rand(4) + .1, torch.zeros(4, dtype=torch.long), 0,
    torch.qint8).to(D)
q.dequantize()
q.int_repr()
q.q_per_channel_scales()

x = torch.randn(4, 4, device=D)
torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127)
torch.fake_quantize_per_channel_affine(x, torch.ones(4, device=D), torch.zeros(4, device=D, dtype=torch.int32), 0,
    -128, 127)

import torch.ao.quantization as Q
o = Q.MinMaxObserver().to(D)
o(torch.randn(3, 4, device=D))
o.calculate_qparams()

import torch.ao.quantization as Q
o = Q.MovingAveragePerChannelMinMaxObserver().to(D)
o(torch.randn(3, 4, device=D))
o.calculate_qparams()

import torch.ao.quantization as Q
o = Q.HistogramObserver().to(D)
o(torch.randn(3, 4, device=D))
o.calculate_qparams()

import torch.ao.quantization as Q
m = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).train()
m.qconfig = Q.get_default_qat_qconfig('fbgemm')
m = Q.prepare_qat(m).to(D)
m(torch.randn(2, 4, device=D)).sum().backward()

x = torch.randn(3, 4).to_mkldnn()
x.to_dense().to(D)

torch.empty(3, device='meta').sum()
nn.Linear(3, 3, device='meta').to_empty(device=D)

from torch._subclasses.fake_tensor import FakeTensorMode
m = FakeTensorMode()
a = m.from_tensor(torch.randn(3, 4, device=D))
(a @ a.T).sum()
a.to('cpu')

from torch._subclasses.fake_tensor import FakeTensorMode
m = FakeTensorMode()
m.__enter__()
a = torch.randn(3, 4, device=D)
b = (a * 2).nonzero
m.__exit__(None, None, None)
b.shape

f = lambda x: (x * 2).sum()
x = torch.randn(3, 4, device=D)
torch.func.vmap(f)(x)
torch.func.grad(f)(x)
torch.func.jacrev(f)(x)
torch.func.jacfwd(f)(x)
torch.func.hessian(f)(x[0])
torch.func.vjp(f, x)[1](torch.ones((), device=D))
torch.func.jvp(f, (x,), (x,))
torch.func.functionalize(f)(x)
torch.func.linearize(f, x)

x = torch.arange(12).view(3, 4).to(D)
torch.func.vmap(lambda v: v.sum())(x)
torch.func.vmap(lambda v: v[torch.tensor([0, 1]).to(D)])(x)
torch.vmap(lambda v: torch.where(v > 2, v, 0))(x)
torch.func.vmap(lambda v: v.cumsum(0))(x)

x = torch.randn(3, 4, device=D)
torch.func.vmap(lambda v: v + torch.rand((), device=D), randomness='different')(x)
torch.func.vmap(torch.func.grad(lambda v: (v ** 2).sum()))(x)

m = nn.Linear(4, 3).to(D)
p = dict(m.named_parameters())
torch.func.functional_call(m, p, (torch.randn(2, 4, device=D),))
torch.func.stack_module_state([nn.Linear(4, 3).to(D), nn.Linear(4, 3).to(D)])

f = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU()).to(D))
f(torch.randn(2, 4, device=D)).sum().backward()
f(torch.randn(2, 4, device=D))

f = torch.jit.trace(nn.Linear(4, 4).to(D), torch.randn(2, 4, device=D))
f(torch.randn(2, 4, device=D))
torch.jit.freeze(f.eval())(torch.randn(2, 4, device=D))

e = torch.export.export(nn.Linear(4, 4).to(D), (torch.randn(2, 4, device=D),))
e.module()(torch.randn(2, 4, device=D))
e.run_decompositions()

from torch.fx.experimental.proxy_tensor import make_fx
make_fx(lambda x: x * 2 + 1)(torch.randn(3, device=D))
make_fx(lambda x: x.sum(), tracing_mode='fake')(torch.ones(3, device=D))
make_fx(lambda x: x + 1, tracing_mode='symbolic')(torch.arange(3).to(D))

f = torch.compile(lambda x: (x * 2).sum() + 1, backend='eager')
f(torch.randn(3, device=D))
f(torch.arange(4).to(D))
f(torch.randn(5, device=D))

f = torch.compile(nn.Linear(4, 4).to(D), backend='aot_eager')
f(torch.randn(2, 4, device=D)).sum().backward()

class T(torch.Tensor): pass
x = torch.randn(3, device=D).as_subclass(T)
(x + 1).sum()
x.to(D)
x.nonzero()
x.item

class T(torch.Tensor):
    @classmethod
    def __torch_function__(cls, f, t, a=(), k=None): return super().__torch_function__(f, t, a, k or {})
x = torch.arange(3).to(D).as_subclass(T)
(x + 1).tolist()
x.sum().item()
torch.unique(x)

from torch.testing._internal.two_tensor import TwoTensor
x = TwoTensor(torch.randn(3, device=D), torch.randn(3, device=D))
(x * 2).sum()
x.to(D)
x.view(3, 1)
x.detach()
x.clone()

from torch.masked import masked_tensor
m = masked_tensor(torch.randn(4, device=D), torch.tensor([True, False, True, True]).to(D))
m.sum()
m * 2
m.to_tensor(0)

import torch.distributions as d
n = d.Normal(torch.zeros(3, device=D), torch.ones(3, device=D))
x = n.rsample((2,))
n.log_prob(x)
n.entropy()
n.cdf(x)
d.kl_divergence(n, n)

import torch.distributions as d
c = d.Categorical(logits=torch.randn(3, 5, device=D))
x = c.sample()
c.log_prob(x)
c.entropy()
d.OneHotCategorical(logits=torch.randn(3, 5, device=D)).sample()
d.RelaxedOneHotCategorical(torch.tensor(1.).to(D), logits=torch.randn(3, 5, device=D)).rsample()

import torch.distributions as d
b = d.Bernoulli(torch.rand(3, device=D))
b.log_prob(b.sample())
d.Beta(torch.ones(3, device=D), torch.ones(3, device=D)).rsample()
d.Gamma(torch.ones(3, device=D), torch.ones(3, device=D)).rsample()
d.Dirichlet(torch.ones(3, device=D)).rsample()
d.Poisson(torch.ones(3, device=D)).sample()

import torch.distributions as d
m = d.MultivariateNormal(torch.zeros(3, device=D), torch.eye(3, device=D))
x = m.rsample()
m.log_prob(x)
m.entropy()
d.LowRankMultivariateNormal(torch.zeros(3, device=D), torch.ones(3, 1, device=D), torch.ones(3, device=D)).rsample()

import torch.distributions as d
m = d.MixtureSameFamily(d.Categorical(torch.ones(3, device=D)), d.Normal(torch.zeros(3, device=D), torch.ones(3,
    device=D)))
m.log_prob(m.sample())
d.TransformedDistribution(d.Normal(torch.zeros(3, device=D), 1.), [d.ExpTransform(), d.AffineTransform(1.,
    2.)]).rsample()

import torch.distributions as d
d.StudentT(torch.tensor(3.).to(D)).rsample()
d.VonMises(torch.tensor(0.).to(D), torch.tensor(1.).to(D)).sample()
d.Wishart(torch.tensor(4.).to(D), torch.eye(3, device=D)).rsample()
d.LKJCholesky(3, torch.tensor(1.).to(D)).sample()
d.Multinomial(4, torch.ones(3, device=D)).sample()
d.Binomial(4, torch.ones(3, device=D) * .5).sample()
d.Geometric(torch.tensor(.4).to(D)).sample()
d.Uniform(torch.zeros(2, device=D), torch.ones(2, device=D)).sample()
d.Cauchy(torch.zeros(2, device=D), torch.ones(2, device=D)).sample()
d.Laplace(torch.zeros(2, device=D), torch.ones(2, device=D)).sample()
d.Weibull(torch.ones(2, device=D), torch.ones(2, device=D)).sample()
d.Gumbel(torch.zeros(2, device=D), torch.ones(2, device=D)).sample()

l = torch.tensor([5, 3]).to(D)
p = nn.utils.rnn.pack_padded_sequence(torch.randn(5, 2, 4, device=D), l.cpu())
o, h = nn.LSTM(4, 6).to(D)(p)
nn.utils.rnn.pad_packed_sequence(o)

F.ctc_loss(torch.randn(50, 2, 20, device=D).log_softmax(2), torch.randint(1, 20, (2, 6)).to(D), torch.tensor([50,
    40], dtype=torch.int32).to(D), torch.tensor([6, 3], dtype=torch.int32).to(D))

F.ctc_loss(torch.randn(50, 2, 20, device=D).log_softmax(2), torch.randint(1, 20, (2, 6)).to(D), torch.tensor([50,
    40]).to(D), torch.tensor([6, 3]).to(D))

m = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10]).to(D)
m(torch.randn(4, 8, device=D), torch.randint(0, 20, (4,)).to(D)).loss.backward()
m.predict(torch.randn(4, 8, device=D))
m.log_prob(torch.randn(4, 8, device=D))

m = nn.MultiheadAttention(8, 2, batch_first=True).to(D)
m(*[torch.randn(2, 5, 8, device=D)] * 3, key_padding_mask=torch.tensor([[False] * 4 + [True]] * 2).to(D))

m = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).to(D).eval()
m(torch.randn(2, 5, 8, device=D), src_key_padding_mask=torch.tensor([[False] * 4 + [True]] * 2).to(D))

m = nn.Linear(4, 4).to(D)
nn.utils.parametrizations.orthogonal(m)
m(torch.randn(2, 4, device=D)).sum().backward()

m = nn.Linear(4, 4).to(D)
nn.utils.parametrizations.spectral_norm(m)
m(torch.randn(2, 4, device=D)).sum().backward()

m = nn.Linear(4, 4).to(D)
nn.utils.parametrizations.weight_norm(m)
m(torch.randn(2, 4, device=D)).sum().backward()
import torch.nn.utils.prune as p
p.l1_unstructured(nn.Linear(4, 4).to(D), 'weight', 0.5)
p.ln_structured(nn.Linear(4, 4).to(D), 'weight', 0.5, 2, 0)

w = torch.nn.init
[f(torch.empty(6, 6, device=D)) for f in (w.orthogonal_, w.kaiming_normal_, w.xavier_uniform_, w.trunc_normal_,
    lambda t: w.sparse_(t, 0.5), w.eye_)]

p = [nn.Parameter(torch.randn(3, device=D))]
o = torch.optim.LBFGS(p)
o.step(lambda: (o.zero_grad(), (l := (p[0] ** 2).sum()).backward(), l)[2])

p = [nn.Parameter(torch.randn(3, device=D))]
o = torch.optim.LBFGS(p, line_search_fn='strong_wolfe')
o.step(lambda: (o.zero_grad(), (l := (p[0] ** 2).sum()).backward(), l)[2])

for O in (torch.optim.Adam, torch.optim.AdamW, torch.optim.NAdam, torch.optim.RAdam, torch.optim.Adamax,
    torch.optim.RMSprop, torch.optim.Rprop, torch.optim.ASGD, torch.optim.Adadelta, torch.optim.Adafactor,
    torch.optim.SGD):
    p = [nn.Parameter(torch.randn(3, 4, device=D))]
    o = O(p, lr=torch.tensor(0.1) if O is torch.optim.Adam else 0.1)
    (p[0] ** 2).sum().backward()
    o.step()
    o.state_dict()
    o.load_state_dict(o.state_dict())

s = torch.amp.GradScaler('cpu' if D == 'cpu' else 'cuda')
p = [nn.Parameter(torch.randn(3, device=D))]
o = torch.optim.SGD(p, .1)
s.scale((p[0] ** 2).sum()).backward()
s.step(o)
s.update()
s.get_scale()
s.state_dict()

import torchvision.ops as v
b = torch.tensor([[0., 0., 10., 10.], [1., 1., 9., 9.], [20., 20., 30., 30.]]).to(D)
v.nms(b, torch.rand(3, device=D), 0.5)
v.box_iou(b, b)
v.batched_nms(b, torch.rand(3, device=D), torch.tensor([0, 0, 1]).to(D), .5)
v.remove_small_boxes(b, 1.)
v.generalized_box_iou(b, b)
v.masks_to_boxes(torch.ones(2, 5, 5).bool().to(D))

import torchvision.ops as v
x = torch.randn(1, 3, 16, 16, device=D, requires_grad=True)
r = [torch.tensor([[0., 0., 10., 10.]]).to(D)]
v.roi_align(x, r, 4).sum().backward()
v.roi_pool(x, r, 4)
v.ps_roi_align(torch.randn(1, 4, 16, 16, device=D), r, 2)
v.ps_roi_pool(torch.randn(1, 4, 16, 16, device=D), r, 2)
v.DeformConv2d(3, 3, 3).to(D)(x, torch.zeros(1, 18, 14, 14, device=D))

import torchvision
m = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None,
    num_classes=3).to(D)
m([torch.rand(3, 64, 64, device=D)], [dict(boxes=torch.tensor([[1., 1., 30., 30.]]).to(D),
    labels=torch.tensor([1]).to(D))])

import torchvision
m = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None,
    num_classes=3).to(D).eval()
m([torch.rand(3, 64, 64, device=D)])

import torchaudio
torchaudio.transforms.MelSpectrogram(16000, n_fft=400, n_mels=20).to(D)(torch.randn(1, 4000, device=D))
torchaudio.transforms.Resample(16000, 8000).to(D)(torch.randn(1, 4000, device=D))
torchaudio.functional.lfilter(torch.rand(1, 100, device=D), torch.tensor([1., .1]).to(D), torch.tensor([1.,
    .2]).to(D))
torchaudio.transforms.PitchShift(16000, 2).to(D)(torch.randn(1, 4000, device=D))

import torchaudio
torchaudio.functional.forced_align(torch.randn(1, 20, 5, device=D).log_softmax(-1), torch.tensor([[1, 2, 3]],
    dtype=torch.int32).to(D), torch.tensor([20]).to(D), torch.tensor([3]).to(D), 0)

import torchaudio
torchaudio.functional.rnnt_loss(torch.randn(1, 10, 4, 5, device=D), torch.tensor([[1, 2, 3]],
    dtype=torch.int32).to(D), torch.tensor([10], dtype=torch.int32).to(D), torch.tensor([3], dtype=torch.int32).to(D))

torch.save({'a': torch.arange(3).to(D)}, '/tmp/_more.pt')
torch.load('/tmp/_more.pt')
torch.load('/tmp/_more.pt', map_location='cpu')
import copy, pickle
copy.deepcopy(torch.eye(3).to(D).to_sparse())
pickle.loads(pickle.dumps(torch.arange(3).to(D)))

str(torch.arange(3).to(D))
repr(torch.randn(3, 4, device=D))
str(torch.eye(3).to(D).to_sparse())
format(torch.tensor(3.).to(D), '.2f')
print(torch.quantize_per_tensor(torch.randn(2), .1, 0, torch.qint8).to(D), file=open('/dev/null', 'w'))

x = torch.arange(3).to(D)
import torch.utils.dlpack as l
l.from_dlpack(l.to_dlpack(x))
torch.from_dlpack(x)
x.numpy() if D == 'cpu' else x.cpu().numpy()
x.storage()
x.__array__() if D == 'cpu' else 0

import torch.nn.attention.flex_attention as fa
q = torch.randn(1, 2, 128, 16, device=D)
b = fa.create_block_mask(lambda b, h, q, k: q >= k, None, None, 128, 128, device=D)
fa.flex_attention(q, q, q, block_mask=b)

x = torch.randn(3, 4, device=D, dtype=torch.complex64)
x.conj().imag
x.abs()
torch.view_as_real(x)
x.conj().resolve_conj()
torch.linalg.eigvals(torch.randn(3, 3, device=D, dtype=torch.complex64))
x.tolist()

from torch.utils.checkpoint import checkpoint, checkpoint_sequential
m = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)).to(D)
checkpoint(m, torch.randn(2, 4, device=D, requires_grad=True), use_reentrant=False).sum().backward()
checkpoint_sequential(m, 2, torch.randn(2, 4, device=D, requires_grad=True), use_reentrant=True).sum().backward()

with torch.autograd.graph.save_on_cpu(): y = (torch.randn(3, device=D, requires_grad=True) ** 2).sum()
y.backward()

with torch.autograd.detect_anomaly(): (torch.randn(3, device=D, requires_grad=True) ** 2).sum().backward()

with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as p: torch.randn(3, device=D).sum()
p.key_averages()

torch.autograd.gradcheck(lambda x: x * 2, torch.randn(2, device=D, dtype=torch.double,
    requires_grad=True)) if D == 'cpu' else 0

from torch.autograd.functional import jacobian, hessian, hvp
f = lambda x: (x ** 3).sum()
x = torch.randn(3, device=D)
jacobian(f, x)
hessian(f, x)
hvp(f, x, x)

from torch.nn.utils import clip_grad_norm_, parameters_to_vector, vector_to_parameters
m = nn.Linear(3, 3).to(D)
m(torch.randn(2, 3, device=D)).sum().backward()
clip_grad_norm_(m.parameters(), 1.0, error_if_nonfinite=True)
vector_to_parameters(parameters_to_vector(m.parameters()), m.parameters())

torch.utils.data.default_collate([torch.arange(3).to(D)] * 2)
list(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(8).to(D)), batch_size=3, shuffle=True))
torch.utils.data.random_split(range(10), [3, 7])

from torch.optim.swa_utils import AveragedModel, update_bn
m = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).to(D)
a = AveragedModel(m)
a.update_parameters(m)
update_bn([torch.randn(8, 4, device=D)], a)

x = torch.arange(10).to(D)
x[x > 3]
x[torch.tensor([True] * 10).to(D)] = 1
x.masked_fill_(x == 1, 2)
x.index_put_((torch.tensor([1, 2]).to(D),), torch.tensor(5).to(D))
x.scatter_add_(0, torch.tensor([0, 1]).to(D), torch.tensor([1, 1]).to(D))
x.put_(torch.tensor([1]).to(D), torch.tensor([4]).to(D))
torch.bucketize(x, x.sort().values)
torch.searchsorted(x.sort().values, 3)
torch.histogram(x.float().cpu(), 4)
torch.combinations(x)
torch.cartesian_prod(x, x)
torch.triu_indices(3, 3, device=D)
torch.meshgrid(x, x, indexing='ij')
torch.tensor_split(x, 3)
torch.block_diag(x.view(2, 5))
list(x)
len(x)
3 in x
max(x)
sum(x)

torch.export.export(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).to(D).eval(), (torch.randn(1, 3, 8, 8,
    device=D),)).graph_module.code

torch.cond(torch.tensor(True).to(D), lambda x: x + 1, lambda x: x - 1, (torch.ones(2, device=D),))

from torch.utils.flop_counter import FlopCounterMode
with FlopCounterMode(display=False) as f: nn.Linear(4, 4).to(D)(torch.randn(2, 4, device=D))
f.get_total_flops()

from torch.utils._python_dispatch import TorchDispatchMode
class M(TorchDispatchMode):
    def __torch_dispatch__(self, f, t, a=(), k=None): return f(*a, **(k or {}))
with M(): x = torch.arange(5).to(D); (x + 1).sum().item(); x[x > 2]; x.unique()

from torch.overrides import TorchFunctionMode
class M(TorchFunctionMode):
    def __torch_function__(self, f, t, a=(), k=None): return f(*a, **(k or {}))
with M(): x = torch.arange(5).to(D); (x + 1).sum().item(); x[x > 2]; x.unique(); x.eye

with torch.device(D): x = torch.arange(4); torch.nn.Linear(3,
    3); x[x > 1]; torch.eye(3).to_sparse(); torch.tensor([1, 2]).tolist()

import random
torch.manual_seed(1)
torch.randperm(100, device=D)[:3].tolist()
torch.randint(0, 5, (3,), device=D).bincount()
torch.rand(3, device=D).multinomial(2)
torch.bernoulli(torch.full((3,), .5, device=D)).nonzero()
torch.empty(3, device=D).geometric_(.5)
torch.empty(3, device=D).log_normal_()
torch.get_rng_state()
torch.Generator(D).manual_seed(3)
torch.randn(2, generator=torch.Generator(D), device=D)
torch.poisson(torch.ones(3, device=D))
torch.binomial(torch.ones(3, device=D), torch.ones(3, device=D) * .5)
""".strip().split("\n\n")
