"""Einsum to its last bit: which products TensorFlow makes of the letters, and how it lays them."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(62)
cases = Cases("einsum_layouts")


def einsum(equation, *shapes, dtype=tf.float32):
    # TensorFlow sums double in an order that is not followed.
    cases.add("Einsum", {"inputs": [(rng.standard_normal(shape), dtype) for shape in shapes]}, {"equation": equation},
              name="%s %s %s" % (equation, shapes, dtype.name), rtol=1e-13 if dtype == tf.float64 else 0,
              atol=1e-13 if dtype == tf.float64 else 0)


# Graph attention, attention with several heads, layers, interactions: of a batch of n.
def models(n, dtype):
    einsum("...NI,IHO->...NHO", (n, 5, 8), (8, 2, 6), dtype=dtype)
    einsum("...NHI,IHO->...NHO", (n, 5, 2, 24), (24, 2, 1), dtype=dtype)
    einsum("...NHM,...MHI->...NHI", (n, 5, 2, 5), (n, 5, 2, 7), dtype=dtype)
    einsum("aecd,abcd->acbe", (n, 7, 2, 9), (n, 5, 2, 9), dtype=dtype)
    einsum("acbe,aecd->abcd", (n, 2, 5, 7), (n, 7, 2, 9), dtype=dtype)
    einsum("nhi,iho->nho", (n, 2, 24), (24, 2, 1), dtype=dtype)
    einsum("nhi,hio->nho", (n, 2, 24), (2, 24, 3), dtype=dtype)
    einsum("ni,oi->no", (n, 24), (9, 24), dtype=dtype)
    einsum("in,io->no", (24, n), (24, 9), dtype=dtype)
    einsum("in,oi->on", (24, n), (9, 24), dtype=dtype)
    einsum("ni,io->no", (n, 24), (24, 1), dtype=dtype)
    einsum("ni,oi->no", (n, 24), (1, 24), dtype=dtype)
    einsum("bfd,bgd->bfg", (n, 3, 17), (n, 4, 17), dtype=dtype)
    einsum("bi,ij->bj", (n, 8), (8, 3), dtype=dtype)
    einsum("bi,bi->b", (n, 33), (n, 33), dtype=dtype)


for size in (1, 2, 7):
    for kind in (tf.float32, tf.float64, tf.half, tf.bfloat16):
        models(size, kind)
for equation, shapes in (("...NI,IHO->...NHO", ((64, 3, 8), (8, 2, 6))), ("...NHI,IHO->...NHO", ((64, 3, 2, 12), (12, 2, 1))), ("ni,oi->no", ((64, 24), (9, 24))),
                         ("bts,bsh->bth", ((64, 3, 5), (64, 5, 4))), ("bi,bi->b", ((64, 33), (64, 33)))):
    einsum(equation, *shapes)

# "..." of which an operand lacks dimensions, or has them as 1, in any place.
for kind in (tf.float32, tf.half, tf.bfloat16):
    for left in ((), (1,), (3,), (2, 3), (2, 1)):
        for right in ((), (1,), (3,), (2, 1)):
            einsum("...ij,jk...->...ik", (*left, 3, 20), (20, 2, *right), dtype=kind)
            einsum("i...j,k...j->...ki", (1, *left, 20), (2, *right, 20), dtype=kind)
    einsum("ij...b,...bjk->b...ik", (4, 9, 2, 3), (2, 3, 9, 5), dtype=kind)
    einsum("...b,b->...b", (4, 3), (3,), dtype=kind)

# Dots and vectors of rows and of columns, few terms and many; several letters that are summed over.
for kind in (tf.float32, tf.half, tf.bfloat16):
    for k in (3, 8, 15, 17, 33, 100, 200):
        for equation, shapes in (("k,k->", ((k,), (k,))), ("kb,kb->b", ((k, 2), (k, 2))), ("bk,kb->b", ((2, k), (k, 2))),
                                 ("bak,bck->bac", ((2, 1, k), (2, 1, k))), ("bka,bck->bac", ((2, k, 1), (2, 1, k))),
                                 ("bak,bck->bac", ((2, 1, k), (2, 3, k))), ("bka,bkc->bac", ((2, k, 3), (2, k, 1)))):
            einsum(equation, *shapes, dtype=kind)
    for equation, shapes in (("ijk,kjl->il", ((4, 5, 6), (6, 5, 3))), ("kji,jkl->il", ((5, 6, 4), (6, 5, 3))), ("ijk,lkj->li", ((1, 5, 6), (3, 6, 5))),
                             ("ijk,jk->i", ((4, 5, 6), (5, 6))), ("ijk,kj->i", ((4, 5, 6), (6, 5))), ("iik,kjj->ij", ((2, 2, 30), (30, 2, 2)))):
        einsum(equation, *shapes, dtype=kind)

# What is summed before there is a product, or without one.
for kind in (tf.float32, tf.float64, tf.half, tf.bfloat16):
    for equation, shapes in (("ij->i", ((3, 70),)), ("ij->j", ((70, 3),)), ("ijk->j", ((8, 3, 9),)), ("ij->", ((9, 9),)), ("ii->", ((40, 40),)),
                             ("ija,jk->ik", ((2, 9, 40), (9, 3))), ("ij,ajk->ik", ((2, 9), (40, 9, 3))), ("ia,jb->ij", ((2, 40), (3, 50))),
                             ("...aj,jk->...k", ((2, 40, 9), (9, 3)))):
        einsum(equation, *shapes, dtype=kind)

cases.write()
