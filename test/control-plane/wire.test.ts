import { describe, expect, test } from '@jest/globals';
import { imageArn, recordedPlane, vm } from './plane-recorder.ts';

const encodedArn = 'arn%3Aaws%3Alambda%3Aus-east-1%3A123456789012%3Amicrovm-image%3Amy-img';
const image = { imageArn, name: 'my-img', state: 'CREATED', createdAt: 1 };
const version = { imageArn, imageVersion: '1.0', state: 'SUCCESSFUL', status: 'ACTIVE' };
const build = { buildId: 'b-1', buildState: 'SUCCESSFUL' };

describe('what is sent', () => {
  test.each([
    ['GET', '/microvms/a%2Fb%281%29%21', 'GetMicrovm', (p: Plane) => p.getMicrovm('a/b(1)!')],
    ['POST', '/microvms/mvm-1/suspend', 'SuspendMicrovm', (p: Plane) => p.suspendMicrovm('mvm-1')],
    ['POST', '/microvms/mvm-1/resume', 'ResumeMicrovm', (p: Plane) => p.resumeMicrovm('mvm-1')],
    ['DELETE', '/microvms/mvm-1', 'TerminateMicrovm', (p: Plane) => p.terminateMicrovm('mvm-1')],
    ['GET', `/microvm-images/${encodedArn}`, 'GetMicrovmImage', (p: Plane) => p.getMicrovmImage(imageArn)],
    ['DELETE', `/microvm-images/${encodedArn}`, 'DeleteMicrovmImage', (p: Plane) => p.deleteMicrovmImage(imageArn)],
    [
      'GET',
      `/microvm-images/${encodedArn}/versions`,
      'ListMicrovmImageVersions',
      (p: Plane) => p.listMicrovmImageVersions(imageArn),
    ],
    [
      'GET',
      `/microvm-images/${encodedArn}/versions/1.0`,
      'GetMicrovmImageVersion',
      (p: Plane) => p.getMicrovmImageVersion(imageArn, '1.0'),
    ],
    [
      'DELETE',
      `/microvm-images/${encodedArn}/versions/1.0`,
      'DeleteMicrovmImageVersion',
      (p: Plane) => p.deleteMicrovmImageVersion(imageArn, '1.0'),
    ],
    [
      'GET',
      `/microvm-images/${encodedArn}/versions/1.0/builds`,
      'ListMicrovmImageBuilds',
      (p: Plane) => p.listMicrovmImageBuilds(imageArn, '1.0'),
    ],
    [
      'GET',
      `/microvm-images/${encodedArn}/versions/1.0/builds/b-1`,
      'GetMicrovmImageBuild',
      (p: Plane) => p.getMicrovmImageBuild(imageArn, '1.0', 'b-1'),
    ],
    ['GET', '/managed-microvm-images', 'ListManagedMicrovmImages', (p: Plane) => p.listManagedMicrovmImages()],
    [
      'GET',
      `/managed-microvm-images/${encodedArn}/versions`,
      'ListManagedMicrovmImageVersions',
      (p: Plane) => p.managedBaseVersions(imageArn),
    ],
    [
      'GET',
      '/microvm-images?nameFilter=my-img',
      'ListMicrovmImages',
      (p: Plane) => p.listMicrovmImages({ nameFilter: 'my-img' }),
    ],
  ])('%s %s has no body and no content type', async (method, path, operation, call) => {
    const bodies: Record<string, unknown> = {
      GetMicrovm: vm('RUNNING'),
      GetMicrovmImage: image,
      GetMicrovmImageVersion: version,
      GetMicrovmImageBuild: build,
    };
    const body = bodies[operation] ?? { items: [], nextToken: null };
    const { plane, recorder } = recordedPlane({ [operation]: [{ body }] });
    await call(plane);
    expect(recorder.calls).toMatchObject([{ operation, method, path: `/2025-09-09${path}`, body: null }]);
    expect(recorder.calls[0]?.headers).not.toHaveProperty('content-type');
  });

  test('FC-016 a resume carries nothing: no policy, no payload', async () => {
    const { plane, recorder } = recordedPlane({ ResumeMicrovm: [{}] });
    await plane.resumeMicrovm('mvm-1');
    expect(recorder.calls.map((call) => call.body)).toEqual([null]);
  });

  test('bodies are JSON with their type, members sorted, absent ones left out', async () => {
    const { plane, recorder } = recordedPlane({
      RunMicrovm: [{ body: vm('PENDING') }],
      CreateMicrovmAuthToken: [{ body: { authToken: { 'X-aws-proxy-auth': 'jwe' } } }],
      UpdateMicrovmImageVersion: [{ body: { ...version, status: 'INACTIVE' } }],
    });
    const idlePolicy = { suspendedDurationSeconds: 0, autoResumeEnabled: false, maxIdleDurationSeconds: 60 };
    await plane.runMicrovm(
      { runHookPayload: '{"b":1,"a":2}', imageIdentifier: imageArn, idlePolicy },
      { clientToken: 't' },
    );
    await plane.createMicrovmAuthToken('mvm-1', [9000, { range: { startPort: 1, endPort: 2 } }, { allPorts: {} }], 5);
    await plane.setMicrovmImageVersionStatus(imageArn, '1.0', 'INACTIVE');
    expect(recorder.calls.map((call) => call.body)).toEqual([
      `{"clientToken":"t","idlePolicy":{"autoResumeEnabled":false,"maxIdleDurationSeconds":60,"suspendedDurationSeconds":0},` +
        `"imageIdentifier":"${imageArn}","runHookPayload":"{\\"b\\":1,\\"a\\":2}"}`,
      '{"allowedPorts":[{"port":9000},{"range":{"endPort":2,"startPort":1}},{"allPorts":{}}],"expirationInMinutes":5}',
      '{"status":"INACTIVE"}',
    ]);
    expect(recorder.calls.every((call) => call.headers['content-type'] === 'application/json')).toBe(true);
  });

  test('FC-124 the same request gives the same bytes, in whatever order its members were written', async () => {
    const { plane, recorder } = recordedPlane({ RunMicrovm: [{ body: vm('PENDING') }] });
    const idlePolicy = { maxIdleDurationSeconds: 60, suspendedDurationSeconds: 0, autoResumeEnabled: false };
    const turned = { autoResumeEnabled: false, suspendedDurationSeconds: 0, maxIdleDurationSeconds: 60 };
    await plane.runMicrovm({ imageIdentifier: imageArn, idlePolicy }, { clientToken: 't1' });
    await plane.runMicrovm({ clientToken: 't1', idlePolicy: turned, imageIdentifier: imageArn });
    expect(recorder.calls[1]?.body).toBe(recorder.calls[0]?.body);
  });

  test('a path prefix of a custom endpoint stays in front', async () => {
    const { plane, recorder } = recordedPlane(
      { GetMicrovm: [{ body: vm('RUNNING') }] },
      { ports: { endpointUrl: 'http://127.0.0.1:9100/' } },
    );
    await plane.getMicrovm('m');
    expect(recorder.calls[0]?.path).toBe('/2025-09-09/microvms/m');
  });
});

