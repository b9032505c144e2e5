"""Functions of two float32 numbers to their last bit where operands repeat: packets run on from row to row, up to the end of a task."""
import numpy as np

from op_cases import Cases

rng = np.random.default_rng(21)
cases = Cases("broadcast_bits")


def uniform(low, high, shape):
    return rng.uniform(low, high, shape).astype(np.float32)


SHAPES = [
    ((7, 4), (7, 1)), ((7, 1), (7, 4)), ((64, 4), (64, 1)), ((64, 4), (4,)), ((64, 5), (64, 1)), ((33, 1), (1, 3)),
    ((7, 3, 4), (7, 1, 4)), ((7, 3, 4), (7, 3, 1)), ((7, 3, 4), (3, 1)), ((5, 1, 3), (1, 7, 1)), ((3, 1, 5, 1), (1, 2, 1, 3)),
    ((2, 600), (2, 1)), ((1, 3, 1, 5), (5,)),
    # More than a task: of both repeating, of one, and within a row.
    ((901, 5), (901, 1)), ((2, 900, 3), (2, 1, 3)), ((2, 1, 901, 3), (1, 2, 901, 1)), ((2, 4391), (2, 1)),
]
for op in ("Pow", "Xlogy", "Xlog1py"):
    for x, y in SHAPES:
        base, exponent = (uniform(0.01, 3, x), uniform(-4, 4, y)) if op == "Pow" else (uniform(-4, 4, x), uniform(0.01, 3, y))
        cases.add(op, {"x": base, "y": exponent}, name="%s and %s" % (list(x), list(y)))
x, y = (2401, 5), (2401, 1)
cases.add("Pow", {"x": uniform(0.01, 3, x), "y": uniform(-4, 4, y)}, name="%s and %s" % (list(x), list(y)))
cases.write()
