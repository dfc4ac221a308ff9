"use strict";
// Draws a report, or a page for raters, from the JSON in the page. Texts are set as text nodes; the only
// HTML that is inserted is what lmms_rpts/report/text.py made of formulas and Markdown.

const data = JSON.parse(document.getElementById("data").textContent);
const [blocks, lines] = data.html.map((markup) => new Map(Object.entries(markup)));
const main = document.getElementById("main");
const THRESHOLD = 0.5;
const SLICE = 100; // rows of a list that are drawn at a time
const MOST = 100; // options of a question, steps of a tree, characters of a label
const WORDS = {
  right_sound: "right, RPTS ≥ 0.5", right_unsound: "right for the wrong reason",
  wrong_sound: "wrong, RPTS ≥ 0.5", wrong_unsound: "wrong, RPTS < 0.5",
  no_steps: "no readable step", unjudged: "not judged, or no answer",
  right: "right", partial: "right in part", value: "scored", wrong: "wrong", unscored: "not graded",
};
const MODALITIES = {
  visual: "from images only", textual: "from texts only", mixed: "from images and texts",
  inference: "from earlier conclusions",
};
const SECOND = "Second judge call, with all texts and all earlier conclusions. 0.8 times this score (one "
  + "decimal) is used if it is higher than the first score.";
const LEAD = "Did the model reason its way to the answer, or just land on it? A judge scored each step of the "
  + "reasoning from 0 to 1; RPTS is the weighted mean of these scores. A right answer with an RPTS below 0.5 is "
  + "right for the wrong reason. A response with a higher RPTS may still have a wrong step.";

/* Elements */

const HIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const DRAWN = new Set(["svg", "path", "rect", "circle", "text"]);

