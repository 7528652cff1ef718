"""A PostgreSQL server of the tests' own: made in a temporary folder, on a socket in it, stopped at the end."""

import glob
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from shop import execute

NO_SERVER = "no PostgreSQL server: install the package postgresql"


@pytest.fixture(scope="session")
def postgres():
    """Address of an empty database, as the superuser; the role reader needs the password s3cret."""
    folders = [*sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True), os.path.dirname(shutil.which("postgres") or "")]
    tools = next((Path(folder) for folder in folders if folder and (Path(folder) / "initdb").exists()), None)
    if tools is None:
        pytest.skip(NO_SERVER)
    pytest.importorskip("adbc_driver_postgresql")
    folder = Path(tempfile.mkdtemp(prefix="slimg-postgres-"))
    other = {}
    if os.getuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "postgres")
        other = {"user": "postgres", "cwd": "/"}
    run = {"check": True, "capture_output": True, **other}
    data = folder / "data"
    subprocess.run([tools / "initdb", "-D", data, "-U", "boss", "-A", "trust", "-E", "UTF8", "--no-sync"], **run)
    rules = "local all reader scram-sha-256\nlocal all all trust\n"
    subprocess.run(["sh", "-c", 'printf %s "$1" > "$2"', "sh", rules, data / "pg_hba.conf"], **run)
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    subprocess.run([tools / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start"], **run)
    address = f"postgresql://boss@/postgres?host={folder}"
    try:
        execute(address, "CREATE ROLE reader LOGIN PASSWORD 's3cret'", "GRANT pg_read_all_data TO reader")
        yield address
    finally:
        subprocess.run([tools / "pg_ctl", "-D", data, "-m", "immediate", "stop"], **run)
        shutil.rmtree(folder)
