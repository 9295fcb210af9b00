// The key that signs receipts and the secret that makes tokens. Both outlive a restart, and neither leaves this file.
import { createHmac, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canonical, sha256 } from "./json.mjs";

// "wx" fails where the file is there: two starts at once cannot end with a key that only one of them knows.
function readOrMake(path, make) {
  try {
    writeFileSync(path, make(), { flag: "wx", mode: 0o600, flush: true });
  } catch (fault) {
    if (fault.code !== "EEXIST") throw fault;
  }
  return readFileSync(path);
}

const newKey = () => generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" });

export class Keys {
  #private;
  #secret;

  constructor(folder, publicUrl) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#private = createPrivateKey(readOrMake(join(folder, "signing_key.pem"), newKey));
    this.#secret = readOrMake(join(folder, "token_secret"), () => randomBytes(32));
    const { x } = createPublicKey(this.#private).export({ format: "jwk" });
    const kid = sha256(Buffer.from(x, "base64url")).slice(0, 32);
    this.jwk = { kty: "OKP", crv: "Ed25519", x, kid, use: "sig" };
    this.did = `did:web:${new URL(publicUrl).host.replace(":", "%3A")}`;
  }

  /** A compact JWS over the canonical form of a payload (2.2). */
  sign(payload) {
    const header = canonical({ alg: "EdDSA", kid: this.jwk.kid, typ: "JWT" });
    const input = [header, canonical(payload)].map((part) => Buffer.from(part).toString("base64url")).join(".");
    return `${input}.${sign(null, Buffer.from(input), this.#private).toString("base64url")}`;
  }

  /** 16 bytes of HMAC-SHA256 in hex, over texts that hold no line feed. */
  mac(...texts) {
    return createHmac("sha256", this.#secret).update(texts.join("\n")).digest("hex").slice(0, 32);
  }

  jwks() {
    return { keys: [this.jwk] };
  }
}
