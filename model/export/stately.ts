/**
 * A machine as one file of plain XState v5 that can be pasted into Stately Studio: `setup({ … }).createMachine({ … })`
 * with every implementation named and stubbed. It needs nothing but `xstate`; `provide` gives it the real ones.
 *
 * The config holds names only. A conjunction of guards, for which Stately's import has no notation, becomes one named
 * guard, such as `fresh and STATE-11`, whose implementation in `setup` is the conjunction. Of functions a config may
 * hold two kinds, the initial context and the input of an actor: they are printed from their source.
 */
import { initialTransition, type AnyStateMachine } from 'xstate';
import { readGuard, type ChartGuard } from './guard.ts';
import { freeNames, identifierFrom, printString, printValue, Source } from './javascript.ts';

/** What functions of a config refer to beyond themselves, by name: plain data, and functions. */
export type Scope = Readonly<Record<string, unknown>>;

/** What the file names, and so has to stub. */
interface Names {
  readonly actions: Set<string>;
  readonly actors: Set<string>;
  readonly guards: Set<string>;
  readonly delays: Set<string>;
  /** Guards made of others, each with the expression that makes it. */
  readonly combined: Map<string, string>;
  readonly imports: Set<string>;
  /** Parts of the scope that are used. */
  readonly scope: Set<string>;
}

/**
 * Prints a machine for Stately.
 *
 * @param scope what the functions of the config refer to; one that refers to something else is stubbed, and a comment
 * says so
 */
export function toStately(machine: AnyStateMachine, scope: Scope = {}): string {
  const names: Names = {
    actions: new Set(),
    actors: new Set(),
    guards: new Set(),
    delays: new Set(),
    combined: new Map(),
    imports: new Set(['setup']),
    scope: new Set(),
  };
  const {
    id: machineId,
    context,
    schemas: _schemas,
    types: _types,
    ...config
  } = machine.config as Record<string, unknown>;
  const printed = plainConfig(
    {
      id: machineId,
      ...(context === undefined ? {} : { context: plainContext(machine, context, scope, names) }),
      ...config,
    },
    'state',
    { names, scope },
  );
  const stubs = stubsOf(names);
  const id = identifierFrom(machine.id) ?? 'statechart';
  return [
    `import { ${[...names.imports].sort().join(', ')} } from 'xstate';`,
    '',
    ...scopeLines(names.scope, scope),
    ...writtenInPlace(names.actions),
    `export const ${id}Machine = setup(${printValue(stubs)}).createMachine(${printValue(printed)});`,
    '',
  ].join('\n');
}

/** Actions that XState makes, such as `assign(…)`: one that is written in the config itself has no name but its kind. */
function writtenInPlace(actions: ReadonlySet<string>): string[] {
  const kinds = [...actions].filter((name) => name.startsWith('xstate.'));
  if (kinds.length === 0) return [];
  return [
    `// Actions that the machine has written in place are not carried over: every one of a kind is the same stub below`,
    `// (${kinds.join(', ')}).${kinds.includes('xstate.assign') ? ' That means every change of context too, so that guards on it will not see one.' : ''}`,
    `// Give them names in setup({ actions }) to tell them apart, and their implementations with provide().`,
  ];
}

/** Where in a config a value stands. */
type Place = 'state' | 'states' | 'transitions' | 'transition' | 'actions' | 'invoke' | 'data';

interface Printing {
  readonly names: Names;
  readonly scope: Scope;
}

const placeOf: Readonly<Record<string, Place>> = {
  states: 'states',
  on: 'transitions',
  after: 'transitions',
  always: 'transition',
  onDone: 'transition',
  onError: 'transition',
  onSnapshot: 'transition',
  entry: 'actions',
  exit: 'actions',
  actions: 'actions',
  invoke: 'invoke',
};

/** A config without functions, but for those that are printed from their source. */
function plainConfig(value: unknown, place: Place, printing: Printing, isAfter = false): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => plainConfig(item, place, printing));
  if (place === 'actions') return plainAction(value, printing.names);
  if (typeof value !== 'object' || value === null || value instanceof Source || place === 'data') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]: [string, unknown]) => {
      if (place === 'transitions' && isAfter && !/^\d+$/.test(key)) printing.names.delays.add(key);
      if (place === 'states') return [key, plainConfig(member, 'state', printing)];
      if (place === 'transitions') return [key, plainConfig(member, 'transition', printing)];
      if (key === 'guard') return [key, plainGuard(member, printing.names)];
      if (key === 'src' && place === 'invoke')
        return [key, plainActor(member, value as { id?: string }, printing.names)];
      if (typeof member === 'function' && placeOf[key] !== 'actions')
        return [key, printFunction(member as () => unknown, printing)];
      return [key, plainConfig(member, placeOf[key] ?? 'data', printing, key === 'after')];
    }),
  );
}

function plainAction(action: unknown, names: Names): unknown {
  const name = nameOf(action, 'action');
  names.actions.add(name);
  return typeof action === 'object' && action !== null && 'params' in action
    ? { type: name, params: action.params }
    : name;
}

