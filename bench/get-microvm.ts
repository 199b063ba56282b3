/**
 * Signed and decoded `GetMicrovm` calls a second: this client beside the official SDK, in one run, against one emulator.
 * Rounds alternate, so that a busy machine slows both alike.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { GetMicrovmCommand, LambdaMicrovmsClient } from '@aws-sdk/client-lambda-microvms';
import { awsPorts } from 'vmchart/adapters';
import { ControlPlane } from 'vmchart/effects';
import type { Credentials } from 'vmchart';
import { startEmulator } from 'vmchart/emulator';
import { median } from './table.ts';
import type { BenchTable } from './table.ts';

/** What the serving process tells. */
interface Served {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: Credentials;
  readonly microvmId: string;
}

/** Serves an emulator with one VM in a process of its own, and ends with its parent. */
async function serve(): Promise<void> {
  const emulator = await startEmulator({ launchDelayMs: 0 });
  const { endpoint, region, credentials, imageArn } = emulator;
  const plane = new ControlPlane(awsPorts({ endpointUrl: endpoint, region, credentials }));
  const { microvmId } = await plane.runMicrovm({ imageIdentifier: imageArn });
  process.send?.({ endpoint, region, credentials, microvmId });
  process.once('disconnect', () => void emulator.close().finally(() => process.exit()));
}

interface Sample {
  readonly perSecond: number;
  readonly cpuMicros: number;
}

/** Calls as fast as it goes for a while, with so many calls in flight. */
async function sample(call: () => Promise<unknown>, inFlight: number, forMs: number): Promise<Sample> {
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

/** Twenty-one short rounds, at 1 and 16 in flight: what disturbs one round disturbs both clients in it. */
export async function measure(rounds = 21, roundMs = 400): Promise<BenchTable> {
  const server = fork(fileURLToPath(import.meta.url), ['serve']);
  const [served] = (await once(server, 'message')) as [Served];
  const { endpoint, region, credentials, microvmId } = served;
  const plane = new ControlPlane(awsPorts({ region, credentials, endpointUrl: endpoint, environment: {} }));
  const sdk = new LambdaMicrovmsClient({ region, endpoint, credentials });
  const clients = {
    vmchart: async () => plane.getMicrovm(microvmId),
    'official SDK': async () => sdk.send(new GetMicrovmCommand({ microvmIdentifier: microvmId })),
  };
  const rows: (string | number)[][] = [];
  for (const inFlight of [1, 16]) {
    const samples: Record<string, Sample[]> = {};
    for (const call of Object.values(clients)) await sample(call, inFlight, 1_000);
    for (let round = 0; round < rounds; round += 1) {
      for (const [name, call] of Object.entries(clients)) {
        (samples[name] ??= []).push(await sample(call, inFlight, roundMs));
      }
    }
    const rate = (name: string) => median((samples[name] ?? []).map(({ perSecond }) => perSecond));
    for (const name of Object.keys(clients)) {
      const cpu = median((samples[name] ?? []).map(({ cpuMicros }) => cpuMicros));
      const times = median(
        (samples[name] ?? []).map(
          ({ perSecond }, round) => perSecond / (samples['official SDK']?.[round]?.perSecond ?? 0),
        ),
      ).toFixed(2);
      rows.push([name, inFlight, rate(name).toFixed(0), cpu.toFixed(0), times]);
    }
  }
  plane.ports.http.close?.();
  sdk.destroy();
  server.disconnect();
  return {
    title: 'GetMicrovm',
    about:
      'Signed and decoded calls against one emulator in a process of its own, which checks the signatures; rounds alternate, the middle one counts, and rates are compared round by round.',
    columns: ['client', 'in flight', 'calls a second', 'CPU µs a call', 'times the SDK'],
    rows,
  };
}

if (process.argv[2] === 'serve') await serve();
