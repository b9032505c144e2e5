"""NthElement."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(51)
cases = Cases("nth_element")

for dtype in (tf.float32, tf.float64, tf.half, tf.bfloat16, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32,
              tf.uint64):
    x = rng.integers(0, 100, (2, 3, 7))
    for n in (0, 3, 6):
        cases.add("NthElement", {"input": (x, dtype), "n": np.int32(n)}, {"reverse": n == 3}, name=dtype.name)
cases.add("NthElement", {"input": np.float32([3, 1, 3, 2, 1]), "n": np.int32(2)}, name="equal ones")
for n in (-1, 3):
    cases.add("NthElement", {"input": np.float32([1, 2, 3]), "n": np.int32(n)}, name="n", refuse=True)
cases.add("NthElement", {"input": np.float32(1), "n": np.int32(0)}, name="scalar", refuse=True)
cases.write()