function plainActor(src: unknown, { id }: { readonly id?: string }, names: Names): string {
  const name = typeof src === 'string' ? src : (id ?? nameOf(src, 'actor'));
  names.actors.add(name);
  return name;
}

function nameOf(value: unknown, fallback: string): string {
  if (typeof value === 'string') return value;
  const { type, name } = value as { readonly type?: string; readonly name?: string };
  return type ?? (name === undefined || name === '' ? fallback : name);
}

function plainGuard(guard: unknown, names: Names): unknown {
  const read = readGuard(guard);
  if (read === null) return undefined;
  if (read.kind === 'named') {
    names.guards.add(read.name);
    return read.params === null ? read.name : { type: read.name, params: read.params };
  }
  const name = guardName(read);
  if (read.kind === 'inline') names.guards.add(name);
  else names.combined.set(name, guardExpression(read, names));
  return name;
}

/** A name that says what a guard is made of. */
function guardName(guard: ChartGuard): string {
  switch (guard.kind) {
    case 'named':
      return guard.name;
    case 'inline':
      return guard.name === '' || guard.name === 'guard' ? 'condition' : guard.name;
    case 'stateIn':
      return `in ${guard.state}`;
    case 'not':
      return `not ${guard.parts.map(nestedName).join('')}`;
    default:
      return guard.parts.map(nestedName).join(` ${guard.kind} `);
  }
}

function nestedName(guard: ChartGuard): string {
  return guard.kind === 'and' || guard.kind === 'or' ? `(${guardName(guard)})` : guardName(guard);
}

function guardExpression(guard: ChartGuard, names: Names): string {
  switch (guard.kind) {
    case 'named':
      names.guards.add(guard.name);
      return guard.params === null ? printString(guard.name) : printValue({ type: guard.name, params: guard.params });
    case 'inline':
      names.guards.add(guardName(guard));
      return printString(guardName(guard));
    case 'stateIn':
      names.imports.add('stateIn');
      return `stateIn(${printString(guard.state)})`;
    case 'not':
      names.imports.add('not');
      return `not(${guard.parts.map((part) => guardExpression(part, names)).join('')})`;
    default:
      names.imports.add(guard.kind);
      return `${guard.kind}([${guard.parts.map((part) => guardExpression(part, names)).join(', ')}])`;
  }
}

/** A function of the config by its source, or a stub where it needs what the file cannot hold. */
function printFunction(from: (...args: never[]) => unknown, { names, scope }: Printing): Source {
  const source = String(from);
  const missing = freeNames(source).filter((name) => !(name in scope));
  if (missing.length > 0)
    return new Source(
      `({ context, event }) => ({ context, event }) /* stub: the original needs ${missing.join(', ')} */`,
    );
  for (const name of freeNames(source)) takeFromScope(name, scope, names);
  return new Source(source);
}

function takeFromScope(name: string, scope: Scope, names: Names): void {
  if (names.scope.has(name)) return;
  names.scope.add(name);
  const value = scope[name];
  if (typeof value === 'function') {
    for (const needed of freeNames(String(value))) if (needed in scope) takeFromScope(needed, scope, names);
  }
}

function plainContext(machine: AnyStateMachine, context: unknown, scope: Scope, names: Names): unknown {
  if (typeof context !== 'function') return context;
  const free = freeNames(String(context)).filter((name) => !(name in scope));
  if (free.length === 0) return printFunction(context as () => unknown, { names, scope });
  try {
    // Without its surroundings the function cannot be kept, but what it makes without an input can.
    return JSON.parse(JSON.stringify(initialTransition(machine, undefined as never)[0].context)) as unknown;
  } catch {
    return {};
  }
}

function scopeLines(used: ReadonlySet<string>, scope: Scope): string[] {
  return [...used].reverse().flatMap((name) => {
    const value = scope[name];
    const source = printValue(typeof value === 'function' ? new Source(String(value)) : value);
    return [/^(?:async )?function\b/.test(source) ? source : `const ${name} = ${source};`, ''];
  });
}

function stubsOf(names: Names): Readonly<Record<string, unknown>> {
  const stubs = (from: ReadonlySet<string>, source: (name: string) => string) =>
    Object.fromEntries([...from].map((name) => [name, new Source(source(name))]));
  const guards = {
    ...stubs(names.guards, () => '() => true'),
    ...Object.fromEntries([...names.combined].map(([name, expression]) => [name, new Source(expression)])),
  };
  if (names.actors.size > 0) names.imports.add('fromPromise');
  return {
    ...(names.actors.size === 0 ? {} : { actors: stubs(names.actors, () => 'fromPromise(async () => {})') }),
    ...(names.actions.size === 0 ? {} : { actions: stubs(names.actions, () => '() => {}') }),
    ...(Object.keys(guards).length === 0 ? {} : { guards }),
    ...(names.delays.size === 0 ? {} : { delays: stubs(names.delays, () => '1000') }),
  };
}
