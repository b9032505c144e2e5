"""Conditions, loops and lists, of the first generation and of the second.

tf1-control-flow  Switch and Merge, loops of Enter, NextIteration and Exit in each other and in conditions, TensorArrays
tf2-control-flow  If, Case, While and TensorLists: what AutoGraph, Keras and the functional operators make of Python
tf1-array-errors  what may go wrong with a TensorArray, one of it per request
tf2-list-errors   what may go wrong with a TensorList, one of it per request
"""
import os
import tempfile

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import answers, refusals

PROVENANCE = ("Made by scripts/golden/make_control_flow.py with TensorFlow %s on CPU, seeded random weights; answers by "
              "TensorFlow's session.  Apache-2.0, like the project." % tf.__version__)

v1 = tf.compat.v1
NO_DIMS = np.zeros(0, np.int32)


# ------------------------------------------------------------------------------------------------ first generation

def v1_outputs(x, n, flag, words, table, kernel):
    """x [batch, 3] float32; n scalar int32; flag scalar bool; words [batch] string."""
    out = {}
    zero = tf.constant(0)
    out["counted"] = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 1.5 + tf.matmul(x, kernel)),
                                   [zero, tf.zeros_like(x)])[1]
    out["swapped"] = tf.while_loop(lambda i, a, b: i < n, lambda i, a, b: (i + 1, b, a), [zero, x, -x])[1]

    def inner(i, a):
        return tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b + x * tf.cast(i, tf.float32)), [zero, a])[1]

    out["nested"] = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, inner(i, a)), [zero, x])[1]
    out["cond_in_loop"] = tf.while_loop(
        lambda i, a: i < n,
        lambda i, a: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: a + x, lambda: a * 0.5)), [zero, x])[1]
    out["loop_in_cond"] = tf.cond(
        flag, lambda: tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a + 1.0), [zero, x])[1],
        lambda: tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a - tf.matmul(x, kernel)), [zero, x])[1])
    # The condition is a loop of its own: sum(0 .. i) < 10.
    out["loop_in_condition"] = tf.while_loop(
        lambda i: tf.while_loop(lambda j, s: j < i, lambda j, s: (j + 1, s + j), [zero, zero])[1] < 10,
        lambda i: [i + 1], [zero])[0]
    out["asserted"] = tf.while_loop(
        lambda i, a: i < n,
        lambda i, a: (i + 1, with_assert(tf.reduce_max(tf.abs(a)) < 1e6, a, a + 1.0)), [zero, x])[1]
    out["texts"] = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, tf.strings.join([s, words], "-")),
                                 [zero, words], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])[1]
    out["looked_up"] = tf.while_loop(
        lambda i, s: i < n, lambda i, s: (i + 1, s + table.lookup(tf.strings.join([words, tf.as_string(i)]))),
        [zero, tf.zeros_like(words, tf.int64)])[1]
    out["cased"] = tf.case([(n > 4, lambda: x * 2.0), (n > 2, lambda: x * 3.0)], default=lambda: -x)
    out["mapped"] = tf.map_fn(lambda row: tf.reduce_sum(row) * row, x)
    out["scanned"] = tf.scan(lambda a, row: a * 0.5 + row, x, initializer=tf.zeros([3]))
    out["folded"] = tf.foldl(lambda a, row: a + tf.reduce_max(row), x, initializer=0.0)
    out.update(v1_arrays(x, n))
    cell = v1.nn.rnn_cell.GRUCell(4, name="gru", bias_initializer=v1.random_uniform_initializer(-1, 1, 3),
                                  kernel_initializer=v1.random_uniform_initializer(-1, 1, 4))
    steps = tf.stack([x, x * 0.5, -x], 1)
    out["states"], out["last_state"] = v1.nn.dynamic_rnn(cell, steps, sequence_length=tf.fill([tf.shape(x)[0]], n % 4),
                                                         dtype=tf.float32)
    return out


def with_assert(holds, data, value):
    with tf.control_dependencies([v1.Assert(holds, [data], summarize=6)]):
        return tf.identity(value)


