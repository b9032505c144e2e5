"""tf1-rounds, tf2-rounds, keras2-rounds, tf2-captured, tf2-equalled, tf2-named: sums and products in loops, branches and
blocks, which TensorFlow's optimizer groups by shapes and by names.

A matrix product only moves columns, and all else is rounded once wherever it runs: the bits are those of the order on every
processor.  They are answered as integers.
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
WIDTH = 8
rng = np.random.default_rng(197)


def numbers(*shape):
    return rng.normal(size=shape).astype("f4")


def turn(shift):
    return np.roll(np.eye(WIDTH, dtype="f4") * 0.5, shift, axis=1)


def bits(x):
    return tf.bitcast(x, tf.int32)


class Rounds(tf.Module):
    def __init__(self):
        self.rows = [tf.Variable(numbers(WIDTH)) for _ in range(4)]
        self.turns = [tf.Variable(turn(shift)) for shift in (1, 2, 3)]

    def round(self, h, z):
        a, b, c, d = self.rows
        t = tf.matmul(h, self.turns[0])
        z = ((t + a) + z) + ((h + b) + t * c * d)
        return z * 0.25 * a + h * c * a * b, z

    def loop(self, x, rounds):
        h = z = tf.matmul(x, self.turns[0])
        for _ in tf.range(rounds):
            h, z = self.round(h, z)
        return h, z

    def branches(self, x, h, z, rounds):
        a, b, c, _ = self.rows
        if rounds > 2:
            return ((h + a) + tf.matmul(x, self.turns[2])) + z + b
        return (z + b) + (h + c) + h * z * a

    @tf.function(input_signature=[tf.TensorSpec((None, WIDTH), name="x"), tf.TensorSpec((), tf.int32, name="rounds")])
    def answer(self, x, rounds):
        a, _, _, d = self.rows
        h, z = self.loop(x, rounds)
        after = ((z + a) + h) + tf.matmul(x, self.turns[1])
        branch = self.branches(x, h, z, rounds) + ((h + d) + after)
        return {"h": bits(h), "z": bits(z), "after": bits(after), "branch": bits(branch),
                "of_input": bits(x * (z + 1.5) / 24.0 * 0.3)}


class Captured(tf.Module):
    """Constants from around a loop and a condition, and some of their own."""

    @tf.function(input_signature=[tf.TensorSpec((None, WIDTH), name="x"), tf.TensorSpec((), tf.int32, name="rounds")])
    def answer(self, x, rounds):
        k, half, third = tf.constant(-1.3), tf.constant(0.55), tf.constant(3.3)
        h = x * 0.7
        for _ in tf.range(rounds):
            h = k - (h + x)
            h = 0.3 * h * k + x
            h = (0.5 + h + k) / third
        if rounds > 2:
            z = (k - (h + x)) + half
        else:
            z = (h * 0.3) * k + x
        return {"h": bits(h), "z": bits(z), **self.reduced(x, h, rounds), **self.given(x, h, rounds)}

    def given(self, x, h, rounds):
        """Of two values that a function is given it is the one given first that stays when a constant comes."""
        y, w = tf.tanh(tf.matmul(x, turn(1))), tf.abs(h)

        def met(p, q):
            return -1.3 - (p + q) + 0.55, 0.7 * (p * q * 1.3)

        def branch():
            return [tf.stack(met(y, x)) + w, tf.stack(met(w, x)) + y]

        def body(i, s, t):
            return i + 1, 0.1 * (met(s, y)[0] + met(w, y)[1]), 0.1 * (met(x, w)[0] + met(tf.tanh(t), x)[1])

        branches = tf.cond(rounds > 2, branch, lambda: [tf.stack(met(x, y)), tf.stack(met(w, y))])
        rows = tf.while_loop(lambda i, s, t: i < rounds, body, (0, x, h))
        return {"in_branches": bits(branches), "in_rounds": bits(rows[1:]), "in_call": bits(tf.function(met)(y, x))}

    def reduced(self, x, h, rounds):
        """Of numbers so small that Log1p and Expm1 answer them, and the logarithm and the exponential nothing."""
        one, three = tf.constant(1.0), tf.constant(3.0)
        cube = logarithm = exponential = x * 1e-9
        opened = tf.zeros([tf.shape(x)[0], WIDTH])
        for _ in tf.range(rounds):
            cube = tf.pow(cube + x, three) * 1e-3
            logarithm = tf.math.log(logarithm + 1.0) + x * 1e-9
            exponential = (tf.exp(exponential) - one) + x * 1e-9
            opened = tf.math.log(opened + 1.0) + x * 1e-9
        if rounds > 1:
            scaled = 0.1 * tf.pow(h, 3.0) * one + x
            either = tf.math.log(x * 1e-9 + one)
        else:
            scaled = tf.pow(h, three) * 0.1
            either = tf.exp(x * 1e-9) - 1.0
        joined = tf.tanh(tf.math.log(tf.matmul(x * 1e-9, turn(1)) + 1.0))
        return {"cube": bits(cube), "logarithm": logarithm * 1e9, "exponential": exponential * 1e9, "opened": opened * 1e9,
                "scaled": bits(scaled), "given": bits(0.1 * tf.pow(x, 3.0) + x), "either": either * 1e9, "joined": joined * 1e9}


class Equalled(tf.Module):
    """Blocks whose AddN says of what is fed, and of their parts, that they have one shape."""

    def __init__(self, own):
        super().__init__()
        self.blocks = [[tf.Variable(value) for value in (turn(i), turn(i + 3), own.normal(0, 0.4, WIDTH).astype("f4"))]
                       for i in range(1, 5)]

    def nested(self, x, y):
        (a, b, c), (d, e, f), (g, i, j), _ = self.blocks
        first = tf.add_n([tf.matmul(x, a) + c, y * f, tf.matmul(y, d)])
        second = tf.add_n([tf.matmul(x, e) + f, tf.add_n([x, tf.matmul(y, g), y]), tf.matmul(first, b)])
        return tf.add_n([tf.add_n([second, tf.matmul(y, i) + j]), first + tf.matmul(x, b)])

    @tf.function(input_signature=[tf.TensorSpec((None, WIDTH), name="x"), tf.TensorSpec((None, WIDTH), name="y")])
    def answer(self, x, y):
        h = x
        for again, layer, bias in self.blocks:
            h = tf.nn.relu(tf.add_n([tf.matmul(h, again), tf.matmul(x, layer) + bias, h]))
        return {"h": bits(h), "nested": bits(self.nested(x, y))}

    @tf.function(input_signature=[tf.TensorSpec((None, WIDTH), name="x"), tf.TensorSpec((None, WIDTH), name="y")])
    def named(self, x, y):
        """Three read x, and two y, in the function that the signature calls."""
        a, b, c = self.blocks[0]
        return {"sum": bits(tf.add_n([x, y, tf.matmul(x, a), tf.matmul(x, b) + c, tf.matmul(y, b)]))}


class Normalized(tf.keras.layers.Layer):
    """A cell with normalized gates, but for what is no sum or product."""

    def __init__(self):
        super().__init__()
        self.state_size = self.output_size = WIDTH

    def build(self, shape):
        self.rows = [self.add_weight("row_%d" % i, (WIDTH,), initializer=tf.constant_initializer(numbers(WIDTH))) for i in range(5)]
        self.turn = self.add_weight("turn", (2 * WIDTH, 2 * WIDTH),
                                    initializer=tf.constant_initializer(np.roll(np.eye(2 * WIDTH, dtype="f4"), 3, axis=1)))

    def call(self, x, states):
        a, b, c, gamma, beta = self.rows
        h = states[0]
        gate, other = tf.split(tf.matmul(tf.concat([x, h], 1), self.turn), 2, axis=1)
        mean = tf.reduce_max(gate, axis=1, keepdims=True)
        gate = (gate * gamma + (beta - mean * gamma)) + 1.0 + a
        other = ((other * gamma) * b) * c + (gate + b + other + h)
        h = (other + h + gate * a) * 0.125
        return h, [h]


def loops_of_functions():
    folder = case.start("tf2-rounds")
    module = Rounds()
    tf.saved_model.save(module, folder + "/model", signatures=module.answer)
    feeds = [{"x": numbers(rows, WIDTH), "rounds": np.int32(rounds)} for rows, rounds in ((1, 1), (2, 0), (3, 3), (7, 2), (40, 5))]
    finish(folder, feeds)


def captured_constants():
    own = np.random.default_rng(223)
    folder = case.start("tf2-captured")
    module = Captured()
    tf.saved_model.save(module, folder + "/model", signatures=module.answer)
    finish(folder, [{"x": own.normal(size=(rows, WIDTH)).astype("f4"), "rounds": np.int32(rounds)}
                    for rows, rounds in ((1, 1), (2, 0), (3, 3), (7, 2), (40, 5))])


def equalled():
    own = np.random.default_rng(227)
    module = Equalled(own)
    for name, function in (("tf2-equalled", module.answer), ("tf2-named", module.named)):
        folder = case.start(name)
        tf.saved_model.save(module, folder + "/model", signatures=function)
        finish(folder, [{name: own.normal(size=(rows, WIDTH)).astype("f4") for name in "xy"} for rows in (1, 2, 9, 64)])


def cells():
    folder = case.start("keras2-rounds")
    x = tf.keras.Input((6, WIDTH), name="x")
    all_of_them, last = tf.keras.layers.RNN(Normalized(), return_sequences=True, return_state=True)(x)
    outputs = [bits(all_of_them), bits(last + last * all_of_them[:, 2] + x[:, 1] + all_of_them[:, 3])]
    tf.keras.Model(x, outputs).save(folder + "/model", include_optimizer=False)
    finish(folder, [{"x": numbers(rows, 6, WIDTH)} for rows in (1, 2, 5, 33)])


def loops_of_graphs():
    v1.disable_control_flow_v2()
    folder = case.start("tf1-rounds")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, WIDTH], "x")
        rounds = v1.placeholder(tf.int32, [], "rounds")
        a, b, c, d = [v1.get_variable("row_%d" % i, initializer=numbers(WIDTH)) for i in range(4)]
        turns = [v1.get_variable("turn_%d" % i, initializer=turn(i)) for i in range(3)]
        start = tf.matmul(x, turns[0])
        other = tf.matmul(x, turns[2]) + d

        def body(i, h, z):
            t = tf.matmul(h, turns[1])
            z = ((t + a) + z) + ((h + b) + t * c * d) + h * other
            return i + 1, z * 0.25 * a + h * c * a * b, z

        _, h, z = v1.while_loop(lambda i, h, z: i < rounds, body, [0, start, start])
        after = ((z + a) + h) + tf.matmul(x, turns[2])
        branch = v1.cond(rounds > 2, lambda: ((h + a) + after) + z + b, lambda: (z + b) + (h + c) + h * z * a)
        outputs = {name: bits(y) for name, y in (("h", h), ("z", z), ("after", after), ("branch", branch + ((h + d) + after)))}
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, folder + "/model", {"x": x, "rounds": rounds}, outputs)
    feeds = [{"x": numbers(rows, WIDTH), "rounds": np.int32(n)} for rows, n in ((1, 1), (2, 0), (3, 3), (7, 2), (40, 5))]
    finish(folder, feeds)


def finish(folder, feeds):
    case.add_requests(folder, answers(folder + "/model", feeds))
    case.finish(folder, "sums and products in loops and branches, to the last bit",
                "Made by scripts/golden/make_rounds.py with TensorFlow %s on CPU, seeded random weights; answers by TensorFlow's session "
                "with one thread.  Apache-2.0, like the project." % tf.__version__)


def main():
    loops_of_functions()
    cells()
    loops_of_graphs()
    captured_constants()
    equalled()


if __name__ == "__main__":
    main()