/** A text with visible marks for control characters and controls of the writing direction. */
function marked(text) {
  return String(text).replace(HIDDEN, (sign) => {
    const code = sign.charCodeAt(0);
    if (code < 32) return String.fromCharCode(0x2400 + code);
    return `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
  });
}

/** An element: h("td.score", { title: "..." }, "text", child, [children]). Texts are never HTML. */
function h(name, ...parts) {
  const [tag, ...classes] = name.split(".");
  const element = DRAWN.has(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const part of parts.flat(9)) {
    if (part === null || part === undefined || part === false || part === "") continue;
    if (part instanceof Node) element.append(part);
    else if (typeof part !== "object") element.append(marked(part));
    else for (const [key, value] of Object.entries(part)) set(element, key, value);
  }
  return element;
}

function set(element, key, value) {
  if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
  else if (key === "style") element.style.cssText = value;
  else if (value !== null && value !== undefined && value !== false) {
    element.setAttribute(key, value === true ? "" : marked(value));
  }
}

/** A text with its formulas and Markdown. */
function rich(text, block = false) {
  const html = (block ? blocks : lines).get(text);
  const element = h(`${block ? "div" : "span"}.${html === undefined ? "plain" : "md"}`, { dir: "auto" });
  if (html === undefined) element.append(marked(text));
  else element.innerHTML = html;
  return element;
}

const folded = (title, ...parts) => h("details", h("summary", title), parts);
const faint = (...parts) => h("p.faint", parts);
const problem = (text) => Boolean(text) && h("p.problem", { dir: "auto" }, text);
const passage = (text) => h("div.passage", { tabindex: 0, role: "group", "aria-label": "Text" }, rich(text, true));
const cut = (text, length = MOST) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
const thousands = (number) => number.toLocaleString("en");
const count = (number, noun) => `${thousands(number)} ${noun}${number === 1 ? "" : "s"}`;

/** A label cut in its middle, since its end names the checkpoint. */
function middle(label, length = 60) {
  return label.length <= length ? label : `${label.slice(0, length / 2)}…${label.slice(1 - length / 2)}`;
}

/** A number as text; a score below the threshold is not rounded up to it. */
function figure(value, digits = 2) {
  if (value === null || value === undefined) return "–";
  let text = value.toFixed(digits);
  while (value < THRESHOLD && Number(text) >= THRESHOLD && digits < 6) text = value.toFixed(++digits);
  return text;
}

/** The colour of a score, from wrong to right. */
function colour(score) {
  if (score === null || score === undefined) return "var(--sx)";
  const share = Math.round(200 * Math.abs(score - 0.5));
  return `color-mix(in srgb, var(--${score < 0.5 ? "wrong" : "right"}-score) ${share}%, var(--half-score))`;
}

const badge = (score) => h("span.score", { style: `background:${colour(score)}` }, figure(score));
const chip = (outcome, words = WORDS[outcome]) => h(`span.chip.o-${outcome}`, words);
const swatch = (run) => h(`span.swatch.run${run % 6}`);
const runName = (run, at) => h("span", swatch(at), middle(run.label));

/** A clue as shown to users: Image 0. */
function clue([kind, index]) {
  return kind[0].toUpperCase() + kind.slice(1) + (index === null ? "" : ` ${cut(String(index), 6)}`);
}

function outcomeOf(answer) {
  if (answer.scale && answer.score !== null) return chip("value", `${answer.scale} ${figure(answer.score)}`);
  return [chip(answer.outcome), answer.flags.map((flag) => [" ", h("span.tag.check", flag)])];
}

/** Tokens and cost of judge calls, in words; before them, what else is known. */
function spent(took, before = "") {
  const parts = [before];
  if (took.calls > 1) parts.push(count(took.calls, "judge call"));
  if (took.cached) parts.push(`${took.cached} cached`);
  if (took.tokens_in !== null) parts.push(`${count(took.tokens_in, "token")} in, ${thousands(took.tokens_out)} out`);
  if (took.cost !== null) parts.push(`cost ${took.cost.toPrecision(3)}`);
  return parts.some(Boolean) && faint(parts.filter(Boolean).join("; "));
}

/* Tables and charts */

/** A table that a narrow window lays out as a stack; roles are given, since that layout loses them. */
function table(name, heads, rows, kind = "") {
  const texts = heads.map((head) => (head instanceof Node ? head.textContent : head));
  const cell = (value, at) => h(at ? "td" : "th", at ? { role: "cell" } : { role: "rowheader", scope: "row" },
    { "data-head": texts[at] }, value?.low === undefined ? value : interval(value));
  return h("div.scroll", { tabindex: 0, role: "group", "aria-label": name },
    h(`table${kind || ".stack"}`, { role: "table" },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" },
        heads.map((head) => h("th", { scope: "col", role: "columnheader" }, head)))),
      h("tbody", { role: "rowgroup" }, rows.map((row) => h("tr", { role: "row" }, row.map(cell))))));
}

/** The interval of a figure; of several rounds, their standard deviation. */
function ends({ low, high, sd }) {
  return low !== null ? `${figure(low)} to ${figure(high)}` : sd !== null && `± ${figure(sd)}`;
}

/** A figure with its interval, and a bar from 0 to 1 in the colour of its run. */
function interval(found, run = null, note = null) {
  const text = ends(found);
  return h("span.figure", h("span.value", figure(found.value, 3)), text && [" ", h("span.faint", text)],
    run !== null && found.value !== null && bar(found, run), note);
}

function bar({ value, low, high }, run) {
  const x = (share) => 130 * Math.min(1, Math.max(0, share));
  return h("svg.bar", { width: 130, height: 14, viewBox: "0 0 130 14", "aria-hidden": "true" },
    h("rect.ground", { y: 2, width: 130, height: 10, rx: 3 }),
    h(`rect.fill.run${run % 6}`, { y: 2, width: x(value), height: 10, rx: 3 }),
    low !== null && h("path.whisker", { d: `M${x(low)} 7H${x(high)}M${x(low)} 3v8M${x(high)} 3v8` }));
}

function drawing(width, height, words, ...parts) {
  return h("svg.chart", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words }, parts);
}

const QUARTERS = [0, 1, 2, 3, 4];
const label = (x, y, text, kind = "tick") => h(`text.${kind}`, { x, y }, text);
const ticks = (left, width, y) => QUARTERS.map((k) => label(left + (width * k) / 4, y, k / 4));

/** The RPTS of right answers (upwards) and wrong ones (downwards), by tenths; all runs share the scale. */
function histogram(section, run) {
  const most = Math.max(1, ...section.runs.flatMap(({ tenths }) => [...tenths.right, ...tenths.wrong]));
  const [left, width, axis] = [46, 22, 62];
  const bars = (kind, up) => run.tenths[kind].map((n, at) => {
    const [x, height] = [left + at * width, (48 * n) / most];
    return n > 0 && [h(`rect.${kind}`, { x: x + 1, width: width - 2, height, y: up ? axis - height : axis }),
      label(x + width / 2, up ? axis - height - 3 : axis + height + 11, n, "count")];
  });
  const words = ["right", "wrong"].map((kind) => `${kind} answers: ${run.tenths[kind].join(", ")}`).join("; ");
  return drawing(276, 158, `RPTS of ${run.label}, by tenths; ${words}`, bars("right", true), bars("wrong", false),
    h("path.axis", { d: `M${left} ${axis}h220` }), h("path.threshold", { d: `M${left + 110} 0v124` }),
    label(left - 6, axis - 22, "right", "side"), label(left - 6, axis + 28, "wrong", "side"),
    ticks(left, 220, 138), label(left + 110, 152, "RPTS", "name"));
}

/** One point per run with both intervals; labels are moved apart. */
function scatter(section) {
  const [left, top, across, up] = [50, 12, 236, 166];
  const [x, y] = [(value) => left + across * value, (value) => top + up * (1 - value)];
  const points = section.runs.map((run, at) => ({ name: middle(run.label, 20), at, ...run.parts[0].figures }))
    .filter(({ accuracy, rpts }) => accuracy.value !== null && rpts.value !== null);
  const taken = [];
  const free = (wanted) => {
    const places = [0, 14, -14, 28, -28, 42, -42, 56, -56].map((by) => Math.max(top, wanted + by));
    const place = places.find((at) => taken.every((other) => Math.abs(other - at) >= 14)) ?? wanted;
    taken.push(place);
    return place;
  };
  const grid = QUARTERS.map((k) => `M${left} ${top + (up * k) / 4}h${across}M${left + (across * k) / 4} ${top}v${up}`);
  const words = points.map((it) => `${it.name}: accuracy ${figure(it.accuracy.value)}, RPTS ${figure(it.rpts.value)}`);
  return drawing(300, 216, `RPTS against accuracy. ${words.join("; ")}`, h("path.grid", { d: grid.join("") }),
    QUARTERS.map((k) => label(left - 6, top + 4 + up * (1 - k / 4), k / 4, "side")), ticks(left, across, top + up + 16),
    points.map(({ name, at, accuracy, rpts }) => {
      const [px, py, right] = [x(accuracy.value), y(rpts.value), accuracy.value > 0.5];
      const whiskers = (accuracy.low === null ? "" : `M${x(accuracy.low)} ${py}H${x(accuracy.high)}`)
        + (rpts.low === null ? "" : `M${px} ${y(rpts.low)}V${y(rpts.high)}`);
      return [h(`path.whisker.run${at % 6}`, { d: whiskers }), h(`circle.run${at % 6}`, { cx: px, cy: py, r: 6 }),
        label(px + (right ? -10 : 10), free(py - 9), name, right ? "point.end" : "point")];
    }),
    label(left + across / 2, 212, "accuracy", "name"),
    h("text.name", { x: 12, y: top + up / 2, transform: `rotate(-90 12 ${top + up / 2})` }, "RPTS"));
}

/** Counts by row and column, darker where there are more; a row or column is [key, words, shown]. */
function heat(name, corner, rows, columns, counted) {
  const counts = rows.map(([row]) => columns.map(([column]) => counted(row, column)));
  const most = Math.max(1, ...counts.flat());
  const cell = (n) => h("span.heat", { style: `--heat:${Math.ceil((4 * n) / most) * 25}%` }, n || "");
  return table(name, [corner, ...columns.map(([, words]) => words)],
    rows.map(([, words, shown], at) => [shown ?? words, ...counts[at].map(cell)]), ".counts");
}

/* Overview */

function overview() {
  return [h("h1", { tabindex: -1 }, cut(data.title, 200)), data.sections.map(sectionOf)];
}

function sectionOf(section) {
  const titled = data.sections.length > 1 || !section.rpts;
  const level = titled ? "h3" : "h2";
  const shown = charts(section);
  return h("section", { id: section.name, "aria-label": section.title },
    titled && h("h2", section.title), section.rpts && h("p.lead", LEAD),
    section.judges.map((line) => h("p.judge", line)),
    section.warnings.map((line) => h("p.warning", { role: "note" }, cut(line, 400))),
    h("div.run-cards", section.runs.map((run, at) => card(section, run, at, level))),
    h(level, "Instances"), list(section),
    shown.length > 0 && [h(level, section.rpts ? "Answers and reasoning" : "Answers"), h("div.charts", shown)],
    section.metrics.length > 0 && folded("Metrics", metrics(section)),
    section.tables.length > 0 && folded("By kind of instance",
      h("div.kinds", section.tables.map((found) => breakdown(section, found)))),
    folded("Settings and metadata of the runs",
      table("Settings and metadata", ["from the results", ...section.runs.map((run) => middle(run.label))],
        section.facts.map(([name, values]) => [name, ...values])),
      faint("Possible secrets are masked as ***.")));
}

function card(section, run, at, level) {
  const stat = (words, value, ...notes) => h("div.stat",
    h("span.stat-name", words), h("span.stat-value", value), notes.map((note) => note && h("span.faint", note)));
  const headline = ([name, words], figures) => {
    const { value, n } = figures[name];
    const whole = Math.abs(value * n - Math.round(value * n)) < 1e-6; // not if there are several responses
    return stat(words, figure(value), ends(figures[name]), name === "right_for_wrong_reason" && value !== null && whole
      && `${Math.round(value * n)} of ${n} right answers`);
  };
  const shown = Object.keys(WORDS).filter((kind) => run.outcomes[kind]);
  const tokens = run.tokens[1] ? `${count(run.tokens[0], "token")} in ${count(run.tokens[1], "response")}` : "";
  return h("section.run-card", { "aria-label": `${section.title}: summary of ${run.label}` },
    h(level, runName(run, at)),
    run.parts.map(({ task, documents, unscored, figures }) => [task && faint(task), h("div.stats",
      Object.entries(section.headline).map((name) => headline(name, figures)),
      !section.rpts && stat("documents", thousands(documents), unscored ? `${unscored} not graded` : "all graded"))]),
    h("div.outcome-bar", { "aria-hidden": "true" }, shown.map((kind) => h(`span.o-${kind}`,
      { style: `flex:${run.outcomes[kind]}`, title: `${run.outcomes[kind]} ${WORDS[kind]}` }, run.outcomes[kind]))),
    h("ul.outcome-key", { "aria-label": "Legend" }, shown.map((kind) =>
      h("li", h("span.hidden-text", `${run.outcomes[kind]} `), chip(kind)))),
    spent(run.spent, tokens));
}

function charts(section) {
  const chart = (title, ...parts) => h("figure", h("figcaption", title), parts);
  const kinds = Object.keys(WORDS).filter((kind) => section.runs.some((run) => run.outcomes[kind]));
  const agreement = (run, at) => {
    const pairs = section.agreement.filter(([other]) => other === at + 1);
    const total = (chosen) => pairs.filter(chosen).reduce((sum, pair) => sum + pair[3], 0);
    const name = `${middle(section.runs[0].label, 30)} (rows) and ${middle(run.label, 30)} (columns)`;
    return chart(name, heat(name, "instances", kinds.map((kind) => [kind, WORDS[kind], chip(kind)]),
      kinds.map((kind) => [kind, WORDS[kind]]), (row, column) => total(([, a, b]) => a === row && b === column)),
    faint(`The same outcome for ${total(([, a, b]) => a === b)} of ${total(() => true)}.`));
  };
  const heights = [...new Set(section.runs.flatMap((run) => (run.errors || []).map(([height]) => height)))];
  heights.sort((a, b) => a - b);
  const errors = (run) => heat(`First wrong steps of ${run.label}`, "height",
    heights.map((height) => [height, height]), Object.keys(MODALITIES).map((kind) => [kind, kind]),
    (height, kind) => run.errors.find(([a, b]) => a === height && b === kind)?.[2] ?? 0);
  const titled = (words, draw) => section.runs.map((run) => chart(`${words}: ${middle(run.label)}`, draw(run)));
  return [section.runs.slice(1, 4).map(agreement), section.rpts && [
    titled("RPTS of right and wrong answers", (run) => histogram(section, run)),
    section.runs.length > 1 && chart("RPTS against accuracy", scatter(section)),
    titled("First wrong step by height and evidence", (run) => [heights.length > 0 && errors(run),
      faint(`${run.unbroken} without a wrong step${run.stepless ? `; ${run.stepless} without a readable step` : ""}`)]),
  ]].flat(9).filter(Boolean);
}

function metrics(section) {
  const groups = [...new Set(section.metrics.map((metric) => metric.group))];
  const name = ({ name: text, words }) => h("span",
    h("code", text.split("_").flatMap((part, at) => (at ? ["_", h("wbr"), part] : [part]))), h("span.words", words));
  const cell = (metric) => (found, at) => interval(found, metric.bar ? at : null,
    found.n !== section.runs[at].parts[0].documents && h("span.faint", ` n ${found.n}`));
  const rows = (group) => section.metrics.filter((metric) => metric.group === group)
    .map((metric) => [name(metric), ...metric.figures.map(cell(metric))]);
  return [h("div.kinds", groups.map((group) =>
    table(group || "Metrics", [group || "metric", ...section.runs.map(runName)], rows(group)))),
  faint("With 95% confidence intervals over documents. n: number of documents with a value, if not all have one.")];
}

/** A table of figures; the first figure of a row has a bar in the colour of its run. */
function breakdown(section, { title, heads, rows, more, notes = [] }) {
  const run = (row) => Math.max(0, section.runs.findIndex(({ label: name }) => row.includes(name)));
  const drawn = rows.map((row) => {
    const first = row.findIndex((value) => value?.low !== undefined && value.value <= 1);
    return row.map((value, at) => (at === first ? interval(value, run(row)) : value));
  });
  return h("div", h("h4", title), table(title, heads, drawn),
    more > 0 && faint(`${more} more rows: lmms-rpts summarize -o FILE.csv writes all of them.`),
    notes.map((note) => faint(note)));
}

/* The list of instances */

const START = { search: "", run: "", outcome: "", broken: "", flag: "", sort: null, down: false, shown: SLICE };
const views = new Map(data.sections.map((section) => [section, { ...START, by: {} }]));
const texts = new Map(); // what a search looks at, by entry; made when it is first needed

function textOf(entry) {
  if (!texts.has(entry)) texts.set(entry, JSON.stringify(entry).toLowerCase());
  return texts.get(entry);
}

/** The instances that the filters choose, in the order of the list. */
function chosen(section) {
  const view = views.get(section);
  const words = JSON.stringify(view.search.toLowerCase()).slice(1, -1).split(/\s+/);
  const fits = (answer) => (view.run === "" || answer.run === Number(view.run))
    && (!view.outcome || answer.outcome === view.outcome) && (!view.flag || answer.flags.includes(view.flag))
    && (!view.broken || answer.record.first_error?.modality === view.broken);
  const entries = section.entries.filter((entry) => entry.answers.some(fits)
    && Object.entries(view.by).every(([name, value]) => !value || (entry.tags[name] || []).includes(value))
    && words.every((word) => textOf(entry).includes(word)));
  if (view.sort === null) return entries;
  const { key } = columnsOf(section)[view.sort];
  const keyed = entries.map((entry) => [key(entry), entry]);
  const missing = keyed.filter(([value]) => value === null || value === undefined);
  const sorted = keyed.filter((pair) => !missing.includes(pair)).sort(([a], [b]) => (view.down ? -1 : 1)
    * (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b));
  return [...sorted, ...missing].map(([, entry]) => entry);
}

/** The columns of a list: heading, cell, and the value by which it is sorted. */
function columnsOf(section) {
  const several = new Set(section.entries.map((entry) => entry.task)).size > 1;
  const gold = ({ question: { right, gold: golds, options } }) =>
    (right === null ? golds.slice(0, 3).join("; ") : options[right] || "");
  const outcome = (entry, at) => {
    const answer = entry.answers[entry.worst[at]];
    if (!answer) return "no response";
    const own = entry.answers.filter(({ run }) => run === at);
    const right = own.filter((other) => other.outcome.startsWith("right")).length;
    const first = answer.record.first_error;
    return [outcomeOf(answer), own.length > 1 && h("span.note", `${right} of ${own.length} right`),
      first && h("span.note", `first error at height ${first.height}, ${first.modality}`)];
  };
  const score = (answer) => answer && (section.rpts ? badge(answer.score) : h("bdi", cut(answer.final || "–", 80)));
  return [
    { head: "instance", key: (entry) => `${entry.task} ${entry.name}`,
      cell: ({ id, task, name }) =>
        h("a", { href: `#${id}` }, several && [h("bdi", cut(task)), " · "], h("bdi", cut(name))) },
    { head: section.rpts ? "statement" : "question", key: (entry) => entry.question.text,
      cell: ({ question: { text, language } }) => h("span.clamp", { lang: language || null }, rich(text)) },
    !section.rpts && { head: "right answer", key: gold,
      cell: (entry) => h("span.clamp", { dir: "auto" }, rich(gold(entry))) },
    ...section.runs.flatMap((run, at) => [
      { head: middle(run.label, 40), cell: (entry) => outcome(entry, at),
        key: ({ answers, worst }) => answers[worst[at]] && Object.keys(WORDS).indexOf(answers[worst[at]].outcome) },
      { head: section.rpts ? "RPTS" : "answer", cell: ({ answers, worst }) => score(answers[worst[at]]),
        key: ({ answers, worst }) => answers[worst[at]]?.[section.rpts ? "score" : "final"] },
    ]),
  ].filter(Boolean);
}

function list(section) {
  const view = views.get(section);
  const columns = columnsOf(section);
  const result = h("div");
  function draw() {
    const entries = chosen(section);
    const shown = Math.min(view.shown, entries.length);
    const sort = (at) => () => {
      Object.assign(view, { sort: at, down: view.sort === at && !view.down });
      draw();
      result.querySelectorAll("thead button")[at].focus();
    };
    const listed = table(`Instances of ${section.title}`,
      columns.map(({ head }, at) => h("button", { type: "button", onclick: sort(at) }, head)),
      entries.slice(0, shown).map((entry) => columns.map(({ cell }) => cell(entry))), ".stack.instances");
    listed.classList.add("pane");
    listed.querySelectorAll("thead th").forEach((cell, at) => {
      cell.setAttribute("aria-sort", view.sort !== at ? "none" : view.down ? "descending" : "ascending");
    });
    listed.querySelectorAll("tbody tr").forEach((row, at) => row.addEventListener("click", (event) => {
      if (!event.target.closest("a") && !getSelection().toString()) location.hash = entries[at].id;
    }));
    const all = `${thousands(entries.length)} of ${count(section.entries.length, "instance")}`;
    const left = shown < entries.length;
    const more = { type: "button", onclick: change(view, "shown", view.shown + SLICE) };
    result.replaceChildren(h("p.shown", { role: "status" }, all, left && `, the first ${shown} shown`), listed,
      left ? h("button", more, `Show ${SLICE} more`) : "");
  }
  const change = (target, key, value) => (event) => {
    view.shown = SLICE;
    target[key] = value ?? event.target.value;
    draw();
  };
  const select = (title, options, key, target = view) => options.length > 0 && h("label", title, h("select",
    { onchange: change(target, key) }, h("option", { value: "" }, "any"), options.map(([value, words]) =>
      h("option", { value, selected: String(value) === target[key] }, cut(String(words), 60)))));
  const kinds = Object.keys(WORDS).filter((kind) => section.runs.some((run) => run.outcomes[kind]));
  const flags = [...new Set(section.entries.flatMap((entry) => entry.answers.flatMap((answer) => answer.flags)))];
  const form = h("form.controls", { role: "search", "aria-label": `Filter instances of ${section.title}` },
    h("label", "Search",
      h("input", { type: "search", value: view.search, maxlength: 300, oninput: change(view, "search") })),
    section.runs.length > 1 && select("Model", section.runs.map((run, at) => [at, run.label]), "run"),
    kinds.length > 1 && select(section.rpts ? "Outcome" : "Grade", kinds.map((kind) => [kind, WORDS[kind]]), "outcome"),
    section.rpts && select("First error", Object.entries(MODALITIES), "broken"),
    select("Check", flags.map((flag) => [flag, flag]), "flag"),
    Object.entries(section.filters).map(([name, values]) => select(
      name[0].toUpperCase() + name.slice(1).replaceAll("_", " "), values.map((value) => [value, value]), name,
      view.by)),
    h("button", { type: "reset" }, "Clear"));
  const place = h("div.list", section.entries.length < section.total && h("p.warning", { role: "note" },
    `${thousands(section.entries.length)} of ${count(section.total, "instance")} are shown, those with wrong answers `
    + "first. The numbers above cover all."), form, result);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => {
    Object.assign(view, START, { by: {} });
    place.replaceWith(list(section));
  });
  draw();
  return place;
}

