#!/usr/bin/env node
import { runCommand } from './cli/commands.ts';
import { processTerminal } from './cli/process-terminal.ts';

process.exitCode = await runCommand(process.argv.slice(2), processTerminal(process));
