"use strict";
// Draws a report, or a page for raters, from the JSON in the page. Texts are set as text nodes; the
// only HTML that is inserted is what lmms_rpts/report/text.py made of formulas and Markdown.

const data = JSON.parse(document.getElementById("data").textContent);
const [blocks, lines] = data.html.map((known) => new Map(Object.entries(known)));
const main = document.getElementById("main");
const THRESHOLD = 0.5;
const SLICE = 100; // rows of a list that are drawn at a time
const MOST = 100; // options of a question, steps of a tree, and characters of a label
const WORDS = {
  right_sound: "right, RPTS ≥ 0.5", right_unsound: "right for the wrong reason", wrong_sound: "wrong, RPTS ≥ 0.5",
  wrong_unsound: "wrong, RPTS < 0.5", no_steps: "no readable step", unjudged: "not judged, or no answer",
  right: "right", partial: "right in part", value: "scored", wrong: "wrong", unscored: "not graded",
};
const MODALITIES = {
  visual: "from images only", textual: "from texts only", mixed: "from images and texts",
  inference: "from earlier conclusions",
};
const SECOND = "Second judge call, with all texts and all earlier conclusions. 0.8 times this score (one decimal) " +
  "is used if it is higher than the first score.";
const LEAD = "Did the model reason its way to the answer, or just land on it? A judge scored each step of the " +
  "reasoning from 0 to 1; RPTS is the weighted mean of these scores. A right answer with an RPTS below 0.5 is " +
  "right for the wrong reason. A response with a higher RPTS may still have a wrong step.";

/* Elements */

const HIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const DRAWN = new Set(["svg", "path", "rect", "circle", "text"]);

