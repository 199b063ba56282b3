/** Each requirement as a story of the lifecycle machine, step by step: what the checker proves for all of them, by example. */
import { describe, expect, test } from '@jest/globals';
import { substateOf, type SandboxSnapshot } from '../../machines/index.ts';
import { answersOf, settlementsOf } from '../../model/sandbox/steps.ts';
import { sandboxSystem, type SandboxStep } from '../../model/sandbox/system.ts';
import { specStateOf } from '../../model/sandbox/refinement.ts';

const system = sandboxSystem({ newLifeOnly: true });

/** Takes the offered actions with these labels, in order; a label that is not offered fails the test. */
function story(labels: readonly string[], from: SandboxSnapshot = system.initial()[0]!): SandboxStep[] {
  let state = from;
  return labels.map((label) => {
    const action = system.actions(state).find((offered) => offered.label === label);
    if (action === undefined) throw new Error(`'${label}' is not offered in ${substateOf(state)}`);
    const step = system.step(state, action);
    state = step.after;
    return step;
  });
}

const launched = ['RUN, in time', 'launch succeeds and says PENDING, in time'];
const running = [...launched, 'awaitRunning succeeds and says RUNNING, in time'];
const suspended = [
  ...running,
  'SUSPEND, in time',
  'suspend succeeds, in time',
  'awaitSuspended succeeds and says SUSPENDED, in time',
];

function last(labels: readonly string[]): SandboxStep {
  return story(labels).at(-1)!;
}

function answer(step: SandboxStep): string {
  const [only] = answersOf(step);
  return only?.refusal ? `${only.verdict} ${only.refusal.requirement ?? only.refusal.kind}` : (only?.verdict ?? 'none');
}

const calls = (step: SandboxStep): readonly string[] => step.effects.started.map(({ src }) => src);

describe('the requirements of the spec, each as a story', () => {
  test('STATE-1 an accepted launch leaves the VM pending, with its image on record', () => {
    const { after } = last(launched);
    expect(substateOf(after)).toBe('PENDING.awaitingRunning');
    expect(after.context).toMatchObject({ imageExists: true, tokenInstalled: false, bootstrapCount: 0 });
  });

  test('STATE-2 the first sight of RUNNING installs the token and counts the one bootstrap', () => {
    const { after } = last(running);
    expect(substateOf(after)).toBe('RUNNING.idle');
    expect(after.context).toMatchObject({ tokenInstalled: true, bootstrapCount: 1 });
  });

  test('STATE-3 a second RUN is refused and sends nothing', () => {
    const step = last([...running, 'RUN with another token, in time']);
    expect([answer(step), calls(step)]).toEqual(['refused STATE-3', []]);
  });

  test('STATE-4 an accepted suspend leaves the VM suspending', () => {
    expect(substateOf(last(suspended.slice(0, -1)).after)).toBe('SUSPENDING.watching');
  });

  test('STATE-5 a suspend outside of RUNNING is refused and sends nothing', () => {
    for (const path of [launched, suspended]) {
      const step = last([...path, 'SUSPEND, in time']);
      expect([answer(step), calls(step)]).toEqual(['refused STATE-5', []]);
    }
  });

  test('STATE-6 a suspending VM that is seen suspended is suspended', () => {
    const step = last(suspended);
    expect(substateOf(step.after)).toBe('SUSPENDED.idle');
    expect(settlementsOf(step).map(({ command, error }) => [command, error])).toEqual([['SUSPEND', null]]);
  });

  test('STATE-7 a resume ends in RUNNING, delivers nothing again and counts nothing again', () => {
    const path = [
      ...suspended,
      'RESUME, in time',
      'resume succeeds, in time',
      'awaitResumed succeeds and says RUNNING, in time',
    ];
    const steps = story(path);
    expect(substateOf(steps.at(-1)!.after)).toBe('RUNNING.idle');
    expect(steps.at(-1)!.after.context.bootstrapCount).toBe(1);
    expect(steps.flatMap(calls).filter((src) => src === 'launch').length).toBe(1);
  });

  test("STATE-8 the proxy token of before is dropped with a resume, ours or the platform's", () => {
    const dropped = (step: SandboxStep) =>
      step.effects.emitted.filter(({ type }) => type === 'PROXY_TOKEN_DROPPED').length;
    expect(
      dropped(
        last([
          ...suspended,
          'RESUME, in time',
          'resume succeeds, in time',
          'awaitResumed succeeds and says RUNNING, in time',
        ]),
      ),
    ).toBe(1);
    expect(dropped(last([...suspended, 'reported RUNNING, in time']))).toBe(1);
    expect(dropped(last(running))).toBe(0);
  });

  test('STATE-9 a terminate is on record before its call goes out', () => {
    for (const path of [launched, running, suspended]) {
      const step = last([...path, 'TERMINATE, in time']);
      expect([answer(step), calls(step)]).toEqual(['accepted', ['terminate']]);
      expect(substateOf(step.after)).toBe('TERMINATING.calling');
      expect(step.after.context.wasTerminated).toBe(true);
    }
  });

  test('STATE-10 a terminating VM that is reported terminated, or is gone, is terminated', () => {
    const path = [...running, 'TERMINATE, in time', 'terminate succeeds, in time'];
    for (const report of ['reported TERMINATED, in time', 'reported gone, in time']) {
      expect(substateOf(last([...path, report]).after)).toBe('TERMINATED');
    }
  });

  test('STATE-11 after a terminate nothing is resumed, and no report of RUNNING brings it back', () => {
    const ended = [...suspended, 'TERMINATE, in time'];
    const resume = last([...ended, 'RESUME, in time']);
    expect([answer(resume), calls(resume)]).toEqual(['refused STATE-11', []]);
    expect(substateOf(last([...ended, 'reported RUNNING, in time']).after)).toBe('TERMINATING.calling');
  });

  test('STATE-11 a resume that completes after a terminate is too late', () => {
    const [resuming] = story([...suspended, 'RESUME, in time', 'resume succeeds, in time']).slice(-1);
    const terminating = story(['TERMINATE, in time'], resuming!.after).at(-1)!.after;
    const late = system
      .actions(terminating)
      .filter(({ label }) => label.startsWith('late: awaitResumed of an operation that is over'));
    expect(late.length).toBe(1);
    expect(substateOf(system.step(terminating, late[0]!).after)).toBe('TERMINATING.calling');
  });

  test('STATE-12 a resume at the last instant of the window goes out, one past it is refused and sends nothing', () => {
    const open = last([...suspended, 'RESUME, at the last instant']);
    expect([answer(open), calls(open)]).toEqual(['accepted', ['resume']]);
    const closed = last([...suspended, 'RESUME, too late']);
    expect([answer(closed), calls(closed)]).toEqual(['refused STATE-12', []]);
  });

  test('STATE-12 a resume that waited for the suspend is judged when it is carried out', () => {
    const waiting = [...running, 'SUSPEND, in time', 'suspend succeeds, in time', 'RESUME, in time'];
    const step = last([...waiting, 'awaitSuspended succeeds and says SUSPENDED, too late']);
    expect(calls(step)).toEqual([]);
    expect(settlementsOf(step).map(({ command, error }) => [command, error?.requirement ?? null])).toEqual([
      ['SUSPEND', null],
      ['RESUME', 'STATE-12'],
    ]);
  });
});

