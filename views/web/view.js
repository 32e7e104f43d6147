// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
"use strict";

/*
 * The page of `bezel view`: the rows that are open, in one window of time, with one cursor and one filter. The window is
 * asked for whenever it or the rows change; while the page follows, the server moves it on. Its state is in the address.
 */
(() => {
    const { make, table } = elements;
    const FOLLOWED = 3e10; /* ns of a run that goes on that are shown first; a younger one fills them */
    const MOST_ROWS = 60; /* that are in the page at once */
    const MOST_ARROWS = 150; /* if there are more, it is said how many are not drawn */
    const of = id => document.getElementById(id);
    const page = {
        view: new plots.View(0, 1e9, 10), catalogue: null, report: null, data: null, follow: true, linked: true,
        open: new Set(), filter: "", shown: new Map(), current: null, order: [], edges: [], due: false,
    };
    let live = null, asked = false, applying = false, state = {};

    /* ---- what rows ask of the page --------------------------------------------------------------------------------- */

    const violatedTimes = index => {
        const ends = page.data?.broken[index] || [], spans = [];
        for (let k = 0; k + 1 < ends.length; k += 2)
            spans.push({ from: ends[k], to: ends[k + 1], at: ends[k] });
        return spans;
    };
    page.violations = violatedTimes;
    page.limitText = index => index >= 0 && page.report?.limits[index] ? page.report.limits[index].text : "no limit";

    const CAUSES = [["ring full", "full"], ["window full", "window"], ["spool full", "spool"], ["collection off", "off"], ["overwritten", "overwritten"], ["unfinished", "unfinished"]];

    /* Why records of a process were lost, as far as its books say. */
    page.causes = row => {
        const process = page.catalogue.processes.get(row);
        const book = page.report?.books.processes.find(p => p.pid === process?.pid && p.process === process?.name);
        const causes = book ? CAUSES.filter(c => book.lost[c[1]] > 0) : [];
        if (causes.length === 0)
            return process?.overwrites ? "overwritten" : "cause not known yet";
        return causes.length === 1 ? causes[0][0] : "in all " + causes.map(c => `${plots.count(book.lost[c[1]])} ${c[0]}`).join(", ");
    };

    page.over = row => {
        page.current = row;
        showUnknown();
        page.view.changed();
    };

    /* Shows in all rows where their order to the row of the cursor is unknown. */
    function showUnknown() {
        const row = page.current = page.shown.get(page.current?.item.id) || page.current; /* it may have been made anew */
        for (const other of page.shown.values())
            other.unknown.set(!row?.node || !other.node || row.node.row === other.node.row ? 0 : boundBetween(row.node, other.node));
    }

    const boundBetween = (a, b) => a.bound === null || b.bound === null ? null : (a.clock === b.clock && a.clock === "same" ? 0 : a.bound + b.bound);

    /* Opens the rows of what a limit reads, in all processes that have it. Its metric looks back from a moment for its window. */
    page.showAspect = ({ aspect, field, window_ns }) => {
        page.back = window_ns;
        let first = null;
        for (const found of page.catalogue.having(aspect)) {
            const p = `p${found.process.row}`;
            for (const id of [`n${found.process.node.row}`, p, field ? `${p}/${aspect}` : p])
                page.open.add(id);
            first = first || (field ? `${p}/${aspect}/${field}` : `${p}/${aspect}`);
        }
        page.filter = aspect;
        of("filter").value = aspect;
        build();
        document.getElementById(`row-${first}`)?.scrollIntoView({ block: "center" });
        page.shown.get(first)?.canvas.focus();
    };

    /* ---- records --------------------------------------------------------------------------------------------------- */

    let inspected = null;

    const TIMES = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

    /* The limits whose metrics read field `name` of aspect `aspect`, with their bounds in the field's unit. */
    const limitsOf = (aspect, name, unit) => (page.report?.limits || []).filter(l => l.aspect === aspect && l.field === name)
        .map(l => ({ ...l, bound: l.unit === "ns" && TIMES[unit] ? l.bound / TIMES[unit] : l.bound }));
    const isBeyond = (value, l) => typeof value === "number" && (l.compare === "<=" ? value > l.bound : value < l.bound);

    /* What a list of a field is to lie around: its largest or least value, if a limit or the plot has one stand out there. */
    function aroundWhat(row, series, from, to) {
        const aspect = series.field >= 0 && series.key < 0 && page.catalogue.processes.get(series.process)?.aspects[series.aspect - 1];
        const field = aspect && aspect.fields[series.field], p = row.taken?.pictures[0];
        if (!field)
            return "";
        const [limit] = limitsOf(aspect.name, field.name, field.unit);
        if (limit)
            return limit.compare === "<=" ? "most" : "least";
        const shown = p?.min ? [...p.at.keys()].filter(i => p.at[i] + p.wide >= from && p.at[i] <= to) : [];
        return shown.some(i => p.max[i] > row.plot.axis.high) ? "most" : shown.some(i => p.min[i] < row.plot.axis.low) ? "least" : "";
    }

    /* Why a record of the list stands out; "": it does not. */
    function markOf(r) {
        const beyond = (r.fields || []).flatMap(([name, value, unit]) => limitsOf(r.aspect, name, unit).filter(l => isBeyond(value, l)).map(l => `${name} is beyond ${l.text}`));
        const chosen = r.chosen ? [`the ${inspected.around === "most" ? "largest" : "least"} here`] : [];
        return [...new Set([...beyond, ...chosen])].join("; ");
    }

    page.inspect = (row, from, to) => {
        const lies = p => p?.at?.some(t => t + p.wide >= from && t <= to);
        const series = row.series.find((s, i) => s.line !== undefined && lies(row.taken?.pictures[i])) || row.series[0]; /* of the daemon that said it */
        if (!series)
            return;
        const around = aroundWhat(row, series, from, to);
        inspected = { sequence: live.records(from, to, { ...series, records: 0 }, around), title: row.item.title, from, to, row, around };
        of("records").hidden = false;
        of("records").replaceChildren(make("p", {}, "reading…"));
    };

    const clockOf = ns => new Date(page.catalogue.started / 1e6 + ns / 1e6).toISOString().slice(11, 23);
    const valueText = ([, value, unit]) => value === null ? "?" : typeof value === "number" ? plots.quantity(value, unit) : value;

    function showRecords(message) {
        if (!inspected || message.sequence !== inspected.sequence)
            return;
        if (message.records.length === 0 && !inspected.wider && !message.cut) { /* nothing just there: what is near */
            const { row, from, to } = inspected, width = (page.view.to - page.view.from) / 20;
            page.inspect(row, from - width, to + width);
            inspected.wider = true;
            return;
        }
        const thread = r => {
            const [, ring, thread, name] = page.catalogue.streams[r.stream] || [0, 0, 0];
            return rows.threadName({ ring, thread, name });
        };
        const bytes = r => make("details", {}, make("summary", {}, `${r.file.split("/").slice(-2).join("/")} @ ${r.offset}`), make("code", {}, r.bytes || ""));
        of("records").replaceChildren(
            make("h3", {}, `${inspected.title}: ${plots.count(message.records.length)}${message.more ? " of more" : ""} records${message.more ? `, around ${inspected.around ? `the ${inspected.around === "most" ? "largest" : "least"} value` : "the middle"}` : ""}, from ${plots.moment(inspected.from, 1e3)} to ${plots.moment(inspected.to, 1e3)}${message.damaged ? "; damaged: read up to there" : ""}${message.cut ? "; not all of that time was read, which takes too long: zoom in" : ""}`,
                " ", make("button", { type: "button", onclick: hideRecords }, "close")),
            table(message.records, [
                ["at", r => make("button", { type: "button", onclick: () => { page.view.point(r.at); } }, plots.moment(r.at, 1)), "number"],
                ["wall clock, UTC", r => clockOf(r.at)], ["aspect", r => r.lost !== undefined ? make("span", { class: "violated" }, `${plots.count(r.lost)} records lost`) : r.aspect],
                ["values", r => (r.fields || []).map(f => `${f[0]} ${valueText(f)}`).join(", "), "text"], ["stands out", r => markOf(r) ? make("span", { class: "violated" }, markOf(r)) : ""],
                ["thread", thread], ["node's clock, ns", r => r.own, "number"], ["within", r => r.bound === null ? "unknown" : plots.duration(r.bound), "number"], ["stored bytes", bytes],
            ], "records", r => r.chosen ? "chosen" : null));
        of("records").querySelector("tr.chosen")?.scrollIntoView({ block: "center" });
    }

    function hideRecords() {
        inspected = null;
        of("records").hidden = true;
    }

    /* ---- paths ----------------------------------------------------------------------------------------------------- */

    /* Asks why something took long: {title, from, until} when it ended, and the row of its records, or a limit's text. */
    page.explain = asked => {
        page.path = { ...asked, sequence: live.why(asked.from, asked.until, asked.row), lines: [] };
        of("path").hidden = false;
        of("path").replaceChildren(make("p", {}, `why ${asked.title}: reading…`));
    };

    function showPath(message) {
        if (message.sequence !== page.path?.sequence)
            return;
        const chosen = paths.choose(message.answer, page.path.limit), slowest = chosen.found?.slowest;
        of("path").replaceChildren(...paths.panel(page.path.title, chosen, hidePath));
        if (!slowest)
            return;
        for (const id of paths.rowsOf(page.catalogue, slowest.pieces))
            page.open.add(id);
        page.path.lines = paths.linesOf(page.catalogue, slowest.pieces);
        page.filter = of("filter").value = "";
        const margin = Math.max((slowest.until_ns - slowest.from_ns) / 8, 1);
        stay();
        page.view.show(slowest.from_ns - margin, slowest.until_ns + margin);
        build();
    }

    function hidePath() {
        page.path = null;
        of("path").hidden = true;
        drawArrows();
    }

    function explainAtCursor() {
        const row = page.current || page.order[0], at = page.view.cursor ?? (page.view.from + page.view.to) / 2;
        if (!row?.explainAt(at, (page.view.to - page.view.from) / 1000))
            of("said").textContent = "nothing took long there: p asks of a violation, or of a span";
    }

    /* ---- the window ------------------------------------------------------------------------------------------------ */

    /* Asks for what is shown, once for all that changes before the next frame. */
    function ask() {
        if (asked || !live || !page.catalogue)
            return;
        asked = true;
        requestAnimationFrame(() => {
            asked = false;
            page.order = [...page.shown.values()];
            const width = page.order.length ? page.order[0].canvas.getBoundingClientRect().width - 116 : 600;
            live.want(page.view.from, page.view.to, Math.max(width, 50), page.follow, page.order.flatMap(r => r.series).slice(0, 256));
        });
    }

    function takePicture(p) {
        Object.assign(state, p);
        page.view.end = Math.max(p.newest, p.live ? FOLLOWED : 0, 1e6);
        if (!page.begun)
            return first(p);
        if (asked || p.sequence !== live.wanted)
            return; /* of other rows, or another window than is about to be asked for */
        if (page.follow) {
            applying = true;
            Object.assign(page.view, { from: p.from, to: p.until });
            page.view.changed();
            applying = false;
        }
        let i = 0;
        for (const row of page.order) {
            if (i + row.series.length > p.rows.length)
                break;
            row.take(p.rows.slice(i, i + row.series.length), p.newest);
            i += row.series.length;
        }
        page.edges = p.edges || [];
        requestAnimationFrame(drawArrows);
        say();
    }

    /* The first picture says how long the run is: all of it is shown, or while it goes on the last half minute. */
    function first(p) {
        page.begun = applying = true; /* nobody chose it: other views keep theirs */
        page.follow = p.live;
        if (p.live)
            page.view.show(page.view.end - FOLLOWED, page.view.end);
        else
            page.view.all();
        applying = false;
        ask();
    }

    /* ---- messages and intervals from thread to thread -------------------------------------------------------------- */

    /* The server pairs messages, by the rule of <bezel/kinds.h>; an arrow goes from thread to thread, where both are open. */
    function messageArrows(threads) {
        const nameOf = a => page.catalogue.processes.get(page.catalogue.streams[a.sender]?.[0])?.aspects[a.sentAspect - 1]?.name || "?";
        return page.order.flatMap(row => (row.arrows || []).map(a => ({ row, from: threads.get(a.sender), sentAt: a.sentAt, at: a.at, text: `${nameOf(a)} → ${a.aspect}` })))
            .filter(a => a.from !== a.row);
    }

    /* It matches the records of intervals, too: a chain has an arrow for each of its stages. */
    function intervalArrows(threads) {
        return page.edges.map(([number, stage, begin, sentAt, end, at, took, doubt]) => {
            const interval = page.catalogue.intervals[number];
            return interval && { row: threads.get(end), from: threads.get(begin), sentAt, at, took, doubt, interval: true, text: `${interval.metric}: ${interval.aspects[stage]} → ${interval.aspects[stage + 1]}` };
        }).filter(a => a);
    }

    function drawLine(x0, y0, x1, y1, cls, text) {
        const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
        line.setAttribute("d", `M${x0} ${y0} L${x1} ${y1}`);
        line.setAttribute("class", cls);
        const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
        title.textContent = text;
        line.append(title);
        return line;
    }

    /* The path of what was explained, as far as its rows are open and it lies in the window. */
    function pathLines(threads, place) {
        const within = at => Math.min(Math.max(at, page.view.from), page.view.to);
        return (page.path?.lines || []).filter(l => threads.has(l.from) && threads.has(l.to) && l.end >= page.view.from && l.begin <= page.view.to)
            .map(l => drawLine(...place(threads.get(l.from), within(l.begin)), ...place(threads.get(l.to), within(l.end)), paths.classOf(l), paths.titleOf(l)));
    }

    function drawArrows() {
        const threads = new Map(page.order.filter(r => r.stream !== undefined).map(r => [r.stream, r]));
        const inside = at => at >= page.view.from && at <= page.view.to;
        const drawn = [...messageArrows(threads), ...intervalArrows(threads)].filter(a => a.from && a.row && inside(a.sentAt) && inside(a.at));
        const place = (row, at) => {
            const box = row.canvas.getBoundingClientRect();
            return [box.left + window.scrollX + row.plot.x(at), box.top + window.scrollY + box.height - 34 - (row.room || 0)];
        };
        const shapes = drawn.slice(0, MOST_ARROWS).map(a => {
            const [x0, y0] = place(a.from, a.sentAt), [x1, y1] = place(a.row, a.at), took = a.took ?? a.at - a.sentAt;
            const doubt = a.interval ? a.doubt : a.from.node === a.row.node ? 0 : boundBetween(a.from.node, a.row.node);
            const proven = doubt !== null && took > doubt, within = a.interval && doubt ? ` ± ${plots.duration(doubt)}` : "";
            return drawLine(x0, y0, x1, y1, (a.interval ? "interval " : "") + (proven ? "proven" : "unknown"), `${a.text}, ${plots.duration(took)}${within}, order ${proven ? "proven" : "unknown"}`);
        });
        page.arrows = drawn.length;
        const svg = of("arrows");
        svg.setAttribute("width", document.documentElement.clientWidth);
        svg.setAttribute("height", document.body.offsetHeight);
        svg.replaceChildren(...shapes, ...pathLines(threads, place));
    }

    /* ---- the tree -------------------------------------------------------------------------------------------------- */

    const isOpen = item => page.open.has(item.id);

    /* The items that are to be seen: with a filter those that match it, and what they lie in. */
    function visibleItems() {
        const wanted = page.filter.toLowerCase(), list = [];
        const matches = item => !wanted || `${item.title} ${item.words || ""}`.toLowerCase().includes(wanted);
        const add = (item, inherited) => {
            const own = inherited || item.limit || matches(item), at = list.length;
            list.push(item);
            let kept = own;
            if (isOpen(item))
                for (const child of item.children())
                    kept = add(child, wanted && item.title.toLowerCase().includes(wanted)) || kept;
            if (!kept)
                list.length = at;
            return kept;
        };
        for (const item of rows.tree(page))
            add(item, false);
        return list;
    }

    /* The steps that turn one word into another. */
    function distance(a, b) {
        let last = [...b, ""].map((_, j) => j);
        for (let i = 1; i <= a.length; i++)
            last = last.reduce((row, up, j) => [...row, j ? Math.min(last[j - 1] + (a[i - 1] !== b[j - 1]), up + 1, row[j - 1] + 1) : i], []);
        return last[b.length];
    }

    /* For a filter that nothing open matches: a name of the run that has it, or one that is similar. */
    function nearest(filter) {
        const wanted = filter.toLowerCase();
        const names = page.catalogue.nodes.flatMap(n => [n.name, ...n.processes.flatMap(p => [p.name, ...p.aspects.map(a => a.name)])]);
        const inside = names.find(n => n.toLowerCase().includes(wanted));
        if (inside)
            return `; ${inside} has, in a row that is closed`;
        const best = names.map(n => [distance(wanted, n.toLowerCase()), n]).sort((a, b) => a[0] - b[0])[0];
        return best && 3 * best[0] <= Math.max(wanted.length, best[1].length) + 1 ? `; the nearest is ${best[1]}` : "";
    }

    function toggle(item) {
        if (!page.open.delete(item.id))
            page.open.add(item.id);
        build();
        document.getElementById(`head-${item.id}`)?.focus();
    }

    function heading(item) {
        const parent = item.children().length > 0, cls = /^(held|violated|failed|unknown|infeasible)/.exec(item.kind || "")?.[0] || "dim";
        const title = parent ? make("button", { type: "button", id: `head-${item.id}`, "aria-expanded": isOpen(item), onclick: () => toggle(item) }, isOpen(item) ? "▾ " : "▸ ", item.title) : make("b", {}, item.title);
        return make("div", { class: "heading" }, title, " ", make("span", { class: cls }, item.kind || ""));
    }

    const reachable = section => section ? [...section.querySelectorAll("button, canvas")] : [];

    /*
     * Puts the open items into the page. A row that stays keeps its plot, and what has the focus keeps it. A row that is
     * dragged would lose the pointer, so this waits until it is dropped.
     */
    function build() {
        page.due = page.view.dragging;
        if (!page.catalogue || page.due)
            return;
        const focused = document.activeElement?.closest("section.item"), part = reachable(focused).indexOf(document.activeElement);
        const before = page.shown, all = visibleItems(), items = all.slice(0, 400);
        let count = 0;
        page.shown = new Map();
        of("timeline").replaceChildren(...items.map(item => {
            const head = heading(item), box = make("section", { class: "item", id: `row-${item.id}` }, head);
            head.style.paddingLeft = `${item.depth * 14}px`;
            if (item.make && ++count <= MOST_ROWS) {
                const old = before.get(item.id), stays = old && old.title === item.title + item.kind, row = stays ? old : item.make(item);
                row.title = item.title + item.kind;
                if (old && !stays) {
                    old.plot.close();
                    row.takeOver(old);
                }
                page.shown.set(item.id, row);
                box.append(row.element);
            }
            return box;
        }));
        if (all.length > items.length || count > MOST_ROWS)
            of("timeline").append(make("p", { class: "dim" }, `${plots.count(Math.max(all.length - items.length, count - MOST_ROWS))} more: close some, or type a filter.`));
        if (page.filter && all.every(item => item.limit))
            of("timeline").append(make("p", { class: "dim" }, `Nothing that is open has "${page.filter}" in its name${nearest(page.filter)}.`));
        for (const [id, row] of before)
            if (!page.shown.has(id))
                row.plot.close();
        showUnknown();
        if (focused)
            reachable(document.getElementById(focused.id))[part]?.focus({ preventScroll: true });
        keepState();
        ask();
    }

    /* ---- head ------------------------------------------------------------------------------------------------------ */

    const HELP = [["w s", "zoom in, out"], ["a d", "to earlier, later"], ["0", "the whole run"], ["f", "follow what is new"], ["space", "stay here, or follow again"],
        [", .", "cursor left, right"], ["Enter", "records at the cursor, of the row that has the focus (Tab)"], ["p", "why it took long: the path of the violation or the span at the cursor, of that row"], ["[ ]", "to the violation before, behind"], ["/", "filter"],
        ["t", "timeline, or tables of the report"], ["Esc", "close path and records, or the filter"], ["drag, wheel, click", "zoom into a part, zoom, records; of a violation or a span its path"]];
    const help = elements.help(HELP);

    function goTo(direction) {
        const all = (page.data?.broken || []).flatMap((_, i) => violatedTimes(i).map(v => ({ ...v, limit: i }))).sort((a, b) => a.from - b.from);
        const at = page.view.cursor ?? (direction > 0 ? page.view.from - 2 : page.view.to + 2); /* without a cursor: the first, or last, that is shown */
        const next = direction > 0 ? all.find(v => v.from > at + 1) : all.findLast(v => v.from < at - 1);
        if (!next)
            return;
        const width = Math.max(2 * (next.to - next.from), (page.view.end - page.view.begin) / 50, 1e6);
        stay();
        page.view.show(next.from - width / 4, next.from + width * 3 / 4);
        page.view.point(next.from);
        document.getElementById(`row-l${next.limit}`)?.scrollIntoView({ block: "nearest" });
        page.shown.get(`l${next.limit}`)?.canvas.focus({ preventScroll: true });
    }

    function stay() {
        page.follow = false;
    }

    function followAgain() {
        const width = page.view.to - page.view.from;
        page.follow = true;
        page.view.show(page.view.end - width, page.view.end);
    }

    const moveCursor = share => page.view.point(Math.min(Math.max((page.view.cursor ?? (page.view.from + page.view.to) / 2) + share * (page.view.to - page.view.from), page.view.from), page.view.to));

    function recordsAtCursor() {
        const row = page.current || page.order[0], at = page.view.cursor ?? (page.view.from + page.view.to) / 2, width = (page.view.to - page.view.from) / 200;
        if (row)
            page.inspect(row, at - Math.max(width, row.item.id.includes("/") ? page.back || 0 : 0), at + width);
    }

    const actions = {
        w: () => page.view.zoom(0.7, page.view.cursor ?? (page.view.from + page.view.to) / 2), s: () => page.view.zoom(1 / 0.7, page.view.cursor ?? (page.view.from + page.view.to) / 2),
        a: () => { stay(); page.view.move(-0.25); }, d: () => { stay(); page.view.move(0.25); }, ArrowLeft: () => { stay(); page.view.move(-0.25); }, ArrowRight: () => { stay(); page.view.move(0.25); },
        0: () => page.view.all(), f: followAgain, " ": () => page.follow ? (stay(), ask(), say()) : followAgain(), ",": () => moveCursor(-0.01), ".": () => moveCursor(0.01),
        Enter: recordsAtCursor, p: explainAtCursor, "[": () => goTo(-1), "]": () => goTo(1), "/": () => of("filter").focus(), t: () => showTables(of("tables").hidden), Escape: () => { hideRecords(); hidePath(); }, "?": () => help.showModal(),
    };

    function listen() {
        document.addEventListener("keydown", e => {
            if (e.ctrlKey || e.metaKey || e.altKey || !actions[e.key])
                return;
            if (e.target.closest("input, textarea")) {
                if (e.key === "Escape")
                    e.target.blur();
                return;
            }
            if ((e.key === "Enter" || e.key === " ") && e.target.closest("button, summary, a"))
                return;
            e.preventDefault();
            actions[e.key]();
        });
        window.addEventListener("hashchange", e => { takeState(new URL(e.newURL).hash); build(); }); /* the address may be another by now */
        window.addEventListener("resize", ask);
        window.addEventListener("scroll", () => requestAnimationFrame(drawArrows));
    }

    const button = (text, key) => make("button", { type: "button", onclick: () => actions[key](), title: `key ${key === " " ? "space" : key}` }, text);

    function makeHead() {
        const filter = make("input", { id: "filter", type: "search", placeholder: "filter: node, process, aspect", "aria-label": "filter", oninput: e => {
            page.filter = e.target.value;
            build();
            share();
        } });
        const linked = make("input", { type: "checkbox", id: "linked", onchange: e => { page.linked = e.target.checked; } });
        linked.checked = true;
        of("head").append(make("h1", { id: "title" }, "bezel view"), make("p", { id: "verdict", class: "verdict", role: "status" }), make("div", { class: "tools" },
            button("whole run", "0"), button("zoom in", "w"), button("zoom out", "s"), button("follow", "f"), button("stay", " "), button("violation before", "["), button("violation behind", "]"),
            button("report", "t"), filter, make("label", {}, linked, " cursor and window as in other views"), button("keys", "?"), make("button", { type: "button", onclick: () => controls.showModal() }, "control"),
            make("span", { id: "shown", class: "dim" })), make("p", { id: "said", class: "dim", role: "status" }));
        document.body.append(help, controls);
    }

    /* What the page shows, and what the view costs. */
    function say() {
        const { view } = page, width = view.to - view.from;
        of("shown").textContent = `${plots.moment(view.from, width / 100)} to ${plots.moment(view.to, width / 100)}${page.follow ? ", follows" : ""}`;
        if (state.newest !== undefined)
            of("said").textContent = [state.live ? "the run goes on" : "the run is over", state.trouble ? `it cannot be read on: ${state.trouble}` : "", state.behind ? "what is stored is still being read" : "", state.ahead ? `${plots.count(state.ahead)} streams have times that are still to come, which are not followed` : "", `view: ${plots.quantity(state.cpu, "%")} of a CPU, ${plots.quantity(Math.round(state.memory / 104857.6) / 10, "MiB")}`,
                page.arrows > MOST_ARROWS ? `${plots.count(page.arrows - MOST_ARROWS)} more messages and intervals: zoom in` : "", state.skipped ? `${plots.count(state.skipped)} pictures skipped` : ""].filter(t => t).join("; ");
    }

    /* ---- control --------------------------------------------------------------------------------------------------- */

    const secret = make("input", { type: "password", placeholder: "secret that bezel view --control printed", "aria-label": "secret", autocomplete: "off" });
    const command = make("input", { type: "text", placeholder: "knob NAME=VALUE, poll PERIOD, aspects GLOB=MODE, pause, resume, snapshot", "aria-label": "command" });
    const controlled = make("pre", { role: "status" });
    const controls = make("dialog", {}, make("h3", {}, "Control"), make("form", { onsubmit: e => {
        e.preventDefault();
        controlled.textContent = "…";
        live.send(`control ${secret.value.trim()} ${command.value.trim()}`);
    } }, secret, command, make("button", {}, "do it")), controlled, make("form", { method: "dialog" }, make("button", {}, "close")));

    /* ---- state in the address, and shared with other views --------------------------------------------------------- */

    const windowText = () => page.follow ? `w=${Math.round(page.view.to - page.view.from)}` : `t=${Math.round(page.view.from)}-${Math.round(page.view.to)}`;
    const stateText = () => [windowText(),
        page.filter ? `q=${encodeURIComponent(page.filter)}` : "", page.open.size ? `o=${[...page.open].map(encodeURIComponent).join(",")}` : ""].filter(t => t).join("&");

    function keepState() {
        if (location.hash !== "#" + stateText())
            history.replaceState(null, "", "#" + stateText());
    }

    function takeWindow(text) {
        const time = /(?:^|&)t=(-?\d+)-(-?\d+)/.exec(text), wide = /(?:^|&)w=(\d+)/.exec(text);
        if (time) {
            stay();
            page.view.end = Math.max(page.view.end, Number(time[2]));
            page.view.show(Number(time[1]), Number(time[2]));
        } else if (wide) {
            page.follow = true;
            page.view.end = Math.max(page.view.end, Number(wide[1]));
            page.view.show(page.view.end - Number(wide[1]), page.view.end);
        }
    }

    function takeState(hash) {
        const text = hash.slice(1), filter = /(?:^|&)q=([^&]*)/.exec(text), open = /(?:^|&)o=([^&]*)/.exec(text);
        takeWindow(text);
        page.filter = filter ? decodeURIComponent(filter[1]) : "";
        of("filter").value = page.filter;
        if (open)
            page.open = new Set(open[1].split(",").map(decodeURIComponent));
        return text !== "";
    }

    let shareTimer = null;

    /* Other pages and `bezel top` of the run get window, cursor and filter, a few times a second at most. */
    function share() {
        if (!page.linked || applying || shareTimer || !live)
            return;
        shareTimer = setTimeout(() => {
            shareTimer = null;
            const { from, to, cursor } = page.view;
            live.send(`share ${Math.round(from)} ${Math.round(Math.max(to, from + 1))} ${page.follow ? 1 : 0} ${cursor === null ? "-" : Math.round(cursor)} ${page.filter}`);
        }, 100);
    }

    function takeShared(text) {
        const [, from, to, follow, cursor, filter] = /^(-?\d+) (-?\d+) ([01]) (-|-?\d+) ?(.*)$/.exec(text) || [];
        if (!page.linked || from === undefined)
            return;
        applying = page.begun = true;
        takeWindow(follow === "1" ? `w=${to - from}` : `t=${from}-${to}`);
        page.view.cursor = cursor === "-" ? null : Number(cursor);
        page.view.changed();
        ask();
        if (filter !== page.filter) {
            page.filter = of("filter").value = filter;
            build();
        }
        applying = false;
    }

    /* ---- tables ---------------------------------------------------------------------------------------------------- */

    function showTables(show) {
        of("tables").hidden = !show;
        of("timeline").hidden = show;
        of("arrows").style.display = show ? "none" : "";
        if (!show || !page.data)
            return;
        of("tables").replaceChildren();
        showReport(of("tables"), { report: page.report, leftOut: page.data.left_out, violated: page.data.broken }, page.view, () => showTables(false));
    }

    /* ---- the course ------------------------------------------------------------------------------------------------ */

    let begun = false, hadLimits = "";

    function begin() {
        if (begun || !page.catalogue)
            return;
        begun = true;
        const had = takeState(location.hash);
        page.begun = page.begun || had;
        for (const node of page.catalogue.nodes)
            if (!had)
                page.open.add(`n${node.row}`);
        page.view.listeners.push(() => {
            say();
            keepState();
            if (!applying) {
                share();
                if (page.view.from !== page.askedFrom || page.view.to !== page.askedTo || page.follow !== page.askedFollow)
                    ask();
                Object.assign(page, { askedFrom: page.view.from, askedTo: page.view.to, askedFollow: page.follow });
            }
        });
    }

    const handlers = {
        open: () => ask(),
        closed: why => { of("said").textContent = why; },
        catalogue: message => {
            page.catalogue = new rows.Catalogue(message);
            begin();
            rebuild();
        },
        report: message => {
            page.data = message;
            page.report = message.report;
            of("title").textContent = page.report.run.experiment;
            of("verdict").replaceChildren(elements.verdict(page.report.verdict.is, page.report.verdict.green), ": ", page.report.verdict.sentence);
            const limits = page.report.limits.map(l => l.text + l.is).join();
            if (limits !== hadLimits || JSON.stringify(message.broken) !== page.brokenText)
                rebuild();
            hadLimits = limits;
            if (!of("tables").hidden)
                showTables(true);
            page.brokenText = JSON.stringify(message.broken);
        },
        records: showRecords,
        why: showPath,
        picture: takePicture,
        word: (word, text) => {
            if (word === "share")
                takeShared(text);
            else if (word === "control")
                controlled.textContent = text;
            else
                of("said").textContent = `${word} ${text}`;
        },
    };

    /* Rows hold on to the catalogue and the report that they were made of. */
    function rebuild() {
        for (const row of page.shown.values())
            row.title = null;
        build();
    }

    makeHead();
    listen();
    page.view.onChosen = stay;
    page.view.onDropped = () => page.due && build();
    live = new Live(handlers);
})();
