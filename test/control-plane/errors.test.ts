import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { VmchartError, controlPlaneChannel, isDefinite, isGone } from 'vmchart/effects';
import type { ControlPlaneSend } from 'vmchart/effects';
import { staticCredentials } from 'vmchart/adapters';
import { imageArn, recordedPlane, refusal, vm } from './plane-recorder.ts';
import { errorOf } from '../helpers/error-of.ts';
import type { Answer } from './plane-recorder.ts';

const page = '<html><body>502 Bad Gateway</body></html>';

describe('how a refusal is read (client-behaviour 1.5)', () => {
  test.each<[string, Answer, string, string]>([
    ['402', refusal(402, 'ServiceQuotaExceededException', 'limit reached'), 'Platform', 'quota'],
    ['402 without a name', refusal(402, null, null), 'Platform', 'quota'],
    ['403 with text', refusal(403, 'AccessDeniedException', 'x is not authorized'), 'Credentials', 'access-denied'],
    ['404', refusal(404, 'ResourceNotFoundException', 'MicroVM not found: m'), 'Platform', 'not-found'],
    ['409', refusal(409, 'ConflictException'), 'Platform', 'conflict'],
    ['410', refusal(410, null), 'Platform', 'gone'],
    ['400 validation', refusal(400, 'ValidationException'), 'Platform', 'validation'],
    ['400 null message', refusal(400, null, null), 'Platform', 'unparsed-request'],
    ['418', refusal(418, null), 'Platform', 'unexpected-status'],
    ['301', refusal(301, null), 'Platform', 'unexpected-status'],
    ['expired session as 400', refusal(400, 'ExpiredTokenException'), 'Credentials', 'expired-credentials'],
    ['unknown key', refusal(403, 'UnrecognizedClientException'), 'Credentials', 'unknown-credentials'],
    ['wrong secret', refusal(403, 'InvalidSignatureException'), 'Credentials', 'bad-signature'],
    ['HTML 404 of a gateway', { status: 404, body: page }, 'Platform', 'gateway'],
  ])('%s is final after one send', async (_what, answer, kind, reason) => {
    const { plane, recorder } = recordedPlane({ GetMicrovm: [answer] });
    const error = await errorOf(plane.getMicrovm('m'));
    expect(error).toMatchObject({ kind, reason, wireKind: null, retryable: false, microvmId: 'm' });
    expect(recorder.calls).toHaveLength(1);
    expect(error.message).toContain('GetMicrovm');
    expect(error.message).toContain(String(error.status));
  });

  test.each<[string, Answer, string]>([
    ['429 without a name', refusal(429, null, null), 'throttled'],
    ['500', refusal(500, 'InternalServerException'), 'server-error'],
    ['500 without capacity', refusal(500, 'InsufficientCapacityException'), 'capacity'],
    ['503 with an empty body', { status: 503, body: '' }, 'server-error'],
    ['502 HTML', { status: 502, body: page }, 'gateway'],
    ['a lost answer', { lost: 'ECONNRESET' }, 'transport'],
  ])('%s is retryable, and retried five times', async (_what, answer, reason) => {
    const { plane, recorder } = recordedPlane({ GetMicrovm: [answer] });
    const error = await errorOf(plane.getMicrovm('m'));
    expect(error).toMatchObject({ kind: 'Retryable', reason, wireKind: null, retryable: true });
    expect(recorder.calls).toHaveLength(6);
  });

  test('the error keeps status, name, request id and what to try', async () => {
    const { plane } = recordedPlane({
      GetMicrovm: [
        {
          status: 402,
          body: { message: 'too much', quotaCode: 'L-1234' },
          headers: { 'x-amzn-errortype': 'ServiceQuotaExceededException:', 'x-amzn-requestid': 'req-7' },
        },
      ],
    });
    const error = await errorOf(plane.getMicrovm('m'));
    expect(error).toMatchObject({ status: 402, errorName: 'ServiceQuotaExceededException', requestId: 'req-7' });
    expect(error.message).toContain('L-1234');
    expect(error.suggestions.length).toBeGreaterThan(0);
  });

  test('says that the service said nothing', async () => {
    const { plane } = recordedPlane({ GetMicrovm: [{ status: 404, body: '' }] });
    expect((await errorOf(plane.getMicrovm('m'))).message).toContain('said nothing');
  });
});

