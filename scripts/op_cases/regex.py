"""RegexReplace and RegexFullMatch: RE2's syntax and its matches."""
import random

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


for pattern in ("", "a", "a*", "a+", "a?", "a*?", "a+?", "a??", "b|a", "a|ab", "ab|a", "abc|", "|a", "x*", "(?:)", "()", "a||b",
                "^a", "a$", "^", "$", "^$", "(?m)^", "(?m)$", "(?m)^.*$", "\\Aa", "a\\z", "\\b", "\\B", "\\bfoo\\b", "\\B.",
                ".", ".*", ".+", "(?s).", "(?s).*", "(?-s).", "\\C", "\\C\\C", "[abc]", "[^a]", "[^a]*", "[a-c]+", "[]a]", "[^]a]", "[a-]",
                "[-a]", "[a\\-c]", "[\\]]", "[a^]", "[^\\n]", "[[:alpha:]]+", "[[:^alpha:]]", "[[:punct:]]", "[[:space:]]",
                "[[:word:]]+", "[[:digit:][:upper:]]", "[[:cntrl:]]", "[[:^ascii:]]", "[[:ascii:]]", "[[:xdigit:]]", "[[:print:]]",
                "[[:graph:]]", "[[:blank:]]", "[[:alnum:]]", "[[:lower:]]", "[[:^space:]]", "[[]", "[[:a]", "\\d+", "\\D+", "\\w+", "\\W", "\\s", "\\S+", "[\\d]",
                "[^\\d]", "[\\w-]+", "[\\W]", "[^\\W]", "[\\s\\S]", "\\t", "\\v", "\\f", "\\n", "\\r", "\\a", "\\x41", "\\x{e9}", "\\x{1F600}",
                "\\07", "\\012", "\\141", "\\0", "\\,", "\\.", "\\[", "\\\\", "\\_", "\\Q.*\\E", "\\Qa", "a\\Q\\E", "\u00e9", "\u00e9+", "[\u00e9\u20ac]", "[^\u00e9]",
                "[a-\u20ac]", "[\u0080-\U0010ffff]", "[\u0800-\uffff]", "[\U00010000-\U0010ffff]", "[\u07ff-\u0800]", "[\x7f-\u0080]", "[\u00c0-\u07ff]", "[\u1234-\u5678]",
                "a{2}", "a{0}", "a{0,1}", "a{1,}", "a{2,}", "a{0,}", "a{1,2}", "a{1,2}?", "a{2,}?", "a{", "a{,2}", "a{x}", "a{1", "{", "}", "]", "a{2,3}b",
                "(a)", "(a)(b)?", "(a|b)*", "(a|b)*?", "(?:a|b)+c", "(?P<name>a)", "(?P<n1_>b)", "(a*)*", "(a*)+", "(|a)*", "(|a)+", "(|a)*?", "(a|)*", "(a?)*?",
                "(a??)*", "(^)*a", "(?:$)*", "(a|b)*c|(a|ab)*c", "((a)|(b))+", "(a(b)?)+", "(?i)A", "(?i:A)b", "(?i)[a-c]+", "(?i)[^a]", "(?i)K", "(?i)s",
                "(?i)\\w+", "a(?i)B", "(a(?i)B)C", "(?i)a(?-i)B", "(?i)[[:upper:]]", "(?i)\\W", "(?U)a+", "(?U)a+?", "(?Us).*", "(?)", "(?ms)^.$", "\\w+@\\w+\\.com",
                "(\\d+)-(\\d+)-(\\d+)", "(?:x{10}){10}", "(?:){1000}a", "[^\\x00-\\x{10FFFF}]", "[a-zA-Z0-9_]", "[!\"#$%&()\\*\\+,-\\./:;<=>?@\\[\\\\\\]^_`{|}~']",
                "(a)|b", "(?:(a)|b)*", "(a){2}", "(a){0}", "(a){0,3}", "((a){2}){2}", "a.c", "fo+?d?", "(foo|food)", "(food|foo)$"):
    add(pattern)

add("(a)(b)?", ["[\\1\\2]", "\\2\\1", "", "\\\\", "plain", "\\0\\0", "\\3", "\u00e9"])
add("(\\d+)-(\\d+)-(\\d+)", ["\\3.\\2.\\1"])
add("(.)", ["\\1\\1"])
add("x{1000}", samples=texts(["x" * 2500]))

# Unicode classes: at the edges of their ranges, negated, among others, repeated
UNICODE = texts(["a\u00c9.\u03b1Z 1", "Hello, w\u00f6rld! \u00abquote\u00bb \u2014 $5 \u20ac9", "\u6771\u4eac\u30bf\u30ef\u30fc\u3002\u304b\u306a", "\U0001f600\u200d\u00a0\u2028\ue000",
                 b"\xed\xa0\x80\xff\xc0\x80\xf4\x90\x80\x80", "\u01c5\u02b0\u0301\u0903\u20dd\u2160\u00bd\u203f\u2018\u2019\u02c6", "", "x\U0001d7d8\U0002a6df\U000e0041\u0378",
                 "\u0391\u03c9 \u0416\u044f \u05d0 \u0e01 \ud55c", b"\xe6\x9d", "-z_^"])
