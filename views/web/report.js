// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
"use strict";

/*
 * What `bezel report --json` says, as tables in element `page`, and where there are columns (`series`), as plots. With the
 * times of violations (`violated`), and how many rows of each list are left out. `jump` shows a moment in the plots.
 */
function showReport(page, { report, leftOut, series, violated }, view, jump) {
    const { make, table, verdict: verdictOf } = elements;
    const { duration, count, quantity } = plots;
    const nodeIndex = name => Math.max(0, report.nodes.findIndex(n => n.node === name));
    const known = list => list || [];

    function section(title, id) {
        const made = make("section", { id }, make("h2", {}, title));
        page.append(made);
        return made;
    }

    function more(key, what) {
        return leftOut[key] ? [make("p", { class: "dim" }, `${count(leftOut[key])} more ${what || key}: see \`bezel report --json\`.`)] : [];
    }

    /* A moment of the run, which shows it in the plots. */
    function when(ns) {
        if (ns === null || ns === undefined)
            return "";
        const around = Math.max((view.end - view.begin) / 50, 1e6);
        const started = Date.parse(report.run.started);
        const clock = Number.isNaN(started) ? "" : `${new Date(started + ns / 1e6).toISOString().slice(0, 23).replace("T", " ")} UTC: `;
        return make("button", { type: "button", title: clock + "show it in the plots", onclick: () => {
            view.show(ns - around, ns + around);
            view.point(ns);
            jump();
        } }, plots.moment(ns, 1e5));
    }

    const share = s => s === null ? "" : plots.quantity(100 * s, "%");

    /* ---- Plots ----------------------------------------------------------------------------------------------------- */

    function legend(plot, list) {
        const items = plot.layers.filter(l => l.name).map(l => {
            const line = make("i", {}), text = make("span", {}, l.name);
            line.style.background = plots.colorOf(l.index);
            list.append(make("li", {}, line, text));
            return [l, text];
        });
        const outside = make("li", { class: "outside" });
        list.append(outside);
        plot.onDraw = p => {
            for (const [l, text] of items) {
                const value = view.cursor === null ? undefined : view.cursor > l.until ? null : l.at(view.cursor);
                text.textContent = value === undefined ? l.name : `${l.name}: ${p.log && value === 0 ? "off" : quantity(value, p.unit)}`;
            }
            outside.textContent = p.farText();
        };
    }

    function addPlot(to, title, label, options) {
        const canvas = make("canvas", { role: "img", "aria-label": label });
        const list = make("ul", { class: "legend" });
        to.append(make("div", { class: "plot" }, make("h3", {}, ...title), list, canvas));
        legend(new plots.Plot(view, canvas, options), list);
    }

    const snapshotMarks = () => plots.marks(known(report.snapshots).filter(s => s.number)
        .map(s => ({ at: s.time_ns, text: `snapshot ${s.number}` })));

    /* What was observed of a limit: of each node one list, though it has a series for each of its traces. */
    function observed(limit) {
        const nodes = new Map();
        for (const s of series.filter(s => s.limit === limit)) {
            const name = known(report.nodes)[s.node]?.node || "all";
            const of = nodes.get(name) || { name, index: s.node, rows: [] };
            of.rows.push(...s.columns.map(c => ({ at: c[0], min: c[1], max: c[2], last: c[3] })));
            nodes.set(name, of);
        }
        for (const n of nodes.values())
            n.rows.sort((a, b) => a.at - b.at);
        return [...nodes.values()];
    }

    /* When limit `i` was violated on some node: all times, though the report may have the first violations alone. */
    function spansOf(i) {
        const ends = known(violated[i]), spans = [];
        for (let k = 0; k < ends.length; k += 2)
            spans.push({ from: ends[k], to: ends[k + 1], at: ends[k] });
        return spans;
    }

    function plotLimit(to, limit, i) {
        const nodes = observed(i), spans = spansOf(i);
        const broken = known(report.violations).filter(v => v.limit === limit.text)
            .map(v => ({ from: v.begin_ns, to: v.end_ns, at: v.begin_ns })).sort((a, b) => a.from - b.from);
        const label = `${limit.text}: ${limit.is}; violated ${count(broken.length)} times${leftOut.violations ? " or more" : ""} on ${count(nodes.length)} nodes`;
        addPlot(to, [limit.text, ": ", verdictOf(limit.is)], label, {
            unit: limit.unit,
            layers: [plots.spans(spans), snapshotMarks(), plots.bound(limit.bound, limit.compare, limit.unit),
                ...nodes.map(n => plots.band(n.rows, n.name, n.index))],
        });
        return leftOut.violations ? spans : broken;
    }

    /* Metrics that no limit reads: a plot for each, with a line for each process. */
    function plotMetrics(to) {
        const by = new Map();
        for (const s of series.filter(s => s.metric !== undefined))
            by.set(s.metric, [...by.get(s.metric) || [], s]);
        for (const [metric, lines] of by)
            addPlot(to, [metric], `${metric} of ${count(lines.length)} processes`, {
                unit: null,
                layers: [snapshotMarks(), ...lines.map((s, i) => plots.band(s.columns.map(c => ({ at: c[0], min: c[1], max: c[2], last: c[3] })),
                    known(report.nodes).length > 1 ? `${known(report.nodes)[s.node]?.node}/${s.process}` : s.process, i))],
            });
    }

    function plotPolling(to) {
        const layers = [], names = [...new Set(known(report.polling).map(p => p.node).concat(known(report.decisions).map(d => d.node)))];
        for (const name of names) {
            const decisions = known(report.decisions).filter(d => d.node === name).map(d => ({ at: d.time_ns, value: d.after_ns }));
            const all = known(report.polling).filter(p => p.node === name).map(p => ({ at: p.time_ns, value: p.period_ns }))
                .concat(decisions).sort((a, b) => a.at - b.at);
            const line = plots.steps(all, name, nodeIndex(name));
            if (leftOut.decisions || leftOut.polling) /* how it went on is not in the page */
                line.until = all[all.length - 1].at;
            layers.push(line, plots.dots(decisions, nodeIndex(name)));
        }
        if (layers.length)
            addPlot(to, ["polling period"], `polling periods of ${count(names.length)} nodes, with ${count(known(report.decisions).length)} decisions`,
                { unit: "ns", log: true, layers: [snapshotMarks(), ...layers] });
        to.append(...["decisions", "polling"].flatMap(key => more(key)));
    }

    const HELP = [["w s", "zoom in, out"], ["a d", "to earlier, later"], ["0", "the whole run"], ["[ ]", "to the violation before, behind"],
        ["drag, wheel", "zoom into a part, or where the pointer is"], ["Esc", "close this"]];

    let visited = -1; /* the violation that was gone to last */

    /* To the next violation, or the one before; where the last one is out of sight, from the middle of what is shown. */
    function goTo(broken, direction) {
        const middle = (view.from + view.to) / 2, last = broken[visited];
        if (last && (last.to < view.from || last.from > view.to))
            visited = broken.filter(b => b.from < middle).length - (direction > 0 ? 1 : 0);
        const next = broken[visited + direction];
        if (!next)
            return;
        visited += direction;
        const run = view.end - view.begin, width = Math.min(Math.max(2 * (next.to - next.from), run / 50), run / 2);
        view.show(next.from - width / 4, next.from + width * 3 / 4);
        view.point(next.from);
    }

    function keys(broken, help) {
        const actions = {
            w: () => view.zoom(0.7, (view.from + view.to) / 2), s: () => view.zoom(1 / 0.7, (view.from + view.to) / 2),
            a: () => view.move(-0.25), d: () => view.move(0.25), ArrowLeft: () => view.move(-0.25), ArrowRight: () => view.move(0.25),
            0: () => view.all(), "[": () => goTo(broken, -1), "]": () => goTo(broken, 1), "?": () => help.showModal(),
        };
        document.addEventListener("keydown", e => {
            if (e.ctrlKey || e.metaKey || e.altKey || !actions[e.key] || e.target.closest(".scroll"))
                return;
            e.preventDefault();
            actions[e.key]();
        });
        return actions;
    }

    function plotAll() {
        const to = section("Limits, metrics and polling against time", "plots");
        const tools = make("div", { class: "tools" });
        to.append(tools);
        const broken = known(report.limits).flatMap((l, i) => plotLimit(to, l, i)).sort((a, b) => a.from - b.from);
        plotMetrics(to);
        plotPolling(to);
        const help = elements.help(HELP);
        page.append(help);
        const actions = keys(broken, help);
        const button = (text, key) => make("button", { type: "button", onclick: actions[key], title: `key ${key}` }, text);
        const shown = make("span", { class: "dim", role: "status" });
        tools.append(button("whole run", "0"), button("zoom in", "w"), button("zoom out", "s"),
            broken.length ? button("violation before", "[") : "", broken.length ? button("violation behind", "]") : "", button("keys", "?"), shown);
        view.listeners.push(() => {
            const width = view.to - view.from;
            shown.textContent = `${plots.moment(view.from, width / 100)} to ${plots.moment(view.to, width / 100)}`;
            keepState();
        });
    }

    /* ---- The state is in the address: a page that is opened with it shows the same --------------------------------- */

    function keepState() {
        const whole = view.from === view.begin && view.to === view.end;
        const hash = whole ? "" : `#t=${Math.round(view.from)}-${Math.round(view.to)}`;
        if (location.hash !== hash)
            history.replaceState(null, "", hash || location.pathname + location.search);
    }

    function takeState() {
        const found = /^#t=(\d+)-(\d+)$/.exec(location.hash);
        if (found)
            view.show(Number(found[1]), Number(found[2]));
        else
            view.all();
    }

    /* ---- Tables ---------------------------------------------------------------------------------------------------- */

    function head() {
        const r = report.run;
        page.append(make("h1", {}, r.experiment), make("p", { class: "verdict" }, verdictOf(report.verdict.is, report.verdict.green), ": ", report.verdict.sentence),
            make("p", { class: "dim" }, `${r.started || "not started"} to ${r.ended || "now"}, ${r.state}; ${r.directory}, run ${r.id}`));
    }

    function limits() {
        if (!report.limits.length)
            return;
        /* Of a limit that a single node judged, one row: with the verdict over all nodes. */
        const rows = report.limits.flatMap(l => [...(l.nodes.length === 1 ? [] : [[l, null]]), ...l.nodes.map(n => [l, n])]);
        const verdict = ([l, n]) => n && l.nodes.length > 1 ? n.is : l.is;
        const to = section("Limits", "limits");
        to.append(table(rows, [
            ["limit", r => r[0].text], ["node", r => r[1] ? r[1].node || "all" : r[0].nodes.length ? "all" : "none"], ["verdict", r => verdictOf(verdict(r))],
            ["last", r => r[1] ? quantity(r[1].value, r[0].unit) : "", "number"], ["worst", r => r[1] ? quantity(r[1].worst, r[0].unit) : "", "number"],
            ["held", r => r[1] ? duration(r[1].held_ns) : "", "number"], ["violated", r => r[1] ? duration(r[1].violated_ns) : "", "number"],
            ["share", r => r[1] ? share(r[1].share_violated) : "", "number"], ["unknown", r => r[1] ? duration(r[1].unknown_ns) : "", "number"],
            ["not judged", r => r[1] && r[1].unjudged_ns ? duration(r[1].unjudged_ns) : "", "number"],
            ["judged from records", r => r[1] && r[1].from_records_ns ? duration(r[1].from_records_ns) : "", "number"],
            ["last violated", r => when(r[1] && r[1].last_violated_ns)]], "limits"), ...more("limits", "rows of limits"));
    }

    /* What slow instances have more than usual ones, of each limit that was violated, as `bezel why` has it. */
    function causes() {
        const rows = known(report.causes);
        if (rows.length)
            section("Causes", "causes").append(...rows.flatMap(c => c.text.map(t => make("p", {}, c.terms ? t : `${c.limit}: ${t}`))),
                make("p", { class: "dim" }, "Tables, and the course of the slowest instance: ", make("code", {}, `bezel why ${report.run.directory}`)));
    }

    function looks() {
        const rows = known(report.looks);
        if (!rows.length)
            return;
        section("Around the worst violations", "looks").append(
            make("p", {}, "Commands that show what was around the worst value of each limit; `bezel why` compares the slow ones with the usual ones (docs/WHY.md); docs/SAMPLERS.md, \"The cause of a spike\", says what each tells about the cause."),
            table(rows, [["limit", r => r.limit], ["from", r => when(r.from_ns), "number"], ["to", r => when(r.until_ns), "number"],
                ["commands", r => make("div", {}, ...["records", "scheduling", "machine"].map(k => make("div", {}, `${k}: `, make("code", {}, r[k])))), "text"]], "around the worst violations"));
    }

    /* Times between records that belong together, each stage and the whole, and records without a counterpart. */
    function intervals() {
        const rows = known(report.intervals), alone = known(report.unmatched).filter(u => ["lost", "late", "evicted", "ambiguous", "under_way", "repeated", "negative"].some(k => u[k]));
        if (!rows.length && !alone.length)
            return;
        const to = section("Intervals", "intervals"), number = (title, key) => [title, r => count(r[key]), "number"];
        to.append(table(rows, [["metric", r => r.metric], ["from", r => r.from], ["to", r => r.to], ["of", r => r.of], number("times", "count"),
            ...["min", "mean", "p50", "p99", "max"].map(key => [key, r => r[`${key}_ns`] === null ? "" : duration(r[`${key}_ns`]), "number"]),
            ["error up to", r => r.error_ns === null ? "unknown" : duration(r.error_ns), "number"]], "intervals"), ...more("intervals", "rows of intervals"));
        if (alone.length)
            to.append(table(alone, [["metric", r => r.metric], ["records of", r => r.aspect], ["without", r => r.ends ? "beginning" : "end"], number("lost", "lost"), number("late", "late"),
                number("no memory", "evicted"), number("ambiguous", "ambiguous"), number("under way", "under_way"), number("repeated", "repeated"), number("negative", "negative")], "records without counterpart"));
    }

    /* Records by the value of a field, between chosen edges. */
    function histograms() {
        const rows = known(report.histograms), edge = (value, unit) => quantity(value, unit);
        const between = r => r.above === null ? `up to ${edge(r.up_to, r.unit)}` : r.up_to === null ? `above ${edge(r.above, r.unit)}` : `${edge(r.above, r.unit)} .. ${edge(r.up_to, r.unit)}`;
        if (rows.length)
            section("Histograms", "histograms").append(table(rows, [["metric", r => r.metric], ["node", r => r.node || "all"], ["process", r => r.process || "all"], ["value", between],
                ["records", r => count(r.records), "number"], ["share", r => r.share === null ? "" : share(r.share), "number"]], "histograms"), ...more("histograms", "buckets of histograms"));
    }

    /* Waits and long spans that have no end. */
    function openSpans() {
        const rows = known(report.open_spans);
        if (rows.length)
            section("Open waits and spans", "open").append(table(rows, [["process", r => r.pid ? `${r.process} (${r.pid})` : r.process], ["thread", r => r.thread, "number"], ["span", r => r.aspect],
                ["waits for", r => r.reason || ""], ["since", r => when(r.since_ns), "number"], ["open for", r => r.open_ns === null ? "" : duration(r.open_ns), "number"],
                ["", r => r.state === "left" ? "until its process ended" : "it has no end"]], "open waits and spans"), ...more("open_spans", "open waits and spans"));
    }

    function triggers() {
        const rows = known(report.triggers), time = key => r => r[key] === null ? "" : duration(r[key]);
        if (rows.length)
            section("Triggers", "triggers").append(table(rows, [["when", r => r.when], ["fired", r => count(r.fired), "number"], ["suppressed", r => count(r.suppressed), "number"],
                ["latency", time("latency_median_ns"), "number"], ["99 %", time("latency_p99_ns"), "number"], ["", r => r.silence || "", "text"]], "triggers"), ...more("triggers"));
    }

    function names() {
        const rows = known(report.names);
        if (rows.length)
            section("Names that nothing has", "names").append(table(rows, [["of the file", r => r.of], ["what is missing", r => r.text, "text"]], "names that nothing has"));
    }

    function moments() {
        const own = ["violations", "gaps", "decisions", "polling", "conclusions", "knobs", "snapshots", "firings"].flatMap(key => known(report[key]))
            .filter(x => x.by !== "file" && x.conclusion !== "violated"); /* the file's own settings; its violation is there */
        const all = [
            ...own.map(x => [x.time_ns ?? x.begin_ns, x.node || "all", x.text]),
            ...known(report.notes).map(n => [n.time_ns, n.node || "", `${n.code}${n.process ? " " + n.process : ""}: ${n.text}`]),
            ...known(report.events).map(e => [e.time_ns, "", e.text]),
        ].sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0));
        if (!all.length)
            return;
        const to = section("What happened", "happened");
        to.append(table(all, [["at", r => when(r[0]), "number"], ["node", r => r[1]], ["what", r => r[2], "text"]], "what happened"));
        to.append(...["violations", "gaps", "decisions", "polling", "knobs", "notes", "events", "conclusions", "snapshots", "firings"].flatMap(key => more(key)));
    }

    const CAUSES = [["ring full", "full"], ["window", "window"], ["spool", "spool"], ["off", "off"], ["overwritten", "overwritten"],
        ["no ring", "no_ring"], ["reducer", "reducer"], ["unfinished", "unfinished"], ["unstored", "unstored"]];

    function books() {
        const to = section("Books", "books"), b = report.books;
        const used = CAUSES.filter(c => b.processes.some(p => p.lost[c[1]]) || b.sut.lost[c[1]] || b.daemons.lost[c[1]]);
        const number = (title, of, cls) => [title, r => count(of(r)), cls || "number"];
        const rows = [...b.processes, { process: "all of the experiment", ...b.sut }, { process: "all daemons", ...b.daemons }];
        to.append(make("p", {}, b.text));
        to.append(table(rows, [["process", r => r.pid ? `${r.process} (${r.pid})` : r.process], ["node", r => r.node || ""], number("produced", r => r.produced),
            number("stored", r => r.stored), ...(b.sut.reduced ? [number("reduced", r => r.reduced)] : []), ...used.map(c => number(c[0], r => r.lost[c[1]] || 0, "number lost")), number("rest", r => r.rest),
            ["latency p99", r => r.latency && r.latency.records ? duration(r.latency.p99_ns) : "", "number"]], "books"));
        to.append(...known(b.remedies).map(m => make("p", {}, `${count(m.records)} records were lost (${m.cause}): ${m.text}`)),
            ...more("processes"));
    }

    function fields() {
        const rows = report.books.processes.flatMap(p => p.aspects.flatMap(a => a.fields.filter(f => !f.left_out).map(f => [p, a, f])));
        if (!rows.length)
            return;
        const column = key => [key, r => r[2][key] === null ? "" : quantity(r[2][key], r[2].unit), "number"];
        const note = f => [f.unknown && `${count(f.unknown)} unknown`, f.not_evaluated && `${count(f.not_evaluated)} not evaluated`].filter(Boolean).join(", ");
        section("Values", "fields").append(table(rows, [
            ["process", r => `${r[0].process} (${r[0].pid})`], ["aspect", r => r[1].aspect], ["field", r => r[2].field],
            ["values", r => count(r[2].values), "number"], ...["min", "mean", "p50", "p99", "max", "last"].map(column),
            ["total", r => r[2].total === undefined ? "" : quantity(r[2].total, r[2].unit), "number"], ["", r => note(r[2])]], "values"));
    }

    function messages() {
        const rows = report.books.processes.flatMap(p => p.aspects.filter(a => a.messages && a.stored).map(a => [p, a, a.messages]));
        if (!rows.length)
            return;
        const time = key => r => r[2].timed ? duration(r[2][key]) : "";
        section("Messages", "messages").append(table(rows, [
            ["process", r => `${r[0].process} (${r[0].pid})`], ["aspect", r => r[1].aspect], ["messages", r => r[1].kind],
            ["records", r => count(r[2].records), "number"], ["unmatched", r => count(r[2].unmatched), "number"],
            ...["min", "mean", "p50", "p99", "max"].map(key => [key, time(`${key}_ns`), "number"]), ["error up to", time("error_ns"), "number"],
            ["", r => [r[2].not_evaluated && `${count(r[2].not_evaluated)} not evaluated`,
                r[2].contrary && `${count(r[2].contrary)} received before they were sent`].filter(Boolean).join(", ")]], "messages"));
    }

    function nodes() {
        const number = (title, of) => [title, r => of(r) ?? "", "number"];
        const clock = n => n.run_clock.by === "same" ? "the run's clock" : n.run_clock.error_ns === null ? "unknown" : `within ${duration(n.run_clock.error_ns)}`;
        section("Nodes", "nodes").append(table(report.nodes, [["node", n => n.node], number("sensor CPU", n => quantity(n.sensor_cpu_mean, "%")),
            number("most", n => quantity(n.sensor_cpu_max, "%")), number("records", n => count(n.records)), number("bytes", n => count(n.bytes)),
            number("period, mean", n => n.period_mean_ns === null ? "" : duration(n.period_mean_ns)), ["clock", clock],
            number("drift", n => n.run_clock.drift_ppm === null ? "" : quantity(n.run_clock.drift_ppm, "ppm")),
            number("jumps", n => n.run_clock.jumps || "")], "nodes"));
    }

    /* How the run, its nodes, processes and threads spent their time, and messages between processes. */
    function load() {
        const rows = known(report.load), pairs = known(report.messages_between);
        const of = r => r.level === "run" ? "the run" : r.level === "node" ? r.node : r.level === "process" ? `${r.node}/${r.process}` : `${r.node}/${r.process} ${r.name} (${r.thread})`;
        const time = (title, key) => [title, r => duration(r[key]), "number"], ratio = (title, key) => [title, r => quantity(r[key]), "number"];
        const bounds = (title, name, least = `${name}_least_ns`) => [title, r => [...new Set([duration(r[least]), duration(r[`${name}_most_ns`])])].join(" .. "), "number"];
        const bytes = r => r.bytes === null ? "" : count(r.bytes);
        if (rows.length)
            section("Load", "load").append(table(rows, [["of", of], time("elapsed", "elapsed_ns"), bounds("CPU", "cpu", "cpu_ns"), bounds("ready", "ready"), bounds("waiting", "waiting"),
                time("unknown", "unknown_ns"), ratio("response", "response_ratio"), ratio("load", "load_factor"), ratio("CPUs", "parallelism"),
                ["sent", r => count(r.sent), "number"], ["received", r => count(r.received), "number"]], "load"), ...more("load", "rows of load"));
        if (pairs.length)
            section("Messages between processes", "pairs").append(table(pairs, [["from", r => `${r.from_node}/${r.from}`], ["to", r => `${r.to_node}/${r.to}`],
                ["messages", r => count(r.messages), "number"], ["bytes", bytes, "number"]], "messages between processes"), ...more("messages_between"));
    }

    function programs() {
        if (!known(report.programs).length)
            return;
        const end = p => p.failed ? `failed: ${p.failed}` : p.signal ? `signal ${p.signal}` : p.exit_code === null || p.exit_code === undefined ? p.state : `exit code ${p.exit_code}`;
        section("Programs", "programs").append(table(report.programs, [["program", p => p.program], ["node", p => p.node], ["end", end],
            ["ran", p => duration(p.ran_ns), "number"], ["CPU", p => duration(p.cpu_ns), "number"],
            ["memory", p => quantity(Math.round(p.memory_bytes / 104857.6) / 10, "MiB"), "number"]], "programs"), ...more("programs", "starts of programs"));
    }

    head();
    causes();
    limits();
    intervals();
    histograms();
    openSpans();
    triggers();
    names();
    looks();
    if (series)
        plotAll();
    moments();
    books();
    fields();
    messages();
    nodes();
    load();
    programs();
    if (series) {
        window.addEventListener("hashchange", takeState);
        takeState();
    }
}

/* The page of `bezel report --html` has its data in elements. */
(() => {
    const read = id => JSON.parse(document.getElementById(id).textContent);
    if (!document.getElementById("report"))
        return;
    const report = read("report");
    showReport(document.querySelector("main"), { report, leftOut: read("left-out"), series: read("series"), violated: read("broken") },
        new plots.View(0, Math.max(report.run.duration_ns, 1e6)), () => document.getElementById("plots").scrollIntoView());
})();