def v1_arrays(x, n):
    out = {}
    array = tf.TensorArray(tf.float32, size=n, clear_after_read=False, element_shape=[3])
    array = tf.while_loop(lambda i, ta: i < n, lambda i, ta: (i + 1, ta.write(i, x[0] + tf.cast(i, tf.float32))),
                          [tf.constant(0), array])[1]
    out["written"], out["written_size"] = array.stack(), array.size()
    out["joined"] = array.concat()
    grown = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False,
                           element_shape=[])
    grown = tf.while_loop(lambda i, ta: i < 2 * n, lambda i, ta: (i + 1, ta.write(i, tf.cast(i * i, tf.float32))),
                          [tf.constant(0), grown])[1]
    out["grown"] = grown.stack()
    rows = tf.TensorArray(tf.float32, size=tf.shape(x)[0]).unstack(x)
    out["gathered"] = rows.gather(tf.range(tf.shape(x)[0])[::-1])
    scattered = tf.TensorArray(tf.float32, size=4, element_shape=[3]).scatter([3, 1], tf.constant(
        [[1., 2., 3.], [4., 5., 6.]]))
    out["scattered"] = scattered.read(1) + scattered.read(3)
    out["unset_are_zero"] = tf.TensorArray(tf.float32, size=3, element_shape=[2]).write(1, [1., 2.]).stack()
    return out


def tf1_control_flow():
    folder = case.start("tf1-control-flow")
    rng = np.random.default_rng(41)
    with tf.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(5)
        x = v1.placeholder(tf.float32, [None, 3], "x")
        n = v1.placeholder(tf.int32, [], "n")
        flag = v1.placeholder(tf.bool, [], "flag")
        words = v1.placeholder(tf.string, [None], "words")
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a0", "b1", "a2"], np.int64([5, 7, 9])), 1)
        kernel = v1.get_variable("kernel", initializer=rng.normal(size=[3, 3]).astype("f4"), use_resource=False)
        outputs = v1_outputs(x, n, flag, words, table, kernel)
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        builder = v1.saved_model.builder.SavedModelBuilder(folder + "/model")
        builder.add_meta_graph_and_variables(
            session, ["serve"], main_op=v1.tables_initializer(), strip_default_attrs=True,
            signature_def_map={"serving_default": v1.saved_model.predict_signature_def(
                {"x": x, "n": n, "flag": flag, "words": words}, outputs)})
        builder.save()
    finish(folder, rng, "Switch and Merge, loops in loops, in conditions and in the conditions of loops, dynamic_rnn, map_fn, "
                        "scan, TensorArrays, texts and table lookups in loops, an Assert in a loop")


# ----------------------------------------------------------------------------------------------- second generation

