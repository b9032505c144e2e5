"""Eigenvalues and vectors of symmetric float and double matrices to their last bit, and their signs."""
import numpy as np

from op_cases import Cases

rng = np.random.default_rng(64)
cases = Cases("matrix_eigen_bits")


def eigen(a, name=""):
    cases.add("SelfAdjointEigV2", {"input": a}, name=name)
    cases.add("SelfAdjointEigV2", {"input": a}, {"compute_v": False}, outputs=1, name=name)


def normal(*shape):
    return rng.normal(size=shape)


for dtype in (np.float32, np.float64):
    for n in list(range(1, 20)) + [23, 24, 25, 33, 41, 57]:
        eigen(normal(n, n).astype(dtype), "any")
    for n in (2, 3, 5, 8, 11, 17, 20):
        x = normal(n, n)
        eigen((x @ x.T).astype(dtype), "positive")
        eigen((x[:, :2] @ x[:, :2].T).astype(dtype), "of rank two")
        eigen((rng.uniform(size=(n, n)) < 0.4).astype(dtype), "zeros and ones")
        eigen(np.diag(normal(n)).astype(dtype), "a diagonal")
        eigen((normal(n, n) * np.logspace(0, -12, n)).astype(dtype), "of all sizes")
    eigen(np.zeros((4, 4), dtype), "zeros")
    eigen(np.ones((9, 9), dtype), "ones")
    eigen((1e-30 * normal(5, 5)).astype(dtype), "small")
    eigen((1e30 * normal(5, 5)).astype(dtype), "large")
    eigen(normal(2, 3, 6, 6).astype(dtype), "batch")
    eigen(np.zeros((0, 3, 3), dtype), "nothing")
    for value in (np.nan, np.inf):
        eigen(dtype([[value]]), "%g" % value)
        for at in ((0, 0), (3, 1), (3, 3)):
            a = normal(4, 4).astype(dtype)
            a[at] = value
            alone = value == np.inf and at == (0, 0)
            cases.add("SelfAdjointEigV2", {"input": a}, name="%g at %d %d" % (value, *at), refuse=not alone)
cases.write()
