// Shows the texts of an open instance as they were written, or their formulas and other markup.
(() => {
  const button = report.element("button", { type: "button", id: "written", textContent: "As written", hidden: true });
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", () => button.setAttribute("aria-pressed", report.root.classList.toggle("written")));
  document.getElementById("theme").before(button);
  document.addEventListener("report:open", ({ target }) => { button.hidden = !target.querySelector(".md"); });
})();
