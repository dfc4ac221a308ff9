// The view in the fragment of the address: "#PLACE?outcome=right_unsound&sort=rpts&dir=desc".
// A place without a question mark keeps the filters, so that links in the page need not name them.
(() => {
  const longest = 4000;
  const state = report.state || { read: () => new URLSearchParams(), apply() {} };

  function parsed() {
    const [place, ...rest] = location.hash.slice(1, longest).split("?");
    let id = "";
    try { id = decodeURIComponent(place); } catch { /* not a place of this page */ }
    return { id, query: rest.length ? rest.join("?") : null };
  }
  // Entries that this script wrote hold the whole view: going back to one restores it.
  function write(push) {
    const { id } = parsed(), query = state.read().toString();
    const hash = (id ? encodeURIComponent(id) : "") + (query ? `?${query}` : "");
    try {
      if (push && `#${hash}` !== location.hash) history.pushState({ whole: true }, "", `#${hash}`);
      else history.replaceState({ whole: true }, "", hash || location.hash ? `#${hash}` : location.href);
    } catch { /* some browsers refuse it for files, or if it is done too often */ }
  }
  function follow() {
    const { id, query } = parsed();
    const whole = Boolean(history.state && history.state.whole);
    if (query !== null || whole) state.apply(new URLSearchParams(query || ""));
    report.go(id);
    if (!whole) write(false);
  }
  report.changed = (push) => { write(push); };
  report.starting.push(() => {
    if (report.single) {
      window.addEventListener("hashchange", () => report.go(parsed().id));
      report.go(parsed().id);
      return;
    }
    state.apply(new URLSearchParams(parsed().query || ""));
    report.go(parsed().id);
    write(false);
    window.addEventListener("hashchange", follow);
  });
})();
