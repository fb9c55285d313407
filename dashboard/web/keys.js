// Keys that Streamlit has no option for: "/" goes to the search in the header, Escape leaves the wall, Shift chooses
// many rows; in a field for transactions Enter looks them up (Shift+Enter starts a line), and the cursor is back there
// for the next. A large paste goes in at once, and one beside the field goes into it, such as after a press on Copy.
(() => {
  const SEARCH = '.st-key-search-field input', LOOK_UP = '.st-key-lookup-field textarea', UNDO = '.st-key-undo button';
  const mayType = matchMedia('(hover: hover)').matches;  // no keyboard pops up on a phone
  const isTyping = (at) => at?.closest?.('input, textarea, select, [contenteditable="true"], [role="grid"]');
  const typeIn = (field) => { field?.focus({preventScroll: true}); field?.select(); };
  // A field may be drawn several times before it stays: it keeps the cursor until somebody acts.
  let wanted = null, since = 0, known = false, undoKnown = false, byKey = false;
  const want = (field) => { wanted = field; since = performance.now(); };
  for (const act of ['pointerdown', 'keydown'])
    document.addEventListener(act, () => { want(null); byKey = act === 'keydown'; }, true);
  // What a popover shows stands at the end of the document: Tab leads into it from its button, Shift+Tab and Escape back.
  const firstInPopover = () => document.querySelector(
    '[data-testid="stPopoverBody"] :is(input, textarea, button, a[href]):not([disabled])');
  const stepThroughPopover = (event, field) => {
    const opener = document.querySelector('[data-testid="stPopover"] button[aria-expanded="true"]');
    if (!opener) return;
    const enter = () => {  // what it shows may come a moment later
      if (firstInPopover()) firstInPopover().focus();
      else if (document.activeElement === opener && opener.isConnected) requestAnimationFrame(enter);
    };
    const isBack = event.shiftKey && field === firstInPopover();
    if (event.key === 'Escape' && field.closest?.('[data-testid="stPopoverBody"]')) setTimeout(() => opener.focus());
    if (event.key !== 'Tab' || !(isBack || (field === opener && !event.shiftKey))) return;
    event.preventDefault();
    if (isBack) opener.focus(); else enter();
  };
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const field = event.target;
    if (event.key === 'Escape') document.querySelector('.st-key-wall-leave button')?.click();
    stepThroughPopover(event, field);
    if (event.key === '/' && !isTyping(field)) {
      const search = document.querySelector(SEARCH);
      if (search) { event.preventDefault(); typeIn(search); want(SEARCH); }
    } else if (event.key === 'Enter' && !event.shiftKey && field.matches?.(LOOK_UP)) {
      event.preventDefault();
      event.stopPropagation();
      field.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', ctrlKey: true, bubbles: true, cancelable: true}));
      field.select();  // what stays because nothing was found is replaced by the next paste
    }
  }, true);
  // Chromium takes minutes to insert ten thousand lines piece by piece, as it does with a paste.
  document.addEventListener('paste', (event) => {
    const at = event.target, text = event.clipboardData?.getData('text/plain') ?? '';
    const field = isTyping(at) ? at : document.querySelector(LOOK_UP);
    if (!text || field?.tagName !== 'TEXTAREA' || (field === at && text.length < 20000)) return;
    event.preventDefault();
    if (field !== at) typeIn(field);
    field.setRangeText(text, field.selectionStart, field.selectionEnd, 'end');
    field.dispatchEvent(new InputEvent('input', {bubbles: true, inputType: 'insertFromPaste'}));
  }, true);
  document.addEventListener('click', (event) => {
    if (event.target.closest?.('.st-key-card-paste [data-testid="stFormSubmitButton"] button'))
      typeIn(document.querySelector(LOOK_UP));
  });
  // In a narrow window, also one that is zoomed, the menu lies above the page; Streamlit folds it on phones alone.
  document.addEventListener('click', (event) => {
    if (!event.target.closest?.('[data-testid="stSidebarNavLink"]') || event.ctrlKey || event.metaKey) return;
    setTimeout(() => document.querySelector('[data-testid="stSidebarCollapseButton"] [aria-expanded="true"]')?.click());
  });
  // Shift and a click, or Shift and the space bar, choose every row since the last that was clicked.
  // A row is remembered by its name: a refresh may draw its box anew.
  const ROW = '[class*="st-key-tracked-0x"]', BOX = `${ROW} input[type="checkbox"]`;
  const rowOf = (box) => /st-key-(tracked-0x\w+)/.exec(box.closest(ROW).className)[1];
  let last = null;
  document.addEventListener('click', (event) => {
    const box = event.target.closest?.(BOX) ?? event.target.closest?.('label')?.querySelector(BOX);
    if (!box || !event.isTrusted) return;
    const boxes = [...document.querySelectorAll(BOX)];
    const from = boxes.findIndex((each) => rowOf(each) === last), to = boxes.indexOf(box);
    last = rowOf(box);
    if (!event.shiftKey || from < 0) return;
    setTimeout(() => {
      for (const each of boxes.slice(Math.min(from, to), Math.max(from, to) + 1))
        if (each.checked !== box.checked) each.click();
    });
  }, true);
  // The text of a row lies above what opens the row, so that it can be selected and its hints are shown.
  const OPENS = ['net-', 'tracked-0x', 'look-0x', 'count-'].map((each) => `[class*="st-key-${each}"]`).join();
  document.addEventListener('click', (event) => {
    const at = event.target.closest?.(OPENS);
    if (!at || !event.isTrusted || event.target.closest('a, button, input, label') || !getSelection().isCollapsed) return;
    const { ctrlKey, metaKey } = event;
    at.querySelector(':is(.stButton button, .stPageLink a)')?.dispatchEvent(
      new MouseEvent('click', {bubbles: true, cancelable: true, ctrlKey, metaKey}));
  });
  // A link from a page to itself shows something else there; Streamlit scrolls up only for another page.
  document.addEventListener('click', (event) => {
    if (!event.target.closest?.('.stPageLink a') || event.ctrlKey || event.metaKey) return;
    document.querySelector('[data-testid="stMain"]')?.scrollTo(0, 0);
  });
  // "updated 3 s ago" counts on between refreshes, by how long this browser has had what it shows.
  let updated = '', shownAt = 0;
  setInterval(() => {
    const at = document.querySelector('.lw-updated');
    if (!at) return;
    if (at.dateTime !== updated) { updated = at.dateTime; shownAt = performance.now(); }
    const seconds = Math.floor((performance.now() - shownAt) / 1000);
    const age = seconds < 90 ? `${seconds} s ago` : `${Math.floor(seconds / 60)} min ago`;
    at.textContent = `updated ${seconds ? age : 'now'}`;
  }, 1000);
  // The notice of simulated data is for the first visit; on later ones its badge says it.
  const NOTICE = '.lw-notice.simulated', SEEN = 'simulated-notice-seen';
  const kept = (act) => { try { return act(localStorage); } catch { return null; } };  // it may be forbidden
  if (kept((store) => store.getItem(SEEN))) document.documentElement.classList.add('lw-returned');
  new MutationObserver(() => {
    if (document.querySelector(NOTICE)) kept((store) => store.setItem(SEEN, '1'));
    const isThere = Boolean(document.querySelector(LOOK_UP));
    if (isThere && !known && mayType) want(LOOK_UP);
    known = isThere;
    // What opened is gone once it was done by keyboard; the cursor goes on where it can be taken back.
    const isUndo = Boolean(document.querySelector(UNDO));
    if (isUndo && !undoKnown && byKey) want(UNDO);
    undoKnown = isUndo;
    if (wanted && performance.now() - since < 15000 && document.activeElement === document.body)
      document.querySelector(wanted)?.focus({preventScroll: true});
  }).observe(document, {childList: true, subtree: true});
})();
