import { describe, expect, test } from '@jest/globals';
import { bench, send } from './bench.ts';
import type { Bench } from './bench.ts';

const base = 'arn:aws:lambda:us-east-1:aws:microvm-image:al2023-1';
const required = {
  baseImageArn: base,
  buildRoleArn: 'arn:aws:iam::123456789012:role/build',
  codeArtifact: { uri: 's3://bucket/key.zip' },
};
const arnOf = (name: string) => `arn:aws:lambda:us-east-1:123456789012:microvm-image:${name}`;
const label = encodeURIComponent;

const create = (on: Bench, name: string, more: object = {}) =>
  on.call('POST', '/microvm-images', { name, ...required, ...more });
const image = (on: Bench, name: string) => on.call('GET', `/microvm-images/${label(arnOf(name))}`);
const version = (on: Bench, name: string, number: string) =>
  on.call('GET', `/microvm-images/${label(arnOf(name))}/versions/${number}`);
const builds = (on: Bench, name: string, number: string) =>
  on.call('GET', `/microvm-images/${label(arnOf(name))}/versions/${number}/builds`);

async function created(on: Bench, name: string, more: object = {}): Promise<string> {
  expect((await create(on, name, more)).status).toBe(201);
  await on.emulator.advance(1000);
  return arnOf(name);
}