for pattern in ("\\pP", "\\pL+", "\\PL", "\\p{^L}", "\\P{^L}", "[\\pL\\pN]+", "[^\\pL\\s]", "\\p{Any}", "\\P{Any}", "[\\P{Any}]", "\\pZ*", "[\\p{Greek}-z]", "[^\\P{Lu}]", "\\p{Han}+",
                "[\\p{Hiragana}\\p{Katakana}]+", "(\\p{Lu})(\\p{Ll})", "(\\pL)+?(\\pP|$)", "\\pM|\\pC", "(?:\\pL|1)\\pS?", "^\\pL*$", "\\p{Common}", "\\p{Inherited}", "\\p{Latin}{2}", "\\pN(?s).",
                "[\\p{Cyrillic}\\x{5d0}-\\x{5ea}\\d]", "\\p{Cs}", "\\C\\p{Sc}", "\\b\\pL", "[!-/\\pP]",
                *("\\p{%s}" % c for c in "Cc Cf Co Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp Zs".split())):
    add(pattern, samples=UNICODE)

for pattern in ("\\p", "\\P", "\\p{", "\\p{L", "\\p{}", "\\p{^}", "\\pl", "\\p{Cn}", "\\p{LC}", "\\p{L&}", "\\p{any}", "\\p{greek}", "\\p{ Lu}", "\\p{Luu}", "\\p\u00e9", "\\p^L", "[\\p{Foo}]", "[a-\\pL]",
                "(", ")", "a)", "(a", "[", "[a", "[]", "[b-a]", "[a-\\d]", "[[:foo:]]", "*", "+a", "?", "a**", "a++", "a+*", "a{2}{3}", "{2}", "a{1001}",
                "a{2,1}", "a{1,1001}", "(?=a)", "(?!a)", "(?<=a)", "(?#c)", "(?>a)", "(a)\\1", "\\8", "\\Z", "\\h", "\\G", "\\cA", "\\", "\\e", "\\x", "\\x1", "\\x{", "\\x{}",
                "\\x{110000}", "(?z)", "(?i", "(?-)", "(?i-)", "(?P<n", "(?P<>a)", "(?P=n)", "[\\b]", "[\\Q]", "(|*)", "^|*"):
    cases.add("StaticRegexReplace", {"input": texts(["a"])}, {"pattern": pattern, "rewrite": "x"}, refuse=True)
    cases.add("RegexFullMatch", {"input": texts(["a"]), "pattern": texts([pattern], ())}, refuse=True)

for shape in ((2, 13), (26, 1, 1)):
    cases.add("RegexReplace", {"input": SAMPLES.reshape(shape), "pattern": texts(["[aeiou]"], ()), "rewrite": texts(["*"], ())})
    cases.add("RegexFullMatch", {"input": SAMPLES.reshape(shape), "pattern": texts(["[a-z]*"], ())})
cases.add("RegexReplace", {"input": texts(["hello"], ()), "pattern": texts(["l"], ()), "rewrite": texts(["L"], ())}, {"replace_global": False})
cases.add("RegexReplace", {"input": texts([]), "pattern": texts(["l"], ()), "rewrite": texts(["L"], ())})
cases.add("RegexReplace", {"input": texts(["a"]), "pattern": texts(["l"]), "rewrite": texts(["L"], ())}, refuse=True)
cases.add("RegexReplace", {"input": texts(["a"]), "pattern": texts(["l"], ()), "rewrite": texts(["L", "M"])}, refuse=True)
cases.add("RegexFullMatch", {"input": texts(["a"]), "pattern": texts(["l", "m"])}, refuse=True)
cases.add("RegexFullMatch", {"input": texts(["a"]), "pattern": texts([b"a\xff"], ())}, refuse=True)

# patterns at random, so that the order of preference is met in places nobody thought of
rng = random.Random(5)


def expression(depth):
    kind = rng.randrange(9) if depth > 0 else rng.randrange(3)
    if kind < 3:
        return rng.choice(["a", "b", "[ab]", "[^a]", ".", "", "\\b", "$", "^", "ab", "a", "b"])
    if kind < 5:
        return "(%s)%s" % (expression(depth - 1), rng.choice(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{2,}"]))
    if kind < 7:
        return "(?:%s|%s)" % (expression(depth - 1), expression(depth - 1))
    return expression(depth - 1) + expression(depth - 1)


words = texts(["", "a", "b", "aab", "abba", "baab ab", "bbbaaa", "aabaabaa", "c\u00e9a"])
for _ in range(150):
    pattern = expression(4)
    cases.add("StaticRegexReplace", {"input": words}, {"pattern": pattern, "rewrite": "<\\0>"}, name=pattern)
    cases.add("StaticRegexFullMatch", {"input": words}, {"pattern": pattern}, name=pattern)
    if "(" in pattern.replace("(?:", ""):
        cases.add("StaticRegexReplace", {"input": words}, {"pattern": pattern, "rewrite": "[\\1]"}, name=pattern)

cases.write()