describe('the effects of the environment, each as a story', () => {
  const place = (labels: readonly string[]) => substateOf(last(labels).after);

  test('ENV-1 the VM is found running: traffic woke it', () => {
    expect(place([...suspended, 'reported RUNNING, in time'])).toBe('RUNNING.idle');
  });

  test('ENV-2 the idle policy suspends the VM', () => {
    expect(place([...running, 'reported SUSPENDING, in time'])).toBe('SUSPENDING.unsettled');
  });

  test('ENV-3 the VM is found suspended, and the window is counted from then on', () => {
    const { after } = last([...running, 'reported SUSPENDED, in time']);
    expect(substateOf(after)).toBe('SUSPENDED.idle');
    expect(after.context).toMatchObject({ cause: 'platform' });
    expect(after.context.suspendedAt).not.toBeNull();
  });

  test('ENV-4 the platform ends the VM', () => {
    expect(place([...running, 'reported TERMINATING, in time'])).toBe('TERMINATING.accepted');
  });

  test('ENV-5 the VM is gone', () => {
    expect(place([...running, 'reported gone, in time'])).toBe('TERMINATED');
  });

  test('EXT-1 a terminate is taken while the VM suspends', () => {
    expect(place([...suspended.slice(0, -1), 'TERMINATE, in time'])).toBe('TERMINATING.calling');
  });

  test('EXT-2 a VM that dies while it is being suspended ends the suspend without an error', () => {
    const step = last([...suspended.slice(0, -1), 'awaitSuspended is gone, in time']);
    expect(substateOf(step.after)).toBe('TERMINATED');
    expect(settlementsOf(step).map(({ command, error }) => [command, error])).toEqual([['SUSPEND', null]]);
    expect(specStateOf(step.after)).toMatchObject({ was_terminated: 1 });
  });
});
