/*
 * The native methods of Model.java.
 *
 * Data is copied between Java's arrays and C's memory: a request is a few kilobytes, and the
 * garbage collector is never held up while a model runs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <serving_processor.h>

#include "Model.h"

static struct {
	jclass failure, tensor, answer, string;
	jmethodID new_failure, new_tensor, new_answer;
	jfieldID tensor_name, tensor_dtype, tensor_dims, tensor_data, tensor_sizes;
} java;

static jclass find_class(JNIEnv *env, const char *name)
{
	jclass local = (*env)->ExceptionCheck(env) ? NULL : (*env)->FindClass(env, name);

	return local != NULL ? (*env)->NewGlobalRef(env, local) : NULL;
}

static int find_members(JNIEnv *env)
{
#define METHOD(class, type) (*env)->GetMethodID(env, java.class, "<init>", type)
#define FIELD(name, type)   (*env)->GetFieldID(env, java.tensor, name, type)
	return (java.new_failure = METHOD(failure, "(I[B)V")) != NULL &&
	       (java.new_tensor = METHOD(tensor, "(Ljava/lang/String;I[JLjava/lang/Object;[I)V")) !=
		       NULL &&
	       (java.new_answer = METHOD(answer, "(I[B)V")) != NULL &&
	       (java.tensor_name = FIELD("name", "Ljava/lang/String;")) != NULL &&
	       (java.tensor_dtype = FIELD("dtype", "I")) != NULL &&
	       (java.tensor_dims = FIELD("dims", "[J")) != NULL &&
	       (java.tensor_data = FIELD("data", "Ljava/lang/Object;")) != NULL &&
	       (java.tensor_sizes = FIELD("sizes", "[I")) != NULL;
#undef METHOD
#undef FIELD
}

/* A name that is not found leaves an exception, which System.loadLibrary() throws. */
JNIEXPORT jint JNI_OnLoad(JavaVM *vm, void *reserved)
{
	JNIEnv *env;

	(void)reserved;
	if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK ||
	    serving_processor_abi() != SERVING_PROCESSOR_ABI)
		return JNI_ERR;
	java.failure = find_class(env, "Model$Failure");
	java.tensor = find_class(env, "Model$Tensor");
	java.answer = find_class(env, "Model$Answer");
	java.string = find_class(env, "java/lang/String");
	if ((*env)->ExceptionCheck(env) || !find_members(env))
		return JNI_ERR;
	return JNI_VERSION_1_8;
}

static jbyteArray new_bytes(JNIEnv *env, const void *data, size_t size)
{
	jbyteArray bytes = size <= INT32_MAX ? (*env)->NewByteArray(env, (jsize)size) : NULL;

	if (bytes != NULL)
		(*env)->SetByteArrayRegion(env, bytes, 0, (jsize)size, data);
	return bytes;
}

static void throw_failure(JNIEnv *env, serving_processor_code code, const char *text)
{
	jbyteArray bytes = new_bytes(env, text, strlen(text));
	jobject failure = NULL;

	if (bytes != NULL)
		failure = (*env)->NewObject(env, java.failure, java.new_failure, (jint)code, bytes);
	if (failure != NULL)
		(*env)->Throw(env, failure);
}

static void throw_error(JNIEnv *env, serving_processor_error *error)
{
	throw_failure(env, serving_processor_error_code(error),
		      serving_processor_error_text(error));
	serving_processor_error_free(error);
}

/* A copy of the array, followed by a NUL, in a block for free(); throws and returns NULL. */
static char *copy_bytes(JNIEnv *env, jbyteArray bytes, jsize *size)
{
	char *copy;

	*size = (*env)->GetArrayLength(env, bytes);
	copy = calloc((size_t)*size + 1, 1);
	if (copy == NULL)
		throw_failure(env, SERVING_PROCESSOR_NO_MEMORY, "out of memory");
	else
		(*env)->GetByteArrayRegion(env, bytes, 0, *size, (jbyte *)copy);
	return copy;
}

/* ------------------------------------------------------------------ models */

