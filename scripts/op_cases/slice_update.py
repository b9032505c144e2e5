"""TensorStridedSliceUpdate."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(100)
cases = Cases("slice_update")
F = np.float32

ALL = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128",
       "string"]


def update(x, begin, end, strides, value, refuse=False, name="", index=np.int32, **masks):
    cases.add("TensorStridedSliceUpdate", {"input": x, "begin": index(begin), "end": index(end), "strides": index(strides), "value": value}, masks,
              refuse=refuse, name=name)


grid = np.arange(60).reshape(3, 4, 5)
for dtype in ALL:
    if dtype == "string":
        update(grid.astype(str), [0, 1], [2, 4], [1, 2], np.array([["x"], ["y"]])[:, :, None], name=dtype)
        continue
    T = tf.as_dtype(dtype)
    update((grid % 2, T), [0, 1], [2, 4], [1, 2], (np.ones((2, 2, 5)), T), name=dtype)
grid = F(grid)
for index in (np.int32, np.int64):
    update(grid, [2, 3, 4], [-4, -5, -6], [-1, -1, -2], F(rng.normal(size=(3, 4, 3))), index=index, name="turned over")
value = F(rng.normal(size=(2, 2, 5)))
for shape in ((2, 2, 5), (2, 1, 5), (1, 2, 5), (5,), (2, 5), (1,), (), (1, 1, 1), (1, 1, 2, 2, 5), (1, 1, 1, 1)):
    update(grid, [0, 1], [2, 4], [1, 2], F(rng.normal(size=shape)), name="value %s" % (shape,))
for shape in ((2,), (2, 2, 4), (3, 2, 5), (2, 2, 2, 5), (0,)):
    update(grid, [0, 1], [2, 4], [1, 2], F(rng.normal(size=shape)), name="value %s" % (shape,), refuse=True)
update(grid, [1], [2], [1], F(rng.normal(size=(4, 5))), shrink_axis_mask=1, name="one row")
update(grid, [1, -1], [2, 0], [1, 1], F(rng.normal(size=5)), shrink_axis_mask=3, name="one line")
update(grid, [1, 2, 3], [2, 3, 4], [1, 1, 1], F(-1), shrink_axis_mask=7, name="one element")
update(grid, [0, 0, 1], [0, 0, 3], [1, 1, 1], F(rng.normal(size=(3, 4, 2))), ellipsis_mask=1, begin_mask=2, end_mask=2, name="ellipsis", refuse=False)
update(grid, [0, 1, 0], [0, 3, 0], [1, 1, 1], F(rng.normal(size=(1, 2, 4, 5))), new_axis_mask=1, name="new axis")
update(grid, [0, 1, 0], [0, 3, 0], [1, 1, 1], F(rng.normal(size=(2, 1, 1))), new_axis_mask=1, end_mask=4, begin_mask=4, name="new axis repeats")
update(grid, [0, 0], [0, 0], [1, 1], F(rng.normal(size=(3, 4, 5))), begin_mask=3, end_mask=3, name="all")
update(grid, [2], [1], [1], F(rng.normal(size=(7, 7))), name="nothing")
update(grid[:0], [0], [1], [1], F(3), name="empty")
update(F(3), [], [], [], F(4), name="scalar")
update(grid, [5], [6], [1], F(0), shrink_axis_mask=1, name="outside", refuse=True)
update(grid, [0], [1], [0], F(0), name="stride 0", refuse=True)
update(grid, [0, 0], [1], [1], F(0), name="few ends", refuse=True)
update(grid, [[0]], [[1]], [[1]], F(0), name="matrix", refuse=True)
update(grid, [0] * 4, [1] * 4, [1] * 4, F(0), name="too many", refuse=True)
cases.write()
