\echo Use "ALTER EXTENSION queue_ext UPDATE TO '0.2'" to load this file. \quit
