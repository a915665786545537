// Draws one form from its spec, and tells Python what the user enters. Values are never part of the widget's state,
// because JupyterLab may save that state in the notebook. They travel in custom messages (listed in form.py), and a
// secret is removed from the page as soon as its field is left.
// `model` is anywidget's; `signal` aborts when the form is removed, `loss` when the kernel is gone. Returns the form's
// node, its heading, and `receive`, which takes the messages for this form.
const drawForm = (spec, model, signal, loss) => {
  const { name: formName, title, environment, submit_label: submitLabel, sections, timeout, box: [boxSection, boxHelp, boxLabel] = [] } = spec;
  const id = 'f' + Math.random().toString(36).slice(2);
  const fields = {}, postponed = [];
  // actionCount is Python's: it ignores a click that carries an older count, such as a second click or another tab's.
  // touched: the fields that were left since the last message, with their new values, or null if unchanged.
  let actionCount, phase = 'open', pointerIsDown, clock, patience, sendTimer, touched = {}, taken = [];

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
  const subject = create('span', { class: 'help' }), waitsFor = div('help'), actions = div('row');
  const topStatus = div('status'), panel = setAttributes(div('panel'), { tabindex: -1 });
  const box = create('input', { type: 'checkbox', id: id + 'b' }), boxText = create('span', { class: 'help', 'aria-live': 'polite' });
  const boxRow = div('row', box, create('label', { for: box.id }, boxLabel || ''), boxText);
  const drawBox = (name) => name === boxSection ? [div('help', boxHelp), boxRow] : [];
  const body = div('', ...sections.map(([name, rows]) => create('fieldset', {}, create('legend', {}, name), ...drawBox(name), div('grid', ...rows.map(addField)))));
  const submitButton = button(submitLabel, 'go'), anywayButton = button('Send anyway', '', () => submit(true));
  const foot = div('row', submitButton, anywayButton, create('span', { class: 'help' }, '* required'));
  const status = setAttributes(div('status'), { role: 'status' }), seconds = create('span', { class: 'help', 'aria-hidden': true });
  const badge = create('span', { class: 'badge ' + environment }, environment[0].toUpperCase() + environment.slice(1));
  const heading = create('h3', { tabindex: -1 }, title);
  const form = create('form', { class: 'payerkit', novalidate: true, 'aria-label': `${title} (${environment})` },
    div('title', heading, ' ', badge, ' ', subject), waitsFor, topStatus, panel, actions, body, foot, div('row line', status, seconds), spoken);
  boxRow.hidden = true;
  box.addEventListener('change', () => send({ type: 'tick', is_ticked: box.checked }));
  const shown = arrangeFields(spec, fields, say);
  body.querySelector('.grid').before(shown.advice);
  body.append(shown.moreButton);

  // The status is below the button; a long form repeats it on top, because the first wrong field may be far from it.
  const setStatus = ([kind, text]) => {
    status.className = topStatus.className = 'status ' + kind;
    status.textContent = text;
    topStatus.textContent = phase === 'done' || body.querySelectorAll('.field').length < 9 ? '' : text;
    topStatus.hidden = !topStatus.textContent;
  };
  const stopWaiting = () => {
    clearTimeout(patience);
    clearInterval(clock);
    form.ariaBusy = null;
    seconds.textContent = '';
  };
  // Until Python replies, further clicks are ignored and the seconds are counted.
  const startAction = (text, message) => {
    if (form.ariaBusy || actionCount === undefined) return;
    const start = Date.now();
    form.ariaBusy = true;
    setStatus(['', text]);
    clock = setInterval(() => {
      const elapsed = Math.round((Date.now() - start) / 1000);
      seconds.textContent = elapsed + ' s';
      if (elapsed === 10) setStatus(['', `${text} Each request takes at most ${timeout} s.`]);
    }, 1000);
    for (const field of Object.values(fields)) field.commitEdit();
    send({ ...message, action_count: actionCount });
  };
  const submit = (anyway) => startAction('Sending…', { type: 'submit', anyway });

  const update = (view) => {
    const focused = focusIn(form);
    if ('action_count' in view) {
      actionCount = view.action_count;
      body.inert = foot.inert = false;
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
      actions.replaceChildren(...view.buttons.map(([text, action, href]) => href
        ? create('a', { class: 'button go', href, target: '_blank', rel: 'noopener noreferrer' }, text)
        : button(text, '', () => startAction('Working…', { type: 'action', action }))));
    }
    if (view.status && !form.ariaBusy) setStatus(view.status);
    waitsFor.textContent = view.waits_for ?? waitsFor.textContent;
    body.hidden = foot.hidden = phase === 'done' || waitsFor.textContent;
    form.classList.toggle('answered', phase === 'done');
    anywayButton.hidden = phase !== 'confirm';
    submitButton.textContent = phase === 'unknown' ? 'Send again' : submitLabel;
    // A user who has moved on to another cell keeps the focus there.
    if (view.page === id && view.focus && (focused === document.body || form.contains(focused))) (fields[view.focus]?.input ?? panel).focus();
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
  let isEnterInField;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    // After an unknown outcome Enter does not send again: that may create a duplicate, so it takes a click.
    if (phase !== 'unknown' || !isEnterInField) submit(false);
  });
  onKey(form, (event) => {
    isEnterInField = event.composedPath()[0].matches('input, select') && event.key === 'Enter';
    if ((event.ctrlKey || event.metaKey) && isEnterInField && phase !== 'unknown') {
      event.preventDefault();
      submit(false);
    }
  });
  form.addEventListener('keyup', () => { isEnterInField = false; });
  signal.addEventListener('abort', stopWaiting);
  // What somebody typed stays there to be read, and nothing says that a value is held.
  loss.signal.addEventListener('abort', () => {
    stopWaiting();
    setStatus(['', '']);
    for (const name in fields) fields[name].setHeld?.();
  });
  update({});
  // The kernel may hold other values than the empty fields.
  body.inert = foot.inert = true;
  patience = setTimeout(() => setStatus(['', 'The kernel is busy. The form waits for it.']), 1500);
  send({ type: 'ready' });
  return { node: form, heading, receive };
};
