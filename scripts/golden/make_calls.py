"""Functions that are called in ways of their own.

tf2-calls  a function that TensorFlow batches over requests, branches for devices, calls in each other
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import answers

PROVENANCE = ("Made by scripts/golden/make_calls.py with TensorFlow %s on CPU, seeded random weights; answers by TensorFlow's "
              "session.  Apache-2.0, like the project." % tf.__version__)


class Module(tf.Module):
    def __init__(self, rng):
        self.kernel = tf.Variable(rng.normal(size=[3, 4]).astype("f4"))

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x")])
    def serve(self, x):
        @tf.nondifferentiable_batch_function(num_batch_threads=1, max_batch_size=64, batch_timeout_micros=100,
                                             allowed_batch_sizes=[4, 64])
        def batched(a, b):
            return tf.matmul(a, self.kernel), b + tf.reduce_sum(self.kernel)

        product, shifted = batched(x, x[:, 0])

        def on_gpu():
            # What only a GPU has; it is there and not used.
            params = tf.zeros([tf.raw_ops.CudnnRNNParamsSize(num_layers=1, num_units=4, input_size=3, T=tf.float32, S=tf.int32)[0]])
            return tf.raw_ops.CudnnRNNV2(input=x[:, None], input_h=tf.zeros([1, 1, 4]), input_c=tf.zeros([1, 1, 4]),
                                         params=params).output[:, 0]

        chosen = tf.__internal__.execute_fn_for_device(
            {"CPU": lambda: tf.tanh(tf.matmul(x, self.kernel)), "GPU": on_gpu}, lambda: tf.matmul(x, self.kernel))
        other = tf.__internal__.execute_fn_for_device(
            {"GPU": lambda: tf.zeros_like(x), "TPU": lambda: tf.ones_like(x)}, lambda: x * 2.0)
        return {"product": product, "shifted": shifted, "chosen": chosen, "other": other,
                "device": tf.raw_ops.DeviceIndex(device_names=["GPU", "CPU"]),
                "no_device": tf.raw_ops.DeviceIndex(device_names=["GPU", "TPU"])}


def tf2_calls():
    folder = case.start("tf2-calls")
    rng = np.random.default_rng(44)
    module = Module(rng)
    case.save(folder, module, module.serve)
    feeds = [{"x": rng.normal(size=(batch, 3)).astype("f4")} for batch in (1, 2, 7, 16)]
    case.add_requests(folder, answers(folder + "/model", feeds))
    case.finish(folder, "BatchFunction, and Case by DeviceIndex with a branch that only a GPU can run", PROVENANCE)


tf2_calls()
