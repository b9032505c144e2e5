"""The functions of float32 numbers over their whole range, in rows that fill the processor's registers and in what is left over."""
import numpy as np

from op_cases import Cases, near, tf

rng = np.random.default_rng(20)
cases = Cases("float_functions")
SPECIAL = np.float32([0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, np.inf, -np.inf, np.nan, 1e30, -1e30, 2.0**-126, -(2.0**-126)])


def spread(low, high, count):
    """Both signs, exponents evenly from 2^low to 2^high."""
    return (np.exp2(rng.uniform(low, high, count)) * rng.choice([-1, 1], count)).astype(np.float32)


def uniform(low, high, count):
    return rng.uniform(low, high, count).astype(np.float32)


# What the inputs, the result and the steps to it never are is a denormal number, which TensorFlow's threads take for 0.
INPUTS = {
    "Exp": [uniform(-87, 89, 400), spread(-126, 6.4, 400)],
    "Expm1": [uniform(-87, 89, 300), spread(-126, 6.4, 400)],
    "Log": [np.abs(spread(-126, 127, 400)), uniform(0, 3, 300), uniform(-1, 0, 16)],
    "Log1p": [spread(-126, 127, 300), uniform(-1, 3, 300)],
    "Sin": [uniform(-30, 30, 300), spread(-126, 127, 400)],
    "Cos": [uniform(-30, 30, 300), spread(-126, 127, 400)],
    "Asin": [uniform(-1, 1, 300), spread(-126, 1, 400)],
    "Acos": [uniform(-1, 1, 300), spread(-126, 1, 400)],
    "Atan": [uniform(-3, 3, 300), spread(-126, 125, 400)],
    "Atanh": [uniform(-1, 1, 300), spread(-126, 1, 400)],
    "Tanh": [uniform(-9, 9, 400), spread(-126, 127, 400)],
    "Erf": [uniform(-4, 4, 400), spread(-120, 120, 400)],
    "Sigmoid": [uniform(-87, 20, 400), spread(-126, 6.4, 400)],
    "Softplus": [uniform(-87, 20, 400), spread(-126, 6.4, 400)],
    "Elu": [uniform(-20, 5, 300), spread(-126, 127, 400)],
    "Selu": [uniform(-20, 5, 300), spread(-125, 127, 400)],
    "Rsqrt": [np.abs(spread(-126, 127, 300))],
    "Reciprocal": [spread(-125, 125, 300)],
    "Inv": [spread(-125, 125, 200)],
    "Sqrt": [np.abs(spread(-126, 127, 400))],
    "Softsign": [spread(-126, 127, 400)],
}
for op, inputs in INPUTS.items():
    argument = "features" if op in ("Softplus", "Softsign", "Elu", "Selu") else "x"
    x = np.concatenate(inputs + [SPECIAL])
    close = near(tf.float32)
    cases.add(op, {argument: x}, **close)
    for count in (1, 7, 8, 9, 17):
        cases.add(op, {argument: rng.permutation(x)[:count]}, name="%d elements" % count, **close)
    cases.add(op, {argument: inputs[0][:105].reshape(3, 5, 7)}, name="three dimensions", **close)

x, y = (a.ravel() for a in np.meshgrid(np.delete(SPECIAL, [12, 13, 14, 15]), np.delete(SPECIAL, [12, 13, 14, 15])))
cases.add("Pow", {"x": x, "y": y}, name="special", **near(tf.float32))
for op in ("Xlogy", "Xlog1py"):
    for count in (5, 64, 75, 203):
        x, z = uniform(-3, 3, count), np.abs(spread(-6, 6, count))
        cases.add(op, {"x": x, "y": z}, **near(tf.float32))
        cases.add(op, {"x": x, "y": z[0]}, name="scalar", **near(tf.float32))
        cases.add(op, {"x": x[0], "y": z}, name="of a scalar", **near(tf.float32))
for low, high in ((-0.2, 0.2), (-3, 3), (-20, 20)):
    x, y = np.abs(spread(low, high, 203)), uniform(-4, 4, 203)
    cases.add("Pow", {"x": x, "y": y}, **near(tf.float32))
x = spread(-3, 3, 403)
cases.add("Pow", {"x": x, "y": rng.integers(-9, 9, 403).astype(np.float32)}, name="integers", **near(tf.float32))
for exponent in (0, 1, 2, 3, 0.5, -0.5, -1, 1.7, np.inf, np.nan):
    cases.add("Pow", {"x": np.abs(x), "y": np.float32(exponent)}, name="to %s" % exponent, **near(tf.float32))
    cases.add("Pow", {"x": np.float32(exponent), "y": x}, name="of %s" % exponent, **near(tf.float32))
for count in (1, 7, 8, 9, 17):
    cases.add("Pow", {"x": np.abs(x[:count]), "y": uniform(-3, 3, count)}, name="%d elements" % count, **near(tf.float32))
cases.write()
