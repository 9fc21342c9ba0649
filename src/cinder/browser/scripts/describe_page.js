// Says in a few words what a page is and what on it could be acted on.
() => {
  const name = element => {
    const id = element.id ? '#' + element.id : '';
    const text = (element.innerText || element.value || element.placeholder || '').trim();
    return `${element.localName}${id}` + (text ? ` "${text.replace(/\s+/g, ' ').slice(0, 30)}"` : '');
  };
  const fields = [...document.querySelectorAll('button, input, select, textarea, a[href]')]
    .slice(0, 500).filter(element => element.getClientRects().length).slice(0, 8).map(name);
  const title = document.title.trim().slice(0, 80) || 'without a title';
  const offered = fields.length ? `, with ${fields.join(', ')}` : ', with nothing to act on';
  return `${location.href.slice(0, 200)} (${title})${offered}`;
}
