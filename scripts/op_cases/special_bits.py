"""Special functions of float32 numbers to their last bit: gamma and its kin, Bessel functions, quantiles."""
import numpy as np

from op_cases import Cases

rng = np.random.default_rng(43)
cases = Cases("special_bits")
ODD = np.float32([0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 8, 10, np.inf, -np.inf, np.nan, 1e9, -1e9, 1e30, -1e30, 2.0**-126])


def uniform(low, high, count):
    return rng.uniform(low, high, count).astype(np.float32)


def spread(low, high, count):
    return np.exp2(rng.uniform(low, high, count)).astype(np.float32)


def one(op, *inputs, rest=True, **how):
    """All together, and, where packets are taken, as every number of elements that may be left over."""
    x = np.concatenate(inputs + (ODD,))
    cases.add(op, {"x": x}, **how)
    for count in range(1, 18) if rest else ():
        cases.add(op, {"x": rng.permutation(x)[:count]}, name="%d elements" % count, **how)


SINGLY = {
    "Lgamma": (uniform(-20, 20, 400), spread(-30, 60, 100)),
    "Digamma": (uniform(-20, 20, 400), spread(-30, 60, 100), -spread(-30, 4, 50)),
}
for op, inputs in SINGLY.items():
    one(op, *inputs, rest=False)

# What begins with the processor's own estimate of a reciprocal or of a root may end in another last bit.
ESTIMATE = dict(rtol=2e-6, atol=1e-6)
one("Ndtri", uniform(0.1354, 0.8646, 400))
one("Ndtri", uniform(0, 1, 400), spread(-126, -1, 200), 1 - spread(-24, -1, 100), name="tails", rest=False, **ESTIMATE)
one("Erfinv", uniform(-0.729, 0.729, 400), spread(-60, -2, 100), rest=False)
one("Erfinv", uniform(-1, 1, 400), 1 - spread(-24, -1, 100), name="tails", rest=False, **ESTIMATE)
for count in range(1, 18):
    cases.add("Erfinv", {"x": uniform(-0.729, 0.729, count)}, name="%d elements" % count)
for order in "01":
    for name, end in (("I", 8), ("K", 2)):
        for scaled in ("", "e"):
            op = "Bessel" + name + order + scaled
            below = np.concatenate([spread(-30, np.log2(end), 200), uniform(0, end, 200)])
            if name == "I":
                below = np.concatenate([below, -below])
            cases.add(op, {"x": below})
            for count in range(1, 18):
                cases.add(op, {"x": rng.permutation(below)[:count]}, name="%d elements" % count)
            one(op, uniform(-20, 20, 100), uniform(end, 90, 100), name="beyond", rest=False, **ESTIMATE)


def two(op, names, *columns, **how):
    cases.add(op, dict(zip(names, columns)), **how)


a, b = (x.ravel() for x in np.meshgrid(ODD, ODD))
for op in ("Igamma", "Igammac"):
    two(op, "ax", a, b, name="odd")
    two(op, "ax", spread(-5, 6, 600), spread(-5, 7, 600))
    two(op, "ax", uniform(0.1, 40, 600), uniform(0, 50, 600))
    two(op, "ax", np.float32([[0.5], [3]]), np.float32([1, 2, 7]), name="broadcast")
two("Zeta", "xq", a, b, name="odd")
two("Zeta", "xq", uniform(1, 12, 600), spread(-6, 7, 600))
two("Zeta", "xq", rng.integers(2, 8, 200).astype(np.float32), uniform(-20, 20, 200), name="whole")
two("Polygamma", "ax", a, b, name="odd")
two("Polygamma", "ax", rng.integers(0, 9, 600).astype(np.float32), uniform(-3, 30, 600))
a, b, c = (x.ravel() for x in np.meshgrid(np.float32([0, 1, 0.5, 2, 11, -1, np.nan, 1e6]), np.float32([0, 1, 0.5, 2, 12, -1, np.nan, 1e6]),
                                          np.float32([0, 1, 0.5, 0.01, -0.1, 1.1, np.nan])))
two("Betainc", "abx", a, b, c, name="odd")
two("Betainc", "abx", spread(-5, 6, 900), spread(-5, 6, 900), uniform(0, 1, 900))
two("Betainc", "abx", np.float32(2.5), uniform(1, 60, 300), uniform(0, 0.1, 300), name="scalar")
cases.write()
