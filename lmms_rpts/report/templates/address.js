// The view in the fragment of the address: "#PLACE?outcome=right_unsound&sort=rpts&dir=desc".
// A place without a question mark keeps the filters, so that links in the page need not name them.
// The filters belong to one table: that of the place, else the one used last.
(() => {
  const longest = 4000;
  const lists = report.lists || [];
  const none = { read: () => new URLSearchParams(), apply() {}, settle() {} };
  let current = lists[0] || none;
  let here = ""; // the place that the page shows
  let followed = ""; // the fragment that the page shows
  let late = 0;

  function parsed(fragment) {
    const [place, ...rest] = fragment.slice(1, longest).split("?");
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
  function write(push, tries = 30) {
    const query = current.read().toString(), own = listOf(here);
    const place = query && own && own !== current ? current.place.id : here;
    const text = (place ? encodeURIComponent(place) : "") + (query ? `?${query}` : "");
    const hash = text && `#${text}`;
    clearTimeout(late);
    try {
      if (push && hash !== location.hash) history.pushState({ whole: true }, "", hash || "#");
      else history.replaceState({ whole: true }, "", hash || location.hash ? hash || "#" : location.href);
    } catch { /* some browsers refuse it for files, or if it is done too often */ }
    followed = location.hash;
    // Others ignore it for some seconds if it is done too often, as while a key is held down.
    if (followed !== hash && tries) late = setTimeout(() => write(false, tries - 1), 1000);
  }
  function settle() {
    for (const each of lists) each.settle();
  }
  function follow() {
    const { id, query } = parsed(location.hash);
    const whole = Boolean(history.state && history.state.whole);
    clearTimeout(late);
    here = id;
    current = listOf(id) || current;
    if (query !== null || whole) current.apply(new URLSearchParams(query || ""));
    report.go(id);
    if (whole) followed = location.hash;
    else write(false);
  }
  // Links that open or close an instance do so at once: the browser's event comes later, and a key
  // that is pressed before it would act on the old place. Others are left to the browser, which
  // then goes on with the focus from there.
  function visit(event) {
    const link = event.target.closest && event.target.closest("a[href]");
    if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    settle();
    if (!link.getAttribute("href").startsWith("#")) return;
    const { id } = parsed(link.getAttribute("href"));
    const article = report.articleOf(id.split("--", 1)[0]);
    const stays = report.open && (id === "main" || id === here);
    if (!stays && (article || null) === report.open) return;
    event.preventDefault();
    if (!stays) {
      here = id;
      current = listOf(id) || current;
      write(true);
    }
    report.go(id);
  }
  report.changed = (list, push) => { current = list; write(push); };
  report.starting.push(() => {
    const { id, query } = parsed(location.hash);
    here = id;
    current = listOf(id) || current;
    for (const each of lists) each.apply(new URLSearchParams(each === current ? query || "" : ""));
    report.go(id);
    write(false);
    window.addEventListener("hashchange", () => { if (location.hash !== followed) follow(); });
    document.addEventListener("click", visit);
  });
})();