JNIEXPORT jlong JNICALL Java_Model_create(JNIEnv *env, jclass class, jbyteArray config)
{
	serving_processor_error *error = NULL;
	jsize size;
	char *text = copy_bytes(env, config, &size);
	void *model;

	(void)class;
	if (text == NULL)
		return 0;
	model = serving_processor_create(text, &error);
	free(text);
	if (model == NULL)
		throw_error(env, error);
	return (jlong)(intptr_t)model;
}

JNIEXPORT void JNICALL Java_Model_destroy(JNIEnv *env, jclass class, jlong model)
{
	(void)env, (void)class;
	serving_processor_destroy((void *)(intptr_t)model);
}

JNIEXPORT jlong JNICALL Java_Model_modelVersion(JNIEnv *env, jclass class, jlong model)
{
	int64_t full_step = -1, delta_step;

	(void)env, (void)class;
	serving_processor_model_version((void *)(intptr_t)model, &full_step, &delta_step);
	return full_step;
}

JNIEXPORT jobject JNICALL Java_Model_process(JNIEnv *env, jclass class, jlong model,
					     jbyteArray request)
{
	jsize request_size;
	char *copy = copy_bytes(env, request, &request_size);
	void *data = NULL;
	jbyteArray answer;
	int size = 0, status;

	(void)class;
	if (copy == NULL)
		return NULL;
	status = process((void *)(intptr_t)model, copy, request_size, &data, &size);
	free(copy);
	answer = new_bytes(env, data, (size_t)size);
	serving_processor_free(data);
	if (answer == NULL)
		return NULL;
	return (*env)->NewObject(env, java.answer, java.new_answer, (jint)status, answer);
}

/* ----------------------------------------------------------------- handles */

static serving_processor_handle *as_handle(jlong handle)
{
	return (serving_processor_handle *)(intptr_t)handle;
}

JNIEXPORT jlong JNICALL Java_Model_acquire(JNIEnv *env, jclass class, jlong model)
{
	(void)env, (void)class;
	return (jlong)(intptr_t)serving_processor_acquire((void *)(intptr_t)model);
}

JNIEXPORT void JNICALL Java_Model_release(JNIEnv *env, jclass class, jlong handle)
{
	(void)env, (void)class;
	serving_processor_release(as_handle(handle));
}

JNIEXPORT jlong JNICALL Java_Model_handleVersion(JNIEnv *env, jclass class, jlong handle)
{
	int64_t full_step = -1, delta_step;

	(void)env, (void)class;
	serving_processor_handle_version(as_handle(handle), &full_step, &delta_step);
	return full_step;
}

static void set_text(JNIEnv *env, jobjectArray texts, size_t i, const char *text)
{
	jstring string = (*env)->NewStringUTF(env, text);

	if (string != NULL)
		(*env)->SetObjectArrayElement(env, texts, (jsize)i, string);
	(*env)->DeleteLocalRef(env, string);
}

JNIEXPORT jobjectArray JNICALL Java_Model_handleInputs(JNIEnv *env, jclass class, jlong handle)
{
	const serving_processor_signature *signature = serving_processor_handle_signature(
		as_handle(handle), NULL);
	size_t count = signature != NULL ? signature->input_count : 0;
	jobjectArray texts = (*env)->NewObjectArray(env, (jsize)(2 * count), java.string, NULL);

	(void)class;
	for (size_t i = 0; i < count && !(*env)->ExceptionCheck(env); i++) {
		set_text(env, texts, 2 * i, signature->inputs[i]->alias);
		set_text(env, texts, 2 * i + 1,
			 serving_processor_dtype_name(signature->inputs[i]->dtype));
	}
	return texts;
}

/* --------------------------------------------------------- tensors from Java */

/* Of the elements of Java's array; strings are in one of bytes. */
static size_t element_size(int dtype)
{
	switch (dtype) {
	case SERVING_PROCESSOR_FLOAT:
	case SERVING_PROCESSOR_INT32:
		return 4;
	case SERVING_PROCESSOR_STRING:
		return 1;
	default:
		return 8;
	}
}

