// As much of JSON Schema as the bodies of this rail need. The same schemas stand in the OpenAPI document.

const TYPES = {
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  array: Array.isArray,
  string: (value) => typeof value === "string",
  integer: Number.isSafeInteger, // 5.0 is an integer, too: it has the same canonical form
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
};

// Length is counted in characters, not in UTF-16 units.
const RULES = {
  type: (value, types) => [types].flat().some((type) => TYPES[type](value)),
  enum: (value, words) => words.includes(value),
  minLength: (value, least) => typeof value !== "string" || [...value].length >= least,
  maxLength: (value, most) => typeof value !== "string" || [...value].length <= most,
  minimum: (value, least) => typeof value !== "number" || value >= least,
  pattern: (value, pattern) => typeof value !== "string" || new RegExp(pattern, "u").test(value),
};

/** What is wrong with a value, as items `{loc, msg, type}` of a 422; never repeats what was sent. */
export function faultsOf(value, schema, loc = ["body"]) {
  for (const [rule, holds] of Object.entries(RULES))
    if (rule in schema && !holds(value, schema[rule])) return [{ loc, msg: `breaks ${rule}`, type: rule }];
  if (Array.isArray(value))
    return schema.items ? value.flatMap((item, i) => faultsOf(item, schema.items, [...loc, i])) : [];
  if (!TYPES.object(value)) return [];
  const known = schema.properties ?? {};
  const missing = (schema.required ?? []).filter((name) => !Object.hasOwn(value, name));
  const faults = missing.map((name) => ({ loc: [...loc, name], msg: "Field required", type: "missing" }));
  for (const [name, member] of Object.entries(value)) {
    const rule = Object.hasOwn(known, name) ? known[name] : schema.additionalProperties;
    if (rule === false) faults.push({ loc, msg: "a member is not known here", type: "extra_forbidden" });
    else if (rule) faults.push(...faultsOf(member, rule, [...loc, name]));
  }
  return faults;
}
