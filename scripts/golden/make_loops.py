"""tf2-loops: a loop whose number of rounds comes with the request."""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import answers

PROVENANCE = ("Made by scripts/golden/make_loops.py with TensorFlow %s on CPU, seeded random weights; answers by TensorFlow's session.  "
              "Apache-2.0, like the project." % tf.__version__)
rng = np.random.default_rng(201)
weights = tf.constant((rng.normal(size=(8, 8)) * 0.3).astype("f4"))


@tf.function(input_signature=[tf.TensorSpec([None, 8], tf.float32, "x"), tf.TensorSpec([], tf.int32, "rounds")])
def serve(x, rounds):
    def body(i, h, longest):
        h = tf.tanh(tf.matmul(h, weights) + x)
        return i + 1, h, tf.cond(tf.reduce_max(h) > longest, lambda: tf.reduce_max(h), lambda: longest)

    _, h, longest = tf.while_loop(lambda i, *_: i < rounds, body, [0, x, tf.constant(-1.0)])
    return {"state": h, "longest": longest}


folder = case.start("tf2-loops")
case.save_function(folder, serve)
case.add_requests(folder, answers(folder + "/model", [
    {"x": rng.normal(size=(rows, 8)).astype("f4"), "rounds": np.int32(rounds)} for rows, rounds in ((1, 0), (2, 1), (3, 7))]))
case.finish(folder, "a loop whose number of rounds comes with the request", PROVENANCE)
