import { expect } from '@jest/globals';

/** Every guard, action and actor is a name: only `context` and `input` may be functions (design, wall 1). */
export function expectNamedConfig(machine: { readonly config: object }): void {
  const functions: string[] = [];
  const walk = (value: unknown, path: string) => {
    if (typeof value === 'function') functions.push(path);
    // A guard made by and(), or() or not() is a function that carries the names it joins.
    else if (typeof value === 'object' && value !== null) {
      for (const [key, member] of Object.entries(value)) walk(member, `${path}.${key}`);
    }
  };
  walk(machine.config, '');
  const surprising = functions.filter((path) => !/\.(context|input|guard)$/.test(path));
  expect(surprising).toEqual([]);
}
