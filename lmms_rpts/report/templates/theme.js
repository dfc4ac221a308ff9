// Light and dark colours, remembered from page to page.
(() => {
  const { root } = report;
  const button = document.getElementById("theme");
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (prefersDark.matches ? "dark" : "light")) === "dark";
  function name() {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `${button.textContent} colours`);
  }
  // Some browsers do not let local files store anything.
  try { root.dataset.theme = localStorage.getItem("lmms-rpts-theme") || ""; } catch { /* the setting of the system */ }
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("lmms-rpts-theme", root.dataset.theme); } catch { /* for this page only */ }
    name();
  });
  prefersDark.addEventListener("change", name);
  name();
})();
