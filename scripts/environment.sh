# Sourced by the scripts beside it: `environment` makes .venv and installs tiedlm into it, where that is lacking.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=$root/.venv/bin

# What an installation depends on; a copy of it is left in .venv once the installation is complete.
wanted() {
    echo "$root"
    cat "$root/pyproject.toml" "$root/constraints.txt"
}

installed() {
    wanted | cmp -s - "$root/.venv/installed-$1"
}

# $PYTHON, else the first Python on the path that is new enough.
find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "tiedlm needs Python 3.11 or later, which ${PYTHON:-python3} is not: set PYTHON=/path/to/python" >&2
    return 1
}

# What pip prints, in short: each package of 5 MB or more before it is downloaded, and how many are installed.
in_short() {
    local line size names
    while IFS= read -r line; do
        if [[ $line =~ ^\ *(Downloading|"Using cached")\ (.*/)?([^/ ]+\.(whl|tar\.gz))\ \(([0-9]+)(\.[0-9]+)?\ (MB|GB)\) ]]; then
            size="${BASH_REMATCH[5]}${BASH_REMATCH[6]} ${BASH_REMATCH[7]}"
            names=${BASH_REMATCH[3]%%-[0-9]*}
            if [[ ${BASH_REMATCH[7]} == GB || ${BASH_REMATCH[5]} -ge 5 ]]; then
                echo "  $names, $size"
            fi
        elif [[ $line == "Installing collected packages: "* ]]; then
            names=${line//[^,]/}
            echo "  installing $((${#names} + 1)) packages"
        elif [[ $line == "Successfully installed "* ]]; then
            echo "  installed"
        fi
    done
}

# environment: what tiedlm itself needs; environment test: and what its tests and checks need; environment bench: and
# the peers that it is timed beside.
environment() {
    local extra=${1:-} python
    if installed "${extra:-tiedlm}" || { [ -z "$extra" ] && { installed test || installed bench; }; }; then
        return
    fi
    echo "Installing into $root/.venv: once, some minutes, 1 GB or more" >&2
    if ! "$bin/python" -m pip --version >/dev/null 2>&1; then
        python=$(find_python)
        echo "  making the environment with $("$python" --version 2>&1)" >&2
        "$python" -m venv --clear "$root/.venv"
    fi
    echo "  finding out which packages are needed" >&2
    (cd "$root" && "$bin/python" -m pip install --disable-pip-version-check --progress-bar off \
        --constraint constraints.txt --editable ".${extra:+[$extra]}") | in_short >&2
    wanted >"$root/.venv/installed-${extra:-tiedlm}"
}
