/** Level 1: the client's machine against any environment. */
import { sandboxMachine, type SandboxEvent, type SandboxPolicy, type SandboxSnapshot } from '../../machines/index.ts';
import { chartOf, taken } from '../coverage.ts';
import { explore, type Exploration } from '../explorer.ts';
import type { PropertyResult } from '../property.ts';
import { clientProperties, type SandboxProperty } from '../sandbox/client-properties.ts';
import { contractProperties } from '../sandbox/contract-properties.ts';
import { agreesWithGraph } from '../sandbox/graph-oracle.ts';
import { observedProperties, observedSystem, sometimesProperties } from '../sandbox/observed.ts';
import { refinementProperties } from '../sandbox/refinement.ts';
import { deadEnds, substatesReached, transitionsTaken } from '../sandbox/structure.ts';
import { restartLabel, sandboxSystem, type SandboxMachine } from '../sandbox/system.ts';
import { TableCheck } from '../sandbox/table-check.ts';
import type { PartReport } from './report.ts';
import { mergeResults, type LevelFindings } from './results.ts';

/** Options of {@link checkLevel1}. */
export interface Level1Options {
  readonly machine?: SandboxMachine;
  /** An expression of the machine, where it is a variant, for tests to paste. */
  readonly machineExpression?: string;
  readonly limit?: number;
}

/** The options of the machine's policy, each on its own; the first is the default. */
const policies: readonly Partial<SandboxPolicy>[] = [{}, { whenAlreadyThere: 'succeed' }, { pastWindow: 'ask' }];

/** What is not promised under an option: whoever leaves the window to the service does not judge it here. */
const notPromised: Readonly<Record<string, readonly string[]>> = { 'pastWindow: ask': ['no-resume-past-window'] };

function nameOf(policy: Partial<SandboxPolicy>): string {
  const [option] = Object.entries(policy);
  return option === undefined ? 'default policy' : option.join(': ');
}

/** All properties of the lifecycle machine that level 1 checks on each of its steps and states. */
export function sandboxPropertiesOf(machine: SandboxMachine = sandboxMachine): readonly SandboxProperty[] {
  return [...clientProperties, ...contractProperties, ...refinementProperties(machine)];
}

/** Collects what the explorations of level 1 see. */
class Collection {
  readonly parts: PartReport[] = [];
  readonly results: (readonly PropertyResult[])[] = [];
  readonly tables: TableCheck[] = [];
  readonly transitions = new Set<string>();
  readonly substates = new Set<string>();
  depth = 0;

  add(name: string, { visits, transitions, depth, properties }: Exploration<unknown, unknown>): void {
    this.parts.push({ name, states: visits.length, transitions });
    this.results.push(properties);
    this.depth = Math.max(this.depth, depth);
  }

  /** What there is to say; without the checks of the whole chart when the search stopped early. */
  findings(structure?: readonly PropertyResult[]): LevelFindings {
    const cells = this.tables.flatMap((table) => table.results());
    // The cells of the default policy, and those of the options where they differ.
    const distinct = new Map(
      cells.map((cell) => [[cell.table, cell.state, cell.event, cell.condition, cell.expected].join(), cell]),
    );
    return {
      parts: this.parts,
      depth: this.depth,
      properties: [...mergeResults(this.results), ...(structure ?? [])],
      table: structure === undefined ? [] : [...distinct.values()],
    };
  }
}

/** Runs level 1. It stops at the first violation. */
export function checkLevel1(options: Level1Options = {}): LevelFindings {
  const { machine = sandboxMachine, limit = 100_000, machineExpression } = options;
  const expression = (policy: Partial<SandboxPolicy>): string =>
    `sandboxSystem(${JSON.stringify({ policy })}${machineExpression === undefined ? '' : `, ${machineExpression}`})`;
  const chart = chartOf(machine);
  const properties = sandboxPropertiesOf(machine);
  const collection = new Collection();

  // A new life first: of two paths to a violation the one that launches its own VM is easier to follow.
  const first = explore(sandboxSystem({ newLifeOnly: true }, machine), {
    limit,
    properties,
    systemExpression: expression({}),
  });
  if (first.violation !== null) {
    collection.add('a new life', first);
    return collection.findings();
  }

  const edges: [number, number][] = [];
  let whole: Exploration<SandboxSnapshot, SandboxEvent> | null = null;
  for (const policy of policies) {
    const left = notPromised[nameOf(policy)] ?? [];
    const table = new TableCheck(policy);
    const exploration = explore(sandboxSystem({ policy }, machine), {
      limit,
      systemExpression: expression(policy),
      properties: properties.filter(({ id }) => !left.includes(id)),
      onStep: (step, from, to) => {
        table.see(step);
        if (whole === null && from !== to) edges.push([from, to]);
        if (step.action.label === restartLabel) return;
        for (const { id } of taken(machine, chart, step.before, step.action.event)) collection.transitions.add(id);
      },
    });
    for (const { projection } of exploration.visits) collection.substates.add(String(projection['substate']));
    collection.tables.push(table);
    collection.add(nameOf(policy), exploration);
    whole ??= exploration;
    if (exploration.violation !== null) return collection.findings();
  }

  const watched = explore(observedSystem({ newLifeOnly: true }, machine), {
    limit,
    systemExpression: 'observedSystem({ newLifeOnly: true })',
    properties: [...sometimesProperties, ...observedProperties],
  });
  collection.add('watched for cycles and proxy tokens', watched);
  if (watched.violation !== null) return collection.findings();

  return collection.findings([
    deadEnds(whole?.visits ?? [], edges),
    substatesReached(chart, collection.substates),
    transitionsTaken(chart, collection.transitions, limit),
    agreesWithGraph(machine, limit),
  ]);
}
