"""tf2-loop-gradients: gradients of functional loops, computed in an answer."""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import answers

PROVENANCE = ("Made by scripts/golden/make_loop_gradients.py with TensorFlow %s on CPU, seeded random weights; answers by "
              "TensorFlow's session.  Apache-2.0, like the project." % tf.__version__)



def losses(x, n, kernel):
    """{name: a number that a loop makes of x [batch, 3], n [] int32 and kernel [3, 3]}."""
    zero = tf.constant(0)

    def loop(body, first, rounds=n, **options):
        return tf.while_loop(lambda i, a: i < rounds, lambda i, a: (i + 1, body(i, a)), (zero, first), **options)[1]

    def inner(i, a):
        return loop(lambda j, b: tf.tanh(tf.matmul(b, kernel) + tf.cast(j, tf.float32)), a, i)

    return {
        "recurrent": loop(lambda i, a: tf.tanh(tf.matmul(a, kernel) + x), tf.zeros_like(x)),
        "product": loop(lambda i, a: a * tf.sigmoid(x) * (1.0 + tf.cast(i, tf.float32)), x),
        "nested": loop(inner, x),
        "chosen": loop(lambda i, a: tf.cond(tf.equal(i % 2, 0), lambda: tf.sin(a) * tf.tanh(x), lambda: tf.matmul(a, kernel) + 0.5 * a), x),
        "of_rows": loop(lambda i, a: a * a + tf.exp(-tf.gather(x, i)), x[0], tf.minimum(n, tf.shape(x)[0] - 1) + 1),
        "bounded": loop(lambda i, a: tf.square(a) * 0.5 + x, x, maximum_iterations=4),
    }


def outputs(x, n, kernel, names=None):
    """What losses() gives under `names`, or all of it, with gradients."""
    out = {}
    for name, made in losses(x, n, kernel).items():
        if names is not None and name not in names:
            continue
        loss = tf.reduce_sum(tf.square(made))
        out[name] = loss
        out[name + "_by_x"], by_kernel = tf.gradients(loss, [x, kernel])
        if by_kernel is not None:
            out[name + "_by_kernel"] = by_kernel
            # One step of learning for this request alone.
            out[name + "_adapted"] = tf.matmul(x, kernel - 0.1 * by_kernel)
    return out


def feeds():
    rng = np.random.default_rng(51)
    return [{"x": rng.normal(size=(batch, 3)).astype("f4"), "n": np.int32(n)}
            for batch, n in ((1, 0), (1, 1), (3, 2), (2, 5), (7, 3), (4, 13))]


def tf2():
    folder = case.start("tf2-loop-gradients")
    kernel = tf.constant(np.random.default_rng(50).normal(size=[3, 3]).astype("f4") * 0.5)

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x"), tf.TensorSpec([], tf.int32, "n")], autograph=False)
    def serve(x, n):
        out = outputs(x, n, tf.identity(kernel), ("recurrent", "chosen"))
        # The gradient of a gradient, which the second generation has.
        loss = tf.reduce_sum(losses(x, n, kernel)["product"])
        out["second"] = tf.gradients(tf.gradients(loss, x)[0], x)[0]
        rows = tf.map_fn(lambda row: tf.reduce_sum(tf.square(row)) * row, x)
        out["mapped"] = tf.gradients(tf.reduce_sum(rows), x)[0]
        return out

    case.save_function(folder, serve)
    case.add_requests(folder, answers(folder + "/model", feeds()))
    case.finish(folder, "gradients through functional loops, computed in an answer", PROVENANCE)


tf2()