/* One instance: the question with its evidence, and each answer with its tree, steps and judge */

const nameOf = (section, answer) => middle(section.runs[answer.run].label) + (answer.which && `, ${answer.which}`);

function instance(section, entry) {
  const order = chosen(section);
  const at = order.indexOf(entry);
  const step = (words, other, rel) => other && h(`a.${rel}`, { href: `#${other.id}`, rel }, words);
  const tags = new Set(Object.values(entry.tags).flatMap((values) => values.slice(0, 20)));
  return [h("p.crumbs", h("a", { href: `#${section.name}` }, "All instances"), h("span.step-by",
    at >= 0 && h("span.faint", `${at + 1} of ${order.length}`),
    step("Previous", order[at - 1], "prev"), step("Next", order[at + 1], "next"))),
  h("h1.small", { tabindex: -1 }, h("bdi", cut(entry.task)), " · ", h("bdi", cut(entry.name))),
  h("p.tags", [...tags].filter((tag) => tag !== entry.task).map((tag) => h("span.tag", cut(tag, 60)))),
  h("div.instance", h("div.question", statement(section, entry), evidence(section, entry)),
    h("div.chains", entry.answers.map((answer, number) => answerCard(section, entry, answer, number)), gold(entry)))];
}

function statement(section, entry) {
  return h("section.card", h("h2", section.rpts ? "Statement" : "Question"), asked(entry.question),
    h("ul.verdicts", entry.answers.map((answer, number) => h("li",
      h("a", { href: `#${entry.id}--${number}` }, nameOf(section, answer)), ": ",
      h("bdi", cut(answer.final || "no answer", 120)), " ", outcomeOf(answer),
      section.rpts && [" ", h("span.figure", "RPTS ", badge(answer.score))]))),
    entry.hidden.map(([run, n]) => faint(`${middle(section.runs[run].label)}: ${count(n, "more answer")} not shown.`)));
}

