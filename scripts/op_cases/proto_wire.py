"""Protobuf messages byte by byte, well formed and not, for the generators that write them so."""


def varint(value, longer=0):
    """A number, `longer` bytes longer than it need be."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    for _ in range(min(longer, 10 - len(out))):
        out[-1] |= 0x80
        out.append(0)
    return bytes(out)


def sized(data):
    return varint(len(data)) + data
