/**
 * Nobody has measured these for certain, so the client has to be right under every value (FC-152): a whole life in
 * which the answer of every change is lost once, against each value of each option.
 */
import { afterEach, expect, test } from '@jest/globals';
import { createProcessGuests, startEmulator } from '../../adapters/emulator/index.ts';
import type { Emulator, UnverifiedOptions } from '../../adapters/emulator/index.ts';
import { resolveOptions } from '../../adapters/emulator/context.ts';
import { awsPorts } from '../../adapters/index.ts';
import { Sandbox } from '../../effects/index.ts';

type Values = { readonly [Name in keyof UnverifiedOptions]: readonly UnverifiedOptions[Name][] };

const answers = ['ok', 'conflict', 'validation'] as const;
const either = [true, false] as const;

/** Every value of every option: the compiler asks for each, and the first test for no more. */
const values: Values = {
  applyWindowToExplicitSuspend: either,
  resumeShowsPending: either,
  badTokenWakes: either,
  silentStreamCounts: either,
  leakTrafficBeforeRun: either,
  holdTrafficWhileSuspending: either,
  failedResume: ['terminate', 'suspend-again'],
  suspendOfPending: answers,
  suspendOfSuspending: answers,
  suspendOfSuspended: answers,
  suspendOfTerminating: answers,
  suspendOfTerminated: answers,
  resumeOfPending: answers,
  resumeOfRunning: answers,
  resumeOfSuspending: answers,
  resumeOfTerminating: answers,
  resumeOfTerminated: answers,
  staleFirstRead: either,
  listShowsMovedTwice: either,
  filterAfterPage: either,
  replayedImageTokenWedges: either,
  deleteVersionInUse: either,
  deleteOfMissing: ['ok', 'not-found'],
  mintOfTerminated: answers,
  mintOfPending: ['ok', 'conflict'],
  endedReadableMs: [null, 0, 3_600_000],
  listOrder: ['newest-first', 'oldest-first'],
  versionFilter: ['numeric', 'exact'],
  versionsOfMissing: ['not-found', 'empty'],
  payloadUnit: ['utf16-units', 'bytes'],
  omittedPayload: ['empty-text', 'null', 'absent'],
  tokenBeforePort: either,
  unseenTexts: ['plausible', 'absent'],
};

const defaults = resolveOptions({}).unverified;
const names = Object.keys(values) as (keyof UnverifiedOptions)[];

/** One value for each option, by a rule that is given the place of the option. */
function choice(indexOf: (place: number) => number): Partial<UnverifiedOptions> {
  return Object.fromEntries(names.map((name, place) => [name, values[name][indexOf(place) % values[name].length]]));
}

// Three rows hold every value once; the others mix them, the same way each time.
const rows = [
  ...[0, 1, 2].map((index) => choice(() => index)),
  ...[3, 5, 7, 11, 13, 17].map((step) => choice((place) => Math.floor((place * step * 7919) / 101))),
];

let emulator: Emulator | null = null;
afterEach(async () => {
  await emulator?.close();
  emulator = null;
});

/** Retries come soon: these lives lose answers on purpose. */
const impatient = { retry: { baseMs: 5 } };

async function wholeLife(unverified: Partial<UnverifiedOptions>): Promise<void> {
  const on = await startEmulator({ unverified, guests: createProcessGuests({ isolation: 'plain' }) });
  emulator = on;
  const { endpoint: endpointUrl, region, credentials, imageArn: imageIdentifier } = on;
  const ports = awsPorts({ endpointUrl, region, credentials });
  for (const operation of ['RunMicrovm', 'SuspendMicrovm', 'ResumeMicrovm', 'TerminateMicrovm'] as const) {
    on.faults.add({ kind: 'lost-answer', operation });
  }

  const sandbox = new Sandbox(ports, impatient);
  const session = await sandbox.run({ imageIdentifier, suspendedSec: 600 });
  await session.run('echo kept > note');
  await sandbox.suspend();
  expect([sandbox.lifecycle, on.vms()[0]?.state]).toEqual(['SUSPENDED', 'SUSPENDED']);
  const again = await sandbox.resume();
  expect(sandbox.lifecycle).toBe('RUNNING');
  expect((await again.run('cat note')).stdout).toBe('kept\n');
  // A resume that comes in mid-suspend is carried out after it.
  await Promise.all([sandbox.suspend(), sandbox.resume()]);
  expect([sandbox.lifecycle, on.vms()[0]?.state]).toEqual(['RUNNING', 'RUNNING']);
  const report = await sandbox.terminate({ waitForTerminated: true });
  expect(report).toMatchObject({ lifecycle: 'TERMINATED', undeleted: [], failures: [] });
  expect(await sandbox.terminate()).toMatchObject({ lifecycle: 'TERMINATED', failures: [] });

  // Another one is ended before anybody saw it run.
  const brief = new Sandbox(ports, impatient);
  const launch = brief.run({ imageIdentifier }).catch((error: unknown) => error);
  while (on.recorder.count('RunMicrovm') < 3) await on.clock.sleep(1);
  expect((await brief.terminate({ waitForTerminated: true })).undeleted).toEqual([]);
  expect(await launch).toBeInstanceOf(Error);
  expect(on.vms().filter(({ state }) => state !== 'TERMINATED')).toEqual([]);
}

test('FC-152 every option is tried with every value, and only options', () => {
  expect([...names].sort()).toEqual(Object.keys(defaults).sort());
  for (const name of names) {
    expect(values[name]).toContain(defaults[name]);
    expect(new Set<unknown>(rows.map((row) => row[name]))).toEqual(new Set<unknown>(values[name]));
  }
});

test('FC-152 a whole life with the defaults', () => wholeLife({}));

test.each(rows.map((row, index) => [index + 1, row] as const))(
  'FC-152 a whole life with row %i of values',
  (_index, row) => wholeLife(row),
);
