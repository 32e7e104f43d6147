// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
"use strict";

/*
 * The rows of the timeline. A tree of items {id, title, depth, words, children(), make()}: experiment, node, process,
 * thread, aspect; an item with make() has a plot. A row has series: what is wanted of the server for each line of it.
 */
const rows = (() => {
    const { make } = elements;
    const RECORDS = 400; /* of a row that are wanted beside its columns */
    const NUMERIC = ["int64", "float64", "enum"];

    /* ---- the catalogue --------------------------------------------------------------------------------------------- */

    /* What the server says of the run, with processes and streams at their nodes. */
    class Catalogue {
        constructor(message) {
            Object.assign(this, message);
            this.parts = new Set((this.intervals || []).flatMap(i => i.aspects)); /* aspects of intervals */
            this.processes = new Map();
            for (const [index, node] of this.nodes.entries()) {
                node.index = index;
                for (const p of node.processes) {
                    Object.assign(p, { node, aspects: this.dictionaries[p.dictionary]?.aspects || [], strings: this.dictionaries[p.dictionary]?.strings || [], threads: [] });
                    this.processes.set(p.row, p);
                }
            }
            for (const [stream, [row, ring, thread, name]] of this.streams.entries())
                this.processes.get(row)?.threads.push({ stream, ring, thread, name });
        }
        /* The processes of node `name` that have aspect `aspect`, with its number; the monitor's own if it is one of its own, or a sampler's. */
        having(aspect, name, monitor = aspect.startsWith("bezel_")) {
            const found = [];
            for (const p of this.processes.values()) {
                const i = p.aspects.findIndex(a => a.name === aspect);
                if (i >= 0 && p.monitor === monitor && (name === undefined || p.node.name === name))
                    found.push({ process: p, aspect: i + 1, of: p.aspects[i], field: field => p.aspects[i].fields.findIndex(f => f.name === field) });
            }
            return found;
        }
    }

    const wish = (process, aspect, field, more) => ({ process: process.row, stream: -1, aspect, field, key: -1, records: 0, ...more });

    /* Columns of the daemons that a node had one after the other, as those of one. */
    function joined(pictures) {
        const all = pictures.flatMap(p => Array.from(p.at, (at, i) => ({ at, p, i }))).sort((a, b) => a.at - b.at);
        const of = name => all.map(c => c.p[name][c.i]);
        return { ...pictures[0], at: of("at"), min: of("min"), max: of("max"), last: of("last"), before: pictures.reduce((found, p) => p.before ?? found, null) };
    }

    /* ---- rows ------------------------------------------------------------------------------------------------------ */

    /* A row in the page: its element, plot, series, and what it does with their pictures. */
    class Row {
        constructor(page, item, options) {
            this.page = page;
            this.item = item;
            this.node = item.node || null;
            this.canvas = make("canvas", { role: "img", tabindex: 0, "aria-label": item.title });
            this.canvas.style.height = `${options.height || 110}px`;
            this.list = make("ul", { class: "legend" });
            this.element = make("div", { class: "plot" }, this.list, this.canvas);
            this.lost = plots.losses();
            this.unknown = plots.uncertain();
            this.series = [];
            this.lines = options.lines || [];
            this.plot = new plots.Plot(page.view, this.canvas, {
                unit: options.unit || null, log: options.log || false,
                layers: [...(options.under || []), this.unknown, this.lost, ...this.lines, ...(options.over || [])],
                onDraw: () => this.legend(),
                onClick: (at, pixel) => this.clicked(at, pixel),
            });
            this.items = this.lines.map(l => {
                const text = make("span", {}, l.name || ""), line = make("i", {});
                line.style.background = plots.colorOf(l.index || 0);
                if (l.name)
                    this.list.append(make("li", {}, line, text));
                return [l, text];
            });
            this.note = make("li", { class: "outside" });
            this.list.append(this.note);
            this.canvas.addEventListener("pointerenter", () => page.over(this));
            this.canvas.addEventListener("focus", () => page.over(this));
        }
        /* What took long at a place, if there is such a thing: its path is drawn. */
        explainAt() {
            return false;
        }
        clicked(at, pixel) {
            this.explainAt(at, pixel);
            this.inspectAt(at, pixel);
        }
        /* A click means what stands out there, if anything does. */
        inspectAt(at, pixel) {
            const x = this.plot.x(at), near = this.plot.fars.filter(f => Math.abs(f.x - x) < 8).sort((a, b) => Math.abs(a.x - x) - Math.abs(b.x - x))[0];
            const from = near ? this.plot.timeAt(near.x) : at, wide = near ? this.taken?.pictures[0]?.wide || 0 : 0;
            this.page.inspect(this, from - (near ? 1 : 3) * pixel, from + wide + (near ? 1 : 3) * pixel);
        }
        legend() {
            const at = this.page.view.cursor;
            for (const [l, text] of this.items) {
                const value = at === null || !l.at ? undefined : at > (l.until || Infinity) ? null : l.at(at);
                text.textContent = value === undefined ? l.name : `${l.name}: ${this.plot.log && value === 0 ? "off" : plots.quantity(value, this.plot.unit)}`;
            }
            this.note.textContent = [this.said ? this.said(at) : "", this.lossText || "", this.plot.farText(), this.damaged ? "damaged: read up to there" : "", this.cut ? "not all of it was read, which takes too long: zoom in" : ""].filter(t => t).join("; ");
        }
        /* Losses of all its series, which may be of one process several times. */
        takeLosses(pictures) {
            const seen = new Set(), list = [];
            pictures.forEach((p, i) => {
                const key = `${this.series[i].process}/${this.series[i].stream}`;
                if (seen.has(key) || !p.at)
                    return;
                seen.add(key);
                for (let k = 0; k < p.at.length; k++)
                    if (p.lost[k] > 0)
                        list.push({ at: p.at[k], wide: p.wide, count: p.lost[k] });
            });
            list.sort((a, b) => a.at - b.at);
            this.lost.set(list);
            const sum = list.reduce((n, l) => n + l.count, 0);
            this.lossText = sum ? `${plots.count(sum)} records lost here (${this.page.causes(this.series[0].process)})` : "";
        }
        take(pictures, until) {
            this.taken = { pictures, until };
            this.takeLosses(pictures);
            this.bounds = pictures.map(p => p.bound);
            this.cut = pictures.some(p => p.cut);
            this.damaged = pictures.some(p => p.damaged);
            for (const l of this.lines)
                l.until = until;
            this.use(pictures);
            this.plot.wake();
        }
        /* Shows what the row showed that this one replaces, until there is a newer picture. */
        takeOver(old) {
            if (old.taken && old.series.length === this.series.length)
                this.take(old.taken.pictures, old.taken.until);
        }
        /* Each line has one series, by default, else those that have its place as their `line`. */
        use(pictures) {
            this.lines.forEach((line, place) => {
                const own = pictures.filter((p, i) => p.at && (this.series[i].line ?? i) === place);
                const p = own.length > 1 ? joined(own) : own[0];
                if (p)
                    line.set(p, p.before === undefined ? null : p.before, p.wide);
            });
        }
    }

    /* ---- kinds of rows --------------------------------------------------------------------------------------------- */

    function limitRow(page, item, limit, index) {
        const observed = page.catalogue.having("bezel_observation"), nodes = [...new Set(observed.map(o => o.process.node))];
        const lines = nodes.map(node => plots.columns(node.name, node.index, true));
        const row = new Row(page, item, {
            unit: limit.unit, lines, under: [plots.spans(page.violations(index))],
            over: [plots.bound(limit.bound, limit.compare, limit.unit)],
        });
        row.series = observed.map(o => wish(o.process, o.aspect, o.field("value"), { key: index, line: nodes.indexOf(o.process.node) }));
        /* What it looks back to may have ended before a violation. */
        const explain = v => v && page.explain({ title: limit.text, from: v.from - (limit.window_ns || 0), until: v.to + 1, limit: limit.text });
        row.explainAt = (at, pixel) => {
            const violation = page.violations(index).find(v => at >= v.from - 3 * pixel && at <= v.to + 3 * pixel);
            explain(violation);
            return !!violation;
        };
        const inSight = () => page.violations(index).find(v => v.to >= page.view.from && v.from <= page.view.to);
        if (page.violations(index).length)
            row.list.append(make("li", {}, make("button", { type: "button", title: "the path of the slowest instance of the first violation in sight, as a click on one draws it",
                onclick: () => explain(inSight() || page.violations(index)[0]) }, "why")));
        row.clicked = (at, pixel) => row.explainAt(at, pixel) || row.inspectAt(at, pixel);
        if (limit.aspect)
            row.list.append(make("li", {}, make("button", { type: "button", title: "the records that this limit reads", onclick: () => page.showAspect(limit) },
                `records of ${limit.aspect}`)));
        return row;
    }

    /* A metric of a process, of each second, as each daemon that the node had says it, by its own numbers of the names. */
    function metricRow(page, item, found, metric) {
        const row = new Row(page, item, { unit: metric.unit || null, lines: [plots.columns(metric.metric, item.node.index, true)], height: 80 });
        row.series = found.map(o => [o, o.process.strings.indexOf(metric.metric) + 1, o.process.strings.indexOf(metric.process) + 1]).filter(([, name, process]) => name && process)
            .map(([o, name, process]) => wish(o.process, o.aspect, o.field("value"), { key: name | process << 12, line: 0 }));
        return row;
    }

    const period = ns => ns ? plots.duration(ns) : "off";

    /* How a node polls: changes by an operator or the file, and decisions, with their cause. */
    function pollingRow(page, item, node) {
        const polling = page.catalogue.having("bezel_polling", node.name), decisions = page.catalogue.having("bezel_decision", node.name);
        const line = plots.steps([], "period", node.index), dots = plots.dots([], node.index);
        let texts = [];
        const row = new Row(page, item, { unit: "ns", log: true, lines: [line], over: [dots], height: 90 });
        row.series = [...polling.map(o => wish(o.process, o.aspect, o.field("period"), { records: RECORDS })),
            ...decisions.map(o => wish(o.process, o.aspect, o.field("after"), { records: RECORDS }))];
        row.use = pictures => {
            const all = [], made = [];
            texts = [];
            let before = null;
            pictures.forEach((p, i) => {
                const isDecision = i >= polling.length, of = isDecision ? decisions[i - polling.length] : polling[i];
                const column = name => 3 + of.field(name);
                if (p.before !== undefined && p.before !== null && (before === null || isDecision))
                    before = p.before;
                if (p.records)
                    for (const r of p.records) {
                        const step = { at: r[0], value: r[column(isDecision ? "after" : "period")] };
                        all.push(step);
                        if (isDecision) {
                            made.push(step);
                            texts.push({ at: r[0], text: `${r[column("by")]}, ${r[column("policy")]}: ${r[column("action")]}, ${period(r[column("before")])} → ${period(r[column("after")])}, for ${page.limitText(r[column("cause")])}` });
                        }
                    }
                else if (p.at)
                    for (let k = 0; k < p.at.length; k++)
                        if (p.count[k] > 0)
                            all.push({ at: p.at[k], value: p.last[k] });
            });
            all.sort((a, b) => a.at - b.at);
            if (before !== null)
                all.unshift({ at: Math.min(page.view.from, all.length ? all[0].at : page.view.from), value: before });
            line.rows = all;
            dots.rows = made;
        };
        row.said = at => {
            const shown = at === null ? [] : texts.filter(t => t.at <= at);
            return shown.length ? shown[shown.length - 1].text : texts.length ? `${plots.count(texts.length)} decisions` : "";
        };
        return row;
    }

    /* When the triggers of a node fired, and what was done. */
    function firingRow(page, item, found) {
        const dots = plots.dots([], item.node.index);
        let texts = [];
        const row = new Row(page, item, { over: [dots], height: 60 });
        row.plot.bare = true;
        row.series = found.map(o => wish(o.process, o.aspect, -1, { records: RECORDS }));
        row.use = pictures => {
            const column = (i, name) => 3 + found[i].field(name), all = [];
            pictures.forEach((p, i) => {
                for (const r of p.records || []) {
                    const when = page.report?.triggers[r[column(i, "trigger")]]?.when || "a limit's on-violation", of = r[column(i, "process")];
                    if (r[column(i, "event")] !== "ends")
                        all.push({ at: r[0], text: `${when}${of ? ` by ${of}` : ""}${r[column(i, "event")] === "undone" ? ", undone" : ""}: ${r[column(i, "done")]}, ${plots.duration(r[column(i, "latency")])} after it` });
                }
                for (let k = 0; !p.records && p.at && k < p.at.length; k++)
                    if (p.count[k] > 0)
                        all.push({ at: p.at[k], text: `${plots.count(p.count[k])} firings` });
            });
            texts = all.sort((a, b) => a.at - b.at);
            dots.rows = texts;
        };
        row.said = at => {
            const shown = at === null ? [] : texts.filter(t => t.at <= at);
            return shown.length ? shown[shown.length - 1].text : texts.length ? `${plots.count(texts.length)} firings` : "";
        };
        return row;
    }

    function countRow(page, item, process, aspect, stream) {
        const line = plots.rates("records", process.node.index);
        const row = new Row(page, item, { unit: "1/s", lines: [line], height: 70 });
        row.series = [wish(process, aspect, -1, { stream })];
        return row;
    }

    function fieldRow(page, item, process, aspect, field, stream) {
        const a = process.aspects[aspect - 1], f = a.fields[field];
        const line = plots.columns(f.name, field, a.kind === "gauge" || process.monitor);
        const row = new Row(page, item, { unit: f.unit === "1" ? null : f.unit, lines: [line], height: 110 });
        row.series = [wish(process, aspect, field, { stream })];
        return row;
    }

    /* Depths of spans that lie in each other. */
    function nest(spans) {
        const open = [];
        spans.sort((a, b) => a.from - b.from || b.to - a.to);
        for (const s of spans) {
            while (open.length && open[open.length - 1].to <= s.from)
                open.pop();
            s.depth = Math.min(open.length, 5);
            open.push(s);
        }
        return spans;
    }

    /* Whether records of an aspect are drawn in the rows of threads one by one. */
    const isDrawn = (page, a) => ["span", "wait", "sent", "received"].includes(a.kind) || page.catalogue.parts.has(a.name);

    /* What sampler `switches` recorded of a thread: a series for each daemon that may have. */
    function stripsOf(page, process, thread) {
        return thread.thread === 0 ? [] : page.catalogue.having("thread_interval", process.node.name, true).flatMap(o => {
            const name = o.process.strings.indexOf(process.name) + 1;
            return name > 0 && name < 4096 ? [wish(o.process, o.aspect, -1, { key: name + thread.thread * 4096, records: RECORDS })] : [];
        });
    }

    const who = (name, pid, thread) => pid > 0 ? `${name} (pid ${pid}${thread === pid ? "" : `, thread ${thread}`})` : name;

    /* What a record of a time without a CPU says of others. */
    const OTHERS = {
        thread_ready: r => r.rival === "idle" ? "the CPU was idle" : r.rival === "quota" ? "its CPU quota was used up" : `${who(r.rival, r.rival_pid, r.rival_thread)} had CPU ${r.cpu}`,
        thread_wait: r => [r.state === "unknown" ? "" : r.state, { thread: `ended by ${who(r.waker, r.waker_pid, r.waker_thread)}`, softirq: `ended by the kernel, mostly for ${who(r.waker, r.waker_pid, r.waker_thread)}`, interrupt: "ended by a timer or a device", not_yet: "not ended yet" }[r.woken_by] || ""].filter(t => t).join(", "),
    };

    /* Who had the CPU while a thread was ready, and what its waits were for: series as those of its strips. */
    function othersOf(page, process, thread) {
        return Object.entries(OTHERS).flatMap(([aspect, text]) => thread.thread === 0 ? [] : page.catalogue.having(aspect, process.node.name, true).flatMap(o => {
            const name = o.process.strings.indexOf(process.name) + 1;
            const values = r => Object.fromEntries(o.of.fields.map((f, i) => [f.name, r[3 + i]]));
            return name > 0 && name < 4096 ? [{ series: wish(o.process, o.aspect, -1, { key: name + thread.thread * 4096, records: RECORDS }), told: r => {
                const is = values(r), until = r[0] - is.age;
                return { from: until - is.duration, until, text: text(is) };
            } }] : [];
        }));
    }

    const lasts = a => a.kind === "span" || a.kind === "wait";

    /* A wait's name has what it waits for. */
    function nameOf(a) {
        const reason = a.kind === "wait" && a.fields.find(f => f.name === "reason");
        return reason ? `${a.name} (waits: ${reason.labels.split("|").join(", ")})` : a.name;
    }

    /* Waits and long spans of a thread that have no end: they lie over what is shown, up to the end of their process or of what is known. */
    function openSpans(page, process, thread, kinds) {
        const of = o => o.node === process.node.name && o.pid === process.pid && o.thread === thread.thread && o.since_ns !== null;
        return (page.report?.open_spans || []).filter(of).map(o => {
            const k = kinds.findIndex(({ a }) => a.name === o.aspect), waits = o.reason ? ` (waits: ${o.reason})` : "";
            return { from: o.since_ns, to: o.since_ns + o.open_ns, name: `${o.aspect}${waits}, ${o.state === "left" ? "left open by its process" : "open"},`, index: Math.max(k, 0) };
        });
    }

    /* The spans, waits and messages of a thread, and when it had a CPU. */
    function threadRow(page, item, process, thread) {
        const strips = stripsOf(page, process, thread);
        const kinds = process.aspects.map((a, i) => ({ a, number: i + 1 })).filter(k => isDrawn(page, k.a));
        const lane = plots.lanes();
        lane.room = strips.length ? plots.STRIP_ROOM : 0;
        const row = new Row(page, item, { lines: [], over: [lane], height: 130 + lane.room });
        row.plot.bare = true;
        row.room = lane.room;
        if (strips.length)
            row.list.prepend(...plots.stripLegend());
        const others = othersOf(page, process, thread);
        let told = [];
        row.said = at => strips.length ? [lane.stripText(at), ...told.filter(t => at !== null && t.from <= at && at < t.until).map(t => t.text)].filter(t => t).join(": ") : "";
        const counted = kinds.length ? [] : [wish(process, 0, -1, { stream: thread.stream })]; /* how many records there are is all */
        row.series = [...counted, ...kinds.map(k => wish(process, k.number, lasts(k.a) ? 0 : -1, { stream: thread.stream, records: RECORDS })), ...strips, ...others.map(o => o.series)];
        row.messages = [];
        row.stream = thread.stream;
        row.explainAt = (at, pixel) => {
            const span = lane.spans.filter(s => s.number && at >= s.from - 2 * pixel && at <= s.to + 2 * pixel).sort((a, b) => b.depth - a.depth)[0];
            if (span)
                page.explain({ title: span.name, from: span.to - 1, until: span.to + 2, row: wish(process, span.number, -1) });
            return !!span;
        };
        row.use = pictures => {
            const spans = openSpans(page, process, thread, kinds);
            let dense = null;
            row.messages = [];
            row.arrows = [];
            lane.strip = pictures.flatMap(p => p.strip || []);
            const beyond = row.series.length - others.length;
            told = pictures.slice(beyond).flatMap((p, i) => (p.records || []).map(others[i].told));
            pictures.slice(0, beyond).forEach((p, i) => {
                const { a } = kinds[i - counted.length] || { a: {} };
                if (p.records && lasts(a))
                    spans.push(...p.records.map(r => ({ from: r[0] - Math.max(r[3], 0), to: r[0], name: nameOf(a), index: i, number: kinds[i - counted.length].number })));
                else if (p.records)
                    row.messages.push(...p.records.map(r => ({ at: r[0], sent: a.kind === "sent", part: a.kind !== "sent" && a.kind !== "received" })));
                else if (p.at && p.at.length && (!dense || p.at.length > dense.at.length))
                    dense = p;
                for (const [at, sentAt, sender, sentAspect] of p.pairs || [])
                    row.arrows.push({ at, sentAt, sender, sentAspect, aspect: a.name });
            });
            lane.set(nest(spans), row.messages, dense);
        };
        return row;
    }

    /* ---- the tree -------------------------------------------------------------------------------------------------- */

    const threadName = t => t.name ? `thread ${t.name} (${t.thread})` : t.thread ? `thread ${t.thread}` : `ring ${t.ring}`;

    function aspectItems(page, process, id, depth, stream) {
        return process.aspects.map((a, i) => ({ a, number: i + 1 })).map(({ a, number }) => ({
            id: `${id}/${a.name}`, title: a.name, kind: a.kind, depth, words: a.name, node: process.node,
            make: item => countRow(page, item, process, number, stream),
            children: () => a.fields.map((f, k) => [f, k]).filter(([f]) => NUMERIC.includes(f.type)).map(([f, k]) => ({
                id: `${id}/${a.name}/${f.name}`, title: `${a.name}.${f.name}`, kind: f.unit && f.unit !== "1" ? f.unit : "", depth: depth + 1, words: `${a.name} ${f.name}`,
                node: process.node, make: item => fieldRow(page, item, process, number, k, stream), children: () => [],
            })),
        }));
    }

    function processItem(page, process, depth) {
        const id = `p${process.row}`;
        return {
            id, title: process.name, kind: `pid ${process.pid}${process.overwrites ? ", flight recorder: records are stored when its rings are saved" : ""}`, depth, words: `${process.node.name} ${process.name} ${process.aspects.map(a => a.name).join(" ")}`, node: process.node,
            make: item => countRow(page, item, process, 0, -1),
            children: () => [
                ...process.threads.map(t => ({
                    id: `${id}/t${t.stream}`, title: threadName(t), kind: process.name, depth: depth + 1, words: threadName(t), node: process.node,
                    make: process.aspects.some(a => isDrawn(page, a)) || stripsOf(page, process, t).length ? item => threadRow(page, item, process, t) : item => countRow(page, item, process, 0, t.stream),
                    children: () => aspectItems(page, process, `${id}/t${t.stream}`, depth + 2, t.stream),
                })),
                ...aspectItems(page, process, id, depth + 1, -1),
            ],
        };
    }

    function clockText(node) {
        return node.clock === "same" ? "the run's clock" : node.bound === null ? "clock: order unknown" : `clock within ${plots.duration(node.bound)}`;
    }

    function firingItems(page, node) {
        const found = page.report?.triggers.length ? page.catalogue.having("bezel_trigger", node.name) : [];
        return found.length === 0 ? [] : [{ id: `n${node.row}/firings`, title: "triggers", kind: "their firings", depth: 1, words: "triggers firings", node,
            make: item => firingRow(page, item, found), children: () => [] }];
    }

    /* The metrics of a node, of all of its processes. */
    function metricItems(page, node) {
        const found = page.catalogue.having("bezel_metric", node.name);
        const metrics = found.length && page.report ? page.report.metrics.filter(m => m.node === node.name) : [];
        return metrics.length === 0 ? [] : [{ id: `n${node.row}/metrics`, title: "metrics", kind: "", depth: 1, words: metrics.map(m => m.metric).join(" "), node,
            children: () => metrics.map(m => ({
                id: `n${node.row}/metrics/${m.metric}/${m.process}`, title: m.metric, kind: m.process, depth: 2, words: `${m.metric} ${m.process}`, node,
                make: item => metricRow(page, item, found, m), children: () => [],
            })) }];
    }

    function tree(page) {
        const c = page.catalogue, limits = page.report ? page.report.limits : [];
        const items = limits.map((limit, i) => ({
            id: `l${i}`, title: limit.text, kind: limit.is, depth: 0, words: limit.text, limit, make: item => limitRow(page, item, limit, i), children: () => [],
        }));
        for (const node of c.nodes) {
            const own = node.processes.filter(p => p.monitor), sut = node.processes.filter(p => !p.monitor);
            items.push({ id: `n${node.row}`, title: node.name, kind: clockText(node), depth: 0, words: node.name, node, children: () => [
                ...(c.having("bezel_polling", node.name).length ? [{ id: `n${node.row}/polling`, title: "polling period", kind: "decisions of the controller", depth: 1, words: "polling decisions", node,
                    make: item => pollingRow(page, item, node), children: () => [] }] : []),
                ...firingItems(page, node),
                ...metricItems(page, node),
                ...sut.map(p => processItem(page, p, 1)),
                ...own.map(p => processItem(page, p, 1)),
            ] });
        }
        return items;
    }

    return { Catalogue, tree, threadName, RECORDS };
})();