/* A copy of an array of numbers behind `head` bytes, in a block for free(). */
static void *copy_in(JNIEnv *env, size_t head, jarray array, size_t size)
{
	char *copy = malloc(head + size + 1);
	void *elements = NULL;

	if (copy != NULL)
		elements = (*env)->GetPrimitiveArrayCritical(env, array, NULL);
	if (elements == NULL) {
		free(copy);
		return NULL;
	}
	memcpy(copy + head, elements, size);
	(*env)->ReleasePrimitiveArrayCritical(env, array, elements, JNI_ABORT);
	return copy;
}

/* Views of the strings, and behind them their bytes. */
static void *copy_strings(JNIEnv *env, jarray array, jintArray sizes, size_t count)
{
	size_t head = count * sizeof(serving_processor_bytes);
	size_t left = (size_t)(*env)->GetArrayLength(env, array);
	serving_processor_bytes *views = copy_in(env, head, array, left);
	const char *next = (const char *)views + head;

	for (size_t i = 0; i < count && views != NULL; i++) {
		jint size = 0;

		(*env)->GetIntArrayRegion(env, sizes, (jsize)i, 1, &size);
		if (size < 0 || (size_t)size > left)
			size = 0; /* Model.java makes no such sizes */
		views[i] = (serving_processor_bytes){next, (size_t)size};
		next += size;
		left -= (size_t)size;
	}
	return views;
}

/* Fills a tensor that is zeroed; 0 when out of memory. */
static int read_tensor(JNIEnv *env, serving_processor_tensor *tensor, jobject from)
{
	jstring name = (*env)->GetObjectField(env, from, java.tensor_name);
	jlongArray dims = (*env)->GetObjectField(env, from, java.tensor_dims);
	jarray data = (*env)->GetObjectField(env, from, java.tensor_data);
	jintArray sizes = (*env)->GetObjectField(env, from, java.tensor_sizes);
	const char *text = (*env)->GetStringUTFChars(env, name, NULL);

	if (text == NULL)
		return 0;
	tensor->name = strdup(text);
	(*env)->ReleaseStringUTFChars(env, name, text);
	tensor->dtype = (*env)->GetIntField(env, from, java.tensor_dtype);
	tensor->rank = (*env)->GetArrayLength(env, dims);
	tensor->dims = copy_in(env, 0, dims, (size_t)tensor->rank * sizeof(int64_t));
	tensor->count = (size_t)(*env)->GetArrayLength(env, sizes != NULL ? sizes : data);
	if (sizes != NULL)
		tensor->data = copy_strings(env, data, sizes, tensor->count);
	else
		tensor->data = copy_in(env, 0, data, tensor->count * element_size(tensor->dtype));
	return tensor->name != NULL && tensor->dims != NULL && tensor->data != NULL;
}

static void free_tensors(serving_processor_tensor *tensors, size_t count)
{
	for (size_t i = 0; i < count && tensors != NULL; i++) {
		free((void *)tensors[i].name);
		free((void *)tensors[i].dims);
		free((void *)tensors[i].data);
	}
	free(tensors);
}

/* The inputs, for free_tensors(); throws and returns NULL. */
static serving_processor_tensor *read_tensors(JNIEnv *env, jobjectArray inputs, size_t count)
{
	serving_processor_tensor *tensors = calloc(count + 1, sizeof(*tensors));
	int good = tensors != NULL;

	for (size_t i = 0; i < count && good; i++) {
		/* What a tensor refers to is let go with the frame. */
		good = (*env)->PushLocalFrame(env, 8) == 0;
		if (good) {
			jobject input = (*env)->GetObjectArrayElement(env, inputs, (jsize)i);

			good = input != NULL && read_tensor(env, &tensors[i], input);
			(*env)->PopLocalFrame(env, NULL);
		}
	}
	if (good)
		return tensors;
	free_tensors(tensors, count);
	if (!(*env)->ExceptionCheck(env))
		throw_failure(env, SERVING_PROCESSOR_NO_MEMORY,
			      "out of memory, or an input is null");
	return NULL;
}

