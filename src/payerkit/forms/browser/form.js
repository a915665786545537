// Sends the messages of a form to Python, each with the fields that were left since the last one. `address` is part of
// each message. While `canSend()` is false, fields wait for the next message, or for `flush`.
const openOutbox = (model, address, loss, canSend) => {
  // touched: the new values of these fields, or null if unchanged. taken: those whose text stands for a code.
  let touched = {}, taken = [], timer;
  const send = (message) => {
    clearTimeout(timer);
    if (loss.signal.aborted) return;
    sendTo(model, loss, { ...message, ...address, touched, taken });
    [touched, taken] = [{}, []];
  };
  const isQueued = (name) => name in touched;
  const flush = () => Object.keys(touched).length && canSend() && send({ type: 'change' });
  const queue = (name, value, isTaken) => {
    touched[name] = value;
    taken = taken.filter((other) => other !== name).concat(isTaken ? name : []);
    clearTimeout(timer);
    timer = setTimeout(flush);
  };
  return { send, queue, flush, isQueued };
};

// Returns a name that no other form of the page has.
const landmarks = new Set();
const nameOnce = (label, signal) => {
  let name = label;
  for (let number = 2; landmarks.has(name); number++) name = `${label}, ${number}`;
  landmarks.add(name);
  signal.addEventListener('abort', () => landmarks.delete(name));
  return name;
};

// Draws the box of a section, such as "The payer is also the account holder"; a form without one gets no nodes.
const drawBox = ([section, help, label] = [], id, send) => {
  const input = create('input', { type: 'checkbox', id, change: () => send({ type: 'tick', is_ticked: input.checked }) });
  const text = create('span', { class: 'help', 'aria-live': 'polite' });
  const row = create('div', { class: 'row', hidden: '' }, input, create('label', { for: id }, label), text);
  const show = (box) => {
    row.hidden = !box;
    [input.checked, text.textContent] = box ?? [false, ''];
  };
  return { show, nodesIn: (name) => name === section ? [div('help', help), row] : [] };
};

