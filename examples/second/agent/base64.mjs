// Base64 in its one spelling. Node decodes whatever looks like base64, so each reading is written back and compared.

/** The bytes of padded standard base64, or null when the text is not that, spare bits that are not zero included. */
export function fromBase64(text) {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : null;
}

const DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** The base58btc text of bytes. */
export function toBase58(bytes) {
  let number = BigInt(`0x${bytes.toString("hex") || "0"}`);
  let text = "";
  for (; number > 0n; number /= 58n) text = DIGITS[Number(number % 58n)] + text;
  for (const byte of bytes) {
    if (byte !== 0) break;
    text = `1${text}`; // each zero byte in front is a digit of its own
  }
  return text;
}

/** The bytes of base58btc text, or null. */
export function fromBase58(text) {
  let number = 0n;
  for (const letter of text) {
    const digit = DIGITS.indexOf(letter);
    if (digit < 0) return null;
    number = number * 58n + BigInt(digit);
  }
  const hex = number === 0n ? "" : number.toString(16);
  const zeros = /^1*/.exec(text)[0].length;
  return Buffer.concat([Buffer.alloc(zeros), Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex")]);
}
