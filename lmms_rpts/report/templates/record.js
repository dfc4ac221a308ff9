// Raw records, and exact prompts and requests: prepared when they are opened, with a button that copies them.
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
  async function copy(text, place) {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* not allowed: by selection */ }
    const range = document.createRange(), selected = getSelection();
    range.selectNodeContents(place);
    selected.removeAllRanges();
    selected.addRange(range);
    const done = document.execCommand("copy");
    selected.removeAllRanges();
    return done;
  }
  function tools(place, text) {
    const said = element("span", { className: "faint" });
    said.setAttribute("role", "status");
    const button = element("button", { type: "button", textContent: "Copy" });
    button.addEventListener("click", async () => { said.textContent = (await copy(text(), place)) ? "Copied" : "Copying is not allowed here"; });
    return element("p", { className: "record-tools" }, button, " ", said);
  }
  // The event does not bubble, so it is caught in the capture phase.
  document.addEventListener("toggle", (event) => {
    const details = event.target;
    if (!details.matches || !details.open) return;
    const raw = details.matches(".record:not(:has(button))") && details.querySelector("pre.raw");
    if (raw) {
      raw.textContent = indented(raw.textContent);
      raw.before(tools(raw, () => raw.textContent));
    }
    for (const place of details.querySelectorAll(":scope .exact")) {
      if (place.closest("details") !== details || place.matches(":has(+ .record-tools)")) continue;
      for (const each of place.querySelectorAll(".once")) each.replaceWith(document.querySelector(each.firstChild.hash).nextElementSibling.cloneNode(true));
      place.after(tools(place, () => Array.from(place.querySelectorAll("pre"), (each) => each.textContent).join("\n\n")));
    }
  }, true);
})();
