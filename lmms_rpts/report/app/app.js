"use strict";
// Draws a report, or a page for raters, from the JSON in the page. Texts are set as text nodes; the only
// HTML that is inserted is what lmms_rpts/report/text.py made of formulas and Markdown.

const data = JSON.parse(document.getElementById("data").textContent);
const [blocks, lines] = data.html.map((markup) => new Map(Object.entries(markup)));
const main = document.getElementById("main");
const THRESHOLD = 0.5;
const MOST = 100; // rows of a list that are drawn at a time, options of a question, steps of a tree
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
const LEAD = "A judge scored each step of the reasoning from 0 to 1; RPTS is the weighted mean of these scores. A "
  + "right answer with an RPTS below 0.5 is right for the wrong reason. With a higher one, a step may still be wrong.";
// Colours that stand on light and dark grounds alike, also in saved pictures.
const INK = "#1c1d21", GREY = "#8b8e96", RED = "#b8430f", GREEN = "#1f9079", BLUE = "#3b7dd8", VIOLET = "#a05fc0";
const CITED = { image: BLUE, text: VIOLET };
const RUNS = [BLUE, "#c96a1b", GREEN, VIOLET, "#9a7b00", GREY];
const SCALE = { wrong: [246, 180, 151], half: [239, 233, 221], right: [155, 213, 199] };

/* Elements */

const HIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text with visible marks for control characters and controls of the writing direction. */
function marked(text) {
  return String(text).replace(HIDDEN, (sign) => {
    const code = sign.charCodeAt(0);
    if (code < 32) return String.fromCharCode(0x2400 + code);
    return `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
  });
}

/** An element of HTML: h("td.score", { title: "..." }, "text", child, [children]). Texts are never HTML. */
const h = (name, ...parts) => make("1999/xhtml", name, parts);
/** An element of SVG. */
const s = (name, ...parts) => make("2000/svg", name, parts);

function make(language, name, parts) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElementNS(`http://www.w3.org/${language}`, tag);
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
  else if (key === "style") element.style.cssText = value; // the policy forbids the attribute
  else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, marked(value));
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
const button = (words, onclick) => h("button", { type: "button", onclick }, words);
const faint = (...parts) => h("p.faint", parts);
const problem = (text) => Boolean(text) && h("p.problem", { dir: "auto" }, text);
const passage = (text) => h("div.passage", { tabindex: 0, role: "group", "aria-label": "Text" }, rich(text, true));
const source = (text) => h("pre", { tabindex: 0, dir: "auto" }, text);
const thousands = (number) => number.toLocaleString("en");
const count = (number, noun) => `${thousands(number)} ${noun}${number === 1 ? "" : "s"}`;

/** A text, cut in its middle if it is long: the end of a label names the checkpoint. */
function cut(text, length = 60) {
  return text.length <= length ? text : `${text.slice(0, length / 2)}…${text.slice(1 - length / 2)}`;
}

/** A number as text; a score below the threshold is not rounded up to it. */
function figure(value, digits = 2) {
  if (value === null) return "–";
  return value < THRESHOLD && value.toFixed(digits) >= THRESHOLD ? "< 0.5" : value.toFixed(digits);
}

/** The colour of a score, from wrong to right. */
function colour(score) {
  if (score === null || score === undefined) return "#e8e8ea";
  const [end, share] = [score < THRESHOLD ? SCALE.wrong : SCALE.right, Math.abs(2 * score - 1)];
  return `rgb(${SCALE.half.map((half, k) => Math.round(half + share * (end[k] - half)))})`;
}

const badge = (score) => h("span.score", { style: `background:${colour(score)}` }, figure(score));
const chip = (outcome, words = WORDS[outcome]) => h(`span.chip.o-${outcome}`, words);
const runColour = (at) => RUNS[at % RUNS.length];
const runName = ({ label }, at) => h("span", h("span.swatch", { style: `background:${runColour(at)}` }), cut(label));

/** A clue as shown to users: Image 0. */
function clue([kind, index]) {
  return kind[0].toUpperCase() + kind.slice(1) + (index === null ? "" : ` ${cut(String(index), 6)}`);
}

/** A citation; it leads to what it cites. */
function leaf(key, href = null, fault = null) {
  return h(`${href ? "a" : "span"}.leaf.${key[0]}${fault ? ".fault" : ""}`,
    { href, title: fault, style: `border-color:${fault ? RED : CITED[key[0]] || GREY}` }, clue(key));
}

function outcomeOf({ scale, score, outcome, flags }) {
  if (scale && score !== null) return chip("value", `${scale} ${figure(score)}`);
  return [chip(outcome), flags.map((flag) => [" ", h("span.tag", flag)])];
}

/** Tokens and cost of judge calls, in words; before them, what else is known. */
function spent({ calls, cached, tokens_in, tokens_out, cost }, before = "") {
  const words = [before, calls > 1 && count(calls, "judge call"), cached > 0 && `${cached} cached`,
    tokens_in !== null && `${count(tokens_in, "token")} in, ${thousands(tokens_out)} out`,
    cost !== null && `cost ${cost.toPrecision(3)}`].filter(Boolean);
  return words.length > 0 && faint(words.join("; "));
}

/** A table; a narrow window lays out each row as a block of cells below their headings. */
function table(name, heads, rows, kind = "") {
  const cell = (value, at) => h(at ? "td" : "th", { "data-head": heads[at].textContent ?? heads[at] },
    { scope: !at && "row" }, value?.low === undefined ? value : interval(value));
  return h("div.scroll", { tabindex: 0, role: "group", "aria-label": name }, h(`table${kind}`,
    h("thead", h("tr", heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", rows.map((row) => h("tr", row.map(cell))))));
}

/** The interval of a figure; of several rounds, their standard deviation. */
function ends({ low, high, sd }) {
  return low !== null ? `${figure(low)} to ${figure(high)}` : sd !== null && `± ${figure(sd)}`;
}

function interval(estimate) {
  return h("span.figure", h("b", figure(estimate.value, 3)), " ",
    h("span.faint", ends(estimate), estimate.n !== null && `, n ${estimate.n}`));
}

/* Overview: the judge, cards, instances, charts; the rest is folded */

function overview() {
  return [h("h1", cut(data.title, 200)), data.sections.map((section) =>
    h("section", { id: section.name, "aria-label": section.title },
      h("h2", section.title), section.rpts && h("p.lead", LEAD),
      section.judges.map((line) => h("p.lead", h("b", line))),
      section.warnings.map((line) => h("p.warning", { role: "note" }, cut(line, 400))),
      h("div.run-cards", section.runs.map((run, at) => card(section, run, at))),
      h("h3", "Instances"), list(section),
      section.rpts && [h("h3", "Answers and reasoning"), h("div.charts",
        section.runs.map((run) => histogram(section, run)), section.runs.length > 1 && scatter(section))],
      Object.entries(section.tables).map(([title, tables]) =>
        tables.length > 0 && folded(title, h("div.kinds", tables.map((part) => h("div", h("h4", part.title),
          table(part.title, part.heads, part.rows), part.notes.map((note) => faint(note)))))))))];
}

function card(section, { label, parts, outcomes, tokens, spent: took }, at) {
  const stat = (words, value, note) =>
    h("div", h("span.note", words), h("span.stat-value", value), h("span.note", note));
  const kinds = Object.keys(WORDS).filter((kind) => outcomes[kind]);
  const segment = (kind) =>
    h(`span.o-${kind}`, { style: `flex:${outcomes[kind]}`, title: WORDS[kind] }, outcomes[kind]);
  return h("section.card", { "aria-label": `${section.title}: summary of ${label}` },
    h("h3", runName({ label }, at)),
    parts.map(({ task, documents, unscored, figures }) => [task && faint(task), h("div.stats",
      Object.entries(section.headline).map(([name, words]) =>
        stat(words, figure(figures[name].value), ends(figures[name]))),
      !section.rpts && stat("documents", thousands(documents), unscored ? `${unscored} not graded` : "all graded"))]),
    h("div.outcome-bar", { "aria-hidden": "true" }, kinds.map(segment)),
    h("ul.legend", kinds.map((kind) => h("li", chip(kind, `${outcomes[kind]} ${WORDS[kind]}`)))),
    spent(took, tokens[1] ? `${count(tokens[0], "token")} in ${count(tokens[1], "response")}` : ""));
}

function chart(title, words, height, ...parts) {
  return h("figure.card", h("figcaption", h("b", title)),
    s("svg.chart", { viewBox: `0 0 300 ${height}`, role: "img", "aria-label": `${title}. ${words}` }, parts));
}

const mark = (x, y, text, anchor = "middle") => s("text", { x, y, "text-anchor": anchor }, text);
const rule = (d, stroke = GREY, dashes = null) => s("path", { d, stroke, "stroke-dasharray": dashes });
const SHARES = [0, 0.25, 0.5, 0.75, 1];
const ticks = (left, width, y) => SHARES.map((share) => mark(left + width * share, y, share));

/** The RPTS of right answers (upwards) and wrong ones (downwards), by tenths; all runs share the scale. */
function histogram(section, run) {
  const most = Math.max(1, ...section.runs.flatMap(({ tenths }) => [...tenths.right, ...tenths.wrong]));
  const [left, width, axis] = [50, 24, 62];
  const bars = (kind, fill, up) => run.tenths[kind].map((n, at) => {
    const [x, height] = [left + at * width, (48 * n) / most];
    return n > 0 && [s("rect", { x: x + 1, width: width - 2, height, y: up ? axis - height : axis, fill }),
      mark(x + width / 2, up ? axis - height - 3 : axis + height + 11, n)];
  });
  const words = ["right", "wrong"].map((kind) => `${kind} answers by tenths: ${run.tenths[kind].join(", ")}`);
  return chart(`RPTS of right and wrong answers: ${cut(run.label)}`, words.join("; "), 158,
    bars("right", GREEN, true), bars("wrong", RED, false),
    rule(`M${left} ${axis}h240`), rule(`M${left + 120} 0v124`, GREY, "4 3"),
    mark(left - 6, axis - 22, "right", "end"), mark(left - 6, axis + 28, "wrong", "end"),
    ticks(left, 240, 138), mark(left + 120, 152, "RPTS"));
}

/** A point for each run with both intervals; labels are moved down where they would overlap. */
function scatter(section) {
  const [left, top, size] = [50, 12, 240];
  const x = (value) => left + size * value, y = (value) => top + size * (1 - value);
  const points = section.runs.map(({ label, parts: [{ figures }] }, at) =>
    ({ label: cut(label, 20), fill: runColour(at), accuracy: figures.accuracy, rpts: figures.rpts }))
    .filter(({ accuracy, rpts }) => accuracy.value !== null && rpts.value !== null)
    .sort((a, b) => b.rpts.value - a.rpts.value);
  const words = points.map((it) => `${it.label}: accuracy ${figure(it.accuracy.value)}, RPTS ${figure(it.rpts.value)}`);
  let last = 0;
  const point = ({ label, fill, accuracy, rpts }) => {
    const [cx, cy, right] = [x(accuracy.value), y(rpts.value), accuracy.value > 0.5];
    last = Math.max(last + 14, cy - 9);
    // Without an interval the lines have no length.
    const whiskers = `M${x(accuracy.low)} ${cy}H${x(accuracy.high)}M${cx} ${y(rpts.low)}V${y(rpts.high)}`;
    return [rule(whiskers, fill), s("circle", { cx, cy, r: 6, fill }),
      mark(right ? cx - 10 : cx + 10, last, label, right ? "end" : "start")];
  };
  return chart("RPTS against accuracy", words.join("; "), 290,
    rule(`M${left} ${top}v${size}h${size}`), rule(`M${left} ${y(THRESHOLD)}h${size}`, GREY, "4 3"),
    SHARES.map((share) => mark(left - 6, y(share) + 4, share, "end")), ticks(left, size, top + size + 16),
    points.map(point), mark(left + size / 2, 286, "accuracy"), mark(left - 6, y(0.6), "RPTS", "end"));
}

/** The instances, wrong ones first, with a search and filters; the section remembers which are listed. */
function list(section) {
  const select = (title, name, options) => h("label", title,
    h("select", { name }, h("option", { value: "" }, "any"),
      options.map(([value, words = value]) => h("option", { value }, cut(words)))));
  const form = h("form.controls", { role: "search", "aria-label": `Filter instances of ${section.title}`,
    oninput: () => draw(), onreset: () => setTimeout(draw), onsubmit: (event) => event.preventDefault() },
  h("label", "Search", h("input", { type: "search", name: "search", maxlength: 300 })),
  section.runs.length > 1 && select("Model", "run", section.runs.map((run, at) => [at, run.label])),
  select("Outcome", "outcome",
    Object.entries(WORDS).filter(([kind]) => section.runs.some(({ outcomes }) => outcomes[kind]))),
  section.rpts && select("First error", "error", Object.entries(MODALITIES)),
  Object.entries(section.filters).map(([name, values]) =>
    select(name[0].toUpperCase() + name.slice(1).replaceAll("_", " "), name, values.map((value) => [value]))),
  h("button", { type: "reset" }, "Clear"));
  const [status, result] = [h("p.shown", { role: "status" }), h("div")];
  function draw(limit = MOST) {
    section.listed = section.entries.filter(chosen(Object.fromEntries(new FormData(form))));
    const more = section.listed.length > limit;
    status.textContent = `${thousands(section.listed.length)} of ${count(section.entries.length, "instance")}`
      + (more ? `, the first ${limit} shown` : "");
    result.replaceChildren(instances(section, limit),
      more ? button(`Show ${MOST} more`, () => draw(limit + MOST)) : "");
  }
  draw();
  return h("div.list", section.entries.length < section.total && h("p.warning", { role: "note" },
    `${thousands(section.entries.length)} of ${count(section.total, "instance")} are shown, those with wrong answers `
    + "first. The numbers above cover all."), form, status, result);
}

/** Whether an instance has all words of the search, all tags, and one answer that fits the other filters. */
function chosen({ search, run, outcome, error, ...tags }) {
  const words = JSON.stringify(search.toLowerCase()).slice(1, -1).split(/\s+/);
  const fits = (answer) => (!run || answer.run === Number(run)) && (!outcome || answer.outcome === outcome)
    && (!error || answer.record.first_error?.modality === error);
  return (entry) => {
    entry.searched ??= JSON.stringify(entry).toLowerCase();
    return entry.answers.some(fits) && words.every((word) => entry.searched.includes(word))
      && Object.entries(tags).every(([name, value]) => !value || entry.tags[name]?.includes(value));
  };
}

function instances(section, limit) {
  const several = new Set(section.entries.map((entry) => entry.task)).size > 1;
  const right = ({ right: at, gold, options }) => rich(at === null ? gold.slice(0, 3).join("; ") : options[at] || "");
  const cell = (entry, at) => {
    const answer = entry.answers[entry.worst[at]];
    if (!answer) return "no response";
    const own = entry.answers.filter(({ run }) => run === at);
    const error = answer.record.first_error;
    return [outcomeOf(answer), " ", section.rpts ? badge(answer.score) : h("bdi", cut(answer.final || "–", 80)),
      own.length > 1 && h("span.note",
        `${own.filter(({ outcome }) => outcome.startsWith("right")).length} of ${own.length} right`),
      error && h("span.note", `first error at height ${error.height}, ${error.modality}`)];
  };
  const row = (entry) => [
    h("a", { href: `#${entry.id}` }, several && [h("bdi", cut(entry.task)), " · "], h("bdi", cut(entry.name))),
    [h("div.clamp", { lang: entry.question.language || null }, rich(entry.question.text)),
      !section.rpts && h("div.note", "right answer: ", right(entry.question))],
    ...section.runs.map((run, at) => cell(entry, at))];
  return table(`Instances of ${section.title}`,
    ["instance", section.rpts ? "statement" : "question", ...section.runs.map(runName)],
    section.listed.slice(0, limit).map(row), ".instances");
}

/* One instance: the question with its evidence, and each answer with its tree, steps and judge */

const nameOf = (section, answer) => cut(section.runs[answer.run].label) + (answer.which && `, ${answer.which}`);

function instance(section, entry) {
  const order = section.listed ?? section.entries;
  const at = order.indexOf(entry);
  const step = (words, other, rel) => other && h(`a.${rel}`, { href: `#${other.id}`, rel }, words);
  const tags = new Set(Object.values(entry.tags).flatMap((values) => values.slice(0, 20)));
  return [h("p.crumbs", h("a", { href: `#${section.name}` }, "All instances"),
    at >= 0 && h("span.faint", `${at + 1} of ${order.length}`),
    step("Previous", order[at - 1], "prev"), step("Next", order[at + 1], "next")),
  h("h1", { tabindex: -1 }, h("bdi", cut(entry.task)), " · ", h("bdi", cut(entry.name))),
  h("p", [...tags].map((tag) => [h("span.tag", cut(tag)), " "])),
  h("div.instance", h("div.question",
    h("section.card", h("h2", section.rpts ? "Statement" : "Question"), asked(entry.question),
      entry.hidden.map(([run, n]) => faint(`${cut(section.runs[run].label)}: ${count(n, "more answer")} not shown.`))),
    evidence(entry)),
    h("div.chains", entry.answers.map((answer, number) => answerCard(section, entry, answer, number)), gold(entry)))];
}

/** A question with its options and the right answer. */
function asked({ text, options, marks, right, gold: golds, language }) {
  const option = (words, at) => h("li", marks[at] && h("b", `(${marks[at]}) `), rich(words),
    at === right && [" ", h("span.tag", "right")]);
  return h("div", { lang: language || null },
    text ? h("div.asked-text", rich(text, true)) : faint("The samples do not contain the question."),
    h("ul.plain-list", options.slice(0, MOST).map(option)),
    options.length > MOST && faint(`and ${thousands(options.length - MOST)} more options`),
    golds.length > 0 ? h("p", "Right answer: ", golds.map((answer, at) => [at > 0 && "; ", h("b", rich(answer))]))
      : right === null && faint("The samples do not contain the right answer."));
}

/** The clues of a question, or what else is known of it, and its images. */
function evidence(entry) {
  const lang = entry.question.language || null;
  const row = (key, text) => [h("dt", leaf(key)), h("dd", { id: idOf(entry, "", key), lang }, text)];
  return h("section.card", h("h2", "Evidence"),
    h("dl", entry.context && row(["context", null], rich(entry.context, true)),
    (entry.texts || []).map((text, at) => row(["text", at], rich(text, true))),
    Object.entries(entry.question.details || {}).map(([name, text]) =>
      [h("dt.faint", name), h("dd", rich(text, true))])),
    entry.images.map(([name, number], at) => picture(entry, name, number, at)),
    entry.more_images > 0 && faint(`${count(entry.more_images, "more image")} not included.`));
}

function picture(entry, name, number, at) {
  const [src, width, height] = data.images[number] ?? [];
  const title = `Image ${at}${name && `: ${name}`}`;
  const image = h("img", { src, width, height, alt: title });
  return h("figure", { id: idOf(entry, "", ["image", at]) },
    h("figcaption", leaf(["image", at]), " ", h("span.faint", name)),
    src ? h("button.enlarge", { type: "button", onclick: () => dialog(title, image.cloneNode()) }, image)
      : faint("The image is not on this machine: set its folder with ", h("span.figure", "--images"), "."));
}

function answerCard(section, entry, answer, number) {
  const anchor = `${entry.id}--${number}`;
  const { record, text, thinking } = answer;
  const prompt = answer.prompt === null ? faint("The samples do not contain the prompt.")
    : data.prompts[answer.prompt].map(([role, turn]) => [h("h4", cut(role || "user")), source(turn)]);
  const response = text ? passage(text)
    : faint(text === null ? "The samples do not contain the response." : "The response is empty.");
  return h("section.card", { id: anchor, "aria-label": nameOf(section, answer) }, h("h2", nameOf(section, answer)),
    section.rpts ? reasoning(entry, answer, anchor, nameOf(section, answer)) : grades(entry, answer),
    spent(answer.spent, answer.tokens === null ? "" : count(answer.tokens, "token")),
    folded("Exact prompt to the model", prompt),
    thinking && folded(`Thinking (${count(thinking.length, "character")})`, passage(thinking)),
    (text !== null || !record.numbers) && (section.rpts && record.steps.length
      ? folded("Full response", record.transform.problems.map(problem), response) : [h("h3", "Response"), response]),
    answer.rewritten && folded("Steps as rewritten by the judge", call(answer.rewritten, record.transform.verdict)),
    answer.read && folded("Answer as read by the judge", call(answer.read, record.answer.verdict)),
    h("details.record", h("summary", "Raw record"),
      source(JSON.stringify({ instance: entry.instance, ...record }, null, 1))));
}

/** A request to a judge and its reply. */
function call({ same, system, user, images, spent: took }, verdict) {
  return [verdict.reply && [h("h4", "reply"), source(verdict.reply)], problem(verdict.error), spent(took),
    same === false && faint("Rebuilt with other templates than those of the run: the words may differ."),
    user !== undefined && [folded("Instructions", source(data.systems[system])), h("h4", "request"),
      source([...images.map((name) => `[${name}]`), user].join("\n"))]];
}

/** A response with its tree and the scores of its steps. */
function reasoning(entry, answer, anchor, name) {
  const { record: { first_error: error, reason, steps }, score } = answer;
  const link = (step, k = 0) => [k > 0 && ", ", h("a", { href: `#${anchor}-s${step}` }, `Conclusion ${step}`)];
  return [h("p", outcomeOf(answer), " answer: ", h("b", answer.final || "none found"), ", RPTS ", badge(score)),
    problem(reason && (reason.startsWith("not judged") ? reason : `not judged: ${reason}`)),
    problem(answer.error && `The answer could not be determined: ${answer.error}`),
    error && h("p.problem", "First error: ", link(error.step), `, height ${error.height}, `,
      `${MODALITIES[error.modality]}, score ${figure(error.score)}.`,
      error.path.length > 1 && [" Steps that depend on it: ", error.path.slice(1).map(link), "."]),
    !error && score !== null && steps.length > 0 && h("p.whole", "All counted steps score at least 0.5."),
    steps.length ? tree(entry, answer.record, anchor, name)
      : faint("No reasoning step could be parsed from the response."),
    steps.map((step, at) => judged(entry, answer, step, at, anchor))];
}

/** Why a step can't cite this; undefined if it can. */
function faultOf(faults, step, [kind, index]) {
  return faults.find((fault) => fault.step === step && fault.kind === kind && fault.index === index)?.reason;
}

/** The id of what a step cites: another step, or a clue of the question. */
function idOf(entry, anchor, [kind, index]) {
  return kind === "conclusion" ? `${anchor}-s${index}` : `${entry.id}--${kind}${index ?? ""}`;
}

/** A step with its score; below 0.5 with the judge's reason. */
function judged(entry, { record, calls }, step, at, anchor) {
  const wrong = record.first_error?.step === at;
  const faults = record.invalid_references.filter((fault) => fault.step === at);
  const reasons = new Set(step.verdicts.map((verdict, k) => calls[at][k].reason ?? verdict.reply).filter(Boolean));
  return h("article.judged", { id: `${anchor}-s${at}`, style: `--kind:${wrong ? RED : colour(step.score)}` },
    h("h3", `Conclusion ${at} `, badge(step.score), wrong && [" ", h("span.flag", "first wrong step")],
      record.diagnosis.restating.includes(at) && [" ", h("span.tag", "restates")]),
    h("p", "from ", step.premises.length > 0 ? step.premises.map((key, k) =>
      [k > 0 && " + ", leaf(key, `#${idOf(entry, anchor, key)}`, faultOf(faults, at, key))]) : "nothing", " ",
    h("span.faint", `height ${step.height}, ${MODALITIES[step.modality]}`,
      !step.counts && "; not counted: the last conclusion does not depend on it")),
    h("p.conclusion", { lang: entry.question.language || null }, rich(step.conclusion || "(empty)")),
    faults.map(({ kind, index, reason }) => problem(`${clue([kind, index])} does not exist: ${reason}.`)),
    step.score !== null && step.score < THRESHOLD && [...reasons].map((reason) =>
      h("div.reason", h("b", "Judge: "), rich(reason, true))),
    step.note && faint(`Not judged: ${step.note}.`),
    step.verdicts.length > 0 && folded("Judge request and reply", step.verdicts.map((verdict, k) =>
      [h("p", k ? "second call, with all texts and conclusions, counts 0.8 times: " : "score: ", badge(verdict.value)),
        call(calls[at][k], verdict)])));
}

function gold(entry) {
  return entry.gold?.length > 0 && h("section.card", h("h2", "Gold reasoning"),
    h("ul.plain-list", { lang: entry.question.language || null }, entry.gold.map((line) => h("li", rich(line)))));
}

/** An answer with all of its grades, and what else a judge said. */
function grades(entry, answer) {
  const { record, question = entry.question } = answer;
  const words = ({ score, verdict }) => (score === null ? (verdict?.error ? "failed" : "undecided")
    : { 0: "wrong", 1: "right" }[score] ?? figure(score, 3));
  const part = (key, name, result, value, ...parts) =>
    h("article.judged", { style: `--kind:${colour(value.score)}` },
      h("h3", name, " ", h("span.score", result), key === record.grader && [" ", h("span.tag", "counts")]), parts,
      problem(value.reason !== record.reason && value.reason),
      answer.calls[key] && folded("Judge request and reply", call(answer.calls[key], value.verdict)));
  return [h("p", outcomeOf(answer),
    answer.final !== null && [" final answer: ", h("b", rich(answer.final || "none found"))]),
  problem(record.reason), answer.question && folded("Question as asked in this variant", asked(question)),
  likelihoods(question, record),
  Object.entries(record.grades).map(([key, grade]) =>
    part(key, { rule: "rules", strict: "strict rules" }[key] || answer.judge, words(grade), grade,
      grade.rule && h("p", rich(grade.rule)),
      grade.answer !== undefined && h("p", "Answer found: ", rich(grade.answer.trim() || "none")))),
  Object.entries(record.findings || {}).map(([key, finding]) =>
    part(key, key.replaceAll("_", " "), finding.value || "failed", finding))];
}

/** What was measured of each option. */
function likelihoods({ options, right }, { numbers, grades: own, grader }) {
  const names = Object.keys(numbers || {});
  const tag = (shown, words) => shown && [" ", h("span.tag", words)];
  const row = (text, at) => [[rich(text), tag(at === right, "right"), tag(at === own[grader]?.chosen, "chosen")],
    ...names.map((name) => numbers[name][at]?.toFixed(3) ?? "–")];
  return names.length > 0 && [table("Options", ["option", ...names.map((name) => name.replaceAll("_", " "))],
    options.slice(0, MOST).map(row)), options.length > MOST && faint(`and ${options.length - MOST} more options`)];
}

/* The tree: evidence below, the last conclusion on top. Its attributes are those of a picture on its own. */

const [WIDE, LINE, GAP, RISE] = [190, 16, 12, 36]; // of a box: width, a line of text; between boxes: across, up
const FONT = { "font-size": "12.5px", "font-family": "system-ui, sans-serif" };
const pen = document.createElement("canvas").getContext("2d");
pen.font = Object.values(FONT).join(" ");
const widthOf = (text) => pen.measureText(text).width;

/** The lines of a text in a box. A line ends after a space or before a Chinese character; longer words are cut. */
function wrapped(text) {
  const fits = (line) => widthOf(line.trimEnd()) <= WIDE - 16;
  const parts = marked(text.slice(0, 400)).split(/(?<=\s)|(?=[\u3040-\u30ff\u3400-\u9fff])/);
  const found = [""];
  for (const part of parts.flatMap((word) => (fits(word) ? word : [...word]))) {
    if (!fits(found.at(-1) + part)) found.push("");
    found[found.length - 1] += part;
  }
  return found.length > 5 ? [...found.slice(0, 4), `${found[4].slice(0, -1)}…`] : found;
}

function stepBox({ steps, first_error: error, diagnosis }, at, anchor) {
  const { score, counts, conclusion } = steps[at];
  const wrong = error?.step === at;
  const notes = [wrong && "first wrong step", diagnosis.restating.includes(at) && "restates"].filter(Boolean);
  const body = [...notes, ...wrapped(conclusion || "(empty)")];
  const height = 14 + LINE * (body.length + 1);
  const text = (words, x, row, more) => s("text", { x, y: 1 + LINE * row, fill: INK, ...more }, words);
  const bold = { "font-weight": "bold" };
  return { width: WIDE, height, shape: s("a", { href: `#${anchor}-s${at}` },
    s("title", `Conclusion ${at}: ${conclusion}`),
    s("rect", { x: -WIDE / 2, width: WIDE, height, rx: 8, fill: colour(score), stroke: wrong ? RED : GREY,
      "stroke-width": wrong && 3, "stroke-dasharray": !counts && "4 3" }),
    text(`Conclusion ${at}`, 8 - WIDE / 2, 1, bold),
    text(figure(score), WIDE / 2 - 8, 1, { ...bold, "text-anchor": "end" }),
    body.map((words, k) => text(words, 8 - WIDE / 2, k + 2, k < notes.length && { ...bold, fill: "#8a2500" }))) };
}

function leafBox(key, href, fault) {
  const words = clue(key);
  const width = 1.1 * widthOf(words) + 16;
  return { width, height: 20, shape: s("a", { href }, fault && s("title", fault),
    s("rect", { x: -width / 2, width, height: 20, rx: key[0] === "image" ? 3 : 10, fill: "#fff",
      stroke: fault ? RED : CITED[key[0]] || GREY, "stroke-width": 1.5, "stroke-dasharray": fault && "4 3" }),
    s("text", { y: 14, "text-anchor": "middle", "font-weight": "bold", fill: fault ? RED : INK,
      "text-decoration": fault && "line-through" }, words)) };
}

function tree(entry, record, anchor, name) {
  const { steps, first_error: error, invalid_references: faults } = record;
  if (steps.length > MOST) return faint(`${steps.length} steps are too many for a picture.`);
  const layers = Array.from({ length: steps.length + 1 }, () => []); // by height
  const put = (box, height) => {
    layers[height].push(box);
    return Object.assign(box, { level: height, above: [] });
  };
  const boxes = [];
  const wires = []; // the boxes that a line passes: what is cited, gaps in the layers between, the citing step
  steps.forEach((step, at) => {
    const earlier = ([kind, index]) => kind === "conclusion" && index !== null && index < at;
    const height = 1 + Math.max(0, ...step.premises.filter(earlier).map(([, index]) => boxes[index].level));
    const citing = put(stepBox(record, at, anchor), height);
    boxes.push(citing);
    for (const key of new Map(step.premises.map((premise) => [premise.join(), premise])).values()) {
      const cited = earlier(key) ? boxes[key[1]]
        : put(leafBox(key, `#${idOf(entry, anchor, key)}`, faultOf(faults, at, key)), height - 1);
      const passed = [cited];
      for (let level = cited.level + 1; level < height; level++) passed.push(put({ width: 14, height: 0 }, level));
      passed.push(citing);
      passed.slice(1).forEach((box, k) => passed[k].above.push(box));
      const broken = error?.path.some((from, k) => boxes[from] === cited && error.path[k + 1] === at);
      wires.push({ passed, broken, stray: !step.counts });
    }
  });
  const [width, height] = arrange(layers);
  const line = ({ passed, broken, stray }) => s("path", { fill: "none", stroke: broken ? RED : GREY,
    "stroke-width": broken ? 3 : 1.3, "stroke-dasharray": stray && "4 3", d: passed.map((to, k) => {
      if (!k) return `M${to.x} ${to.y}`;
      const [from, half] = [passed[k - 1], (passed[k - 1].y + to.floor) / 2];
      return `C${from.x} ${half} ${to.x} ${half} ${to.x} ${to.floor}V${to.y + to.height}`;
    }).join("") });
  const drawn = s("svg.tree", { width, height, viewBox: `${-width / 2} -2 ${width} ${height}`, ...FONT,
    style: `min-width: ${0.7 * width}px` }, wires.map(line), layers.flat().map(({ x, y, shape }) =>
    shape && s("g", { transform: `translate(${x} ${y})` }, shape)));
  const save = () => download(`${anchor}.svg`, new XMLSerializer().serializeToString(drawn), "image/svg+xml");
  return [h("div.scroll", { tabindex: 0, role: "group", "aria-label": `Tree of ${name}` }, drawn),
    h("p.save", button("Save picture (SVG)", save))];
}

/** Gives the boxes of layers their places, each below the middle of those that cite it; returns the size. */
function arrange(layers) {
  let [width, y] = [0, 0];
  for (const layer of layers.filter((boxes) => boxes.length > 0).reverse()) {
    const middle = new Map(layer.map((box) => [box, box.above.reduce((sum, { x }) => sum + x / box.above.length, 0)]));
    layer.sort((a, b) => middle.get(a) - middle.get(b));
    const across = layer.reduce((sum, box) => sum + box.width + GAP, -GAP);
    const floor = y + Math.max(...layer.map((box) => box.height));
    let left = -across / 2;
    for (const box of layer) {
      Object.assign(box, { x: left + box.width / 2, y, floor });
      left += box.width + GAP;
    }
    [width, y] = [Math.max(width, across), floor + RISE];
  }
  return [width + 4, y - RISE + 4];
}

function download(name, content, type) {
  h("a", { download: name, href: URL.createObjectURL(new Blob([content], { type })) }).click();
}

/* Rating: one step at a time, three buttons, and a file of the scores */

const SCORES = [["1", 1, "sound"], ["2", 0.5, "unsure"], ["3", 0, "wrong"]];
const CRITERIA = {
  "Does it follow?": "Of a step that draws a conclusion from premises, rate only the inference: accept the premises as "
    + "true, and ignore whether the conclusion is true in the real world. Sound: given the premises, the situation and "
    + "common sense, it must be true. Unsure: likely, but something is missing. Wrong: it contradicts them, or needs a "
    + "fact that is not given. Do not penalise a step for an error in an earlier one that it builds on.",
  "Is it in the image?": "Of a step that describes an image: Sound: the image shows it, even if the description is "
    + "incomplete. Unsure: partly right, or too vague. Wrong: the image contradicts it, or shows nothing of it.",
};

/** Draws the page for raters; returns what its keys do. */
function rating() {
  const items = data.sections[0].entries.flatMap((entry) =>
    entry.steps.map((step, at) => ({ entry, step, at })).filter(({ step }) => step.kind));
  const stored = `lmms-rpts-ratings ${items.map(({ entry: it, at }) => [it.task, it.doc_id, it.repeat, at]).join(";")}`;
  let storage = {};
  try { storage = localStorage; } catch { /* the browser stores nothing */ }
  const state = JSON.parse(storage[stored] ?? '{"scores": {}, "current": 0}');
  const [place, note] = [h("div.instance"), h("p", { role: "status" })];
  const go = (to) => {
    state.current = Math.min(items.length - 1, Math.max(0, to));
    storage[stored] = JSON.stringify(state);
    draw();
  };
  const [next, previous] = [() => go(state.current + 1), () => go(state.current - 1)];
  const rate = (score) => {
    state.scores[state.current] = score;
    next();
  };
  const buttons = SCORES.map(([key, score, words]) => button([h("kbd", key), ` ${words}`], () => rate(score)));
  const save = () => {
    const rater = (prompt("Your name, to tell your scores from those of others") || "").trim();
    if (!rater) return;
    const ratings = items.map(({ entry: { task, doc_id, id, repeat }, step: { conclusion }, at }, k) =>
      ({ task, doc_id, id, repeat, step: at, conclusion, score: state.scores[k] }))
      .filter(({ score }) => score !== undefined);
    const content = { format: "lmms-rpts-ratings", version: 1, rater, ratings };
    const file = `ratings-${rater.replace(/[^\p{L}\p{N}]+/gu, "-")}.json`;
    download(file, JSON.stringify(content, null, 1), "application/json");
    note.textContent = `Saved ${count(ratings.length, "score")} as ${file}.`;
  };
  const draw = () => {
    const { entry, step, at } = items[state.current];
    const image = step.kind === "image";
    note.textContent = `Step ${state.current + 1} of ${items.length}, ${Object.keys(state.scores).length} rated`;
    buttons.forEach((each, k) => each.setAttribute("aria-pressed", state.scores[state.current] === SCORES[k][1]));
    place.replaceChildren(
      h("div.question", h("section.card", h("h2", entry.asked), rich(entry.question.text, true)), evidence(entry)),
      h("div.question", h("section.card", h("h2", image ? "Is this in the image?" : "Does the conclusion follow?"),
        image ? h("p", "Look at ", step.images.map((number) => [leaf(["image", number]), " "]))
          : [h("h3", "Premises"), h("ol", step.evidence.map((text) => h("li", rich(text, true))))],
        h("h3", image ? "Claim" : "Conclusion"),
        h("p.claim", { lang: entry.question.language }, rich(step.conclusion || "(empty)"))),
      h("section.card", h("h2", "All steps of this response"), entry.steps.map((other, k) =>
        h(`p${k === at ? ".target" : ""}`, h("b", `Conclusion ${k}: `), rich(other.conclusion || "(empty)"),
          h("span.faint", ` from ${other.premises.map(clue).join(" + ") || "nothing"}`))))));
  };
  main.replaceChildren(h("h1", data.title),
    h("details", { open: Object.keys(state.scores).length === 0 }, h("summary", "How to rate"),
      h("dl", Object.entries(CRITERIA).map(([name, text]) => [h("dt", name), h("dd", text)]))),
    place, h("div.bar-bottom", note, h("div.scale", { role: "group", "aria-label": "Score" }, buttons),
      button("← Previous", previous), button("Next →", next), button("Save", save)));
  draw();
  return { j: next, k: previous, ArrowRight: next, ArrowLeft: previous,
    ...Object.fromEntries(SCORES.map(([key, score]) => [key, () => rate(score)])) };
}

/* The page follows the address; keys; colours */

const places = new Map((data.rate ? [] : data.sections).flatMap((section) =>
  section.entries.map((entry) => [entry.id, { section, entry }])));
let open; // the section and the entry that are shown; null: the overview
let home; // the overview, kept as it was left

function show() {
  const id = location.hash.slice(1).replace(/[^\w-]/g, "");
  const [next, before] = [places.get(id.split("--")[0]) || null, open];
  if (next !== before) {
    open = next;
    main.replaceChildren(...(next ? [instance(next.section, next.entry)] : home ??= [overview()]).flat(9));
    document.title = next ? `${next.entry.task} · ${next.entry.name} · ${data.title}` : data.title;
    window.scrollTo(0, 0);
    if (next) main.querySelector("h1").focus({ preventScroll: true });
  }
  main.querySelector(".target")?.classList.remove("target");
  const target = document.getElementById(id);
  target?.scrollIntoView();
  if (id.includes("--")) target?.classList.add("target");
  if (next || !before) return;
  const row = main.querySelector(`.instances a[href="#${before.entry.id}"]`);
  row?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: "center" });
}

function dialog(title, ...parts) {
  const box = document.querySelector("dialog");
  box.querySelector("h2").replaceChildren(marked(title));
  box.querySelector("div").replaceChildren(...parts);
  box.showModal();
}

const KEYS = [["j →", "next instance, row of the list, or step to rate"], ["k ←", "the previous one"],
  ...(data.rate ? [["1 2 3", SCORES.map(([, , words]) => words).join(", ")]]
    : [["Enter", "open the row"], ["/", "search"], ["Esc", "go back to all instances"]])];
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
const arrow = (by) => (event) => event.target.closest(".scroll, pre, .passage") || move(by);
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

document.querySelector("header").append(h("nav", { "aria-label": "Parts of the report" },
  !data.rate && data.sections.map(({ name, title }) => h("a", { href: `#${name}` }, title))),
button("Shortcuts", help));
if (!data.rate) {
  window.addEventListener("hashchange", show);
  show();
}
