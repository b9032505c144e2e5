"""jax-*: what jax2tf exports, whose computation is a StableHLO module in one XlaCallModule node.
jax-graph-*: what it exports as a graph, with XLA's operators among TensorFlow's.

    PYTHON scripts/golden/make_jax.py [NAME ...]     # PYTHON: tensorflow-cpu==2.15.1 'numpy<2' jax==0.4.23 jaxlib==0.4.23

Also the modules that the reader of their bytecode is tested with: tests/fuzz/corpus/stablehlo/NAME.
"""
import os
import sys

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf
from jax.experimental import jax2tf

import case
from answers import function_answers
from stablehlo import keep_module

PROVENANCE = ("Made by scripts/golden/make_jax.py with TensorFlow %s and JAX %s on CPU, seeded random weights; answers by "
              "TensorFlow's own run of the module.  Apache-2.0, like the project." % (tf.__version__, jax.__version__))
CASES = {}


def weights(seed, **shapes):
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=shape).astype("f4") * 0.4 for name, shape in shapes.items()}


def export(name, function, params, inputs, covers, batches=(1, 3, 7), polymorphic=None, graph=False, **options):
    """inputs: {name: (shape of a row, dtype, values)}; a batch stands before the shape unless `polymorphic` says otherwise.

    graph: operators in place of a module, which XLA compiles all the same.
    """
    def make():
        folder = case.start(name)
        module = tf.Module()
        module.params = tf.nest.map_structure(tf.Variable, params)
        names = list(inputs)
        shapes = polymorphic or ["b" + ", _" * len(inputs[n][0]) for n in names]
        converted = jax2tf.convert(function, polymorphic_shapes=[None] + shapes, with_gradient=False,
                                   native_serialization=not graph, **options)
        specs = [tf.TensorSpec([None if s[:1] == "b" else batches[0], *inputs[n][0]], inputs[n][1], name=n)
                 for n, s in zip(names, (s or "" for s in shapes))]

        @tf.function(autograph=False, input_signature=specs, jit_compile=graph or None)
        def serve(*arguments):
            outputs = converted(module.params, *arguments)
            return {alias: tf.cast(y, tf.float32) if y.dtype in (tf.bfloat16, tf.float16) else y for alias, y in outputs.items()}

        case.save(folder, module, serve, shapes=graph and shapes[0] is not None)  # which products are of matrices
        rng = np.random.default_rng(7)
        feeds = [{n: np.asarray(values(rng, (b, *shape)), dtype) for n, (shape, dtype, values) in inputs.items()}
                 for b in (batches if shapes[0] else batches[:1])]
        case.add_requests(folder, function_answers(folder + "/model", feeds))
        if graph:
            case.finish(folder, covers, PROVENANCE)
        else:
            rows = 0 if shapes[0] else batches[0] + 2
            case.add_errors(folder, function_refusals(folder + "/model", [{n: np.zeros((rows, *shape), dtype) for n, (shape, dtype, _)
                                                                          in inputs.items()}]))
            case.finish(folder, covers, PROVENANCE, extra={"errors": "errors"})
            keep_module(name, folder + "/model/saved_model.pb")
    CASES[name] = make


def function_refusals(model, requests):
    """Requests of no row, or of another batch than the module's: TensorFlow's errors."""
    refused = []
    for feed in requests:
        try:
            function_answers(model, [feed])
        except (tf.errors.OpError, TypeError, ValueError) as error:
            refused.append((feed, error))
    assert len(refused) == len(requests)
    return refused


def normal(rng, shape):
    return rng.normal(size=shape)


def below(limit):
    return lambda rng, shape: rng.integers(0, limit, shape)


def layers(params, x):
    for i in (1, 2):
        x = jax.nn.relu(x @ params["w%d" % i] + params["b%d" % i])
    return {"score": jax.nn.sigmoid(x @ params["w3"] + params["b3"]), "hidden": x}


def norm(x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-6)


def transformer(params, x):
    q, k, v = (jnp.einsum("btd,dhk->bthk", x, params[n]) for n in "qkv")
    scores = jnp.einsum("bthk,bshk->bhts", q, k) / 2.0
    causal = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    attended = jnp.einsum("bhts,bshk->bthk", jax.nn.softmax(jnp.where(causal, scores, -1e9), -1), v)
    x = norm(x + jnp.einsum("bthk,hkd->btd", attended, params["o"]))
    return {"y": norm(x + jax.nn.gelu(x @ params["up"], approximate=False) @ params["down"]),
            "pooled": jax.nn.gelu(x.mean(1)), "peak": x.max(1)}


