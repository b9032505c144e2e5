"""Pad, reverse, roll, diagonals, partition and stitch."""
import numpy as np
import tensorflow as tf

from op_cases import Cases

cases = Cases("array_layout")

DTYPES = [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16,
          tf.uint32, tf.uint64, tf.bool, tf.complex64, tf.complex128, tf.string]
INDICES = [np.int32, np.int64]


def of(dtype, *shape, first=1):
    n = int(np.prod(shape))
    if dtype == tf.string:
        return np.array([b"s%d" % (first + i) if i % 3 else b"" for i in range(n)], dtype=object).reshape(shape), dtype
    if dtype == tf.bool:
        return (np.arange(first, first + n) % 3 == 0).reshape(shape), dtype
    return np.arange(first, first + n).reshape(shape) % 100, dtype


# ---------------------------------------------------------------------- pad


def pad(op, tensor, paddings, index=np.int32, value=None, **how):
    inputs = {"input": tensor, "paddings": np.array(paddings, index)}
    if value is not None:
        inputs["constant_values"] = value
    cases.add(op, inputs, **how)


for dtype in DTYPES:
    pad("Pad", of(dtype, 2, 3), [[1, 0], [2, 1]])
    pad("PadV2", of(dtype, 2, 3), [[0, 1], [1, 2]], value=of(dtype, first=9))
for index in INDICES:
    for shape, paddings in [((), np.zeros((0, 2))), ((3,), [[0, 0]]), ((3,), [[2, 0]]), ((0,), [[1, 2]]), ((0, 2), [[0, 0], [1, 0]]),
                            ((2, 3, 2), [[0, 1], [0, 0], [1, 1]]), ((1, 2, 1, 2), [[1, 0], [0, 1], [1, 0], [0, 1]])]:
        pad("Pad", of(tf.float32, *shape), paddings, index)
        pad("PadV2", of(tf.float32, *shape), paddings, index, value=np.float32(-1))
for paddings in [[[-1, 0]], [[1, 1], [1, 1]], [1, 1], [[1]], [[0, -5]]]:
    pad("Pad", of(tf.float32, 3), paddings, refuse=True)
pad("PadV2", of(tf.float32, 3), [[1, 1]], value=np.float32([1]), refuse=True)

# --------------------------------------------------- reverse, roll, permute

for dtype in DTYPES:
    cases.add("ReverseV2", {"tensor": of(dtype, 2, 3), "axis": np.int32([1])})
    cases.add("Reverse", {"tensor": of(dtype, 2, 3), "dims": np.array([True, False])})
    cases.add("ReverseSequence", {"input": of(dtype, 2, 4), "seq_lengths": np.int32([3, 2])}, {"seq_dim": 1})
    cases.add("Roll", {"input": of(dtype, 2, 3), "shift": np.int32([1, -2]), "axis": np.int32([0, 1])})
for index in INDICES:
    for shape, axes in [((), []), ((), [5]), ((4,), [0]), ((4,), []), ((4,), [-1]), ((2, 3), [0, 1]), ((2, 3), [-1, 0]), ((2, 0), [0]),
                        ((2, 3, 4), [1]), ((2, 3, 4), [2, 0]), ((2, 3, 2, 2), [1, 3]), ((1, 1), [0, 1])]:
        cases.add("ReverseV2", {"tensor": of(tf.float32, *shape), "axis": np.array(axes, index)})
for shape, axes in [((4,), [1]), ((4,), [-2]), ((4,), [0, 0]), ((4,), [0, -1]), ((4,), 0)]:
    cases.add("ReverseV2", {"tensor": of(tf.float32, *shape), "axis": np.int32(axes)}, refuse=True)
cases.add("Reverse", {"tensor": of(tf.float32, 2, 3), "dims": np.array([True])}, refuse=True)

for index in INDICES:
    for shape, lengths, seq, batch in [((2, 4), [4, 0], 1, 0), ((4, 2), [3, 2], 0, 1), ((2, 3, 4), [2, 4], 2, 0),
                                       ((2, 3, 4), [1, 2, 0], 0, 1), ((2, 3, 4), [1, 2, 3, 2], 1, 2), ((0, 3), [], 1, 0),
                                       ((2, 0), [0, 0], 1, 0)]:
        cases.add("ReverseSequence", {"input": of(tf.float32, *shape), "seq_lengths": np.array(lengths, index)},
                  {"seq_dim": seq, "batch_dim": batch})
for shape, lengths, seq, batch in [((2, 4), [5, 0], 1, 0), ((2, 4), [-1, 0], 1, 0), ((2, 4), [1], 1, 0), ((2, 4), [1, 1], 2, 0),
                                   ((2, 4), [[1, 1]], 1, 0), ((2, 4), [1, 1], 1, 2)]:
    cases.add("ReverseSequence", {"input": of(tf.float32, *shape), "seq_lengths": np.int32(lengths)},
              {"seq_dim": seq, "batch_dim": batch}, refuse=True)

