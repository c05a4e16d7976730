# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""JAX programs for run.py: programs.py NAME prints what JAX's allocator held after each step, a line of JSON each."""
import json
import sys

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

KEYS = "num_allocs", "peak_bytes_in_use", "largest_alloc_size", "pool_bytes", "bytes_limit"
PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def note(tree):
    jax.block_until_ready(tree)
    stats = jax.devices()[0].memory_stats()
    print(json.dumps({key: stats.get(key) for key in KEYS}), flush=True)


def train(loss, weights, x, steps=3, **options):
    step = jax.jit(lambda w, x: jax.tree.map(lambda a, b: a - 1e-3 * b, w, jax.grad(loss)(w, x)), **options)
    for _ in range(steps):
        weights = step(weights, x)
        note(weights)


@program
def mlp():
    """Four layers of 1024, a jitted step."""
    def loss(ws, x):
        for w in ws:
            x = jax.nn.relu(x @ w)
        return (x ** 2).mean()
    train(loss, [jnp.ones((1024, 1024)) for _ in range(4)], jnp.ones((512, 1024)))


@program
def scan_remat_donated():
    """`lax.scan` of `jax.checkpoint`, weights donated."""
    def loss(ws, x):
        return (jax.lax.scan(jax.checkpoint(lambda x, w: (jnp.tanh(x @ w), None)), x, ws)[0] ** 2).mean()
    train(loss, jnp.ones((6, 512, 512)), jnp.ones((256, 512)), donate_argnums=0)


@program
def convolutions():
    """Two convolutions and their gradients."""
    def loss(ks, x):
        for k in ks:
            x = jax.nn.relu(jax.lax.conv_general_dilated(x, k, (1, 1), "SAME",
                                                         dimension_numbers=("NHWC", "HWIO", "NHWC")))
        return (x ** 2).mean()
    train(loss, (jnp.ones((3, 3, 3, 32)), jnp.ones((3, 3, 32, 64))), jnp.ones((16, 64, 64, 3)))


@program
def attention():
    """`jax.nn.dot_product_attention` by XLA, and its gradient."""
    grad = jax.jit(jax.grad(lambda q: jax.nn.dot_product_attention(q, q, q, is_causal=True).astype("float32").mean()))
    for _ in range(2):
        note(grad(jnp.ones((4, 512, 8, 64), jnp.bfloat16)))


@program
def control():
    """`while_loop` and `cond`."""
    def body(c):
        return c[0] + 1, jnp.sin(c[1] @ c[1])
    x = jnp.ones((128, 128))
    note(jax.jit(lambda x: jax.lax.while_loop(lambda c: c[0] < 3, body, (0, x)))(x))
    note(jax.jit(lambda p, x: jax.lax.cond(p, lambda x: x @ x, lambda x: x + 1, x))(True, x))


@program
def linear_algebra():
    """Cholesky, SVD, eigenvalues, QR, FFT, sort."""
    a = jnp.eye(64)
    note([jnp.linalg.cholesky(a), jnp.linalg.svd(a), jnp.linalg.eigh(a), jnp.linalg.qr(a)])
    note([jnp.fft.fft(jnp.ones((16, 1024))), jnp.argsort(jnp.ones(100000))])


@program
def optax_adam():
    """Adam of optax over two layers."""
    import optax
    weights, adam = [jnp.ones((512, 512)) for _ in range(2)], optax.adam(1e-3)

    def step(ws, s, x):
        updates, s = adam.update(jax.grad(lambda ws: ((jnp.tanh(x @ ws[0]) @ ws[1]) ** 2).mean())(ws), s, ws)
        return optax.apply_updates(ws, updates), s
    step, state = jax.jit(step), adam.init(weights)
    for _ in range(3):
        weights, state = step(weights, state, jnp.ones((64, 512)))
        note(weights)


@program
def flax_cnn():
    """A module of flax with GroupNorm, optax's SGD."""
    import flax.linen as nn
    import optax

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.relu(nn.GroupNorm(8)(nn.Conv(32, (3, 3))(x)))
            return nn.Dense(10)(nn.max_pool(x, (2, 2), (2, 2)).mean((1, 2)))
    net, x = Net(), jnp.ones((8, 32, 32, 3))
    train(lambda p, x: optax.l2_loss(net.apply(p, x)).mean(), net.init(jax.random.key(0), x), x)


@program
def equinox_mlp():
    """An MLP of equinox."""
    import equinox as eqx
    model = eqx.nn.MLP(64, 64, 256, 2, key=jax.random.key(0))
    grad = eqx.filter_jit(eqx.filter_grad(lambda m, x: (jax.vmap(m)(x) ** 2).mean()))
    for _ in range(2):
        note(jax.tree.leaves(eqx.filter(grad(model, jnp.ones((32, 64))), eqx.is_array)))


@program
def two_cards():
    """A batch sharded over two cards, and `pmap` with `psum`."""
    mesh = Mesh(jax.devices(), ("d",))
    x = jax.device_put(jnp.ones((256, 512)), NamedSharding(mesh, PartitionSpec("d")))
    w = jax.device_put(jnp.ones((512, 512)), NamedSharding(mesh, PartitionSpec()))
    train(lambda w, x: ((x @ w) ** 2).mean(), w, x, steps=2)
    note(jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(jnp.ones((jax.device_count(), 128))))


@program
def four_cards():
    """Weights and batch sharded over four cards by `shard_map`, with a `psum`."""
    mesh = Mesh(jax.devices(), ("d",))
    split = PartitionSpec("d")
    x = jax.device_put(jnp.ones((512, 1024)), NamedSharding(mesh, split))
    w = jax.device_put(jnp.ones((1024, 512)), NamedSharding(mesh, split))

    def step(w, x):
        whole = jax.lax.all_gather(w, "d", tiled=True)
        return w - 1e-3 * jax.lax.psum((x @ whole).sum(), "d")
    step = jax.jit(jax.shard_map(step, mesh=mesh, in_specs=(split, split), out_specs=split))
    for _ in range(2):
        w = step(w, x)
        note(w)


@program
def pallas():
    """A kernel of Pallas that adds two arrays, by Triton."""
    from jax.experimental import pallas as pl

    def add(x, y, out):
        out[...] = x[...] + y[...]
    call = jax.jit(lambda x, y: pl.pallas_call(add, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(4,),
                                               in_specs=[pl.BlockSpec((256,), lambda i: (i,))] * 2,
                                               out_specs=pl.BlockSpec((256,), lambda i: (i,)))(x, y))
    note(call(jnp.ones(1024), jnp.ones(1024)))


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
