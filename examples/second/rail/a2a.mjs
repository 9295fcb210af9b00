// The same shop by A2A 0.3 over JSON-RPC (5.11): an order is a task that waits for a payment. Proofs go through the
// same redemption and the same ledger as those in X-PAYMENT.
import { randomUUID } from "node:crypto";
import { CAIP2 } from "./algorand.mjs";
import { X402_EXTENSION } from "./documents.mjs";
import { NotJson, parseJson } from "./json.mjs";
import { Refusal, readProof } from "./redeem.mjs";
import { SERVICES, serviceNamed } from "./services/index.mjs";
import { textOfTime } from "./settings.mjs";

const KEPT_S = 86_400;
const MOST_TASKS = 10_000; // the oldest goes: a task is a convenience, the token in it is what counts
const ENDED = ["completed", "failed", "canceled"];
const NOT_DECIDED = [
  "tx_not_found",
  "tx_not_confirmed",
  "chain_unavailable",
  "payment_in_progress",
  "answer_unavailable",
];
const ERROR_NAMES = {
  weld_mismatch: "INVALID_SIGNATURE",
  challenge_expired: "EXPIRED_PAYMENT",
  payment_already_spent: "DUPLICATE_NONCE",
  lane_mismatch: "NETWORK_MISMATCH",
  wrong_amount: "INVALID_AMOUNT",
};

class RpcError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const data = (value) => ({ kind: "data", data: value });
const text = (value) => ({ kind: "text", text: value });

export class A2a {
  #shop;
  #tasks = new Map();

  /** `shop` has `quote(service, body)`, `challenge(request, error, faults)`, `redeem(request, proof)` and `now()`. */
  constructor(shop) {
    this.#shop = shop;
  }