/** A text with visible marks for control characters and controls of the writing direction. */
function marked(text) {
  return String(text).replace(HIDDEN, (sign) => {
    const code = sign.charCodeAt(0);
    return code < 32 ? String.fromCharCode(0x2400 + code) : `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
  });
}

/** An element: h("td.score", { title: "..." }, "text", child, [children]). Texts are never HTML. */
function h(name, ...parts) {
  const [tag, ...classes] = name.split(".");
  const svg = "http://www.w3.org/2000/svg";
  const element = DRAWN.has(tag) ? document.createElementNS(svg, tag) : document.createElement(tag);
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
const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

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
  return `color-mix(in srgb, var(${score < 0.5 ? "--wrong-score" : "--right-score"}) ${share}%, var(--half-score))`;
}

const badge = (score) => h("span.score", { style: `background:${colour(score)}` }, figure(score));
const chip = (outcome, words = WORDS[outcome]) => h(`span.chip.o-${outcome}`, words);
const swatch = (run) => h(`span.swatch.run${run % 6}`);
const clue = ([kind, index]) => kind[0].toUpperCase() + kind.slice(1) + (index === null ? "" : ` ${cut(`${index}`, 6)}`);

function outcomeOf(answer) {
  if (answer.scale && answer.score !== null) return chip("value", `${answer.scale} ${figure(answer.score)}`);
  return [chip(answer.outcome), answer.flags.map((flag) => [" ", h("span.tag.check", flag)])];
}

/** Tokens and cost of calls, in words. */
function spent(took, tokens = "") {
  const parts = [tokens];
  if (took.calls > 1) parts.push(`${count(took.calls, "judge call")}${took.cached ? `, ${took.cached} cached` : ""}`);
  if (took.tokens_in !== null) parts.push(`${count(took.tokens_in, "token")} in, ${took.tokens_out} out`);
  if (took.cost !== null) parts.push(`cost ${took.cost.toPrecision(3)}`);
  if (took.calls === 1 && took.cached) parts.push("cached");
  return parts.some(Boolean) && h("p.faint.spent", parts.filter(Boolean).join("; "));
}

/* Tables and charts */

/** A table that a narrow window lays out as a stack; roles are given, since that layout loses them. */
function table(name, heads, rows, kind = "") {
  const head = (each) => (each instanceof Node ? each.textContent : each);
  const cell = (value, at) => h(at ? "td" : "th", { role: at ? "cell" : "rowheader", scope: !at && "row" },
    { "data-head": head(heads[at]) }, value !== null && typeof value === "object" && "low" in value ? interval(value) : value);
  return h("div.scroll", { tabindex: 0, role: "region", "aria-label": name },
    h(`table.stack${kind}`, { role: "table" },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" },
        heads.map((each) => h("th", { scope: "col", role: "columnheader" }, each)))),
      h("tbody", { role: "rowgroup" }, rows.map((row) => h("tr", { role: "row" }, row.map(cell))))));
}

/** A figure with its interval, and a bar from 0 to 1 in the colour of its run. */
function interval(found, run = null, extra = null) {
  const ends = found.low === null ? found.sd !== null && `± ${figure(found.sd)}` : `${figure(found.low)} to ${figure(found.high)}`;
  return h("span.figure", h("span.value", figure(found.value, 3)), " ", ends && h("span.faint", ends),
    run !== null && found.value !== null && bar(found, run), extra);
}

function bar(found, run) {
  const x = (value) => 130 * Math.min(1, Math.max(0, value));
  return h("svg.bar", { width: 130, height: 14, viewBox: "0 0 130 14", "aria-hidden": "true" },
    h("rect.ground", { y: 2, width: 130, height: 10, rx: 3 }),
    h(`rect.fill.run${run % 6}`, { y: 2, width: x(found.value), height: 10, rx: 3 }),
    found.low !== null && h("path.whisker", { d: `M${x(found.low)} 7H${x(found.high)}M${x(found.low)} 3v8M${x(found.high)} 3v8` }));
}

function drawing(width, height, words, ...parts) {
  return h("svg.chart", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words }, parts);
}

const label = (x, y, text, kind = "tick") => h(`text.${kind}`, { x, y }, text);
const ticks = (left, width, y) => [0, 1, 2, 3, 4].map((k) => label(left + (width * k) / 4, y, k / 4));

/** The RPTS of right answers (upwards) and wrong ones (downwards), by tenths; all runs share the scale. */
function histogram(section, run) {
  const most = Math.max(1, ...section.runs.flatMap((each) => [...each.tenths.right, ...each.tenths.wrong]));
  const [left, column, half] = [46, 22, 62];
  const bars = (counts, up, kind) => counts.map((n, at) => n > 0 && [
    h(`rect.${kind}`, { x: left + at * column + 1, width: column - 2, height: (48 * n) / most, y: up ? half - (48 * n) / most : half }),
    label(left + (at + 0.5) * column, up ? half - (48 * n) / most - 3 : half + (48 * n) / most + 11, n, "count")]);
  const words = ["right", "wrong"].map((kind) => `${kind} answers: ${run.tenths[kind].join(", ")}`).join("; ");
  return drawing(276, 158, `RPTS of ${run.label}, by tenths; ${words}`,
    bars(run.tenths.right, true, "right"), bars(run.tenths.wrong, false, "wrong"),
    h("path.axis", { d: `M${left} ${half}h220` }), h("path.threshold", { d: `M${left + 110} 0v124` }),
    label(left - 6, half - 22, "right", "side"), label(left - 6, half + 28, "wrong", "side"),
    ticks(left, 220, 138), label(left + 110, 152, "RPTS", "name"));
}

/** One point per run with both intervals; labels are moved apart. */
function scatter(section) {
  const [left, top, across, up] = [50, 12, 236, 166];
  const [x, y] = [(value) => left + across * value, (value) => top + up * (1 - value)];
  const runs = section.runs.map((run, at) => ({ run, at, ...run.parts[0].figures }))
    .filter(({ accuracy, rpts }) => accuracy.value !== null && rpts.value !== null);
  const taken = [];
  const place = (wanted) => {
    const free = [0, 14, -14, 28, -28, 42, -42, 56, -56, 70, -70].map((by) => Math.max(top, wanted + by))
      .find((at) => taken.every((other) => Math.abs(other - at) >= 14)) ?? wanted;
    taken.push(free);
    return free;
  };
  const grid = [0, 1, 2, 3, 4].map((k) => `M${left} ${top + (up * k) / 4}h${across}M${left + (across * k) / 4} ${top}v${up}`);
  const words = runs.map(({ run, accuracy, rpts }) => `${run.label}: accuracy ${figure(accuracy.value)}, RPTS ${figure(rpts.value)}`);
  return drawing(300, 216, `RPTS against accuracy. ${words.join("; ")}`, h("path.grid", { d: grid.join("") }),
    [0, 1, 2, 3, 4].map((k) => label(left - 6, top + 4 + up * (1 - k / 4), k / 4, "side")), ticks(left, across, top + up + 16),
    runs.map(({ run, at, accuracy, rpts }) => [
      accuracy.low !== null && h(`path.whisker.run${at % 6}`, { d: `M${x(accuracy.low)} ${y(rpts.value)}H${x(accuracy.high)}` }),
      rpts.low !== null && h(`path.whisker.run${at % 6}`, { d: `M${x(accuracy.value)} ${y(rpts.low)}V${y(rpts.high)}` }),
      h(`circle.run${at % 6}`, { cx: x(accuracy.value), cy: y(rpts.value), r: 6 }),
      label(x(accuracy.value) + (accuracy.value > 0.5 ? -10 : 10), place(y(rpts.value) - 9), middle(run.label, 20),
        accuracy.value > 0.5 ? "point.end" : "point")]),
    label(left + across / 2, 212, "accuracy", "name"),
    h("text.name", { x: 12, y: top + up / 2, transform: `rotate(-90 12 ${top + up / 2})` }, "RPTS"));
}

/** Counts by row and column, darker where there are more. */
function heat(name, corner, rows, columns, counted) {
  const counts = rows.map((row) => columns.map((column) => counted(row.key, column.key)));
  const most = Math.max(1, ...counts.flat());
  return table(name, [corner, ...columns.map((each) => each.words)], rows.map((row, at) => [row.shown,
    ...counts[at].map((n) => h("span.heat", { style: `--heat:${Math.ceil((4 * n) / most) * 25}%` }, n || ""))]), ".counts");
}

/* Overview */

function overview() {
  return [h("h1", { tabindex: -1 }, cut(data.title, 200)), data.sections.map(sectionOf)];
}

function sectionOf(section) {
  const titled = data.sections.length > 1 || !section.rpts;
  const level = titled ? "h3" : "h2";
  return h("section", { id: section.name, "aria-label": section.title },
    titled && h("h2", section.title), section.rpts && h("p.lead", LEAD),
    section.judges.map((line) => h("p.judge", line)),
    section.warnings.map((line) => h("p.warning", { role: "note" }, cut(line, 400))),
    h("div.run-cards", section.runs.map((run, at) => card(section, run, at, level))),
    h(level, "Instances"), list(section), h(level, section.rpts ? "Answers and reasoning" : "Answers"), charts(section),
    section.metrics.length > 0 && folded("Metrics", metrics(section)),
    section.tables.length > 0 && folded("By kind of instance", h("div.kinds", section.tables.map((each) => breakdown(section, each)))),
    section.published && folded("Published figures, not measured here", breakdown(section, section.published),
      section.published.notes.map((note) => faint(note))),
    folded("Settings and metadata of the runs", settings(section)));
}

function card(section, run, at, level) {
  const right = ({ value, n }) => value !== null && Math.abs(value * n - Math.round(value * n)) < 1e-6 &&
    h("span.faint", `${Math.round(value * n)} of ${n} right answers`);
  const stat = (words, value, ...notes) =>
    h("div.stat", h("span.stat-name", words), h("span.stat-value", value), notes);
  const tokens = run.tokens[1] ? `${count(run.tokens[0], "token")} in ${count(run.tokens[1], "response")}` : "";
  const shown = Object.keys(WORDS).filter((kind) => run.outcomes[kind]);
  return h("section.run-card", { "aria-label": `${section.title}: summary of ${run.label}` },
    h(level, swatch(at), middle(run.label)),
    run.parts.map((part) => [part.task && faint(part.task), h("div.stats",
      Object.entries(section.headline).map(([name, words]) => {
        const found = part.figures[name];
        return stat(words, figure(found.value), found.low !== null && h("span.faint", `${figure(found.low)} to ${figure(found.high)}`),
          name === "right_for_wrong_reason" && right(found));
      }),
      !section.rpts && stat("documents", part.documents.toLocaleString("en"),
        h("span.faint", part.unscored ? `${part.unscored} not graded` : "all graded")))]),
    h("div.outcome-bar", { "aria-hidden": "true" }, shown.map((kind) =>
      h(`span.o-${kind}`, { style: `flex:${run.outcomes[kind]}`, title: `${run.outcomes[kind]} ${WORDS[kind]}` }, run.outcomes[kind]))),
    h("ul.outcome-key", { "aria-label": "Legend" }, shown.map((kind) =>
      h("li", h("span.hidden-text", `${run.outcomes[kind]} `), chip(kind)))),
    spent(run.spent, tokens));
}

function charts(section) {
  const kinds = Object.keys(WORDS).filter((kind) => section.runs.some((run) => run.outcomes[kind]));
  const keyed = kinds.map((kind) => ({ key: kind, words: WORDS[kind], shown: chip(kind) }));
  const chart = (title, ...parts) => h("figure", h("figcaption", title), parts);
  const heights = [...new Set(section.runs.flatMap((run) => (run.errors || []).map(([height]) => height)))].sort((a, b) => a - b);
  const errors = (run) => heat(`First wrong steps of ${run.label}`, "height",
    heights.map((height) => ({ key: height, shown: height })),
    Object.keys(MODALITIES).map((kind) => ({ key: kind, words: kind })),
    (height, kind) => (run.errors.find(([a, b]) => a === height && b === kind) || [0, 0, 0])[2]);
  return h("div.charts",
    section.runs.length > 1 && chart("Responses by outcome", table("Responses by outcome",
      ["responses", ...section.runs.map((run) => middle(run.label, 30))],
      keyed.map(({ key, shown }) => [shown.cloneNode(true), ...section.runs.map((run) => run.outcomes[key] || 0)]), ".counts")),
    section.runs.slice(1, 4).map((run, at) => {
      const pairs = section.agreement.filter(([other]) => other === at + 1);
      const total = (chosen) => chosen.reduce((sum, pair) => sum + pair[3], 0);
      const name = `${middle(section.runs[0].label, 30)} (rows) and ${middle(run.label, 30)} (columns)`;
      return chart(name, heat(name, "instances", keyed.map((each) => ({ ...each, shown: chip(each.key) })), keyed,
        (a, b) => total(pairs.filter((pair) => pair[1] === a && pair[2] === b))),
        faint(`The same outcome for ${total(pairs.filter((pair) => pair[1] === pair[2]))} of ${total(pairs)}.`));
    }),
    section.rpts && section.runs.map((run) => chart(`RPTS of right and wrong answers: ${middle(run.label)}`, histogram(section, run))),
    section.rpts && section.runs.length > 1 && chart("RPTS against accuracy", scatter(section)),
    section.rpts && section.runs.map((run) => chart(`First wrong step by height and evidence: ${middle(run.label)}`,
      heights.length > 0 && errors(run),
      faint(`${run.unbroken} without a wrong step${run.stepless ? `; ${run.stepless} without a readable step` : ""}`))));
}

function metrics(section) {
  const groups = [...new Set(section.metrics.map((metric) => metric.group))];
  const runs = section.runs.map((run, at) => h("span", swatch(at), middle(run.label)));
  return [h("div.kinds", groups.map((group) => table(group || "Metrics", [group || "metric", ...runs.map((run) => run.cloneNode(true))],
    section.metrics.filter((metric) => metric.group === group).map((metric) => [
      h("span", h("code", metric.name.split("_").flatMap((part, at) => (at ? ["_", h("wbr"), part] : [part]))), h("span.faint.words", metric.words)),
      ...metric.figures.map((found, at) => interval(found, metric.bar ? at : null,
        found.n !== section.runs[at].parts[0].documents && h("span.faint", ` n ${found.n}`)))])))),
  faint("With 95% confidence intervals over documents. n: number of documents with a value, if not all have one.")];
}

function breakdown(section, found) {
  const run = (row) => Math.max(0, section.runs.findIndex((each) => row.includes(each.label)));
  const rows = found.rows.map((row) => {
    const first = row.findIndex((value) => value !== null && typeof value === "object");
    return row.map((value, at) => (at === first ? interval(value, run(row)) : value));
  });
  return h("div.kind-of", h("h4", found.title), table(found.title, found.heads, rows, ".sheet"),
    found.more > 0 && faint(`${found.more} more rows: lmms-rpts summarize -o FILE.csv writes all of them.`));
}

function settings(section) {
  const names = [...new Set(section.settings.flatMap(([, each]) => Object.keys(each)))];
  return [table("Settings of the scores", ["run", ...names.map((name) => name.replaceAll("_", " "))],
    section.settings.map(([run, each]) => [middle(run), ...names.map((name) => each[name] ?? "–")])),
  section.metadata.length > 0 && [
    table("Metadata of the runs", ["from the results file", ...section.runs.map((run) => middle(run.label))],
      section.metadata.map(([name, values]) => [name, ...values]), ".metadata"),
    faint("From the results files of lmms-eval. Possible secrets are masked as ***.")]];
}

/* The list of instances */

const START = { search: "", run: "", outcome: "", broken: "", flag: "", by: {}, sort: null, down: false, shown: SLICE };
const views = new Map(data.sections.map((section) => [section, { ...START, by: {} }]));
const texts = new Map(); // of an entry, what a search looks at; made when it is first needed

function textOf(entry) {
  if (!texts.has(entry)) texts.set(entry, JSON.stringify(entry).toLowerCase());
  return texts.get(entry);
}

/** The answer of a run that is to be checked first: answers are in the order of the samples. */
function worst(section, entry, run) {
  const order = Object.keys(WORDS);
  const urgency = ["right_unsound", "wrong_unsound", "wrong_sound", "no_steps", "wrong", "unscored", "partial", "unjudged", "value"];
  const rank = (answer) => (urgency.indexOf(answer.outcome) + 1 || order.length) * 10 + (answer.score ?? 1);
  return entry.answers.filter((answer) => answer.run === run).sort((a, b) => rank(a) - rank(b))[0];
}

/** The instances that the filters choose, in the order of the list. */
function chosen(section) {
  const view = views.get(section);
  const words = JSON.stringify(view.search.toLowerCase()).slice(1, -1).split(/\s+/);
  const fits = (answer) => (view.run === "" || answer.run === Number(view.run)) &&
    (!view.outcome || answer.outcome === view.outcome) && (!view.flag || answer.flags.includes(view.flag)) &&
    (!view.broken || answer.record.first_error?.modality === view.broken);
  const entries = section.entries.filter((entry) => entry.answers.some(fits) &&
    Object.entries(view.by).every(([name, value]) => !value || (entry.tags[name] || []).includes(value)) &&
    words.every((word) => textOf(entry).includes(word)));
  if (view.sort === null) return entries;
  const keys = new Map(entries.map((entry) => [entry, columnsOf(section)[view.sort].key(entry)]));
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b);
  const missing = (entry) => keys.get(entry) === null || keys.get(entry) === undefined;
  return entries.sort((a, b) => missing(a) - missing(b) || (missing(a) ? 0 : compare(keys.get(a), keys.get(b)) * (view.down ? -1 : 1)));
}

/** The columns of a list: heading, cell, and the value by which it is sorted. */
function columnsOf(section) {
  const tasks = new Set(section.entries.map((entry) => entry.task)).size > 1;
  const outcomes = Object.keys(WORDS);
  const gold = ({ question }) => (question.right === null ? question.gold.slice(0, 3).join("; ") : question.options[question.right]) || "";
  return [
    { head: "instance", key: (entry) => `${entry.task} ${entry.name}`, cell: (entry) =>
      h("a", { href: `#${entry.id}` }, tasks && [h("bdi", cut(entry.task, 60)), " · "], h("bdi", cut(entry.name, 60))) },
    { head: section.entries[0]?.context === undefined ? "question" : "statement", key: (entry) => entry.question.text,
      cell: (entry) => h("span.clamp", { lang: entry.question.language }, rich(entry.question.text)) },
    !section.rpts && { head: "right answer", key: gold, cell: (entry) => h("span.clamp", { dir: "auto" }, cut(gold(entry))) },
    ...section.runs.flatMap((run, at) => {
      const answer = (entry) => worst(section, entry, at);
      const several = (entry) => entry.answers.filter((each) => each.run === at).length;
      return [
        { head: middle(run.label, 40), key: (entry) => answer(entry) && outcomes.indexOf(answer(entry).outcome), cell: (entry) => {
          const first = answer(entry)?.record.first_error;
          return !answer(entry) ? "no response" : [outcomeOf(answer(entry)),
            several(entry) > 1 && h("span.note.faint", `1 of ${several(entry)} responses`),
            first && h("span.note.faint", `first error at height ${first.height}, ${first.modality}`)];
        } },
        { head: section.rpts ? "RPTS" : "answer", key: (entry) => (section.rpts ? answer(entry)?.score : answer(entry)?.final),
          cell: (entry) => answer(entry) && (section.rpts ? badge(answer(entry).score) : h("bdi", cut(answer(entry).final || "–", 80))) },
      ];
    }),
  ].filter(Boolean);
}

function list(section) {
  const view = views.get(section);
  const columns = columnsOf(section);
  const result = h("div.result");
  function draw() {
    const entries = chosen(section);
    const head = (column, at) => h("button", { type: "button", "aria-label": `Sort by ${column.head}`, onclick: () => {
      Object.assign(view, { sort: at, down: view.sort === at && !view.down });
      draw();
      result.querySelectorAll("thead button")[at].focus();
    } }, column.head);
    const rows = entries.slice(0, view.shown).map((entry) => columns.map((column) => column.cell(entry)));
    const listed = table(`Instances of ${section.title}`, columns.map(head), rows, ".instances");
    listed.classList.add("pane");
    listed.querySelectorAll("thead th").forEach((cell, at) => {
      cell.setAttribute("aria-sort", view.sort !== at ? "none" : view.down ? "descending" : "ascending");
    });
    listed.querySelectorAll("tbody tr").forEach((row, at) => row.addEventListener("click", (event) => {
      if (!event.target.closest("a") && !getSelection().toString()) location.hash = entries[at].id;
    }));
    const [shown, all] = [Math.min(view.shown, entries.length), section.entries.length];
    const more = () => { view.shown += SLICE; draw(); };
    result.replaceChildren(h("p.shown", { role: "status" }, `${entries.length.toLocaleString("en")} of ${count(all, "instance")}` +
      (shown < entries.length ? `, the first ${shown} shown` : "")), listed,
    shown < entries.length ? h("button", { type: "button", onclick: more }, `Show ${SLICE} more`) : "");
  }
  const change = (target, key) => (event) => {
    target[key] = event.target.value;
    view.shown = SLICE;
    draw();
  };
  const select = (title, target, key, options) => options.length > 0 && h("label", title, " ", h("select", { onchange: change(target, key) },
    h("option", { value: "" }, "any"), options.map(([value, words]) =>
      h("option", { value, selected: String(value) === target[key] }, cut(words, 60)))));
  const kinds = Object.keys(WORDS).filter((kind) => section.runs.some((run) => run.outcomes[kind]));
  const flags = [...new Set(section.entries.flatMap((entry) => entry.answers.flatMap((answer) => answer.flags)))];
  const form = h("form.controls", { role: "search", "aria-label": `Filter instances of ${section.title}`, autocomplete: "off" },
    h("label", "Search ", h("input", { type: "search", value: view.search, maxlength: 300, oninput: change(view, "search") })),
    section.runs.length > 1 && select("Model", view, "run", section.runs.map((run, at) => [at, run.label])),
    select(section.rpts ? "Outcome" : "Grade", view, "outcome", kinds.map((kind) => [kind, WORDS[kind]])),
    section.rpts && select("First error", view, "broken", Object.entries(MODALITIES)),
    select("Check", view, "flag", flags.map((flag) => [flag, flag])),
    Object.entries(section.filters).map(([name, values]) =>
      select(name[0].toUpperCase() + name.slice(1).replaceAll("_", " "), view.by, name, values.map((value) => [value, value]))),
    h("button", { type: "reset" }, "Clear"));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => {
    Object.assign(view, START, { by: {} });
    form.parentElement.replaceWith(list(section));
  });
  draw();
  const left = section.total - section.entries.length;
  return h("div.list", left > 0 && h("p.warning", { role: "note" }, `${section.entries.length.toLocaleString("en")} of ` +
    `${count(section.total, "instance")} are shown, those with wrong answers first. The numbers above cover all.`), form, result);
}

