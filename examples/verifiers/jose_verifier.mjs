// npm jose as a verifier of receipts: weldproof vectors run --explained jose.toml -- node jose_verifier.mjs
//
// It does what the library offers and nothing on top: the key that `kid` names, else the first one, then compactVerify.
// jose.toml says what that leaves out. Needs jose (npm ci in this folder), nothing of Weldproof.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { compactVerify, decodeProtectedHeader, importJWK } from "jose";

const { version } = JSON.parse(readFileSync(new URL("./node_modules/jose/package.json", import.meta.url), "utf8"));

async function judge({ jws, jwks }) {
  try {
    const { kid } = decodeProtectedHeader(jws);
    const named = jwks.keys.filter((one) => one.kid === kid);
    const jwk = named.find((one) => one.crv === "Ed25519") ?? named[0] ?? jwks.keys[0];
    await compactVerify(jws, await importJWK(jwk, "EdDSA"), { algorithms: ["EdDSA", "Ed25519"] });
    return { verdict: "valid" };
  } catch (refusal) {
    // Whatever is thrown is a refusal: a caller would serve nobody after any of them.
    return { verdict: "invalid", why: `${refusal.name}: ${refusal.message}` };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  const answer =
    "protocol" in asked
      ? { verifier: `jose ${version}`, families: ["receipts"] }
      : { n: asked.n, ...(await judge(asked.input)) };
  process.stdout.write(JSON.stringify(answer) + "\n");
}
