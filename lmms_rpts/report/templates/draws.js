// Of the draws of a question, shows the first one and another one beside it.
(() => {
  function pick(pair, draw) {
    const parts = Array.from(pair.querySelectorAll("[data-draw]:not([data-first])"));
    const has = (part) => part.dataset.draw === draw;
    if (parts.some(has)) for (const part of parts) part.classList.toggle("beside", has(part));
    const shown = pair.querySelector(".card.beside"), first = pair.querySelector(".card[data-first]");
    const ends = shown ? [first, shown].map((card) => `#${card.id}-s${shown.dataset.step}`) : [];
    for (const step of pair.querySelectorAll(".tree a")) step.classList.toggle("diverges", ends.includes(step.getAttribute("href")));
    return shown && shown.dataset.draw;
  }
  document.addEventListener("report:open", ({ target: article, detail: place }) => {
    const part = place.closest("[data-draw]");
    const shown = Array.from(article.querySelectorAll(".pair"), (pair) => pick(pair, part && part.dataset.draw));
    for (const row of article.querySelectorAll(".draws tbody tr")) {
      const there = shown.includes(row.dataset.draw);
      row.classList.toggle("beside", there);
      row.querySelector("a").setAttribute("aria-current", there);
    }
  });
})();
