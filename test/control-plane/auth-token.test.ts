import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { recordedPlane, refusal } from './plane-recorder.ts';
import { errorOf } from '../helpers/error-of.ts';
import type { Answer } from './plane-recorder.ts';

const minted: Answer = { body: { authToken: { 'X-aws-proxy-auth': 'jwe-marker' } } };

const minter = (...answers: Answer[]) => {
  const { plane, recorder } = recordedPlane({ CreateMicrovmAuthToken: answers });
  return { minter: plane.minterFor('mvm-1'), recorder };
};

describe('minting a proxy token (client-behaviour 3.14)', () => {
  test('opens exactly the ports that were asked for, for an hour', async () => {
    const { minter: mint, recorder } = minter(minted);
    expect(await mint.mintForPorts([9000, 8080])).toEqual({ 'X-aws-proxy-auth': 'jwe-marker' });
    expect(recorder.calls[0]?.path).toBe('/2025-09-09/microvms/mvm-1/auth-token');
    expect(recorder.body(0)).toEqual({ allowedPorts: [{ port: 9000 }, { port: 8080 }], expirationInMinutes: 60 });
  });

  test.each(['x-aws-proxy-auth', 'X-AWS-PROXY-AUTH'])('takes the header as %s', async (name) => {
    const { minter: mint } = minter({ body: { authToken: { [name]: 'jwe' } } });
    expect(await mint.mintForPorts([9000])).toEqual({ [name]: 'jwe' });
  });

  test('PRX-04 a map without the header is AuthTokenMint and names the header', async () => {
    const { minter: mint } = minter({ body: { authToken: { other: 'marker' } } });
    const error = await errorOf(mint.mintForPorts([9000]));
    expect(error).toMatchObject({ wireKind: 'AuthTokenMint', kind: 'Retryable' });
    expect(error.message).toContain('x-aws-proxy-auth');
    expect(error.message).not.toContain('marker');
  });

  test('no ports is Precondition, port 0 is InvalidArg, both with zero calls', async () => {
    const { minter: mint, recorder } = minter(minted);
    expect(await errorOf(mint.mintForPorts([]))).toMatchObject({ kind: 'Precondition' });
    expect(await errorOf(mint.mintForPorts([0]))).toMatchObject({ kind: 'InvalidArg' });
    expect(recorder.calls).toEqual([]);
  });

  test('an answer that cannot be read is not shown: it may hold a token', async () => {
    for (const body of ['jwe-marker is not JSON', { authToken: ['jwe-marker'] }]) {
      const { minter: mint } = minter({ body });
      const error = await errorOf(mint.mintForPorts([9000]));
      expect(`${inspect(error, { depth: 9, showHidden: true })}${JSON.stringify(error)}`).not.toContain('marker');
    }
  });

  test('TRAP-11 a shell token is minted only by its own operation, without ports', async () => {
    const { plane, recorder } = recordedPlane({ CreateMicrovmShellAuthToken: [minted] });
    await plane.createMicrovmShellAuthToken('mvm-1', 5);
    expect(recorder.calls[0]?.path).toBe('/2025-09-09/microvms/mvm-1/shell-auth-token');
    expect(recorder.body(0)).toEqual({ expirationInMinutes: 5 });
  });
});

describe('FC-064 a mint that fails keeps its class', () => {
  test('403 is about the identity, after one send', async () => {
    const { minter: mint, recorder } = minter(refusal(403, 'AccessDeniedException', 'denied by policy'));
    const error = await errorOf(mint.mintForPorts([9000]));
    expect(error).toMatchObject({ kind: 'Credentials', wireKind: null, retryable: false });
    expect(error.message).toContain('denied by policy');
    expect(recorder.calls).toHaveLength(1);
  });

  test('429 is retried', async () => {
    const { minter: mint, recorder } = minter(refusal(429, 'ThrottlingException'), minted);
    await mint.mintForPorts([9000]);
    expect(recorder.calls).toHaveLength(2);
  });

  test.each([
    [refusal(409, 'ConflictException'), 'wrong-state'],
    [refusal(404, 'ResourceNotFoundException'), 'gone'],
  ])('a VM in no state for it is final', async (answer, reason) => {
    const { minter: mint, recorder } = minter(answer);
    expect(await errorOf(mint.mintForPorts([9000]))).toMatchObject({ kind: 'Platform', reason, retryable: false });
    expect(recorder.calls).toHaveLength(1);
  });

  test.each<[string, Answer, number]>([
    ['a server error', refusal(500, 'InternalServerException'), 6],
    ['a lost answer', { lost: 'reset' }, 6],
    ['a validation', refusal(400, 'ValidationException'), 1],
  ])('%s is AuthTokenMint and names the ports', async (_what, answer, sends) => {
    const { minter: mint, recorder } = minter(answer);
    const error = await errorOf(mint.mintForPorts([3000, 9000]));
    expect(error).toMatchObject({ wireKind: 'AuthTokenMint', kind: 'Retryable', retryable: true });
    expect(error.message).toContain('3000, 9000');
    expect(recorder.calls).toHaveLength(sends);
  });

  test('an abort rejects with its reason', async () => {
    const { minter: mint, recorder } = minter(minted);
    await expect(mint.mintForPorts([9000], AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
    expect(recorder.calls).toEqual([]);
  });
});