describe('CTL-01 FC-110 a throttle that comes as 400', () => {
  test.each<[string, Answer]>([
    ['by header', { status: 400, body: {}, headers: { 'x-amzn-errortype': 'ThrottlingException:http://x/' } }],
    [
      'by header with a namespace',
      { status: 400, body: {}, headers: { 'x-amzn-errortype': 'com.x#ThrottlingException' } },
    ],
    ['by __type', { status: 400, body: { __type: 'com.x#ThrottlingException' } }],
    ['by code', { status: 400, body: { code: 'ThrottlingException', message: 'slow' } }],
    ['of the tag service', { status: 429, body: {}, headers: { 'x-amzn-errortype': 'TooManyRequestsException' } }],
  ])('%s is retried', async (_how, throttle) => {
    const { plane, recorder } = recordedPlane({ GetMicrovm: [throttle, { body: vm('RUNNING') }] });
    expect((await plane.getMicrovm('m')).state).toBe('RUNNING');
    expect(recorder.calls).toHaveLength(2);
  });

  test('a 400 that names a validation is final, even when its body mentions throttling', async () => {
    const { plane, recorder } = recordedPlane({
      GetMicrovm: [
        {
          status: 400,
          body: { __type: 'ThrottlingException', message: 'no' },
          headers: { 'x-amzn-errortype': 'ValidationException' },
        },
      ],
    });
    expect(await errorOf(plane.getMicrovm('m'))).toMatchObject({ kind: 'Platform', reason: 'validation' });
    expect(recorder.calls).toHaveLength(1);
  });
});

test('FC-011 a 404 from a launch is about the image, never about a VM', async () => {
  const said = 'No active version found for MicroVM image arn:x';
  const { plane, recorder } = recordedPlane({ RunMicrovm: [refusal(404, 'ResourceNotFoundException', said)] });
  const error = await errorOf(plane.runMicrovm({ imageIdentifier: imageArn }));
  expect(error).toMatchObject({ kind: 'Platform', reason: 'image-not-launchable' });
  expect(error.message).toContain(said);
  expect(isGone(error)).toBe(false);
  expect(recorder.calls).toHaveLength(1);
});

test('FC-041 404 and 410 both mean gone, an HTML 404 does not', async () => {
  const verdicts = [refusal(404, 'ResourceNotFoundException'), refusal(410, null), { status: 404, body: page }].map(
    async (answer) => isGone(await errorOf(recordedPlane({ ResumeMicrovm: [answer] }).plane.resumeMicrovm('m'))),
  );
  expect(await Promise.all(verdicts)).toEqual([true, true, false]);
});

describe('FC-112 a region without MicroVMs', () => {
  test('is refused before any call, and can be allowed', async () => {
    expect(() => recordedPlane({}, { ports: { region: 'mars-1' } })).toThrow(
      expect.objectContaining({ kind: 'InvalidArg', reason: 'unsupported-region' }),
    );
    expect(() => recordedPlane({}, { ports: { region: 'mars-1' } })).toThrow(/mars-1.*AccessDeniedException.*null/);
    const { plane, recorder } = recordedPlane(
      { GetMicrovm: [{ body: vm('RUNNING') }] },
      { ports: { region: 'mars-1' }, unlistedRegion: true },
    );
    await plane.getMicrovm('m');
    expect(recorder.calls).toHaveLength(1);
  });

  test.each(['US-EAST-1', ' us-east-1', 'us-east-1 ', '', 'evil.example/#'])('%j is not on the list', (region) => {
    expect(() => recordedPlane({}, { ports: { region } })).toThrow(VmchartError);
  });

  test('the override does not take what cannot be a host name', () => {
    expect(() => recordedPlane({}, { ports: { region: 'evil.example/#' }, unlistedRegion: true })).toThrow(
      VmchartError,
    );
  });

  test.each([null, ''])('a 403 whose message is %j hints at the region first', async (message) => {
    const { plane, recorder } = recordedPlane({ GetMicrovm: [refusal(403, 'AccessDeniedException', message)] });
    const error = await errorOf(plane.getMicrovm('m'));
    expect(error).toMatchObject({ kind: 'Credentials', reason: 'access-denied' });
    expect(error.message).toContain('check the region before the policy');
    expect(error.suggestions[0]).toContain('region');
    expect(recorder.calls).toHaveLength(1);
  });
});

