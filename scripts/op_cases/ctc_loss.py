"""CTCLoss."""
import numpy as np

from op_cases import Cases

rng = np.random.default_rng(99)
cases = Cases("ctc_loss")
F = np.float32


def loss(logits, labels, lengths, name="", refuse=False, indices=None, rtol=1e-5, **attrs):
    places = [[b, i] for b, row in enumerate(labels) for i in range(len(row))]
    values = [x for row in labels for x in row]
    # The gradient is a difference of what TensorFlow has in float, of double too.
    cases.add("CTCLoss", {"inputs": logits, "labels_indices": np.int64(places if indices is None else indices).reshape(-1, 2),
                          "labels_values": np.int32(values), "sequence_length": np.int32(lengths)}, attrs, name=name, refuse=refuse, rtol=rtol, atol=2e-6)


logits = rng.normal(size=(9, 3, 5)) * 2
labels = [[0, 1, 2], [3, 3], [1]]
for dtype in (np.float32, np.float64):
    for collapse in (False, True):
        for merge in (False, True):
            attrs = dict(preprocess_collapse_repeated=collapse, ctc_merge_repeated=merge)
            loss(dtype(logits), labels, [9, 9, 9], **attrs)
            loss(dtype(logits), labels, [3, 2, 1], name="short", **attrs)
            loss(dtype(logits), labels, [9, 5, 2], **attrs)
            loss(dtype(logits), [[2, 2, 2, 2], [0, 1, 0, 1, 0], [3, 3, 1, 1, 3]], [9, 8, 7], name="repeated", **attrs)
            loss(dtype(logits), [[2, 2, 4, 4], [0, 4], [3, 9]], [9, 8, 7], name="null labels", **attrs)
    loss(dtype(logits), [[2] * 9, [1] * 4, [0] * 9], [5, 9, 9], name="no path", ignore_longer_outputs_than_inputs=True)
    loss(dtype(logits), labels, [9, 0, 9], name="no time", ignore_longer_outputs_than_inputs=True)
    loss(dtype(logits * 100), labels, [9, 9, 9], name="steep")
    loss(dtype(logits * 0), labels, [9, 9, 9], name="flat")
    loss(dtype(logits[:, :1]), labels[:1], [9], name="one")
    for name, more in (("too long", dict(lengths=[10, 9, 9])), ("negative length", dict(lengths=[9, -1, 9])), ("lengths", dict(lengths=[9, 9])),
                       ("no labels", dict(labels=[[0], [], [1]])), ("negative label", dict(labels=[[0], [-1], [1]])),
                       ("label after null", dict(labels=[[0, 4, 1], [1], [1]])), ("not enough time", dict(labels=[[0, 1, 2], [1], [1]], lengths=[2, 9, 9])),
                       ("order", dict(indices=[[0, 0], [0, 2], [0, 1], [1, 0], [1, 1], [2, 0]])), ("twice", dict(indices=[[0, 0], [0, 1], [0, 1], [1, 0], [1, 1], [2, 0]])),
                       ("batch", dict(indices=[[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [3, 0]])), ("few indices", dict(indices=[[0, 0]]))):
        loss(dtype(logits), name=name, refuse=True, **{"labels": labels, "lengths": [9, 9, 9], **more})
    loss(dtype(logits[0]), labels, [9, 9, 9], name="rank", refuse=True)
    loss(dtype(logits[:, :0]), [], [], name="no sequences", refuse=True)
long = rng.normal(size=(60, 2, 30))
loss(F(long), [rng.integers(0, 29, 20).tolist(), rng.integers(0, 29, 30).tolist()], [60, 55], name="long", rtol=5e-4)
cases.write()
