"""Functions and eigenvalues of matrices; matrices of few diagonals."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(98)
cases = Cases("matrix_function")
NEAR = {np.float32: dict(rtol=2e-4, atol=5e-5), np.float64: dict(rtol=1e-9, atol=1e-10), np.complex64: dict(rtol=2e-4, atol=5e-5),
        np.complex128: dict(rtol=1e-9, atol=1e-10)}
OUT = {np.float32: tf.complex64, np.float64: tf.complex128, np.complex64: tf.complex64, np.complex128: tf.complex128}


def some(dtype, *shape):
    x = rng.uniform(-1, 1, shape)
    return (x + 1j * rng.uniform(-1, 1, shape) if np.issubdtype(dtype, np.complexfloating) else x).astype(dtype)


def of_values(dtype, values):
    """A matrix with these eigenvalues."""
    n = len(values)
    base = some(dtype, n, n) + 2 * np.eye(n)
    return (base @ np.diag(values) @ np.linalg.inv(base)).astype(dtype)


for dtype, near in NEAR.items():
    wild = np.issubdtype(dtype, np.complexfloating)
    values = [0.3, 1.1j, -2 + 1j, 3 - 2j, 6.5]
    for n in range(1, 6) if wild else ():
        cases.add("Eig", {"input": of_values(dtype, values[:n])}, {"compute_v": False, "Tout": OUT[dtype]}, outputs=1, **near)
    for a in (np.zeros((2, 0, 0)), np.zeros((0, 3, 3)), np.eye(3), np.zeros((3, 3)), np.diag([3, -1, 2]), [[1, 5, 2], [0, 3, 1], [0, 0, -2]], [[3, -1], [1, 3]], [[-7]]):
        if wild and len(a) == 2 and np.shape(a)[-1] == 2:
            continue  # a pair of one magnitude
        cases.add("Eig", {"input": dtype(a)}, {"compute_v": False, "Tout": OUT[dtype]}, outputs=1, **near)
    if wild:
        cases.add("Eig", {"input": np.stack([of_values(dtype, [1, 2, 3]), of_values(dtype, [3, 0.5, -1])])}, {"compute_v": False, "Tout": OUT[dtype]}, outputs=1,
                  **near)
        cases.add("Eig", {"input": some(dtype, 2, 12, 12)}, {"compute_v": False, "Tout": OUT[dtype]}, outputs=1, **near)
    for shape in ((2, 3), (3,)):
        cases.add("Eig", {"input": some(dtype, *shape)}, {"Tout": OUT[dtype]}, refuse=True)
    for n in range(1, 7):
        a = of_values(dtype, rng.uniform(0.5, 4, n))
        cases.add("MatrixSquareRoot", {"input": a}, name="positive values", **near)
        if n > 1:
            turn = np.array([[0.6, -0.8], [0.8, 0.6]])
            b = np.eye(n)
            b[:2, :2] = turn
            cases.add("MatrixSquareRoot", {"input": dtype(b * 2)}, name="a rotation", **near)
        if wild:
            cases.add("MatrixSquareRoot", {"input": of_values(dtype, np.exp(1j * rng.uniform(-3, 3, n)))}, **near)
            cases.add("MatrixLogarithm", {"input": of_values(dtype, np.exp(1j * rng.uniform(-3, 3, n)))}, **near)
            cases.add("MatrixLogarithm", {"input": a}, **near)
            cases.add("MatrixLogarithm", {"input": dtype(np.diag(10.0 ** np.arange(n)))}, **near)
    ops = ("MatrixSquareRoot", "MatrixLogarithm") if wild else ("MatrixSquareRoot",)
    for op in ops:
        for a in (np.zeros((2, 0, 0)), np.zeros((0, 3, 3)), np.eye(3), np.diag([1, 4, 9]), [[1, 5, 2], [0, 3, 1], [0, 0, 2]],
                  [of_values(dtype, [1, 2, 3]), of_values(dtype, [3, 0.5, 1])]):
            cases.add(op, {"input": dtype(a)}, **near)
        for shape in ((2, 3), (3,)):
            cases.add(op, {"input": some(dtype, *shape)}, refuse=True)
    if not wild:
        cases.add("MatrixSquareRoot", {"input": dtype(np.diag([1, -4, 9]))}, name="no real root")

    # ------------------------------------------------------------------- diagonals
    for n, k, batch in ((1, 1, ()), (1, 3, ()), (2, 2, ()), (5, 1, ()), (6, 3, ()), (4, 2, (3,)), (4, 2, (2, 2)), (7, 2, (0,)), (0, 2, (2,)), (3, 0, ())):
        rhs = some(dtype, *batch, n, k)
        if n > 0:
            cases.add("TridiagonalMatMul", {"superdiag": some(dtype, *batch, 1, n), "maindiag": some(dtype, *batch, 1, n),
                                            "subdiag": some(dtype, *batch, 1, n), "rhs": rhs}, **near)
        diagonals = some(dtype, *batch, 3, n)
        steep = diagonals.copy()
        steep[..., 1, :] += 3
        cases.add("TridiagonalSolve", {"diagonals": diagonals, "rhs": rhs}, **near)
        cases.add("TridiagonalSolve", {"diagonals": steep, "rhs": rhs}, {"partial_pivoting": False}, **near)
        for bands in (1, 2, 4):
            if n * k == 0 or 0 in batch:
                continue
            for lower in (False, True):
                for adjoint in (False, True):
                    a = some(dtype, *batch, bands, n)
                    a[..., 0 if lower else -1, :] += 2
                    cases.add("BandedTriangularSolve", {"matrix": a, "rhs": rhs}, {"lower": lower, "adjoint": adjoint}, **near)
    two = some(dtype, 2, 1, 2, 3) + dtype(2)
    cases.add("BandedTriangularSolve", {"matrix": two, "rhs": some(dtype, 4, 3, 2)}, name="broadcast", **near)
    cases.add("BandedTriangularSolve", {"matrix": two[0, 0], "rhs": some(dtype, 4, 3, 2)}, name="broadcast", **near)
    cases.add("BandedTriangularSolve", {"matrix": dtype([[1, 0, 2], [1, 1, 1]]), "rhs": some(dtype, 3, 1)}, name="zero", refuse=True)
    cases.add("BandedTriangularSolve", {"matrix": dtype([[1, 1, 1], [1, 0, 2]]), "rhs": some(dtype, 3, 1)}, {"lower": False}, name="zero", refuse=True)
    cases.add("BandedTriangularSolve", {"matrix": two[:0], "rhs": some(dtype, 3, 2)}, name="none", refuse=True)
    cases.add("BandedTriangularSolve", {"matrix": two, "rhs": some(dtype, 3, 0)}, name="no sides", refuse=True)
    cases.add("BandedTriangularSolve", {"matrix": two, "rhs": some(dtype, 4, 2)}, name="rows", refuse=True)
    cases.add("BandedTriangularSolve", {"matrix": two, "rhs": some(dtype, 3)}, name="rank", refuse=True)
    if not wild:
        # Of complex numbers TensorFlow has zeros in the place of NaN.
        for pivoting in (False, True):
            for diagonals in ([[1, 1, 0], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [1, 0, 1], [0, 0, 0]], [[1, 1, 0], [1, 1, 1], [0, 1, 1]], [[0], [0], [0]]):
                cases.add("TridiagonalSolve", {"diagonals": dtype(diagonals), "rhs": some(dtype, len(diagonals[0]), 2)}, {"partial_pivoting": pivoting},
                          name="singular", **near)
    cases.add("TridiagonalSolve", {"diagonals": dtype([[1, 2, 0], [0, 0, 1], [0, 3, 1]]), "rhs": some(dtype, 3, 2)}, name="zeros as pivots", **near)
    for name, a, b in (("rows", some(dtype, 2, 3), some(dtype, 3, 1)), ("sides", some(dtype, 3, 3), some(dtype, 2, 1)),
                       ("batch", some(dtype, 2, 3, 3), some(dtype, 3, 1)), ("rank", some(dtype, 3), some(dtype, 3, 1)),
                       ("batches", some(dtype, 2, 3, 3), some(dtype, 1, 3, 1))):
        cases.add("TridiagonalSolve", {"diagonals": a, "rhs": b}, name=name, refuse=True)
    good = {"superdiag": some(dtype, 1, 3), "maindiag": some(dtype, 1, 3), "subdiag": some(dtype, 1, 3), "rhs": some(dtype, 3, 2)}
    for key, bad in (("superdiag", some(dtype, 1, 2)), ("maindiag", some(dtype, 2, 3)), ("subdiag", some(dtype, 3)), ("rhs", some(dtype, 2, 3)),
                     ("rhs", some(dtype, 1, 3, 2))):
        cases.add("TridiagonalMatMul", {**good, key: bad}, name=key, refuse=True)
cases.write()
