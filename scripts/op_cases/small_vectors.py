"""Products of vectors of three; numbers that go with the dimensions of images."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(82)
cases = Cases("small_vectors")
for dtype in (tf.float32, tf.float64, tf.half, tf.bfloat16, tf.uint8, tf.int8, tf.uint16, tf.int16, tf.int32, tf.int64, tf.uint32, tf.uint64):
    for shape in ((3,), (4, 3), (2, 5, 3), (0, 3)):
        low = 0 if dtype.name.startswith("u") else -90
        a, b = (rng.uniform(low, 120, shape) for _ in range(2))
        cases.add("Cross", {"a": (a, dtype), "b": (b, dtype)}, rtol=1e-6 if dtype.is_floating else 0)
cases.add("Cross", {"a": np.float32([np.inf, 1, 2]), "b": np.float32([np.nan, 1, 0])})
for a, b in (((2,), (2,)), ((3,), (1, 3)), ((), ()), ((2, 3), (3, 3)), ((3, 4), (3, 4))):
    cases.add("Cross", {"a": np.zeros(a, np.float32), "b": np.zeros(b, np.float32)}, refuse=True)

FORMATS = (("NHWC", "NCHW"), ("NCHW", "NHWC"), ("HWNC", "NHWC"), ("NHWC", "NHWC"), ("NDHWC", "NCDHW"), ("NCDHW", "NDHWC"))
for t in (np.int32, np.int64):
    for src, dst in FORMATS:
        attrs = {"src_format": src, "dst_format": dst}
        cases.add("DataFormatDimMap", {"x": t(range(-11, 12))}, attrs)
        cases.add("DataFormatDimMap", {"x": t([[1, -1]])}, attrs)
        cases.add("DataFormatDimMap", {"x": t(2)}, attrs)
        for n in range(0, 7):
            fits = n in (len(src), len(src) - 2)
            cases.add("DataFormatVecPermute", {"x": t(range(10, 10 + n))}, attrs, refuse=not fits)
            cases.add("DataFormatVecPermute", {"x": t(range(10, 10 + 2 * n)).reshape(n, 2)}, attrs, refuse=not fits)
cases.add("DataFormatVecPermute", {"x": np.int32(1)}, refuse=True)
cases.add("DataFormatVecPermute", {"x": np.int32([[1, 2, 3]] * 4)}, refuse=True)
cases.add("DataFormatVecPermute", {"x": np.int32([1, 2, 3, 4])}, {"src_format": "ABHD", "dst_format": "DHBA"})
cases.add("DataFormatVecPermute", {"x": np.int32([1, 2])}, {"src_format": "ABHD", "dst_format": "DHBA"}, refuse=True)
for op in ("DataFormatDimMap", "DataFormatVecPermute"):
    for src, dst in (("NHWC", "NCDHW"), ("NHHC", "NCHH"), ("NHWC", "NHWD"), ("NHW", "NWH")):
        cases.add(op, {"x": np.int32([1, 2, 3, 4])}, {"src_format": src, "dst_format": dst}, refuse=True)
cases.write()