  /** The answer to the bytes of a call, as an object; every fault that JSON-RPC knows is one, too. */
  async answer(bytes) {
    let call;
    try {
      call = parseJson(bytes);
    } catch (fault) {
      if (!(fault instanceof NotJson)) throw fault;
      return failure(null, -32700, "Parse error");
    }
    const id = typeof call?.id === "string" || Number.isSafeInteger(call?.id) ? call.id : null;
    try {
      if (!isObject(call) || call.jsonrpc !== "2.0" || typeof call.method !== "string" || id === null)
        throw new RpcError(-32600, "Invalid Request");
      return { jsonrpc: "2.0", id, result: await this.#run(call.method, call.params ?? {}) };
    } catch (fault) {
      if (!(fault instanceof RpcError)) throw fault;
      return failure(id, fault.code, fault.message);
    }
  }

  #run(method, params) {
    if (!isObject(params)) throw new RpcError(-32602, "params must be an object");
    if (method === "message/send") return this.#send(params);
    if (method === "tasks/get") return shown(this.#taskOf(params.id), params.historyLength);
    if (method === "tasks/cancel") return this.#cancel(params);
    if (["message/stream", "tasks/resubscribe"].includes(method))
      throw new RpcError(-32004, "not supported: streaming");
    if (method.startsWith("tasks/pushNotificationConfig/")) throw new RpcError(-32003, "not supported: push");
    if (method === "agent/getAuthenticatedExtendedCard") throw new RpcError(-32007, "there is no extended card");
    throw new RpcError(-32601, `method not found: ${method}`);
  }

  #taskOf(id) {
    if (typeof id !== "string") throw new RpcError(-32602, "a task is named by its id");
    const task = this.#tasks.get(id);
    if (!task || this.#shop.now() > task.made + KEPT_S) throw new RpcError(-32001, "task not found");
    return task;
  }

  #cancel({ id }) {
    const task = this.#taskOf(id);
    if (ENDED.includes(task.status.state)) throw new RpcError(-32002, "the task has ended");
    task.status = { state: "canceled", timestamp: textOfTime(this.#shop.now()) };
    task.metadata = {};
    return shown(task);
  }

  async #send({ message, configuration }) {
    if (configuration?.pushNotificationConfig) throw new RpcError(-32003, "not supported: push");
    if (
      !isObject(message) ||
      !Array.isArray(message.parts) ||
      message.parts.length === 0 ||
      !message.parts.every(isObject)
    )
      throw new RpcError(-32602, "a message has parts");
    const status = message.metadata?.["x402.payment.status"];
    const paying = status === "payment-submitted" || status === "payment-rejected";
    if (status !== undefined && !paying) throw new RpcError(-32602, "no such x402.payment.status");
    if (message.taskId === undefined && paying) throw new RpcError(-32001, "the payment names no task");
    const task = message.taskId === undefined ? this.#newTask(message) : this.#taskOf(message.taskId);
    if (message.taskId !== undefined && ENDED.includes(task.status.state))
      throw new RpcError(-32602, "the task has ended");
    task.history.push(withoutProof(message));
    task.history.splice(0, task.history.length - 100);
    if (status === "payment-submitted") await this.#pay(task, message.metadata["x402.payment.payload"]);
    else if (status === "payment-rejected") this.#say(task, "failed", "payment-rejected", "The payment was rejected.");
    else this.#ask(task, "payment-required", "payment_required");
    return shown(task, configuration?.historyLength);
  }

  #newTask(message) {
    const order = message.parts.find((part) => isObject(part.data) && "service_id" in part.data)?.data;
    const service = order ? serviceNamed(order.service_id) : SERVICES[0];
    if (!service) throw new RpcError(-32602, `service_id is one of ${SERVICES.map(({ id }) => id).join(", ")}`);
    const quoted = this.#shop.quote(service, order?.request);
    if (order?.request === undefined) quoted.faults.push({ loc: ["request"], msg: "Field required", type: "missing" });
    const id = randomUUID();
    const task = {
      kind: "task",
      id,
      contextId: randomUUID(),
      history: [],
      metadata: {},
      made: this.#shop.now(),
      quoted,
    };
    this.#tasks.set(id, task);
    if (this.#tasks.size > MOST_TASKS) this.#tasks.delete(this.#tasks.keys().next().value);
    return task;
  }

  #say(task, state, payment, sentence, metadata = {}) {
    const message = {
      kind: "message",
      role: "agent",
      messageId: randomUUID(),
      taskId: task.id,
      contextId: task.contextId,
      parts: [text(sentence)],
      extensions: [X402_EXTENSION],
      metadata: { "x402.payment.status": payment, ...metadata },
    };
    task.status = { state, timestamp: textOfTime(this.#shop.now()), message };
    task.metadata = {};
  }

  // Asks for the payment, with a fresh token.
  #ask(task, status, error, metadata = {}) {
    const { request, faults } = task.quoted;
    const sentence = faults.length
      ? "Payment required. What is quoted is the example, not your request."
      : "Payment required.";
    const required = this.#shop.challenge(request, error, faults);
    this.#say(task, "input-required", status, sentence, { "x402.payment.required": required, ...metadata });
    task.metadata = { payment_state: "a2a-x402" };
  }

  async #pay(task, payload) {
    try {
      const proof = readProof(payload);
      const { answer, payer } = await this.#shop.redeem(task.quoted.request, proof);
      const receipts = [{ success: true, transaction: proof.tx_id, network: CAIP2, payer }];
      this.#say(task, "completed", "payment-completed", "Paid and served.", { "x402.payment.receipts": receipts });
      task.artifacts = [{ artifactId: randomUUID(), name: "result", parts: [data(JSON.parse(answer))] }];
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault;
      if (NOT_DECIDED.includes(fault.code)) {
        this.#say(task, "input-required", "payment-submitted", "Not decided yet: send the same payment again.");
        task.metadata = { retry_after_seconds: fault.retryAfter };
        return;
      }
      const receipts = [{ success: false, errorReason: fault.code, transaction: "", network: CAIP2 }];
      const failed = {
        "x402.payment.error": ERROR_NAMES[fault.code] ?? "SETTLEMENT_FAILED",
        "x402.payment.receipts": receipts,
      };
      this.#ask(task, "payment-failed", fault.status === 402 ? fault.code : "payment_required", failed);
    }
  }
}

const failure = (id, code, message) => ({ jsonrpc: "2.0", id, error: { code, message } });

// Whoever has a task's id can read it, and a proof is a credential.
function withoutProof(message) {
  const { "x402.payment.payload": _, ...metadata } = isObject(message.metadata) ? message.metadata : {};
  return { ...message, metadata };
}

function shown({ made, quoted, ...task }, historyLength) {
  const most = Number.isSafeInteger(historyLength) && historyLength >= 0 ? historyLength : Infinity;
  return { ...task, history: task.history.slice(Math.max(0, task.history.length - most)) };
}
