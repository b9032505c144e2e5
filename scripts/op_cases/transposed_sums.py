"""Transposed convolutions of float32: to their last bit where TensorFlow takes an image as one product of matrices,
which it does for one image and for large ones, and for small ones of 16 positions and more on a processor with
AVX-512; else against the definition, within the bound that the operator states."""
import itertools

import numpy as np

from op_cases import Cases, tf  # which has turned oneDNN off

rng = np.random.default_rng(77)
cases = Cases("transposed_sums")


def numbers(*shape):
    return rng.normal(0, 1, shape).astype(np.float32)


def positions(size, stride):
    return -(-size // stride)


def inputs(batch, size, channels, window, stride, outputs):
    """Of a convolution with padding SAME."""
    planes = [positions(at, step) for at, step in zip(size, stride)]
    return np.int32([batch, *size, channels]), numbers(*window, channels, outputs), numbers(batch, *planes, outputs)


def attributes(stride):
    return {"strides": [1, *stride, 1], "padding": b"SAME"}


def sums(sizes, window, out, stride):
    """The definition in double."""
    made = np.zeros(sizes)
    before = [max((positions(at, step) - 1) * step + w - at, 0) // 2 for at, step, w in zip(sizes[1:3], stride, window.shape)]
    patches = np.einsum("bijo,hwco->bijhwc", out.astype(np.float64), window.astype(np.float64))
    for i, j, h, w in itertools.product(*map(range, patches.shape[1:5])):
        y, x = i * stride[0] - before[0] + h, j * stride[1] - before[1] + w
        if 0 <= y < sizes[1] and 0 <= x < sizes[2]:
            made[:, y, x] += patches[:, i, j, h, w]
    return made


SHAPES = (((1, 72), 16, (1, 7), (1, 2), 32), ((1, 144), 1, (1, 7), (1, 1), 32), ((6, 7), 4, (3, 3), (2, 2), 65), ((5, 1), 3, (2, 1), (1, 1), 24),
          ((9, 1), 5, (1, 1), (1, 1), 17), ((4, 5), 1, (1, 1), (1, 1), 33), ((4, 4), 2, (2, 2), (1, 1), 300))
for size, channels, window, stride, outputs in SHAPES:
    sizes, f, y = inputs(1, size, channels, window, stride, outputs)
    cases.add("Conv2DBackpropInput", {"input_sizes": sizes, "filter": f, "out_backprop": y}, attributes(stride))
for size, channels, window, stride, outputs in SHAPES[:2]:
    sizes, f, y = inputs(3, size, channels, window, stride, outputs)
    cases.add("Conv2DBackpropInput", {"input_sizes": sizes, "filter": f, "out_backprop": y}, attributes(stride))
# More than one piece of positions, and one piece that is longer by one.
for size, channels, window in (((33, 9), 96, (3, 3)), ((1, 76), 96, (1, 9))):
    sizes, f, y = inputs(1, size, channels, window, (1, 1), 2)
    cases.add("Conv2DBackpropInput", {"input_sizes": sizes, "filter": f, "out_backprop": y}, attributes((1, 1)))
for size, channels, window, stride, outputs in SHAPES[2:] + (((1, 1), 6, (1, 1), (1, 1), 40), ((3, 3), 2, (2, 2), (1, 1), 700)):
    sizes, f, y = inputs(2, size, channels, window, stride, outputs)
    reach = int(np.prod([-(-w // step) for w, step in zip(window, stride)]))
    bound = (min(outputs, 384) + outputs / 304 + 4 + reach) * 2.0**-24 * sums(sizes, np.abs(f), np.abs(y), stride).max()
    cases.define("Conv2DBackpropInput", [sizes, f, y], {"T": tf.float32, **attributes(stride)}, [sums(sizes, f, y, stride).astype(np.float32)],
                 atol=float(bound))
cases.write()
