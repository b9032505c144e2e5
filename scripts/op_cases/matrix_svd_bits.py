"""Singular values and vectors of float and double matrices of less than 16 columns to their last bit, and their signs."""
import numpy as np

from op_cases import Cases

rng = np.random.default_rng(65)
cases = Cases("matrix_svd_bits")


def svd(a, name="", full=(False, True)):
    for whole in full:
        cases.add("Svd", {"input": a}, {"full_matrices": whole}, name=name)
    cases.add("Svd", {"input": a}, {"compute_uv": False}, outputs=1, name=name)


def normal(*shape):
    return rng.normal(size=shape)


for dtype in (np.float32, np.float64):
    for rows in (1, 2, 3, 4, 5, 8, 11, 15, 17, 40):
        for columns in (1, 2, 3, 4, 7, 8, 12, 15):
            svd(normal(rows, columns).astype(dtype), full=(False, True) if rows < 17 else (False,))
    for rows, columns in ((3, 3), (7, 4), (4, 7), (15, 15)):
        svd((normal(rows, 1) @ normal(1, columns)).astype(dtype), "of rank one")
        svd((rng.uniform(size=(rows, columns)) < 0.4).astype(dtype), "zeros and ones")
        svd((normal(rows, columns) * np.logspace(0, -9, columns)).astype(dtype), "of all sizes")
        svd(np.zeros((rows, columns), dtype), "zeros")
    svd((1e-30 * normal(4, 3)).astype(dtype), "small")
    svd((1e30 * normal(4, 3)).astype(dtype), "large")
    svd(normal(140, 3).astype(dtype), "many rows", full=(False,))
    svd(normal(2, 3, 4, 3).astype(dtype), "batch")
    svd(np.zeros((0, 3, 2), dtype), "nothing")
    for shape in ((2, 2), (3, 2), (2, 3)):
        for value in (np.nan, np.inf, -np.inf):
            a = normal(*shape).astype(dtype)
            a[-1, 0] = value
            svd(a, "%g" % value)
cases.write()
