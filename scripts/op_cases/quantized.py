"""Layers of quantized codes."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(95)
cases = Cases("quantized")
F = np.float32
TYPES = {tf.quint8: np.uint8, tf.qint8: np.int8, tf.qint32: np.int32}
RANGES = ((-2, 3), (0, 6), (-1, 1), (-3, -1), (2, 5), (-1e-3, 1e4))


def codes(T, *shape, low=None, high=None):
    info = np.iinfo(TYPES[T])
    flat = rng.integers(info.min if low is None else low, info.max + 1 if high is None else high, shape, dtype=TYPES[T])
    return flat.view(T.as_numpy_dtype), T


for a_range in RANGES:
    for b_range in RANGES[:4]:
        for ta in (False, True):
            for tb in (False, True):
                a, b = codes(tf.quint8, *((7, 3) if ta else (3, 7))), codes(tf.quint8, *((5, 7) if tb else (7, 5)))
                cases.add("QuantizedMatMul", {"a": a, "b": b, "min_a": F(a_range[0]), "max_a": F(a_range[1]), "min_b": F(b_range[0]), "max_b": F(b_range[1])},
                          {"Toutput": tf.qint32, "transpose_a": ta, "transpose_b": tb})
        for T in (tf.quint8, tf.qint8):
            for shape in ((3, 5), (2, 3, 4, 5)):
                cases.add("QuantizedBiasAdd", {"input": codes(T, *shape), "bias": codes(T, 5), "min_input": F(a_range[0]), "max_input": F(a_range[1]),
                                               "min_bias": F(b_range[0]), "max_bias": F(b_range[1])}, {"out_type": tf.qint32})
    for T in (tf.quint8, tf.qint32):
        low, high = {"min_features": F(a_range[0])}, {"max_features": F(a_range[1])}
        for op, more in (("QuantizedRelu", {}), ("QuantizedRelu6", {}), ("QuantizedReluX", {"max_value": F(2.5)})):
            if op != "QuantizedReluX":
                cases.add(op, {"features": codes(T, 50), **low, **high}, {"out_type": T})
    for size in (2**31, 2**20, 1000):
        x = codes(tf.qint32, 40, low=-size, high=size)
        wide = {"input": x, "input_min": F(a_range[0]), "input_max": F(a_range[1])}
        cases.add("RequantizationRange", wide)
        cases.add("QuantizeDownAndShrinkRange", wide, {"out_type": tf.quint8})
        for low, high in ((-1, 1), (0, 3), (-2, 0), (-1e-2, 2e-2), (-2, -1), (0, 0)):
            cases.add("Requantize", {**wide, "requested_output_min": F(low), "requested_output_max": F(high)}, {"out_type": tf.quint8})
            cases.add("Requantize", {**wide, "requested_output_min": F(low), "requested_output_max": F(high)}, {"out_type": tf.qint8})
ONE = {"min_a": F(0), "max_a": F(1), "min_b": F(0), "max_b": F(1)}
square = codes(tf.quint8, 3, 3)
for a, b, more in ((codes(tf.quint8, 3, 4), square, {}), (codes(tf.quint8, 3), square, {}), (square, square, {"max_a": F(0)}),
                   (square, square, {"max_b": F([1, 2])})):
    cases.add("QuantizedMatMul", {"a": a, "b": b, **ONE, **more}, {"Toutput": tf.qint32}, refuse=True)
cases.add("QuantizedMatMul", {"a": codes(tf.quint8, 0, 3), "b": square, **ONE}, {"Toutput": tf.qint32})
ONE = {"min_input": F(0), "max_input": F(1), "min_bias": F(0), "max_bias": F(1)}
for x, bias in ((codes(tf.quint8, 5), codes(tf.quint8, 5)), (codes(tf.quint8, 2, 5), codes(tf.quint8, 4)), (codes(tf.quint8, 2, 5), codes(tf.quint8, 1, 5))):
    cases.add("QuantizedBiasAdd", {"input": x, "bias": bias, **ONE}, {"out_type": tf.qint32}, refuse=True)
wide = {"input": codes(tf.qint32, 4), "input_min": F(0), "input_max": F(1)}
for low, high in ((0.5, 1), (-1, -2)):
    cases.add("Requantize", {**wide, "requested_output_min": F(low), "requested_output_max": F(high)}, {"out_type": tf.quint8}, refuse=True)
cases.write()
