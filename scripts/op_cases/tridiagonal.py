"""Tridiagonal systems that may be singular (perturb_singular).

TensorFlow's threads take numbers below the least normal one for 0, the engine does not: what
becomes of such a pivot follows from the definition.
"""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(1207)
cases = Cases("tridiagonal")
PERTURB = {"partial_pivoting": True, "perturb_singular": True}


def some(dtype, *shape):
    x = rng.uniform(-1, 1, shape)
    return (x + 1j * rng.uniform(-1, 1, shape) if np.issubdtype(dtype, np.complexfloating) else x).astype(dtype)


def solve(diagonals, rhs, name=""):
    cases.add("TridiagonalSolve", {"diagonals": diagonals, "rhs": rhs}, PERTURB, name=name)


def shifted(dtype, n):
    """The matrix (-1, 2, -1) less one of its eigenvalues: what this is for."""
    a = np.zeros((3, n))
    a[1] = 2 - (2 - 2 * np.cos(np.pi * rng.integers(1, n + 1) / (n + 1)))
    a[0] = a[2] = -1
    return a.astype(dtype)


for dtype in (np.float32, np.float64, np.complex64, np.complex128):
    tiny, huge = np.finfo(dtype).tiny, np.finfo(dtype).max
    for n, k, batch in ((1, 1, ()), (1, 3, ()), (2, 2, ()), (3, 1, ()), (5, 1, ()), (6, 3, ()), (4, 2, (3,)), (4, 2, (2, 2)), (7, 9, (2,)), (20, 17, ()), (4, 2, (0,)), (0, 2, (2,))):
        solve(some(dtype, *batch, 3, n), some(dtype, *batch, n, k))
        holes = some(dtype, *batch, 3, n) * rng.integers(0, 2, (*batch, 3, n))
        solve(holes.astype(dtype), some(dtype, *batch, n, k), "holes")
        whole = rng.integers(-1, 2, (*batch, 3, n))
        solve(whole.astype(dtype), rng.integers(-3, 4, (*batch, n, k)).astype(dtype), "of whole numbers")
        solve(np.zeros((*batch, 3, n), dtype), some(dtype, *batch, n, k), "zeros")
    for n in (2, 3, 6, 11):
        solve(shifted(dtype, n), some(dtype, n, 2), "an eigenvalue away")
        small = dtype(64 * tiny / np.finfo(dtype).eps)
        solve(shifted(dtype, n) * small, some(dtype, n, 2), "small")
        solve(shifted(dtype, n) * small, some(dtype, n, 2) * small, "small on both sides")
        solve(shifted(dtype, n) * small * dtype(1024), some(dtype, n, 2), "less small")
        solve(shifted(dtype, n), (some(dtype, n, 2) * dtype(huge / 4)).astype(dtype), "huge")
        solve((some(dtype, 3, n) * dtype(1e-20)).astype(dtype), (some(dtype, n, 2) * dtype(huge / 8)).astype(dtype), "large quotients")
    for diagonals in ([[1, 1, 0], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [1, 0, 1], [0, 0, 0]], [[1, 1, 0], [1, 1, 1], [0, 1, 1]], [[1, 2, 0], [0, 0, 1], [0, 3, 1]],
                      [[5, 5, 5], [-0.0, -0.0, -0.0], [7, 0, 0]]):
        solve(dtype(diagonals), some(dtype, 3, 2), "singular")
    for value in (tiny, -tiny, 4 * tiny, 0, -0.0, 0.5, -1, 3, huge / 8):
        solve(dtype([[0], [value], [0]]), dtype([[1, -2]]), "a number")
        solve(dtype([[0], [value], [0]]), dtype([[tiny * 8, 0]]), "a number")
    for right in ([[np.nan, 1e30]], [[1e30, np.nan]], [[np.inf, -1]], np.zeros((1, 0))):
        solve(dtype([[0], [1e-20], [0]]), dtype(right), "no numbers")
    cases.add("TridiagonalSolve", {"diagonals": some(dtype, 2, 3), "rhs": some(dtype, 3, 1)}, PERTURB, name="rows", refuse=True)
    cases.add("TridiagonalSolve", {"diagonals": some(dtype, 3, 3), "rhs": some(dtype, 3, 1)}, {"partial_pivoting": False, "perturb_singular": True},
              name="without exchanges", refuse=True)
cases.write()