def gru(params, x):
    def step(h, row):
        z = jax.nn.sigmoid(row @ params["wz"] + h @ params["uz"])
        r = jax.nn.sigmoid(row @ params["wr"] + h @ params["ur"])
        h = (1 - z) * jnp.tanh(row @ params["wn"] + (r * h) @ params["un"]) + z * h
        return h, h
    last, all_ = jax.lax.scan(step, jnp.zeros((x.shape[0], 4)), x.swapaxes(0, 1))
    return {"last": last, "all": all_.swapaxes(0, 1)}


def control(_, x, n):
    a = jax.lax.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, x)
    b = jax.lax.while_loop(lambda s: s[0] < n[0], lambda s: (s[0] + 1, s[1] * 1.1 + a), (0, x))[1]
    c = jax.lax.fori_loop(0, 5, lambda i, v: v + jax.lax.dynamic_index_in_dim(x, i % 3, keepdims=False), jnp.zeros(4))
    return {"if": a, "while": b, "for": c, "case": jax.lax.switch(n[0], [jnp.sin, jnp.cos, jnp.tan], x),
            "map": jax.lax.map(lambda row: row.sum(), x)}


def draws(_, x):
    one, two = jax.random.split(jax.random.PRNGKey(3))
    return {"normal": x + jax.random.normal(one, (3, 6)), "uniform": jax.random.uniform(two, (3, 6)),
            "bernoulli": jax.random.bernoulli(one, 0.3, (5,)), "randint": jax.random.randint(two, (7,), 0, 10),
            "categorical": jax.random.categorical(one, x)}


def retrieval(params, user, items, x):
    u, i = params["user"][user], jnp.take(params["item"], items, axis=0).mean(1)
    h = jnp.concatenate([u, i, x], -1) @ params["w"] + params["b"]
    return {"hidden": jax.nn.gelu(h), "score": jnp.einsum("bd,bd->b", u, i), "log": jax.nn.log_softmax(h),
            "norm": jnp.linalg.norm(h, axis=-1), "own": jnp.take_along_axis(h, user[:, None] % 3, 1),
            "one_hot": jax.nn.one_hot(items, 7), "clipped": jnp.take(params["user"], items + 15, axis=0, mode="clip")}


def experts(params, x):
    gate = x @ params["gate"]
    weight, chosen = jax.lax.top_k(gate, 2)
    each = jnp.einsum("bd,edf->bef", x, params["experts"])
    mixed = jnp.einsum("bke,bk,bef->bf", jax.nn.one_hot(chosen, 4), jax.nn.softmax(weight), each)
    return {"mixed": mixed, "sorted": jnp.sort(gate, -1), "order": jnp.argsort(gate, -1), "best": jnp.argmax(gate, -1),
            "worst": jnp.argmin(gate, -1), "chosen": chosen, "descending": -jnp.sort(-gate, 0)}


