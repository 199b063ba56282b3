/** The checker: the composed system beside SPIN's verifier of the same model, the lifecycle beside `@xstate/graph`. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getShortestPaths } from '@xstate/graph';
import {
  composedSystem,
  explore,
  exploreProduct,
  keyOf,
  parseComposition,
  projectSandbox,
  sandboxActions,
  sandboxSystem,
  toPromela,
} from 'vmchart/model';
import { sandboxMachine, type SandboxSnapshot } from 'vmchart/machines';
import { median } from './table.ts';
import type { BenchTable } from './table.ts';

const samples = 5;

/** The middle of several times, in seconds, after one run that is not counted. */
function secondsOf(work: () => void): number {
  work();
  return (
    median(
      Array.from({ length: samples }, () => {
        const startedAt = performance.now();
        work();
        return performance.now() - startedAt;
      }),
    ) / 1000
  );
}

function perSecond(count: number, seconds: number): string {
  const rate = count / seconds;
  return rate >= 1e6 ? `${(rate / 1e6).toFixed(1)} M` : `${Math.round(rate / 1000)} k`;
}

/** Seconds that SPIN's compiled verifier takes for a model; `null` where SPIN or a C compiler is missing. */
function spinSeconds(model: string): { seconds: number; states: number } | null {
  const folder = mkdtempSync(join(tmpdir(), 'vmchart-bench-'));
  try {
    writeFileSync(join(folder, 'model.pml'), model);
    const run = (command: string, ...words: string[]) => spawnSync(command, words, { cwd: folder, encoding: 'utf8' });
    if (run('spin', '-a', 'model.pml').status !== 0) return null;
    if (run('gcc', '-O2', '-w', '-DSAFETY', '-DNOREDUCE', '-DNOCLAIM', '-o', 'pan', 'pan.c').status !== 0) return null;
    let states = 0;
    const seconds = secondsOf(() => {
      states = Number(/(\d+) states, stored/.exec(run('./pan', '-m5000000', '-w24').stdout)?.[1] ?? 0);
    });
    return { seconds, states };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Safety alone: what SPIN is asked, too. */
function safetyOf(system: ReturnType<typeof composedSystem>): ReturnType<typeof composedSystem> {
  return { ...system, properties: system.properties.filter(({ kind }) => kind !== 'reachable') };
}

function composed(): (string | number)[][] {
  const system = composedSystem({ faults: 2 });
  const rows = (name: string, which: typeof system) => {
    const parsed = parseComposition(which);
    let found = { states: 0, transitions: 0, bytes: 0 };
    const seconds = secondsOf(() => {
      found = exploreProduct(parsed);
    });
    const { states, transitions, bytes } = found;
    return [name, states, perSecond(states, seconds), perSecond(transitions, seconds), `${Math.round(bytes / 1e6)} MB`];
  };
  const spin = spinSeconds(toPromela(parseComposition(safetyOf(system))));
  return [
    rows('vmchart, safety', safetyOf(system)),
    rows('vmchart, safety and reachability', system),
    spin === null
      ? ['SPIN, safety', 'not installed', '', '', '']
      : ['SPIN, safety (compiled verifier, no reduction)', spin.states, perSecond(spin.states, spin.seconds), '', ''],
  ];
}

function lifecycle(): (string | number)[][] {
  const system = sandboxSystem({ newLifeOnly: true, withoutRestarts: true });
  const key = (snapshot: SandboxSnapshot) => keyOf(projectSandbox(snapshot));
  let states = 0;
  let steps = 0;
  const ours = secondsOf(() => {
    const { visits, transitions, selfLoops } = explore(system);
    states = visits.length;
    steps = transitions + selfLoops;
  });
  const options = {
    events: (snapshot: SandboxSnapshot) => sandboxActions(snapshot).map(({ event }) => event),
    serializeState: key,
    fromState: system.initial()[0],
  };
  const theirs = secondsOf(() => getShortestPaths(sandboxMachine as never, options as never));
  return [
    ['vmchart, shortest paths of the lifecycle', states, perSecond(states, ours), perSecond(steps, ours), ''],
    ['@xstate/graph, shortest paths of the lifecycle', states, perSecond(states, theirs), perSecond(steps, theirs), ''],
  ];
}

/** Distinct states and successors a second. */
export async function measure(): Promise<BenchTable> {
  return await Promise.resolve({
    title: 'The model checker',
    about: `Median of ${samples} runs on one core. The composed system with two faults, beside SPIN on the exported model; the lifecycle with every event, beside \`@xstate/graph\`.`,
    columns: ['what', 'states', 'states / s', 'successors / s', 'memory'],
    rows: [...composed(), ...lifecycle()],
  });
}
