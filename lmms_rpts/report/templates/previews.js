// Previews of the image or text of a leaf ("Image 0", "Text 1", "Context"), in a small box.
(() => {
  const { element } = report;
  const box = element("div", { className: "preview", id: "preview", hidden: true });
  box.setAttribute("role", "tooltip");
  const gap = 6;
  let leaf = null, pictured = null, waiting = 0;

  function content(name, article) {
    const [kind, number] = name.split(":");
    if (kind === "image") {
      const figure = article.querySelector(`.images figure[data-image="${Number(number)}"]`);
      pictured = figure && figure.querySelector("img");
      if (pictured) return element("img", { src: pictured.src, alt: pictured.alt });
      return figure && figure.querySelector(".no-image").textContent;
    }
    const place = kind === "context" ? "context" : `text:${Number(number)}`;
    const found = article.querySelector(`.clues dd[data-clue="${place}"]`);
    const shown = found && found.querySelector(".md");
    return shown ? shown.cloneNode(true) : found && found.textContent;
  }
  function place() {
    const around = leaf.getBoundingClientRect(), own = box.getBoundingClientRect();
    const left = Math.max(gap, Math.min(innerWidth - own.width - gap, around.left + around.width / 2 - own.width / 2));
    const below = around.bottom + gap, above = around.top - own.height - gap;
    const top = below + own.height <= innerHeight || above < 0 ? below : above;
    box.style.left = `${left}px`;
    box.style.top = `${Math.max(gap, Math.min(top, innerHeight - own.height - gap))}px`;
  }
  function hide() {
    clearTimeout(waiting);
    if (leaf) leaf.removeAttribute("aria-describedby");
    leaf = pictured = null;
    box.hidden = true;
  }
  function show(wanted) {
    clearTimeout(waiting);
    if (leaf === wanted) return;
    hide();
    const article = wanted.closest("article.instance");
    const found = article && content(wanted.dataset.leaf, article);
    if (!found) return;
    leaf = wanted;
    leaf.setAttribute("aria-describedby", "preview");
    const text = article.querySelector(".statement p[lang]");
    box.replaceChildren(typeof found === "string" ? element("p", { textContent: found, lang: text ? text.lang : "", dir: "auto" }) : found);
    if (!box.isConnected) document.querySelector("main").append(box);
    box.hidden = false;
    place();
    const image = box.querySelector("img");
    if (image && !image.complete) image.addEventListener("load", () => { if (leaf === wanted) place(); });
  }
  const leafOf = (event) => (event.target.closest ? event.target.closest("[data-leaf]") : null);
  // Leaves time to move from the leaf to the box, which stays while the pointer is in either.
  const later = () => { clearTimeout(waiting); waiting = setTimeout(hide, 200); };
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const found = leafOf(event);
    if (found) show(found);
    else if (leaf && box.contains(event.target)) clearTimeout(waiting);
    else if (leaf && leaf !== document.activeElement) later();
  });
  document.addEventListener("focusin", (event) => { const found = leafOf(event); if (found) show(found); else if (leaf) hide(); });
  document.addEventListener("click", (event) => {
    const found = leafOf(event);
    if (found) show(found);
    else if (leaf && !box.contains(event.target)) hide();
  });
  document.addEventListener("keydown", (event) => {
    const found = leafOf(event);
    if (event.key === "Escape" && leaf) { event.preventDefault(); hide(); return; }
    if (event.key !== "Enter" || !found || event.defaultPrevented) return;
    const image = pictured;
    if (leaf === found && image && report.enlarge) { event.preventDefault(); hide(); report.enlarge(image); }
    else show(found);
  }, true);
  document.addEventListener("report:open", hide);
  window.addEventListener("resize", hide);
  document.addEventListener("scroll", (event) => {
    if (!leaf || event.target === box) return;
    const around = leaf.getBoundingClientRect();
    if (around.bottom < 0 || around.top > innerHeight) hide(); else place();
  }, { capture: true, passive: true });
})();
