// Draws a form from its sections, and from the views that the kernel sends. What somebody
// enters goes to the kernel in messages (listed in form.py), never into the state of the
// widget; a secret is removed from the page as soon as its field is left.

const PATIENCE = 1500; // ms until a form says that the kernel is busy
const BUSY = "The kernel is busy. Wait, or interrupt it.";
const NO_KERNEL = "Not connected to a kernel, so it holds no values. Run the cell again.";
const MARKS = { error: "✗", warning: "!", success: "✓", info: "i", sending: "…" };

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function makeButton(text, className, press) {
  const button = make("button", { type: "button", class: `button ${className}` }, text);
  // The second click of a double click may meet a button that the first one brought.
  button.addEventListener("click", (event) => event.detail > 1 || press());
  return button;
}

// Hosts may draw a widget in a shadow root, which has a focus of its own.
const focusIn = (node) => node.getRootNode().activeElement;
const hasFocus = (node) => node.contains(focusIn(node));

// JupyterLab and Notebook 7 take keys in a form as commands, such as "d d", which deletes
// the cell. Notebook 7 listens on the document in the capture phase, so this listens on
// the window. What a key does by default, such as typing, stays.
const forms = new Map();
window.addEventListener("keydown", (event) => {
  const path = event.composedPath();
  const form = path.find((node) => forms.has(node));
  const hasModifier = event.ctrlKey || event.metaKey;
  if (!form) {
    // The tabs of a Walkthrough are of ipywidgets: arrows are theirs, letters nobody's.
    const tabs = path[0].closest?.(".widget-tab");
    const isOurs = tabs && [...forms.keys()].some((each) => tabs.contains(each));
    if (isOurs && /^\S$/.test(event.key) && !hasModifier) event.stopPropagation();
    return;
  }
  if (event.key === "Enter") forms.get(form)(event, path[0], hasModifier);
  // Shortcuts such as Ctrl+S pass, except Enter and those that edit text.
  const isForForm = "acvxyz".includes(event.key.toLowerCase()) || event.key === "Enter";
  if (!hasModifier || isForForm) event.stopPropagation();
}, true);

// Makes a field secret: it is emptied when it is left, and then shows what the kernel
// holds, masked or not at all. An account number is visible while it is typed, and can be
// corrected until it is sent: only the variable `kept` still has it.
function makeSecret(field, kind) {
  const { input, box } = field;
  const isNumber = kind !== "secret";
  let kept = "";
  let isKeptShown = false;
  const toggle = makeButton("", "switch", () => hide(input.type === "text"));
  toggle.addEventListener("mousedown", (event) => event.preventDefault()); // keeps the focus
  const clear = makeButton("Clear", "clear", () => {
    kept = input.value = "";
    field.send("");
    input.focus();
  });
  const hide = (isHidden) => {
    input.type = isHidden ? "password" : "text";
    toggle.textContent = isHidden ? "Show" : "Hide";
    toggle.ariaLabel = `${toggle.textContent} ${field.label.textContent}`;
    clear.ariaLabel = `Clear ${field.label.textContent}`;
  };
  input.after(toggle, clear);
  input.autocomplete = isNumber ? "off" : "new-password";
  // A field that is left empty keeps what is held, unless that was shown and erased.
  const typed = () => (isNumber ? input.value.replace(/\s/g, "") : input.value);
  field.value = () => typed() || (isKeptShown ? "" : null);
  field.leave = () => {
    if (isNumber && (input.value || isKeptShown)) kept = input.value;
    input.value = "";
    isKeptShown = false;
    hide(!isNumber);
  };
  field.forget = () => {
    kept = "";
  };
  field.showHeld = (held) => {
    box.classList.toggle("held", held !== null);
    if (held !== null) input.placeholder = held || "Entered, not shown";
    hide(input.type === "password");
  };
  input.addEventListener("focus", () => {
    if (!kept || input.value) return;
    isKeptShown = true;
    input.value = kept;
    input.select();
  });
  hide(!isNumber);
}

