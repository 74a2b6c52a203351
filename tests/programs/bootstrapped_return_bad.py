import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from itertools import count

class SharedAdam(torch.optim.Adam):
    pass

class ActorCritic(nn.Module):
    def __init__(self, num_inputs, action_space):
        super(ActorCritic, self).__init__()
        self.lin = nn.Linear(num_inputs, 16)
        self.lstm = nn.LSTMCell(16, 16)
        self.critic_linear = nn.Linear(16, 1)
        self.actor_linear = nn.Linear(16, action_space)
        self.train()
    def forward(self, inputs):
        inputs, (hx, cx) = inputs
        x = F.elu(self.lin(inputs))
        hx, cx = self.lstm(x, (hx, cx))
        return self.critic_linear(hx), self.actor_linear(hx), (hx, cx)

class Maze:
    def __init__(self):
        self.rng = np.random.RandomState(1)
    def reset(self):
        self.t = 0
        return self.rng.rand(5)
    def step(self, a):
        self.t += 1
        return self.rng.rand(5), self.rng.rand() - 0.5, self.t % 7 == 0, None

class Worker(object):
    def __init__(self, args):
        self.args = args
        self.gpu_id = args['gpu_ids'][0] if torch.cuda.is_available() else -1
        self.env = Maze()
        self.model = ActorCritic(5, 3)
        if self.gpu_id >= 0:
            with torch.cuda.device(self.gpu_id):
                self.model = self.model.cuda()
        self.values, self.log_probs, self.rewards, self.entropies = [], [], [], []
        self.state = torch.from_numpy(self.env.reset()).float()
        if self.gpu_id >= 0:
            self.state = self.state.cuda()
        self.done = True

    def action_train(self):
        if self.done:
            if self.gpu_id >= 0:
                self.cx = torch.zeros(1, 16).cuda()
                self.hx = torch.zeros(1, 16).cuda()
            else:
                self.cx = torch.zeros(1, 16)
                self.hx = torch.zeros(1, 16)
        else:
            self.cx = self.cx.data
            self.hx = self.hx.data
        value, logit, (self.hx, self.cx) = self.model((self.state.unsqueeze(0), (self.hx, self.cx)))
        prob = F.softmax(logit, dim=1)
        log_prob = F.log_softmax(logit, dim=1)
        self.entropies.append(-(log_prob * prob).sum(1))
        action = prob.multinomial(1).data
        log_prob = log_prob.gather(1, action)
        state, reward, self.done, _ = self.env.step(action.cpu().numpy()[0, 0])
        self.state = torch.from_numpy(state).float()
        if self.gpu_id >= 0:
            self.state = self.state.cuda()
        self.rewards.append(max(min(reward, 1), -1))
        self.values.append(value)
        self.log_probs.append(log_prob)
        if self.done:
            self.state = torch.from_numpy(self.env.reset()).float()
            if self.gpu_id >= 0:
                self.state = self.state.cuda()

    def losses(self):
        R = torch.zeros(1, 1)
        if not self.done:
            value, _, _ = self.model((self.state.unsqueeze(0), (self.hx, self.cx)))
            R = value.data
        if self.gpu_id >= 0:
            R = R.float()
        self.values.append(R)
        policy_loss, value_loss = 0, 0
        gae = torch.zeros(1, 1)
        if self.gpu_id >= 0:
            gae = gae.cuda()
        for i in reversed(range(len(self.rewards))):
            R = self.args['gamma'] * R + self.rewards[i]
            advantage = R - self.values[i]  # FAIL
            value_loss = value_loss + 0.5 * advantage.pow(2)
            delta_t = self.rewards[i] + self.args['gamma'] * self.values[i + 1].data - self.values[i].data
            gae = gae * self.args['gamma'] * self.args['tau'] + delta_t
            policy_loss = policy_loss - self.log_probs[i] * gae - 0.01 * self.entropies[i]
        self.clear()
        return (policy_loss + 0.5 * value_loss).sum()

    def clear(self):
        self.values, self.log_probs, self.rewards, self.entropies = [], [], [], []

def run(args):
    w = Worker(args)
    opt = SharedAdam(w.model.parameters(), lr=1e-3)
    for it in count():
        for _ in range(args['num_steps']):
            w.action_train()
            if w.done:
                break
        loss = w.losses()
        opt.zero_grad(); loss.backward(); opt.step()
        print(it, loss.item())
        if it >= 2:
            break

run({'gamma': 0.99, 'tau': 1.0, 'gpu_ids': [0], 'num_steps': 5})
