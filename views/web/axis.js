// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
"use strict";

/* Axes of plots, and values as words: which part of the values an axis shows, where it is broken, and its ticks. */
const axes = (() => {
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

    /* ---- Axes ------------------------------------------------------------------------------------------------------ */

    const FAR = 1e307, NEAR = 1e-300; /* beyond and within, differences of values overflow or vanish */

    /* 1, 2 or 5 times a power of ten, so that at most `most` steps fit into `range`. */
    function tickStep(range, most) {
        const power = Math.pow(10, Math.floor(Math.log10(range / most)));
        return power * [1, 2, 5, 10].find(f => range / (power * f) <= most);
    }

    /* Of values: the least and most, and those that all but a fiftieth of them lie between; null: there are none. */
    function extentOf(values, log) {
        const sorted = Float64Array.from(values.filter(v => v !== null && isFinite(v) && (!log || v > 0))).sort(), n = sorted.length - 1;
        return n < 0 ? null : { least: sorted[0], most: sorted[n], foot: sorted[Math.floor(n * 0.02)], head: sorted[Math.floor(n * 0.98)] };
    }

    /*
     * The axis of extents. It has all values. Where few are far off, its main part, from `low` to `high`, has the others,
     * and beyond a break the part up to `above`, or down to `below`, has those few; null: there are none. Ends of the main
     * part are whole steps, so that it keeps still while values move.
     */
    function axisOf(extents, fixed, log) {
        const axis = mainAxis(extents, fixed, log), most = Math.min(FAR, Math.max(...extents.map(e => e.most))), least = Math.max(-FAR, Math.min(...extents.map(e => e.least)));
        return { ...axis, above: !log && most > axis.high ? most : null, below: !log && least < axis.low ? least : null };
    }

    function mainAxis(extents, fixed, log) {
        let low = Math.min(...fixed), high = Math.max(...fixed);
        if (extents.length) {
            const least = Math.min(...extents.map(e => e.least)), most = Math.max(...extents.map(e => e.most));
            const head = Math.max(high, ...extents.map(e => e.head)), foot = Math.min(low, ...extents.map(e => e.foot));
            const room = Math.max(head - foot, Math.abs(head) / 10);
            high = log || most <= head + 3 * room ? Math.max(high, most) : head;
            low = log || least >= foot - 3 * room ? Math.min(low, least) : foot;
        }
        if (!isFinite(low) || !isFinite(high))
            [low, high] = log ? [1e6, 1e7] : [0, 1];
        low = Math.max(low, log ? NEAR : -FAR);
        high = Math.min(high, FAR);
        if (log)
            return { low: Math.pow(10, Math.floor(Math.log10(low) + 1e-9)), high: 10 * Math.pow(10, Math.ceil(Math.log10(high) - 1e-9)), log };
        if (high !== low && high - low < NEAR)
            high = low + NEAR;
        const pad = (high - low || Math.abs(high) || 1) * 0.04, step = tickStep(high - low + 2 * pad, 20);
        return { low: low === 0 ? 0 : Math.floor((low - pad) / step) * step, high: Math.ceil((high + pad) / step) * step, log };
    }

    function axisTicks(axis) {
        const ticks = [];
        if (axis.log) {
            for (let v = axis.low; v <= axis.high * 1.001; v *= 10)
                ticks.push(v);
            return ticks;
        }
        return stepsIn(axis.low, axis.high, tickStep(axis.high - axis.low, 5));
    }

    /* The multiples of `step` from `low` to `high`. Beyond 2^53 steps one more is no other number: there are none. */
    function stepsIn(low, high, step) {
        const list = [];
        for (let i = Math.ceil(low / step); i * step <= high && i < i + 1; i++)
            list.push(i * step);
        return list;
    }

    return { duration, moment, count, quantity, tickStep, extentOf, axisOf, axisTicks, stepsIn };
})();
