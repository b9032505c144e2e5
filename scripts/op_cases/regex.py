"""StaticRegexReplace and StaticRegexFullMatch: what is done with the matches of RE2, which makes them here, too."""
import numpy as np

from op_cases import Cases

cases = Cases("regex")


def texts(items, shape=None):
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array if shape is None else array.reshape(shape)


SAMPLES = texts(["", "a", "banana", "aaa", "abab", "abc", "xaby", "foo food foo", "A b_C", "a\nb\n", "\n", "a,b!c [d]", "12 345 x6",
                 "\u00e9t\u00e9", "a\u00e9\u20ac\U0001f600b", b"a\xffb", b"\xc3", b"\xe2\x82a", b"\0a\0", "\t\v\f\r ", "aab\\cc",
                 "k\u212aK s\u017fS", "user@example.com", "2024-01-31", b"\xed\xa0\x80\xc0\x80", "a-b]c^d"])


def add(pattern, rewrites=("<\\0>",), samples=SAMPLES):
    for rewrite in rewrites:
        for everywhere in (True, False) if len(pattern) < 3 else (True,):
            cases.add("StaticRegexReplace", {"input": samples},
                      {"pattern": pattern, "rewrite": rewrite, "replace_global": everywhere})
    if len(pattern) % 3 == 0:  # the file stays small
        cases.add("StaticRegexFullMatch", {"input": samples}, {"pattern": pattern})


# where matches are empty, lie at the ends, or meet bytes that are not UTF-8
for pattern in ("", "a*", "a*?", "b|a", "x*", "()", "a||b", "^a", "a$", "^$", "(?m)^", "(?m)^.*$", "\\b", "\\B", ".", ".*", "(?s).*", "\\C",
                "[^a]*", "[[:punct:]]", "\\w+", "\\x{e9}", "\u00e9+", "[^\u00e9]", "[a-\u20ac]", "(a|b)*", "(|a)*", "((a)|(b))+", "(?i)K", "(?i)s",
                "[!\"#$%&()\\*\\+,-\\./:;<=>?@\\[\\\\\\]^_`{|}~']"):
    add(pattern)

add("(a)(b)?", ["[\\1\\2]", "\\2\\1", "", "\\\\", "plain", "\\0\\0", "\\3", "\u00e9"])
add("(\\d+)-(\\d+)-(\\d+)", ["\\3.\\2.\\1"])
add("(.)", ["\\1\\1"])
add("x{1000}", samples=texts(["x" * 2500]))

UNICODE = texts(["a\u00c9.\u03b1Z 1", "Hello, w\u00f6rld! \u00abquote\u00bb \u2014 $5 \u20ac9", "\u6771\u4eac\u30bf\u30ef\u30fc\u3002\u304b\u306a", "\U0001f600\u200d\u00a0\u2028\ue000",
                 b"\xed\xa0\x80\xff\xc0\x80\xf4\x90\x80\x80", "", b"\xe6\x9d", "-z_^"])
for pattern in ("\\pP", "\\pL+", "[^\\pL\\s]", "\\p{Greek}", "\\p{Han}+", "\\pZ*", "^\\pL*$", "(?i)\\p{Lu}"):
    add(pattern, samples=UNICODE)

for pattern in ("(", "[a", "*", "a**", "a{1001}", "(?=a)", "(a)\\1", "\\", "\\p{Foo}"):
    cases.add("StaticRegexReplace", {"input": texts(["a"])}, {"pattern": pattern, "rewrite": "x"}, refuse=True)
    cases.add("StaticRegexFullMatch", {"input": texts(["a"])}, {"pattern": pattern}, refuse=True)

for shape in ((2, 13), (26, 1, 1)):
    cases.add("StaticRegexReplace", {"input": SAMPLES.reshape(shape)}, {"pattern": "[aeiou]", "rewrite": "*"})
    cases.add("StaticRegexFullMatch", {"input": SAMPLES.reshape(shape)}, {"pattern": "[a-z]*"})
cases.add("StaticRegexReplace", {"input": texts(["hello"], ())}, {"pattern": "l", "rewrite": "L", "replace_global": False})
cases.add("StaticRegexReplace", {"input": texts([])}, {"pattern": "l", "rewrite": "L"})

cases.write()
