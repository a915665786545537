// Small helpers to build elements. An attribute that is a function listens to the event of its name.
const setAttributes = (node, attributes) => {
  for (const [name, value] of Object.entries(attributes)) typeof value === 'function' ? node.addEventListener(name, value) : node.setAttribute(name, value);
  return node;
};
const create = (tag, attributes, ...children) => {
  const node = setAttributes(document.createElement(tag), attributes);
  node.append(...children);
  return node;
};
const div = (className, ...children) => create('div', { class: className }, ...children);
const button = (text, className, click = () => {}) => create('button', { type: 'button', class: 'button ' + className, click }, text);
// Sends a message to the kernel, which is gone if that fails.
const sendTo = (model, loss, message) => {
  try {
    model.send(message);
  } catch {
    loss.abort('restarted');
  }
};
// Hosts may draw a widget in a shadow root, which has a focus of its own.
const focusIn = (node) => node.getRootNode().activeElement;
const hasFocus = (node) => node.contains(focusIn(node));
// Handles a press of the mouse that is not to take the focus from where it is.
const keepFocus = (event) => event.preventDefault();

// Draws a button that copies a text; without the right to write to the clipboard, it selects the text instead.
const drawCopyButton = (label, text, about, what) => {
  const copy = async ({ currentTarget: node }) => {
    try {
      await navigator.clipboard.writeText(text);
      node.textContent = 'Copied ✓';
      setTimeout(() => { node.textContent = label; }, 2000);
    } catch {
      const field = create('input', { value: text, readonly: true, 'aria-label': `The ${what}: copy it with Ctrl+C` });
      node.replaceWith(field);
      field.select();
    }
  };
  return setAttributes(button(label, '', copy), { 'aria-label': [label, about].filter(Boolean).join(': ') });
};

// JupyterLab and Notebook 7 handle keys in a form as commands, such as "d d" to delete the cell. Notebook 7 listens on the
// document in the capture phase, so the guard listens on the window, before everybody else, and calls the handlers of
// the form itself: what it stops reaches no listener of a field. What a key does by default, such as typing, stays.
const roots = new WeakSet(), keyHandlers = new WeakMap();
// Calls a handler for the keys that are pressed in a node; the innermost node comes first.
const onKey = (node, handler) => keyHandlers.set(node, handler);
const hasModifier = ({ ctrlKey, metaKey }) => ctrlKey || metaKey;
const guard = (event) => {
  const path = event.composedPath(), depth = path.findIndex((node) => roots.has(node));
  if (depth < 0) return;
  for (const node of path.slice(0, depth + 1)) keyHandlers.get(node)?.(event);
  // Shortcuts with Ctrl or Cmd pass, such as the one that saves, except those that edit text, and Enter.
  if (!hasModifier(event) || 'acvxyz'.includes(event.key.toLowerCase()) || event.key === 'Enter') event.stopPropagation();
};
window.addEventListener('keydown', guard, true);

// Shows a widget in an element, and hands it what it shows at first, and then the messages of the kernel.
const mount = ({ el, first, shown }, root, onFirst, onMessage) => {
  roots.add(el);
  el.append(root);
  first.then((message) => {
    onFirst(message);
    shown(onMessage);
  });
};

// Returns an AbortController that aborts when the kernel is gone, with what happened to it as the reason; the widget then
// says so. JupyterLab tells models only of a restart that somebody asked for; its session, if any, knows the rest.
const watchKernel = ({ model, el, signal, tell }) => {
  const loss = new AbortController();
  const session = model.widget_manager?.context?.sessionContext, kernel = session?.session?.kernel?.id;
  const check = () => {
    const now = session.session?.kernel;
    if (!now) loss.abort('shut down');
    else if (now.id !== kernel || ['restarting', 'autorestarting', 'dead'].includes(now.status)) loss.abort('restarted');
  };
  loss.signal.addEventListener('abort', () => {
    tell(`The kernel was ${loss.signal.reason}, so the values are gone. Run the cell again.`, 'alert');
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

// Draws a widget for the loader, with its style in the element itself: hosts may draw widgets in a shadow root.
const begin = (widget) => {
  widget.el.append(create('style', {}, css));
  draw({ ...widget, loss: watchKernel(widget) });
};
