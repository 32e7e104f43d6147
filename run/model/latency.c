// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/model/latency.h"

#include "base/bytes.h"

#include <math.h>

static const struct histogram coarse = {.coarser = HISTOGRAM_COARSE};

void latency_add(struct latency *l, int64_t ns, uint64_t n)
{
    l->values.coarser = HISTOGRAM_COARSE;
    if (!histogram_add_many(&l->values, ns > 0 ? (double)ns : 0, n, NULL))
        return;
    l->count += n;
    l->max = ns > l->max ? ns : l->max;
}

int64_t latency_bucket_start(int64_t ns)
{
    if (ns <= 0)
        return INT64_MIN;
    double first = ceil(histogram_number(histogram_first(&coarse, histogram_bucket(&coarse, (double)ns))));
    return first < (double)ns ? (int64_t)first : ns; /* above 2^53 `ns` may have been rounded up to it */
}

int64_t latency_quantile(const struct latency *l, double q)
{
    double value = l->count ? floor(histogram_quantile(&l->values, q)) : 0;
    return value < (double)l->max ? (int64_t)value : l->max;
}

/* Steps begin at powers of two, so a bucket is in one of them. */
void latency_steps(const struct latency *l, uint64_t counts[LATENCY_STEPS + 1])
{
    for (uint32_t i = 0; i < l->values.capacity; i++)
        for (int64_t k = 0; l->values.slots[i].counts && k < HISTOGRAM_STEPS; k++) {
            int64_t bucket = l->values.slots[i].row * HISTOGRAM_STEPS + k;
            double first = histogram_number(histogram_first(&l->values, bucket));
            size_t step = 0;
            while (step < LATENCY_STEPS && first >= ldexp(1, LATENCY_STEP_FIRST + LATENCY_STEP_BITS * (int)step))
                step++;
            counts[step] += l->values.slots[i].counts[k];
        }
}

size_t latency_pack(const struct latency *l, uint8_t *blob)
{
    bytes_put_u64(blob, (uint64_t)l->max);
    return 8 + histogram_pack(&l->values, blob + 8);
}

/* Earlier runs number buckets otherwise: the values below 64, then 32 buckets for each power of two. */
enum { EARLIER_BUCKETS = 64 + 57 * 32 };

static double earlier(uint32_t bucket)
{
    return bucket < 64 ? bucket : ldexp(32 + (bucket - 64) % 32, (int)(bucket - 64) / 32 + 1);
}

int latency_unpack(struct latency *l, const uint8_t *blob, size_t n)
{
    if (n < 8 || (n - 8) % HISTOGRAM_PACKED != 0)
        return BEZEL_EMALFORMED;
    int64_t max = (int64_t)bytes_get_u64(blob);
    for (const uint8_t *at = blob + 8; at < blob + n; at += HISTOGRAM_PACKED) {
        uint32_t bucket = bytes_get_u32(at);
        double value = bucket < EARLIER_BUCKETS ? earlier(bucket) : histogram_packed(bucket);
        uint64_t count = bytes_get_u64(at + 4), before = l->count;
        if (!(value >= 0 && value <= 0x1p63))
            return BEZEL_EMALFORMED;
        latency_add(l, value < 0x1p63 ? (int64_t)value : INT64_MAX, count);
        if (l->count != before + count)
            return BEZEL_ENOMEM;
    }
    l->max = max > l->max ? max : l->max;
    return 0;
}

void latency_free(struct latency *l)
{
    histogram_free(&l->values, NULL);
    *l = (struct latency){0};
}
