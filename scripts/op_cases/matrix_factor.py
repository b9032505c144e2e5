"""Factors of matrices, as far as they are fixed; least squares."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(91)
cases = Cases("matrix_factor")
NEAR = {np.float32: dict(rtol=2e-4, atol=2e-5), np.float64: dict(rtol=1e-9, atol=1e-11), np.complex64: dict(rtol=2e-4, atol=2e-5),
        np.complex128: dict(rtol=1e-9, atol=1e-11)}


def some(dtype, shape):
    x = rng.uniform(-1, 1, shape)
    return (x + 1j * rng.uniform(-1, 1, shape) if np.issubdtype(dtype, np.complexfloating) else x).astype(dtype)


SHAPES = ((3, 3), (5, 3), (3, 5), (1, 1), (2, 4, 4), (2, 2, 6, 3), (2, 3, 6), (0, 3, 3), (3, 0), (0, 3), (20, 20))
for dtype, near in NEAR.items():
    for shape in SHAPES:
        a = some(dtype, shape)
        for full in (False, True):
            cases.add("Qr", {"input": a}, {"full_matrices": full}, **near)
        cases.add("Svd", {"input": a}, {"compute_uv": False}, outputs=1, **near)
        if shape[-1] == shape[-2]:
            cases.add("SelfAdjointEigV2", {"input": a}, {"compute_v": False}, outputs=1, name="only the lower triangle counts", **near)
    for a in ([[1, 2], [2, 4]], np.zeros((3, 2)), np.eye(3), [[0, 1], [1, 0]], [[1e-20, 0], [0, 1e20]]):
        cases.add("Svd", {"input": dtype(a)}, {"compute_uv": False}, outputs=1, **near)
        if len(a) == len(a[0]):
            cases.add("SelfAdjointEigV2", {"input": dtype(a)}, {"compute_v": False}, outputs=1, **near)
    cases.add("Qr", {"input": dtype([[0, 1], [0, 2]])}, name="a column of nothing", **near)
    cases.add("Qr", {"input": dtype([[-2, 1], [0, -3]])}, name="a triangle", **near)
    if not np.issubdtype(dtype, np.complexfloating):
        # Of complex numbers TensorFlow leaves the answer to chance.
        cases.add("Svd", {"input": dtype([[1, np.nan], [2, 3]])}, name="no number")
    for full in (False, True):
        cases.add("Svd", {"input": np.zeros((0, 3), dtype)}, {"full_matrices": full}, outputs=1)
    cases.add("SelfAdjointEigV2", {"input": dtype([[np.nan, 1], [1, 2]])}, refuse=True)
    cases.add("SelfAdjointEigV2", {"input": some(dtype, (2, 3))}, refuse=True)
    for op in ("Qr", "Svd", "SelfAdjointEigV2"):
        cases.add(op, {"input": some(dtype, (3,))}, name="rank", refuse=True)
    for shape, k in (((4, 4), 2), ((6, 3), 1), ((3, 6), 2), ((2, 5, 3), 3), ((0, 3, 3), 1), ((3, 0), 2), ((3, 3), 0)):
        a, b = some(dtype, shape), some(dtype, shape[:-1] + (k,))
        for fast, l2 in ((True, 0), (True, 0.5), (False, 0), (False, 0.5)):
            loose = dict(rtol=1e-3, atol=1e-3) if fast and near["rtol"] > 1e-6 else near
            cases.add("MatrixSolveLs", {"matrix": a, "rhs": b, "l2_regularizer": np.float64(l2)}, {"fast": fast}, **loose)
    one = dtype([[1, 1], [1, 1], [1, 1]])
    b = dtype([[1], [2], [3]])
    cases.add("MatrixSolveLs", {"matrix": one, "rhs": b, "l2_regularizer": np.float64(0)}, {"fast": True}, refuse=True)
    cases.add("MatrixSolveLs", {"matrix": one, "rhs": b, "l2_regularizer": np.float64(0)}, {"fast": False}, **near)
    cases.add("MatrixSolveLs", {"matrix": one, "rhs": b, "l2_regularizer": np.float64(1)}, {"fast": True}, **near)
cases.add("Qr", {"input": (some(np.float32, (4, 3)), tf.half)}, rtol=2e-2, atol=2e-2)
a, b = np.float32([[1, 2], [3, 4]]), np.float32([[1], [2]])
cases.add("MatrixSolveLs", {"matrix": a, "rhs": b, "l2_regularizer": np.float64(-1)}, refuse=True)
cases.add("MatrixSolveLs", {"matrix": a, "rhs": b, "l2_regularizer": np.float64([0])}, refuse=True)
cases.add("MatrixSolveLs", {"matrix": a, "rhs": np.float32([[1], [2], [3]]), "l2_regularizer": np.float64(0)}, refuse=True)
cases.add("MatrixSolveLs", {"matrix": a, "rhs": b[None], "l2_regularizer": np.float64(0)}, refuse=True)
# The older names, which TensorFlow does not let into new graphs.
a = some(np.float64, (2, 3, 3))
a += a.transpose(0, 2, 1)
values = np.linalg.eigvalsh(a)
cases.define("BatchSelfAdjointEigV2", [a], {"T": tf.float64, "compute_v": False}, [values], rtol=1e-9, atol=1e-11)
cases.define("BatchSvd", [a], {"T": tf.float64, "compute_uv": False}, [np.linalg.svd(a, compute_uv=False)], rtol=1e-9, atol=1e-11)
cases.write()
