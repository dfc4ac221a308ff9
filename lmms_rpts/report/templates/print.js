// Prints an open instance with all its details, except the raw records.
(() => {
  let opened = [];
  window.addEventListener("beforeprint", () => {
    if (opened.length) return;
    // Of a report, only an open instance; other pages have no instances.
    if (!report.open && report.tables.length) return;
    opened = Array.from((report.open || document).querySelectorAll("details:not([open]):not(.record)"));
    for (const each of opened) each.open = true;
  });
  window.addEventListener("afterprint", () => { for (const each of opened) each.open = false; opened = []; });
})();
