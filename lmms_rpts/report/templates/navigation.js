// Opens instances, and goes from one to the next.
(() => {
  const { root } = report;
  let marked = null;

  function neighbours(article) {
    const own = report.rowOf(article.id);
    const order = report.chosen(own && own.closest("table")).map((row) => row.dataset.entry);
    const at = order.indexOf(article.id);
    const lead = (selector, id) => {
      const link = article.querySelector(selector);
      link.hidden = !id;
      if (id) link.href = `#${id}`;
    };
    lead(".previous", at > 0 ? order[at - 1] : at < 0 ? order[0] : "");
    lead(".next", at >= 0 ? order[at + 1] : "");
    article.querySelector(".place").textContent = at >= 0 ? `${at + 1} of ${order.length}` : "";
  }
  // Works as :target, which fails if the fragment also contains filters.
  function mark(target) {
    if (marked) marked.classList.remove("target");
    marked = target;
    if (marked) marked.classList.add("target");
  }
  function close(target, before) {
    document.title = report.title;
    if (target) target.scrollIntoView();
    else if (before) window.scrollTo(0, 0);
    const row = before && report.rowOf(before.id);
    if (row && !row.hidden && (!target || target.contains(row))) {
      row.querySelector("a").focus({ preventScroll: true });
      row.scrollIntoView({ block: "center" });
    }
  }
  function show(article, target, before) {
    article.classList.add("open");
    neighbours(article);
    article.dispatchEvent(new CustomEvent("report:open", { bubbles: true, detail: target }));
    const heading = article.querySelector("h1");
    document.title = `${heading.textContent} · ${report.title}`;
    if (target !== article) { target.scrollIntoView(); mark(target); }
    else if (before !== article) { window.scrollTo(0, 0); heading.focus({ preventScroll: true }); }
  }
  // Show the place with this id: in an instance, or the overview.
  report.go = (id) => {
    const target = report.find(id);
    mark(null);
    if (report.open && target && target.id === "main") { report.open.querySelector("h1").focus(); return; }
    const article = (target && target.closest("article.instance")) || null;
    const before = report.open;
    if (before && before !== article) before.classList.remove("open");
    root.classList.toggle("one", Boolean(article));
    report.open = article;
    if (article) show(article, target, before);
    else close(target, before);
  };
})();
