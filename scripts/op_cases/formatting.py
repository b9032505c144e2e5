"""StringFormat and SparseTensorDenseAdd."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(13)
cases = Cases("formatting")
FLOATING = (tf.float32, tf.float64, tf.half, tf.bfloat16)
INTEGER = (tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64)

for dtype in FLOATING:
    x = np.array([0.0, -0.0, 1, -2.5, 1 / 3, 1e-5, 60000, 3.14159265358979, np.nan, np.inf, -np.inf])
    cases.add("StringFormat", {"inputs": [(x, dtype)]}, {"summarize": -1})
for dtype in INTEGER:
    cases.add("StringFormat", {"inputs": [(np.array([dtype.min, dtype.max, 7], dtype.as_numpy_dtype), dtype)]})
cases.add("StringFormat", {"inputs": [np.array([True, False])]})
cases.add("StringFormat", {"inputs": [np.array(["plain", "a\"b'c\\", "\n\r\t\x01\x7f", "żółw", ""])]}, {"summarize": -1})
for shape in ((), (0,), (1,), (6,), (7,), (8,), (2, 3), (7, 8), (2, 2, 2), (7, 1, 9), (2, 0), (0, 2), (2, 2, 2, 2)):
    x = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
    for summarize in (-1, 0, 1, 2, 3, 4):
        cases.add("StringFormat", {"inputs": [x]}, {"summarize": summarize})
cases.add("StringFormat", {"inputs": [np.int32(3), np.float32([1, 2]), np.array("s")]}, {"template": "a {} b {}{}.", "placeholder": "{}"})
cases.add("StringFormat", {"inputs": [np.int32(3)]}, keep_defaults=True)
cases.add("StringFormat", {"inputs": []}, {"template": "nothing"})

for dtype in (tf.float32, tf.float64, tf.int32, tf.int64, tf.complex64, tf.complex128):
    for index in (np.int32, np.int64):
        for shape in ((4,), (2, 3), (2, 3, 2), (2, 1, 3, 2), (1, 2, 1, 2, 2)):
            at = np.stack([rng.integers(0, d, 5) for d in shape], 1).astype(index)
            cases.add("SparseTensorDenseAdd", {"a_indices": at, "a_values": (rng.integers(-9, 9, 5), dtype),
                                               "a_shape": index(shape), "b": (rng.integers(-9, 9, shape), dtype)})
good = {"a_indices": np.int64([[0, 1], [1, 2]]), "a_values": np.float32([1, 2]), "a_shape": np.int64([2, 3]), "b": np.ones((2, 3), np.float32)}
cases.add("SparseTensorDenseAdd", dict(good, a_indices=np.zeros((0, 2), np.int64), a_values=np.zeros(0, np.float32)))
for wrong in ({"a_indices": np.int64([[0, 3], [1, 2]])}, {"a_indices": np.int64([[0, -1], [1, 2]])}, {"a_indices": np.int64([0, 1])},
              {"a_indices": np.int64([[0], [1]])}, {"a_values": np.float32([1, 2, 3])}, {"a_values": np.float32([[1, 2]])},
              {"a_shape": np.int64([2, 4])}, {"a_shape": np.int64([2, 3, 1])}, {"b": np.ones((1, 3), np.float32)},
              {"b": np.ones(3, np.float32)}, {"b": np.float32(1)}):
    cases.add("SparseTensorDenseAdd", dict(good, **wrong), refuse=True)

cases.write()