describe('FC-113 a page where JSON belongs', () => {
  test('a 502 page is retried and never a parse error', async () => {
    const { plane, recorder } = recordedPlane({ GetMicrovm: [{ status: 502, body: page }, { body: vm('RUNNING') }] });
    expect((await plane.getMicrovm('m')).state).toBe('RUNNING');
    expect(recorder.calls).toHaveLength(2);
  });

  test('a 502 page that stays is a gateway error with a short snippet', async () => {
    const { plane } = recordedPlane({ SuspendMicrovm: [{ status: 502, body: `<html>${'x'.repeat(5_000)}` }] });
    const error = await errorOf(plane.suspendMicrovm('m'));
    expect(error).toMatchObject({ kind: 'Retryable', reason: 'gateway', status: 502 });
    expect(error.message).toMatch(/<html>x+/);
    expect(error.message.length).toBeLessThan(400);
  });

  test.each(['GetMicrovm', 'SuspendMicrovm'])(
    'a 200 page in answer to %s is an unexpected response',
    async (operation) => {
      const { plane, recorder } = recordedPlane({ [operation]: [{ body: page }] });
      const work = operation === 'GetMicrovm' ? plane.getMicrovm('m') : plane.suspendMicrovm('m');
      const error = await errorOf(work);
      expect(error).toMatchObject({ kind: 'Platform', reason: 'unexpected-response', status: 200 });
      expect(isDefinite(error)).toBe(false);
      expect(recorder.calls).toHaveLength(1);
    },
  );
});

describe('whether the service surely did nothing', () => {
  const judge = async (answers: readonly Answer[]) =>
    isDefinite(await errorOf(recordedPlane({ SuspendMicrovm: answers }).plane.suspendMicrovm('m')));

  test.each<[string, readonly Answer[], boolean]>([
    ['a refusal', [refusal(409, 'ConflictException')], true],
    ['a throttle to the end', [refusal(429, null)], true],
    ['a connection that never stood', [{ lost: 'refused', reason: 'connect' }], true],
    ['a server error', [refusal(500, null)], false],
    ['a lost answer', [{ lost: 'reset' }], false],
    ['a time limit', [{ lost: 'late', reason: 'timeout' }], false],
    ['a refusal after a lost answer', [{ lost: 'reset' }, refusal(409, 'ConflictException')], false],
    ['a refusal after a throttle', [refusal(429, null), refusal(409, 'ConflictException')], true],
    ['a refusal after a server error', [refusal(503, null), refusal(404, 'ResourceNotFoundException')], false],
  ])('%s', async (_what, answers, definite) => {
    expect(await judge(answers)).toBe(definite);
  });

  test('a local refusal is definite, a bug and an abort are not', async () => {
    expect(isDefinite(await errorOf(recordedPlane().plane.getMicrovm('')))).toBe(true);
    expect(isDefinite(new VmchartError('Unexpected', 'a bug'))).toBe(false);
    expect(isDefinite(new DOMException('stopped', 'AbortError'))).toBe(false);
  });
});

test('every send can be watched, without a secret', async () => {
  const seen: ControlPlaneSend[] = [];
  const watch = (message: unknown) => void seen.push(message as ControlPlaneSend);
  subscribe(controlPlaneChannel, watch);
  try {
    const answer = { body: vm('PENDING'), headers: { 'x-amzn-requestid': 'req-1' } };
    const { plane } = recordedPlane({ RunMicrovm: [{ lost: 'reset' }, refusal(500, null), answer] });
    await plane.runMicrovm({ imageIdentifier: imageArn, runHookPayload: 'marker-payload' });
  } finally {
    unsubscribe(controlPlaneChannel, watch);
  }
  expect(seen).toMatchObject([
    {
      operation: 'RunMicrovm',
      method: 'POST',
      path: '/2025-09-09/microvms',
      status: null,
      error: { reason: 'transport' },
    },
    { status: 500, error: { kind: 'Retryable' } },
    { status: 200, requestId: 'req-1', error: null },
  ]);
  expect(JSON.stringify(seen)).not.toContain('marker');
});

test('a client shows no secret when it is printed', () => {
  const { plane } = recordedPlane(
    {},
    { ports: { credentials: staticCredentials({ accessKeyId: 'marker', secretAccessKey: 'marker' }) } },
  );
  expect(inspect(plane, { depth: 9, showHidden: true })).not.toContain('marker');
});

test('nothing secret is echoed, whatever the service says', async () => {
  const payload = JSON.stringify({ agent_token: 'token-marker-1234', env: { KEY: 'env-marker-5678' } });
  const echo = `Value '${payload}' is bad: ${JSON.stringify(payload)} token-marker-1234 env-marker-5678`;
  for (const answer of [refusal(400, 'ValidationException', echo), { status: 503, body: `<p>${echo}</p>` }]) {
    const { plane } = recordedPlane({ RunMicrovm: [answer] });
    const error = await errorOf(plane.runMicrovm({ imageIdentifier: imageArn, runHookPayload: payload }));
    const shown = `${error.message} ${error.stack} ${inspect(error, { depth: 9, showHidden: true })} ${JSON.stringify(error)}`;
    expect(shown).not.toMatch(/marker/);
    expect(shown).toContain('[redacted]');
  }
});
