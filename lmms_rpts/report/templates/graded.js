"use strict";
// Sorting, filtering and opening the instances of graded benchmarks.
(() => {
  const root = document.documentElement;
  const sections = Array.from(document.querySelectorAll(".graded-section"));
  if (!sections.length) return;
  const title = document.title;
  const rowOf = new Map();

  // --- one section: its table and its filters
  function prepare(section) {
    const table = section.querySelector("table.graded");
    const form = section.querySelector(".graded-controls");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    for (const row of rows) rowOf.set(row.dataset.entry, row);

    const valueOf = (row, column) => {
      const cell = row.cells[column];
      return "sort" in cell.dataset ? cell.dataset.sort : cell.textContent.trim().toLowerCase();
    };
    function sortBy(header) {
      const down = header.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
      header.setAttribute("aria-sort", down ? "descending" : "ascending");
      const keyed = rows.map((row, at) => ({ row, at, key: valueOf(row, header.cellIndex) }));
      const numbers = keyed.every((each) => each.key === "" || !Number.isNaN(Number(each.key)));
      const order = new Intl.Collator("en", { numeric: true }).compare;
      const compare = (a, b) => (numbers ? a - b : order(a, b));
      // Rows without a value come last in both directions.
      keyed.sort((a, b) => (a.key === "") - (b.key === "") || (down ? compare(b.key, a.key) : compare(a.key, b.key)) || a.at - b.at);
      body.append(...keyed.map((each) => each.row));
    }
    for (const header of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = header.textContent;
      button.addEventListener("click", () => sortBy(header));
      header.replaceChildren(button);
      header.setAttribute("aria-sort", "none");
    }

    const texts = new Map();
    const textOf = (row) => {
      if (!texts.has(row)) {
        const article = document.getElementById(row.dataset.entry);
        texts.set(row, (row.textContent + " " + (article ? article.textContent : "")).toLowerCase());
      }
      return texts.get(row);
    };
    const chosen = (name) => (form.elements[name] ? form.elements[name].value : "");
    // Both are looked for in the same run, where one is chosen.
    function has(row, name, wanted, run) {
      if (!wanted) return true;
      const values = row.dataset[name].split(" ").map((each) => each.split("+"));
      return run === "" ? values.some((each) => each.includes(wanted)) : values[Number(run)].includes(wanted);
    }
    function isOf(row, select) {
      if (!select.value) return true;
      return (JSON.parse(row.dataset.by)[select.dataset.by] || []).includes(select.value.slice(1));
    }
    function choose() {
      const words = chosen("search").toLowerCase().split(/\s+/).filter(Boolean);
      const selects = Array.from(form.querySelectorAll("select[data-by]"));
      let count = 0;
      for (const row of rows) {
        const fits = ["outcomes", "flags"].every((name) => has(row, name, chosen(name), chosen("run"))) &&
          selects.every((each) => isOf(row, each)) && words.every((word) => textOf(row).includes(word));
        row.hidden = !fits;
        count += fits;
      }
      section.querySelector(".shown").textContent = `${count} of ${rows.length} shown`;
      section.querySelector(".nothing").hidden = count > 0;
    }
    let waiting = 0;
    form.hidden = false;
    form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(choose, 80); });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(choose));
    section.querySelector(".clear").addEventListener("click", () => form.reset());
    choose();
    window.addEventListener("pageshow", () => setTimeout(choose));
  }
  sections.forEach(prepare);

  // --- opening: report.js opens all articles where the page has its table
  const alone = !document.getElementById("table");
  let open = null;
  function neighbours(article) {
    const rows = Array.from(rowOf.get(article.id).parentElement.rows).filter((row) => !row.hidden);
    const order = rows.map((row) => row.dataset.entry);
    const at = order.indexOf(article.id);
    const go = (selector, id) => {
      const link = article.querySelector(selector);
      link.hidden = !id;
      if (id) link.href = "#" + id;
    };
    go(".previous", at > 0 ? order[at - 1] : at < 0 ? order[0] : "");
    go(".next", at >= 0 ? order[at + 1] : "");
  }
  function follow() {
    let id = "";
    try { id = decodeURIComponent(location.hash.slice(1)); } catch { /* no place of this page */ }
    const target = id && document.getElementById(id);
    if (open && target && target.id === "main") return;
    const article = target && target.closest("article.instance");
    const graded = article && rowOf.has(article.id) ? article : null;
    const before = open;
    if (alone) {
      if (before && before !== graded) before.classList.remove("open");
      root.classList.toggle("one", Boolean(graded));
    }
    open = graded;
    if (graded) {
      neighbours(graded);
      if (!alone) return;
      graded.classList.add("open");
      const heading = graded.querySelector("h1");
      document.title = `${heading.textContent} · ${title}`;
      if (target !== graded) target.scrollIntoView();
      else if (before !== graded) { window.scrollTo(0, 0); heading.focus({ preventScroll: true }); }
      return;
    }
    if (alone) {
      document.title = title;
      if (target) target.scrollIntoView();
    }
    const row = before && !article && rowOf.get(before.id);
    const link = row && !row.hidden && row.querySelector("a");
    if (link) { link.focus({ preventScroll: true }); link.scrollIntoView({ block: "center" }); }
  }
  if (!document.querySelector("article.instance")) return;
  window.addEventListener("hashchange", follow);
  follow();
  // --- printing: report.js knows only of what it opened itself
  let opened = [];
  window.addEventListener("beforeprint", () => {
    if (!open || opened.length) return;
    opened = Array.from(open.querySelectorAll("details:not([open])"));
    for (const each of opened) each.open = true;
  });
  window.addEventListener("afterprint", () => { for (const each of opened) each.open = false; opened = []; });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !open) return;
    event.stopImmediatePropagation();
    location.hash = rowOf.get(open.id).closest(".graded-section").id + "-instances";
  }, true);
})();
