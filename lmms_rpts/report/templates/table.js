// Tables of instances: sorting and filters. Their state is read and set by address.js.
(() => {
  const changed = (list, push) => { if (report.changed) report.changed(list, push); };
  const collator = new Intl.Collator("en", { numeric: true });
  const textIn = (cell) => cell.textContent.trim().toLowerCase();

  // --- sorting
  function sorter(table, rowsOf) {
    const headers = Array.from(table.tHead.rows[0].cells);
    const valueOf = (row, column) => (row.cells[column].dataset.sort ?? textIn(row.cells[column]));
    const sorted = { header: null, down: false };
    function sortBy(header, down) {
      for (const other of headers) other.setAttribute("aria-sort", "none");
      const before = sorted.header;
      const body = table.tBodies[0], rows = rowsOf();
      Object.assign(sorted, { header, down });
      if (!header) { if (before) body.append(...rows); return; }
      header.setAttribute("aria-sort", down ? "descending" : "ascending");
      const keyed = rows.map((row, at) => ({ row, at, key: valueOf(row, header.cellIndex) }));
      const numbers = keyed.every((each) => each.key === "" || !Number.isNaN(Number(each.key)));
      const compare = (a, b) => (numbers ? a - b : collator.compare(a, b));
      // Rows without a value are last in both directions.
      keyed.sort((a, b) => (a.key === "") - (b.key === "") || (down ? compare(b.key, a.key) : compare(a.key, b.key)) || a.at - b.at);
      body.append(...keyed.map((each) => each.row));
    }
    return { headers, sorted, sortBy };
  }

  // --- filters; the data attributes of each select define what it compares
  // All filters by run look at the same one: "runs" has an object with lists of values for each.
  function hasInRun(row, select, run) {
    const runs = JSON.parse(row.dataset.runs), has = (each) => (each[select.name] || []).includes(select.value);
    return run === "" ? runs.some(has) : has(runs[Number(run)]);
  }
  function fitsSelect(row, select, run) {
    if (!select.value || select.name === "model") return true;
    if ("perRun" in select.dataset) return hasInRun(row, select, run);
    if ("any" in select.dataset) return row.dataset[select.name].split(" ").includes(select.value);
    return (JSON.parse(row.dataset.by)[select.dataset.by] || []).includes(select.value.slice(1));
  }

  function prepare(table) {
    const list = { place: table.closest(".list") };
    const form = list.place.querySelector("form.controls");
    let rows = Array.from(table.tBodies[0].rows);
    const fields = Array.from(form.elements).filter((each) => each.name);
    const { headers, sorted, sortBy } = sorter(table, () => rows);
    const step = 500;
    let most = step;
    for (const header of headers) {
      const button = report.element("button", { type: "button", textContent: header.textContent });
      button.addEventListener("click", () => {
        sortBy(header, header.getAttribute("aria-sort") === "ascending");
        show();
        changed(list, true);
      });
      header.replaceChildren(button);
      header.setAttribute("aria-sort", "none");
    }

    const valueIn = (name) => { const field = form.elements.namedItem(name); return field ? field.value : ""; };
    const hasWords = (row, words) => words.every((word) => textIn(row).includes(word) || report.textOf(row.dataset.entry).includes(word));
    function choose() {
      const words = valueIn("q").toLowerCase().split(/\s+/).filter(Boolean), run = valueIn("model");
      const selects = fields.filter((each) => each.tagName === "SELECT");
      for (const row of rows) {
        const fits = selects.every((each) => fitsSelect(row, each, run)) && hasWords(row, words);
        if (fits) delete row.dataset.out; else row.dataset.out = "true";
      }
      most = step;
      show();
    }
    // A table of thousands of rows takes seconds to lay out: only the first are shown.
    function show() {
      const fitting = report.chosen(table), count = Math.min(most, fitting.length);
      for (const row of rows) if (row.dataset.out) row.hidden = true;
      fitting.forEach((row, at) => { row.hidden = at >= count; });
      const of = `${fitting.length} of ${rows.length}`;
      list.place.querySelector(".shown").textContent = count < fitting.length ? `${of} chosen, the first ${count} shown` : `${of} shown`;
      list.place.querySelector(".nothing").hidden = count > 0;
      list.place.querySelector(".more").hidden = count === fitting.length;
    }
    list.more = () => { most += step; show(); };
    list.place.querySelector(".more button").addEventListener("click", list.more);
    // Changes of the form are delayed: a word is typed letter by letter.
    let waiting = null;
    list.settle = () => {
      if (!waiting) return;
      const { timer, push } = waiting;
      clearTimeout(timer);
      waiting = null;
      choose();
      changed(list, push);
    };
    function soon(push, milliseconds) {
      if (waiting) clearTimeout(waiting.timer);
      waiting = { timer: setTimeout(list.settle, milliseconds), push: push || Boolean(waiting && waiting.push) };
    }
    form.addEventListener("input", (event) => { if (event.target.type === "search") soon(false, 80); else soon(true, 0); });
    // Enter in the search goes to the first visible row.
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      list.settle();
      const row = report.chosen(table)[0];
      if (row) row.querySelector("a").focus();
    });
    form.addEventListener("reset", () => soon(true, 0));
    list.place.querySelector(".clear").addEventListener("click", () => form.reset());
    form.hidden = false;
    // It was hidden until now, so that it was not laid out for every row that arrived.
    table.parentElement.classList.add("ready");

    // A click anywhere in a row opens it, unless text is being selected.
    table.addEventListener("click", (event) => {
      const row = event.target.closest("tbody tr");
      if (event.target.closest("a, button, label") || !row || String(getSelection())) return;
      row.querySelector("a").click();
    });

    // --- state: only differences from the initial state
    list.read = () => {
      const found = new URLSearchParams();
      for (const each of fields) if (each.value) found.set(each.name, each.value.replace(/^=/, ""));
      if (sorted.header) {
        found.set("sort", sorted.header.dataset.column);
        if (sorted.down) found.set("dir", "desc");
      }
      return found;
    };
    list.apply = (wanted) => {
      for (const each of fields) {
        const value = wanted.get(each.name) || "";
        if (each.tagName !== "SELECT") { each.value = value.slice(0, each.maxLength); continue; }
        const known = Array.from(each.options).findIndex((one) => one.value === value || one.value === `=${value}`);
        each.selectedIndex = Math.max(0, known);
      }
      const header = headers.find((each) => each.dataset.column === wanted.get("sort"));
      sortBy(header || null, wanted.get("dir") === "desc");
      choose();
    };
    return list;
  }
  report.lists = report.tables.map(prepare);
})();