/** A question with its options and the right answer. */
function asked({ text, options, marks, right, gold: golds, language }) {
  const lang = language || null;
  const more = (all, shown) => all > shown && h("span.faint", ` and ${thousands(all - shown)} more`);
  const option = (at) => h("span", { dir: "auto" }, marks[at] && h("b", `(${marks[at]}) `), rich(options[at]));
  const answers = options[right] !== undefined ? [h("b", option(right))]
    : golds.slice(0, 20).map((answer, at) => [at > 0 && "; ", h("b", rich(answer))]);
  return [text ? h("div.asked-text", { lang }, rich(text, true)) : faint("The samples do not contain the question."),
    options.length > 0 && h("ul.options", { lang }, options.slice(0, MOST).map((_, at) =>
      h(at === right ? "li.gold-option" : "li", option(at), at === right && [" ", h("span.tag", "right")])),
    options.length > MOST && h("li", more(options.length, MOST))),
    answers.length ? h("p", "Right answer: ", answers, more(golds.length, 20))
      : faint("The samples do not contain the right answer.")];
}

function evidence(section, entry) {
  const row = (key, text) => [h("dt", leaf(key)),
    h("dd", { lang: entry.question.language || null, "data-clue": key.join(":") }, text)];
  const details = Object.entries(entry.question.details || {});
  return h("section.card.clues", h("h2", section.rpts ? "Evidence" : "Images and data"),
    section.rpts && h("dl", row(["context", null],
      entry.context === entry.question.text ? h("span.faint", "the question") : rich(entry.context, true)),
    entry.texts.map((text, at) => row(["text", at], rich(text, true)))),
    h("div.images", entry.images.map(([name, number], at) => picture(name, number, at))),
    entry.more_images > 0 && faint(`${count(entry.more_images, "more image")} not included.`),
    details.length > 0 && h("dl", details.map(([name, text]) => [h("dt.faint", name), h("dd", rich(text, true))])));
}

