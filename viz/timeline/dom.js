// Small helpers for elements.

export function element(tag, className, parent, text) {
  const node = document.createElement(tag);
  node.className = className;
  if (text !== undefined) node.textContent = text;
  parent?.append(node);
  return node;
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