def narrow(params, x):
    scale = jnp.max(jnp.abs(x), -1, keepdims=True) / 127
    q = jnp.clip(jnp.round(x / scale), -127, 127).astype(jnp.int8)
    exact = jax.lax.dot_general(q, params["w"], (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
    half = x.astype(jnp.float16) @ params["w"].astype(jnp.float16)
    return {"int8": exact.astype(jnp.float32) * scale, "bfloat16": x.astype(jnp.bfloat16) @ params["w"].astype(jnp.bfloat16),
            "half": half, "bits": exact ^ 0x55, "shifted": exact >> 2,
            "truth": (x > 0) & (x < 1), "uint8": (jnp.abs(x) * 100).astype(jnp.uint8).astype(jnp.int32) % 7,
            "out_of_range": (x * 1e10).astype(jnp.int32), "not_a_number": jnp.log(x).astype(jnp.int32)}


def numbers(_, x, i):
    return {"rounded": jnp.stack([jnp.floor(x), jnp.ceil(x), jnp.round(x), jnp.sign(x), jax.lax.round(x)]),
            "parts": jnp.stack([jnp.mod(x, .3), x // .3, x ** 2, x ** 3, jnp.abs(x) ** 1.5, jnp.cbrt(x), jnp.hypot(x, x)]),
            "angles": jnp.stack([jnp.arctan2(x, 2 * x + 1), jnp.sin(x), jnp.cos(x), jnp.tan(x), jnp.tanh(x), jnp.arctan(x)]),
            "powers": jnp.stack([jnp.exp2(x), jnp.log2(jnp.abs(x) + 1), jnp.expm1(x), jnp.log1p(jnp.abs(x)), jnp.sqrt(jnp.abs(x))]),
            "activations": jnp.stack([jax.nn.swish(x), jax.nn.softplus(x), jax.nn.elu(x), jax.nn.selu(x), jax.nn.hard_swish(x),
                                      jax.nn.leaky_relu(x), jax.nn.relu6(x)]),
            "special": jnp.stack([jax.scipy.special.erf(x), jax.scipy.special.erfinv(jnp.clip(x, -.9, .9)),
                                  jax.scipy.special.gammaln(jnp.abs(x) + .1), jax.scipy.special.digamma(jnp.abs(x) + .1)]),
            "integers": jnp.stack([i // 3, i % 3, jnp.floor_divide(i, -2), i * i - 5, jnp.minimum(i, 2), i // (i - 1), i % (i - 2)]),
            "known": jnp.isnan(x) | jnp.isfinite(x), "places": jnp.searchsorted(jnp.array([-1., 0., 1.]), x)}


def arrays(_, x, i):
    return {"slices": jnp.concatenate([x[:, ::2], x[:, 1:3], x[:, -1:]], 1), "flipped": jnp.flip(x, 1), "rolled": jnp.roll(x, 1, 1),
            "padded": jnp.pad(x, ((0, 0), (1, 2))), "holes": jax.lax.pad(x, 9., ((-1, 1, 0), (1, -2, 2))),
            "tiled": jnp.tile(x, (1, 2)), "repeated": jnp.repeat(x, 2, 1), "indexed": x[i], "pairs": x[i, i],
            "columns": jnp.take(x, i, axis=1, mode="fill"), "windows": x[:, i[:, None]],
            "slice": jax.lax.dynamic_slice(x, (i[0], 0), (2, x.shape[1])),
            "update": jax.lax.dynamic_update_slice(x, jnp.ones((1, 2)), (i[0], i[1])),
            "extremes": jnp.stack([jnp.max(x, 1), jnp.min(x, 1), jnp.prod(x, 1), jnp.std(x, 1), jnp.var(x, 1), jnp.median(x, 1)]),
            "truths": jnp.stack([jnp.all(x > -1, 1), jnp.any(x > 1, 1)]), "sums": jax.nn.logsumexp(x, 1), "upper": jnp.triu(x),
            "turned": x.T @ x, "outer": jnp.outer(x[0], x[1]), "differences": jnp.diff(x, axis=1), "grid": jnp.linspace(0, 1, 5)}


def scatters(_, x, i):
    return {"added": x.at[i].add(1.), "largest": x.at[i].max(.2), "least": x.at[i].min(.1), "multiplied": x.at[i].mul(3.),
            "set": x.at[jnp.arange(x.shape[0]), i].set(7.), "columns": x.at[:, i].add(2.), "segments": jax.ops.segment_sum(x, i, 6),
            "tops": jax.ops.segment_max(x, i, 6), "cumsum": jnp.cumsum(x, 1), "cumprod": jnp.cumprod(x, 1),
            "cummax": jax.lax.cummax(x, 1), "reversed": jax.lax.cumsum(x, 1, reverse=True), "lexsort": jnp.lexsort((x[:, 0], i)),
            "sorted": jax.lax.sort((i, x[:, 1], x[:, 2]), num_keys=2)[2], "percentile": jnp.percentile(x, 30., axis=1),
            "top": jax.lax.top_k(x, 3)[1]}


def spectra(_, x, i):
    spectrum = jnp.fft.rfft(x)
    return {"real": spectrum.real, "size": jnp.abs(spectrum), "back": jnp.fft.irfft(spectrum * 2),
            "bits": jnp.stack([jax.lax.clz(i), jax.lax.population_count(i), ~i, jax.lax.shift_right_arithmetic(i - 3, 1 + 0 * i)]),
            "unsigned": ((i.astype("uint32") - 7) % 5).astype("int32"), "shifted": jnp.left_shift(i, i * 10), "wrapped": (i.astype("int8") * 100).astype("int32"),
            "divided": jax.lax.div(i, i - 2), "left": jax.lax.rem(i, i - 2), "reduced": jax.lax.reduce_precision(x, 5, 10)}


def images(params, x):
    return {"convolved": jax.lax.conv_general_dilated(x, params["k"], (2, 1), "SAME", rhs_dilation=(1, 2),
                                                      dimension_numbers=("NHWC", "HWIO", "NHWC")),
            "depthwise": jax.lax.conv_general_dilated(x, params["d"], (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                                      feature_group_count=3),
            "transposed": jax.lax.conv_transpose(x, params["k"], (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
            "largest": jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
            "mean": jax.lax.reduce_window(x, 0., jax.lax.add, (1, 2, 2, 1), (1, 1, 1, 1), "SAME") / 4,
            "resized": jax.image.resize(x, (x.shape[0], 8, 3, 3), "linear")}


def nearest(params, x):
    query = x / jnp.linalg.norm(x, axis=-1, keepdims=True)
    best, which = jax.lax.approx_max_k(query @ params["items"].T, 4)
    apart, far = jax.lax.approx_min_k(((query[:, None] - params["items"]) ** 2).sum(-1), 3)
    return {"best": best, "which": which, "apart": apart, "far": far}


def calls(_, x):
    own = jax2tf.call_tf(lambda a: tf.math.sin(a) * 2, call_tf_graph=True)
    here = jax.lax.platform_dependent(x, cpu=lambda x: x * 2, tpu=lambda x: x * 3)
    return {"tensorflow": own(x) + 1, "platform": here}


export("jax-layers", layers, weights(1, w1=(10, 16), b1=(16,), w2=(16, 8), b2=(8,), w3=(8, 1), b3=(1,)),
       {"x": ((10,), "float32", normal)}, "dense layers of any batch")
export("jax-transformer", transformer, weights(2, q=(8, 2, 4), k=(8, 2, 4), v=(8, 2, 4), o=(2, 4, 8), up=(8, 16), down=(16, 8)),
       {"x": ((5, 8), "float32", normal)}, "attention, layer normalisation, softmax, gelu of any batch")
export("jax-gru", gru, weights(3, wz=(3, 4), uz=(4, 4), wr=(3, 4), ur=(4, 4), wn=(3, 4), un=(4, 4)),
       {"x": ((5, 3), "float32", normal)}, "a recurrent cell in a scan")
export("jax-control", control, {}, {"x": ((4,), "float32", normal), "n": ((), "int32", below(3))},
       "conditions and loops that capture values", (3,), [None, None])
export("jax-random", draws, {}, {"x": ((6,), "float32", normal)}, "numbers drawn with a fixed key", (3,), [None])
export("jax-retrieval", retrieval, weights(4, user=(20, 4), item=(30, 4), w=(13, 6), b=(6,)),
       {"user": ((), "int32", below(20)), "items": ((3,), "int32", below(30)), "x": ((5,), "float32", normal)},
       "two towers of embeddings of any batch")
export("jax-experts", experts, weights(5, gate=(6, 4), experts=(4, 6, 5)), {"x": ((6,), "float32", normal)},
       "experts chosen by top_k; sorts, argmax and argmin of any batch")
export("jax-narrow", narrow, {"w": np.random.default_rng(6).integers(-100, 100, (6, 5)).astype("i1")},
       {"x": ((6,), "float32", normal)}, "int8, half, bfloat16, booleans, unsigned; conversions out of range")
export("jax-numbers", numbers, {}, {"x": ((6,), "float32", normal), "i": ((), "int32", below(5))},
       "elementwise functions", (4,), [None, None])
export("jax-arrays", arrays, {}, {"x": ((6,), "float32", normal), "i": ((), "int32", below(4))},
       "what moves elements, and reductions", (4,), [None, None])


def ranking(params, ids, weights):
    rows = jnp.take(params["table"], ids, axis=0, mode="clip")
    pooled = (rows * weights[..., None]).sum(1)
    scores = pooled @ params["items"]
    best, which = jax.lax.top_k(scores, 3)
    order = jnp.argsort(-scores, axis=-1)
    counts = jnp.zeros((ids.shape[0], 20)).at[jnp.arange(ids.shape[0])[:, None], ids].add(weights)
    return {"best": best, "which": which, "order": order, "sorted": jnp.sort(weights, axis=-1), "first": jnp.argmax(scores, -1),
            "total": jnp.cumsum(weights, axis=-1), "counts": counts, "softest": jax.lax.cumlogsumexp(scores, axis=1),
            "picked": jnp.take_along_axis(scores, which, axis=-1), "ends": jnp.pad(scores, ((0, 0), (2, 1)), constant_values=-1)}


def image(params, x):
    dims = ("NHWC", "HWIO", "NHWC")
    x = jax.nn.relu(jax.lax.conv_general_dilated(x, params["k1"], (1, 1), "SAME", dimension_numbers=dims))
    x = jax.lax.conv_general_dilated(x, params["k2"], (2, 1), ((1, 0), (0, 1)), rhs_dilation=(1, 2), feature_group_count=2, dimension_numbers=dims)
    top = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
    mean = jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 3, 2, 1), (1, 1, 1, 1), "VALID") / 6
    return {"top": top, "mean": mean, "rounded": jax.lax.reduce_precision(x.mean((1, 2)), 8, 7)}


def arrays(_, x, i):
    return {"keys": jnp.concatenate(jax.lax.sort((jnp.round(x), x), num_keys=2)), "lexsort": jnp.lexsort((x[0], jnp.round(x[1]))),
            "columns": jnp.argsort(x, axis=0), "median": jnp.median(x, axis=-1), "percentile": jnp.percentile(x, 30, axis=-1),
            "searchsorted": jnp.searchsorted(jnp.sort(x[0]), x[1]), "one_hot": jax.nn.one_hot(i, 9),
            "segment_max": jax.ops.segment_max(x.T, jnp.arange(6) // 2, 3), "segment_prod": jax.ops.segment_prod(x.T, jnp.arange(6) // 2, 3),
            "cumprod": jnp.cumprod(x, -1), "cummax": jax.lax.cummax(x, axis=1), "cummin": jax.lax.cummin(x, axis=1, reverse=True),
            "argmin": jnp.argmin(x, -1), "argmax": jnp.argmax(x), "roll": jnp.roll(x, 2, -1), "flip": jnp.flip(x, -1), "tile": jnp.tile(x, (1, 2)),
            "spectrum": jnp.abs(jnp.fft.rfft(x)), "einsum": jnp.einsum("bi,bj,bk->bijk", x, x, x), "logsumexp": jax.nn.logsumexp(x, -1),
            "convolve": jax.vmap(lambda row: jnp.convolve(row, jnp.array([1.0, 2.0, 3.0]), mode="same"))(x), "triu": jnp.triu(x[:, :3]),
            "unique": jnp.unique(jnp.round(x), size=5, fill_value=0), "histogram": jnp.histogram(x, bins=4)[0], "bincount": jnp.bincount(i % 4, length=4),
            "set": x.at[:, 2].set(7.0), "max": x.at[1].max(0.5), "multiply": x.at[jnp.array([0, 2]), 1].multiply(3.0),
            "slice": jax.lax.dynamic_slice(x, (1, i[0] % 3), (2, 3)), "update": jax.lax.dynamic_update_slice(x, x[:1, :2] * 0, (i[1] % 3, 1)),
            "rows": x[jnp.array([0, 2, -1])][:, ::2], "picked": jax.vmap(lambda row, k: row[k % 6])(x, i),
            "pair": jax.lax.reduce((x, x), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,))[1],
            "peak": jax.lax.reduce(x, 0.0, lambda a, b: jnp.maximum(a, jnp.abs(b)), (1,)),
            "scan": jax.lax.associative_scan(lambda a, b: a * 0.5 + b, x, axis=1)}


def functions(params, x, i):
    up = jax.lax.conv_transpose(x.reshape(3, 6, 1), params["up"], (2,), "SAME")
    depth = jax.lax.conv_general_dilated(x.reshape(3, 1, 6), params["depth"], (1,), [(1, 1)])
    return {"up": up, "depth": depth, "gelu": jax.nn.gelu(x), "elu": jax.nn.elu(x), "swish": jax.nn.swish(x), "glu": jax.nn.glu(x),
            "std": x.std(0), "norm": jnp.linalg.norm(x, axis=-1), "prod": jnp.prod(x, -1), "kron": jnp.kron(x[0], x[1]),
            "interp": jnp.interp(x[0], jnp.linspace(-1, 1, 5), jnp.arange(5.0)),
            "batches": jax.lax.dot_general(x.reshape(3, 2, 3), x.reshape(3, 3, 2), (((2,), (1,)), ((0,), (0,)))),
            "bytes": jax.lax.dot(i.astype(jnp.int8)[None], i.astype(jnp.int8)[:, None], preferred_element_type=jnp.int32),
            "erf": jax.scipy.special.erf(x), "gammaln": jax.scipy.special.gammaln(jnp.abs(x) + 1), "digamma": jax.scipy.special.digamma(jnp.abs(x) + 1),
            "distances": jnp.sqrt(((x[:, None] - x[None]) ** 2).sum(-1) + 1e-6), "clip": jnp.clip(x, -1, 1), "sign": jnp.sign(x), "mod": jnp.mod(x, 0.7),
            "quotient": i // 2, "remainder": jax.lax.rem(i, 3), "power": jnp.abs(x) ** 1.5, "round": jnp.round(x), "nanmax": jnp.nanmax(x, -1),
            "shift": i << 2, "bits": jax.lax.population_count(i)}


export("jax-graph-layers", layers, weights(1, w1=(10, 16), b1=(16,), w2=(16, 8), b2=(8,), w3=(8, 1), b3=(1,)),
       {"x": ((10,), "float32", normal)}, "dense layers of any batch, by XLA's operators", graph=True)
export("jax-graph-transformer", transformer, weights(2, q=(8, 2, 4), k=(8, 2, 4), v=(8, 2, 4), o=(2, 4, 8), up=(8, 16), down=(16, 8)),
       {"x": ((5, 8), "float32", normal)}, "attention and layer normalisation of any batch, by XLA's operators", graph=True)
export("jax-graph-gru", gru, weights(3, wz=(3, 4), uz=(4, 4), wr=(3, 4), ur=(4, 4), wn=(3, 4), un=(4, 4)),
       {"x": ((5, 3), "float32", normal)}, "a recurrent cell in a scan, by XLA's operators", graph=True)
export("jax-graph-ranking", ranking, weights(4, table=(20, 6), items=(6, 12)),
       {"ids": ((5,), "int32", below(20)), "weights": ((5,), "float32", normal)},
       "lookups, sorts, top_k, argmax, running sums and scatters, by XLA's operators", graph=True)
export("jax-graph-image", image, weights(5, k1=(3, 3, 2, 4), k2=(2, 2, 2, 6)), {"x": ((8, 7, 2), "float32", normal)},
       "convolutions and windows, by XLA's operators", graph=True)
export("jax-scatters", scatters, {}, {"x": ((6,), "float32", normal), "i": ((), "int32", below(5))},
       "scatters, segments, cumulative functions, sorts by several keys", (4,), [None, None])
export("jax-spectra", spectra, {}, {"x": ((8,), "float32", normal), "i": ((), "int32", below(5))},
       "Fourier transforms, bits, integers divided by zero", (4,), [None, None])
export("jax-images", images, weights(9, k=(3, 2, 3, 4), d=(2, 2, 1, 6)), {"x": ((5, 6, 3), "float32", normal)},
       "convolutions, poolings and resizing of any batch", (1, 2))
export("jax-nearest", nearest, weights(10, items=(60, 5)), {"x": ((5,), "float32", normal)},
       "the nearest of many items by approx_max_k", (3,), [None])
export("jax-calls", calls, {}, {"x": ((4,), "float32", normal)}, "a module for several platforms that calls TensorFlow", (3,), [None],
       native_serialization_platforms=("tpu", "cpu"))
export("jax-graph-arrays", arrays, {}, {"x": ((6,), "float32", normal), "i": ((), "int32", below(9))},
       "sorts, segments, updates, slices and reductions of arrays, by XLA's operators", (3,), [None, None], graph=True)
export("jax-graph-functions", functions, weights(6, up=(3, 1, 2), depth=(4, 1, 3)), {"x": ((6,), "float32", normal), "i": ((), "int32", below(9))},
       "matrices, convolutions and functions of numbers, by XLA's operators", (3,), [None, None], graph=True)

if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        CASES[name]()
