"""Windows out of images, with zeros around them."""
import numpy as np

from op_cases import Cases

cases = Cases("glimpses")
F, I = np.float32, np.int32
IMAGES = np.arange(1, 2 * 4 * 5 * 3 + 1, dtype=F).reshape(2, 4, 5, 3)
OFFSETS = ([[0, 0], [0, 0]], [[0.5, -0.5], [1, 1]], [[-1, -1], [-0.3, 0.8]], [[2, 1], [1, 3]], [[-2, -1.5], [30, 0]], [[0.9, -40], [np.nan, 0]])
for op in ("ExtractGlimpse", "ExtractGlimpseV2"):
    for normalized in (False, True):
        for centered in (False, True):
            attrs = {"normalized": normalized, "centered": centered, "uniform_noise": False, "noise": "zero"}
            for offsets in OFFSETS:
                for size in ((2, 3), (1, 1), (4, 5), (7, 2), (9, 11)):
                    cases.add(op, {"input": IMAGES, "size": I(size), "offsets": F(offsets)}, attrs)
    attrs = {"uniform_noise": False, "noise": "zero"}
    for images, size, offsets in ((IMAGES[0], [1, 1], [[0, 0]]), (IMAGES, [1], [[0, 0], [0, 0]]), (IMAGES, [1, 1], [[0, 0]]), (IMAGES, [1, 1], [0, 0])):
        cases.add(op, {"input": images, "size": I(size), "offsets": F(offsets)}, attrs, refuse=True)
cases.write()
