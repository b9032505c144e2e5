"""tf1-constants: sums, differences, products and quotients with constants, which TensorFlow's optimizer brings together.

The bits are answered as integers, and an infinity as 7777, which JSON knows.  What begins with a processor's estimate of a reciprocal
or of a root is answered as numbers: its last bits differ between makers.
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
WIDTH = 24
rng = np.random.default_rng(193)

SUMS = ("(x + A) + B", "B + (A - x)", "(x - A) + B", "(A - x) - B", "(x - A) - B", "(x + A) - B", "B - (A - x)", "B - (x - A)", "B - (x + A)",
        "A + (x + y)", "(y + x) - A", "A - (x + y)", "A - (x - y)", "(x - y) - A", "(x - y) + A", "((x + A) + B) + D", "D - (B - (A - x))",
        "x + A - y + B", "(x + (y + A)) + B", "(A - x) + K", "(x + K) - (K - y)", "(x + K) + K[0]")
PRODUCTS = ("(x * A) * B", "B * (x / A)", "(x * A) / B", "(x / A) / B", "(A / x) / B", "B / (x * A)", "A * (x * y)", "(y * x) / A", "x * (y / A)",
            "(x / A) * (y / B)", "(x * (y + A)) / B", "A * x * B * y * D", "x * tf.nn.relu6(x + A) / B", "(x * K) * A", "y * (x / K)")
CUBES = ("A * x ** 3.", "A * tf.tanh(x) ** 3.", "A * tf.matmul(x, I) ** 3.", "A * tf.identity(tf.matmul(y, I), name='zzz') ** 3.", "x ** 3. / A", "x / y ** [0.5]", "x ** [2.]",
         "tf.reduce_sum(y, 1, keepdims=True) ** [[0.5]]")
ESTIMATED = {"cube_5": {"rtol": 6e-7, "atol": 0}, "product_14": {"rtol": 6e-7, "atol": 0}}


def bits(x):
    return tf.bitcast(x, tf.int32)


def numbers():
    constants = {name: tf.constant(value, tf.float32) for name, value in (("A", 0.7), ("B", 0.3), ("D", 0.11))}
    constants["K"] = tf.constant(rng.uniform(0.5, 2, WIDTH), tf.float32)
    constants["I"] = tf.constant(np.eye(WIDTH), tf.float32)
    return constants


def expressions(x, y):
    names = dict(numbers(), tf=tf, x=x, y=y)
    for kind, forms in (("sum", SUMS), ("product", PRODUCTS), ("cube", CUBES)):
        for i, form in enumerate(forms):
            with v1.name_scope("%s_%d" % (kind, i)):
                yield "%s_%d" % (kind, i), eval(form, names)


def told_apart(x):
    """Sums that are read twice or by a client stay; those in branches and loops, and those that wait, do not."""
    p = tf.clip_by_value(x, 0, 1)
    twice = 1 - p
    yield "read_twice", (twice + 1e-8) * twice
    yield "branch", tf.cond(x[0, 0] > -9, lambda: (1 - p) + 1e-8, lambda: p)
    yield "loop", tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, (1 - a) + 1e-8), (0, p))[1]
    with tf.control_dependencies([tf.debugging.assert_less(x, 99.0)]):
        yield "waiting", (1 - p) + 1e-8
    wanted = 1 - p
    yield "wanted", wanted
    yield "of_wanted", wanted + 1e-8


def entropies(x):
    """Where p is 1 the logarithm is infinite: 1 - p + 1e-8 is 0 then."""
    logarithms = tf.math.log(1 - tf.sigmoid(x * 40) + 1e-8)
    return tf.where(tf.math.is_finite(logarithms), logarithms, tf.fill(tf.shape(x), 7777.0))


def main():
    folder = case.start("tf1-constants")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, WIDTH], "x")
        y = v1.placeholder(tf.float32, [None, WIDTH], "y")
        outputs = {name: value if name in ("wanted", *ESTIMATED) else bits(value)
                   for pairs in (expressions(x, y), told_apart(x)) for name, value in pairs}
        outputs["entropy"] = entropies(x)
        v1.saved_model.simple_save(session, folder + "/model", {"x": x, "y": y}, outputs)
    feeds = []
    for rows in (1, 3):
        x, y = rng.normal(size=(2, rows, WIDTH)).astype("f4")
        x[0, :3] = 1, 2, -1
        feeds.append({"x": x, "y": np.abs(y) + np.float32(0.1)})
    case.add_requests(folder, answers(folder + "/model", feeds))
    case.finish(folder, "constants of sums, products and cubes that TensorFlow's optimizer brings together, to the last bit",
                "Made by scripts/golden/make_constants.py with TensorFlow %s on CPU; answers by TensorFlow's session with one thread.  "
                "Apache-2.0, like the project." % tf.__version__, extra={"tolerance_by_output": ESTIMATED})


main()
