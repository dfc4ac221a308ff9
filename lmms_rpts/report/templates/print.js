// Prints an open instance with all its details, except the raw records.
(() => {
  let opened = [];
  window.addEventListener("beforeprint", () => {
    if (opened.length) return;
    const wanted = Array.from((report.open || document).querySelectorAll("details:not([open]):not(.record)"));
    if (!report.open && report.ids().size) return;
    opened = wanted;
    for (const each of opened) each.open = true;
  });
  window.addEventListener("afterprint", () => { for (const each of opened) each.open = false; opened = []; });
})();
