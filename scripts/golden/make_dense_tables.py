"""Lookup tables with vectors as keys.

tf2-dense-tables  dense tables from a checkpoint: keys that are scalars, and vectors of numbers and of texts
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import answers

PROVENANCE = ("Made by scripts/golden/make_dense_tables.py with TensorFlow %s on CPU; answers by TensorFlow's session.  Apache-2.0, "
              "like the project." % tf.__version__)
I64, F32 = tf.int64, tf.float32


def dense(key, value, default, empty, deleted):
    return tf.lookup.experimental.DenseHashTable(key, value, default, np.array(empty, key.as_numpy_dtype), np.array(deleted, key.as_numpy_dtype),
                                                 initial_num_buckets=16)


class Tables(tf.Module):
    def __init__(self):
        super().__init__()
        self.pairs = dense(I64, F32, [-1.0, -2.0, -3.0], [0, 0], [-1, -1])
        self.words = dense(tf.string, I64, -7, ["", ""], ["$", ""])
        self.ones = dense(tf.int32, tf.float64, 0.5, [0], [-1])
        self.plain = dense(I64, tf.bool, False, 0, -1)
        rng = np.random.default_rng(3)
        self.pairs.insert(tf.constant([[1, 2], [2, 1], [0, 5], [1 << 40, 3]], I64), tf.constant(rng.random((4, 3)), F32))
        self.pairs.remove(tf.constant([[2, 1]], I64))
        self.words.insert(tf.constant([["a", "b"], ["ab", ""], ["", "ab"]]), tf.constant([1, 2, 3], I64))
        self.ones.insert(tf.constant([[4], [5]]), tf.constant([0.25, 8.0], tf.float64))
        self.plain.insert(tf.constant([7, 8], I64), tf.constant([True, True]))

    @tf.function(input_signature=[tf.TensorSpec([None, 2], I64, "pairs"), tf.TensorSpec([None, 2], tf.string, "words"),
                                  tf.TensorSpec([None], I64, "ids")])
    def serve(self, pairs, words, ids):
        ones = tf.cast(ids, tf.int32)[:, None]
        return {"pairs": self.pairs.lookup(pairs), "words": self.words.lookup(words), "ones": self.ones.lookup(ones),
                "plain": self.plain.lookup(ids), "first": tf.raw_ops.LookupTableFindV2(
                    table_handle=self.pairs.resource_handle, keys=pairs, default_value=tf.zeros([tf.shape(pairs)[0], 3]) + [0.0, 1.0, 2.0]),
                "sizes": tf.stack([self.pairs.size(), self.words.size(), self.ones.size(), self.plain.size()])}


def feed(pairs, words, ids):
    return {"pairs": np.array(pairs, np.int64).reshape(-1, 2), "words": case.strings(np.array(words, object).reshape(-1, 2)),
            "ids": np.array(ids, np.int64)}


def tf2_dense_tables():
    folder = case.start("tf2-dense-tables")
    module = Tables()
    case.save(folder, module, module.serve)
    feeds = [feed([[1, 2], [2, 1], [5, 0], [0, 5]], [["a", "b"], ["ab", ""], ["", "ab"], ["b", "a"]], [4, 7, 5, 8, 6]),
             feed([[1 << 40, 3]], [["", "a"]], [9]), feed([], [], [])]
    case.add_requests(folder, answers(folder + "/model", feeds))
    case.add_errors(folder, [(f, e) for f, e in case.tried(folder + "/model", [
        feed([[0, 0]], [["a", "b"]], [4]), feed([[1, 2]], [["$", ""]], [4]), feed([[1, 2]], [["a", "b"]], [0])])[1]])
    case.finish(folder, "MutableDenseHashTable with scalars and vectors as keys, restored from a checkpoint", PROVENANCE,
                extra={"errors": "errors"})


tf2_dense_tables()
