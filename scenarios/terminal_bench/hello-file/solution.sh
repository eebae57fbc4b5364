#!/bin/bash
echo "Hello, terminal!" > /app/hello.txt
