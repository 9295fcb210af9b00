// The components of a message that a signature can cover, and their values: RFC 9421, section 2.
//
// A message here is {method, authority, scheme, path, query, status, fields, body}: `path` holds no query, `query`
// is null when there is none, `status` is null in a request, and `fields` is a Map from lower-case field name to the
// array of its lines.

import {
  FieldError, parseDictionary, parseItem, parseList,
  serializeBareItem, serializeDictionary, serializeList, serializeMember, serializeParams,
} from "./structured_fields.mjs";

/** Why a component has no value: `code` is missing_component or unsupported_component. */
export class ComponentError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const unsupported = (why) => new ComponentError("unsupported_component", why);
const missing = (why) => new ComponentError("missing_component", why);

const DEFAULT_PORTS = { http: "80", https: "443" };
const PARAMETERS = { sf: "boolean", bs: "boolean", key: "string" };

// `sf` may be asked only of fields whose structure is known.
const STRUCTURED = {
  "accept-ch": "list", "cache-status": "list", "client-cert": "item", "client-cert-chain": "list",
  "cdn-cache-control": "dictionary", "proxy-status": "list", priority: "dictionary",
  "content-digest": "dictionary", "repr-digest": "dictionary",
  "want-content-digest": "dictionary", "want-repr-digest": "dictionary",
  "signature-input": "dictionary", signature: "dictionary", "accept-signature": "dictionary",
};

/** The authority in lower case, without an empty port and without the default port of the scheme. */
export function normalAuthority({ authority, scheme }) {
  const lower = authority.toLowerCase();
  const port = /:(\d*)$/.exec(lower)?.[1];
  const needless = port === "" || (port !== undefined && port === DEFAULT_PORTS[scheme.toLowerCase()]);
  return needless ? lower.slice(0, -port.length - 1) : lower;
}

const normalPath = (message) => message.path || "/";
const pathAndQuery = (message) => normalPath(message) + (message.query === null ? "" : `?${message.query}`);

const OF_A_REQUEST = {
  "@method": (message) => message.method,
  "@authority": normalAuthority,
  "@scheme": (message) => message.scheme.toLowerCase(),
  "@path": normalPath,
  "@query": (message) => `?${message.query ?? ""}`,
  "@target-uri": (message) => `${message.scheme.toLowerCase()}://${normalAuthority(message)}${pathAndQuery(message)}`,
  "@request-target": pathAndQuery,
};

/**
 * The value of one covered component as it stands in the signature base.
 * `component` is {item, params} as parsed; `signatureParams` is the Map of the signature's own parameters.
 */
export function componentValue(message, component, signatureParams) {
  const name = component.item.value;
  const value = name.startsWith("@")
    ? derivedValue(message, name, component.params)
    : fieldOrParameter(message, name, component.params, signatureParams);
  // A line break in a value could add lines to the base that nobody signed.
  if (!/^[\t\x20-\x7e]*$/.test(value)) throw unsupported(`The value of ${name} is not one line of ASCII text.`);
  return value;
}

function derivedValue(message, name, params) {
  if (name === "@query-param") return onlyForRequests(message, name, () => queryParameter(message, params));
  if (params.size > 0) throw unsupported(`${name} takes no parameters here.`);
  if (name === "@status") {
    if (message.status === null) throw missing("A request has no @status.");
    return String(message.status);
  }
  const read = Object.hasOwn(OF_A_REQUEST, name) ? OF_A_REQUEST[name] : null;
  if (read === null) throw unsupported(`There is no component ${name}.`);
  return onlyForRequests(message, name, () => read(message));
}

function onlyForRequests(message, name, read) {
  if (message.status !== null) throw unsupported(`${name} belongs to a request, and this message is a response.`);
  return read();
}

