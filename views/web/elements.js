// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
"use strict";

/* Elements and tables of all pages. Texts of a run become text nodes, never markup. */
const elements = (() => {
    function make(name, attributes, ...children) {
        const element = document.createElement(name);
        for (const [key, value] of Object.entries(attributes || {}))
            if (key.startsWith("on"))
                element.addEventListener(key.slice(2), value);
            else if (value !== null)
                element.setAttribute(key, value);
        element.append(...children.filter(c => c !== null && c !== undefined).map(c => c instanceof Node ? c : String(c)));
        return element;
    }

    /* Columns: [title, row => text or element, class]. A long table scrolls in a box of its own. `classOf` gives rows a class. */
    function table(rows, columns, caption, classOf) {
        const cell = (tag, c, content) => make(tag, { class: c[2] || null, scope: tag === "th" ? "col" : null }, content);
        return make("div", { class: rows.length > 40 ? "scroll long" : "scroll", tabindex: 0, role: "region", "aria-label": caption },
            make("table", {},
                make("thead", {}, make("tr", {}, ...columns.map(c => cell("th", c, c[0])))),
                make("tbody", {}, ...rows.map(r => make("tr", { class: classOf ? classOf(r) : null }, ...columns.map(c => cell("td", c, c[1](r))))))));
    }

    /* A dialog with the keys of a page: [keys, what they do]. */
    function help(keys) {
        return make("dialog", {}, make("h3", {}, "Keys"), table(keys, [["key", r => make("kbd", {}, r[0])], ["does", r => r[1]]], "keys"),
            make("form", { method: "dialog" }, make("button", {}, "close")));
    }

    const verdict = (is, green = true) => make("span", { class: is === "held" && !green ? "unknown" : is.replace(/ .*/, "") }, is);

    return { make, table, help, verdict };
})();