function picture(name, number, at) {
  const title = `Image ${at}${name && `: ${name}`}`;
  const shown = () => {
    const [src, width, height] = data.images[number];
    return h("img", { src, width, height, alt: title, loading: "lazy" });
  };
  return h("figure", { "data-clue": `image:${at}` }, h("figcaption", leaf(["image", at]), " ", h("span.faint", name)),
    number === null ? h("p.no-image", "The image is not on this machine: set its folder with --images.")
      : h("button.enlarge", { type: "button", "aria-label": `Enlarge ${title}`,
        onclick: () => dialog(title, shown()) }, shown()));
}

/** A citation; it lights up the evidence that it names. */
function leaf(key, fault = null) {
  const light = (on) => () => document.querySelectorAll(`[data-clue="${key.join(":")}"]`)
    .forEach((element) => element.classList.toggle("lit", on));
  return h(`span.leaf.${key[0]}${fault ? ".fault" : ""}`,
    { title: fault, onmouseenter: light(true), onmouseleave: light(false) }, clue(key));
}

function answerCard(section, entry, answer, number) {
  const anchor = `${entry.id}--${number}`;
  const { record } = answer;
  return h("section.card", { id: anchor, "aria-label": nameOf(section, answer) },
    h("h2", middle(section.runs[answer.run].label), " ", h("small", answer.which)),
    section.rpts ? reasoning(entry, answer, anchor, nameOf(section, answer)) : grades(entry, answer),
    spent(answer.spent, answer.tokens === null ? "" : count(answer.tokens, "token")),
    prompt(entry, answer), response(section, answer),
    answer.rewritten && folded("Steps as rewritten by the judge", call(answer.rewritten, record.transform.verdict)),
    answer.read && folded("Answer as read by the judge", call(answer.read, record.answer.verdict)), raw(entry, record));
}

function prompt(entry, answer) {
  const title = "Exact prompt to the model";
  if (answer.prompt === null) return folded(title, faint("The samples do not contain the prompt."));
  const turns = data.prompts[answer.prompt];
  return folded(title, turns.map(([role, text]) => said(role || "user", text)), entry.images.length > 0 && !turns[0][0]
    && faint("Images were passed beside this text; the model’s own template sets their places."));
}

function response(section, { text, thinking, record }) {
  if (text === null && record.numbers) return null; // likelihoods of options
  const shown = text === null ? faint("The samples do not contain the response.")
    : text ? passage(text) : faint("The response is empty.");
  const thought = thinking !== null && folded(`Thinking (${thousands(thinking.length)} characters)`, passage(thinking));
  if (!section.rpts) return [h("h3", "Response"), thought, shown];
  const details = folded("Full response", record.transform.problems.map(problem), shown);
  details.open = record.steps.length === 0;
  return details;
}

/** The record as JSON, made when it is opened. */
function raw(entry, record) {
  const place = h("div");
  const fill = () => place.childElementCount || place.append(
    h("pre", { tabindex: 0 }, JSON.stringify({ instance: entry.instance, ...record }, null, 1)));
  return h("details.record", { ontoggle: fill }, h("summary", "Raw record"), place);
}

const said = (role, text) => [h("p.role", cut(role, 40)), h("pre", { tabindex: 0, dir: "auto" }, text)];

/** A request to a judge and its reply. */
function call({ same, system, user, images, spent: took }, verdict) {
  return [verdict.reply && said("reply", verdict.reply), problem(verdict.error), spent(took),
    same === false && h("p.warning", "Rebuilt with other templates than those of the run: the words may differ."),
    user !== undefined && [folded("Instructions", h("pre", { tabindex: 0 }, data.systems[system])),
      said("user", [...images.map((name) => `[${name}]`), user].join("\n"))]];
}

/** A response with its tree and the scores of its steps. */
function reasoning(entry, answer, anchor, name) {
  const { record, score } = answer;
  const error = record.first_error;
  const link = (step) => h("a", { href: `#${anchor}-s${step}` }, `Conclusion ${step}`);
  const later = error?.path.slice(1).map((step, at) => [at > 0 && ", ", link(step)]);
  const { reason, steps, invalid_references: faults, diagnosis: { restating } } = record;
  return [h("p.verdict", outcomeOf(answer), " answer: ", h("b", answer.final || "none found"), ", ",
    h("span.figure", "RPTS ", badge(score))),
    problem(reason && (reason.startsWith("not judged") ? reason : `not judged: ${reason}`)),
    problem(answer.error && `The answer could not be determined: ${answer.error}`),
    error ? h("p.broken", "First error: ", link(error.step), `, height ${error.height}, `,
      `${MODALITIES[error.modality]}, score ${figure(error.score)}.`,
      later.length > 0 && [" Steps that depend on it: ", later, "."])
      : score !== null && steps.length > 0 && h("p.whole", "All counted steps score at least 0.5."),
    steps.length ? tree(steps, { anchor, name: `Reasoning of ${name}`, error, restating, faults })
      : faint("No reasoning step could be parsed from the response."),
    steps.map((step, at) => judged(entry, answer, step, at, anchor))];
}

