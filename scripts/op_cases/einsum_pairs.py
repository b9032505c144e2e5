"""Einsum of two operands where nothing is summed: every element is one product.  The sign of
a zero depends on the shapes in TensorFlow."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(61)
cases = Cases("einsum_pairs")

for dtype in (tf.float32, tf.float64, tf.half, tf.bfloat16, tf.int32, tf.int64, tf.complex64):
    for equation, shapes in (("bhd,bmd->bhmd", ((2, 3, 4), (2, 5, 4))), ("ab,bc->ca", ((3, 1), (1, 4))), ("i,j->ij", ((20,), (30,))),
                             ("aab,b->ba", ((3, 3, 2), (2,))), ("...ab,...c->c...ab", ((2, 1, 3, 2), (4, 5)))):
        operands = [(rng.integers(-9, 9, shape) / (1 if dtype.is_integer else 8), dtype) for shape in shapes]
        cases.add("Einsum", {"inputs": operands}, {"equation": equation}, name="%s %s" % (equation, dtype.name),
                  rtol=0, atol=0 if dtype.is_integer else 1e-30)

cases.write()
