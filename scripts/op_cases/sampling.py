"""Classes that are drawn: with given seeds TensorFlow's very ones."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(45)
cases = Cases("sampling")
F = np.float32
INF, NAN = np.inf, np.nan
SEEDS = {"seed": 7, "seed2": 11}
for dtype in (tf.float32, tf.float64, tf.half, tf.bfloat16):
    logits = rng.normal(0, 2, (3, 9))
    for n in (0, 1, 5, 64):
        for index in (tf.int32, tf.int64):
            cases.add("Multinomial", {"logits": (logits, dtype), "num_samples": np.int32(n)}, {"output_dtype": index, **SEEDS})
            cases.add("StatelessMultinomial", {"logits": (logits, dtype), "num_samples": np.int32(n), "seed": np.int64([n, -3])},
                      {"output_dtype": index})
for op, more, attrs in (("Multinomial", {}, SEEDS), ("StatelessMultinomial", {"seed": np.int32([1, 2])}, {})):
    for logits in ([[0, 0, -INF, 5]], [[NAN, 1, 2], [INF, 1, INF], [-INF, -INF, -INF]], [[3]], np.zeros((0, 4)), [[-1e30, 1e30, 0]]):
        cases.add(op, {"logits": F(logits), "num_samples": np.int32(7), **more}, attrs)
    for logits, n in ((np.zeros((2, 0)), 2), ([1, 2], 2), ([[1, 2]], -1), ([[1, 2]], [2])):
        cases.add(op, {"logits": F(logits), "num_samples": np.int32(n), **more}, attrs, refuse=True)
cases.add("StatelessMultinomial", {"logits": F([[1, 2]]), "num_samples": np.int32(2), "seed": np.int32([1, 2, 3])}, refuse=True)

cases.write()
