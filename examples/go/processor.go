package main

/*
#cgo pkg-config: serving_processor
#include <stdlib.h>
#include <time.h>
#include <serving_processor.h>

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}
*/
import "C"

import (
	"context"
	"fmt"
	"time"
	"unsafe"
)

// Error is a failure as the library tells it.
type Error struct {
	Code int // serving_processor_code
	Text string
}

func (e *Error) Error() string { return e.Text }

// takeError frees an error of the library's.
func takeError(cause *C.serving_processor_error) error {
	defer C.serving_processor_error_free(cause)
	return &Error{int(C.serving_processor_error_code(cause)), C.GoString(C.serving_processor_error_text(cause))}
}

// Model may be used by any goroutine, several at once.
type Model struct{ model unsafe.Pointer }

// Open opens the model of a configuration; the caller closes it.
func Open(config string) (*Model, error) {
	if abi := C.serving_processor_abi(); abi != C.SERVING_PROCESSOR_ABI {
		return nil, fmt.Errorf("the library has the ABI %d, not %d", abi, C.SERVING_PROCESSOR_ABI)
	}
	text := C.CString(config)
	defer C.free(unsafe.Pointer(text))
	var cause *C.serving_processor_error
	model := C.serving_processor_create(text, &cause)
	if model == nil {
		return nil, takeError(cause)
	}
	return &Model{model}, nil
}

// Close is the last call: no goroutine uses the model, and all handles are released.
func (m *Model) Close() {
	C.serving_processor_destroy(m.model)
	m.model = nil
}

// Version is the live one.
func (m *Model) Version() int64 {
	var full, delta C.int64_t
	C.serving_processor_model_version(m.model, &full, &delta)
	return int64(full)
}

// Process forwards a serialized PredictRequest.  The answer to status 200 is a serialized PredictResponse, to any other
// the reason.
func (m *Model) Process(request []byte) (status int, answer []byte) {
	var data, input unsafe.Pointer
	var size C.int
	if len(request) > 0 {
		input = unsafe.Pointer(&request[0])
	}
	status = int(C.process(m.model, input, C.int(len(request)), &data, &size))
	defer C.serving_processor_free(data)
	return status, C.GoBytes(data, size)
}

// Handle holds a version in memory until it is released.  Goroutines may share it.
type Handle struct{ handle *C.serving_processor_handle }

// Acquire holds the live version.
func (m *Model) Acquire() *Handle { return &Handle{C.serving_processor_acquire(m.model)} }

// Release ends the hold; all runs are done.
func (h *Handle) Release() {
	C.serving_processor_release(h.handle)
	h.handle = nil
}

// Version is the held one.
func (h *Handle) Version() int64 {
	var full, delta C.int64_t
	C.serving_processor_handle_version(h.handle, &full, &delta)
	return int64(full)
}

// Input is what a signature takes.
type Input struct{ Name, Type string }

// Inputs are those of the configured signature.
func (h *Handle) Inputs() []Input {
	signature := C.serving_processor_handle_signature(h.handle, nil)
	var inputs []Input
	for _, info := range unsafe.Slice(signature.inputs, signature.input_count) {
		inputs = append(inputs, Input{C.GoString(info.alias), C.GoString(C.serving_processor_dtype_name(info.dtype))})
	}
	return inputs
}

// Tensor is dense and row-major.  Data is []float32, []float64, []int32, []int64 or []string.
type Tensor struct {
	Dims []int64
	Data any
}

// Run runs the configured signature, until the deadline of ctx at most.
func (h *Handle) Run(ctx context.Context, inputs map[string]Tensor) (map[string]Tensor, error) {
	var memory cMemory
	defer memory.free()
	tensors, err := memory.tensors(inputs)
	if err != nil {
		return nil, err
	}
	options := C.serving_processor_run_options{size: C.sizeof_serving_processor_run_options}
	if deadline, ok := ctx.Deadline(); ok {
		options.deadline_ns = C.now_ns() + C.int64_t(time.Until(deadline))
	}
	var result *C.serving_processor_result
	var cause *C.serving_processor_error
	if C.serving_processor_handle_run_with(h.handle, nil, tensors, C.size_t(len(inputs)), nil, 0, &options, &result,
		&cause) != C.SERVING_PROCESSOR_OK {
		return nil, takeError(cause)
	}
	defer C.serving_processor_result_free(result)
	return copyResult(result)
}

// cMemory is what a request points to: C may not be handed structures that point to Go's memory.
type cMemory struct{ blocks []unsafe.Pointer }

