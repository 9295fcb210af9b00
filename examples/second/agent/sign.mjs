// Demo signatures (6.5): a fresh key signs, and is dropped with the call.

import {
  ComponentError, comparedIdentifier, componentValue, isParameterName, parseIdentifier, serializeSignatureParams, shownIdentifier,
} from "./components.mjs";
import { contentDigestField, coversDigest } from "./digest.mjs";
import { Malformed, fault } from "./body.mjs";
import { didKey, freshKey } from "./keys.mjs";
import { signatureBase } from "./signature.mjs";

const LIFETIME_SECONDS = 300;
const LARGEST_INTEGER = 999_999_999_999_999; // fifteen digits, the most a structured field can write

/** Signs the parts of a request at `now`, Unix seconds. Throws Malformed where no valid signature can be made. */
export function signDemo(request, now) {
  const key = freshKey();
  const signed = { ...request, fields: signedFields(request) };
  const signature = { components: components(signed), params: params(request, key.publicKey, now) };
  checkLabel(request.label);
  checkComponents(signed, signature);
  const { base } = signatureBase(signed, signature);
  const added = {
    "Signature-Input": `${request.label}=${serializeSignatureParams(signature)}`,
    Signature: `${request.label}=:${key.sign(Buffer.from(base)).toString("base64")}:`,
  };
  return answer(signed, signature, base, added, key.publicKey);
}

/** The fields that go out: a signature of before would be a second one, and the digest is always that of the body. */
function signedFields({ fields, body }) {
  const signed = new Map(fields);
  signed.delete("signature");
  signed.delete("signature-input");
  if (body.length > 0 || signed.has("content-digest")) signed.set("content-digest", [contentDigestField(body)]);
  return signed;
}

function components({ covered_components: wanted, query, body }) {
  if (wanted === null) {
    const names = ["@method", "@authority", "@path"];
    if (query !== null) names.push("@query");
    if (body.length > 0) names.push("content-digest");
    return names.map(parseIdentifier);
  }
  if (body.length === 0 || wanted.some(coversDigest)) return wanted;
  return [...wanted, parseIdentifier("content-digest")];
}

function params(request, publicKey, now) {
  const created = time("created", request.created ?? now);
  const params = new Map([
    ["created", created],
    ["expires", time("expires", request.expires ?? created.value + LIFETIME_SECONDS)],
    ["keyid", string("keyid", request.keyid ?? didKey(publicKey))],
    ["alg", string("alg", "ed25519")],
  ]);
  if (request.nonce !== null) params.set("nonce", string("nonce", request.nonce));
  if (request.tag !== null) params.set("tag", string("tag", request.tag));
  return params;
}

function time(name, value) {
  if (Math.abs(value) > LARGEST_INTEGER) throw new Malformed([fault([name], `${name} must have at most fifteen digits.`)]);
  return { type: "integer", value };
}

function string(name, value) {
  if (!/^[ -~]*$/.test(value)) throw new Malformed([fault([name], `${name} must be printable ASCII.`)]);
  return { type: "string", value };
}

function checkLabel(label) {
  if (!/^[a-z*][a-z0-9_.*-]*$/.test(label)) throw new Malformed([fault(["label"], "label must be a name in a structured field.")]);
}

function checkComponents(message, { components, params }) {
  const refuse = (sentence) => {
    throw new Malformed([fault(["covered_components"], sentence)]);
  };
  if (components.length === 0) refuse("At least one component must be covered.");
  if (new Set(components.map(comparedIdentifier)).size < components.length) refuse("A component is covered twice.");
  for (const component of components) {
    const name = component.item.value;
    // componentValue would take the parameter here, which only verify does.
    if (isParameterName(name) && !message.fields.has(name)) refuse("A component is absent.");
    try {
      componentValue(message, component, params);
    } catch (error) {
      if (error instanceof ComponentError) refuse("A component is absent, or cannot be covered in this request.");
      throw error;
    }
  }
}

function answer(request, { components, params }, base, added, publicKey) {
  const headers = {};
  for (const [name, lines] of request.fields) {
    const spelling = name === "content-digest" ? "Content-Digest" : name;
    headers[spelling] = lines.length === 1 ? lines[0] : lines;
  }
  return {
    method: request.method,
    authority: request.authority,
    path: request.path + (request.query === null ? "" : `?${request.query}`),
    scheme: request.scheme,
    headers: { ...headers, ...added },
    body_b64: request.body.toString("base64"),
    signature_base: base,
    signing_base: base,
    covered_components: components.map(shownIdentifier),
    parameters: Object.fromEntries([...params].map(([name, { value }]) => [name, value])),
    label: request.label,
    created: params.get("created").value,
    keyid: params.get("keyid").value,
    algorithm: "ed25519",
    public_key_hex: publicKey.toString("hex"),
    did_key: didKey(publicKey),
    ephemeral: true,
    note: "The key was made for this call and is gone: it shows how signing works and proves nobody's identity.",
  };
}
