// Draws the row of buttons below a form, as Python lists them. start(action): starts an action; the button that submits
// the form does so by the event of the form. Returns the row, `show`, `setReady`, and `canSubmit`.
const drawActions = (start) => {
  const node = div('row actions');
  let shown, isReady = true;

  const isTooEarly = (each) => each.ariaDisabled === 'true';
  // Python knows which of its buttons may send; the page adds that now is too early.
  const setReady = (ready) => {
    isReady = ready;
    for (const each of node.querySelectorAll('.go')) setAttributes(each, { 'aria-disabled': !isReady });
  };
  const canSubmit = () => {
    const primary = node.querySelector('.go[type="submit"]');
    return !!primary && !isTooEarly(primary);
  };

  const copy = async (copyButton, url) => {
    try {
      await navigator.clipboard.writeText(url);
      copyButton.textContent = 'Copied ✓';
      setTimeout(() => { copyButton.textContent = 'Copy link'; }, 2000);
    } catch {
      // Without the right to write to the clipboard, the link is selected, to be copied by hand.
      const field = setAttributes(create('input', { value: url, readonly: true }), { 'aria-label': 'The link: copy it with Ctrl+C' });
      copyButton.replaceWith(field);
      field.select();
    }
  };
  const drawCopyButton = (label, url, about) => {
    const copyButton = setAttributes(button(label, '', () => copy(copyButton, url)), { 'aria-label': `${label}: ${about}` });
    return copyButton;
  };
  const drawButton = ([label, action, url, kind, about]) => {
    const className = kind === 'primary' ? 'go' : '';
    if (kind === 'copy') return drawCopyButton(label, url, about);
    if (url) return create('a', { class: 'button ' + className, href: url, target: '_blank', rel: 'noopener noreferrer' }, label);
    const each = button(label, className);
    each.type = action === 'submit' ? 'submit' : 'button';
    // The second click of a double click may meet a button that the first one brought there.
    if (action !== 'submit') each.addEventListener('click', (event) => event.detail > 1 || isTooEarly(each) || start(action));
    return each;
  };
  const show = (buttons) => {
    const now = JSON.stringify(buttons);
    if (now === shown) return;
    shown = now;
    // Buttons about another thing begin another line.
    const isApart = ([, , , , about], i) => i && about !== buttons[i - 1][4];
    node.replaceChildren(...buttons.flatMap((each, i) => [...isApart(each, i) ? [create('hr', { 'aria-hidden': true })] : [], drawButton(each)]));
    setReady(isReady);
  };
  return { node, show, setReady, canSubmit };
};
