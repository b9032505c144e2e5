"""Models whose answers hang on the requests before.

tf2-random-streams  random numbers drawn again and again, in a loop, from operators with seeds
tf2-counts          seeds that a variable holds, and the next of which is written whenever one is taken, as in Keras 3
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import answers, refusals

PROVENANCE = ("Made by scripts/golden/make_random.py with TensorFlow %s on CPU; answers by one of TensorFlow's sessions, in "
              "order.  Apache-2.0, like the project." % tf.__version__)
ROUNDS = 3


class Streams(tf.Module):
    """What is drawn in each round of a loop; the last round of each stream shows how far the others have moved it."""

    def draw(self, x):
        ops, shape = tf.raw_ops, tf.shape(x)
        seeds = {"seed": 5, "seed2": 6}
        return {"uniform": ops.RandomUniform(shape=shape, dtype=tf.float32, **seeds),
                "normal": ops.RandomStandardNormal(shape=shape, dtype=tf.float32, **seeds),
                "truncated": ops.TruncatedNormal(shape=shape, dtype=tf.float32, **seeds),
                "integer": ops.RandomUniformInt(shape=shape, minval=0, maxval=1000, **seeds)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def serve(self, x):
        first = self.draw(x)
        with tf.control_dependencies(first.values()):
            names = sorted(first)
            arrays = tuple(tf.TensorArray(first[name].dtype, ROUNDS) for name in names)

            def body(i, arrays):
                drawn = self.draw(x)
                return i + 1, tuple(array.write(i, drawn[name]) for array, name in zip(arrays, names))

            _, arrays = tf.while_loop(lambda i, _: i < ROUNDS, body, (0, arrays), parallel_iterations=1)
        out = {name: array.stack() for array, name in zip(arrays, names)}
        out.update({name + "_first": value for name, value in first.items()})
        with tf.control_dependencies([tf.debugging.assert_less(tf.size(x), 10)]):
            return {name: tf.identity(value) for name, value in out.items()}


class Counts(tf.Module):
    def __init__(self):
        super().__init__()
        self.seed = tf.Variable(tf.constant([7, 2**32 - 2], tf.uint32))
        self.runs = tf.Variable(tf.constant(40, tf.int64))
        self.left = tf.Variable(tf.constant([[3, -(2**31)]], tf.int32))
        self.phase = tf.Variable([0.5, 1.5])

    def next_seed(self):
        seed = tf.identity(self.seed)
        self.seed.assign(seed + tf.constant([0, 1], tf.uint32))
        return tf.bitcast(seed, tf.int32)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def serve(self, x):
        seeds = [self.next_seed() for _ in range(3)]
        before = self.runs.read_value()
        self.runs.assign_add(1)
        self.left.assign_sub([[1, 1]])
        self.phase.assign(tf.sin(self.phase) * 3)
        seeds += [tf.stack([before, self.runs.read_value()]), self.left.read_value()[0],
                  tf.cast(tf.round(self.phase.read_value() * 100), tf.int32)]
        out = {f"draw_{i}": tf.random.stateless_normal(tf.shape(x), seed) for i, seed in enumerate(seeds)}
        out["x"] = x * 2
        with tf.control_dependencies([tf.debugging.assert_less(tf.size(x), 10)]):
            return {name: tf.identity(value) for name, value in out.items()}


REQUESTS = [{"x": np.float32(x)} for x in ([0.5], [1, -2, 0.25, 3, 4.5], [], [2, 3], [2, 3])]


def in_order(name, module, covers):
    folder = case.start(name)
    case.save(folder, module, module.serve)
    case.add_requests(folder, answers(folder + "/model", REQUESTS), in_json=False)
    case.add_errors(folder, refusals(folder + "/model", [{"x": np.zeros(10, np.float32)}]))
    case.finish(folder, covers, PROVENANCE, extra={"errors": "errors", "in_order": True})


in_order("tf2-random-streams", Streams(), "streams of random numbers that go on from one round of a loop, and one request, to the "
                                          "next, of operators with seeds")
in_order("tf2-counts", Counts(), "variables that say how often they were written: seeds, and numbers that go up or down")
