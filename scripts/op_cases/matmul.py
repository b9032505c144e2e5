"""Matrix products."""
import numpy as np

from op_cases import Cases, near, tf

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
for m, k, n in ((25, 5, 3), (2, 9, 66), (3, 130, 8), (24, 3, 64), (1, 9, 65), (14, 1, 65)):
    product(*MATMUL, (m, k), (k, n), tf.float32, TURNS[::3])
product(*MATMUL, (3, 26), (26, 65), tf.half, TURNS[::3])
product(*MATMUL, (13, 10), (10, 9), tf.int64, TURNS[::3])
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

# Longer sums, around the edges of the kernel's blocks.
for dtype, sizes in ((tf.float32, ((3, 300, 2), (13, 20, 9), (14, 20, 1))), (tf.half, ((1, 10, 16), (3, 40, 17), (13, 20, 5))),
                     (tf.bfloat16, ((1, 77, 1), (3, 40, 17), (13, 20, 5)))):
    for m, k, n in sizes:
        for a, b in TURNS:
            cases.add("MatMul", {"a": matrix(turned((m, k), a), dtype), "b": matrix(turned((k, n), b), dtype)},
                      {"transpose_a": a, "transpose_b": b}, name="long (%d, %d, %d)" % (m, k, n), **near(dtype, k / 4))
for batch, m, k, n in ((4, 1, 10, 16), (3, 8, 12, 9), (20, 3, 9, 1)):
    for dtype in (tf.float32, tf.half, tf.bfloat16):
        for op in ("BatchMatMul", "BatchMatMulV2") if dtype == tf.half else ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"):
            cases.add(op, {"x": matrix((batch, m, k), dtype), "y": matrix((batch, k, n), dtype)},
                      {"Tout": dtype} if op[-1] == "3" else {}, name="(%d, %d, %d, %d)" % (batch, m, k, n), **near(dtype, k / 4))
cases.add("BatchMatMulV3", {"x": (rng.integers(-9, 10, (6, 9)), tf.int8), "y": matrix((9, 40), tf.bfloat16)}, {"Tout": tf.bfloat16},
          name="bytes by bfloat16", **near(tf.bfloat16, 20))

cases.write()
