"""Products of half and bfloat16 of one row by one column, and of few elements, to their last bit."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(63)
cases = Cases("narrow_dots")


def add(op, batch, m, k, n, flags, dtype):
    for transpose in ((False, False), (True, False), (False, True), (True, True)):
        x = rng.standard_normal((*batch, *((k, m) if transpose[0] else (m, k))))
        y = rng.standard_normal((*batch, *((n, k) if transpose[1] else (k, n))))
        cases.add(op, dict(zip(flags[:2], ((x, dtype), (y, dtype)))), dict(zip(flags[2:], transpose)), name="%d x %d x %d" % (m, k, n))


for kind in (tf.half, tf.bfloat16):
    for k in (5, 8, 16, 17, 25, 40, 100, 139):
        add("BatchMatMulV2", (2,), 1, k, 1, ("x", "y", "adj_x", "adj_y"), kind)
        add("MatMul", (), 1, k, 1, ("a", "b", "transpose_a", "transpose_b"), kind)
    for m, k, n in ((2, 8, 2), (2, 15, 2), (3, 9, 7), (1, 16, 2), (2, 16, 1), (1, 9, 9), (5, 13, 1)):
        add("BatchMatMulV2", (2,), m, k, n, ("x", "y", "adj_x", "adj_y"), kind)
cases.write()
