"""tf1-shaped: sums, products and logarithms that TensorFlow's optimizer rewrites where it knows shapes from far off.

Behind arrays and loops, sums of segments and of a sparse matrix with a constant shape; and where another reader of what is fed
demands a rank.  Sums and products round each result once and are answered as bits; logarithms of what is nearly 1 are far apart.
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
WIDTH, LENGTH, ROWS = 6, 4, 9
rng = np.random.default_rng(191)


def weights(name, *shape):
    return v1.get_variable(name, initializer=rng.normal(0, 0.7, shape).astype("f4"))


def bits(x):
    return tf.bitcast(x, tf.int32)


class Total(v1.nn.rnn_cell.RNNCell):
    """What came so far, added up."""
    state_size = output_size = WIDTH

    def __call__(self, x, state, scope=None):
        return x + state, x + state


def scaled(x, name):
    """(x * column) * row: the small ones are multiplied first."""
    return bits(tf.identity(weights(name, WIDTH) * (x * tf.reduce_max(x, -1, keepdims=True))))


def behind_loops(x, lengths):
    parts = tf.reshape(x, [-1, LENGTH, WIDTH])
    outputs, state = v1.nn.dynamic_rnn(Total(), parts, sequence_length=lengths, dtype=tf.float32)
    yield "steps", scaled(outputs, "steps")
    yield "reversed", scaled(tf.reverse_sequence(outputs, lengths, 1), "reversed")
    yield "both", scaled(tf.concat([outputs[:, :, :3], tf.reverse_sequence(outputs, lengths, 1)[:, :, 3:]], 2), "both")
    yield "sum", bits(outputs + parts + weights("offset", WIDTH) + outputs * 0.3)
    # Nothing is known of the elements of an array that only the loop writes.
    yield "mapped", scaled(v1.map_fn(lambda row: row + 0.1, parts), "mapped")


def behind_lists(x):
    parts = tf.reshape(x, [-1, LENGTH, WIDTH])
    yield "list", scaled(v1.nn.dynamic_rnn(Total(), parts, dtype=tf.float32, scope="second")[0], "list")


def behind_parts(ids):
    """Sums of three of one shape are added in the order of their names."""
    order = rng.permutation(ROWS)
    matrix = tf.SparseTensor(np.stack([np.arange(ROWS), order], 1), rng.normal(size=ROWS).astype("f4"), [ROWS, ROWS])
    kinds = {"sparse": lambda t: v1.sparse_tensor_dense_matmul(matrix, t),
             "turned": lambda t: v1.sparse_tensor_dense_matmul(matrix, t, adjoint_a=True),
             "segments": lambda t: tf.math.unsorted_segment_sum(t, order, ROWS),
             "largest": lambda t: tf.math.unsorted_segment_max(t, order, ROWS),
             "sorted": lambda t: tf.math.segment_sum(t, np.arange(ROWS))}
    for kind, f in kinds.items():
        c, a, b = (f(weights("%s_%d" % (kind, i), ROWS, WIDTH)) for i in range(3))
        yield kind, bits(tf.gather(a + b + c, ids))


def beside_readers():
    """x is nearly 0: Log(x + 1) and Log1p(x) have little in common."""
    matrix, other = weights("matrix", WIDTH, 2), v1.placeholder(tf.float32, [None, WIDTH], "other")
    readers = {"none": lambda x: x * 2, "matmul": lambda x: tf.matmul(x, matrix), "behind": lambda x: tf.matmul(tf.nn.relu(x), matrix),
               "sum": lambda x: tf.matmul(x + other, matrix), "turned": lambda x: tf.transpose(x) * 2,
               "ensured": lambda x: tf.ensure_shape(x, [None, WIDTH]) * 2, "bias": lambda x: tf.nn.bias_add(x, matrix[:, 0]),
               "packed": lambda x: tf.stack([x, tf.reshape(other, [-1, WIDTH])]), "alone": lambda x: tf.stack([x, other]),
               "joined": lambda x: tf.concat([x, x], 1), "part": lambda x: tf.slice(x, [0, 1], [-1, 2]),
               "padded": lambda x: tf.pad(x, [[0, 0], [1, 1]]), "tiled": lambda x: tf.tile(x, [1, 2])}
    yield "other", other, None
    for name, reader in readers.items():
        x = v1.placeholder(tf.float32, [None, WIDTH], "x_" + name)
        yield name, x, {"log": tf.math.log(x + 1.0) * 2.0**20, "exp": (tf.exp(x) - 1.0) * 2.0**20,
                        "log_square": tf.math.log(x * x + 1.0) * 2.0**20, "log_power": tf.math.log(x**2 + 1.0) * 2.0**20,
                        "exp_square": (tf.exp(x * x) - 1.0) * 2.0**20, "exp_other": (tf.exp(tf.abs(x) * tf.abs(x)) - 1.0) * 2.0**20,
                        "reader": reader(x) + 1.0}


def main():
    folder = case.start("tf1-shaped")
    with tf.Graph().as_default(), v1.Session() as session:
        inputs = {"x": v1.placeholder(tf.float32, [None, LENGTH * WIDTH], "x"),
                  "lengths": v1.placeholder(tf.int32, [None], "lengths"), "ids": v1.placeholder(tf.int32, [None], "ids")}
        v1.disable_control_flow_v2()
        outputs = dict(behind_loops(inputs["x"], inputs["lengths"]))
        v1.enable_control_flow_v2()
        outputs.update(behind_lists(inputs["x"]))
        outputs.update(behind_parts(inputs["ids"]))
        for name, x, results in beside_readers():
            inputs["x_" + name] = x
            outputs.update({"%s_%s" % (name, kind): y for kind, y in (results or {}).items()})
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, folder + "/model", inputs, outputs)
    feeds = []
    for batch in (1, 2, 5):
        feed = {"x": rng.normal(size=(batch, LENGTH * WIDTH)).astype("f4"),
                "lengths": rng.integers(1, LENGTH + 1, batch).astype("i4"), "ids": np.arange(ROWS, dtype="i4")}
        for name in inputs:
            if name.startswith("x_"):
                feed[name] = (rng.random((batch, WIDTH)) * 3e-3 + 2e-4).astype("f4")
        feeds.append(feed)
    case.add_requests(folder, answers(folder + "/model", feeds))
    case.finish(folder, "sums, products and logarithms whose shapes TensorFlow's optimizer knows from far off",
                "Made by scripts/golden/make_shaped.py with TensorFlow %s on CPU, seeded random weights; answers by TensorFlow's session "
                "with one thread.  Apache-2.0, like the project." % tf.__version__)


main()
