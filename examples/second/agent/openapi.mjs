// OpenAPI 3.1.0 documents of the two servers.

const detail = {
  type: "object",
  required: ["detail"],
  properties: {
    detail: {
      type: "array",
      items: {
        type: "object",
        required: ["loc", "msg", "type"],
        properties: {
          loc: { type: "array", items: { anyOf: [{ type: "string" }, { type: "integer" }] } },
          msg: { type: "string" },
          type: { type: "string" },
        },
      },
    },
  },
};

const json = (schema) => ({ "application/json": { schema } });

/**
 * A document of operations, each [method, path, summary, options]. Options: `status` of a success (200), `body` (the
 * schema of the request), `admin` (whether the bearer token is needed), `parameters`.
 */
export function openApi(title, version, operations) {
  const paths = {};
  for (const [method, path, summary, options = {}] of operations) {
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation(method, path, summary, options) };
  }
  const components = { schemas: { HTTPValidationError: detail } };
  if (operations.some(([, , , options]) => options?.admin)) components.securitySchemes = { admin: { type: "http", scheme: "bearer" } };
  return { openapi: "3.1.0", info: { title, version }, paths, components };
}

function operation(method, path, summary, { status = 200, body, admin, parameters }) {
  const success = status === 204 ? { description: "Done" } : { description: "Success", content: json({ type: "object" }) };
  const found = {
    operationId: `${method.toLowerCase()}${path.replace(/[^a-zA-Z0-9]+/g, "_")}`,
    summary,
    responses: { [status]: success },
  };
  if (body) {
    found.requestBody = { required: true, content: json(body) };
    found.responses[422] = { description: "Validation Error", content: json({ $ref: "#/components/schemas/HTTPValidationError" }) };
  }
  if (parameters) found.parameters = parameters;
  if (admin) {
    found.security = [{ admin: [] }];
    found.responses[401] = { description: "Without the admin token" };
  }
  return found;
}
