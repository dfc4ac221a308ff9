// Saves a tree as an SVG file that needs neither this page nor its style.
(() => {
  const SVG = "http://www.w3.org/2000/svg";

  // The style of the trees with the light colours instead of variables, also on a dark page.
  function style() {
    const rules = Array.from(document.styleSheets).flatMap((sheet) => Array.from(sheet.cssRules));
    const root = rules.find((rule) => rule.selectorText === ":root");
    const light = (found, name) => root.style.getPropertyValue(name).trim() || found;
    return rules.filter((rule) => (rule.selectorText || "").startsWith(".tree-svg"))
      .map((rule) => rule.cssText.replace(/var\((--[\w-]+)\)/g, light)).join("\n");
  }

  function element(name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    return made;
  }

  // A step links to a place in this page, which a separate file does not have.
  function unlinked(link) {
    const group = element("g", { class: link.getAttribute("class") });
    group.append(...link.childNodes);
    return group;
  }

  function standalone(drawn, name, summary) {
    const svg = drawn.cloneNode(true);
    for (const link of svg.querySelectorAll("a")) link.replaceWith(unlinked(link));
    for (const leaf of svg.querySelectorAll("[tabindex]")) {
      for (const key of ["tabindex", "role", "aria-label", "data-leaf"]) leaf.removeAttribute(key);
    }
    svg.setAttribute("role", "img");
    svg.prepend(
      element("title", {}, name), element("desc", {}, summary), element("style", {}, style()),
      element("rect", { class: "bg", width: "100%", height: "100%" }),
    );
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + new XMLSerializer().serializeToString(svg) + "\n";
  }

  // Links of steps lead to ANCHOR-s0, ANCHOR-s1 and so on.
  const nameOf = (place) => place.querySelector("svg a").getAttribute("href").slice(1).replace(/-s\d+$/, "");

  function save(button) {
    const place = button.closest(".tree-save").previousElementSibling;
    const text = standalone(place.querySelector("svg"), place.getAttribute("aria-label"), place.querySelector("p").textContent);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    link.download = nameOf(place) + ".svg";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  document.addEventListener("report:made", (event) => {
    for (const each of event.target.querySelectorAll(".tree-save")) each.hidden = false;
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest(".tree-save button");
    if (button) save(button);
  });
})();
