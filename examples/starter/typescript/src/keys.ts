import { createHmac, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canonical, sha256Hex } from "./json.ts";
import type { Members } from "./json.ts";

// The flag "wx" never overwrites: it fails if the file is there, and then the file counts.
function readOrMake(path: string, make: () => string | Uint8Array): Buffer {
  try {
    writeFileSync(path, make(), { flag: "wx", mode: 0o600, flush: true });
  } catch (fault) {
    if (!(fault instanceof Error && "code" in fault && fault.code === "EEXIST")) throw fault;
  }
  return readFileSync(path);
}

const newSigningKey = (): string | Buffer =>
  generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" });

/** The key that signs receipts and the secret that makes tokens. Both outlive a restart. */
export class Keys {
  readonly did: string;
  readonly jwk: Members & { kid: string };
  readonly #signer: KeyObject;
  readonly #secret: Buffer;

  constructor(folder: string, publicUrl: string) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#signer = createPrivateKey(readOrMake(join(folder, "signing_key.pem"), newSigningKey));
    this.#secret = readOrMake(join(folder, "token_secret"), () => randomBytes(32));
    const { x = "" } = createPublicKey(this.#signer).export({ format: "jwk" });
    const kid = sha256Hex(Buffer.from(x, "base64url")).slice(0, 32);
    this.jwk = { kty: "OKP", crv: "Ed25519", x, kid, use: "sig" };
    this.did = `did:web:${new URL(publicUrl).host.replace(":", "%3A")}`;
  }

  jwks(): Members {
    return { keys: [this.jwk] };
  }

  /** A compact JWS over the canonical form of a payload (2.2). */
  sign(payload: Members): string {
    const header = canonical({ alg: "EdDSA", kid: this.jwk.kid, typ: "JWT" });
    const input = [header, canonical(payload)].map((part) => Buffer.from(part).toString("base64url")).join(".");
    return `${input}.${sign(null, Buffer.from(input), this.#signer).toString("base64url")}`;
  }

  /** 16 bytes of HMAC-SHA256 in hex over texts that contain no line feed. */
  mac(...texts: string[]): string {
    return createHmac("sha256", this.#secret).update(texts.join("\n")).digest("hex").slice(0, 32);
  }
}
