"""Square systems of complex and half numbers; triangles; the older names."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(72)
cases = Cases("linear_solve_more")
NEAR = {np.complex64: dict(rtol=1e-4, atol=1e-5), np.complex128: dict(rtol=1e-10, atol=1e-12),
        np.float32: dict(rtol=1e-4, atol=1e-5), np.float64: dict(rtol=1e-10, atol=1e-12)}


def some(dtype, shape):
    x = rng.uniform(-1, 1, shape)
    return (x + 1j * rng.uniform(-1, 1, shape) if np.issubdtype(dtype, np.complexfloating) else x).astype(dtype)


def older(op, inputs, attrs=None, **near):
    """The older name: TensorFlow builds no such node any more, but still runs it, with the same kernel."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        answer = session.run(getattr(tf.raw_ops, op)(**inputs, **(attrs or {})))
    cases.define("Batch" + op, list(inputs.values()), {"T": tf.as_dtype(answer.dtype), **(attrs or {})}, [answer], **near)


for dtype in (np.complex64, np.complex128):
    near = NEAR[dtype]
    for shape in ((3, 3), (2, 4, 4), (1, 1), (0, 3, 3), (2, 0, 0), (5, 5)):
        a = some(dtype, shape) + dtype(2) * np.eye(shape[-1], dtype=dtype)
        b = some(dtype, shape[:-1] + (2,))
        cases.add("MatrixDeterminant", {"input": a}, **near)
        cases.add("LogMatrixDeterminant", {"input": a}, **near)
        for adjoint in (False, True):
            cases.add("MatrixInverse", {"input": a}, {"adjoint": adjoint}, **near)
            if 0 not in shape:
                cases.add("MatrixSolve", {"matrix": a, "rhs": b}, {"adjoint": adjoint}, **near)
                for lower in (False, True):
                    cases.add("MatrixTriangularSolve", {"matrix": a, "rhs": b}, {"adjoint": adjoint, "lower": lower}, **near)
        cases.add("Cholesky", {"input": a @ np.conj(np.swapaxes(a, -1, -2))}, **near)
    singular = dtype([[1j, 2], [2j, 4]])
    cases.add("MatrixDeterminant", {"input": singular}, name="singular", atol=1e-12)
    cases.add("MatrixInverse", {"input": singular}, name="singular", refuse=True)
for dtype, near in NEAR.items():
    for shape in ((1, 1), (3, 3), (2, 5, 5), (0, 3, 3), (2, 0, 0)):
        for index in (tf.int32, tf.int64):
            cases.add("Lu", {"input": some(dtype, shape)}, {"output_idx_type": index}, **near)
    cases.add("Lu", {"input": dtype([[0, 1], [1, 0]])}, name="exchanged", **near)
    cases.add("Lu", {"input": dtype([[1, 2], [2, 4]])}, name="singular", refuse=True)
    for shape in ((2, 3), (3,)):
        cases.add("Lu", {"input": some(dtype, shape)}, name="not square", refuse=True)
    a = some(dtype, (2, 3, 3)) + dtype(2) * np.eye(3, dtype=dtype)
    older("MatrixDeterminant", {"input": a}, **near)
    if dtype in (np.float32, np.float64):
        b = some(dtype, (2, 3, 2))
        older("MatrixInverse", {"input": a}, {"adjoint": True}, **near)
        older("MatrixSolve", {"matrix": a, "rhs": b}, **near)
        older("MatrixTriangularSolve", {"matrix": a, "rhs": b}, {"lower": False}, **near)
        older("Cholesky", {"input": a @ np.swapaxes(a, -1, -2)}, **near)
cases.add("MatrixInverse", {"input": (some(np.float32, (2, 3, 3)) + 2 * np.eye(3), tf.half)}, rtol=1e-2, atol=1e-2)
cases.write()
