"""Sets along the last dimension, sums and extremes of two sparse tensors."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(51)
cases = Cases("sets")


def sparse(shape, count, dtype, high=6):
    """Indices in order, each once."""
    flat = np.sort(rng.choice(int(np.prod(shape)), min(count, int(np.prod(shape))), replace=False))
    indices = np.stack(np.unravel_index(flat, shape), 1).astype(np.int64).reshape(-1, len(shape))
    return indices, values(len(indices), dtype, high), np.int64(shape)


def values(shape, dtype, high=6):
    x = rng.integers(0 if np.dtype(dtype if dtype != str else np.int8).kind == "u" else -2, high, shape)
    return x.astype(dtype) if dtype != str else np.vectorize(lambda i: "v%d" % i if i else "", otypes=[object])(x)


def three(prefix, x):
    return {prefix + "_indices": x[0], prefix + "_values": x[1], prefix + "_shape": x[2]}


OPERATIONS = ("a-b", "b-a", "intersection", "union")
for operation in OPERATIONS:
    for dtype in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, str):
        attrs = {"set_operation": operation}
        a, b = sparse((3, 2, 5), 14, dtype), sparse((3, 2, 4), 9, dtype)
        cases.add("DenseToDenseSetOperation", {"set1": values((3, 4), dtype), "set2": values((3, 2), dtype)}, attrs)
        cases.add("DenseToSparseSetOperation", dict(three("set2", b), set1=values((3, 2, 3), dtype)), attrs)
        cases.add("SparseToSparseSetOperation", dict(three("set1", a), **three("set2", b)), attrs)
    none = sparse((3, 2, 5), 0, np.int32)
    cases.add("SparseToSparseSetOperation", dict(three("set1", none), **three("set2", sparse((3, 2, 5), 7, np.int32))), attrs,
              name="one empty")
    cases.add("SparseToSparseSetOperation", dict(three("set1", none), **three("set2", none)), attrs, name="both empty")
    cases.add("DenseToDenseSetOperation", {"set1": np.zeros((2, 0), np.int32), "set2": np.int32([[1, 1], [2, 3]])}, attrs,
              name="no width")
A = {"set_operation": "union"}
cases.add("DenseToDenseSetOperation", {"set1": np.int32([[1]]), "set2": np.int32([[1], [2]])}, A, name="groups", refuse=True)
cases.add("DenseToDenseSetOperation", {"set1": np.int32([1]), "set2": np.int32([1])}, A, name="rank", refuse=True)
x = sparse((3, 2, 5), 7, np.int32)
for indices, what in ((x[0][::-1], "order"), (np.concatenate([x[0][:-1], x[0][-2:-1]]), "twice"),
                      (x[0] + [[0, 0, 9]], "outside"), (x[0] - [[9, 0, 0]], "negative")):
    cases.add("SparseToSparseSetOperation", dict(three("set1", (indices, x[1], x[2])), **three("set2", x)), A, name=what, refuse=True)
    if what != "outside":
        cases.add("SetSize", three("set", (indices, x[1], x[2])), name=what, refuse=True)
for dtype in (np.int8, np.int64, np.uint16, str):
    cases.add("SetSize", three("set", sparse((3, 2, 5), 17, dtype, 2)))
    cases.add("SetSize", three("set", sparse((4, 5), 0, dtype)))

NUMBERS = (np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.complex64, np.complex128)
for dtype in NUMBERS:
    a, b = sparse((4, 5), 9, dtype), sparse((4, 5), 8, dtype)
    real = {np.complex64: np.float32, np.complex128: np.float64}.get(dtype, dtype)
    for thresh in (0, 2):
        cases.add("SparseAdd", dict(three("a", a), **three("b", b), thresh=real(thresh)))
    if dtype not in (np.complex64, np.complex128):
        for op in ("SparseSparseMaximum", "SparseSparseMinimum"):
            cases.add(op, dict(three("a", a), **three("b", b)))
a, b = sparse((4, 5), 9, np.float32), sparse((4, 5), 0, np.float32)
cases.add("SparseAdd", dict(three("a", a), **three("b", b), thresh=np.float32(0)), name="one empty")
cases.add("SparseAdd", dict(three("a", b), **three("b", b), thresh=np.float32(0)), name="both empty")
cases.add("SparseAdd", dict(three("a", a), **three("b", sparse((4, 6), 3, np.float32)), thresh=np.float32(0)), name="shapes", refuse=True)
cases.add("SparseAdd", dict(three("a", a), **three("b", a), thresh=np.float32([0])), name="thresh", refuse=True)
cases.add("SparseSparseMaximum", dict(three("a", a), **three("b", sparse((4, 6), 3, np.float32))), name="shapes", refuse=True)

cases.write()