describe('builds', () => {
  test('go from CREATING to CREATED, with two builds, each of whose states can be seen', async () => {
    await using on = await bench();
    const answer = await create(on, 'mine', { tags: { a: 'b' } });
    expect(answer).toMatchObject({
      status: 201,
      json: {
        imageArn: arnOf('mine'),
        state: 'CREATING',
        imageVersion: '1.0',
        tags: null,
        baseImageVersion: '1.0',
        resources: [{ minimumMemoryInMiB: 2048 }],
        latestActiveImageVersion: null,
      },
    });
    expect((await builds(on, 'mine', '1')).json.items).toMatchObject([
      { chipsetGeneration: '4', buildState: 'PENDING', stateReason: null },
      { chipsetGeneration: '3', buildState: 'PENDING', stateReason: null },
    ]);
    await on.emulator.advance(50);
    expect((await version(on, 'mine', '1.0')).json).toMatchObject({ state: 'IN_PROGRESS', status: 'INACTIVE' });
    await on.emulator.advance(50);
    expect((await version(on, 'mine', '1.0')).json).toMatchObject({ state: 'SUCCESSFUL', status: 'ACTIVE' });
    expect((await image(on, 'mine')).json).toMatchObject({
      state: 'CREATED',
      latestActiveImageVersion: '1.0',
      latestFailedImageVersion: null,
      tags: { a: 'b' },
    });
    const { buildId } = (await builds(on, 'mine', '1.0')).json.items[0];
    const build = await on.call(
      'GET',
      `/microvm-images/${label(arnOf('mine'))}/versions/1.0/builds/${buildId as string}`,
    );
    expect(Object.keys(build.json.snapshotBuild).sort()).toEqual([
      'codeInstallSizeInBytes',
      'diskSnapshotSizeInBytes',
      'memorySnapshotSizeInBytes',
    ]);
    await on.run({ imageIdentifier: arnOf('mine') });
  });

  test.each([
    ['container', 'The container image build failed.', null],
    ['ready-timeout', 'Ready hook invocation timed out after PT5M', ['codeInstallSizeInBytes']],
    [
      'ready-4xx',
      'Ready hook check failed: the application returned a client error (HTTP 4xx) response',
      ['codeInstallSizeInBytes'],
    ],
    [
      'ready-5xx',
      'Ready hook check failed: the application returned a server error (HTTP 5xx) response',
      ['codeInstallSizeInBytes'],
    ],
    ['validate-timeout', 'Validate hook invocation timed out after PT10M', ['codeInstallSizeInBytes']],
  ] as const)('a failure by %s shows in the builds only', async (failure, reason, measured) => {
    await using on = await bench();
    on.emulator.builds.failNext(failure);
    const hooks = {
      microvmImageHooks: {
        ready: 'ENABLED',
        readyTimeoutInSeconds: 300,
        validate: 'ENABLED',
        validateTimeoutInSeconds: 600,
      },
    };
    await created(on, 'mine', { hooks });
    const read = await image(on, 'mine');
    expect(read.json).toMatchObject({ state: 'CREATE_FAILED', latestFailedImageVersion: '1.0' });
    expect(read.json).not.toHaveProperty('stateReason');
    expect((await version(on, 'mine', '1.0')).json).toMatchObject({
      state: 'FAILED',
      status: 'INACTIVE',
      stateReason: null,
    });
    const { items } = (await builds(on, 'mine', '1.0')).json;
    expect(items).toMatchObject([
      { buildState: 'FAILED', stateReason: reason },
      { buildState: 'FAILED', stateReason: reason },
    ]);
    const build = await on.call(
      'GET',
      `/microvm-images/${label(arnOf('mine'))}/versions/1.0/builds/${items[0].buildId as string}`,
    );
    expect(build.json.snapshotBuild === null ? null : Object.keys(build.json.snapshotBuild)).toEqual(measured);
    expect(await on.call('POST', '/microvms', { imageIdentifier: arnOf('mine') })).toMatchObject({
      status: 404,
      json: { message: `No active version found for MicroVM image ${arnOf('mine')}` },
    });
  });

  test('one generation alone can fail, and the version with it', async () => {
    await using on = await bench();
    on.emulator.builds.failNext('container', { chipsetGeneration: '3' });
    await created(on, 'mine');
    expect((await builds(on, 'mine', '1.0')).json.items).toMatchObject([
      { chipsetGeneration: '4', buildState: 'SUCCESSFUL' },
      { chipsetGeneration: '3', buildState: 'FAILED' },
    ]);
    expect((await image(on, 'mine')).json.state).toBe('CREATE_FAILED');
  });

  test('an update that fails leaves the older version to launch', async () => {
    await using on = await bench();
    const arn = await created(on, 'mine');
    on.emulator.builds.failNext('container');
    const update = await on.call('PUT', `/microvm-images/${label(arn)}`, required);
    expect(update.json).toMatchObject({ state: 'UPDATING', imageVersion: '2.0' });
    expect(update.json).not.toHaveProperty('tags');
    expect(await on.call('PUT', `/microvm-images/${label(arn)}`, required)).toMatchObject({
      status: 409,
      json: { message: 'MicroVM Image is already in state: UPDATING' },
    });
    await on.emulator.advance(1000);
    expect((await image(on, 'mine')).json).toMatchObject({
      state: 'UPDATE_FAILED',
      latestActiveImageVersion: '1.0',
      latestFailedImageVersion: '2.0',
    });
    const id = await on.run({ imageIdentifier: arn });
    expect((await on.get(id)).json.imageVersion).toBe('1.0');
  });

  test('FC-020 by option a create that is replayed after the deletion hangs, and frees the name after 15 hours', async () => {
    await using on = await bench({ unverified: { replayedImageTokenWedges: true } });
    const arn = await created(on, 'mine', { clientToken: 'stable' });
    await on.call('DELETE', `/microvm-images/${label(arn)}`);
    await on.emulator.advance(1000);
    expect((await create(on, 'mine', { clientToken: 'stable' })).json.state).toBe('CREATING');
    await on.emulator.advance(3_600_000);
    expect((await image(on, 'mine')).json.state).toBe('CREATING');
    expect((await builds(on, 'mine', '1.0')).json.items).toMatchObject([
      { buildState: 'PENDING' },
      { buildState: 'PENDING' },
    ]);
    expect(await on.call('DELETE', `/microvm-images/${label(arn)}`)).toMatchObject({
      status: 400,
      json: { message: `Cannot delete MicroVM image in its current state: ${arn}` },
    });
    await on.emulator.advance(15 * 3_600_000);
    expect((await image(on, 'mine')).status).toBe(404);
  });

  test('a create with the same token is the same image', async () => {
    await using on = await bench();
    await create(on, 'mine', { clientToken: 't' });
    expect(await create(on, 'mine', { clientToken: 't' })).toMatchObject({
      status: 201,
      json: { imageVersion: '1.0' },
    });
    expect((await create(on, 'mine', { clientToken: 't', description: 'other' })).status).toBe(409);
    expect((await on.call('GET', '/microvm-images')).json.items).toHaveLength(2);
  });
});

