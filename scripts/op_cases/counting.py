"""Counting into sparse and dense results, special functions, and small operators beside well-known ones."""
import numpy as np

from op_cases import Cases, tf

cases = Cases("counting")
I64, I32 = np.int64, np.int32

INDICES = I64([[0, 1], [0, 3], [2, 0], [2, 1], [2, 4]])
for weights in (I32([]), I64([]), np.float32([]), np.float64([0.5, 1, 2, -1, 3]), np.float32([0.5, 1, 2, -1, 3]), I64([1, 2, 3, 4, 5])):
    for key in (I32, I64):
        values = key([3, 1, 3, 0, 3])
        for attrs in ({}, {"minlength": 9}, {"maxlength": 2}, {"binary_output": True}, {"minlength": 2, "maxlength": 7}):
            attrs = dict({"binary_output": False}, **attrs)
            if weights.size and attrs["binary_output"]:
                continue
            cases.add("DenseCountSparseOutput", {"values": values, "weights": weights}, attrs)
            cases.add("DenseCountSparseOutput", {"values": values.reshape(1, 5), "weights": weights.reshape(1, -1)}, attrs)
            cases.add("SparseCountSparseOutput", {"indices": INDICES, "values": values, "dense_shape": I64([4, 5]),
                                                  "weights": weights}, attrs)
            cases.add("RaggedCountSparseOutput", {"splits": I64([0, 2, 2, 5]), "values": values, "weights": weights}, attrs)
        for binary in (False, True):
            for shape, indices in ((I64([4, 5]), INDICES), (I64([5]), INDICES[:, 1:])):
                cases.add("SparseBincount", {"indices": indices, "values": values, "dense_shape": shape, "size": key(4),
                                             "weights": weights}, {"binary_output": binary})
D = {"binary_output": False}
cases.add("DenseCountSparseOutput", {"values": I32([[1, 2], [2, 2], [5, 0]]), "weights": I32([])}, D)
cases.add("DenseCountSparseOutput", {"values": I32([]), "weights": I32([])}, D, name="none")
cases.add("SparseCountSparseOutput", {"indices": I64([[0], [3]]), "values": I32([2, 2]), "dense_shape": I64([5]), "weights": I32([])}, D)
for values in (I32(1), I32([[[1]]])):
    cases.add("DenseCountSparseOutput", {"values": values, "weights": I32([])}, D, name="rank", refuse=True)
cases.add("DenseCountSparseOutput", {"values": I32([1, 2]), "weights": I32([1])}, D, name="weights", refuse=True)
cases.add("DenseCountSparseOutput", {"values": I32([1, -2]), "weights": I32([])}, D, name="negative", refuse=True)
cases.add("RaggedCountSparseOutput", {"splits": I64([0, 2]), "values": I32([1, 2, 3]), "weights": I32([])}, D, name="splits", refuse=True)
cases.add("SparseCountSparseOutput", {"indices": I64([[7, 0]]), "values": I32([1]), "dense_shape": I64([5, 5]), "weights": I32([])}, D,
          name="outside", refuse=True)
# For some of these TensorFlow reads or writes outside its memory.
for what, given in (("negative", [INDICES, I32([-1, 1, 1, 1, 1]), I64([4, 5]), I32(4), I32([])]),
                    ("weights", [INDICES, I32([1] * 5), I64([4, 5]), I32(4), I32([1])]),
                    ("size", [INDICES, I32([1] * 5), I64([4, 5]), I32(-1), I32([])]),
                    ("outside", [INDICES + [[4, 0]], I32([1] * 5), I64([4, 5]), I32(4), I32([])])):
    cases.define("SparseBincount", [np.asarray(x) for x in given], {}, None, name=what)

RTOL = {tf.float32: 2e-6, tf.float64: 1e-11, tf.half: 2e-3, tf.bfloat16: 2e-2}
for dtype in (tf.float32, tf.float64, tf.half):
    near = dict(rtol=RTOL[dtype], atol=RTOL[dtype])
    positive = np.array([0.1, 0.5, 0.999, 1.0, 1.5, 2.0, 3.7, 9.0, 30.0])
    cases.add("Lgamma", {"x": (np.concatenate([positive, [-0.5, -1.25, np.inf]]), dtype)}, **near)
    cases.add("Digamma", {"x": (np.concatenate([positive, [-0.5, -1.25, np.nan]]), dtype)}, **near)
    chances = np.array([0.0, 1.0, 0.5, 0.25, 0.75, 0.015625, 0.984375, 0.4375, 2.0, -1.0, np.nan])
    if dtype in (tf.float32, tf.float64):
        cases.add("Ndtri", {"x": (chances, dtype)}, **near)
        cases.add("Erfinv", {"x": (np.concatenate([chances, -chances, [0.0078125]]), dtype)}, **near)
cases.add("Ndtri", {"x": np.float64([1e-300, 1e-20, 1e-5, 1 - 1e-10])}, rtol=1e-9)
cases.add("Erfinv", {"x": np.float64([1e-3, 0.3, 1 - 1e-10, -0.9])}, rtol=1e-8)

for dtype in (tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64):
    cases.add("PopulationCount", {"x": np.array([dtype.min, dtype.max, 0, 1, 6, 100], dtype.as_numpy_dtype)}, name=dtype.name)
# Of old graphs; TensorFlow 2 builds none with them.
x = np.float32([[1, 5, 3], [9, 7, 8]])
cases.define("TopK", [x], {"k": 2}, [np.float32([[5, 3], [9, 8]]), I32([[1, 2], [0, 2]])])
cases.define("TopK", [x], {"k": 4}, None)
square = np.arange(18, dtype=np.float32).reshape(2, 3, 3)
diagonal = np.stack([np.diag(row) for row in x])
cases.define("BatchMatrixBandPart", [square, np.asarray(I64(1)), np.asarray(I64(0))], {}, [square * (np.tri(3, dtype=np.float32) - np.tri(3, k=-2, dtype=np.float32))])
cases.define("BatchMatrixDiag", [x], {}, [diagonal])
cases.define("BatchMatrixDiagPart", [square], {}, [np.stack([np.diag(m) for m in square])])
cases.define("BatchMatrixSetDiag", [square, x], {}, [square * (1 - np.eye(3, dtype=np.float32)) + diagonal])
cases.add("GuaranteeConst", {"input": x})
cases.add("DeepCopy", {"x": x})
cases.write()
