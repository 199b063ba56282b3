/**
 * Two-phase commit, written as machines: a transaction manager that collects votes, and resource managers that vote.
 * The sizes of its state space are published for another checker, so they test ours.
 */
import { assign, setup } from 'xstate';
import { compileMachine } from '../../../model/compile.ts';
import type { Composition, CompositionRule } from '../../../model/composition.ts';
import { machineSystem, statePath } from '../../../model/machine-system.ts';

type Vote = { type: 'PREPARED'; by: number } | { type: 'COMMIT' } | { type: 'ABORT' };

/** Collects one vote of each resource manager, then commits; may abort at any time before. */
export function transactionManager(managers: number) {
  return setup({
    types: { context: {} as { prepared: readonly boolean[] }, events: {} as Vote },
    guards: { everybodyPrepared: ({ context }) => context.prepared.every(Boolean) },
    actions: {
      count: assign({
        prepared: ({ context, event }) =>
          context.prepared.map((was, place) => was || (event.type === 'PREPARED' && event.by === place)),
      }),
    },
  }).createMachine({
    context: { prepared: Array.from({ length: managers }, () => false) },
    initial: 'init',
    states: {
      init: {
        on: {
          PREPARED: { actions: 'count' },
          COMMIT: { guard: 'everybodyPrepared', target: 'committed' },
          ABORT: 'aborted',
        },
      },
      committed: {},
      aborted: {},
    },
  });
}

/** Prepares or gives up on its own, and does as it is told. */
export const resourceManager = setup({
  types: { events: {} as { type: 'PREPARE' | 'GIVE_UP' | 'TOLD_COMMIT' | 'TOLD_ABORT' } },
}).createMachine({
  initial: 'working',
  states: {
    working: { on: { PREPARE: 'prepared', GIVE_UP: 'aborted', TOLD_COMMIT: 'committed', TOLD_ABORT: 'aborted' } },
    prepared: { on: { TOLD_COMMIT: 'committed', TOLD_ABORT: 'aborted' } },
    committed: {},
    aborted: {},
  },
});

/** The protocol as a composition of the compiled machines and a set of messages that are never lost. */
export function twoPhaseCommit(managers: number): Composition {
  const everybody = Array.from({ length: managers }, (_, place) => place);
  const tm = compileMachine(
    machineSystem(transactionManager(managers), {
      events: () => [
        { label: 'commit', by: 'TM', event: { type: 'COMMIT' } as const },
        { label: 'abort', by: 'TM', event: { type: 'ABORT' } as const },
        ...everybody.map((by) => ({ label: `vote ${by}`, by: 'TM', event: { type: 'PREPARED', by } as const })),
      ],
      project: ({ value, context }) => ({ state: statePath(value), prepared: context.prepared.join() }),
    }),
    { name: 'tm', describe: { place: ({ value }) => ['init', 'committed', 'aborted'].indexOf(statePath(value)) } },
  );
  const rm = compileMachine(
    machineSystem(resourceManager, {
      events: () =>
        (['PREPARE', 'GIVE_UP', 'TOLD_COMMIT', 'TOLD_ABORT'] as const).map((type) => ({
          label: type,
          by: 'RM',
          event: { type },
        })),
      project: ({ value }) => ({ state: statePath(value) }),
    }),
    {
      name: 'rm',
      describe: { place: ({ value }) => ['working', 'prepared', 'committed', 'aborted'].indexOf(statePath(value)) },
    },
  );
  const tmStep = (label: string) => `tmNext[tm, ${tm.column(label)}]`;
  const rmStep = (who: number, label: string) => `rmNext[rm${who}, ${rm.column(label)}]`;
  const rule = (by: string, label: string, when: string, set: Record<string, string>): CompositionRule => ({
    by,
    label,
    when,
    set,
  });
  return {
    name: `two-phase commit, ${managers} resource managers`,
    variables: [
      { name: 'tm', max: tm.states.length - 1, initial: 0 },
      ...everybody.map((who) => ({ name: `rm${who}`, max: rm.states.length - 1, initial: 0 })),
      ...everybody.map((who) => ({ name: `prepared${who}`, max: 1, initial: 0 })),
      { name: 'commit', max: 1, initial: 0 },
      { name: 'abort', max: 1, initial: 0 },
    ],
    constants: { COMMITTED: 2, ABORTED: 3 },
    tables: [
      { name: 'tmNext', sizes: [tm.states.length, tm.actions.length], data: tm.next },
      { name: 'rmNext', sizes: [rm.states.length, rm.actions.length], data: rm.next },
      { name: 'rmPlace', sizes: [rm.states.length], data: rm.described['place']! },
    ],
    rules: [
      rule('TM', 'commits', `${tmStep('commit')} != tm`, { tm: tmStep('commit'), commit: '1' }),
      rule('TM', 'aborts', `${tmStep('abort')} != tm`, { tm: tmStep('abort'), abort: '1' }),
      ...everybody.flatMap((who) => [
        rule('TM', `hears that ${who} is prepared`, `prepared${who} = 1 and ${tmStep(`vote ${who}`)} != tm`, {
          tm: tmStep(`vote ${who}`),
        }),
        rule(`RM ${who}`, 'prepares', `${rmStep(who, 'PREPARE')} != rm${who}`, {
          [`rm${who}`]: rmStep(who, 'PREPARE'),
          [`prepared${who}`]: '1',
        }),
        rule(`RM ${who}`, 'gives up', `${rmStep(who, 'GIVE_UP')} != rm${who}`, {
          [`rm${who}`]: rmStep(who, 'GIVE_UP'),
        }),
        rule(`RM ${who}`, 'is told to commit', `commit = 1 and ${rmStep(who, 'TOLD_COMMIT')} != rm${who}`, {
          [`rm${who}`]: rmStep(who, 'TOLD_COMMIT'),
        }),
        rule(`RM ${who}`, 'is told to abort', `abort = 1 and ${rmStep(who, 'TOLD_ABORT')} != rm${who}`, {
          [`rm${who}`]: rmStep(who, 'TOLD_ABORT'),
        }),
      ]),
    ],
    properties: [
      {
        id: 'consistent',
        requirement: null,
        says: 'No resource manager commits while another aborts.',
        kind: 'always',
        check: everybody
          .flatMap((one) =>
            everybody.map((other) => `not (rmPlace[rm${one}] = COMMITTED and rmPlace[rm${other}] = ABORTED)`),
          )
          .join(' and '),
      },
      {
        id: 'commits',
        requirement: null,
        says: 'Everybody may commit.',
        kind: 'sometimes',
        check: everybody.map((who) => `rmPlace[rm${who}] = COMMITTED`).join(' and '),
      },
      {
        id: 'ends',
        requirement: null,
        says: 'Everybody can always come to an end.',
        kind: 'reachable',
        goal: everybody.map((who) => `rmPlace[rm${who}] >= COMMITTED`).join(' and '),
      },
    ],
  };
}
