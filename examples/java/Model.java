import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** A model of the library; model_jni.c has its native methods. Any thread may use it, several at once. */
final class Model implements AutoCloseable {
	static {
		System.loadLibrary("model_jni");
	}

	/** A failure as the library tells it. */
	static final class Failure extends Exception {
		final int code; // serving_processor_code

		/** Called by native methods. */
		Failure(int code, byte[] text) {
			super(new String(text, StandardCharsets.UTF_8));
			this.code = code;
		}
	}

	/** Dense and row-major. */
	static final class Tensor {
		final String name;
		final int dtype; // as serving_processor.h numbers types
		final long[] dims;
		final Object data; // float[], double[], int[] or long[]; of strings (inputs only) byte[], one after another
		final int[] sizes; // of the strings, else null

		/** Called by native methods. */
		private Tensor(String name, int dtype, long[] dims, Object data, int[] sizes) {
			this.name = name;
			this.dtype = dtype;
			this.dims = dims;
			this.data = data;
			this.sizes = sizes;
		}

		static Tensor of(String name, float[] data, long... dims) {
			return new Tensor(name, 1, dims, data, null);
		}

		static Tensor of(String name, double[] data, long... dims) {
			return new Tensor(name, 2, dims, data, null);
		}

		static Tensor of(String name, int[] data, long... dims) {
			return new Tensor(name, 3, dims, data, null);
		}

		static Tensor of(String name, long[] data, long... dims) {
			return new Tensor(name, 9, dims, data, null);
		}

		static Tensor of(String name, String[] data, long... dims) {
			ByteArrayOutputStream bytes = new ByteArrayOutputStream();
			int[] sizes = new int[data.length];
			for (int i = 0; i < data.length; i++) {
				byte[] string = data[i].getBytes(StandardCharsets.UTF_8);
				sizes[i] = string.length;
				bytes.writeBytes(string);
			}
			return new Tensor(name, 7, dims, bytes.toByteArray(), sizes);
		}
	}

	/** The answer to a message: to status 200 a PredictResponse, to any other the reason. Made by native methods. */
	record Answer(int status, byte[] data) {}

	/** The version that was live when it was made, held until it is closed. Threads may share it. */
	final class Handle implements AutoCloseable {
		private long handle = acquire(model);

		private Handle() {}

		@Override
		public void close() {
			release(handle);
			handle = 0;
		}

		long version() {
			return handleVersion(handle);
		}

		/** Name and type of each input of the configured signature. */
		String[] inputs() {
			return handleInputs(handle);
		}

		/** All outputs of the configured signature. */
		Tensor[] run(Duration timeout, Tensor... inputs) throws Failure {
			return handleRun(handle, inputs, timeout.toNanos());
		}
	}

	private long model;

	Model(String config) throws Failure {
		model = create(config.getBytes(StandardCharsets.UTF_8));
	}

	/** The last call: no thread uses the model, and all handles are closed. */
	@Override
	public void close() {
		destroy(model);
		model = 0;
	}

	/** The live one. */
	long version() {
		return modelVersion(model);
	}

	Handle acquire() {
		return new Handle();
	}

	/** Forwards a serialized PredictRequest. */
	Answer process(byte[] request) {
		return process(model, request);
	}

	private static native long create(byte[] config) throws Failure;
	private static native void destroy(long model);
	private static native long modelVersion(long model);
	private static native Answer process(long model, byte[] request);
	private static native long acquire(long model);
	private static native void release(long handle);
	private static native long handleVersion(long handle);
	private static native String[] handleInputs(long handle);
	private static native Tensor[] handleRun(long handle, Tensor[] inputs, long timeoutNs) throws Failure;
}
