"use strict";
// Shows one step at a time, stores the ratings, and saves them as a file.
(() => {
  const data = JSON.parse(document.getElementById("sample").textContent);
  const scores = [0, 0.25, 0.5, 0.75, 1];
  const words = {
    inference: ["does not follow", "hardly follows", "something missing", "nearly follows", "follows"],
    image: ["wrong", "mostly wrong", "partly, or vague", "mostly right", "right"],
  };
  const longestComment = 5000, mostUndone = 1000;
  const storageKey = `lmms-rpts-ratings-${data.sample}`;

  const items = data.responses.flatMap((response, at) => response.steps.flatMap((step, number) =>
    (step.kind ? [{ response, at, step, number, total: response.steps.length }] : [])));
  const keyOf = (task, docId, repeat, step) => JSON.stringify([task, docId, repeat, step]);
  const places = new Map(items.map(({ response, number }, index) =>
    [keyOf(response.task, response.doc_id, response.repeat, number), index]));

  const found = (id) => document.getElementById(id);
  const empty = Object.freeze({ score: null, skipped: false, comment: "" });
  let ratings = new Map();   // by the index of the item
  let current = 0;
  let undone = [];           // how to undo each change, the latest at the end
  let kept = true;           // whether the browser has stored all ratings
  let stored = null;         // what this window stored or restored last
  let filed = true;          // whether a file contains them
  const ratingOf = (index) => ratings.get(index) || empty;
  const isDone = (index) => ratingOf(index).score !== null || ratingOf(index).skipped;

  // --- elements
  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children);
    return made;
  }
  // As in base/escaping.py: control characters, and controls of the writing direction.
  const hidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
  const marked = (text) => text.replace(hidden, (each) => {
    const code = each.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
  });
  const textOf = (text, language, more) =>
    element("p", { class: `text ${more || ""}`.trim(), lang: language, dir: "auto" }, marked(text) || "(empty)");
  const part = (title, ...children) => element("div", { class: "part" }, element("h3", null, title), ...children);
  function figure(at, number) {
    const picture = data.images[at][number];
    const caption = element("figcaption", null, `Image ${number}`);
    if (!picture) {
      return element("figure", null, caption, element("p", { class: "no-image" },
        "This image is missing from the page. Skip steps that you cannot rate without it."));
    }
    const image = element("img", { alt: `Image ${number}`, width: picture.width, height: picture.height, decoding: "async" });
    image.src = picture.source;
    return element("figure", null, caption, image);
  }

  // --- showing
  function questionOf({ response, at, step, number }) {
    const language = response.language;
    const isImage = step.kind === "image";
    const title = element("h2", { id: "question-title", tabindex: "-1" },
      `Conclusion ${number}: ${isImage ? "is it in the image?" : "does it follow from its premises?"}`);
    const claim = part(isImage ? "Description" : "Conclusion", textOf(step.conclusion, language, "claim"));
    const parts = [];
    if (isImage) {
      // Above the images, which may be tall.
      parts.push(claim, ...step.images.map((each) => figure(at, each)));
      if (!step.images.length) parts.push(element("p", { class: "no-image" }, "The image is missing."));
    } else {
      parts.push(part("Situation", textOf(response.context, language)));
      const listed = step.premises.map((each) => element("li", { lang: language, dir: "auto", class: "text" }, marked(each)));
      parts.push(part("Premises", listed.length ? element("ol", null, ...listed) : element("p", { class: "faint" }, "(none: it must follow from the situation)")), claim);
    }
    const comment = element("textarea", { id: "comment", maxlength: longestComment, dir: "auto" });
    const index = current;
    comment.value = ratingOf(index).comment;
    comment.addEventListener("focus", () => { comment.dataset.before = comment.value; });
    comment.addEventListener("input", () => change(index, { comment: comment.value }, false));
    comment.addEventListener("change", () => {
      const before = comment.dataset.before || "";
      if (before !== comment.value) remember({ index, before: { ...ratingOf(index), comment: before } });
      comment.dataset.before = comment.value;
    });
    return [title, ...parts, element("label", { class: "comment" }, "Comment (optional)", comment)];
  }
  const shownScore = (index) => {
    const { score, skipped } = ratingOf(index);
    return skipped ? "skipped" : score === null ? "unrated" : `scored ${score}`;
  };
  function chainOf(response) {
    return response.steps.map((step, number) => {
      const index = places.get(keyOf(response.task, response.doc_id, response.repeat, number));
      const name = `Conclusion ${number}`;
      const from = element("span", { class: "faint" }, `from ${step.cites.join(" + ") || "nothing"}`);
      const head = element("div", { class: "line" });
      if (step.kind) {
        const button = element("button", { type: "button" }, name);
        button.addEventListener("click", () => { go(index); found("question-title").focus({ preventScroll: true }); });
        head.append(button, from,
          element("span", { class: "own", "data-item": index }, shownScore(index)));
      } else {
        head.append(element("b", null, name), from,
          element("span", { class: "own faint" }, "no rating needed"));
      }
      return element("li", { "aria-current": index === current ? "step" : null }, head, textOf(step.conclusion, response.language));
    });
  }

  function givenOf({ response, at }) {
    const language = response.language;
    return [
      element("h2", { id: "given-title" }, "Evidence"),
      part(response.asked, textOf(response.statement, language)),
      part("Context", textOf(response.context, language)),
      ...response.texts.map((each, number) => part(`Text ${number}`, textOf(each, language))),
      ...data.images[at].map((_, number) => figure(at, number)),
    ];
  }

  function showScale({ step }) {
    found("scale").replaceChildren(...scores.map((score, at) => {
      const button = element("button", { type: "button", "aria-pressed": String(ratingOf(current).score === score) },
        element("b", null, String(at + 1)), element("span", null, words[step.kind][at]));
      button.addEventListener("click", () => rate(score));
      return button;
    }));
  }
  function showState() {
    const rated = [...ratings.values()];
    const scored = rated.filter((each) => each.score !== null).length;
    const skipped = rated.filter((each) => each.skipped).length;
    found("progress").max = items.length;
    found("progress").value = scored + skipped;
    found("counts").textContent = `Step ${current + 1} of ${items.length} · ${scored} scored, ${skipped} skipped, ` +
      `${items.length - scored - skipped} left`;
    found("no-storage").hidden = kept;
    found("save").classList.toggle("due", !filed);
    found("undo").disabled = !undone.length;
    found("previous").disabled = current === 0;
    found("next").disabled = current === items.length - 1;
    for (const each of document.querySelectorAll("[data-item]")) each.textContent = shownScore(Number(each.dataset.item));
  }
  let shown = null;          // the response that the page shows
  function show() {
    const item = items[current];
    const scale = found("scale"), pressed = Array.from(scale.children).indexOf(document.activeElement);
    found("question").replaceChildren(...questionOf(item));
    found("chain").replaceChildren(element("h2", { id: "chain-title" }, `The reasoning, response ${item.at + 1} of ${data.responses.length}`),
      element("ol", { class: "chain" }, ...chainOf(item.response)));
    if (shown !== item.response) found("given").replaceChildren(...givenOf(item));
    shown = item.response;
    showScale(item);
    if (pressed >= 0) scale.children[pressed].focus({ preventScroll: true });
    // Whatever scrolls must be reachable by keyboard.
    for (const each of document.querySelectorAll(".chain li")) if (each.scrollHeight > each.clientHeight + 2) each.tabIndex = 0;
    showState();
  }
  function say(text, isWrong) {
    found("told").textContent = text;
    found("told").classList.toggle("wrong", Boolean(isWrong));
  }

  // --- moving
  function go(index, quiet) {
    if (index < 0 || index >= items.length) return;
    current = index;
    show();
    keep();
    if (!quiet) say("");
    found("question").scrollIntoView({ block: "start" });
  }
  function goToOpen() {
    const order = items.map((_, index) => (current + 1 + index) % items.length);
    const open = order.find((index) => !isDone(index));
    if (open === undefined) say(`All steps are done. Enter your name and save.`);
    else go(open);
  }

  // --- changing
  function remember(entry) {
    undone.push(entry);
    if (undone.length > mostUndone) undone.shift();
    showState();
  }
  function put(index, rating) {
    if (rating.score === null && !rating.skipped && !rating.comment) ratings.delete(index);
    else ratings.set(index, rating);
    filed = false;
    keep();
  }
  function change(index, what, undoable = true) {
    const before = ratingOf(index);
    put(index, { ...before, ...what });
    if (undoable) remember({ index, before });
    showState();
  }
  function move(told) {
    if (current < items.length - 1) { go(current + 1, true); say(told); return; }
    show();
    const left = items.length - items.filter((_, index) => isDone(index)).length;
    say(`${told} ${left ? `This was the last step; ${left} steps are unrated (n).` : `All steps are done. Enter your name and save.`}`);
  }
  function rate(score) {
    if (score === undefined) return; // a key that the question does not have
    change(current, { score, skipped: false });
    move(`Scored ${score}.`);
  }
  function skip() {
    change(current, { score: null, skipped: true });
    move("Skipped.");
  }
  function clear() {
    change(current, { score: null, skipped: false });
    show();
    say("Cleared.");
  }
  function undo() {
    const last = undone.pop();
    if (!last) { say("Nothing to undo."); return; }
    if (last.all) {
      ratings = last.all;
      found("rater").value = last.rater;
      filed = false;
      current = last.current;
    } else {
      put(last.index, last.before);
      current = last.index;
    }
    keep();
    show();
    say("Undone.");
  }
  const everything = () => ({ all: new Map(ratings), rater: found("rater").value, current });
  function startOver() {
    if (!ratings.size) { say("Nothing is rated yet."); return; }
    if (!confirm("Delete all scores and comments on this page? Saved files are not changed.")) return;
    remember(everything());
    ratings = new Map();
    filed = true;
    go(0);
    say("Started over. Undo restores everything.");
  }

  // --- storing in the browser
  function keep() {
    const state = JSON.stringify({ rater: found("rater").value, current, filed, ratings: [...ratings] });
    try {
      localStorage.setItem(storageKey, state);
      stored = state;
      kept = true;
    } catch { kept = false; }
    found("no-storage").hidden = kept;
  }
  function isRating(rating) {
    return rating !== null && typeof rating === "object" && typeof rating.comment === "string" &&
      typeof rating.skipped === "boolean";
  }
  const isAnswer = (answer) => answer === null || (typeof answer === "number" && answer >= 0 && answer <= 1);
  function restore(text) {
    let state = null;
    try { state = JSON.parse(text); } catch { /* not written by this page */ }
    if (state === null || typeof state !== "object" || !Array.isArray(state.ratings)) return false;
    const pairs = state.ratings.filter((each) => Array.isArray(each) && items[each[0]] && isRating(each[1]) && isAnswer(each[1].score));
    ratings = new Map(pairs.map(([index, { score, skipped, comment }]) => [index, { score, skipped, comment }]));
    if (typeof state.rater === "string") found("rater").value = state.rater;
    filed = state.filed === true;
    return Number.isInteger(state.current) && items[state.current] ? state.current : 0;
  }

  // --- files
  function saved(rater) {
    const entries = [...ratings.keys()].sort((a, b) => a - b).map((index) => {
      const { response, step, number } = items[index], { score, skipped, comment } = ratings.get(index);
      return {
        task: response.task, doc_id: response.doc_id, id: response.id, repeat: response.repeat,
        step: number, kind: step.kind, language: response.language, context: response.context,
        premises: step.premises, conclusion: step.conclusion,
        score, comment, ...(skipped ? { skipped } : {}),
      };
    });
    return { format: data.format, version: data.version, rater, sample: data.sample, items: entries };
  }
  function save() {
    const rater = found("rater").value.trim();
    if (!rater) { found("rater").focus(); say("Enter your name first. It distinguishes your scores from those of other raters.", true); return; }
    if (!ratings.size) { say("Nothing is rated yet.", true); return; }
    const name = files.save("ratings", rater, saved(rater));
    filed = true;
    keep();
    showState();
    say(`Saved as ${name}.`);
  }
  function read(value) {
    if (value.sample !== data.sample) throw new Error("it belongs to another sample than this page");
    if (typeof value.rater !== "string" || !value.rater.trim() || value.rater.length > 200) throw new Error("the rater's name is missing");
    if (!Array.isArray(value.items) || value.items.length > items.length) throw new Error("its items do not fit this page");
    const loaded = new Map();
    value.items.forEach((each, at) => {
      const index = each === null || typeof each !== "object" ? undefined : places.get(keyOf(each.task, each.doc_id, each.repeat, each.step));
      if (index === undefined || (each.conclusion || "") !== items[index].step.conclusion) throw new Error(`items[${at}] is not a step of this page`);
      if (loaded.has(index)) throw new Error(`items[${at}] occurs twice`);
      if (!isAnswer(each.score)) throw new Error(`items[${at}] has no score from 0 to 1`);
      const comment = typeof each.comment === "string" ? each.comment.slice(0, longestComment) : "";
      loaded.set(index, { score: each.score, skipped: each.score === null && each.skipped === true, comment });
    });
    return { rater: value.rater.trim(), loaded };
  }
  async function load(file) {
    let taken;
    try { taken = await files.load(file, data, "ratings", read); } catch (error) { say(error.message, true); return; }
    if (ratings.size && !confirm(`Replace the ratings on this page with the ${taken.loaded.size} steps of ${file.name} (${taken.rater})?`)) return;
    remember(everything());
    ratings = taken.loaded;
    found("rater").value = taken.rater;
    filed = true;
    const open = items.findIndex((_, index) => !isDone(index));
    go(open < 0 ? 0 : open);
    say(`Loaded ${taken.loaded.size} steps of ${taken.rater}.`);
  }

  // --- keys and buttons
  const help = found("help");
  const actions = {
    s: skip, 0: clear, u: undo, n: goToOpen, "?": () => { help.showModal(); found("help-title").focus(); },
    j: () => go(current + 1), ArrowRight: () => go(current + 1), k: () => go(current - 1), ArrowLeft: () => go(current - 1),
    c: () => found("comment").focus(),
    ...Object.fromEntries(scores.map((_, at) => [at + 1, () => rate(scores[at])])),
  };
  // On some keyboards, the keys of digits give other characters without Shift.
  const keyOfEvent = (event) => {
    const digit = /^(?:Digit|Numpad)([0-5])$/.exec(event.code);
    return digit && !event.shiftKey ? digit[1] : event.key.length === 1 ? event.key.toLowerCase() : event.key;
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || help.open) return;
    if (event.target.matches && event.target.matches("input, textarea, select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const key = keyOfEvent(event);
    if (!Object.hasOwn(actions, key) || (event.repeat && !/^(?:Arrow|[jk]$)/.test(key))) return;
    event.preventDefault();
    actions[key]();
  });
  const buttons = {
    previous: actions.k, next: actions.j, skip, clear, undo, open: goToOpen, save, over: startOver,
    ask: actions["?"], load: () => found("file").click(),
  };
  for (const [id, action] of Object.entries(buttons)) found(id).addEventListener("click", action);
  found("file").addEventListener("change", () => {
    const [file] = found("file").files;
    found("file").value = "";
    if (file) load(file);
  });
  found("rater").addEventListener("input", () => { filed = false; keep(); });
  window.addEventListener("beforeunload", (event) => {
    if (kept || filed) return;
    event.preventDefault();
    event.returnValue = "";
  });
  window.addEventListener("storage", (event) => {
    if (event.key !== storageKey || event.newValue === null) return;
    // The event comes late: this window may have stored something newer.
    let latest = null;
    try { latest = localStorage.getItem(storageKey); } catch { /* it stores nothing */ }
    if (latest === null || latest === stored) return;
    stored = latest;
    if (restore(latest) === false) return;
    show();
    say("Updated from another window.");
  });

  let before = null;
  try { before = localStorage.getItem(storageKey); } catch { /* it stores nothing */ }
  const place = before === null ? false : restore(before);
  if (place !== false) current = place;
  if (ratings.size) found("how").open = false;
  show();
  keep();
  if (ratings.size) say("Restored your earlier scores.");
})();
