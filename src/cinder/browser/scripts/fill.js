// Makes a field ready for text: focused, with what it holds selected, so that typing replaces it.
(selector, text) => {
  const element = USE_deep_query(selector);
  if (!element) return { problem: 'the element has just gone' };
  if (element.disabled || element.readOnly) return { problem: 'the field takes no input' };
  element.focus();
  if (element.localName === 'select') {
    const options = [...element.options];
    const chosen = options.find(option => option.value === text)
      || options.find(option => option.text.trim() === text.trim());
    if (!chosen) {
      const known = options.slice(0, 10).map(option => option.text.trim()).join(', ');
      return { problem: `the list has no such choice; it has: ${known}` };
    }
    element.value = chosen.value;
    element.dispatchEvent(new Event('input', { bubbles: true }));
    element.dispatchEvent(new Event('change', { bubbles: true }));
    return { isDone: true };
  }
  if (element.isContentEditable) {
    element.ownerDocument.getSelection().selectAllChildren(element);
    return {};
  }
  const isField = element.localName === 'textarea'
    || (element.localName === 'input'
      && !/^(checkbox|radio|button|submit|reset|file|image|hidden|range|color)$/.test(element.type));
  if (!isField) return { problem: `<${element.localName}> is not a field that takes text` };
  if (/^(date|time|month|week|datetime-local|number|email)$/.test(element.type)) {
    const setter = Object.getOwnPropertyDescriptor(element.ownerDocument.defaultView.HTMLInputElement.prototype, 'value').set;
    setter.call(element, text);
    if (element.value !== text) return { problem: `the field of type ${element.type} refuses the text` };
    element.dispatchEvent(new Event('input', { bubbles: true }));
    element.dispatchEvent(new Event('change', { bubbles: true }));
    return { isDone: true };
  }
  element.select();
  return {};
}
