// Compiles every Solidity source of a folder; each contract named like its file becomes one JSON artefact.
//
//   npm ci --ignore-scripts && node compile.mjs [SOURCES [OUTPUT [NODE_MODULES]]]
//
// SOURCES is this folder unless told, OUTPUT is SOURCES, NODE_MODULES is the one beside this file. The compiler is
// the npm package that package-lock.json pins, the settings leave no metadata in the code, and keys are written in
// one order: the same sources give the same bytes anywhere, so that CI can rebuild and compare.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, parse, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [from = here, to = from, modules = join(here, "node_modules")] = process.argv.slice(2).map((path) => resolve(path));
const solc = createRequire(join(modules, "any.js"))(join(modules, "solc"));

const names = readdirSync(from)
  .filter((name) => name.endsWith(".sol"))
  .sort();
const settings = {
  optimizer: { enabled: true, runs: 10000 },
  evmVersion: "paris",
  metadata: { bytecodeHash: "none", appendCBOR: false },
};
const wanted = ["abi", "evm.bytecode.object", "evm.deployedBytecode.object", "storageLayout"];
const sources = Object.fromEntries(names.map((name) => [name, { content: readFileSync(join(from, name), "utf8") }]));
const input = { language: "Solidity", sources, settings: { ...settings, outputSelection: { "*": { "*": wanted } } } };
const output = JSON.parse(solc.compile(JSON.stringify(input)));

for (const told of output.errors ?? []) console.error(told.formattedMessage);
if (output.errors?.length) process.exit(1); // a warning is a fault too: nobody reads it twice

const sorted = (value) => {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
};

for (const name of names) {
  const contract = parse(name).name;
  const built = output.contracts[name][contract];
  const artefact = {
    contract,
    source: name,
    compiler: solc.version(),
    settings,
    abi: built.abi,
    bytecode: "0x" + built.evm.bytecode.object,
    deployedBytecode: "0x" + built.evm.deployedBytecode.object,
    storageLayout: built.storageLayout,
  };
  writeFileSync(join(to, contract + ".json"), JSON.stringify(sorted(artefact), null, 1) + "\n");
  console.log(`${contract}: ${built.evm.deployedBytecode.object.length / 2} bytes of code`);
}
