"""Fourier transforms of float32, and of what fits of double, to their last bit."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(46)
cases = Cases("fourier_bits")
KINDS = ((np.complex64, np.float32), (np.complex128, np.float64))


def values(shape, dtype):
    """A few of them nothing, or less than that."""
    x = (rng.normal(size=shape) + 1j * rng.normal(size=shape)) * (rng.random(shape) > 0.1) * rng.choice([-1, 1], shape)
    return (x.real if dtype in (np.float32, np.float64) else x).astype(dtype)


def add(shape, lengths=None, kinds=KINDS, ops=("FFT", "IFFT", "RFFT", "IRFFT"), axes=1):
    """Transforms of the last `axes` dimensions; `lengths` of the real ones, if not their own."""
    n = np.int32(lengths or shape[-axes:])
    half = tuple(shape[:-1]) + (shape[-1] // 2 + 1,)
    tail = "" if axes == 1 else "%dD" % axes
    name = "%s %s" % (list(shape), lengths or "")
    for pair, real in kinds:
        for op in ops:
            if op in ("FFT", "IFFT"):
                cases.add(op + tail, {"input": values(shape, pair)}, name=name)
            elif op == "RFFT":
                cases.add(op + tail, {"input": values(shape, real), "fft_length": n}, {"Tcomplex": tf.as_dtype(pair)}, name=name)
            else:
                cases.add(op + tail, {"input": values(half, pair), "fft_length": n}, {"Treal": tf.as_dtype(real)}, name=name)


FLOAT = KINDS[:1]
for n in list(range(1, 41)) + [48, 49, 50, 60, 64, 96, 97, 100, 101, 109, 113, 121, 127, 128, 131, 137, 143]:
    add((1 + n % 5, n), kinds=KINDS if n < 20 or n in (50, 113, 137) else FLOAT)
for n in (200, 243, 256, 274, 411, 500, 512, 685):
    add((2, n), kinds=FLOAT)
# What is left over of whole groups of lines may be transformed as four of a fourth.
for shape in ((304,), (8, 304), (3, 3, 304), (4, 304)):
    add(shape, kinds=FLOAT, ops=("FFT", "IFFT"))
add((5, 304), kinds=KINDS[1:], ops=("FFT", "IFFT"))
for n in (1, 2, 7, 100, 127, 244, 500, 509, 1000, 1009):
    add((n,), kinds=FLOAT, ops=("FFT", "IFFT"))
for n in (1000, 1002, 1009, 1024, 2003, 4096):
    add((1, n), kinds=FLOAT)
add((1, 10010), kinds=FLOAT, ops=("RFFT", "IRFFT"))
for n in (10002, 11000):
    add((1, n), kinds=FLOAT, ops=("FFT",))
add((17, 30), kinds=FLOAT)
add((2, 3, 9, 12), kinds=FLOAT)
add((2, 9), [5])
add((2, 9), [8])
for shape in ((1, 1), (1, 7), (7, 1), (3, 4), (5, 6), (2, 7, 12), (13, 8), (3, 16, 10), (304, 3), (7, 308), (304, 2, 1)):
    add(shape, axes=2, kinds=FLOAT)
for shape in ((3, 4, 5), (2, 1, 5, 6), (3, 5, 7), (7, 3, 1), (6, 1, 1), (304, 2, 3), (2, 4, 8, 9)):
    add(shape, axes=3, kinds=FLOAT)
add((3, 4, 5), axes=2)
add((3, 4, 5), axes=3)
add((3, 8, 9), [6, 8], axes=2)
add((5, 8, 9), [4, 6, 7], axes=3)
for op, x, more in (("FFT", np.complex64([0, -0.0, np.inf, 1, 0, 0]), {}), ("FFT", np.zeros((2, 12), np.complex64) * np.complex64(-1), {}), ("IFFT", np.full((2, 13), complex(-0.0, -0.0), np.complex64), {}),
                    ("FFT", np.full((2, 127), complex(-0.0, 0.0), np.complex64), {})):
    cases.add(op, {"input": x}, more, name="zeros")
cases.write()