/* One instance: the question with its evidence, and each answer with its tree, steps and judge */

function instance(section, entry) {
  const order = chosen(section);
  const at = order.indexOf(entry);
  const step = (name, other) => other && h(`a.${name.toLowerCase()}`, { href: `#${other.id}`, rel: name === "Next" ? "next" : "prev" }, name);
  const tags = [...new Set(Object.values(entry.tags).flatMap((values) => values.slice(0, 20)))].filter((tag) => tag !== entry.task);
  return [h("p.crumbs", h("a.back", { href: `#${section.name}` }, "All instances"), h("span.step-by",
    at >= 0 && h("span.place.faint", `${at + 1} of ${order.length}`), step("Previous", order[at - 1]), step("Next", order[at + 1]))),
  h("h1", { tabindex: -1 }, h("bdi", cut(entry.task)), " · ", h("bdi", cut(entry.name))),
  h("p.tags", tags.map((tag) => h("span.tag", cut(tag, 60)))),
  h("div.instance", h("div.question", statement(section, entry), evidence(entry)),
    h("div.chains", entry.answers.map((answer, number) => answerCard(section, entry, answer, number)), gold(entry)))];
}

const nameOf = (section, answer) => middle(section.runs[answer.run].label) + (answer.which && `, ${answer.which}`);

