// The health of the services that joined (7.3). These are the only calls that a control plane makes.

import { get as getHttp } from "node:http";
import { get as getHttps } from "node:https";
import { timeText } from "./trust_store.mjs";

const SHARED_MS = 1000;

export class Posture {
  constructor(timeoutSeconds) {
    this.timeoutMs = timeoutSeconds * 1000;
    this.findings = new Map(); // by record, so that a service that changed is asked anew
  }

  /** The findings of all services, asked side by side; what was found within a second is not asked again. */
  async of(services) {
    const now = Date.now();
    const fresh = new Map();
    for (const service of services) {
      const before = this.findings.get(service);
      const isFresh = before !== undefined && now - before.at < SHARED_MS;
      fresh.set(service, isFresh ? before : { at: now, found: this.ask(service) });
    }
    this.findings = fresh;
    return Promise.all([...fresh.values()].map(({ found }) => found));
  }

  async ask(service) {
    const start = Date.now();
    const { status = null, error } = await this.healthStatus(service);
    return {
      name: service.name,
      type: service.type,
      health_path: service.health_path,
      healthy: status === 200,
      status_code: status,
      latency_ms: status === null ? null : Date.now() - start,
      error: error ?? (status === 200 ? null : "unexpected_status"),
      checked_at: timeText(start),
    };
  }

  /** One GET: {status} or {error}. The head decides, so that a body that trickles holds nobody up. */
  healthStatus({ base_url: baseUrl, health_path: healthPath }) {
    return new Promise((resolve) => {
      const url = baseUrl.replace(/\/$/, "") + healthPath;
      const get = url.toLowerCase().startsWith("https:") ? getHttps : getHttp;
      const signal = AbortSignal.timeout(this.timeoutMs);
      const headers = { "User-Agent": "Second/1" };
      const call = get(url, { agent: false, signal, headers }, (answer) => {
        resolve({ status: answer.statusCode });
        answer.destroy();
      });
      call.on("upgrade", (answer, socket) => {
        resolve({ status: answer.statusCode });
        socket.destroy();
      });
      call.on("error", (error) => resolve({ error: errorWord(error) }));
    });
  }
}

function errorWord({ name, code }) {
  if (name === "AbortError" || name === "TimeoutError") return "timeout";
  return String(code).startsWith("HPE_") ? "bad_answer" : "unreachable";
}
