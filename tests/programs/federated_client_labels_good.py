# Federated averaging with non-iid clients and server momentum
import argparse, copy, logging
from collections import OrderedDict
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("fed")


class DatasetSplit(Dataset):
    def __init__(self, dataset, idxs):
        self.dataset, self.idxs = dataset, list(idxs)

    def __len__(self):
        return len(self.idxs)

    def __getitem__(self, item):
        image, label = self.dataset[self.idxs[item]]
        return image, label


class LocalUpdate(object):
    def __init__(self, args, dataset, idxs):
        self.args = args
        self.loss_func = nn.CrossEntropyLoss()
        self.ldr_train = DataLoader(DatasetSplit(dataset, idxs), batch_size=args.local_bs, shuffle=True)

    def train(self, net):
        net.train()
        optimizer = torch.optim.SGD(net.parameters(), lr=self.args.lr, momentum=0.5)
        epoch_loss = []
        for it in range(self.args.local_ep):
            batch_loss = []
            for batch_idx, (images, labels) in enumerate(self.ldr_train):
                images, labels = images.to(self.args.device), labels.to(self.args.device)
                net.zero_grad()
                loss = self.loss_func(net(images), labels)
                loss.backward()
                optimizer.step()
                batch_loss.append(loss.item())
            epoch_loss.append(sum(batch_loss) / len(batch_loss))
        return net.state_dict(), sum(epoch_loss) / len(epoch_loss)


def FedAvg(w, sizes):
    w_avg = copy.deepcopy(w[0])
    total = sum(sizes)
    for k in w_avg.keys():
        w_avg[k] = w_avg[k] * (sizes[0] / total)
        for i in range(1, len(w)):
            w_avg[k] += w[i][k] * (sizes[i] / total)
    return w_avg


class ServerMomentum:
    def __init__(self, model, beta=0.9):
        self.v = OrderedDict((k, torch.zeros_like(p)) for k, p in model.state_dict().items())
        self.beta = beta

    def step(self, model, new):
        old = model.state_dict()
        for k in old:
            self.v[k] = self.beta * self.v[k] + (new[k] - old[k])
            old[k] = old[k] + self.v[k]
        model.load_state_dict(old)


def test_img(net_g, datatest, args):
    net_g.eval()
    test_loss, correct = 0, 0
    data_loader = DataLoader(datatest, batch_size=args.bs)
    for idx, (data, target) in enumerate(data_loader):
        if args.gpu != -1:
            data, target = data.to(args.device), target.to(args.device)
        log_probs = net_g(data)
        test_loss += nn.functional.cross_entropy(log_probs, target, reduction='sum').item()
        y_pred = log_probs.data.max(1, keepdim=True)[1]
        correct += y_pred.eq(target.data.view_as(y_pred)).long().cpu().sum()
    return 100.0 * correct / len(data_loader.dataset), test_loss / len(data_loader.dataset)


def args_parser():
    p = argparse.ArgumentParser()
    p.add_argument('--epochs', type=int, default=2)
    p.add_argument('--num_users', type=int, default=4)
    p.add_argument('--frac', type=float, default=0.5)
    p.add_argument('--local_ep', type=int, default=1)
    p.add_argument('--local_bs', type=int, default=8)
    p.add_argument('--bs', type=int, default=16)
    p.add_argument('--lr', type=float, default=0.05)
    p.add_argument('--gpu', type=int, default=0)
    return p.parse_args([])


if __name__ == '__main__':
    args = args_parser()
    args.device = torch.device('cuda:{}'.format(args.gpu) if torch.cuda.is_available() and args.gpu != -1 else 'cpu')
    y = torch.arange(64) % 4
    x = torch.randn(64, 10) + y[:, None]
    ds = TensorDataset(x, y)
    order = np.argsort(y.numpy(), kind='stable')
    dict_users = {u: set(part.tolist()) for u, part in enumerate(np.array_split(order, args.num_users))}
    net_glob = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 4)).to(args.device)
    server = ServerMomentum(net_glob)
    for rnd in range(args.epochs):
        w_locals, sizes = [], []
        for u in np.random.choice(args.num_users, max(int(args.frac * args.num_users), 1), replace=False):
            local = LocalUpdate(args, ds, dict_users[u])
            w, loss = local.train(copy.deepcopy(net_glob).to(args.device))
            w_locals.append(copy.deepcopy(w)); sizes.append(len(dict_users[u]))
        server.step(net_glob, FedAvg(w_locals, sizes))
        log.info("round %d loss %.3f", rnd, loss)
    print(test_img(net_glob, ds, args))
