// What AgentCash's discovery finds wrong with an origin, its endpoints, or single 402 bodies: JSON in, JSON out.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.argv[2]}/`);
const agentcash = await import(pathToFileURL(require.resolve("@agentcash/discovery")));
const { origin, paths, bodies } = JSON.parse(readFileSync(0, "utf8"));

async function ofOrigin() {
  const found = (await agentcash.getOpenAPI(origin)).match((document) => document, () => null);
  if (found === null) return { paid: [], warnings: agentcash.getWarningsForOpenAPI(null) };
  const listed = agentcash.checkL2ForOpenAPI(found);
  return {
    paid: listed.routes.filter((one) => one.authMode === "paid").map((one) => `${one.method} ${one.path} ${one.price}`),
    warnings: [...agentcash.getWarningsForOpenAPI(found), ...agentcash.getWarningsForL2(listed)],
  };
}

async function ofEndpoint(path) {
  const found = await agentcash.checkEndpointSchema({ url: origin + path });
  if (!found.found) return { probed: [], warnings: agentcash.getWarningsForL3(null) };
  await agentcash.attachProbePayload(origin + path, found.advisories.filter((one) => one.authMode === "paid"));
  const probed = found.advisories.filter((one) => one.paymentRequiredBody !== undefined).map((one) => one.method);
  return { probed, warnings: found.advisories.flatMap((one) => agentcash.getWarningsForL3(one)) };
}

const endpoints = {};
for (const path of paths) endpoints[path] = await ofEndpoint(path);
const judged = bodies.map((body) => agentcash.getWarningsFor402Body(body));
console.log(JSON.stringify({ origin: await ofOrigin(), endpoints, bodies: judged }));
