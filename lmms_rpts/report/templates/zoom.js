// Enlarged images: a dialog with zoom, and the other images of the instance.
(() => {
  const { element } = report;
  const most = 12;
  let images = [], at = 0;
  let view = { scale: 1, x: 0, y: 0 };

  const button = (label, text, act) => {
    const made = element("button", { type: "button", textContent: text });
    made.setAttribute("aria-label", label);
    made.addEventListener("click", act);
    return made;
  };
  const picture = element("img", { draggable: false });
  const stage = element("div", { className: "stage" }, picture);
  const caption = element("p", { className: "zoom-caption" });
  caption.setAttribute("aria-live", "polite");
  const previous = button("Previous image", "‹", () => turn(-1)), next = button("Next image", "›", () => turn(1));
  const bar = element("div", { className: "zoom-bar" }, caption, previous, next,
    button("Zoom out", "−", () => zoom(1 / 1.4)), button("Zoom in", "+", () => zoom(1.4)),
    button("Fit to the window", "Fit", fit), button("Close the image", "Close", () => dialog.close()));
  const dialog = element("dialog", { className: "zoom" }, bar, stage);
  dialog.setAttribute("aria-label", "Enlarged image");

  function draw() {
    picture.style.transform = `translate(${view.x}px, ${view.y}px) scale(${view.scale})`;
    stage.classList.toggle("zoomed", view.scale > 1);
  }
  function fit() { view = { scale: 1, x: 0, y: 0 }; draw(); }
  // Zoom around a point of the window; without one, around the middle.
  function zoom(factor, clientX, clientY) {
    const scale = Math.min(most, Math.max(1, view.scale * factor));
    if (scale === 1) { fit(); return; }
    const box = stage.getBoundingClientRect();
    const x = clientX === undefined ? 0 : clientX - box.x - box.width / 2;
    const y = clientY === undefined ? 0 : clientY - box.y - box.height / 2;
    const by = scale / view.scale;
    view = { scale, x: x - (x - view.x) * by, y: y - (y - view.y) * by };
    pan(0, 0);
  }
  // The middle of the image stays within the stage.
  function pan(x, y) {
    const box = stage.getBoundingClientRect();
    const bound = (value, size) => Math.max(-size * view.scale / 2, Math.min(size * view.scale / 2, value));
    view.x = bound(view.x + x, box.width);
    view.y = bound(view.y + y, box.height);
    draw();
  }
  function show() {
    const image = images[at];
    picture.src = image.src;
    picture.alt = image.alt;
    caption.textContent = `${image.alt}${images.length > 1 ? ` (${at + 1} of ${images.length})` : ""}`;
    previous.hidden = next.hidden = images.length < 2;
    fit();
  }
  function turn(by) {
    if (images.length < 2) return;
    at = (at + by + images.length) % images.length;
    show();
  }
  function open(image) {
    images = Array.from(image.closest(".images").querySelectorAll("img"));
    at = images.indexOf(image);
    if (!dialog.isConnected) document.body.append(dialog);
    show();
    dialog.showModal();
    stage.focus();
  }
  report.enlarge = open;

  stage.tabIndex = 0;
  stage.setAttribute("role", "group");
  stage.setAttribute("aria-label", "Image; + and − zoom, arrows go to other images or move an enlarged one with Shift");
  const shifts = { ArrowLeft: [80, 0], ArrowRight: [-80, 0], ArrowUp: [0, 80], ArrowDown: [0, -80] };
  dialog.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = { "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), "0": fit, ArrowLeft: () => turn(-1), ArrowRight: () => turn(1) };
    const shift = shifts[event.key];
    if (shift && view.scale > 1 && (event.shiftKey || shift[1])) pan(...shift);
    else if (keys[event.key]) keys[event.key]();
    else return;
    event.preventDefault();
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => { const image = images[at]; if (image) image.focus(); });
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-Math.max(-200, Math.min(200, event.deltaY)) / 300), event.clientX, event.clientY);
  }, { passive: false });
  stage.addEventListener("dblclick", (event) => (view.scale > 1 ? fit() : zoom(2.5, event.clientX, event.clientY)));

  // One pointer moves the image, two zoom it.
  const pointers = new Map();
  const apart = () => { const [a, b] = pointers.values(); return Math.hypot(a.x - b.x, a.y - b.y); };
  stage.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", (event) => {
    const from = pointers.get(event.pointerId);
    if (!from) return;
    const before = pointers.size === 2 ? apart() : 0;
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (pointers.size === 2) zoom(apart() / Math.max(1, before), event.clientX, event.clientY);
    else if (view.scale > 1) pan(event.clientX - from.x, event.clientY - from.y);
  });
  for (const name of ["pointerup", "pointercancel"]) stage.addEventListener(name, (event) => pointers.delete(event.pointerId));

  // --- opening
  document.addEventListener("report:made", prepare);
  function prepare(event) {
    for (const image of event.target.querySelectorAll(".images img")) {
      image.classList.add("enlarges");
      image.setAttribute("aria-haspopup", "dialog");
      image.tabIndex = 0;
      image.setAttribute("role", "button");
    }
  }
  document.addEventListener("click", (event) => {
    const image = event.target.closest && event.target.closest(".images figure img");
    if (!image || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    open(image);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    if (event.target.matches && event.target.matches("img.enlarges")) { event.preventDefault(); open(event.target); }
  });
})();
