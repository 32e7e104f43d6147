// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
"use strict";

/*
 * Why something took long: the answer of `bezel why --json` as a table, and its slowest instance as a path over the rows of
 * threads. A piece of the path is a line along its thread's row; where the path goes over to another thread, a line joins
 * both rows: a message from its sending to its receiving, or straight down.
 */
const paths = (() => {
    const { make, table } = elements;
    const ROWS = 12; /* of the table */

    /* The answer that is meant among those of all limits; null: there is none, and *why says so. */
    function choose(answer, limit) {
        const found = limit ? answer?.answers.find(a => a.limit === limit) : answer?.answers[0];
        const refused = limit && answer?.unanswered.find(u => u.limit === limit);
        const why = !answer ? "`bezel why` gave no answer: the program says more" : refused ? `No path answers it: ${refused.why}` : "Nothing that it is about ended in this time";
        return found?.slowest ? { found, why: "" } : { found: null, why };
    }

    /* The process and the stream of a piece's thread, or of the thread that sent its message; undefined: there is none. */
    function placeOf(catalogue, node, process, pid, thread) {
        for (const p of catalogue.processes.values())
            if (p.node.name === node && p.name === process && (pid === null || p.pid === pid)) {
                const t = p.threads.find(x => x.thread === thread);
                if (t)
                    return { process: p, stream: t.stream };
            }
        return undefined;
    }

    const pieceAt = (catalogue, piece) => placeOf(catalogue, piece.node, piece.process, piece.pid, piece.thread);

    /* What must be open for the path to be seen. */
    function rowsOf(catalogue, pieces) {
        const places = pieces.map(p => pieceAt(catalogue, p)).filter(p => p);
        return new Set(places.flatMap(p => [`n${p.process.node.row}`, `p${p.process.row}`]));
    }

    /* The lines of the path: {from, to: streams, begin, end: times, piece}, in the order of time; `step`: from thread to thread. */
    function linesOf(catalogue, pieces) {
        const lines = [];
        let before;
        for (const piece of pieces) {
            const place = pieceAt(catalogue, piece)?.stream, message = piece.class === "message";
            if (before !== undefined && place !== undefined && before !== place)
                lines.push({ step: true, from: before, to: place, begin: piece.from_ns, end: message ? piece.until_ns : piece.from_ns, piece });
            if (place !== undefined && !(message && before !== place))
                lines.push({ step: false, from: place, to: place, begin: piece.from_ns, end: piece.until_ns, piece });
            before = place;
        }
        return lines;
    }

    const WAITING = ["message", "lock", "io", "sleep", "stopped", "unknown"];
    const classOf = line => `path ${line.step ? "step" : "piece"} ${line.piece.class} ${WAITING.includes(line.piece.class) ? "waiting" : ""}`;
    const titleOf = ({ piece }) => `${piece.what}, ${piece.where}: ${plots.duration(piece.until_ns - piece.from_ns)}`;

    /* The panel: how long it took, what it spent that on, and what is not known. */
    function panel(title, { found, why }, close) {
        const head = (...words) => make("h3", {}, ...words, " ", make("button", { type: "button", onclick: close }, "close path"));
        if (!found)
            return [head(title), make("p", {}, `${why}.`)];
        const { slowest, terms } = found, took = plots.duration(slowest.until_ns - slowest.from_ns), usual = found.usual > 0;
        const many = found.slow > 1 ? `${plots.count(found.slow)} of ${plots.count(found.instances)}, ${plots.duration(found.slow_ns)} on average${usual ? `, usual ones ${plots.duration(found.usual_ns)}` : ""}; the slowest, which is drawn, took ${took}` : took;
        return [
            head(`${title}: ${many}`, found.verdict === "unknown" ? "; more than half of it is unknown" : ""),
            table(terms.slice(0, ROWS), [
                ...(usual ? [["more", t => plots.duration(t.more_ns), "number"]] : []), [found.slow > 1 ? "slow" : "for", t => plots.duration(t.slow_ns), "number"],
                ["what", t => t.what, "text"], ["where", t => t.where],
            ], "path"),
            make("p", { class: "dim" }, [terms.length > ROWS ? `${plots.count(terms.length - ROWS)} more: bezel why.` : "", slowest.left_out ? `${plots.count(slowest.left_out)} pieces of the path are not drawn.` : "", ...found.remarks].filter(t => t).join(" ")),
        ];
    }

    return { choose, rowsOf, linesOf, classOf, titleOf, panel };
})();
