// An OpenID Connect provider called NAME, whose people are named in the arguments, with our client and somebody else's.
// Its clock is SECONDS ahead of that of the machine, and its tokens are valid for a minute.
// node issuer.mjs PORT PAGES SECRET '{"ada": ["on-call"]}' NAME SECONDS
import Provider from "oidc-provider";

const [port, pages, secret, people, name, ahead] = process.argv.slice(2);
const groupsOf = JSON.parse(people), clock = Date.now;
Date.now = () => clock() + 1000 * ahead;
const redirect_uris = [`${pages}/sign-in/${name}/callback`];
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: "linewatch",
      client_secret: secret,
      redirect_uris,
      post_logout_redirect_uris: [`${pages}/sign-in`],
      backchannel_logout_uri: `${pages}/sign-in/${name}/logout`,
      backchannel_logout_session_required: true,
    },
    { client_id: "other", client_secret: "of another program", redirect_uris },
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
  ttl: { IdToken: 60 },
});
provider.listen(Number(port), "127.0.0.1", () => console.log("listening"));
