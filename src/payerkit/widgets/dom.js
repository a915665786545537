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
