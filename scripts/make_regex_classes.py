#!/usr/bin/env python3
"""Writes engine/kernels/regex_{categories,scripts,script_names}.inc: the Unicode classes of regular expressions.

Which characters \\p{Lu} or \\p{Greek} match is asked of TensorFlow's RegexFullMatch, character by
character; its RE2 answers with the Unicode Character Database of one version, which need not be the
one that UnicodeScript knows.  A line is the first character of a run and its category or script.

    PYTHON scripts/make_regex_classes.py      # PYTHON: tensorflow-cpu==2.15.1 'numpy<2'
"""
import os
import sys
import textwrap

if set(sys.argv[1:]) & {"-h", "--help", "help"}:
    sys.exit(print(__doc__))

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

ROOM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "engine/kernels")
CATEGORIES = "Cc Cf Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp Zs".split()
# The names of the script property up to Unicode 14.
SCRIPTS = """
Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki Bopomofo Brahmi
Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform
Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic
Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew
Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kayah_Li
Kharoshthi Khitan_Small_Script Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani
Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive
Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean Nandinagari New_Tai_Lue Newa Nko Nushu
Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian
Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician
Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sogdian Sora_Sompeng Soyombo
Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan
Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square
""".split()

characters = tf.constant(np.array([chr(c).encode("utf-8", "surrogatepass") for c in range(0x110000)], dtype=object))


def class_of_each(names):
    """[0x110000] the place of each character's class among the names plus one, or 0."""
    out = np.zeros(0x110000, dtype=np.int32)
    for i, name in enumerate(names):
        members = tf.strings.regex_full_match(characters, "\\p{%s}" % name).numpy()
        assert members.any() and not out[members].any(), name
        out[members] = i + 1
    return out


def write(name, items):
    with open(os.path.join(ROOM, name), "w") as file:
        file.write("/* Made by scripts/make_regex_classes.py; not to be edited. */\n")
        file.write(textwrap.fill(" ".join(item.replace(" ", "~") for item in items), 100).replace("~", " ") + "\n")


def runs(classes, spell):
    starts = np.concatenate([[0], np.flatnonzero(np.diff(classes)) + 1])
    return ["{0x%05x, %s}," % (start, spell(classes[start])) for start in starts]


write("regex_categories.inc", runs(class_of_each(CATEGORIES), lambda c: '"%s"' % (["", *CATEGORIES][c])))
write("regex_scripts.inc", runs(class_of_each(SCRIPTS), str))
write("regex_script_names.inc", ['"%s",' % name for name in SCRIPTS])