function statement(section, entry) {
  return h("section.card", h("h2", entry.context === undefined ? "Question" : "Statement"), asked(entry.question),
    h("ul.verdicts", entry.answers.map((answer, number) => h("li",
      h("a", { href: `#${entry.id}--${number}` }, nameOf(section, answer)), ": ", h("bdi", cut(answer.final || "no answer", 120)), " ",
      outcomeOf(answer), section.rpts && [" RPTS ", badge(answer.score)]))),
    entry.hidden.map(([run, number]) => faint(`${middle(section.runs[run].label)}: ${number} more answers are not shown.`)));
}

function asked({ text, options, marks, right, gold: golds, language }) {
  const option = (at) => h("span", { dir: "auto" }, marks[at] && h("b", `(${marks[at]}) `), rich(options[at]));
  const more = (all, shown) => all > shown && ` and ${(all - shown).toLocaleString("en")} more`;
  return [text ? h("div.asked-text", { lang: language }, rich(text, true)) : faint("The samples do not contain the question."),
    options.length > 0 && h("ul.options", { lang: language }, options.slice(0, MOST).map((_, at) =>
      h(at === right ? "li.gold-option" : "li", option(at), at === right && [" ", h("span.tag", "right")])),
    options.length > MOST && h("li.faint", more(options.length, MOST))),
    options[right] !== undefined ? h("p", "Right answer: ", h("b", option(right)))
      : golds.length ? h("p", "Right answer: ", golds.slice(0, 20).map((each, at) => [at > 0 && "; ", h("b", rich(each))]), more(golds.length, 20))
        : faint("The samples do not contain the right answer.")];
}

