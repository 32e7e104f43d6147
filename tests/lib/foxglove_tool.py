# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
"""
A client of `bezel view --foxglove` that says what it likes. foxglove_tool.py SCENE ADDRESS [ARGUMENT...]; the scenes are the
functions at the end.
"""
import collections
import json
import os
import socket
import struct
import sys
import time

sys.dont_write_bytecode = True
from page_client import PATIENCE, Page  # noqa: E402


class Tool(Page):
    """Subscribes, and keeps what it is told: channels, the clock, and the statuses of warnings and errors."""

    def __init__(self, address, protocol="foxglove.sdk.v1", **more):
        place, _, path = address.partition("://")[2].partition("/")
        super().__init__(int(place.split(":")[1]), path="/" + path, protocol=protocol, **dict({"origin": ""}, **more))
        self.channels, self.topics, self.of, self.clock, self.statuses, self.next = {}, {}, {}, 0, [], 0
        self.info = self.take()
        assert self.info["op"] == "serverInfo" and self.info["capabilities"] == ["time"], self.info
        while not self.channels:
            self.take()

    def request(self, **members):
        self.say(json.dumps(members))

    def subscribe(self, *topics):
        """To all in one message."""
        wanted = []
        for topic in topics:
            self.of[self.next] = topic
            wanted.append({"id": self.next, "channelId": self.topics[topic]["id"]})
            self.next += 1
        self.request(op="subscribe", subscriptions=wanted)

    def take(self):
        """The next message: a JSON object, or topic, time and bytes of a record."""
        is_text, message = self.message()
        if is_text:
            m = json.loads(message)
            for c in m.get("channels", []):
                assert c["topic"] not in self.topics, "a topic twice: " + c["topic"]
                self.channels[c["id"]] = self.topics[c["topic"]] = c
            if m["op"] == "status":
                self.statuses.append((m["level"], m["message"]))
            return m
        if message[0] == 2:
            at = struct.unpack("<Q", message[1:])[0]
            assert at > self.clock, "the clock goes back"
            self.clock = at
            return self.take()
        kind, subscription, at = struct.unpack("<BIQ", message[:13])
        assert kind == 1 and self.clock >= at, (kind, self.clock, at)
        return self.of[subscription], at, message[13:]

    def records(self, until=None):
        """What comes until the run is over, or `until` holds of a record."""
        while True:
            m = self.take()
            if isinstance(m, tuple):
                yield m
                if until and until(m):
                    return
            elif m["op"] == "status" and m["message"].startswith("the run is over"):
                return

    def status(self, words):
        while not any(words in text for _, text in self.statuses):
            self.take()


def number(record):
    """The first field of a `tick`."""
    return struct.unpack("<q", record[2][4:12])[0]


def sequences(records):
    found = collections.defaultdict(list)
    for topic, at, data in records:
        found[topic].append((at, bytes(data)))
    return found


def await_topic(tool, topic):
    while topic not in tool.topics:
        tool.take()


# ---- scenes --------------------------------------------------------------------------------------------------------------


def same(address, mcap):
    """All records and losses of a run that is over, as an MCAP file has them, by both names of the protocol, and again."""
    from mcap_file import File
    f = File(mcap)
    expected = sequences((f.channels[c][1], at, data) for at, c, data in f.messages)
    session = None
    for protocol in ["foxglove.websocket.v1", "foxglove.sdk.v1"]:
        tool = Tool(address, protocol)
        while tool.info["sessionId"] == session:  # the view has not seen yet that the others went
            tool.close()
            tool = Tool(address, protocol)
        session = tool.info["sessionId"]
        assert "Sec-WebSocket-Protocol: " + protocol in tool.head, tool.head
        for schema, topic, encoding, _ in f.channels.values():
            while topic not in tool.topics:
                tool.take()
            c, s = tool.topics[topic], f.schemas[schema]
            assert (c["encoding"], c["schemaName"], c["schemaEncoding"], c["schema"]) == (encoding, s[0], s[1], s[2]), c
        tool.subscribe(*expected)
        found = sequences(tool.records())
        assert found == expected, {t: (len(found[t]), len(expected[t])) for t in expected if found[t] != expected[t]}
        assert not [s for s in tool.statuses if s[0] > 0], tool.statuses
        late = Tool(address, protocol)  # the first one is still there: it is not played again
        topics = [t for t in expected if t == "bezel/lost" or t.endswith("/tick")]
        late.subscribe(*topics)
        for _ in topics:
            topic, at, data = late.take()
            assert (at, data) == expected[topic][-1], "not the newest one of " + topic
        late.close()
        tool.close()
    print(json.dumps({"lost": len(expected["bezel/lost"]), "records": sum(map(len, expected.values()))}))


