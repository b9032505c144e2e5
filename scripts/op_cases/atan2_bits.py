"""Angles of float32 points to their last bit, in packets of eight, in what is left over, and where operands repeat."""
import numpy as np

from op_cases import Cases

rng = np.random.default_rng(41)
cases = Cases("atan2_bits")
SPECIAL = np.float32([0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, np.inf, -np.inf, np.nan, 1e30, -1e30, 2.0**-126, -(2.0**-126)])


def spread(low, high, shape):
    return (np.exp2(rng.uniform(low, high, shape)) * rng.choice([-1, 1], shape)).astype(np.float32)


def uniform(low, high, shape):
    return rng.uniform(low, high, shape).astype(np.float32)


def add(y, x, name):
    # Quotients beyond 1 begin with the processor's own estimate of a reciprocal.
    steep = np.any((np.abs(y) > np.abs(x)) & np.isfinite(y) & (x != 0))
    cases.add("Atan2", {"y": y, "x": x}, name=name, rtol=3e-7 if steep else 0)


y, x = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
add(y, x, "special")
add(np.tile(SPECIAL[:2], 16), np.repeat(SPECIAL, 2), "zeros")
add(np.where(np.abs(y) > np.abs(x), x, y), np.where(np.abs(y) > np.abs(x), y, x), "special, flat")
for count in list(range(1, 18)) + [64, 75, 803]:
    y, x = uniform(-3, 3, count), uniform(-3, 3, count)
    add(np.clip(y, -np.abs(x), np.abs(x)), x, "%d flat" % count)
    add(y, x, "%d elements" % count)
add(spread(-60, 60, 803), spread(-60, 60, 803), "spread")
add(uniform(-1, 1, 803), spread(0, 30, 803), "flat")
for other in (2.5, -2.5, 0, -0.0, np.inf, -np.inf):
    add(uniform(-2, 2, 403), np.float32(other), "over %s" % other)
    add(np.float32(other), spread(2, 9, 403), "of %s" % other)
for left, right in (((7, 4), (7, 1)), ((7, 1), (7, 4)), ((64, 5), (64, 1)), ((33, 1), (1, 3)), ((7, 3, 4), (3, 1)), ((3, 1, 5, 1), (1, 2, 1, 3)),
                    # More than a task: of both repeating, of one, and within a row.
                    ((1571, 5), (1571, 1)), ((2, 2607, 3), (2, 1, 3)), ((2, 1, 1301, 3), (1, 2, 1301, 1)), ((2, 7815), (2, 1))):
    add(uniform(-1, 1, left), spread(0, 4, right), "%s and %s" % (list(left), list(right)))
cases.write()
