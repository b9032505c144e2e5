"""Operators of tf.contrib.  Made with tensorflow 1.15 ('protobuf<3.20'), the last version that has it."""
import numpy as np
import tensorflow.contrib
from tensorflow.contrib.layers.ops import gen_sparse_feature_cross_op
from tensorflow.python.framework import op_def_registry

op_def_registry.get = op_def_registry.get_registered_ops().get

from op_cases import Cases, tf

cases = Cases("contrib")

# ------------------------------------------------------------------- crosses


def cross(sparse, dense, hashed, key=None, buckets=0, internal=tf.int64, **more):
    """sparse: lists of rows of features; dense: matrices."""
    inputs = {"indices": [], "values": [], "shapes": [], "dense": list(dense)}
    for column in sparse:
        flat = [x for row in column for x in row]
        inputs["indices"].append(np.int64([[i, j] for i, row in enumerate(column) for j in range(len(row))]).reshape(-1, 2))
        inputs["values"].append(np.array(flat, np.int64 if flat and isinstance(flat[0], int) else object))
        inputs["shapes"].append(np.int64([len(column), max(map(len, column))]))
    attrs = {"hashed_output": hashed, "num_buckets": buckets, "out_type": tf.int64 if hashed else tf.string, "internal_type": internal}
    if key is not None:
        attrs["hash_key"] = key
    name = "SparseFeatureCross" if key is None else "SparseFeatureCrossV2"
    maker = gen_sparse_feature_cross_op.sparse_feature_cross if key is None else gen_sparse_feature_cross_op.sparse_feature_cross_v2
    cases.add(name, inputs, attrs, maker=maker, **more)


words = [["a", "bc"], [], ["d"]]
numbers = [[1, -7, 2**40], [3], [0, 4]]
texts = np.array([["x", "y"], ["", "zz"], ["q", "r"]], object)
ids = np.int64([[5], [-6], [2**62]])
for key in (None, 0xDECAFCAFFE, 1):
    for buckets in (0, 1000, 7):
        cross([words, numbers], [], True, key, buckets, name="sparse")
        cross([numbers], [texts, ids], True, key, buckets, name="both")
        cross([], [ids, ids], True, key, buckets, name="dense")
    cross([words, words], [texts], False, key, internal=tf.string, name="texts")
    cross([words, numbers], [texts, ids], False, key, name="texts of numbers")
    cross([numbers, numbers[:2]], [], True, key, refuse=True, name="unequal batches")
    cross([numbers], [ids[:2]], True, key, refuse=True, name="unequal batches, dense")

cases.write()
