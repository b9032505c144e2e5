"""tf1-fourier: layers that go to frequencies and back (FMLP-Rec), of an even and an odd length.
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import answers

v1 = tf.compat.v1
LENGTH, WIDTH = 50, 6
rng = np.random.default_rng(192)


def weights(name, *shape):
    return v1.get_variable(name, initializer=(rng.normal(size=shape) * 0.3).astype("f4"))


def filtered(x, n, name):
    """A filter over the positions of a sequence (FMLP-Rec): one weight for each frequency and feature."""
    w = weights(name, 1, n // 2 + 1, WIDTH, 2)
    frequencies = tf.signal.rfft(tf.transpose(x, [0, 2, 1]), [n])
    frequencies *= tf.transpose(tf.complex(w[..., 0], w[..., 1]), [0, 2, 1])
    return tf.transpose(tf.signal.irfft(frequencies, [n]), [0, 2, 1])


def normalised(x, name):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-12) * weights(name, WIDTH)


def filters(x):
    for n in (LENGTH, 37):
        yield "filter_%d" % n, (filtered(x, n, "filter_%d" % n))
    y = x
    for layer in range(2):
        y = normalised(y + filtered(y, LENGTH, "layer_%d" % layer), "scale_%d" % layer)
    yield "last", tf.identity(y[:, -1, :])


def main():
    folder = case.start("tf1-fourier")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, LENGTH, WIDTH], "x")
        outputs = {name: tf.identity(y) for name, y in filters(x)}
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, folder + "/model", {"x": x}, outputs)
    feeds = [{"x": rng.normal(size=(rows, LENGTH, WIDTH)).astype("f4")} for rows in (1, 2)]
    feeds[1]["x"][0, :30] = 0  # padded
    case.add_requests(folder, answers(folder + "/model", feeds))
    case.finish(folder, "filters over frequencies, of an even and an odd length",
                "Made by scripts/golden/make_fourier.py with TensorFlow %s on CPU, seeded random weights; answers by TensorFlow's "
                "session.  Apache-2.0, like the project." % tf.__version__, extra={"tolerance": {"rtol": 1e-5, "atol": 1e-5}})  # terms cancel


main()