describe('what CreateMicrovmImage refuses', () => {
  const missing = (member: string) => `Value null at '${member}' failed to satisfy constraint: Member must not be null`;

  test.each<[string, object, string]>([
    [
      'missing members, all in one message',
      { baseImageArn: null, codeArtifact: null, buildRoleArn: null },
      `3 validation errors detected: ${['baseImageArn', 'codeArtifact', 'buildRoleArn'].map(missing).join('; ')}`,
    ],
    [
      'a bad name',
      { name: 'a b' },
      "1 validation error detected: Value 'a b' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9-_]+",
    ],
    [
      'a name that is taken',
      { name: 'agentd' },
      "A MicroVM image with the name 'agentd' already exists in this account",
    ],
    [
      'an unknown base version',
      { baseImageVersion: '9' },
      `No managed MicroVM Image with arn ${base} and version 9 is available`,
    ],
    [
      'a memory size',
      { resources: [{ minimumMemoryInMiB: 3072 }] },
      `The requested memory size of 3072 MiB is not supported by base MicroVM image ${base}. Supported memory sizes in MiB are: [512, 1024, 2048, 4096, 8192].`,
    ],
    [
      'an artifact that is no S3 object',
      { codeArtifact: { uri: '123456789012.dkr.ecr.us-east-1.amazonaws.com/x' } },
      'CodeArtifact URI must be a valid S3 URI in the format: s3://<bucket>/<key>',
    ],
    [
      'a reserved variable',
      { environmentVariables: { AWS_REGION: 'x' } },
      "Environment variable key 'AWS_REGION' is reserved",
    ],
  ])('%s', async (_, change, message) => {
    await using on = await bench();
    expect(await create(on, 'mine', change)).toMatchObject({
      status: 400,
      error: 'ValidationException',
      json: { message },
    });
    expect((await on.call('GET', '/microvm-images')).json.items).toHaveLength(1);
  });

  test('a runtime hook without the ready hook', async () => {
    await using on = await bench();
    const reply = await create(on, 'mine', { hooks: { port: 9000, microvmHooks: { run: 'ENABLED' } } });
    expect(reply.json.message).toMatch(/^The ready \(\/ready\) MicroVM image hook must be enabled/);
  });

  test('more builds at once, or more images, than the quota', async () => {
    await using on = await bench({ limits: { concurrentBuilds: 1, images: 3 } });
    await create(on, 'one');
    expect(await create(on, 'two')).toMatchObject({ status: 402, error: 'ServiceQuotaExceededException' });
    await on.emulator.advance(1000);
    expect((await create(on, 'two')).status).toBe(201);
    await on.emulator.advance(1000);
    expect((await create(on, 'three')).status).toBe(402);
  });
});

