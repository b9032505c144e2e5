"""Local response normalisation of float32 channels to its last bit."""
import numpy as np

from op_cases import Cases

rng = np.random.default_rng(45)
cases = Cases("lrn_bits")
ATTRS = [{"depth_radius": 2, "alpha": 1e-4, "beta": 0.75}, {"alpha": 0.3}, {"depth_radius": 1, "beta": 1.0, "alpha": 0.1},
         {"depth_radius": 3, "bias": 2.0, "alpha": 0.2, "beta": 0.6}, {"depth_radius": 0, "beta": -1.5}, {"depth_radius": 100, "beta": 0.25}, {"depth_radius": 900, "alpha": 0.01}]

for shape in ((1, 1, 1, 1), (1, 1, 1, 5), (1, 1, 1, 150), (2, 1, 1, 7), (2, 2, 3, 7), (3, 1, 1, 64), (2, 3, 3, 16), (1, 4, 5, 33), (1, 2, 2, 192), (1, 1, 2, 384), (1, 1, 3, 401)):
    x = (rng.standard_normal(shape) * 3).astype(np.float32)
    for attrs in ATTRS:
        if shape[3] > 384 and attrs.get("beta", 0.5) not in (0.5, 1):
            close = dict(rtol=1e-6)  # TensorFlow's order of these sums is another.
        elif attrs.get("beta", 0.5) in (0.5, 1):
            close = dict(rtol=5e-7)  # Reciprocals and roots begin with the processor's own estimates.
        else:
            close = {}
        cases.add("LRN", {"input": x}, attrs, name=str(list(shape)), **close)
cases.add("LRN", {"input": np.float32([0, 1, np.inf, -2, 3, np.nan, 5, 6]).reshape(2, 1, 1, 4)}, {"depth_radius": 1, "beta": 0.75}, name="not finite")
cases.write()
