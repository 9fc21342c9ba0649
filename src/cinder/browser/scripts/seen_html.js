// Takes the page as HTML in which the elements whose text nobody sees have a mark, and says how.
(mark, maxLength, keepsOverlays) => {
  const BUDGET_MS = 400, MAX_TEXTS = 20000, MAX_MARKED = 2000, MAX_CLIMB = 200, MAX_SCROLLS = 20;
  const SMALL_TEXT = 2, THIN = 0.05, FAR = 3000, MANY_THIN = 5;
  // A narrower strip of a line shows no word, a lower box no line; higher ones are opened by a click.
  const STRIP = 24, LOW = 4, OPENED = 40;
  const deadline = performance.now() + BUDGET_MS;
  const root = document.documentElement;
  const doctype = document.doctype ? '<!DOCTYPE html>' : '';
  const take = () => {
    const html = doctype + USE_flatten(root, keepsOverlays, mark);
    return html.length > maxLength ? { length: html.length } : { html };
  };
  if (!document.body) return take();

  const NEVER = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'TITLE', 'TEXTAREA', 'OPTION', 'IFRAME', 'SVG']);
  const PICTURES = 'img, video, canvas, picture, svg, iframe';
  const styles = new Map(), boxes = new Map();
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
  const { canvas, parts, coloursIn, alike, backgroundOf, groundOf, isLost } = USE_contrast(styleOf);
  const { clippedAway, leftOf } = USE_clipping(styleOf, boxOf, canvas);

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
  const hasATwinInSight = (element, around) => {
    for (let climbed = 0; element && element !== around && element !== document.body && climbed < 6; climbed += 1, element = element.parentElement) {
      const name = String(element.className).split(/\s+/)[0];
      for (const beside of [...(element.parentElement || element).children].slice(0, 50))
        if (beside !== element && (name || element.localName === 'li') && beside.localName === element.localName && seen.has(beside)
          && String(beside.className).split(/\s+/)[0] === name) return true;
    }
    return false;
  };
  // The back of a card has its front in the same place.
  const hasAFront = element => {
    const { left, top } = boxOf(element);
    return [...element.parentElement.children].some(beside => beside !== element && seen.has(beside)
      && Math.abs(boxOf(beside).left - left) < 10 && Math.abs(boxOf(beside).top - top) < 10);
  };
  const isMoving = element => {
    const style = styleOf(element);
    return /[1-9]/.test(style.transitionDuration) || style.animationName !== 'none';
  };

  // Each returns how an element itself puts its text out of sight, and that of all it holds.
  const maskedAway = style => {
    const mask = style.maskImage;
    if (!mask || mask === 'none') return false;
    if (/^0(px|%)/.test(style.maskSize) || / 0(px|%)$/.test(style.maskSize)) return /no-repeat/.test(style.maskRepeat);
    return !mask.includes('url(') && mask.includes('gradient') && coloursIn(mask).every(colour => colour[3] <= THIN);
  };
  const facesAway = (element, style) => {
    let whole = new DOMMatrix();
    for (let above = element; above; above = above.parentElement) {
      const own = styleOf(above), turn = own.rotate.split(' '), matrix = new DOMMatrix();
      const axis = { x: [1, 0, 0], y: [0, 1, 0] }[turn[0]] || (turn.length > 3 ? turn.slice(0, 3).map(Number) : [0, 0, 1]);
      if (own.rotate !== 'none') matrix.rotateAxisAngleSelf(...axis, parseFloat(turn[turn.length - 1]));
      whole = matrix.multiply(new DOMMatrix(own.transform)).multiply(whole);
      if (!above.parentElement || styleOf(above.parentElement).transformStyle !== 'preserve-3d') break;
    }
    return whole.m33 < -0.01;
  };
  const isOwnLayer = (element, style) => element === root || (style.position !== 'static' && style.zIndex !== 'auto')
    || ['fixed', 'sticky'].includes(style.position) || Number(style.opacity) < 1 || style.transform !== 'none' || style.filter !== 'none'
    || style.isolation === 'isolate' || style.mixBlendMode !== 'normal' || /paint|layout|strict|content/.test(style.contain);
  // A negative z-index puts a box behind the backgrounds of all around it up to their common layer.
  const liesBehind = element => {
    const box = boxOf(element);
    for (let above = element.parentElement; above && !isOwnLayer(above, styleOf(above)); above = above.parentElement) {
      const isCanvas = above === document.body && backgroundOf(root)?.[3] === 0;
      const around = boxOf(above);
      if (!isCanvas && backgroundOf(above)?.[3] >= 0.9 && around.left <= box.left + 1 && around.right >= box.right - 1
        && around.top <= box.top + 1 && around.bottom >= box.bottom - 1) return true;
    }
    return false;
  };
  const isBlurred = style => {
    const [, radius] = /blur\(([\d.]+)px\)/.exec(style.filter) || [];
    return radius >= parseFloat(style.fontSize) / 2;
  };
  const ownWay = element => {
    const style = styleOf(element);
    // What no slot takes up has no style.
    if (['none', ''].includes(style.display) || style.contentVisibility === 'hidden') return 'NOT_SHOWN';
    if (Number(style.opacity) <= THIN || /opacity\(0(\.0\d*)?\)/.test(style.filter) || isBlurred(style)) return isMoving(element) ? '' : 'SEE_THROUGH';
    if (clippedAway(element, style) || maskedAway(style)) return isMoving(element) ? '' : 'OTHER';
    if (style.backfaceVisibility === 'hidden' && facesAway(element, style)) return 'FLIPPED';
    if (Number(style.zIndex) < 0 && style.position !== 'static' && liesBehind(element)) return 'OTHER';
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
      && (styleOf(other).backgroundImage !== 'none' || parts(styleOf(other).backgroundColor)[3] > THIN));
  };
  // What is below the window is scrolled to, once no box is measured any more.
  const start = { left: scrollX, top: scrollY };
  let scrolls = 0;
  const isOverlaidBelow = element => {
    const { top, bottom } = element.getBoundingClientRect();
    if ((top >= 0 && bottom <= innerHeight) || scrolls >= MAX_SCROLLS) return false;
    scrolls += 1;
    scrollTo({ top: scrollY + (top + bottom - innerHeight) / 2, behavior: 'instant' });
    return isOverlaid(element, element.getBoundingClientRect());
  };
  const blendsIn = (element, box) => {
    const found = isLost(element);
    return found === null || (found && !standsOnAPicture(element, box) && !isOverlaid(element, box));
  };
  // A font that has no ink for the letters of a text.
  const families = new Map();
  const webFonts = new Set([...document.fonts].filter(face => face.status === 'loaded').map(face => face.family.replace(/["']/g, '')));
  const isBlank = (text, style) => {
    const family = style.fontFamily.split(',')[0].trim().replace(/["']/g, '');
    if (!webFonts.has(family) || !canvas()) return false;
    const font = `${style.fontStyle} ${style.fontWeight} 100px ${style.fontFamily}`;
    if (!families.has(font)) {
      const pen = canvas();
      pen.font = font;
      const ink = pen.measureText(text.data.replace(/\s+/g, '').slice(0, 60));
      families.set(font, ink.actualBoundingBoxAscent + ink.actualBoundingBoxDescent <= 0);
    }
    return families.get(font);
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
  const cutWay = (element, box, part) => {
    if (part.by) {
      const around = boxOf(part.by);
      // A box of some height shows its beginning, and by a click the rest.
      const isContinued = (box.top >= around.bottom - 1 && around.height >= OPENED) || styleOf(part.by).webkitLineClamp !== 'none';
      return isContinued ? '' : 'BESIDE';
    }
    const width = part.right - part.left, height = part.bottom - part.top;
    const isStrip = width < STRIP && width < box.width / 8;
    return isStrip || (height < LOW && height < box.height / 2) ? 'COLLAPSED' : null;
  };

  // Only what is in the window can be asked for, and nothing behind an open modal dialog.
  const canPoint = !document.querySelector('dialog:modal, :fullscreen');
  const isEmptyCover = (cover, element) => {
    const style = styleOf(cover), colour = backgroundOf(cover), ground = groundOf(element);
    return colour && colour[3] >= 0.95 && ground && alike(colour, ground) && Number(style.opacity) >= 0.95 && !isMoving(cover)
      && !cover.textContent.trim() && !cover.matches(PICTURES) && !cover.querySelector(PICTURES)
      && !hasAbove(cover, above => ['fixed', 'sticky'].includes(styleOf(above).position));
  };
  const hasPseudoCover = cover => ['::before', '::after'].some(name => {
    const style = getComputedStyle(cover, name), colour = parts(style.backgroundColor), ground = groundOf(cover.parentElement);
    return style.content !== 'none' && style.content !== 'normal' && /^["']\s*["']$/.test(style.content) && style.position === 'absolute'
      && colour[3] >= 0.95 && Number(style.opacity) >= 0.95 && style.transitionDuration === '0s' && style.animationName === 'none'
      && ground && alike(colour, ground);
  });
  // Whether no point of a text leads to it: something clips it away, turns it, or lies on it.
  const isOutOfReach = (element, rects, part) => {
    if (!canPoint || styleOf(element).pointerEvents === 'none' || element.closest('[inert]')) return false;
    let boxed = element;
    while (boxed && styleOf(boxed).display === 'contents') boxed = boxed.parentElement;
    let tried = 0;
    for (const rect of rects.slice(0, 3)) {
      const left = Math.max(rect.left, part.left, 0), right = Math.min(rect.right, part.right, innerWidth);
      const top = Math.max(rect.top, part.top, 0), bottom = Math.min(rect.bottom, part.bottom, innerHeight);
      if (right - left < 2 || bottom - top < 2) continue;
      for (const share of [0.5, 0.15, 0.85]) {
        const stack = element.getRootNode().elementsFromPoint(left + (right - left) * share, (top + bottom) / 2);
        const place = stack.indexOf(boxed);
        tried += 1;
        if (place < 0) continue;
        const isCovered = stack.slice(0, place + 1).some(cover => cover.contains(boxed)
          ? (cover !== boxed || place === 0) && hasPseudoCover(cover) : !boxed.contains(cover) && isEmptyCover(cover, element));
        if (!isCovered) return false;
      }
    }
    return tried > 0;
  };
  const placeWay = (element, box) => {
    // To the right and below a visitor can scroll, if only within some part of the page.
    const right = box.right + scrollX, bottom = box.bottom + scrollY;
    const isBefore = right <= 0 || bottom <= 0;
    const isBehind = box.left >= innerWidth || box.top >= innerHeight;
    const isAway = isBefore || (box.left + scrollX >= innerWidth + (isCutAtTheSide ? 0 : FAR)) || (isBehind && isFixed(element));
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
    if (style.display !== 'contents' && !element.checkVisibility()) return { way: 'NOT_SHOWN', element };
    if (style.display !== 'contents' && !element.checkVisibility({ contentVisibilityAuto: true })) return null;
    range.selectNodeContents(text);
    const box = range.getBoundingClientRect();
    const rects = [...range.getClientRects()];
    if (!rects.length) return { way: 'NOT_SHOWN', element };
    const letters = text.data.trim().length;
    if (box.height <= SMALL_TEXT || box.width < Math.min(letters, 20) / 4) return { way: 'SHRUNK', element };
    if (style.webkitTextSecurity !== 'none' || isBlank(text, style)) return { way: 'OTHER', element };
    const way = placeWay(element, box);
    if (way) return { way, element };
    const part = leftOf(element, box);
    const cut = cutWay(element, box, part);
    if (cut !== null) return { way: cut, element, by: part.by };
    if (blendsIn(element, box)) return { way: 'COLOURED', element };
    return isOutOfReach(element, rects, part) ? { way: 'COVERED', element } : null;
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
      unseen.set(found.element, found);
      letters.set(found.way, (letters.get(found.way) || 0) + text.data.length);
    } else noteSeen(element);
  }
  for (const picture of [...document.querySelectorAll(PICTURES)].slice(0, 2000)) {
    const box = boxOf(picture);
    if (box.width > 1 && box.height > 1 && picture.checkVisibility({ opacityProperty: true, visibilityProperty: true })) noteSeen(picture);
  }
  const thin = [...unseen.values()].filter(found => found.way === 'SEE_THROUGH').length;
  const tops = new Map();
  const isMost = way => letters.get(way) > allLetters / 2;
  for (const [element, { way, by }] of unseen) {
    // A page of which most is out of sight waits for something, or is not whole.
    if (isMost(way) || seen.has(element)) continue;
    if (way === 'SEE_THROUGH' && thin > MANY_THIN) continue;
    if (['BESIDE', 'COVERED'].includes(way) && hasATwinInSight(element, by)) continue;
    if (way === 'FLIPPED' && hasAFront(element)) continue;
    if (['NOT_SHOWN', 'COLLAPSED', 'BESIDE', 'COVERED'].includes(way) && (isOpenedByAClick(element) || followsASwitch(element))) continue;
    // Neighbours that share a fate are one text: the outermost element without anything seen.
    let top = element;
    const isShared = above => above && above !== document.body && !seen.has(above)
      && (way !== 'NOT_SHOWN' || (styleOf(above).visibility !== 'visible' && styleOf(above).display !== 'none'));
    while (isWhole && isShared(top.parentElement)) top = top.parentElement;
    if (!tops.has(top)) tops.set(top, ['FLIPPED', 'COVERED'].includes(way) ? 'OTHER' : way);
  }
  const marked = [...tops].slice(0, MAX_MARKED).filter(([element, way]) => way !== 'COLOURED' || !isOverlaidBelow(element));
  if (scrolls) scrollTo({ ...start, behavior: 'instant' });
  // The page runs none of its code before the marks are gone again.
  try {
    for (const [element, way] of marked) element.setAttribute(mark, way);
    return { ...take(), isMostlyUnseen: [...letters.keys()].some(isMost) };
  } finally {
    for (const [element] of marked) element.removeAttribute(mark);
  }
}
