// Takes the page, or one element of it, as HTML; tells the length alone where it is too much.
(selector, maxLength) => {
  const element = selector ? USE_deep_query(selector) : document.documentElement;
  if (!element) return { length: 0 };
  const doctype = !selector && document.doctype ? '<!DOCTYPE html>' : '';
  const html = doctype + USE_flatten(element, true);
  return html.length > maxLength ? { length: html.length } : { html };
}
