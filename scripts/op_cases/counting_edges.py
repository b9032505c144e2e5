"""Counting into sparse results where there are no rows, more of them than 32 bits count, or weights of another shape."""
import numpy as np

from op_cases import Cases

cases = Cases("counting_edges")
I64, NONE = np.int64, np.float32([])
D = {"binary_output": False}


def dense(values, weights=NONE, **how):
    cases.add("DenseCountSparseOutput", {"values": I64(values), "weights": weights}, D, **how)


def sparse(shape, indices, values, weights=NONE, **how):
    indices = I64(indices).reshape(len(values), -1) if len(values) else np.zeros((0, len(shape)), I64)
    cases.add("SparseCountSparseOutput", {"indices": indices, "values": I64(values), "dense_shape": I64(shape), "weights": weights}, D, **how)


def ragged(splits, values, weights=NONE, **how):
    cases.add("RaggedCountSparseOutput", {"splits": I64(splits), "values": I64(values), "weights": weights}, D, **how)


dense(np.zeros(0))
dense(np.zeros((3, 0)))
sparse([0], [], [])
sparse([3, 0], [], [])
sparse([2, 3], [], [])
sparse([2, 3, 4], [], [])
sparse([2, 3, 4], [[1, 0, 3], [1, 2, 0]], [2, 2], np.float32([0.5, 2]))
ragged([0, 0], [])
ragged([0, 0, 1], [4])
dense(np.zeros((0, 3)), name="no rows", refuse=True)
dense(np.zeros((0, 0)), name="no rows", refuse=True)
sparse([0, 3], [], [], name="no rows", refuse=True)
sparse([0, 0], [], [], name="no rows", refuse=True)
sparse([1 << 31, 3], [], [], name="rows", refuse=True)
sparse([1 << 32, 3], [], [], name="rows", refuse=True)
ragged([0], [], name="no rows", refuse=True)
ragged([], [], name="no splits", refuse=True)
dense([[1, 2]], np.float32([1, 2]), name="weights", refuse=True)
dense([1, 2], np.float32([[1], [2]]), name="weights", refuse=True)
sparse([2], [[0], [1]], [3, 3], np.float32([[1, 2]]), name="weights", refuse=True)
ragged([0, 2], [3, 3], np.float32([[1, 2]]), name="weights", refuse=True)
cases.write()
