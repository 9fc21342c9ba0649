// Takes the computed styles of the elements that show a brand, and counts what the page uses.
(roles, buttonRole, buttons, maxButtons, properties) => {
  const MAX_COUNTED = 2000, MAX_COUNTS = 500, MAX_PROPERTIES = 300, MAX_CHARS = 300;
  const cut = text => String(text).slice(0, MAX_CHARS);
  const isClear = colour => !colour || /^transparent$|^(rgba|hsla)\(.*,\s*0\)$|\/\s*0%?\s*\)$/.test(colour);
  const isShown = element => element.getClientRects().length > 0;
  const name = element => {
    const classes = [...element.classList].slice(0, 2).map(word => '.' + word).join('');
    return cut(element.localName + (element.id ? '#' + element.id : classes));
  };
  const stylesOf = element => {
    const computed = getComputedStyle(element);
    const styles = {};
    for (const property of properties) {
      const one = { 'border-radius': 'border-top-left-radius', 'border-color': 'border-top-color' }[property];
      const value = computed.getPropertyValue(one || property);
      const isUnseen = property.endsWith('color') && isClear(value)
        || property === 'border-color' && computed.borderTopWidth === '0px';
      if (value && !isUnseen) styles[property] = cut(value);
    }
    return styles;
  };
  // Where neither the page nor its body has a background, the window's own shows: white, or what the
  // scheme in use makes it.
  const canvas = () => {
    const isDark = /^(only )?dark/.test(getComputedStyle(document.documentElement).colorScheme);
    return isDark ? 'rgb(18, 18, 18)' : 'rgb(255, 255, 255)';
  };
  const sample = (role, element) => ({ role, name: name(element), styles: stylesOf(element) });
  const elements = [];
  for (const [role, selectors] of Object.entries(roles)) {
    for (const selector of selectors) {
      const found = [...document.querySelectorAll(selector)].slice(0, 50);
      const element = found.find(isShown) || (role === 'html' && found[0]);
      if (element) { elements.push(sample(role, element)); break; }
    }
  }
  const page = elements.filter(element => ['html', 'body'].includes(element.role));
  if (page.length && !page.some(element => element.styles['background-color'])) page[0].styles.canvas = canvas();
  for (const button of [...document.querySelectorAll(buttons)].slice(0, 200).filter(isShown).slice(0, maxButtons))
    elements.push(sample(buttonRole, button));

  const colours = {}, spaces = {};
  const count = (counts, value) => {
    const key = cut(value);
    if (key in counts || Object.keys(counts).length < MAX_COUNTS) counts[key] = (counts[key] || 0) + 1;
  };
  for (const element of [...document.querySelectorAll('body *')].slice(0, MAX_COUNTED).filter(isShown)) {
    const computed = getComputedStyle(element);
    for (const colour of [computed.color, computed.backgroundColor])
      if (!isClear(colour)) count(colours, colour);
    for (const space of [computed.padding, computed.margin]) count(spaces, space);
  }

  const custom = {};
  const root = getComputedStyle(document.documentElement);
  const note = rule => {
    if (!rule.style || !/^(:root|html|body|:host)\b/.test(rule.selectorText || '')) return;
    for (const property of rule.style) {
      if (Object.keys(custom).length >= MAX_PROPERTIES) return;
      if (property.startsWith('--')) custom[cut(property)] = cut(root.getPropertyValue(property).trim());
    }
  };
  for (const sheet of [...document.styleSheets].slice(0, 50)) {
    // Of sheets from elsewhere the rules are not shown.
    try { for (const rule of [...sheet.cssRules].slice(0, 2000)) note(rule); } catch (error) { continue; }
  }
  return { elements, colours, spaces, properties: custom };
}