for index in INDICES:
    for shape, shift, axis in [((5,), 2, 0), ((5,), -2, -1), ((5,), 5, 0), ((5,), 13, 0), ((5,), [1, 2], [0, 0]), ((5,), [4, 4], [0, -1]),
                               ((0,), 3, 0), ((2, 0), [1, 1], [0, 1]), ((2, 3, 4), [1, 1, 1], [0, 1, 2]), ((2, 3, 4), [2], [1]),
                               ((5,), [], []), ((3, 4), [-1, -7], [1, 0])]:
        cases.add("Roll", {"input": of(tf.float32, *shape), "shift": np.array(shift, index), "axis": np.array(axis, index)})
for shape, shift, axis in [((), 1, 0), ((5,), 1, 1), ((5,), 1, -2), ((5,), 1, [0]), ((5,), [1, 2], [0]), ((5,), [[1]], [[0]])]:
    cases.add("Roll", {"input": of(tf.float32, *shape), "shift": np.int32(shift), "axis": np.int32(axis)}, refuse=True)

for index in INDICES:
    for x in [[], [0], [2, 0, 1], [3, 4, 0, 2, 1]]:
        cases.add("InvertPermutation", {"x": np.array(x, index)})
    for x in [[1], [-1, 0], [0, 0], [[0]], 0, [0, 2]]:
        cases.add("InvertPermutation", {"x": np.array(x, index)}, refuse=True)

# ---------------------------------------------------------------- diagonals

for dtype in [tf.float16, tf.float32, tf.float64, tf.int32, tf.int64, tf.complex64, tf.complex128]:
    cases.add("Diag", {"diagonal": of(dtype, 3)})
    cases.add("DiagPart", {"input": of(dtype, 3, 3)})
for shape in [(0,), (1,), (2, 2), (2, 1), (2, 3)]:
    cases.add("Diag", {"diagonal": of(tf.float32, *shape)})
    cases.add("DiagPart", {"input": of(tf.float32, *shape, *shape)})
cases.add("Diag", {"diagonal": of(tf.float32)}, refuse=True)
cases.add("DiagPart", {"input": of(tf.float32)})
for shape in [(3,), (2, 3), (2, 2, 2), (2, 3, 3, 2)]:
    cases.add("DiagPart", {"input": of(tf.float32, *shape)}, refuse=True)

ALIGNS = ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"]
SIMPLE = [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int32, tf.int64, tf.uint8, tf.bool, tf.complex64]
for dtype in SIMPLE:
    cases.add("MatrixDiagPart", {"input": of(dtype, 2, 3, 4)})
    cases.add("MatrixDiag", {"diagonal": of(dtype, 2, 3)})
    cases.add("MatrixSetDiag", {"input": of(dtype, 2, 3, 4), "diagonal": of(dtype, 2, 3, first=50)})
for dtype in SIMPLE:
    cases.add("MatrixDiagPartV3", {"input": of(dtype, 3, 4), "k": np.int32([-1, 2]), "padding_value": of(dtype, first=9)})
for shape in [(3, 4), (4, 3), (2, 3, 3), (1, 4)]:
    for k in [0, 1, -1, [0], [0, 0], [-1, 1], [0, 2], [-2, -1], [1, 2], [-2, 0], [-3, 3]]:
        low, high = np.min(k), np.max(k)
        if low <= -shape[-2] or high >= shape[-1] or (low and low >= shape[-1]) or (high and high <= -shape[-2]):
            continue
        for align in ALIGNS if np.size(k) == 2 else ALIGNS[:1]:
            part = tf.raw_ops.MatrixDiagPartV3(input=of(tf.float32, *shape)[0].astype(np.float32), k=k, padding_value=0.0,
                                               align=align).shape
            cases.add("MatrixDiagPartV3", {"input": of(tf.float32, *shape), "k": np.int32(k), "padding_value": np.float32(-1)},
                      {"align": align})
            cases.add("MatrixSetDiagV3", {"input": of(tf.float32, *shape), "diagonal": of(tf.float32, *part, first=40),
                                          "k": np.int32(k)}, {"align": align})
            cases.add("MatrixDiagV3", {"diagonal": of(tf.float32, *part), "k": np.int32(k), "num_rows": np.int32(shape[-2]),
                                       "num_cols": np.int32(shape[-1]), "padding_value": np.float32(-1)}, {"align": align})
