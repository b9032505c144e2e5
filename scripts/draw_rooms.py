#!/usr/bin/env python3
"""Draws the rooms of the product and the arrows between them as SVG, from the #include lines.

    scripts/draw_rooms.py >docs/rooms.svg

A room is a folder; an arrow goes from the room that includes to the room that is included.
Rooms that include nothing of their siblings lie at the bottom.  An arrow is left out where
others lead the same way.  Lists of names (.inc) hold no code, and including one is no arrow.
Fails, and names the rooms, if rooms include each other in a circle.
"""
import os
import re
import sys

ROOMS = ["base", "storage", "engine", "model_loader", "incremental", "row_stream", "session_group", "processor", "api", "tools"]
DEPTH = 2  # rooms within rooms within rooms are named, not drawn
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)

CHAR, BOLD, LINE, PAD, GAP, RISE = 6.5, 8.5, 18, 10, 14, 34  # pixels


def sources(top):
    for folder, folders, files in os.walk(top):
        folders.sort()
        for name in sorted(files):
            if name.endswith((".c", ".h", ".cc", ".inc")) and not name.endswith((".pb-c.c", ".pb-c.h")):
                yield os.path.join(folder, name)


def includes():
    """(folder of the file, folder of what it includes) for each #include of the product's own files."""
    for room in ROOMS:
        for path in sources(room):
            with open(path, encoding="utf-8") as file:
                for target in INCLUDE.findall(file.read()):
                    if target.split("/")[0] in ROOMS and not target.endswith(".inc"):
                        yield os.path.dirname(path), os.path.dirname(target)


def child(folder, room):
    """The room directly in `room` that `folder` lies in; None for the room's own files."""
    if room and not (folder + "/").startswith(room + "/"):
        return None
    rest = folder[len(room):].strip("/")
    return (room + "/" if room else "") + rest.split("/")[0] if rest else None


class Room:
    def __init__(self, path, pairs, depth):
        self.path, self.x, self.y = path, 0, 0
        folders = sorted({child(f, path) for f, _ in pairs} - {None})
        self.rows, self.arrows, self.notes = [], [], []
        if depth < DEPTH and folders:
            self.rooms = {f: Room(f, pairs, depth + 1) for f in folders}
            self.arrange(pairs)
        elif depth and folders:
            self.notes = wrap([f.rsplit("/", 1)[1] for f in folders])
        self.measure()

    def arrange(self, pairs):
        to = {name: set() for name in self.rooms}
        for a, b in pairs:
            a, b = child(a, self.path), child(b, self.path)
            if a and b and a != b and b in to:
                to[a].add(b)
        levels = {}

        def level(name, above):
            if name in above:
                sys.exit("draw_rooms.py: a circle: %s" % " -> ".join(above[above.index(name):] + [name]))
            if name not in levels:
                levels[name] = 1 + max([level(n, above + [name]) for n in sorted(to[name])], default=-1)
            return levels[name]

        for name in sorted(to):
            level(name, [])
        for n in range(max(levels.values()), -1, -1):
            self.rows.append([self.rooms[name] for name in sorted(to) if levels[name] == n])
        reached = {}
        for name in sorted(to, key=levels.get):
            reached[name] = to[name].union(*[reached[n] for n in to[name]])
        for a in sorted(to):
            for b in sorted(to[a]):
                if not any(b in reached[n] for n in to[a] - {b}):
                    self.arrows.append((self.rooms[a], self.rooms[b]))

    def measure(self):
        title = 0 if not self.path else LINE
        name = self.path.rsplit("/", 1)[-1]
        widths = [sum(r.width for r in row) + GAP * (len(row) - 1) for row in self.rows]
        widths += [CHAR * len(t) for t in self.notes] + [BOLD * len(name)]
        self.width = max(widths) + 2 * PAD
        y = PAD + title
        for row in self.rows:
            x = (self.width - sum(r.width for r in row) - GAP * (len(row) - 1)) / 2
            for room in row:
                room.x, room.y = x, y
                x += room.width + GAP
            y += max(r.height for r in row) + RISE
        self.height = y - (RISE if self.rows else 0) + LINE * len(self.notes) + (PAD if self.rows else PAD / 2)

    def draw(self, out, left, top, depth):
        # Arrows before rooms: one that passes a room lies behind it.
        x, y = left + self.x, top + self.y
        if self.path:
            out.append('<rect class="d%d" x="%.0f" y="%.0f" width="%.0f" height="%.0f" rx="4"/>'
                       % (depth, x, y, self.width, self.height))
            out.append('<text class="name" x="%.0f" y="%.0f">%s</text>'
                       % (x + self.width / 2, y + LINE, self.path.rsplit("/", 1)[-1]))
            for i, text in enumerate(self.notes):
                out.append('<text x="%.0f" y="%.0f">%s</text>' % (x + self.width / 2, y + LINE * (i + 2), text))
        for a, b in self.arrows:
            out.append('<path d="M%.0f %.0f L%.0f %.0f"/>'
                       % (x + a.x + a.width / 2, y + a.y + a.height, x + b.x + b.width / 2, y + b.y - 3))
        for row in self.rows:
            for room in row:
                room.draw(out, x, y, depth + 1)


def wrap(words, width=34):
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = (lines[-1] + " " + word).strip()
    return lines


def main():
    if len(sys.argv) > 1:
        print(__doc__.strip())
        return 0 if sys.argv[1] in ("-h", "--help", "help") else 2
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    whole = Room("", sorted(set(includes())), 0)
    out = []
    whole.draw(out, 0, 0, 0)
    print('<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">'
          % (2 * (whole.width, whole.height)))
    print("""<!-- Made by scripts/draw_rooms.py from the #include lines; not to be edited. -->
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0 L8 4 L0 8 z" style="fill:#345"/></marker></defs>
<style>
rect { stroke: #678; fill: #fff } .d1 { fill: #eef3f8 } .d2 { fill: #fff }
text { font: 11px sans-serif; text-anchor: middle; fill: #234 } .name { font-size: 13px; font-weight: bold }
path { stroke: #345; fill: none; marker-end: url(#head) } marker path { stroke: none; marker-end: none }
</style>
<rect width="100%" height="100%" style="stroke:none"/>""")
    print("\n".join(out))
    print("</svg>")
    return 0


if __name__ == "__main__":
    sys.exit(main())