describe('what is refused before it is sent', () => {
  test.each<[string, (p: Plane) => Promise<unknown>]>([
    ['an empty id', (p) => p.getMicrovm('')],
    ['an id of more than 256 characters', (p) => p.terminateMicrovm('m'.repeat(257))],
    ['an id that walks out of the collection', (p) => p.suspendMicrovm('..')],
    ['an id that stays where it is', (p) => p.resumeMicrovm('.')],
    ['half a surrogate pair', (p) => p.getMicrovm('\ud800')],
    ['an empty image', (p) => p.getMicrovmImage('')],
    ['an empty version', (p) => p.deleteMicrovmImageVersion(imageArn, '')],
    ['an empty build', (p) => p.getMicrovmImageBuild(imageArn, '1.0', '')],
    ['a port of 0', (p) => p.createMicrovmAuthToken('m', [0])],
    ['a port of 65536', (p) => p.createMicrovmAuthToken('m', [9000, 65_536])],
    [
      'a range that ends before it starts',
      (p) => p.createMicrovmAuthToken('m', [{ range: { startPort: 2, endPort: 1 } }]),
    ],
    ['a token of 61 minutes', (p) => p.createMicrovmAuthToken('m', [9000], 61)],
    ['a shell token of no minutes', (p) => p.createMicrovmShellAuthToken('m', 0)],
  ])('%s is InvalidArg with zero calls', async (_what, call) => {
    const { plane, recorder } = recordedPlane();
    await expect(call(plane)).rejects.toMatchObject({ kind: 'InvalidArg', code: 'ERR_INVALID_ARG', retryable: false });
    expect(recorder.calls).toEqual([]);
  });

  test('no ports at all is Precondition with zero calls', async () => {
    const { plane, recorder } = recordedPlane();
    await expect(plane.createMicrovmAuthToken('m', [])).rejects.toMatchObject({ kind: 'Precondition' });
    expect(recorder.calls).toEqual([]);
  });

  test('an aborted signal sends nothing and rejects with its reason', async () => {
    const { plane, recorder } = recordedPlane();
    const reason = new Error('no longer needed');
    await expect(plane.getMicrovm('m', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(recorder.calls).toEqual([]);
  });
});

type Plane = ReturnType<typeof recordedPlane>['plane'];