// Draws one field: label, input, help and notes. `form` has the id of the form, its lists
// of codes, and what a field tells it: `change(name, text)`, `press(action, name)`.
function drawField(spec, form) {
  const { name, kind, required } = spec;
  const id = `${form.id}-${name}`;
  const input = make(kind === "select" ? "select" : "input", {
    id,
    name,
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": `${id}-help ${id}-notes`,
    "aria-required": required ? "true" : undefined,
    list: spec.list ? `${form.id}-${spec.list}` : undefined,
  });
  const label = make("label", { for: id, class: required ? "required" : "" }, spec.label);
  const help = make("div", { class: "help", id: `${id}-help` }, spec.help);
  const notes = make("div", { class: "notes", id: `${id}-notes` });
  const control = make("div", { class: "input" }, input);
  const box = make("div", { class: "field" }, label, control, help, notes);
  const field = { name, input, box, label, only: spec.only, value: () => input.value };
  let shown = "";
  let options = "";

  if (spec.action) control.append(makeButton(spec.action, "", () => form.press("beside", name)));
  if (["secret", "number"].includes(kind)) makeSecret(field, kind);
  field.isEdited = false;
  field.send = (text) => {
    field.isEdited = false;
    form.change(name, text);
  };
  field.commit = () => field.send(field.isEdited ? field.value() : null);
  input.addEventListener("input", () => {
    field.isEdited = true;
  });
  if (kind === "select") {
    input.addEventListener("change", () => {
      form.foresee(input.value);
      field.commit();
    });
  }
  box.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (target === input) field.commit();
    if (!box.contains(relatedTarget)) field.leave?.();
  });

  function showOptions(found) {
    if (options === JSON.stringify(found)) return;
    options = JSON.stringify(found);
    const none = found.length ? "Choose…" : field.example;
    const all = [["", none], ...found];
    input.replaceChildren(...all.map(([code, words]) => new Option(words, code)));
  }
  function showNotes(found) {
    const has = (severity) => found.some((note) => note[0] === severity);
    box.classList.toggle("wrong", has("error"));
    box.classList.toggle("doubtful", has("warning"));
    input.setAttribute("aria-invalid", has("error"));
    if (shown === JSON.stringify(found)) return;
    shown = JSON.stringify(found);
    notes.replaceChildren(...found.map(([severity, text, use]) => {
      const note = make("div", { class: severity }, text);
      if (use) note.append(makeButton(use, "use", () => form.press("use", name)));
      return note;
    }));
  }
  // Shows the view of the field. mayReplace: the kernel has all that was entered here.
  field.show = (view, mayReplace) => {
    label.textContent = view.label;
    label.classList.toggle("needed", view.needed);
    field.example = view.example;
    if (kind === "select") showOptions(view.options);
    else input.placeholder = view.example && `e.g. ${view.example}`;
    field.showHeld?.(view.held);
    if (!field.showHeld && mayReplace && input.value !== view.text) input.value = view.text;
    help.textContent = form.names(spec.list).get(input.value.toUpperCase()) || view.help;
    showNotes(view.notes);
  };
  return field;
}

// Draws the banner above the fields: errors that lead to their fields, a request that is
// sent, its outcome. go(name) leads to a field.
function drawBanner(go) {
  const node = make("div", { class: "banner", tabindex: "-1", hidden: true });
  let shown = "null";
  function drawLine([text, name]) {
    return make("li", {}, name ? makeButton(text, "link", () => go(name)) : text);
  }
  function show(banner) {
    if (JSON.stringify(banner) === shown) return;
    shown = JSON.stringify(banner);
    node.hidden = !banner;
    if (!banner) return;
    const { kind, title, lines = [], details } = banner;
    const mark = make("span", { class: "mark", "aria-hidden": "true" }, MARKS[kind]);
    const role = kind === "error" ? "alert" : "status";
    node.className = `banner pk-${kind === "sending" ? "neutral" : kind}`;
    node.replaceChildren(make("div", { class: "head", role }, mark, make("b", {}, title)));
    if (lines.length) node.append(make("ul", {}, ...lines.map(drawLine)));
    if (details) node.append(make("details", {}, make("summary", {}, "Details"), details));
  }
  return { node, show };
}

