#!/usr/bin/env python3
"""The test server of object stores against boto3, and read_object against moto's server.

    object_clients.py SERVER READ_OBJECT FOLDER

SERVER is object_server.py.  Needs boto3 and moto[server]; exits with 77 without them.
"""

import os
import subprocess
import sys
import time

try:
    import boto3
    import botocore.client
    import botocore.exceptions
    import moto.server  # noqa: F401
except ImportError as error:
    print(f"{error}: skipped")
    sys.exit(77)


def client(port, key, secret):
    return boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", aws_access_key_id=key,
                        aws_secret_access_key=s3cr3t, region_name="us-east-1",
                        config=botocore.client.Config(s3={"addressing_style": "path"},
                                                      retries={"max_attempts": 1}))


def wait_for(file):
    for _ in range(200):
        if os.path.exists(file):
            break
        time.sleep(0.05)
    with open(file, encoding="ascii") as text:
        return text.read()


def check_server(server, folder):
    """boto3 is served and a wrong key is not: what the server checks is what Amazon's client signs."""
    port_file = f"{folder}/clients_port"
    process = subprocess.Popen([sys.executable, server, folder, port_file, "--key=AKIDTEST:s3cr3t"])
    try:
        port = wait_for(port_file)
        good, bad = client(port, "AKIDTEST", "s3cr3t"), client(port, "AKIDTEST", "other")
        names = [o["Key"] for o in good.list_objects_v2(Bucket="b", Prefix="tree/")["Contents"]]
        assert names == ["tree/a b+c", "tree/big", "tree/x/y"], names
        assert good.get_object(Bucket="b", Key="tree/a b+c", Range="bytes=1-2")["Body"].read() == b"bc"
        try:
            bad.get_object(Bucket="b", Key="tree/x/y")
            raise AssertionError("a wrong key was taken")
        except botocore.exceptions.ClientError:
            pass
    finally:
        process.terminate()


def check_moto(read_object, folder):
    """What boto3 has put is read."""
    log = open(f"{folder}/moto.log", "w+", encoding="utf-8")
    process = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"],
                               stdout=log, stderr=log)
    try:
        port = ""
        for _ in range(200):
            time.sleep(0.05)
            with open(f"{folder}/moto.log", encoding="utf-8") as lines:
                text = lines.read()
            if "Running on http://127.0.0.1:" in text:
                port = text.split("Running on http://127.0.0.1:")[1].split()[0]
                break
        s3 = client(port, "AKIDTEST", "s3cr3t")
        s3.create_bucket(Bucket="models")
        for name in ("a b+c", "big", "x/y"):
            s3.upload_file(f"{folder}/tree/{name}", "models", f"m/{name}")
        for name in ("a b+c", "big", "x/y"):
            wanted = subprocess.run([read_object, f"{folder}/tree/{name}"], capture_output=True,
                                    text=True, check=True).stdout
            got = subprocess.run([read_object, f"s3://models/m/{name}", "id=AKIDTEST", "key=s3cr3t",
                                  f"endpoint=127.0.0.1:{port}".replace("127", "http://127")],
                                 capture_output=True, text=True, check=False).stdout
            assert got == wanted, (name, got, wanted)
    finally:
        process.terminate()


def main():
    server, read_object, folder = sys.argv[1:]
    os.makedirs(f"{folder}/tree/x")
    for name, data in (("a b+c", b"abcd"), ("big", os.urandom(20 << 20)), ("x/y", b"y")):
        with open(f"{folder}/tree/{name}", "wb") as file:
            file.write(data)
    check_server(server, folder)
    check_moto(read_object, folder)


main()
