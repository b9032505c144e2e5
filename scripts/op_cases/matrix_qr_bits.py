"""Qr of float and double matrices to its last bit: any shape, one reflection at a time and in blocks."""
import numpy as np

from op_cases import Cases

rng = np.random.default_rng(63)
cases = Cases("matrix_qr_bits")


def qr(a, name="", full=(False, True)):
    for all_of_q in full:
        cases.add("Qr", {"input": a}, {"full_matrices": all_of_q}, name=name)


for dtype in (np.float32, np.float64):
    for rows in (1, 2, 3, 4, 5, 8, 9, 16, 17, 25):
        for columns in (1, 2, 3, 5, 8, 9, 16, 19, 33):
            qr(rng.normal(size=(rows, columns)).astype(dtype))
    for rows, columns in ((49, 49), (50, 48), (49, 7), (19, 49), (49, 60)):
        qr(rng.normal(size=(rows, columns)).astype(dtype), "blocks", (False, True) if rows < 50 else (False,))
    qr(rng.normal(size=(2, 3, 4, 3)).astype(dtype), "batch")
    qr((rng.uniform(size=(6, 5)) < 0.4).astype(dtype), "zeros and ones")
    qr(np.zeros((3, 4), dtype), "zeros")
    qr(np.zeros((0, 3, 2), dtype), "nothing")
    q = np.linalg.qr(rng.normal(size=(12, 9)))[0]
    qr((q * np.logspace(0, -6, 9) @ rng.normal(size=(9, 9))).astype(dtype), "ill")
cases.write()
