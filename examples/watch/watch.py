#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
"""Prints a run's records as JSON lines, read from its server: watch.py ENDPOINT [CONDITION [FOLDER-OF-KEYS]]

Made from docs/WIRE.md alone; needs pyzmq (Debian: python3-zmq). `bezel serve RUN` prints the endpoint.
"""
import json, re, struct, sys
import zmq

MAGIC, FORMAT, REFUSE, HEARTBEAT, READ, SCHEMA, RECORDS, CREDIT, END = 0x425A4C31, 2, 3, 8, 30, 32, 33, 34, 35
WINDOW = 1 << 20  # bytes that may be under way

def texts(*all):  # as XDR: a count, the bytes, zeros up to a multiple of four
    return b"".join(struct.pack(">I", len(t)) + t + bytes(-len(t) % 4) for t in (text.encode() for text in all))

class Reader:  # takes one item of XDR after the other
    def __init__(self, data, at=0):
        self.data, self.at = data, at
    def take(self, kinds):  # as of struct: I, Q, q, d
        values = struct.unpack_from(">" + kinds, self.data, self.at)
        self.at += struct.calcsize(">" + kinds)
        return values if len(values) > 1 else values[0]
    def bytes(self, n=None):
        n = self.take("I") if n is None else n
        self.at += n + -n % 4
        return self.data[self.at - n - -n % 4:][:n]
    def text(self):
        return self.bytes().decode()

def dictionary(data):  # aspects as (name, fields), strings, both from 1
    r, aspects, strings = Reader(data), [None], [None]
    while r.at < len(data):
        kind, _ = r.take("II")
        if kind == 2:
            strings.append(r.text())
        else:
            aspects.append((r.text(), [(r.take("I"), r.text(), r.text(), r.text().split("|")) for _ in range(r.take("I"))]))
    return aspects, strings

def value(r, field, strings):
    kind, labels = field[0], field[3]
    v = r.take("d" if kind == 1 else "q")
    if kind == 2 and 0 <= v < len(labels) and labels[v]:
        return labels[v]
    return (strings[v] if 0 < v < len(strings) else None) if kind == 3 else v

logical = [-2**63]  # time of the last item: grows from each to the next

def item(r, schemas):
    number, ring, thread, run_time, error, order = r.take("IIIqqI")
    logical[0] = max(logical[0] + 1, run_time)
    if order == 0:
        r.take("QQ")  # a loss: its time, and how many were lost
        return
    node, process, pid, (aspects, strings) = schemas[number]
    record = Reader(r.bytes())
    aspect, time = record.take("IQ")
    name, fields = aspects[aspect]
    print(json.dumps({"node": node, "process": process, "pid": pid, "ring": ring, "thread": thread, "time_ns": time,
                      "aspect": name, "run_time_ns": run_time, "error_ns": error if error >= 0 else None,
                      "order": [None, "unknown", "proven", "late", "tachyon", "moved", "contrary"][order],
                      "logical_ns": logical[0],
                      "fields": {field[1]: value(record, field, strings) for field in fields}}))

def connect(endpoint, keys):
    socket = zmq.Context.instance().socket(zmq.DEALER)
    if keys:  # the own secret key, and the server's public one
        key = lambda name: re.search(r"^(?:secret|public): (.{40})$", open(keys + name).read(), re.M)[1].encode()
        secret = key("/reader.key")
        socket.curve_secretkey, socket.curve_publickey = secret, zmq.curve_public(secret)
        socket.curve_serverkey = key("/collector.pub")
    socket.rcvtimeo, socket.sndtimeo, socket.linger = 5000, 5000, 0
    socket.connect(endpoint)
    return socket

def main(endpoint, condition="", keys=None):
    socket, schemas, taken = connect(endpoint, keys), {}, 0
    socket.send(struct.pack(">III", MAGIC, FORMAT, READ) + texts("", "", "", condition) + struct.pack(
        ">IIIqqQQI", 0, 1, 0, -1 << 63, (1 << 63) - 1, 0, (1 << 64) - 1, WINDOW))
    asked = False
    while True:
        try:
            r, asked = Reader(socket.recv()), False
        except zmq.Again:  # nothing came for 5 s: a server that was restarted answers with END
            if asked:
                sys.exit("watch.py: the server is gone")
            try:
                asked = socket.send(struct.pack(">IIIQ", MAGIC, FORMAT, HEARTBEAT, 0)) is None
            except zmq.Again:  # its end of the connection is closed
                sys.exit("watch.py: the server takes nothing: does it want keys?")
            continue
        magic, version, kind = r.take("III")
        if kind in (SCHEMA, RECORDS):
            taken += len(r.data)
        if taken >= WINDOW // 4:
            socket.send(struct.pack(">IIII", MAGIC, FORMAT, CREDIT, taken))
            taken = 0
        if kind == SCHEMA:
            number, node, _, process, _, pid, _ = r.take("I"), r.text(), r.bytes(16), r.text(), *r.take("QII")
            schemas[number] = node, process, pid, dictionary(r.bytes())
        elif kind == RECORDS:
            behind, count = r.take("QI")
            for _ in range(count):
                item(r, schemas)
        elif kind == REFUSE:
            sys.exit("watch.py: refused: " + r.text())
        elif kind == END:
            why, *totals = r.take("IQQQQQQ")
            reason = r.text()
            sys.exit("watch.py: " + reason if why else 0)

main(*sys.argv[1:])
