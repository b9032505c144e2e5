"""tf2-anonymous-tables: lookup tables that nobody but their handle knows, read in functions, conditions and loops.

The objects' loader answers: a session makes a new table each time it runs.
"""
import os
import shutil

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import function_answers
from prune import prune

PROVENANCE = ("Made by scripts/golden/make_anonymous_tables.py with TensorFlow %s on CPU; answers by tf.saved_model.load.  "
              "Apache-2.0, like the project." % tf.__version__)


class Tables(tf.Module):
    def __init__(self):
        super().__init__()
        kinds, anonymous = (tf.string, tf.int64), {"experimental_is_anonymous": True}
        initializer = tf.lookup.KeyValueTensorInitializer(["a", "bc", "d"], [1, 2, 3], *kinds)
        self.static = tf.lookup.StaticHashTable(initializer, -1, **anonymous)
        self.other = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1, 2, 3], ["x", "y", ""], tf.int64, tf.string),
                                               "none", **anonymous)
        self.mutable = tf.lookup.experimental.MutableHashTable(*kinds, -5, **anonymous)
        self.mutable.insert(tf.constant(["a", "d", "e"]), tf.constant([10, 20, 30], tf.int64))
        self.mutable.remove(tf.constant(["d"]))
        self.rows = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, [0.5, -0.5], **anonymous)
        self.rows.insert(tf.constant(["a", "e"]), tf.constant([[1.0, 2.0], [3.0, 4.0]]))
        self.dense = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, [-1.0, -2.0], -1, -2, initial_num_buckets=16,
                                                           **anonymous)
        self.dense.insert(tf.constant([5, 6], tf.int64), tf.constant([[7.0, 8.0], [9.0, 10.0]]))

    @tf.function
    def inner(self, words):
        return tf.cond(tf.size(words) > 2, lambda: self.static.lookup(words), lambda: self.static.lookup(words) * 2)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "words"), tf.TensorSpec([None], tf.int64, "ids")])
    def serve(self, words, ids):
        return {"static": self.static.lookup(words), "inner": self.inner(words), "other": self.other.lookup(self.static.lookup(words)),
                "mapped": tf.map_fn(self.static.lookup, words, fn_output_signature=tf.int64),
                "mutable": self.mutable.lookup(words), "rows": self.rows.lookup(words), "dense": self.dense.lookup(ids),
                "sizes": tf.stack([self.static.size(), self.other.size(), self.mutable.size(), self.rows.size(), self.dense.size()])}


folder = case.start("tf2-anonymous-tables")
module = Tables()
tf.saved_model.save(module, folder + "/model", signatures=module.serve)
os.remove(folder + "/model/fingerprint.pb")
shutil.rmtree(folder + "/model/assets", ignore_errors=True)
feeds = [{"words": case.strings(words), "ids": np.int64(ids)} for words, ids in
         ((["a", "e", "d", "zz", ""], [5, 7, 6]), (["bc"], []), (["d", "e"], [6, 6, 5, 0]), ([], [5]))]
case.add_requests(folder, function_answers(folder + "/model", feeds))
prune(folder + "/model/saved_model.pb")  # takes the functions that the objects' loader needs
case.finish(folder, "anonymous tables of all kinds in functions, conditions and loops", PROVENANCE)