function evidence(entry) {
  const row = (name, key, text) => [h("dt", leaf(key)), h("dd", { lang: entry.question.language, "data-clue": key.join(":") }, text)];
  const details = Object.entries(entry.question.details || {});
  return h("section.card.clues", h("h2", entry.context === undefined ? "Images and data" : "Evidence"),
    entry.context !== undefined && h("dl", row("Context", ["context", null],
      entry.context === entry.question.text ? h("span.faint", "the question") : rich(entry.context, true)),
    entry.texts.map((text, at) => row("Text", ["text", at], rich(text, true)))),
    h("div.images", entry.images.map(([name, number], at) => picture(name, number, at))),
    entry.more_images > 0 && faint(`${count(entry.more_images, "more image")} not included.`),
    details.length > 0 && h("dl", details.map(([name, text]) => [h("dt.faint", name), h("dd", rich(text, true))])));
}

function picture(name, number, at) {
  const title = `Image ${at}${name && `: ${name}`}`;
  if (number === null) {
    return h("figure", { "data-clue": `image:${at}` }, h("figcaption", leaf(["image", at]), " ", h("span.faint", name)),
      h("p.no-image", "The image is not on this machine: set its folder with --images."));
  }
  const [source, width, height] = data.images[number];
  const image = () => h("img", { src: source, width, height, alt: title, loading: "lazy" });
  return h("figure", { "data-clue": `image:${at}` }, h("figcaption", leaf(["image", at]), " ", h("span.faint", name)),
    h("button.enlarge", { type: "button", "aria-label": `Enlarge ${title}`, onclick: () => dialog(title, image()) }, image()));
}

/** A citation; it lights up the evidence that it names. */
function leaf(key, fault) {
  const light = (on) => () => document.querySelectorAll(`[data-clue="${key.join(":")}"]`).forEach((each) => each.classList.toggle("lit", on));
  return h(`span.leaf.${key[0]}${fault ? ".fault" : ""}`, { title: fault, onmouseenter: light(true), onmouseleave: light(false) }, clue(key));
}

function answerCard(section, entry, answer, number) {
  const anchor = `${entry.id}--${number}`;
  const named = nameOf(section, answer);
  const tokens = answer.tokens === null ? "" : count(answer.tokens, "token");
  return h("section.card", { id: anchor, "aria-label": named }, h("h2", middle(section.runs[answer.run].label), " ", h("small", answer.which)),
    section.rpts ? reasoning(entry, answer, anchor, named) : grades(entry, answer),
    spent(answer.spent, tokens), prompt(entry, answer), response(section, answer),
    answer.rewritten && folded("Steps as rewritten by the judge", call(answer.rewritten, answer.record.transform.verdict)),
    answer.read && folded("Answer as read by the judge", call(answer.read, answer.record.answer.verdict)),
    raw(entry, answer));
}

function prompt(entry, answer) {
  if (answer.prompt === null) return folded("Exact prompt to the model", faint("The samples do not contain the prompt."));
  const turns = data.prompts[answer.prompt];
  return folded("Exact prompt to the model", turns.map(([role, text]) => said(role || "user", text)),
    entry.images.length > 0 && !turns[0][0] && faint("Images were passed beside this text; the model’s own template sets their places."));
}

function response(section, { text, thinking, record }) {
  const problems = record.transform?.problems || [];
  const thought = thinking !== null && folded(`Thinking (${thinking.length.toLocaleString("en")} characters)`, passage(thinking));
  const shown = text === null ? faint("The samples do not contain the response.") : text ? passage(text) : faint("The response is empty.");
  if (!section.rpts) return [h("h3", "Response"), thought, shown];
  const made = folded("Full response", problems.map(problem), thought, shown);
  made.open = record.steps.length === 0;
  return made;
}

/** The record as JSON, made when it is opened. */
function raw(entry, answer) {
  const place = h("div");
  const fill = () => place.childElementCount || place.append(h("pre", { tabindex: 0 },
    JSON.stringify({ instance: entry.instance, ...answer.record }, null, 1)));
  return h("details.record", { ontoggle: fill }, h("summary", "Raw record"), place);
}

const said = (role, text) => [h("p.role", cut(role, 40)), h("pre", { tabindex: 0, dir: "auto" }, text)];

/** A request to a judge and its reply, folded. */
function call(made, verdict) {
  return [verdict.reply && said("reply", verdict.reply), problem(verdict.error),
    made.same === false && h("p.warning", "Rebuilt with other templates than those of the run: the words may differ from what was sent."),
    made.user !== undefined && [folded("Instructions", h("pre", { tabindex: 0 }, data.systems[made.system])),
      said("user", [...made.images.map((name) => `[${name}]`), made.user].join("\n"))],
    spent(made.spent)];
}

function reasoning(entry, answer, anchor, named) {
  const { record } = answer;
  const error = record.first_error;
  const link = (step) => h("a", { href: `#${anchor}-s${step}` }, `Conclusion ${step}`);
  return [h("p.verdict", outcomeOf(answer), " answer: ", h("b", answer.final || "none found"), ", RPTS ", badge(answer.score)),
    problem(record.reason && (record.reason.startsWith("not judged") ? record.reason : `not judged: ${record.reason}`)),
    problem(answer.error && `The answer could not be determined: ${answer.error}`),
    error ? h("p.broken", "First error: ", link(error.step), `, height ${error.height}, ${MODALITIES[error.modality]}, score `,
      figure(error.score), ".", error.path.length > 1 && [" Steps that depend on it: ", error.path.slice(1).map((step, at) => [at > 0 && ", ", link(step)]), "."])
      : answer.score !== null && record.steps.length > 0 && h("p.whole", "All counted steps score at least 0.5."),
    record.steps.length ? tree(record.steps, { anchor, name: `Reasoning of ${named}`, error, restating: record.diagnosis.restating,
      faults: record.invalid_references }) : faint("No reasoning step could be parsed from the response."),
    record.steps.map((step, at) => judged(entry, answer, step, at, anchor))];
}