/** A step with its score; below 0.5 with the judge's reason. */
function judged(entry, { record, calls }, step, at, anchor) {
  const first = record.first_error?.step === at;
  const faults = record.invalid_references.filter((fault) => fault.step === at);
  const fault = ([kind, index]) => faults.find((other) => other.kind === kind && other.index === index)?.reason;
  const reasons = step.verdicts.map((verdict, k) => calls[at][k].reason ?? verdict.reply).filter(Boolean);
  const question = ({ kind }, k) => (k ? SECOND : kind.startsWith("image") ? "Is this what the image shows?"
    : "Does the conclusion follow?");
  return h(`article.judged${first ? ".first" : ""}`, { id: `${anchor}-s${at}`, style: `--kind:${colour(step.score)}` },
    h("h3", `Conclusion ${at} `, badge(step.score), first && [" ", h("span.flag", "first wrong step")],
      record.diagnosis.restating.includes(at) && [" ", h("span.tag", "restates")]),
    h("p", "from ", step.premises.length ? step.premises.map((key, k) => [k > 0 && " + ", leaf(key, fault(key))])
      : "nothing", " ", h("span.faint", `height ${step.height}, ${MODALITIES[step.modality]}`
      + (step.counts ? "" : "; not counted: the last conclusion does not depend on it"))),
    h("p.conclusion", { lang: entry.question.language || null }, rich(step.conclusion || "(empty)")),
    faults.map(({ kind, index, reason }) => problem(`${clue([kind, index])} does not exist: ${reason}.`)),
    step.score !== null && step.score < THRESHOLD && [...new Set(reasons)].map((reason) =>
      h("div.reason", h("b", "Judge: "), rich(reason, true))),
    step.note && faint(`Not judged: ${step.note}.`),
    step.verdicts.length > 0 && folded("Judge request and reply", step.verdicts.map((verdict, k) =>
      [h("p", question(verdict, k), " ", badge(verdict.value)), call(calls[at][k], verdict)])));
}

function gold(entry) {
  return entry.gold?.length > 0 && h("section.card", h("h2", "Gold reasoning"),
    h("ul.gold-steps", { lang: entry.question.language || null }, entry.gold.map((line) => h("li", rich(line)))));
}

/** An answer with all of its grades, and what else a judge said. */
function grades(entry, answer) {
  const { record, question = entry.question } = answer;
  const part = (key, name, kind, words, value, ...parts) => h(`article.judged.o-${kind}`,
    h("h3", name, " ", chip(kind, words), key === record.grader && [" ", h("span.tag", "counts")]), parts,
    problem(value.reason !== record.reason && value.reason),
    answer.calls[key] && folded("Judge request and reply", call(answer.calls[key], value.verdict)));
  const graded = ({ score, verdict }) => {
    if (score === null) return ["unscored", verdict?.error ? "failed" : "undecided"];
    if (answer.scale) return ["value", score.toFixed(3)];
    return score === 1 ? ["right", "right"] : score === 0 ? ["wrong", "wrong"] : ["partial", figure(score)];
  };
  const numbers = Object.entries(record.numbers || {});
  const option = (text, at) => [h("span", rich(text), question.right === at && [" ", h("span.tag", "right")],
    record.grades[record.grader]?.chosen === at && [" ", h("span.tag", "chosen")]),
  ...numbers.map(([, values]) => (values[at] === undefined ? "–" : values[at].toFixed(3)))];
  return [h("p.verdict", outcomeOf(answer),
    answer.final !== null && [" final answer: ", h("b", rich(answer.final || "none found"))]), problem(record.reason),
  answer.question && folded("Question as asked in this variant", asked(question)),
  numbers.length > 0 && [table("Options", ["option", ...numbers.map(([name]) => name.replaceAll("_", " "))],
    question.options.slice(0, MOST).map(option), ".counts"),
  question.options.length > MOST && faint(`and ${thousands(question.options.length - MOST)} more options`)],
  Object.entries(record.grades).map(([key, grade]) =>
    part(key, { rule: "rules", strict: "strict rules" }[key] || answer.judge, ...graded(grade), grade,
      grade.rule && h("p", rich(grade.rule)), grade.answer !== undefined && h("p", "Answer found: ",
        grade.answer.trim() ? h("bdi", rich(grade.answer)) : h("span.faint", "none")))),
  Object.entries(record.findings || {}).map(([key, finding]) =>
    part(key, key.replaceAll("_", " "), "unscored", finding.value || "failed", finding))];
}

/* The tree: evidence below, the last conclusion on top; the browser places the boxes, lines run behind them */

function tree(steps, { anchor, name, error, faults, restating }) {
  if (steps.length > MOST) return faint(`${steps.length} steps are too many for a picture.`);
  const fault = (at, [kind, index]) =>
    faults.find((other) => other.step === at && other.kind === kind && other.index === index)?.reason;
  const earlier = (at) => ([kind, index]) => kind === "conclusion" && index !== null && index < at;
  const nodes = steps.map((step, at) => ({ at, box: stepBox(step, at, { anchor, error, restating }), parents: [] }));
  steps.forEach((step, at) => {
    nodes[at].height = 1 + Math.max(0, ...step.premises.filter(earlier(at)).map(([, index]) => nodes[index].height));
  });
  const layers = Array.from({ length: Math.max(...nodes.map((node) => node.height)) + 1 }, () => []);
  nodes.forEach((node) => layers[node.height].push(node));
  const wiring = []; // the boxes that a line passes: what is cited, spacers between the layers, the citing step
  steps.forEach((step, at) => {
    const kind = step.counts === false ? ".stray" : "";
    for (const key of new Map(step.premises.map((premise) => [premise.join(), premise])).values()) {
      const cited = earlier(at)(key) ? nodes[key[1]]
        : { box: leaf(key, fault(at, key)), height: nodes[at].height - 1, order: 2 };
      if (cited.order) layers[cited.height].push(cited);
      const passed = [cited];
      for (let height = cited.height + 1; height < nodes[at].height; height++) {
        passed.push({ box: h("span.spacer"), order: 1 });
        layers[height].push(passed.at(-1));
      }
      passed.push(nodes[at]);
      passed.slice(0, -1).forEach((node, k) => { (node.parents ??= []).push(passed[k + 1]); });
      const broken = error?.path.some((from, k) => nodes[from] === cited && error.path[k + 1] === at);
      wiring.push({ passed, kind: broken ? ".path" : kind });
    }
  });
  for (const layer of layers.toReversed()) { // each box below the middle of those that it supports
    for (const node of layer) {
      const places = node.parents.map((parent) => parent.place);
      node.wanted = places.length ? places.reduce((sum, place) => sum + place, 0) / places.length : 1;
    }
    layer.sort((a, b) => a.wanted - b.wanted || (a.order || 0) - (b.order || 0));
    layer.forEach((node, k) => { node.place = (k + 0.5) / layer.length; });
  }
  const wires = h("svg.wires", { "aria-hidden": "true" });
  const drawn = h("div.tree", wires, layers.toReversed().map((layer) => h("div.layer", layer.map(({ box }) => box))));
  const draw = (zoom) => {
    drawn.style.zoom = zoom;
    const origin = drawn.getBoundingClientRect();
    const place = ({ box }) => {
      const { x, y, width, bottom } = box.getBoundingClientRect();
      const floor = box.parentElement.getBoundingClientRect().bottom; // boxes of a layer have different heights
      const across = (x - origin.x + width / 2) / zoom;
      const [top, end, layer] = [y, bottom, floor].map((edge) => (edge - origin.y) / zoom);
      return { x: across, top, end, layer };
    };
    wires.replaceChildren(...wiring.map(({ passed, kind }) => {
      const curves = passed.map(place).map((to, k, places) => {
        if (!k) return `M${to.x} ${to.top}`;
        const { x, top } = places[k - 1];
        const half = (top + to.layer) / 2;
        return `${k > 1 ? `V${top}` : ""}C${x} ${half} ${to.x} ${half} ${to.x} ${to.layer}V${to.end}`;
      });
      return h(`path${kind}`, { d: curves.join("") });
    }));
  };
  const scroll = h("div.tree-scroll", { tabindex: 0, role: "group", "aria-label": `${name} as a tree` });
  const fit = () => {
    if (!scroll.clientWidth) return; // it is not on the page any more
    draw(1);
    draw(Math.min(1, Math.max(0.7, scroll.clientWidth / drawn.scrollWidth)));
  };
  new ResizeObserver(fit).observe(scroll);
  const path = error && ` The first wrong step is Conclusion ${error.step}; the path from it to the root is `
    + `${error.path.map((step) => `Conclusion ${step}`).join(", ")}.`;
  const save = () => {
    draw(1);
    download(`${anchor}.svg`, svgOf(drawn), "image/svg+xml");
    fit();
  };
  const size = `A tree of ${count(steps.length, "step")}, height ${layers.length - 1}.`;
  scroll.append(h("p.hidden-text", size, path), drawn);
  return [scroll, h("p.tree-save", h("button", { type: "button", onclick: save }, "Save picture (SVG)"))];
}

