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
  const node = create('button', { type: className === 'go' ? 'submit' : 'button', class: 'button ' + className }, text);
  if (onClick) node.addEventListener('click', onClick);
  return node;
};
// Hosts may draw a widget in a shadow root, which has a focus of its own.
const focusIn = (node) => node.getRootNode().activeElement;
const hasFocus = (node) => node.contains(focusIn(node));

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

// Guards the keys in an element until the function that it returns is called.
const guardKeys = (root) => {
  if (!roots.size) window.addEventListener('keydown', guard, true);
  roots.add(root);
  return () => {
    roots.delete(root);
    if (!roots.size) window.removeEventListener('keydown', guard, true);
  };
};

// Tells a widget, and whoever looks at it, when its kernel is gone.
const isText = (control) => control.matches('textarea, input:not([type="checkbox"], [type="radio"])');

// Text that was typed can still be read and copied.
const disable = (el) => {
  for (const control of el.querySelectorAll('input, select, textarea, button')) control[isText(control) ? 'readOnly' : 'disabled'] = true;
};

const showLoss = (el, happened) => {
  const banner = document.createElement('div');
  banner.role = 'alert';
  banner.style = `box-sizing: border-box; max-width: 860px; margin: 4px; padding: 8px 12px; border-left: 4px solid var(--jp-error-color1, #d32f2f);
    color: var(--jp-ui-font-color1); background: var(--jp-layout-color2, #eee); font: var(--jp-ui-font-size1, 13px) / 1.4 var(--jp-ui-font-family, system-ui)`;
  banner.textContent = `The kernel was ${happened}, so the values are gone. Run the cell again.`;
  el.prepend(banner);
  disable(el);
};

// Returns an AbortController that aborts when the kernel is gone, with what happened to it as the reason. JupyterLab
// tells models only of a restart that somebody asked for; its session, where there is one, knows the rest.
const watchKernel = (model, el, signal) => {
  const loss = new AbortController();
  const session = model.widget_manager?.context?.sessionContext, kernel = session?.session?.kernel?.id;
  const check = () => {
    const now = session.session?.kernel;
    if (!now) loss.abort('shut down');
    else if (now.id !== kernel || ['restarting', 'autorestarting', 'dead'].includes(now.status)) loss.abort('restarted');
  };
  loss.signal.addEventListener('abort', () => showLoss(el, loss.signal.reason));
  model.on('comm_live_update', () => loss.abort('restarted'));
  for (const change of kernel ? [session.statusChanged, session.kernelChanged] : []) {
    change.connect(check);
    signal.addEventListener('abort', () => change.disconnect(check));
  }
  return loss;
};
