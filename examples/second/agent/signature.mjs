// Which signature of a message is meant, and its signature base: RFC 9421, sections 2.5 and 4.

import { ComponentError, baseLine, comparedIdentifier, componentValue, serializeSignatureParams } from "./components.mjs";
import { FieldError, parseDictionary } from "./structured_fields.mjs";

/** A fault that ends the work before there is anything to judge. */
export class HeaderError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const PARAMETER_TYPES = { created: "integer", expires: "integer", alg: "string", keyid: "string", nonce: "string", tag: "string" };

/** The signature that is meant: {label, components, params, signature}. Throws HeaderError. */
export function findSignature(fields, label) {
  const inputs = readField(fields, "signature-input", isSignatureInput);
  const signatures = readField(fields, "signature", (member) => member.item?.type === "bytes");
  const labels = [...inputs.keys()];
  if (labels.length !== signatures.size || labels.some((name) => !signatures.has(name)))
    throw new HeaderError("label_mismatch", "Signature-Input and Signature do not have the same labels.");
  if (label !== null && !inputs.has(label))
    throw new HeaderError("label_mismatch", "No signature has the label that was asked for.");
  if (label === null && labels.length > 1)
    throw new HeaderError("multiple_labels", "There are several signatures; say which by its label.");
  const chosen = label ?? labels[0];
  const { items, params } = inputs.get(chosen);
  return { label: chosen, components: items, params, signature: signatures.get(chosen).item.value };
}

function readField(fields, name, isRight) {
  const suffix = name.replace("-", "_");
  const lines = fields.get(name);
  // An empty dictionary is no field at all (RFC 8941, section 3.2), so an empty value counts as an absent field.
  if (lines === undefined || lines.every((line) => line.trim() === "")) throw new HeaderError(`missing_${suffix}`, `The message has no field ${name}.`);
  let members;
  try {
    members = parseDictionary(lines.join(", "), { once: true });
  } catch (error) {
    if (error instanceof FieldError) throw new HeaderError(`malformed_${suffix}`, `${name} cannot be parsed: ${error.message}.`);
    throw error;
  }
  if (![...members.values()].every(isRight))
    throw new HeaderError(`malformed_${suffix}`, `${name} is not a dictionary of the right kind.`);
  return members;
}

function isSignatureInput(member) {
  if (!member.items || member.items.some(({ item }) => item?.type !== "string")) return false;
  return Object.entries(PARAMETER_TYPES).every(([name, type]) => {
    const parameter = member.params.get(name);
    return parameter === undefined || parameter.type === type;
  });
}

/**
 * The signature base, and the faults of what it covers as [code, sentence].
 * The base is null when a line of it cannot be made.
 */
export function signatureBase(message, signature) {
  const { components, params } = signature;
  const faults = [];
  const lines = [];
  const seen = new Set();
  if (components.length === 0) faults.push(["empty_components", "The signature covers nothing."]);
  for (const component of components) {
    const identifier = comparedIdentifier(component);
    if (seen.has(identifier)) faults.push(["duplicate_component", `${identifier} is covered twice.`]);
    seen.add(identifier);
    try {
      lines.push(baseLine(component, componentValue(message, component, params)));
    } catch (error) {
      if (!(error instanceof ComponentError)) throw error;
      faults.push([error.code, error.message]);
    }
  }
  const isWhole = lines.length === components.length;
  lines.push(`"@signature-params": ${serializeSignatureParams(signature)}`);
  return { base: isWhole ? lines.join("\n") : null, faults };
}
