// Serves a Solana network of surfpool on loopback, without any outer network, until it is told to end or its starter dies.
//
// Prints one JSON line {"rpc", "ws"} when it serves; surfpool chooses the ports itself.
"use strict";

const [modules, slotMilliseconds] = process.argv.slice(2);
const { Surfnet } = require(require.resolve("@solana/surfpool-linux-x64-gnu", { paths: [modules] }));

// Only the clock mode finalizes by waiting, and without a slot time it runs a thousand slots a second.
const network = Surfnet.startWithConfig({
  offline: true,
  blockProductionMode: "clock",
  slotTimeMs: Number(slotMilliseconds),
});

// Events that nobody takes pile up until calls hang.
setInterval(() => network.drainEvents(), 50);

function end() {
  try {
    network.stop();
  } finally {
    process.exit(0);
  }
}
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, end);
process.stdin.on("end", end).resume();

console.log(JSON.stringify({ rpc: network.rpcUrl, ws: network.wsUrl }));
