/** What a thousand living sandboxes weigh. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createActor } from 'xstate';
import { Sandbox, awsPorts, controlPlaneActors, sandboxMachine } from 'vmchart';
import type { BenchTable } from './table.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Kilobytes of heap for each of a thousand, kept alive while they are weighed. */
function weigh(make: (index: number) => unknown): number {
  const kept: unknown[] = [make(-1)];
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < 1_000; index += 1) kept.push(make(index));
  collect();
  const after = process.memoryUsage().heapUsed;
  return kept.length > 0 ? Math.round(((after - before) / 1_000 / 1_024) * 10) / 10 : 0;
}

/** The facade and the bare machine, side by side. */
export async function measure(): Promise<BenchTable> {
  const ports = awsPorts({ region: 'us-east-1', environment: {} });
  const machine = sandboxMachine.provide({ actors: controlPlaneActors(ports) });
  const input = (index: number) => ({ sandboxId: `weigh-${index}`, region: 'us-east-1' });
  return {
    title: 'A thousand living actors',
    about: 'Heap after a collection, for each of a thousand started lives.',
    columns: ['what', 'KiB each'],
    rows: [
      ['the lifecycle machine', weigh((index) => createActor(machine, { input: input(index) }).start())],
      ['Sandbox', weigh(() => new Sandbox(ports))],
    ],
  };
}
