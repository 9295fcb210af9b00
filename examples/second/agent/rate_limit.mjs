// A token bucket for each caller (P-RL-06, P-RL-07, P-CV-19).

import { HttpError } from "./http.mjs";

const MOST_CALLERS = 100_000;

/**
 * A function that counts a call of an address and gives the headers that tell of the limit; beyond the limit it throws
 * HttpError 429. `rate` is calls a minute; the bucket is 60 deep, or one second's worth of the rate where that is more.
 */
export function rateLimit(rate) {
  const depth = Math.max(60, rate / 60);
  const buckets = new Map();
  return (address) => {
    const now = Date.now() / 1000;
    const caller = callerOf(address);
    const before = buckets.get(caller) ?? { calls: depth, at: now };
    const bucket = { calls: Math.min(depth, before.calls + ((now - before.at) * rate) / 60), at: now };
    const passes = bucket.calls >= 1;
    if (passes) bucket.calls -= 1;
    buckets.delete(caller); // to its end, so that the one that goes first is the one that was silent longest
    buckets.set(caller, bucket);
    if (buckets.size > MOST_CALLERS) buckets.delete(buckets.keys().next().value);
    const untilFull = ((depth - bucket.calls) * 60) / rate;
    const headers = {
      "X-RateLimit-Limit": String(rate),
      "X-RateLimit-Remaining": String(Math.floor(bucket.calls)),
      "X-RateLimit-Reset": String(Math.ceil(now + untilFull)),
    };
    if (passes) return headers;
    const wait = Math.max(1, Math.ceil(((1 - bucket.calls) * 60) / rate));
    throw new HttpError(429, "Too Many Requests", { ...headers, "Retry-After": String(wait) });
  };
}

/** Whom an address counts for: an IPv6 address counts by its /64. */
function callerOf(address) {
  if (!address.includes(":") || address.startsWith("::ffff:")) return address;
  const [front, back = ""] = address.split("%")[0].split("::");
  const head = front === "" ? [] : front.split(":");
  const tail = back === "" ? [] : back.split(":");
  const zeros = address.includes("::") ? Array(8 - head.length - tail.length).fill("0") : [];
  return [...head, ...zeros, ...tail].slice(0, 4).join(":");
}
