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
    const LEFT = 92, RIGHT = 24, TOP = 6, BOTTOM = 22;
    const NARROWEST = 1e3; /* ns */

    /* ---- Words ----------------------------------------------------------------------------------------------------- */

    function digits(value, count) {
        if (value === 0)
            return "0";
        const size = Math.floor(Math.log10(Math.abs(value)));
        return size >= 7 || size < -4 ? value.toExponential(count - 1) : String(Number(value.toPrecision(Math.max(count, size + 1))));
    }

    function duration(ns, count = 3) {
        const units = [["ns", 1], ["us", 1e3], ["ms", 1e6], ["s", 1e9], ["min", 6e10], ["h", 3.6e12]];
        let unit = units[0];
        for (const u of units)
            if (Math.abs(ns) >= u[1])
                unit = u;
        return digits(ns / unit[1], count) + " " + unit[0];
    }

    /* A moment of the run as seconds, as exact as `step` ns needs it. */
    function moment(ns, step) {
        return (ns / 1e9).toFixed(Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(Math.max(step, 1)) - 1e-9)))) + " s";
    }

    function count(n) {
        return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
    }

    function quantity(value, unit) {
        if (value === null || value === undefined)
            return "unknown";
        if (unit === "ns")
            return duration(value);
        return digits(value, 4) + (unit && unit !== "1" ? " " + unit : "");
    }

    /* ---- The window of time ---------------------------------------------------------------------------------------- */

    class View {
        constructor(begin, end) {
            Object.assign(this, { begin, end, from: begin, to: end, cursor: null, listeners: [] });
        }
        changed() {
            for (const listener of this.listeners)
                listener(this);
        }
        show(from, to) {
            const width = Math.min(Math.max(to - from, NARROWEST), this.end - this.begin);
            this.from = Math.min(Math.max((from + to - width) / 2, this.begin), this.end - width);
            this.to = this.from + width;
            this.changed();
        }
        all() { this.show(this.begin, this.end); }
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

    /* ---- Axes ------------------------------------------------------------------------------------------------------ */

    /* 1, 2 or 5 times a power of ten, so that at most `most` steps fit into `range`. */
    function tickStep(range, most) {
        const power = Math.pow(10, Math.floor(Math.log10(range / most)));
        return power * [1, 2, 5, 10].find(f => range / (power * f) <= most);
    }

    /* Values that are drawn: all of them, but for few that are far off, which are marked at the edge. */
    function axisOf(values, fixed, log) {
        const sorted = values.filter(v => v !== null && isFinite(v) && (!log || v > 0)).sort((a, b) => a - b);
        let low = Math.min(...fixed), high = Math.max(...fixed);
        if (sorted.length) {
            const least = sorted[0], most = sorted[sorted.length - 1];
            const head = Math.max(sorted[Math.floor((sorted.length - 1) * 0.98)], high);
            const foot = Math.min(sorted[Math.floor((sorted.length - 1) * 0.02)], low);
            const room = Math.max(head - foot, Math.abs(head) / 10);
            high = log || most <= head + 3 * room ? Math.max(high, most) : head;
            low = log || least >= foot - 3 * room ? Math.min(low, least) : foot;
        }
        if (!isFinite(low) || !isFinite(high))
            [low, high] = log ? [1e6, 1e7] : [0, 1];
        if (log)
            return { low: Math.pow(10, Math.floor(Math.log10(low) + 1e-9)), high: 10 * Math.pow(10, Math.ceil(Math.log10(high) - 1e-9)), log };
        const pad = (high - low || Math.abs(high) || 1) * 0.08;
        return { low: low === 0 ? 0 : low - pad, high: high + pad, log };
    }

    function axisTicks(axis) {
        const ticks = [];
        if (axis.log) {
            for (let v = axis.low; v <= axis.high * 1.001; v *= 10)
                ticks.push(v);
            return ticks;
        }
        const step = tickStep(axis.high - axis.low, 5);
        for (let i = Math.ceil(axis.low / step); i * step <= axis.high; i++)
            ticks.push(i * step);
        return ticks;
    }

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

    /* ---- Layers ---------------------------------------------------------------------------------------------------- */

    const colorOf = i => COLORS[i % COLORS.length];
    const dashOf = i => DASHES[Math.floor(i / COLORS.length) % DASHES.length];

    /* A mark where values leave the plot, with the value that is furthest off. */
    function markOutside(p, x, value, above) {
        const y = above ? p.top : p.foot, to = above ? 7 : -7;
        p.ink.beginPath();
        p.ink.moveTo(x, y);
        p.ink.lineTo(x - 4, y + to);
        p.ink.lineTo(x + 4, y + to);
        p.ink.fill();
        p.outside.push({ x, value, above });
    }

    /* Observations {at, min, max, last; null: unknown}: the least and most of each, and a step to the next one. */
    function band(rows, name, index) {
        const layer = { name, index, rows };
        layer.values = view => visible(rows, view).flatMap(r => [r.min, r.max]);
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
                if (r.max > p.axis.high)
                    markOutside(p, p.x(r.at), r.max, true);
                if (r.min < p.axis.low)
                    markOutside(p, p.x(r.at), r.min, false);
            }
        };
        return layer;
    }

    /* Values {at, value; 0: off, at the head} that hold until the next one. */
    function steps(rows, name, index) {
        const layer = { name, index, rows };
        layer.values = view => visible(rows, view).map(r => r.value || null);
        layer.at = at => { const i = lastAt(rows, at); return i < 0 ? null : rows[i].value; };
        layer.draw = p => {
            p.ink.strokeStyle = colorOf(index);
            p.ink.setLineDash(dashOf(index));
            p.ink.lineWidth = 1.5;
            p.ink.beginPath();
            let pen = null;
            for (const r of visible(rows, p.view)) {
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

    function bound(value, text) {
        return {
            fixed: [value],
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

    /* Times {from, to} that are shaded and hatched: a colour alone would not reach everybody. */
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
                    p.ink.fillStyle = p.style("--shade");
                    p.ink.fillRect(from, p.top, to - from, p.foot - p.top);
                    p.ink.strokeStyle = p.style("--hatch");
                    p.ink.lineWidth = 1;
                    p.ink.save();
                    p.ink.beginPath();
                    p.ink.rect(from, p.top, to - from, p.foot - p.top);
                    p.ink.clip();
                    for (let x = Math.floor((from - p.foot) / 8) * 8; x < to; x += 8)
                        p.line(x, p.foot, x + p.foot - p.top, p.top);
                    p.ink.restore();
                }
            },
        };
    }

    function dots(rows, index) {
        return {
            dots: rows,
            draw: p => {
                p.ink.fillStyle = colorOf(index);
                for (const r of rows) {
                    if (r.at < p.view.from || r.at > p.view.to)
                        continue;
                    p.ink.beginPath();
                    p.ink.arc(p.x(r.at), r.value ? p.y(r.value) : p.top, 2.5, 0, 7);
                    p.ink.fill();
                }
            },
        };
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

    /* ---- A plot ---------------------------------------------------------------------------------------------------- */

    class Plot {
        constructor(view, canvas, options) {
            Object.assign(this, { view, canvas, outside: [], log: false, unit: null, layers: [] }, options);
            for (const layer of this.layers)
                layer.until = layer.until || view.end;
            view.listeners.push(() => this.wake());
            new ResizeObserver(() => this.wake()).observe(canvas);
            this.listen();
            this.wake();
        }

        wake() {
            if (!this.awake)
                requestAnimationFrame(() => { this.awake = false; this.draw(); });
            this.awake = true;
        }

        x(at) { return this.left + (at - this.view.from) / (this.view.to - this.view.from) * (this.right - this.left); }
        y(value) {
            const a = this.axis;
            const share = a.log ? Math.log(Math.max(value, a.low) / a.low) / Math.log(a.high / a.low) : (value - a.low) / (a.high - a.low);
            return this.foot - Math.min(Math.max(share, 0), 1) * (this.foot - this.top);
        }
        timeAt(x) { return this.view.from + (x - this.left) / (this.right - this.left) * (this.view.to - this.view.from); }
        style(name) { return this.styles.getPropertyValue(name); }
        line(x0, y0, x1, y1) {
            this.ink.beginPath();
            this.ink.moveTo(x0, y0);
            this.ink.lineTo(x1, y1);
            this.ink.stroke();
        }

        prepare() {
            const box = this.canvas.getBoundingClientRect(), ratio = Math.max(window.devicePixelRatio || 1, 1);
            const width = Math.round(box.width * ratio), height = Math.round(box.height * ratio);
            if (this.canvas.width !== width || this.canvas.height !== height)
                Object.assign(this.canvas, { width, height });
            this.ink = this.canvas.getContext("2d");
            this.ink.setTransform(ratio, 0, 0, ratio, 0, 0);
            this.ink.clearRect(0, 0, box.width, box.height);
            this.ink.font = "11px system-ui, sans-serif";
            this.styles = getComputedStyle(this.canvas);
            Object.assign(this, { left: LEFT, right: box.width - RIGHT, top: TOP, foot: box.height - BOTTOM, outside: [] });
            const values = this.layers.flatMap(l => l.values ? l.values(this.view) : []);
            this.axis = axisOf(values, this.layers.flatMap(l => l.fixed || []).concat(this.log ? [] : [0]), this.log);
        }

        drawGrid() {
            const range = this.view.to - this.view.from, step = tickStep(range, Math.max(2, Math.floor((this.right - this.left) / 110)));
            this.ink.strokeStyle = this.style("--grid");
            this.ink.fillStyle = this.style("--dim");
            this.ink.lineWidth = 1;
            this.ink.textAlign = "right";
            for (const v of axisTicks(this.axis)) {
                this.line(this.left, this.y(v), this.right, this.y(v));
                this.ink.fillText(quantity(v, this.unit), this.left - 6, this.y(v) + 4);
            }
            this.ink.textAlign = "center";
            for (let i = Math.ceil(this.view.from / step); i * step <= this.view.to; i++) {
                this.line(this.x(i * step), this.top, this.x(i * step), this.foot);
                this.ink.fillText(moment(i * step, step), this.x(i * step), this.foot + 14);
            }
            this.ink.strokeStyle = this.style("--dim");
            this.ink.strokeRect(this.left, this.top, this.right - this.left, this.foot - this.top);
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
            const inside = x => Math.min(Math.max(x, this.left), this.right);
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
                this.selected = [inside(xOf(e)), inside(xOf(e))];
            });
            c.addEventListener("pointerup", () => {
                const s = this.selected;
                this.selected = null;
                if (s && Math.abs(s[1] - s[0]) > 4)
                    this.view.show(this.timeAt(Math.min(...s)), this.timeAt(Math.max(...s)));
                else
                    this.wake();
            });
            c.addEventListener("pointercancel", () => { this.selected = null; this.wake(); });
            c.addEventListener("dblclick", () => this.view.all());
            c.addEventListener("wheel", e => {
                e.preventDefault();
                if (Math.abs(e.deltaX) > Math.abs(e.deltaY))
                    this.view.move(e.deltaX / 600);
                else
                    this.view.zoom(Math.pow(1.0015, e.deltaY), this.timeAt(inside(xOf(e))));
            }, { passive: false });
        }
    }

    return { View, Plot, band, steps, bound, spans, dots, marks, colorOf, duration, moment, count, quantity };
})();
