// Finds an element, brings it into view and tells where to click it, or what is the matter.
(selector, mustBeSeen) => {
  const describe = element => {
    const id = element.id ? '#' + element.id : '';
    const text = (element.innerText || element.value || '').trim().replace(/\s+/g, ' ');
    return `<${element.localName}${id}>` + (text ? ` "${text.slice(0, 40)}"` : '');
  };
  let element;
  try {
    element = USE_deep_query(selector);
  } catch (error) {
    return { problem: 'it is not a valid CSS selector', isFinal: true };
  }
  if (!element) return { problem: 'no element matches the selector' };
  if (!mustBeSeen) return { description: describe(element) };
  element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
  const box = [...element.getClientRects()].find(box => box.width > 0 && box.height > 0);
  if (!box || element.ownerDocument.defaultView.getComputedStyle(element).visibility !== 'visible')
    return { problem: `${describe(element)} is there and cannot be seen` };
  // Boxes in a frame are measured from its corner.
  let left = box.left + box.width / 2, above = box.top + box.height / 2;
  for (let view = element.ownerDocument.defaultView; view !== window; view = view.parent) {
    const frame = view.frameElement, edge = frame.getBoundingClientRect();
    left += edge.left + frame.clientLeft;
    above += edge.top + frame.clientTop;
  }
  const x = Math.min(Math.max(left, 0), innerWidth - 1);
  const y = Math.min(Math.max(above, 0), innerHeight - 1);
  if (element.ownerDocument !== document) return { x, y, description: describe(element) };
  let top = document.elementFromPoint(x, y);
  while (top && top.shadowRoot && top.shadowRoot.elementFromPoint(x, y) !== top && top.shadowRoot.elementFromPoint(x, y))
    top = top.shadowRoot.elementFromPoint(x, y);
  const label = element.closest('label');
  const host = element.getRootNode().host;
  if (top && !element.contains(top) && !top.contains(element) && top !== host && !(label && label.contains(top)))
    return { problem: `${describe(element)} is covered by ${describe(top)}`, isCovered: true };
  return { x, y, description: describe(element) };
}
