"""Fourier transforms."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(44)
cases = Cases("fourier")
for small, real in ((np.complex64, np.float32), (np.complex128, np.float64)):
    near = dict(rtol=1e-5, atol=1e-5) if small == np.complex64 else dict(rtol=1e-11, atol=1e-12)
    for n in (1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 30, 64, 97, 100):
        x = rng.normal(size=(2, n)) + 1j * rng.normal(size=(2, n))
        cases.add("RFFT", {"input": x.real.astype(real), "fft_length": np.int32([n])}, {"Tcomplex": tf.as_dtype(small)}, **near)
        cases.add("IRFFT", {"input": x.astype(small), "fft_length": np.int32([2 * n - 1])}, {"Treal": tf.as_dtype(real)}, **near)
        if n > 1:
            # What a real result could not come from (imaginary ends) TensorFlow takes as it likes.
            x[:, [0, -1]] = x[:, [0, -1]].real
            cases.add("IRFFT", {"input": x.astype(small), "fft_length": np.int32([2 * n - 2])}, {"Treal": tf.as_dtype(real)}, **near)
            cases.add("RFFT", {"input": x.real.astype(real), "fft_length": np.int32([n - 1])}, {"Tcomplex": tf.as_dtype(small)}, **near)
    cases.add("RFFT", {"input": np.ones((0, 8), real), "fft_length": np.int32([4])}, {"Tcomplex": tf.as_dtype(small)}, name="no rows")
    for length in ([9], [-1], [0], 4, [4, 4]):
        cases.add("RFFT", {"input": np.ones((2, 8), real), "fft_length": np.int32(length)}, {"Tcomplex": tf.as_dtype(small)}, refuse=True)
    for length in ([16], [-1], [0], 4, [4, 4]):
        cases.add("IRFFT", {"input": np.ones((2, 8), small), "fft_length": np.int32(length)}, {"Treal": tf.as_dtype(real)}, refuse=True)
cases.write()
