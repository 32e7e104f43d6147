// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
"use strict";

/*
 * Plots against time on canvases. A View is the window of time that all plots of a page show, and the cursor in it.
 * A Plot has layers, each a function of the module: band(), steps(), bound(), spans(), dots(), marks(). Times are ns
 * since the run's start; a double has them exactly for a hundred days.
 */
const plots = (() => {
    const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#b07d00", "#7f3fbf", "#777777"];
    const DASHES = [[], [7, 3], [2, 2], [9, 3, 2, 3]];
    const FONT = "11px system-ui, sans-serif";
    const LEFT = 92, RIGHT = 24, TOP = 6, BOTTOM = 22;
    const BREAK = 5; /* height of the mark where an axis is broken */

    const { duration, moment, count, quantity, tickStep, extentOf, axisOf, axisTicks, stepsIn } = axes;

    /* ---- The window of time ---------------------------------------------------------------------------------------- */

    class View {
        constructor(begin, end, narrowest = 1e3) {
            Object.assign(this, { begin, end, narrowest, from: begin, to: end, cursor: null, listeners: [], onChosen: null, dragging: false, onDropped: null });
        }
        changed() {
            for (const listener of [...this.listeners])
                listener(this);
        }
        show(from, to) {
            const width = Math.min(Math.max(to - from, this.narrowest), this.end - this.begin);
            this.from = Math.min(Math.max((from + to - width) / 2, this.begin), this.end - width);
            this.to = this.from + width;
            this.changed();
        }
        all() { this.show(this.begin, this.end); }
        /* A place was chosen, and is to stay. */
        chosen() { this.onChosen?.(); }
        zoom(factor, at) {
            const from = at - (at - this.from) * factor;
            this.show(from, from + (this.to - this.from) * factor);
        }
        move(share) {
            const by = share * (this.to - this.from);
            const clamped = Math.min(Math.max(by, this.begin - this.from), this.end - this.to);
            this.show(this.from + clamped, this.to + clamped);
        }
        point(at) {
            this.cursor = at;
            this.changed();
        }
    }

    /* ---- Layers ---------------------------------------------------------------------------------------------------- */

    /* The index of the last of `rows` whose time is `at` or before; -1: none. */
    function lastAt(rows, at) {
        let low = -1, high = rows.length;
        while (high - low > 1) {
            const middle = (low + high) >> 1;
            if (rows[middle].at <= at)
                low = middle;
            else
                high = middle;
        }
        return low;
    }

    /* The rows that are to be seen in a window: also the last one before it, which holds on into it. */
    function visible(rows, view) {
        return rows.slice(Math.max(0, lastAt(rows, view.from)), lastAt(rows, view.to) + 1);
    }

    const colorOf = i => COLORS[i % COLORS.length];
    const dashOf = i => DASHES[Math.floor(i / COLORS.length) % DASHES.length];

    const FARS_MOST = 1000, LABELS_MOST = 12; /* that are marked, and written */

    /* A mark at a value beyond a break of the axis. The plot writes the value beside it, and beside one that breaks the limit. */
    function markFar(p, x, value) {
        if (Number.isNaN(value)) /* it is nowhere */
            return;
        if (value <= p.axis.high && value >= p.axis.low) {
            if (p.limit?.isBeyond(value))
                p.labels.push({ x, value });
            return;
        }
        if (p.fars.length >= FARS_MOST)
            return;
        p.ink.beginPath();
        p.ink.arc(x, p.y(value), 3, 0, 7);
        p.ink.fill();
        p.fars.push({ x, value });
    }

    /* Observations {at, min, max, last; null: unknown}: the least and most of each, and a step to the next one. */
    function band(rows, name, index) {
        const layer = { name, index, rows };
        layer.extent = (view, log) => extentOf(visible(rows, view).flatMap(r => [r.min, r.max]), log);
        layer.at = at => { const i = lastAt(rows, at); return i < 0 ? null : rows[i].last; };
        layer.draw = p => {
            const seen = visible(rows, p.view);
            p.ink.strokeStyle = p.ink.fillStyle = colorOf(index);
            p.ink.setLineDash(dashOf(index));
            p.ink.lineWidth = 1.5;
            p.ink.beginPath();
            let pen = false;
            for (const r of seen) {
                const x = p.x(r.at);
                if (r.last === null) {
                    if (pen)
                        p.ink.lineTo(x, p.pen);
                    pen = false;
                    continue;
                }
                if (pen)
                    p.ink.lineTo(x, p.pen);
                else
                    p.ink.moveTo(x, p.y(r.last));
                if (r.max > r.min) {
                    p.ink.lineTo(x, p.y(r.min));
                    p.ink.lineTo(x, p.y(r.max));
                }
                p.pen = p.y(r.last);
                p.ink.lineTo(x, p.pen);
                pen = true;
            }
            if (pen)
                p.ink.lineTo(p.x(Math.min(p.view.to, layer.until)), p.pen);
            p.ink.stroke();
            p.ink.setLineDash([]);
            for (const r of seen) {
                if (r.last === null || r.at < p.view.from)
                    continue;
                markFar(p, p.x(r.at), r.max);
                if (r.min < r.max)
                    markFar(p, p.x(r.at), r.min);
            }
        };
        return layer;
    }

    /* Columns whose values hold on: from each to the next one, from the least to the most, on at the last. */
    function drawSteps(p, { times: at, min, max, last, before, until }, ink, y, origin, scale) {
        const n = at.length;
        let pen = before !== null ? y(before) : NaN;
        if (pen === pen)
            ink.moveTo(Math.min(p.left, n ? origin + at[0] * scale : p.left), pen);
        for (let i = 0; i < n; i++) {
            const x = origin + at[i] * scale;
            if (pen === pen)
                ink.lineTo(x, pen);
            if (last[i] !== last[i] && min[i] !== min[i]) {
                pen = NaN;
                continue;
            }
            const low = y(min[i]), high = y(max[i]);
            if (pen !== pen)
                ink.moveTo(x, low);
            else if (low !== pen)
                ink.lineTo(x, low);
            ink.lineTo(x, high);
            pen = last[i] === last[i] ? y(last[i]) : NaN;
            if (pen === pen && pen !== high)
                ink.lineTo(x, pen);
        }
        if (pen === pen)
            ink.lineTo(p.x(Math.min(p.view.to, Math.max(until, p.view.from))), pen);
    }

    /*
     * Columns of a picture: arrays of least, most and last values at times in order, from layer.set() on. Where values
     * hold on, each is drawn on to the next one, and `before` is the one that holds at the window's begin.
     */
    function columns(name, index, holds) {
        const layer = { name, index, times: [], until: 0, before: null, known: null };
        layer.set = (c, before) => {
            Object.assign(layer, { times: c.at, min: c.min, max: c.max, last: c.last, before });
            const n = c.at.length, step = Math.max(1, Math.floor(n / 64)), sample = before === null ? [] : [before];
            let least = before === null ? Infinity : before, most = before === null ? -Infinity : before;
            for (let i = 0; i < n; i++) {
                least = c.min[i] < least ? c.min[i] : least;
                most = c.max[i] > most ? c.max[i] : most;
            }
            for (let i = 0; i < n; i += step)
                sample.push(c.min[i], c.max[i]);
            const known = extentOf(sample, false);
            layer.known = known && { ...known, least: Math.min(least, known.least), most: Math.max(most, known.most) };
        };
        layer.extent = () => layer.known;
        layer.at = at => {
            let low = -1, high = layer.times.length;
            while (high - low > 1) {
                const middle = (low + high) >> 1;
                if (layer.times[middle] <= at)
                    low = middle;
                else
                    high = middle;
            }
            const value = low < 0 ? layer.before : layer.last[low];
            return value === null || value !== value ? null : value;
        };
        layer.draw = p => {
            const { times: at, min, max } = layer, ink = p.ink, n = at.length;
            const scale = (p.right - p.left) / (p.view.to - p.view.from), origin = p.left - p.view.from * scale;
            const y = p.scaler();
            ink.strokeStyle = ink.fillStyle = colorOf(index);
            ink.setLineDash(dashOf(index));
            ink.lineWidth = holds ? 1.5 : 2.5;
            ink.beginPath();
            if (holds)
                drawSteps(p, layer, ink, y, origin, scale);
            else
                for (let i = 0; i < n; i++) {
                    const x = origin + at[i] * scale;
                    if (min[i] === min[i]) {
                        ink.moveTo(x, y(min[i]) + 1.5);
                        ink.lineTo(x, y(max[i]) - 1.5);
                    }
                }
            ink.stroke();
            ink.setLineDash([]);
            const all = layer.known && layer.known.most <= p.axis.high && layer.known.least >= p.axis.low;
            for (let i = 0; (!all || p.limit) && i < n; i++) {
                markFar(p, origin + at[i] * scale, max[i]);
                if (min[i] < max[i])
                    markFar(p, origin + at[i] * scale, min[i]);
            }
        };
        return layer;
    }

    /* How many records a second: columns of a picture as bars. */
    function rates(name, index) {
        const layer = { name, index, times: [], counts: [], wide: 1 };
        const rate = i => layer.counts[i] * 1e9 / layer.wide;
        layer.set = (c, before, wide) => Object.assign(layer, { times: c.at, counts: c.count, wide });
        layer.extent = () => extentOf([layer.counts.reduce((a, b) => a > b ? a : b, 0) * 1e9 / layer.wide], false);
        layer.at = at => {
            const i = layer.times.findLastIndex(t => t <= at);
            return i >= 0 && at < layer.times[i] + layer.wide ? rate(i) : 0;
        };
        layer.draw = p => {
            const width = Math.max(1, layer.wide / (p.view.to - p.view.from) * (p.right - p.left));
            p.ink.fillStyle = colorOf(index);
            p.ink.beginPath();
            for (let i = 0; i < layer.times.length; i++) {
                const y = p.y(rate(i));
                if (layer.counts[i] > 0)
                    p.ink.rect(p.x(layer.times[i]), y, width, p.foot - y);
            }
            p.ink.fill();
        };
        return layer;
    }

    /* Where records were lost: hatched in place, with their number wherever there is room for it. */
    function losses() {
        const layer = { lost: [] };
        layer.set = list => { layer.lost = list; };
        layer.draw = p => {
            let drawn = -Infinity, written = -Infinity;
            const shown = [];
            for (const l of layer.lost) {
                const from = p.x(l.at), to = Math.max(p.x(l.at + l.wide), from + 3);
                if (shown.length && from <= shown[shown.length - 1].to + 1) {
                    shown[shown.length - 1].to = Math.max(to, shown[shown.length - 1].to);
                    shown[shown.length - 1].count += l.count;
                } else if (to > drawn) {
                    shown.push({ from, to, count: l.count });
                    drawn = to;
                }
            }
            for (const s of shown) {
                p.hatch(s.from, s.to);
                const text = count(s.count) + " lost", width = p.ink.measureText(text).width;
                if (s.from < written)
                    continue;
                p.ink.fillStyle = p.style("--paper");
                p.ink.fillRect(s.from + 1, p.top + 1, width + 4, 13);
                p.ink.fillStyle = p.style("--alarm");
                p.ink.textAlign = "left";
                p.ink.fillText(text, s.from + 3, p.top + 11);
                written = s.from + width + 8;
            }
        };
        return layer;
    }

    /* What a thread did, in the order in which the server tells it. Heights, so that colours are not needed. */
    const STRIP_ROOM = 22, STRIP_HEIGHT = 16;
    const STATES = [{ is: "running", color: 2, share: 1 }, { is: "ready", color: 1, share: 0.6 }, { is: "waiting", color: 7, share: 0.15 }, { is: "ready or waiting", color: 5, share: 0.3 }];
    const STRIP_LABEL = 70; /* pixels that have room for words */

    const stripLegend = () => STATES.map(s => {
        const line = elements.make("i", {});
        line.style.background = colorOf(s.color);
        line.style.height = `${Math.max(2, Math.round(10 * s.share))}px`;
        return elements.make("li", {}, line, s.is);
    });

    /* The state that piece [from, until, ns of each state] is all of; undefined: it has several. */
    const stateOf = ([from, until, ...ns]) => STATES[ns.findIndex(n => n === until - from)];

    /* A strip of pieces: one of a single state has its height; of several they stand on each other, by their shares. */
    function drawStrip(p, pieces) {
        const foot = p.foot - 2;
        for (const piece of pieces) {
            const [from, until, ...ns] = piece, x = Math.max(p.x(from), p.left), width = Math.min(p.x(until), p.right) - x, state = stateOf(piece);
            if (width <= 0)
                continue;
            let y = foot;
            for (const [i, n] of ns.entries()) {
                const height = STRIP_HEIGHT * (state ? (state === STATES[i] ? state.share : 0) : n / (until - from));
                p.ink.fillStyle = colorOf(STATES[i].color);
                p.ink.fillRect(x, y - height, Math.max(width, 1), height);
                y -= height;
            }
            if (state && state !== STATES[0] && width > STRIP_LABEL) {
                p.ink.fillStyle = p.style("--ink");
                p.ink.textAlign = "left";
                p.ink.save();
                p.ink.beginPath();
                p.ink.rect(x, foot - STRIP_HEIGHT, width - 2, STRIP_HEIGHT);
                p.ink.clip();
                p.ink.fillText(`${state.is} ${duration(until - from)}`, x + 3, foot - 4);
                p.ink.restore();
            }
        }
    }

    /* What a strip says at a moment; without one, the shares of what is shown. */
    function stripText(pieces, view, at) {
        const shown = at === null ? pieces : pieces.filter(([from, until]) => from <= at && at < until);
        if (at !== null && shown.length === 0)
            return "not known what it did";
        if (at !== null && stateOf(shown[0]))
            return `${stateOf(shown[0]).is} for ${duration(shown[0][1] - shown[0][0])}${shown[0][0] <= view.from || shown[0][1] >= view.to ? " or more" : ""}`;
        const all = at === null ? view.to - view.from : shown[0][1] - shown[0][0];
        const sums = STATES.map((s, i) => [s.is, shown.reduce((n, piece) => n + piece[2 + i], 0)]);
        const known = sums.reduce((n, s) => n + s[1], 0);
        return [...sums, ["not known", Math.max(all - known, 0)]].filter(s => s[1] > 0.0005 * all).map(s => `${s[0]} ${quantity(Math.round(1000 * s[1] / all) / 10, "%")}`).join(", ");
    }

    /*
     * Spans {from, to, name, depth, index} of a thread, one below the other where they are nested; what is too small to be
     * drawn is a zigzag. Where there are too many, their columns {at, count} as a shade. Messages {at, sent}, and records {at, part}
     * between which intervals are, are marks. Below
     * them, in `room`, is the strip of what the thread did.
     */
    function lanes() {
        const layer = { spans: [], messages: [], dense: null, strip: [], room: 0, view: null };
        layer.stripText = at => layer.view ? stripText(layer.strip, layer.view, at) : "";
        layer.set = (spans, messages, dense) => Object.assign(layer, { spans, messages, dense });
        const zigzag = (p, from, to, y) => {
            p.ink.strokeStyle = p.style("--dim");
            p.ink.lineWidth = 1;
            p.ink.beginPath();
            for (let x = from, up = 0; x <= to + 2; x += 2, up ^= 1)
                p.ink[x === from ? "moveTo" : "lineTo"](x, y + (up ? 4 : 0));
            p.ink.stroke();
        };
        const shade = p => {
            const { at, count: n, wide } = layer.dense, most = n.reduce((a, b) => a > b ? a : b, 1);
            p.ink.fillStyle = p.style("--focus");
            for (let i = 0; i < at.length; i++) {
                p.ink.globalAlpha = n[i] ? 0.2 + 0.8 * n[i] / most : 0;
                p.ink.fillRect(p.x(at[i]), p.top + 4, Math.max(1, p.x(at[i] + wide) - p.x(at[i])), 14);
            }
            p.ink.globalAlpha = 1;
        };
        layer.draw = p => {
            const height = 16, small = new Map(), foot = p.foot - layer.room;
            layer.view = p.view;
            drawStrip(p, layer.strip);
            if (layer.dense)
                shade(p);
            for (const s of layer.spans) {
                const from = Math.max(p.x(s.from), p.left - 2), to = Math.min(p.x(s.to), p.right + 2), y = p.top + 3 + s.depth * (height + 2);
                if (to < p.left || from > p.right || y > foot)
                    continue;
                if (to - from < 2) {
                    const run = small.get(y);
                    if (run && from - run[1] < 3) {
                        run[1] = to;
                    } else {
                        if (run)
                            zigzag(p, run[0], run[1], y + 5);
                        small.set(y, [from, to]);
                    }
                    continue;
                }
                p.ink.fillStyle = colorOf(s.index);
                p.ink.globalAlpha = 0.35;
                p.ink.fillRect(from, y, to - from, height);
                p.ink.globalAlpha = 1;
                p.ink.strokeStyle = colorOf(s.index);
                p.ink.lineWidth = 1;
                p.ink.strokeRect(from + 0.5, y + 0.5, to - from - 1, height - 1);
                if (to - from > 40) {
                    p.ink.fillStyle = p.style("--ink");
                    p.ink.textAlign = "left";
                    p.ink.save();
                    p.ink.beginPath();
                    p.ink.rect(from, y, to - from - 2, height);
                    p.ink.clip();
                    p.ink.fillText(`${s.name} ${duration(s.to - s.from)}`, from + 3, y + 12);
                    p.ink.restore();
                }
            }
            for (const [y, run] of small)
                zigzag(p, run[0], run[1], y + 5);
            p.ink.fillStyle = p.style("--mark");
            for (const m of layer.messages) {
                const x = p.x(m.at), y = foot - 4;
                const end = m.sent ? y : y - 14;
                p.ink.beginPath();
                if (m.part)
                    p.ink.rect(x - 2, y - 10, 4, 4);
                p.ink.moveTo(x, y - 8);
                p.ink.lineTo(x - 4, m.part ? y - 8 : end);
                p.ink.lineTo(x + 4, m.part ? y - 8 : end);
                p.ink.fill();
            }
        };
        return layer;
    }

    /* The bound of the error between this node's clock and that of the node where the cursor is: order within it is unknown. */
    function uncertain() {
        const layer = { bound: 0 };
        layer.set = bound => { layer.bound = bound; };
        layer.draw = p => {
            const at = p.view.cursor;
            if (at === null || layer.bound === 0)
                return;
            const bound = layer.bound === null ? p.view.to - p.view.from : layer.bound;
            const from = Math.max(p.x(at - bound), p.left), to = Math.min(p.x(at + bound), p.right);
            p.ink.fillStyle = p.style("--select");
            p.ink.fillRect(from, p.top, Math.max(to - from, 1), p.foot - p.top);
        };
        return layer;
    }

    /* Values {at, value; 0: off, at the head} that hold until the next one. */
    function steps(rows, name, index) {
        const layer = { name, index, rows };
        layer.extent = (view, log) => extentOf(visible(layer.rows, view).map(r => r.value || null), log);
        layer.at = at => { const i = lastAt(layer.rows, at); return i < 0 ? null : layer.rows[i].value; };
        layer.draw = p => {
            p.ink.strokeStyle = colorOf(index);
            p.ink.setLineDash(dashOf(index));
            p.ink.lineWidth = 1.5;
            p.ink.beginPath();
            let pen = null;
            for (const r of visible(layer.rows, p.view)) {
                const x = p.x(r.at), y = r.value ? p.y(r.value) : p.top;
                p.ink[pen === null ? "moveTo" : "lineTo"](x, pen === null ? y : pen);
                p.ink.lineTo(x, y);
                pen = y;
            }
            if (pen !== null)
                p.ink.lineTo(p.x(Math.min(p.view.to, layer.until)), pen);
            p.ink.stroke();
            p.ink.setLineDash([]);
        };
        return layer;
    }

    function bound(value, compare, unit) {
        const text = `${compare} ${quantity(value, unit)}`;
        return {
            fixed: [value],
            bound: value, isBeyond: v => compare === ">=" ? v < value : v > value,
            draw: p => {
                p.ink.strokeStyle = p.ink.fillStyle = p.style("--alarm");
                p.ink.lineWidth = 1;
                p.ink.setLineDash([6, 3]);
                p.line(p.left, p.y(value), p.right, p.y(value));
                p.ink.setLineDash([]);
                p.ink.textAlign = "right";
                const y = p.y(value) - 4 < p.top + 10 ? p.y(value) + 12 : p.y(value) - 4, width = p.ink.measureText(text).width;
                p.ink.fillStyle = p.style("--paper");
                p.ink.fillRect(p.right - 6 - width, y - 10, width + 4, 12);
                p.ink.fillStyle = p.style("--alarm");
                p.ink.fillText(text, p.right - 4, y);
            },
        };
    }

    /* Times {from, to} that are shaded and hatched. */
    function spans(rows) {
        return {
            spans: rows,
            draw: p => {
                let drawn = -1;
                for (const s of rows) {
                    if (s.to < p.view.from || s.from > p.view.to)
                        continue;
                    const from = p.x(s.from), to = Math.max(p.x(s.to), from + 1);
                    if (to <= drawn)
                        continue;
                    drawn = to;
                    p.hatch(from, to);
                }
            },
        };
    }

    function dots(rows, index) {
        const layer = { rows };
        layer.draw = p => {
            p.ink.fillStyle = colorOf(index);
            for (const r of layer.rows) {
                if (r.at < p.view.from || r.at > p.view.to)
                    continue;
                p.ink.beginPath();
                p.ink.arc(p.x(r.at), r.value ? p.y(r.value) : p.top, 2.5, 0, 7);
                p.ink.fill();
            }
        };
        return layer;
    }

    /* Moments {at, text} that concern all: lines from the head to the foot. */
    function marks(rows) {
        return {
            draw: p => {
                p.ink.strokeStyle = p.ink.fillStyle = p.style("--mark");
                p.ink.lineWidth = 1;
                p.ink.textAlign = "left";
                for (const r of rows) {
                    if (r.at < p.view.from || r.at > p.view.to)
                        continue;
                    p.ink.setLineDash([2, 2]);
                    p.line(p.x(r.at), p.top, p.x(r.at), p.foot);
                    p.ink.setLineDash([]);
                    p.ink.fillText(r.text, p.x(r.at) + 3, p.foot - 4);
                }
            },
        };
    }

    /* Colours of the page. Looking one up takes longer than drawing with it; they change with the scheme. */
    const styles = new Map();
    for (const query of ["(prefers-color-scheme: dark)", "print"])
        window.matchMedia(query).addEventListener("change", () => styles.clear());

    function styleOf(name) {
        if (!styles.has(name))
            styles.set(name, getComputedStyle(document.documentElement).getPropertyValue(name));
        return styles.get(name);
    }

    /* ---- A plot ---------------------------------------------------------------------------------------------------- */

    class Plot {
        constructor(view, canvas, options) {
            Object.assign(this, { view, canvas, fars: [], labels: [], log: false, unit: null, layers: [] }, options);
            for (const layer of this.layers)
                layer.until = layer.until || view.end;
            this.listener = () => this.wake();
            view.listeners.push(this.listener);
            this.observer = new ResizeObserver(() => { this.box = null; this.wake(); });
            this.observer.observe(canvas);
            this.listen();
            this.wake();
        }

        /* The plot is shown no more. */
        close() {
            this.view.listeners.splice(this.view.listeners.indexOf(this.listener), 1);
            this.observer.disconnect();
        }

        wake() {
            if (!this.awake)
                requestAnimationFrame(() => { this.awake = false; this.draw(); });
            this.awake = true;
        }

        x(at) { return this.left + (at - this.view.from) / (this.view.to - this.view.from) * (this.right - this.left); }
        y(value) {
            const a = this.axis, within = share => Math.min(Math.max(share, 0), 1);
            if (a.above !== null && value > a.high)
                return this.head - BREAK - within((value - a.high) / (a.above - a.high)) * (this.head - BREAK - this.top - 4);
            if (a.below !== null && value < a.low)
                return this.base + BREAK + within((a.low - value) / (a.low - a.below)) * (this.foot - this.base - BREAK - 4);
            const share = a.log ? Math.log(Math.max(value, a.low) / a.low) / Math.log(a.high / a.low) : (value - a.low) / (a.high - a.low);
            return this.base - within(share) * (this.base - this.head);
        }
        /* As y(), for many values. */
        scaler() {
            const a = this.axis, foot = this.foot, height = foot - this.top;
            if (a.log || a.above !== null || a.below !== null)
                return value => this.y(value);
            const factor = height / (a.high - a.low), low = a.low, top = this.top;
            return value => {
                const y = foot - (value - low) * factor;
                return y < top ? top : y > foot ? foot : y;
            };
        }
        /* Shades and hatches the time from x to x: a colour alone would not reach everybody. */
        hatch(from, to) {
            from = Math.max(from, this.left);
            to = Math.min(to, this.right);
            if (to < from)
                return;
            this.ink.fillStyle = this.style("--shade");
            this.ink.fillRect(from, this.top, to - from, this.foot - this.top);
            this.ink.strokeStyle = this.style("--hatch");
            this.ink.lineWidth = 1;
            this.ink.save();
            this.ink.beginPath();
            this.ink.rect(from, this.top, to - from, this.foot - this.top);
            this.ink.clip();
            this.ink.beginPath();
            for (let x = Math.floor((from - this.foot) / 8) * 8; x < to; x += 8) {
                this.ink.moveTo(x, this.foot);
                this.ink.lineTo(x + this.foot - this.top, this.top);
            }
            this.ink.stroke();
            this.ink.restore();
        }
        timeAt(x) { return this.view.from + (x - this.left) / (this.right - this.left) * (this.view.to - this.view.from); }
        style(name) { return styleOf(name); }
        line(x0, y0, x1, y1) {
            this.ink.beginPath();
            this.ink.moveTo(x0, y0);
            this.ink.lineTo(x1, y1);
            this.ink.stroke();
        }

        prepare() {
            const ratio = Math.max(window.devicePixelRatio || 1, 1), box = this.box || (this.box = this.canvas.getBoundingClientRect());
            const width = Math.round(box.width * ratio), height = Math.round(box.height * ratio);
            if (this.canvas.width !== width || this.canvas.height !== height || !this.ink) {
                Object.assign(this.canvas, { width, height });
                this.ink = this.canvas.getContext("2d");
                this.ink.font = FONT;
            }
            this.ink.setTransform(ratio, 0, 0, ratio, 0, 0);
            this.ink.clearRect(0, 0, box.width, box.height);
            Object.assign(this, { left: LEFT, right: box.width - RIGHT, top: TOP, foot: box.height - BOTTOM, fars: [], labels: [], limit: this.layers.find(l => l.isBeyond) });
            const extents = this.layers.map(l => l.extent ? l.extent(this.view, this.log) : null).filter(e => e);
            this.axis = axisOf(extents, this.layers.flatMap(l => l.fixed || []).concat(this.log ? [] : [0]), this.log);
            const part = Math.max(24, Math.round((this.foot - this.top) / 4)); /* of the height, for what is beyond a break */
            this.head = this.top + (this.axis.above === null ? 0 : part);
            this.base = this.foot - (this.axis.below === null ? 0 : part);
        }

        /* Grid and labels, which keep still while values move: their picture is kept. */
        drawGrid() {
            const { view, axis, canvas, unit } = this, kept = this.grid || (this.grid = { canvas: document.createElement("canvas") });
            const key = [view.from, view.to, axis.low, axis.high, axis.above, axis.below, canvas.width, canvas.height, unit, this.style("--dim")].join();
            if (kept.key !== key) {
                const ratio = canvas.width / this.box.width;
                Object.assign(kept.canvas, { width: canvas.width, height: canvas.height });
                const ink = kept.canvas.getContext("2d");
                ink.scale(ratio, ratio);
                ink.font = FONT;
                this.makeGrid(ink);
                kept.key = key;
            }
            this.ink.drawImage(kept.canvas, 0, 0, this.box.width, this.box.height);
        }

        makeGrid(ink) {
            const view = this.view, step = tickStep(view.to - view.from, Math.max(2, Math.floor((this.right - this.left) / 110)));
            ink.strokeStyle = this.style("--grid");
            ink.fillStyle = this.style("--dim");
            ink.lineWidth = 1;
            ink.textAlign = "right";
            ink.beginPath();
            for (const v of this.bare ? [] : [...axisTicks(this.axis), this.axis.above, this.axis.below].filter(t => t !== null)) {
                const y = this.y(v);
                ink.moveTo(this.left, y);
                ink.lineTo(this.right, y);
                ink.fillText(quantity(v, this.unit), this.left - 6, y + 4);
            }
            ink.textAlign = "center";
            for (const at of stepsIn(view.from, view.to, step)) {
                const x = this.x(at);
                ink.moveTo(x, this.top);
                ink.lineTo(x, this.foot);
                ink.fillText(moment(at, step), x, this.foot + 14);
            }
            ink.stroke();
            ink.strokeStyle = this.style("--dim");
            ink.strokeRect(this.left, this.top, this.right - this.left, this.foot - this.top);
            if (this.axis.above !== null)
                this.makeBreak(ink, this.head - BREAK);
            if (this.axis.below !== null)
                this.makeBreak(ink, this.base);
        }

        /* Where the axis is broken: a zigzag across the plot. */
        makeBreak(ink, y) {
            ink.beginPath();
            for (let x = this.left, up = 0; x <= this.right; x += 6, up ^= 1)
                ink[x === this.left ? "moveTo" : "lineTo"](x, y + (up ? BREAK : 0));
            ink.stroke();
        }

        /* The values beyond the breaks, the furthest first, wherever there is room for them, and the one that breaks the limit most. */
        writeLabels() {
            const { high, low } = this.axis, worst = f => this.limit ? Math.abs(f.value - this.limit.bound) : 0, off = f => f.value > high ? f.value - high : low - f.value;
            const most = this.labels.reduce((a, b) => a && worst(a) >= worst(b) ? a : b, null), written = [];
            this.ink.textAlign = "left";
            this.ink.fillStyle = this.style("--ink");
            this.ink.strokeStyle = this.style("--paper");
            this.ink.lineWidth = 3;
            for (const f of [...this.fars].sort((a, b) => off(b) - off(a)).slice(0, 60).concat(most || [])) {
                const text = quantity(f.value, this.unit), width = this.ink.measureText(text).width;
                const x = f.x + 6 + width > this.right ? f.x - 6 - width : f.x + 6, y = Math.max(this.y(f.value) + 4, this.top + 11);
                if (written.length >= LABELS_MOST || written.some(w => x < w.x + w.width + 6 && w.x < x + width + 6 && Math.abs(w.y - y) < 12))
                    continue;
                this.ink.strokeText(text, x, y);
                this.ink.fillText(text, x, y);
                written.push({ x, y, width });
            }
        }

        /* What is beyond the breaks, as words; "": nothing is. */
        farText() {
            const furthest = this.fars.reduce((a, b) => a && Math.abs(a.value) >= Math.abs(b.value) ? a : b, null);
            const number = this.fars.length < FARS_MOST ? count(this.fars.length) : `more than ${count(FARS_MOST)}`;
            return furthest ? `${number} beyond the break, ${furthest.value < 0 ? "down" : "up"} to ${quantity(furthest.value, this.unit)}` : "";
        }

        draw() {
            this.prepare();
            if (this.right <= this.left || this.foot <= this.top)
                return;
            this.drawGrid();
            this.ink.save();
            this.ink.beginPath();
            this.ink.rect(this.left, 0, this.right - this.left, this.foot + 1);
            this.ink.clip();
            for (const layer of this.layers)
                layer.draw(this);
            this.writeLabels();
            this.ink.restore();
            const at = this.view.cursor;
            if (at !== null && at >= this.view.from && at <= this.view.to) {
                this.ink.strokeStyle = this.style("--ink");
                this.ink.lineWidth = 1;
                this.line(this.x(at), this.top, this.x(at), this.foot);
            }
            if (this.selected) {
                this.ink.fillStyle = this.style("--select");
                this.ink.fillRect(this.selected[0], this.top, this.selected[1] - this.selected[0], this.foot - this.top);
            }
            if (this.onDraw)
                this.onDraw(this);
        }

        listen() {
            const c = this.canvas, xOf = e => e.clientX - c.getBoundingClientRect().left;
            const inside = x => {
                if (this.right === undefined) /* the pointer may come before the first frame */
                    this.prepare();
                return Math.min(Math.max(x, this.left), this.right);
            };
            c.addEventListener("pointermove", e => {
                if (this.selected)
                    this.selected[1] = inside(xOf(e));
                this.view.point(this.timeAt(inside(xOf(e))));
            });
            c.addEventListener("pointerleave", () => this.view.point(null));
            c.addEventListener("pointerdown", e => {
                if (e.button !== 0)
                    return;
                c.setPointerCapture(e.pointerId);
                this.view.dragging = true;
                this.selected = [inside(xOf(e)), inside(xOf(e))];
            });
            c.addEventListener("pointerup", () => {
                const s = this.selected;
                this.selected = null;
                if (s && Math.abs(s[1] - s[0]) > 4) {
                    this.view.chosen();
                    this.view.show(this.timeAt(Math.min(...s)), this.timeAt(Math.max(...s)));
                } else
                    this.wake();
                if (s && Math.abs(s[1] - s[0]) <= 4 && this.onClick)
                    this.onClick(this.timeAt(s[0]), this.timeAt(s[0] + 1) - this.timeAt(s[0]));
            });
            c.addEventListener("pointercancel", () => { this.selected = null; this.wake(); });
            c.addEventListener("lostpointercapture", () => { this.view.dragging = false; this.view.onDropped?.(); });
            c.addEventListener("dblclick", () => this.view.all());
            c.addEventListener("wheel", e => {
                e.preventDefault();
                if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
                    this.view.chosen();
                    this.view.move(e.deltaX / 600);
                } else
                    this.view.zoom(Math.pow(1.0015, e.deltaY), this.timeAt(inside(xOf(e))));
            }, { passive: false });
        }
    }

    return { STRIP_ROOM, stripLegend, View, Plot, band, columns, rates, losses, lanes, uncertain, steps, bound, spans, dots, marks, colorOf, duration, moment, count, quantity };
})();
