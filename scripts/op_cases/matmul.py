"""Matrix products."""
import numpy as np

from op_cases import Cases, tf

RTOL = {tf.float32: 1e-5, tf.float64: 1e-13, tf.half: 5e-3, tf.bfloat16: 3e-2}
ATOL = {tf.float32: 1e-5, tf.float64: 1e-13, tf.half: 2e-2, tf.bfloat16: 6e-2}

rng = np.random.default_rng(4)
cases = Cases("matmul")


def matrix(shape, dtype):
    if dtype in RTOL:
        return rng.uniform(-1, 1, shape), dtype
    return rng.integers(-100, 100, shape), dtype


def turned(shape, turn):
    return shape[:-2] + (shape[-1], shape[-2]) if turn else shape


TURNS = ((False, False), (False, True), (True, False), (True, True))


def product(op, names, flags, left, right, dtype, turns=TURNS):
    for a, b in turns:
        cases.add(op, {names[0]: matrix(turned(left, a), dtype), names[1]: matrix(turned(right, b), dtype)},
                  {flags[0]: a, flags[1]: b}, name="%s %s %s" % (left, right, dtype.name), rtol=RTOL.get(dtype, 0),
                  atol=ATOL.get(dtype, 0))


MATMUL = ("MatMul", ("a", "b"), ("transpose_a", "transpose_b"))
for dtype in (tf.float32, tf.float64, tf.half, tf.bfloat16, tf.int32, tf.int64):
    for m, k, n in ((1, 1, 1), (2, 3, 4), (5, 7, 1), (1, 9, 11), (0, 3, 2), (2, 0, 3), (2, 3, 0)):
        product(*MATMUL, (m, k), (k, n), dtype)
# Around the edges of the kernel's tiles.
for m, k, n in ((33, 5, 3), (2, 65, 66), (3, 130, 8), (32, 3, 64), (1, 9, 129), (34, 1, 65)):
    product(*MATMUL, (m, k), (k, n), tf.float32, TURNS[::3])
product(*MATMUL, (3, 66), (66, 65), tf.half, TURNS[::3])
product(*MATMUL, (33, 66), (66, 9), tf.int64, TURNS[::3])
cases.add("MatMul", {"a": np.float32([[np.nan, 1], [np.inf, 0], [2, 3]]), "b": np.float32([[0, 1], [1, np.inf]])})
cases.add("MatMul", {"a": np.int32([[2 ** 30, 5]]), "b": np.int32([[7], [-2]])}, name="wraps around")
for a, b in (((2, 3), (2, 3)), ((2, 3), (4, 2)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 2, 3), (3, 2)), ((), ())):
    cases.add("MatMul", {"a": np.ones(a, np.float32), "b": np.ones(b, np.float32)}, refuse=True)
cases.add("MatMul", {"a": np.ones((2, 3), np.float32), "b": np.ones((3, 2), np.float32)}, {"transpose_b": True}, refuse=True)

BATCHES = [((), ()), ((2,), (2,)), ((2, 3), (2, 3)), ((0,), (0,))]
BROADCAST = BATCHES + [((2,), ()), ((), (3,)), ((2, 1), (3,)), ((1, 3), (2, 1)), ((4, 1, 2), (3, 1)), ((1,), (2,)),
                       ((0,), (1,)), ((2, 1, 1, 2), (1, 3, 1, 1))]
FLAGS = ("adj_x", "adj_y")
for dtype in (tf.float32, tf.float64, tf.half, tf.bfloat16, tf.int32, tf.int64):
    for left, right in BATCHES if dtype == tf.float32 else BATCHES[1:2]:
        product("BatchMatMul", ("x", "y"), FLAGS, left + (2, 3), right + (3, 4), dtype)
for dtype in (tf.float32, tf.float64, tf.half, tf.bfloat16, tf.int16, tf.int32, tf.int64):
    for left, right in BROADCAST if dtype == tf.float32 else BROADCAST[6:7]:
        product("BatchMatMulV2", ("x", "y"), FLAGS, left + (2, 3), right + (3, 4), dtype)
for shapes in (((2, 0, 3), (2, 3, 2)), ((2, 2, 0), (1, 0, 2)), ((2, 3, 70), (70, 1)), ((2, 1, 5), (2, 5, 1))):
    product("BatchMatMulV2", ("x", "y"), FLAGS, *shapes, tf.float32)
