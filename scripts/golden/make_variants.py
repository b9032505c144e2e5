"""Ragged tensors as one value and lists of lists.

tf2-variants        map_fn over the rows of ragged tensors, lists of lists
tf2-variant-moves   arrays of ragged tensors, lists and optionals that are packed, gathered, sliced
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import answers

PROVENANCE = ("Made by scripts/golden/make_variants.py with TensorFlow %s on CPU; answers by TensorFlow's session.  "
              "Apache-2.0, like the project." % tf.__version__)

v1 = tf.compat.v1
raw = tf.raw_ops
NO_DIMS = np.zeros(0, np.int32)


def rows_of(dtype=tf.float32, splits=tf.int64):
    return tf.RaggedTensorSpec([None], dtype, ragged_rank=0, row_splits_dtype=splits)


def put(out, name, ragged):
    out[name] = ragged.flat_values
    for level, splits in enumerate(ragged.nested_row_splits):
        out["%s_splits%d" % (name, level)] = splits


def mapped(x, words, lengths):
    """x [n] float32, words [n] string, lengths [rows] int64 that add up to n."""
    out = {}
    rows = tf.RaggedTensor.from_row_lengths(x, lengths)
    put(out, "scaled", tf.map_fn(lambda row: row * tf.reduce_sum(row), rows, fn_output_signature=rows_of()))
    put(out, "none", tf.map_fn(lambda row: row[:0], rows, fn_output_signature=rows_of()))
    out["sums"] = tf.map_fn(tf.reduce_sum, rows, fn_output_signature=tf.float32)
    put(out, "texts", tf.map_fn(lambda row: tf.strings.join([row, tf.reverse(row, [0])], "-"),
                                tf.RaggedTensor.from_row_lengths(words, lengths), fn_output_signature=rows_of(tf.string)))
    put(out, "ranges", tf.map_fn(tf.range, lengths, fn_output_signature=rows_of(tf.int64)))
    short = tf.RaggedTensor.from_row_lengths(tf.cast(x * 9, tf.int32), tf.cast(lengths, tf.int32))
    put(out, "short", tf.map_fn(lambda row: tf.concat([row, row], 0), short, fn_output_signature=rows_of(tf.int32, tf.int32)))
    pairs = tf.RaggedTensor.from_row_lengths(tf.stack([x, -x], 1), lengths)
    put(out, "pairs", tf.map_fn(lambda row: row * 2.0, pairs,
                                fn_output_signature=tf.RaggedTensorSpec([None, 2], tf.float32, ragged_rank=0)))
    # Two levels: a row of the outer is ragged itself.
    outer = tf.RaggedTensor.from_row_lengths(rows, tf.stack([1, 0, tf.cast(rows.nrows(), tf.int64) - 1]))
    inner = tf.RaggedTensorSpec([None, None], tf.float32, ragged_rank=1)
    put(out, "deep", tf.map_fn(lambda row: row * 3.0, outer, fn_output_signature=inner))
    out["deep_sums"] = tf.map_fn(lambda row: tf.reduce_sum(row), outer, fn_output_signature=tf.float32)
    put(out, "deeper", tf.map_fn(
        lambda row: tf.map_fn(lambda cell: cell + tf.cast(tf.size(cell), tf.float32), row, fn_output_signature=rows_of()),
        outer, fn_output_signature=inner))
    return out


def encoded(rows):
    return raw.RaggedTensorToVariant(rt_nested_splits=rows.nested_row_splits, rt_dense_values=rows.flat_values, batched_input=True)


def lists(x, lengths):
    out = {}
    rows = tf.RaggedTensor.from_row_lengths(x, lengths)
    n = tf.shape(lengths)[0]
    array = encoded(rows)
    f32, variant = tf.float32, tf.variant

    # Arrays of two dimensions.
    square = raw.TensorListReserve(element_shape=-1, num_elements=2, element_dtype=variant)
    square = raw.TensorListSetItem(input_handle=square, index=0, item=array)
    square = raw.TensorListSetItem(input_handle=square, index=1, item=encoded(rows * 10.0))
    square = raw.TensorListStack(input_handle=square, element_shape=tf.stack([n]), element_dtype=variant)
    splits, values = raw.RaggedTensorFromVariant(encoded_ragged=square, input_ragged_rank=-1, output_ragged_rank=2, Tvalues=f32,
                                                 Tsplits=tf.int64)
    out["square"], out["square_splits0"], out["square_splits1"] = values, splits[0], splits[1]

    # One value, not an array.
    whole = raw.RaggedTensorToVariant(rt_nested_splits=rows.nested_row_splits, rt_dense_values=x, batched_input=False)
    splits, values = raw.RaggedTensorFromVariant(encoded_ragged=whole, input_ragged_rank=1, output_ragged_rank=1, Tvalues=f32,
                                                 Tsplits=tf.int64)
    out["whole"], out["whole_splits0"] = values, splits[0]

    # Lists in a list, grown one by one and read from behind.
    def filled(k):
        return raw.TensorListFromTensor(tensor=x[:k] * tf.cast(k, f32), element_shape=NO_DIMS)

    nested = raw.EmptyTensorList(element_shape=NO_DIMS, max_num_elements=-1, element_dtype=variant)
    nested = tf.while_loop(lambda k, l: k < 4, lambda k, l: (k + 1, raw.TensorListPushBack(input_handle=l, tensor=filled(k))),
                           [0, nested])[1]
    out["length"] = raw.TensorListLength(input_handle=nested)
    one = raw.TensorListGetItem(input_handle=nested, index=2, element_shape=NO_DIMS, element_dtype=variant)
    out["one"] = raw.TensorListStack(input_handle=one, element_shape=NO_DIMS, element_dtype=f32)
    rest, last = raw.TensorListPopBack(input_handle=nested, element_shape=NO_DIMS, element_dtype=variant)
    out["last"] = raw.TensorListStack(input_handle=last, element_shape=NO_DIMS, element_dtype=f32)
    out["rest"] = raw.TensorListLength(input_handle=rest)
    picked = raw.TensorListGather(input_handle=nested, indices=[3, 1], element_shape=NO_DIMS, element_dtype=variant)
    again = raw.TensorListFromTensor(tensor=picked, element_shape=NO_DIMS)
    second = raw.TensorListGetItem(input_handle=again, index=1, element_shape=NO_DIMS, element_dtype=variant)
    out["second"] = raw.TensorListStack(input_handle=second, element_shape=NO_DIMS, element_dtype=f32)

    # A list that is put into itself is a copy.
    own = raw.TensorListReserve(element_shape=NO_DIMS, num_elements=2, element_dtype=variant)
    own = raw.TensorListSetItem(input_handle=own, index=1, item=one)
    own = raw.TensorListSetItem(input_handle=own, index=0, item=own)
    before = raw.TensorListGetItem(input_handle=own, index=0, element_shape=NO_DIMS, element_dtype=variant)
    kept = raw.TensorListGetItem(input_handle=before, index=1, element_shape=NO_DIMS, element_dtype=variant)
    out["itself"] = raw.TensorListStack(input_handle=kept, element_shape=NO_DIMS, element_dtype=f32)

    chosen = tf.cond(n > 2, lambda: array, lambda: encoded(rows + 1.0))
    splits, values = raw.RaggedTensorFromVariant(encoded_ragged=chosen, input_ragged_rank=0, output_ragged_rank=1, Tvalues=f32,
                                                 Tsplits=tf.int64)
    out["chosen"], out["chosen_splits"] = values, splits[0]
    return out


def moved(x, lengths):
    """What operators that move any elements do with variants; three rows at least."""
    rows = tf.RaggedTensor.from_row_lengths(x, lengths)
    array, tens = encoded(rows), encoded(rows * 10.0)
    n = tf.shape(lengths)[0]
    pairs = tf.stack([array, tens], 1)
    order = tf.range(n - 1, -1, -1)
    is_long = lengths > 1
    first, second, third = (array[i] for i in range(3))
    sparse = tf.SparseTensor(tf.stack([tf.range(n, dtype=tf.int64), tf.cast(order, tf.int64)], 1), array, tf.cast([n, n], tf.int64))
    arrays = {
        "pack": tf.stack([second, first, second]), "pack_pairs": pairs, "unpack": tf.stack(tf.unstack(pairs, 2, 1)[::-1]),
        "gather": tf.gather(array, order), "gather_rows": tf.gather(pairs, [2, 0]),
        "gather_batch": tf.gather(pairs, tf.zeros([n], tf.int32), batch_dims=1), "gather_nd": tf.gather_nd(pairs, [[1, 1], [0, 0]]),
        "strided": array[::-2], "column": pairs[:, 1], "corner": pairs[-1, 0],
        "split": tf.split(pairs, 2, 1)[1], "split_v": tf.split(array, [1, -1])[1],
        "scalar": tf.reshape(array[:1], []),
        "tile": tf.tile(array, [2]), "broadcast": tf.broadcast_to(array, [2, n]), "fill": tf.fill([3], third),
        "select": tf.where(is_long, array, tens), "select_one": tf.where(lengths[0] > 1, array, tens),
        "roll": tf.roll(array, 1, 0),
        "partition": tf.dynamic_partition(array, tf.cast(is_long, tf.int32), 2)[1],
        "stitch": tf.dynamic_stitch([order, [1]], [array, tens[:1]]), "one_hot": tf.one_hot(1, 3, on_value=first, off_value=second),
        "reorder": tf.sparse.reorder(tf.SparseTensor(sparse.indices[::-1], array[::-1], sparse.dense_shape)).values,
        "sparse_concat": tf.sparse.concat(0, [sparse, sparse]).values, "sparse_slice": tf.sparse.slice(sparse, [0, 0], [2, 100]).values,
        "ensure": tf.ensure_shape(array, [None]),
        "loop": tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.roll(a, i, 0)), [0, array])[1],
    }
    out = {}
    for name, variants in arrays.items():
        splits, values = raw.RaggedTensorFromVariant(encoded_ragged=tf.reshape(variants, [-1]), input_ragged_rank=0, output_ragged_rank=1,
                                                     Tvalues=tf.float32, Tsplits=tf.int64)
        out[name], out[name + "_splits"] = values, splits[0]
    # Lists and optionals.
    lists = tf.stack([raw.TensorListFromTensor(tensor=x[:k], element_shape=NO_DIMS) for k in (1, 2, 3)])
    out["list"] = raw.TensorListStack(input_handle=tf.gather(lists, n % 3), element_shape=NO_DIMS, element_dtype=tf.float32)
    some, none = raw.OptionalFromValue(components=[x]), raw.OptionalNone()
    chosen = tf.where(is_long, tf.fill([n], some), tf.fill([n], none))
    out["has_value"] = tf.stack([raw.OptionalHasValue(optional=chosen[i]) for i in range(3)])
    # Values that are no variants beside them.
    filled = raw.SparseFillEmptyRows(indices=sparse.indices[:2], values=array[:2], dense_shape=sparse.dense_shape, default_value=third)
    out["filled_indices"], out["filled_empty"], out["filled_map"] = filled[0], filled[2], filled[3]
    out["filled"] = raw.RaggedTensorFromVariant(encoded_ragged=filled[1], input_ragged_rank=0, output_ragged_rank=1, Tvalues=tf.float32,
                                                Tsplits=tf.int64)[1]
    out["shape"], out["size"] = tf.shape(pairs), tf.size(pairs)
    return out


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x"), tf.TensorSpec([None], tf.string, "words"),
                              tf.TensorSpec([None], tf.int64, "lengths")])
def serve(x, words, lengths):
    return {**mapped(x, words, lengths), **lists(x, lengths)}


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x"), tf.TensorSpec([None], tf.int64, "lengths")])
def serve_moves(x, lengths):
    return moved(x, lengths)


def feeds(rng):
    for lengths in ([2, 0, 3], [1, 4], [3, 1, 0, 0, 2], [5, 1], [1, 1, 1]):
        n = sum(lengths)
        yield {"x": rng.normal(size=n).astype("f4"), "words": case.strings(rng.choice(np.array(["a", "bc", "", "\u00fc"], object), n)),
               "lengths": np.int64(lengths)}


def good(name, covers):
    folder = os.path.join(case.ROOT, "tests/golden", name)
    case.add_requests(folder, answers(folder + "/model", list(feeds(np.random.default_rng(43)))))
    case.finish(folder, covers, PROVENANCE)


def tf2_variants():
    case.save_function(case.start("tf2-variants"), serve)
    good("tf2-variants", "map_fn over the rows of ragged tensors of one and two levels, arrays of variants, lists of lists")


def tf2_variant_moves():
    folder = case.start("tf2-variant-moves")
    case.save_function(folder, serve_moves)
    case.add_requests(folder, answers(folder + "/model", [{"x": feed["x"], "lengths": feed["lengths"]} for feed in feeds(np.random.default_rng(44))
                                                          if len(feed["lengths"]) > 2]))
    case.finish(folder, "operators that move any elements, over variants", PROVENANCE)


tf2_variants()
tf2_variant_moves()
