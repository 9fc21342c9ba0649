// Clears away cookie and consent pop-ups, refusing where it can; returns what it did.
(() => {
  const BUDGET_MS = 100, MAX_CANDIDATES = 300, MAX_CLIMB = 12, MAX_REMOVED = 10;
  const MAX_TEXT = 4000, MAX_LINKS = 20, LEAST_REST = 20, MODAL_Z_INDEX = 1000;
  const deadline = performance.now() + BUDGET_MS;
  const done = [];
  let removed = 0;

  // Consent managers: name, what they put on the page, and their button that refuses.
  const MANAGERS = [
    ['OneTrust', '#onetrust-consent-sdk, #onetrust-banner-sdk, .optanon-alert-box-wrapper',
      '#onetrust-reject-all-handler, .ot-pc-refuse-all-handler'],
    ['Cookiebot', '#CybotCookiebotDialog, #CybotCookiebotDialogBodyUnderlay, #CookiebotWidget',
      '#CybotCookiebotDialogBodyButtonDecline, #CybotCookiebotDialogBodyLevelButtonLevelOptinDeclineAll'],
    ['Didomi', '#didomi-host, #didomi-popup, #didomi-notice',
      '#didomi-notice-disagree-button, .didomi-continue-without-agreeing'],
    ['Quantcast', '#qc-cmp2-container, #qc-cmp2-main, .qc-cmp-ui-container',
      '#disagree-btn, .qc-cmp2-summary-buttons button[mode=secondary]:first-child'],
    ['TrustArc', '#truste-consent-track, #consent_blackbar, .truste_box_overlay, .truste_overlay, #trustarc-banner-overlay',
      '#truste-consent-required, #truste-show-consent-reject'],
    ['Usercentrics', '#usercentrics-root, #usercentrics-cmp-ui, #uc-banner-modal',
      '[data-testid=uc-deny-all-button], #deny, #uc-btn-deny-banner'],
    ['Sourcepoint', 'div[id^=sp_message_container_]', ''],
    ['Google', '.fc-consent-root, .fc-dialog-overlay', '.fc-cta-do-not-consent'],
    ['Consentmanager', '#cmpbox, #cmpbox2, #cmpwrapper', '#cmpwelcomebtnno a, .cmpboxbtnno'],
    ['CookieYes', '.cky-consent-container, .cky-overlay, .cky-modal, #cookie-law-info-bar, .cli-modal',
      '.cky-btn-reject, #cookie_action_close_header_reject'],
    ['Complianz', '#cmplz-cookiebanner-container, .cmplz-cookiebanner', '.cmplz-btn.cmplz-deny'],
    ['Borlabs', '#BorlabsCookieBox, #BorlabsCookieBoxWrap, #BorlabsCookieWidget',
      '[data-cookie-refuse], ._brlbs-refuse-btn a'],
    ['Klaro', '#klaro .cookie-notice, #klaro .cookie-modal, .klaro .cookie-notice, .klaro .cookie-modal',
      '.cn-decline, .cm-btn-decline'],
    ['Osano', '.osano-cm-window, .osano-cm-dialog', '.osano-cm-denyAll, .osano-cm-deny'],
    ['CookieConsent', '.cc-window.cc-banner, .cc-window.cc-floating, .cc-revoke, #cc-main, #cc--main',
      '.cc-deny, [data-role=necessary], #c-s-bn'],
    ['Iubenda', '#iubenda-cs-banner', '.iubenda-cs-reject-btn'],
    ['Termly', '#termly-code-snippet-support, [class*=termly-styles-banner]', '[data-tid=banner-decline]'],
    ['Axeptio', '#axeptio_overlay, #axeptio_main_button', '#axeptio_btn_dismiss'],
    ['Tarteaucitron', '#tarteaucitronRoot', '#tarteaucitronAllDenied2, #tarteaucitronAllDenied'],
    ['CookieFirst', '.cookiefirst-root, #cookiefirst-root', '[data-cookiefirst-action=reject]'],
    ['Cookie Information', '#coiOverlay, #cookie-information-template-wrapper', '#declineButton, .coi-banner__decline'],
    ['Cookie Script', '#cookiescript_injected, #cookiescript_injected_wrapper', '#cookiescript_reject'],
    ['CookieHub', '.ch2-container, .ch2-dialog', '.ch2-deny-all-btn'],
    ['Civic', '#ccc, #ccc-overlay', '#ccc-reject-settings, #ccc-notify-reject'],
    ['Evidon', '#_evidon_banner, #_evidon-background, #_evidon-barrier-wrapper', '#_evidon-decline-button'],
    ['CCM19', '.ccm-root, #ccm-widget', '.ccm--decline-cookies'],
    ['TrustCommander', '#tc-privacy-wrapper, #privacy-overlay, #footer_tc_privacy', '#footer_tc_privacy_button_3'],
    ['AppConsent', '#appconsent', ''],
    ['Sirdata', '#sd-cmp', ''],
    ['Shopify', '#shopify-pc__banner', '#shopify-pc__banner__btn-decline'],
    ['Moove', '#moove_gdpr_cookie_info_bar, #moove_gdpr_cookie_modal', '.moove-gdpr-infobar-reject-btn'],
    ['Cookie Notice', '#cookie-notice', '#cn-refuse-cookie'],
    ['HubSpot', '#hs-eu-cookie-confirmation', '#hs-eu-decline-button'],
    ['Drupal', '#sliding-popup.sliding-popup-bottom, #sliding-popup.sliding-popup-top', '.decline-button, .eu-cookie-withdraw-button'],
    ['Real Cookie Banner', '#real-cookie-banner, [id^=real-cookie-banner]', ''],
    ['Transcend', '#transcend-consent-manager', ''],
    ['Ketch', '#lanyard_root', ''],
  ];

  const NAMED = /(cookie|consent|gdpr|dsgvo|rgpd|ccpa|cmp)s?[-_ ]?(banner|bar|box|consent|notice|notification|message|popup|pop-up|modal|dialog|overlay|layer|wall|alert|law|info|disclaimer|prompt|hint|container|wrapper|root|manager)\b/i;
  const ABOUT = new RegExp([
    'cookies?\\b', 'gdpr', 'ds-?gvo', 'rgpd', 'ciastecz', 'eväste', 'süti', '\\bkakor', 'informasjonskaps',
    'küpsis', 'sīkdat', 'slapuk', 'kolačić', 'piškot', 'бисквитк', 'куки', 'файл\\S* cookie', 'your privacy',
    'personal data', 'privatsphäre', 'personenbezogene', 'vie privée', 'données personnelles',
    'datos personales', 'tu privacidad', 'su privacidad', 'dati personali', 'tua privacy',
    'persoonsgegevens', 'uw privacy', 'je privacy', 'dados pessoais', 'sua privacidade', 'prywatnoś',
    'soukromí', 'integritet', 'privatliv', 'personvern', 'yksityisyy', 'απορρήτου',
  ].join('|'), 'i');
  const REFUSES = new RegExp([
    'reject', 'decline', 'refuse', 'den(y|ied)\\b', 'disagree', 'do not (accept|consent|agree)', 'without accepting',
    '(only|just) (the )?(strictly )?(necessary|essential|required)', '(necessary|essential|required)( cookies)? only',
    'ablehnen', 'nicht zustimmen', 'nur (\\S+ )?(notwendig|erforderlich|essenziell|technisch)', 'verweigern',
    'refuser', 'sans accepter', 'rechazar', 'solo (las )?(necesarias|esenciales)', 'rifiuta', 'solo (i )?necessari',
    'weiger', 'alleen (noodzakelijk|functione)', 'afwijzen', 'rejeitar', 'recusar', 'odrzu', 'tylko niezbędne',
    'odmítnout', 'odmietnu', 'elutasít', 'refuz', 'respinge', 'avvisa', 'neka', 'endast nödvändiga', 'afvis',
    'kun nødvendige', 'avslå', 'avvis', 'hylkää', 'vain välttämättömät', 'απόρριψη', 'отказ', 'отклонить',
    'відхилити', 'odbij', 'zavrni', 'keeldu', 'noraid', 'atmesti', 'reddet',
  ].join('|'), 'i');
  const ACCEPTS = new RegExp([
    'accept', 'agree', 'allow', 'got it', 'understand', '^\\s*ok(ay)?\\b', 'consent', 'akzeptier', 'zustimm',
    'einverstanden', 'verstanden', 'erlauben', 'accord', 'compris', 'autoriser', 'acept', 'entendido', 'de acuerdo',
    'accett', 'ho capito', 'consent', 'akkoord', 'toestaan', 'begrepen', 'aceit', 'concordo', 'akcept', 'zgadzam',
    'rozumiem', 'zgoda', 'přijmout', 'souhlas', 'prija', 'súhlas', 'elfogad', 'acord', 'godkän', 'godkend', 'tillad',
    'godta', 'hyväksy', 'salli', 'αποδοχή', 'αποδέχ', 'συμφων', 'приемам', 'принять', 'соглас', 'прийняти',
    'prihvać', 'sprejm', 'nõustu', 'piekrīt', 'sutinku', 'kabul',
  ].join('|'), 'i');
  const BUTTONS = 'button, [role=button], input[type=button], input[type=submit], a';
  const HINTED = '[id*=cookie i], [class*=cookie i], [id*=consent i], [class*=consent i], [id*=gdpr i], [class*=gdpr i], ' +
    '[id*=dsgvo i], [aria-label*=cookie i], [role=dialog], [role=alertdialog], [aria-modal=true], dialog[open]';

  // By way of the prototypes: a form's fields and a page's named elements can stand in for methods.
  const all = (root, selector, most) =>
    [].slice.call((root instanceof Element ? Element : root instanceof Document ? Document : DocumentFragment)
      .prototype.querySelectorAll.call(root, selector), 0, most);
  const remove = element => { Element.prototype.remove.call(element); removed += 1; };
  const isOver = () => performance.now() > deadline || removed >= MAX_REMOVED;
  const nameOf = element => `${element.getAttribute('id') || ''} ${element.getAttribute('class') || ''}`;
  const describe = element => {
    const id = element.getAttribute('id'), name = (element.getAttribute('class') || '').trim().split(/\s+/)[0];
    return (element.localName + (id ? '#' + id : name ? '.' + name : '')).slice(0, 60);
  };
  const labelOf = button =>
    (button.textContent || button.getAttribute('value') || button.getAttribute('aria-label') || '').trim();
  const isSeen = element => {
    const box = element.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && getComputedStyle(element).visibility === 'visible';
  };
  // What a click on it would do must be the pop-up's own doing, not a journey to another page.
  const leavesPage = button => {
    const href = button.getAttribute('href');
    if (href !== null && !/^\s*(#|javascript:|$)/i.test(href)) return true;
    return Boolean(button.closest('form')) && button.getAttribute('type') !== 'button';
  };
  const press = (button, who) => {
    HTMLElement.prototype.click.call(button);
    done.push(`refused ${who}`);
  };

  const clearManager = ([name, containers, refusal]) => {
    // One by one: a lone id is looked up, while a list of selectors is tried on every element.
    const found = containers.split(', ').flatMap(selector => all(document, selector, 5))
      .filter(element => !holdsThePage(element));
    if (!found.length) return;
    const roots = found.flatMap(element => element.shadowRoot ? [element, element.shadowRoot] : [element]);
    const button = refusal && roots.flatMap(root => all(root, refusal, 3)).find(button => isSeen(button) && !leavesPage(button));
    if (button) press(button, name);
    found.forEach(remove);
    done.push(`removed ${name}`);
  };

  const holdsThePage = element =>
    element === document.documentElement || element === document.body ||
    Boolean(element.closest('article')) ||
    element.matches('main, article, [role=main]') || all(element, 'main, article, [role=main]', 1).length > 0;

  const isModal = element => {
    const style = getComputedStyle(element);
    if (style.position === 'fixed' || style.position === 'sticky') return true;
    if (style.position === 'absolute' && Number(style.zIndex) >= MODAL_Z_INDEX) return true;
    return element.matches('dialog[open], [role=dialog], [role=alertdialog], [aria-modal=true]');
  };

  // The pop-up that an element belongs to: the outermost of it that is still named or shown as one.
  const judgements = new Map();
  const popUpOf = element => {
    let found = null;
    for (let climbed = 0; element && element !== document.body && climbed < MAX_CLIMB; climbed += 1) {
      if (isModal(element) || (NAMED.test(nameOf(element)) && !element.closest('main, [role=main]'))) {
        if (!judgements.has(element)) judgements.set(element, isConsent(element));
        if (!judgements.get(element)) break;
        found = element;
      }
      element = element.parentElement;
    }
    return found;
  };

  const visibleLength = root => {
    let length = root.textContent.length;
    for (const unseen of all(root, 'script, style, noscript, template', 500)) length -= unseen.textContent.length;
    return length;
  };
  let wholeLength = null;
  const leavesEnough = element => {
    if (wholeLength === null) wholeLength = visibleLength(document.body);
    const own = visibleLength(element), rest = wholeLength - own;
    return rest >= LEAST_REST && (NAMED.test(nameOf(element)) || rest >= own / 3);
  };

  const isConsent = element => {
    if (holdsThePage(element)) return false;
    const length = visibleLength(element);
    if (length < 15 || length > MAX_TEXT || !ABOUT.test(element.textContent)) return false;
    if (all(element, 'input[type=password], input[type=email], input[type=search], textarea, video, nav', 1).length) return false;
    if (all(element, 'a', MAX_LINKS + 1).length > MAX_LINKS) return false;
    const labels = all(element, BUTTONS, 40).map(labelOf).filter(label => label.length > 1 && label.length < 60);
    return labels.some(label => ACCEPTS.test(label) || REFUSES.test(label)) && leavesEnough(element);
  };

  // What lies on top at some points of the window: pop-ups that bear no telling name.
  const onTop = () => {
    const across = [0.05, 0.5, 0.95], down = [0.03, 0.5, 0.8, 0.97];
    return across.flatMap(x => down.map(y => Document.prototype.elementFromPoint.call(document, innerWidth * x, innerHeight * y)))
      .filter(element => element && element !== document.body && element !== document.documentElement);
  };

  const clearPopUp = element => {
    const button = all(element, BUTTONS, 40)
      .find(button => REFUSES.test(labelOf(button)) && labelOf(button).length < 60 && isSeen(button) && !leavesPage(button));
    if (button) press(button, describe(element));
    remove(element);
    wholeLength = null;
    done.push(`removed ${describe(element)}`);
  };

  const isBackdrop = element => {
    const box = element.getBoundingClientRect();
    return getComputedStyle(element).position === 'fixed' && box.width * box.height > 0.9 * innerWidth * innerHeight &&
      element.textContent.trim().length < 5 && !all(element, 'img, video, canvas, iframe, svg, input', 1).length &&
      !element.matches('img, video, canvas, iframe, svg') && !holdsThePage(element);
  };
  const clearBackdrop = () => {
    const element = Document.prototype.elementFromPoint.call(document, innerWidth / 2, innerHeight / 2);
    if (!element || !isBackdrop(element)) return;
    remove(element);
    done.push(`removed ${describe(element)}`);
  };

  const unlockScrolling = () => {
    for (const root of [document.documentElement, document.body]) {
      const style = getComputedStyle(root);
      const isCut = /hidden|clip/.test(style.overflowY), isPinned = style.position === 'fixed';
      if (isCut) root.style.setProperty('overflow', 'auto', 'important');
      if (isPinned) root.style.setProperty('position', 'static', 'important');
      if (isCut || isPinned) done.push('unlocked scrolling');
    }
  };

  try {
    for (const manager of MANAGERS) if (!isOver()) clearManager(manager);
    const candidates = new Set([...onTop(), ...all(document, HINTED, MAX_CANDIDATES)]);
    for (const element of candidates) {
      if (isOver()) break;
      const popUp = element.isConnected ? popUpOf(element) : null;
      if (popUp) clearPopUp(popUp);
    }
    if (done.length) {
      clearBackdrop();
      unlockScrolling();
    }
  } catch (error) {
    done.push('stopped: the page is not what it seems');
  }
  return [...new Set(done)];
})()
