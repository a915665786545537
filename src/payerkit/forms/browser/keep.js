// The last row of a form that is done, with the button that leaves the response in the notebook. The kernel updates an
// output that was reserved when the form was shown. A page that was loaded since does not take the update, so the row
// looks whether the output is there, and else shows the line that makes one.
const drawKeepRow = (formName, model, loss) => {
  const page = 'k' + Math.random().toString(36).slice(2);
  const ask = () => loss.signal.aborted || model.send({ type: 'keep', form: formName, touched: {}, page });
  const said = create('span', { class: 'help', role: 'status' }), line = create('code', {});
  const copyButton = button('Copy', '', async () => {
    getSelection().selectAllChildren(line);
    try {
      await navigator.clipboard.writeText(line.textContent);
      said.textContent = 'Copied. Paste it into a new cell and run it:';
    } catch {
      said.textContent = 'Press Ctrl+C to copy this line, then paste it into a new cell and run it:';
    }
  });
  const node = div('row keep', button('Keep this in the notebook', '', ask), said, line, copyButton);
  const say = (text, code) => {
    said.textContent = text;
    line.textContent = code;
    line.hidden = copyButton.hidden = !code;
  };
  const showKept = async ({ mark, code }) => {
    for (let i = 0; i < 10; i++) {
      if (document.getElementsByClassName(mark).length) return say('Kept below this form. Save the notebook.', '');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    say('To keep it, run this line in a new cell:', code);
  };
  const receive = (message) => {
    if (message.page === page && message.kept) showKept(message.kept);
    else if (message.phase) {
      node.hidden = message.phase !== 'done';
      if (node.hidden) say('', '');
    }
  };
  receive({ phase: 'open' });
  return { node, receive };
};