/** A step with its score; below 0.5 with the judge's reason. */
function judged(entry, { record, calls }, step, at, anchor) {
  const first = record.first_error?.step === at;
  const faults = record.invalid_references.filter((fault) => fault.step === at);
  const fault = ([kind, index]) => faults.find((each) => each.kind === kind && each.index === index)?.reason;
  const reasons = step.verdicts.map((verdict, number) => calls[at][number].reason ?? verdict.reply).filter(Boolean);
  const wrong = step.score !== null && step.score < THRESHOLD;
  const question = (verdict, number) => (number ? SECOND
    : verdict.kind.startsWith("image") ? "Is this what the image shows?" : "Does the conclusion follow?");
  return h(`article.judged${first ? ".first" : ""}`, { id: `${anchor}-s${at}`, style: `--score:${colour(step.score)}` },
    h("h3", `Conclusion ${at} `, badge(step.score), first && [" ", h("span.flag", "first wrong step")],
      record.diagnosis.restating.includes(at) && [" ", h("span.tag", "restates")]),
    h("p", "from ", step.premises.length ? step.premises.map((each, number) => [number > 0 && " + ", leaf(each, fault(each))]) : "nothing", " ",
      h("span.faint", `height ${step.height}, ${MODALITIES[step.modality]}${step.counts ? "" : "; not counted: the last conclusion does not depend on it"}`)),
    h("p.conclusion", { lang: entry.question.language }, rich(step.conclusion || "(empty)")),
    faults.map((each) => problem(`${clue([each.kind, each.index])} does not exist: ${each.reason}.`)),
    wrong && reasons.map((reason) => h("div.reason", h("b", "Judge: "), rich(reason, true))),
    step.note && faint(`Not judged: ${step.note}.`),
    step.verdicts.length > 0 && folded("Judge request and reply", step.verdicts.map((verdict, number) =>
      h("div.asked", h("p", question(verdict, number), " ", badge(verdict.value)), call(calls[at][number], verdict)))));
}

function gold(entry) {
  if (!entry.gold?.lines.length) return null;
  const { steps, lines: written, faults } = entry.gold;
  return h("section.card.gold", h("h2", "Gold reasoning"),
    steps.length > 0 && tree(steps, { anchor: `${entry.id}--gold`, name: "Gold reasoning", faults, restating: [] }),
    h("ul.gold-steps", { lang: entry.question.language }, written.map(([number, line]) =>
      h("li", number !== null && { id: `${entry.id}--gold-s${number}` }, number !== null && h("b", `${number} `), rich(line)))));
}

/** An answer with all of its grades, and what else a judge said. */
function grades(entry, { question = entry.question, ...answer }) {
  const { record } = answer;
  const part = (name, kind, words, value, ...parts) => h(`article.judged.o-${kind}`, h("h3", name, " ", chip(kind, words),
    name === record.grader && [" ", h("span.tag", "counts")]), parts, problem(value.error !== record.reason && value.reason),
  answer.calls[value.key] && folded("Judge request and reply", call(answer.calls[value.key], value.verdict)));
  const graded = ({ score, verdict }) => (score === null ? ["unscored", verdict?.error ? "failed" : "undecided"]
    : answer.scale ? ["value", score.toFixed(3)] : score === 1 ? ["right", "right"] : score === 0 ? ["wrong", "wrong"]
      : ["partial", String(Number(score.toPrecision(3)))]);
  const named = { rule: "rules", strict: "strict rules" };
  const numbers = Object.entries(record.numbers || {});
  const mark = (at) => [question.right === at && [" ", h("span.tag", "right")], record.grades[record.grader]?.chosen === at && [" ", h("span.tag", "chosen")]];
  return [h("p.verdict", outcomeOf(answer), answer.final !== null && [" final answer: ", h("b", rich(answer.final || "none found"))]),
    problem(record.reason), question !== entry.question && folded("Question as asked in this variant", asked(question)),
    numbers.length > 0 && table("Options", ["option", ...numbers.map(([name]) => name.replaceAll("_", " "))],
      question.options.slice(0, MOST).map((option, at) => [h("span", rich(option), mark(at)),
        ...numbers.map(([, values]) => (values[at] === undefined ? "–" : values[at].toFixed(3)))]), ".counts"),
    question.options.length > MOST && numbers.length > 0 && faint(`and ${question.options.length - MOST} more options`),
    Object.entries(record.grades).map(([key, grade]) => part(named[key] || answer.judge, ...graded(grade), { ...grade, key },
      key === record.grader && named[key] === undefined ? "" : "", grade.rule && h("p", rich(grade.rule)),
      grade.answer !== undefined && h("p", "Answer found: ", grade.answer.trim() ? h("bdi", rich(grade.answer)) : h("span.faint", "none")))),
    Object.entries(record.findings || {}).map(([key, finding]) =>
      part(key.replaceAll("_", " "), "unscored", finding.value || "failed", { ...finding, key }))];
}

/* The tree: evidence below, the last conclusion on top. The browser places the boxes; lines run behind them. */

function tree(steps, { anchor, name, error, faults, restating }) {
  if (steps.length > MOST) return faint(`${steps.length} steps are too many for a picture.`);
  const faulty = (step, [kind, index]) => faults.find((each) => each.step === step && each.kind === kind && each.index === index)?.reason;
  const nodes = steps.map((step, at) => ({ at, from: step.premises.filter(([kind, index]) => kind === "conclusion" && index < at) }));
  for (const node of nodes) node.height = 1 + Math.max(0, ...node.from.map(([, index]) => nodes[index].height));
  const layers = Array.from({ length: Math.max(...nodes.map((node) => node.height)) + 1 }, () => []);
  const edges = []; // of boxes, from below: the step that is cited, spacers where the line passes layers, the citing step
  const onPath = (from, to) => error && error.path.some((step, k) => step === from && error.path[k + 1] === to);
  for (const node of nodes) {
    const { at } = node;
    const flags = [error?.step === at && h("span.flag", "first wrong step"), restating.includes(at) && h("span.tag", "restates")];
    const stray = steps[at].counts === false;
    const kinds = `${error?.step === at ? ".first" : ""}${stray ? ".stray" : ""}${steps[at].score === undefined ? ".plain" : ""}`;
    node.box = h(`a.node${kinds}`, { href: `#${anchor}-s${at}`, style: `--score:${colour(steps[at].score)}` },
      h("span.head", h("b", `Conclusion ${at}`), steps[at].score !== undefined && h("b", figure(steps[at].score))), flags.filter(Boolean),
      h("span.words", rich(steps[at].conclusion || "(empty)")));
    layers[node.height].push(node);
    for (const key of steps[at].premises.filter((each) => !node.from.includes(each))) {
      const box = { box: leaf(key, faulty(at, key)), parents: [node], kind: 2 };
      layers[node.height - 1].push(box);
      edges.push({ boxes: [box, node], stray });
    }
    for (const [, index] of new Map(node.from.map((each) => [each[1], each]))) {
      const child = nodes[index[1]];
      const passed = [];
      for (let height = child.height + 1; height < node.height; height++) passed.push({ box: h("span.spacer"), height, kind: 1 });
      passed.forEach((spacer, k) => {
        spacer.parents = [passed[k + 1] || node];
        layers[spacer.height].push(spacer);
      });
      (child.parents ??= []).push(passed[0] || node);
      edges.push({ boxes: [child, ...passed, node], stray, path: onPath(index[1], at) });
    }
  }
  for (const layer of layers.toReversed()) {
    for (const node of layer) {
      const places = (node.parents || []).map((parent) => parent.place);
      node.wanted = places.length ? places.reduce((sum, place) => sum + place, 0) / places.length : 1;
    }
    layer.sort((a, b) => a.wanted - b.wanted || (a.kind || 0) - (b.kind || 0));
    layer.forEach((node, k) => { node.place = (k + 0.5) / layer.length; });
  }
  const wires = h("svg.wires", { "aria-hidden": "true" });
  const picture = h("div.tree", wires, layers.toReversed().map((layer) => h("div.layer", layer.map((node) => node.box))));
  const draw = () => {
    const origin = picture.getBoundingClientRect();
    const rectangle = (node) => {
      const { x, y, width, height } = node.box.getBoundingClientRect();
      return { x: x - origin.x + width / 2, top: y - origin.y, bottom: y - origin.y + height };
    };
    wires.replaceChildren(...edges.map(({ boxes, stray, path }) => {
      const places = boxes.map(rectangle);
      const parts = places.slice(1).map((to, k) => {
        const from = places[k];
        const half = (from.top + to.bottom) / 2;
        return `${k ? `V${from.top}` : `M${from.x} ${from.top}`}C${from.x} ${half} ${to.x} ${half} ${to.x} ${to.bottom}`;
      });
      return h(`path${path ? ".path" : stray ? ".stray" : ""}`, { d: parts.join("") });
    }));
  };
  new ResizeObserver(draw).observe(picture);
  const summary = `A tree of ${count(steps.length, "step")}, height ${layers.length - 1}.` + (error ? ` The first wrong step is Conclusion ` +
    `${error.step}; the path from it to the root is ${error.path.map((step) => `Conclusion ${step}`).join(", ")}.` : "");
  return [h("div.tree-scroll", { tabindex: 0, role: "region", "aria-label": `${name} as a tree` }, h("p.hidden-text", summary), picture),
    h("p.tree-save", h("button", { type: "button", onclick: () => download(`${anchor}.svg`, svgOf(picture), "image/svg+xml") }, "Save picture (SVG)"))];
}

