"""Conversions between element types."""
import numpy as np

from op_cases import Cases, tf

FLOATING = (tf.float32, tf.float64, tf.half, tf.bfloat16)
SIGNED = (tf.int8, tf.int16, tf.int32, tf.int64)
UNSIGNED = (tf.uint8, tf.uint16, tf.uint32, tf.uint64)
ALL = FLOATING + SIGNED + UNSIGNED + (tf.bool,)

cases = Cases("cast")

for source in ALL:
    for target in ALL:
        if source == tf.bool:
            x = np.array([True, False])
        elif source in FLOATING:
            # Past the target's range TensorFlow's answer depends on how many elements there are.
            low = 0 if target in UNSIGNED else -100
            x = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 99.99, 100.0] + [v for v in (-0.5, -1.0, -99.99) if v >= low])
            if target in FLOATING:
                x = np.append(x, [np.nan, np.inf, -np.inf, 1e-3, 65519.0, 65504.0, 1e-7, 3.1415926535, 1.0009, 1e30, 6e-8])
        else:
            x = np.array([source.min, source.max, 0, 1, 100] + ([-1, -100] if source.min < 0 else []), source.as_numpy_dtype)
        cases.add("Cast", {"x": (x, source)}, {"DstT": target}, name="%s to %s" % (source.name, target.name))

LARGE = np.array([2147483520.0, -2147483648.0, 1e9 + 0.5, 2.0 ** 31 - 1])
cases.add("Cast", {"x": (LARGE, tf.float64)}, {"DstT": tf.int32})
cases.add("Cast", {"x": (LARGE[:3], tf.float32)}, {"DstT": tf.int32})
LARGE = np.array([2.0 ** 62, -2.0 ** 63, 2.0 ** 53 + 2, 4294967296.0, np.nan, np.inf, -np.inf, 1e30])
for dtype in (tf.float32, tf.float64):
    cases.add("Cast", {"x": (LARGE, dtype)}, {"DstT": tf.int64})
    cases.add("Cast", {"x": (np.array([np.nan, np.inf, -np.inf, 1e30, -1e10]), dtype)}, {"DstT": tf.int32})
    cases.add("Cast", {"x": (np.array([2.0 ** 63, 1e19, 9.3e18, 5.0]), dtype)}, {"DstT": tf.uint64})
    cases.add("Cast", {"x": (np.array(300.7), dtype)}, {"DstT": tf.int16})
cases.add("Cast", {"x": (np.array([300.7, -1.5, 255.5]), tf.float32)}, {"DstT": tf.uint8}, name="low bits")
cases.add("Cast", {"x": (np.array([16777217, 2 ** 40 + 1]), tf.int64)}, {"DstT": tf.float32})
cases.add("Cast", {"x": (np.array([16777217, 70000, 2049, 2051]), tf.int32)}, {"DstT": tf.half})

for source in (tf.float32, tf.float64):
    for target in FLOATING:
        x = np.array([1.0009, -1.0099, 3.14159265, 1e-30, 65519.99, 0.1, 1e-7, np.inf])
        cases.add("Cast", {"x": (x, source)}, {"DstT": target, "Truncate": True})
cases.add("Cast", {"x": np.int32([4097, 16777217])}, {"DstT": tf.float32, "Truncate": True})

for shape in ((), (0,), (2, 0), (2, 3, 2)):
    cases.add("Cast", {"x": np.ones(shape, np.int64)}, {"DstT": tf.float32})
    cases.add("Cast", {"x": np.ones(shape, np.float32)}, {"DstT": tf.float32})
cases.add("Cast", {"x": np.array(["1"])}, {"DstT": tf.string})

x = np.arange(48, dtype=np.uint8).reshape(2, 3, 8) * 5
for target in (tf.int8, tf.int64, tf.uint64, tf.float64, tf.complex64):
    cases.add("Bitcast", {"input": x}, {"type": target})
cases.add("Bitcast", {"input": x[:, :, :4].copy()}, {"type": tf.float32})
cases.add("Bitcast", {"input": x[:, :, :2].copy()}, {"type": tf.bfloat16})
cases.add("Bitcast", {"input": np.int64([[1, -2], [3, 4]])}, {"type": tf.int32})
cases.add("Bitcast", {"input": np.float32([1, 2, -0.5])}, {"type": tf.int32})
cases.add("Bitcast", {"input": np.float64(1.5)}, {"type": tf.uint8})
cases.add("Bitcast", {"input": np.zeros((0, 2), np.int32)}, {"type": tf.int64})
cases.add("Bitcast", {"input": np.zeros((0,), np.int64)}, {"type": tf.int16})
cases.add("Bitcast", {"input": np.int32([1, 2, 3])}, {"type": tf.int64}, refuse=True)
cases.add("Bitcast", {"input": np.int32(1)}, {"type": tf.int64}, refuse=True)

cases.write()
