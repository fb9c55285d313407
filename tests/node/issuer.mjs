// An OpenID Connect provider with one client, whose people are named in the arguments.
// node issuer.mjs PORT PAGES SECRET '{"ada": ["on-call"]}'
import Provider from "oidc-provider";

const [port, pages, secret, people] = process.argv.slice(2);
const groupsOf = JSON.parse(people);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: "linewatch",
      client_secret: secret,
      redirect_uris: [`${pages}/sign-in/example/callback`],
      post_logout_redirect_uris: [`${pages}/sign-in`],
      backchannel_logout_uri: `${pages}/sign-in/example/logout`,
      backchannel_logout_session_required: true,
    },
  ],
  claims: { openid: ["sub"], profile: ["name", "groups"], email: ["email"] },
  cookies: { keys: ["of the test"] },
  features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: true } },
  findAccount: async (_, id) =>
    id in groupsOf
      ? { accountId: id, claims: async () => ({ sub: id, name: id, groups: groupsOf[id] }) }
      : undefined,
  fetch: (url, options) => globalThis.fetch(url, { ...options, dispatcher: undefined }),
  pkce: { required: () => true },
});
provider.listen(Number(port), "127.0.0.1", () => console.log("listening"));
