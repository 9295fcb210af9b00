import { isObject } from "./json.ts";
import type { Members } from "./json.ts";

/** An item of a 422 (P-ER-04). It never repeats what was sent. */
export interface Fault {
  loc: (string | number)[];
  msg: string;
  type: string;
}

/** As much of JSON Schema as the bodies of this rail need. */
export interface Schema {
  type?: string | string[];
  enum?: string[];
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  pattern?: string;
  items?: Schema;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: false | Schema;
}

const TYPES: Record<string, (value: unknown) => boolean> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  integer: Number.isSafeInteger, // 5.0 is an integer, too
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
};

function brokenRule(value: unknown, schema: Schema): string | undefined {
  const { type, enum: words, minLength = 0, maxLength = Infinity, minimum = -Infinity, pattern } = schema;
  if (type !== undefined && ![type].flat().some((name) => TYPES[name]?.(value))) return "type";
  if (words && !(typeof value === "string" && words.includes(value))) return "enum";
  if (typeof value === "number" && value < minimum) return "minimum";
  if (typeof value !== "string") return undefined;
  const length = [...value].length; // in characters, not in UTF-16 code units
  if (length < minLength) return "minLength";
  if (length > maxLength) return "maxLength";
  return pattern && !new RegExp(pattern, "u").test(value) ? "pattern" : undefined;
}

/** What is wrong with a value. */
export function faultsOf(value: unknown, schema: Schema, loc: Fault["loc"] = ["body"]): Fault[] {
  const broken = brokenRule(value, schema);
  if (broken) return [{ loc, msg: `breaks ${broken}`, type: broken }];
  const { items, required = [], properties = {}, additionalProperties } = schema;
  if (Array.isArray(value)) return items ? value.flatMap((item, at) => faultsOf(item, items, [...loc, at])) : [];
  if (!isObject(value)) return [];
  const faults: Fault[] = [];
  for (const name of required)
    if (!Object.hasOwn(value, name)) faults.push({ loc: [...loc, name], msg: "Field required", type: "missing" });
  for (const [name, member] of Object.entries(value as Members)) {
    const rule = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (rule === false) faults.push({ loc, msg: "a member is not known here", type: "extra_forbidden" });
    else if (rule) faults.push(...faultsOf(member, rule, [...loc, name]));
  }
  return faults;
}
