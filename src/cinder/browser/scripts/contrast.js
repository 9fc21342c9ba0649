// Colours as they reach the screen: of texts and of what is painted behind them.
styleOf => {
  const MAX_CLIMB = 200, THIN = 0.05, ALIKE = 12;
  const WHITE = [255, 255, 255, 1], NOTHING = [0, 0, 0, 0];
  let pencil = null;
  const canvas = () => {
    if (!pencil) {
      const sheet = document.createElement('canvas');
      sheet.width = sheet.height = 1;
      // Without a context, colours of other spaces are taken for grey, and no shape or font is judged.
      pencil = sheet.getContext('2d', { willReadFrequently: true });
    }
    return pencil;
  };
  // Colours of other spaces than sRGB are painted and read back.
  const colours = new Map();
  const painted = colour => {
    const pen = canvas();
    if (!pen) return [127, 127, 127, 1];
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = '#00000000';
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const parts = colour => {
    let found = colours.get(colour);
    if (found) return found;
    const plain = /^rgba?\(([^)]*)\)$/.exec(colour);
    const numbers = plain && plain[1].split(/[\s,\/]+/).map(Number);
    found = numbers ? [...numbers.slice(0, 3), numbers.length > 3 ? numbers[3] : 1] : painted(colour);
    colours.set(colour, found);
    return found;
  };
  const COLOURS = /(?:rgba?|color|oklch|oklab|lch|lab|hsla?|hwb)\([^()]*\)/g;
  const coloursIn = value => (value.match(COLOURS) || []).map(parts);
  const alike = (one, other) => [0, 1, 2].every(index => Math.abs(one[index] - other[index]) <= ALIKE);

  // Compositing: colours are red, green and blue up to 255, and alpha up to 1.
  const over = (top, under) => {
    const alpha = top[3] + under[3] * (1 - top[3]);
    if (!alpha) return NOTHING;
    return [...[0, 1, 2].map(index => (top[index] * top[3] + under[index] * under[3] * (1 - top[3])) / alpha), alpha];
  };
  // What a background paints: one colour, or nothing known where it is a picture or changes.
  const backgrounds = new Map(), grounds = new Map();
  const backgroundOf = element => {
    if (backgrounds.has(element)) return backgrounds.get(element);
    const style = styleOf(element), image = style.backgroundImage;
    let found = /text/.test(style.backgroundClip) ? NOTHING : parts(style.backgroundColor);
    if (image !== 'none' && !/text/.test(style.backgroundClip)) {
      const stops = coloursIn(image);
      const isPlain = !/url\(|image|element|paint/.test(image.replace(/-gradient/g, '')) && stops.length
        && stops.every(stop => alike(stop, stops[0]) && Math.abs(stop[3] - stops[0][3]) < THIN)
        && /^(auto|auto auto)$/.test(style.backgroundSize) && !/no-repeat|-/.test(style.backgroundRepeat);
      found = isPlain ? over(stops[0], found) : null;
    }
    backgrounds.set(element, found);
    return found;
  };
  const light = colour => 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2];
  const BLENDS = {
    multiply: (under, top) => under * top,
    screen: (under, top) => under + top - under * top,
    overlay: (under, top) => BLENDS['hard-light'](top, under),
    darken: Math.min,
    lighten: Math.max,
    'color-dodge': (under, top) => under === 0 ? 0 : Math.min(1, under / (1 - top)),
    'color-burn': (under, top) => under === 1 ? 1 : 1 - Math.min(1, (1 - under) / top),
    'hard-light': (under, top) => top <= 0.5 ? 2 * under * top : under + (2 * top - 1) - under * (2 * top - 1),
    'soft-light': (under, top) => under + (2 * top - 1) * (top <= 0.5 ? under - under * under : Math.sqrt(under) - under),
    difference: (under, top) => Math.abs(under - top),
    exclusion: (under, top) => under + top - 2 * under * top,
    'plus-lighter': (under, top) => Math.min(1, under + top),
  };
  const blend = (mode, under, top) => {
    const mix = BLENDS[mode];
    if (mix) return over([...[0, 1, 2].map(index => 255 * mix(under[index] / 255, top[index] / 255)), top[3]], under);
    if (mode === 'luminosity') return over([light(top), light(top), light(top), top[3]], under);
    // Hue, saturation and colour keep the lightness, all that black, white and grey differ by.
    const isPure = light(under) < 2 * ALIKE || light(under) > 255 - 2 * ALIKE;
    return isPure ? under : null;
  };
  const FILTERS = {
    brightness: (level, amount) => level * amount,
    contrast: (level, amount) => (level - 127.5) * amount + 127.5,
    invert: (level, amount) => level + (255 - 2 * level) * amount,
  };
  const filtered = (filter, colour) => {
    if (/url\(|drop-shadow/.test(filter)) return null;
    for (const [, name, value] of filter.matchAll(/([a-z-]+)\(([\d.]*)/g)) {
      if (FILTERS[name]) colour = [...colour.slice(0, 3).map(level => Math.max(0, Math.min(255, FILTERS[name](level, Number(value))))), colour[3]];
      if (name === 'opacity') colour = [...colour.slice(0, 3), colour[3] * Number(value)];
    }
    return colour;
  };
  const effects = new Map();
  const hasEffects = element => {
    if (!element) return false;
    if (effects.has(element)) return effects.get(element);
    const style = styleOf(element);
    const found = style.opacity !== '1' || style.filter !== 'none' || style.mixBlendMode !== 'normal' || hasEffects(element.parentElement);
    effects.set(element, found);
    return found;
  };
  const pseudos = new Map();
  const hasPaintedPseudo = element => {
    let found = pseudos.get(element);
    if (found === undefined) pseudos.set(element, found = ['::before', '::after'].some(name => {
      const beside = getComputedStyle(element, name), content = beside.content;
      return content !== 'none' && content !== 'normal'
        && (beside.backgroundImage !== 'none' || parts(beside.backgroundColor)[3] > THIN);
    }));
    return found;
  };
  // The colours of a text and of its ground as they reach the screen; null where they are unknown.
  const painting = (element, ink) => {
    let text = ink, ground = NOTHING;
    for (let above = element, climbed = 0; above && climbed < MAX_CLIMB; climbed += 1, above = above.parentElement) {
      const style = styleOf(above), own = backgroundOf(above);
      if (!own || (climbed < 4 && hasPaintedPseudo(above))) return null;
      [text, ground] = [over(text, own), over(ground, own)];
      if (hasEffects(above)) {
        if (style.filter !== 'none') {
          [text, ground] = [filtered(style.filter, text), filtered(style.filter, ground)];
          if (!text || !ground) return null;
        }
        const opacity = Number(style.opacity);
        [text, ground] = [text, ground].map(colour => [...colour.slice(0, 3), colour[3] * opacity]);
        if (style.mixBlendMode !== 'normal') {
          const behind = above.parentElement && groundOf(above.parentElement);
          [text, ground] = behind ? [blend(style.mixBlendMode, behind, text), blend(style.mixBlendMode, behind, ground)] : [null, null];
          if (!text || !ground) return null;
        }
      }
      if (ground[3] >= 0.95 && !hasEffects(above.parentElement)) return { text, ground };
    }
    if (/dark/.test(styleOf(root).colorScheme)) return null;
    return { text: over(text, WHITE), ground: over(ground, WHITE) };
  };
  const groundOf = element => {
    if (!grounds.has(element)) grounds.set(element, painting(element, NOTHING)?.ground || null);
    return grounds.get(element);
  };
  // What draws the letters: their own colour, a background cut out by them, shadows, outlines.
  const inksOf = (element, style) => {
    const inks = [parts(style.webkitTextFillColor || style.color)];
    if (style.textShadow !== 'none') inks.push(...coloursIn(style.textShadow));
    if (parseFloat(style.webkitTextStrokeWidth) > 0) inks.push(parts(style.webkitTextStrokeColor));
    if (inks[0][3] < 0.9) {
      let above = element;
      for (let climbed = 0; above && climbed < 4 && !/text/.test(styleOf(above).backgroundClip); climbed += 1) above = above.parentElement;
      const cut = above && styleOf(above);
      if (cut && /text/.test(cut.backgroundClip)) {
        if (/url\(/.test(cut.backgroundImage)) return null;
        inks.push(parts(cut.backgroundColor), ...coloursIn(cut.backgroundImage));
      }
    }
    return inks.filter(ink => ink[3] > THIN);
  };
  // Whether no ink of a text differs from its ground; null where it has no ink at all.
  const isLost = element => {
    const inks = inksOf(element, styleOf(element));
    if (!inks) return false;
    if (!inks.length) return null;
    return inks.every(ink => {
      const found = painting(element, ink);
      return found && alike(found.text, found.ground);
    });
  };
  return { canvas, parts, coloursIn, alike, backgroundOf, groundOf, isLost };
}
