/** How late a client notices what the platform did: the adaptive schedule beside a fixed five-second poll. */
import { Sandbox, adaptiveSchedules, awsPorts, referenceSchedules } from 'vmchart';
import type { Schedules } from 'vmchart';
import { startEmulator } from 'vmchart/emulator';
import { mean } from './table.ts';
import type { BenchTable } from './table.ts';

interface Lag {
  readonly runningMs: number;
  readonly suspendedMs: number;
  readonly reads: number;
  readonly launchMs: number;
}

/** One life on an emulator of its own: when the platform was there, and when the client knew. */
async function oneLife(launchDelayMs: number, schedules: Schedules): Promise<Lag> {
  await using emulator = await startEmulator({ launchDelayMs, suspendDelayMs: 1_200, terminateDelayMs: 0 });
  const reached = new Map<string, number>();
  const watching = (async () => {
    for await (const { to } of emulator.events) if (!reached.has(to)) reached.set(to, performance.now());
  })();
  const ports = awsPorts({
    endpointUrl: emulator.endpoint,
    region: emulator.region,
    credentials: emulator.credentials,
  });
  const sandbox = new Sandbox(ports, { schedules });
  const noticed = new Map<string, number>();
  sandbox.actor.subscribe(({ context }) => {
    if (!noticed.has(context.lifecycle)) noticed.set(context.lifecycle, performance.now());
  });
  const before = emulator.recorder.count('GetMicrovm');
  await sandbox.run({ imageIdentifier: emulator.imageArn });
  const reads = emulator.recorder.count('GetMicrovm') - before;
  await sandbox.suspend();
  await sandbox.terminate();
  const lag = (state: string) => (noticed.get(state) ?? Number.NaN) - (reached.get(state) ?? Number.NaN);
  const result = { runningMs: lag('RUNNING'), suspendedMs: lag('SUSPENDED'), reads, launchMs: launchDelayMs };
  ports.http.close?.();
  await emulator.close();
  await watching;
  return result;
}

/** Launches spread evenly between 0.3 s and 3 s, under both schedules. */
export async function measure(): Promise<BenchTable> {
  const delays = Array.from({ length: 10 }, (_, index) => 300 + index * 300);
  const rows: (string | number)[][] = [];
  for (const [name, schedules] of [
    ['adaptive (default)', adaptiveSchedules],
    ['fixed five seconds', referenceSchedules],
  ] as const) {
    const lags = await Promise.all(delays.map((delay) => oneLife(delay, schedules)));
    const share = mean(lags.map(({ runningMs, launchMs }) => runningMs / launchMs));
    rows.push([
      name,
      Math.round(mean(lags.map((lag) => lag.runningMs))),
      `${Math.round(share * 100)} %`,
      Math.round(mean(lags.map((lag) => lag.suspendedMs))),
      Math.max(...lags.map((lag) => lag.reads)),
    ]);
  }
  return {
    title: 'The lag of noticing',
    about:
      'Ten launches of 0.3 s to 3 s and a suspend of 1.2 s each: the time between the platform reaching a state and the client knowing it.',
    columns: ['schedule', 'RUNNING, mean ms', 'of the launch', 'SUSPENDED, mean ms', 'most reads in a launch'],
    rows,
  };
}
