"use strict";

// Paying with a wallet in the browser (EIP-1193): the payer signs an EIP-3009 authorization whose nonce is the
// memo's hash, and sends it to the asset's contract. The service submits nothing and holds nothing.

(() => {
  const place = document.getElementById("wallet");
  const button = document.getElementById("pay");
  const note = document.getElementById("wallet-note");
  const ask = place.dataset;
  const UNKNOWN_CHAIN = 4902;
  const REJECTED = 4001;

  const say = (text, kind = "") => {
    note.textContent = text;
    note.dataset.kind = kind;
  };

  const word = (value) => BigInt(value).toString(16).padStart(64, "0");

  const request = (method, params = []) => window.ethereum.request({ method, params });

  async function onNetwork() {
    const wanted = `0x${BigInt(ask.chainId).toString(16)}`;
    if (BigInt(await request("eth_chainId")) === BigInt(wanted)) return;
    try {
      await request("wallet_switchEthereumChain", [{ chainId: wanted }]);
    } catch (fault) {
      if (fault?.code === UNKNOWN_CHAIN) throw new Error(`Add the network ${ask.network} to your wallet first.`);
      throw fault;
    }
  }

  const typedData = (from) => JSON.stringify({
    types: {
      EIP712Domain: [
        { name: "name", type: "string" },
        { name: "version", type: "string" },
        { name: "chainId", type: "uint256" },
        { name: "verifyingContract", type: "address" },
      ],
      TransferWithAuthorization: [
        { name: "from", type: "address" },
        { name: "to", type: "address" },
        { name: "value", type: "uint256" },
        { name: "validAfter", type: "uint256" },
        { name: "validBefore", type: "uint256" },
        { name: "nonce", type: "bytes32" },
      ],
    },
    primaryType: "TransferWithAuthorization",
    domain: { name: ask.name, version: ask.version, chainId: Number(ask.chainId), verifyingContract: ask.asset },
    message: {
      from, to: ask.to, value: ask.value, validAfter: "0", validBefore: ask.validBefore, nonce: ask.nonce,
    },
  });

  function callData(from, signature) {
    const hex = signature.replace(/^0x/, "");
    if (!/^[0-9a-fA-F]{130}$/.test(hex)) {
      throw new Error("This wallet signs in a way that the coin's contract does not take. Use an ordinary account.");
    }
    const last = parseInt(hex.slice(128), 16);
    const v = last < 27 ? last + 27 : last;
    const words = [from, ask.to, ask.value, 0, ask.validBefore, ask.nonce, v].map(word);
    return ask.selector + words.join("") + hex.slice(0, 128);
  }

  async function pay() {
    const [from] = await request("eth_requestAccounts");
    if (from.toLowerCase() === ask.to.toLowerCase()) {
      throw new Error("This account is the receiving address itself. Pay from another account.");
    }
    await onNetwork();
    say("Sign the payment in your wallet.");
    const signature = await request("eth_signTypedData_v4", [from, typedData(from)]);
    say("Confirm the transaction in your wallet.");
    await request("eth_sendTransaction", [{ from, to: ask.asset, data: callData(from, signature) }]);
    say("Sent. This page changes by itself when the payment is confirmed.");
  }

  async function start() {
    if (button.getAttribute("aria-disabled") === "true") return;
    button.setAttribute("aria-disabled", "true");
    try {
      await pay();
    } catch (fault) {
      const text = fault?.code === REJECTED ? "Nothing was sent." : fault?.message || "The wallet did not answer.";
      say(text, "fault");
      button.removeAttribute("aria-disabled");
    }
  }

  function offer() {
    if (!window.ethereum || !button.hidden) return;
    button.hidden = false;
    document.getElementById("wallet-apps").hidden = true;
    say("Your wallet asks you twice: to sign the payment and to send it.");
    button.addEventListener("click", start);
  }

  offer();
  window.addEventListener("ethereum#initialized", offer, { once: true });
})();
