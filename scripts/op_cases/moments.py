"""Batch normalisation by x's own mean and variance, as layer normalisation is written: TensorFlow's bits."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(31)
cases = Cases("moments")
ATTRS = {"data_format": "NCHW", "is_training": True, "epsilon": 0.001}


def add(rows, length, scale, **more):
    offset = rng.uniform(-2, 2, rows).astype(np.float32)
    scale = rng.uniform(-scale, scale, rows).astype(np.float32)
    x = rng.normal(0.3, 2, (1, rows, length, 1)).astype(np.float32)
    cases.add("FusedBatchNormV3", {"x": x, "scale": scale, "offset": offset, "mean": np.zeros(0, np.float32),
                                   "variance": np.zeros(0, np.float32)}, ATTRS, outputs=5, **more)


# Up to seven rows, or those after the last eight, are summed in order; eight together in four sums each.
# Their root is made from the processor's guess, which is not the same everywhere: it counts for nothing
# where the scale is 0, and the moments must have TensorFlow's bits.
for rows in (1, 3, 7):
    for length in (1, 5, 16, 272):
        add(rows, length, 2)
for rows in (8, 19):
    for length in (15, 16, 18, 273):
        add(rows, length, 0)
        add(rows, length, 2, rtol=5e-7, atol=1e-6)
cases.write()
