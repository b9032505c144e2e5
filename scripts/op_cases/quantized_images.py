"""Sums, products, convolutions, poolings and concatenations of quantized codes."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(101)
cases = Cases("quantized_images")
F = np.float32
TYPES = {tf.quint8: np.uint8, tf.qint8: np.int8, tf.qint32: np.int32}
RANGES = ((-2, 3), (0, 6), (-1, 1), (-1e-3, 1e4), (-0.4, 0.1))
ODD = ((-3, -1), (2, 5))


def codes(T, *shape):
    info = np.iinfo(TYPES[T])
    return rng.integers(info.min, info.max + 1, shape, dtype=TYPES[T]).view(T.as_numpy_dtype), T


def two(op, a, b, x=(-2, 3), y=(0, 6), **more):
    cases.add(op, {"x": a, "y": b, "min_x": F(x[0]), "max_x": F(x[1]), "min_y": F(y[0]), "max_y": F(y[1])}, {"Toutput": tf.qint32}, **more)


Q = tf.quint8
for op in ("QuantizedAdd", "QuantizedMul"):
    for x in RANGES + ODD:
        for y in RANGES[:3] + ODD:
            two(op, codes(Q, 3, 5), codes(Q, 3, 5), x, y)
            two(op, codes(Q), codes(Q, 7), x, y)
            two(op, codes(Q, 2, 3, 4), codes(Q, 3, 4), x, y)
    for a, b in (((5,), ()), ((5,), (1,)), ((1,), (4,)), ((4,), (3, 4)), ((2, 3), (1, 3)), ((1, 1), (2, 3)), ((0,), (0,)), ((0, 3), (0, 3)), ((), ()), ((1,), (1, 1)),
                 ((2, 1, 3), (2, 1, 3)), ((1, 4), (4,)), ((1, 1, 4), (3, 4)), ((4,), ())):
        two(op, codes(Q, *a), codes(Q, *b), name="%s %s" % (a, b))
    for a, b in (((2,), (3,)), ((2, 3), (2, 4))):
        two(op, codes(Q, *a), codes(Q, *b), name="%s %s" % (a, b), refuse=True)
    two(op, codes(Q, 3), codes(Q, 3), (1, 1), name="empty range", refuse=True)
    two(op, codes(Q, 3), codes(Q, 3), ([1], 2), name="range of rank 1", refuse=True)


def conv(image, kernel, stride, padding, x=(-2, 3), y=(-1, 1), **more):
    cases.add("QuantizedConv2D", {"input": image, "filter": kernel, "min_input": F(x[0]), "max_input": F(x[1]), "min_filter": F(y[0]), "max_filter": F(y[1])},
              {"strides": [1, stride, stride, 1], "padding": padding, "out_type": tf.qint32}, **more)


for padding in ("VALID", "SAME"):
    for x in RANGES + ODD[:1]:
        conv(codes(Q, 2, 5, 4, 3), codes(Q, 3, 2, 3, 4), 1, padding, x)
    for y in RANGES + ODD:
        conv(codes(Q, 2, 5, 4, 3), codes(Q, 3, 2, 3, 4), 2, padding, (0, 6), y)
    for rows, columns, height, width, stride in ((8, 7, 1, 1, 3), (6, 8, 2, 3, 4), (5, 5, 5, 5, 1), (7, 9, 3, 3, 2), (1, 1, 1, 1, 1)):
        conv(codes(Q, 1, rows, columns, 2), codes(Q, height, width, 2, 3), stride, padding, name="%d %d" % (rows, columns))
conv(codes(Q, 1, 3, 3, 1), codes(Q, 5, 5, 1, 1), 1, "SAME", name="large filter")
conv(codes(Q, 1, 3, 3, 1), codes(Q, 5, 5, 1, 1), 1, "VALID", name="too large a filter", refuse=True)
conv(codes(Q, 1, 3, 3, 2), codes(Q, 2, 2, 3, 1), 1, "VALID", name="channels", refuse=True)
conv(codes(Q, 3, 3, 2), codes(Q, 2, 2, 2, 1), 1, "VALID", name="rank", refuse=True)

for op in ("QuantizedMaxPool", "QuantizedAvgPool"):
    for T in (tf.quint8, tf.qint8):
        for padding in ("VALID", "SAME"):
            for size, strides in (((2, 2), (2, 2)), ((3, 2), (1, 2)), ((1, 1), (3, 3)), ((5, 4), (1, 1))):
                cases.add(op, {"input": codes(T, 2, 6, 5, 3), "min_input": F(-1), "max_input": F(2)},
                          {"ksize": [1, *size, 1], "strides": [1, *strides, 1], "padding": padding})
    cases.add(op, {"input": codes(Q, 0, 6, 5, 3), "min_input": F(-1), "max_input": F(2)}, {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"})
    cases.add(op, {"input": codes(Q, 6, 5, 3), "min_input": F(-1), "max_input": F(2)}, {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"},
              refuse=True)

for T in (tf.quint8, tf.qint32):
    cases.add("QuantizedReshape", {"tensor": codes(T, 2, 6), "shape": np.int32([3, -1]), "input_min": F(-1), "input_max": F(4)})
    cases.add("QuantizedReshape", {"tensor": codes(T, 2, 6), "shape": np.int64([12]), "input_min": F([-1]), "input_max": F(4)})
    cases.add("QuantizedReshape", {"tensor": codes(T, 2, 6), "shape": np.int64([12]), "input_min": F([-1, 2]), "input_max": F(4)}, refuse=True)
    cases.add("QuantizedReshape", {"tensor": codes(T, 2, 6), "shape": np.int32([5]), "input_min": F(-1), "input_max": F(4)}, refuse=True)

    def join(dim, values, ranges, **more):
        cases.add("QuantizedConcat", {"concat_dim": np.int32(dim), "values": values, "input_mins": [F(r[0]) for r in ranges],
                                      "input_maxes": [F(r[1]) for r in ranges]}, **more)

    for ranges in (RANGES[:3], RANGES[2:], ODD + RANGES[:1], (RANGES[0],) * 3, ((0, 0), (0, 0), (0, 0)), ((1, 1), (0, 2), (0, 1))):
        join(0, [codes(T, 2, 3), codes(T, 1, 3), codes(T, 4, 3)], ranges)
        # An empty value before others makes TensorFlow take the wrong range for those.
        join(1, [codes(T, 2, 3, 2), codes(T, 2, 1, 2), codes(T, 2, 0, 2)], ranges)
        join(2, [codes(T, 2, 3, 2), codes(T, 2, 3, 1), codes(T, 2, 3, 3)], ranges)
    join(0, [codes(T, 0, 3), codes(T, 0, 3)], RANGES[:2], name="nothing")
    for name, dim, shapes in (("too far", 2, ((2, 3), (2, 3))), ("negative", -1, ((2, 3), (2, 3))), ("rank", 0, ((2, 3), (3,))), ("sizes", 0, ((2, 3), (2, 4))),
                              ("scalars", 0, ((), ()))):
        join(dim, [codes(T, *s) for s in shapes], RANGES[:2], name=name, refuse=True)
# The codes alone.
for T in (*TYPES, tf.qint16, tf.quint16):
    a, b = rng.integers(0, 3, (2, 9))
    for op in ("Equal", "NotEqual"):
        cases.add(op, {"x": (a.astype(T.as_numpy_dtype), T), "y": (b.astype(T.as_numpy_dtype), T)}, name=T.name)
cases.write()
