// What explain says beside the judgement: the digest over again, and notes on how to mend the message (6.3).

import { isParameterName } from "./components.mjs";
import { coversDigest } from "./digest.mjs";
import { didKey, fromDidKey, isSoundKey, signatureHolds } from "./keys.mjs";
import { signatureBase } from "./signature.mjs";
import { judge, verifyAnswer } from "./verify.mjs";

const RFC9421 = "https://www.rfc-editor.org/rfc/rfc9421#section-";
const RFC9530 = "https://www.rfc-editor.org/rfc/rfc9530#section-2";

/** Of each error code: the section it breaks, and how to mend it. */
const ADVICE = {
  missing_signature_input: ["4.1", "Send the field Signature-Input that the signer made."],
  missing_signature: ["4.2", "Send the field Signature that the signer made."],
  malformed_signature_input: ["4.1", "Write Signature-Input as a dictionary of inner lists (RFC 8941), each name once."],
  malformed_signature: ["4.2", "Write Signature as a dictionary of byte sequences, :base64: with padding."],
  label_mismatch: ["4", "Give Signature-Input and Signature the same labels, and ask for one that is there."],
  multiple_labels: ["4.3", "Say in `label` which of the signatures is meant."],
  empty_components: ["7.2.1", "Cover at least the method, the authority and the path."],
  duplicate_component: ["2.5", "Cover each component once."],
  unsupported_component: ["2.5", "Cover components that exist and that this message can have."],
  missing_component: ["2.5", "Send every field that the signature covers, or sign without it."],
  required_component_missing: ["7.2.1", "Sign again and cover every required component."],
  alg_not_allowed: ["3.2", "Sign with ed25519, or leave `alg` out."],
  tag_mismatch: ["2.3", "Sign again with the tag that is expected."],
  created_in_future: ["2.3", "Compare the clocks: created lies after the moment of the judgement."],
  expired: ["2.3", "Sign again: expires has passed."],
  too_old: ["2.3", "Sign again, with a `created` that is young enough."],
  key_rejected: ["7.3.1", "Use another key: under this one a signature proves nothing."],
  content_digest_missing: ["7.2.8", "Add a Content-Digest of the body and cover it."],
  content_digest_not_covered: ["7.2.8", "Add content-digest to the covered components."],
  content_digest_malformed: [null, "Write Content-Digest as sha-256=:base64:, each algorithm once."],
  content_digest_unsupported: [null, "Give a Content-Digest of sha-256 or sha-512."],
  content_digest_mismatch: [null, "The body is not the one whose digest was taken: send the same bytes."],
  signature_mismatch: ["3.2", "Compare the signature base above with the one that the signer signed, byte by byte."],
};

/** The answer of explain. */
export function explain(request) {
  const judgement = judge(request);
  const answer = verifyAnswer(request, judgement);
  const notes = fixNotes(request, judgement);
  return {
    ...answer,
    verdict: answer.valid === null ? "unverified" : answer.valid ? "pass" : "fail",
    content_digest: explainDigest(judgement),
    fix_notes: notes,
    diagnosis: notes,
    links: links(answer.error_codes),
    citation: "RFC 9421, HTTP Message Signatures; RFC 9530, Digest Fields; RFC 8941, Structured Field Values for HTTP",
  };
}

function explainDigest({ digest, signature }) {
  const { present, algorithm, provided, computed, valid } = digest;
  const covered = signature?.components.some(coversDigest) ?? false;
  return { present, covered, algorithm, provided, computed, match: valid };
}

function links(codes) {
  const addresses = { specification: "https://www.rfc-editor.org/rfc/rfc9421" };
  for (const code of codes) addresses[code] = ADVICE[code][0] === null ? RFC9530 : RFC9421 + ADVICE[code][0];
  return addresses;
}

function fixNotes(request, { faults, signature, holds }) {
  const notes = faults.map(([code, sentence]) => `${sentence} ${ADVICE[code][1]}`);
  if (request.key === null) notes.push("No key was given, so nobody asked whether the signature holds.");
  for (const { item, params } of signature?.components ?? []) {
    if (isParameterName(item.value) && params.size === 0 && !request.fields.has(item.value))
      notes.push(`Covering ${item.value} by name is non-standard: the parameter of the signature is covered in any case.`);
  }
  if (holds === false) notes.push(...triedChanges(request, signature));
  return notes;
}

/** Notes of the single changes under which the signature holds. Each was tried; nothing is guessed. */
function triedChanges(request, signature) {
  const notes = [];
  for (const [note, change] of changes(request, signature)) {
    const changed = { ...request, ...change };
    const { base } = signatureBase(changed, signature);
    if (base !== null && isSoundKey(changed.key) && signatureHolds(changed.key, Buffer.from(base), signature.signature)) notes.push(note);
  }
  return notes.length > 0 ? notes : ["No single change that was tried makes the signature hold."];
}

function* changes(request, { params }) {
  const { path, query, scheme, authority, method, key } = request;
  if (query !== null)
    yield ["The signer put the query inside @path: @path ends before the question mark, and @query covers the query.", { path: `${path}?${query}` }];
  for (let slash = path.indexOf("/", 1); slash > 0; slash = path.indexOf("/", slash + 1))
    yield [`The signature holds without the first ${slash} characters of the path: a proxy may have put them in front.`, { path: path.slice(slash) }];
  if (path.endsWith("/")) yield ["The signature holds without the slash at the end of the path.", { path: path.slice(0, -1) }];
  else yield ["The signature holds with a slash at the end of the path.", { path: `${path}/` }];
  const other = scheme.toLowerCase() === "https" ? "http" : "https";
  yield [`The signature holds for the scheme ${other}.`, { scheme: other }];
  yield ["The signature holds for the authority without its port.", { authority: authority.replace(/:\d*$/, "") }];
  yield ["The signature holds for the method in capitals: the case of a method is kept.", { method: method.toUpperCase() }];
  yield ["The signature holds for the method in small letters: the case of a method is kept.", { method: method.toLowerCase() }];
  yield ["The signature holds under the expected key with its bytes in reverse order: give them as RFC 8032 does.", { key: Buffer.from(key).reverse() }];
  const named = params.get("keyid")?.value;
  const namedKey = named === undefined ? null : fromDidKey(named);
  if (namedKey !== null && !namedKey.equals(key))
    yield [`The signature holds under the key that keyid names, ${didKey(namedKey)}, which is not the expected one.`, { key: namedKey }];
}