// Draws the buttons below a form; those of a form that is done are in a menu, except the
// next step.
function drawActions(press) {
  const row = make("div", { class: "row" });
  const told = make("div", { class: "told" });
  const node = make("div", { class: "actions" }, row, told);
  let shown = "";
  const draw = ([label, isPrimary]) => makeButton(label, isPrimary ? "go" : "", () => press(label));
  function show(buttons, isDone) {
    if (shown === JSON.stringify([buttons, isDone])) return;
    shown = JSON.stringify([buttons, isDone]);
    const isNext = ([label, isPrimary]) => isPrimary || label.startsWith("Next");
    const first = isDone ? buttons.filter(isNext) : buttons;
    const others = buttons.filter((button) => !first.includes(button));
    row.replaceChildren(...first.map(draw));
    if (others.length) {
      const summary = make("summary", { class: "button" }, "More");
      const menu = make("div", { class: "row" }, ...others.map(draw));
      row.append(make("details", { class: "more" }, summary, menu));
    }
  }
  return { node, told, show };
}

// Calls `lose` with what happened when the kernel is gone. JupyterLab tells models only of
// a restart that somebody asked for; its session, if any, knows the rest.
function watchKernel(model, signal, lose) {
  const session = model.widget_manager?.context?.sessionContext;
  const first = session?.session?.kernel?.id;
  const gone = ["restarting", "autorestarting", "dead"];
  const check = () => {
    const kernel = session.session?.kernel;
    if (!kernel) lose("shut down");
    else if (kernel.id !== first || gone.includes(kernel.status)) lose("restarted");
  };
  const restarted = () => lose("restarted");
  model.on("comm_live_update", restarted);
  const changes = first ? [session.statusChanged, session.kernelChanged] : [];
  changes.forEach((change) => change.connect(check));
  signal.addEventListener("abort", () => {
    model.off("comm_live_update", restarted);
    changes.forEach((change) => change.disconnect(check));
  });
}