/* ----------------------------------------------------------- tensors to Java */

static jarray new_array(JNIEnv *env, int dtype, jsize count)
{
	switch (dtype) {
	case SERVING_PROCESSOR_FLOAT:
		return (*env)->NewFloatArray(env, count);
	case SERVING_PROCESSOR_DOUBLE:
		return (*env)->NewDoubleArray(env, count);
	case SERVING_PROCESSOR_INT32:
		return (*env)->NewIntArray(env, count);
	case SERVING_PROCESSOR_INT64:
		return (*env)->NewLongArray(env, count);
	default:
		throw_failure(env, SERVING_PROCESSOR_UNSUPPORTED,
			      "an output has a type that is not taken here");
		return NULL;
	}
}

/* NULL with an exception; strings are among the types that are not taken. */
static jarray copy_out(JNIEnv *env, int dtype, size_t count, const void *data)
{
	jarray array = NULL;
	void *elements = NULL;

	if (count <= INT32_MAX)
		array = new_array(env, dtype, (jsize)count);
	else
		throw_failure(env, SERVING_PROCESSOR_UNSUPPORTED, "an output is too large");
	if (array != NULL)
		elements = (*env)->GetPrimitiveArrayCritical(env, array, NULL);
	if (elements == NULL)
		return NULL;
	memcpy(elements, data, count * element_size(dtype));
	(*env)->ReleasePrimitiveArrayCritical(env, array, elements, 0);
	return array;
}

static jobject new_tensor(JNIEnv *env, const serving_processor_tensor *tensor)
{
	jstring name = (*env)->NewStringUTF(env, tensor->name);
	jarray dims = NULL, data = NULL;

	if (name != NULL)
		dims = copy_out(env, SERVING_PROCESSOR_INT64, (size_t)tensor->rank, tensor->dims);
	if (dims != NULL)
		data = copy_out(env, tensor->dtype, tensor->count, tensor->data);
	if (data == NULL)
		return NULL;
	return (*env)->NewObject(env, java.tensor, java.new_tensor, name, (jint)tensor->dtype, dims,
				 data, NULL);
}

/* NULL with an exception. */
static jobjectArray new_tensors(JNIEnv *env, const serving_processor_result *result)
{
	jsize count = (jsize)serving_processor_result_count(result);
	jobjectArray tensors = (*env)->NewObjectArray(env, count, java.tensor, NULL);

	for (jsize i = 0; i < count && tensors != NULL; i++) {
		jobject tensor;

		if ((*env)->PushLocalFrame(env, 8) != 0)
			return NULL;
		tensor = new_tensor(env, serving_processor_result_tensor(result, (size_t)i));
		tensor = (*env)->PopLocalFrame(env, tensor);
		if (tensor == NULL)
			return NULL;
		(*env)->SetObjectArrayElement(env, tensors, i, tensor);
		(*env)->DeleteLocalRef(env, tensor);
	}
	return tensors;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

JNIEXPORT jobjectArray JNICALL Java_Model_handleRun(JNIEnv *env, jclass class, jlong handle,
						    jobjectArray inputs, jlong timeout_ns)
{
	const serving_processor_run_options options = {
		.size = sizeof(options),
		.deadline_ns = now_ns() + timeout_ns,
	};
	size_t count = (size_t)(*env)->GetArrayLength(env, inputs);
	serving_processor_tensor *tensors = read_tensors(env, inputs, count);
	serving_processor_result *result = NULL;
	serving_processor_error *error = NULL;
	serving_processor_code code;
	jobjectArray outputs = NULL;

	(void)class;
	if (tensors == NULL)
		return NULL;
	code = serving_processor_handle_run_with(as_handle(handle), NULL, tensors, count, NULL, 0,
						 &options, &result, &error);
	free_tensors(tensors, count);
	if (code != SERVING_PROCESSOR_OK) {
		throw_error(env, error);
		return NULL;
	}
	outputs = new_tensors(env, result);
	serving_processor_result_free(result);
	return outputs;
}