describe('retiring and deleting', () => {
  test('FC-011 an INACTIVE version blocks launches, pinned or not, and running VMs stay', async () => {
    await using on = await bench();
    const arn = await created(on, 'mine');
    const id = await on.runToRunning({ imageIdentifier: arn });
    const retired = await on.call('PATCH', `/microvm-images/${label(arn)}/versions/1.0`, { status: 'INACTIVE' });
    expect(retired.json).toMatchObject({ status: 'INACTIVE', state: 'SUCCESSFUL' });
    const launch = (more: object) => on.call('POST', '/microvms', { imageIdentifier: arn, ...more });
    expect(await launch({})).toMatchObject({
      status: 404,
      json: { message: `No active version found for MicroVM image ${arn}` },
    });
    expect((await launch({ imageVersion: '1.0' })).json.message).toMatch(/ and version 1\.0$/);
    expect(await on.state(id)).toBe('RUNNING');
    await on.call('PATCH', `/microvm-images/${label(arn)}/versions/1.0`, { status: 'ACTIVE' });
    expect((await launch({})).status).toBe(200);
    expect((await on.call('PATCH', `/microvm-images/${label(arn)}/versions/1.0`, { status: 'GONE' })).status).toBe(400);
  });

  test('FC-017 an unpinned launch takes the newest active version; VMs keep theirs', async () => {
    await using on = await bench();
    const arn = await created(on, 'mine');
    const old = await on.run({ imageIdentifier: arn });
    await on.call('PUT', `/microvm-images/${label(arn)}`, required);
    await on.emulator.advance(1000);
    const fresh = await on.run({ imageIdentifier: arn });
    const pinned = await on.run({ imageIdentifier: arn, imageVersion: '1.0' });
    const versions = await Promise.all(
      [old, fresh, pinned].map(async (id) => (await on.get(id)).json.imageVersion as string),
    );
    expect(versions).toEqual(['1.0', '2.0', '1.0']);
  });

  test('a version goes over UPDATING; the last one, and one in use, stay', async () => {
    await using on = await bench();
    const arn = await created(on, 'mine');
    const remove = (number: string) => on.call('DELETE', `/microvm-images/${label(arn)}/versions/${number}`);
    expect((await remove('1.0')).json.message).toBe('This is the last version. Please delete the entire image');
    await on.call('PUT', `/microvm-images/${label(arn)}`, required);
    await on.emulator.advance(1000);
    const id = await on.run({ imageIdentifier: arn, imageVersion: '1.0' });
    expect((await remove('1.0')).status).toBe(400);
    await on.terminate(id);
    await on.emulator.advance(1000);
    expect((await remove('1.0')).json).toMatchObject({ imageVersion: '1.0', state: 'DELETING' });
    expect((await image(on, 'mine')).json.state).toBe('UPDATING');
    expect((await remove('2.0')).json.message).toBe('MicroVM Image is already in state: UPDATING');
    await on.emulator.advance(1000);
    expect((await image(on, 'mine')).json.state).toBe('UPDATED');
    expect(await version(on, 'mine', '1.0')).toMatchObject({
      status: 404,
      json: { message: `MicroVMImage not found for MicroVMImage: ${arn}, Version: 1.0` },
    });
    await on.call('PUT', `/microvm-images/${label(arn)}`, required);
    await on.emulator.advance(1000);
    expect((await image(on, 'mine')).json.latestActiveImageVersion).toBe('3.0');
  });

  test('an image goes over DELETING, holds its name until then, and waits for its VMs', async () => {
    await using on = await bench();
    const arn = await created(on, 'mine');
    const remove = () => on.call('DELETE', `/microvm-images/${label(arn)}`);
    const id = await on.runToRunning({ imageIdentifier: arn });
    await on.terminate(id);
    expect((await remove()).json.message).toBe('Cannot delete microvm image with running microvms.');
    await on.emulator.advance(1000);
    expect((await remove()).json).toEqual({ imageIdentifier: arn, state: 'DELETING' });
    expect((await create(on, 'mine')).json.message).toMatch(/already exists/);
    await on.emulator.advance(1000);
    expect(await image(on, 'mine')).toMatchObject({
      status: 404,
      json: { message: `MicroVMImage not found for MicroVMImageID: ${arn}`, resourceId: null, resourceType: null },
    });
    expect((await remove()).status).toBe(404);
    expect((await create(on, 'mine')).status).toBe(201);
    expect((await remove()).json.message).toBe(`Cannot delete MicroVM image in its current state: ${arn}`);
  });
});

