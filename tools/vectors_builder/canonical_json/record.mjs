// Canonical forms as ECMAScript itself makes them, recorded once:
//   python -m tools.vectors_builder.canonical_json | node record.mjs > recorded/node.json
// Standard input: {name: JSON text in base64}. Standard output: {node, answers: {name: {asked, canonical_b64 | null}}},
// `asked` being the text's SHA-256, and null what ECMAScript refuses or RFC 8785 has it refuse.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function text(value) {
  const whole = typeof value !== "string" || value.isWellFormed();
  const finite = typeof value !== "number" || Number.isFinite(value);
  if (!whole || !finite) throw new Error("no form of its own");
  return JSON.stringify(value);
}

function form(value) {
  if (Array.isArray(value)) return `[${value.map(form).join(",")}]`;
  if (value === null || typeof value !== "object") return text(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${text(name)}:${form(value[name])}`).join(",")}}`;
}

function answer(data) {
  try {
    return Buffer.from(form(JSON.parse(decoder.decode(data))), "utf8").toString("base64");
  } catch {
    return null;
  }
}

const answers = {};
for (const [name, encoded] of Object.entries(JSON.parse(readFileSync(0, "utf8")))) {
  const data = Buffer.from(encoded, "base64");
  answers[name] = { asked: createHash("sha256").update(data).digest("hex"), canonical_b64: answer(data) };
}
process.stdout.write(`${JSON.stringify({ node: process.version, answers }, null, 1)}\n`);
