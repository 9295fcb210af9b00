// Says of a HAR file on standard input what har-validator finds: null, or its errors.
// Usage: node opinion.mjs FOLDER-OF-NODE-MODULES
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const { har } = createRequire(`${process.argv[2]}/`)("har-validator/lib/promise");
try {
  await har(JSON.parse(readFileSync(0, "utf-8")));
  console.log("null");
} catch (fault) {
  console.log(JSON.stringify(fault.errors ?? [String(fault)]));
}
