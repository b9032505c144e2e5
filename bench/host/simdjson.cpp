/*
 * The limit that bench_json is compared with: simdjson, for the bodies that `bench_json FOLDER` has
 * written.  Not built with the project; compare_json.py does:
 *
 *   c++ -std=c++17 -O2 simdjson.cpp -lsimdjson && ./a.out BODY.json...
 *
 * "dom" only parses, into simdjson's own tape.  "tensors" also copies every number into an array of
 * its column, as the host has to; keys are looked up in a hash table.
 */
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <simdjson.h>

using simdjson::dom::element;
using simdjson::dom::element_type;

namespace
{

struct column {
	std::vector<float> floats;
	std::vector<int64_t> integers;
};

std::unordered_map<std::string_view, column> columns;

void take(column &to, element value)
{
	switch (value.type()) {
	case element_type::ARRAY:
		for (element item : simdjson::dom::array(value))
			take(to, item);
		break;
	case element_type::INT64:
		to.integers.push_back(int64_t(value));
		break;
	default:
		to.floats.push_back(float(double(value)));
	}
}

void take_members(element object)
{
	for (auto [key, value] : simdjson::dom::object(object))
		take(columns[key], value);
}

void take_all(element root)
{
	element data;

	for (auto &entry : columns) {
		entry.second.floats.clear();
		entry.second.integers.clear();
	}
	if (root["inputs"].get(data) == simdjson::SUCCESS) {
		take_members(data);
		return;
	}
	for (element row : simdjson::dom::array(root["instances"]))
		if (row.is_object())
			take_members(row);
		else
			take(columns["x"], row);
}

double best_seconds(simdjson::dom::parser &parser, const simdjson::padded_string &text,
		    bool tensors)
{
	using clock = std::chrono::steady_clock;
	double best = 1e9;
	auto end = clock::now() + std::chrono::milliseconds(700);

	while (clock::now() < end) {
		auto start = clock::now();
		element root = parser.parse(text);

		if (tensors)
			take_all(root);
		best = std::min(best, std::chrono::duration<double>(clock::now() - start).count());
	}
	return best;
}

} // namespace

int main(int argc, char **argv)
{
	simdjson::dom::parser parser;

	for (int i = 1; i < argc; i++) {
		simdjson::padded_string text = simdjson::padded_string::load(argv[i]);
		double bytes = double(text.size());

		columns.clear();
		std::printf("{\"file\":\"%s\",\"dom_gb_s\":%.3f,\"tensors_gb_s\":%.3f}\n", argv[i],
			    bytes / best_seconds(parser, text, false) / 1e9,
			    bytes / best_seconds(parser, text, true) / 1e9);
		columns.clear();
	}
}
