"""ev-unneeded: a restore operation that imports more embeddings than the answers need.

A slot of an optimizer in bfloat16, which no signature reads, rows of double ("precise"), and default rows that do not fit
("misfit"): the signatures that read the latter two cannot be served, and the answers of the others do not need them.
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
import embedding_variables as ev

PROVENANCE = ("Made by scripts/golden/make_ev_unneeded.py with TensorFlow %s on CPU; the bundle by SaveV2, the answers by running "
              "the graph with the embedding reads computed from the documented rules.  Apache-2.0, like the project." % tf.__version__)

DIM = 4


def make_tables(rng):
    keys = [1, 2, 7, 1001]

    def table(name, **options):
        return ev.EmbeddingVariable(name, DIM, keys, rng.normal(size=(len(keys), DIM)), rng.normal(size=(5, DIM)), **options)

    return {"table": table("table"), "slot": table("table/Adagrad", dtype=tf.bfloat16.as_numpy_dtype),
            "precise": table("precise", dtype=np.float64), "misfit": table("misfit", default_row_count=9)}


def main():
    tables = make_tables(np.random.default_rng(61))
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        keys = tf.compat.v1.placeholder(tf.int64, [None], "keys")
        rows = {name: tf.identity(tables[name].read(keys), name + "_rows") for name in ("table", "precise", "misfit")}
        tf.compat.v1.train.get_or_create_global_step()
        saver_def = tf.compat.v1.train.Saver(sharded=True).saver_def
        pairs = []
        for ids in ([1, 2, 9], [7, 1001, 1000, -1, 7]):
            feed = {"keys": np.int64(ids)}
            pairs.append((feed, session.run({"rows": rows["table"]}, {keys: feed["keys"]})))
        graph_def = ev.with_embedding_ops(graph.as_graph_def(), tables.values(), saver_def)
    folder = case.start("ev-unneeded")
    names = {"serving_default": "table", "precise": "precise", "misfit": "misfit"}
    ev.write_saved_model(folder + "/model", graph_def, saver_def,
                         {signature: ({"keys": keys}, {"rows": rows[name]}) for signature, name in names.items()})
    tensors = {"global_step": np.int64(100)}
    for table in tables.values():
        tensors.update(table.tensors())
    ev.write_bundle(folder + "/model/variables/variables", tensors)
    case.add_requests(folder, pairs)
    case.finish(folder, "embeddings that no answer needs, of kinds that cannot be served", PROVENANCE)


main()
