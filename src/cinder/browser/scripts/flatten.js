// Writes an element as HTML: open shadow roots with their slots filled, frames of the same origin in place, no overlays.
(root, keepsOverlays, mark) => {
  const MAX_NODES = 100000, MAX_FRAMES = 20, MAX_DEPTH = 400, MAX_CANDIDATES = 50;
  const MAX_OVERLAY_TEXT = 1500, LEAST_REST = 200, COVER = 0.4;
  const DIALOGS = 'dialog[open], [aria-modal=true], [role=dialog], [role=alertdialog]';
  const frameBody = element => {
    try { return element.contentDocument && element.contentDocument.body; } catch (error) { return null; }
  };
  const isShown = element => {
    const style = element.ownerDocument.defaultView.getComputedStyle(element);
    return style.display !== 'none' && style.visibility !== 'hidden' && parseFloat(style.opacity) > 0.05;
  };
  const lies = element => getComputedStyle(element).position;

  const findOverlays = () => {
    const body = document.body, found = new Set();
    if (keepsOverlays || !body || root !== document.documentElement) return found;
    const candidates = new Set([...document.querySelectorAll(DIALOGS)].slice(0, MAX_CANDIDATES)
      .filter(element => element.matches(':modal') || /fixed|absolute/.test(lies(element)) || (element.parentElement && lies(element.parentElement) === 'fixed')));
    for (const [x, y] of [[0.5, 0.5], [0.2, 0.5], [0.8, 0.5], [0.5, 0.2], [0.5, 0.9]]) {
      let top = document.elementFromPoint(innerWidth * x, innerHeight * y);
      while (top && top !== body && lies(top) !== 'fixed') top = top.parentElement;
      if (!top || top === body) continue;
      const box = top.getBoundingClientRect();
      const covers = box.width * box.height >= COVER * innerWidth * innerHeight;
      if (covers || top.querySelector('input[type=email]')) candidates.add(top);
    }
    const whole = candidates.size ? body.innerText.trim().length : 0;
    for (const element of candidates) {
      const own = element.innerText.trim().length;
      // What holds more than the rest of the page is the page.
      if (isShown(element) && own <= MAX_OVERLAY_TEXT && whole - own >= Math.max(LEAST_REST, own)) found.add(element);
    }
    return found;
  };

  const overlays = findOverlays();
  const hasHidden = [...root.querySelectorAll('*')].some(element => element.shadowRoot || (element.localName === 'iframe' && frameBody(element)));
  if (!hasHidden && !overlays.size) return root.outerHTML;

  // In a document without a window no custom element comes to life.
  const inert = document.implementation.createHTMLDocument('');
  let nodes = 0, frames = 0;
  const copyAll = (children, into, place) => {
    for (const child of children) {
      const copied = copy(child, place);
      if (copied) into.append(copied);
    }
    return into;
  };
  const copyFrame = (element, place) => {
    const body = frameBody(element), box = element.getBoundingClientRect();
    if (!body || frames >= MAX_FRAMES || box.width < 2 || box.height < 2 || !isShown(element)) return inert.importNode(element, false);
    frames += 1;
    return copyAll(body.childNodes, inert.createElement('section'), { depth: place.depth + 1, isInner: true });
  };
  const copy = (node, place) => {
    nodes += 1;
    if (nodes > MAX_NODES || place.depth > MAX_DEPTH || overlays.has(node)) return null;
    if (node.nodeType !== Node.ELEMENT_NODE) return inert.importNode(node, true);
    const inside = { depth: place.depth + 1, isInner: place.isInner };
    if (node.localName === 'slot' && place.isInner) {
      const assigned = node.assignedNodes({ flatten: true });
      return copyAll(assigned.length ? assigned : node.childNodes, inert.createDocumentFragment(), inside);
    }
    // The page's own rules know nothing of what is in a shadow root or a frame.
    if (place.isInner && (/^(style|link|script)$/.test(node.localName) || !isShown(node))) return null;
    if (node.localName === 'iframe') return copyFrame(node, place);
    if (node.localName === 'template') return inert.importNode(node, true);
    const copied = inert.importNode(node, false);
    if (place.isInner)
      for (const name of ['href', 'src'])
        if (copied.hasAttribute(name) && typeof node[name] === 'string') copied.setAttribute(name, node[name]);
    if (!node.shadowRoot) return copyAll(node.childNodes, copied, inside);
    inside.isInner = true;
    copyAll(node.shadowRoot.childNodes, copied, inside);
    // What no slot shows comes along with its mark: it is reported as hidden.
    for (const child of mark ? node.children : [])
      if (!child.assignedSlot && child.hasAttribute(mark)) copied.append(inert.importNode(child, true));
    return copied;
  };
  const copied = copy(root, { depth: 0, isInner: false });
  return nodes > MAX_NODES ? root.outerHTML : copied.outerHTML;
}
