"""Windows out of images, with noise around them.

TensorFlow seeds the noise by the C library's rand(); the answers are those of a process that has
not called it before.
"""
import ctypes

import numpy as np

from op_cases import Cases

rng = np.random.default_rng(1208)
F, I = np.float32, np.int32
libc = ctypes.CDLL("libc.so.6")


class FreshCases(Cases):
    def _run(self, *arguments):
        libc.srand(1)
        return super()._run(*arguments)


cases = FreshCases("glimpse_noise")
KINDS = ({"uniform_noise": False, "noise": "uniform"}, {"uniform_noise": True, "noise": "uniform"}, {"uniform_noise": True, "noise": ""},
         {"uniform_noise": False, "noise": "gaussian"}, {"uniform_noise": False, "noise": ""})
OFFSETS = ([[0, 0], [0, 0]], [[0.5, -0.5], [1, 1]], [[2, 1], [1, 3]], [[-2, -1.5], [30, 0]], [[0.9, -40], [-0.2, 0.1]])
for op in ("ExtractGlimpse", "ExtractGlimpseV2"):
    for channels in (1, 3):
        images = rng.normal(3, 7, (2, 4, 5, channels)).astype(F)
        for kind in KINDS[:: 3 if channels == 3 else 1]:
            for normalized, centered in ((True, True), (False, True), (False, False)):
                for offsets in OFFSETS:
                    for size in ((2, 3), (4, 5), (7, 6)):
                        cases.add(op, {"input": images, "size": I(size), "offsets": F(offsets)}, {"normalized": normalized, "centered": centered, **kind},
                                  rtol=1e-5, atol=1e-5)
    for kind in KINDS[::3]:
        for images in (np.full((1, 2, 2, 1), 3), rng.integers(-3, 3, (1, 1, 1, 4)), rng.integers(0, 255, (1, 6, 7, 2)), np.zeros((0, 2, 2, 1)), np.zeros((1, 0, 3, 2)), np.zeros((1, 3, 3, 0))):
            for size in ((1, 1), (3, 3), (8, 8), (17, 31)):
                cases.add(op, {"input": F(images), "size": I(size), "offsets": np.full((len(images), 2), 50, F)}, kind, name="all noise", rtol=1e-5, atol=1e-5)
    for uniform, noise in ((True, "gaussian"), (True, "zero"), (False, "pink")):
        # TensorFlow refuses these when the node is made.
        cases.define(op, [F(np.ones((1, 2, 2, 1))), I([1, 1]), F([[0, 0]])], {"uniform_noise": uniform, "noise": noise.encode()}, None, name="kind")
cases.write()
