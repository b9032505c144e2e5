"""tf1-biased: products to which a bias is added, of which TensorFlow joins some with it and sums them in another order.

Products of the numbers are exact, so that the bits are those of the order on every processor; they are answered as integers.
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
WIDTH = 300
rng = np.random.default_rng(181)


def numbers(*shape):
    """Twelve bits each."""
    return (rng.integers(-2048, 2048, size=shape) / 256).astype("f4")


def weights(name, *shape):
    return v1.get_variable(name, initializer=numbers(*shape))


def bits(x):
    return tf.bitcast(x, tf.int32)


def heads(x):
    """One output: joined, in a layer that is read twice, and without a bias."""
    for width in (3, 17, 40, 131, WIDTH):
        w, bias, inputs = weights("head_%d" % width, width, 1), weights("head_bias_%d" % width, 1), x[:, :width]
        yield "head_%d" % width, bits(v1.nn.bias_add(tf.matmul(inputs, w), bias))
        shared = tf.matmul(inputs * 2, w)
        yield "shared_%d" % width, bits(v1.nn.bias_add(shared, bias))
        yield "sums_%d" % width, bits(shared)


def transposed(x):
    """Rows of weights are outputs; one row of inputs, or one output."""
    for width, outputs in ((4, 9), (20, 65), (131, 64), (300, 1)):
        w, bias, inputs = weights("rows_%d" % width, outputs, width), weights("rows_bias_%d" % width, outputs), x[:1 if outputs > 1 else None, :width]
        yield "rows_%d_%d" % (width, outputs), bits(v1.nn.bias_add(tf.matmul(inputs, w, transpose_b=True), bias))
        swapped = tf.transpose(w * x[0, 0])
        yield "swapped_%d_%d" % (width, outputs), bits(v1.nn.bias_add(tf.matmul(inputs, swapped), bias))


def computed(x):
    """Weights that a request brings."""
    for width, outputs in ((3, 1), (40, 1), (200, 1), (40, 3), (200, 70)):
        w, bias = weights("computed_%d_%d" % (width, outputs), width, outputs), weights("computed_bias_%d_%d" % (width, outputs), outputs)
        yield "computed_%d_%d" % (width, outputs), bits(v1.nn.bias_add(tf.matmul(x[:, :width], w * x[0, 1]), bias))


def main():
    folder = case.start("tf1-biased")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, WIDTH], "x")
        outputs = {name: tf.identity(y) for kind in (heads, transposed, computed) for name, y in kind(x)}
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, folder + "/model", {"x": x}, outputs)
    feeds = []
    for rows in (1, 2, 5):
        x = numbers(rows, WIDTH)
        x[0, :2] = 2, 0.5  # by which others are multiplied
        feeds.append({"x": x})
    case.add_requests(folder, answers(folder + "/model", feeds))
    case.finish(folder, "products joined with their bias, and others, to the last bit",
                "Made by scripts/golden/make_biased.py with TensorFlow %s on CPU, seeded random weights; answers by TensorFlow's session "
                "with one thread.  Apache-2.0, like the project." % tf.__version__)


main()
