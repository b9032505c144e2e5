/* Against the sort of the C++ library, which is where TensorFlow's order comes from. */
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

extern "C" {
#include "engine/ops/reduce/index_sort.h"
}

typedef std::vector<int> keys;

static bool comes_before(const void *context, size_t a, size_t b)
{
	const keys &k = *static_cast<const keys *>(context);

	return k[a] < k[b];
}

static bool is_as_expected(const keys &k)
{
	std::vector<size_t> expected(k.size()), list;

	std::iota(expected.begin(), expected.end(), 0);
	list = expected;
	std::sort(expected.begin(), expected.end(),
		  [&k](size_t a, size_t b) { return k[a] < k[b]; });
	sp_index_sort(list.data(), list.size(), comes_before, &k);
	return list == expected;
}

static unsigned chance(unsigned below)
{
	static unsigned long long state = 12;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return static_cast<unsigned>(state >> 33) % below;
}

static bool sorts_lists_with_equal_keys()
{
	for (int round = 0; round < 3000; round++) {
		keys k(chance(round % 10 == 0 ? 3000 : 200));
		unsigned below = 1 + chance(round % 3 == 0 ? 3 : round % 3 == 1 ? 40 : 100000);

		for (int &key : k)
			key = static_cast<int>(chance(below));
		if (round % 7 == 0)
			std::sort(k.begin(), k.end());
		if (!is_as_expected(k))
			return false;
	}
	return true;
}

/*
 * Keys that are chosen while they are sorted, so that each division is as uneven as can be (M. D.
 * McIlroy, "A Killer Adversary for Quicksort", 1999): the heap has to finish.
 */
static keys worst_keys(int count)
{
	keys k(static_cast<size_t>(count), count), list(k.size());
	int solid = 0, candidate = 0;

	std::iota(list.begin(), list.end(), 0);
	std::sort(list.begin(), list.end(), [&](int a, int b) {
		int &left = k[static_cast<size_t>(a)], &right = k[static_cast<size_t>(b)];

		if (left == count && right == count)
			(a == candidate ? left : right) = solid++;
		if (left == count)
			candidate = a;
		else if (right == count)
			candidate = b;
		return left < right;
	});
	return k;
}

static bool sorts_what_is_hard_to_divide()
{
	for (int count : {17, 100, 1000, 5000})
		for (int equal : {1, 3, 20}) {
			keys k = worst_keys(count);

			for (int &key : k)
				key /= equal;
			if (!is_as_expected(k))
				return false;
		}
	return true;
}

int main()
{
	struct {
		const char *name;
		bool (*run)();
	} tests[] = {{"sorts_lists_with_equal_keys", sorts_lists_with_equal_keys},
		     {"sorts_what_is_hard_to_divide", sorts_what_is_hard_to_divide}};
	int failed = 0;

	for (auto &test : tests) {
		bool ok = test.run();

		printf("[%s] %s\n", ok ? "       OK " : "  FAILED  ", test.name);
		failed += !ok;
	}
	return failed;
}