/** A colour of the page as other programs know it: #rrggbb. */
function plainColour(value) {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
  canvas.fillStyle = value;
  canvas.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
  return alpha ? `#${[red, green, blue].map((each) => each.toString(16).padStart(2, "0")).join("")}` : "none";
}

/** A tree as it is on the page, as an SVG file of its own: boxes, lines, and each line of text. */
function svgOf(picture) {
  const origin = picture.getBoundingClientRect();
  const [width, height] = [picture.scrollWidth, picture.scrollHeight];
  const made = h("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` },
    h("rect", { width, height, fill: plainColour(getComputedStyle(document.querySelector(".card")).backgroundColor) }));
  for (const wire of picture.querySelectorAll("path")) {
    const style = getComputedStyle(wire);
    made.append(h("path", { d: wire.getAttribute("d"), fill: "none", stroke: plainColour(style.stroke), "stroke-width": style.strokeWidth,
      "stroke-dasharray": style.strokeDasharray }));
  }
  for (const box of picture.querySelectorAll(".node, .leaf, .flag, .tag")) {
    const [style, place] = [getComputedStyle(box), box.getBoundingClientRect()];
    made.append(h("rect", { x: place.x - origin.x, y: place.y - origin.y, width: place.width, height: place.height,
      rx: Math.min(parseFloat(style.borderRadius), place.height / 2), fill: plainColour(style.backgroundColor),
      stroke: plainColour(style.borderColor), "stroke-width": style.borderWidth, "stroke-dasharray": style.borderStyle === "dashed" ? "4 3" : null }));
  }
  const walker = document.createTreeWalker(picture, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const style = getComputedStyle(node.parentElement);
    let line = null; // the characters at one height
    for (let at = 0; at < node.length; at++) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const place = range.getBoundingClientRect();
      if (!place.width || place.bottom > node.parentElement.closest(".node, .leaf").getBoundingClientRect().bottom) continue;
      if (line && Math.abs(line.top - place.top) < 2) line.text += node.data[at];
      else {
        line = { top: place.top, text: node.data[at], x: place.x - origin.x, y: place.bottom - origin.y - place.height * 0.22 };
        line.element = made.appendChild(h("text", { x: line.x, y: line.y, "font-size": style.fontSize, "font-weight": style.fontWeight,
          "font-family": "system-ui, sans-serif", fill: plainColour(style.color) }));
      }
      line.element.textContent = line.text;
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
  ["Does it follow?", "A step that draws a conclusion from premises. Rate only the inference: accept the premises as true, and ignore " +
    "whether the conclusion is true in the real world. Sound: given the premises, the situation and common sense, it must be true. " +
    "Unsure: they make it likely, but something is missing. Wrong: it contradicts them, or needs a fact that is not given."],
  ["Is it in the image?", "A step that describes an image. Sound: the image shows it, even if the description is incomplete. Unsure: partly " +
    "right, or too vague to decide. Wrong: the image contradicts it, or it describes something else."],
  ["", "Do not penalise a step for an error in an earlier step that it builds on."],
];

function rating() {
  const items = data.sections[0].entries.flatMap((entry) => entry.steps.map((step, at) => ({ entry, step, at })).filter(({ step }) => step.kind));
  const stored = `lmms-rpts-ratings ${items.map(({ entry, at }) => [entry.task, entry.doc_id, entry.repeat, at].join()).join(";")}`;
  const state = { rater: "", scores: {}, current: 0 };
  try { Object.assign(state, JSON.parse(localStorage.getItem(stored))); } catch { /* some browsers store nothing for files */ }
  const keep = () => { try { localStorage.setItem(stored, JSON.stringify(state)); } catch { /* the file is what counts */ } };
  const [place, note] = [h("div.instance"), h("p.shown", { role: "status" })];
  const rater = h("input", { id: "rater", maxlength: 80, autocomplete: "off", value: state.rater, oninput: () => { state.rater = rater.value; keep(); } });
  const buttons = SCORES.map(([key, score, words]) => h("button", { type: "button", onclick: () => rate(score) }, h("kbd", key), ` ${words}`));
  const progress = h("progress", { max: items.length, "aria-label": "Steps rated" });
  function go(to) {
    state.current = Math.min(items.length - 1, Math.max(0, to));
    keep();
    show();
  }
  function rate(score) {
    state.scores[state.current] = score;
    const open = items.findIndex((_, at) => at > state.current && state.scores[at] === undefined);
    go(open < 0 ? state.current + 1 : open);
  }
  function save() {
    if (!rater.value.trim()) {
      note.textContent = "Enter your name first: it distinguishes your scores from those of other raters.";
      rater.focus();
      return;
    }
    const ratings = items.flatMap(({ entry: { task, doc_id, id, repeat }, step: { conclusion }, at }, number) =>
      (state.scores[number] === undefined ? [] : [{ task, doc_id, id, repeat, step: at, conclusion, score: state.scores[number] }]));
    const name = `ratings-${rater.value.trim().replace(/[^\p{L}\p{N}]+/gu, "-")}.json`;
    download(name, JSON.stringify({ format: "lmms-rpts-ratings", version: 1, rater: rater.value.trim(), ratings }, null, 1), "application/json");
    note.textContent = `Saved ${count(ratings.length, "score")} as ${name}.`;
  }
  function show() {
    const { entry, step, at } = items[state.current];
    const rated = Object.keys(state.scores).length;
    progress.value = rated;
    note.textContent = `Step ${state.current + 1} of ${items.length}, ${rated} rated`;
    buttons.forEach((button, k) => button.setAttribute("aria-pressed", state.scores[state.current] === SCORES[k][1]));
    const image = step.kind === "image";
    place.replaceChildren(h("section.card.rated", h("h2", image ? "Is this in the image?" : "Does the conclusion follow?"),
      !image && [h("h3", "Situation"), rich(entry.context, true), h("h3", "Premises"), h("ol", step.evidence.map((text) => h("li", rich(text, true))))],
      image && h("div.images", step.images.map((number) => picture(...entry.images[number], number))),
      h("h3", image ? "Claim" : "Conclusion"), h("p.claim", { lang: entry.language }, rich(step.conclusion || "(empty)"))),
    h("div.chains", h("section.card", h("h2", "All steps of this response"), entry.steps.map((each, k) =>
      h(`p${k === at ? ".current" : ""}`, h("b", `Conclusion ${k}: `), rich(each.conclusion || "(empty)"),
        h("span.faint", ` from ${each.premises.map(clue).join(" + ") || "nothing"}`)))),
    h("section.card", h("h2", entry.asked), rich(entry.statement, true),
      h("dl", entry.texts.map((text, k) => [h("dt", leaf(["text", k])), h("dd", rich(text, true))])),
      !image && h("div.images", entry.images.map(([name, number], k) => picture(name, number, k))))));
  }
  const how = folded("How to rate", h("dl", CRITERIA.map(([name, text]) => [h("dt", name), h("dd", text)])));
  how.open = Object.keys(state.scores).length === 0;
  const move = (by) => () => go(state.current + by);
  const other = (words, action) => h("button", { type: "button", onclick: action }, words);
  main.replaceChildren(h("h1", data.title), how, place, h("div.bar-bottom", note, progress, h("div.scale", { role: "group", "aria-label": "Score" }, buttons),
    h("div.moves", other("← Previous", move(-1)), other("Next →", move(1)), h("label", "Your name ", rater), other("Save", save))));
  show();
  return { j: move(1), k: move(-1), ArrowRight: move(1), ArrowLeft: move(-1),
    ...Object.fromEntries(SCORES.map(([key, score]) => [key, () => rate(score)])) };
}

/* The page follows the address; keys; colours */

const places = new Map(data.rate ? [] : data.sections.flatMap((section) => section.entries.map((entry) => [entry.id, { section, entry }])));
let open = null; // section and entry that are shown

function show() {
  const id = decodeURIComponent(location.hash.slice(1)).replace(/[^\w-]/g, "");
  const next = places.get(id.split("--")[0]) || null;
  const before = open;
  if (id === "main") return;
  if (!main.childElementCount || next !== before) {
    open = next;
    main.replaceChildren(...[next ? instance(next.section, next.entry) : overview()].flat(9));
    document.title = next ? `${next.entry.task} · ${next.entry.name} · ${data.title}` : data.title;
    window.scrollTo(0, 0);
    if (next) main.querySelector("h1").focus({ preventScroll: true });
  }
  document.querySelectorAll(".target").forEach((each) => each.classList.remove("target"));
  const target = id && document.getElementById(id);
  if (target) target.scrollIntoView();
  if (target && id.includes("--")) target.classList.add("target");
  const row = !next && before && main.querySelector(`a[href="#${before.entry.id}"]`);
  if (row) {
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "center" });
  }
}

