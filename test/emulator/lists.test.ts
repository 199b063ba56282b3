import { describe, expect, test } from '@jest/globals';
import { bench } from './bench.ts';
import type { Reply } from './bench.ts';

/** All pages of a list, as lists of items. */
async function pages(read: (query: string) => Promise<Reply>, query: string): Promise<{ microvmId: string }[][]> {
  const found: { microvmId: string }[][] = [];
  for (let token: string | null = ''; token !== null;) {
    const more: string = token === '' ? '' : `&nextToken=${encodeURIComponent(token)}`;
    const reply: Reply = await read(`${query}${more}`);
    expect(reply.status).toBe(200);
    found.push(reply.json.items);
    token = reply.json.nextToken as string | null;
  }
  return found;
}

describe('lists', () => {
  test('FC-146 120 VMs are pages of 50, 50 and 20, newest first, none twice', async () => {
    await using on = await bench({ endedEndpointsKept: 0 });
    const launched: string[] = [];
    for (let count = 0; count < 120; count += 1) launched.push(await on.run());
    const found = await pages((query) => on.call('GET', `/microvms${query}`), '?maxResults=50');
    expect(found.map((page) => page.length)).toEqual([50, 50, 20]);
    expect(found.flat().map(({ microvmId }) => microvmId)).toEqual(launched.toReversed());
    const defaults = await on.call('GET', '/microvms');
    expect(defaults.json.items).toHaveLength(10);
  });

  test('FC-106 a cursor has to arrive encoded: a raw = is a 400 without a message', async () => {
    await using on = await bench();
    for (let count = 0; count < 3; count += 1) await on.run();
    const { nextToken } = (await on.call('GET', '/microvms?maxResults=2')).json;
    expect(nextToken).toMatch(/^[\w-]{600,}=+$/);
    const raw = await on.call('GET', `/microvms?maxResults=2&nextToken=${nextToken as string}`);
    expect(raw).toMatchObject({ status: 400, json: { message: null } });
    const encoded = await on.call('GET', `/microvms?maxResults=2&nextToken=${encodeURIComponent(nextToken as string)}`);
    expect(encoded.json).toMatchObject({ items: [{}], nextToken: null });
    expect((await on.call('GET', '/microvms?nextToken=zzz')).status).toBe(400);
  });

  test('a page size of 100 is refused', async () => {
    await using on = await bench();
    expect((await on.call('GET', '/microvms?maxResults=100')).json.message).toMatch(
      /Member must have value less than or equal to 50$/,
    );
    expect((await on.call('GET', '/microvms?maxResults=0')).status).toBe(400);
    expect((await on.call('GET', '/microvms?maxResults=many')).status).toBe(400);
  });

  test('a launch between two pages neither repeats nor hides a VM', async () => {
    await using on = await bench();
    for (let count = 0; count < 4; count += 1) await on.run();
    const first = (await on.call('GET', '/microvms?maxResults=2')).json;
    await on.run();
    const second = (await on.call('GET', `/microvms?maxResults=2&nextToken=${encodeURIComponent(first.nextToken)}`))
      .json;
    const ids = [...first.items, ...second.items].map(({ microvmId }: { microvmId: string }) => microvmId);
    expect(new Set(ids).size).toBe(4);
  });

  test('FC-109 by option a VM that changed between two pages is on both', async () => {
    await using on = await bench({ unverified: { listShowsMovedTwice: true } });
    const ids = [await on.runToRunning(), await on.runToRunning(), await on.runToRunning()];
    const first = (await on.call('GET', '/microvms?maxResults=2')).json;
    await on.suspend(ids[1] ?? '');
    await on.emulator.advance(1000);
    const second = (await on.call('GET', `/microvms?maxResults=2&nextToken=${encodeURIComponent(first.nextToken)}`))
      .json;
    expect(second.items.map((item: object) => item)).toMatchObject([
      { microvmId: ids[1], state: 'SUSPENDED' },
      { microvmId: ids[0], state: 'RUNNING' },
    ]);
  });

  test('FC-115 the filter by image is exact', async () => {
    await using on = await bench();
    await on.run();
    const of = async (arn: string) =>
      (await on.call('GET', `/microvms?imageIdentifier=${encodeURIComponent(arn)}`)).json.items.length as number;
    expect(await of(on.emulator.imageArn)).toBe(1);
    expect(await of(`${on.emulator.imageArn}x`)).toBe(0);
    expect((await on.call('GET', '/microvms?imageVersion=1')).json.items).toHaveLength(1);
  });
});
