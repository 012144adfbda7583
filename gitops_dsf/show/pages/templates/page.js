"use strict";
// Search, sorting and the whole heat map. The page is complete without this script, except for the
// rows of a heat map that has more than a page can show. Text is inserted as text, never as HTML.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (name, className = "", text = "") => {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text) element.textContent = text;
    return element;
  };

  // Sorting. Cells sort by data-k where it is given, else by their text; numbers as numbers.
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    return cell ? (cell.dataset.k ?? cell.textContent.trim()) : "";
  };
  const compare = (a, b) => {
    const x = Number.parseFloat(a);
    const y = Number.parseFloat(b);
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
    return a < b ? -1 : Number(a > b);
  };
  const sortBy = (table, head) => {
    const ascending = head.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) {
      if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
    }
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const keyed = [...table.tBodies[0].rows].map((row) => [keyOf(row, head.cellIndex), row]);
    keyed.sort((a, b) => (ascending ? compare(a[0], b[0]) : compare(b[0], a[0])));
    table.tBodies[0].append(...keyed.map((pair) => pair[1]));
  };
  for (const table of all("table[data-sort]")) {
    for (const head of all("thead th", table)) {
      const button = make("button", "", head.textContent);
      button.type = "button";
      button.addEventListener("click", () => sortBy(table, head));
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
    }
  }

  // The heat map. Only the rows in view exist, because a fleet has a hundred thousand cells.
  class HeatMap {
    constructor(table, data) {
      this.table = table;
      this.data = data;
      this.box = table.closest(".tall");
      this.body = table.tBodies[0];
      this.detail = document.getElementById("heat-detail");
      this.count = document.getElementById("heat-count");
      this.states = new Set();
      this.reasons = new Set();
      this.rows = data.order;
      this.columns = data.scorers.map((_, index) => index);
      this.names = data.clusters.map((name) => name.toLowerCase());
      this.scorerNames = data.scorers.map((name) => name.toLowerCase());
      // Positions are kept here: asking the browser for them makes it lay out the page first.
      this.rowHeight = 26;
      this.top = 0;
      this.height = window.innerHeight * 0.7;
      this.box.addEventListener(
        "scroll",
        () => {
          this.top = this.box.scrollTop;
          this.draw();
        },
        { passive: true },
      );
      window.addEventListener("resize", () => {
        this.height = window.innerHeight * 0.7;
        this.draw();
      });
      window.addEventListener("beforeprint", () => this.draw(true));
      window.addEventListener("afterprint", () => this.draw());
      this.body.addEventListener("click", (event) => this.clicked(event));
      table.tHead.addEventListener("click", (event) => {
        const button = event.target.closest("button[data-scorer]");
        if (button) search.set(button.dataset.scorer);
      });
      this.drawHead();
      this.draw();
    }

    filter(words) {
      const { clusters, scorers, columns } = this.data;
      const wantsCluster = [];
      const wantsScorer = [];
      for (const word of words) {
        const isCluster = this.names.some((name) => name.includes(word));
        const isScorer = this.scorerNames.some((name) => name.includes(word));
        (isScorer && !isCluster ? wantsScorer : wantsCluster).push(word);
      }
      this.columns = [...scorers.keys()].filter((index) =>
        wantsScorer.every((word) => this.scorerNames[index].includes(word)),
      );
      this.rows = this.data.order.filter(
        (row) => wantsCluster.every((word) => this.names[row].includes(word)) && this.has(row),
      );
      this.count.textContent = `${this.rows.length} of ${clusters.length} clusters, ` +
        `${this.columns.length} of ${columns.length} scorers`;
      this.drawHead();
      if (this.top) this.box.scrollTop = 0;
      this.top = 0;
      this.draw();
    }

    has(row) {
      if (!this.states.size && !this.reasons.size) return true;
      return this.columns.some((index) => {
        const column = this.data.columns[index];
        const hasState = !this.states.size || this.states.has(column.s[row]);
        return hasState && (!this.reasons.size || this.reasons.has(this.failure(row, index)?.reason));
      });
    }

    failure(row, index) {
      const position = this.data.columns[index].f[row];
      return position === undefined || position === null ? null : this.data.failures[position];
    }

    drawHead() {
      const head = make("tr");
      const corner = make("th", "", "cluster");
      corner.scope = "col";
      head.append(corner);
      for (const index of this.columns) {
        const cell = make("th");
        cell.scope = "col";
        const button = make("button", "turned", this.data.scorers[index]);
        button.type = "button";
        button.title = this.data.scorers[index];
        button.dataset.scorer = this.data.scorers[index];
        cell.append(button);
        head.append(cell);
      }
      this.table.tHead.replaceChildren(head);
    }

    text(row, index) {
      const column = this.data.columns[index];
      const state = this.data.states[column.s[row]];
      if (!state) return "";
      const parts = [];
      if (column.v[row] !== null) parts.push(String(column.v[row]));
      parts.push(state.name);
      if (column.a[row] !== null) parts.push(`${column.a[row]} min old`);
      const failure = this.failure(row, index);
      return parts.join(", ") + (failure ? `: ${failure.reason}: ${failure.message}` : "");
    }

    cell(row, index) {
      const column = this.data.columns[index];
      const state = this.data.states[column.s[row]];
      const cell = make("td", state ? state.name : "");
      if (!state) return cell;
      const value = column.v[row];
      cell.textContent = (value === null ? "" : value) + state.mark;
      const text = this.text(row, index);
      cell.title = text;
      cell.dataset.column = index;
      const fails = this.failure(row, index) !== null;
      if (fails) cell.classList.add("failing");
      if (state.mark || fails) cell.append(make("span", "hidden", ` ${text}`));
      return cell;
    }

    row(row, position) {
      const line = make("tr");
      line.dataset.row = row;
      line.setAttribute("aria-rowindex", String(position + 2));
      const head = make("th");
      head.scope = "row";
      const button = make("button", "", this.data.clusters[row]);
      button.type = "button";
      head.append(button);
      const note = this.data.notes[row];
      if (note) {
        head.append(make("small", "", note));
        head.title = note;
      }
      line.append(head, ...this.columns.map((index) => this.cell(row, index)));
      return line;
    }

    gap(count) {
      const line = make("tr", "gap");
      line.setAttribute("aria-hidden", "true");
      const cell = make("td");
      cell.style.height = `${count * this.rowHeight}px`;
      line.append(cell);
      return line;
    }

    draw(everything = false) {
      const room = Math.ceil(this.height / this.rowHeight);
      let first = Math.max(0, Math.floor(this.top / this.rowHeight) - 4);
      let last = Math.min(this.rows.length, first + room + 8);
      if (everything) {
        first = 0;
        last = this.rows.length;
      }
      const lines = [];
      if (first) lines.push(this.gap(first));
      for (let position = first; position < last; position += 1) {
        lines.push(this.row(this.rows[position], position));
      }
      if (last < this.rows.length) lines.push(this.gap(this.rows.length - last));
      // A row that has the focus keeps it.
      const focused = this.body.contains(document.activeElement)
        ? document.activeElement.closest("tr").dataset.row
        : undefined;
      this.body.replaceChildren(...lines);
      this.table.setAttribute("aria-rowcount", String(this.rows.length + 1));
      if (focused !== undefined) {
        this.body.querySelector(`tr[data-row="${focused}"] button`)?.focus({ preventScroll: true });
      }
    }

    clicked(event) {
      const line = event.target.closest("tr[data-row]");
      if (!line) return;
      const row = Number(line.dataset.row);
      const cell = event.target.closest("td");
      if (cell?.dataset.column !== undefined) {
        const index = Number(cell.dataset.column);
        const { clusters, scorers } = this.data;
        this.detail.textContent = `${scorers[index]} on ${clusters[row]}: ${this.text(row, index)}`;
      }
      search.set(this.data.clusters[row]);
    }
  }

  // Search. Every table with data-filter shows the rows that have all words.
  const search = {
    input: document.getElementById("search"),
    tables: all("table[data-filter]").map((table) => ({
      rows: [...table.tBodies[0].rows].map((row) => ({ row, text: null })),
      count: document.getElementById(table.dataset.filter),
    })),
    heat: null,
    set(text) {
      this.input.value = this.input.value === text ? "" : text;
      this.apply();
    },
    apply() {
      const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const { rows, count } of this.tables) {
        let shown = 0;
        for (const entry of rows) {
          entry.text ??= entry.row.textContent.toLowerCase();
          const fits = words.every((word) => entry.text.includes(word));
          if (entry.row.hidden === fits) entry.row.hidden = !fits;
          shown += Number(fits);
        }
        if (count) count.textContent = words.length ? `${shown} of ${rows.length} shown` : "";
      }
      this.heat?.filter(words);
    },
  };
  const data = document.getElementById("heat-data");
  if (data) {
    search.heat = new HeatMap(document.getElementById("heat"), JSON.parse(data.textContent));
    for (const [kind, chosen] of [["state", search.heat.states], ["reason", search.heat.reasons]]) {
      for (const chip of all(`[data-${kind}]`)) {
        const button = make("button");
        button.type = "button";
        button.dataset[kind] = chip.dataset[kind];
        button.append(...chip.childNodes);
        button.setAttribute("aria-pressed", "false");
        button.addEventListener("click", () => {
          const value = chip.dataset[kind];
          if (!chosen.delete(value)) chosen.add(value);
          button.setAttribute("aria-pressed", String(chosen.has(value)));
          search.apply();
        });
        chip.replaceWith(button);
      }
    }
    for (const element of all("[data-without-script]")) element.hidden = true;
  }
  if (search.input) {
    search.input.closest(".filter").hidden = false;
    search.input.addEventListener("input", () => search.apply());
    document.getElementById("clear").addEventListener("click", () => {
      search.input.value = "";
      for (const chip of all("[aria-pressed=true]")) chip.click();
      search.apply();
      search.input.focus();
    });
  }
})();
