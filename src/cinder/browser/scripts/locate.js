// Finds an element, brings it into view and tells where to click it, or what is the matter.
(selector, mustBeSeen) => {
  const describe = element => {
    const id = element.id ? '#' + element.id : '';
    const text = (element.innerText || element.value || '').trim().replace(/\s+/g, ' ');
    return `<${element.localName}${id}>` + (text ? ` "${text.slice(0, 40)}"` : '');
  };
  let element;
  try {
    element = document.querySelector(selector);
  } catch (error) {
    return { problem: 'it is not a valid CSS selector', isFinal: true };
  }
  if (!element) return { problem: 'no element matches the selector' };
  if (!mustBeSeen) return { description: describe(element) };
  element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
  const box = [...element.getClientRects()].find(box => box.width > 0 && box.height > 0);
  if (!box || getComputedStyle(element).visibility !== 'visible')
    return { problem: `${describe(element)} is there and cannot be seen` };
  const x = Math.min(Math.max(box.left + box.width / 2, 0), innerWidth - 1);
  const y = Math.min(Math.max(box.top + box.height / 2, 0), innerHeight - 1);
  let top = document.elementFromPoint(x, y);
  while (top && top.shadowRoot && top.shadowRoot.elementFromPoint(x, y) !== top && top.shadowRoot.elementFromPoint(x, y))
    top = top.shadowRoot.elementFromPoint(x, y);
  const label = element.closest('label');
  if (top && !element.contains(top) && !top.contains(element) && !(label && label.contains(top)))
    return { problem: `${describe(element)} is covered by ${describe(top)}`, isCovered: true };
  return { x, y, description: describe(element) };
}
