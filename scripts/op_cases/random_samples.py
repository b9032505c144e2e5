"""Samples of distributions with parameters: with given seeds TensorFlow's very ones."""
import numpy as np

from op_cases import Cases, tf

cases = Cases("random_samples")
F = np.float32
INF, NAN = np.inf, np.nan
SEEDS = {"seed": 7, "seed2": 11}
KEY = {"key": np.array([9], np.uint64), "counter": np.array([2**64 - 2, 5], np.uint64), "alg": np.int32(1)}
NEAR = {tf.float32: 2e-6, tf.float64: 1e-12, tf.half: 2e-3}
ALPHAS = ([0.1, 0.5, 0.99, 1, 1.01, 3, 100], [[2.5], [1e-3]], 7, [1e6, 0, INF, -3])
for dtype, near in NEAR.items():
    for alpha in ALPHAS:
        for shape in ([9], [2, 3], []):
            # A gamma of a tiny alpha is 0, or what rounding makes of numbers next to it.
            tolerance = dict(rtol=near, atol=near)
            a = np.array(alpha)
            all_of = np.int32(shape + list(a.shape))
            cases.add("RandomGamma", {"shape": np.array(shape, np.int32), "alpha": (a, dtype)}, SEEDS, **tolerance)
            cases.add("StatelessRandomGammaV2", {"shape": all_of, "seed": np.int64([3, -8]), "alpha": (a, dtype)}, **tolerance)
            cases.add("StatelessRandomGammaV3", {"shape": all_of, "alpha": (a, dtype), **KEY}, **tolerance)
cases.add("RandomGamma", {"shape": np.int64([400]), "alpha": F([0.3, 2])}, SEEDS, rtol=2e-6, atol=2e-6)
for shape, alpha in (([0], [1, 2]), ([2], [])):
    cases.add("RandomGamma", {"shape": np.int32(shape), "alpha": F(alpha)}, SEEDS)
for shape in (3, [-1]):
    cases.add("RandomGamma", {"shape": np.int32(shape), "alpha": F([1])}, SEEDS, refuse=True)
cases.add("StatelessRandomGammaV2", {"shape": np.int32([0, 2]), "seed": np.int32([1, 2]), "alpha": F([1, 2])})
for shape in ([3], [2, 1], []):
    cases.add("StatelessRandomGammaV2", {"shape": np.array(shape, np.int32), "seed": np.int32([1, 2]), "alpha": F([1, 2])}, refuse=True)
cases.add("StatelessRandomGammaV2", {"shape": np.int32([2]), "seed": np.int32([1, 2, 3]), "alpha": F([1, 2])}, refuse=True)
cases.add("StatelessRandomGammaV3", {"shape": np.int32([2]), "alpha": F([1, 2]), **{**KEY, "alg": np.int32(2)}}, refuse=True)

RATES = ([0.1, 1, 5, 9, 10, 11, 50, 1000], [[3], [30]], 2, [0, -1])
for rate_type in (tf.float32, tf.float64, tf.half, tf.int32, tf.int64):
    for dtype in (tf.float32, tf.float64, tf.half, tf.int32, tf.int64):
        for rate in RATES:
            r = np.array(rate)
            shape = [40] if r.shape == (8,) else [3]
            cases.add("RandomPoissonV2", {"shape": np.int32(shape), "rate": (r, rate_type)}, {"dtype": dtype, **SEEDS},
                      name="%s of %s" % (dtype.name, rate_type.name))
            if rate_type in (tf.float32, tf.float64) and r.size == 8 or r.size == 2:
                cases.add("StatelessRandomPoisson", {"shape": np.int32(shape + list(r.shape)), "seed": np.int32([5, 6]), "lam": (r, rate_type)},
                          {"dtype": dtype})
# TensorFlow builds no RandomPoisson any more, but still runs it, with the second one's kernel.
for rate_type in (tf.float32, tf.float64, tf.half):
    for rate in RATES:
        rate = np.array(rate, rate_type.as_numpy_dtype)
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            drawn = session.run(tf.raw_ops.RandomPoissonV2(shape=[20], rate=rate, dtype=rate_type, **SEEDS))
        cases.define("RandomPoisson", [np.int32([20]), rate], {"dtype": rate_type, "S": tf.int32, **SEEDS}, [drawn])
cases.add("RandomPoissonV2", {"shape": np.int32([3]), "rate": F([INF, 1])}, {"dtype": tf.float32, **SEEDS})
for shape, rate in (([0], [1, 2]), ([2], [])):
    cases.add("RandomPoissonV2", {"shape": np.int32(shape), "rate": F(rate)}, {"dtype": tf.int32, **SEEDS})
cases.add("StatelessRandomPoisson", {"shape": np.int32([3]), "seed": np.int32([5, 6]), "lam": F([1, 2])}, {"dtype": tf.int32}, refuse=True)
# TensorFlow never ends.
for rate, dtype in ((NAN, tf.float32), (1e20, tf.int32), (1e9, tf.half)):
    cases.define("RandomPoissonV2", [np.int32([3]), F([rate])], {"dtype": dtype, "R": tf.float32, "S": tf.int32, **SEEDS}, None)

for number in (tf.float32, tf.float64, tf.half):
    for dtype in (tf.float32, tf.float64, tf.half, tf.int32, tf.int64):
        for counts, probs in (([1, 5, 20, 100, 1000, 3000], [0.5, 0.9, 0.3, 0.7, 0.02, 0.25]), ([[10], [200]], [0.1, 0.5, 0.99]), (30, 0.4),
                              ([0, -1, 5, 5, 7], [.5, .5, 0, 1.5, -1]), ([5, 0], NAN)):
            if np.isnan(probs).any() and dtype.is_integer:
                continue  # TensorFlow leaves those to chance
            counts, probs = np.array(counts), np.array(probs)
            shape = np.int32([20] + list(np.broadcast(counts, probs).shape))
            cases.add("StatelessRandomBinomial", {"shape": shape, "seed": np.int64([8, 9]), "counts": (counts, number), "probs": (probs, number)},
                      {"dtype": dtype}, name="%s of %s" % (dtype.name, number.name))
for shape, counts, probs in (([3], [1, 2], [.5]), ([2, 3], [1, 2], [.1, .2, .3])):
    cases.add("StatelessRandomBinomial", {"shape": np.int32(shape), "seed": np.int32([8, 9]), "counts": F(counts), "probs": F(probs)}, refuse=True)
cases.add("StatelessRandomBinomial", {"shape": np.int32([0, 2]), "seed": np.int32([8, 9]), "counts": F([1, 2]), "probs": F([.5])})
cases.write()
