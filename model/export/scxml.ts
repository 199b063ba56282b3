/**
 * A machine as SCXML, the W3C's notation for statecharts (Recommendation of 1 September 2015).
 *
 * SCXML allows no transition outside a state, so one state named after the machine holds all others. Guards become
 * entries of a data object, all true, which an interpreter or a reader can set; actions become `log` elements; requirement
 * ids and descriptions are attributes of a namespace of their own, as the schema allows.
 */
import type { AnyStateMachine } from 'xstate';
import { chartOf, type Chart, type ChartAction, type ChartState, type ChartTransition } from './chart.ts';
import { guardNames, type ChartGuard } from './guard.ts';

/** Prints a machine as an SCXML document. */
export function toScxml(machine: AnyStateMachine): string {
  const chart = chartOf(machine);
  const root = chart.states.find(({ path }) => path === '');
  const names = [...new Set(chart.transitions.flatMap(({ guard }) => guardNames(guard)))];
  const guards = `{ ${names.map((name) => `${literal(name)}: true`).join(', ')} }`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<scxml${xmlAttributes({
      xmlns: 'http://www.w3.org/2005/07/scxml',
      'xmlns:chart': 'urn:vmchart:chart',
      version: '1.0',
      datamodel: 'ecmascript',
      name: idToken(chart.id),
      initial: rootId(chart),
    })}>`,
    ...(names.length === 0
      ? []
      : ['  <datamodel>', `    <data${xmlAttributes({ id: 'guards', expr: guards })}/>`, '  </datamodel>']),
    ...(root === undefined ? [] : stateLines(chart, root)).map((line) => `  ${line}`),
    '</scxml>',
    '',
  ].join('\n');
}

const elements: Readonly<Record<ChartState['kind'], string>> = {
  atomic: 'state',
  compound: 'state',
  parallel: 'parallel',
  final: 'final',
  history: 'history',
};

function stateLines(chart: Chart, state: ChartState): string[] {
  const element = elements[state.kind];
  const attributes = xmlAttributes({
    id: stateId(chart, state.path),
    ...(state.initial === null ? {} : { initial: stateId(chart, state.initial) }),
    ...(state.description === null ? {} : { 'chart:description': state.description }),
    ...(state.tags.length === 0 ? {} : { 'chart:tags': state.tags.join(' ') }),
  });
  const own = chart.transitions.filter(({ from }) => from === state.path);
  const delays = own.filter(({ event }) => event.startsWith('xstate.after.'));
  const inner = [
    ...block('onentry', [...state.entry.map(logLine), ...delays.map((move) => sendLine(chart, move))]),
    ...block('onexit', [
      ...state.exit.map(logLine),
      ...delays.map((move) => `<cancel${xmlAttributes({ sendid: eventName(chart, move) })}/>`),
    ]),
    ...state.invokes.map(
      ({ id, src }) =>
        `<invoke${xmlAttributes({ id: invokeId(chart, state.path, id), type: 'urn:vmchart:actor', srcexpr: literal(src) })}/>`,
    ),
    ...own.flatMap((move) => transitionLines(chart, move)),
    ...(state.kind === 'history' ? [defaultLine(chart, state)] : []),
    ...chart.states.filter(({ parent }) => parent === state.path).flatMap((child) => stateLines(chart, child)),
  ];
  return inner.length === 0
    ? [`<${element}${attributes}/>`]
    : [`<${element}${attributes}>`, ...inner.map((line) => `  ${line}`), `</${element}>`];
}

function transitionLines(chart: Chart, move: ChartTransition): string[] {
  const event = eventName(chart, move);
  const attributes = xmlAttributes({
    ...(event === '' ? {} : { event }),
    ...(move.guard === null ? {} : { cond: condition(move.guard, chart) }),
    ...(move.to === null ? {} : { target: stateId(chart, move.to) }),
    // XState leaves a state only when asked to (`reenter`), SCXML unless told not to.
    ...(move.to !== null && !move.reenter && isInside(move.from, move.to) ? { type: 'internal' } : {}),
    ...(move.requirements.length === 0 ? {} : { 'chart:requirements': move.requirements.join(' ') }),
    ...(move.description === null ? {} : { 'chart:description': move.description }),
  });
  return move.actions.length === 0
    ? [`<transition${attributes}/>`]
    : [`<transition${attributes}>`, ...move.actions.map((action) => `  ${logLine(action)}`), '</transition>'];
}

/** A history has to say where to go before there is one: XState goes to the beginning of the state around it. */
function defaultLine(chart: Chart, { parent, path }: ChartState): string {
  const around = chart.states.find((state) => state.path === parent);
  const target = around?.initial ?? around?.children.find((child) => child !== path) ?? parent ?? '';
  return `<transition${xmlAttributes({ target: stateId(chart, target) })}/>`;
}

function isInside(outer: string, path: string): boolean {
  return outer === '' ? path !== '' : path.startsWith(`${outer}.`);
}

function block(element: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`<${element}>`, ...lines.map((line) => `  ${line}`), `</${element}>`];
}

function logLine({ name, params }: ChartAction): string {
  return `<log${xmlAttributes({ label: name, expr: params === null ? "''" : JSON.stringify(params) })}/>`;
}

function sendLine(chart: Chart, move: ChartTransition): string {
  const [, delay = ''] = /^xstate\.after\.([^.]*)\./.exec(move.event) ?? [];
  const event = eventName(chart, move);
  const when = /^\d+$/.test(delay) ? { delay: `${delay}ms` } : { delayexpr: literal(delay) };
  return `<send${xmlAttributes({ id: event, event, ...when })}/>`;
}

/** XState's own events under the names that SCXML gives them. */
function eventName(chart: Chart, { event, from }: ChartTransition): string {
  const ended = /^xstate\.(done|error)\.actor\.(.*)$/.exec(event);
  if (ended)
    return `${ended[1] === 'done' ? 'done.invoke' : 'error.platform'}.${invokeId(chart, from, ended[2] ?? '')}`;
  if (event.startsWith('xstate.done.state.')) return `done.state.${stateId(chart, from)}`;
  const after = /^xstate\.after\.([^.]*)\./.exec(event);
  if (after) return `after.${idToken(after[1] ?? '')}.${stateId(chart, from)}`;
  return event.replace(/[^\p{L}\p{N}_:.*-]/gu, '_');
}

/** A guard as an expression over the data object `guards`. */
function condition(guard: ChartGuard, chart: Chart): string {
  switch (guard.kind) {
    case 'named':
      return `guards[${literal(guard.name)}]`;
    case 'inline':
      return `true /* ${guard.name === '' ? 'a function' : guard.name} */`;
    case 'stateIn':
      return `In(${literal(stateId(chart, guard.state.replace(/^#/, '').split('.').slice(1).join('.')))})`;
    case 'not':
      return `!(${guard.parts.map((part) => condition(part, chart)).join('')})`;
    default:
      return guard.parts
        .map((part) =>
          part.kind === 'and' || part.kind === 'or' ? `(${condition(part, chart)})` : condition(part, chart),
        )
        .join(guard.kind === 'and' ? ' && ' : ' || ');
  }
}

/** Ids are unique in an XML document: an actor that several states invoke is told apart by its state. */
function invokeId(chart: Chart, path: string, id: string): string {
  const states = chart.states.filter(({ invokes }) => invokes.some((invoke) => invoke.id === id));
  return idToken(states.length > 1 ? `${id}.${path}` : id);
}

function rootId(chart: Chart): string {
  return idToken(chart.id);
}

/** An XML id: the path, or the machine's own name for the root. */
function stateId(chart: Chart, path: string): string {
  if (path === '') return rootId(chart);
  const id = idToken(path);
  return id === rootId(chart) ? `${id}.` : id;
}

/** What XML takes for an id: no blank, no colon, and a letter or an underscore at its head. */
function idToken(text: string): string {
  const token = text.replace(/[^\p{L}\p{N}._-]/gu, (char) => `_${char.codePointAt(0)?.toString(16) ?? ''}_`);
  return /^[\p{L}_]/u.test(token) ? token : `_${token}`;
}

/** A string of the data model's language. */
function literal(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function xmlAttributes(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${escapeXml(value)}"`)
    .join('');
}

function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;');
}
