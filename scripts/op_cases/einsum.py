"""Einsum of one and two operands."""
import numpy as np

from op_cases import Cases, near, tf

RTOL = {tf.float32: 1e-5, tf.float64: 1e-13, tf.half: 5e-3, tf.bfloat16: 3e-2}
ATOL = {tf.float32: 1e-5, tf.float64: 1e-13, tf.half: 2e-2, tf.bfloat16: 6e-2}

rng = np.random.default_rng(6)
cases = Cases("einsum")


def einsum(equation, *shapes, dtype=tf.float32, **more):
    operands = [(rng.uniform(-1, 1, shape) if dtype in RTOL else rng.integers(-9, 9, shape), dtype) for shape in shapes]
    cases.add("Einsum", {"inputs": operands}, {"equation": equation}, name="%s %s" % (equation, shapes),
              rtol=RTOL.get(dtype, 0), atol=ATOL.get(dtype, 0), **more)


# What dense layers, attention and interactions of features are exported as.
for dtype in (tf.float32, tf.float64, tf.half, tf.bfloat16, tf.int32, tf.int64):
    einsum("ij,jk->ik", (2, 3), (3, 4), dtype=dtype)
    einsum("abc,cde->abde", (2, 3, 4), (4, 2, 3), dtype=dtype)
    einsum("aecd,abcd->acbe", (2, 3, 2, 4), (2, 5, 2, 4), dtype=dtype)
    einsum("ijk->ki", (2, 3, 4), dtype=dtype)
einsum("acbe,aecd->abcd", (2, 3, 4, 5), (2, 5, 3, 2))
einsum("abcd,cde->abe", (2, 3, 2, 4), (2, 4, 3))
einsum("bmd,bnd->bmn", (2, 3, 4), (2, 5, 4))
einsum("bnd,bmd->bmn", (2, 3, 4), (2, 5, 4))
einsum("bfd,bgd->bfg", (3, 5, 2), (3, 5, 2))
einsum("bi,bi->b", (3, 4), (3, 4))
einsum("bi,bj->bij", (3, 4), (3, 2))
einsum("ij,ij->ij", (3, 4), (3, 4))
einsum("ij,ij->", (3, 4), (3, 4))
einsum("ij,ij->ji", (3, 4), (3, 4))
einsum("bhm,ohm->bo", (2, 3, 4), (5, 3, 4))
einsum("i,j->ji", (2,), (3,))
einsum("i,->i", (2,), ())
einsum(",->", (), ())
einsum("->", ())
einsum("ij,k->i", (2, 3), (4,))
einsum("ij,jk->", (2, 3), (3, 4))
einsum("abcde,efghi->abcdfghi", (1, 2, 1, 2, 3), (3, 1, 2, 1, 2))
# One operand: permuted, summed, diagonal, laid on a diagonal.
for equation, shape in (("ij->ij", (2, 3)), ("ij->ji", (2, 3)), ("ij->i", (2, 3)), ("ij->j", (2, 3)), ("ij->", (2, 3)),
                        ("ii->i", (3, 3)), ("ii->", (3, 3)), ("iij->ji", (3, 3, 2)), ("iji->j", (3, 2, 3)),
                        ("i->ii", (3,)), ("ij->jij", (2, 3)), ("abcdefgh->hgfedcba", (1, 2, 1, 2, 1, 2, 1, 2)),
                        ("ij->i", (1, 1)), ("i->ii", (1,))):
    einsum(equation, shape)
einsum("iij,jjk->ik", (2, 2, 3), (3, 3, 4))
einsum("i,j->iij", (2,), (3,))
einsum("ii,i->ii", (3, 3), (3,))
# With "...".
for equation, shapes in (("...ij,...jk->...ik", ((5, 1, 2, 3), (4, 3, 2))), ("...ij,jk->...ik", ((2, 3), (3, 4))),
                         ("...ij,jk->...ik", ((2, 2, 2, 3), (3, 4))), ("...i,...i->...", ((2, 3), (2, 3))),
                         ("...i,i->...", ((2, 3), (3,))), ("i...,i...->i...", ((2, 3, 1), (2, 1, 4))),
                         ("i...->...", ((2, 3),)), ("i...->...i", ((2, 3, 4),)), ("...i->i", ((3,),)), ("i->...i", ((3,),)),
                         ("ab...,b...->...a", ((2, 3, 4), (3, 4))), ("...a,...b->...ab", ((1, 2), (3, 1))),
                         ("...,...->...", ((2, 1, 3), (4, 1))), ("...x,y...->y...x", ((2, 1, 3), (4, 2)))):
    einsum(equation, *shapes)
# Nothing to sum, nothing at all.
for equation, shapes in (("ij,jk->ik", ((2, 0), (0, 3))), ("ij,jk->ik", ((0, 2), (2, 3))), ("ij->j", ((3, 0),)),
                         ("ij->i", ((3, 0),)), ("...ij,jk->...ik", ((0, 2, 3), (3, 2))), ("ij,jk->", ((2, 0), (0, 3)))):
    einsum(equation, *shapes)
for equation, shapes in (("ij,jk->ik", ((2, 3), (2, 3))), ("i,i->i", ((1,), (3,))), ("ii->i", ((2, 3),)), ("ij->ji", ((2,),)),
                         ("ij->ji", ((2, 3, 4),)), ("...i->i", ((2, 3),)), ("...i,...i->", ((2, 3), (2, 3))),
                         ("...a,...b->...ab", ((2, 2), (3, 1)))):
    einsum(equation, *shapes, refuse=True)

# Longer sums, a row, a column, and operands that lie in another order than the product wants.
for dtype in (tf.float32, tf.half, tf.bfloat16):
    for equation, shapes, k in (("ij,jk->ik", ((9, 33), (33, 18)), 33), ("ij,jk->ik", ((14, 300), (300, 1)), 300), ("ij,jk->ik", ((1, 128), (128, 9)), 128),
                                ("bij,bjk->bik", ((2, 8, 64), (2, 64, 9)), 64), ("bij,bj->bi", ((3, 20, 30), (3, 30)), 30),
                                ("bhij,bhkj->bhik", ((2, 2, 5, 40), (2, 2, 9, 40)), 40), ("bi,bi->b", ((30, 40), (30, 40)), 40),
                                ("aecd,abcd->acbe", ((2, 7, 2, 9), (2, 5, 2, 9)), 9), ("acbe,aecd->abcd", ((2, 2, 5, 7), (2, 7, 2, 9)), 7),
                                ("...NI,IHO->...NHO", ((2, 5, 8), (8, 2, 6)), 8), ("in,oi->on", ((24, 2), (9, 24)), 24), ("abd,cd->ac", ((3, 5, 4), (2, 4)), 20)):
        cases.add("Einsum", {"inputs": [(rng.uniform(-1, 1, s), dtype) for s in shapes]}, {"equation": equation}, name="long " + equation,
                  **near(dtype, k / 4))

cases.write()
