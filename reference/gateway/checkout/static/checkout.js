"use strict";

// The page as the server made it is whole without this script. What is added: it flips by itself, details can be
// copied, the receipt is printed, times are in the payer's time zone, and the time left is counted down.

(() => {
  const POLL_MS = 2000;
  const REDIRECT_MS = 3000;
  const WORDS = { paid: "Paid", expired: "Expired", cancelled: "Cancelled" };

  const path = document.getElementById("checkout").dataset.path;
  const state = document.getElementById("state");
  let leaving = false;
  let polling = null;

  const isOver = () => state.dataset.state !== "active";

  // Following the link.

  function told(status) {
    if (status.status in WORDS && !isOver()) {
      state.dataset.state = status.status;
      delete state.dataset.waits;
      state.textContent = WORDS[status.status];
      document.title = `${WORDS[status.status]} · ${document.querySelector("h1").textContent}`;
      refresh();
    }
    // A network whose newest block is too old takes the details away until it is current again.
    if (!isOver() && (status.payable === false) !== state.hasAttribute("data-trails")) refresh();
    if (status.status === "paid" && status.redirect_url && !leaving) {
      leaving = true;
      setTimeout(() => location.assign(status.redirect_url), REDIRECT_MS);
    }
  }

  // Takes everything below the state from a fresh page, so that the server alone words it.
  async function refresh() {
    const body = document.getElementById("body");
    const footer = document.querySelector("footer");
    try {
      const answer = await fetch(path, { cache: "no-store", credentials: "omit" });
      if (!answer.ok) throw new Error(String(answer.status));
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const now = fresh.getElementById("state");
      state.dataset.state = now.dataset.state;
      state.toggleAttribute("data-trails", now.hasAttribute("data-trails"));
      state.textContent = now.textContent;
      document.title = fresh.title;
      body.replaceWith(fresh.getElementById("body"));
      footer.replaceWith(fresh.querySelector("footer"));
      prepare();
    } catch {
      // Nothing may ask for money any more, whatever else is to be seen.
      body.replaceChildren();
      document.getElementById("countdown")?.remove();
    }
  }

  async function poll() {
    try {
      const answer = await fetch(`${path}/status`, { cache: "no-store", credentials: "omit" });
      if (answer.ok) told(await answer.json());
    } catch {
      // Asked again in two seconds.
    }
    polling = isOver() ? null : setTimeout(poll, POLL_MS);
  }

  function follow() {
    if (!("EventSource" in window)) {
      poll();
      return;
    }
    const source = new EventSource(`${path}/events`);
    source.addEventListener("status", (event) => {
      told(JSON.parse(event.data));
      if (isOver()) source.close();
    });
    source.addEventListener("error", () => {
      // A stream that does not come back by itself is replaced by polling.
      if (source.readyState === EventSource.CLOSED && polling === null && !isOver()) poll();
    });
  }

  // Time left.

  const spelled = (seconds) => {
    const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
    const shown = parts[0] > 0 ? parts : parts.slice(1);
    return shown.map((part, place) => (place > 0 ? String(part).padStart(2, "0") : String(part))).join(":");
  };

  function countDown(place) {
    const end = performance.now() + Number(place.dataset.seconds) * 1000;
    const tick = () => {
      if (!place.isConnected) return;
      const left = Math.max(0, Math.ceil((end - performance.now()) / 1000));
      place.textContent = `${spelled(left)} left`;
      place.toggleAttribute("data-soon", left <= 60);
      if (left === 0) {
        setTimeout(() => { if (!isOver()) refresh(); }, 1500);
      } else {
        setTimeout(tick, 250);
      }
    };
    tick();
  }

  // Times are in UTC as the server made them: shown in the time zone of this device, with UTC as the title.

  function localise() {
    const parts = { day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" };
    const local = new Intl.DateTimeFormat("en-GB", { ...parts, hourCycle: "h23", timeZoneName: "short" });
    for (const time of document.querySelectorAll("time[datetime]")) {
      const moment = new Date(time.dateTime);
      if (Number.isNaN(moment.getTime()) || time.title) continue;
      time.title = time.textContent;
      time.textContent = local.format(moment);
    }
  }

  // Copying.

  async function copy(button) {
    const text = button.dataset.text || document.getElementById(button.dataset.copy).textContent.trim();
    const name = button.querySelector(".quiet");
    const before = name.textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
      return;
    }
    button.dataset.done = "";
    name.textContent = "Copied";
    setTimeout(() => {
      delete button.dataset.done;
      name.textContent = before;
    }, 1600);
  }

  function prepare() {
    for (const button of document.querySelectorAll(".copy")) {
      button.hidden = false;
      button.addEventListener("click", () => copy(button));
    }
    const print = document.getElementById("print");
    if (print) {
      print.hidden = false;
      print.addEventListener("click", () => window.print());
    }
    const countdown = document.getElementById("countdown");
    if (countdown) countDown(countdown);
    localise();
  }

  prepare();
  if (!isOver()) follow();
  else poll();
})();
