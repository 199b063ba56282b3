/** `vmchart demo` and `vmchart run` on real emulated VMs. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { startEmulator } from '../../adapters/emulator/index.ts';
import type { Emulator } from '../../adapters/emulator/index.ts';
import { failureOf } from '../../adapters/cli/life/conclude.ts';
import { VmchartError } from '../../effects/index.ts';
import { HandSignals, cli, json } from './harness.ts';

// Real processes on a machine that may be busy.
jest.setTimeout(60_000);

const wholeLife = ['PENDING', 'RUNNING', 'SUSPENDING', 'SUSPENDED', 'RUNNING', 'TERMINATING', 'TERMINATED'];

describe('demo', () => {
  test('lives a whole life, and tells it as data', async () => {
    const { ok, type, data, exitCode } = await json(['demo', '--exec', 'echo out; echo err >&2']);
    expect({ ok, type, exitCode }).toEqual({ ok: true, type: 'demo', exitCode: 0 });
    expect(data?.['lifecycle']).toEqual(wholeLife);
    expect(data?.['exec']).toMatchObject({ exitCode: 0, stdout: 'out\n', stderr: 'err\n' });
    expect(data?.['teardown']).toMatchObject({ terminateAccepted: true, undeleted: [], failures: [] });
    expect(data?.['calls']).toMatchObject({ RunMicrovm: 1, SuspendMicrovm: 1, ResumeMicrovm: 1, TerminateMicrovm: 1 });
    const path = data?.['path'] as { atMs: number; cause: string | null }[];
    expect(path.map(({ atMs }) => atMs)).toEqual(path.map(({ atMs }) => atMs).toSorted((a, b) => a - b));
    expect(path.slice(1).map(({ cause }) => cause)).toEqual(Array.from({ length: 6 }, () => 'user'));
  });

  test('shows people the path, the output and the calls; a failing command ends with 13', async () => {
    const { code, stdout, stderr } = await cli(['demo', '--exec', 'echo seen; exit 7']);
    expect(code).toBe(13);
    for (const state of wholeLife) expect(stdout).toMatch(new RegExp(`^  ${state} `, 'm'));
    expect(stdout).toMatch(/^The command \(exit 7\)\n {2}\$ echo seen; exit 7\n {2}seen$/m);
    expect(stdout).toMatch(/^ {2}RunMicrovm +1$/m);
    for (const step of ['platform at', 'launched microvm-', 'suspended', 'what ran before goes on', 'ended microvm-']) {
      expect(stderr).toContain(step);
    }
  });
});

describe('run on the embedded platform', () => {
  test('hands the output through as it is and exits with 13 when the command fails', async () => {
    const line = String.raw`printf 'a\000b\377'; printf 'oops\n' >&2; exit 3`;
    const plain = await cli(['run', '-q', '--exec', line]);
    expect(plain.code).toBe(13);
    expect(plain.stdout).toBe('a\u0000b\uFFFD');
    expect(plain.stderr).toMatch(/^oops\nerror: The command exited with status 3\.\n/);
    const passed = await json(['run', '--exec-status', '--exec', line]);
    expect(passed).toMatchObject({ exitCode: 3, ok: false, error: { code: 'ERR_EXEC_FAILED', exitCode: 3 } });
    expect(passed.data).toMatchObject({
      platform: 'embedded',
      lifecycle: ['PENDING', 'RUNNING', 'TERMINATING', 'TERMINATED'],
      exec: { exitCode: 3, posixExitCode: 3, stderr: 'oops\n' },
      teardown: { undeleted: [] },
    });
  });

  test('without a command it launches and ends', async () => {
    const { code, stdout } = await cli(['run', '--suspended-sec', '0', '--max-duration-sec', '60']);
    expect([code, stdout]).toEqual([0, 'PENDING → RUNNING → TERMINATING → TERMINATED\n']);
  });

  test.each(['/nonexistent/x', '/dev/null/x', '/'])(
    'a recording that cannot be written to %s is refused before the launch',
    async (file) => {
      const { exitCode, error, data } = await json(['run', '--record', file, '--exec', 'echo hi']);
      expect({ exitCode, code: error?.code, data }).toEqual({ exitCode: 15, code: 'ERR_CONFIG', data: undefined });
      expect(error?.message).toMatch(new RegExp(`^${file} cannot be written \\(E[A-Z]+\\)\\.$`));
      const { stderr } = await cli(['run', '--record', file, '--exec', 'echo hi']);
      expect(stderr).not.toContain('launched');
    },
  );

  test('ends a command at its deadline', async () => {
    const { data, exitCode } = await json(['run', '--timeout', '0.5', '--exec-status', '--exec', 'sleep 600']);
    expect(exitCode).toBe(124);
    expect(data?.['exec']).toMatchObject({ timedOut: true, posixExitCode: 124 });
  });

  test('delivers variables from words, a file and this shell, and shows none of them', async () => {
    const { writeFile } = await import('node:fs/promises');
    const { withHome } = await import('./harness.ts');
    await withHome(async (home) => {
      await writeFile(`${home}/vars`, '# comment\nFROM_FILE=file-marker\n\nBOTH=lost\n');
      const words = ['run', '--vars-file', `${home}/vars`, '--env', 'BOTH=word', '--env', 'PASSED'];
      const line = 'test "$FROM_FILE" = file-marker && test "$BOTH" = word && test "$PASSED" = shell-marker';
      const ran = await cli([...words, '--json', '--exec', line], { environment: { PASSED: 'shell-marker' } });
      expect(ran.code).toBe(0);
      expect(ran.stderr).not.toMatch(/marker/);
      expect(JSON.parse(ran.stdout).data.exec).toMatchObject({ exitCode: 0 });
    });
  });

  test('an oversize environment is refused with its size and without its content', async () => {
    const { error, exitCode } = await json(['run', '--env', `BIG=${'s3cret'.repeat(800)}`]);
    expect(exitCode).toBe(2);
    expect(error?.message).toContain('ceiling of 4096');
    expect(error?.message).not.toContain('s3cret');
  });
});

test('AWS without credentials is the class 4, before any call', async () => {
  const image = 'arn:aws:lambda:us-east-1:123456789012:microvm-image:job';
  const nobody = { AWS_SHARED_CREDENTIALS_FILE: '/nonexistent', AWS_CONFIG_FILE: '/nonexistent' };
  const closed = { AWS_EC2_METADATA_DISABLED: 'true', HTTPS_PROXY: 'http://127.0.0.1:9' };
  const words = ['run', '--region', 'us-east-1', '--image', image, '--exec', 'true'];
  const { exitCode, error, data } = await json(words, { environment: { ...nobody, ...closed } });
  expect({ exitCode, code: error?.code }).toEqual({ exitCode: 4, code: 'ERR_CREDENTIALS' });
  expect(error?.suggestions.length).toBeGreaterThan(0);
  expect(data).toMatchObject({ platform: 'aws', microvmId: null, teardown: { undeleted: [] } });
});

describe('run on a running emulator', () => {
  let emulator: Emulator;
  let there: string[];

  beforeAll(async () => {
    emulator = await startEmulator({ launchDelayMs: 50 });
    there = ['--endpoint-url', emulator.endpoint];
  });

  afterAll(() => emulator.close());

  const alive = () => emulator.vms().filter(({ state }) => state !== 'TERMINATED');

  test('needs no credentials on this machine, and leaves no VM', async () => {
    const { data, exitCode } = await json(['run', ...there, '--exec', 'echo there']);
    expect(exitCode).toBe(0);
    expect(data).toMatchObject({ platform: 'emulator', region: 'us-east-1', exec: { stdout: 'there\n' } });
    expect(alive()).toEqual([]);
  });

  test('wrong credentials are the class 4, an unknown image is the class 12', async () => {
    const wrong = { AWS_ACCESS_KEY_ID: 'AKIAWRONG', AWS_SECRET_ACCESS_KEY: 'wrong-secret-marker' };
    const refused = await cli(['run', ...there], { environment: wrong });
    expect(refused.code).toBe(4);
    expect(refused.stdout + refused.stderr).not.toContain('wrong-secret-marker');
    const { exitCode, error } = await json(['run', ...there, '--image', 'nobody']);
    expect({ exitCode, kind: error?.kind }).toEqual({ exitCode: 12, kind: 'Precondition' });
  });

  test('an interrupt in mid-command ends the VM and exits with 11', async () => {
    const interrupts = new HandSignals();
    const launched = new Promise<void>((resolve) => {
      const off = emulator.events.on(({ to }) => {
        if (to === 'RUNNING') {
          off();
          resolve();
        }
      });
    });
    const running = json(['run', ...there, '--exec', 'sleep 600'], { interrupts });
    await launched;
    interrupts.interrupt();
    const { exitCode, error, data } = await running;
    expect(exitCode).toBe(11);
    expect(error).toMatchObject({ code: 'ERR_INTERRUPTED', message: 'Interrupted by SIGINT. The VM was ended.' });
    expect(data?.['teardown']).toMatchObject({ terminateAccepted: true, undeleted: [] });
    expect(alive()).toEqual([]);
  });

  test('a fault of our own in the background ends the VM as well, and is the class 1', async () => {
    const interrupts = new HandSignals();
    const running = json(['run', ...there, '--exec', 'sleep 600'], { interrupts });
    while (alive().length === 0) await turn();
    interrupts.stop(new Error('boom'));
    const { exitCode, error } = await running;
    expect({ exitCode, code: error?.code }).toEqual({ exitCode: 1, code: 'ERR_UNEXPECTED' });
    expect(error?.message).toContain('boom');
    expect(error?.suggestions.join()).toContain('VMCHART_DEBUG=1');
    expect(alive()).toEqual([]);
  });

  test('an interrupt while launching ends what the launch was about to give', async () => {
    const interrupts = new HandSignals();
    const asked = emulator.recorder.count('RunMicrovm');
    const running = json(['run', ...there, '--exec', 'sleep 600'], { interrupts });
    while (emulator.recorder.count('RunMicrovm') === asked) await turn();
    interrupts.interrupt();
    const { exitCode, data } = await running;
    expect(exitCode).toBe(11);
    expect(data?.['teardown']).toMatchObject({ terminateAccepted: true, undeleted: [] });
    expect(alive()).toEqual([]);
  });

  test('what could not be deleted is named, with the line that deletes it, after success and after an interrupt', async () => {
    emulator.faults.add({ operation: 'TerminateMicrovm', kind: 'access-denied', times: 2 });
    const { exitCode, error, data } = await json(['run', ...there, '--exec', 'true']);
    expect({ exitCode, kind: error?.kind }).toEqual({ exitCode: 9, kind: 'Platform' });
    const id = data?.['microvmId'] as string;
    expect(error?.message).toContain(`Not deleted: ${id}`);
    expect(error?.suggestions.join()).toContain(`terminate-microvm --region us-east-1 --microvm-identifier ${id}`);
    expect(data?.['teardown']).toMatchObject({ terminateAccepted: false, undeleted: [id] });

    const interrupts = new HandSignals();
    const running = json(['run', ...there, '--exec', 'sleep 600'], { interrupts });
    while (alive().length < 2) await turn();
    interrupts.interrupt();
    const ended = await running;
    expect(ended).toMatchObject({ exitCode: 11, error: { kind: 'Interrupted' } });
    expect(ended.error?.message).toContain(`Not deleted: ${String(ended.data?.['microvmId'])}`);
  });

  describe('when every RunMicrovm is answered with 500', () => {
    beforeEach(() => {
      emulator.faults.clear();
      emulator.faults.add({ operation: 'RunMicrovm', kind: 'internal', times: 999 });
    });
    afterEach(() => emulator.faults.clear());

    /** Starts a run, waits until its launch was tried, and interrupts it. */
    async function interrupted(words: readonly string[], times: number) {
      const asked = emulator.recorder.count('RunMicrovm');
      const interrupts = new HandSignals();
      const running = cli([...words, ...there, '--exec', 'true'], { interrupts });
      while (emulator.recorder.count('RunMicrovm') === asked) await turn();
      for (let sent = 0; sent < times; sent += 1) interrupts.interrupt();
      const startedAt = performance.now();
      const ran = await running;
      return { ...ran, tookMs: performance.now() - startedAt };
    }

    test('an unnamed run says that a VM may be there, its token once, and how to find it', async () => {
      const { code, stderr, tookMs } = await interrupted(['run'], 2);
      expect(code).toBe(11);
      // The first signal ends the launch, the second one the asking: neither is waited out.
      expect(tookMs).toBeLessThan(5_000);
      expect(stderr).toContain('asking what became of the launch; a second signal ends the wait');
      expect(stderr).toMatch(
        /error: Interrupted by SIGINT\. Whether RunMicrovm made a VM is unknown, and one may be running; the launch's client token is \S+\.\n/,
      );
      const [, token = ''] = /client token is (\S+)\.\n/.exec(stderr) ?? [];
      expect(token.length).toBeGreaterThan(8);
      expect(stderr.split(token)).toHaveLength(2);
      expect(stderr).toContain('list-microvms --region us-east-1');
      expect(stderr).not.toMatch(/terminate again|the same command again/);
    });

    test('without a signal the sentence is the same, and trying again is not what is suggested', () => {
      const refused = new VmchartError('Retryable', 'RunMicrovm was answered with 500.', { reason: 'throttled' });
      const ending = {
        failure: refused,
        execFailure: null,
        teardown: {
          terminateAccepted: false,
          lifecycle: 'TERMINATING' as const,
          undeleted: ['launch intent token-1'],
          failures: ['whether RunMicrovm made a VM is still unknown; the intent token-1 is kept: terminate again'],
        },
        data: {},
        region: 'eu-west-1',
        interrupts: new HandSignals(),
      };
      const unnamed = failureOf({ ...ending, unnamed: true });
      expect(unnamed?.message).toBe(
        "RunMicrovm was answered with 500. Whether RunMicrovm made a VM is unknown, and one may be running; the launch's client token is token-1.",
      );
      expect([unnamed?.kind, unnamed?.suggestions.length]).toEqual(['Retryable', 3]);
      expect(unnamed?.suggestions.join()).not.toContain('the same command again');
      expect(unnamed?.suggestions[0]).toContain('list-microvms --region eu-west-1');
      // A kept life can be terminated again by its name.
      expect(failureOf(ending)?.message).toContain('terminate again');
    });
  });

  test('a later interrupt hurries a teardown that gets no answer', async () => {
    emulator.faults.add({ operation: 'TerminateMicrovm', kind: 'delay', delayMs: 2_000 });
    const asked = emulator.recorder.count('TerminateMicrovm');
    const interrupts = new HandSignals();
    const running = json(['run', ...there], { interrupts });
    while (emulator.recorder.count('TerminateMicrovm') === asked) await turn();
    interrupts.interrupt();
    interrupts.interrupt();
    const { exitCode, data } = await running;
    expect(exitCode).toBe(11);
    expect(data?.['teardown']).toMatchObject({ undeleted: [data?.['microvmId']] });
  });
});

/** Lets the event loop turn once. */
async function turn(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}
