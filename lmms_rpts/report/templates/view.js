// The list of runs: ticked runs, reports that are being made, and changes of the folder.
(() => {
  const side = document.getElementById("side"), table = report.tables[0], list = report.lists[0];
  if (!side) return; // a list without its server
  const busy = document.getElementById("busy"), boxes = () => Array.from(table.querySelectorAll("input[name=run]"));
  const count = () => { side.querySelector("button").disabled = !boxes().some((each) => each.checked); };
  const wait = () => { busy.textContent = "Reading the samples and making the report …"; };
  table.addEventListener("change", count);
  table.addEventListener("click", (event) => {
    const { target } = event;
    if (target.closest("a") && !event.ctrlKey && !event.metaKey && !event.shiftKey) wait();
  });
  side.addEventListener("submit", wait);
  window.addEventListener("pageshow", () => { busy.textContent = ""; count(); });

  let shown = null;
  function renew(later) {
    const live = document.getElementById("going"), next = later.getElementById("going");
    if (live.innerHTML !== next.innerHTML) live.replaceWith(next);
    const rows = later.querySelector("table.instances");
    if (rows.tBodies[0].innerHTML === shown) return;
    shown = rows.tBodies[0].innerHTML;
    const ticked = boxes().filter((each) => each.checked).map((each) => each.value);
    const focused = table.contains(document.activeElement) && document.activeElement.closest("tr");
    const link = focused && focused.querySelector("a").getAttribute("href");
    list.renew(rows);
    for (const each of boxes()) each.checked = ticked.includes(each.value);
    const again = link && table.querySelector(`a[href="${CSS.escape(link)}"]`);
    if (again) again.focus({ preventScroll: true });
    count();
  }
  async function look() {
    if (!document.hidden) {
      try {
        const answer = await fetch("./", { cache: "no-cache" });
        if (answer.ok) renew(new DOMParser().parseFromString(await answer.text(), "text/html"));
        if (busy.dataset.lost) { delete busy.dataset.lost; busy.textContent = ""; }
      } catch { busy.dataset.lost = "true"; busy.textContent = "lmms-rpts view does not answer: start it again"; }
    }
    setTimeout(look, 3000);
  }
  look();
})();
