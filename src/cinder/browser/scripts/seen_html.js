// Takes the page as HTML in which the elements whose text nobody sees have a mark, and says how.
(mark, maxLength) => {
  const BUDGET_MS = 400, MAX_TEXTS = 20000, MAX_MARKED = 2000, MAX_CLIMB = 200;
  const SMALL_TEXT = 2, THIN = 0.05, ALIKE = 12, FAR = 3000, MANY_THIN = 5;
  const deadline = performance.now() + BUDGET_MS;
  const root = document.documentElement;
  const doctype = document.doctype ? '<!DOCTYPE html>' : '';
  const take = () => {
    const html = doctype + root.outerHTML;
    return html.length > maxLength ? { length: html.length } : { html };
  };
  if (!document.body) return take();

  const NEVER = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'TITLE', 'TEXTAREA', 'OPTION', 'IFRAME', 'SVG']);
  const PICTURES = 'img, video, canvas, picture, svg, iframe';
  const styles = new Map(), grounds = new Map(), boxes = new Map();
  const styleOf = element => {
    let style = styles.get(element);
    if (!style) styles.set(element, style = getComputedStyle(element));
    return style;
  };
  const boxOf = element => {
    let box = boxes.get(element);
    if (!box) boxes.set(element, box = element.getBoundingClientRect());
    return box;
  };
  const parts = colour => {
    const found = /^(?:rgba?|color)\((?:srgb )?([^)]*)\)$/.exec(colour);
    if (!found) return null;
    const numbers = found[1].split(/[\s,\/]+/).map(Number);
    const scale = colour.startsWith('color') ? 255 : 1;
    return [numbers[0] * scale, numbers[1] * scale, numbers[2] * scale, numbers.length > 3 ? numbers[3] : 1];
  };
  const alike = (one, other) => [0, 1, 2].every(index => Math.abs(one[index] - other[index]) <= ALIKE);

  const seen = new Set();
  // What a visitor opens by a click: what a control names, tabs, and the inside of `details`.
  const controlled = new Set();
  for (const control of [...document.querySelectorAll('[aria-controls], [popovertarget], [data-bs-target], [data-target]')].slice(0, 2000))
    for (const name of ['aria-controls', 'popovertarget', 'data-bs-target', 'data-target'])
      for (const id of (control.getAttribute(name) || '').split(/\s+/)) controlled.add(id.replace(/^#/, ''));
  const isOpenedByAClick = element => {
    for (let climbed = 0; element && climbed < 6; climbed += 1, element = element.parentElement)
      if (element.localName === 'details' || element.getAttribute('role') === 'tabpanel'
        || (element.id && typeof element.id === 'string' && controlled.has(element.id))) return true;
    return false;
  };
  // Many a page has its switches without a word about what they open: the part that follows.
  const SWITCHES = 'button, [role=button], [aria-expanded], summary, [onclick], label, a[href^="#"]';
  const isSwitch = element => element.matches(SWITCHES) || Boolean(element.querySelector(SWITCHES))
    || styleOf(element).cursor === 'pointer' || (element.firstElementChild && styleOf(element.firstElementChild).cursor === 'pointer');
  const followsASwitch = element => {
    for (let climbed = 0; element && element !== document.body && climbed < 2; climbed += 1, element = element.parentElement) {
      let before = element.previousElementSibling;
      while (before && NEVER.has(before.tagName.toUpperCase())) before = before.previousElementSibling;
      if (before && seen.has(before) && isSwitch(before)) return true;
    }
    return false;
  };
  // The slides of a slider are alike, and one of them is in sight.
  const hasATwinInSight = element => {
    for (let climbed = 0; element && element !== document.body && climbed < 6; climbed += 1, element = element.parentElement) {
      const name = element.className;
      for (const beside of [...(element.parentElement || element).children].slice(0, 50))
        if (beside !== element && name && beside.localName === element.localName && seen.has(beside)
          && String(beside.className).split(/\s+/)[0] === String(name).split(/\s+/)[0]) return true;
    }
    return false;
  };
  const isMoving = element => {
    const style = styleOf(element);
    return /[1-9]/.test(style.transitionDuration) || style.animationName !== 'none';
  };

  // Each returns how an element itself puts its text out of sight, and that of all it holds.
  const clippedAway = style => {
    const clip = style.clipPath;
    if (clip === 'none') return false;
    const sides = /^inset\(([^)]*)\)/.exec(clip);
    if (sides) return sides[1].split(/\s+/).some(side => side.endsWith('%') && parseFloat(side) >= 50);
    return /^(circle|ellipse)\(0(px|%)?[ )]/.test(clip) || /^polygon\((\s*(evenodd,)?0(px|%)? 0(px|%)?,?)+\)$/.test(clip);
  };
  const ownWay = element => {
    const style = styleOf(element);
    if (style.display === 'none') return 'NOT_SHOWN';
    if (style.contentVisibility === 'hidden') return 'NOT_SHOWN';
    if (Number(style.opacity) <= THIN || /opacity\(0(\.0\d*)?\)/.test(style.filter)) return isMoving(element) ? '' : 'SEE_THROUGH';
    if (clippedAway(style)) return 'OTHER';
    if (/^linear-gradient\((rgba\(0, 0, 0, 0\)(, )?){2,}\)$/.test(style.maskImage || style.webkitMaskImage || '')) return 'OTHER';
    if (style.position === 'absolute' || style.position === 'fixed')
      if (/^rect\((?:[01](?:px)?[, ]*){4}\)$/.test(style.clip)) return 'LABEL';
    if (style.overflowX !== 'visible' || style.overflowY !== 'visible') {
      const box = boxOf(element);
      if (style.display !== 'inline' && style.display !== 'contents' && element !== document.body && element !== root) {
        if (box.width <= 1 && box.height <= 1) return 'LABEL';
        if (box.width < 1 || box.height < 1) return isMoving(element) ? '' : 'COLLAPSED';
      }
    }
    return null;
  };
  // The outermost element that hides, with how; remembered for all that were climbed through.
  const ways = new Map();
  const inheritedWay = element => {
    const climbed = [];
    let way = null, above = element;
    while (above && above !== root && climbed.length < MAX_CLIMB) {
      if (ways.has(above)) { way = ways.get(above); break; }
      climbed.push(above);
      above = above.parentElement;
    }
    for (const one of climbed.reverse()) {
      if (!way) {
        const own = ownWay(one);
        if (own !== null) way = { way: own, element: one };
      }
      ways.set(one, way);
    }
    return way;
  };

  const groundOf = element => {
    let found = null, above = element, climbed = 0;
    for (; above && climbed < MAX_CLIMB; climbed += 1, above = above.parentElement) {
      if (grounds.has(above)) { found = grounds.get(above); break; }
      const style = styleOf(above), colour = parts(style.backgroundColor);
      if (style.backgroundImage !== 'none' || !colour) { found = 'unknown'; break; }
      if (climbed < 4 && ['::before', '::after'].some(name => {
        const beside = getComputedStyle(above, name);
        return beside.content !== 'none' && beside.content !== 'normal'
          && (beside.backgroundImage !== 'none' || (parts(beside.backgroundColor) || [0, 0, 0, 1])[3] > 0.05);
      })) { found = 'unknown'; break; }
      if (colour[3] >= 0.9) { found = colour; break; }
      if (colour[3] > 0.05) { found = 'unknown'; break; }
    }
    if (!found) found = /dark/.test(styleOf(root).colorScheme) ? 'unknown' : [255, 255, 255, 1];
    grounds.set(element, found);
    return found;
  };
  const standsOnAPicture = (element, box) => {
    let above = element.parentElement;
    for (let climbed = 0; above && above !== document.body && climbed < 5; climbed += 1, above = above.parentElement)
      for (const picture of [...above.querySelectorAll(PICTURES)].slice(0, 20)) {
        const other = boxOf(picture);
        if (other.left < box.right && other.right > box.left && other.top < box.bottom && other.bottom > box.top) return true;
      }
    return false;
  };
  const isOverlaid = (element, box) => {
    // Only what is in the window can be asked for; what lies behind may be anything placed there.
    const x = box.left + box.width / 2, y = box.top + box.height / 2;
    if (x < 0 || y < 0 || x > innerWidth || y > innerHeight) return false;
    const stack = document.elementsFromPoint(x, y);
    const place = stack.indexOf(element);
    return stack.slice(place + 1).some(other => !other.contains(element)
      && (styleOf(other).backgroundImage !== 'none' || (parts(styleOf(other).backgroundColor) || [0, 0, 0, 0])[3] > 0.05));
  };
  const blendsIn = (element, box) => {
    const style = styleOf(element);
    if (style.textShadow !== 'none' || /text/.test(style.backgroundClip + style.webkitBackgroundClip)) return false;
    if (parseFloat(style.webkitTextStrokeWidth) > 0 || style.mixBlendMode !== 'normal') return false;
    const colour = parts(style.webkitTextFillColor || style.color);
    if (!colour) return false;
    if (colour[3] <= THIN) return true;
    if (colour[3] < 0.9) return false;
    const ground = groundOf(element);
    return ground !== 'unknown' && alike(colour, ground) && !standsOnAPicture(element, box) && !isOverlaid(element, box);
  };

  const range = document.createRange();
  const hasAbove = (element, holds) => {
    for (let climbed = 0; element && element !== root && climbed < MAX_CLIMB; climbed += 1, element = element.parentElement)
      if (holds(element)) return true;
    return false;
  };
  const isFixed = element => hasAbove(element, above => styleOf(above).position === 'fixed');
  const isScrolled = element => hasAbove(element, above => above.scrollLeft > 0 || above.scrollTop > 0);
  const isInASlider = element => hasAbove(element, above => above !== document.body
    && styleOf(above).overflowX !== 'visible' && above.scrollWidth > above.clientWidth && above.clientWidth > 50);
  const isCutAtTheSide = [root, document.body].some(element => ['hidden', 'clip'].includes(styleOf(element).overflowX));
  const placeWay = (element, box) => {
    // To the right and below a visitor can scroll, if only within some part of the page.
    const right = box.right + scrollX, bottom = box.bottom + scrollY;
    const isBefore = right <= 0 || bottom <= 0;
    const isBehind = box.left >= innerWidth || box.top >= innerHeight;
    const isAway = isBefore || (box.left + scrollX >= innerWidth && isCutAtTheSide) || (isBehind && isFixed(element));
    if (!isAway || isScrolled(element) || (!isBefore && isInASlider(element))) return null;
    return Math.max(-right, -bottom, box.left - innerWidth) >= FAR ? 'LABEL' : 'BESIDE';
  };
  const wayOf = (text, element) => {
    const inherited = inheritedWay(element);
    if (inherited) return inherited;
    const style = styleOf(element);
    if (style.visibility !== 'visible') return { way: 'NOT_SHOWN', element };
    if (parseFloat(style.fontSize) <= SMALL_TEXT) return { way: 'SHRUNK', element };
    // What is drawn only when it is scrolled to has no place before.
    if (!element.checkVisibility({ contentVisibilityAuto: true }) && element.checkVisibility()) return null;
    range.selectNodeContents(text);
    const box = range.getBoundingClientRect();
    // What has no box at all is in a closed part, such as that of `details`.
    if (!range.getClientRects().length) return { way: 'NOT_SHOWN', element };
    const letters = text.data.trim().length;
    if (box.height <= SMALL_TEXT || box.width < Math.min(letters, 20) / 4) return { way: 'SHRUNK', element };
    const way = placeWay(element, box);
    if (way) return { way, element };
    return blendsIn(element, box) ? { way: 'COLOURED', element } : null;
  };

  // All texts, each judged by the element that it stands in.
  const unseen = new Map(), letters = new Map();
  let allLetters = 0;
  const noteSeen = element => {
    for (let above = element; above && !seen.has(above); above = above.parentElement) seen.add(above);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const judged = new Map();
  let isWhole = true;
  for (let count = 0; walker.nextNode(); count += 1) {
    if (count >= MAX_TEXTS || (count % 100 === 0 && performance.now() > deadline)) { isWhole = false; break; }
    const text = walker.currentNode, element = text.parentElement;
    if (!element || NEVER.has(element.tagName.toUpperCase()) || text.data.length < 2 || !text.data.trim()) continue;
    if (!judged.has(element)) judged.set(element, wayOf(text, element));
    const found = judged.get(element);
    allLetters += text.data.length;
    if (found && found.way) {
      unseen.set(found.element, found.way);
      letters.set(found.way, (letters.get(found.way) || 0) + text.data.length);
    } else noteSeen(element);
  }
  for (const picture of [...document.querySelectorAll(PICTURES)].slice(0, 2000)) {
    const box = boxOf(picture);
    if (box.width > 1 && box.height > 1 && picture.checkVisibility({ opacityProperty: true, visibilityProperty: true })) noteSeen(picture);
  }
  const thin = [...unseen.values()].filter(way => way === 'SEE_THROUGH').length;
  const tops = new Map();
  const isMost = way => letters.get(way) > allLetters / 2;
  for (const [element, way] of unseen) {
    // A page of which most is out of sight waits for something, or is not whole.
    if (isMost(way) || seen.has(element)) continue;
    if (way === 'SEE_THROUGH' && thin > MANY_THIN) continue;
    if (way === 'BESIDE' && hasATwinInSight(element)) continue;
    if (['NOT_SHOWN', 'COLLAPSED', 'BESIDE'].includes(way) && (isOpenedByAClick(element) || followsASwitch(element))) continue;
    // Neighbours that share a fate are one text: the outermost element without anything seen.
    let top = element;
    const isShared = above => above && above !== document.body && !seen.has(above)
      && (way !== 'NOT_SHOWN' || (styleOf(above).visibility !== 'visible' && styleOf(above).display !== 'none'));
    while (isWhole && isShared(top.parentElement)) top = top.parentElement;
    if (!tops.has(top)) tops.set(top, way);
  }
  const marked = [...tops].slice(0, MAX_MARKED);
  // The page runs none of its code before the marks are gone again.
  try {
    for (const [element, way] of marked) element.setAttribute(mark, way);
    return { ...take(), isMostlyUnseen: [...letters.keys()].some(isMost) };
  } finally {
    for (const [element] of marked) element.removeAttribute(mark);
  }
}