def whole(address, topic):
    """Prints what is said when the run is over."""
    tool = Tool(address)
    await_topic(tool, topic)
    tool.subscribe(topic)
    for _ in tool.records():
        pass
    print("%d %s" % tool.statuses[-1])


def pace(address, topic):
    """Playing takes as long as recording did, at least."""
    tool = Tool(address)
    await_topic(tool, topic)
    began = time.monotonic_ns()
    tool.subscribe(topic)
    times = [at for _, at, _ in tool.records()]
    took, span = time.monotonic_ns() - began, times[-1] - times[0]
    assert took >= span > 0, (took, span)


def newest_of(address, topic, n):
    """Of a run that goes on, who comes late gets the newest record, whose number is N, as soon as it is shown."""
    tool = Tool(address)
    await_topic(tool, topic)
    tool.subscribe(topic)
    while number(tool.take()) != int(n):  # the view may have read less when it began
        pass
    late = Tool(address)
    await_topic(late, topic)
    late.subscribe(topic)
    assert number(late.take()) == int(n)
    print("ok")


def follow(address, topic, n):
    """Says when it has record N, which is there before, and prints the number of the last one; none is missing in between."""
    tool = Tool(address)
    await_topic(tool, topic)
    tool.subscribe(topic)
    before = -1
    while before < int(n):  # the view may have read less when it began
        before = number(tool.take())
    print("subscribed", flush=True)
    for record in tool.records():
        assert number(record) == before + 1, (before, number(record))
        before = number(record)
    print(before)


def slow(address, topic, fifo, err):
    """Reads nothing until it has missed records; then up to the last one. Prints how many it lacks, and the last one's number."""
    before = socket.socket.connect

    def small(s, place):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        return before(s, place)

    socket.socket.connect = small
    tool = Tool(address)
    socket.socket.connect = before
    await_topic(tool, topic)
    tool.subscribe(topic)
    first = number(tool.take())
    given, end = first + 1, time.monotonic() + PATIENCE
    while "records were dropped for this client" not in open(err).read():
        assert time.monotonic() < end, "nothing was dropped"
        with open(fifo, "w") as orders:
            orders.write("tick 2000\n")
        given += 2000
        time.sleep(0.02)
    with open(fifo, "w") as orders:
        orders.write("tick 1\n")
    got = [number(r) for r in tool.records(lambda r: number(r) == given)]
    assert got == sorted(set(got)), "out of order"
    tool.status("records were dropped for this client")
    print(given - first - len(got), given)


def strange(address):
    """Requests and frames that make no sense are answered, or end their client alone."""
    other, tool = Tool(address), Tool(address)
    tool.request(op="fetchAsset", uri="package://x", requestId=1)
    tool.status("subscribe and unsubscribe alone, not fetchAsset")
    tool.request(op="subscribe", subscriptions=[{"id": 0, "channelId": 4000000000}])
    tool.status("no channel 4000000000")
    tool.request(op="unsubscribe", subscriptionIds=[77])
    tool.status("no subscription 77")
    tool.of[0] = "bezel/lost"  # a run on a busy machine has losses
    tool.request(op="subscribe", subscriptions=[{"id": 0, "channelId": 0}, {"id": 1, "channelId": 0}, {"id": 0, "channelId": 1}])
    tool.status("channel 0 has a subscription already")
    tool.status("subscription 0 is there already")
    for text in ["", "{", "[]", "{}", '{"op": 1}', '{"op":"subscribe","subscriptions":[{"id":-1,"channelId":0}]}']:
        tool.statuses.clear()
        tool.say(text)
        tool.status("cannot be read")
    assert all(level == 1 for level, _ in tool.statuses)
    for opcode, payload in [(2, b"\1\0\0\0\0{}"), (1, b"x" * (200 << 10)), (1, b"\xff\xff"), (9, b"x" * 126), (3, b"")]:
        bad = Tool(address)
        try:
            bad.frame(opcode, payload)
            while True:
                bad.take()
        except (ConnectionError, BrokenPipeError):
            pass
        bad.close()
    tool.request(op="unsubscribe", subscriptionIds=[0])
    other.request(op="unsubscribe", subscriptionIds=[5])
    other.status("no subscription 5")
    print("ok")


def refused(address, origin=""):
    """With that origin a client is refused; "": without one."""
    try:
        Tool(address, origin=origin)
    except (ConnectionError, ConnectionResetError):
        print("refused")
        return
    print("admitted")


globals()[sys.argv[1]](*sys.argv[2:])
