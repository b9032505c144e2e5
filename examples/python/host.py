#!/usr/bin/python3
"""A host in Python: ctypes, NumPy arrays in and out.

    host.py LIBRARY REQUEST.pb CONFIG.json

LIBRARY is the path of libserving_processor.so.  The classes are what a host of your own needs; main() plays the scene
that ../README.md tells.
"""
import concurrent.futures
import ctypes
import pathlib
import sys
import time
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p

import numpy as np

ABI = 1
STRING = 7
DTYPES = {1: np.float32, 2: np.float64, 3: np.int32, 4: np.uint8, 5: np.int16, 6: np.int8, 8: np.complex64, 9: np.int64,
          10: np.bool_, 17: np.uint16, 18: np.complex128, 19: np.float16, 22: np.uint32, 23: np.uint64}
NUMBERS = {np.dtype(dtype): number for number, dtype in DTYPES.items()}


class Bytes(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class Tensor(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int), ("rank", c_int), ("dims", POINTER(c_int64)), ("count", c_size_t),
                ("data", c_void_p)]


class TensorInfo(ctypes.Structure):
    _fields_ = [("alias", c_char_p), ("tensor_name", c_char_p), ("dtype", c_int), ("rank", c_int),
                ("dims", POINTER(c_int64))]


class Signature(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("method", c_char_p), ("inputs", POINTER(POINTER(TensorInfo))),
                ("input_count", c_size_t), ("outputs", POINTER(POINTER(TensorInfo))), ("output_count", c_size_t)]


class RunOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("deadline_ns", c_int64), ("cancelled", c_void_p)]


# Without its types a function's pointers are cut to 32 bits.
FUNCTIONS = {
    "abi": (c_int,),
    "create": (c_void_p, c_char_p, POINTER(c_void_p)),
    "destroy": (None, c_void_p),
    "free": (None, c_void_p),
    "error_code": (c_int, c_void_p),
    "error_text": (c_char_p, c_void_p),
    "error_free": (None, c_void_p),
    "dtype_name": (c_char_p, c_int),
    "model_version": (c_int, c_void_p, POINTER(c_int64), POINTER(c_int64)),
    "acquire": (c_void_p, c_void_p),
    "release": (None, c_void_p),
    "handle_version": (c_int, c_void_p, POINTER(c_int64), POINTER(c_int64)),
    "handle_signature": (POINTER(Signature), c_void_p, c_char_p),
    "handle_run_with": (c_int, c_void_p, c_char_p, POINTER(Tensor), c_size_t, POINTER(c_char_p), c_size_t,
                        POINTER(RunOptions), POINTER(c_void_p), POINTER(c_void_p)),
    "result_count": (c_size_t, c_void_p),
    "result_tensor": (POINTER(Tensor), c_void_p, c_size_t),
    "result_free": (None, c_void_p),
}


