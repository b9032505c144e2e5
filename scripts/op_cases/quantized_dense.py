"""Dense layers of quantized codes, which TensorFlow runs by oneDNN only."""
import os

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"

import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(102)
cases = Cases("quantized_dense")
F = np.float32
FORMS = {"QuantizedMatMulWithBias": tf.qint32, "QuantizedMatMulWithBiasAndRelu": tf.qint32, "QuantizedMatMulWithBiasAndDequantize": tf.float32,
         "QuantizedMatMulWithBiasAndReluAndRequantize": tf.quint8, "QuantizedMatMulWithBiasAndRequantize": tf.quint8}


def quantized(values, T):
    return values.view(T.as_numpy_dtype), T


def some(*shape):
    return rng.integers(0, 256, shape, dtype=np.uint8)


def weights(*shape):
    return rng.integers(-127, 128, shape, dtype=np.int8)


def arguments(a, b, bias, a_range, b_range, out, op):
    inputs = {"a": quantized(a, tf.quint8), "b": quantized(b, tf.qint8), "bias": quantized(bias, tf.qint32) if bias.dtype == np.int32 else bias,
              "min_a": F(a_range[0]), "max_a": F(a_range[1]), "min_b": F(b_range[0]), "max_b": F(b_range[1])}
    if FORMS[op] != tf.qint32:
        inputs.update(min_freezed_output=F(out[0]), max_freezed_output=F(out[1]))
    return inputs


def layer(op, a, b, bias, a_range=(0, 6), b_range=(-1, 1), out=(0, 9), mode="MIN_FIRST", **more):
    inputs = arguments(a, b, bias, a_range, b_range, out, op)
    cases.add(op, inputs, {"Toutput": FORMS[op], "input_quant_mode": mode}, rtol=1e-5 if FORMS[op] == tf.float32 else 0, atol=1e-5, **more)


for op in FORMS:
    for mode in ("MIN_FIRST", "SCALED"):
        for a_range in ((0, 6), (0, 0.5)):
            for b_range in ((-1, 1), (-0.25, 0.5), (-3, 2)):
                for out in ((0, 9), (-1, 4)) if FORMS[op] == tf.quint8 else ((0, 9),):
                    layer(op, some(3, 6), weights(6, 5), F(rng.normal(size=5) * 3), a_range, b_range, out, mode)
                    if op != "QuantizedMatMulWithBiasAndRelu":
                        layer(op, some(3, 6), weights(6, 5), rng.integers(-9000, 9000, 5, dtype=np.int32), a_range, b_range, out, mode)
    layer(op, some(1, 1), weights(1, 1), F([0.5]), name="one")
    layer(op, some(17, 33), weights(33, 18), F(rng.normal(size=18)), mode="SCALED", name="odd sizes")

# With another minimum the definition has it: the numbers are a code's steps above it.
for op, T in FORMS.items():
    for low, high in ((-2, 3), (1, 5), (-0.1, 0.1)):
        a, b, bias = some(4, 7), weights(7, 3), F(rng.normal(size=3))
        steps = (F(high) - F(low)) / 255.0 * 2 / 127.0
        numbers = (a.astype(float) * (F(high) - F(low)) / 255 + F(low)) @ (b.astype(float) * 2 / 127) + bias
        range_of = (F(high) - F(low)) / F(255) * (F(4) / F(254))
        if T == tf.float32:
            outputs, near = [F(numbers)], dict(rtol=1e-5, atol=1e-4)
        elif T == tf.qint32:
            numbers = np.maximum(numbers, 0) if "Relu" in op else numbers
            outputs, near = [np.rint(numbers / steps).astype(np.int32), range_of * F(-2.0**31), range_of * F(2.0**31)], {}
        else:
            outputs, near = [np.clip(np.rint(numbers / (F(9) / 255.0)), 0, 255).astype(np.uint8), F(0), F(9)], {}
        inputs = arguments(a, b, bias, (low, high), (-2, 2), (0, 9), op)
        cases.define(op, list(inputs.values()), {"T1": tf.quint8, "T2": tf.qint8, "Tbias": tf.float32, "Toutput": T},
                           [(x, T) if i == 0 else x for i, x in enumerate(outputs)], **near)

good = dict(a=some(3, 4), b=weights(4, 5), bias=F(rng.normal(size=5)))
for name, bad in (("columns", dict(b=weights(3, 5))), ("biases", dict(bias=F([1, 2]))), ("rank", dict(a=some(4))), ("bias of rank 2", dict(bias=F([[1, 2, 3, 4, 5]])))):
    inputs = arguments(**{**good, **bad}, a_range=(0, 1), b_range=(-1, 1), out=None, op="QuantizedMatMulWithBias")
    cases.define("QuantizedMatMulWithBias", list(inputs.values()), {"T1": tf.quint8, "T2": tf.qint8, "Tbias": tf.float32, "Toutput": tf.qint32}, None,
                       name=name)
cases.write()
