"""tf1-bandits: LinUCB and its kin, which solve a system for every request: inverses, solutions, roots and determinants.

What is learned and fed are short fractions, so that the matrices are exact on every processor; what is solved of them is answered as
integers, its bits.
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
WIDTH, ARMS, WIDE = 11, 3, 37
rng = np.random.default_rng(176)


def fractions(*shape):
    return (rng.integers(-16, 17, shape) / 16).astype("f4")


def bits(x):
    return tf.bitcast(x, tf.int32)


def learned(name, width):
    """The matrix and the vector of each arm, as training left them."""
    seen = fractions(ARMS, 3 * width, width)
    rewards = fractions(ARMS, 3 * width, 1)
    matrices = v1.get_variable(name + "_a", initializer=np.eye(width, dtype="f4") + seen.transpose(0, 2, 1) @ seen)
    return matrices, v1.get_variable(name + "_b", initializer=seen.transpose(0, 2, 1) @ rewards)


def upper_bounds(x):
    """LinUCB over what was learned: each arm's estimate and how far it may be off."""
    matrices, vectors = learned("arms", WIDTH)
    inverses = tf.linalg.inv(matrices + tf.zeros_like(x)[:1, :, None])
    theta = tf.matmul(inverses, vectors)
    mean = tf.einsum("bi,ai->ba", x, theta[:, :, 0])
    wide = tf.sqrt(tf.einsum("bi,aij,bj->ba", x, inverses, x))
    bound = mean + 0.5 * wide
    return {"inverses": bits(inverses), "bound": bound, "arm": tf.argmax(bound, 1)}


def session_so_far(x, seen, rewards):
    """The same from what a session has seen: I + sum x x^T, and by least squares."""
    matrix = tf.eye(WIDTH) + tf.matmul(seen, seen, transpose_a=True)
    vector = tf.matmul(seen, rewards[:, None], transpose_a=True)
    root = tf.linalg.cholesky(matrix)
    return {"seen_inverse": bits(tf.linalg.inv(matrix)), "theta": bits(tf.linalg.solve(matrix, vector)), "root": bits(root),
            "by_root": bits(tf.linalg.triangular_solve(root, tf.transpose(x))), "size": bits(tf.linalg.logdet(matrix)),
            "determinant": bits(tf.linalg.det(matrix)), "ridge": bits(tf.linalg.lstsq(seen, rewards[:, None], l2_regularizer=0.5)),
            "least": bits(tf.linalg.lstsq(seen, rewards[:, None], fast=False))}


def many_features(x):
    """Enough of them that systems are solved in blocks."""
    matrices, vectors = learned("many", WIDE)
    matrices = matrices + tf.reduce_sum(tf.zeros_like(x))
    return {"many_inverse": bits(tf.linalg.inv(matrices)), "many_adjoint": bits(tf.linalg.inv(matrices, adjoint=True)),
            "many_theta": bits(tf.linalg.solve(matrices, vectors)), "many_root": bits(tf.linalg.cholesky(matrices))}


def main():
    folder = case.start("tf1-bandits")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, WIDTH], "x")
        seen = v1.placeholder(tf.float32, [None, WIDTH], "seen")
        rewards = v1.placeholder(tf.float32, [None], "rewards")
        outputs = {**upper_bounds(x), **session_so_far(x, seen, rewards), **many_features(x)}
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, folder + "/model", {"x": x, "seen": seen, "rewards": rewards}, outputs)
    feeds = [{"x": fractions(b, WIDTH), "seen": fractions(n, WIDTH), "rewards": fractions(n)} for b, n in ((1, 1), (2, 5), (7, 40))]
    case.add_requests(folder, answers(folder + "/model", feeds))
    case.finish(folder, "LinUCB and regressions that are solved for every request: inverses, solutions, Cholesky's roots, determinants and "
                        "least squares to the last bit, of a few features and of so many that they are solved in blocks",
                "Made by scripts/golden/make_bandits.py with TensorFlow %s on CPU; answers by TensorFlow's session with one thread.  "
                "Apache-2.0, like the project." % tf.__version__)


main()
