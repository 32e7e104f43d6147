# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
"""
Whether a trace for Perfetto has what the records have: perfetto_trace.py TRACE RECORDS COUNTER[,...] GAUGE[,...];
RECORDS by `bezel export --merge --format jsonl`. It reads the trace as Perfetto does: packets in order of their times,
equal ones as they stand in the file; the slices of a track on a stack; names as their sequence has told them.
"""
import collections, json, struct, sys


def fail(*what):
    print(*what)
    sys.exit(1)


def message(b):
    """The fields of a message: number, and an integer or bytes."""
    i, fields = 0, []

    def varint():
        nonlocal i
        v = shift = 0
        while True:
            v |= (b[i] & 127) << shift
            shift, i = shift + 7, i + 1
            if b[i - 1] < 128:
                return v

    while i < len(b):
        key = varint()
        if key & 7 == 0:
            fields.append((key >> 3, varint()))
            continue
        n = 8 if key & 7 == 1 else varint() if key & 7 == 2 else fail("a wire type that is not used", key & 7)
        fields.append((key >> 3, b[i:i + n]))
        i += n
        if i > len(b):
            fail("a message ends too early")
    return fields


def signed(v):
    return v - (1 << 64) if v >> 63 else v


def real(b):
    return struct.unpack("<d", b)[0]


class Trace:
    def __init__(self, path):
        self.tracks, self.events, self.dropped = {}, [], 0
        self.names = collections.defaultdict(dict)  # of a sequence: (list, number) -> name
        for number, packet in message(open(path, "rb").read()):
            self.packet(dict(message(packet)), packet)
        self.events.sort(key=lambda e: e["at"])
        self.slices()

    def packet(self, p, raw):
        if p.get(13, 0) & 1:
            self.names[p[10]].clear()
        self.dropped += p.get(42, 0)
        for number, interned in message(p.get(12, b"")):
            entry = dict(message(interned))
            self.names[p[10]][number, entry[1]] = entry[2].decode()
        if 60 in p:
            d = dict(message(p[60]))
            if d[1] in self.tracks:
                fail("a track is described twice", d)
            inner = dict(message(d.get(3, d.get(4, b""))))
            name = d.get(2) or inner.get(6 if 3 in d else 5)
            self.tracks[d[1]] = {"name": name.decode(), "parent": d.get(5), "process": 3 in d, "thread": 4 in d}
            if d.get(5) is not None and d[5] not in self.tracks:
                fail("a track comes before its parent", d)
        if 11 in p:
            self.event(p, message(p[11]))

    def event(self, p, fields):
        e, names = dict(fields), self.names[p[10]]
        if e[11] not in self.tracks:
            fail("an event of a track that was not described", e)
        values = {}
        for number, a in fields:
            a = dict(message(a)) if number == 4 else None
            if a:
                name = a[10].decode() if 10 in a else names[3, a[1]]
                values[name] = signed(a[4]) if 4 in a else real(a[5]) if 5 in a else a[6].decode()
        self.events.append({"at": p[8], "type": e[9], "track": e[11], "values": values,
                            "name": e[23].decode() if 23 in e else names.get((2, e.get(10))),
                            "flows": {v for number, v in fields if number == 47},
                            "count": signed(e[30]) if 30 in e else real(e[44]) if 44 in e else None})

    def slices(self):
        open_ones = collections.defaultdict(list)
        for e in self.events:
            if e["type"] == 1:
                open_ones[e["track"]].append(e)
            elif e["type"] == 2:
                open_ones[e["track"]].pop()["until"] = e["at"]
        if any(open_ones.values()):
            fail("a slice does not end")


def of_fields(fields, units):
    return {units.get(name, name): v for name, v in fields.items()}


def main():
    trace, counters, gauges = Trace(sys.argv[1]), sys.argv[3].split(","), sys.argv[4].split(",")
    sums, expected, programs = collections.Counter(), collections.Counter(), 0
    for line in open(sys.argv[2]):
        r = json.loads(line)
        fields, at = r["fields"], r["run_time_ns"]
        if r["process"] == "bezeld":
            continue
        programs += 1
        if r["aspect"] in counters:
            sums[r["process"], r["aspect"]] += fields["count"]
            what = at, at, sums[r["process"], r["aspect"]]
        elif r["aspect"] in gauges:
            what = at, at, fields["value"]
        else:
            duration = list(fields.values())[0] if list(fields)[:1] == ["duration"] else None
            values = list(fields.values())[0 if duration is None else 1:]
            what = at - (duration or 0), at, json.dumps([x if x is not None else "?" for x in values])
        expected[(r["aspect"], *what)] += 1
    found, states, lost = collections.Counter(), collections.Counter(), 0
    for e in trace.events:
        track = trace.tracks[e["track"]]
        if e["type"] == 4 and track["name"] in counters + gauges:
            found[track["name"], e["at"], e["at"], e["count"]] += 1
        elif e["type"] in (1, 3) and e["name"].split(",")[0] in ("running", "ready", "waiting"):
            states[e["name"]] += e["until"] - e["at"]
        elif e["type"] == 3 and e["name"].endswith(" lost up to here"):
            lost += int(e["name"].split()[0])
        elif e["type"] in (1, 3) and not e["name"].startswith("bezel_"):
            found[e["name"], e["at"], e.get("until", e["at"]), json.dumps(list(e["values"].values()))] += 1
    if found != expected:
        fail("not the same:", list((found - expected).items())[:3], "more,", list((expected - found).items())[:3], "missing")
    flows = collections.Counter(f for e in trace.events for f in e["flows"])
    monitors = collections.Counter(e["name"] for e in trace.events if (e["name"] or "").startswith("bezel_"))
    print(json.dumps({"records": programs, "pairs": sum(n == 2 for n in flows.values()), "lost": lost, "dropped": trace.dropped,
                      "states": states, "monitors": monitors,
                      "processes": sorted(t["name"] for t in trace.tracks.values() if t["process"]),
                      "threads": sum(t["thread"] for t in trace.tracks.values())}))


main()
