"""Convolutions of float32 to their last bit: patches of one column or one row, which lie in the input or are copied."""
import numpy as np

from op_cases import Cases  # which has turned oneDNN off

rng = np.random.default_rng(74)
cases = Cases("convolution_sums")


def convolve(op, x, f, strides, padding="VALID", dilations=None):
    more = {"dilations": dilations} if dilations else {}
    cases.add(op, {"input": rng.normal(size=x).astype("f4"), "filter": rng.normal(size=f).astype("f4")},
              {"strides": strides, "padding": padding, **more}, name="%s by %s, %s %s" % (x, f, strides, padding))


ONES = [1, 1, 1, 1]
for batch in (1, 2, 3, 7):
    # The whole of a row, at every row, and at some.
    convolve("Conv2D", (batch, 5, 8, 1), (1, 8, 1, 4), ONES)
    convolve("Conv2D", (batch, 6, 8, 2), (1, 8, 2, 3), [1, 2, 1, 1])
    convolve("Conv2D", (batch, 5, 8, 2), (1, 8, 2, 3), [1, 3, 1, 1])
    # One position of each row, which leaves some out.
    convolve("Conv2D", (batch, 4, 5, 3), (1, 3, 3, 4), [1, 1, 4, 1])
    convolve("Conv2D", (batch, 6, 4, 8), (3, 4, 8, 8), [1, 1, 4, 1], "SAME")
    # One column.
    convolve("Conv2D", (batch, 12, 1, 16), (3, 1, 16, 8), ONES, "SAME")
    convolve("Conv2D", (batch, 12, 1, 16), (3, 1, 16, 8), ONES, dilations=[1, 2, 1, 1])
    convolve("Conv2D", (batch, 9, 1, 6), (4, 1, 6, 5), ONES)
    # One output, which is summed in an order of its own.
    convolve("Conv2D", (batch, 3, 5, 4), (1, 3, 4, 1), ONES)
    convolve("Conv2D", (batch, 3, 5, 6), (2, 2, 6, 1), ONES, "SAME")
    convolve("Conv2D", (batch, 5, 1, 9), (3, 1, 9, 1), ONES, "SAME")
    convolve("Conv2D", (batch, 2, 3, 7), (2, 3, 7, 1), ONES)
    convolve("Conv2D", (batch, 4, 3, 70), (1, 1, 70, 1), ONES)
# Pieces of positions, and what is left of them.
for rows in (32, 33, 34, 65, 66):
    convolve("Conv2D", (1, rows, 1, 5), (3, 1, 5, 3), ONES, "SAME")
    convolve("Conv2D", (1, rows, 1, 5), (3, 1, 5, 1), ONES, "SAME")
convolve("Conv2D", (3, 4, 45, 2), (2, 3, 2, 1), ONES, "SAME")
# A group of channels after the other.
convolve("Conv2D", (2, 7, 1, 6), (3, 1, 3, 4), ONES, "SAME")
cases.write()