describe('reading', () => {
  test('FC-145 a bare name is a 400, an ARN with a slash a 403, one of another account a 403 with a capital', async () => {
    await using on = await bench();
    const read = (arn: string) => on.call('GET', `/microvm-images/${label(arn)}`);
    expect((await read('agentd')).json.message).toBe('Invalid ARN format: agentd');
    const slash = await read('arn:aws:lambda:us-east-1:123456789012:microvm-image/agentd');
    expect(slash).toMatchObject({ status: 403, error: 'AccessDeniedException' });
    expect(slash.json.message).toMatch(/not authorized to perform: lambda:GetMicrovmImage on resource: arn:/);
    const foreign = await read('arn:aws:lambda:us-east-1:999999999999:microvm-image:agentd');
    expect(foreign.json).toHaveProperty('Message');
    expect(
      (
        await on.call('POST', '/microvms', {
          imageIdentifier: 'arn:aws:lambda:us-east-1:123456789012:microvm-image/agentd',
        })
      ).status,
    ).toBe(403);
  });

  test('colons may come raw; an encoded slash stays in its label, a raw one is another route', async () => {
    await using on = await bench();
    expect((await on.call('GET', `/microvm-images/${on.emulator.imageArn}`)).status).toBe(200);
    expect((await on.call('GET', `/microvm-images/${on.emulator.imageArn}%2Fx`)).status).toBe(404);
    expect((await on.call('GET', `/microvm-images/${on.emulator.imageArn}%2Fx`)).json).not.toBeNull();
    const html = await on.call('GET', `/microvm-images/${on.emulator.imageArn}/x`);
    expect(html).toMatchObject({ status: 404, error: null, json: null });
    expect(html.headers['content-type']).toBe('text/html');
  });

  test('FC-107 the name filter comes after the page is cut, so that pages may be empty', async () => {
    await using on = await bench();
    for (const name of ['aa-1', 'bb-1', 'aa-2', 'bb-2', 'aa-3']) await created(on, name);
    const names: string[][] = [];
    for (let token: string | null = ''; token !== null;) {
      const more: string = token === '' ? '' : `&nextToken=${label(token)}`;
      const page = (await on.call('GET', `/microvm-images?nameFilter=aa&maxResults=1${more}`)).json;
      names.push(page.items.map(({ name }: { name: string }) => name));
      token = page.nextToken as string | null;
    }
    expect(names).toEqual([['aa-3'], [], ['aa-2'], [], ['aa-1'], []]);
  });

  test('the managed image has two versions, newest first', async () => {
    await using on = await bench();
    expect((await on.call('GET', '/managed-microvm-images')).json).toMatchObject({
      items: [{ imageArn: base }],
      nextToken: null,
    });
    const versions = await on.call('GET', `/managed-microvm-images/${label(base)}/versions`);
    expect(versions.json.items).toMatchObject([
      { imageVersion: '1', status: 'AVAILABLE' },
      { imageVersion: '0', status: 'AVAILABLE' },
    ]);
  });

  test('tags are merged, removed by key, and refused for VMs', async () => {
    await using on = await bench();
    const at = (arn: string, query = '') => `${on.emulator.endpoint}/2017-03-31/tags/${label(arn)}${query}`;
    const arn = on.emulator.imageArn;
    const post = await send(at(arn), { method: 'POST', body: JSON.stringify({ Tags: { a: '1', b: '2', c: '3' } }) });
    expect([post.status, post.text]).toEqual([204, '']);
    await send(at(arn), { method: 'POST', body: JSON.stringify({ Tags: { a: '9' } }) });
    expect((await send(at(arn, '?tagKeys=b&tagKeys=c&tagKeys=d'), { method: 'DELETE' })).status).toBe(204);
    expect((await send(at(arn))).json).toEqual({ Tags: { a: '9' } });
    const id = await on.run();
    expect((await send(at(id))).status).toBe(400);
  });
});