function stepBox({ score, counts, conclusion }, at, { anchor, error, restating }) {
  const kinds = [error?.step === at && ".first", counts === false && ".stray", score === undefined && ".unscored"];
  return h(`a.node${kinds.filter(Boolean).join("")}`, { href: `#${anchor}-s${at}`, style: `--kind:${colour(score)}` },
    h("span.head", h("b", `Conclusion ${at}`), score !== undefined && h("b", figure(score))),
    error?.step === at && h("span.flag", "first wrong step"), restating.includes(at) && h("span.tag", "restates"),
    h("span.text", rich(conclusion || "(empty)")));
}

/** A colour of the page as other programs know it. */
function hex(value) {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
  canvas.fillStyle = value;
  canvas.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
  return alpha ? `#${[red, green, blue].map((part) => part.toString(16).padStart(2, "0")).join("")}` : "none";
}

/** A tree as it is on the page, as an SVG file of its own: lines, boxes, and each line of text. */
function svgOf(drawn) {
  const origin = drawn.getBoundingClientRect();
  const [width, height] = [drawn.scrollWidth + 8, drawn.scrollHeight + 8];
  const made = h("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `-4 -4 ${width} ${height}` },
    h("rect", { x: -4, y: -4, width, height, fill: hex(getComputedStyle(drawn.closest(".card")).backgroundColor) }));
  for (const wire of drawn.querySelectorAll("path")) {
    const { stroke, strokeWidth, strokeDasharray } = getComputedStyle(wire);
    made.append(h("path", { d: wire.getAttribute("d"), fill: "none", stroke: hex(stroke), "stroke-width": strokeWidth,
      "stroke-dasharray": strokeDasharray }));
  }
  for (const box of drawn.querySelectorAll(".node, .leaf, .flag, .tag")) {
    const [style, place] = [getComputedStyle(box), box.getBoundingClientRect()];
    made.append(h("rect", { x: place.x - origin.x, y: place.y - origin.y, width: place.width, height: place.height,
      rx: Math.min(parseFloat(style.borderRadius), place.height / 2), fill: hex(style.backgroundColor),
      stroke: hex(style.borderColor), "stroke-width": style.borderWidth,
      "stroke-dasharray": style.borderStyle === "dashed" ? "4 3" : null }));
  }
  const walker = document.createTreeWalker(drawn, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const style = getComputedStyle(node.parentElement);
    const bottom = node.parentElement.closest(".node, .leaf").getBoundingClientRect().bottom;
    const range = document.createRange();
    let line = null; // the characters at one height
    for (let at = 0; at < node.length; at++) {
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const place = range.getBoundingClientRect();
      if (!place.width || place.bottom > bottom) continue;
      if (!line || Math.abs(line.top - place.top) > 2) {
        const [x, y] = [place.x - origin.x, place.bottom - origin.y - place.height * 0.22];
        line = { top: place.top, text: h("text", { x, y, "font-size": style.fontSize, "font-weight": style.fontWeight,
          "font-family": "system-ui, sans-serif", fill: hex(style.color) }) };
        made.append(line.text);
      }
      line.text.append(node.data[at]);
    }
  }
  return new XMLSerializer().serializeToString(made);
}