for op, a, b in (("BatchMatMul", (2, 2, 3), (1, 3, 2)), ("BatchMatMul", (2, 2, 3), (3, 2)), ("BatchMatMul", (2, 2, 3), (2, 2, 2)),
                 ("BatchMatMulV2", (2, 2, 3), (3, 3, 2)), ("BatchMatMulV2", (2, 2, 3), (2, 2, 2)),
                 ("BatchMatMulV2", (3,), (3, 2)), ("BatchMatMulV2", (2, 3), (3,))):
    cases.add(op, {"x": np.ones(a, np.float32), "y": np.ones(b, np.float32)}, refuse=True)

for dtype in (tf.float32, tf.float64, tf.bfloat16, tf.int32, tf.int64):
    cases.add("BatchMatMulV3", {"x": matrix((2, 1, 2, 3), dtype), "y": matrix((3, 3, 2), dtype)}, {"Tout": dtype},
              rtol=RTOL.get(dtype, 0), atol=ATOL.get(dtype, 0))
for left in (tf.int8, tf.uint8):
    for right in (tf.int8, tf.uint8):
        x = rng.integers(0 if left == tf.uint8 else -128, 128, (2, 2, 3))
        y = rng.integers(0 if right == tf.uint8 else -128, 128, (3, 2))
        cases.add("BatchMatMulV3", {"x": (x, left), "y": (y, right)}, {"Tout": tf.int32})

# Half rounds every product and every sum: to the last bit, around the edges of TensorFlow's kernel.
for m, k, n in ((1, 10, 16), (3, 100, 32), (8, 64, 24), (9, 13, 8), (5, 33, 28), (2, 64, 17), (6, 40, 3), (35, 7, 80)):
    for a, b in TURNS[::3] if m != 1 else TURNS[:1]:  # a row times turned columns is another kernel
        cases.add("MatMul", {"a": matrix(turned((m, k), a), tf.half), "b": matrix(turned((k, n), b), tf.half)},
                  {"transpose_a": a, "transpose_b": b}, name="rounds in half (%d, %d, %d)" % (m, k, n), rtol=0, atol=0)

# Of bfloat16 the products of matrices are those of floats, cut off; mixed with bytes each step rounds.
for m, k, n in ((1, 10, 16), (3, 100, 32), (8, 64, 24), (9, 13, 8), (3, 400, 17), (40, 100, 1), (1, 300, 20), (2, 64, 17), (1, 77, 1), (0, 3, 2), (2, 0, 3)):
    for a, b in TURNS:
        x, y = matrix(turned((m, k), a), tf.bfloat16), matrix(turned((k, n), b), tf.bfloat16)
        cases.add("MatMul", {"a": x, "b": y}, {"transpose_a": a, "transpose_b": b}, name="cut off (%d, %d, %d)" % (m, k, n), rtol=0, atol=0)
for batch, m, k, n in ((4, 1, 10, 16), (3, 8, 64, 24), (2, 5, 130, 17), (50, 3, 9, 1)):
    x, y = matrix((batch, m, k), tf.bfloat16), matrix((batch, k, n), tf.bfloat16)
    for op in ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"):
        cases.add(op, {"x": x, "y": y}, {"Tout": tf.bfloat16} if op[-1] == "3" else {}, name="cut off (%d, %d, %d, %d)" % (batch, m, k, n), rtol=0, atol=0)
ends = np.array([[np.nan, np.inf, -np.inf, 3.3e38, -1.7e38]])
cases.add("MatMul", {"a": (np.array([[1.7]]), tf.bfloat16), "b": (ends, tf.bfloat16)}, name="cut off at the ends", rtol=0, atol=0)
for m, k, n in ((8, 64, 24), (1, 200, 24), (9, 64, 1), (6, 9, 40)):
    cases.add("BatchMatMulV3", {"x": (rng.integers(-100, 100, (m, k)), tf.int8), "y": matrix((k, n), tf.bfloat16)}, {"Tout": tf.bfloat16},
              name="rounds in bfloat16 (%d, %d, %d)" % (m, k, n), rtol=0, atol=0)

cases.write()