class Second(tf.Module):
    def __init__(self, rng):
        self.kernel = tf.Variable(rng.normal(size=[3, 3]).astype("f4"))
        self.table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(["a0", "b1", "a2"], np.int64([5, 7, 9])), 1)
        tf.keras.utils.set_random_seed(7)
        self.gru = tf.keras.layers.GRU(4, return_sequences=True, bias_initializer="random_normal")
        self.lstm = tf.keras.layers.LSTM(3, return_state=True, bias_initializer="random_normal", go_backwards=True)
        self.cell_rnn = tf.keras.layers.RNN(tf.keras.layers.SimpleRNNCell(2, bias_initializer="random_normal"))

    @tf.function
    def layer(self, x):
        return tf.nn.tanh(tf.matmul(x, self.kernel))

    def loops(self, x, n, flag, words):
        out = {}
        a = x
        for i in tf.range(n):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(a, tf.TensorShape([None, 3]))])
            if i % 3 == 1:
                continue
            a = self.layer(a) + x
            if tf.reduce_sum(a) > 40.0:
                break
        out["broken_off"] = a
        total, rounds = tf.constant(0.0), tf.constant(0)
        while total < 10.0 and rounds < 50:
            for j in tf.range(rounds):
                total += tf.cast(j, tf.float32) * 0.5
            rounds += 1
        out["total"], out["rounds"] = total, rounds
        out["swapped"] = tf.while_loop(lambda i, p, q: i < n, lambda i, p, q: (i + 1, q, p), [0, x, -x])[1]
        out["limited"] = tf.while_loop(lambda i: True, lambda i: [i + 2], [tf.constant(1)],
                                       maximum_iterations=n)[0]
        if flag:
            branch, twice = self.layer(x), x * 2.0
        else:
            branch, twice = x, tf.zeros_like(x)
        out["branch"], out["twice"] = branch, twice
        out["switched"] = tf.switch_case(n, [lambda: x, lambda: self.layer(x), lambda: tf.reverse(x, [1])],
                                         default=lambda: -x)
        s, found = words, tf.zeros_like(words, tf.int64)
        for i in tf.range(n):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(s, tf.TensorShape([None]))])
            s = tf.strings.join([s, words], "-")
            found += self.table.lookup(tf.strings.join([words, tf.as_string(i)]))
        out["texts"], out["found"] = s, found
        tf.debugging.assert_less(tf.reduce_max(n), 1000, message="n is too large")
        return out

    def lists(self, x, n, flag):
        out = {}
        grown = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[3])
        for i in tf.range(n):
            if i % 2 == 0 or flag:
                grown = grown.write(grown.size(), tf.reduce_sum(x, 0) * tf.cast(i, tf.float32))
        out["grown"], out["grown_size"] = grown.stack(), grown.size()
        out["mapped"] = tf.map_fn(lambda row: tf.reduce_sum(row) * row, x)
        out["mapped_pairs"] = tf.map_fn(lambda p: (p[0] + p[1], tf.size(p[0])), (x, x * x),
                                        fn_output_signature=(tf.float32, tf.int32))[0]
        out["scanned"] = tf.scan(lambda a, row: a * 0.5 + row, x, initializer=tf.zeros([3]), reverse=True)
        out["folded"] = tf.foldl(lambda a, row: a + tf.reduce_max(row), x, initializer=0.0)
        raw = tf.raw_ops
        stack = raw.EmptyTensorList(element_shape=[-1], max_num_elements=-1, element_dtype=tf.float32)
        for _ in range(3):
            stack = raw.TensorListPushBack(input_handle=stack, tensor=tf.fill([n], 2.0))
        stack = raw.TensorListPushBack(input_handle=stack, tensor=x[:, 0])
        out["pushed"], lengths = raw.TensorListConcatV2(input_handle=stack, element_shape=[-1],
                                                        leading_dims=tf.constant([], tf.int64), element_dtype=tf.float32)
        out["lengths"] = lengths
        rest, out["popped"] = raw.TensorListPopBack(input_handle=stack, element_shape=[-1], element_dtype=tf.float32)
        out["left"] = raw.TensorListLength(input_handle=rest) + raw.TensorListLength(input_handle=stack)
        out["element_shape"] = raw.TensorListElementShape(input_handle=rest, shape_type=tf.int64)
        rows = raw.TensorListFromTensor(tensor=x, element_shape=[3])
        resized = raw.TensorListResize(input_handle=rows, size=tf.shape(x)[0] + 1)
        out["resized"] = raw.TensorListStack(input_handle=resized, element_shape=[3], element_dtype=tf.float32)
        spread = raw.TensorListScatterV2(tensor=x, indices=tf.range(tf.shape(x)[0]) * 2, element_shape=[3], num_elements=-1)
        out["spread"] = raw.TensorListStack(input_handle=spread, element_shape=[3], element_dtype=tf.float32)
        again = raw.TensorListScatterIntoExistingList(input_handle=rows, tensor=-x, indices=tf.range(tf.shape(x)[0])[::-1])
        out["again"] = raw.TensorListGather(input_handle=again, indices=tf.range(tf.shape(x)[0]), element_shape=[3],
                                            element_dtype=tf.float32)
        out["kept"] = raw.TensorListStack(input_handle=rows, element_shape=[3], element_dtype=tf.float32)
        return out

    def layers(self, x):
        steps = tf.stack([x, x * 0.5, -x], 1)
        mask = tf.stack([tf.ones_like(x[:, 0], tf.bool), x[:, 0] > 0, x[:, 1] > 0], 1)
        out = {"gru": self.gru(steps, mask=mask), "simple": self.cell_rnn(steps)}
        out["lstm"], out["lstm_h"], out["lstm_c"] = self.lstm(steps)
        return out

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x"), tf.TensorSpec([], tf.int32, "n"),
                                  tf.TensorSpec([], tf.bool, "flag"), tf.TensorSpec([None], tf.string, "words")])
    def serve(self, x, n, flag, words):
        return {**self.loops(x, n, flag, words), **self.lists(x, n, flag), **self.layers(x)}


