"""Optionals of tensors.

tf2-containers        optionals through conditions and loops
tf2-container-errors  what may go wrong with them, one of it per request
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import answers

PROVENANCE = ("Made by scripts/golden/make_containers.py with TensorFlow %s on CPU; answers by TensorFlow's session.  "
              "Apache-2.0, like the project." % tf.__version__)

raw = tf.raw_ops
f32, i64, text, variant = tf.float32, tf.int64, tf.string, tf.variant


def value_of(optional, types, shapes=None):
    return raw.OptionalGetValue(optional=optional, output_types=types, output_shapes=shapes or [None] * len(types))


def optionals(x, words, out):
    several = raw.OptionalFromValue(components=[x, words, tf.size(x)])
    out["optional_x"], out["optional_words"], out["optional_size"] = value_of(several, [f32, text, tf.int32], [[None], [None], []])
    out["has"] = raw.OptionalHasValue(optional=several)
    out["has_none"] = raw.OptionalHasValue(optional=raw.OptionalNone())
    # There or not, as the request will have it.
    maybe = tf.cond(tf.size(x) > 3, lambda: raw.OptionalFromValue(components=[x * 2.0]), lambda: raw.OptionalNone())
    out["maybe"] = raw.OptionalHasValue(optional=maybe)
    out["maybe_x"] = tf.cond(out["maybe"], lambda: value_of(maybe, [f32], [[None]])[0], lambda: x[:1])
    # An optional in an optional, and through a loop.
    nested = raw.OptionalFromValue(components=[maybe, several])
    out["nested"] = value_of(value_of(nested, [variant, variant])[1], [f32, text, tf.int32])[1]
    last = tf.while_loop(lambda i, o: i < tf.size(x),
                         lambda i, o: (i + 1, raw.OptionalFromValue(components=[value_of(o, [f32], [[None]])[0][:3] + x[i]])),
                         [0, raw.OptionalFromValue(components=[x])])[1]
    out["last"] = value_of(last, [f32], [[None]])[0]


def branches(x, i):
    """x [4] float32, i scalar int32.  Each is fine for i = 2 and some are wrong for another."""
    optional = tf.cond(i > 2, lambda: raw.OptionalNone(), lambda: raw.OptionalFromValue(components=[x]))
    wrong = tf.cond(i > 2, lambda: raw.OptionalFromValue(components=[i]), lambda: optional)
    two = tf.cond(i > 2, lambda: raw.OptionalFromValue(components=[x, x]), lambda: optional)

    def above(good, other):
        return tf.cond(i > 2, lambda: other, lambda: good)

    a_list = raw.TensorListFromTensor(tensor=x, element_shape=np.zeros(0, np.int32))
    return [
        lambda: tf.reduce_sum(value_of(optional, [f32])[0]),
        lambda: tf.reduce_sum(value_of(wrong, [f32])[0]),
        lambda: tf.reduce_sum(value_of(two, [f32])[0]),
        lambda: tf.reduce_sum(value_of(raw.OptionalFromValue(components=[x[:i]]), [f32], [[2]])[0]),
        lambda: tf.cast(raw.OptionalHasValue(optional=above(optional, a_list)), f32),
        lambda: tf.cast(raw.TensorListLength(input_handle=above(a_list, optional)), f32),
    ]


@tf.function(input_signature=[tf.TensorSpec([None], f32, "x"), tf.TensorSpec([None], text, "words")], autograph=False)
def serve(x, words):
    out = {}
    optionals(x, words, out)
    return out


@tf.function(input_signature=[tf.TensorSpec([None], f32, "x"), tf.TensorSpec([], tf.int32, "i"),
                              tf.TensorSpec([], tf.int32, "which")], autograph=False)
def serve_errors(x, i, which):
    return {"y": tf.switch_case(which, branches(x, i))}


def containers():
    folder = case.start("tf2-containers")
    case.save_function(folder, serve)
    rng = np.random.default_rng(47)
    feeds = [{"x": rng.normal(size=n).astype("f4"),
              "words": case.strings(rng.choice(np.array(["a", "bc", "", "\u00fc"], object), m))} for n, m in ((4, 3), (2, 7), (5, 1), (3, 4))]
    case.add_requests(folder, answers(folder + "/model", feeds))
    case.finish(folder, "optionals through conditions and loops", PROVENANCE)


def container_errors():
    folder = case.start("tf2-container-errors")
    case.save_function(folder, serve_errors)
    case.add_tried(folder, [{"x": np.float32([0.5, 2, -1, 4]), "i": np.int32(i), "which": np.int32(which)}
                            for which in range(len(branches(tf.zeros(4), tf.constant(2)))) for i in (2, 1, 3)])
    case.finish(folder, "optionals refuse what TensorFlow refuses", PROVENANCE, extra={"errors": "errors"})


containers()
container_errors()
