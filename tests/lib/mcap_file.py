# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
"""
Whether an MCAP file has what the records have: mcap_file.py FILE RECORDS; RECORDS by `bezel export --merge --format
jsonl`, with the same filter. It reads the file by its index, checks each checksum, and decodes the messages with their
schemas.
"""
import collections, json, re, struct, sys, zlib

MAGIC = b"\x89MCAP0\r\n"


def fail(*what):
    print(*what)
    sys.exit(1)


class Bytes:
    def __init__(self, b, at=0):
        self.b, self.at = b, at

    def uint(self, n):
        self.at += n
        return int.from_bytes(self.b[self.at - n:self.at], "little")

    def take(self, n):
        if self.at + n > len(self.b):
            fail("it ends too early")
        self.at += n
        return self.b[self.at - n:self.at]

    def text(self):
        return self.take(self.uint(4)).decode()

    def pairs(self, key, value):
        inner, found = Bytes(self.take(self.uint(4))), {}
        while inner.at < len(inner.b):
            k = key(inner)
            if k in found:
                fail("a key twice", k)
            found[k] = value(inner)
        return found

    def record(self, expected=None):
        opcode = self.uint(1)
        if expected not in (None, opcode):
            fail("a record of", opcode, "where one of", expected, "should be")
        return opcode, Bytes(self.take(self.uint(8)))

    def records(self):
        while self.at < len(self.b):
            yield self.record()


def cdr(schema, data):
    """The fields of a message, by its definition; of an enum the label."""
    b, values, labels = Bytes(data, 4), {}, collections.defaultdict(dict)
    if data[:4] != b"\0\1\0\0":
        fail("not little-endian CDR")

    def align(n):
        b.at += -(b.at - 4) % n

    for line in schema.splitlines():
        kind, _, name = line.split("#")[0].strip().partition(" ")
        if "=" in name:
            constant, number = name.split("=")
            labels[constant.partition("_" + number + "_")[0].lower()][int(number)] = constant.partition("_" + number + "_")[2]
        elif kind == "string":
            align(4)
            values[name] = b.take(b.uint(4))[:-1].decode()
        elif kind:
            align(8)
            values[name] = struct.unpack("<q" if kind == "int64" else "<d", b.take(8))[0]
    if b.at != len(data):
        fail("a message is longer than its schema says", schema, data)
    return values, labels


class File:
    def __init__(self, path):
        self.b = b = open(path, "rb").read()
        if b[:8] != MAGIC or b[-8:] != MAGIC:
            fail("no MCAP file")
        footer = Bytes(b, len(b) - 8 - 29).record(2)[1]
        summary, offsets, crc = footer.uint(8), footer.uint(8), footer.uint(4)
        if zlib.crc32(b[summary:len(b) - 12]) != crc:
            fail("the summary's checksum")
        end = summary - 13
        if zlib.crc32(b[:end]) != Bytes(b, end).record(15)[1].uint(4):
            fail("the file's checksum")
        self.schemas, self.channels, self.files, self.metadata, self.messages = {}, {}, {}, {}, []
        for opcode, r in Bytes(b[summary:offsets]).records():
            self.summary(opcode, r)
        for opcode, r in Bytes(b[offsets:len(b) - 37]).records():
            group, start, length = r.uint(1), r.uint(8), r.uint(8)
            if {o for o, _ in Bytes(b[start:start + length]).records()} != {group}:
                fail("a group of the summary", group)
        if self.count != len(self.messages):
            fail("messages", self.count, len(self.messages))

    def summary(self, opcode, r):
        if opcode == 3:
            number = r.uint(2)
            self.schemas[number] = r.text(), r.text(), r.text()
        elif opcode == 4:
            number = r.uint(2)
            self.channels[number] = r.uint(2), r.text(), r.text(), r.pairs(Bytes.text, Bytes.text)
        elif opcode == 11:
            self.count = r.uint(8)
        elif opcode == 8:
            self.chunk(r)
        elif opcode == 10:
            at, length = r.uint(8), r.uint(8)
            a = Bytes(self.b[at:at + length]).record(9)[1]
            times, name, media, data = a.take(16), a.text(), a.text(), a.take(a.uint(8))
            if zlib.crc32(a.b[:-4]) != a.uint(4):
                fail("the checksum of", name)
            self.files[name] = data
        elif opcode == 13:
            at, length = r.uint(8), r.uint(8)
            m = Bytes(self.b[at:at + length]).record(12)[1]
            name = m.text()
            self.metadata[name] = m.pairs(Bytes.text, Bytes.text)

    def chunk(self, index):
        first, last, at, length = (index.uint(8) for _ in range(4))
        places = index.pairs(lambda b: b.uint(2), lambda b: b.uint(8))
        c = Bytes(self.b[at:at + length]).record(6)[1]
        if (c.uint(8), c.uint(8)) != (first, last):
            fail("the times of a chunk")
        size, crc, how = c.uint(8), c.uint(4), c.text()
        records = c.take(c.uint(8))
        if how or size != len(records) or zlib.crc32(records) != crc:
            fail("a chunk's checksum")
        for channel, place in places.items():
            r = Bytes(self.b, place).record(7)[1]
            if r.uint(2) != channel:
                fail("an index of another channel")
            entries = Bytes(r.take(r.uint(4)))
            while entries.at < len(entries.b):
                time, offset = entries.uint(8), entries.uint(8)
                m = Bytes(records, offset).record(5)[1]
                if m.uint(2) != channel or m.uint(4) < 0 or m.uint(8) != time or not first <= time <= last:
                    fail("a message that its index does not tell")
                m.uint(8)
                self.messages.append((time, channel, m.b[m.at:]))


def plain(values):
    """As both write them: labels are names there, JSON has no NaN and no 1.0."""
    def one(v):
        if v is None or v != v:
            return ""
        return int(v) if isinstance(v, float) and v == int(v) else re.sub("[^a-z0-9]", "_", v.lower()) if isinstance(v, str) else v
    return json.dumps([one(v) for v in values])


def main():
    f, found, expected, lost = File(sys.argv[1]), collections.Counter(), collections.Counter(), 0
    for time, channel, data in f.messages:
        schema, topic, encoding, _ = f.channels[channel]
        values, labels = cdr(f.schemas[schema][2], data)
        if topic == "bezel/lost":
            lost += values["lost"]
            continue
        for name in labels:
            values[name] = labels[name].get(values[name], values[name])
        thread, error = values.pop("bezel_thread"), values.pop("bezel_error")
        found[topic, time, thread, error, plain(values.values())] += 1
    for line in open(sys.argv[2]):
        r = json.loads(line)
        topic = "/".join((r["node"], r["process"], r["aspect"]))
        error = -1 if r["error_ns"] is None else r["error_ns"]
        expected[topic, r["run_time_ns"], r["thread"], error, plain(r["fields"].values())] += 1
    if found != expected:
        fail("not the same:", list((found - expected).items())[:3], "more,", list((expected - found).items())[:3], "missing")
    print(json.dumps({"messages": len(f.messages), "lost": lost, "sums": f.metadata["bezel:lost"], "files": sorted(f.files),
                      "channels": sorted(c[1] for c in f.channels.values())}))


if __name__ == "__main__":
    main()
