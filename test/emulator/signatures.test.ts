import { createHmac, createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { makeSignatureCheck } from '../../adapters/emulator/control-plane/signatures.ts';
import { bench, send } from './bench.ts';

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const at = Date.UTC(2026, 8, 1);
const host = 'lambda.us-east-1.amazonaws.com';
const arn = 'arn%3Aaws%3Alambda%3Aus-east-1%3A123456789012%3Amicrovm-image%3Amy-img';

/** The vectors of FC-104 and FC-106, made by another implementation. */
const vectors: [string, string, string, Record<string, string>, string][] = [
  [
    'a path with colons',
    'GET',
    `/2025-09-09/microvm-images/${arn}`,
    {},
    '60e6d01508246f57ee1ac5d3a222501e66eb03c0591f5fb8288f105930d01f3f',
  ],
  [
    'a plain path',
    'GET',
    '/2025-09-09/microvms/microvm-a991cd0b-3321-3e2c-a982-d5c4db52b17a',
    {},
    '1b359333a89b0bfee8951432be1f7d97b3a0776a75c7b3960f72df5ea46411a6',
  ],
  [
    'a POST without a body',
    'POST',
    '/2025-09-09/microvms/microvm-1/suspend',
    {},
    '834ea034f2e904a108d79e831d763378f69faa29cffa19b77ed240466f44784a',
  ],
  [
    'FC-106 a query with a cursor',
    'GET',
    '/2025-09-09/microvms',
    { imageIdentifier: decodeURIComponent(arn), maxResults: '50', nextToken: 'abc-_d==' },
    '8e657d7864d667b389c46ceab71f270036de43a61b75fc407d1ae650d2453c6c',
  ],
];

function signed(method: string, rawPath: string, query: Record<string, string>, signature: string) {
  return {
    method,
    rawPath,
    query: new Map(Object.entries(query).map(([name, value]) => [name, [value]])),
    headers: {
      host,
      'x-amz-date': '20260901T000000Z',
      authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260901/us-east-1/lambda/aws4_request, SignedHeaders=host;x-amz-date, Signature=${signature}`,
    },
    body: Buffer.alloc(0),
  };
}

describe('the check of signatures', () => {
  test.each(vectors)(
    'FC-104 accepts %s as another implementation signs it',
    async (_, method, path, query, signature) => {
      const check = makeSignatureCheck(credentials, () => at);
      await expect(check(signed(method, path, query, signature))).resolves.toBeUndefined();
      const other = signature.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
      await expect(check(signed(method, path, query, other))).rejects.toMatchObject({
        name: 'InvalidSignatureException',
      });
      await expect(check(signed(method, `${path}x`, query, signature))).rejects.toMatchObject({
        name: 'InvalidSignatureException',
      });
      await expect(check(signed(method, path, { ...query, more: '1' }, signature))).rejects.toMatchObject({
        name: 'InvalidSignatureException',
      });
      await expect(check({ ...signed(method, path, query, signature), body: Buffer.from('x') })).rejects.toMatchObject({
        name: 'InvalidSignatureException',
      });
    },
  );

  test('the date may be off by a quarter of an hour, where the clock means anything', async () => {
    const [, method, path, query, signature] = vectors[1] ?? ['', '', '', {}, ''];
    const request = signed(method, path, query, signature);
    for (const offset of [-14, 14]) await makeSignatureCheck(credentials, () => at + offset * 60_000)(request);
    for (const offset of [-16, 16]) {
      const late = makeSignatureCheck(credentials, () => at + offset * 60_000)(request);
      await expect(late).rejects.toMatchObject({ name: 'InvalidSignatureException', status: 403 });
    }
    await makeSignatureCheck(credentials, null)(request);
  });
});

/** An independent little signer: exactly the algorithm's text, for requests without a query. */
function sign(secret: string, accessKeyId: string, method: string, path: string, body: string, service = 'lambda') {
  const date = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const day = date.slice(0, 8);
  const hash = (text: string) => createHash('sha256').update(text).digest('hex');
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
  const canonical = [
    method,
    path.split('/').map(encodeURIComponent).join('/'),
    '',
    'host:h',
    `x-amz-date:${date}`,
    '',
    'host;x-amz-date',
    hash(body),
  ].join('\n');
  const scope = `${day}/us-east-1/${service}/aws4_request`;
  const key = ['us-east-1', service, 'aws4_request'].reduce<Buffer>(
    (left, right) => hmac(left, right),
    hmac(`AWS4${secret}`, day),
  );
  const signature = hmac(key, ['AWS4-HMAC-SHA256', date, scope, hash(canonical)].join('\n')).toString('hex');
  return {
    host: 'h',
    'x-amz-date': date,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=host;x-amz-date, Signature=${signature}`,
  };
}

describe('the front door', () => {
  const path = '/2025-09-09/microvms';

  test('lets the known identity in and nobody else', async () => {
    await using on = await bench({ verifySignatures: true, clock: 'real' });
    const { accessKeyId, secretAccessKey } = on.emulator.credentials;
    const get = (headers: Record<string, string>, body = '') =>
      send(`${on.emulator.endpoint}${path}`, { headers, ...(body === '' ? {} : { method: 'POST', body }) });
    const good = sign(secretAccessKey, accessKeyId, 'GET', path, '');
    expect((await get(good)).status).toBe(200);
    const rows: [Record<string, string>, string][] = [
      [{}, 'MissingAuthenticationTokenException'],
      [{ authorization: 'Basic abc' }, 'IncompleteSignatureException'],
      [{ ...good, authorization: 'AWS4-HMAC-SHA256 Credential=x, Signature=' }, 'IncompleteSignatureException'],
      [sign(secretAccessKey, 'AKIASOMEBODYELSE', 'GET', path, ''), 'UnrecognizedClientException'],
      [sign('wrong', accessKeyId, 'GET', path, ''), 'InvalidSignatureException'],
      [sign(secretAccessKey, accessKeyId, 'GET', path, '', 's3'), 'InvalidSignatureException'],
      [{ ...good, 'x-amz-security-token': 'other' }, 'UnrecognizedClientException'],
      [{ ...good, 'x-amz-date': '20200101T000000Z' }, 'InvalidSignatureException'],
      [{ ...good, 'x-amz-content-sha256': 'abc' }, 'InvalidSignatureException'],
    ];
    for (const [headers, error] of rows) expect(await get(headers)).toMatchObject({ status: 403, error });
    const body = JSON.stringify({ imageIdentifier: on.emulator.imageArn });
    expect((await get(sign(secretAccessKey, accessKeyId, 'POST', path, body), `${body} `)).status).toBe(403);
    expect((await get(sign(secretAccessKey, accessKeyId, 'POST', path, body), body)).status).toBe(200);
  });

  test('a session token belongs to the identity, where it has one', async () => {
    const sessionToken = 'session';
    await using on = await bench({
      verifySignatures: true,
      clock: 'real',
      credentials: { ...credentials, sessionToken },
    });
    const { accessKeyId, secretAccessKey } = credentials;
    const get = (headers: Record<string, string>) => send(`${on.emulator.endpoint}${path}`, { headers });
    const good = sign(secretAccessKey, accessKeyId, 'GET', path, '');
    expect((await get(good)).error).toBe('UnrecognizedClientException');
    expect((await get({ ...good, 'x-amz-security-token': sessionToken })).status).toBe(200);
    expect(on.emulator.environment()['AWS_SESSION_TOKEN']).toBe(sessionToken);
  });
});