func (m *cMemory) free() {
	for _, block := range m.blocks {
		C.free(block)
	}
}

// copyIn copies values to C's memory, which is zeroed before, as it must be where values have pointers.
func copyIn[T any](m *cMemory, values []T) *T {
	var value T
	block := C.calloc(C.size_t(len(values))+1, C.size_t(unsafe.Sizeof(value)))
	if block == nil {
		panic("out of memory")
	}
	m.blocks = append(m.blocks, block)
	copy(unsafe.Slice((*T)(block), len(values)), values)
	return (*T)(block)
}

func (m *cMemory) tensors(inputs map[string]Tensor) (*C.serving_processor_tensor, error) {
	var tensors []C.serving_processor_tensor
	for name, input := range inputs {
		var tensor C.serving_processor_tensor
		tensor.name = (*C.char)(unsafe.Pointer(copyIn(m, append([]byte(name), 0))))
		tensor.rank = C.int(len(input.Dims))
		tensor.dims = (*C.int64_t)(copyIn(m, input.Dims))
		if err := m.setData(&tensor, input.Data); err != nil {
			return nil, fmt.Errorf("input %q: %w", name, err)
		}
		tensors = append(tensors, tensor)
	}
	return copyIn(m, tensors), nil
}

// setData sets type, count and data; the library compares the count with the dims.
func (m *cMemory) setData(tensor *C.serving_processor_tensor, data any) error {
	set := func(dtype, count int, data unsafe.Pointer) {
		tensor.dtype, tensor.count, tensor.data = C.int(dtype), C.size_t(count), data
	}
	switch values := data.(type) {
	case []float32:
		set(C.SERVING_PROCESSOR_FLOAT, len(values), unsafe.Pointer(copyIn(m, values)))
	case []float64:
		set(C.SERVING_PROCESSOR_DOUBLE, len(values), unsafe.Pointer(copyIn(m, values)))
	case []int32:
		set(C.SERVING_PROCESSOR_INT32, len(values), unsafe.Pointer(copyIn(m, values)))
	case []int64:
		set(C.SERVING_PROCESSOR_INT64, len(values), unsafe.Pointer(copyIn(m, values)))
	case []string:
		views := make([]C.serving_processor_bytes, len(values))
		for i, value := range values {
			views[i].data = (*C.char)(unsafe.Pointer(copyIn(m, []byte(value))))
			views[i].size = C.size_t(len(value))
		}
		set(C.SERVING_PROCESSOR_STRING, len(values), unsafe.Pointer(copyIn(m, views)))
	default:
		return fmt.Errorf("%T is no type of tensors", data)
	}
	return nil
}

func copyResult(result *C.serving_processor_result) (map[string]Tensor, error) {
	outputs := map[string]Tensor{}
	for i := C.size_t(0); i < C.serving_processor_result_count(result); i++ {
		tensor := C.serving_processor_result_tensor(result, i)
		name := C.GoString(tensor.name)
		data, err := copyData(tensor)
		if err != nil {
			return nil, fmt.Errorf("output %q: %w", name, err)
		}
		outputs[name] = Tensor{copyOut[int64](unsafe.Pointer(tensor.dims), C.size_t(tensor.rank)), data}
	}
	return outputs, nil
}

func copyOut[T any](data unsafe.Pointer, count C.size_t) []T {
	return append([]T{}, unsafe.Slice((*T)(data), count)...)
}

func copyData(tensor *C.serving_processor_tensor) (any, error) {
	switch tensor.dtype {
	case C.SERVING_PROCESSOR_FLOAT:
		return copyOut[float32](tensor.data, tensor.count), nil
	case C.SERVING_PROCESSOR_DOUBLE:
		return copyOut[float64](tensor.data, tensor.count), nil
	case C.SERVING_PROCESSOR_INT32:
		return copyOut[int32](tensor.data, tensor.count), nil
	case C.SERVING_PROCESSOR_INT64:
		return copyOut[int64](tensor.data, tensor.count), nil
	case C.SERVING_PROCESSOR_STRING:
		values := []string{}
		for _, view := range unsafe.Slice((*C.serving_processor_bytes)(tensor.data), tensor.count) {
			values = append(values, C.GoStringN(view.data, C.int(view.size)))
		}
		return values, nil
	}
	return nil, fmt.Errorf("the type %s is not taken here", C.GoString(C.serving_processor_dtype_name(tensor.dtype)))
}
