// Asks the browser for a passkey when a form with data-passkey is sent, and sends its answer with the form. The address
// in data-passkey gives what the browser needs; "new" at its end makes a passkey, anything else uses one.
for (const form of document.querySelectorAll('form[data-passkey]')) {
  const button = form.querySelector('button'), said = form.querySelector('output'), Key = window.PublicKeyCredential;
  if (!Key?.parseRequestOptionsFromJSON) {
    said.textContent = 'This browser is too old for passkeys, or this page was not opened by its https address.';
    button.disabled = true;
    continue;
  }
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    said.textContent = '';
    button.disabled = true;
    try {
      const reply = await fetch(form.dataset.passkey, {method: 'POST'});
      if (!reply.ok) throw new Error(await reply.text());
      const options = await reply.json();
      const answer = form.dataset.passkey.endsWith('new')
        ? await navigator.credentials.create({publicKey: Key.parseCreationOptionsFromJSON(options)})
        : await navigator.credentials.get({publicKey: Key.parseRequestOptionsFromJSON(options)});
      form.elements.credential.value = JSON.stringify(answer.toJSON());
      form.submit();
    } catch (error) {
      const known = {
        NotAllowedError: 'No passkey was used. Try again.',
        InvalidStateError: 'This device has a passkey of yours already.',
      };
      said.textContent = known[error.name] ?? error.message;
    }
    button.disabled = false;
  });
}
