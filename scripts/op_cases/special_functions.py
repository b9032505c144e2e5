"""Incomplete gamma and beta functions, zeta and polygamma."""
import numpy as np

from op_cases import Cases

rng = np.random.default_rng(31)
cases = Cases("special_functions")
INF, NAN = np.inf, np.nan
# TensorFlow's float kernels are no better.
NEAR = {np.float32: dict(rtol=2e-5, atol=1e-6), np.float64: dict(rtol=1e-11, atol=1e-14)}


def two(op, names, pairs, dtype, **how):
    columns = np.array(pairs, np.float64).astype(dtype)
    cases.add(op, dict(zip(names, columns.T)), **{**NEAR[dtype], **how})


GAMMA = [(1, 0), (0, 1), (-1, 1), (1, -1), (1, INF), (INF, 1), (INF, INF), (NAN, 1), (1, NAN), (50, 1), (1, 50), (1, 1e-30), (0.5, 0.4),
         (2, 3), (10, 9), (10, 11), (0.1, 5), (7.5, 7.5), (30, 25)]
ZETA = [(1, 1), (0.5, 1), (2, 0), (2, -1), (3, -1), (2, -1.5), (3, -1.5), (2.5, -1.5), (2, INF), (INF, 2), (INF, 0.5), (INF, 1), (NAN, 1),
        (2, NAN), (-1, 1), (100, 2), (1.1, 1), (2, 1), (3, 7.5), (1.5, 100), (2, 1e20), (4, -3.25)]
POLYGAMMA = [(0, 1.5), (1, 1.5), (2, 1.5), (1.5, 2), (-1, 2), (10, 2), (1, 0), (2, 0), (2, -1), (1, -1.5), (2, -1.5), (0, -1.5), (NAN, 1),
             (1, NAN), (INF, 2), (1, INF), (0, 0), (3, 0.1), (4, 20)]
BETA = [(1, 1, 0), (1, 1, 1), (1, 1, .5), (0, 1, .5), (1, 0, .5), (0, 0, .5), (-1, 1, .5), (1, 1, -.1), (1, 1, 1.1), (INF, 1, .5), (1, INF, .5),
        (NAN, 1, .5), (1, 1, NAN), (1, 0, 0), (0, 1, 1), (0, 1, 0), (2, 3, .2), (2, 3, .9), (.5, .5, .3), (10, 2, .7), (.1, 7, .01), (30, 40, .45)]
for dtype in NEAR:
    for op in ("Igamma", "Igammac"):
        two(op, ("a", "x"), GAMMA, dtype)
        two(op, ("a", "x"), np.stack([rng.uniform(0.1, 40, 60), rng.uniform(0, 50, 60)], 1), dtype)
        cases.add(op, {"a": dtype([[0.5], [3]]), "x": dtype([1, 2, 7])}, name="broadcast", **NEAR[dtype])
        cases.add(op, {"a": dtype(2), "x": np.zeros((0, 3), dtype)}, name="nothing")
        cases.add(op, {"a": dtype([1, 2]), "x": dtype([1, 2, 3])}, name="shapes", refuse=True)
    two("Zeta", ("x", "q"), ZETA, dtype)
    if dtype == np.float64:  # TensorFlow's float is lost there
        two("Zeta", ("x", "q"), [(5, -7.75), (3, -9.5)], dtype)
    two("Zeta", ("x", "q"), np.stack([rng.uniform(1.2, 9, 60), rng.uniform(0.1, 30, 60)], 1), dtype)
    two("Polygamma", ("a", "x"), POLYGAMMA, dtype)
    two("Polygamma", ("a", "x"), np.stack([rng.integers(0, 6, 60), rng.uniform(0.2, 30, 60)], 1), dtype)
    cases.add("Polygamma", {"a": dtype([[1], [2]]), "x": dtype([1, 2, 7])}, name="broadcast", **NEAR[dtype])
    two("Betainc", ("a", "b", "x"), BETA, dtype)
    two("Betainc", ("a", "b", "x"), np.stack([rng.uniform(0.2, 20, 60), rng.uniform(0.2, 20, 60), rng.uniform(0, 1, 60)], 1), dtype)
    for a, b, x in (((2, 3), (2, 3), ()), ((), (2,), ()), ((), (), ()), ((0, 2), (), (0, 2))):
        cases.add("Betainc", {"a": np.full(a, 2, dtype), "b": np.full(b, 3, dtype), "x": np.full(x, 0.25, dtype)}, name="scalars", **NEAR[dtype])
    for a, b, x in (((2,), (1,), (2,)), ((2, 3), (3,), ()), ((1,), (), (2,))):
        cases.add("Betainc", {"a": np.ones(a, dtype), "b": np.ones(b, dtype), "x": np.ones(x, dtype)}, name="shapes", refuse=True)
    two("NextAfter", ("x1", "x2"), [(0, 1), (1, 0), (1, INF), (INF, 0), (NAN, 1), (1, 1), (0, -0.0), (-1e-45, 1), (1e30, -1)], dtype, rtol=0, atol=0)
cases.add("Igamma", {"a": np.float64([1000, 1e4]), "x": np.float64([1000, 1.01e4])}, name="large", rtol=1e-8)
cases.add("Digamma", {"x": np.float64([0, -0.0, -1, -0.5])}, name="poles", rtol=1e-12)
cases.write()
