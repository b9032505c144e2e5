"""Boxes in images: cut out, or the best of them; images scaled and moved."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(97)
cases = Cases("boxes")
F = np.float32
NUMBERS = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16"]

# ------------------------------------------------------------- cut out, scaled

images = rng.integers(0, 100, (2, 4, 5, 2))
boxes = F([[0, 0, 1, 1], [0.1, 0.2, 0.6, 0.9], [1, 1, 0, 0], [-0.5, 0.3, 1.5, 0.4], [0.5, 0.5, 0.5, 0.5]])
index = np.int32([0, 1, 1, 0, 1])


def crop(image, boxes=boxes, index=index, size=(4, 3), **more):
    attrs = {key: more.pop(key) for key in ("method", "extrapolation_value") if key in more}
    cases.add("CropAndResize", {"image": image, "boxes": F(boxes), "box_ind": np.int32(index), "crop_size": np.int32(size)}, attrs, rtol=1e-6, atol=1e-5,
              **more)


for method in ("bilinear", "nearest"):
    for dtype in NUMBERS:
        crop((images, tf.as_dtype(dtype)), method=method, name=dtype)
    for size in ((1, 1), (1, 5), (9, 1), (4, 5), (7, 8)):
        crop(F(images), size=size, method=method, extrapolation_value=-3.5)
crop(F(images), boxes=np.zeros((0, 4)), index=[], name="no boxes")
crop(F(images), boxes=np.zeros((0, 7)), index=[], name="no boxes of 7")
crop(F(images[..., :0]), name="no channels")
for name, more in (("index", dict(index=[0, 1, 2, 0, 1])), ("negative index", dict(index=[0, -1, 0, 0, 1])), ("few indices", dict(index=[0])),
                   ("columns", dict(boxes=boxes[:, :3])), ("rank", dict(boxes=boxes[0])), ("size 0", dict(size=(0, 3))), ("one size", dict(size=(3,))),
                   ("infinite", dict(boxes=np.where(boxes == 1, np.inf, boxes)))):
    crop(F(images), name=name, refuse=True, **more)
crop(F(images[0]), name="one image", refuse=True)
crop(F(images[:, :0]), name="no rows", refuse=True)


def scale(image, size=(4, 9), scale=(0.8, 1.3), translation=(0, 0), refuse=False, name="", **attrs):
    cases.add("ScaleAndTranslate", {"images": image, "size": np.int32(size), "scale": F(scale), "translation": F(translation)}, attrs, rtol=1e-5, atol=1e-4,
              refuse=refuse, name=name)


for dtype in NUMBERS:
    scale((images, tf.as_dtype(dtype)), name=dtype)
for kernel in ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"):
    for antialias in (False, True):
        for more in ({}, {"scale": (0.3, 0.25)}, {"scale": (2.5, 1), "translation": (-3, 2.25)}, {"translation": (100, 0)}, {"scale": (0.01, 40)},
                     {"size": (1, 1)}):
            scale(F(images), kernel_type=kernel, antialias=antialias, **more)
scale(F(images[:0]), name="no images")
for name, more in (("scale 0", dict(scale=(0, 1))), ("negative scale", dict(scale=(1, -1))), ("size 0", dict(size=(0, 1))), ("three sizes", dict(size=(1, 1, 1))),
                   ("one scale", dict(scale=(1,))), ("translations", dict(translation=(1, 1, 1)))):
    scale(F(images), refuse=True, name=name, **more)
scale(F(images[..., :0]), refuse=True, name="no channels")
scale(F(images[:, :0]), refuse=True, name="no rows")
scale(F(images[0]), refuse=True, name="rank")

# ------------------------------------------------------------------- the best

places = rng.uniform(0, 1, (40, 2))
spread = np.concatenate([places, places + rng.uniform(0.05, 0.4, (40, 2))], 1)
spread[::5] = spread[::5, [2, 3, 0, 1]]
scores = rng.permutation(40) / 40.0
ties = np.round(scores * 4) / 4


def suppress(version, boxes=spread, scores=scores, most=10, iou=0.3, score=0.2, sigma=0.0, dtype="float32", refuse=False, name="", **attrs):
    dtype = tf.as_dtype(dtype)
    inputs = {"boxes": (np.asarray(boxes), dtype), "scores": (np.asarray(scores), dtype), "max_output_size": np.int32(most)}
    if version == "":
        attrs["iou_threshold"] = iou
    else:
        inputs["iou_threshold"] = (np.asarray(iou), dtype)
    if version in ("V3", "V4", "V5"):
        inputs["score_threshold"] = (np.asarray(score), dtype)
    if version == "V5":
        inputs["soft_nms_sigma"] = (np.asarray(sigma), dtype)
    cases.add("NonMaxSuppression" + version, inputs, attrs, refuse=refuse, name=name, rtol=1e-6 if dtype == tf.float32 else 0)


for version in ("", "V2", "V3", "V4", "V5"):
    for dtype in ("float32",) if version == "" else ("float32", "float16"):
        for iou in (0, 0.1, 0.5, 1):
            suppress(version, iou=iou, dtype=dtype, name=dtype)
        suppress(version, scores=ties, dtype=dtype, name="ties")
        suppress(version, scores=np.where(scores > 0.9, np.nan, scores), dtype=dtype, name="NaN")
        suppress(version, scores=np.where(scores > 0.9, np.inf, scores), dtype=dtype, name="infinite")
        suppress(version, scores=np.where(scores > 0.5, -np.inf, -scores), score=-1, most=100, dtype=dtype, name="minus infinity")
        suppress(version, most=0, dtype=dtype, name="none")
        suppress(version, most=1000, score=-1, iou=1, dtype=dtype, name="all")
        suppress(version, boxes=np.repeat(spread[:1], 40, 0), dtype=dtype, name="one place")
        suppress(version, boxes=spread * 0, dtype=dtype, name="points")
        suppress(version, boxes=np.zeros((0, 4)), scores=np.zeros(0), dtype=dtype, name="no boxes")
    if version in ("V4", "V5"):
        for most in (3, 50):
            suppress(version, most=most, pad_to_max_output_size=True, name="padded")
    for name, more in (("negative size", dict(most=-1)), ("vector", dict(most=[1])), ("iou", dict(iou=1.5)), ("negative iou", dict(iou=-0.1)),
                       ("columns", dict(boxes=spread[:, :3])), ("rank", dict(boxes=spread[0])), ("scores", dict(scores=scores[:3])),
                       ("scores are a matrix", dict(scores=scores[:, None]))):
        suppress(version, refuse=True, name=name, **more)
for sigma in (0.1, 0.5, 2):
    for dtype in ("float32", "float16"):
        for score in (0.05, 0.3, -1):
            suppress("V5", sigma=sigma, score=score, most=30, dtype=dtype, name="soft " + dtype)
            suppress("V5", sigma=sigma, score=score, most=30, scores=ties, dtype=dtype, name="soft ties " + dtype)
suppress("V5", sigma=-0.5, refuse=True, name="sigma")
cases.add("NonMaxSuppressionV3", {"boxes": (spread, tf.half), "scores": (scores, tf.half), "max_output_size": np.int32(9), "iou_threshold": F(0.3),
                                  "score_threshold": F(0.1)}, name="thresholds of their own")
cases.add("NonMaxSuppressionV2", {"boxes": F(spread), "scores": F(scores), "max_output_size": np.int32(9), "iou_threshold": np.float16(0.3)})

shares = rng.uniform(-0.5, 1.5, (12, 12))
for name, overlaps, some, threshold, least, most in (
        ("", shares, scores[:12], 0.6, 0.1, 5), ("all", shares, scores[:12], 2, -1, 100), ("negative", shares, scores[:12], -0.2, -1, 100),
        ("NaN", np.where(shares > 0.8, np.nan, shares), scores[:12], 0.5, 0, 100), ("ties", shares, ties[:12], 0.6, 0.1, 5),
        ("NaN and scores below 0", np.where(shares > 0.8, np.nan, shares), scores[:12] - 0.5, 0.5, -1, 100), ("none", shares[:0, :0], [], 0.5, 0, 5)):
    cases.add("NonMaxSuppressionWithOverlaps", {"overlaps": F(overlaps), "scores": F(some), "max_output_size": np.int32(most),
                                                "overlap_threshold": F(threshold), "score_threshold": F(least)}, name=name)
cases.add("NonMaxSuppressionWithOverlaps", {"overlaps": F(shares[:3]), "scores": F(scores[:3]), "max_output_size": np.int32(5), "overlap_threshold": F(0),
                                            "score_threshold": F(0)}, refuse=True)


def combine(boxes, scores, per_class=4, total=9, iou=0.3, score=0.2, refuse=False, name="", **attrs):
    cases.add("CombinedNonMaxSuppression", {"boxes": F(boxes), "scores": F(scores), "max_output_size_per_class": np.int32(per_class),
                                            "max_total_size": np.int32(total), "iou_threshold": F(iou), "score_threshold": F(score)}, attrs, refuse=refuse,
              name=name)


many = rng.permutation(2 * 20 * 3).reshape(2, 20, 3) / 120.0
wide = spread.reshape(2, 20, 1, 4) * 1.2 - 0.1
per_class = np.concatenate([wide, wide[:, ::-1], wide + 0.05], 2)
for boxes in (wide, per_class):
    for attrs in ({}, {"pad_per_class": True}, {"clip_boxes": False}):
        for more in ({}, {"per_class": 1}, {"total": 100}, {"total": 2}, {"per_class": 100, "total": 100, "iou": 1, "score": -1}, {"score": 0.97}, {"iou": 0}):
            combine(boxes, many, **more, **attrs)
combine(wide[:, :0], many[:, :0], name="no boxes")
combine(wide[:0], many[:0], name="no images")
for name, more in (("per class", dict(per_class=0)), ("total", dict(total=0)), ("iou", dict(iou=1.1)), ("vector", dict(score=[0.5]))):
    combine(wide, many, refuse=True, name=name, **more)
for name, a, b in (("rank", wide[0], many), ("scores", wide, many[0]), ("columns", wide[..., :3], many), ("boxes", wide[:, :5], many),
                   ("classes", per_class[:, :, :2], many), ("batch", wide[:1], many)):
    combine(a, b, refuse=True, name=name)
cases.write()
