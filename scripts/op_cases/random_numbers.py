"""Random numbers with given seeds are TensorFlow's very numbers."""
import numpy as np
import tensorflow as tf

from op_cases import Cases

FLOATS = [tf.float32, tf.float64, tf.float16, tf.bfloat16]
INTEGERS = [tf.int32, tf.int64, tf.uint32, tf.uint64]

cases = Cases("random_numbers")

# The normal distributions go through the C library's logarithm, sine and cosine.
NEAR = {tf.float32: 1e-6, tf.float64: 1e-13, tf.float16: 2e-3, tf.bfloat16: 1e-2}


def tolerance(op, dtype):
    return {"rtol": NEAR[dtype], "atol": NEAR[dtype]} if "Normal" in op else {}


def u64(*values):
    return np.array(values, np.uint64)


SEEDS = [(1, 2), (87654321, 0), (0, 7), (-5, 2**40 + 3), (2**63 - 1, -2**63)]
for dtype in FLOATS:
    for n in (1, 3, 4, 5, 200):
        for op in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
            for seed, seed2 in SEEDS if n == 5 else SEEDS[:1]:
                cases.add(op, {"shape": np.int32([n])}, {"dtype": dtype, "seed": seed, "seed2": seed2}, name=dtype.name,
                          **tolerance(op, dtype))
        for op in ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"):
            for seeds in SEEDS if n == 5 else SEEDS[:1]:
                cases.add(op, {"shape": np.int64([n]), "seed": np.int64(seeds)}, {"dtype": dtype}, name=dtype.name,
                          **tolerance(op, dtype))
            cases.add(op + "V2", {"shape": np.int32([n]), "key": u64(12345678901234567890), "counter": u64(2**64 - 3, 2**64 - 1),
                                  "alg": np.int32(1)}, {"dtype": dtype}, name=dtype.name + " around the end of the counter",
                      **tolerance(op, dtype))
for low, high in ((0, 10), (-3, 10), (-2**31, 2**31 - 1), (5, 6), (2**31 - 2, 2**31 - 1)):
    for t in (np.int32, np.int64):
        bounds = {"minval": t(low), "maxval": t(high)}
        cases.add("RandomUniformInt", {"shape": np.int32([9]), **bounds}, {"seed": 1, "seed2": 9}, name="from %d" % low)
        cases.add("StatelessRandomUniformInt", {"shape": np.int32([9]), "seed": np.int32([3, -4]), **bounds}, name="from %d" % low)
        cases.add("StatelessRandomUniformIntV2", {"shape": np.int32([9]), "key": u64(7), "counter": u64(8, 9), "alg": np.int32(3),
                                                  **bounds}, name="from %d" % low)
cases.add("RandomUniformInt", {"shape": np.int32([9]), "minval": np.int64(-2**63), "maxval": np.int64(2**63 - 1)}, {"seed": 1},
          name="widest")
for dtype in INTEGERS:
    cases.add("StatelessRandomUniformFullInt", {"shape": np.int32([7]), "seed": np.int32([1, 2])}, {"dtype": dtype}, name=dtype.name)
    cases.add("StatelessRandomUniformFullIntV2", {"shape": np.int32([7]), "key": u64(7), "counter": u64(8, 9, 10), "alg": np.int32(1)},
              {"dtype": dtype}, name=dtype.name)
for seed in (np.int32([1, 2]), np.int32([-1, 2]), np.int64([2**60, -5])):
    cases.add("StatelessRandomGetKeyCounter", {"seed": seed})
    cases.add("StatelessRandomGetKeyCounterAlg", {"seed": seed})
cases.add("StatelessRandomGetAlg", {})

seeds = {"seed": 1, "seed2": 2}
for shape in (np.int32([]), np.int32([2, 0]), np.int64([2, 3, 2])):
    cases.add("RandomUniform", {"shape": shape}, {"dtype": tf.float32, **seeds}, name="shape %s" % shape)
cases.add("RandomUniformInt", {"shape": np.int32([0]), "minval": np.int32(3), "maxval": np.int32(3)}, seeds, name="nothing from nothing")
for op in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
    cases.add(op, {"shape": np.int32([-3])}, {"dtype": tf.float32, **seeds}, refuse=True, name="negative shape")
    cases.add(op, {"shape": np.int32(3)}, {"dtype": tf.float32, **seeds}, refuse=True, name="shape is a scalar")
for low, high in ((3, 3), (4, 3)):
    cases.add("RandomUniformInt", {"shape": np.int32([5]), "minval": np.int32(low), "maxval": np.int32(high)}, seeds, refuse=True,
              name="no range")
cases.add("RandomUniformInt", {"shape": np.int32([5]), "minval": np.int32([3]), "maxval": np.int32(9)}, seeds, refuse=True,
          name="bound is a vector")
cases.add("StatelessRandomUniform", {"shape": np.int32([5]), "seed": np.int32([1, 2, 3])}, refuse=True, name="three seeds")
cases.add("StatelessRandomUniformInt", {"shape": np.int32([5]), "seed": np.int32([1, 2]), "minval": np.int32(3), "maxval": np.int32(3)},
          refuse=True, name="no range")
for name, key, counter, alg in (("two keys", u64(1, 2), u64(1, 2), 1), ("algorithm 2", u64(1), u64(1, 2), 2), ("algorithm 0", u64(1), u64(1, 2), 0)):
    cases.add("StatelessRandomUniformV2", {"shape": np.int32([5]), "key": key, "counter": counter, "alg": np.int32(alg)}, refuse=True,
              name=name)
cases.write()
