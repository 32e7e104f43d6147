# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# ctf_made.py KIND DIR [HOST [OFFSET]]: makes a CTF trace in DIR, of one stream with two packets of three events.
#   plain      counts what it lost and numbers its packets; the clock begins OFFSET s after 1970, 0 by default
#   gaps       as plain; four events were discarded, and three packets are missing
#   backward   as plain; the counter of discarded events goes back from four to one
#   dips       as plain, with three packets more; whose counter is 4, 0 and 6
#   uncounted  without counter and numbers
#   timeless   without a clock
#   ctf2       the metadata of CTF 2
#   empty      no stream
#   pairs      entries and exits of two threads, which nest; some lack their other half, and one was discarded
import os
import struct
import sys

kind, folder = sys.argv[1:3]
host = sys.argv[3] if len(sys.argv) > 3 else 'board'
offset = int(sys.argv[4]) if len(sys.argv) > 4 else 0
counts, timed = kind not in ('uncounted',), kind != 'timeless'
CLOCK = f'''
clock {{ name = made; freq = 1000000; offset_s = {offset}; absolute = {'true' if offset else 'false'}; }};
typealias integer {{ size = 64; align = 8; signed = false; map = clock.made.value; }} := stamp;
''' if timed else '\ntypealias integer { size = 64; align = 8; signed = false; } := stamp;\n'
META = f'''/* CTF 1.8 */
typealias integer {{ size = 32; align = 8; signed = false; }} := u32;
typealias integer {{ size = 64; align = 8; signed = false; }} := u64;
trace {{ major = 1; minor = 8; byte_order = le; packet.header := struct {{ u32 magic; u32 stream_id; }}; }};
env {{ hostname = "{host}"; domain = "bare"; tracer_name = "made"; }};
{CLOCK}
stream {{ id = 0;
  packet.context := struct {{ stamp {'timestamp_' if timed else ''}begin; stamp {'timestamp_' if timed else ''}end; u64 content_size; u64 packet_size;
    {'u64 events_discarded; u64 packet_seq_num;' if counts else ''} u32 cpu_id; }};
  event.header := struct {{ u32 id; stamp at; }}; }};
event {{ id = 0; name = "9 odd-name"; stream_id = 0; fields := struct {{ u64 huge; u32 _same; u32 other-; }}; }};
'''.replace('u32 other-;', 'u32 other; struct { u32 x; } nested;')


if kind == 'pairs':
    META = META.replace('stamp at; };', 'stamp at; }; event.context := struct { u32 vtid; };') + '''
event { id = 1; name = "syscall_entry_read"; stream_id = 0; fields := struct { u32 fd; }; };
event { id = 2; name = "syscall_exit_read"; stream_id = 0; fields := struct { u32 ret; }; };
event { id = 3; name = "lone_exit"; stream_id = 0; fields := struct { u32 ret; }; };
'''
PAIRS = [(1, 1000, 5), (1, 1010, 6), (1, 1020, 5), (2, 1030, 5), (2, 1040, 6), (2, 1050, 5), (2, 1060, 6), (3, 1065, 6), (1, 1070, 5)], \
    [(2, 2000, 5), (1, 2010, 5), (2, 2020, 5)], [(1, 3000, 5), (2, 3010, 5)]


def packet(number, discarded, begin, events):
    content = b''.join(struct.pack('<IQQIII', 0, begin + i, 2**64 - 1 - i, i, number, 7) for i in range(events))
    if kind == 'pairs':
        content = b''.join(struct.pack('<IQII', id, at, tid, 7) for id, at, tid in PAIRS[number])
    size = 8 + 32 + (16 if counts else 0) + 4 + len(content)
    head = struct.pack('<II', 0xC1FC1FC1, 0) + struct.pack('<QQQQ', begin, begin + 100, size * 8, size * 8)
    head += struct.pack('<QQ', discarded, number) if counts else b''
    return head + struct.pack('<I', 3) + content


os.makedirs(folder)
with open(os.path.join(folder, 'metadata'), 'w', encoding='utf-8') as out:
    out.write('\x1e{"type": "preamble", "version": 2}\n' if kind == 'ctf2' else META)
if kind not in ('ctf2', 'empty'):
    gap = 3 if kind == 'gaps' else 0
    with open(os.path.join(folder, 'stream'), 'wb') as out:
        counted = {'gaps': (0, 4), 'backward': (4, 1), 'pairs': (0, 1)}.get(kind, (0, 0))
        out.write(packet(0, counted[0], 1000, 3) + packet(1 + gap, counted[1], 2000, 3))
        if kind == 'dips':
            out.write(packet(2, 4, 3000, 3) + packet(3, 0, 4000, 3) + packet(4, 6, 5000, 3))
        if kind == 'pairs':
            out.write(packet(2, 1, 3000, 0))
