"""ev-bags: bags of up to 300 ids of EmbeddingVariables, with every combiner, with weights and without.

Ids are seen twice, some have no row; a row of the answer without ids is zeros.
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
import embedding_variables as ev

PROVENANCE = ("Made by scripts/golden/make_ev_bags.py with TensorFlow %s on CPU: rows from a seeded generator, bundles by SaveV2, "
              "answers by running the graph with the embedding reads computed from the documented rules.  Apache-2.0, like the project."
              % tf.__version__)
raw = tf.raw_ops
SEGMENTS = {"sum": raw.SparseSegmentSum, "mean": raw.SparseSegmentMean, "sqrtn": raw.SparseSegmentSqrtN}
KEYS = 120


def weighted(rows, weights, segments, combiner):
    """As embedding_lookup_sparse() has it."""
    factors = tf.expand_dims(weights, 1)
    total = tf.math.segment_sum(rows * factors, segments)
    if combiner == "mean":
        return total / tf.math.segment_sum(factors, segments)
    if combiner == "sqrtn":
        return total / tf.sqrt(tf.math.segment_sum(tf.pow(factors, 2), segments))
    return total


def bag(variable, ids, weights, combiner):
    """The usual lookup of ids [rows, most], -1 where there is none, in a row for each."""
    where = tf.where(tf.not_equal(ids, -1))
    sparse = tf.SparseTensor(where, tf.gather_nd(ids, where), tf.shape(ids, out_type=tf.int64))
    filled, is_empty = tf.sparse.fill_empty_rows(sparse, tf.constant(0, tf.int64))
    segments = tf.cast(filled.indices[:, 0], tf.int32)
    unique, positions = tf.unique(filled.values)
    rows = variable.read(unique)
    if weights is None:
        out = SEGMENTS[combiner](data=rows, indices=positions, segment_ids=segments)
    else:
        factors, _ = tf.sparse.fill_empty_rows(tf.SparseTensor(where, tf.gather_nd(weights, where), sparse.dense_shape), 1.0)
        out = weighted(tf.gather(rows, positions), factors.values, segments, combiner)
    empty = tf.tile(tf.reshape(is_empty, [-1, 1]), tf.stack([1, tf.shape(out)[1]]))
    return tf.compat.v1.where(empty, tf.zeros_like(out), out)


def requests(rng):
    for lengths in ([1], [9, 10, 0, 16, 17], [2, 7, 8, 11, 15, 18, 24, 25], [33, 65], [300]):
        ids, width = np.full((len(lengths), max(lengths)), -1), max(lengths)
        for row, length in zip(ids, lengths):
            row[rng.permutation(width)[:length]] = rng.integers(0, KEYS + 12, length)
        yield {"ids": ids.astype(np.int64), "weights": rng.normal(1, 0.7, ids.shape).astype("f4")}


def main():
    folder = case.start("ev-bags")
    rng = np.random.default_rng(17)
    # The widest is not summed in one go with the others; some have columns behind their last eight.
    variables = [ev.EmbeddingVariable("wide_%d" % dim, dim, np.arange(KEYS), rng.normal(size=(KEYS, dim)), rng.normal(size=(2, dim)))
                 for dim in (5, 16, 19, 136)]
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        inputs = {"ids": tf.compat.v1.placeholder(tf.int64, [None, None], "ids"),
                  "weights": tf.compat.v1.placeholder(tf.float32, [None, None], "weights")}
        outputs = {"%s_%d%s" % (combiner, variable.dim, suffix): bag(variable, inputs["ids"], weights, combiner)
                   for variable in variables for combiner in SEGMENTS for suffix, weights in (("", None), ("_weighted", inputs["weights"]))}
        saver_def = tf.compat.v1.train.Saver([tf.compat.v1.get_variable("dense", initializer=0)], sharded=True).saver_def
        pairs = [(feed, session.run(outputs, {inputs[name]: value for name, value in feed.items()})) for feed in requests(rng)]
        ev.write_saved_model(folder + "/model", ev.with_embedding_ops(graph.as_graph_def(), variables, saver_def), saver_def,
                             {"serving_default": (inputs, outputs)})
    rows = {name: value for variable in variables for name, value in variable.tensors().items()}
    ev.write_bundle(folder + "/model/variables/variables", {"dense": np.int32(0), **rows})
    case.add_requests(folder, pairs)
    case.finish(folder, "bags of up to 300 ids of EmbeddingVariables, every combiner, with and without weights", PROVENANCE,
                extra={"tolerance": {"rtol": 1e-5, "atol": 2e-5}})  # four rounding errors of the sizes of 100 terms, which cancel


main()
