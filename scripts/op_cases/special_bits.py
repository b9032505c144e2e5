"""Special functions of float32 numbers to their last bit: gamma and its kin, quantiles."""
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
cases.write()