// Draws one form from its spec, and tells Python what the user enters. Values travel in custom messages (listed in
// form.py), never in the widget's state, which JupyterLab may save in the notebook; a secret is removed from the page as
// soon as its field is left. `model` is anywidget's; `signal` aborts when the form is removed, `loss` when the kernel is
// gone. Returns the form's node, its heading, and `receive`, which takes the messages for this form.
const drawForm = (spec, { model, signal, loss, page }) => {
  const { name: formName, title, environment, sections, timeout, unknown } = spec, id = page + formName, fields = {}, postponed = [];
  // actionCount is Python's: it ignores a click that carries an older count, such as a second click or another tab's.
  let actionCount, phase = 'open', pointerIsDown;
  // A field that is left by pressing a button is sent together with the action of the button, and one that is left while
  // a response is on its way, after it.
  const canSend = () => !pointerIsDown && !form.ariaBusy;
  const { send, queue, flush, isQueued } = openOutbox(model, { form: formName, page }, loss, canSend);
  const spoken = create('div', { class: 'spoken', 'aria-live': 'polite' }), say = (text) => { spoken.textContent = text; };
  const stopWaiting = () => {
    form.ariaBusy = null;
    body.inert = false;
  };
  // Until Python replies, further clicks are ignored, and no field takes what would not be sent.
  const startAction = (action, more) => {
    if (form.ariaBusy || actionCount === undefined) return;
    const hadFocus = hasFocus(form);
    form.ariaBusy = true;
    // The browser fires `change` only when the field is left.
    for (const field of Object.values(fields)) field.commitEdit();
    banner.show({ kind: 'sending', title: 'One moment …' });
    // What is inert loses the focus, and the page would scroll to where it goes.
    if (hadFocus) banner.node.focus({ preventScroll: true });
    body.inert = true;
    send({ ...more, type: 'action', action, action_count: actionCount });
  };
  const change = (name) => startAction('change', { field: name });

  const heading = create('h2', { tabindex: -1 }, title), subject = create('span', { class: 'help' }), waitsFor = div('help');
  const badge = create('span', { class: 'pk-badge pk-' + environment }, environment[0].toUpperCase() + environment.slice(1));
  const actions = drawActions(startAction), box = drawBox(spec.box, id + 'b', send);
  const panel = create('div', { class: 'panel', click: ({ target: { dataset } }) => dataset.change ? change(dataset.change) : dataset.action && startAction(dataset.action) });
  const go = (name) => phase === 'review' ? change(name) : focus(name);
  const banner = drawBanner({ timeout, signal, go });
  const arrange = (name) => name === shown.chooser && shown.arrange();
  const context = { id, send, queue, arrange, say, act: startAction, actions: spec.actions, marks: spec.marks };
  const addField = (row) => (fields[row[0]] = drawField(row, context)).box;
  const drawSection = ([name, rows]) =>
    create('fieldset', {}, create('legend', {}, create('h3', {}, name)), ...box.nodesIn(name), div('grid', ...rows.map(addField)));
  const body = div('', ...sections.map(drawSection), div('help', '* required'));
  const form = create('form', { class: 'payerkit', novalidate: true, 'aria-label': nameOnce(`${title} (${environment})`, signal) },
    div('title', heading, ' ', badge, ' ', subject), waitsFor, banner.node, panel, body, actions.node, spoken);
  const shown = arrangeFields(spec, fields, say);
  body.querySelector('.grid').before(shown.advice);
  body.append(shown.moreButton);
  const showValues = ({ values, code_names: codeNames, page: sender, action_count: count }) => {
    for (const name in values) {
      const field = fields[name], value = values[name];
      // A reply to a page may be older than what the user is typing; a view without a page comes from fill() or clear().
      if (!sender || !(field.isEdited || isQueued(name))) {
        // What a change of this page brought along.
        if (sender === page && count === undefined && field.input.value !== value) say(`${field.label} is now ${codeNames[name] || value || 'empty'}.`);
        field.input.value = value;
      }
      field.isEdited &&= !!sender;
      field.codeName = codeNames[name];
      field.showHint();
    }
  };
  const showFields = (view) => {
    for (const name in view.choices) fields[name].setChoices(Object.entries(view.choices[name]));
    showValues(view);
    for (const name in fields) {
      const field = fields[name], masked = view.held[name];
      if (phase === 'done' || (view.page !== page && masked !== field.held)) field.forget?.();
      field.setHeld?.(masked);
      field.setLocal(view.local[name]);
      field.showNotes(view.notes[name] || []);
    }
    if (view.needs) shown.setNeeds(view.needs);
    shown.arrange();
    body.hidden = phase !== 'open';
  };
  const showSurroundings = (view) => {
    subject.textContent = view.subject;
    waitsFor.textContent = view.waits_for;
    // Python has escaped the HTML.
    if (panel.innerHTML !== view.panel) panel.innerHTML = view.panel;
    if ('box' in view) box.show(view.box);
    actions.show(view.buttons, phase === 'done');
    actions.node.hidden = phase === 'locked';
    // What to do about an unknown outcome is not below all that was sent.
    const next = phase === 'unknown' ? panel : spoken;
    if (actions.node.nextSibling !== next) next.before(actions.node);
    if (form.ariaBusy) return;
    banner.show(view.banner);
    if (view.banner?.kind === 'sending') form.ariaBusy = true;
  };
  const focus = (where) => {
    const field = fields[where];
    if (field) field.box.hidden = false;
    const node = field?.input ?? (where === 'answers' ? panel.querySelector('h3') : banner.node.hidden ? heading : banner.node);
    node.focus({ preventScroll: true });
    (field?.box ?? node).scrollIntoView({ block: 'nearest' });
  };
  const update = (view) => {
    const hadFocus = hasFocus(form), mayFocus = hadFocus || focusIn(form) === document.body;
    if ('action_count' in view) {
      actionCount = view.action_count;
      stopWaiting();
    }
    phase = view.phase;
    showFields(view);
    showSurroundings(view);
    // A user who has moved on to another cell keeps the focus there.
    if (view.page === page && view.focus && mayFocus) focus(view.focus);
    // What is hidden keeps the focus until the next frame, and then loses it to the page.
    else if (hadFocus && !(hasFocus(form) && focusIn(form).getClientRects().length)) focus('banner');
    flush();
  };
  const receive = (message) => {
    if (message.options) message.page === page && fields[message.name].showOptions(message);
    // A note that appears during a click would move the button away from under the pointer.
    else if (pointerIsDown) postponed.push(message);
    else update(message);
  };

  window.addEventListener('pointerdown', () => { pointerIsDown = true; }, { signal });
  for (const type of ['pointerup', 'pointercancel']) window.addEventListener(type, () => setTimeout(() => {
    pointerIsDown = false;
    flush();
    postponed.splice(0).forEach(update);
  }), { signal });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (actions.canSubmit()) startAction('submit');
  });
  onKey(form, (event) => {
    if (!hasModifier(event) || event.key !== 'Enter' || event.composedPath()[0].matches('button, a, summary')) return;
    event.preventDefault();
    // A key that is held down sends no answers that nobody has seen.
    if (!event.repeat) actions.node.querySelector('.go')?.click();
  });
  // Text that was typed stays there to be read, and nothing says that a value is held.
  loss.signal.addEventListener('abort', () => {
    // The outcome of a request that had left stays unknown.
    const isUnknown = phase === 'unknown' || (form.ariaBusy && phase !== 'done');
    stopWaiting();
    banner.show(isUnknown ? { kind: 'warning', title: unknown[0], lines: [[unknown[1], '']] } : undefined);
    for (const field of Object.values(fields)) field.setHeld?.();
  });
  // The kernel may hold other values than the empty fields.
  body.inert = true;
  shown.arrange();
  return { node: form, heading, receive };
};
