/** Output of a command, decoded: the session's events beside a bare read with `got.stream` and a parser loop. */
import { got } from 'got';
import { createParser } from 'eventsource-parser';
import { Session, awsPorts } from 'vmchart';
import { startBareDaemon } from './bare-daemon.ts';
import { median } from './table.ts';
import type { BenchTable } from './table.ts';

const MiB = 1_048_576;
const total = 192 * MiB;

/** What anybody would write by hand: no reconnects, no limits, no types. */
async function bareRead(url: string): Promise<number> {
  let bytes = 0;
  const parser = createParser({
    onEvent: ({ event, data }) => {
      if (event !== 'output') return;
      bytes += Buffer.from((JSON.parse(data) as { output: string }).output, 'base64').length;
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of got.stream(`${url}/v1/exec/${total}/stream?offset=0`, { retry: { limit: 0 } })) {
    parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
  }
  return bytes;
}

async function sessionRead(session: Session): Promise<number> {
  let bytes = 0;
  for await (const event of session.exec(String(total)).stream())
    if (event.type === 'output') bytes += event.data.length;
  return bytes;
}

/** MiB a second, each the middle of five alternating rounds. */
export async function measure(): Promise<BenchTable> {
  const daemon = await startBareDaemon();
  const { http, clock } = awsPorts({ region: 'us-east-1', environment: {} });
  const session = new Session({ endpoint: daemon.url, agentToken: 'bench', http, clock });
  const readers = {
    'got.stream and a parser loop': () => bareRead(daemon.url),
    'session stream': () => sessionRead(session),
  };
  const rates: Record<string, number[]> = {};
  for (let round = 0; round < 6; round += 1) {
    for (const [name, read] of Object.entries(readers)) {
      const startedAt = performance.now();
      if ((await read()) !== total) throw new Error(`${name} lost bytes`);
      // The first round warms up.
      if (round > 0) (rates[name] ??= []).push(total / MiB / ((performance.now() - startedAt) / 1_000));
    }
  }
  daemon.close();
  http.close?.();
  const rate = (name: string) => median(rates[name] ?? []);
  return {
    title: 'Output streams',
    about: `${total / MiB} MiB of output in events of 16 KiB, decoded, from a server in a process of its own.`,
    columns: ['reader', 'MiB a second', 'of the bare read'],
    rows: Object.keys(readers).map((name) => [
      name,
      rate(name).toFixed(0),
      (rate(name) / rate('got.stream and a parser loop')).toFixed(2),
    ]),
  };
}
