// What the stock x402 clients for Algorand and Solana make of 402s, and of a rail: JSON in, JSON out.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.argv[2]}/`);
const got = (name) => import(pathToFileURL(require.resolve(name)));
const { lane, node, url, body, key, offers, calls } = JSON.parse(readFileSync(0, "utf8"));
const { x402Client, x402HTTPClient, wrapFetchWithPayment } = await got("@x402/fetch");
const { network, scheme, pay } = await (lane === "algorand" ? algorand : solana)();

// The scheme as its package documents it, and one welded payment with the libraries that the scheme itself uses.
async function algorand() {
  const { ExactAvmScheme } = await got("@x402/avm/exact/client");
  const { toClientAvmSigner, getAlgokitSigner } = await got("@x402/avm");
  const { AlgorandClient } = await got("@algorandfoundation/algokit-utils/algorand-client");
  const algodConfig = { server: node.url, token: node.token };
  // Simulated rounds are short: AlgoKit's ten of them are two seconds.
  const algorandClient = AlgorandClient.fromConfig({ algodConfig }).setDefaultValidityWindow(1000);
  return {
    network: "algorand:*",
    scheme: async (secret) => new ExactAvmScheme(toClientAvmSigner(secret), { algorandClient }),
    async pay(secret, entry, reference) {
      const { addr, signer } = getAlgokitSigner(toClientAvmSigner(secret));
      const [receiver, assetId, amount] = [entry.payTo, BigInt(entry.asset), BigInt(entry.amount)];
      const transfer = { sender: addr, receiver, assetId, amount, note: reference };
      const sent = await algorandClient.send.assetTransfer({ ...transfer, signer, suppressLog: true });
      return sent.txIds[0];
    },
  };
}

async function solana() {
  const { ExactSvmScheme } = await got("@x402/svm/exact/client");
  const kit = await got("@solana/kit");
  const token = await got("@solana-program/token-2022");
  const signed = (secret) => kit.createKeyPairSignerFromBytes(Uint8Array.from(JSON.parse(secret)));
  const account = (mint, owner, tokenProgram) =>
    token.findAssociatedTokenPda({ mint, owner, tokenProgram }).then(([found]) => found);
  return {
    network: "solana:*",
    scheme: async (secret) => new ExactSvmScheme(await signed(secret), { rpcUrl: node.url }),
    async pay(secret, entry, _, reference) {
      const [rpc, payer] = [kit.createSolanaRpc(node.url), await signed(secret)];
      const mint = await token.fetchMint(rpc, entry.asset);
      const { programAddress } = mint;
      const source = await account(entry.asset, payer.address, programAddress);
      const destination = await account(entry.asset, entry.payTo, programAddress);
      const amounts = { amount: BigInt(entry.amount), decimals: mint.data.decimals };
      const transfer = token.getTransferCheckedInstruction(
        { source, mint: entry.asset, destination, authority: payer, ...amounts },
        { programAddress },
      );
      const accounts = [...transfer.accounts, { address: reference, role: kit.AccountRole.READONLY }];
      const { value: lifetime } = await rpc.getLatestBlockhash().send();
      const message = kit.pipe(
        kit.createTransactionMessage({ version: 0 }),
        (one) => kit.setTransactionMessageFeePayerSigner(payer, one),
        (one) => kit.setTransactionMessageLifetimeUsingBlockhash(lifetime, one),
        (one) => kit.appendTransactionMessageInstruction({ ...transfer, accounts }, one),
      );
      const whole = await kit.signTransactionMessageWithSigners(message);
      const wire = kit.getBase64EncodedWireTransaction(whole);
      const sent = await rpc.sendTransaction(wire, { encoding: "base64" }).send();
      for (;;) {
        const { value } = await rpc.getSignatureStatuses([sent]).send();
        if (value[0]?.confirmationStatus === "finalized") return sent;
        await pause(100);
      }
    },
  };
}

// The stock client; with a weld, its user has also registered what answers a 402 by paying the weld.
async function clientOf(secret, weld) {
  const client = new x402Client().register(network, await scheme(secret));
  const http = new x402HTTPClient(client);
  if (weld === null) return http;
  return http.onPaymentRequired(async ({ paymentRequired }) => {
    const entry = paymentRequired.accepts.find((one) => one.network.startsWith(`${lane}:`));
    const { payment_reference, svm_reference_pubkey } = { ...entry.extra, ...weld };
    const tx_id = await pay(secret, entry, payment_reference, svm_reference_pubkey);
    const proof = { tx_id, payment_reference: entry.extra.payment_reference };
    return { headers: { "X-PAYMENT": Buffer.from(JSON.stringify(proof)).toString("base64") } };
  });
}

// One call through the stock fetch: what was answered to each request, and which payment each carried.
async function called({ key: secret, weld }) {
  const exchanges = [];
  const watched = async (request) => {
    const [signature, proof] = ["PAYMENT-SIGNATURE", "X-PAYMENT"].map((name) => request.headers.get(name));
    const answer = await fetch(request);
    exchanges.push({ signature, proof, status: answer.status, body: await answer.clone().json() });
    return answer;
  };
  const headers = { "Content-Type": "application/json" };
  const paying = wrapFetchWithPayment(watched, await clientOf(secret, weld));
  await paying(url, { method: "POST", headers, body: JSON.stringify(body) });
  return exchanges;
}

async function offered(offer) {
  try {
    return { made: await (await clientOf(key, null)).createPaymentPayload(offer) };
  } catch (fault) {
    return { refused: fault.message };
  }
}

const told = { offers: [], calls: [] };
for (const offer of offers) told.offers.push(await offered(offer));
for (const one of calls) told.calls.push(await called(one));
console.log(JSON.stringify(told));
process.exit(0);
