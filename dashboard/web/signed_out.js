// Leads to the sign-in page when the server does not accept this session any more: Streamlit's own page would stay and
// say that its connection failed. Whenever a WebSocket closes, this asks until the server answers.
(() => {
  const HEALTH = new URL('_stcore/health', new URL('.', location.href)), AGAIN = 2000;
  let asking = false;
  const ask = async () => {
    try {
      const reply = await fetch(HEALTH, {redirect: 'manual'});  // a proxy may lead to a page of its own
      if (reply.status === 401 || reply.type === 'opaqueredirect') { location.reload(); return; }
      asking = !reply.ok;
    } catch { asking = true; }  // the server cannot be reached
    if (asking) setTimeout(ask, AGAIN);
  };
  window.WebSocket = class extends window.WebSocket {
    constructor(...given) {
      super(...given);
      this.addEventListener('close', () => { if (!asking) { asking = true; ask(); } });
    }
  };
})();