/** Encodes a parameter's name or value as section 2.2.8 says: everything but letters, digits and "*-._". */
function encodeParameter(text) {
  const percent = (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text).replace(/[!~'()]/g, percent);
}

function queryParameter(message, params) {
  const wanted = params.get("name");
  if (params.size !== 1 || wanted?.type !== "string") throw unsupported("@query-param takes one parameter, name.");
  // URLSearchParams drops one question mark in front, so it is given one to drop.
  const pairs = [...new URLSearchParams(`?${message.query ?? ""}`)];
  const values = pairs.filter(([name]) => encodeParameter(name) === wanted.value);
  if (values.length === 0) throw missing(`The query has no parameter ${wanted.value}.`);
  if (values.length > 1) throw unsupported(`The query has the parameter ${wanted.value} more than once.`);
  return encodeParameter(values[0][1]);
}

function fieldOrParameter(message, name, params, signatureParams) {
  const lines = message.fields.get(name);
  // Some clients cover `created` and `expires` by name (P-AG-07); a field of that name comes first.
  if (lines === undefined && isParameterName(name) && params.size === 0) {
    const item = signatureParams.get(name);
    if (item === undefined) throw missing(`The signature has no parameter ${name}.`);
    return serializeBareItem(item);
  }
  checkFieldParameters(name, params);
  if (lines === undefined) throw missing(`The message has no field ${name}.`);
  const trimmed = lines.map(trimLine);
  if (params.has("bs")) return trimmed.map((line) => `:${Buffer.from(asciiLine(name, line)).toString("base64")}:`).join(", ");
  const value = trimmed.join(", ");
  if (params.has("key")) return dictionaryMember(name, value, params.get("key").value);
  return params.has("sf") ? structuredValue(name, value) : value;
}

/** Whether a component's name is that of a signature parameter which clients of P-AG-07 cover by name. */
export function isParameterName(name) {
  return name === "created" || name === "expires";
}

function trimLine(line) {
  return line.replace(/[ \t]*\r?\n[ \t]+/g, " ").replace(/^[ \t]+|[ \t]+$/g, "");
}

function asciiLine(name, line) {
  if (!/^[\t\x20-\x7e]*$/.test(line)) throw unsupported(`The value of ${name} is not one line of ASCII text.`);
  return line;
}

function checkFieldParameters(name, params) {
  if (name !== name.toLowerCase()) throw unsupported(`${name} is not in lower case.`);
  for (const [parameter, { type, value }] of params) {
    const known = Object.hasOwn(PARAMETERS, parameter) && PARAMETERS[parameter] === type && value !== false;
    if (!known) throw unsupported(`The parameter ${parameter} of ${name} is not supported here.`);
  }
  if (params.has("bs") && params.size > 1) throw unsupported(`bs of ${name} goes with neither sf nor key.`);
}

function dictionaryMember(name, value, key) {
  const member = structured(name, () => parseDictionary(value)).get(key);
  if (member === undefined) throw missing(`The field ${name} has no member ${key}.`);
  return serializeMember(member);
}

function structuredValue(name, value) {
  switch (Object.hasOwn(STRUCTURED, name) ? STRUCTURED[name] : null) {
    case "dictionary": return serializeDictionary(structured(name, () => parseDictionary(value)));
    case "list": return serializeList(structured(name, () => parseList(value)));
    case "item": return serializeMember(structured(name, () => parseItem(value)));
    default: throw unsupported(`${name} is not known as a structured field.`);
  }
}

function structured(name, parse) {
  try {
    return parse();
  } catch (error) {
    if (error instanceof FieldError) throw unsupported(`The field ${name} is no structured field: ${error.message}.`);
    throw error;
  }
}

/** An identifier as answers show it: without quotation marks around the name. */
export function shownIdentifier({ item, params }) {
  return item.value + serializeParams(params);
}

/** An identifier by which two are compared: the order of parameters does not matter. */
export function comparedIdentifier({ item, params }) {
  return shownIdentifier({ item, params: new Map([...params].sort(([a], [b]) => (a < b ? -1 : 1))) });
}

/** Parses an identifier that a caller wrote, with or without quotation marks around the name; null when it is none. */
export function parseIdentifier(text) {
  const quoted = text.startsWith('"') ? text : text.replace(/^[^;"\\]*/, '"$&"');
  try {
    const component = parseItem(quoted, { once: true });
    return component.item.type === "string" ? component : null;
  } catch (error) {
    if (error instanceof FieldError) return null;
    throw error;
  }
}

/** The `@signature-params` value of a signature: RFC 9421, section 2.3. */
export function serializeSignatureParams({ components, params }) {
  return serializeMember({ items: components, params });
}

/** The line of one component in the signature base. */
export function baseLine(component, value) {
  return `${serializeMember(component)}: ${value}`;
}