class Error(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Library:
    """The functions of the header, without their prefix; and DeepRec's process()."""

    def __init__(self, path):
        library = ctypes.CDLL(path)
        for name, (result, *arguments) in FUNCTIONS.items():
            function = getattr(library, "serving_processor_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self.process = library.process
        self.process.argtypes = (c_void_p, c_char_p, c_int, POINTER(c_void_p), POINTER(c_int))
        if self.abi() != ABI:
            raise ImportError("%s has the ABI %d, not %d" % (path, self.abi(), ABI))

    def take(self, error):
        """The exception for an error of the library's, which is freed."""
        exception = Error(self.error_code(error), self.error_text(error).decode())
        self.error_free(error)
        return exception


class Model:
    """Any thread may use it, several at once; ctypes lets other threads run while the library does."""

    def __init__(self, library, config):
        error = c_void_p()
        self.library = library
        self.model = library.create(config.encode(), byref(error))
        if not self.model:
            raise library.take(error)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.library.destroy(self.model)  # the last call: all threads are done, all handles released
        self.model = None

    def version(self):
        full, delta = c_int64(), c_int64()
        self.library.model_version(self.model, byref(full), byref(delta))
        return full.value

    def process(self, request):
        """The status and the answer to a serialized PredictRequest: a PredictResponse, or else the reason."""
        data, size = c_void_p(), c_int()
        status = self.library.process(self.model, request, len(request), byref(data), byref(size))
        answer = ctypes.string_at(data, size.value)
        self.library.free(data)
        return status, answer


class Handle:
    """The version that is live now, held until the `with` ends.  Threads may share it."""

    def __init__(self, model):
        self.library = model.library
        self.handle = self.library.acquire(model.model)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.library.release(self.handle)
        self.handle = None

    def version(self):
        full, delta = c_int64(), c_int64()
        self.library.handle_version(self.handle, byref(full), byref(delta))
        return full.value

    def inputs(self):
        """The names and types that the configured signature takes."""
        signature = self.library.handle_signature(self.handle, None).contents
        infos = [signature.inputs[i].contents for i in range(signature.input_count)]
        return {info.alias.decode(): self.library.dtype_name(info.dtype).decode() for info in infos}

    def run(self, inputs, timeout):
        """Arrays by name to arrays by name.  Strings are str or bytes, and come back as bytes; timeout is in seconds."""
        kept = []  # what the tensors point to
        tensors = (Tensor * len(inputs))(*[to_tensor(name, array, kept) for name, array in inputs.items()])
        options = RunOptions(ctypes.sizeof(RunOptions), time.monotonic_ns() + int(timeout * 1e9), None)
        result, error = c_void_p(), c_void_p()
        if self.library.handle_run_with(self.handle, None, tensors, len(tensors), None, 0, byref(options), byref(result),
                                        byref(error)):
            raise self.library.take(error)
        try:
            outputs = [self.library.result_tensor(result, i).contents for i in range(self.library.result_count(result))]
            return {output.name.decode(): to_array(output) for output in outputs}
        finally:
            self.library.result_free(result)


def to_tensor(name, array, kept):
    """A view of the array; what it points to is added to `kept`."""
    array = np.asarray(array, order="C")
    if array.dtype.kind in "SU":
        array = array.astype(object)
    dims = (c_int64 * max(array.ndim, 1))(*array.shape)
    if array.dtype == object:
        words = [word.encode() if isinstance(word, str) else word for word in array.flat]
        data = (Bytes * max(len(words), 1))(*[Bytes(ctypes.cast(word, c_void_p), len(word)) for word in words])
        kept += [words, data]
        number, address = STRING, ctypes.addressof(data)
    elif array.dtype not in NUMBERS:
        raise TypeError("input '%s': a tensor of %s is not taken" % (name, array.dtype))
    else:
        kept.append(array)
        number, address = NUMBERS[array.dtype], array.ctypes.data
    return Tensor(name.encode(), number, array.ndim, dims, array.size, address)


def to_array(tensor):
    """A copy: the tensor is the result's, which is freed."""
    dims = [tensor.dims[i] for i in range(tensor.rank)]
    if tensor.dtype == STRING:
        words = ctypes.cast(tensor.data, POINTER(Bytes))
        views = [words[i] for i in range(tensor.count)]
        return np.array([ctypes.string_at(view.data, view.size) for view in views], object).reshape(dims)
    array = np.empty(dims, DTYPES[tensor.dtype])
    ctypes.memmove(array.ctypes.data, tensor.data, array.nbytes)
    return array


SAMPLE = {
    "user_id": np.array([7, 101]),
    "items": np.array([["item_3", "item_17"], ["item_5", ""]], object),
    "price": np.array([0.5, -1.25], np.float32),
}


def tell(*words):
    print(*words, flush=True)


def tell_failure(what, function, *arguments):
    try:
        function(*arguments)
    except Error as error:
        tell("%s: error %d: %s" % (what, error.code, error))


def ask_version(handle):
    tell("version", handle.version())
    tell("inputs", *["%s %s" % pair for pair in handle.inputs().items()])
    scores = handle.run(SAMPLE, 60)["score"]
    tell("score", *["%.4f" % score for score in scores])
    return scores


def ask_in_threads(handle, scores):
    def ask(_):
        return np.array_equal(handle.run(SAMPLE, 60)["score"], scores)

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        tell("4 threads:", sum(threads.map(ask, range(400))), "equal answers")


def await_version(model, version):
    tell("waiting for version", version)
    end = time.monotonic() + 60
    while model.version() != version and time.monotonic() < end:
        time.sleep(0.01)


def main():
    path, request_path, config_path = sys.argv[1:]
    library = Library(path)
    request = pathlib.Path(request_path).read_bytes()
    tell_failure("wrong configuration", Model, library, "{}")
    with Model(library, pathlib.Path(config_path).read_text()) as model:
        with Handle(model) as handle:
            scores = ask_version(handle)
            ask_in_threads(handle, scores)
            tell_failure("wrong input", handle.run, {**SAMPLE, "price": np.array([1, 2], np.int32)}, 60)
            tell_failure("late", handle.run, SAMPLE, 0)
        status, answer = model.process(request)
        tell("message: status %d, %d bytes" % (status, len(answer)))
        status, answer = model.process(request[:-1])
        tell("broken message: status %d: %s" % (status, answer.decode()))
        await_version(model, 2)
        with Handle(model) as handle:
            ask_version(handle)


if __name__ == "__main__":
    main()
