"""Makes a SavedModel small."""
from tensorflow.core.protobuf import saved_model_pb2


def prune(path, shapes=False, implementations=False):
    """Leaves the functions out that nothing calls (Keras keeps several forms of each layer), and notes about shapes but where they matter.

    implementations: those stay that do the same as one that is called.
    """
    model = saved_model_pb2.SavedModel()
    model.ParseFromString(open(path, "rb").read())
    graph = model.meta_graphs[0].graph_def
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
    del graph.library.function[:]
    graph.library.function.extend(called.values())
    open(path, "wb").write(model.SerializeToString())
