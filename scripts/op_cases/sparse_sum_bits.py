"""Sums of sparse float32 tensors to their last bit: along any axes, in order and out of it."""
import numpy as np

from op_cases import Cases

rng = np.random.default_rng(44)
cases = Cases("sparse_sum_bits")

for shape, axes in (((120, 2), ([0], [1], [0, 1])), ((7, 60), ([0], [1], [-1, 0])), ((6, 5, 12), ([0], [1], [2], [0, 2], [1, 0], [1, 2], []))):
    size = int(np.prod(shape))
    for share in (1, 0.6):
        which = np.sort(rng.permutation(size)[: int(size * share)])
        for name, order in (("", which), ("mixed", rng.permutation(which))):
            sparse = dict(input_indices=np.stack(np.unravel_index(order, shape), 1).astype(np.int64),
                          input_values=rng.standard_normal(len(order)).astype(np.float32), input_shape=np.int64(shape))
            for axis in axes:
                for op in ("SparseReduceSum", "SparseReduceSumSparse"):
                    cases.add(op, dict(sparse, reduction_axes=np.int32(axis)), name="%s along %s %s" % (list(shape), axis, name))
            cases.add("SparseReduceSum", dict(sparse, reduction_axes=np.int32(axes[0])), {"keep_dims": True}, name="kept %s" % name)
order = rng.permutation(9000)
cases.add("SparseReduceSum", {"input_indices": order[:, None].astype(np.int64), "input_values": rng.standard_normal(9000).astype(np.float32),
                              "input_shape": np.int64([9000]), "reduction_axes": np.int32([0])}, name="long")
cases.write()
