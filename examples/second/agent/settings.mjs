// Settings from the environment. A wrong one ends the start with exit code 2 and a line that names it (chapter 9).

export function failStart(message) {
  console.error(message);
  process.exit(2);
}

/** A whole number between two bounds. */
export function integerSetting(name, fallback, least, most) {
  const text = process.env[name];
  if (text === undefined || text === "") return fallback;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most) failStart(`${name} must be a whole number from ${least} to ${most}`);
  return value;
}

/** `on` or `off`, as true or false. */
export function switchSetting(name, fallback) {
  const text = process.env[name] || (fallback ? "on" : "off");
  if (text !== "on" && text !== "off") failStart(`${name} must be on or off`);
  return text === "on";
}
