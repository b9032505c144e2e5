"""Conv2D whose patches lie side by side in the input: texts, whole images, single pixels."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(73)
cases = Cases("convolution_lines")
TOLERANCE = {tf.float32: 1e-5, tf.float64: 1e-12, tf.half: 4e-3, tf.int32: 0}


def convolve(op, x, f, strides, dtype=tf.float32, padding="VALID"):
    make = (lambda shape: rng.integers(-9, 9, shape)) if dtype.is_integer else (lambda shape: rng.uniform(-1, 1, shape))
    cases.add(op, {"input": (make(x), dtype), "filter": (make(f), dtype)}, {"strides": strides, "padding": padding},
              name="%s %s by %s, %s" % (dtype.name, x, f, strides), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


for dtype in TOLERANCE:
    convolve("Conv2D", (3, 1, 9, 4), (1, 3, 4, 5), [1, 1, 1, 1], dtype)
    convolve("Conv2D", (3, 7, 4, 1), (3, 4, 1, 5), [1, 1, 1, 1], dtype)
    convolve("Conv2D", (3, 5, 6, 2), (5, 6, 2, 4), [1, 1, 1, 1], dtype)
for stride in (1, 2, 3):
    convolve("Conv2D", (2, 4, 9, 3), (1, 4, 3, 2), [1, stride, stride, 1])
    convolve("Conv2D", (2, 8, 5, 3), (2, 5, 3, 20), [1, stride, 1, 1])
    convolve("Conv2D", (2, 5, 7, 3), (1, 1, 3, 2), [1, stride, stride, 1])
convolve("Conv2D", (1, 2, 3, 4), (2, 3, 4, 1), [1, 1, 1, 1])
convolve("Conv2D", (5, 2, 300, 4), (2, 300, 4, 1), [1, 1, 1, 1])
# Padding on one side only, and on none although it is allowed.
convolve("Conv2D", (2, 1, 8, 3), (1, 2, 3, 4), [1, 1, 1, 1], padding="SAME")
convolve("Conv2D", (2, 1, 8, 3), (1, 2, 3, 4), [1, 1, 2, 1], padding="SAME")
cases.write()
