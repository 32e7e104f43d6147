# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# picl_records.py PICL RECORDS START: whether the spans, waits, messages, other records and losses in PICL are those of RECORDS
# (`bezel export --format jsonl`) of a run of one node that began at START ns, where aspects of messages are PEER's. Exit 1 with
# the first that are not. Every line has as many data as it says, and lines are in order of time.
import collections
import decimal
import json
import re
import sys

picl, records, start = sys.argv[1], sys.argv[2], int(sys.argv[3])
SEND, RECEIVE, TRACING, FULL = -21, -52, -901, -913
labels, open_entries, found, last, begun = {}, collections.defaultdict(list), collections.Counter(), 0, set()
for line in open(picl, encoding='ascii'):
    words = line.split()
    record, event, at, node, process, count = int(words[0]), int(words[1]), words[2], *map(int, words[3:6])
    ns = int(decimal.Decimal(at) * 10**9)
    if ns < last or not re.fullmatch(r'\d+\.\d{9}', at):
        sys.exit(f'not in order of time: {line}')
    last = ns
    each = 0 if count == 0 else words[6].count('%') if words[6][0] == '"' else 1
    data = words[7:]
    if len(words) != (6 if count == 0 else 7 + count * each):
        sys.exit(f'not so many data: {line}')
    if record == -5:
        labels[event] = data[0]
    elif event == TRACING:
        begun ^= {process}
    elif event == FULL:
        found['lost'] += int(data[0])
    elif record == -3:
        open_entries[process, event].append((ns, data))
    elif record == -4:
        begin, at_entry = open_entries[process, event].pop()
        if event == SEND:
            found['sent', ns, int(at_entry[1])] += 1
        elif event == RECEIVE:
            found['received', ns, int(data[1])] += 1
        else:
            found[labels[event], begin, ns, tuple(data)] += 1
    else:
        found[labels[event], None, ns, tuple(data)] += 1
if any(open_entries.values()) or begun:
    sys.exit('entries without exits')

wanted = collections.Counter()
for line in open(records, encoding='utf-8'):
    r = json.loads(line)
    ns, fields = r['run_time_ns'] - start, r['fields']
    if 'tag' in fields:
        wanted['received' if r['aspect'].endswith('ed') else 'sent', ns, fields['tag']] += 1
    else:
        lasted = fields.get('duration')
        rest = tuple(str(v) for k, v in fields.items() if k != 'duration')
        wanted[r['aspect'], None if lasted is None else ns - lasted, ns, rest] += 1
if found != wanted:
    print('only PICL:', *list((found - wanted).items())[:2], 'only Bezel:', *list((wanted - found).items())[:2], sep='\n')
    sys.exit(1)
print(sum(wanted.values()), 'records are the same')
