// Draws one form from its spec, and tells Python what the user enters. Values are never part of the widget's state,
// because JupyterLab may save that state in the notebook. They travel in custom messages (listed in form.py), and a
// secret is removed from the page as soon as its field is left.
// `model` is anywidget's; `signal` aborts when the form is removed, `loss` when the kernel is gone. Returns the form's
// node, its heading, and `receive`, which takes the messages for this form.
const drawForm = (spec, model, signal, loss) => {
  const { name: formName, title, environment, sections, timeout, unknown, box: [boxSection, boxHelp, boxLabel] = [] } = spec;
  const id = 'f' + Math.random().toString(36).slice(2);
  const fields = {}, postponed = [];
  // actionCount is Python's: it ignores a click that carries an older count, such as a second click or another tab's.
  // touched: the fields that were left since the last message, with their new values, or null if unchanged.
  let actionCount, phase = 'open', pointerIsDown, patience, sendTimer, touched = {}, taken = [];

  const send = (message) => {
    clearTimeout(sendTimer);
    if (loss.signal.aborted) return;
    try {
      model.send({ ...message, form: formName, touched, taken, page: id });
      [touched, taken] = [{}, []];
    } catch {
      loss.abort('restarted');
    }
  };
  // A field that is left by pressing a button is sent together with what the button does.
  const queue = (name, value, isTaken) => {
    touched[name] = value;
    taken = taken.filter((other) => other !== name).concat(isTaken ? name : []);
    if (!pointerIsDown) sendTimer = setTimeout(() => send({ type: 'change' }));
  };
  const arrange = (name) => {
    if (!name || name === 'beneficiary_type') shown.arrange();
  };
  const spoken = setAttributes(div('spoken'), { 'aria-live': 'polite' }), say = (text) => { spoken.textContent = text; };

  const addField = (row) => (fields[row[0]] = drawField(row, { id, send, queue, arrange, say, signal })).box;
  const heading = create('h3', { tabindex: -1 }, title), subject = create('span', { class: 'help' }), waitsFor = div('help');
  const focusField = (name) => {
    const field = fields[name];
    if (!field) return;
    field.box.hidden = false;
    field.input.focus();
    field.box.scrollIntoView({ block: 'nearest' });
  };
  // Python knows which of its buttons may send; the page adds that now is too early.
  const actions = div('row actions');
  const free = (isFree) => {
    for (const node of actions.querySelectorAll('.go')) setAttributes(node, { 'aria-disabled': !isFree });
  };
  const banner = drawBanner({ timeout, free, go: (name) => phase === 'review' ? change(name) : focusField(name), act: (action) => startAction(action, true) });
  const change = (name) => startAction('change', false, { field: name });
  const answers = drawAnswers(change);
  const panel = div('panel');
  const box = create('input', { type: 'checkbox', id: id + 'b' }), boxText = create('span', { class: 'help', 'aria-live': 'polite' });
  const boxRow = div('row', box, create('label', { for: box.id }, boxLabel || ''), boxText);
  const drawBox = (name) => name === boxSection ? [div('help', boxHelp), boxRow] : [];
  const drawSection = ([name, rows]) => create('fieldset', {}, create('legend', {}, create('h4', {}, name)), ...drawBox(name), div('grid', ...rows.map(addField)));
  const body = div('', ...sections.map(drawSection), create('div', { class: 'help' }, '* required'));
  const badge = create('span', { class: 'badge ' + environment }, environment[0].toUpperCase() + environment.slice(1));
  const form = create('form', { class: 'payerkit', novalidate: true, 'aria-label': `${title} (${environment})` },
    div('title', heading, ' ', badge, ' ', subject), waitsFor, banner.node, panel, answers.node, body, actions, spoken);
  boxRow.hidden = true;
  box.addEventListener('change', () => send({ type: 'tick', is_ticked: box.checked }));
  const shown = arrangeFields(spec, fields, say);
  body.querySelector('.grid').before(shown.advice);
  body.append(shown.moreButton);

  const stopWaiting = () => {
    clearTimeout(patience);
    form.ariaBusy = null;
    body.inert = false;
  };
  // Until Python replies, further clicks are ignored, and no field takes what would not be sent.
  const startAction = (action, mayInterrupt, more) => {
    if ((form.ariaBusy && !mayInterrupt) || actionCount === undefined) return;
    const hadFocus = hasFocus(form);
    form.ariaBusy = true;
    // The browser fires `change` only when the field is left.
    for (const field of Object.values(fields)) field.commitEdit();
    banner.show({ kind: 'sending', title: action === 'stop' ? 'Stopping …' : 'One moment …', seconds: 0 });
    // What is inert loses the focus, and the page would scroll to where it goes.
    if (hadFocus) banner.node.focus({ preventScroll: true });
    body.inert = true;
    send({ ...more, type: 'action', action, action_count: actionCount });
  };
  const primary = () => actions.querySelector('.go[type="submit"]');

  const copy = (node, url) => async () => {
    try {
      await navigator.clipboard.writeText(url);
      node.textContent = 'Copied ✓';
      setTimeout(() => { node.textContent = 'Copy link'; }, 2000);
    } catch {
      // Without the right to write to the clipboard, the link is selected, to be copied by hand.
      const field = setAttributes(create('input', { value: url, readonly: true }), { 'aria-label': 'The link: copy it with Ctrl+C' });
      node.replaceWith(field);
      field.select();
    }
  };
  const drawButton = ([text, action, href, kind, about]) => {
    const className = kind === 'primary' ? 'go' : '';
    if (kind === 'copy') {
      const node = setAttributes(button(text, ''), { 'aria-label': `${text}: ${about}` });
      node.addEventListener('click', copy(node, href));
      return node;
    }
    if (href) return create('a', { class: 'button ' + className, href, target: '_blank', rel: 'noopener noreferrer' }, text);
    const node = button(text, className);
    node.type = action === 'submit' ? 'submit' : 'button';
    // The second click of a double click may meet a button that the first one brought there.
    if (action !== 'submit') node.addEventListener('click', (event) => event.detail > 1 || isTooEarly(node) || startAction(action));
    return node;
  };
  const isTooEarly = (node) => node?.ariaDisabled === 'true';
  let shownButtons;
  const showButtons = (buttons) => {
    const now = JSON.stringify(buttons);
    if (now === shownButtons) return;
    shownButtons = now;
    // Buttons about another thing begin another line.
    const isApart = ([, , , , about], i) => i && about !== buttons[i - 1][4];
    actions.replaceChildren(...buttons.flatMap((each, i) => [...isApart(each, i) ? [create('hr', { 'aria-hidden': true })] : [], drawButton(each)]));
  };

  const update = (view) => {
    const hadFocus = hasFocus(form), mayFocus = hadFocus || focusIn(form) === document.body;
    if ('action_count' in view) {
      actionCount = view.action_count;
      stopWaiting();
    }
    phase = view.phase ?? phase;
    if ('box' in view) {
      boxRow.hidden = !view.box;
      [box.checked, boxText.textContent] = view.box ?? [false, ''];
    }
    for (const name in view.values) {
      const field = fields[name];
      // A reply to a page may be older than what the user is typing; a view without a page comes from fill() or clear().
      if (!view.page || !field.isEdited) {
        if (view.page === id && !('action_count' in view) && field.input.value !== view.values[name]) say(`${field.label} is now ${view.code_names[name] || view.values[name] || 'empty'}.`);
        field.input.value = view.values[name];
      }
      field.isEdited &&= !!view.page;
      field.setCodeName(view.code_names[name]);
    }
    if (view.held) for (const name in fields) {
      const field = fields[name], masked = view.held[name];
      if (phase === 'done' || (view.page !== id && masked !== field.held)) field.forget?.();
      field.setHeld?.(masked);
    }
    if (view.needs) shown.setNeeds(view.needs);
    if (view.notes) for (const name in fields) fields[name].showNotes(view.notes[name] || []);
    arrange();
    if (view.buttons) {
      subject.textContent = view.subject;
      // Python has escaped the HTML.
      if (panel.innerHTML !== view.panel) panel.innerHTML = view.panel;
      answers.show(view.answers, phase);
      showButtons(view.buttons);
      waitsFor.textContent = view.waits_for;
    }
    if ('banner' in view && !form.ariaBusy) {
      banner.show(view.banner);
      if (view.banner?.kind === 'sending') form.ariaBusy = true;
    }
    body.hidden = phase !== 'open';
    actions.hidden = phase === 'locked' || !actions.children.length;
    // What to do about an unknown outcome is not below all that was sent.
    const next = phase === 'unknown' ? answers.node : spoken;
    if (actions.nextSibling !== next) next.before(actions);
    // A user who has moved on to another cell keeps the focus there.
    if (view.page === id && view.focus && mayFocus) focus(view.focus);
    // What is hidden keeps the focus until the next frame, and then loses it to the page.
    else if (hadFocus && !(hasFocus(form) && focusIn(form).getClientRects().length)) focus('banner');
  };
  const focus = (where) => {
    if (fields[where]) return focusField(where);
    const node = where === 'answers' ? answers.heading : banner.node.hidden ? heading : banner.node;
    node.focus({ preventScroll: true });
    return node.scrollIntoView({ block: 'nearest' });
  };

  const receive = (message) => {
    if (message.options) message.page === id && fields[message.name].showOptions(message);
    // A note that appears during a click would move the button away from under the pointer.
    else if (pointerIsDown) postponed.push(message);
    else update(message);
  };
  window.addEventListener('pointerdown', () => { pointerIsDown = true; }, { signal });
  for (const type of ['pointerup', 'pointercancel']) window.addEventListener(type, () => setTimeout(() => {
    pointerIsDown = false;
    if (Object.keys(touched).length) send({ type: 'change' });
    postponed.splice(0).forEach(update);
  }), { signal });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (primary() && !isTooEarly(primary())) startAction('submit');
  });
  onKey(form, (event) => {
    const target = event.composedPath()[0];
    if ((event.ctrlKey || event.metaKey) && event.key === 'Enter' && target.matches('input, select') && primary()) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  signal.addEventListener('abort', () => {
    clearTimeout(patience);
    banner.stop();
  });
  // What somebody typed stays there to be read, and nothing says that a value is held.
  loss.signal.addEventListener('abort', () => {
    // Nobody will say any more what became of what had left.
    const isUnknown = phase === 'unknown' || (form.ariaBusy && phase !== 'done');
    stopWaiting();
    banner.show(isUnknown ? { kind: 'warning', title: unknown[0], lines: [[unknown[1], '']] } : undefined);
    for (const name in fields) fields[name].setHeld?.();
  });
  update({});
  // The kernel may hold other values than the empty fields.
  body.inert = true;
  patience = setTimeout(() => banner.show({ kind: 'sending', title: 'The kernel is busy. The form waits for it.', seconds: 0 }), 1500);
  send({ type: 'ready' });
  return { node: form, heading, receive };
};
