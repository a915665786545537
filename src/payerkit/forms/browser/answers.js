// Draws the summary of a form before it is sent, with links back to its fields; while it is sent, without them.
const drawAnswers = (change) => {
  const heading = create('h4', { tabindex: -1 }, 'Check your answers');
  const node = div('answers'), note = ([severity, text, basis]) => div(severity, text, ' ', create('small', {}, basis));
  const drawRow = (canChange) => ([name, label, value, notes]) => {
    const row = div('answer', create('dt', {}, label), create('dd', {}, value, ...notes.map(note)));
    if (canChange) {
      const link = setAttributes(button('Change', 'link', () => change(name)), { 'aria-label': 'Change ' + label });
      row.append(create('dd', {}, link));
    }
    return row;
  };
  const show = (sections, phase) => {
    const canChange = phase === 'review';
    node.hidden = !sections;
    if (!sections) return node.replaceChildren();
    heading.textContent = canChange ? 'Check your answers' : phase === 'unknown' ? 'What was sent' : 'Your answers';
    return node.replaceChildren(heading, ...sections.flatMap(([title, rows]) =>
      [create('h5', {}, title), create('dl', {}, ...rows.map(drawRow(canChange)))]));
  };
  return { node, heading, show };
};
