"""Products of small float32 matrices of a batch to their last bit: every panel of rows and columns, and long sums."""
import numpy as np

from op_cases import Cases

rng = np.random.default_rng(8)
cases = Cases("small_products")


def numbers(*shape):
    return rng.uniform(-1, 1, shape).astype(np.float32)


def add(batch, m, k, n):
    for adj_x in (False, True):
        for adj_y in (False, True):
            cases.add("BatchMatMulV2", {"x": numbers(batch, *((k, m) if adj_x else (m, k))),
                                        "y": numbers(batch, *((n, k) if adj_y else (k, n)))},
                      {"adj_x": adj_x, "adj_y": adj_y}, name="%d x %d x %d" % (m, k, n))


# Dots, and what Eigen multiplies element by element.
for k in (1, 7, 8, 16, 17, 18, 40, 100):
    add(2, 1, k, 1)
for m, k, n in ((2, 15, 2), (3, 9, 7), (1, 9, 9), (9, 9, 1), (4, 8, 4), (5, 13, 1)):
    add(2, m, k, n)
# Rows after the last four, columns after the last sixteen, eight and four; terms after the last eight and two.
for m, k, n in ((4, 16, 16), (5, 15, 17), (6, 11, 23), (7, 13, 24), (9, 9, 31), (3, 24, 15)):
    add(2, m, k, n)
# Several passes over the terms.
add(2, 5, 609, 5)
add(2, 2, 1216, 2)
cases.write()
