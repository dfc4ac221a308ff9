// The view in the fragment of the address: "#PLACE?outcome=right_unsound&sort=rpts&dir=desc".
// A place without a question mark keeps the filters, so that links in the page need not name them.
// The filters belong to one table: that of the place, else the one used last.
(() => {
  const longest = 4000;
  const lists = report.lists || [];
  const none = { read: () => new URLSearchParams(), apply() {} };
  let current = lists[0] || none;
  let followed = ""; // the fragment that the page shows

  function parsed() {
    const [place, ...rest] = location.hash.slice(1, longest).split("?");
    let id = "";
    try { id = decodeURIComponent(place); } catch { /* not a place of this page */ }
    return { id, query: rest.length ? rest.join("?") : null };
  }
  // The list that an instance or a place belongs to.
  function listOf(id) {
    const row = id && report.rowOf(id.split("--", 1)[0]), place = row || (id && document.getElementById(id));
    return (place && lists.find((each) => each.place.contains(place) || place.contains(each.place))) || null;
  }
  // Entries that this script wrote hold the whole view: going back to one restores it.
  function write(push) {
    const { id } = parsed(), query = current.read().toString(), own = listOf(id);
    const place = query && own && own !== current ? current.place.id : id;
    const hash = (place ? encodeURIComponent(place) : "") + (query ? `?${query}` : "");
    try {
      if (push && `#${hash}` !== location.hash) history.pushState({ whole: true }, "", `#${hash}`);
      else history.replaceState({ whole: true }, "", hash || location.hash ? `#${hash}` : location.href);
    } catch { /* some browsers refuse it for files, or if it is done too often */ }
    followed = location.hash;
  }
  function follow() {
    const { id, query } = parsed();
    const whole = Boolean(history.state && history.state.whole);
    current = listOf(id) || current;
    if (query !== null || whole) current.apply(new URLSearchParams(query || ""));
    report.go(id);
    if (whole) followed = location.hash;
    else write(false);
  }
  // Links and keys show their place at once: the browser's event comes later, and a key that is
  // pressed before it would act on the old place.
  function visit(event) {
    const link = event.target.closest && event.target.closest("a[href^='#']");
    if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    location.hash = link.getAttribute("href");
    follow();
  }
  report.changed = (list, push) => { current = list; write(push); };
  report.starting.push(() => {
    const { id, query } = parsed();
    if (report.single) {
      window.addEventListener("hashchange", () => report.go(parsed().id));
      report.go(id);
      return;
    }
    current = listOf(id) || current;
    for (const each of lists) each.apply(new URLSearchParams(each === current ? query || "" : ""));
    report.go(id);
    write(false);
    window.addEventListener("hashchange", () => { if (location.hash !== followed) follow(); });
    document.addEventListener("click", visit);
  });
})();
