"""Samples of truncated normal distributions with parameters: with given seeds TensorFlow's very ones, on one thread."""
import numpy as np

from op_cases import Cases, tf

cases = Cases("random_truncated")
INF, NAN = np.inf, np.nan
SEEDS = {"seed": 7, "seed2": 11}
TYPES = (tf.float32, tf.float64, tf.half)


def parameters(names, values, dtype):
    return {name: (np.array(value), dtype) for name, value in zip(names.split(), values)}


def stateless(shape, values, dtype=tf.float32, seed=(3, -8), **options):
    cases.add("StatelessParameterizedTruncatedNormal", {"shape": np.array(shape, np.int32), "seed": np.int64(seed),
                                                         **parameters("means stddevs minvals maxvals", values, dtype)}, **options)


def stateful(shape, values, dtype=tf.float32, **options):
    cases.add("ParameterizedTruncatedNormal", {"shape": np.array(shape, np.int64),
                                                **parameters("means stdevs minvals maxvals", values, dtype)}, SEEDS, **options)


# Means, deviations, bounds: by the normal, the uniform and the exponential distribution; turned round or not.
ALL = [([0, 1], [1, 2], [-2, -1], [2, 3]), (0, 1, -0.5, 0.25), ([3], [[1], [0.5]], 5, INF), (1, 2, -INF, -4),
       ([[0], [1]], [1, 4, 9], [[-1], [2]], 20), (-2, 0.1, -INF, -2.3), (0, 1, 4, 4.1), (10, 3, 2, 9), (0, 1, -INF, 0.3)]
for dtype in TYPES:
    for values in ALL:
        own = list(np.broadcast(*[np.array(v) for v in values]).shape)
        for samples in ([], [1], [13], [3, 2]):
            stateless(samples + own, values, dtype, name=dtype.name)
        # There the parameters are scalars, or vectors as long as the first dimension.
        if len(own) <= 1:
            for shape in ([7, 3], [250]) if own == [] else ([own[0], 5], [own[0]]):
                stateful(shape, values, dtype, name=dtype.name)
    stateful([205, 2], (0, [1], -1, 3), dtype)
    stateful([4, 3], (0, [1], [-1], 3), dtype)
stateless([0, 2], (0, [1, -1], -1, 1))
stateless([3, 0], (0, np.zeros([0]), -1, 1))
stateful([0], (0, -1, -1, 1))
stateful([3, 0], (0, [1, 2, 3], -1, 1))
for values in ((0, 0, -1, 1), (0, -1, -1, 1), (0, 1, 1, 1), (0, 1, -INF, INF), (NAN, 1, 0, 1), (0, NAN, 0, 1), (0, 1, NAN, 1)):
    stateless([4], values, refuse=True)
    stateful([4], values, refuse=True)
for shape, values in (([3], ([0, 1], 1, -1, 1)), ([2, 3], ([0, 1], 1, -1, [1, 2, 3])), (2, (0, 1, -1, 1)), ([-1], (0, 1, -1, 1)), ([3, 2], ([[0]], 1, 0, 1))):
    stateless(shape, values, refuse=True)
stateless([3], (0, 1, -1, 1), seed=(1, 2, 3), refuse=True)
for shape, values in (([3], ([0, 1], 1, -1, 1)), ([], (0, 1, -1, 1)), ([2], ([[0]], 1, -1, 1)), ([2], (0, 1, -1, [1, 2, 3])), ([-1], (0, 1, -1, 1))):
    stateful(shape, values, refuse=True)
cases.write()
