"""Inverses, solutions, determinants and triangles of float and double matrices to their last bit."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(61)
cases = Cases("linear_solve_bits")
SIZES = {np.float32: list(range(1, 18)) + [19, 23, 25, 31, 32, 33, 41, 65], np.float64: [1, 2, 3, 5, 8, 9, 12, 16, 17, 25, 33]}
COLUMNS = list(range(1, 21))


def normal(*shape):
    return rng.normal(size=shape)


def ill(n):
    """A condition number of some ten thousands."""
    q, r = (np.linalg.qr(normal(n, n))[0] for _ in range(2))
    return q * np.logspace(0, -4.5, n) @ r


def refuses(op, **inputs):
    try:
        getattr(tf.raw_ops, op)(**inputs)
        return False
    except tf.errors.InvalidArgumentError:
        return True


for dtype, last in ((np.float32, {}), (np.float64, dict(rtol=1e-13))):
    for n in SIZES[dtype]:
        a, x = normal(n, n).astype(dtype), normal(n, 3)
        near = (0.1 * np.eye(n) + x @ x.T).astype(dtype)
        k = COLUMNS[n % len(COLUMNS)]
        kinds = (("any", a), ("ill", ill(n).astype(dtype)), ("near one of three", near))
        for name, m in kinds if n < 18 else kinds[:1]:
            for adjoint in (False, True) if n < 40 else (False,):
                cases.add("MatrixInverse", {"input": m}, {"adjoint": adjoint}, name=name)
                cases.add("MatrixSolve", {"matrix": m, "rhs": normal(n, k).astype(dtype)}, {"adjoint": adjoint}, name=name)
            cases.add("Lu", {"input": m}, name=name)
            cases.add("LogMatrixDeterminant", {"input": m}, name=name, **last)
            cases.add("MatrixDeterminant", {"input": m}, name=name, **last)
        for lower in (False, True):
            for adjoint in (False, True):
                cases.add("MatrixTriangularSolve", {"matrix": a + dtype(2) * np.eye(n, dtype=dtype), "rhs": normal(n, k).astype(dtype)},
                          {"lower": lower, "adjoint": adjoint})
        cases.add("Cholesky", {"input": near}, name="near one of three")
        cases.add("Cholesky", {"input": (a @ a.T + dtype(0.01) * np.eye(n, dtype=dtype))})
    for k in COLUMNS:
        a = normal(2, 7, 7).astype(dtype)
        cases.add("MatrixSolve", {"matrix": a, "rhs": normal(2, 7, k).astype(dtype)}, name="%d columns" % k)
        cases.add("MatrixTriangularSolve", {"matrix": normal(1, 21, 21).astype(dtype), "rhs": normal(2, 21, k).astype(dtype)},
                  {"lower": k % 2 == 0}, name="%d columns" % k)
    for shape in ((3, 4, 4), (2, 3, 5, 5), (0, 3, 3), (2, 0, 0)):
        a = normal(*shape).astype(dtype)
        for op in ("MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant", "Lu"):
            cases.add(op, {"input": a}, name="batch", **(last if "Determinant" in op else {}))
        cases.add("Cholesky", {"input": a @ np.swapaxes(a, -1, -2)}, name="batch")
    # What has no numbers, or no pivots.
    for at in ((0, 0), (2, 1), (2, 2)):
        for value in (np.nan, np.inf):
            a = normal(3, 3).astype(dtype)
            a[at] = value
            for op in ("MatrixDeterminant", "LogMatrixDeterminant"):
                cases.add(op, {"input": a}, name="%g at %d %d" % (value, *at), **last)
            for op in ("MatrixInverse", "Lu"):
                cases.add(op, {"input": a}, name="%g at %d %d" % (value, *at), refuse=refuses(op, input=a))
            positive = np.diag(normal(3) ** 2 + 1).astype(dtype)
            positive[at] = value
            if np.isnan(value):  # else it is not positive, and TensorFlow leaves the upper triangle to chance
                cases.add("Cholesky", {"input": positive}, name="%g at %d %d" % (value, *at))
    a = normal(4, 4).astype(dtype)
    a[:, 2] = 0
    for op in ("MatrixDeterminant", "LogMatrixDeterminant"):
        cases.add(op, {"input": a}, name="a column of zeros")
        cases.add(op, {"input": np.full((2, 2), 1e-30, dtype) * np.eye(2, dtype=dtype)}, name="small", **last)
        cases.add(op, {"input": np.eye(9, dtype=dtype) * dtype(1e30)}, name="large", **last)
    for op in ("MatrixInverse", "Lu"):
        cases.add(op, {"input": a}, name="a column of zeros", refuse=True)
cases.write()
