// Finds the first element of a selector: in the page, then in its open shadow roots and frames of the same origin.
(selector) => {
  const MAX_ROOTS = 500;
  const roots = [document];
  for (let place = 0; place < roots.length && place < MAX_ROOTS; place += 1) {
    const found = roots[place].querySelector(selector);
    if (found) return found;
    for (const element of roots[place].querySelectorAll('*')) {
      if (element.shadowRoot) roots.push(element.shadowRoot);
      if (element.localName !== 'iframe' && element.localName !== 'frame') continue;
      try { if (element.contentDocument) roots.push(element.contentDocument); } catch (error) { /* of another origin */ }
    }
  }
  return null;
}
