// What @noble/post-quantum says: a JSON list of questions on standard input, a JSON list of answers on standard output.
// Bytes are hex. {op: "sign", messages} answers a fresh key's signatures; {op: "verify", key, message, signature} a
// truth value. What noble refuses to look at does not hold.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(join(process.argv[2], "any.js"));
const { falcon1024 } = await import(pathToFileURL(require.resolve("@noble/post-quantum/falcon.js")));
const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
const hex = (data) => Buffer.from(data).toString("hex");

const operations = {
  sign({ messages }) {
    const { publicKey, secretKey } = falcon1024.keygen();
    return { key: hex(publicKey), signatures: messages.map((one) => hex(falcon1024.sign(bytes(one), secretKey))) };
  },
  verify({ key, message, signature }) {
    try {
      return falcon1024.verify(bytes(signature), bytes(message), bytes(key));
    } catch {
      return false;
    }
  },
};
const questions = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(questions.map((one) => operations[one.op](one))));
