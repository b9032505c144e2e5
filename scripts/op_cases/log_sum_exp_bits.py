"""Running logarithms of sums of float32 exponentials to their last bit, along every axis."""
import numpy as np

from op_cases import Cases

rng = np.random.default_rng(46)
cases = Cases("log_sum_exp_bits")

for shape in ((40,), (3, 17), (17, 3), (9, 8), (5, 21), (3, 4, 5), (2, 6, 9), (4, 3, 2, 8)):
    x = (rng.standard_normal(shape) * 4).astype(np.float32)
    for axis in range(len(shape)):
        for exclusive in (False, True):
            for reverse in (False, True):
                cases.add("CumulativeLogsumexp", {"x": x, "axis": np.int32(axis)}, {"exclusive": exclusive, "reverse": reverse},
                          name="%s along %d" % (list(shape), axis))
odd = np.float32([-np.inf, -200, 1, 100, -1e30, 3e38, np.nan, 2, np.inf, np.inf, 0])
cases.add("CumulativeLogsumexp", {"x": odd, "axis": np.int32(0)}, name="odd")
cases.add("CumulativeLogsumexp", {"x": np.tile(odd[:, None], (1, 11)), "axis": np.int32(0)}, name="odd columns")
cases.write()