def tf2_control_flow():
    folder = case.start("tf2-control-flow")
    rng = np.random.default_rng(42)
    module = Second(rng)
    case.save(folder, module, module.serve)
    finish(folder, rng, "If, Case and While made by AutoGraph with break and continue, calls and tables in loops, map_fn, scan, "
                        "TensorList operators, Keras GRU, LSTM and RNN, masked")


# ------------------------------------------------------------------------------------------------ what goes wrong

def list_branches(x, i):
    """x [n] float32, i scalar int32.  Each is fine for i = 1 and wrong for i = -2 or for i = 5, n being 3."""
    raw, f32 = tf.raw_ops, tf.float32
    rows = raw.TensorListFromTensor(tensor=x, element_shape=NO_DIMS)
    vectors = raw.TensorListReserve(element_shape=[-1], num_elements=3, element_dtype=f32)

    def total(handle, shape=NO_DIMS):
        return tf.reduce_sum(raw.TensorListStack(input_handle=handle, element_shape=shape, element_dtype=f32))

    def pushed(n):
        full = raw.EmptyTensorList(element_shape=NO_DIMS, max_num_elements=2, element_dtype=f32)
        return total(tf.while_loop(lambda k, l: k < n, lambda k, l: (
            k + 1, raw.TensorListPushBack(input_handle=l, tensor=1.0)), [0, full])[1])

    def popped(n):
        return tf.while_loop(lambda k, l: k < n, lambda k, l: (
            k + 1, raw.TensorListPopBack(input_handle=l, element_shape=NO_DIMS, element_dtype=f32)[0]), [0, rows])[1]

    some = raw.TensorListSetItem(input_handle=vectors, index=0, item=x)
    return [
        lambda: raw.TensorListGetItem(input_handle=rows, index=i, element_shape=NO_DIMS, element_dtype=f32),
        lambda: total(raw.TensorListSetItem(input_handle=rows, index=i, item=1.0)),
        lambda: total(raw.TensorListReserve(element_shape=NO_DIMS, num_elements=i, element_dtype=f32)),
        lambda: total(raw.TensorListResize(input_handle=rows, size=i)),
        lambda: total(raw.TensorListResize(input_handle=vectors, size=i), tf.stack([i + 1])),
        lambda: pushed(i + 1),
        lambda: tf.cast(raw.TensorListLength(input_handle=popped(i + 2)), f32),
        lambda: tf.reduce_sum(raw.TensorListGather(input_handle=rows, indices=[i, 0], element_shape=NO_DIMS, element_dtype=f32)),
        lambda: total(raw.TensorListScatterV2(tensor=x[:2], indices=[0, i], element_shape=NO_DIMS, num_elements=4)),
        lambda: total(raw.TensorListScatterIntoExistingList(input_handle=rows, tensor=x[:i + 1], indices=[0, 1])),
        lambda: total(raw.TensorListFromTensor(tensor=tf.reshape(x, [1, -1]), element_shape=tf.stack([i + 2])), [3]),
        lambda: tf.reduce_sum(raw.TensorListGetItem(input_handle=some, index=1, element_shape=tf.stack([i]), element_dtype=f32)),
        lambda: tf.reduce_sum(raw.TensorListConcatV2(
            input_handle=some, element_shape=[-1], leading_dims=tf.cast(tf.fill([i + 2], 1), tf.int64), element_dtype=f32)[0]),
        lambda: tf.reduce_sum(raw.TensorListConcatV2(
            input_handle=raw.TensorListSetItem(input_handle=vectors, index=0, item=x[:i + 1]), element_shape=[2],
            leading_dims=tf.constant([], tf.int64), element_dtype=f32)[0]),
    ]


