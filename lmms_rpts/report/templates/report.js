"use strict";
// Sorting, choosing and opening instances. Without this script all of them stand one below another.
(() => {
  const root = document.documentElement;
  const table = document.getElementById("table");
  const body = table && table.tBodies[0];
  const rows = body ? Array.from(body.rows) : [];
  const form = document.querySelector(".controls");
  const articles = new Map(Array.from(document.querySelectorAll("article.instance"), (each) => [each.id, each]));
  const title = document.title;

  // --- theme
  const theme = document.getElementById("theme");
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const named = () => { theme.textContent = isDark() ? "Light" : "Dark"; theme.setAttribute("aria-label", theme.textContent + " colours"); };
  theme.hidden = false;
  // Kept from page to page, where the browser lets files keep anything.
  try { root.dataset.theme = localStorage.getItem("lmms-rpts-theme") || ""; } catch { /* it doesn't */ }
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("lmms-rpts-theme", root.dataset.theme); } catch { /* for this page */ }
    named();
  });
  named();

  // --- sorting
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return "sort" in cell.dataset ? cell.dataset.sort : cell.textContent.trim().toLowerCase();
  };
  function sortBy(header) {
    const column = header.cellIndex;
    const down = header.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const keyed = rows.map((row, at) => ({ row, at, key: valueOf(row, column) }));
    const numbers = keyed.every((each) => each.key === "" || !Number.isNaN(Number(each.key)));
    const compare = (a, b) => (numbers ? a - b : a < b ? -1 : a > b ? 1 : 0);
    // What has no value stands last, whichever way.
    keyed.sort((a, b) => (a.key === "") - (b.key === "") || (down ? compare(b.key, a.key) : compare(a.key, b.key)) || a.at - b.at);
    body.append(...keyed.map((each) => each.row));
  }
  if (table) {
    for (const header of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = header.textContent;
      button.addEventListener("click", () => sortBy(header));
      header.replaceChildren(button);
      header.setAttribute("aria-sort", "none");
    }
  }

  // --- choosing
  const texts = new Map();
  const textOf = (row) => {
    if (!texts.has(row)) {
      const article = articles.get(row.dataset.entry);
      texts.set(row, (row.textContent + " " + (article ? article.textContent : "")).toLowerCase());
    }
    return texts.get(row);
  };
  const chosen = (id) => { const found = document.getElementById(id); return found ? found.value : ""; };
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
    const words = chosen("search").toLowerCase().split(/\s+/).filter(Boolean);
    const run = chosen("by-run"), outcome = chosen("by-outcome"), broken = chosen("by-broken"), apart = chosen("by-apart");
    const dimensions = Array.from(form.querySelectorAll("select[data-dimension]"));
    let count = 0;
    for (const row of rows) {
      const fits = has(row, "outcomes", outcome, run) && has(row, "broken", broken, run) && has(row, "apart", apart, run) &&
        dimensions.every((each) => isOf(row, each)) && words.every((word) => textOf(row).includes(word));
      row.hidden = !fits;
      count += fits;
    }
    document.getElementById("shown").textContent = `${count} of ${rows.length} instances`;
    document.getElementById("nothing").hidden = count > 0;
  }
  if (form) {
    form.hidden = false;
    let waiting = 0;
    form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(choose, 80); });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(choose));
    document.getElementById("clear").addEventListener("click", () => form.reset());
    choose();
    // Back from another page: the browser fills the form in again, and says nothing.
    window.addEventListener("pageshow", () => setTimeout(choose));
  }

  // --- trees as wide as there is room, as long as they can be read
  const least = 0.7;
  function fit(article) {
    for (const tree of article.querySelectorAll(".tree")) {
      tree.style.zoom = 1;
      const room = tree.parentElement.clientWidth - 4;
      tree.style.zoom = Math.max(least, Math.min(1, room / tree.offsetWidth));
    }
  }

  // --- opening
  function neighbours(article) {
    const order = Array.from(body.rows).filter((row) => !row.hidden).map((row) => row.dataset.entry);
    const at = order.indexOf(article.id);
    const go = (selector, id) => {
      const link = article.querySelector(selector);
      link.hidden = !id;
      if (id) link.href = "#" + id;
    };
    go(".previous", at > 0 ? order[at - 1] : at < 0 ? order[0] : "");
    go(".next", at >= 0 ? order[at + 1] : "");
  }
  let open = null;
  function follow() {
    let id = "";
    try { id = decodeURIComponent(location.hash.slice(1)); } catch { /* no place of ours */ }
    const target = id && document.getElementById(id);
    if (open && target && target.id === "main") { open.querySelector("h1").focus(); return; }
    const article = target && target.closest("article.instance");
    if (open && open !== article) open.classList.remove("open");
    root.classList.toggle("one", Boolean(article));
    const before = open;
    open = article || null;
    if (!article) {
      document.title = title;
      if (target) target.scrollIntoView();
      else if (before) window.scrollTo(0, 0);
      if (before) {
        const row = rows.find((each) => each.dataset.entry === before.id);
        const link = row && !row.hidden && row.querySelector("a");
        if (link) { link.focus({ preventScroll: true }); link.scrollIntoView({ block: "center" }); }
      }
      return;
    }
    article.classList.add("open");
    fit(article);
    const heading = article.querySelector("h1");
    document.title = `${heading.textContent} · ${title}`;
    neighbours(article);
    if (target !== article) target.scrollIntoView();
    else if (before !== article) { window.scrollTo(0, 0); heading.focus({ preventScroll: true }); }
  }
  window.addEventListener("resize", () => { if (open) fit(open); });
  if (articles.size && !body) {
    open = articles.values().next().value;
    root.classList.add("one");
    fit(open);
  } else if (articles.size) {
    window.addEventListener("hashchange", follow);
    follow();
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && open) location.hash = "instances";
    });
  }

  // --- printing
  let opened = [];
  window.addEventListener("beforeprint", () => {
    if (opened.length) return;
    opened = Array.from((open || document).querySelectorAll("details:not([open])"));
    if (open || !articles.size) for (const each of opened) each.open = true;
  });
  window.addEventListener("afterprint", () => { for (const each of opened) each.open = false; opened = []; });
})();
