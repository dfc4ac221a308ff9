// Scales trees to the available width, as long as they stay readable.
(() => {
  const least = 0.7;
  function fit(article) {
    for (const tree of article.querySelectorAll(".tree")) {
      tree.style.zoom = 1;
      const room = tree.parentElement.clientWidth - 4;
      tree.style.zoom = Math.max(least, Math.min(1, room / tree.offsetWidth));
    }
  }
  document.addEventListener("report:open", (event) => fit(event.target));
  window.addEventListener("resize", () => { if (report.open) fit(report.open); });
})();
