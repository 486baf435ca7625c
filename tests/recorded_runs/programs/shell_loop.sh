for workers in 0 1 3; do
    "$PYTHON" trial.py "$workers"
    sleep 4
done