def array_branches(x, i):
    def fresh(**options):
        return tf.TensorArray(tf.float32, size=3, element_shape=[], **options)

    def written(n):
        return tf.while_loop(lambda k, ta: k < n, lambda k, ta: (k + 1, ta.write(1, 1.0)), [0, fresh()])[1].read(1)

    whole = fresh().unstack(x)
    return [
        lambda: whole.read(i),
        lambda: fresh().write(i, 2.0).read(1),
        lambda: tf.reduce_sum(tf.TensorArray(tf.float32, size=i, element_shape=[]).stack()),
        lambda: written(i),
        lambda: tf.reduce_sum(whole.gather([0, i])),
        lambda: fresh().scatter([0, i], x[:2]).read(1),
        lambda: tf.TensorArray(tf.float32, size=3, infer_shape=False).write(1, x[0]).read(i),
        lambda: tf.TensorArray(tf.float32, size=2).write(0, x[:i + 1]).write(1, x[:2]).read(0)[0],
    ]


def errors_of(folder, count, indices):
    """Every branch with indices that are good and with those that TensorFlow says are not."""
    x = np.float32([0.5, 2, -1])
    case.add_tried(folder, [{"x": x, "i": np.int32(i), "which": np.int32(which)}
                            for which in range(count) for i in indices])


def tf2_list_errors():
    folder = case.start("tf2-list-errors")

    class Module(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x"), tf.TensorSpec([], tf.int32, "i"),
                                      tf.TensorSpec([], tf.int32, "which")])
        def serve(self, x, i, which):
            return {"y": tf.switch_case(which, list_branches(x, i))}

    module = Module()
    case.save(folder, module, module.serve)
    errors_of(folder, 14, (1, -2, 5, 4, 2))
    case.finish(folder, "TensorList operators refuse what TensorFlow refuses", PROVENANCE, extra={"errors": "errors"})


def tf1_array_errors():
    folder = case.start("tf1-array-errors")
    with tf.Graph().as_default(), v1.Session() as session:
        x, i = v1.placeholder(tf.float32, [None], "x"), v1.placeholder(tf.int32, [], "i")
        which = v1.placeholder(tf.int32, [], "which")
        y = tf.switch_case(which, [lambda f=f: tf.reshape(f(), []) for f in array_branches(x, i)])
        v1.saved_model.simple_save(session, folder + "/model", {"x": x, "i": i, "which": which}, {"y": y})
    errors_of(folder, 8, (1, 5, 4, 2))  # TensorFlow itself crashes on some that are negative
    case.finish(folder, "TensorArrays refuse what TensorFlow refuses", PROVENANCE, extra={"errors": "errors"})


def finish(folder, rng, covers):
    feeds = []
    for batch, n, flag in ((1, 0, True), (2, 1, False), (3, 3, True), (7, 5, False), (16, 2, True)):
        feeds.append({"x": rng.normal(size=(batch, 3)).astype("f4"), "n": np.int32(n), "flag": np.bool_(flag),
                      "words": case.strings(rng.choice(np.array(["a", "b", "", "\u00fc"], object), batch))})
    case.add_requests(folder, answers(folder + "/model", feeds))
    bad = [{**feeds[2], "x": np.full((3, 3), 1e7, "f4"), "n": np.int32(1001)},
           {**feeds[1], "n": np.int32(-3)}]
    case.add_errors(folder, refusals(folder + "/model", bad))
    case.finish(folder, covers, PROVENANCE, extra={"errors": "errors"})


tf2_control_flow()
tf2_list_errors()
v1.disable_v2_behavior()
tf1_control_flow()
tf1_array_errors()
