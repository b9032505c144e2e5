"""tf1-windows, tf1-gradients: sums and products behind convolutions, pools, Einsum, picked rows and masks, and in conditions that were
trained.

Filters and matrices only move channels, and all else is rounded once wherever it runs: the bits are those of TensorFlow's order on every
processor.  They are answered as integers.
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
WIDTH = 8
STEPS = 5
rng = np.random.default_rng(211)


def numbers(*shape):
    return rng.normal(size=shape).astype("f4")


def turn(shift):
    return np.roll(np.eye(WIDTH, dtype="f4") * 0.5, shift, axis=1)


def bits(x):
    return tf.bitcast(x, tf.int32)


def scaled(x, name):
    """As a normalisation has it, but for what is no product."""
    with v1.variable_scope(name, reuse=v1.AUTO_REUSE):
        gamma = v1.get_variable("gamma", initializer=numbers(WIDTH))
        beta = v1.get_variable("beta", initializer=numbers(WIDTH))
        most = tf.reduce_max(x, axis=-1, keepdims=True)
        return gamma * ((x - most) * tf.reduce_min(x, axis=-1, keepdims=True)) + (beta + most)


def behind_windows(x):
    image = tf.expand_dims(x, 1)
    same = tf.nn.conv2d(image, v1.get_variable("same", initializer=turn(1)[None, None]), 1, "SAME")
    yield "convolved", scaled(same, "a")
    first = np.zeros((1, 2, WIDTH, WIDTH), "f4")
    first[0, 0] = turn(2)
    dilated = tf.nn.atrous_conv2d(image, v1.get_variable("dilated", initializer=first), rate=2, padding="VALID")
    yield "dilated", scaled(tf.squeeze(dilated, [1]), "b")
    deep = tf.nn.depthwise_conv2d(image, v1.get_variable("deep", initializer=np.full((1, 1, WIDTH, 1), 0.5, "f4")), [1, 1, 1, 1], "SAME")
    yield "depthwise", scaled(deep, "c")
    yield "pooled", scaled(tf.nn.max_pool2d(same, [1, 2], [1, 2], "VALID"), "d")


def behind_others(x, ids):
    yield "einsum", scaled(tf.einsum("bsi,io->bso", x, v1.get_variable("matrix", initializer=turn(3))), "e")
    dots = tf.einsum("bsi,...io->...bso", x, v1.get_variable("matrices", initializer=turn(1)[None]))
    yield "einsum_of_more", scaled(dots, "f")
    best = tf.math.top_k(tf.reshape(x, [-1, STEPS, WIDTH]), WIDTH).values
    yield "best", scaled(best, "g")
    rows = tf.gather(tf.reshape(x, [-1, STEPS, WIDTH]), tf.reshape(ids, [-1, 2]), batch_dims=1)
    yield "rows", scaled(rows, "h")
    mask = tf.cast(tf.not_equal(tf.reshape(ids, [-1, 2]), 1), tf.float32)
    weight = v1.get_variable("weight", initializer=numbers(2))
    yield "masked", (mask * 0.7) * (weight * (tf.reduce_max(rows, -1) * weight))


def finish(folder, description, feeds):
    case.add_requests(folder, answers(folder + "/model", feeds))
    case.finish(folder, description, "Made by scripts/golden/make_windows.py with TensorFlow %s on CPU, seeded random weights; answers by "
                "TensorFlow's session with one thread.  Apache-2.0, like the project." % tf.__version__)


def windows():
    folder = case.start("tf1-windows")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, STEPS, WIDTH], "x")
        ids = v1.placeholder(tf.int32, [None, 2], "ids")
        outputs = {name: bits(y) for name, y in [*behind_windows(x), *behind_others(x, ids)]}
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, folder + "/model", {"x": x, "ids": ids}, outputs)
    feeds = [{"x": numbers(rows, STEPS, WIDTH), "ids": rng.integers(0, STEPS, (rows, 2)).astype("i4")} for rows in (1, 2, 3, 7, 33)]
    finish(folder, "sums and products behind convolutions, pools, Einsum, picked rows and masks, to the last bit", feeds)


def gradients():
    """What training reads of the branches and of the loop is returned by them, and nobody reads it."""
    folder = case.start("tf1-gradients")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, WIDTH], "x")
        training = v1.placeholder(tf.bool, [], "training")
        h = tf.matmul(x, v1.get_variable("first", initializer=turn(1)))
        h = v1.cond(training, lambda: scaled(h, "then") / (h * h + 1.0), lambda: scaled(h, "other") / (h * h + 2.0))

        def body(i, h):
            return i + 1, scaled(tf.matmul(h, v1.get_variable("turn", initializer=turn(1))), "body") / (h * h + 3.0)

        with v1.variable_scope("loop", reuse=v1.AUTO_REUSE):
            _, z = v1.while_loop(lambda i, h: i < 3, body, [0, h])
        loss = tf.reduce_sum(z * h)
        v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, folder + "/model", {"x": x, "training": training}, {"h": bits(h), "z": bits(z + h)})
    feeds = [{"x": numbers(rows, WIDTH), "training": np.bool_(rows % 2)} for rows in (1, 2, 3, 6, 33)]
    finish(folder, "a condition and a loop of a graph that was trained, to the last bit", feeds)


def main():
    windows()
    gradients()


main()
