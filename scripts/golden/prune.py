"""Makes a SavedModel small."""
from tensorflow.core.protobuf import saved_model_pb2

# What a graph of TensorFlow 1 keeps for Python alone: how to go on building and training it.
FOR_PYTHON = ("cond_context", "while_context", "trainable_variables", "train_op", "summaries", "model_variables", "moving_average_variables")


def prune(path, shapes=False, implementations=False):
    """Leaves out what serves nobody who only runs the graph: functions that nothing calls (Keras keeps several forms of each
    layer), definitions of operators, collections for Python, and notes about shapes but where they matter.

    implementations: those functions stay that do the same as one that is called.
    """
    model = saved_model_pb2.SavedModel()
    model.ParseFromString(open(path, "rb").read())
    for meta in model.meta_graphs:
        meta.meta_info_def.ClearField("stripped_op_list")
        for name in FOR_PYTHON:
            meta.collection_def.pop(name, None)
        _prune_graph(meta.graph_def, shapes, implementations)
    open(path, "wb").write(model.SerializeToString(deterministic=True))


def _prune_graph(graph, shapes, implementations):
    functions = {f.signature.name: f for f in graph.library.function}
    called, waiting = {}, [graph.node]
    while waiting:
        for node in waiting.pop():
            if not shapes:
                node.attr.pop("_output_shapes", None)
            node.ClearField("experimental_debug_info")
            for attr in node.attr.values():
                for function in [attr.func, *attr.list.func]:
                    if function.name in functions and function.name not in called:
                        called[function.name] = functions[function.name]
                        waiting.append(called[function.name].node_def)
    interfaces = {f.attr["api_implements"].s for f in called.values() if "api_implements" in f.attr}
    for function in functions.values():
        if implementations and "api_implements" in function.attr and function.attr["api_implements"].s in interfaces:
            called.setdefault(function.signature.name, function)
    for function in called.values():
        for name in [name for name in function.attr if name.startswith("_")]:
            del function.attr[name]
        function.arg_attr.clear()
    graph_functions = sorted(called.values(), key=lambda f: f.signature.name)
    kept = [type(f).FromString(f.SerializeToString(deterministic=True)) for f in graph_functions]
    del graph.library.function[:]
    graph.library.function.extend(kept)
