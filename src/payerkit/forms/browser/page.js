// Shows one form of a Walkthrough at a time, below a list that says which step is shown, and which are done or locked.
const drawSteps = (parts, model, signal) => {
  const steps = parts.map(({ spec, form }) => {
    const state = create('span', { class: 'help' }), step = { ...spec, form, state, outcome: '', waits: '', lock: '', button: button('', 'step', () => go(step)) };
    step.button.append(create('span', {}, spec.title), state);
    return step;
  });
  const nextOf = (step) => steps[steps.indexOf(step) + 1];
  const nextButton = button('', 'next', () => go(nextOf(current)));
  const list = create('ol', { class: 'steps' }, ...steps.map((step) => create('li', {}, step.button)));
  const node = create('section', { class: 'payerkit walk', 'aria-label': nameOnce(model.get('label'), signal) }, list, ...steps.map((step) => step.form.node), div('row', nextButton));
  let current = steps.find(({ name }) => name === model.get('step'));

  const show = () => {
    for (const step of steps) {
      const isCurrent = step === current, isDone = step.outcome && !step.waits;
      step.form.node.hidden = !isCurrent;
      step.state.textContent = step.lock || step.waits || (isDone ? 'Done: ' + step.outcome : isCurrent ? 'You are here' : 'Not sent');
      step.button.classList.toggle('is-done', isDone);
      Object.assign(step.button, { disabled: step.lock && !isCurrent, ariaCurrent: isCurrent ? 'step' : null });
    }
    const next = nextOf(current);
    Object.assign(nextButton, { hidden: !current.outcome || !next || next.lock, textContent: 'Next step: ' + next?.title });
    // One button at a time is the one to press: the form's own, if it has one.
    nextButton.classList.toggle('go', !current.form.node.querySelector('.actions .go'));
  };
  const go = (step) => {
    current = step;
    show();
    step.form.heading.focus();
    // A page that is loaded later begins here.
    model.set('step', step.name);
    model.save_changes();
  };
  const receive = (message) => {
    if (!message.phase) return;
    const step = steps.find(({ name }) => name === message.form);
    Object.assign(step, { outcome: message.phase === 'done' ? message.outcome || 'sent' : '', waits: message.waits, lock: message.waits_for });
    show();
  };
  show();
  return { node, receive };
};

// Draws the forms of a widget: one, or the steps of a Walkthrough.
const draw = (widget) => {
  const { model, signal } = widget;
  const parts = widget.spec.forms.map((spec) => ({ spec, form: drawForm(spec, widget) }));
  const steps = parts.length > 1 && drawSteps(parts, model, signal);
  const receive = (message) => {
    parts.find(({ spec }) => spec.name === message.form).form.receive(message);
    if (steps) steps.receive(message);
  };
  mount(widget, steps ? steps.node : parts[0].form.node, (views) => views.forEach(receive), receive);
};
