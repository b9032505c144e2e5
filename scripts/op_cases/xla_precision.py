"""XLA's rounding to fewer bits."""
import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops

from op_cases import Cases

cases = Cases("xla_precision")
rng = np.random.default_rng(23)
F = tf.float32
SPECIAL = [0, -0.0, 1, -1, 1 + 2**-11, 1 + 3 * 2**-11, 65504, 65519.99, 65520, -70000, 2**-14, 2**-15, -2**-24, 1e-30, 3e38, 1e-40, np.inf, -np.inf, np.nan]
WIDTHS = {tf.float32: (8, 23), tf.float64: (11, 52), tf.float16: (5, 10), tf.bfloat16: (8, 7)}

for dtype, (exponent, mantissa) in WIDTHS.items():
    numbers = np.concatenate([SPECIAL, rng.normal(size=60) * 2.0 ** rng.integers(-20, 20, 60)])
    for e, m in [(5, 10), (8, 7), (2, 1), (1, 3), (4, 0), (exponent, mantissa), (exponent, 3), (3, mantissa), (30, 60)]:
        with np.errstate(over="ignore"):
            cases.add("XlaReducePrecision", {"operand": (numbers, dtype)}, {"exponent_bits": e, "mantissa_bits": m},
                      maker=gen_xla_ops.xla_reduce_precision, compiled=True, name="%s e%dm%d" % (dtype.name, e, m))
cases.add("XlaReducePrecision", {"operand": np.zeros((2, 0, 3), np.float32)}, {"exponent_bits": 5, "mantissa_bits": 10},
          maker=gen_xla_ops.xla_reduce_precision, compiled=True)
for e, m in ((0, 3), (-1, 3), (3, -1)):
    cases.add("XlaReducePrecision", {"operand": np.float32([1])}, {"exponent_bits": e, "mantissa_bits": m}, maker=gen_xla_ops.xla_reduce_precision,
              fatal=True)


for maker, op, more in ((gen_xla_ops.xla_spmd_full_to_shard_shape, "XlaSpmdFullToShardShape", {}),
                        (gen_xla_ops.xla_spmd_shard_to_full_shape, "XlaSpmdShardToFullShape", {"full_shape": [2, 3]})):
    cases.add(op, {"input": np.float32([[1, 2, 3], [4, 5, 6]])}, {"manual_sharding": b"", **more}, maker=maker,
              compiled=lambda input, **how: tf.identity(input))

cases.write()