function dialog(title, ...parts) {
  const made = h("dialog", { "aria-label": title }, h("h2", title), parts, h("form", { method: "dialog" }, h("button", "Close")));
  made.addEventListener("close", () => made.remove());
  made.addEventListener("click", (event) => event.target === made && made.close());
  document.body.append(made);
  made.showModal();
}

const KEYS = data.rate ? [["1 2 3", "sound, unsure, wrong"], ["j → k ←", "next step, previous step"], ["?", "this list"]]
  : [["j →", "next instance; in the list the next row"], ["k ←", "previous instance; in the list the previous row"],
    ["Enter", "open the row"], ["/", "search"], ["Esc", "close a dialog, or go back to all instances"], ["?", "this list"]];
const help = () => dialog("Keyboard shortcuts", h("dl", KEYS.map(([keys, words]) =>
  [h("dt", keys.split(" ").map((key) => [h("kbd", key), " "])), h("dd", words)])));

/** The next or previous instance; on the overview, the next or previous row of the list. */
function move(by) {
  const link = open && main.querySelector(by > 0 ? ".next" : ".previous");
  if (open) return link && link.click();
  const links = [...main.querySelectorAll(".instances tbody a")];
  const at = links.indexOf(document.activeElement);
  links[Math.min(links.length - 1, Math.max(0, at + by))]?.focus();
}
const back = () => { if (open) location.hash = open.section.name; };
const arrow = (by) => (event) => !event.target.closest(".tree-scroll, .scroll, pre, .passage") && move(by);
const actions = data.rate ? { ...rating(), "?": help } : {
  j: () => move(1), k: () => move(-1), ArrowRight: arrow(1), ArrowLeft: arrow(-1), Escape: back, "?": help,
  "/": () => { back(); setTimeout(() => main.querySelector("input[type=search]").focus()); },
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (!Object.hasOwn(actions, event.key)) return;
  if (!event.key.startsWith("Arrow")) event.preventDefault();
  actions[event.key](event);
});
window.addEventListener("beforeprint", () => main.querySelectorAll("details:not(.record)").forEach((each) => { each.open = true; }));

const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = h("button", { type: "button", onclick: () => setTheme(theme.textContent.toLowerCase()) });
function setTheme(name) {
  document.documentElement.style.colorScheme = name;
  theme.textContent = name === "dark" ? "Light" : "Dark";
  theme.setAttribute("aria-label", `${theme.textContent} colours`);
  try { localStorage.setItem("lmms-rpts-theme", name); } catch { /* for this page only */ }
}
let known = null;
try { known = localStorage.getItem("lmms-rpts-theme"); } catch { /* the setting of the system */ }
setTheme(known || (dark.matches ? "dark" : "light"));
document.querySelector("header").append(h("nav", { "aria-label": "Parts of the report" }, !data.rate &&
  data.sections.map((section) => h("a", { href: `#${section.name}` }, data.sections.length > 1 ? section.title : "Overview"))),
h("button", { type: "button", onclick: help }, "Shortcuts"), theme);
document.querySelector("footer").append(`Made by lmms-rpts ${data.version} from samples of lmms-eval. RPTS: Wang and Zhang, arXiv 2511.06899.`);
if (!data.rate) {
  window.addEventListener("hashchange", show);
  show();
}
