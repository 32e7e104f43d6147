// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
"use strict";

/*
 * The connection of a page to `bezel view`. Requests are texts (views/page/page_request.h); answers are JSON, and pictures
 * are frames of a header and of arrays of float64 (views/page/run_view.h). It connects again when it was cut.
 */
class Live {
    constructor(handlers) {
        Object.assign(this, { handlers, sequence: 0, wanted: 0, socket: null, wait: 250 });
        document.addEventListener("visibilitychange", () => this.send(`hidden ${document.hidden ? 1 : 0}`));
        this.connect();
    }

    connect() {
        const socket = new WebSocket(`ws://${location.host}/live`, "bezel-view");
        socket.binaryType = "arraybuffer";
        socket.onopen = () => {
            Object.assign(this, { socket, wait: 250 });
            this.handlers.open();
        };
        socket.onmessage = e => typeof e.data === "string" ? this.takeText(e.data) : this.takePicture(e.data);
        socket.onclose = e => {
            this.socket = null;
            this.handlers.closed(e.reason || "the connection to bezel view is cut: is it still running?");
            setTimeout(() => this.connect(), this.wait = Math.min(2 * this.wait, 8000));
        };
    }

    send(text) {
        if (this.socket && this.socket.readyState === WebSocket.OPEN)
            this.socket.send(text);
    }

    /* Asks for the picture of a window from now on. Rows: {process, stream, aspect, field, key, records}. */
    want(from, to, pixels, follow, rows) {
        this.wanted = ++this.sequence;
        this.send(`want ${this.sequence} ${Math.round(from)} ${Math.round(Math.max(to, from + 1))} ${Math.max(1, Math.round(pixels))} ${follow ? 1 : 0} ${rows.map(Live.row).join(" ")}`);
    }

    /* Asks for the records of a row, around the middle, or around the field's `most` or `least` value. */
    records(from, to, row, around) {
        this.send(`records ${++this.sequence} ${Math.floor(from)} ${Math.ceil(Math.max(to, from + 1))} ${Live.row(row)}${around ? ` ${around}` : ""}`);
        return this.sequence;
    }

    /* Asks why what ended in that time took long: records of a row's aspect, or without a row what broke limits. */
    why(from, until, row) {
        this.send(`why ${++this.sequence} ${Math.floor(from)} ${Math.ceil(Math.max(until, from + 1))}${row ? ` ${Live.row(row)}` : ""}`);
        return this.sequence;
    }

    static row(r) {
        return `${r.process}/${r.stream}/${r.aspect}/${r.field}/${r.key}/${r.records}`;
    }

    takeText(text) {
        if (!text.startsWith("{")) {
            const [word, ...rest] = text.split(" ");
            this.handlers.word(word, rest.join(" "));
            return;
        }
        const message = JSON.parse(text);
        this.handlers[message.is]?.(message);
    }

    takePicture(buffer) {
        const bytes = new DataView(buffer).getUint32(0, true);
        const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, bytes)));
        let offset = Math.ceil((4 + bytes) / 8) * 8;
        const array = n => {
            const values = new Float64Array(buffer, offset, n);
            offset += 8 * n;
            return values;
        };
        for (const row of header.rows) {
            const n = row.columns || 0;
            Object.assign(row, { at: array(n), count: array(n), lost: array(n) });
            if (row.values)
                Object.assign(row, { min: array(n), max: array(n), last: array(n) });
        }
        this.handlers.picture(header);
        this.send(`ack ${header.sequence}`);
    }
}
