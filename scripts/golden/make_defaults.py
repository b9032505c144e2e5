"""tf1-defaults: inputs of a signature that a request may leave out."""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import answers

v1 = tf.compat.v1
WIDTH = 5
rng = np.random.default_rng(211)


def numbers(*shape):
    return rng.normal(size=shape).astype("f4")


def main():
    folder = case.start("tf1-defaults")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, WIDTH], "x")
        bias = v1.placeholder_with_default(numbers(1, WIDTH), [None, WIDTH], "bias")
        temperature = v1.placeholder_with_default(0.5, [], "temperature")
        tag = v1.placeholder_with_default("none", None, "tag")
        weights = v1.get_variable("weights", initializer=numbers(WIDTH, 4))
        scores = tf.matmul(x + bias, weights) / temperature
        best = tf.gather(["a", "b", "c", "d"], tf.argmax(scores, 1))
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, folder + "/model", {"x": x, "bias": bias, "temperature": temperature, "tag": tag},
                                   {"scores": scores, "tagged": tf.strings.join([best, ":", tag])})
    feeds = [{"x": numbers(2, WIDTH)},
             {"x": numbers(3, WIDTH), "bias": numbers(3, WIDTH)},
             {"x": numbers(1, WIDTH), "temperature": np.float32(2)},
             {"x": numbers(2, WIDTH), "tag": np.array([b"left", b"right"], dtype=object)},
             {"x": numbers(2, WIDTH), "bias": numbers(1, WIDTH), "temperature": np.float32(3), "tag": np.array(b"", dtype=object)}]
    case.add_requests(folder, answers(folder + "/model", feeds), in_json=False)  # in JSON all have to be there
    case.finish(folder, "inputs with defaults, given and left out",
                "Made by scripts/golden/make_defaults.py with TensorFlow %s on CPU, seeded random weights; answers by TensorFlow's session."
                "  Apache-2.0, like the project." % tf.__version__)


main()
