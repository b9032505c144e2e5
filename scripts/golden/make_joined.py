"""tf1-joined: Elu that TensorFlow's optimizer joins with the layer before it, and Elu that it does not.

The layers change nothing, so that on every processor the bits are those of Elu alone; they are answered as integers.
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
WIDTH = 36
rng = np.random.default_rng(162)


def variable(name, value):
    return v1.get_variable(name, initializer=np.float32(value))


def same(columns):
    """A bias and weights that change nothing."""
    return variable("bias", np.zeros(columns)), variable("weights", np.eye(columns))


def layer(x, columns):
    bias, weights = same(columns)
    return v1.nn.bias_add(tf.matmul(x[:, :columns], weights), bias)


def dense(columns):
    return lambda x: tf.nn.elu(layer(x, columns))


def transposed(x):
    bias, weights = same(13)
    return tf.nn.elu(v1.nn.bias_add(tf.matmul(x[:, :13], weights, transpose_b=True), bias))


def computed(x):
    """Weights and a bias that only a request says."""
    bias, weights = same(11)
    nothing = tf.reduce_sum(tf.zeros_like(x))
    return tf.nn.elu(v1.nn.bias_add(tf.matmul(x[:, :11], weights + nothing), bias + nothing))


def convolution(x):
    bias, weights = same(3)
    return tf.nn.elu(v1.nn.bias_add(v1.nn.conv2d(tf.reshape(x, [-1, 3, 4, 3]), weights[None, None], 1, "VALID"), bias))


def normalised(x):
    """The root of the variance is the processor's own, so these are answered as floats."""
    _, weights = same(9)
    y = v1.nn.conv2d(tf.reshape(x, [-1, 2, 2, 9]), weights[None, None], 1, "VALID")
    ones, zeros = variable("ones", np.ones(9)), variable("zeros", np.zeros(9))
    return tf.nn.elu(v1.nn.fused_batch_norm(y, ones, zeros, zeros, ones * 0.25, epsilon=0.0, is_training=False)[0])


def line(x):
    """A convolution of lines has other operators between."""
    bias, weights = same(3)
    return tf.nn.elu(v1.nn.bias_add(v1.nn.conv1d(tf.reshape(x, [-1, 12, 3]), weights[None], 1, "VALID"), bias))


def added(x):
    bias, weights = same(5)
    return tf.nn.elu(tf.matmul(x[:, :5], weights) + bias)


def read_twice(x):
    y = layer(x, 7)
    return tf.concat([tf.nn.elu(y), y], 1)


def reshaped(x):
    return tf.nn.elu(tf.reshape(layer(x, 12), [-1, 6]))


def waiting(x):
    y = layer(x, 7)
    with tf.control_dependencies([v1.assert_less(tf.reduce_sum(x), 1e9)]):
        return tf.nn.elu(y)


def repeated(x):
    """In a loop."""
    bias, weights = same(6)
    return tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, tf.nn.elu(v1.nn.bias_add(tf.matmul(y, weights), bias))), (0, x[:, :6]))[1]


PATTERNS = [transposed, computed, convolution, normalised, line, added, read_twice, reshaped, waiting, repeated]


def main():
    folder = case.start("tf1-joined")
    patterns = {pattern.__name__: pattern for pattern in PATTERNS}
    patterns.update(("dense_%d" % columns, dense(columns)) for columns in (1, 3, 8, 20, 33))
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, WIDTH], "x")
        outputs = {}
        for name, pattern in patterns.items():
            with v1.variable_scope(name):
                outputs[name] = pattern(x) if pattern is normalised else tf.bitcast(pattern(x), tf.int32)
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, folder + "/model", {"x": x}, outputs)
    feeds = [{"x": rng.uniform(-9, 3, (b, WIDTH)).astype("f4")} for b in (1, 2, 60)]
    case.add_requests(folder, answers(folder + "/model", feeds))
    case.finish(folder, "Elu joined with the dense layer or convolution before it, of which the columns after the last eight have other "
                        "bits, and Elu of other things, to the last bit",
                "Made by scripts/golden/make_joined.py with TensorFlow %s on CPU; answers by TensorFlow's session with one thread.  "
                "Apache-2.0, like the project." % tf.__version__)


main()
