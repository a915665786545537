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
