// Tags and comments of readers on answers and steps: stored in the browser, saved and loaded as files.
(() => {
  const source = document.getElementById("comments");
  if (!source) return;
  const { element } = report, data = JSON.parse(source.content.textContent);
  const most = 20, longestTag = 60, longest = 5000, mostItems = 100000;
  // Of the same response, scored twice: the first answer, whose notes the others show.
  const anchors = new Map(Object.entries(data.places).reverse().map(([anchor, place]) => [JSON.stringify(place), anchor]));
  const firstOf = (id) => anchors.get(JSON.stringify(data.places[id]));
  const runs = [...new Set(Object.values(data.places).map(([run]) => run))].sort();
  const storageKey = `lmms-rpts-comments-${runs.join("-").slice(0, 500)}`;
  let own = new Map(); // by the id of the answer or step: tags and comment
  let others = new Map(); // by reader and id
  const elsewhere = { own: [], others: [] }; // not on this page
  let reader = "", kept = true, filed = true;

  // --- items: as in files
  const text = (value, length) => (typeof value === "string" ? value.slice(0, length) : "");
  const clean = ({ tags, comment }) => ({
    tags: [...new Set((Array.isArray(tags) ? tags : []).map((each) => text(each, longestTag).trim()))].filter(Boolean).slice(0, most),
    comment: text(comment, longest),
  });
  const idOf = ({ run, task, doc_id, repeat = 0, step = null }) => {
    const anchor = anchors.get(JSON.stringify([run, task, doc_id, repeat]));
    return anchor && (step === null ? anchor : `${anchor}-s${step}`);
  };
  function itemOf(id, who, { tags, comment }) {
    const anchor = data.places[id] ? id : id.replace(/-s\d+$/, ""), [run, task, doc_id, repeat] = data.places[anchor];
    return { run, task, doc_id, repeat, ...(id === anchor ? {} : { step: Number(id.slice(anchor.length + 2)) }), reader: who, tags, comment };
  }
  function take(item) {
    const id = idOf(item), who = text(item.reader, 80).trim();
    if (who === reader) own.set(id, clean(item)); else others.set(JSON.stringify([who, id]), { id, who, ...clean(item) });
  }
  function read({ items }) {
    if (!Array.isArray(items) || items.length > mostItems) throw new Error("its items do not fit this page");
    const here = items.map((each, at) => [each, at]).filter(([each]) => each !== null && typeof each === "object" && runs.includes(each.run));
    if (items.length && !here.length) throw new Error("it belongs to another report");
    const seen = new Set();
    for (const [each, at] of here) {
      const id = idOf(each), key = JSON.stringify([id, each.reader]);
      if (!id || (each.step !== undefined && each.step !== null && !report.find(id))) throw new Error(`items[${at}] is not on an answer or a step of this page`);
      if (!text(each.reader, 80).trim()) throw new Error(`items[${at}] has no reader`);
      if (seen.has(key)) throw new Error(`items[${at}] occurs twice`);
      seen.add(key);
    }
    return here.map(([each]) => each);
  }

  // --- storing in the browser: as in files, since another report of these runs has other ids, or shows less
  function keep() {
    const items = { own: [...own].map(([id, each]) => itemOf(id, "", each)), others: [...others.values()].map((each) => itemOf(each.id, each.who, each)) };
    try {
      localStorage.setItem(storageKey, JSON.stringify({ reader, filed, own: [...items.own, ...elsewhere.own], others: [...items.others, ...elsewhere.others] }));
      kept = true;
    } catch { kept = false; }
  }
  function restore() {
    try {
      const state = JSON.parse(localStorage.getItem(storageKey)) || {};
      [reader, filed] = [text(state.reader, 80), state.filed !== false];
      own = new Map();
      for (const name of ["others", "own"]) {
        const items = state[name] || [];
        elsewhere[name] = items.filter((each) => !idOf(each));
        for (const each of items.filter(idOf)) if (name === "own") own.set(idOf(each), clean(each)); else take(each);
      }
    } catch { /* nothing is stored, or not by this page */ }
  }
  function change(id, what) {
    const next = clean({ ...(own.get(id) || {}), ...what });
    if (next.tags.length || next.comment) own.set(id, next); else own.delete(id);
    filed = false;
    keep();
    offer();
    showCount();
    for (const each of document.querySelectorAll(".note")) if (each.dataset.of === id) each.show();
  }

  // What others said under the reader's name is the reader's own.
  function claim() {
    for (const [key, each] of others) {
      if (each.who !== reader) continue;
      if (!own.has(each.id)) own.set(each.id, clean(each));
      others.delete(key);
    }
  }

  // --- notes below answers and steps
  const chip = (tag) => element("span", { className: "tag", textContent: tag });
  const used = element("datalist", { id: "tags-used" });
  const offer = () => used.replaceChildren(...[...new Set([...own.values(), ...others.values()].flatMap(({ tags }) => tags))].sort().map((value) => element("option", { value })));
  function noteOf(id) {
    const summary = element("summary"), tags = element("span"), given = element("div");
    const field = element("input", { maxLength: longestTag, autocomplete: "off" }), comment = element("textarea", { maxLength: longest, dir: "auto" });
    field.setAttribute("list", "tags-used");
    const note = element("details", { className: "note" }, summary, given, tags, element("label", {}, "Add a tag ", field), element("label", {}, "Comment", comment));
    note.dataset.of = id;
    note.show = () => {
      const mine = own.get(id) || clean({}), said = [...others.values()].filter((each) => each.id === id);
      const every = [...new Set([mine, ...said].flatMap((each) => each.tags))], count = said.length + own.has(id);
      note.classList.toggle("given", count > 0);
      summary.replaceChildren("Tags and comment", ...(count ? [` (${count}) `, ...every.map(chip)] : []));
      given.replaceChildren(...said.map((each) => element("p", { className: "by" }, element("b", { textContent: each.who }), " ", ...each.tags.map(chip), each.comment)));
      tags.replaceChildren(...mine.tags.map((tag) => {
        const button = element("button", { type: "button", className: "tag", textContent: `${tag} ×` });
        button.setAttribute("aria-label", `Remove the tag ${tag}`);
        button.addEventListener("click", () => { change(id, { tags: mine.tags.filter((each) => each !== tag) }); field.focus(); });
        return button;
      }));
      if (comment.value !== mine.comment) comment.value = mine.comment;
    };
    function add() {
      if (!field.value.trim()) return;
      change(id, { tags: [...(own.get(id) || clean({})).tags, ...field.value.split(/[,，]/)] });
      field.value = "";
    }
    field.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === ",") { event.preventDefault(); add(); } });
    field.addEventListener("change", add);
    comment.addEventListener("input", () => { change(id, { comment: comment.value }); });
    note.addEventListener("toggle", offer);
    note.show();
    return note;
  }
  document.addEventListener("report:made", ({ target }) => {
    for (const card of target.querySelectorAll(".card.run")) {
      const first = firstOf(card.id);
      if (!first) continue;
      for (const step of card.querySelectorAll(`.judged[id^="${card.id}-s"]`)) step.append(noteOf(step.id.replace(card.id, first)));
      card.append(noteOf(first));
    }
  });
  const showNotes = () => { for (const each of document.querySelectorAll(".note")) each.show(); showCount(); };

  // --- the dialog
  const button = element("button", { type: "button", id: "notes" });
  const name = element("input", { maxLength: 80, autocomplete: "off" }), file = element("input", { type: "file", accept: ".json,application/json", hidden: true });
  const told = element("p"), list = element("ul"), lost = element("p", { className: "warning", textContent: "This browser does not store data for this page (a private window?): your comments are lost when you close it. Save them." });
  const action = (textContent, click) => { const made = element("button", { type: "button", textContent }); made.addEventListener("click", click); return made; };
  const dialog = element("dialog", { className: "notes" }, element("h2", { id: "notes-title", textContent: "Tags and comments" }), lost,
    element("div", { className: "files" }, element("label", {}, "Your name ", name), action("Save", save), action("Load", () => file.click()), action("Close", () => dialog.close()), file), told, list);
  told.setAttribute("role", "status");
  file.setAttribute("aria-label", "File of comments");
  dialog.setAttribute("aria-labelledby", "notes-title");
  button.setAttribute("aria-haspopup", "dialog");
  const placeOf = (id) => report.rowOf(id.split("--", 1)[0]).querySelector("a").textContent + (data.places[id] ? "" : `, Conclusion ${id.match(/\d+$/)[0]}`);
  function say(what, isWrong) { told.textContent = what; told.classList.toggle("wrong", Boolean(isWrong)); }
  function showCount() {
    const count = own.size + others.size;
    button.textContent = `Comments${count ? ` (${count})` : ""}`;
    lost.hidden = kept;
    const line = (who, id, { tags, comment }) => {
      const link = element("a", { href: `#${id}`, textContent: placeOf(id) });
      link.addEventListener("click", () => dialog.close());
      return element("li", { className: "by" }, link, " ", element("b", { textContent: who }), " ", ...tags.map(chip), comment);
    };
    if (dialog.open) list.replaceChildren(...[...own].map(([id, each]) => line(reader || "You", id, each)), ...[...others.values()].map((each) => line(each.who, each.id, each)));
  }
  function save() {
    if (!reader) { name.focus(); say("Enter your name first. It distinguishes your comments from those of others.", true); return; }
    claim();
    const mine = [...own].map(([id, each]) => itemOf(id, reader, each)), more = [...others.values()].map((each) => itemOf(each.id, each.who, each));
    if (!mine.length && !more.length) { say("There are no comments yet.", true); return; }
    const saved = files.save("comments", reader, { format: data.format, version: data.version, items: [...mine, ...more] });
    filed = true;
    keep();
    say(`Saved as ${saved}.`);
  }
  async function load(chosen) {
    let items = [];
    try { items = await files.load(chosen, data, "comments", read); } catch (error) { say(error.message, true); return; }
    items.forEach(take);
    keep();
    showNotes();
    say(`Loaded ${items.length} comments.`);
  }
  name.addEventListener("input", () => { reader = name.value.trim(); keep(); });
  name.addEventListener("change", () => { claim(); showNotes(); });
  file.addEventListener("change", () => { const [chosen] = file.files; file.value = ""; if (chosen) load(chosen); });
  button.addEventListener("click", () => { dialog.showModal(); name.value = reader; say(""); showCount(); });
  window.addEventListener("beforeunload", (event) => { if (!kept && !filed) { event.preventDefault(); event.returnValue = ""; } });
  window.addEventListener("storage", (event) => { if (event.key === storageKey) { restore(); showNotes(); } });
  data.items.filter(idOf).forEach(take);
  restore();
  claim();
  document.getElementById("theme").before(button);
  document.body.append(dialog, used);
  keep();
  showCount();
})();
