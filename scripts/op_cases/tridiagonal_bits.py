"""Tridiagonal products and systems of float and double to their last bit, with pivots and without."""
import numpy as np

from op_cases import Cases

rng = np.random.default_rng(66)
cases = Cases("tridiagonal_bits")


def normal(*shape):
    return rng.normal(size=shape)


def solve(diagonals, rhs, name=""):
    for pivots in (False, True):
        cases.add("TridiagonalSolve", {"diagonals": diagonals, "rhs": rhs}, {"partial_pivoting": pivots}, name=name)


for dtype in (np.float32, np.float64):
    for n in list(range(1, 13)) + [20, 50]:
        for k in (1, 2, 9):
            diagonals, rhs = normal(3, n).astype(dtype), normal(n, k).astype(dtype)
            solve(diagonals, rhs)
            cases.add("TridiagonalMatMul", {"superdiag": diagonals[:1], "maindiag": diagonals[1:2], "subdiag": diagonals[2:], "rhs": rhs})
        steep = normal(3, n) * np.logspace(0, -5, n)
        solve(steep.astype(dtype), normal(n, 2).astype(dtype), "steep")
    solve(normal(2, 3, 3, 5).astype(dtype), normal(2, 3, 5, 2).astype(dtype), "batch")
    for zeros in ([0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]):
        solve(dtype([[1, 2, 0], zeros, [0, 3, 1]]), normal(3, 2).astype(dtype), "zeros")
    for at in range(3):
        diagonals = normal(3, 4).astype(dtype)
        diagonals[at, 1] = np.nan
        solve(diagonals, normal(4, 2).astype(dtype), "no number")
cases.write()
