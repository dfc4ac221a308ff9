// Indents raw records when they are opened, and adds a button that copies them.
(() => {
  const { element } = report;
  // Works on the text itself: numbers stay as they were written.
  function indented(json) {
    let depth = 0;
    const line = () => "\n" + "  ".repeat(depth);
    return json.replace(/("[^"\\]*(?:\\.[^"\\]*)*")|([[{])\s*([\]}])|([[{])|([\]}])|,\s*|:\s*/gs, (found, text, empty, end, open, close) => {
      if (text) return text;
      if (empty) return empty + end;
      if (open) { depth += 1; return open + line(); }
      if (close) { depth = Math.max(0, depth - 1); return line() + close; }
      return found[0] === "," ? "," + line() : ": ";
    });
  }
  async function copy(pre) {
    try { await navigator.clipboard.writeText(pre.textContent); return true; } catch { /* not allowed: by selection */ }
    const range = document.createRange(), selected = getSelection();
    range.selectNodeContents(pre);
    selected.removeAllRanges();
    selected.addRange(range);
    const done = document.execCommand("copy");
    selected.removeAllRanges();
    return done;
  }
  // The event does not bubble, so it is caught in the capture phase.
  document.addEventListener("toggle", (event) => {
    const details = event.target;
    if (!details.matches || !details.matches(".record")) return;
    const pre = details.open && details.querySelector("pre.raw");
    if (!pre || details.querySelector("button")) return;
    pre.textContent = indented(pre.textContent);
    const said = element("span", { className: "faint" });
    said.setAttribute("role", "status");
    const button = element("button", { type: "button", textContent: "Copy" });
    button.addEventListener("click", async () => { said.textContent = (await copy(pre)) ? "Copied" : "Copying is not allowed here"; });
    pre.before(element("p", { className: "record-tools" }, button, " ", said));
  }, true);
})();
