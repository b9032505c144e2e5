"""tf2-implementations  functions that do the same in several manners, one of them for CPUs.

What one does and what another does differs here, so that the answer tells which was chosen.
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import answers

PROVENANCE = ("Made by scripts/golden/make_implementations.py with TensorFlow %s on CPU; answers by TensorFlow's session.  "
              "Apache-2.0, like the project." % tf.__version__)


def implementation(interface, device, number):
    def add(x):
        return x + number

    add.__name__ = "add_%s_%s" % (interface, device.lower() or "any")
    attributes = {"api_implements": interface, "api_preferred_device": device}
    return tf.function(add, experimental_attributes=attributes, autograph=False)


def family(interface, called, others):
    """A function that calls one; the others are in the library, too."""
    first = implementation(interface, *called)
    rest = [implementation(interface, *other) for other in others]

    def call(x):
        result = first(x)
        for other in rest:
            other.get_concrete_function(x).add_to_graph()
        return result

    return call


FAMILIES = {
    "any": family("any", ("", 1.0), [("GPU", 2.0), ("CPU", 4.0)]),
    "gpu": family("gpu", ("GPU", 1.0), [("CPU", 2.0), ("", 4.0)]),
    "cpu": family("cpu", ("CPU", 1.0), [("GPU", 2.0), ("", 4.0)]),
    "none": family("none", ("", 1.0), [("GPU", 2.0), ("TPU", 4.0)]),
}


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x"), tf.TensorSpec([], tf.int32, "n")], autograph=False)
def serve(x, n):
    out = {}
    for name, call in FAMILIES.items():
        inner = tf.function(lambda y, call=call: call(y) * 10.0, autograph=False)
        out[name] = call(x)
        out[name + "_in_call"] = inner(x)
        out[name + "_in_branch"] = tf.cond(n > 2, lambda call=call: call(x), lambda call=call: call(-x))
        out[name + "_in_loop"] = tf.while_loop(lambda i, y: i < n, lambda i, y, call=call: (i + 1, call(y)), (0, x))[1]
    return out


folder = case.start("tf2-implementations")
case.save_function(folder, serve, implementations=True)
feeds = [{"x": np.float32(x), "n": np.int32(n)} for x, n in (([0.5], 1), ([1, 2, -3], 4), ([], 3))]
pairs = answers(folder + "/model", feeds)
print({name: value.tolist() for name, value in pairs[0][1].items()})
case.add_requests(folder, pairs)
case.finish(folder, "of functions that implement the same, the one for CPUs is called", PROVENANCE)