cases.add("MatrixDiagPartV2", {"input": of(tf.float32, 3, 4), "k": np.int32([-1, 2]), "padding_value": np.float32(7)})
cases.add("MatrixSetDiagV2", {"input": of(tf.float32, 3, 3), "diagonal": of(tf.float32, 2, 3, first=40), "k": np.int32([0, 1])})
for rows, columns in [(-1, -1), (3, -1), (-1, 5), (5, -1)]:
    for k in [0, 1, -2, [-1, 0]]:
        diagonal = of(tf.float32, 2, 3)
        smallest = 3 - min(np.max(k), 0), 3 + max(np.min(k), 0)
        fits = (rows == -1 or rows >= smallest[0]) and (columns == -1 or columns >= smallest[1])
        for version in ["V2", "V3"]:
            cases.add("MatrixDiag" + version, {"diagonal": diagonal, "k": np.int32(k), "num_rows": np.int32(rows),
                                               "num_cols": np.int32(columns), "padding_value": np.float32(9)}, refuse=not fits)
for shape, k in [((3, 4), 4), ((3, 4), -3), ((3, 4), [1, 0]), ((3, 4), [0, 1, 2]), ((3,), 0), ((3, 4), [[0]])]:
    cases.add("MatrixDiagPartV3", {"input": of(tf.float32, *shape), "k": np.int32(k), "padding_value": np.float32(0)}, refuse=True)
cases.add("MatrixSetDiagV3", {"input": of(tf.float32, 3, 4), "diagonal": of(tf.float32, 2), "k": np.int32(0)}, refuse=True)
cases.add("MatrixDiagPart", {"input": of(tf.float32, 3)}, refuse=True)
cases.add("MatrixDiag", {"diagonal": of(tf.float32)}, refuse=True)
cases.add("MatrixDiagV3", {"diagonal": of(tf.float32, 3), "k": np.int32(0), "num_rows": np.int32(5), "num_cols": np.int32(5),
                           "padding_value": np.float32(9)}, refuse=True)

# ----------------------------------------------------- partition and stitch

for dtype in DTYPES:
    cases.add("DynamicPartition", {"data": of(dtype, 4), "partitions": np.int32([1, 0, 1, 2])}, {"num_partitions": 3})
    cases.add("DynamicPartition", {"data": of(dtype, 3, 2), "partitions": np.int32([1, 1, 0])}, {"num_partitions": 2})
for shape, partitions, n in [((0,), [], 2), ((4,), [0, 0, 0, 0], 1), ((4,), [3, 3, 3, 3], 5), ((2, 2), [[0, 1], [1, 0]], 2),
                             ((2, 2, 3), [[0, 1], [1, 1]], 2), ((3, 0), [0, 1, 1], 2), ((2,), 1, 2), ((), 0, 2), ((2, 3, 2), [1, 0], 2)]:
    cases.add("DynamicPartition", {"data": of(tf.float32, *shape), "partitions": np.int32(partitions)}, {"num_partitions": n})
for shape, partitions in [((3,), [0, 2, 1]), ((3,), [0, -1, 1]), ((3,), [0, 1]), ((3,), [[0], [1], [1]]), ((2, 3), [[0, 1], [1, 1]])]:
    cases.add("DynamicPartition", {"data": of(tf.float32, *shape), "partitions": np.int32(partitions)}, {"num_partitions": 2},
              refuse=True)

for op in ["DynamicStitch", "ParallelDynamicStitch"]:
    for dtype in DTYPES:
        cases.add(op, {"indices": [np.int32([2, 0]), np.int32(1)], "data": [of(dtype, 2, 2), of(dtype, 2, first=30)]})
    cases.add(op, {"indices": [np.int32([[3, 1], [0, 2]])], "data": [of(tf.float32, 2, 2)]})
    cases.add(op, {"indices": [np.int32([]), np.int32([0])], "data": [of(tf.float32, 0), of(tf.float32, 1)]})
    cases.add(op, {"indices": [np.int32([])], "data": [of(tf.float32, 0, 3)]})
    cases.add(op, {"indices": [np.int32([0, 1]), np.int32([2])], "data": [of(tf.float32, 2, 0), of(tf.float32, 1, 0)]})
    for indices, data in [([[-1, 0]], [(2,)]), ([[0, 1]], [(3,)]), ([[0], [1]], [(1, 2), (1, 3)]), ([[[0]]], [(1,)]),
                          ([[0], [1]], [(1,), (1, 3)])]:
        cases.add(op, {"indices": [np.int32(i) for i in indices], "data": [of(tf.float32, *d) for d in data]}, refuse=True)
cases.add("DynamicStitch", {"indices": [np.int32([0, 1]), np.int32([1, 0]), np.int32([1])],
                            "data": [of(tf.float32, 2, 3), of(tf.float32, 2, 3, first=20), of(tf.float32, 1, 3, first=40)]})

cases.write()
