// Draws the forms of a widget: one, or the steps of a Walkthrough. The scripts share one scope, in this order
// (behind dom, keys and kernel of the folder widgets):
// combobox      suggestions below a field
// secrets       hidden values and account numbers
// fields        one field with its notes
// shown_fields  which fields are shown
// banner        the message above the fields
// answers       the summary before sending
// outbox        messages to Python
// actions       the row of buttons
// form          one form of all these
// steps         the list of the steps of a Walkthrough
const draw = ({ model, el, loss }) => {
  const disposal = new AbortController();
  const parts = model.get('spec').forms.map((spec) => ({ spec, form: drawForm(spec, model, disposal.signal, loss) }));
  const steps = parts.length > 1 && drawSteps(parts, model);
  const onMessage = (message) => {
    const part = parts.find(({ spec }) => spec.name === message.form);
    if (!part) return;
    part.form.receive(message);
    if (steps) steps.receive(message);
  };
  const removeGuard = guardKeys(el);
  model.on('msg:custom', onMessage);
  el.append(...steps ? [steps.node] : parts.map(({ form }) => form.node));
  return () => {
    removeGuard();
    disposal.abort();
    model.off('msg:custom', onMessage);
  };
};
