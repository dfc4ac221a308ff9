// Scales trees to the available width, and in wide windows to the height, as long as they stay readable.
(() => {
  const least = 0.7;
  const wide = matchMedia("(min-width: 1100px)");
  function fit(article) {
    for (const tree of article.querySelectorAll(".tree")) {
      tree.style.zoom = 1;
      const width = tree.parentElement.clientWidth - 4;
      const top = tree.getBoundingClientRect().top + scrollY;
      const height = wide.matches && top < innerHeight ? innerHeight - top - 8 : Infinity;
      tree.style.zoom = Math.max(least, Math.min(1, width / tree.offsetWidth, height / tree.offsetHeight));
    }
  }
  document.addEventListener("report:open", (event) => fit(event.target));
  window.addEventListener("resize", () => { if (report.open) fit(report.open); });
})();