function download(name, content, type) {
  const link = h("a", { download: name, href: URL.createObjectURL(new Blob([content], { type })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/* Rating: one step at a time, three buttons, and a file of the scores */

const SCORES = [["1", 1, "sound"], ["2", 0.5, "unsure"], ["3", 0, "wrong"]];
const CRITERIA = [
  ["Does it follow?", "A step that draws a conclusion from premises. Rate only the inference: accept the premises as "
    + "true, and ignore whether the conclusion is true in the real world. Sound: given the premises, the situation and "
    + "common sense, it must be true. Unsure: they make it likely, but something is missing. Wrong: it contradicts "
    + "them, or needs a fact that is not given."],
  ["Is it in the image?", "A step that describes an image. Sound: the image shows it, even if the description is "
    + "incomplete. Unsure: partly right, or too vague to decide. Wrong: the image contradicts it, or it describes "
    + "something else."],
  ["Errors before it", "Do not penalise a step for an error in an earlier step that it builds on."],
];

/** Draws the page for raters; returns what its keys do. */
function rating() {
  const items = data.sections[0].entries.flatMap((entry) =>
    entry.steps.map((step, at) => ({ entry, step, at })).filter(({ step }) => step.kind));
  const stored = `lmms-rpts-ratings ${items.map(({ entry: it, at }) => [it.task, it.doc_id, it.repeat, at]).join(";")}`;
  const state = { rater: "", scores: {}, current: 0 };
  try { Object.assign(state, JSON.parse(localStorage.getItem(stored))); } catch { /* the browser stores nothing */ }
  const keep = () => { try { localStorage.setItem(stored, JSON.stringify(state)); } catch { /* as above */ } };
  const [place, note] = [h("div.instance"), h("p", { role: "status" })];
  const progress = h("progress", { max: items.length, "aria-label": "Steps rated" });
  const rater = h("input", { id: "rater", maxlength: 80, autocomplete: "off", value: state.rater, oninput: () => {
    state.rater = rater.value;
    keep();
  } });
  const button = (words, onclick) => h("button", { type: "button", onclick }, words);
  const buttons = SCORES.map(([key, score, words]) => button([h("kbd", key), ` ${words}`], () => rate(score)));
  const go = (to) => {
    state.current = Math.min(items.length - 1, Math.max(0, to));
    keep();
    draw();
  };
  const [next, previous] = [() => go(state.current + 1), () => go(state.current - 1)];
  const rate = (score) => {
    state.scores[state.current] = score;
    const open = items.findIndex((_, at) => at > state.current && state.scores[at] === undefined);
    go(open < 0 ? state.current + 1 : open);
  };
  const save = () => {
    const name = rater.value.trim();
    if (!name) {
      note.textContent = "Enter your name first: it distinguishes your scores from those of other raters.";
      rater.focus();
      return;
    }
    const ratings = items.map(({ entry: { task, doc_id, id, repeat }, step: { conclusion }, at }, k) => ({
      task, doc_id, id, repeat, step: at, conclusion, score: state.scores[k],
    })).filter(({ score }) => score !== undefined);
    const content = { format: "lmms-rpts-ratings", version: 1, rater: name, ratings };
    const file = `ratings-${name.replace(/[^\p{L}\p{N}]+/gu, "-")}.json`;
    download(file, JSON.stringify(content, null, 1), "application/json");
    note.textContent = `Saved ${count(ratings.length, "score")} as ${file}.`;
  };
  const draw = () => {
    const { entry, step, at } = items[state.current];
    const image = step.kind === "image";
    const pictures = (numbers) => h("div.images", numbers.map((number) => picture(...entry.images[number], number)));
    progress.value = Object.keys(state.scores).length;
    note.textContent = `Step ${state.current + 1} of ${items.length}, ${progress.value} rated`;
    buttons.forEach((each, k) => each.setAttribute("aria-pressed", state.scores[state.current] === SCORES[k][1]));
    place.replaceChildren(h("section.card", h("h2", image ? "Is this in the image?" : "Does the conclusion follow?"),
      image ? pictures(step.images) : [h("h3", "Situation"), rich(entry.context, true), h("h3", "Premises"),
        h("ol", step.evidence.map((text) => h("li", rich(text, true))))],
      h("h3", image ? "Claim" : "Conclusion"),
      h("p.claim", { lang: entry.language }, rich(step.conclusion || "(empty)"))),
    h("div.chains", h("section.card", h("h2", "All steps of this response"), entry.steps.map((other, k) =>
      h(`p${k === at ? ".current" : ""}`, h("b", `Conclusion ${k}: `), rich(other.conclusion || "(empty)"),
        h("span.faint", ` from ${other.premises.map(clue).join(" + ") || "nothing"}`)))),
    h("section.card", h("h2", entry.asked), rich(entry.statement, true),
      h("dl", entry.texts.map((text, k) => [h("dt", leaf(["text", k])), h("dd", rich(text, true))])),
      !image && pictures([...entry.images.keys()]))));
  };
  const how = folded("How to rate", h("dl", CRITERIA.map(([name, text]) => [h("dt", name), h("dd", text)])));
  how.open = Object.keys(state.scores).length === 0;
  main.replaceChildren(h("h1", data.title), how, place, h("div.bar-bottom", note, progress,
    h("div.scale", { role: "group", "aria-label": "Score" }, buttons), button("← Previous", previous),
    button("Next →", next), h("label", "Your name ", rater), button("Save", save)));
  draw();
  return { j: next, k: previous, ArrowRight: next, ArrowLeft: previous,
    ...Object.fromEntries(SCORES.map(([key, score]) => [key, () => rate(score)])) };
}

/* The page follows the address; keys; colours */

const places = new Map((data.rate ? [] : data.sections).flatMap((section) =>
  section.entries.map((entry) => [entry.id, { section, entry }])));
let open = null; // the section and the entry that are shown; null: the overview

function show() {
  const id = location.hash.slice(1).replace(/[^\w-]/g, "");
  if (id === "main") return; // the link that skips the header
  const [next, before] = [places.get(id.split("--")[0]) || null, open];
  if (!main.childElementCount || next !== before) {
    open = next;
    main.replaceChildren(...(next ? instance(next.section, next.entry) : overview()).flat(9).filter(Boolean));
    document.title = next ? `${next.entry.task} · ${next.entry.name} · ${data.title}` : data.title;
    window.scrollTo(0, 0);
    if (next) main.querySelector("h1").focus({ preventScroll: true });
  }
  main.querySelectorAll(".target").forEach((element) => element.classList.remove("target"));
  const target = id && document.getElementById(id);
  if (target) target.scrollIntoView();
  if (target && id.includes("--")) target.classList.add("target");
  const row = !next && before && main.querySelector(`.instances a[href="#${before.entry.id}"]`);
  if (!row) return;
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: "center" });
}

function dialog(title, ...parts) {
  const made = h("dialog", { "aria-label": title }, h("h2", title), parts,
    h("form", { method: "dialog" }, h("button", "Close")));
  made.addEventListener("close", () => made.remove());
  made.addEventListener("click", (event) => event.target === made && made.close());
  document.body.append(made);
  made.showModal();
}

const KEYS = data.rate
  ? [["1 2 3", "sound, unsure, wrong"], ["j →", "next step"], ["k ←", "previous step"], ["?", "this list"]]
  : [["j →", "next instance; in the list the next row"], ["k ←", "previous instance; in the list the previous row"],
    ["Enter", "open the row"], ["/", "search"], ["Esc", "close a dialog, or go back to all instances"],
    ["?", "this list"]];
const help = () => dialog("Keyboard shortcuts", h("dl", KEYS.map(([keys, words]) =>
  [h("dt", keys.split(" ").map((key) => [h("kbd", key), " "])), h("dd", words)])));

/** Goes to the next or previous instance; on the overview, to the next or previous row. */
function move(by) {
  if (open) return main.querySelector(by > 0 ? ".next" : ".prev")?.click();
  const links = [...main.querySelectorAll(".instances tbody a")];
  links[Math.min(links.length - 1, Math.max(0, links.indexOf(document.activeElement) + by))]?.focus();
}
const back = () => { if (open) location.hash = open.section.name; };
const search = () => {
  back();
  setTimeout(() => main.querySelector("input[type=search]").focus());
};
const arrow = (by) => (event) => event.target.closest(".tree-scroll, .scroll, pre, .passage") || move(by);
const actions = { "?": help, ...(data.rate ? rating() : { j: () => move(1), k: () => move(-1), "/": search,
  ArrowRight: arrow(1), ArrowLeft: arrow(-1), Escape: back }) };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input, select")) {
    if (event.key === "Escape") event.target.blur();
  } else if (Object.hasOwn(actions, event.key)) {
    if (!event.key.startsWith("Arrow")) event.preventDefault();
    actions[event.key](event);
  }
});
window.addEventListener("beforeprint", () => {
  main.querySelectorAll("details:not(.record)").forEach((details) => { details.open = true; });
});

const theme = h("button", { type: "button", onclick: () => setTheme(theme.textContent.toLowerCase()) });
function setTheme(name) {
  document.documentElement.style.colorScheme = name;
  theme.textContent = name === "dark" ? "Light" : "Dark";
  theme.setAttribute("aria-label", `${theme.textContent} colours`);
}
setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
document.querySelector("header").append(h("nav", { "aria-label": "Parts of the report" },
  !data.rate && data.sections.map(({ name, title }) =>
    h("a", { href: `#${name}` }, data.sections.length > 1 ? title : "Overview"))),
h("button", { type: "button", onclick: help }, "Shortcuts"), theme);
document.querySelector("footer").append(
  `Made by lmms-rpts ${data.version} from samples of lmms-eval. RPTS: Wang and Zhang, arXiv 2511.06899.`);
if (!data.rate) {
  window.addEventListener("hashchange", show);
  show();
}
