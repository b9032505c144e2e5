"""tf1-scores: one user by all items, without a bias, and logarithms of softmaxes that underflow.

The bits of the scores are answered as integers, and an infinity as 7777, which JSON knows.
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
WIDTH = 131
rng = np.random.default_rng(175)


def scores(x, width, items):
    """One sum for each item: odd and even numbers of them, whole rounds of terms and some left over."""
    embeddings = v1.get_variable("items_%d_%d" % (width, items), initializer=rng.normal(size=(items, width)).astype("f4"))
    return tf.bitcast(tf.matmul(x[:, :width], embeddings, transpose_b=True), tf.int32)


def finite(x):
    return tf.where(tf.math.is_inf(x), tf.fill(tf.shape(x), 7777.0) * tf.sign(x), x)


def logarithms(x):
    """TensorFlow's optimizer makes LogSoftmax of the first only, which does not underflow."""
    alone, shared, joined = tf.nn.softmax(x * 40), tf.nn.softmax(x * 41), tf.nn.softmax(x * 42)
    return {"log_alone": tf.identity(tf.math.log(alone)), "log_shared": finite(tf.math.log(shared) + tf.reduce_sum(shared)),
            "log_joined": finite(tf.identity(-tf.math.log(joined)))}


def main():
    folder = case.start("tf1-scores")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, WIDTH], "x")
        outputs = {"scores_%d_%d" % sizes: scores(x, *sizes) for sizes in ((4, 9), (7, 6), (16, 2), (20, 65), (100, 43), (131, 64))}
        outputs.update(logarithms(x[:, :12]))
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, folder + "/model", {"x": x}, outputs)
    feeds = [{"x": rng.normal(size=(1, WIDTH)).astype("f4")} for _ in range(3)]
    case.add_requests(folder, answers(folder + "/model", feeds))
    case.finish(folder, "scores of one user for all items, to the last bit, and logarithms of softmaxes that underflow",
                "Made by scripts/golden/make_scores.py with TensorFlow %s on CPU, seeded random weights; answers by TensorFlow's session "
                "with one thread.  Apache-2.0, like the project." % tf.__version__)


main()
