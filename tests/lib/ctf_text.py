# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# ctf_text.py TEXT RECORDS: whether the lines of `babeltrace2 --clock-seconds` in TEXT and those of `bezel export --format
# jsonl` of the imported trace in RECORDS are the same records, by time, event, process, thread and values. Exit 1 with the
# first that are not.
import collections
import json
import re
import sys

LINE = re.compile(r'\[(\d+)\.(\d{9})\] (?:\([^)]*\) )?(?:(\S+) )?(\S+): (.*)$')
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|<unknown>|[\[\]{}():,=]|[^\s\[\]{}():,="]+')


def read(tokens):
    """The value that begins: a number, text, label or None for what has no place in a record; or a dict of fields."""
    first = tokens.popleft()
    if first == '{':
        fields = {}
        while tokens[0] != '}':
            name = tokens.popleft()
            while tokens.popleft() != '=':
                pass
            fields[name.lstrip('_') if name.startswith('__') else name] = read(tokens)
            if tokens[0] == ',':
                tokens.popleft()
        tokens.popleft()
        return fields
    if first == '[':
        depth = 1
        while depth:
            depth += {'[': 1, ']': -1}.get(tokens.popleft(), 0)
        return None
    if first == '(':
        label = tokens.popleft()
        while tokens.popleft() != '=':
            pass
        number = tokens.popleft()
        while tokens.popleft() != ')':
            pass
        return number if label == '<unknown>' else unquote(label)
    if first[0] == '"':
        return unquote(first)
    return float(first) if re.search(r'[.en]', first) and not first.startswith('0x') else int(first, 0)


def unquote(text):
    return re.sub(r'\\(.)', r'\1', text[1:-1])


def plain(value):
    """Numbers as the text has them; labels of numbers are texts."""
    return '%g' % value if isinstance(value, (int, float)) and abs(value) < 1e6 else str(value)


def from_text(path):
    for line in open(path, encoding='utf-8'):
        found = LINE.match(line)
        if not found:
            sys.exit(f'not a line of babeltrace2: {line}')
        seconds, ns, _, name, rest = found.groups()
        tokens = collections.deque(TOKEN.findall(rest))
        parts = []
        while tokens:
            parts.append(read(tokens))
            if tokens:
                tokens.popleft()
        of = {k: v for part in parts[:-1] for k, v in part.items()}
        yield (int(seconds) * 10**9 + int(ns), name, of.get('vpid'), of.get('vtid'),
               tuple(sorted((k.lstrip('_'), plain(v)) for k, v in parts[-1].items() if v is not None)))


def from_records(path):
    for line in open(path, encoding='utf-8'):
        r = json.loads(line)
        yield (r['run_time_ns'], r['aspect'], r['pid'], r['thread'],
               tuple(sorted((k.lstrip('_'), plain(v)) for k, v in r['fields'].items())))


text, records = (collections.Counter(read_from(path)) for read_from, path in
                 ((from_text, sys.argv[1]), (from_records, sys.argv[2])))
if text != records:
    print('only babeltrace2:', *list((text - records).items())[:1], 'only bezel:', *list((records - text).items())[:1], sep='\n')
    sys.exit(1)
print(sum(text.values()), 'records are the same')
