"""Batch normalisation by x's own mean and variance, as layer normalisation is written."""
import numpy as np

from op_cases import Cases, near, tf

rng = np.random.default_rng(31)
cases = Cases("moments")
ATTRS = {"data_format": "NCHW", "is_training": True, "epsilon": 0.001}


def add(rows, length, scale, **more):
    offset = rng.uniform(-2, 2, rows).astype(np.float32)
    scale = rng.uniform(-scale, scale, rows).astype(np.float32)
    x = rng.normal(0.3, 2, (1, rows, length, 1)).astype(np.float32)
    cases.add("FusedBatchNormV3", {"x": x, "scale": scale, "offset": offset, "mean": np.zeros(0, np.float32),
                                   "variance": np.zeros(0, np.float32)}, ATTRS, outputs=5, **more)


for rows in (1, 3, 8, 19):
    for length in (1, 5, 16, 273):
        add(rows, length, 2, **near(tf.float32, 8))
cases.write()
