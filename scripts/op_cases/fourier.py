"""Fourier transforms."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(44)
cases = Cases("fourier")
for small, real in ((np.complex64, np.float32), (np.complex128, np.float64)):
    near = dict(rtol=1e-5, atol=1e-5) if small == np.complex64 else dict(rtol=1e-11, atol=1e-12)
    for n in (1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 30, 64, 97, 100):
        x = rng.normal(size=(2, n)) + 1j * rng.normal(size=(2, n))
        for op in ("FFT", "IFFT"):
            cases.add(op, {"input": x.astype(small)}, **near)
        cases.add("RFFT", {"input": x.real.astype(real), "fft_length": np.int32([n])}, {"Tcomplex": tf.as_dtype(small)}, **near)
        cases.add("IRFFT", {"input": x.astype(small), "fft_length": np.int32([2 * n - 1])}, {"Treal": tf.as_dtype(real)}, **near)
        if n > 1:
            # What a real result could not come from (imaginary ends) TensorFlow takes as it likes.
            x[:, [0, -1]] = x[:, [0, -1]].real
            cases.add("IRFFT", {"input": x.astype(small), "fft_length": np.int32([2 * n - 2])}, {"Treal": tf.as_dtype(real)}, **near)
            cases.add("RFFT", {"input": x.real.astype(real), "fft_length": np.int32([n - 1])}, {"Tcomplex": tf.as_dtype(small)}, **near)
    for shape in ((0, 5), (2, 0), (2, 3, 4)):
        cases.add("FFT", {"input": np.ones(shape, small)}, name="%s" % (shape,), **near)
    cases.add("RFFT", {"input": np.ones((0, 8), real), "fft_length": np.int32([4])}, {"Tcomplex": tf.as_dtype(small)}, name="no rows")
    cases.add("FFT", {"input": small(1)}, name="a scalar", refuse=True)
    for length in ([9], [-1], [0], 4, [4, 4]):
        cases.add("RFFT", {"input": np.ones((2, 8), real), "fft_length": np.int32(length)}, {"Tcomplex": tf.as_dtype(small)}, refuse=True)
    for length in ([16], [-1], [0], 4, [4, 4]):
        cases.add("IRFFT", {"input": np.ones((2, 8), small), "fft_length": np.int32(length)}, {"Treal": tf.as_dtype(real)}, refuse=True)
    for axes, shapes in ((2, ((3, 4), (2, 1, 5), (8, 7), (4, 0, 2), (0, 3, 3))), (3, ((2, 3, 4), (2, 1, 5, 2), (3, 3, 3, 3), (2, 0, 3)))):
        for shape in shapes:
            x = rng.normal(size=shape) + 1j * rng.normal(size=shape)
            for op in ("FFT%dD", "IFFT%dD"):
                cases.add(op % axes, {"input": x.astype(small)}, **near)
            real_attrs, complex_attrs = {"Treal": tf.as_dtype(real)}, {"Tcomplex": tf.as_dtype(small)}
            for less in range(2):
                n = np.int32([max(d - less, min(d, 1)) for d in shape[-axes:]])
                cases.add("RFFT%dD" % axes, {"input": x.real.astype(real), "fft_length": n}, complex_attrs, **near)
                if 0 not in shape:
                    # Halves of what came of real numbers; what did not, TensorFlow takes as it likes.
                    half = np.fft.rfftn(x.real, n, axes=range(-axes, 0))
                    cases.add("IRFFT%dD" % axes, {"input": half.astype(small), "fft_length": n}, real_attrs, **near)
        cases.add("FFT%dD" % axes, {"input": np.ones((4, 4)[:axes - 1], small)}, name="rank", refuse=True)
        for length in ([9] * axes, [-1] * axes, [0] * axes, [4] * (axes - 1), [2] * (axes - 1) + [9], [9] + [2] * (axes - 1)):
            cases.add("RFFT%dD" % axes, {"input": np.ones((4, 4, 8), real), "fft_length": np.int32(length)}, complex_attrs, refuse=True)
        for length in ([16] * axes, [-1] * axes, [4] * (axes - 1)):
            cases.add("IRFFT%dD" % axes, {"input": np.ones((4, 4, 8), small), "fft_length": np.int32(length)}, real_attrs, refuse=True)
cases.write()
