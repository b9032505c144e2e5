"""Makes a model whose run is mostly matrix products, for compare_batching.py: dense layers of the sizes of DLRM's upper part, 11 MB of weights.

    PYTHON bench/host/make_mlp.py FOLDER

FOLDER/mlp has the form of a golden model, with one request of one row.
"""
import json
import os
import sys

if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help", "help"):
    sys.exit(print(sys.modules["__main__"].__doc__))

os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf

LAYERS = 479, 1024, 1024, 512, 256, 1


class Layers(tf.Module):
    def __init__(self):
        super().__init__()
        random = np.random.RandomState(1)
        self.weights = [tf.Variable((random.randn(a, b) / np.sqrt(a)).astype("f")) for a, b in zip(LAYERS, LAYERS[1:])]

    @tf.function(input_signature=[tf.TensorSpec([None, LAYERS[0]], tf.float32, name="x")])
    def score(self, x):
        for weight in self.weights[:-1]:
            x = tf.nn.relu(tf.matmul(x, weight))
        return {"score": tf.sigmoid(tf.matmul(x, self.weights[-1]))}


folder = os.path.join(sys.argv[1], "mlp")
os.makedirs(os.path.join(folder, "requests"))
model = Layers()
tf.saved_model.save(model, os.path.join(folder, "model"), signatures={"serving_default": model.score})
row = [round(float(value), 3) for value in np.random.RandomState(2).randn(LAYERS[0])]
with open(os.path.join(folder, "requests", "000.request.json"), "w") as file:
    json.dump({"inputs": {"x": [row]}}, file)
with open(os.path.join(folder, "case.json"), "w") as file:
    json.dump({"model_config": {"feature_store_type": "memory", "serialize_protocol": "protobuf", "model_store_type": "local",
                                "signature_name": "serving_default", "savedmodel_dir": "model"}}, file)
