import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/**
 * A host in Java: REQUEST.pb CONFIG.json. Model.java and model_jni.c are what a host of your own needs; this plays the
 * scene that ../README.md tells.
 */
final class Host {
	private static final Duration PATIENCE = Duration.ofMinutes(1);

	private static final Model.Tensor USERS = Model.Tensor.of("user_id", new long[] {7, 101}, 2);
	private static final Model.Tensor ITEMS =
		Model.Tensor.of("items", new String[] {"item_3", "item_17", "item_5", ""}, 2, 2);
	private static final Model.Tensor PRICES = Model.Tensor.of("price", new float[] {0.5f, -1.25f}, 2);

	private static float[] ask(Model.Handle handle) throws Model.Failure {
		return (float[]) handle.run(PATIENCE, USERS, ITEMS, PRICES)[0].data;
	}

	private static float[] askVersion(Model.Handle handle) throws Model.Failure {
		System.out.println("version " + handle.version());
		System.out.println("inputs " + String.join(" ", handle.inputs()));
		float[] scores = ask(handle);
		System.out.printf("score %.4f %.4f%n", scores[0], scores[1]);
		return scores;
	}

	private static void askInThreads(Model.Handle handle, float[] wanted) throws Exception {
		int threads = 4;
		ExecutorService pool = Executors.newFixedThreadPool(threads);
		Callable<Integer> askOften = () -> {
			int equal = 0;
			for (int i = 0; i < 100; i++)
				if (Arrays.equals(ask(handle), wanted))
					equal++;
			return equal;
		};
		int equal = 0;
		try {
			for (Future<Integer> future : pool.invokeAll(IntStream.range(0, threads).mapToObj(i -> askOften).toList()))
				equal += future.get();
		} finally {
			pool.shutdown();
		}
		System.out.println(threads + " threads: " + equal + " equal answers");
	}

	private static void tellFailure(String what, Callable<?> call) throws Exception {
		try {
			call.call();
		} catch (Model.Failure failure) {
			System.out.println(what + ": error " + failure.code + ": " + failure.getMessage());
		}
	}

	private static void forward(Model model, byte[] request) {
		Model.Answer answer = model.process(request);
		if (answer.status() == 200)
			System.out.println("message: status 200, " + answer.data().length + " bytes");
		else
			System.out.println("broken message: status " + answer.status() + ": "
				+ new String(answer.data(), StandardCharsets.UTF_8));
	}

	private static void awaitVersion(Model model, long version) throws InterruptedException {
		System.out.println("waiting for version " + version);
		long start = System.nanoTime();
		while (model.version() != version && System.nanoTime() - start < PATIENCE.toNanos())
			Thread.sleep(10);
	}

	public static void main(String[] arguments) throws Exception {
		byte[] request = Files.readAllBytes(Path.of(arguments[0]));
		String config = Files.readString(Path.of(arguments[1]));

		tellFailure("wrong configuration", () -> new Model("{}"));
		try (Model model = new Model(config)) {
			try (Model.Handle handle = model.acquire()) {
				askInThreads(handle, askVersion(handle));
				Model.Tensor wrong = Model.Tensor.of("price", new int[] {1, 2}, 2);
				tellFailure("wrong input", () -> handle.run(PATIENCE, USERS, ITEMS, wrong));
				tellFailure("late", () -> handle.run(Duration.ZERO, USERS, ITEMS, PRICES));
			}
			forward(model, request);
			forward(model, Arrays.copyOfRange(request, 1, request.length));
			awaitVersion(model, 2);
			try (Model.Handle handle = model.acquire()) {
				askVersion(handle);
			}
		}
	}
}
