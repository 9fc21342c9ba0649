// Scrolls what a visitor would: the page, or the box in the middle of it that scrolls instead.
(direction, amount) => {
  const canScroll = element => {
    const overflow = getComputedStyle(element).overflowY;
    return element.scrollHeight > element.clientHeight + 1 && /auto|scroll|overlay/.test(overflow);
  };
  const page = document.scrollingElement || document.documentElement;
  let box = page;
  if (page.scrollHeight <= innerHeight + 1) {
    let element = document.elementFromPoint(innerWidth / 2, innerHeight / 2);
    while (element && !canScroll(element)) element = element.parentElement;
    box = element || page;
  }
  const before = box.scrollTop;
  const distance = amount || Math.round(innerHeight * 0.9);
  box.scrollBy({ top: direction === 'up' ? -distance : distance, behavior: 'instant' });
  return {
    moved: Math.round(Math.abs(box.scrollTop - before)),
    top: Math.round(box.scrollTop),
    height: box.scrollHeight,
  };
}
