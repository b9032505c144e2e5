"""In which order TopKV2 gives the largest of a row: the heap's when it need not sort, and with NaNs among them."""
import numpy as np

from op_cases import Cases

cases = Cases("top_k_order")
rng = np.random.default_rng(58)

for dtype in "float32 float64 float16 int32 int64 uint8 int8".split():
    for shape in ((3, 6), (2, 17), (2, 40)):
        for k in (1, 2, 3, 5, 6, 16, 17, 39, 40):
            if k <= shape[1]:
                x = (rng.permuted(np.tile(np.arange(shape[1]), (shape[0], 1)), axis=1) - 3).clip(0 if dtype[0] == "u" else -3)
                cases.add("TopKV2", {"input": x.astype(dtype), "k": np.int32(k)}, {"sorted": False})
for k in (2, 5, 30, 99):
    cases.add("TopKV2", {"input": np.float32(rng.integers(0, 9, (2, 100))), "k": np.int32(k)}, {"sorted": False})
cases.add("TopKV2", {"input": np.int32([[-2**31, 5, -2**31, 7, 1, -2**31, 3]]), "k": np.int32(4)}, {"sorted": False})
cases.add("TopKV2", {"input": np.uint64([[0, 5, 0, 7, 1, 0, 3]]), "k": np.int32(5)}, {"sorted": False})
for order in (False, True):
    for columns in (3, 7, 20, 60):
        for k in range(2, columns, 1 + columns // 4):
            x = np.float32(rng.integers(0, 9, (3, columns)))
            x[rng.random(x.shape) < 0.3] = np.nan
            cases.add("TopKV2", {"input": x, "k": np.int32(k)}, {"sorted": order})
for x in ([np.nan, 5], [5, np.nan], [1, np.nan, 2], [np.nan, np.nan, 2], [np.nan] * 3, [np.nan, 1, np.nan, -np.inf, 3, 2]):
    for k in range(1, len(x)):
        cases.add("TopKV2", {"input": np.float32(x), "k": np.int32(k)})
cases.write()
