"""Makes tests/golden/saved_models with TensorFlow 2.15: small, but with all parts.

Also the corpus of the fuzz target for saved_model.pb.

    python scripts/make_saved_model_fixtures.py
"""
import os
import shutil
import sys
import tempfile

if set(sys.argv[1:]) & {"-h", "--help", "help"}:
    sys.exit(print(__doc__))

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf
from tensorflow.core.framework.graph_pb2 import GraphDef
from tensorflow.core.protobuf.meta_graph_pb2 import AssetFileDef, MetaGraphDef
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

v1 = tf.compat.v1
HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "tests", "golden", "saved_models")


def fresh(name):
    path = os.path.join(GOLDEN, name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def vocabulary(folder):
    path = os.path.join(folder, "words.txt")
    with open(path, "w") as out:
        out.write("red\ngreen\nblue\n")
    return path


def first_generation(folder):
    """Two metagraphs, a partitioned variable, a table that an asset fills, two signatures."""
    builder = v1.saved_model.Builder(fresh("v1"))
    with v1.Graph().as_default(), v1.Session() as session:
        words = v1.placeholder(tf.string, [None], name="words")
        table = v1.lookup.StaticVocabularyTable(
            v1.lookup.TextFileInitializer(vocabulary(folder), tf.string, v1.lookup.TextFileIndex.WHOLE_LINE,
                                          tf.int64, v1.lookup.TextFileIndex.LINE_NUMBER), 1)
        weights = v1.get_variable("weights", initializer=tf.range(8.0) / 4,
                                  partitioner=v1.fixed_size_partitioner(2), use_resource=False)
        ids = tf.identity(table.lookup(words), name="ids")
        scores = tf.identity(tf.gather(tf.convert_to_tensor(weights), ids), name="scores")
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        info = v1.saved_model.build_tensor_info
        signature = v1.saved_model.build_signature_def
        predict = "tensorflow/serving/predict"
        builder.add_meta_graph_and_variables(
            session, ["train"], signature_def_map={"train": signature({}, {}, predict)})
        builder.add_meta_graph(
            ["serve"],
            signature_def_map={
                "serving_default": signature({"words": info(words)}, {"scores": info(scores)}, predict),
                "ids": signature({"words": info(words)}, {"ids": info(ids)}, predict)},
            assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
            main_op=v1.tables_initializer())
        builder.save()


class Second(tf.Module):
    """A variable, a table filled from an asset, functions that call functions, If and While."""

    def __init__(self, folder):
        super().__init__()
        self.weights = tf.Variable(tf.range(4.0) / 4, name="weights")
        self.table = tf.lookup.StaticVocabularyTable(
            tf.lookup.TextFileInitializer(vocabulary(folder), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE,
                                          tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), 1)

    @tf.function
    def halve_until_small(self, x):
        return tf.while_loop(lambda v: tf.reduce_max(v) > 1.0, lambda v: [v / 2], [x])[0]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "words"),
                                  tf.TensorSpec([], tf.bool, "small")])
    def score(self, words, small):
        scores = tf.gather(self.weights, self.table.lookup(words))
        scores = tf.cond(small, lambda: self.halve_until_small(scores), lambda: scores)
        return {"scores": scores, "count": tf.size(words)}


def second_generation(folder):
    module = Second(folder)
    tf.saved_model.save(module, fresh("v2"), signatures=module.score)
    for extra in ("fingerprint.pb", "assets.extra"):
        path = os.path.join(GOLDEN, "v2", extra)
        if os.path.isfile(path):
            os.remove(path)


def corpus_file(name, meta, more=b""):
    """A SavedModel of one metagraph, with further bytes at the metagraph's end."""
    meta.meta_info_def.tags.append("serve")
    data = SavedModel(saved_model_schema_version=1).SerializeToString()
    inner = meta.SerializeToString() + more
    size, rest = b"", len(inner)
    while rest > 127:
        size, rest = size + bytes([rest & 127 | 128]), rest >> 7
    folder = os.path.join(HERE, "..", "tests", "fuzz", "corpus", "saved_model")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as out:
        out.write(data + b"\x12" + size + bytes([rest]) + inner)


