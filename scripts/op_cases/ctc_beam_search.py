"""CTCBeamSearchDecoder.  No two texts are equally likely: TensorFlow leaves their order to chance."""
import numpy as np

from op_cases import Cases

cases = Cases("ctc_beam_search")
rng = np.random.default_rng(59)


def add(logits, lengths, width, paths, merge=False, **more):
    cases.add("CTCBeamSearchDecoder", {"inputs": logits, "sequence_length": np.int32(lengths)},
              {"beam_width": width, "top_paths": paths, "merge_repeated": merge}, rtol=2e-5, atol=1e-5, **more)


for dtype in (np.float32, np.float64):
    for time, batch, classes, width, paths, scale in ((2, 1, 2, 10, 2, 1), (5, 3, 4, 3, 2, 2), (12, 2, 6, 8, 4, 3), (20, 2, 3, 100, 5, 1),
                                                      (15, 1, 30, 20, 1, 4), (8, 4, 5, 1, 1, 2), (30, 1, 5, 2, 2, 2)):
        logits = (rng.normal(size=(time, batch, classes)) * scale).astype(dtype)
        for merge in (False, True):
            add(logits, rng.integers(max(1, time - 3), time + 1, batch), width, paths, merge, name="%d x %d" % (time, classes))
    # What is nearly certain, with classes that come twice in a row.
    sure = np.log(np.full((9, 1, 3), 0.02) + rng.random((9, 1, 3)) * 0.01)
    for t, c in enumerate([0, 0, 2, 0, 1, 1, 2, 1, 1]):
        sure[t, 0, c] = 0
    for merge in (False, True):
        add(sure.astype(dtype), [9], 16, 3, merge, name="repeated")
        add(sure.astype(dtype) + dtype(50), [9], 16, 3, merge, name="shifted")
logits = rng.normal(size=(4, 3, 3)).astype("f4")
add(logits, [0, 4, -1], 4, 1, name="no time")
add(logits[:, :, :1], [4, 2, 1], 4, 1, name="only blanks")
impossible = logits.copy()
impossible[1, :, 0] = -np.inf
add(impossible, [4, 4, 4], 4, 2, name="an impossible class")
add(np.full((2, 1, 3), np.nan, "f4"), [2], 4, 1, name="not a number")
add(logits, [0, 4, 4], 4, 2, name="fewer texts than asked for", refuse=True)
add(logits, [4, 4, 4], 2, 3, name="more paths than the beam is wide", refuse=True)
add(logits, [4, 5, 4], 4, 1, name="a length above the time", refuse=True)
add(logits, [4, 4], 4, 1, name="fewer lengths", refuse=True)
add(logits[0], [4, 4, 4], 4, 1, name="a matrix", refuse=True)
add(logits, [[4, 4, 4]], 4, 1, name="a matrix of lengths", refuse=True)
add(logits[:0], [0, 0, 0], 4, 1, name="empty", refuse=True)
cases.write()
