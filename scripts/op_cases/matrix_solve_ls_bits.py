"""Least squares of float and double matrices to their last bit: full and lower ranks, any shape."""
import numpy as np

from op_cases import Cases

rng = np.random.default_rng(62)
cases = Cases("matrix_solve_ls_bits")


def normal(*shape):
    return rng.normal(size=shape)


def case(a, k, name="", fast=(True, False), l2=(0, 0.3)):
    b = normal(*a.shape[:-1], k).astype(a.dtype)
    for is_fast in fast:
        for ridge in l2 if is_fast else l2[:1]:
            cases.add("MatrixSolveLs", {"matrix": a, "rhs": b, "l2_regularizer": np.float64(ridge)}, {"fast": is_fast}, name=name)


for dtype in (np.float32, np.float64):
    for rows in (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 33):
        for columns in (1, 2, 3, 5, 8, 9, 16, 17, 32):
            case(normal(rows, columns).astype(dtype), int(rng.integers(1, 21)))
    for k in range(1, 21):
        case(normal(11, 7).astype(dtype), k, "%d columns" % k)
        case(normal(6, 10).astype(dtype), k, "%d columns" % k)
    for rows, columns in ((5, 3), (3, 5), (9, 9), (20, 12), (12, 20)):
        rank = min(rows, columns) // 2 + 1
        low = (normal(rows, rank) @ normal(rank, columns)).astype(dtype)
        case(low, 3, "a lower rank", fast=(False,))
        case(low, 3, "a lower rank", fast=(True,), l2=(0.1,))
        case((rng.uniform(size=(rows, columns)) < 0.4).astype(dtype), 2, "zeros and ones", fast=(False,))
        q, r = np.linalg.qr(normal(rows, min(rows, columns)))[0], np.linalg.qr(normal(columns, min(rows, columns)))[0]
        case((q * np.logspace(0, -5, q.shape[1]) @ r.T).astype(dtype), 2, "ill", fast=(False,))
        case((q * np.logspace(0, -2, q.shape[1]) @ r.T).astype(dtype), 2, "rather ill")
    case(normal(2, 3, 6, 4).astype(dtype), 2, "batch")
    case(normal(300, 7).astype(dtype), 2, "many rows")
    case(np.zeros((3, 2), dtype), 2, "zeros", fast=(False,))
    ones = np.ones((3, 2), dtype)
    ones[1, 0] = np.nan
    case(ones, 1, "no number", fast=(False,))
cases.write()
