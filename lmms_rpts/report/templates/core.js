"use strict";
// Shared by the report's scripts. All files are in one script element, this one first.
//
// The instances are in <noscript> elements: browsers without scripts show them, and others keep
// them as plain text until they are opened, so that a large report opens fast. Scripts that change the content of an instance listen for the event "report:made", which each
// article sends once, and for "report:open", which it sends whenever it is shown.
const report = (() => {
  const tables = Array.from(document.querySelectorAll("table.instances"));
  const rows = tables.flatMap((table) => Array.from(table.tBodies[0].rows));
  const rowOf = new Map(rows.map((row) => [row.dataset.entry, row]));
  const sources = new Map(Array.from(document.querySelectorAll("noscript[data-entry]"), (each) => [each.dataset.entry, each]));
  const articles = new Map();
  const texts = new Map();
  const entities = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&#34;": "\"", "&#39;": "'" };

  // The text of an article without markup, raw records, and prompts, which repeat the text.
  function plain(source) {
    const text = source.replace(/<pre class="(?:raw|said)"[^>]*>[^<]*/g, " ").replace(/<[^>]*>/g, " ");
    return text.replace(/&(?:amp|lt|gt|#34|#39);/g, (each) => entities[each]).replace(/\s+/g, " ").toLowerCase();
  }
  function textOf(id) {
    if (!texts.has(id)) {
      const source = sources.get(id);
      texts.set(id, source ? plain(source.textContent) : "");
    }
    return texts.get(id);
  }
  function articleOf(id) {
    if (!articles.has(id) && sources.has(id)) {
      textOf(id);
      const source = sources.get(id), holder = document.createElement("template");
      holder.innerHTML = source.textContent;
      const article = holder.content.querySelector("article.instance");
      source.replaceWith(article);
      sources.delete(id);
      articles.set(id, article);
      article.dispatchEvent(new CustomEvent("report:made", { bubbles: true }));
    }
    return articles.get(id);
  }
  // An element by its id, also of an instance that was not opened yet.
  function find(id) {
    if (!id) return null;
    articleOf(id.split("--", 1)[0]);
    return document.getElementById(id);
  }
  function element(name, fields, ...children) {
    const made = Object.assign(document.createElement(name), fields);
    made.append(...children);
    return made;
  }
  // Whether a key is for the focused element and not a shortcut.
  function typing(event) {
    const target = event.target;
    return event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing ||
      Boolean(target.closest && target.closest("input, select, textarea, [contenteditable]"));
  }
  return {
    root: document.documentElement,
    title: document.title,
    tables,
    rowOf: (id) => rowOf.get(id),
    // The rows of a table that pass the filters, in the current order.
    chosen: (table) => (table ? Array.from(table.tBodies[0].rows).filter((row) => !row.dataset.out) : []),
    open: null,
    starting: [],
    textOf, articleOf, find, element, typing,
  };
})();
// After all files: all listeners are registered.
queueMicrotask(() => { for (const start of report.starting) start(); });
