// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/self.h"

#include "mdr/builtin.h"
#include "mdr/dict_fields.h"

#include <math.h>
#include <string.h>

enum self_aspect {
    ASPECT_SELF = 1,
    ASPECT_LIMIT,
    ASPECT_DECISION,
    ASPECT_METRIC,
    ASPECT_CLOCK,
    ASPECT_POLLING,
    ASPECT_FLOW,
    ASPECT_EXPIRED,
    ASPECT_KNOB,
    ASPECT_SNAPSHOT,
    ASPECT_OBSERVATION,
    ASPECT_FINDING,
    ASPECT_OBEYED
};

#define POLICY_LABEL(NAME, name, word, moves) "|" word
#define POLICY_LABELS                         (&("" EXPERIMENT_POLICIES(POLICY_LABEL))[1]) /* without the first bar */

/* Names, fields and order are mdr/builtin.h's: the collector finds them there. */
static const struct dict_aspect aspects[] = {
    {.name = BUILTIN_SELF,
     .field_count = SELF_FIELDS,
     .fields = {INT("cpu", "ns"), INT("wakeups", "1"), INT("records", "1"), INT("bytes", "B"), INT("window", "B"),
                INT("oldest", "ns"), INT("period", "ns"), FLOAT("sensor_cpu", "%"), INT("worst", "ns")}},
    {.name = BUILTIN_LIMIT,
     .field_count = BLIMIT_FIELDS,
     .fields = {INT("limit", "1"), ENUM("state", "unknown|held|violated"), FLOAT("value", "1"), FLOAT("worst", "1"),
                INT("settling", "ns"), INT("held", "ns"), INT("violated", "ns"), INT("unknown", "ns"),
                INT("last_violated", "ns"), INT("epoch", "1")}},
    {.name = BUILTIN_DECISION,
     .field_count = DECISION_FIELDS,
     .fields = {ENUM("policy", POLICY_LABELS), ENUM("action", "keep|shorten|lengthen|off|resume"), INT("before", "ns"),
                INT("after", "ns"), INT("cause", "1"), ENUM("by", "agent|manager"), INT("epoch", "1"),
                INT("sequence", "1")}},
    {.name = BUILTIN_METRIC,
     .field_count = BMETRIC_FIELDS,
     .fields = {TEXT("metric"), TEXT("process"), FLOAT("value", "1/s")}},
    {.name = BUILTIN_CLOCK,
     .field_count = BCLOCK_FIELDS,
     .fields = {INT("kernel", "1"), INT("counter", "1"), INT("program", "1"), INT("error", "ns"), INT("jumps", "1"),
                INT("clamped", "1")}},
    {.name = BUILTIN_POLLING,
     .field_count = BPOLLING_FIELDS,
     .fields = {ENUM("cause", "start|operator|kept"), INT("period", "ns"), ENUM("mode", "polling|busy-wait"),
                ENUM("forward", "batch|collect"), INT("batch", "1")}},
    {.name = BUILTIN_FLOW,
     .field_count = BFLOW_FIELDS,
     .fields = {INT("produced", "1"), INT("full", "1"), INT("off", "1"), INT("no_ring", "1"), INT("overwritten", "1"),
                INT("in_rings", "1"), INT("in_window", "1"), INT("backpressure", "1"), INT("window", "1"),
                INT("spool", "1")}},
    {.name = BUILTIN_EXPIRED,
     .field_count = BEXPIRED_FIELDS,
     .fields = {TEXT("process"), TEXT("aspect"), INT("instance", "1"), INT("bound", "ns"), INT("taken", "1"),
                INT("expired", "1")}},
    {.name = BUILTIN_KNOB,
     .field_count = BKNOB_FIELDS,
     .fields = {TEXT("process"), TEXT("knob"), TEXT("unit"), INT("instance", "1"),
                ENUM("cause", "operator|manager|agent|kept|end"), INT("before", "1"), INT("after", "1"),
                INT("limit", "1"), FLOAT("value", "1"), INT("epoch", "1"), INT("sequence", "1")}},
    {.name = BUILTIN_SNAPSHOT,
     .field_count = BSNAPSHOT_FIELDS,
     .fields = {TEXT("node"), INT("number", "1"), INT("limit", "1"), FLOAT("value", "1"), INT("moment", "ns"),
                INT("duration", "ns"), INT("records", "1"), INT("processes", "1"), INT("first", "ns"),
                INT("last", "ns"), ENUM("state", "goes_on|over")}},
    {.name = BUILTIN_OBSERVATION,
     .field_count = BOBSERVATION_FIELDS,
     .fields = {INT("limit", "1"), ENUM("state", "unknown|held|violated"), FLOAT("value", "1")}},
    {.name = BUILTIN_FINDING,
     .field_count = FINDING_FIELDS,
     .fields = {ENUM("what", "infeasible|blameless|starved|shed|violated|spent"), INT("holds", "1"), INT("limit", "1"),
                FLOAT("needed", "%"), FLOAT("budget", "%"), INT("floor", "1")}},
    {.name = BUILTIN_OBEYED,
     .field_count = BOBEYED_FIELDS,
     .fields = {INT("epoch", "1"), INT("obeyed", "1"), INT("expired", "1"), INT("outdated", "1"), INT("repeated", "1"),
                INT("cut", "1"), INT("lost", "1"), INT("untold", "1")}},
};

