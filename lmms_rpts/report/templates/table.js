// The table of instances: sorting and filters. Their state is read and set by address.js.
(() => {
  const { table, rows, form } = report;
  if (!table || !form) return;
  const body = table.tBodies[0];
  const headers = Array.from(table.tHead.rows[0].cells);
  const changed = (push) => { if (report.changed) report.changed(push); };

  // --- sorting
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return "sort" in cell.dataset ? cell.dataset.sort : cell.textContent.trim().toLowerCase();
  };
  let sorted = { header: null, down: false };
  function sortBy(header, down) {
    for (const other of headers) other.setAttribute("aria-sort", "none");
    sorted = { header, down };
    if (!header) { body.append(...rows); return; }
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const keyed = rows.map((row, at) => ({ row, at, key: valueOf(row, header.cellIndex) }));
    const numbers = keyed.every((each) => each.key === "" || !Number.isNaN(Number(each.key)));
    const compare = (a, b) => (numbers ? a - b : a < b ? -1 : a > b ? 1 : 0);
    // Rows without a value are last in both directions.
    keyed.sort((a, b) => (a.key === "") - (b.key === "") || (down ? compare(b.key, a.key) : compare(a.key, b.key)) || a.at - b.at);
    body.append(...keyed.map((each) => each.row));
  }
  for (const header of headers) {
    const button = report.element("button", { type: "button", textContent: header.textContent });
    button.addEventListener("click", () => { sortBy(header, header.getAttribute("aria-sort") === "ascending"); changed(true); });
    header.replaceChildren(button);
    header.setAttribute("aria-sort", "none");
  }

  // --- filters
  const fits = (row, words) => words.every((word) => row.textContent.toLowerCase().includes(word) || report.textOf(row.dataset.entry).includes(word));
  const valueIn = (name) => { const field = form.elements.namedItem(name); return field ? field.value : ""; };
  function has(row, name, wanted, run) {
    if (!wanted) return true;
    const values = row.dataset[name].split(" ").map((each) => each.split("+"));
    return run === "" ? values.some((each) => each.includes(wanted)) : values[Number(run)].includes(wanted);
  }
  function isOf(row, select) {
    if (!select.value) return true;
    const found = row.dataset[select.dataset.dimension], wanted = select.value.slice(1);
    return select.dataset.dimension === "ability" ? JSON.parse(found).includes(wanted) : found === wanted;
  }
  function choose() {
    const words = valueIn("q").toLowerCase().split(/\s+/).filter(Boolean);
    const run = valueIn("model"), differ = valueIn("differ");
    const dimensions = Array.from(form.querySelectorAll("select[data-dimension]"));
    let count = 0;
    for (const row of rows) {
      const shown = ["outcome", "broken", "apart"].every((name) => has(row, name, valueIn(name), run)) &&
        (!differ || row.dataset.differ.split(" ").includes(differ)) &&
        dimensions.every((each) => isOf(row, each)) && fits(row, words);
      row.hidden = !shown;
      count += shown;
    }
    document.getElementById("shown").textContent = `${count} of ${rows.length} instances`;
    document.getElementById("nothing").hidden = count > 0;
  }
  let waiting = 0;
  form.addEventListener("input", (event) => {
    clearTimeout(waiting);
    const typed = event.target.type === "search";
    waiting = setTimeout(() => { choose(); changed(!typed); }, typed ? 80 : 0);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { choose(); changed(true); }));
  document.getElementById("clear").addEventListener("click", () => form.reset());
  form.hidden = false;
  // Until now it was not laid out, row by row as the page was read.
  table.parentElement.classList.add("ready");

  // A click anywhere in a row opens it, unless text is being selected.
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (event.target.closest("a, button") || !row || String(getSelection())) return;
    row.querySelector("a").click();
  });

  // --- state: only what is not as it was at first
  const fields = Array.from(form.elements).filter((each) => each.name);
  report.state = {
    read() {
      const found = new URLSearchParams();
      for (const each of fields) if (each.value) found.set(each.name, each.value.replace(/^=/, ""));
      if (sorted.header) {
        found.set("sort", sorted.header.dataset.column);
        if (sorted.down) found.set("dir", "desc");
      }
      return found;
    },
    apply(wanted) {
      for (const each of fields) {
        const value = wanted.get(each.name) || "";
        if (each.tagName !== "SELECT") { each.value = value.slice(0, 300); continue; }
        const known = Array.from(each.options).findIndex((one) => one.value === value || one.value === `=${value}`);
        each.selectedIndex = Math.max(0, known);
      }
      const header = headers.find((each) => each.dataset.column === wanted.get("sort"));
      sortBy(header || null, wanted.get("dir") === "desc");
      choose();
    },
  };
})();
