#!/bin/sh
echo 'no space left' >&2
exit 1
