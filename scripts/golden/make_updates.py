"""Models that were exported with updates of variables that no answer shows.

keras2-updates  metrics, a number of calls, a batch's own mean and variance with moving averages of them
tf1-updates     the same of TensorFlow 1: what answers wait for by control dependencies
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import answers

tf.config.threading.set_intra_op_parallelism_threads(1)  # the first session of a process decides for all
tf.config.threading.set_inter_op_parallelism_threads(1)
v1, keras = tf.compat.v1, tf.keras
PROVENANCE = ("Made by scripts/golden/make_updates.py with TensorFlow %s on CPU, seeded random weights; answers by "
              "TensorFlow's session with one thread.  Apache-2.0, like the project." % tf.__version__)
rng = np.random.default_rng(174)
WIDTH = 6


class Counted(keras.layers.Layer):
    """Counts calls and rows, and keeps the last mean; none of it comes out."""

    def build(self, shape):
        self.calls = self.add_weight("calls", (), tf.int64, "zeros", trainable=False)
        self.rows = self.add_weight("rows", (), initializer="zeros", trainable=False)
        self.last = self.add_weight("last", (shape[-1],), initializer="zeros", trainable=False)
        self.best = keras.metrics.Mean("best")

    def call(self, x):
        self.calls.assign_add(1)
        self.rows.assign_add(tf.cast(tf.shape(x)[0], tf.float32) * (1 + self.rows / 100))
        self.last.assign(0.9 * self.last + 0.1 * tf.reduce_mean(x, 0))
        self.add_metric(self.best(x), "best")
        return x * 2


def keras_updates():
    keras.utils.set_random_seed(5)
    x = keras.Input((WIDTH,), name="x")
    y = Counted()(keras.layers.Dense(8, "relu")(x))
    y = keras.layers.BatchNormalization()(y, training=True)
    y = keras.layers.Dense(2, "sigmoid", name="score")(y)
    model = keras.Model(x, y)
    model.add_metric(tf.reduce_sum(y), name="sum", aggregation="mean")
    folder = case.start("keras2-updates")
    signature = tf.function(lambda x: {"score": model(x)}, input_signature=[tf.TensorSpec([None, WIDTH], tf.float32, "x")])
    case.save(folder, model, signature)
    return folder, "Keras 2: metrics, counters and moving averages that a model was exported with, and that no answer shows"


def session_updates():
    folder = case.start("tf1-updates")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, WIDTH], "x")
        w = v1.get_variable("w", initializer=rng.normal(0, 0.5, (WIDTH, 4)).astype("f4"))
        y = v1.layers.batch_normalization(x @ w, training=True)
        steps = v1.train.get_or_create_global_step()
        seen = v1.get_variable("seen", initializer=0.0, use_resource=True)
        updates = [v1.assign_add(steps, 1), v1.assign_add(seen, tf.reduce_sum(x)), *v1.get_collection(v1.GraphKeys.UPDATE_OPS)]
        with tf.control_dependencies(updates):
            score = tf.sigmoid(y, "score")
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, folder + "/model", {"x": x}, {"score": score})
    return folder, "TensorFlow 1: updates that answers wait for, and that none of them shows"


for folder, covers in (keras_updates(), session_updates()):
    feeds = [{"x": rng.normal(size=(rows, WIDTH)).astype("f4")} for rows in (1, 2, 9)]
    case.add_requests(folder, answers(folder + "/model", feeds))
    case.finish(folder, covers, PROVENANCE)
