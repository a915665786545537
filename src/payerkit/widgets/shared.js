// Small helpers to build elements.
const setAttributes = (node, attributes) => {
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  return node;
};
const create = (tag, attributes, ...children) => {
  const node = setAttributes(document.createElement(tag), attributes);
  node.append(...children);
  return node;
};
const div = (className, ...children) => create('div', { class: className }, ...children);
const button = (text, className, onClick) => {
  const node = create('button', { type: 'button', class: 'button ' + className }, text);
  if (onClick) node.addEventListener('click', onClick);
  return node;
};
const newId = (letter) => letter + Math.random().toString(36).slice(2);
// Hosts may draw a widget in a shadow root, which has a focus of its own.
const focusIn = (node) => node.getRootNode().activeElement;
const hasFocus = (node) => node.contains(focusIn(node));

// Draws a button that copies a text. Without the right to write to the clipboard, the text is selected, to be copied by
// hand.
const drawCopyButton = (label, text, about, what) => {
  const node = setAttributes(button(label, ''), { 'aria-label': `${label}: ${about}` });
  node.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
      node.textContent = 'Copied ✓';
      setTimeout(() => { node.textContent = label; }, 2000);
    } catch {
      const field = create('input', { value: text, readonly: true, 'aria-label': `The ${what}: copy it with Ctrl+C` });
      node.replaceWith(field);
      field.select();
    }
  });
  return node;
};

// JupyterLab and Notebook 7 handle keys in a form as commands, such as "d d" to delete the cell. Notebook 7 listens on the
// document in the capture phase, so the guard listens on the window, before everybody else, and calls the handlers of
// the form itself: what it stops reaches no listener of a field. What a key does by default, such as typing, stays.
const roots = new Set(), keyHandlers = new WeakMap();

// Calls a handler for the keys that are pressed in a node; the innermost node comes first.
const onKey = (node, handler) => keyHandlers.set(node, handler);

const guard = (event) => {
  const path = event.composedPath(), depth = path.findIndex((node) => roots.has(node));
  if (depth < 0) return;
  for (const node of path.slice(0, depth + 1)) keyHandlers.get(node)?.(event);
  // Shortcuts with Ctrl or Cmd pass, such as the one that saves, except those that edit text, and Enter.
  const hasModifier = event.ctrlKey || event.metaKey;
  if (!hasModifier || 'acvxyz'.includes(event.key.toLowerCase()) || event.key === 'Enter') event.stopPropagation();
};

// Shows a widget in an element, and hands it the messages of the kernel, until the function that it returns is called.
const mount = (model, el, root, onMessage) => {
  if (!roots.size) window.addEventListener('keydown', guard, true);
  roots.add(el);
  model.on('msg:custom', onMessage);
  el.append(root);
  return () => {
    model.off('msg:custom', onMessage);
    roots.delete(el);
    if (!roots.size) window.removeEventListener('keydown', guard, true);
  };
};

// Returns an AbortController that aborts when the kernel is gone, with what happened to it as the reason; the widget then
// says so. JupyterLab tells models only of a restart that somebody asked for; its session, where there is one, knows the
// rest.
const watchKernel = (model, el, signal, drawNotice) => {
  const loss = new AbortController();
  const session = model.widget_manager?.context?.sessionContext, kernel = session?.session?.kernel?.id;
  const check = () => {
    const now = session.session?.kernel;
    if (!now) loss.abort('shut down');
    else if (now.id !== kernel || ['restarting', 'autorestarting', 'dead'].includes(now.status)) loss.abort('restarted');
  };
  loss.signal.addEventListener('abort', () => {
    el.prepend(drawNotice(model, `The kernel was ${loss.signal.reason}, so the values are gone. Run the cell again.`, 'alert'));
    // Text that was typed can still be read and copied.
    for (const each of el.querySelectorAll('input:not([type="checkbox"])')) each.readOnly = true;
    for (const each of el.querySelectorAll('[type="checkbox"], select, button')) each.disabled = true;
  });
  model.on('comm_live_update', () => loss.abort('restarted'));
  for (const change of kernel ? [session.statusChanged, session.kernelChanged] : []) {
    change.connect(check);
    signal.addEventListener('abort', () => change.disconnect(check));
  }
  return loss;
};
