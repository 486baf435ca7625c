"""A click model on tabular data in memory: a step takes a millisecond, every row is fetched by itself."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

from benchmarks.unseen.job import Loop, parser, worker_settings

ROWS, COLUMNS = 200_000, 24


def main() -> None:
    arguments = parser(__doc__, steps=8_000, batch_size=256, num_workers=0)
    arguments.add_argument("--whole-batches", action="store_true", help="index the tensors once for each batch")
    args = arguments.parse_args()
    torch.set_num_threads(1)
    rows = TensorDataset(torch.rand(ROWS, COLUMNS), torch.randint(0, 2, (ROWS,)).float())
    if args.whole_batches:
        batches = BatchSampler(RandomSampler(rows), args.batch_size, drop_last=True)
        loader = DataLoader(rows, batch_size=None, sampler=batches, **worker_settings(args))
    else:
        loader = DataLoader(rows, args.batch_size, shuffle=True, drop_last=True, **worker_settings(args))
    model = nn.Sequential(nn.Linear(COLUMNS, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters())
    loss_of = nn.BCEWithLogitsLoss()
    loop = Loop(args.steps)
    while not loop.done:
        for features, clicked in loader:
            loss = loss_of(model(features).squeeze(1), clicked)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if loop.step():
                break
    loop.report()


if __name__ == "__main__":
    main()
