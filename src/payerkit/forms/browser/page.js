// Draws the forms of a widget: one, or the steps of a Walkthrough.
const draw = ({ model, el, loss }) => {
  const disposal = new AbortController();
  const forms = Object.fromEntries(model.get('spec').forms.map((spec) => [spec.name, drawForm(spec, model, disposal.signal, loss)]));
  const onMessage = (message) => forms[message.form]?.receive(message);
  const removeGuard = guardKeys(el);
  model.on('msg:custom', onMessage);
  el.append(...Object.values(forms).map((form) => form.node));
  return () => {
    removeGuard();
    disposal.abort();
    model.off('msg:custom', onMessage);
  };
};
