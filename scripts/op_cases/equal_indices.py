"""Sparse tensors that have an index several times: the values of equal indices come in the order in which they stood, as in
TensorFlow up to sixteen of them."""
import numpy as np

from op_cases import Cases, near, tf

rng = np.random.default_rng(47)
cases = Cases("equal_indices")


def sparse(count, shape, in_order=False):
    indices = np.stack([rng.integers(0, size, count) for size in shape], 1).astype(np.int64).reshape(count, len(shape))
    if in_order:
        indices = indices[np.lexsort(indices.T[::-1])]
    return indices, np.arange(count, dtype=np.int64)


for count in (2, 5, 16):
    for shape in ((3,), (40,), (2, 3), (3, 2, 2), (2, 2, 1, 3)):
        for in_order in (False, True):
            indices, values = sparse(count, shape, in_order)
            cases.add("SparseReorder", {"input_indices": indices, "input_values": values, "input_shape": np.int64(shape)},
                      name="%d of %s%s" % (count, list(shape), " in order" if in_order else ""))
for counts in ((3, 4), (8, 0, 8)):
    for axis in (0, 1, -1):
        parts = [sparse(count, (4, 4), i % 2 == 1) for i, count in enumerate(counts)]
        cases.add("SparseConcat", {"indices": [p[0] for p in parts], "values": [p[1] for p in parts], "shapes": [np.int64([4, 4]) for _ in parts]},
                  {"concat_dim": axis}, name="%s along %d" % (list(counts), axis))
for count in (9, 16):
    indices, values = sparse(count, (3, 4))
    floats = rng.standard_normal(count).astype(np.float32)
    for axes in ([0], [1], [0, 1]):
        cases.add("SparseReduceSum", {"input_indices": indices, "input_values": floats, "input_shape": np.int64([3, 4]), "reduction_axes": np.int32(axes)},
                  name="%d along %s" % (count, axes), **near(tf.float32, 16))
    cases.add("SparseSoftmax", {"sp_indices": indices, "sp_values": floats, "sp_shape": np.int64([3, 4])}, name="%d" % count, **near(tf.float32))
cases.write()
