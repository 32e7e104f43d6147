// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Stream files: the input is one, of the process whose dictionary tests/golden/v1 keeps. What the verifier takes of it
 * is what can be walked in memory, to the byte; what it refuses it places and names.
 */
#include "base/file.h"
#include "mdr/parts.h"
#include "run/model/validate.h"
#include "run/verify/verify_internal.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

enum { RING = 2, PID = 4711 };

static const uint8_t uuid[16] = {0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7,
                                 0xb8, 0xb9, 0xba, 0xbb, 0xbc, 0xbd, 0xbe, 0xbf};
static char dir[] = "/dev/shm/bezel-fuzz-trace-XXXXXX", path[64], *dictionary;
static size_t dictionary_bytes;

static void clean_up(void)
{
    (void)!file_remove_tree(dir);
    free(dictionary);
}

static void begin(void)
{
    fuzz_must(mkdtemp(dir));
    atexit(clean_up);
    snprintf(path, sizeof path, "%s/app-%d-%d", dir, PID, RING);
    fuzz_must(file_read(BEZEL_SOURCE_DIR "/tests/golden/v1/dictionary.bin", 1 << 16, &dictionary, &dictionary_bytes) ==
              0);
}

static struct model_process *make_process(struct model *m)
{
    struct message_hello hello = {.node = "desk"};
    static struct message_process said;
    struct dict *dict;
    memcpy(hello.uuid, uuid, sizeof uuid);
    said =
        (struct message_process){.instance = UINT64_C(0x0000303900000001), .stream_id = 7, .pid = PID, .name = "app"};
    struct model_node *node = model_add_node(m, &hello);
    struct model_process *p = node ? model_add_process(node, &said) : NULL;
    fuzz_must(p && dict_parse((const uint8_t *)dictionary, dictionary_bytes, &dict) == 0);
    model_set_dictionary(p, dict);
    return p;
}

/* The position behind the cover, if the data begin with one of the stream. Returns its bytes. */
static uint64_t begin_behind_cover(const struct model_process *p, struct model_stream *s, const uint8_t *data,
                                   size_t size, struct packet_header *cover)
{
    uint64_t records;
    if (packet_get_cover(data, size, cover, &records) != 0 || cover->instance != p->instance || cover->ring != RING ||
        memcmp(cover->uuid, uuid, sizeof uuid) != 0)
        return 0;
    s->packets = s->at.next_seq = cover->seq + 1;
    s->at.next_ordinal = cover->first_ordinal;
    s->at.discarded = cover->discarded;
    s->last_end = cover->timestamp_end;
    return cover->size_bytes;
}

/* As many bytes as are packets of the stream, one after the other, behind its cover. */
static uint64_t walk(const struct model_process *p, const uint8_t *data, size_t size)
{
    struct packet_header h, cover;
    struct model *m = model_new("");
    struct model_process *other = make_process(m);
    struct model_stream *s = model_stream(other, RING);
    uint64_t at = begin_behind_cover(p, s, data, size, &cover), expired = at;
    struct validate_found found;
    while (at <= size && packet_get_header(data + at, size - at, &h) == 0 && h.instance == p->instance &&
           h.ring == RING && memcmp(h.uuid, uuid, sizeof uuid) == 0 && (!expired || h.stream_id == cover.stream_id) &&
           h.seq == s->at.next_seq && dict_includes(p->dict, h.dictionary) &&
           !validate_check(other, s, &h, data + at, &found)) {
        validate_advance(s, &h);
        at += h.size_bytes;
    }
    model_free(m);
    return at;
}

static void hear(const struct verify_report *f, void *context)
{
    fuzz_must(f->is != VERIFY_COMPLETE && f->code[0] && f->file[0] && f->text[0]);
    *(uint64_t *)context += 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!dictionary)
        begin();
    FILE *f = fopen(path, "wb");
    fuzz_must(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
    uint64_t heard = 0;
    struct verify v = {.report = hear, .context = &heard};
    struct model *m = model_new("");
    fuzz_must(m);
    const struct model_process *p = make_process(m);
    struct verify_walk w = {.v = &v, .model = m, .node = p->node};
    fuzz_must(verify_file(path, &w) == 0);
    uint64_t taken = model_find_stream(p, RING) ? p->streams[RING]->bytes : 0;
    fuzz_must(taken == walk(p, data, size));
    fuzz_must((heard == 0) == (size == 0)); /* the database has nothing of it, so that all of it is news */
    model_free(m);
    return 0;
}