int self_open(const char *dir, struct journal **j)
{
    return journal_open(dir, aspects, sizeof aspects / sizeof *aspects, j);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

void self_record_sample(struct journal *j, const struct self_sample *s)
{
    journal_record(j, ASPECT_SELF,
                   (uint64_t[SELF_FIELDS]){[SELF_CPU_NS] = (uint64_t)s->cpu_ns,
                                           [SELF_WAKEUPS] = (uint64_t)s->wakeups,
                                           [SELF_RECORDS] = (uint64_t)s->records,
                                           [SELF_BYTES] = (uint64_t)s->bytes,
                                           [SELF_WINDOW_BYTES] = (uint64_t)s->window_bytes,
                                           [SELF_OLDEST_NS] = (uint64_t)s->oldest_ns,
                                           [SELF_PERIOD_NS] = (uint64_t)s->period_ns,
                                           [SELF_SENSOR_CPU] = bits_of(s->sensor_cpu),
                                           [SELF_WORST_NS] = (uint64_t)s->worst_ns});
}

void self_record_limit(struct journal *j, int index, const struct agent_limit *limit, int64_t epoch)
{
    journal_record(j, ASPECT_LIMIT,
                   (uint64_t[BLIMIT_FIELDS]){[BLIMIT_INDEX] = (uint64_t)index,
                                             [BLIMIT_STATE] = (uint64_t)limit->state,
                                             [BLIMIT_VALUE] = bits_of(limit->known ? limit->value : (double)NAN),
                                             [BLIMIT_WORST] = bits_of(limit->worst),
                                             [BLIMIT_SETTLING] = (uint64_t)limit->settling,
                                             [BLIMIT_HELD] = (uint64_t)limit->held,
                                             [BLIMIT_VIOLATED] = (uint64_t)limit->violated,
                                             [BLIMIT_UNKNOWN] = (uint64_t)limit->unknown,
                                             [BLIMIT_LAST_VIOLATED] = (uint64_t)limit->last_violated,
                                             [BLIMIT_EPOCH] = (uint64_t)epoch});
}

static int64_t period_in_force(const struct policy_setting *s)
{
    return s->on ? s->period : 0;
}

void self_record_decision(struct journal *j, const struct agent_outcome *o, const struct self_decider *by)
{
    journal_record(j, ASPECT_DECISION,
                   (uint64_t[DECISION_FIELDS]){[DECISION_POLICY] = (uint64_t)o->policy,
                                               [DECISION_ACTION] = (uint64_t)o->action,
                                               [DECISION_BEFORE] = (uint64_t)period_in_force(&o->before),
                                               [DECISION_AFTER] = (uint64_t)period_in_force(&o->after),
                                               [DECISION_CAUSE] = (uint64_t)o->cause,
                                               [DECISION_BY] = (uint64_t)by->who,
                                               [DECISION_EPOCH] = (uint64_t)by->epoch,
                                               [DECISION_SEQUENCE] = (uint64_t)by->sequence});
}

void self_record_polling(struct journal *j, enum self_polling cause, int64_t period_ns, const struct message_poll *now)
{
    journal_record(j, ASPECT_POLLING,
                   (uint64_t[BPOLLING_FIELDS]){[BPOLLING_CAUSE] = (uint64_t)cause,
                                               [BPOLLING_PERIOD] = (uint64_t)period_ns,
                                               [BPOLLING_MODE] = (uint64_t)now->mode,
                                               [BPOLLING_FORWARD] = (uint64_t)now->forward,
                                               [BPOLLING_BATCH] = now->batch});
}

void self_record_flow(struct journal *j, const struct external_flow *flow, uint64_t backpressure)
{
    journal_record(j, ASPECT_FLOW,
                   (uint64_t[BFLOW_FIELDS]){[BFLOW_PRODUCED] = flow->produced,
                                            [BFLOW_FULL] = flow->full,
                                            [BFLOW_OFF] = flow->off,
                                            [BFLOW_NO_RING] = flow->no_ring,
                                            [BFLOW_OVERWRITTEN] = flow->overwritten,
                                            [BFLOW_IN_RINGS] = flow->in_rings,
                                            [BFLOW_IN_WINDOW] = flow->in_window,
                                            [BFLOW_BACKPRESSURE] = backpressure,
                                            [BFLOW_WINDOW] = flow->window,
                                            [BFLOW_SPOOL] = flow->spool});
}

void self_record_expired(struct journal *j, const struct self_expired *e)
{
    journal_record(j, ASPECT_EXPIRED,
                   (uint64_t[BEXPIRED_FIELDS]){[BEXPIRED_PROCESS] = journal_string(j, e->process),
                                               [BEXPIRED_ASPECT] = journal_string(j, e->aspect),
                                               [BEXPIRED_INSTANCE] = (uint64_t)e->instance,
                                               [BEXPIRED_BOUND] = (uint64_t)e->bound_ns,
                                               [BEXPIRED_TAKEN] = (uint64_t)e->taken,
                                               [BEXPIRED_EXPIRED] = (uint64_t)e->expired});
}

void self_record_knob(struct journal *j, const struct self_knob *k)
{
    journal_record(j, ASPECT_KNOB,
                   (uint64_t[BKNOB_FIELDS]){[BKNOB_PROCESS] = journal_string(j, k->process),
                                            [BKNOB_NAME] = journal_string(j, k->name),
                                            [BKNOB_UNIT] = journal_string(j, k->unit),
                                            [BKNOB_INSTANCE] = (uint64_t)k->instance,
                                            [BKNOB_CAUSE] = (uint64_t)k->cause,
                                            [BKNOB_BEFORE] = (uint64_t)(int64_t)k->before,
                                            [BKNOB_AFTER] = (uint64_t)(int64_t)k->after,
                                            [BKNOB_LIMIT] = (uint64_t)(int64_t)k->limit,
                                            [BKNOB_VALUE] = bits_of(k->value),
                                            [BKNOB_EPOCH] = (uint64_t)k->epoch,
                                            [BKNOB_SEQUENCE] = (uint64_t)k->sequence});
}

void self_record_snapshot(struct journal *j, const struct self_snapshot *s)
{
    journal_record(j, ASPECT_SNAPSHOT,
                   (uint64_t[BSNAPSHOT_FIELDS]){[BSNAPSHOT_NODE] = s->node[0] ? journal_string(j, s->node) : 0,
                                                [BSNAPSHOT_NUMBER] = (uint64_t)s->number,
                                                [BSNAPSHOT_LIMIT] = (uint64_t)s->limit,
                                                [BSNAPSHOT_VALUE] = bits_of(s->value),
                                                [BSNAPSHOT_MOMENT] = (uint64_t)s->moment,
                                                [BSNAPSHOT_DURATION] = (uint64_t)s->duration,
                                                [BSNAPSHOT_RECORDS] = (uint64_t)s->records,
                                                [BSNAPSHOT_PROCESSES] = (uint64_t)s->processes,
                                                [BSNAPSHOT_FIRST] = (uint64_t)s->first,
                                                [BSNAPSHOT_LAST] = (uint64_t)s->last,
                                                [BSNAPSHOT_STATE] = s->over});
}

void self_record_observation(struct journal *j, int index, const struct agent_limit *limit)
{
    journal_record(
        j, ASPECT_OBSERVATION,
        (uint64_t[BOBSERVATION_FIELDS]){[BOBSERVATION_LIMIT] = (uint64_t)index,
                                        [BOBSERVATION_STATE] = (uint64_t)limit->state,
                                        [BOBSERVATION_VALUE] = bits_of(limit->known ? limit->value : (double)NAN)});
}

void self_record_finding(struct journal *j, const struct self_finding *f)
{
    journal_record(j, ASPECT_FINDING,
                   (uint64_t[FINDING_FIELDS]){[FINDING_WHAT] = (uint64_t)f->what,
                                              [FINDING_HOLDS] = f->holds,
                                              [FINDING_LIMIT] = (uint64_t)(int64_t)f->limit,
                                              [FINDING_NEEDED] = bits_of(f->needed),
                                              [FINDING_BUDGET] = bits_of(f->budget),
                                              [FINDING_FLOOR] = f->floor});
}

void self_record_obeyed(struct journal *j, const struct self_obeyed *o)
{
    journal_record(j, ASPECT_OBEYED,
                   (uint64_t[BOBEYED_FIELDS]){[BOBEYED_EPOCH] = (uint64_t)o->epoch,
                                              [BOBEYED_OBEYED] = (uint64_t)o->obeyed,
                                              [BOBEYED_EXPIRED] = (uint64_t)o->expired,
                                              [BOBEYED_OUTDATED] = (uint64_t)o->outdated,
                                              [BOBEYED_REPEATED] = (uint64_t)o->repeated,
                                              [BOBEYED_CUT] = (uint64_t)o->cut,
                                              [BOBEYED_LOST] = (uint64_t)o->lost,
                                              [BOBEYED_UNTOLD] = (uint64_t)o->untold});
}

void self_record_clock(struct journal *j, const struct self_clock *c)
{
    journal_record(j, ASPECT_CLOCK,
                   (uint64_t[BCLOCK_FIELDS]){[BCLOCK_KERNEL] = (uint64_t)c->kernel,
                                             [BCLOCK_COUNTER] = (uint64_t)c->counter,
                                             [BCLOCK_PROGRAM] = (uint64_t)c->program,
                                             [BCLOCK_ERROR] = (uint64_t)c->error_ns,
                                             [BCLOCK_JUMPS] = (uint64_t)c->jumps,
                                             [BCLOCK_CLAMPED] = (uint64_t)c->clamped});
}

void self_record_metric(struct journal *j, const char *metric, const char *process, double value)
{
    journal_record(j, ASPECT_METRIC,
                   (uint64_t[BMETRIC_FIELDS]){[BMETRIC_NAME] = journal_string(j, metric),
                                              [BMETRIC_PROCESS] = journal_string(j, process),
                                              [BMETRIC_VALUE] = bits_of(value)});
}
