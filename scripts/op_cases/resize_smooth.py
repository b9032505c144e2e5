"""Images by cubic interpolation and by areas."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(81)
cases = Cases("resize_smooth")
NEAR = dict(rtol=1e-5, atol=1e-5)
SIZES = ((1, 1), (2, 3), (3, 3), (5, 7), (4, 9), (8, 2), (13, 1))
for shape in ((1, 3, 3, 1), (2, 4, 6, 3), (1, 1, 1, 2), (1, 1, 5, 4), (1, 7, 2, 3), (2, 5, 5, 1)):
    x = np.float32(rng.uniform(-9, 9, shape))
    for size in SIZES:
        for align, half in ((False, False), (True, False), (False, True)):
            cases.add("ResizeBicubic", {"images": x, "size": np.int32(size)}, {"align_corners": align, "half_pixel_centers": half}, **NEAR)
        for align in (False, True):
            cases.add("ResizeArea", {"images": x, "size": np.int32(size)}, {"align_corners": align}, **NEAR)
for dtype in (tf.float64, tf.half, tf.bfloat16, tf.uint8, tf.int8, tf.uint16, tf.int16, tf.int32, tf.int64):
    x = rng.integers(0, 100, (1, 4, 5, 2))
    for op in ("ResizeBicubic", "ResizeArea"):
        cases.add(op, {"images": (x, dtype), "size": np.int32([3, 7])}, **NEAR)
x = np.float32([[[[1], [np.nan], [3]], [[np.inf], [5], [6]]]])
for op in ("ResizeBicubic", "ResizeArea"):
    cases.add(op, {"images": np.zeros((0, 2, 2, 1), np.float32), "size": np.int32([3, 3])}, name="no images")
    for shape, size in (((1, 0, 2, 1), [3, 3]), ((1, 2, 2, 1), [0, 3]), ((1, 2, 2, 1), [3, -1]), ((2, 2, 1), [3, 3]), ((1, 2, 2, 1), [3]),
                        ((1, 2, 2, 1), [[3, 3]])):
        cases.add(op, {"images": np.zeros(shape, np.float32), "size": np.int32(size)}, refuse=True)
cases.write()