function render({ model, el }) {
  const disposal = new AbortController();
  const { signal } = disposal;
  const title = model.get("label");
  el.classList.add("payerkit");
  // Hosts mark an element that is drawn without a kernel.
  if (el.classList.contains("jupyter-widgets-disconnected")) {
    el.append(make("b", {}, title), make("div", { role: "status" }, NO_KERNEL));
    return () => {};
  }
  const page = `p${Math.random().toString(36).slice(2)}`;
  const fields = {};
  const lists = {};
  let phase = "open";
  let unknown; // what is not known, and what to do then, if no response comes
  let number; // of the last view, which a press has to carry
  let count = 0; // of the messages that this page sent
  let replied = 0; // the count of the last one with a reply
  let waiting; // the press that waits for replies to earlier messages
  let isPressing = false;
  let isBusy = false;
  let isLost = false;
  let showsMore = false;
  let isPointerDown = false;
  let postponed = [];
  let timer;

  function send(message) {
    if (isLost) return;
    count += 1;
    clearTimeout(timer);
    timer = setTimeout(() => isBusy || tell(BUSY), PATIENCE);
    try {
      model.send({ values: {}, name: "", ...message, page, count });
    } catch {
      lose("restarted");
    }
  }
  // Says why nothing happens, above the fields and beside the buttons.
  function tell(text, role = "status") {
    notice.setAttribute("role", role);
    notice.textContent = text;
    actions.told.textContent = text;
  }
  function lose(what) {
    if (isLost) return;
    isLost = true;
    clearTimeout(timer);
    tell(`The kernel was ${what}, so the values are gone. Run the cell again.`, "alert");
    if (phase === "sending" || isPressing) {
      banner.show({ kind: "warning", title: unknown[0], lines: [[unknown[1], ""]] });
    }
    setInert(false);
    // Text that was typed can still be read and copied, and nothing claims to be held.
    form.querySelectorAll("input").forEach((input) => {
      input.readOnly = true;
      input.placeholder = "";
    });
    form.querySelectorAll("select, button").forEach((control) => {
      control.disabled = true;
    });
  }
  const change = (name, text) => send({ type: "change", values: { [name]: text } });
  // Until the kernel replies, further clicks are ignored. A press waits for the replies to
  // what was sent before it, since it has to carry the number of the last view.
  function press(action, name = "") {
    if (number === undefined || waiting || isPressing || isBusy || isLost) return;
    Object.values(fields).filter((field) => field.isEdited).forEach((field) => field.commit());
    waiting = { type: "press", action, name };
    const hadFocus = hasFocus(form);
    banner.show({ kind: "sending", title: "One moment …" });
    setInert(true);
    // What is inert loses the focus, and the page would scroll to where it goes.
    if (hadFocus) banner.node.focus({ preventScroll: true });
    sendWaiting();
  }
  function sendWaiting() {
    if (!waiting || replied !== count) return;
    isPressing = true;
    send({ ...waiting, number });
    waiting = undefined;
  }
  function setInert(isInert) {
    form.ariaBusy = isInert ? "true" : null;
    body.inert = panel.inert = isInert;
  }

  const id = `${page}-form`;
  const names = (list) => lists[list] ?? new Map();
  const context = { id, names, change, press, foresee };
  const heading = make("h2", { tabindex: "-1" }, title);
  const badge = make("span", { class: "pk-badge" });
  const subject = make("span", { class: "help" });
  const notice = make("div", { class: "told" });
  const advice = make("div", { class: "help" });
  const spoken = make("div", { class: "spoken", "aria-live": "polite" });
  const banner = drawBanner((name) => (phase === "review" ? press("change", name) : focus(name)));
  const panel = make("div", { class: "panel" });
  const actions = drawActions(press);
  const more = makeButton("", "", () => {
    showsMore = !showsMore;
    arrange();
  });
  const beside = new Map();
  const sections = model.get("sections").map((section) => {
    const grid = make("div", { class: "grid" });
    for (const spec of section.fields) {
      fields[spec.name] = drawField(spec, context);
      grid.append(fields[spec.name].box);
    }
    beside.set(section.title, make("div", { class: "row" }));
    const legend = make("legend", {}, make("h3", {}, section.title));
    return make("fieldset", {}, legend, beside.get(section.title), grid);
  });
  const required = make("div", { class: "help" }, "* required");
  const body = make("div", {}, advice, ...sections, more, required);
  const head = make("div", { class: "title" }, heading, " ", badge, " ", subject);
  const parts = [head, notice, banner.node, panel, body, actions.node, spoken];
  const form = make("form", { novalidate: true }, ...parts);

  // Shows the fields that are asked for; a field with the focus is never hidden.
  const places = {};
  function arrange() {
    const appeared = [];
    let hidden = 0;
    for (const [name, { box, label }] of Object.entries(fields)) {
      const isShown = places[name] === "shown" || (places[name] === "more" && showsMore);
      hidden += places[name] === "more";
      if (isShown && box.hidden) appeared.push(label.textContent);
      box.hidden = !(isShown || hasFocus(box));
    }
    if (appeared.length) spoken.textContent = `Fields added: ${appeared.join(", ")}.`;
    more.hidden = !hidden;
    more.textContent = showsMore ? "Fewer fields" : `More fields (${hidden})`;
    more.ariaExpanded = String(showsMore);
  }
  // What a choice asks for is there at once, so that Tab leads to it.
  function foresee(choice) {
    for (const [name, { only }] of Object.entries(fields)) {
      if (only && only === choice) places[name] = "shown";
    }
    arrange();
  }
  function addLists(found) {
    for (const [list, codes] of Object.entries(found)) {
      lists[list] = new Map(codes.map(([code, name]) => [code.toUpperCase(), name]));
      const options = codes.map(([value, label]) => make("option", { value, label }));
      form.append(make("datalist", { id: `${id}-${list}` }, ...options));
    }
  }
  function showFields(view) {
    // A reply may be older than what is being typed; a view of a cell's doing is not.
    const isCurrent = !view.page || replied === count;
    for (const [name, field] of Object.entries(fields)) {
      const own = view.fields[name];
      if (view.phase === "done" || (view.page !== page && own.held !== field.held)) {
        field.forget?.();
      }
      field.held = own.held;
      places[name] = own.place;
      field.show(own, isCurrent && !(view.page && field.isEdited));
      if (!view.page) field.isEdited = false;
    }
    arrange();
  }
  function showAround(view) {
    badge.textContent = view.environment[0].toUpperCase() + view.environment.slice(1);
    badge.className = `pk-badge pk-${view.environment}`;
    subject.textContent = view.subject;
    advice.textContent = view.advice;
    // The kernel has escaped the HTML.
    if (panel.innerHTML !== view.panel) panel.innerHTML = view.panel;
    for (const [section, row] of beside) {
      const label = view.beside?.[0] === section ? view.beside[1] : "";
      if (row.textContent !== label) row.replaceChildren(makeButton(label, "", () => press(label)));
      row.hidden = !label;
    }
    body.hidden = !["open", "locked"].includes(phase);
    banner.show(view.banner);
    actions.show(view.buttons, phase === "done");
    // What to do about an unknown outcome is not below all that was sent.
    // What is moved loses the focus, so that the buttons stay where they are.
    const next = phase === "unknown" ? panel : spoken;
    if (actions.node.nextSibling !== next) next.before(actions.node);
  }
  function focus(where) {
    const field = fields[where];
    if (field) field.box.hidden = false;
    let node = banner.node.hidden ? heading : banner.node;
    if (where === "answers") node = panel.querySelector("h3") ?? node;
    if (field) node = field.input;
    node.focus({ preventScroll: true });
    (field?.box ?? node).scrollIntoView({ block: "nearest" });
  }
  function showDisabled() {
    if (isLost) return;
    form.querySelectorAll("input, select, button").forEach((control) => {
      control.disabled = model.get("disabled");
    });
  }
  function update(view) {
    const hadFocus = hasFocus(form);
    const active = focusIn(form);
    const mayFocus = hadFocus || active === document.body || !active?.getClientRects().length;
    const isReply = view.page === page;
    if (isReply) replied = view.count;
    ({ number, phase, unknown, busy: isBusy } = view);
    if (replied === count) {
      isPressing = false;
      clearTimeout(timer);
      tell("");
    }
    if (view.lists && isReply && !form.querySelector("datalist")) addLists(view.lists);
    showFields(view);
    showAround(view);
    setInert(isPressing || !!waiting);
    form.ariaBusy = isBusy || form.ariaBusy ? "true" : null;
    showDisabled();
    // A user who has moved on, to another cell or field, keeps the focus there.
    const isTyping = Object.values(fields).some((field) => field.isEdited && hasFocus(field.box));
    if (view.focus && mayFocus && !isTyping && (isReply || !view.page)) focus(view.focus);
    else if (hadFocus && !focusIn(form)?.getClientRects().length) focus("banner");
    sendWaiting();
  }

  // A note that appears during a click would move the button away from the pointer.
  const onMessage = (view) => (isPointerDown ? postponed.push(view) : update(view));
  const release = () => setTimeout(() => {
    isPointerDown = false;
    postponed.splice(0).forEach(update);
  });
  window.addEventListener("pointerdown", () => (isPointerDown = true), { signal });
  window.addEventListener("pointerup", release, { signal });
  window.addEventListener("pointercancel", release, { signal });
  panel.addEventListener("click", ({ target }) => {
    const { action, field = "" } = target.dataset;
    if (action) press(action, field);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  // Enter presses the next step, or the button beside its field. A key that is held down
  // sends no answers that nobody has seen.
  forms.set(form, (event, target, hasModifier) => {
    const isInput = target.matches("input") && !target.readOnly;
    if (!hasModifier && !isInput) return;
    event.preventDefault();
    if (event.repeat || event.isComposing) return;
    const own = hasModifier ? null : target.parentNode.querySelector(".button:not(.switch, .clear)");
    (own ?? actions.node.querySelector("button.go"))?.click();
  });
  model.on("msg:custom", onMessage);
  model.on("change:disabled", showDisabled);
  watchKernel(model, signal, lose);
  signal.addEventListener("abort", () => {
    forms.delete(form);
    model.off("msg:custom", onMessage);
    clearTimeout(timer);
  });
  setInert(true);
  el.append(form);
  send({ type: "hello" });
  return () => disposal.abort();
}

export default { render };
