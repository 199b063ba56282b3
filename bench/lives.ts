/** Whole lives a second on the emulator with no delays: launch, suspend, resume, terminate, every state waited for. */
import { Sandbox, awsPorts } from 'vmchart';
import { startEmulator } from 'vmchart/emulator';
import type { BenchTable } from './table.ts';

/** One after another, and sixteen at a time. */
export async function measure(): Promise<BenchTable> {
  const rows: (string | number)[][] = [];
  for (const [inFlight, lives] of [
    [1, 40],
    [16, 160],
  ] as const) {
    await using emulator = await startEmulator({
      launchDelayMs: 0,
      suspendDelayMs: 0,
      resumeDelayMs: 0,
      terminateDelayMs: 0,
      endedEndpointsKept: 0,
    });
    const ports = awsPorts({
      endpointUrl: emulator.endpoint,
      region: emulator.region,
      credentials: emulator.credentials,
    });
    const life = async () => {
      const sandbox = new Sandbox(ports);
      await sandbox.run({ imageIdentifier: emulator.imageArn });
      await sandbox.suspend();
      await sandbox.resume();
      await sandbox.terminate({ waitForTerminated: true });
    };
    await life();
    const calls = emulator.recorder.count();
    const startedAt = performance.now();
    let left = lives;
    const worker = async () => {
      while (left-- > 0) await life();
    };
    await Promise.all(Array.from({ length: inFlight }, worker));
    const seconds = (performance.now() - startedAt) / 1_000;
    rows.push([inFlight, (lives / seconds).toFixed(1), ((emulator.recorder.count() - calls) / lives).toFixed(1)]);
    ports.http.close?.();
  }
  return {
    title: 'Lives on the emulator',
    about:
      'Client and emulator in one process; delays of zero, so what remains is the work itself and the polls of the waits.',
    columns: ['lives at a time', 'lives a second', 'calls a life'],
    rows,
  };
}