def attributes():
    """Every kind of attribute, alone and in lists."""
    meta = MetaGraphDef()
    node = meta.graph_def.node.add(name="n", op="Op", input=["a", "b:1", "^c"])
    node.attr["s"].s = b"text"
    node.attr["i"].i = -1
    node.attr["f"].f = 0.5
    node.attr["b"].b = True
    node.attr["type"].type = 101
    node.attr["shape"].shape.dim.add().size = -1
    node.attr["rank"].shape.unknown_rank = True
    for name, value in (("content", [1, 2, 3]), ("splat", 7), ("texts", ["a", "bc"]), ("half", 0.5)):
        tensor = tf.make_tensor_proto(value, tf.half if name == "half" else None)
        node.attr[name].tensor.CopyFrom(tensor)
        node.attr["tensors"].list.tensor.add().CopyFrom(tensor)
    node.attr["placeholder"].placeholder = "T"
    node.attr["func"].func.name = "f"
    node.attr["func"].func.attr["T"].type = 1
    node.attr["ss"].list.s.extend([b"x", b""])
    node.attr["is"].list.i.extend([1, 300])
    node.attr["fs"].list.f.append(1)
    node.attr["bs"].list.b.extend([True, False])
    node.attr["types"].list.type.extend([1, 3])
    node.attr["shapes"].list.shape.add().dim.add().size = 4
    node.attr["funcs"].list.func.add().name = "g"
    corpus_file("attributes", meta)


def functions():
    meta = MetaGraphDef()
    function = meta.graph_def.library.function.add()
    function.signature.name = "f"
    function.signature.input_arg.add(name="x", type=1)
    function.signature.input_arg.add(name="y", type_attr="T")
    function.signature.output_arg.add(name="b", type=1)
    function.signature.output_arg.add(name="a", type=3)
    function.node_def.add(name="n", op="Add", input=["x", "y"])
    function.ret["a"] = "n:z:0"
    function.ret["b"] = "x"
    function.control_ret["done"] = "n"
    function.attr["_x"].i = 1
    meta.graph_def.node.add(name="call", op="PartitionedCall")
    corpus_file("functions", meta)


def surroundings():
    """Signatures, savers (DeepRec's too, in field 8), init operations, assets in both forms."""
    meta = MetaGraphDef(graph_def=GraphDef())
    signature = meta.signature_def["serving_default"]
    signature.method_name = "tensorflow/serving/predict"
    signature.inputs["x"].name = "x:0"
    signature.inputs["x"].dtype = 1
    signature.inputs["x"].tensor_shape.dim.add().size = -1
    signature.inputs["sparse"].coo_sparse.values_tensor_name = "v:0"
    signature.outputs["y"].name = "y:0"
    meta.signature_def["__saved_model_init_op"].outputs["__saved_model_init_op"].name = "init"
    meta.saver_def.filename_tensor_name = "save/Const:0"
    meta.saver_def.restore_op_name = "save/restore_all"
    meta.collection_def["saved_model_main_op"].node_list.value.append("main")
    asset = AssetFileDef(filename="words.txt")
    asset.tensor_info.name = "asset:0"
    meta.collection_def["saved_model_assets"].any_list.value.add().Pack(asset)
    saver = meta.saver_def.SerializeToString()
    corpus_file("surroundings", meta, b"\x42" + bytes([len(saver)]) + saver)
    meta.ClearField("meta_info_def")
    meta.asset_file_def.add().CopyFrom(asset)
    del meta.signature_def["__saved_model_init_op"]
    corpus_file("assets", meta)


attributes()
functions()
surroundings()
with tempfile.TemporaryDirectory() as folder:
    first_generation(folder)
    second_generation(folder)
