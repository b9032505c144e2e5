#ifndef SP_ENGINE_REDUCE_STRENGTH_H
#define SP_ENGINE_REDUCE_STRENGTH_H

#include <stdbool.h>

#include "base/status.h"
#include "engine/graph.h"

/*
 * The attribute of a Mul that TensorFlow's optimizer makes so late that no other product takes it
 * up (regroup.h).
 */
#define SP_LATE_PRODUCT "_late"

/* The attribute of a MatMul that TensorFlow's optimizer joins with the bias that is added to it. */
#define SP_BIASED_PRODUCT "_biased"

/*
 * Takes the cheaper operators that TensorFlow's optimizer takes, whose last bits are others, in
 * place of some of float32, half and bfloat16:
 *
 *   Pow(x, 2), Pow(x, 3)            Square, _Cube
 *   Pow(x, 0.5), Pow(x, -0.5)       Sqrt, Rsqrt
 *   Pow(x, -1)                      Reciprocal
 *   Mul(c, Pow(x, 3))               _ScaledCube: (c x) x^2, or _ScaledSquare: (c x^2) x, where c
 *                                   is known before any request
 *
 * of float32 and complex64
 *
 *   products with Transpose(y)      products that take y transposed; of a batch of complex numbers
 *                                   ConjugateTranspose(y)
 *
 * and of float32 alone
 *
 *   Div(x, Sqrt(y)), RealDiv(...)   Mul(x, Rsqrt(y)), where nobody else reads the root
 *   Div(1, x), RealDiv(1, x)        Reciprocal
 *   Log(x + 1), Exp(x) - 1          Log1p, Expm1
 *   Log(Softmax(x))                 LogSoftmax
 *   BiasAdd(MatMul(...))            the MatMul is marked, where nobody else reads it and no control
 *                                   edge begins or ends: its sums have another order
 *   Elu(BiasAdd(MatMul(...)))       _RowElu(BiasAdd(MatMul(...))), likewise of Conv2D and of
 *                                   FusedBatchNorm(Conv2D(...)): it is joined with the layer
 *
 * but for 1 / x, Log(x + 1) and Exp(x) - 1 of an x of which only a request says how many dimensions
 * it has (static_shapes.h; of the last two other readers of x may say it), for a softmax that
 * others read, and for a logarithm that another function of one number alone reads.
 *
 * What comes from around a loop or a branch that is a function is seen by none of these
 * (sp_optimizer_sees()).
 *
 * It also takes a common factor out of a sum (p x + q x) where it can tell that the shapes are the
 * same; that is left as it is, and a last bit can be another: 2^-11 in half, 2^-8 in bfloat16.
 *
 * The exponents are constants of one element, the ones constants without dimensions.  What a node
 * waits for that is not read any more (an assertion, say), its reader waits for.  The graph is
 * sorted: what a node reads comes before it.  `fed` and `kept` [node_count] name the nodes whose
 * value comes from outside, and those and the ones whose value is wanted there.
 *
 * Linear in the size of the graph.
 */
SP_MUST_CHECK sp_status sp_graph_reduce_strength(sp_graph *graph, const bool *fed, const bool *kept,
						 sp_error *err);

#endif
