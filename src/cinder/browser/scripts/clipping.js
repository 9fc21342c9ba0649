// What boxes and shapes around a text leave of it.
(styleOf, boxOf, canvas) => {
  const root = document.documentElement;
  const measured = (value, whole) => value.endsWith('%') ? parseFloat(value) * whole / 100 : parseFloat(value);
  const shapeOf = (clip, box) => {
    const [, name, inside] = /^([a-z]+)\((.*)\)/.exec(clip) || [];
    if (!name || /calc|side|url/.test(inside)) return null;
    const path = new Path2D(), [before, centre] = inside.split(/\s*\bat\s+/);
    const [left, top] = (centre || '50% 50%').split(' ').map((value, index) => measured(value, index ? box.height : box.width));
    if (name === 'path') return new Path2D((/"([^"]*)"/.exec(inside) || [])[1]);
    if (name === 'circle' || name === 'ellipse') {
      const [across, down] = before.trim().split(/\s+/).map((value, index) => measured(value, index ? box.height : box.width));
      path.ellipse(left, top, across, down === undefined ? across : down, 0, 0, 7);
    } else if (name === 'inset') {
      const sides = before.split(' round ')[0].trim().split(/\s+/);
      const [up, right, under, side] = [0, 1, 2, 3].map(index =>
        measured(sides[index] || sides[index === 3 ? 1 : 0] || sides[0], index % 2 ? box.width : box.height));
      if (right + side < box.width && up + under < box.height) path.rect(side, up, box.width - right - side, box.height - up - under);
    } else if (name === 'polygon') {
      for (const point of before.replace(/^evenodd,/, '').split(','))
        path.lineTo(...point.trim().split(/\s+/).map((value, index) => measured(value, index ? box.height : box.width)));
    } else return null;
    return path;
  };
  const clippedAway = (element, style) => {
    if (style.clipPath === 'none') return false;
    const [, id] = /^url\("#([^"]*)"\)/.exec(style.clipPath) || [];
    if (id) return Boolean(document.getElementById(id)) && !document.getElementById(id).childElementCount;
    const box = { width: element.offsetWidth, height: element.offsetHeight };
    const path = box.width && canvas() && shapeOf(style.clipPath, box);
    if (!path) return false;
    for (let across = 1; across < 16; across += 2)
      for (let down = 1; down < 12; down += 2)
        if (canvas().isPointInPath(path, box.width * across / 16, box.height * down / 12)) return false;
    return true;
  };

  const cuts = new Map();
  const cutOf = element => {
    if (!cuts.has(element)) {
      const style = styleOf(element), isContained = /paint|strict|content/.test(style.contain);
      const cut = { x: isContained ? 'clip' : style.overflowX, y: isContained ? 'clip' : style.overflowY };
      const isNone = (cut.x === 'visible' && cut.y === 'visible') || ['inline', 'contents'].includes(style.display);
      cuts.set(element, isNone ? null : cut);
    }
    return cuts.get(element);
  };
  const isAnchor = style => style.position !== 'static' || style.transform !== 'none' || style.filter !== 'none';
  // The part of a box that boxes around it leave, and the one that leaves nothing.
  const leftOf = (element, box) => {
    let part = { left: box.left, right: box.right, top: box.top, bottom: box.bottom }, position = 'static';
    for (let above = element; above && above !== document.body && above !== root; above = above.parentElement) {
      const style = styleOf(above);
      if (position === 'fixed' || part.by) break;
      if (position === 'absolute' && !isAnchor(style)) continue;
      position = style.position;
      part = cutBy(above, part);
    }
    return part;
  };
  const cutBy = (element, part) => {
    const cut = cutOf(element);
    if (!cut) return part;
    const around = boxOf(element);
    // What can be scrolled to is left, and then its scroller is what others cut.
    const before = { x: element.scrollLeft, y: element.scrollTop };
    const whole = { left: around.left - before.x, top: around.top - before.y };
    const isScrolled = axis => cut[axis] === 'auto' || cut[axis] === 'scroll';
    const isTurned = styleOf(element).direction === 'rtl' || styleOf(element).writingMode !== 'horizontal-tb';
    const area = {
      left: cut.x === 'visible' || (isTurned && isScrolled('x')) ? -Infinity : isScrolled('x') ? whole.left : around.left,
      right: cut.x === 'visible' || isScrolled('x') ? Infinity : around.right,
      top: cut.y === 'visible' || (isTurned && isScrolled('y')) ? -Infinity : isScrolled('y') ? whole.top : around.top,
      bottom: cut.y === 'visible' || isScrolled('y') ? Infinity : around.bottom,
    };
    const left = {
      left: Math.max(part.left, area.left), right: Math.min(part.right, area.right),
      top: Math.max(part.top, area.top), bottom: Math.min(part.bottom, area.bottom),
    };
    if (left.right <= left.left || left.bottom <= left.top) return { ...part, by: element };
    if (isScrolled('x')) [left.left, left.right] = [around.left, around.right];
    if (isScrolled('y')) [left.top, left.bottom] = [around.top, around.bottom];
    return left;
  };
  return { clippedAway, leftOf };
}
