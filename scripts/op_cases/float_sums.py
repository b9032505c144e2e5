"""Sums and products of float32 numbers to their last bit, in TensorFlow's order, of segments too, and softmax of both
kinds, which is made of them."""
import numpy as np

from op_cases import Cases, tf  # which has turned oneDNN off

rng = np.random.default_rng(21)
cases = Cases("float_sums")


def numbers(shape, low=-3.0, high=3.0):
    return rng.uniform(low, high, shape).astype(np.float32)


rows = [((3, n), [1]) for n in (1, 3, 7, 8, 9, 16, 17, 31, 32, 33, 40, 47, 63, 64, 65, 100, 200, 333, 1024, 1601)]
rows += [((2, 8192), [1]), ((3, 8193), [1]), ((1, 9001), [1]), ((2, 9003), [1]), ((4099,), [0]), ((17011,), [0])]
columns = [((n, m), [0]) for n in (1, 2, 15, 16, 17, 31, 34, 50) for m in (3, 8, 20, 33)]
columns += [((5, n, m), [1]) for n in (3, 16, 35) for m in (1, 3, 8, 19, 32)]
slices = [((3, 4, 6), [0, 2]), ((9, 2, 17), [0, 2]), ((2, 3, 1, 5), [0, 2, 3])]
others = [((2, 3, 4, 5), [0, 2]), ((2, 3, 4, 5), [1, 3]), ((3, 5, 7, 11), [1, 3]), ((4, 3, 9, 2), [1, 2]), ((2, 5, 6), [1, 2]),
          ((6, 5), [0, 1]), ((3, 4, 5, 6, 2), [0, 2, 4]), ((1, 91, 2, 93), [1, 3]), ((3, 1, 5), [1]), ((2, 3, 4, 5), [-1, 1])]
for shape, axes in rows + columns + slices + others:
    for op in ("Sum", "Mean", "Prod", "EuclideanNorm"):
        if op != "Sum" and np.prod(shape) > 6000:
            continue
        x = numbers(shape, 0.8, 1.25) if op == "Prod" else numbers(shape)
        cases.add(op, {"input": x, "axis": np.int32(axes)}, name="%s of %s" % (axes, shape))
for count in (2, 7, 8, 9, 10, 16, 17, 26):
    cases.add("AddN", {"inputs": [numbers((2, 9)) for _ in range(count)]})
for ids in ([0] * 20 + [1] * 15 + [2] * 16 + [4] * 41, [0, 1, 1, 3, 3, 3]):
    for width in (1, 7, 8, 19):
        for op in ("SegmentSum", "SegmentMean", "SegmentProd", "UnsortedSegmentSum", "UnsortedSegmentProd"):
            more = {"num_segments": np.int32(5)} if op.startswith("Uns") else {}
            cases.add(op, {"data": numbers((len(ids), width), 0.5, 2), "segment_ids": np.int32(ids), **more})
for count in (1, 7, 8, 33, 1000, 9001):
    cases.add("L2Loss", {"t": numbers(count)})
# The reciprocals of the sums begin with an estimate that is the processor's own.
for shape in ((1, 5), (3, 5), (2, 8), (8, 3), (17, 9), (4, 33), (3, 100), (2, 3, 4), (2, 1700), (1009, 7), (9, 1)):
    x = rng.normal(0, 3, shape).astype(np.float32)
    cases.add("Softmax", {"logits": x}, rtol=3e-7, atol=1e-37)
    cases.add("LogSoftmax", {"logits": x})
for counts in ((1, 7, 8, 9, 40), (100, 3)):
    rows = np.repeat(np.arange(len(counts)), counts)
    indices = np.stack([rows, np.concatenate([np.arange(count) for count in counts])], 1).astype(np.int64)
    cases.add("SparseSoftmax", {"sp_indices": indices, "sp_values": numbers(len(rows)), "sp_shape": np.int64([len(counts), 100])})
    cases.add("SparseReduceSum", {"input_indices": indices, "input_values": numbers(len(rows)), "input_shape": np.int64([len(counts), 100]),
                                  "reduction_axes": np.int32([1])})
    # In another order, but a sum of so few values has only one.
    cases.add("SparseReduceSum", {"input_indices": indices, "input_values": numbers(len(rows)), "input_shape": np.int64([len(counts), 100]),
                                  "reduction_axes": np.int32([0])})
# TensorFlow's order of these is another: against the definition, within the bound that the operator states.
x = numbers((300, 2))
rows, columns = np.meshgrid(np.arange(300), np.arange(2), indexing="ij")
cases.define("SparseReduceSum", [np.stack([rows, columns], -1).reshape(-1, 2).astype(np.int64), x.ravel(), np.int64([300, 2]), np.int32([0])],
             {"T": tf.float32}, [x.astype(np.float64).sum(0).astype(np.float32)], name="long columns",
             atol=300 * 2.0**-24 * float(np.abs(x).sum(0).max()))
# And where TensorFlow may begin with another input than the first.
x = [numbers((3, 5)) for _ in range(40)]
cases.define("AddN", x, {"N": 40, "T": tf.float32}, [np.sum(np.float64(x), 0).astype(np.float32)], name="many",
             atol=40 * 2.0**-24 * float(np.abs(x).sum(0).max()))
cases.write()
