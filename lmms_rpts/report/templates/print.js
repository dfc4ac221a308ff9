// Prints an open instance with all its details, except raw records and prompts.
(() => {
  let opened = [];
  window.addEventListener("beforeprint", () => {
    if (opened.length) return;
    // Of a report, only an open instance; other pages have no instances.
    if (!report.open && report.tables.length) return;
    opened = Array.from((report.open || document).querySelectorAll("details:not([open], .record, .prompt-of)"));
    for (const each of opened) each.open = true;
  });
  window.addEventListener("afterprint", () => { for (const each of opened) each.open = false; opened = []; });
})();
