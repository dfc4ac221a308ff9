// Keys, and the dialog that lists them.
(() => {
  const { element } = report;
  const listed = [
    ["j", "→", "Next instance; in the table j selects the next row"],
    ["k", "←", "Previous instance; in the table k selects the previous row"],
    ["Enter", "", "Open the selected row, or enlarge the selected image"],
    ["/", "", "Search; Enter goes to the first row, Esc clears the search"],
    ["Esc", "", "Close a dialog or a preview, or go back to all instances"],
    ["?", "", "Show this list"],
    ["+", "−", "In an enlarged image: zoom; 0 fits it to the window"],
  ];
  const stored = "lmms-rpts-keys";
  let active = true;
  try { active = localStorage.getItem(stored) !== "off"; } catch { /* the default */ }

  const kbd = (key) => element("kbd", { textContent: key });
  function help() {
    const rows = listed.map(([key, other, meaning]) => element("tr", {},
      element("th", { scope: "row" }, kbd(key), ...(other ? [" or ", kbd(other)] : [])), element("td", { textContent: meaning })));
    const box = element("input", { type: "checkbox", checked: active });
    box.addEventListener("change", () => {
      active = box.checked;
      try { localStorage.setItem(stored, active ? "on" : "off"); } catch { /* for this page only */ }
    });
    const close = element("button", { type: "button", textContent: "Close" });
    const title = element("h2", { id: "help-title", textContent: "Keyboard shortcuts" });
    const dialog = element("dialog", { className: "help" }, title,
      element("table", {}, element("tbody", {}, ...rows)),
      element("label", { className: "switch" }, box, " Keyboard shortcuts are on (Enter and Esc always work)"), close);
    dialog.setAttribute("aria-labelledby", "help-title");
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    document.body.append(dialog);
    return dialog;
  }
  let dialog = null;
  function showHelp() {
    dialog = dialog || help();
    if (!dialog.open) dialog.showModal();
  }

  function step(selector) {
    const link = report.open && report.open.querySelector(selector);
    if (link && !link.hidden) link.click();
  }
  // The table with the focus, else the first one in the window, else the last one above it.
  function tableInView() {
    const focused = document.activeElement && document.activeElement.closest("table.instances");
    if (focused) return focused;
    const inWindow = (table) => table.getBoundingClientRect().top < innerHeight;
    return report.tables.find((table) => inWindow(table) && table.getBoundingClientRect().bottom > 0) ||
      report.tables.filter(inWindow).pop() || report.tables[0];
  }
  function select(by) {
    const table = tableInView(), rows = report.chosen(table);
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const row = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))];
    if (!row) return;
    if (row.hidden) report.lists.find((each) => each.place.contains(table)).more();
    row.querySelector("a").focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }
  const forward = (by) => (report.open ? step(by > 0 ? ".next" : ".previous") : select(by));
  // Arrows scroll wide elements, and move in a tree.
  const scrolls = (event) => Boolean(event.target.closest && event.target.closest(".tree-scroll, .scroll, pre"));
  const back = () => { if (report.open) report.open.querySelector(".back").click(); };
  function search() {
    const row = report.open && report.rowOf(report.open.id), table = row ? row.closest("table") : tableInView();
    const field = table && table.closest(".list").querySelector("input[type=search]");
    if (report.open) back();
    if (field) { field.focus(); field.select(); }
  }
  const keys = {
    j: () => forward(1),
    k: () => forward(-1),
    ArrowRight: (event) => { if (report.open && !scrolls(event)) step(".next"); },
    ArrowLeft: (event) => { if (report.open && !scrolls(event)) step(".previous"); },
    "/": (event) => { event.preventDefault(); search(); },
    "?": showHelp,
  };
  document.addEventListener("keydown", (event) => {
    if (report.typing(event) || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") { back(); return; }
    if (active && Object.hasOwn(keys, event.key)) keys[event.key](event);
  });
  const button = element("button", { type: "button", id: "help", textContent: "Shortcuts" });
  button.setAttribute("aria-haspopup", "dialog");
  button.addEventListener("click", showHelp);
  document.getElementById("theme").before(button);
})();
