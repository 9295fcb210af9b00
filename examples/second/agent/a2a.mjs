// A2A 0.3 over JSON-RPC 2.0 (6.6). Whatever JSON-RPC itself has to say is HTTP 200.

import { randomUUID } from "node:crypto";
import { Malformed } from "./body.mjs";
import { isObject, parseJson } from "./json.mjs";

const KEPT_SECONDS = 3600;
const MOST_TASKS = 10_000;
const LONGEST_HISTORY = 100;

class RpcError extends Error {
  constructor(code, message, data) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

const badParams = (message, data) => new RpcError(-32602, message, data);

/** A door for JSON-RPC calls. `skills` is an object from a skill's id to a function of its request body. */
export class A2aDoor {
  constructor(skills) {
    this.skills = skills;
    this.tasks = new Map(); // by id, the oldest first
    this.methods = {
      "message/send": (params) => this.sendMessage(params),
      "tasks/get": (params) => shortened(this.task(params.id), readHistoryLength(params)),
      "tasks/cancel": (params) => this.cancel(params),
    };
  }

  /** The JSON-RPC answer to the bytes of a body. */
  answer(bytes) {
    let call;
    try {
      call = parseJson(bytes);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return { jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } };
    }
    const id = isObject(call) && isId(call.id) ? call.id : null;
    try {
      return { jsonrpc: "2.0", id, result: this.run(call) };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const { code, message, data } = error;
      return { jsonrpc: "2.0", id, error: data === undefined ? { code, message } : { code, message, data } };
    }
  }

  run(call) {
    const hasBadId = isObject(call) && call.id !== undefined && !isId(call.id);
    if (!isObject(call) || call.jsonrpc !== "2.0" || typeof call.method !== "string" || hasBadId)
      throw new RpcError(-32600, "Invalid Request");
    const { method, params = {} } = call;
    checkOffered(method);
    if (!Object.hasOwn(this.methods, method)) throw new RpcError(-32601, `method not found: ${method}`);
    if (!isObject(params)) throw badParams("params must be an object");
    checkParams(method, params);
    // There are no notifications: what nobody waits for is not run.
    if (call.id === undefined) throw new RpcError(-32600, "Invalid Request: a call needs an id");
    return this.methods[method](params);
  }

  task(id) {
    const oldest = Date.now() - KEPT_SECONDS * 1000;
    for (const [key, task] of this.tasks) {
      if (task.openedAt > oldest && this.tasks.size <= MOST_TASKS) break;
      this.tasks.delete(key);
    }
    const found = this.tasks.get(id);
    if (found === undefined) throw new RpcError(-32001, "Task not found");
    return found.task;
  }

  sendMessage({ message, configuration }) {
    const task = message.taskId == null ? newTask() : this.continued(message);
    const order = message.parts.find((part) => part.kind === "data" && part.data.skill !== undefined);
    const result = order && this.runSkill(order.data);
    // Only a message that nothing refused becomes part of a task, or opens one.
    task.history = [...task.history, { ...message, kind: "message", taskId: task.id, contextId: task.contextId }].slice(-LONGEST_HISTORY);
    if (order) complete(task, order.data.skill, result);
    else askForOrder(task, Object.keys(this.skills));
    if (!this.tasks.has(task.id)) this.tasks.set(task.id, { task, openedAt: Date.now() });
    return shortened(task, readHistoryLength(configuration ?? {}));
  }

  continued({ taskId, contextId }) {
    const task = this.task(taskId);
    if (task.status.state !== "input-required") throw badParams("The task is finished");
    if (contextId != null && contextId !== task.contextId) throw badParams("The task belongs to another context");
    return task;
  }

  runSkill({ skill, request }) {
    if (!Object.hasOwn(this.skills, skill)) throw badParams(`There is no such skill; there are ${Object.keys(this.skills).join(", ")}`);
    try {
      return this.skills[skill](request);
    } catch (error) {
      if (error instanceof Malformed) throw badParams("The request is malformed", error.detail);
      throw error;
    }
  }

  cancel({ id }) {
    const task = this.task(id);
    if (task.status.state !== "input-required") throw new RpcError(-32002, "Task cannot be canceled");
    task.status = status("canceled");
    return task;
  }
}

function isId(id) {
  return typeof id === "string" || Number.isSafeInteger(id);
}

/** Refuses what A2A has methods for and this agent does not offer. */
function checkOffered(method) {
  if (method === "message/stream" || method === "tasks/resubscribe") throw new RpcError(-32004, "This operation is not supported");
  if (method.startsWith("tasks/pushNotificationConfig/")) throw new RpcError(-32003, "Push Notification is not supported");
  if (method === "agent/getAuthenticatedExtendedCard") throw new RpcError(-32007, "There is no authenticated extended card");
}

function checkParams(method, params) {
  if (method !== "message/send") {
    if (typeof params.id !== "string") throw badParams("id must be the text of a task's id");
    readHistoryLength(params);
    return;
  }
  const { message, configuration } = params;
  if (!isObject(message) || !isMessage(message)) throw badParams("message must be an A2A message with at least one part");
  if (configuration == null) return;
  if (!isObject(configuration)) throw badParams("configuration must be an object");
  if (configuration.pushNotificationConfig != null) throw new RpcError(-32003, "Push Notification is not supported");
  readHistoryLength(configuration);
}

function isMessage({ kind = "message", role, messageId, taskId, contextId, parts }) {
  const isOptionalText = (value) => value == null || typeof value === "string";
  return (
    kind === "message" && (role === "user" || role === "agent") && typeof messageId === "string" &&
    isOptionalText(taskId) && isOptionalText(contextId) && Array.isArray(parts) && parts.length > 0 && parts.every(isPart)
  );
}

function isPart(part) {
  if (!isObject(part)) return false;
  if (part.kind === "text") return typeof part.text === "string";
  return (part.kind === "data" && isObject(part.data)) || (part.kind === "file" && isObject(part.file));
}

/** How many messages of the history are wanted, or null for all. */
function readHistoryLength({ historyLength = null }) {
  if (historyLength !== null && !(Number.isSafeInteger(historyLength) && historyLength >= 0))
    throw badParams("historyLength must be a whole number, not below 0");
  return historyLength;
}

function shortened(task, length) {
  return length === null ? task : { ...task, history: length === 0 ? [] : task.history.slice(-length) };
}

function status(state, message) {
  const timestamp = new Date().toISOString().replace(/\.\d+/, "");
  return message === undefined ? { state, timestamp } : { state, timestamp, message };
}

function newTask() {
  return { kind: "task", id: randomUUID(), contextId: randomUUID(), status: status("submitted"), artifacts: [], history: [] };
}

function complete(task, skill, result) {
  task.artifacts = [{ artifactId: randomUUID(), name: skill, parts: [{ kind: "data", data: result }] }];
  task.status = status("completed");
}

function askForOrder(task, skills) {
  const text = `Send a data part {"skill": …, "request": …}. The skills are ${skills.join(", ")}; request is the body that the operation takes over HTTP.`;
  const { id: taskId, contextId } = task;
  task.status = status("input-required", { kind: "message", role: "agent", messageId: randomUUID(), taskId, contextId, parts: [{ kind: "text", text }] });
}
