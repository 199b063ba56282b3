/**
 * Signed and decoded `GetMicrovm` calls a second: this client beside the official SDK, in one run, against one
 * server in a process of its own. Rounds alternate, so that a busy machine slows both alike; the middle one counts.
 *
 * Run with `npm run build && node dist/bench/get-microvm.js [rounds] [ms per round]`.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { GetMicrovmCommand, LambdaMicrovmsClient } from '@aws-sdk/client-lambda-microvms';
import { awsPorts } from 'vmchart/adapters';
import { ControlPlane } from 'vmchart/effects';

const microvmId = 'microvm-a991cd0b-3321-3e2c-a982-d5c4db52b17a';
const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const region = 'us-east-1';

const answer = Buffer.from(
  JSON.stringify({
    microvmId,
    state: 'RUNNING',
    endpoint: '0f2b7a4c.lambda-microvm.us-east-1.on.aws',
    imageArn: 'arn:aws:lambda:us-east-1:123456789012:microvm-image:my-img',
    imageVersion: '1.0',
    startedAt: 1_786_817_864.601,
    maximumDurationInSeconds: 3_600,
    idlePolicy: { maxIdleDurationSeconds: 600, suspendedDurationSeconds: 600, autoResumeEnabled: false },
    executionRoleArn: null,
    stateReason: null,
    terminatedAt: null,
  }),
);

/** Serves the same answer to everybody, and ends with its parent. */
function serve(): void {
  const server = createServer((_request, response) => {
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': answer.length,
      'x-amzn-requestid': 'bench',
    });
    response.end(answer);
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
  process.once('disconnect', () => process.exit());
}

interface Sample {
  readonly perSecond: number;
  readonly cpuMicros: number;
}

/** Calls as fast as it goes for a while, with so many calls in flight. */
async function measure(call: () => Promise<unknown>, inFlight: number, forMs: number): Promise<Sample> {
  const startedMs = performance.now();
  const cpu = process.cpuUsage();
  let calls = 0;
  const worker = async () => {
    while (performance.now() - startedMs < forMs) {
      await call();
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: (calls * 1_000) / (performance.now() - startedMs), cpuMicros: (user + system) / calls };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function main(rounds: number, roundMs: number): Promise<void> {
  const server = fork(fileURLToPath(import.meta.url), ['serve']);
  const [port] = (await once(server, 'message')) as [number];
  const endpoint = `http://127.0.0.1:${port}`;
  const plane = new ControlPlane(awsPorts({ region, credentials, endpointUrl: endpoint, environment: {} }));
  const sdk = new LambdaMicrovmsClient({ region, endpoint, credentials });
  const clients = {
    vmchart: async () => plane.getMicrovm(microvmId),
    'official SDK': async () => sdk.send(new GetMicrovmCommand({ microvmIdentifier: microvmId })),
  };
  console.log('in flight  client         calls/s   CPU µs/call   times the SDK');
  for (const inFlight of [1, 16]) {
    const samples: Record<string, Sample[]> = {};
    for (const call of Object.values(clients)) await measure(call, inFlight, roundMs);
    for (let round = 0; round < rounds; round += 1) {
      for (const [name, call] of Object.entries(clients)) {
        (samples[name] ??= []).push(await measure(call, inFlight, roundMs));
      }
    }
    const rate = (name: string) => median((samples[name] ?? []).map((sample) => sample.perSecond));
    for (const name of Object.keys(clients)) {
      const cpu = median((samples[name] ?? []).map((sample) => sample.cpuMicros));
      console.log(
        `${String(inFlight).padStart(9)}  ${name.padEnd(13)}${rate(name).toFixed(0).padStart(9)}` +
          `${cpu.toFixed(0).padStart(14)}${(rate(name) / rate('official SDK')).toFixed(2).padStart(16)}`,
      );
    }
  }
  plane.ports.http.close?.();
  sdk.destroy();
  server.disconnect();
}

if (process.argv[2] === 'serve') serve();
else await main(Number(process.argv[2] ?? 7), Number(process.argv[3] ?? 1_000));
