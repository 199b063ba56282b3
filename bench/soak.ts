/** `npm run soak [-- SEED]`: 1 GiB of output under 200 random cuts, every byte compared. */
import { Session, awsPorts } from 'vmchart';
import { block, chunkBytes, startBareDaemon } from './bare-daemon.ts';

const total = 1_073_741_824;
const cuts = 200;
const seed = Number(process.argv[2] ?? 20_261);
console.error(`seed ${seed}`);
const daemon = await startBareDaemon();
const { http, clock } = awsPorts({ region: 'us-east-1', environment: {} });
// Reconnects wait on the clock; here they need not.
const hurried = { ...clock, sleep: async (ms: number, signal?: AbortSignal) => clock.sleep(Math.min(ms, 1), signal) };
const session = new Session({ endpoint: daemon.url, agentToken: 'soak', http, clock: hurried });
let at = 0;
let exited = false;
const startedAt = performance.now();
for await (const event of session.exec(`${total}-${cuts}-${seed}`).stream({ maxReconnects: cuts + 10 })) {
  if (event.type === 'exit') exited = true;
  if (event.type === 'gap') throw new Error(`a gap at ${at}`);
  if (event.type !== 'output') continue;
  if (event.offset !== at) throw new Error(`expected byte ${at}, got ${event.offset}`);
  const from = at % chunkBytes;
  if (Buffer.compare(event.data, block.subarray(from, from + event.data.length)) !== 0)
    throw new Error(`other bytes at ${at}`);
  at += event.data.length;
}
daemon.close();
http.close?.();
if (at !== total || !exited) throw new Error(`ended at ${at} of ${total}`);
console.log(
  `${total} bytes under ${cuts} cuts, byte for byte, in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s, seed ${seed}`,
);
