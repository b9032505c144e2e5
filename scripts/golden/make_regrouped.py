"""tf1-regrouped: sums and products that TensorFlow's optimizer takes in another order than the model.

Each pattern is there behind operators that fix the shape, where the order changes, and behind what is fed, where it does
not.  Outputs behind an Identity leave the optimizer free; those without one hold it back.
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import answers

tf.config.threading.set_intra_op_parallelism_threads(1)  # the first session of a process decides for all
tf.config.threading.set_inter_op_parallelism_threads(1)
v1 = tf.compat.v1
WIDTH = 12
rng = np.random.default_rng(161)


def weights(name, *shape):
    return v1.get_variable(name, initializer=rng.normal(0, 0.4, shape).astype("f4"), use_resource=len(name) % 2 == 0)


def cross(x):
    """Deep and cross, first version: (x0 * s + b) + x."""
    x0 = x
    for i in range(3):
        x = x0 * tf.reduce_sum(x * weights("w%d" % i, WIDTH), 1, keepdims=True) + weights("bias%d" % i, WIDTH) + x
    return x


def attention(x):
    """SR-GNN: the last item, the items, a bias."""
    items = tf.reshape(x, [-1, 3, WIDTH // 3])
    last = tf.matmul(tf.reshape(items[:, 2], [-1, WIDTH // 3]), weights("last", WIDTH // 3, 5))
    each = tf.matmul(tf.reshape(items, [-1, WIDTH // 3]), weights("each", WIDTH // 3, 5))
    summed = tf.reshape(last, [-1, 1, 5]) + tf.reshape(each, [-1, 3, 5]) + weights("offset", 5)
    one = tf.reshape(last[:1], [1, 1, 5]) + tf.reshape(each, [-1, 3, 5]) + weights("offsets", 5)
    return tf.reduce_sum(tf.sigmoid(summed) + tf.sigmoid(one), 1)


def normalised(x):
    mean = tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean(tf.square(x - mean), -1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-6) * weights("gamma", WIDTH) + weights("beta", WIDTH)


def divided(x):
    mean = tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean(tf.math.squared_difference(x, mean), -1, keepdims=True)
    return (x - mean) / tf.sqrt(variance + 1e-6) * weights("scale", WIDTH) + weights("shift", WIDTH)


def powered(x):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return weights("factor", WIDTH) * ((x - mean) / (variance + 1e-6) ** 0.5) + weights("floor", WIDTH)


def chain(x):
    return tf.tanh(x) + tf.sin(x) + tf.exp(x) + x * x + weights("chain", WIDTH) + tf.reduce_max(x, 1, keepdims=True)


def many(x):
    parts = [tf.multiply(x, float(i) + 0.1, name="part_%d" % i) for i in range(12)]
    first, *_, last = tf.split(x, 3, axis=1)
    return tf.concat([tf.add_n(parts + [tf.sin(parts[0] + parts[1] + parts[2])], "total"), tf.add_n([last, first, last * 0.3]),
                      first + tf.add_n([last, first * 0.7, tf.square(last)]) + weights("many", WIDTH // 3)], 1)


def nested(x):
    with v1.name_scope("zone"):
        left = tf.cos(x) + (tf.abs(x) + (weights("nested", WIDTH) + tf.nn.relu(x)))
    return tf.add_n([tf.sigmoid(left), left, tf.tanh(left), x], "nest") * tf.reduce_mean(x, 1, keepdims=True) * left


def narrow(x):
    half = tf.cast(x, tf.float16)
    return tf.cast(half + tf.cast(weights("narrow", WIDTH), tf.float16) + tf.tanh(half) + tf.cast(x * 0.3, tf.float16), tf.float32)


def wide(x):
    double = tf.cast(x, tf.float64)
    return double + tf.cast(weights("wide", WIDTH), tf.float64) + tf.abs(double) * double


def logs(x):
    """Errors of a last bit are as large as the result."""
    return (tf.math.log(tf.square(x) * 1e-5 + 1.0) - tf.square(x) * 1e-5) * 1e5


def exps(x):
    return (tf.exp(x * 1e-3) - 1.0 - x * 1e-3) * 1e5


def inverse(x):
    return 1.0 / (tf.square(x) + 1.0)


def last_bits(x):
    """Those of 1 / x, which a reciprocal has others of: a processor's own, so that they are asked for only where 1 / x stays."""
    return tf.math.floormod(tf.abs(x) * 2.0**22, 64.0)


PATTERNS = [cross, attention, normalised, divided, powered, chain, many, nested, narrow, wide, logs, exps, inverse]


def main():
    folder = case.start("tf1-regrouped")
    with tf.Graph().as_default(), v1.Session() as session:
        fed = v1.placeholder(tf.float32, [None, WIDTH], "x")
        outputs = {}
        for kind, x in (("known", tf.reshape(fed, [-1, WIDTH])), ("fed", fed)):
            for pattern in PATTERNS:
                for bare in ("", "_bare"):
                    with v1.variable_scope(pattern.__name__ + bare, reuse=v1.AUTO_REUSE), v1.name_scope(kind):
                        y = pattern(x)
                        if (pattern, kind) == (inverse, "fed"):
                            y = last_bits(y)
                        outputs["%s_%s%s" % (pattern.__name__, kind, bare)] = y if bare else tf.identity(y)
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, folder + "/model", {"x": fed}, outputs)
    feeds = [{"x": rng.normal(size=(b, WIDTH)).astype("f4")} for b in (1, 2, 9)]
    case.add_requests(folder, answers(folder + "/model", feeds))
    case.finish(folder, "sums and products in the order that TensorFlow's optimizer takes: cross layers, attention, normalisations, "
                        "chains, sums of many, in float, half and double, logarithms, exponentials and inverses, and the same of "
                        "what is fed, which keep theirs",
                "Made by scripts/golden/make_regrouped.py with TensorFlow %s on CPU, seeded random weights; answers by "
                "TensorFlow's session with one thread.  Apache-2.0, like the project." % tf.__version__,
                extra={"tolerance_by_output": {"inverse_known" + bare: {"rtol": 3e-7, "atol": 0} for bare in ("", "_bare")}})


main()
