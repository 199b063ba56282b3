/** A thousand short commands in a VM of the emulator: one after another, and thirty-two at a time. */
import { Sandbox, awsPorts } from 'vmchart';
import { startEmulator } from 'vmchart/emulator';
import { median } from './table.ts';
import type { BenchTable } from './table.ts';

/** `true` a thousand times, each started, waited for and acknowledged. */
export async function measure(): Promise<BenchTable> {
  await using emulator = await startEmulator();
  const ports = awsPorts({
    endpointUrl: emulator.endpoint,
    region: emulator.region,
    credentials: emulator.credentials,
  });
  const sandbox = new Sandbox(ports);
  const session = await sandbox.run({ imageIdentifier: emulator.imageArn });
  await session.run(['true']);
  const rows: (string | number)[][] = [];
  for (const inFlight of [1, 32]) {
    let left = 1_000;
    const times: number[] = [];
    const startedAt = performance.now();
    const worker = async () => {
      while (left-- > 0) {
        const begun = performance.now();
        const { exitCode } = await session.run(['true']);
        if (exitCode !== 0) throw new Error('a command failed');
        times.push(performance.now() - begun);
      }
    };
    await Promise.all(Array.from({ length: inFlight }, worker));
    rows.push([inFlight, (1_000 / ((performance.now() - startedAt) / 1_000)).toFixed(0), median(times).toFixed(1)]);
  }
  await sandbox.terminate();
  ports.http.close?.();
  return {
    title: 'A thousand short commands',
    about: 'Each is a real process in a VM of the emulator, which shares the cores with the client.',
    columns: ['at a time', 'commands a second', 'median ms'],
    rows,
  };
}
